"""Estimates in a report: the proportions of every attribute, and the cells of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ldpstats.errors import LdpstatsError
from ldpstats.noise import simulation
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.report.content import Entry, Folded, Part, Rows, Section
from ldpstats.report.studied_pairs import StudiedPair
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table

_DRAWN = 24
"""Tables with a picture."""


def attributes(studied: StudiedTables) -> Section:
    """Return the proportions of every attribute.

    Parameters
    ----------
    studied : StudiedTables
    """
    rows: list[list[str]] = []
    missing = []
    for name, found in studied.singles.items():
        if isinstance(found, str):
            missing.append(f"{name}: {found}")
            continue
        (panel,) = found.summary(studied.alpha).panels
        rows += [[name if not place else "", *row] for place, row in enumerate(panel.rows)]
    headers = ["attribute", "category", *panel.headers[1:]]
    table = Rows(panel_of_figures(headers, rows, f"Proportions of every attribute{_simulated(studied)}"))
    return Section.of("attributes", "Attributes one by one", table, *missing)


def tables(studied: StudiedTables) -> Section:
    """Return all tables of two and more attributes: the strongest dependences with pictures, the others folded.

    Parameters
    ----------
    studied : StudiedTables
    """
    drawn, folded = studied.found[:_DRAWN], studied.found[_DRAWN:]
    others = [Folded(label(table.attributes), _cells(table), f"{table.n:,} reports") for table in studied.other_tables]
    return Section.of(
        "tables",
        "Tables",
        *(Entry(pair.name, pair.title, _shown(pair)) for pair in drawn),
        *_headed("The other pairs", [Folded(pair.title, _cells(pair.table), pair.said, pair.name) for pair in folded]),
        *_headed("Tables of three and more attributes", others),
    )


def _simulated(studied: StudiedTables) -> str:
    return simulation(studied.tables.simulated, studied.tables.n)


def _headed(title: str, parts: Sequence[Part]) -> list[Part]:
    return [Entry(title.lower().replace(" ", "-"), title, tuple(parts))] if parts else []


def _shown(pair: StudiedPair) -> tuple[Part, ...]:
    cells = Folded("Every cell with its interval", _cells(pair.table))
    return (f"{pair.said}.", *_crossed(pair.table), cells, *_origin(pair.table))


def _origin(table: Table) -> tuple[Part, ...]:
    """Say where a table comes from if it does not rest on reports of its own alone, and what it assumes."""
    said = (f"Assumes: {table.assumption}." if table.assumption else "", table.provenance.words)
    return tuple(filter(None, said))


def _crossed(table: Table) -> tuple[Part, ...]:
    """Return rows by columns, and how far the cells deviate from independence."""
    try:
        summary = table.crosstab().summary()
    except LdpstatsError as error:
        return (str(error),)
    first, *more = summary.panels
    assuming = f", assuming {table.assumption.split(':')[0]}" if table.assumption else ""
    title = f"Proportions ± standard errors{simulation(table.simulated, table.n)}{assuming}. {first.title}"
    return tuple(Rows(panel) for panel in (replace(first, title=title), *more))


def _cells(table: Table) -> tuple[Part, ...]:
    """Return the cells of a table with their intervals."""
    try:
        summary = table.summary()
    except LdpstatsError as error:
        return (str(error),)
    (panel,) = summary.panels
    return (Rows(replace(panel, title=summary.title)),)
