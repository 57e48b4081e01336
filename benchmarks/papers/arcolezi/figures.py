"""Figures 1 to 4: what the paper says of them. The first two show the real data alone, which are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import INK, SERIES
from papers.arcolezi.gains import Measurement
from papers.arcolezi.mechanisms import (
    LONGITUDINAL,
    LONGITUDINAL_PUBLISHED,
    ONE_TIME,
    ONE_TIME_PUBLISHED,
    Reading,
)
from papers.arcolezi.populations import DISTRIBUTIONS
from papers.arcolezi.summaries import Claim, Found, dots, in_words, judged, missing
from papers.comparisons import KEYS, printed_figures
from papers.exhibits import Effort, Exhibit, Measured

VARIED = ("ε", "n", "k")
SAMPLES = 10


def _means(figures: pd.DataFrame, by: str) -> pd.Series:
    return figures["gain"].groupby(level=by, sort=False).mean()


def _extreme(holds: Callable[[list[str]], bool]) -> Claim:
    """Rank the distributions by their highest dots; what their means say stands beside."""

    def claim(figures: pd.DataFrame) -> Found:
        highest = figures["gain"].groupby(level="distribution", sort=False).max().sort_values(ascending=False)
        words = f"highest dots {in_words(highest)}; means {in_words(_means(figures, 'distribution'))}"
        return Found(words, holds(list(highest.index)))

    return claim


def _monotone(by: str, *, rising: bool) -> Claim:
    """Compare the means, level by level; how many dots do as the sentence says stands beside."""

    def claim(figures: pd.DataFrame) -> Found:
        means = _means(figures, by).sort_index()
        others = [level for level in figures.index.names if level != by]
        steps = (
            figures["gain"]
            .reset_index()
            .pivot_table(index=others, columns=by, values="gain")
            .diff(axis=1)
            .dropna(axis=1)
        )
        share = float(((steps > 0) if rising else (steps < 0)).to_numpy().mean())
        words = ", ".join(f"{value:.1f} at {by} = {level:g}" for level, value in means.items())
        right = all((later > earlier) == rising for earlier, later in pairwise(means))
        return Found(
            f"means {words}; as the sentence says in {share:.0%} of the steps from one {by} to the next", right
        )

    return claim


def _rise(figures: pd.DataFrame) -> float:
    means = _means(figures, "n").sort_index()
    return float(means.iloc[-1] - means.iloc[0])


def _rises_more(figures: pd.DataFrame) -> Found:
    families = dict(list(figures.groupby(figures.index.get_level_values("mechanism").str.startswith("L-"))))
    once, again = _rise(families[False]), _rise(families[True])
    return Found(
        f"with n longitudinal mechanisms change by {again:.1f} points, one-time ones by {once:.1f}",
        again > max(once, 0),
    )


CLAIMS: dict[str, Claim] = {
    "distributions, highest": _extreme(lambda ranked: ranked[0] == "Uniform"),
    "distributions, lowest": _extreme(lambda ranked: set(ranked[-2:]) == {"Gaussian", "Exponential"}),
    "ε": _monotone("ε", rising=False),
    "n": _monotone("n", rising=True),
    "k": _monotone("k", rising=True),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One of Figures 3 and 4: by the text and as published; and, to compare with, one-time mechanisms."""

    name: str
    word: Reading
    published: Reading
    beside: tuple[Reading, Reading] | None = None

    def measure(self, effort: Effort) -> Measured:
        """Measure all dots by the text and as published, and judge the paper's sentences by them."""
        found = [
            dots(Measurement(reading, SAMPLES).gains(effort, f"{self.name}, {what}"), reading)
            for reading, what in ((self.word, "text"), (self.published, "code"))
        ]
        both = found
        if self.beside is not None:
            compared_with = [
                dots(Measurement(one, SAMPLES).gains(effort, f"{self.name}, one-time"), one) for one in self.beside
            ]
            both = [pd.concat(pair) for pair in zip(found, compared_with, strict=True)]
        places = printed_figures(self.name)[KEYS].itertuples(index=False, name=None)
        comparisons = [
            judged(place, _rises_more, *both)
            if place[1] == "n, longitudinal"
            else judged(place, CLAIMS[place[1]], *found)
            for place in places
        ]
        return Measured(
            comparisons, pd.concat(dict(zip(("text", "code"), found, strict=True)), names=["reading"]).reset_index()
        )


FIGURE_3 = Shown("arcolezi-2023-figure-3", ONE_TIME, ONE_TIME_PUBLISHED)
FIGURE_4 = Shown("arcolezi-2023-figure-4", LONGITUDINAL, LONGITUDINAL_PUBLISHED, (ONE_TIME, ONE_TIME_PUBLISHED))
_READINGS: Mapping[str, str] = {"text": "by the text", "code": "by the authors' code"}


def _draw(_: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9.5, 6.2), layout="constrained")
    panels = figure.subplots(len(_READINGS), len(VARIED), sharex=True, sharey=True)
    for row, (reading, label) in zip(panels, _READINGS.items(), strict=True):
        own = curves.loc[curves["reading"] == reading]
        for axes, by in zip(row, VARIED, strict=True):
            _draw_panel(axes, own, by)
            axes.set_title(f"by {by}, {label}", fontsize=10)
        row[0].set_ylabel("gain of IBU in MSE (%)")
    figure.suptitle(
        "Gain of IBU at every setting (dots): most on average (bars) for Poisson, the highest dot for uniform data",
        fontsize=11,
    )
    return figure


def _draw_panel(axes: Any, dots_of: pd.DataFrame, by: str) -> None:
    levels = sorted(dots_of[by].unique())
    for number, level in enumerate(levels):
        shift = 0.8 * ((number + 0.5) / len(levels) - 0.5)
        for place, distribution in enumerate(DISTRIBUTIONS):
            own = dots_of.loc[(dots_of[by] == level) & (dots_of["distribution"] == distribution), "gain"]
            across = place + shift + np.linspace(-0.06, 0.06, len(own))
            axes.plot(across, own, ".", markersize=3, alpha=0.5, color=SERIES[number])
            axes.hlines(own.mean(), place + shift - 0.09, place + shift + 0.09, color=INK, linewidth=2, zorder=3)
        axes.plot([], [], ".", color=SERIES[number], label=f"{by} = {level:g}")
    axes.set_xticks(range(len(DISTRIBUTIONS)), DISTRIBUTIONS, rotation=30, fontsize=8)
    axes.set_ylim(-3, 103)
    axes.legend(fontsize=7, loc="upper left", handletextpad=0.1, borderpad=0.2)


def _missing(name: str) -> Measured:
    return Measured([missing(place) for place in printed_figures(name)[KEYS].itertuples(index=False, name=None)])


_MISSING = """It shows the real data alone, which are missing, and no number of it is in the paper's text."""

_WORDS = """The figure is a picture of dots, one for each setting; what the paper says about it is judged by our dots.
“Highest” and “lowest” are read of the highest dot of a distribution; by their means the order is another, for most dots
of uniform data lie near zero. On average gains grow with k and fall with ε, but exponential and Poisson data gain most
at ε = 2. That gains are higher when n is higher does not show. The real data, one of the paper's six distributions, are
missing."""

EXHIBITS = (
    Exhibit(
        "arcolezi-2023-figure-1",
        "Figure 1: errors of inversion and of IBU on the real data, one-time mechanisms",
        _MISSING,
        lambda _: _missing("arcolezi-2023-figure-1"),
    ),
    Exhibit(
        "arcolezi-2023-figure-2",
        "Figure 2: errors of inversion and of IBU on the real data, longitudinal mechanisms",
        _MISSING,
        lambda _: _missing("arcolezi-2023-figure-2"),
    ),
    Exhibit(
        FIGURE_3.name, "Figure 3: gain of IBU at every setting, one-time mechanisms", _WORDS, FIGURE_3.measure, _draw
    ),
    Exhibit(
        FIGURE_4.name,
        "Figure 4: gain of IBU at every setting, longitudinal mechanisms",
        _WORDS,
        FIGURE_4.measure,
        _draw,
    ),
)
