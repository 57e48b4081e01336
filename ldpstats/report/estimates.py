"""Estimates in a report: the proportions of every attribute, and the cells of every table."""

from __future__ import annotations

from collections.abc import Sequence

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import pvalue_in_words
from ldpstats.protocols.groups import label
from ldpstats.report.content import Entry, Folded, Part, Rows, Section
from ldpstats.report.overview import strength
from ldpstats.report.studied_tables import Pair, StudiedTables
from ldpstats.tables import Table

_DRAWN = 24
"""Tables with a picture."""


def attributes(studied: StudiedTables) -> Section:
    """Return the proportions of every attribute.

    Parameters
    ----------
    studied : StudiedTables
    """
    parts: list[Part] = []
    for place, (name, found) in enumerate(studied.singles.items()):
        if isinstance(found, str):
            parts.append(f"{name}: {found}")
        else:
            parts.append(Entry(f"attribute-{place + 1}", name, _cells(found)))
    return Section.of("attributes", "Attributes one by one", *parts)


def tables(studied: StudiedTables) -> Section:
    """Return all tables of two and more attributes: the strongest dependences with pictures, the others folded.

    Parameters
    ----------
    studied : StudiedTables
    """
    drawn, folded = studied.strongest[:_DRAWN], studied.strongest[_DRAWN:]
    others = [Folded(label(table.attributes), _cells(table), f"{table.n:,} reports") for table in studied.other_tables]
    return Section.of(
        "tables",
        "Tables",
        *(Entry(studied.name_of(pair), label(pair), _shown(studied, pair)) for pair in drawn),
        *_headed("The other pairs", [_in_a_line(studied, pair) for pair in folded]),
        *_headed("Tables of three and more attributes", others),
    )


def _headed(title: str, parts: Sequence[Part]) -> list[Part]:
    return [Entry(title.lower().replace(" ", "-"), title, tuple(parts))] if parts else []


def _shown(studied: StudiedTables, pair: Pair) -> tuple[Part, ...]:
    return (f"{_said(studied, pair)}.", *_cells(studied.pairs[pair]))


def _in_a_line(studied: StudiedTables, pair: Pair) -> Folded:
    return Folded(label(pair), _cells(studied.pairs[pair]), _said(studied, pair), studied.name_of(pair))


def _said(studied: StudiedTables, pair: Pair) -> str:
    """Say how strong a dependence is, and how sure."""
    row = studied.tests.set_index("pair").loc[[pair]].iloc[0]
    return f"{strength(studied, pair)}; adjusted p {pvalue_in_words(row['adjusted'], 2)}: {row['verdict']}"


def _cells(table: Table) -> tuple[Part, ...]:
    """Return the cells of a table with their intervals, and where they come from if not from reports of their own."""
    try:
        summary = table.summary()
    except LdpstatsError as error:
        return (str(error),)
    (panel,) = summary.panels
    return (Rows(type(panel)(panel.headers, panel.rows, summary.title)),)
