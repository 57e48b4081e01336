"""What the raw data show against what private reports show: a line each where they are few, else a cloud of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import BLUE, INK, UNDECIDED, VERMILLION
from ldpstats.pictures.drawing import Axes, Picture, legend_below, literal
from ldpstats.pictures.intervals import Intervals

_LINES = 40
"""So many have a line each."""
_SPOKEN = 5


@dataclass(frozen=True, slots=True)
class RawAndPrivate(Picture):
    """Figures of the raw data, and their estimates from private reports with intervals.

    Parameters
    ----------
    title : str
    notes : tuple of str
        What must be said beside it: that reports are simulated, or nobody could know the raw figures.
    labels : tuple of str
        What each of them is of.
    raw, private, lower, upper : tuple of float
        nan where there is none.
    scale : str
        What they measure.
    """

    title: str
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    raw: tuple[float, ...]
    private: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: str

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        if len(self.labels) > _LINES:
            return 6.4, 5.6 + 0.2 * len(self.notes)
        wide, high = self._intervals().size
        return wide, high + 0.5

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""
        columns = {"raw": self.raw, "private": self.private, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({"label": self.labels, **columns})

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        (held, missed), known = self._held(), np.isfinite([self.raw, self.private]).all(axis=0)
        far = np.abs(np.subtract(self.raw, self.private))
        furthest = [int(place) for place in np.argsort(np.where(known, -far, np.inf), kind="stable")[: known.sum()]]
        shown = "; ".join(
            f"{self.labels[place]} {self.raw[place]:.3g} and {self.private[place]:.3g}" for place in furthest[:_SPOKEN]
        )
        return (
            f"{self.title}: {self.scale} in the raw data against private estimates, {len(self.labels)} of them. "
            f"{held.sum()} of {(held | missed).sum()} intervals hold the raw figure. "
            f"Furthest apart are {shown or 'none'}."
        )

    def _held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say whose interval holds what the raw data show, and whose does not; some may have none."""
        raw, lower, upper = (np.array(one, dtype=float) for one in (self.raw, self.lower, self.upper))
        return (lower <= raw) & (raw <= upper), (raw < lower) | (raw > upper)

    def _intervals(self) -> Intervals:
        return Intervals(self.title, self.notes, self.labels, self.private, self.lower, self.upper, self.scale)

    def _draw_on(self, ax: Axes) -> None:
        if len(self.labels) > _LINES:
            self._draw_points(ax)
        else:
            self._intervals().draw_beside(ax, self.raw, "raw data", "private reports, with intervals")

    def _draw_points(self, ax: Axes) -> None:
        (held, missed), drawn = self._held(), []
        raw, private, lower, upper = (np.array(one) for one in (self.raw, self.private, self.lower, self.upper))
        kinds = (
            (held, BLUE, "o", "interval holds it"),
            (missed, VERMILLION, "D", "interval misses it"),
            (~held & ~missed, UNDECIDED, "s", "no interval"),
        )
        for chosen, colour, marker, words in (kind for kind in kinds if kind[0].any()):
            ax.vlines(raw[chosen], lower[chosen], upper[chosen], color=colour, linewidth=0.7, alpha=0.35)
            label = f"{words} ({chosen.sum():,})"
            drawn.append(ax.scatter(raw[chosen], private[chosen], s=12, color=colour, marker=marker, label=label))
        both = np.concatenate([raw, private])
        ends = (np.nanmin(both), np.nanmax(both)) if np.isfinite(both).any() else (0.0, 1.0)
        ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_xlabel(literal(f"{self.scale}, raw data"))
        ax.set_ylabel(literal(f"{self.scale}, private reports"))
        legend_below(ax, drawn, max(1, len(drawn)))
