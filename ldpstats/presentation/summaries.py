"""Summaries: a title, panels of figures or facts, and sentences, set as text, HTML, LaTeX or Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ldpstats.presentation.formats import html, markdown, text
from ldpstats.presentation.latex import latex

# a number, also with a unit, an interval, or what stands in its place
_FIGURE = re.compile(r"[<>≤≥±+\-−]?\s?[\d.,]+(e[+-]?\d+)?( ?[%±*†].*)?|-+|—|nan|inf|-inf|∞|not estimable")


@dataclass(frozen=True, slots=True)
class Panel:
    """Table of texts; without headers its rows are facts, each a heading and what it says."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""  # above it, in a summary of several panels

    @property
    def figures(self) -> list[bool]:
        """Whether each column holds figures, which are aligned to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.headers)
        return [
            bool(self.headers) and any(column) and all(not cell or bool(_FIGURE.fullmatch(cell)) for cell in column)
            for column in columns
        ]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a result says: a title, panels, and the sentences that must be known to read them."""

    title: str
    panels: tuple[Panel, ...]
    sentences: tuple[str, ...]

    def as_text(self) -> str:
        """Return it for a terminal."""
        return text(self)

    def as_html(self) -> str:
        """Return it as HTML, every text escaped."""
        return html(self)

    def as_latex(self) -> str:
        """Return it as LaTeX without packages, every text escaped."""
        return latex(self)

    def as_markdown(self) -> str:
        """Return it as Markdown with pipe tables."""
        return markdown(self)

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()


def summary_of_figures(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], sentences: Sequence[str]
) -> Summary:
    """Return figures under headers, with sentences below them.

    Parameters
    ----------
    title : str
    headers : sequence of str
        The names of the columns.
    rows : sequence of sequences of str
        The figures as they shall stand there.
    sentences : sequence of str
        What must be known to read them.

    Returns
    -------
    Summary
        Of one panel.

    Examples
    --------
    >>> from ldpstats.extend import summary_of_figures
    >>> print(summary_of_figures("Coins", ["side", "throws"], [["heads", "52"], ["tails", "48"]], ["They were fair."]))
        Coins
    =============
    side   throws
    -------------
    heads      52
    tails      48
    =============
    They were fair.
    """
    return Summary(title, (panel_of_figures(headers, rows),), tuple(sentences))


def summary_of_facts(title: str, facts: Mapping[str, str | Sequence[str]], sentences: Sequence[str]) -> Summary:
    """Return facts line by line, each behind its heading, with sentences below them.

    Parameters
    ----------
    title : str
    facts : mapping of str
        From headings to a line, or to several that stand below each other.
    sentences : sequence of str
        What must be known to read them.

    Returns
    -------
    Summary
        Of one panel without headers.

    Examples
    --------
    >>> from ldpstats.extend import summary_of_facts
    >>> summary = summary_of_facts("Coins", {"Throws": "100", "Sides": ["heads", "tails"]}, ["They were fair."])
    >>> summary.panels[0].rows
    (('Throws', '100'), ('Sides', 'heads'), ('', 'tails'))
    """
    return Summary(title, (panel_of_facts(facts),), tuple(sentences))


def panel_of_figures(headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Panel:
    """Return a panel of figures under headers.

    Parameters
    ----------
    headers, rows, title
        As in `Panel`.
    """
    return Panel(tuple(headers), tuple(map(tuple, rows)), title)


def panel_of_facts(facts: Mapping[str, str | Sequence[str]], title: str = "") -> Panel:
    """Return a panel of facts, each behind its heading.

    Parameters
    ----------
    facts, title
        As in `summary_of_facts` and `Panel`.
    """
    lines = {heading: [fact] if isinstance(fact, str) else fact for heading, fact in facts.items()}
    rows = [
        (first, line) for heading, own in lines.items() for first, line in zip_longest([heading], own, fillvalue="")
    ]
    return Panel((), tuple(rows), title)
