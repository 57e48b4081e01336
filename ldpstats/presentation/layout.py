"""Layout: panels, of which summaries are made, and which of their columns hold figures."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
            bool(self.headers) and any(column) and all(not one or bool(_FIGURE.fullmatch(one)) for one in column)
            for column in columns
        ]
