"""What can become known: how likely something is after the most telling report, against how likely it was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import INK, SERIES, UNDECIDED
from ldpstats.pictures.drawing import Axes, Picture, legend_below

if TYPE_CHECKING:
    from matplotlib.artist import Artist

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
        for place, (name, level) in enumerate(self.levels.items()):
            least, most = _after(before, level)
            colour = SERIES[place % len(SERIES)]
            within = (colour, 0.22 + 0.15 * place)
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
