"""Rankings: one number for each of several things, the best on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import BLUE, INK, UNDECIDED
from ldpstats.pictures.drawing import Axes, Picture, label_lines, literal, number_ratios, plain_number

_LINE, _MARGIN, _ROOM = 0.28, 1.2, 0.12
_SPOKEN = 12
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Ranking(Picture):
    """A point on a line of its own for each of several things, with its number beside it.

    Parameters
    ----------
    title : str
    notes : tuple of str
        What must be said beside it.
    labels : tuple of str
        What is compared, the best first.
    values : tuple of float
        Infinite where no number is enough.
    scale : str
        What they measure.
    logarithmic : bool
        Whether ratios matter, and not differences.
    """

    title: str
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[float, ...]
    scale: str
    logarithmic: bool = False

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        return 6.4, _MARGIN + _LINE * max(len(self.labels), 2)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""
        return pd.DataFrame({"label": self.labels, "value": self.values})

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        rows = [*zip(self.labels, self.values, strict=True)]
        more = f"; and {len(rows) - _SPOKEN} more" if len(rows) > _SPOKEN else ""
        shown = "; ".join(f"{label} {_shown(value)}" for label, value in rows[:_SPOKEN])
        return f"{self.title}: {self.scale}. {shown}{more}."

    def _draw_on(self, ax: Axes) -> None:
        places = np.arange(len(self.labels))[::-1]
        low, high = self._window()
        if self.logarithmic:
            ax.set_xscale("log")
            number_ratios(ax.xaxis, low, high)
        ax.set_xlim(low, high)
        for place, value, first in zip(places, self.values, places == len(places) - 1, strict=True):
            finite = np.isfinite(value)
            ax.plot([low, value if finite else high], [place, place], color=UNDECIDED, linewidth=0.6, linestyle=":")
            if finite:
                ax.plot([value], [place], "o", color=BLUE, markersize=7 if first else 5)
            at, aside = (value, (6, 0)) if finite else (low, (4, 0))
            ax.annotate(_shown(value), (at, place), aside, textcoords="offset points", va="center", size=8, color=INK)
        ax.set_yticks(places, list(map(label_lines, self.labels)))
        ax.set_ylim(-0.6, len(self.labels) - 0.4)
        ax.set_xlabel(literal(f"{self.scale}, logarithmic" if self.logarithmic else self.scale))

    def _window(self) -> tuple[float, float]:
        """Return where the scale begins and ends, with room for the numbers."""
        known = [value for value in self.values if np.isfinite(value)] or [1.0]
        if not self.logarithmic:
            return 0.0, max(known) * (1 + _ROOM) or 1.0
        reach = max(max(known) / min(known), 2.0)
        return min(known) / reach**_ROOM, max(known) * reach ** (2 * _ROOM)


def _shown(value: float) -> str:
    if not np.isfinite(value):
        return "none is enough"
    return plain_number(value if value == round(value) else float(f"{value:.{_DIGITS}g}"))
