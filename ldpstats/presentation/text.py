"""Plain text of a summary: panels between rules, as statisticians know them, and sentences below."""

from __future__ import annotations

import unicodedata

from ldpstats.presentation.layout import PanelLike, SummaryLike, figures_in

_GAP = "  "


def page(summary: SummaryLike) -> str:
    """Return a summary for a terminal.

    Parameters
    ----------
    summary : Summary
    """
    panels = [_lines(panel) for panel in summary.panels]
    width = max((_width(line) for lines in panels for line in lines), default=0)
    body = [line if line.strip("-") else "-" * width for lines in panels for line in lines]
    rule = "=" * width
    title = " " * max(0, (width - _width(summary.title)) // 2) + summary.title
    return "\n".join([title, rule, *body, rule, *summary.sentences])


def _lines(panel: PanelLike) -> list[str]:
    """Return the lines of a panel; one of dashes alone is a rule of the page's width."""
    rows = [panel.headers, *panel.rows] if panel.headers else list(panel.rows)
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    right = figures_in(panel)
    lines = [
        _GAP.join(_set(one, width, figures) for one, width, figures in zip(row, widths, right, strict=True)).rstrip()
        for row in rows
    ]
    if panel.headers:
        lines.insert(1, "-")
    return [*([panel.title, "-"] if panel.title else []), *lines]


def _set(one: str, width: int, figures: bool) -> str:
    space = " " * (width - _width(one))
    return space + one if figures else one + space


def _width(line: str) -> int:
    """Return how many places of a terminal a line takes: letters of East Asia take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line
    )
