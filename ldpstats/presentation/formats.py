"""Formats of a summary: plain text between rules, HTML and Markdown, in which every character stands for itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpstats.presentation.summaries import Panel, Summary

_GAP = "  "
_LONGEST = 100
# control, formatting (also what turns the direction of writing around) and line separators
_STEERING = ("Cc", "Cf", "Zl", "Zp")
# words of some scripts have them
_JOINERS = "\u200c\u200d"


def text(summary: Summary) -> str:
    """Return a summary for a terminal."""
    lines = list(chain.from_iterable(map(_lines, summary.panels)))
    width = max(map(_width, lines), default=0)
    body = [line if line.strip("-") else "-" * width for line in lines]
    heading, rule = visible(summary.title), "=" * width
    centred = " " * max(0, (width - _width(heading)) // 2) + heading
    said = [wrap(visible(sentence), max(width, _LONGEST), subsequent_indent=_GAP) for sentence in summary.sentences]
    return "\n".join([centred, rule, *body, rule, *chain.from_iterable(said)])


def visible(words: str) -> str:
    r"""Return a text on one line, with what would steer a terminal spelt out, such as \n and \x1b."""
    # most texts have nothing of it, which is seen at once
    if words.isprintable():
        return words
    return "".join(repr(letter)[1:-1] if _steers(letter) else letter for letter in words)


def _steers(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _STEERING


def _lines(panel: Panel) -> list[str]:
    """Return the lines of a panel; one of dashes alone is a rule of the page's width."""
    rows = [list(map(visible, row)) for row in ([panel.headers] if panel.headers else []) + list(panel.rows)]
    rows = rows if panel.headers else _wrapped(rows)
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    right = panel.figures
    lines = [
        _GAP.join(_set(cell, width, figures) for cell, width, figures in zip(row, widths, right, strict=True)).rstrip()
        for row in rows
    ]
    if panel.headers:
        lines.insert(1, "-")
    return [*([visible(panel.title), "-"] if panel.title else []), *lines]


def _wrapped(facts: Sequence[Sequence[str]]) -> list[list[str]]:
    beside = max((_width(heading) for heading, _ in facts), default=0) + len(_GAP)
    room = max(_LONGEST - beside, _LONGEST // 2)
    lines = [(heading, wrap(fact, room, subsequent_indent=_GAP) or [""]) for heading, fact in facts]
    return [[heading if not index else "", line] for heading, own in lines for index, line in enumerate(own)]


def _set(cell: str, width: int, figures: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if figures else cell + space


def _width(line: str) -> int:
    """Return the width in a terminal: East Asian letters take two places, combining marks none."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line
    )


def html(summary: Summary) -> str:
    """Return a summary as HTML."""
    tables = [_html_table(panel, "" if index else summary.title) for index, panel in enumerate(summary.panels)]
    alone = [] if summary.panels else [f"<p><strong>{_html_escaped(summary.title)}</strong></p>"]
    said = [f"<p>{_html_escaped(sentence)}</p>" for sentence in summary.sentences]
    return "\n".join(['<div class="ldpstats">', *alone, *tables, *said, "</div>"])


def _html_table(panel: Panel, title: str) -> str:
    right = panel.figures
    caption = " · ".join(_html_escaped(words) for words in (title, panel.title) if words)
    # facts have no headers
    head = _html_row(panel.headers, right, ["col"] * len(right))
    body = [_html_row(row, right, ["row", *[""] * (len(row) - 1)]) for row in panel.rows]
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


def _html_row(cells: Sequence[str], right: Sequence[bool], scopes: Sequence[str]) -> str:
    return f"<tr>{''.join(map(_html_cell, cells, right, scopes))}</tr>"


def _html_cell(cell: str, figures: bool, scope: str) -> str:
    """Return a cell; it heads its column, or its row where it is words."""
    heads = scope == "col" or (scope and cell and not figures)
    tag, scoped = ("th", f' scope="{scope}"') if heads else ("td", "")
    return f'<{tag}{scoped} style="text-align:{"right" if figures else "left"}">{_html_escaped(cell)}</{tag}>'


def _html_escaped(words: str) -> str:
    return escape(visible(words))


# at the beginning of a paragraph: lists and rules
_LIST = re.compile(r"^(\d{0,9})([-+.)])(?=[-\s]|$)")
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(summary: Summary) -> str:
    """Return a summary as Markdown."""
    parts = [f"**{shown}**"] if (shown := _markdown_escaped(summary.title)) else []
    for panel in summary.panels:
        parts += [f"*{shown}*"] if (shown := _markdown_escaped(panel.title)) else []
        parts.append(_markdown_table(panel))
    # a line each, as they are in the other formats
    return "\n\n".join([*parts, *(_LIST.sub(r"\1\\\2", _markdown_escaped(sentence)) for sentence in summary.sentences)])


def _markdown_table(panel: Panel) -> str:
    right = panel.figures
    headers = panel.headers or ("",) * len(right)
    rules = ["---:" if figures else ":---" for figures in right]
    rows = [list(map(_markdown_escaped, headers)), rules, *(list(map(_markdown_escaped, row)) for row in panel.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_escaped(words: str) -> str:
    """Escape Markdown and HTML to one line, with what would steer the reader's eye spelt out.

    Spaces around it are dropped: they would make code of it, or end what is bold.
    """
    return _SPECIAL.sub(r"\\\1", "".join(_ENTITIES.get(letter, letter) for letter in visible(words).strip()))
