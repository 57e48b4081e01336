"""Markdown of a summary: pipe tables, in which every character stands for itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ldpstats.presentation.layout import Panel
from ldpstats.presentation.text import visible

# at the beginning of a paragraph: lists and rules
_LIST = re.compile(r"^(\d{0,9})([-+.)])(?=[-\s]|$)")
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def page(title: str, panels: Sequence[Panel], sentences: Sequence[str]) -> str:
    """Return a summary as Markdown."""
    parts = [f"**{shown}**"] if (shown := escaped(title)) else []
    for panel in panels:
        parts += [f"*{shown}*"] if (shown := escaped(panel.title)) else []
        parts.append(_table(panel))
    # a line each, as they are in the other formats
    return "\n\n".join([*parts, *(_LIST.sub(r"\1\\\2", escaped(one)) for one in sentences)])


def _table(panel: Panel) -> str:
    right = panel.figures
    headers = panel.headers or ("",) * len(right)
    rules = ["---:" if figures else ":---" for figures in right]
    return "\n".join([_row(map(escaped, headers)), _row(rules), *(_row(map(escaped, row)) for row in panel.rows)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(words: str) -> str:
    """Escape Markdown and HTML to one line, with what would steer the reader's eye spelt out.

    Spaces around it are dropped: they would make code of it, or end what is bold.
    """
    return _SPECIAL.sub(r"\\\1", "".join(_ENTITIES.get(one, one) for one in visible(words).strip()))
