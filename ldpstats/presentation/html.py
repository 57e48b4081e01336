"""HTML of a summary: a table per panel with headings that readers for the blind follow; every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ldpstats.presentation.layout import Panel
from ldpstats.presentation.text import visible


def page(title: str, panels: Sequence[Panel], sentences: Sequence[str]) -> str:
    """Return a summary as HTML."""
    tables = [_table(panel, "" if place else title) for place, panel in enumerate(panels)]
    alone = [] if panels else [f"<p><strong>{_escaped(title)}</strong></p>"]
    said = [f"<p>{_escaped(one)}</p>" for one in sentences]
    return "\n".join(['<div class="ldpstats">', *alone, *tables, *said, "</div>"])


def _table(panel: Panel, title: str) -> str:
    right = panel.figures
    caption = " · ".join(_escaped(one) for one in (title, panel.title) if one)
    # facts have no headers
    head = _row(panel.headers, right, ["col"] * len(right))
    body = [_row(row, right, ["row", *[""] * (len(row) - 1)]) for row in panel.rows]
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{caption}</caption>"] if caption else []),
            *(["<thead>", head, "</thead>"] if panel.headers else []),
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
        ]
    )


def _row(cells: Sequence[str], right: Sequence[bool], scopes: Sequence[str]) -> str:
    return f"<tr>{''.join(map(_cell, cells, right, scopes))}</tr>"


def _cell(one: str, figures: bool, scope: str) -> str:
    """Return a cell; it heads its column, or its row where it is words."""
    heads = scope == "col" or (scope and one and not figures)
    tag, scoped = ("th", f' scope="{scope}"') if heads else ("td", "")
    return f'<{tag}{scoped} style="text-align:{"right" if figures else "left"}">{_escaped(one)}</{tag}>'


def _escaped(words: str) -> str:
    return escape(visible(words))
