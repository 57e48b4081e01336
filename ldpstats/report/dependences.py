"""Dependences in a report: the tests of all pairs, how strong what they found is, and what they could have missed."""

from __future__ import annotations

import math

from ldpstats.estimation import pvalue_in_words
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted, named
from ldpstats.report.content import Folded, Listed, Part, Rows, Section
from ldpstats.report.studied_pairs import StudiedPair
from ldpstats.report.studied_tables import StudiedTables

_MANY = 60
_HEADERS = ("pair", "V", "from", "to", "statistic", "df", "p-value", "adjusted p", "verdict")


def pairs(studied: StudiedTables) -> Section:
    """Return the tests and effects of all pairs.

    Parameters
    ----------
    studied : StudiedTables
    """
    if not studied.found:
        return Section.of("pairs", "Pairs of attributes", "No two attributes were asked for together.")
    level = f"{100 * (1 - studied.alpha):g} %"
    read = (
        "Cramér's V measures dependence from 0 to 1, corrected for the noise of the randomization; its intervals hold "
        f"for one pair at a time ({level}). p-values are adjusted for the number of pairs by Holm's method, so that "
        f"the chance of calling any independent pair dependent is at most {studied.alpha:g}."
    )
    rows = [_line(pair) for pair in studied.found]
    links = [pair.name for pair in studied.found]
    shown = Rows(panel_of_figures(_HEADERS, rows[:_MANY], "All pairs, the strongest dependence first"), tuple(links))
    more = Rows(panel_of_figures(_HEADERS, rows[_MANY:], "All further pairs"), tuple(links[_MANY:]))
    folded = [Folded(f"{len(rows) - _MANY:,} further pairs", (more,))] if len(rows) > _MANY else []
    return Section.of("pairs", "Pairs of attributes", read, shown, *folded, *_not_tested(studied))


def _line(pair: StudiedPair) -> list[str]:
    test, (low, high) = pair.test, pair.interval
    v = pair.effect.cramers_v if pair.is_plausible else math.nan
    figures = [f"{one:.3f}" if math.isfinite(one) else "—" for one in (v, low, high)]
    tested = [f"{test.statistic:.4g}", f"{test.df}", *(pvalue_in_words(one, 2) for one in (test.pvalue, test.adjusted))]
    return [f"{pair.title}{pair.assuming}", *figures, *(tested if pair.is_tested else ["—"] * 4), test.verdict]


def _not_tested(studied: StudiedTables) -> list[Part]:
    """Say why pairs have no verdict, or V leaves something out."""
    reasons = [f"{pair.title}: {pair.test.reason}." for pair in studied.found if pair.test.reason]
    without = [f"{pair.title}: V is{pair.effect.without}." for pair in studied.found if pair.effect.without]
    left_open = [f"{label(pair)}: {reason}" for pair, reason in studied.open_pairs.items()]
    unasked = [f"Not asked for together: {named(map(label, studied.not_asked))}."] if studied.not_asked else []
    said = (*reasons, *without, *left_open, *unasked)
    return [Listed(said)] if said else []


def not_found(studied: StudiedTables) -> Section:
    """Say what was not shown, and how likely it would have been shown.

    Parameters
    ----------
    studied : StudiedTables
    """
    missed = [pair for pair in studied.found if pair.is_tested and pair.is_plausible and not pair.is_dependent]
    if not missed:
        said = "Every pair that was tested shows a dependence." if studied.dependent else "No pair could be tested."
        return Section.of("not-found", "What was not found", said)
    missed.sort(key=lambda pair: -pair.interval[1])
    rows = [[pair.title, f"{pair.interval[1]:.3f}", f"{pair.test.power:.2f}", f"{pair.test.n:,}"] for pair in missed]
    headers = ("pair", "V is at most", "power against V = 0.1", "reports")
    title = "Pairs without a dependence shown"
    table = Rows(panel_of_figures(headers, rows, title), tuple(pair.name for pair in missed))
    return Section.of(
        "not-found",
        "What was not found",
        f"No dependence is shown for {counted(len(missed), 'pair')}, which does not show that they are independent. "
        "The upper end of the interval of Cramér's V says how strong a dependence may still be.",
        Folded("The pairs, with what may still be there", (table,)) if len(rows) > _MANY else table,
    )
