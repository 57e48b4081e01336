"""Overview: what a report found, what was asked of whom, and what the respondents were promised."""

from __future__ import annotations

from collections import Counter

from ldpstats.presentation import panel_of_facts, panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Folded, Listed, Part, Rows, Section, Warned
from ldpstats.report.studied_tables import Pair, StudiedTables

_NAMED = 3


def findings(studied: StudiedTables) -> Section:
    """Say in a few sentences what was found.

    Parameters
    ----------
    studied : StudiedTables
    """
    return Section.of(
        "findings", "Findings", *map(Warned, studied.fit.warning), *_simulated(studied), Listed(tuple(_found(studied)))
    )


def _simulated(studied: StudiedTables) -> list[Part]:
    tables = studied.tables
    if not tables.simulated:
        return []
    which = "All reports" if tables.simulated == tables.n else f"{tables.simulated:,} of the {tables.n:,} reports"
    return [Warned(f"{which} were simulated: they say nothing about real people.")]


def _found(studied: StudiedTables) -> list[str]:
    tables, tests, shown = studied.tables, studied.tests, studied.dependent
    said = [f"{tables.n:,} reports about {counted(len(tables.domain), 'attribute')}: {tables.privacy.lines()[0]}."]
    if tests.empty:
        return [*said, "No table holds two attributes: nothing can be said about dependence."]
    tested = int(tests["pvalue"].notna().sum())
    said.append(
        f"Of {counted(tested, 'pair')} of attributes that were tested, {len(shown)} show a dependence at level "
        f"{studied.alpha:g}, adjusted for all of them."
    )
    if shown:
        said.append(f"The strongest: {'; '.join(strength(studied, pair) for pair in shown[:_NAMED])}.")
    if len(shown) < tested:
        said.append(
            f"{counted(tested - len(shown), 'pair')} show none, which is no proof of independence: see what could "
            "have been found."
        )
    return said


def strength(studied: StudiedTables, pair: Pair) -> str:
    """Say how strongly two attributes depend on each other.

    Parameters
    ----------
    studied : StudiedTables
    pair : (str, str)
    """
    low, high = studied.effects[pair].conf_int(studied.alpha)
    return f"{label(pair)}, Cramér's V = {studied.effects[pair].cramers_v:.3f} ({low:.3f} to {high:.3f})"


def asked(studied: StudiedTables) -> Section:
    """Say what was asked of whom.

    Parameters
    ----------
    studied : StudiedTables
    """
    tables = studied.tables
    sizes = Counter(len(table.attributes) for table in tables)
    kinds = " and ".join(f"{number:,} of {counted(size, 'attribute')}" for size, number in sorted(sizes.items()))
    reports = [table.n for table in tables]
    between = " to ".join(dict.fromkeys(f"{one:,}" for one in (min(reports), max(reports))))
    facts = {
        "Reports": f"{tables.n:,}, of which {tables.simulated:,} simulated",
        "Attributes": f"{len(tables.domain)}, with {_records(studied)} possible records",
        "Tables": f"{len(tables):,} ({kinds})",
        "Reports behind a table": between,
    }
    domain = panel_of_figures(
        ["attribute", "categories"],
        [[name, ", ".join(map(str, values))] for name, values in tables.domain.categories.items()],
        "The questionnaire",
    )
    return Section.of(
        "asked",
        "What was asked of whom",
        Rows(panel_of_facts(facts, "The collection")),
        Rows(domain),
        _groups(studied),
    )


def _records(studied: StudiedTables) -> str:
    records = studied.tables.domain.size()
    return f"{records:,}" if records < 10**9 else f"{records:.2g}"


def _groups(studied: StudiedTables) -> Part:
    """Return what each table holds, to those who ask for it."""
    frame = studied.tables.to_frame()
    rows = [list(map(_figure, row)) for row in frame.itertuples(index=False)]
    title = "Groups of attributes that were asked for together"
    table = Rows(panel_of_figures(list(frame.columns), rows, title))
    return Folded(f"The {counted(len(rows), 'table')}, group by group", (table,))


def privacy(studied: StudiedTables) -> Section:
    """Say what the respondents were promised, in words and numbers.

    Parameters
    ----------
    studied : StudiedTables
    """
    return Section.of("privacy", "Privacy", Listed(tuple(f"{one}." for one in studied.tables.privacy.lines())))


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
