"""Trust in a report: whether reports can be what they are said to be, and what was found out about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldpstats.consistency import consistency_report, make_consistent
from ldpstats.errors import LdpstatsError
from ldpstats.estimation import LEVEL, ChannelFit, pvalue_in_words
from ldpstats.identification.bounds import LEVEL as LEVEL_OF_AGREEMENT
from ldpstats.inference import CollectorComparison
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols import RepeatedRows
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Drawn, Entry, Folded, Part, Rows, Section, Warned, summarised
from ldpstats.report.forged_reports import forged
from ldpstats.report.studied_tables import StudiedTables

_MANY = 20
_QUESTIONS: dict[type, str] = {
    CollectorComparison: "Do the collectors differ?",
    RepeatedRows: "Do rows stand twice?",
}


def trust(studied: StudiedTables) -> Section:
    """Section on whether reports fit their channel, and what forged ones could have done."""
    return Section.of(
        "trust",
        "Can these reports be trusted?",
        *_fits(studied),
        *_set_aside(studied),
        *_checked(studied),
        *_agreement(studied),
        *forged(studied),
    )


def _fits(studied: StudiedTables) -> Iterator[Part]:
    """Say whether the reports of each table can have come through their channel, the most doubtful first."""
    fit = studied.fit
    yield from map(Warned, fit.warning)
    if not fit.warning:
        yield fit.words
    names = studied.tables.domain.names
    found = [(table, table.channel_fit()) for table in studied.tables]
    # of equal ones the first of the domain, whatever the order of the set
    found.sort(key=lambda one: (not one[1].pvalue < 1, one[1].pvalue, list(map(names.index, one[0].attributes))))
    rows = [[label(table.attributes), f"{table.n:,}", *_judged(one)] for table, one in found]
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


def _set_aside(studied: StudiedTables) -> Iterator[Part]:
    number = studied.tables.privacy.set_aside
    if number:
        said = studied.tables.privacy.lines()[-1]
        yield Warned(
            f"{said[0].upper()}{said[1:]}. They are {number:,} of {number + studied.tables.n:,} reports that came."
        )


def _checked(studied: StudiedTables) -> Iterator[Part]:
    """Show the result of every check of the reports, and name those that were not made."""
    checks = studied.tables.checks
    for place, check in enumerate(checks, 1):
        summary = check.summary()
        parts = [one for one in summarised(summary) if one not in check.warning]
        picture = [Drawn(check.picture(), f"check-picture-{place}")] if isinstance(check, CollectorComparison) else []
        asked = _QUESTIONS.get(type(check), summary.title)
        yield Entry(f"check-{place}", asked, (*map(Warned, check.warning), *parts, *picture))
    if not checks:
        yield (
            "Rows that stand twice are looked for where files are counted, and collectors are compared where their "
            "tables are merged. With these tables nothing of either is kept."
        )


def _agreement(studied: StudiedTables) -> list[Part]:
    """Say how far tables disagree about what they share."""
    made = all(table.provenance.kind == "made consistent" for table in studied.tables)
    try:
        found = consistency_report(studied.tables if made else make_consistent(studied.tables))
    except LdpstatsError as error:
        return [f"Whether the tables agree with each other is not known: {error}"]
    summary = found.summary()
    facts, moved = summary.panels
    verdict, *units = summary.sentences[:2]
    contradicted = bool(found.df) and found.pvalue is not None and found.pvalue < LEVEL_OF_AGREEMENT
    title = "As reported, and after they are made to agree"
    told: tuple[Part, ...] = (Rows(moved), Drawn(found.picture(), "agreement-picture"), *units)
    parts = (
        Warned(verdict) if contradicted else verdict,
        Rows(replace(facts, title=title)),
        Folded("Table by table, and category by category", told, printed=False),
    )
    return [Entry("agreement", "Do the tables agree?", parts)]
