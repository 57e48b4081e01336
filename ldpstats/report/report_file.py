"""The report: all sections of one about a table set, as an HTML page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import progress
from ldpstats.protocols.population import Population
from ldpstats.report.colophon import colophon
from ldpstats.report.content import Section
from ldpstats.report.dependences import not_found, pairs
from ldpstats.report.estimates import attributes, tables as all_tables
from ldpstats.report.learned import network as learned
from ldpstats.report.methods_used import assumptions, methods
from ldpstats.report.overview import asked, findings, privacy
from ldpstats.report.page import can_draw, set_page
from ldpstats.report.raw_answers import raw_and_private
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.report.trust import trust
from ldpstats.tables import TableSet, checked_table_set


def report_page(
    tables: TableSet | StudiedTables, title: str | None = None, truth: Population | None = None, network: bool = False
) -> str:
    """Return a report about tables as HTML; those of studied tables need not be tested again.

    Parameters
    ----------
    tables : TableSet or StudiedTables
    title, truth, network
        As in `TableSet.report`.
    """
    studied = tables if isinstance(tables, StudiedTables) else StudiedTables(checked_table_set(tables))
    if title is not None and not (isinstance(title, str) and _can_be_written(title)):
        raise LdpstatsError(f"title = {shortened(title)}", "a text of whole letters")
    written: list[Callable[[StudiedTables], Section]] = [
        *(findings, asked, privacy, attributes, pairs, all_tables, not_found, trust),
        *([learned] if network else []),
        *([partial(raw_and_private, truth=truth)] if truth is not None else []),
        *(partial(methods, network=network), assumptions, colophon),
    ]
    sections = [section(studied) for section in progress(written, "writing sections", unit="section")]
    lines = [
        studied.tables.headline,
        *([] if can_draw() else ["This page is without pictures, as matplotlib is not installed."]),
    ]
    return set_page(title or "Report on privatized answers", lines, sections)


def _can_be_written(words: str) -> bool:
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True
