"""Trust in a report: whether reports can be what they are said to be, and what was found out about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldpstats.attacks.forged_dependence import ASSUMED, explaining_share
from ldpstats.attacks.poisoning import amplification, worst_shift
from ldpstats.consistency import consistency_report, make_consistent
from ldpstats.errors import LdpstatsError
from ldpstats.estimation import LEVEL, ChannelFit, pvalue_in_words
from ldpstats.identification.bounds import LEVEL as LEVEL_OF_AGREEMENT
from ldpstats.inference import CollectorComparison
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols import RepeatedRows
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Entry, Figure, Folded, Part, Rows, Warned, summarised
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table

_MANY = 20
_SHARE = 0.01
_WORST = 10
_HIDDEN = (
    f"If {100 * _SHARE:g} % of the reports about a table were forged, one of its proportions could move by this much "
    "on average, and nothing in the reports need show it: the noise that protects respondents protects forgers, too. "
    "Another share moves it in proportion."
)
_QUESTIONS: dict[type, str] = {
    CollectorComparison: "Do the collectors differ?",
    RepeatedRows: "Do rows stand twice?",
}


def trust(studied: StudiedTables) -> Iterator[Part]:
    """Say whether reports fit their channel and each other, and what forged ones could have done."""
    yield from _fits(studied)
    if number := studied.tables.privacy.set_aside:
        said = studied.tables.privacy.lines()[-1]
        yield Warned(
            f"{said[0].upper()}{said[1:]}. They are {number:,} of {number + studied.tables.n:,} reports that came."
        )
    yield from _checked(studied)
    yield from _agreement(studied)
    yield from _forged(studied)


def _fits(studied: StudiedTables) -> Iterator[Part]:
    """Say whether the reports of each table can have come through their channel, the most doubtful first."""
    fit = studied.fit
    yield from map(Warned, fit.warning)
    if not fit.warning:
        yield fit.words
    names = studied.tables.domain.names
    judged = [(table, table.channel_fit()) for table in studied.tables]
    # of equal ones the first of the domain, whatever the order of the set
    judged.sort(key=lambda pair: (not pair[1].pvalue < 1, pair[1].pvalue, list(map(names.index, pair[0].attributes))))
    rows = [[label(table.attributes), f"{table.n:,}", *_judged(own)] for table, own in judged]
    headers = ["table", "reports", "p-value", "what fits worst", "verdict"]
    title = f"Can the reports have come through their channel? (level {LEVEL:g} for all tables together)"
    shown = Rows(panel_of_figures(headers, rows, title))
    yield (
        Folded(f"The {counted(len(rows), 'table')}, one by one", (shown,), printed=False)
        if len(rows) > _MANY
        else shown
    )


def _judged(fit: ChannelFit) -> list[str]:
    if fit.worst is None:
        return ["—", "—", "no reports"]
    return [pvalue_in_words(fit.pvalue, 2), fit.worst.name, "fits" if fit.plausible else "does not fit"]


def _checked(studied: StudiedTables) -> Iterator[Part]:
    """Show the result of every check of the reports, and name those that were not made."""
    checks = studied.tables.checks
    for number, check in enumerate(checks, 1):
        summary = check.summary()
        parts = [part for part in summarised(summary) if part not in check.warning]
        picture = [Figure(check.picture(), f"check-picture-{number}")] if isinstance(check, CollectorComparison) else []
        asked = _QUESTIONS.get(type(check), summary.title)
        yield Entry(f"check-{number}", asked, (*map(Warned, check.warning), *parts, *picture))
    if not checks:
        yield (
            "Rows that stand twice are looked for where files are counted, and collectors are compared where their "
            "tables are merged. With these tables nothing of either is kept."
        )


def _agreement(studied: StudiedTables) -> list[Part]:
    """Say how far tables disagree about what they share."""
    made = all(table.provenance.kind == "made consistent" for table in studied.tables)
    try:
        agreement = consistency_report(studied.tables if made else make_consistent(studied.tables))
    except LdpstatsError as error:
        return [f"Whether the tables agree with each other is not known: {error}"]
    summary = agreement.summary()
    facts, moved = summary.panels
    verdict, *units = summary.sentences[:2]
    contradicted = bool(agreement.df) and agreement.pvalue is not None and agreement.pvalue < LEVEL_OF_AGREEMENT
    title = "As reported, and after they are made to agree"
    told: tuple[Part, ...] = (Rows(moved), Figure(agreement.picture(), "agreement-picture"), *units)
    parts = (
        Warned(verdict) if contradicted else verdict,
        Rows(replace(facts, title=title)),
        Folded("Table by table, and category by category", told, printed=False),
    )
    return [Entry("agreement", "Do the tables agree?", parts)]


def _forged(studied: StudiedTables) -> list[Part]:
    """Say what forged reports could do at worst to tables with a tally of their own."""
    known = [(table, most) for table in studied.tables if (most := amplification(table)) is not None]
    names = studied.tables.domain.names
    # of tables that can be moved equally far the first of the domain, whatever the order of the set
    worst = sorted(known, key=lambda pair: (-round(pair[1], 12), list(map(names.index, pair[0].attributes))))[:_WORST]
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
        strongest = f"The strongest dependence that is shown is that of {pair.title}, V = {pair.effect.cramers_v:.2f}."
        share = explaining_share(pair.table, pair.effect.cramers_v)
        if isinstance(share, str):
            return [f"{strongest} Could forged reports alone explain it? {share[0].upper()}{share[1:]}."]
        needed = (
            f"If there were none, about {100 * share:.2g} % of the reports about this table would have to be forged"
        )
        return [f"{strongest} {needed}, at least, for V to come out as large in half of all surveys.", ASSUMED]
    return []


def _in_errors(table: Table) -> str:
    most = float(table.std_err.max())
    return f"{worst_shift(table, _SHARE) / most:.1f}" if most else "—"
