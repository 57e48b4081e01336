"""Plain text of a summary: panels between rules, as statisticians know them, and sentences below."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import chain
from textwrap import wrap

from ldpstats.presentation.layout import Panel

_GAP = "  "
_LONGEST = 100
# control, formatting (also what turns the direction of writing around) and line separators
_STEERING = ("Cc", "Cf", "Zl", "Zp")
# words of some scripts have them
_JOINERS = "\u200c\u200d"


def page(title: str, panels: Sequence[Panel], sentences: Sequence[str]) -> str:
    """Return a summary for a terminal."""
    lines = list(chain.from_iterable(map(_lines, panels)))
    width = max(map(_width, lines), default=0)
    body = [line if line.strip("-") else "-" * width for line in lines]
    heading, rule = visible(title), "=" * width
    centred = " " * max(0, (width - _width(heading)) // 2) + heading
    said = [wrap(visible(one), max(width, _LONGEST), subsequent_indent=_GAP) for one in sentences]
    return "\n".join([centred, rule, *body, rule, *chain.from_iterable(said)])


def visible(words: str) -> str:
    r"""Return a text on one line, with what would steer a terminal spelt out, such as \n and \x1b."""
    # most texts have nothing of it, which is seen at once
    return words if words.isprintable() else "".join(repr(one)[1:-1] if _steers(one) else one for one in words)


def _steers(one: str) -> bool:
    return one not in _JOINERS and unicodedata.category(one) in _STEERING


def _lines(panel: Panel) -> list[str]:
    """Return the lines of a panel; one of dashes alone is a rule of the page's width."""
    rows = [list(map(visible, row)) for row in ([panel.headers] if panel.headers else []) + list(panel.rows)]
    rows = rows if panel.headers else _wrapped(rows)
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    right = panel.figures
    lines = [
        _GAP.join(_set(one, width, figures) for one, width, figures in zip(row, widths, right, strict=True)).rstrip()
        for row in rows
    ]
    if panel.headers:
        lines.insert(1, "-")
    return [*([visible(panel.title), "-"] if panel.title else []), *lines]


def _wrapped(facts: Sequence[Sequence[str]]) -> list[list[str]]:
    beside = max((_width(heading) for heading, _ in facts), default=0) + len(_GAP)
    room = max(_LONGEST - beside, _LONGEST // 2)
    lines = [(heading, wrap(fact, room, subsequent_indent=_GAP) or [""]) for heading, fact in facts]
    return [[heading if not place else "", one] for heading, own in lines for place, one in enumerate(own)]


def _set(one: str, width: int, figures: bool) -> str:
    space = " " * (width - _width(one))
    return space + one if figures else one + space


def _width(line: str) -> int:
    """Return the width in a terminal: East Asian letters take two places, combining marks none."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line
    )
