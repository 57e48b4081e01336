"""Raw against private in a report of simulated reports: what the respondents would have answered, beside estimates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.datasets import true_cramers_v
from ldpstats.errors import LdpstatsError
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.population import Population, Records, people_of
from ldpstats.report.content import Rows, Section
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import TableSet


def raw_and_private(studied: StudiedTables, truth: Population) -> Section:
    """Return what the raw data show beside what the private reports show.

    Parameters
    ----------
    studied : StudiedTables
    truth : data frame, or array of joint counts
    """
    counted = _counting(studied.tables, truth)
    rows = []
    for pair in studied.found:
        raw, figures = true_cramers_v(counted(pair.table.attributes)), (pair.effect.cramers_v, *pair.interval)
        rows.append([pair.title, *(f"{one:.3f}" if math.isfinite(one) else "—" for one in (raw, *figures))])
    headers = ["pair", "raw V", "private V", "from", "to"]
    return Section.of(
        "raw-and-private",
        "Raw against private",
        "These reports are simulated, so that the raw answers are known: nobody could make this comparison of real "
        "respondents.",
        Rows(panel_of_figures(headers, rows, "Cramér's V in the raw data, and as estimated from the reports")),
    )


def _counting(tables: TableSet, truth: Population) -> Callable[[Sequence[str]], FloatArray]:
    """Return what gives the true proportions of some attributes."""
    if tables.simulated < tables.n:
        raise LdpstatsError(
            f"truth for {tables.n:,} reports of which {tables.simulated:,} were simulated",
            "truth for a set that was simulated as a whole",
            "Of real respondents nobody has the raw answers: leave truth out.",
        )
    people = people_of(tables.domain, truth, np.random.default_rng(0))
    # a column at a time: several times faster than rows, of which there may be millions
    columns = dict(zip(tables.domain.names, people.codes.T.copy(), strict=True)) if isinstance(people, Records) else {}

    def counted(attributes: Sequence[str]) -> FloatArray:
        shape = tables.domain.project(attributes).shape
        if columns:
            cells = np.ravel_multi_index(tuple(columns[name] for name in attributes), shape)
            return np.bincount(cells, minlength=math.prod(shape)).reshape(shape) / people.n
        rows, copies = people.distinct(attributes)
        found = np.zeros(shape)
        found[tuple(rows.T)] = copies / people.n
        return found

    return counted
