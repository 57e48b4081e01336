"""Dot plots, a row for everything with a label: estimates with intervals, rankings, and one figure beside another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.pictures.colours import BLUE, INK, UNDECIDED, VERMILLION
from ldpstats.pictures.drawing import (
    LONGEST_LINE,
    Axes,
    Picture,
    label_lines,
    legend_below,
    literal,
    number_ratios,
    plain_number,
)

_WIDE, _LINE, _TWO_LINES, _CROWDED, _NOTE = 6.4, 0.28, 0.4, 0.2, 0.17
_MANY = 40
"""So many lines stand closer to each other, and so many raw figures beside private ones are a cloud of points."""
_THICK, _MIDDLE, _THIN = 6.0, 2.2, 1.4
_MARGIN = 0.04
_WIDTHS = 3
"""So many ordinary widths, and the span of all estimates, an interval may reach beyond them without being cut."""
_SPOKEN, _COMPARED = 12, 5
"""So many are described one by one, and so many beside something else."""
_BESIDE, _DIGITS = 0.12, 4
"""Room for the numbers of a ranking, as a share of what its scale reaches, and their digits."""

MOST_LINES = 600
"""More would be taller than anything that can be drawn."""


@dataclass(frozen=True, slots=True)
class DotPlot(Picture):
    """Rows with labels, from top to bottom, on one scale."""

    labels: tuple[str, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        lines = len(self.labels) + len(self._headings)
        line = _CROWDED if lines > _MANY else _LINE
        if any(len(one) > LONGEST_LINE for one in self.labels):
            line = _TWO_LINES
        return _WIDE, self._around + line * max(lines, 2)

    @property
    def _around(self) -> float:
        """Inches above and below all rows."""
        return 1.8

    @property
    def _headings(self) -> dict[int, str]:
        """Headings, by the row that they stand above."""
        return {}

    @property
    def _places(self) -> NDArray[np.float64]:
        """Where every row stands, from the top, with room for headings."""
        order, headings = np.arange(len(self.labels)), self._headings
        above = np.isin(order, list(headings)).cumsum()
        return np.asarray(order.size + len(headings) - 1 - order - above, dtype=float)

    def _name_axes(self, ax: Axes, scale: str) -> None:
        places, headings = self._places, self._headings
        above = [float(places[first]) + 1 for first in headings]
        ax.set_yticks([*places, *above], list(map(label_lines, [*self.labels, *headings.values()])))
        for place in above[1:]:
            ax.axhline(place + 0.5, color=UNDECIDED, linewidth=0.4)
        for tick in ax.yaxis.get_major_ticks()[len(places) :]:
            tick.label1.set_fontweight("bold")
            tick.tick1line.set_visible(False)
        ax.set_ylim(-0.6, len(places) + len(headings) - 0.4)
        ax.set_xlabel(literal(scale))


@dataclass(frozen=True, slots=True)
class Intervals(DotPlot):
    """Estimates with confidence intervals: proportions, effects (a forest plot), and bounds.

    An end that is infinite, or far beyond all others, is an arrow at the border of the picture.
    """

    # in estimates and ends, nan where there is none
    estimates: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: str  # what they measure
    reference: float | None = None  # no effect, 0 or 1: intervals that hold it are grey
    logarithmic: bool = False  # whether the scale is one of ratios
    inner_lower: tuple[float, ...] = ()  # intervals inside the others, if any, drawn thick
    inner_upper: tuple[float, ...] = ()
    groups: tuple[str, ...] = ()  # of each line: headings stand above the first of each
    others: tuple[float, ...] = ()  # hollow marks beside the estimates; nan where there is none
    words: tuple[str, str] = ("", "")  # what the others are, and what the estimates are

    def to_frame(self) -> pd.DataFrame:
        """Return a row per line."""
        columns = {"estimate": self.estimates, "lower": self.lower, "upper": self.upper}
        inner = {"inner_lower": self.inner_lower, "inner_upper": self.inner_upper} if self.inner_lower else {}
        groups = {"group": self.groups} if self.groups else {}
        return pd.DataFrame({**groups, "label": self.labels, **columns, **inner})

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
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

    @property
    def _around(self) -> float:
        legend = (_NOTE if UNDECIDED in self._colours() else 0.0) + (0.5 if self.others else 0.0)
        return 1.3 + legend + _NOTE * len(self.notes)

    @property
    def _headings(self) -> dict[int, str]:
        """The groups, by the first line of each."""
        return {place: group for place, group in enumerate(self.groups) if not place or group != self.groups[place - 1]}

    def _draw_on(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        places = self._places
        _set_scale(ax, self._window(), self.logarithmic)
        if self.reference is not None:
            ax.axvline(self.reference, color=INK, linewidth=0.8, linestyle=":")
        self._draw_ends(ax, self.lower, self.upper, _THIN if self.inner_lower else _MIDDLE)
        if self.inner_lower:
            self._draw_ends(ax, self.inner_lower, self.inner_upper, _THICK)
        ax.scatter(self.estimates, places, color=self._colours(), s=28, zorder=3)
        for place in places[np.isnan([self.estimates, self.lower, self.upper]).all(axis=0)]:
            ax.annotate("not estimable", (0.02, place), xycoords=("axes fraction", "data"), va="center", size=8)
        self._name_axes(ax, self.scale)
        if self.others:
            self._draw_others(ax)
        elif UNDECIDED in self._colours():
            grey = Line2D([], [], color=UNDECIDED, marker="o", markersize=5, linewidth=_MIDDLE)
            grey.set_label(f"grey: the interval holds {self.reference:g}")
            legend_below(ax, [grey], 1)

    def _draw_others(self, ax: Axes) -> None:
        """Draw a hollow mark on each line, and explain the marks below."""
        from matplotlib.lines import Line2D

        hollow: Any = {"marker": "D", "linestyle": "", "markerfacecolor": "none", "color": VERMILLION}
        ax.plot(self.others, self._places, zorder=4, **hollow)
        low, high = ax.get_xlim()
        beyond, known = 0.03 * (high - low), _finite(self.others)
        ax.set_xlim(min([low, *(known - beyond)]), max([high, *(known + beyond)]))
        estimated = Line2D([], [], color=BLUE, marker="o", markersize=5, label=self.words[1])
        legend_below(ax, [Line2D([], [], label=self.words[0], **hollow), estimated], 2)

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
        """Return the limits of the scale: by the estimates, and intervals of an ordinary width around them."""
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


@dataclass(frozen=True, slots=True)
class ModelFit(Intervals):
    """Estimated proportions with intervals, and as `others` those expected under a model or hypothesis."""

    def to_frame(self) -> pd.DataFrame:
        """Return a row per line."""
        return Intervals.to_frame(self).assign(expected=self.others)

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        frame = self.to_frame()
        outside = frame[(frame["expected"] < frame["lower"]) | (frame["expected"] > frame["upper"])]
        apart = ", ".join(map(str, outside["label"].head(_COMPARED)))
        held = f"{len(outside)} intervals do not hold it: {apart}" if len(outside) else "every interval holds it"
        return f"{self.title}: {len(frame)} estimated proportions beside what is {self.words[0]}; {held}."


@dataclass(frozen=True, slots=True)
class RawAndPrivate(DotPlot):
    """Raw figures beside private estimates with intervals; as a scatter plot if they are many.

    Notes say that reports are simulated, or nobody could know the raw figures. nan where there is none.
    """

    raw: tuple[float, ...]
    private: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: str  # what they measure

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return (_WIDE, 5.6 + 0.2 * len(self.notes)) if len(self.labels) > _MANY else self._lines.size

    def to_frame(self) -> pd.DataFrame:
        """Return a row per figure."""
        columns = {"raw": self.raw, "private": self.private, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({"label": self.labels, **columns})

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        frame, (held, missed) = self.to_frame(), self._held()
        frame = frame.assign(far=(frame["raw"] - frame["private"]).abs())
        known = frame[np.isfinite(frame["far"])].sort_values("far", ascending=False, kind="stable")
        shown = [f"{one.label} {one.raw:.3g} and {one.private:.3g}" for one in known.head(_COMPARED).itertuples()]
        return (
            f"{self.title}: {self.scale} in the raw data against private estimates, {len(frame)} of them. "
            f"{held.sum()} of {(held | missed).sum()} intervals hold the raw figure. "
            f"Furthest apart are {'; '.join(shown) or 'none'}."
        )

    def _held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks: whose interval covers the raw figure, and whose does not; some have no interval."""
        raw, lower, upper = (np.array(one, dtype=float) for one in (self.raw, self.lower, self.upper))
        return (lower <= raw) & (raw <= upper), (raw < lower) | (raw > upper)

    @property
    def _lines(self) -> Intervals:
        drawn = (self.title, self.notes, self.labels, self.private, self.lower, self.upper, self.scale)
        return Intervals(*drawn, others=self.raw, words=("raw data", "private reports, with intervals"))

    def _draw_on(self, ax: Axes) -> None:
        if len(self.labels) > _MANY:
            self._draw_points(ax)
        else:
            self._lines.draw(ax)

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


@dataclass(frozen=True, slots=True)
class BeforeAfter(DotPlot):
    """What several tables say of the same proportion, and what they say once they agree."""

    before: tuple[tuple[float, ...], ...]  # of each label, one number per table that says something
    after: tuple[float, ...]
    scale: str  # what is measured

    def to_frame(self) -> pd.DataFrame:
        """Return a row per value before."""
        rows = [
            (label, value, after)
            for label, values, after in zip(self.labels, self.before, self.after, strict=True)
            for value in values
        ]
        return pd.DataFrame(rows, columns=["label", "before", "after"])

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        widest = sorted(zip(self.before, self.labels, self.after, strict=True), key=lambda row: -np.ptp(row[0]))
        shown = "; ".join(
            f"{label} from {min(values):.3g} to {max(values):.3g}, then {after:.3g}"
            for values, label, after in widest[:_COMPARED]
        )
        below = sum(value < 0 for values in self.before for value in values)
        return (
            f"{self.title}: {self.scale} before and after, {len(self.labels)} of them. {below} values before are "
            f"below zero, {sum(value < 0 for value in self.after)} after. Furthest apart were {shown}."
        )

    def _draw_on(self, ax: Axes) -> None:
        places, across = self._places, np.concatenate(self.before)
        up = np.repeat(places, list(map(len, self.before)))
        ax.hlines(places, list(map(min, self.before)), list(map(max, self.before)), color=BLUE, linewidth=1, alpha=0.5)
        before = ax.scatter(across, up, s=18, color=BLUE, alpha=0.65, linewidth=0, label="before")
        upright: Any = {"linestyle": "", "marker": "|", "markersize": 14, "markeredgewidth": 2, "color": VERMILLION}
        after = ax.plot(self.after, places, label="after", **upright)
        if min(across) < 0:
            ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        self._name_axes(ax, self.scale)
        legend_below(ax, [before, *after], 2)


@dataclass(frozen=True, slots=True)
class Ranking(DotPlot):
    """A point for each of several things, the best on top, with its number beside it."""

    values: tuple[float, ...]  # infinite where no number is enough
    scale: str  # what they measure
    logarithmic: bool = False  # whether ratios matter, not differences

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return _WIDE, 1.2 + _LINE * max(len(self.labels), 2)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per point."""
        return pd.DataFrame({"label": self.labels, "value": self.values})

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        shown = [f"{label} {_ranked(value)}" for label, value in zip(self.labels, self.values, strict=True)]
        more = [f"and {len(shown) - _SPOKEN} more"] if len(shown) > _SPOKEN else []
        return f"{self.title}: {self.scale}. {'; '.join([*shown[:_SPOKEN], *more])}."

    def _draw_on(self, ax: Axes) -> None:
        low, high = self._window()
        _set_scale(ax, (low, high), self.logarithmic)
        for row, (place, value) in enumerate(zip(self._places, self.values, strict=True)):
            finite = np.isfinite(value)
            ax.plot([low, value if finite else high], [place, place], color=UNDECIDED, linewidth=0.6, linestyle=":")
            if finite:
                ax.plot([value], [place], "o", color=BLUE, markersize=5 if row else 7)
            at, aside = (value, (6, 0)) if finite else (low, (4, 0))
            ax.annotate(_ranked(value), (at, place), aside, textcoords="offset points", va="center", size=8, color=INK)
        self._name_axes(ax, f"{self.scale}, logarithmic" if self.logarithmic else self.scale)

    def _window(self) -> tuple[float, float]:
        """Return the limits of the scale, with room for the numbers."""
        known = [value for value in self.values if np.isfinite(value)] or [1.0]
        if not self.logarithmic:
            return 0.0, max(known) * (1 + _BESIDE) or 1.0
        reach = max(max(known) / min(known), 2.0)
        return min(known) / reach**_BESIDE, max(known) * reach ** (2 * _BESIDE)


def _set_scale(ax: Axes, window: tuple[float, float], logarithmic: bool) -> None:
    if logarithmic:
        ax.set_xscale("log")
        number_ratios(ax.xaxis, *window)
    ax.set_xlim(*window)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    given: NDArray[np.float64] = np.asarray(values, dtype=float)
    return given[np.isfinite(given)]


def _spoken(label: str, estimate: float, low: float, high: float) -> str:
    if np.isnan(low) and np.isnan(high):
        return f"{label} not estimable" if np.isnan(estimate) else f"{label} {estimate:.3g}"
    between = _between(low, high)
    return f"{label} {between}" if np.isnan(estimate) else f"{label} {estimate:.3g} ({between})"


def _between(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"


def _ranked(value: float) -> str:
    if not np.isfinite(value):
        return "none is enough"
    return plain_number(value if value == round(value) else float(f"{value:.{_DIGITS}g}"))
