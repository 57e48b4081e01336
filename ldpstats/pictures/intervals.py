"""Dot plots: a row for everything with a label, with its interval, its number or other figures beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

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
_BESIDE = 0.12
"""Room for the numbers of a ranking, as a share of what its scale reaches."""

MOST_LINES = 600
"""More would be taller than anything that can be drawn."""


@dataclass(frozen=True, slots=True)
class Intervals(Picture):
    """Estimates with confidence intervals, from top to bottom on one scale: a forest plot where they are effects.

    An end that is infinite, or far beyond all others, is an arrow at the border of the picture. A ranking has numbers
    beside its points instead of intervals, and an infinite one says that nothing is enough.
    """

    labels: tuple[str, ...]
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
    others: tuple[tuple[float, ...], ...] = ()  # hollow marks on each line; nan where there is none
    kind: str = ""  # of the others, such as "expected"
    words: tuple[str, str] = ("", "")  # what the others are, and what the estimates are
    ranked: bool = False

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        lines = len(self.labels) + len(self._headings)
        line = _CROWDED if lines > _MANY and not self.ranked else _LINE
        if any(len(label) > LONGEST_LINE for label in self.labels):
            line = _TWO_LINES
        legend = 0.5 if self.others else _NOTE if UNDECIDED in self._colours() else 0.0
        return _WIDE, 1.3 + legend + _NOTE * len(self.notes) + line * max(lines, 2)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per line, or per mark where there are several on a line."""
        columns = {"estimate": self.estimates, "lower": self.lower, "upper": self.upper}
        inner = {"inner_lower": self.inner_lower, "inner_upper": self.inner_upper} if self.inner_lower else {}
        groups = {"group": self.groups} if self.groups else {}
        frame = pd.DataFrame({**groups, "label": self.labels, **columns, **inner})
        if not self.others:
            return frame
        frame[self.kind] = pd.Series([list(several) for several in self.others], dtype=object)
        return frame.explode(self.kind, ignore_index=True).astype({self.kind: float})

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        if self.others:
            return self._compared()
        labels = [": ".join(pair) for pair in zip(self.groups, self.labels, strict=True)] if self.groups else []
        rows = [*zip(labels or self.labels, self.estimates, self.lower, self.upper, strict=True)]
        said = [self._spoken(*row) for row in rows[:_SPOKEN]]
        if self.inner_lower:
            inner = zip(self.inner_lower, self.inner_upper, strict=True)
            said = [f"{spoken} (inside: {_between(*ends)})" for spoken, ends in zip(said, inner, strict=False)]
        number = f"{len(rows)} of them, among these " if len(rows) > _SPOKEN else ""
        unsaid = "interval" not in self.scale and not np.isnan(self.lower).all()
        intervals = " with intervals" if unsaid else ""
        return f"{self.title}: {self.scale}{intervals}. {number}{'; '.join(said)}."

    def _compared(self) -> str:
        """Say how many intervals hold the others, and what is the furthest apart from them."""
        frame = Intervals.to_frame(self)
        other = frame[self.kind]
        held, missed = _held(other, frame["lower"], frame["upper"])
        far = frame.assign(far=(frame["estimate"] - other).abs(), other=other).dropna(subset="far")
        far = far.sort_values("far", ascending=False, kind="stable").drop_duplicates("label").head(_COMPARED)
        apart = [f"{row.label} {row.estimate:.3g} ({self.kind} {row.other:.3g})" for row in far.itertuples()]
        known, below = (held | missed).sum(), (other < 0).sum()
        said = [
            f"{self.title}: {self.scale}. {len(self.labels)} of them, beside {self.kind} ones",
            *([f"{held.sum()} of {known} intervals hold the {self.kind} one"] if known else []),
            *([f"{below} {self.kind} ones are below zero"] if below else []),
            *([f"Furthest apart: {'; '.join(apart)}"] if apart else []),
        ]
        return f"{'. '.join(said)}."

    def _spoken(self, label: str, estimate: float, low: float, high: float) -> str:
        known = "not estimable" if np.isnan(estimate) else _number(estimate) if self.ranked else f"{estimate:.3g}"
        if np.isnan(low) and np.isnan(high):
            return f"{label} {known}"
        between = _between(low, high)
        return f"{label} {between}" if np.isnan(estimate) else f"{label} {known} ({between})"

    def _draw_on(self, ax: Axes) -> None:
        places, window = self._places, self._window()
        if self.logarithmic:
            ax.set_xscale("log")
            number_ratios(ax.xaxis, *window)
        ax.set_xlim(*window)
        if self.reference is not None:
            ax.axvline(self.reference, color=INK, linewidth=0.8, linestyle=":")
        if self.ranked:
            self._draw_numbers(ax)
        self._draw_ends(ax, self.lower, self.upper, _THIN if self.inner_lower else _MIDDLE)
        self._draw_ends(ax, self.inner_lower, self.inner_upper, _THICK)
        ax.scatter(self.estimates, places, color=self._colours(), s=28, zorder=3)
        for height in places[np.isnan([self.estimates, self.lower, self.upper]).all(axis=0)]:
            ax.annotate("not estimable", (0.02, height), xycoords=("axes fraction", "data"), va="center", size=8)
        self._name_axes(ax)
        self._draw_others(ax)

    def _draw_others(self, ax: Axes) -> None:
        """Draw hollow marks on each line, and explain marks and colours below."""
        from matplotlib.lines import Line2D

        if not self.others:
            if UNDECIDED in self._colours():
                grey = Line2D([], [], color=UNDECIDED, marker="o", markersize=5, linewidth=_MIDDLE)
                grey.set_label(f"grey: the interval holds {self.reference:g}")
                legend_below(ax, [grey], 1)
            return
        hollow: Any = {"marker": "D", "linestyle": "", "markerfacecolor": "none", "color": VERMILLION}
        if max(map(len, self.others)) > 1:
            ends = list(map(min, self.others)), list(map(max, self.others))
            ax.hlines(self._places, *ends, color=VERMILLION, linewidth=0.8, alpha=0.6)
        marks = np.concatenate(self.others)
        ax.plot(marks, np.repeat(self._places, list(map(len, self.others))), zorder=4, **hollow)
        low, high = ax.get_xlim()
        known, beyond = _finite(marks), 0.03 * (high - low)
        ax.set_xlim(min([low, *(known - beyond)]), max([high, *(known + beyond)]))
        if (known < 0).any():
            ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        estimated = Line2D([], [], color=BLUE, marker="o", markersize=5, label=self.words[1])
        legend_below(ax, [Line2D([], [], label=self.words[0], **hollow), estimated], 2)

    def _draw_numbers(self, ax: Axes) -> None:
        """Lead to every point from the labels, and write its number beside it."""
        low, high = ax.get_xlim()
        for height, value in zip(self._places, self.estimates, strict=True):
            finite = np.isfinite(value)
            ax.plot([low, value if finite else high], [height, height], color=UNDECIDED, linewidth=0.6, linestyle=":")
            at, aside = (value, (6, 0)) if finite else (low, (4, 0))
            ax.annotate(_number(value), (at, height), aside, textcoords="offset points", va="center", size=8, color=INK)

    def _draw_ends(self, ax: Axes, lower: tuple[float, ...], upper: tuple[float, ...], width: float) -> None:
        """Draw lines between two ends, with arrows at those that lie beyond the scale."""
        low, high = ax.get_xlim()
        for height, first, last, colour in zip(self._places, lower, upper, self._colours(), strict=False):
            ends = np.clip([first, last], low, high)
            ax.plot(ends, [height, height], color=colour, linewidth=width, solid_capstyle="butt")
            for beyond, end, arrow in ((first < low, low, "<"), (last > high, high, ">")):
                if beyond:
                    ax.plot([end], [height], marker=arrow, markersize=6, color=colour, clip_on=False)

    def _name_axes(self, ax: Axes) -> None:
        places, headings = self._places, self._headings
        above = [float(places[first]) + 1 for first in headings]
        ax.set_yticks([*places, *above], list(map(label_lines, [*self.labels, *headings.values()])))
        for height in above[1:]:
            ax.axhline(height + 0.5, color=UNDECIDED, linewidth=0.4)
        for tick in ax.yaxis.get_major_ticks()[len(places) :]:
            tick.label1.set_fontweight("bold")
            tick.tick1line.set_visible(False)
        ax.set_ylim(-0.6, len(places) + len(headings) - 0.4)
        ax.set_xlabel(literal(f"{self.scale}, logarithmic" if self.ranked and self.logarithmic else self.scale))

    @property
    def _headings(self) -> dict[int, str]:
        """The groups, by the first line of each."""
        return {index: group for index, group in enumerate(self.groups) if not index or group != self.groups[index - 1]}

    @property
    def _places(self) -> NDArray[np.float64]:
        """Where every row stands, from the top, with room for headings."""
        order, headings = np.arange(len(self.labels)), self._headings
        above = np.isin(order, list(headings)).cumsum()
        return np.asarray(order.size + len(headings) - 1 - order - above, dtype=float)

    def _window(self) -> tuple[float, float]:
        """Return the limits of the scale: by the estimates, and intervals of an ordinary width around them."""
        if self.ranked:  # with room for the numbers
            known = _finite(self.estimates) if np.isfinite(self.estimates).any() else np.ones(1)
            if not self.logarithmic:
                return 0.0, known.max() * (1 + _BESIDE) or 1.0
            reach = max(known.max() / known.min(), 2.0)
            return known.min() / reach**_BESIDE, known.max() * reach ** (2 * _BESIDE)
        drawn = (self.estimates, self.lower, self.upper, self.inner_lower, self.inner_upper)
        reference = () if self.reference is None else (self.reference,)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimates, lower, upper, *inner, fixed = (
                np.log(values) if self.logarithmic else np.array(values, dtype=float) for values in (*drawn, reference)
            )
            widths = _finite(upper - lower)
        core = _finite(np.concatenate([estimates, fixed]))
        ends = _finite(np.concatenate([estimates, fixed, lower, upper, *inner]))
        if not ends.size:
            return (0.1, 10.0) if self.logarithmic else (0.0, 1.0)
        low, high = ends.min(), ends.max()
        reach = np.ptp(core) + _WIDTHS * (np.quantile(widths, 0.25) if widths.size else 0.0) if core.size else 0.0
        if reach > 0:
            low, high = max(low, core.min() - reach), min(high, core.max() + reach)
        margin = _MARGIN * (high - low) or 0.5
        first, last = low - margin, high + margin
        return (float(np.exp(first)), float(np.exp(last))) if self.logarithmic else (float(first), float(last))

    def _colours(self) -> list[str]:
        """Return a colour per line: grey where the interval holds the reference."""
        holds = [
            self.reference is not None and low <= self.reference <= high
            for low, high in zip(self.lower, self.upper, strict=True)
        ]
        return [UNDECIDED if held else BLUE for held in holds]


@dataclass(frozen=True, slots=True)
class RawAndPrivate(Intervals):
    """Private estimates with intervals beside raw figures, each alone on its line; as a scatter plot if they are many.

    Notes say that reports are simulated, or nobody could know the raw figures. nan where there is none.
    """

    kind: str = "raw"
    words: tuple[str, str] = ("raw data", "private reports, with intervals")

    @classmethod
    def of(
        cls, title: str, notes: tuple[str, ...], lines: Sequence[tuple[str, *tuple[float, ...]]], scale: str
    ) -> Self:
        """Return a picture of lines: label, raw figure, estimate, and the ends of its interval."""
        labels, raw, private, lower, upper = zip(*lines, strict=True)
        return cls(title, notes, labels, private, lower, upper, scale, others=tuple((value,) for value in raw))

    @property
    def raw(self) -> tuple[float, ...]:
        """The raw figures."""
        return tuple(raw for (raw,) in self.others)

    @property
    def private(self) -> tuple[float, ...]:
        """The estimates."""
        return self.estimates

    def to_frame(self) -> pd.DataFrame:
        """Return a row per figure."""
        return super(RawAndPrivate, self).to_frame().rename(columns={"estimate": "private"})

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return (_WIDE, 5.6 + 0.2 * len(self.notes)) if len(self.labels) > _MANY else super(RawAndPrivate, self).size

    def _draw_on(self, ax: Axes) -> None:
        if len(self.labels) <= _MANY:
            super(RawAndPrivate, self)._draw_on(ax)
            return
        raw, private, lower, upper = map(np.array, (self.raw, self.estimates, self.lower, self.upper))
        (held, missed), drawn = _held(raw, lower, upper), []
        kinds = (
            (held, BLUE, "o", "interval holds it"),
            (missed, VERMILLION, "D", "interval misses it"),
            (~held & ~missed, UNDECIDED, "s", "no interval"),
        )
        for chosen, colour, marker, words in (kind for kind in kinds if kind[0].any()):
            ax.vlines(raw[chosen], lower[chosen], upper[chosen], color=colour, linewidth=0.7, alpha=0.35)
            label = f"{words} ({chosen.sum():,})"
            drawn.append(ax.scatter(raw[chosen], private[chosen], s=12, color=colour, marker=marker, label=label))
        both = _finite([raw, private])
        ends = (both.min(), both.max()) if both.size else (0.0, 1.0)
        ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_xlabel(literal(f"{self.scale}, raw data"))
        ax.set_ylabel(literal(f"{self.scale}, private reports"))
        legend_below(ax, drawn, max(1, len(drawn)))


def _held(values: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return masks: which intervals hold their value, and which do not; some have no interval."""
    return (lower <= values) & (values <= upper), (values < lower) | (values > upper)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    given: NDArray[np.float64] = np.asarray(values, dtype=float)
    return given[np.isfinite(given)]


def _between(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"


def _number(value: float) -> str:
    """Return a number of a ranking, with four digits unless it is whole."""
    if not np.isfinite(value):
        return "none is enough"
    return plain_number(value if value == round(value) else float(f"{value:.4g}"))
