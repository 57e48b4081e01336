"""Before and after: what several tables say of the same proportion, and what they say once they agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import BLUE, INK, VERMILLION
from ldpstats.pictures.drawing import LONGEST_LINE, Axes, Picture, label_lines, legend_below, literal

_LINE, _TWO_LINES = 0.28, 0.4
_SPOKEN = 5


@dataclass(frozen=True, slots=True)
class BeforeAfter(Picture):
    """Values before, one or several a line, and one value after.

    Parameters
    ----------
    title : str
    notes : tuple of str
        What must be said beside it, such as "simulated".
    labels : tuple of str
        What each line is of.
    before : tuple of tuple of float
        What was said of it, by each of those who say something.
    after : tuple of float
    scale : str
        What is measured.
    """

    title: str
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    before: tuple[tuple[float, ...], ...]
    after: tuple[float, ...]
    scale: str

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        line = _TWO_LINES if any(len(one) > LONGEST_LINE for one in self.labels) else _LINE
        return 6.4, 1.8 + line * max(len(self.labels), 2)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn: a row for every value before."""
        rows = [
            (label, value, after)
            for label, values, after in zip(self.labels, self.before, self.after, strict=True)
            for value in values
        ]
        return pd.DataFrame(rows, columns=["label", "before", "after"])

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        widest = sorted(zip(self.before, self.labels, self.after, strict=True), key=lambda row: -np.ptp(row[0]))
        shown = "; ".join(
            f"{label} from {min(values):.3g} to {max(values):.3g}, then {after:.3g}"
            for values, label, after in widest[:_SPOKEN]
        )
        below = sum(value < 0 for values in self.before for value in values)
        return (
            f"{self.title}: {self.scale} before and after, {len(self.labels)} of them. {below} values before are "
            f"below zero, {sum(value < 0 for value in self.after)} after. Furthest apart were {shown}."
        )

    def _draw_on(self, ax: Axes) -> None:
        places = np.arange(len(self.labels))[::-1]
        across = [value for values in self.before for value in values]
        up = [int(place) for place, values in zip(places, self.before, strict=True) for _ in values]
        ax.hlines(places, list(map(min, self.before)), list(map(max, self.before)), color=BLUE, linewidth=1, alpha=0.5)
        before = ax.scatter(across, up, s=18, color=BLUE, alpha=0.65, linewidth=0, label="before")
        (after,) = ax.plot(
            self.after,
            places,
            linestyle="",
            marker="|",
            markersize=14,
            markeredgewidth=2,
            color=VERMILLION,
            label="after",
        )
        if min(across) < 0:
            ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        ax.set_yticks(places, list(map(label_lines, self.labels)))
        ax.set_ylim(-0.6, len(self.labels) - 0.4)
        ax.set_xlabel(literal(self.scale))
        legend_below(ax, [before, after], 2)
