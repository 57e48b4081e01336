"""What iterative Bayesian update (IBU) gains over clipped inversion, in every run, for every setting of the paper.

A gain (Eq. 1) is that of the iterative Bayesian update (`estimation.likelihood`) over inversion, clipped at zero and
renormalized, in percent and itself clipped at zero in every run, as in the authors' notebook. The updates stop as in
the paper, after 10,000 or when none changes a frequency by 1e-12: where they stop matters, for with large k and small ε
10,000 of them do not lead far from the uniform start. Reports are drawn as tallies, which have the same law.

All settings, mechanisms and runs with one n share one sample in the notebook. Here there are two runs for each of
several samples, so that it shows how far a figure of one sample strays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ldpstats.estimation.likelihood import krr_mle
from ldpstats.noise import TruthOrFake
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.kernels import compiled
from papers.arcolezi.mechanisms import LEVELS, Reading, Reports
from papers.arcolezi.populations import DISTRIBUTIONS, RESPONDENTS, SIZES, sampled_counts
from papers.exhibits import Effort

METRICS = ("MSE", "MAE")
UPDATES, TOLERANCE = 10_000, 1e-12
PAPER_RUNS = 20
_RUNS = 2


@compiled
def updated(shares: FloatArray, own: float, common: float, updates: int, tolerance: float) -> FloatArray:
    """Update a uniform start with each row of observed shares, as the package's function does with one."""
    frequencies = np.empty_like(shares)
    k = shares.shape[1]
    odds = np.empty(k)
    for row in range(shares.shape[0]):
        now, seen = np.full(k, 1 / k), shares[row]
        for _ in range(updates):
            for value in range(k):
                odds[value] = seen[value] / (own * now[value] + common)
            others, change = common * odds.sum(), 0.0
            for value in range(k):
                new = now[value] * (own * odds[value] + others)
                change = max(change, abs(new - now[value]))
                now[value] = new
            if change < tolerance:
                break
        frequencies[row] = now
    return frequencies


def limit(counts: NDArray[np.int64], own: float, common: float) -> FloatArray:
    """Return what the updates approach: the most likely frequencies behind a truth or a uniform fake."""
    k = counts.shape[1]
    return krr_mle(TruthOrFake(own / (own + k * common), (1 / k,) * k), counts)


def errors(
    reports: Reports, true_counts: NDArray[np.int64], runs: int, rng: np.random.Generator, updates: int | None = UPDATES
) -> FloatArray:
    """Return errors for samples, a row of counts each: shape (metrics, inversion and updates, samples, runs).

    `updates` is the most that are made; None takes their limit.
    """
    counts = reports.noise.simulate(np.repeat(true_counts, runs, axis=0), rng)
    truth = np.repeat(true_counts / true_counts.sum(axis=1, keepdims=True), runs, axis=0)
    inverted = np.maximum(reports.noise.debias(counts / true_counts[0].sum()), 0)
    inverted /= inverted.sum(axis=1, keepdims=True)
    if updates is None:
        frequencies = limit(counts, reports.own, reports.common)
    else:
        shares = counts / counts.sum(axis=1, keepdims=True)
        frequencies = updated(shares, reports.own, reports.common, updates, TOLERANCE)
    deviations = np.stack([inverted, frequencies]) - truth
    figures = np.stack([np.square(deviations).mean(axis=-1), np.abs(deviations).mean(axis=-1)])
    return figures.reshape(len(METRICS), 2, len(true_counts), runs)


def gain(measured: FloatArray) -> FloatArray:
    """Return the gain of updates over inversion in percent, clipped at zero; these two are on the second axis."""
    return 100 * np.maximum(1 - measured[:, 1] / measured[:, 0], 0)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured: a reading of the paper, on so many samples of each distribution and n.

    Parameters
    ----------
    reading : Reading
        Bins and mechanisms.
    samples : int
        How many samples.
    to_the_limit : bool, optional
        Whether updates go on to their limit.
    """

    reading: Reading
    samples: int
    to_the_limit: bool = False

    def gains(self, effort: Effort, what: str) -> FloatArray:
        """Return gains, shape (distributions, respondents, samples, sizes, levels, mechanisms, metrics, runs)."""
        populations = list(product(DISTRIBUTIONS, RESPONDENTS))
        gains = [self._of(*population, effort) for population in tqdm(populations, desc=what, disable=None)]
        return np.reshape(gains, (len(DISTRIBUTIONS), len(RESPONDENTS), *gains[0].shape))

    def _of(self, distribution: str, n: int, effort: Effort) -> FloatArray:
        rng = np.random.default_rng([11, list(DISTRIBUTIONS).index(distribution), n])
        updates, samples = None if self.to_the_limit else effort.runs(UPDATES, 50), effort.runs(self.samples)
        columns = self.reading.columns
        counts = sampled_counts(distribution, n, samples, last_two_made_one=self.reading.last_two_bins_made_one)
        settings = product(SIZES, LEVELS, columns.values())
        gains = [gain(errors(column(k, level), counts[k], _RUNS, rng, updates)) for k, level, column in settings]
        shape = (len(SIZES), len(LEVELS), len(columns), len(METRICS), samples, _RUNS)
        return np.moveaxis(np.reshape(gains, shape), -2, 0)


def spread(figures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of a figure of the paper's design, and that of our mean.

    The figures, shape (distributions, respondents, samples, mechanisms, metrics, runs), vary between samples and
    between runs of one sample. The paper has one sample and 20 runs, for each number of respondents.
    """
    samples, runs = figures.shape[2], figures.shape[-1]
    of_means = figures.mean(axis=-1).var(axis=2, ddof=1)
    between_runs = figures.var(axis=-1, ddof=1).mean(axis=2)
    between_samples = np.maximum(of_means - between_runs / runs, 0)
    theirs, ours = between_samples + between_runs / PAPER_RUNS, of_means / samples
    respondents = figures.shape[1]
    return np.sqrt(theirs.mean(axis=1) / respondents), np.sqrt(ours.mean(axis=1) / respondents)
