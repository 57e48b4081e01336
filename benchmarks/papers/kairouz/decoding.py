"""Simulated losses of the decoders that Kairouz, Bonawitz & Ramage compare, for k-RR and k-RAPPOR.

The loss is the ℓ1 distance between the decoded frequencies and those of the sample itself, as in their Section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom

from ldpstats.estimation.likelihood import krr_mle
from ldpstats.estimation.methods import POST_PROCESSING, NoiseVariance
from ldpstats.mechanisms import GRR, SUE, Mechanism
from papers.formulas import Floats

K_RR, K_RAPPOR = "k-RR", "k-RAPPOR"
KINDS: dict[str, type[GRR] | type[SUE]] = {K_RR: GRR, K_RAPPOR: SUE}

Population = Callable[[int, int, np.random.Generator], Floats]
"""Frequencies of k values for so many evaluations, a row each or one for all."""


def geometric(k: int, _runs: int, _rng: np.random.Generator) -> Floats:
    """Return the geometric distribution of mean k/5 on 0, 1, ..., cut off at k values."""
    frequencies: Floats = (k / (k + 5)) ** np.arange(k)
    return frequencies / frequencies.sum()


def dirichlet(k: int, runs: int, rng: np.random.Generator) -> Floats:
    """Return a uniformly random distribution for every evaluation."""
    return rng.dirichlet(np.ones(k), runs)


def binomial(share: float) -> Population:
    """Return the binomial distribution with this parameter on 0, ..., k - 1."""
    return lambda k, _runs, _rng: binom.pmf(np.arange(k), k - 1, share)


def zipf(power: float) -> Population:
    """Return Zipf's distribution with this exponent on k values."""

    def population(k: int, _runs: int, _rng: np.random.Generator) -> Floats:
        frequencies: Floats = np.arange(1.0, k + 1) ** -power
        return frequencies / frequencies.sum()

    return population


def steep(k: int, _runs: int, _rng: np.random.Generator) -> Floats:
    """Return the geometric distribution of mean 5 whatever k is: another reading, and not what the paper says."""
    frequencies: Floats = (5 / 6) ** np.arange(k)
    return frequencies / frequencies.sum()


GEOMETRIC, DIRICHLET, STEEP = "geometric", "Dirichlet", "geometric of mean 5"
SKEWED: dict[str, Population] = {
    GEOMETRIC: geometric,
    **{f"binomial {share}": binomial(share) for share in (0.1, 0.2, 0.3, 0.4, 0.5)},
    **{f"Zipf {power}": zipf(power) for power in (0.5, 1, 2, 3, 4)},
}
POPULATIONS: dict[str, Population] = {**SKEWED, DIRICHLET: dirichlet, STEEP: steep}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a chart.

    Parameters
    ----------
    population : str
        A name of `POPULATIONS`.
    n, k : int
        Numbers of respondents and values.
    epsilon : float
        The level.
    """

    population: str
    n: int
    k: int
    epsilon: float

    def losses(self, kind: str, runs: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the loss of every decoder in every evaluation; the same reports for all decoders."""
        mechanism = KINDS[kind](self.k, self.epsilon)
        frequencies = POPULATIONS[self.population](self.k, runs, rng)
        sample = rng.multinomial(self.n, frequencies, size=None if frequencies.ndim > 1 else runs)
        counts = mechanism.noise.simulate(sample, rng)
        return {
            name: np.abs(found - sample / self.n).sum(axis=1)
            for name, found in _decoded(mechanism, counts, self.n).items()
        }


SIZES, LEVELS = tuple(2**power for power in range(1, 13)), tuple(range(1, 11))
"""Rows and columns of the charts; the paper's own stand in its pictures only."""

FEW_SIZES, FEW_LEVELS = (4, 32, 256, 2048), (1, 3, 5, 8)
"""Where many distributions are looked at."""

CLEAR = 4
"""Standard errors beyond which a difference is told from none: of 16,000 cells without any, one is mistaken."""


def chart(
    population: str, n: int, elements: int, sizes: tuple[int, ...] = SIZES, levels: tuple[int, ...] = LEVELS
) -> pd.DataFrame:
    """Return, for every cell and mechanism, the best decoder with its loss, and two comparisons of decoders.

    "projected" and "normalized" are the mean loss of that decoder less that of the best other one.

    Parameters
    ----------
    population : str
        A name of `POPULATIONS`.
    n : int
        The number of respondents.
    elements : int
        How many frequencies are decoded in a cell, in all evaluations together; the loss of many values varies less.
    sizes, levels : tuple of int
        Rows and columns.
    """
    rng, rows = np.random.default_rng([n, len(population), *map(ord, population)]), []
    for k in sizes:
        runs = int(np.clip(elements // k, 16, 10_000))
        for epsilon in levels:
            for kind in KINDS:
                losses = Cell(population, n, k, epsilon).losses(kind, runs, rng)
                best = min(losses, key=lambda name: losses[name].mean())
                row = {"population": population, "n": n, "k": k, "epsilon": epsilon, "kind": kind, "best": best}
                row |= {"loss": losses[best].mean(), "loss_err": losses[best].std() / math.sqrt(runs)}
                rows.append(row | _beside(losses, "projected") | _beside(losses, "normalized"))
    return pd.DataFrame(rows)


def _beside(losses: dict[str, Floats], one: str) -> dict[str, float]:
    """Compare a decoder with the best other one, on the same reports."""
    other = min((name for name in losses if name != one), key=lambda name: losses[name].mean())
    gaps = losses[one] - losses[other]
    return {one: float(gaps.mean()), f"{one}_err": float(gaps.std() / math.sqrt(len(gaps)))}


def better_and_worse(gaps: pd.Series, errors: pd.Series) -> tuple[int, int]:
    """Count cells with a difference clearly below zero, and clearly above."""
    return int((gaps < -CLEAR * errors).sum()), int((gaps > CLEAR * errors).sum())


def _decoded(mechanism: Mechanism, counts: Floats, n: int) -> dict[str, Floats]:
    estimates, ignored = mechanism.noise.debias(counts / n), NoiseVariance(n, 0.0, 0.0)
    found = {
        "projected": POST_PROCESSING["norm-sub"](estimates, ignored),
        "normalized": POST_PROCESSING["norm-mul"](estimates, ignored),
    }
    channel = mechanism.noise.truth_or_fake
    return {**found, "standard": estimates} if channel is None else {**found, "ML": krr_mle(channel, counts)}
