"""Dependences in a report: tests of all pairs, how strong what they found is, what they missed, and a network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import pvalue_in_words
from ldpstats.inference.effects.effect_size import forest_picture
from ldpstats.inference.hypothesis_tests.adjustment import controlled_in_words
from ldpstats.inference.hypothesis_tests.result import REFERENCE_SIZES
from ldpstats.networks import learn_network
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted, named
from ldpstats.report.content import Figure, Folded, Listed, Part, Rows, Warned, summarised
from ldpstats.report.studied_tables import StudiedPair, StudiedTables

_MANY, _FEW, _STRONGEST = 60, 8, 24
_HEADERS = ("pair", "V", "from", "to", "statistic", "df", "p-value", "adjusted p", "verdict")
_MISSED = ("pair", "V is at most", "power", "respondents needed")


def pairs(studied: StudiedTables) -> Iterator[Part]:
    """Show the tests and effects of all pairs."""
    if studied.tests is None:
        yield "No two attributes were asked for together."
        yield from _open(studied)
        return
    yield (
        f"Cramér's V measures dependence from 0 to 1, corrected for noise; its {_level(studied)} intervals are for one "
        f"pair at a time. {controlled_in_words(studied.tests.adjust, studied.tests.alpha)}"
    )
    yield Figure(studied.tests.picture(), "pairs-picture")
    drawn = [pair for pair in studied.dependent if not pair.effect.why_not][:_STRONGEST]
    if len(drawn) > 1:
        title = "Dependences that are shown" if len(drawn) == len(studied.dependent) else "The strongest dependences"
        picture = replace(forest_picture([pair.effect for pair in drawn]), title=f"{title}: Cramér's V")
        yield Figure(picture, "effects-picture")
    rows, links = [_line(pair) for pair in studied.ranked_pairs], [pair.name for pair in studied.ranked_pairs]
    yield Rows(panel_of_figures(_HEADERS, rows[:_MANY], "All pairs, the strongest dependence first"), tuple(links))
    if len(rows) > _MANY:
        more = Rows(panel_of_figures(_HEADERS, rows[_MANY:], "All further pairs"), tuple(links[_MANY:]))
        yield Folded(f"{len(rows) - _MANY:,} further pairs", (more,), printed=False)
    yield from _remarks(studied)
    yield from _open(studied)


def _level(studied: StudiedTables) -> str:
    return f"{100 * (1 - studied.alpha):g} %"


def _line(pair: StudiedPair) -> list[str]:
    test, (low, high) = pair.test, pair.interval
    v = pair.effect.cramers_v if pair.is_plausible else math.nan
    figures = [f"{figure:.3f}" if math.isfinite(figure) else "—" for figure in (v, low, high)]
    tested = [f"{test.statistic:.4g}", f"{test.df}", *(pvalue_in_words(p, 2) for p in (test.pvalue, test.adjusted))]
    return [f"{pair.title}{pair.assuming}", *figures, *(tested if pair.is_tested else ["—"] * 4), test.verdict]


def _remarks(studied: StudiedTables) -> list[Part]:
    """Say why pairs have no verdict or no V, or what V leaves out: each reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for pair in studied.ranked_pairs:
        for about, reason in (("No verdict on", pair.test.reason), ("V of", pair.test.caveat)):
            if reason:
                reasons.setdefault((about, reason), []).append(pair.title)
    remarks = Listed(tuple(f"{about} {named(titles)}: {reason}." for (about, reason), titles in reasons.items()))
    if len(remarks.items) > _FEW:
        return [Folded(f"{len(remarks.items)} remarks on single pairs", (remarks,))]
    return [remarks] if remarks.items else []


def _open(studied: StudiedTables) -> list[Part]:
    """Name the pairs of which nothing can be said, and why."""
    unasked = [f"Not asked for together: {named(map(label, studied.not_asked))}."] if studied.not_asked else []
    said = (*unasked, *(f"{label(pair)}: {reason}" for pair, reason in studied.open_pairs.items()))
    return [Listed(said)] if said else []


def not_found(studied: StudiedTables) -> Iterator[Part]:
    """Show pairs without a finding: what power the tests had, and how many respondents they would need."""
    missed = [pair for pair in studied.ranked_pairs if pair.is_tested and pair.is_plausible and not pair.is_dependent]
    if studied.tests is None or not missed:
        yield "Every pair that was tested shows a dependence." if studied.dependent else "No pair could be tested."
        return
    missed.sort(key=lambda pair: -pair.interval[1])
    rows = [[pair.title, f"{pair.interval[1]:.3f}", f"{pair.test.power:.2f}", f"{pair.needed}"] for pair in missed]
    title = "Pairs without a dependence shown, and what may still be there"
    table = Rows(panel_of_figures(_MISSED, rows, title), tuple(pair.name for pair in missed))
    yield (
        f"No dependence is shown for {counted(len(missed), 'pair')}, which does not show that they are independent. "
        "The upper end of the interval of Cramér's V says how strong a dependence may still be. The power is that of "
        f"finding V = {REFERENCE_SIZES[0]:g} at level {studied.tests.level:.2g}, which the adjustment leaves to each "
        f"test whatever the others show, averaged over dependences between the categories. Respondents needed: so many "
        f"in all, asked in the same way, would find what the reports show with power 0.8 ({_level(studied)} limits, by "
        "the test's statistic; rounded). Where that could also have come from independent answers no number is too "
        'large, and only the least is said. "—": a curator\'s noise comes once, however many answer.'
    )
    yield Folded(f"The {counted(len(rows), 'pair')}", (table,), printed=False) if len(rows) > _MANY else table


def network(studied: StudiedTables) -> Iterator[Part]:
    """Show the Bayesian network learned from the tables, or say why there is none."""
    try:
        learned = learn_network(studied.tables, alpha=studied.alpha)
    except LdpstatsError as error:
        yield Warned(f"No network can be learned: {error}")
        return
    yield (
        "The p-values of edges also take what all other tables tell of the proportions of single attributes. So they "
        "differ from those of pairs above, which take the reports about the pair."
    )
    yield Figure(learned.picture(), "network-picture")
    yield from summarised(learned.summary())
