"""Raw against private in a report of simulated reports: what the respondents would have answered, beside estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ldpstats.datasets import true_cramers_v
from ldpstats.pictures.intervals import RawAndPrivate
from ldpstats.plots import ComparedCell, compared_cells
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.population import Population, raw_proportions
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Drawn, Folded, Rows, Section
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table


def raw_and_private(studied: StudiedTables, truth: Population) -> Section:
    """Section that compares the raw data (a data frame, or joint counts) with the private estimates."""
    raw_of, tables = raw_proportions(studied.tables, truth), studied.tables
    intervals = f"; pointwise {100 * (1 - studied.alpha):g} % intervals" if studied.fit.plausible else ""
    notes = (f"simulated: {tables.n:,} reports{intervals}", *studied.fit.warning)
    singles = [found for found in studied.singles.values() if isinstance(found, Table)]
    shares = [line for table in singles for line in compared_cells(table, raw_of(table.attributes), studied.alpha)]
    # a V of some categories is that of another table, and one of noise of none
    effects = [
        (pair.title, true_cramers_v(raw_of(pair.table.attributes)), pair.effect.cramers_v, *pair.interval)
        for pair in studied.found
        if pair.is_plausible and not pair.effect.why_not and not pair.effect.without
    ]
    drawn = [
        _compared(name, title, notes, lines, scale)
        for name, title, lines, scale in (
            ("raw-shares", "Proportions of single attributes: raw data against private reports", shares, "proportion"),
            ("raw-effects", "Cramér's V of pairs: raw data against private reports", effects, "Cramér's V"),
        )
        if lines
    ]
    return Section.of(
        "raw-and-private",
        "Raw against private",
        "These reports are simulated, so that the raw answers are known: nobody could make this comparison of real "
        "respondents. Intervals are for the population that the raw answers are a sample of.",
        *drawn,
        *_left_out(len(studied.found) - len(effects)),
    )


def _left_out(number: int) -> list[str]:
    if not number:
        return []
    return [
        f"Without {counted(number, 'pair')} whose V is not estimable, or leaves out categories that were hardly seen."
    ]


def _compared(name: str, title: str, notes: tuple[str, ...], lines: Sequence[ComparedCell], scale: str) -> Drawn:
    """Return raw figures beside estimates as a picture, with a folded table."""
    labels, raw, private, lower, upper = zip(*lines, strict=True)
    others = tuple((one,) for one in raw)
    picture = RawAndPrivate(title, notes, labels, private, lower, upper, scale, others=others)
    rows = [[line[0], *(f"{one:.3f}" if math.isfinite(one) else "—" for one in line[1:])] for line in lines]
    table = Rows(panel_of_figures(["", "raw", "private", "from", "to"], rows, title))
    return Drawn(picture, name, (Folded("The figures", (table,)),))
