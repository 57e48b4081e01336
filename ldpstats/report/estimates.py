"""Estimates in a report: the proportions of every attribute, and the cells of every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ldpstats.errors import LdpstatsError
from ldpstats.noise import simulation
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.report.content import Drawn, Entry, Folded, Part, Rows, Section
from ldpstats.report.studied_pairs import StudiedPair
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table
from ldpstats.tables.drawn import one_way_intervals

_DRAWN = 24
"""Tables with a picture."""
_PRINTED, _TALLEST, _MOST_CATEGORIES = 60, 45, 100
_ATTRIBUTES = ("attributes", "Attributes one by one")


def attributes(studied: StudiedTables) -> Section:
    """Section with the proportions of every attribute."""
    found = {name: table for name, table in studied.singles.items() if isinstance(table, Table)}
    missing = [f"{name}: {why}" for name, why in studied.singles.items() if isinstance(why, str)]
    if not found:
        return Section.of(*_ATTRIBUTES, *missing)
    panels = {name: table.summary(studied.alpha).panels[0] for name, table in found.items()}
    rows = [[name if not place else "", *row] for name, panel in panels.items() for place, row in enumerate(panel.rows)]
    headers = ["attribute", "category", *next(iter(panels.values())).headers[1:]]
    title = f"Proportions of every attribute{simulation(studied.tables.simulated, studied.tables.n)}"
    table = Folded("The figures", (Rows(panel_of_figures(headers, rows, title)),))
    pictures = [
        Drawn(one_way_intervals(studied.tables, some), f"attributes-picture-{place}")
        for place, some in enumerate(_in_pictures(found), 1)
    ]
    read = "Every proportion is estimated from all reports about it."
    return Section.of(*_ATTRIBUTES, read, *pictures, table, *missing)


def _in_pictures(found: Mapping[str, Table]) -> Iterator[dict[str, Table]]:
    """Divide attributes among pictures that are no taller than a page."""
    some: dict[str, Table] = {}
    lines = 0
    for name, table in found.items():
        if table.domain.size() > _MOST_CATEGORIES:
            continue
        lines += 1 + table.domain.size()
        if some and lines > _TALLEST:
            yield some
            some, lines = {}, 1 + table.domain.size()
        some[name] = table
    if some:
        yield some


def tables(studied: StudiedTables) -> Section:
    """Section with the tables of two and more attributes: strongest dependences with pictures, others folded."""
    drawn, folded = studied.found[:_DRAWN], studied.found[_DRAWN:]
    wider = studied.other_tables
    others = [
        Folded(label(one.attributes), _cells(one), f"{one.n:,} reports", f"table-{place}", len(wider) <= _PRINTED)
        for place, one in enumerate(wider, 1)
    ]
    return Section.of(
        "tables",
        "Tables",
        *(Entry(pair.name, pair.title, _shown(pair)) for pair in drawn),
        *_headed("The other pairs", [_in_a_line(pair, printed=len(folded) <= _PRINTED) for pair in folded]),
        *_headed("Tables of three and more attributes", others),
    )


def _headed(title: str, parts: Sequence[Part]) -> list[Part]:
    return [Entry(title.lower().replace(" ", "-"), title, tuple(parts))] if parts else []


def _in_a_line(pair: StudiedPair, *, printed: bool) -> Folded:
    return Folded(pair.title, (*_cells(pair.table), *_origin(pair.table)), pair.said, pair.name, printed)


def _shown(pair: StudiedPair) -> tuple[Part, ...]:
    cells = Folded("Every cell with its interval", _cells(pair.table))
    return (f"{pair.said}.", *_mosaic(pair), *_crossed(pair.table), cells, *_origin(pair.table))


def _mosaic(pair: StudiedPair) -> list[Part]:
    """Return the mosaic plot of a table, if its proportions are shares."""
    try:
        return [Drawn(pair.table.picture("mosaic"), f"{pair.name}-picture")]
    except LdpstatsError:
        return []


def _origin(table: Table) -> tuple[Part, ...]:
    """Say where a table comes from if not from reports of its own alone, and what it assumes."""
    said = (f"Assumes: {table.assumption}." if table.assumption else "", table.provenance.words)
    return tuple(filter(None, said))


def _crossed(table: Table) -> tuple[Part, ...]:
    """Return rows by columns, and the residuals from independence."""
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
    if not summary.panels:
        # nothing is known of the cells: what there is to say is why
        return summary.sentences[:1]
    (panel,) = summary.panels
    return (Rows(replace(panel, title=summary.title)),)
