"""Markdown of a summary: pipe tables, in which every character stands for itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ldpstats.presentation.layout import PanelLike, SummaryLike, figures_in

_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def page(summary: SummaryLike) -> str:
    """Return a summary as Markdown.

    Parameters
    ----------
    summary : Summary
    """
    parts = [f"**{escaped(summary.title)}**"] if summary.title else []
    for panel in summary.panels:
        parts += [f"*{escaped(panel.title)}*"] if panel.title else []
        parts.append(_table(panel))
    # a line each, as they are in the other formats
    return "\n\n".join([*parts, *map(escaped, summary.sentences)])


def _table(panel: PanelLike) -> str:
    right = figures_in(panel)
    headers = panel.headers or ("",) * len(right)
    rules = ["---:" if figures else ":---" for figures in right]
    return "\n".join([_row(map(escaped, headers)), _row(rules), *(_row(map(escaped, row)) for row in panel.rows)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(words: str) -> str:
    r"""Return a text in which Markdown and HTML find nothing to interpret, on one line.

    Parameters
    ----------
    words : str

    Examples
    --------
    >>> print(escaped("a_b < 5 % | *"))
    a\_b &lt; 5 % \| \*
    """
    plain = " ".join(words.split("\n"))
    return _SPECIAL.sub(r"\\\1", "".join(_ENTITIES.get(one, one) for one in plain))
