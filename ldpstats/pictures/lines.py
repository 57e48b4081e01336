"""Lines over a number, with bands: power over respondents, blocks that converge, what becomes of a suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import INK, SERIES, UNDECIDED
from ldpstats.pictures.drawing import Axes, Picture, legend_below, literal, number_ratios

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_STYLES = ("-", "--", ":", "-.")
# how many points of a line are still told apart
_POINTS = 25
_LEGEND_LINE = 0.2
# letters of a legend's line, and how wide its other parts are
_ACROSS, _HANDLE = 84, 9


@dataclass(frozen=True, slots=True)
class Lines(Picture):
    """One line or several over the same numbers."""

    x: tuple[float, ...]  # where every line is known
    series: Mapping[str, tuple[float, ...]]  # the lines by name, in the order of the legend; nan leaves a gap
    across: str  # what the axis across measures
    up: str  # and the one going up
    # ends of the band of a line, by name; not all need one
    lower: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    upper: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    marks: Mapping[str, float] = field(default_factory=dict)  # vertical rules, by label
    levels: Mapping[str, float] = field(default_factory=dict)  # horizontal ones
    logarithmic: tuple[bool, bool] = (False, False)  # the axis across, and the one going up
    whole: bool = False  # whether x comes in whole numbers only

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        rows = -(-len(self.series) // self._legend_columns) if len(self.series) > 1 else 0
        return 6.4, 3.6 + _LEGEND_LINE * rows

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each point of each line."""
        nothing = (np.nan,) * len(self.x)
        rows = [
            (name, *point)
            for name, line in self.series.items()
            for point in zip(self.x, line, self.lower.get(name, nothing), self.upper.get(name, nothing), strict=True)
        ]
        return pd.DataFrame(rows, columns=["line", "x", "y", "lower", "upper"])

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        known = {name: [value for value in line if np.isfinite(value)] for name, line in self.series.items()}
        ends = [
            f"{name}: from {line[0]:.3g} to {line[-1]:.3g}" if line else f"{name}: —" for name, line in known.items()
        ]
        marked = [f"{name} {value:.4g}" for name, value in {**self.marks, **self.levels}.items()]
        span = f" from {min(self.x):.4g} to {max(self.x):.4g}" if self.x else ""
        said = [f"{self.title}: {self.up} over {self.across}{span}", "; ".join(ends)]
        return ". ".join([*filter(None, said), *([f"Marked: {', '.join(marked)}"] if marked else [])]) + "."

    @property
    def _legend_columns(self) -> int:
        longest = max(map(len, self.series), default=0)
        return max(1, min(4, len(self.series), _ACROSS // (longest + _HANDLE)))

    def _draw_on(self, ax: Axes) -> None:
        x = np.array(self.x, dtype=float)
        marker = "o" if x.size <= _POINTS else ""
        drawn = []
        for index, (name, line) in enumerate(self.series.items()):
            colour, style = SERIES[index % len(SERIES)], _STYLES[index // len(SERIES) % len(_STYLES)]
            if name in self.lower and name in self.upper:
                ax.fill_between(
                    x, _finite(self.lower[name]), _finite(self.upper[name]), color=colour, alpha=0.18, linewidth=0
                )
            drawn += ax.plot(x, _finite(line), style, color=colour, marker=marker, markersize=3.5, label=name)
        self._scale(ax)
        self._rules(ax)
        ax.set_xlabel(literal(self.across))
        ax.set_ylabel(literal(self.up))
        if len(self.series) > 1:
            legend_below(ax, drawn, self._legend_columns)

    def _rules(self, ax: Axes) -> None:
        rule: dict[str, Any] = {"color": INK, "linewidth": 0.8, "linestyle": (0, (1, 2)), "zorder": 1.0}
        said: dict[str, Any] = {"color": INK, "fontsize": "small"}
        for name, value in self.levels.items():
            ax.axhline(value, **rule)
            # beside the axes, where no line runs through it
            at = ax.get_yaxis_transform()
            ax.annotate(literal(name), (1, value), (3, 0), at, "offset points", ha="left", va="center", **said)
        for name, value in self.marks.items():
            ax.axvline(value, **rule)
            at, turned = ax.get_xaxis_transform(), {"rotation": 90, **said}
            ax.annotate(literal(name), (value, 1), (-2, 0), at, "offset points", ha="right", va="top", **turned)

    def _scale(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        for axis, logarithmic in zip((ax.xaxis, ax.yaxis), self.logarithmic, strict=True):
            if not logarithmic:
                continue
            (ax.set_xscale if axis is ax.xaxis else ax.set_yscale)("log")
            number_ratios(axis, *axis.get_view_interval())
        if self.whole and not self.logarithmic[0]:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _finite(line: tuple[float, ...]) -> np.ndarray:
    """Return a line with nan for infinite numbers, which leaves gaps."""
    values = np.array(line, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


_PRIORS = 201
_SAID = (0.1, 0.5)
"""Suspicions of which the picture says what becomes of them."""
_LARGEST_EXPONENT = 700


@dataclass(frozen=True, slots=True)
class Posterior(Picture):
    """The most that reports can move a suspicion, such as that someone has taken a drug: prior and posterior.

    At a level ε odds become at most e^ε times, and at least e^-ε times, what they were before.
    """

    levels: Mapping[str, float]  # guaranteed ones, by label; the first is that of all that is sent
    others: Mapping[str, float] = field(default_factory=dict)  # not guaranteed: dashed

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 5.2, 5.0 + 0.2 * (len(self.levels) + len(self.others)) + 0.2 * len(self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each level and prior, with the least and largest posterior."""
        priors, all_levels = np.linspace(0, 1, _PRIORS), {**self.levels, **self.others}
        parts = [
            pd.DataFrame({"level": name, "before": priors, "least": least, "most": most})
            for name, level in all_levels.items()
            for least, most in [_after(priors, level)]
        ]
        return pd.concat(parts, ignore_index=True)

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        told = [f"{name}: {', '.join(self._said(level))}." for name, level in {**self.levels, **self.others}.items()]
        return " ".join([f"{self.title}.", *told])

    def _said(self, level: float) -> list[str]:
        subjects, before = ("a suspicion", "one"), np.array(_SAID)
        return [
            f"{subject} of {_percent(prior)} becomes {_percent(least)} to {_percent(most)}"
            for subject, prior, least, most in zip(subjects, before, *_after(before, level), strict=True)
        ]

    def _draw_on(self, ax: Axes) -> None:
        before = np.linspace(0, 1, _PRIORS)
        drawn: list[Artist] = []
        for index, (name, level) in enumerate(self.levels.items()):
            least, most = _after(before, level)
            colour = SERIES[index % len(SERIES)]
            within = (colour, 0.22 + 0.15 * index)
            drawn.append(ax.fill_between(before, least, most, label=name, facecolor=within, edgecolor=colour))
        for name, level in self.others.items():
            for end in _after(before, level):
                (line,) = ax.plot(before, end, "--", color=UNDECIDED, linewidth=1.4, label=name)
            drawn.append(line)
        drawn += ax.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="nothing learnt")
        self._draw_examples(ax)
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_xlabel("how likely it was before")
        ax.set_ylabel("how likely it can become")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter("{x:.0%}")
        legend_below(ax, drawn, 1)

    def _draw_examples(self, ax: Axes) -> None:
        """Say what a few suspicions become at most, at the first level."""
        level = next(iter(self.levels.values()))
        if not np.isfinite(level):
            return
        for before in _SAID:
            most = float(_after(np.array([before]), level)[1][0])
            ax.plot([before, before], [before, most], color=INK, linewidth=0.9)
            ax.plot([before], [most], "o", color=INK, markersize=4)
            words = f"{_percent(before)} → {_percent(most)}"
            ax.annotate(words, (before, most), (6, -2), textcoords="offset points", va="top", fontsize="small")


def _after(before: NDArray[np.float64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest posterior that reports at a level leave of each prior."""
    if level > _LARGEST_EXPONENT:
        return np.where(before < 1, 0.0, 1.0), np.where(before > 0, 1.0, 0.0)
    ratio = np.exp(level)
    return before / (before + ratio * (1 - before)), ratio * before / (ratio * before + 1 - before)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 0.999 else f"{100 * share:.5g} %"
