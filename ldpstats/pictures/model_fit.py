"""Fit of a model: proportions with their intervals, and beside them what a model or a hypothesis expects."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ldpstats.pictures.drawing import Axes, Picture
from ldpstats.pictures.intervals import Intervals


@dataclass(frozen=True, slots=True)
class ModelFit(Picture):
    """Estimates with intervals, and what is expected in their place.

    Parameters
    ----------
    title : str
    notes : tuple of str
        What must be said beside it, such as "simulated".
    estimated : Intervals
        The estimates, without what is expected.
    expected : tuple of float
        nan where there is none.
    words : str
        By what it is expected.
    """

    title: str
    notes: tuple[str, ...]
    estimated: Intervals
    expected: tuple[float, ...]
    words: str

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        wide, high = self.estimated.size
        return wide, high + 0.5

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""
        return self.estimated.to_frame().assign(expected=self.expected)

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        frame = self.to_frame()
        outside = frame[(frame["expected"] < frame["lower"]) | (frame["expected"] > frame["upper"])]
        apart = ", ".join(map(str, outside["label"].head(5)))
        held = f"{len(outside)} intervals do not hold it: {apart}" if len(outside) else "every interval holds it"
        return f"{self.title}: {len(frame)} estimated proportions beside what is {self.words}; {held}."

    def _draw_on(self, ax: Axes) -> None:
        self.estimated.draw_beside(ax, self.expected, self.words, "estimates, with intervals")
