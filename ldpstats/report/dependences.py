"""Dependences in a report: the tests of all pairs, how strong what they found is, and what they could have missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpstats.estimation import pvalue_in_words
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted, named
from ldpstats.report.content import Folded, Listed, Part, Rows, Section
from ldpstats.report.studied_tables import StudiedTables

_MANY = 60
_HEADERS = ("pair", "V", "from", "to", "statistic", "df", "p-value", "adjusted p", "verdict")


def pairs(studied: StudiedTables) -> Section:
    """Return the tests and effects of all pairs.

    Parameters
    ----------
    studied : StudiedTables
    """
    tests = list(studied.tests.to_dict("records"))
    if not tests:
        return Section.of("pairs", "Pairs of attributes", "No two attributes were asked for together.")
    level = f"{100 * (1 - studied.alpha):g} %"
    read = (
        "Cramér's V measures dependence from 0 to 1, corrected for the noise of the randomization; its intervals hold "
        f"for one pair at a time ({level}). p-values are adjusted for the number of pairs by Holm's method, so that "
        f"the chance of calling any independent pair dependent is at most {studied.alpha:g}."
    )
    shown = _in_a_table(studied, tests, "All pairs, the strongest dependence first")
    return Section.of("pairs", "Pairs of attributes", read, *shown, *_not_tested(studied))


def _in_a_table(studied: StudiedTables, tests: Sequence[Any], title: str) -> list[Part]:
    """Return a line per pair, those beyond a screen or two folded."""
    links = [studied.name_of(row["pair"]) for row in tests]
    rows = [_line(row) for row in tests]
    shown = Rows(panel_of_figures(_HEADERS, rows[:_MANY], title), tuple(links[:_MANY]))
    more = Rows(panel_of_figures(_HEADERS, rows[_MANY:], "All further pairs"), tuple(links[_MANY:]))
    return [shown, *([Folded(f"{len(rows) - _MANY:,} further pairs", (more,))] if len(rows) > _MANY else [])]


def _line(row: dict[str, Any]) -> list[str]:
    figures = [f"{row[name]:.3f}" if np.isfinite(row[name]) else "—" for name in ("cramers_v", "lower", "upper")]
    tested = np.isfinite(row["pvalue"])
    test = [f"{row['statistic']:.4g}", f"{row['df']}"] if tested else ["—", "—"]
    pvalues = [pvalue_in_words(row[name], 2) if tested else "—" for name in ("pvalue", "adjusted")]
    return [label(row["pair"]), *figures, *test, *pvalues, row["verdict"]]


def _not_tested(studied: StudiedTables) -> list[Part]:
    reasons = [f"{label(row['pair'])}: {row['reason']}." for row in studied.tests.to_dict("records") if row["reason"]]
    left_open = [f"{label(pair)}: {reason}" for pair, reason in studied.open_pairs.items()]
    unasked = [f"Not asked for together: {named(map(label, studied.not_asked))}."] if studied.not_asked else []
    said = (*reasons, *left_open, *unasked)
    return [Listed(said)] if said else []


def not_found(studied: StudiedTables) -> Section:
    """Say what was not shown, and how likely it would have been shown.

    Parameters
    ----------
    studied : StudiedTables
    """
    tests = studied.tests
    missed = [] if tests.empty else tests.loc[tests["verdict"] == "no dependence shown"].to_dict("records")
    if not missed:
        return Section.of("not-found", "What was not found", "Every pair that was tested shows a dependence.")
    largest = sorted(missed, key=lambda row: -row["upper"])
    rows = [[label(row["pair"]), f"{row['upper']:.3f}", f"{row['power']:.2f}", f"{row['n']:,}"] for row in largest]
    headers = ("pair", "V is at most", "power against V = 0.1", "reports")
    table = Rows(
        panel_of_figures(headers, rows, "Pairs without a dependence shown"),
        tuple(studied.name_of(row["pair"]) for row in largest),
    )
    return Section.of(
        "not-found",
        "What was not found",
        f"{counted(len(missed), 'pair')} show no dependence, which does not show that they are independent. The upper "
        "end of the interval of Cramér's V says how strong a dependence may still be.",
        Folded("The pairs, with what may still be there", (table,)) if len(rows) > _MANY else table,
    )
