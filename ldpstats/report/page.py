"""The report: all sections of one about a table set, set by jinja2 as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import progress
from ldpstats.presentation.formats import visible
from ldpstats.protocols.population import Population
from ldpstats.report.content import Entry, Figure, Folded, Part, Rows, can_draw
from ldpstats.report.dependences import network as learned, not_found, pairs
from ldpstats.report.estimates import attributes, raw_and_private, tables as all_tables
from ldpstats.report.methods_used import assumptions, colophon, methods
from ldpstats.report.overview import asked, findings, privacy
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.report.trust import trust
from ldpstats.tables import TableSet, checked_table_set

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"


_SECTIONS: tuple[tuple[str, str, Callable[..., Iterable[Part]]], ...] = (
    ("findings", "Findings", findings),
    ("asked", "What was asked of whom", asked),
    ("privacy", "Privacy", privacy),
    ("attributes", "Attributes one by one", attributes),
    ("pairs", "Pairs of attributes", pairs),
    ("tables", "Tables", all_tables),
    ("not-found", "What was not found", not_found),
    ("trust", "Can these reports be trusted?", trust),
    ("network", "Network", learned),
    ("raw-and-private", "Raw against private", raw_and_private),
    ("methods", "Methods", methods),
    ("assumptions", "Assumptions", assumptions),
    ("colophon", "How to make this page again", colophon),
)


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
    from markupsafe import Markup

    studied = tables if isinstance(tables, StudiedTables) else StudiedTables(checked_table_set(tables))
    # half a letter, such as a surrogate alone, cannot be written
    if title is not None and not (isinstance(title, str) and title == title.encode(errors="ignore").decode()):
        raise LdpstatsError(f"title = {shortened(title)}", "a text of whole letters")
    absent = {*([] if network else ["network"]), *([] if truth is not None else ["raw-and-private"])}
    options: dict[str, dict[str, Any]] = {"raw-and-private": {"truth": truth}, "methods": {"network": network}}
    wanted = [section for section in _SECTIONS if section[0] not in absent]
    written = progress(wanted, "writing sections", unit="section")
    sections = [Entry(name, said, tuple(made(studied, **options.get(name, {})))) for name, said, made in written]
    lines = [
        studied.tables.headline,
        *([] if can_draw() else ["This page is without pictures, as matplotlib is not installed."]),
    ]
    drawn = [figure for section in sections for figure in _drawn(section.parts)] if can_draw() else []
    shown = progress(drawn, "drawing", unit="picture")
    svgs = {figure.name: Markup(figure.picture.svg(figure.name)) for figure in shown}  # noqa: S704  # its texts are escaped
    values = {"title": title or "Report on privatized answers", "lines": lines, "sections": sections, "svgs": svgs}
    return _environment().get_template("page.html").render(values)


def _drawn(parts: Iterable[Part]) -> Iterator[Figure]:
    """Yield the pictures among parts, at any depth."""
    for part in parts:
        if isinstance(part, Figure):
            yield part
        if isinstance(part, (Figure, Folded, Entry)):
            yield from _drawn(part.parts)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        # what would mislead the reader's eye is spelt out, such as marks that change the direction of writing
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = _lines
    return environment


def _lines(part: Rows, right: Sequence[bool]) -> Markup:
    """Render the rows of a table, of which a page may have hundreds of thousands; `right` aligns columns."""
    from markupsafe import Markup, escape

    classes = [' class="figures"' if is_figure else "" for is_figure in right]
    set_rows = []
    for row, target in zip(part.panel.rows, chain(part.links, repeat("")), strict=False):
        cells = [str(escape(visible(cell))) for cell in row]
        tags = ["th" if index == 0 and cell else "td" for index, cell in enumerate(cells)]
        if target:
            cells[0] = f'<a href="#{escape(target)}">{cells[0]}</a>'
        opened = [f'{tag} scope="row"' if tag == "th" else tag for tag in tags]
        columns = zip(opened, classes, cells, tags, strict=True)
        set_rows.append("".join(f"<{opening}{kind}>{cell}</{tag}>" for opening, kind, cell, tag in columns))
    return Markup("".join(f"<tr>{row}</tr>\n" for row in set_rows))  # noqa: S704  # its texts are escaped
