"""Estimates with their intervals, a line each: proportions, effects (a forest plot), and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import BLUE, INK, UNDECIDED, VERMILLION
from ldpstats.pictures.drawing import LONGEST_LINE, Axes, Picture, label_lines, legend_below, literal, number_ratios

_LINE, _TWO_LINES, _CROWDED, _NOTE = 0.28, 0.4, 0.2, 0.17
_MANY = 40
"""So many lines stand closer to each other."""
_THICK, _MIDDLE, _THIN = 6.0, 2.2, 1.4
_MARGIN = 0.04
_WIDTHS = 3
"""So many ordinary widths, and the span of all estimates, an interval may reach beyond them without being cut."""
_SPOKEN = 12
"""So many are described one by one."""

MOST_LINES = 600
"""More would be taller than anything that can be drawn."""


@dataclass(frozen=True, slots=True)
class Intervals(Picture):
    """Estimates with their intervals, from top to bottom.

    An end that is infinite, or far beyond all others, is an arrow at the border of the picture.

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
    inner_lower, inner_upper : tuple of float
        Intervals inside these, if there are any; they are drawn thick, and the others thin.
    groups : tuple of str
        What each line belongs to, if to anything: a heading stands above the first one of each.
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
    inner_lower: tuple[float, ...] = ()
    inner_upper: tuple[float, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[float, float]:
        """The width and height in inches that it looks right at."""
        lines = len(self.labels) + len(self._headings)
        line = _CROWDED if lines > _MANY else _LINE
        if any(len(one) > LONGEST_LINE for one in self.labels):
            line = _TWO_LINES
        legend = _NOTE if UNDECIDED in self._colours() else 0.0
        return 6.4, 1.3 + legend + _NOTE * len(self.notes) + line * max(lines, 2)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures that are drawn."""
        columns = {"estimate": self.estimates, "lower": self.lower, "upper": self.upper}
        inner = {"inner_lower": self.inner_lower, "inner_upper": self.inner_upper} if self.inner_lower else {}
        groups = {"group": self.groups} if self.groups else {}
        return pd.DataFrame({**groups, "label": self.labels, **columns, **inner})

    def described(self) -> str:
        """Return what is to be seen, in a sentence or two, for those who cannot see it."""
        labels = [f"{group}: {one}" for group, one in zip(self.groups, self.labels, strict=True)] if self.groups else []
        rows = [*zip(labels or self.labels, self.estimates, self.lower, self.upper, strict=True)]
        said = [_spoken(*row) for row in rows[:_SPOKEN]]
        if self.inner_lower:
            inner = zip(self.inner_lower, self.inner_upper, strict=True)
            said = [f"{one} (inside: {_between(*ends)})" for one, ends in zip(said, inner, strict=False)]
        number = f"{len(rows)} of them, among these " if len(rows) > _SPOKEN else ""
        unsaid = "interval" not in self.scale and not np.isnan(self.lower).all()
        intervals = " with intervals" if unsaid else ""
        return f"{self.title}: {self.scale}{intervals}. {number}{'; '.join(said)}."

    def draw_beside(self, ax: Axes, others: Sequence[float], words: str, own: str) -> None:
        """Draw it, with a hollow mark for another number on each line, and say below what is what.

        Parameters
        ----------
        ax : matplotlib Axes
        others : sequence of float
        words, own : str
            What the others are, and what the estimates are.
        """
        from matplotlib.lines import Line2D

        self.draw(ax)
        hollow: Any = {"marker": "D", "linestyle": "", "markerfacecolor": "none", "color": VERMILLION}
        marks = np.array(others, dtype=float)
        ax.plot(marks, self._places, zorder=4, **hollow)
        low, high = ax.get_xlim()
        beyond, known = 0.03 * (high - low), _finite(marks)
        ax.set_xlim(min(low, *(known - beyond)), max(high, *(known + beyond)))
        estimated = Line2D([], [], color=BLUE, marker="o", markersize=5, label=own)
        legend_below(ax, [Line2D([], [], label=words, **hollow), estimated], 2)

    def _draw_on(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        places, window = self._places, self._window()
        if self.logarithmic:
            ax.set_xscale("log")
            number_ratios(ax.xaxis, *window)
        ax.set_xlim(*window)
        if self.reference is not None:
            ax.axvline(self.reference, color=INK, linewidth=0.8, linestyle=":")
        self._draw_ends(ax, self.lower, self.upper, _THIN if self.inner_lower else _MIDDLE)
        if self.inner_lower:
            self._draw_ends(ax, self.inner_lower, self.inner_upper, _THICK)
        ax.scatter(self.estimates, places, color=self._colours(), s=28, zorder=3)
        for place in places[np.isnan([self.estimates, self.lower, self.upper]).all(axis=0)]:
            ax.annotate("not estimable", (0.02, place), xycoords=("axes fraction", "data"), va="center", size=8)
        headings = self._headings
        above = [float(places[first]) + 1 for first in headings]
        ax.set_yticks([*places, *above], list(map(label_lines, [*self.labels, *headings.values()])))
        for place in above[1:]:
            ax.axhline(place + 0.5, color=UNDECIDED, linewidth=0.4)
        for tick in ax.yaxis.get_major_ticks()[len(places) :]:
            tick.label1.set_fontweight("bold")
            tick.tick1line.set_visible(False)
        ax.set_ylim(-0.6, len(self.labels) + len(headings) - 0.4)
        ax.set_xlabel(literal(self.scale))
        if UNDECIDED in self._colours():
            grey = Line2D([], [], color=UNDECIDED, marker="o", markersize=5, linewidth=_MIDDLE)
            grey.set_label(f"grey: the interval holds {self.reference:g}")
            legend_below(ax, [grey], 1)

    @property
    def _headings(self) -> dict[int, str]:
        """The groups, by the first line of each."""
        return {place: group for place, group in enumerate(self.groups) if not place or group != self.groups[place - 1]}

    @property
    def _places(self) -> NDArray[np.float64]:
        """Where every line stands, from the top, with room for headings."""
        order, headings = np.arange(len(self.labels)), self._headings
        above = np.isin(order, list(headings)).cumsum()
        return np.asarray(order.size + len(headings) - 1 - order - above, dtype=float)

    def _draw_ends(self, ax: Axes, lower: tuple[float, ...], upper: tuple[float, ...], width: float) -> None:
        """Draw lines between two ends, with arrows at those that lie beyond the scale."""
        low, high = ax.get_xlim()
        for place, first, last, colour in zip(self._places, lower, upper, self._colours(), strict=True):
            ends = np.clip([first, last], low, high)
            ax.plot(ends, [place, place], color=colour, linewidth=width, solid_capstyle="butt")
            for beyond, end, arrow in ((first < low, low, "<"), (last > high, high, ">")):
                if beyond:
                    ax.plot([end], [place], marker=arrow, markersize=6, color=colour, clip_on=False)

    def _window(self) -> tuple[float, float]:
        """Return where the scale begins and ends: by the estimates, and intervals of an ordinary width around them."""
        drawn = (self.estimates, self.lower, self.upper, self.inner_lower, self.inner_upper)
        reference = () if self.reference is None else (self.reference,)
        estimates, lower, upper, *inner, fixed = map(self._on_the_scale, (*drawn, reference))
        core = _finite(np.concatenate([estimates, fixed]))
        ends = _finite(np.concatenate([estimates, fixed, lower, upper, *inner]))
        if not ends.size:
            return (0.1, 10.0) if self.logarithmic else (0.0, 1.0)
        low, high = ends.min(), ends.max()
        with np.errstate(invalid="ignore"):
            widths = _finite(upper - lower)
        reach = np.ptp(core) + _WIDTHS * (np.quantile(widths, 0.25) if widths.size else 0.0) if core.size else 0.0
        if reach > 0:
            low, high = max(low, core.min() - reach), min(high, core.max() + reach)
        margin = _MARGIN * (high - low) or 0.5
        first, last = low - margin, high + margin
        return (float(np.exp(first)), float(np.exp(last))) if self.logarithmic else (float(first), float(last))

    def _on_the_scale(self, values: tuple[float, ...]) -> NDArray[np.float64]:
        given = np.array(values, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            shown: NDArray[np.float64] = np.log(given) if self.logarithmic else given
        return shown

    def _colours(self) -> list[str]:
        """Return a colour per line: grey where the interval holds the reference."""
        holds = [
            self.reference is not None and low <= self.reference <= high
            for low, high in zip(self.lower, self.upper, strict=True)
        ]
        return [UNDECIDED if held else BLUE for held in holds]


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


def _spoken(label: str, estimate: float, low: float, high: float) -> str:
    if np.isnan(low) and np.isnan(high):
        return f"{label} not estimable" if np.isnan(estimate) else f"{label} {estimate:.3g}"
    between = _between(low, high)
    return f"{label} {between}" if np.isnan(estimate) else f"{label} {estimate:.3g} ({between})"


def _between(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"
