"""Forged reports in a report: how far they could move tables, and how many would explain the strongest dependence."""

from __future__ import annotations

from ldpstats.attacks.forged_dependence import ASSUMED, explaining_share
from ldpstats.attacks.poisoning import amplification, worst_shift
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.report.content import Entry, Part, Rows
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table

_SHARE = 0.01
_WORST = 10
_HIDDEN = (
    f"If {100 * _SHARE:g} % of the reports about a table were forged, one of its proportions could move by this much "
    "on average, and nothing in the reports need show it: the noise that protects respondents protects forgers, too. "
    "Another share moves it in proportion."
)


def forged(studied: StudiedTables) -> list[Part]:
    """Say what forged reports could do at worst to tables with a tally of their own."""
    known = [(table, most) for table in studied.tables if (most := amplification(table)) is not None]
    names = studied.tables.domain.names
    # of tables that can be moved equally far the first of the domain, whatever the order of the set
    worst = sorted(known, key=lambda one: (-round(one[1], 12), list(map(names.index, one[0].attributes))))[:_WORST]
    if not worst:
        return []
    rows = [
        [label(table.attributes), f"{most:.3g}", f"{worst_shift(table, _SHARE):.3f}", _in_errors(table)]
        for table, most in worst
    ]
    headers = [
        "table",
        "a forger outweighs (truthful respondents)",
        "shift of a proportion",
        "in standard errors (the largest of the table)",
    ]
    shown = Rows(panel_of_figures(headers, rows, "The tables that forged reports can move farthest"))
    return [Entry("forged", "What could forged reports do?", (_HIDDEN, shown, *_explained(studied)))]


def _explained(studied: StudiedTables) -> list[Part]:
    """Say what share of forged reports would make independent attributes look as dependent as the strongest pair."""
    for pair in studied.dependent[:1]:
        if pair.effect.why_not:
            return [f"Of {pair.title} a dependence is shown, but no V that a share of forged reports could explain."]
        found = f"The strongest dependence that is shown is that of {pair.title}, V = {pair.effect.cramers_v:.2f}."
        share = explaining_share(pair.table, pair.effect.cramers_v)
        if isinstance(share, str):
            return [f"{found} Could forged reports alone explain it? {share[0].upper()}{share[1:]}."]
        needed = (
            f"If there were none, about {100 * share:.2g} % of the reports about this table would have to be forged"
        )
        return [f"{found} {needed}, at least, for V to come out as large in half of all surveys.", ASSUMED]
    return []


def _in_errors(table: Table) -> str:
    most = float(table.std_err.max())
    return f"{worst_shift(table, _SHARE) / most:.1f}" if most else "—"
