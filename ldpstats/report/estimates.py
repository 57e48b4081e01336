"""Estimates in a report: the proportions of every attribute, the cells of every table, and raw answers beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ldpstats.datasets import true_cramers_v
from ldpstats.errors import LdpstatsError
from ldpstats.noise import simulation
from ldpstats.pictures.intervals import RawAndPrivate
from ldpstats.plots import compared_cells
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.protocols.population import Population, raw_proportions
from ldpstats.protocols.summary import counted
from ldpstats.report.content import Entry, Figure, Folded, Part, Rows
from ldpstats.report.studied_tables import StudiedPair, StudiedTables
from ldpstats.tables import Table
from ldpstats.tables.drawn import one_way_intervals

_DRAWN = 24
"""Tables with a picture."""
_PRINTED, _TALLEST, _MOST_CATEGORIES = 60, 45, 100


def attributes(studied: StudiedTables) -> Iterator[Part]:
    """Show the proportions of every attribute."""
    singles = {name: table for name, table in studied.singles.items() if isinstance(table, Table)}
    if singles:
        yield "Every proportion is estimated from all reports about it."
        for number, some in enumerate(_in_pictures(singles), 1):
            yield Figure(one_way_intervals(studied.tables, some), f"attributes-picture-{number}")
        yield _figures_of(studied, singles)
    yield from (f"{name}: {why}" for name, why in studied.singles.items() if isinstance(why, str))


def _figures_of(studied: StudiedTables, singles: Mapping[str, Table]) -> Part:
    panels = {name: table.summary(studied.alpha).panels[0] for name, table in singles.items()}
    rows = [[name if not index else "", *row] for name, panel in panels.items() for index, row in enumerate(panel.rows)]
    headers = ["attribute", "category", *next(iter(panels.values())).headers[1:]]
    title = f"Proportions of every attribute{simulation(studied.tables.simulated, studied.tables.n)}"
    return Folded("The figures", (Rows(panel_of_figures(headers, rows, title)),))


def _in_pictures(singles: Mapping[str, Table]) -> Iterator[dict[str, Table]]:
    """Divide attributes among pictures that are no taller than a page."""
    some: dict[str, Table] = {}
    lines = 0
    for name, table in singles.items():
        if table.domain.size() > _MOST_CATEGORIES:
            continue
        lines += 1 + table.domain.size()
        if some and lines > _TALLEST:
            yield some
            some, lines = {}, 1 + table.domain.size()
        some[name] = table
    if some:
        yield some


def tables(studied: StudiedTables) -> Iterator[Part]:
    """Show the tables of two and more attributes: strongest dependences with pictures, others folded."""
    drawn, folded = studied.ranked_pairs[:_DRAWN], studied.ranked_pairs[_DRAWN:]
    for pair in drawn:
        yield Entry(pair.name, pair.title, tuple(_shown(pair)))
    few = len(folded) <= _PRINTED
    others = [
        Folded(pair.title, (*_cells(pair.table), *_origin(pair.table)), pair.said, pair.name, few) for pair in folded
    ]
    few = len(studied.other_tables) <= _PRINTED
    wider = [
        Folded(label(table.attributes), _cells(table), f"{table.n:,} reports", f"table-{number}", few)
        for number, table in enumerate(studied.other_tables, 1)
    ]
    if others:
        yield Entry("the-other-pairs", "The other pairs", tuple(others))
    if wider:
        yield Entry("tables-of-three-and-more-attributes", "Tables of three and more attributes", tuple(wider))


def _shown(pair: StudiedPair) -> Iterator[Part]:
    yield f"{pair.said}."
    with suppress(LdpstatsError):  # a mosaic has no room for proportions that are no shares
        yield Figure(pair.table.picture("mosaic"), f"{pair.name}-picture")
    yield from _crossed(pair.table)
    yield Folded("Every cell with its interval", _cells(pair.table))
    yield from _origin(pair.table)


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


def raw_and_private(studied: StudiedTables, truth: Population) -> Iterator[Part]:
    """Compare the raw data (a data frame, or joint counts) with the private estimates."""
    yield (
        "These reports are simulated, so that the raw answers are known: nobody could make this comparison of real "
        "respondents. Intervals are for the population that the raw answers are a sample of."
    )
    raw_of, tables = raw_proportions(studied.tables, truth), studied.tables
    intervals = f"; pointwise {100 * (1 - studied.alpha):g} % intervals" if studied.fit.plausible else ""
    notes = (f"simulated: {tables.n:,} reports{intervals}", *studied.fit.warning)
    singles = [table for table in studied.singles.values() if isinstance(table, Table)]
    shares = [line for table in singles for line in compared_cells(table, raw_of(table.attributes), studied.alpha)]
    # a V of some categories is that of another table, and one of noise of none
    effects = [
        (pair.title, true_cramers_v(raw_of(pair.table.attributes)), pair.effect.cramers_v, *pair.interval)
        for pair in studied.ranked_pairs
        if pair.is_plausible and not pair.effect.why_not and not pair.effect.without
    ]
    for name, about, lines, scale in (
        ("raw-shares", "Proportions of single attributes", shares, "proportion"),
        ("raw-effects", "Cramér's V of pairs", effects, "Cramér's V"),
    ):
        if lines:
            title = f"{about}: raw data against private reports"
            rows = [[line[0], *(f"{x:.3f}" if math.isfinite(x) else "—" for x in line[1:])] for line in lines]
            table = Rows(panel_of_figures(["", "raw", "private", "from", "to"], rows, title))
            yield Figure(RawAndPrivate.of(title, notes, lines, scale), name, (Folded("The figures", (table,)),))
    if left_out := len(studied.ranked_pairs) - len(effects):
        pairs = counted(left_out, "pair")
        yield f"Without {pairs} whose V is not estimable, or leaves out categories that were hardly seen."
