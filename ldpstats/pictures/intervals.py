"""Estimates with their intervals, a line each: proportions, effects (a forest plot), and bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import BLUE, INK, UNDECIDED
from ldpstats.pictures.drawing import Axes, Picture

_LINE = 0.28


@dataclass(frozen=True, slots=True)
class Intervals(Picture):
    """Estimates with their intervals, from top to bottom.

    Parameters
    ----------
    title : str
    notes : tuple of str
        What must be said beside it, such as "simulated".
    labels : tuple of str
        What each of them is of.
    estimates, lower, upper : tuple of float
        nan where there is none.
    scale : str
        What they measure.
    reference : float, optional
        Where nothing is different: 0 or 1. Intervals that hold it are grey.
    logarithmic : bool
        Whether the scale is one of ratios.
    """

    title: str
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    estimates: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: str
    reference: float | None = None
    logarithmic: bool = False

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        return 6.4, 1.3 + _LINE * max(len(self.labels), 2)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""
        columns = {"estimate": self.estimates, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({"label": self.labels, **columns})

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        shown = [
            f"{label} {estimate:.3g} ({low:.3g} to {high:.3g})"
            for label, estimate, low, high in zip(self.labels, self.estimates, self.lower, self.upper, strict=True)
        ]
        return f"{self.title}: {self.scale} with intervals. {'; '.join(shown)}."

    def _draw_on(self, ax: Axes) -> None:
        places = np.arange(len(self.labels))[::-1]
        estimates, lower, upper = (np.array(one, dtype=float) for one in (self.estimates, self.lower, self.upper))
        if self.logarithmic:
            ax.set_xscale("log")
        if self.reference is not None:
            ax.axvline(self.reference, color=INK, linewidth=0.8, linestyle=":")
        for place, low, high, colour in zip(places, lower, upper, self._colours(), strict=True):
            ax.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
        ax.scatter(estimates, places, color=self._colours(), s=28, zorder=3)
        ax.set_yticks(places, list(self.labels))
        ax.set_ylim(-0.6, len(self.labels) - 0.4)
        ax.set_xlabel(self.scale)

    def _colours(self) -> list[str]:
        """Return a colour per line: grey where the interval holds the reference."""
        holds = [
            self.reference is not None and low <= self.reference <= high
            for low, high in zip(self.lower, self.upper, strict=True)
        ]
        return [UNDECIDED if held else BLUE for held in holds]
