"""Layout: what every format of a summary asks of it, and which columns of a panel hold figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

# a number, also with a unit, an interval, or what stands in its place
_FIGURE = re.compile(r"[<>≤≥±+\-−]?\s?[\d.,]+(e[+-]?\d+)?( ?[%±*†].*)?|-+|—|nan|inf|-inf|∞|not estimable")


class PanelLike(Protocol):
    """A table of texts."""

    @property
    def headers(self) -> tuple[str, ...]:
        """The names of the columns, if there are any."""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts."""

    @property
    def title(self) -> str:
        """What stands above it."""


class SummaryLike(Protocol):
    """A title, panels and sentences."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def panels(self) -> Sequence[PanelLike]:
        """The tables."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What must be known to read them."""


def figures_in(panel: PanelLike) -> list[bool]:
    """Say for every column of a panel whether it holds figures, which stand to the right.

    Parameters
    ----------
    panel : Panel
    """
    columns = zip(*panel.rows, strict=True) if panel.rows else [()] * len(panel.headers)
    return [
        bool(panel.headers) and any(column) and all(not one or bool(_FIGURE.fullmatch(one)) for one in column)
        for column in columns
    ]
