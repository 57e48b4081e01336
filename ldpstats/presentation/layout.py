"""Layout: panels, of which summaries are made, and which of their columns hold figures."""

from __future__ import annotations

import re
from dataclasses import dataclass

# a number, also with a unit, an interval, or what stands in its place
_FIGURE = re.compile(r"[<>≤≥±+\-−]?\s?[\d.,]+(e[+-]?\d+)?( ?[%±*†].*)?|-+|—|nan|inf|-inf|∞|not estimable")


@dataclass(frozen=True, slots=True)
class Panel:
    """A table of texts as it shall be shown.

    Parameters
    ----------
    headers : tuple of str
        The names of the columns; none where the first column says what stands in the second (facts).
    rows : tuple of tuples of str
    title : str
        What is above it, in a summary of several panels.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""

    @property
    def figures(self) -> list[bool]:
        """Whether each column holds figures, which stand to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.headers)
        return [
            bool(self.headers) and any(column) and all(not one or bool(_FIGURE.fullmatch(one)) for one in column)
            for column in columns
        ]
