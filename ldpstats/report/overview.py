"""Overview: what a report found, what was asked of whom, and what the respondents were promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ldpstats.presentation import panel_of_facts, panel_of_figures
from ldpstats.privacy import rounded_up
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Figure, Folded, Listed, Part, Rows, Warned, summarised
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import randomized_by

_NAMED, _PRINTED = 3, 60


def findings(studied: StudiedTables) -> Iterator[Part]:
    """Say in a few sentences what was found."""
    tables = studied.tables
    yield from map(Warned, tables.warnings)
    if tables.simulated:
        which = "All reports" if tables.simulated == tables.n else f"{tables.simulated:,} of the {tables.n:,} reports"
        yield Warned(f"{which} were simulated: they say nothing about real people.")
    yield Listed(tuple(_sentences(studied)))


def _sentences(studied: StudiedTables) -> list[str]:
    tables, shown = studied.tables, studied.dependent
    tested = [pair for pair in studied.ranked_pairs if pair.is_tested]
    said = [
        f"{counted(tables.n, 'report')} about {counted(len(tables.domain), 'attribute')}: {tables.privacy.lines()[0]}.",
        *([f"{tables.privacy.lines()[-1]}."] if tables.privacy.set_aside else []),
    ]
    if not tested:
        return [*said, "No two attributes could be tested: nothing can be said about dependence."]
    said.append(
        f"Of {counted(len(tested), 'pair')} of attributes that were tested, {len(shown)} "
        f"{'shows' if len(shown) == 1 else 'show'} a dependence at level {studied.alpha:g}, adjusted for all of them."
    )
    if shown:
        said.append(f"The strongest: {'; '.join(f'{pair.title}, {pair.strength}' for pair in shown[:_NAMED])}.")
    implausible = sum(not pair.is_plausible for pair in studied.ranked_pairs)
    if implausible:
        said.append(f"The reports of {counted(implausible, 'pair')} do not fit their channel, and decide nothing.")
    if missed := sum(pair.is_plausible for pair in tested) - len(shown):
        said.append(
            f"No dependence is shown for {counted(missed, 'pair')}, which is no proof of independence: see what could "
            "have been found."
        )
    return said


def asked(studied: StudiedTables) -> Iterator[Part]:
    """Say what was asked of whom."""
    tables = studied.tables
    sizes = Counter(len(table.attributes) for table in tables)
    kinds = " and ".join(f"{number:,} of {counted(size, 'attribute')}" for size, number in sorted(sizes.items()))
    reports = [table.n for table in tables]
    between = " to ".join(dict.fromkeys(f"{n:,}" for n in (min(reports), max(reports))))
    protocols = {
        "Protocol" if len(tables.origins) == 1 else f"Protocol {number}": origin.protocol
        for number, origin in enumerate(tables.origins, 1)
    }
    records = tables.domain.size()
    possible = f"{records:,}" if records < 10**9 else f"{records:.2g}"
    facts = {
        "Reports": f"{tables.n:,}, of which {tables.simulated:,} simulated",
        "Attributes": f"{len(tables.domain)}, with {possible} possible records",
        "Tables": f"{len(tables):,} ({kinds})",
        "Reports behind a table": between,
        **protocols,
    }
    yield Rows(panel_of_facts(facts, "The collection"))
    asked_for = [[name, ", ".join(map(str, values))] for name, values in tables.domain.categories.items()]
    yield Rows(panel_of_figures(["attribute", "categories"], asked_for, "The questionnaire"))
    origins = tables.origins
    rows = [
        [
            row["attributes"],
            f"{row['cells']:,}",
            f"{row['reports']:,}",
            rounded_up(row["epsilon per report"]),
            row["method"],
            *([randomized_by(origins, row["attributes"])] if origins else []),
        ]
        for row in tables.to_frame().to_dict("records")
    ]
    headers = ["attributes", "cells", "reports", "epsilon per report (strict)", "method"]
    headers += ["randomized by"] if origins else []
    table = Rows(panel_of_figures(headers, rows, "Groups of attributes that were asked for together"))
    yield Folded(f"The {counted(len(rows), 'table')}, group by group", (table,), printed=len(rows) <= _PRINTED)


def privacy(studied: StudiedTables) -> Iterator[Part]:
    """Say what the respondents were promised, in words and numbers."""
    statement = studied.tables.privacy
    yield from summarised(statement.summary())
    yield Figure(statement.picture(), "privacy-picture")
