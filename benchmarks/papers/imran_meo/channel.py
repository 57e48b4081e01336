"""Figures 1 and 3 and Equation 4: the coins, the intervals that fakes are drawn by, and the tables they come from."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats import RRBA
from ldpstats.datasets import network
from ldpstats.estimation.block_stack import TruthOrFakeStack
from ldpstats.noise import MultinomialNoise, TruthOrFake
from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.colours import SERIES
from ldpstats.tables import Table
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.findings import Finding, judged_by_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAIR = 0.5
SHARES = (0.05, 0.1, 0.3, 0.5)
P, RESPONDENTS, BLOCK = 0.5, 8000, 250
ARROW: dict[str, object] = {"arrowstyle": "-|>", "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
SHOWN = ("occupation", "residence")


def _coins(second: float) -> MultinomialNoise:
    return MultinomialNoise(TruthOrFake(FAIR, (second, 1 - second)))


def _same_if_head_is_tail(p: float) -> bool:
    truth, swapped = (TruthOrFake(one, (0.5, 0.5)).matrix() for one in (p, 1 - p))
    return bool(np.allclose(truth, swapped))


def variance(share: float, second: float) -> float:
    """Return n times the variance of an estimated share of Yes, by how often the second coin says Yes."""
    return float(_coins(second).covariance(np.array([share, 1 - share]))[0, 0])


def _figure_1(_: Effort) -> Measured:
    observed = np.linspace(0.25, 0.75, 11)
    estimates = np.array([_coins(FAIR).debias(np.array([q, 1 - q]))[0] for q in observed])
    exact = np.allclose(estimates, 2 * (observed - 0.25), rtol=0, atol=1e-12)
    gains = [variance(share, FAIR) / variance(share, share) for share in SHARES]
    least = all(variance(share, 0.0) < variance(share, share) for share in SHARES)
    found = {
        "two fair coins": Finding("2 (q - 0.25), exactly", exact),
        "first coin": Finding(
            "Head: the true value; the same with two fair coins, not with p = .4",
            all(_same_if_head_is_tail(p) for p in (FAIR, 0.4)),
            "Section 4.1 tells the truth on Head; with fair coins it makes no difference.",
        ),
        "second coin": Finding(
            f"the fair coin's variance is {gains[0]:.2f} to {gains[-1]:.2f} times as large, for shares of "
            f"{SHARES[0]:g} to {SHARES[-1]:g}" + ("; it is least if the second coin never says Yes" if least else ""),
            all(gain >= 1 for gain in gains),
        ),
    }
    seconds = np.linspace(0, 1, 101)
    curves = pd.DataFrame(
        [(share, one, variance(share, one)) for share in SHARES for one in seconds],
        columns=["share", "second coin", "n variance"],
    )
    return Measured(judged_by_row("imran-meo-2024-figure-1", found), curves)


def _draw_figure_1(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for number, (share, own) in enumerate(curves.groupby("share")):
        axes.plot(own["second coin"], own["n variance"], color=SERIES[number], label=f"true share {share:g}")
        axes.plot([share], [variance(float(share), float(share))], "o", color=SERIES[number])
    axes.axvline(FAIR, color="grey", linestyle=":", label="fair second coin")
    axes.set(xlabel="probability that the second coin says Yes", ylabel="n × variance of the estimated share")
    axes.set_title("Fakes like the population (dots) beat a fair coin, but are not the best", fontsize=11)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _figure_3(effort: Effort) -> Measured:
    grid = (np.arange(100_000) + 0.5) / 100_000
    fakes = np.array([0.4, 0.3, 0.2, 0.1])
    drawn = np.bincount(np.searchsorted(np.cumsum(fakes)[:-1], grid, side="right")) / grid.size
    negative = _negative_tables(effort.runs(20))
    first = _after_one(Fraction(1, 2), 4)
    tables = {
        "uniform, first block": np.full(len(_shown().estimate.ravel()), 1 / _shown().estimate.size),
        "by Equation 4, a later block": _with_negative(_shown()),
    }
    found = {
        "intervals": Finding("the share of every cell is its probability", bool(np.allclose(drawn, fakes))),
        "Equation 3": Finding(
            f"{100 * negative:.0f} % of the blocks of survey's pairs give a table with a negative cell",
            negative == 0,
            "Equation 4 makes cells negative, and then the bounds of Equation 3 are not in order; the package cuts at "
            "zero and scales, which the paper does not say.",
        ),
        "Algorithm 1": Finding(
            f"of four cells with p = 1/2 the first client leaves {', '.join(map(str, first))}",
            min(first) >= 0,
            "Equation 4 for one client is negative in every cell but hers, and no fake can be drawn from it.",
        ),
    }
    rows = [(name, place, value) for name, table in tables.items() for place, value in enumerate(table)]
    return Measured(judged_by_row("imran-meo-2024-figure-3", found), pd.DataFrame(rows, columns=["T", "cell", "share"]))


def _after_one(p: Fraction, cells: int) -> list[Fraction]:
    """Return Equation 4 after one client, who reported the first cell."""
    fake = Fraction(1, cells)
    return [((place == 0) - fake * (1 - p)) / p for place in range(cells)]


def _negative_tables(repetitions: int) -> float:
    """Return in which share of the blocks of 250 a cell of Equation 4 is negative, over all pairs of survey."""
    known = network("survey")
    rng = np.random.default_rng(3)
    shares = []
    for pair in combinations(known.domain.names, 2):
        truth = known.pair(*pair).ravel()
        asked = RRBA(known.domain.project(pair), p=P, block_size=BLOCK)
        for _ in range(repetitions):
            (table,) = asked.simulate(rng.multinomial(RESPONDENTS, truth / truth.sum()), rng)
            shares.append((_by_equation_4(table) < 0).any(axis=1).mean())
    return float(np.mean(shares))


def _by_equation_4(table: Table) -> FloatArray:
    """Return what every block says by itself, shape (blocks, cells)."""
    stack = TruthOrFakeStack.of(table.blocks)
    estimates: FloatArray = (stack.counts / stack.n - stack.fakes) / stack.truth
    return estimates


def _shown() -> Table:
    known = network("survey")
    truth = known.pair(*SHOWN).ravel()
    asked = RRBA(known.domain.project(SHOWN), p=P, block_size=BLOCK)
    (table,) = asked.simulate(np.random.default_rng(4).multinomial(RESPONDENTS, truth / truth.sum()), 4)
    return table


def _with_negative(table: Table) -> FloatArray:
    estimates = _by_equation_4(table)
    chosen: FloatArray = estimates[np.argmin(estimates.min(axis=1))]
    return chosen


def _draw_figure_3(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 3), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(curves["T"]))
    for place, name in enumerate(names):
        bounds = np.concatenate([[0], curves.loc[curves["T"] == name, "share"].cumsum()])
        for cell, (start, end) in enumerate(pairwise(bounds)):
            height, colour = place + 0.18 * (1.5 - cell), SERIES[cell]
            axes.annotate("", (end, height), (start, height), arrowprops=ARROW | {"color": colour})
            axes.plot([], [], color=colour, label=None if place else f"cell {cell + 1}")
    axes.set(yticks=range(len(names)), yticklabels=names, xlim=(-0.1, 1.1), ylim=(-0.5, len(names) - 0.4))
    axes.set_xlabel("q, from the lower to the upper bound of Equation 3")
    for edge in (0, 1):
        axes.axvline(edge, color="grey", linestyle=":")
    axes.set_title("A negative cell has its upper bound below its lower one: its arrow points left", fontsize=11)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-figure-1",
        "Figure 1: two coins, and what the second one is worth",
        "The estimator is that of two fair coins, exactly. A second coin that falls like the population does better "
        "than a fair one, as the paper says; but the variance falls further as the second coin becomes one-sided, "
        "where it protects nobody.",
        _figure_1,
        _draw_figure_1,
    ),
    Exhibit(
        "imran-meo-2024-figure-3",
        "Figure 3: the intervals that fakes are drawn by",
        "With a proper table T the intervals of Equation 3 draw every cell with its probability. Equation 4 gives "
        "proper tables only at first: its cells can be negative. Simulated: all pairs of survey, 8,000 respondents in "
        "blocks of 250, p = .5.",
        _figure_3,
        _draw_figure_3,
    ),
)
