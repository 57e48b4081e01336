"""Additive noise: the law of sums of reports that are rows of noisy numbers, one per value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.channels import multinomial_covariance, privacy_loss
from ldpstats.noise.information import Information
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.report_total import ReportTotal
from ldpstats.numbers.arrays import FloatArray, whole_cells


@dataclass(frozen=True, slots=True)
class AdditiveNoise(NoiseModel):
    """Sums of noisy histograms: a report has an independent entry from 0 to `largest` for every value.

    Entries are 0, ..., largest with the probabilities `weights`; that of the true value has them from `largest` down.
    """

    cells: int
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        whole_cells(self.cells)
        # written so that a NaN fails
        proper = len(self.weights) >= 2 and min(self.weights) > 0 and abs(sum(self.weights) - 1) <= 1e-9
        if not (proper and self.shift > 0):
            raise LdpstatsError(
                f"{len(self.weights)} weights that sum to {sum(self.weights)!r}",
                "at least two positive weights that sum to 1 and fall more than they rise",
            )

    @property
    def epsilon(self) -> float:
        """Privacy level: two values differ in two entries, each of which speaks as loudly as it can."""
        return 2 * max(privacy_loss(other, true) for other, true in zip(self.weights, self.weights[::-1], strict=True))

    @property
    def outputs(self) -> int:
        """The number of entries of a tally: one per value."""
        return self.cells

    @property
    def exchangeable(self) -> bool:
        """True: entries are noisy independently of each other, and alike."""
        return True

    @property
    def largest(self) -> int:
        """The most that a report adds to an entry."""
        return len(self.weights) - 1

    @property
    def centre(self) -> float:
        """The mean of the entry of a value that is not the true one."""
        return float(self._law @ np.arange(len(self.weights)))

    @property
    def shift(self) -> float:
        """How much larger the true value's entry is on average."""
        # every number against its mirror image: then no term is negative where the weights fall, and no digits cancel
        return float((self._law - self._law[::-1]) @ (self.largest - 2 * np.arange(len(self.weights)))) / 2

    @property
    def spread(self) -> float:
        """The variance of any entry, given the true value."""
        return float(self._law @ (np.arange(len(self.weights)) - self.centre) ** 2)

    @property
    def _law(self) -> FloatArray:
        return np.asarray(self.weights)

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each entry's expectation."""
        return self.centre + self.shift * frequencies

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return shift · I and the offset `centre`."""
        return self.shift * np.eye(self.cells), np.full(self.cells, self.centre)

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report: noise in every entry, and the sampling of the respondent."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        return self.spread * np.eye(self.cells) + self.shift**2 * multinomial_covariance(frequencies)

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies."""
        return (proportions - self.centre) / self.shift

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        return self.report_covariance(frequencies) / self.shift**2

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        return self.spread / self.shift**2 + frequencies * (1 - frequencies)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sum of each entry over those who hold its value and those who do not."""
        others = true_counts.sum(axis=-1, keepdims=True) - true_counts
        return _sums(true_counts, self._law[::-1], rng) + _sums(others, self._law, rng)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score of the debiased estimate, and its information."""
        return gls_score(frequencies, self.debias(counts / n), self.spread / self.shift**2, n)

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return for every value ln P(its entry | it is the true one) - ln P(its entry | another is)."""
        odds = np.log(self._law[::-1]) - np.log(self._law)
        said: FloatArray = odds[tallies]
        return said

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether entries can show every number, by (1 - f) of `weights` and f of them mirrored."""
        rise = self._law[::-1] - self._law
        beyond = (self._law[rise > 0] / rise[rise > 0]).min()
        proper: NDArray[np.bool_] = np.all((frequencies > -beyond) & (frequencies < 1 + beyond), axis=-1)
        return proper

    def influence(self) -> tuple[FloatArray, FloatArray]:
        """Return the estimates if all entries of a value were zero, and as large as they can be."""
        none, every = self.debias(np.array([[0.0], [self.largest]]) * np.ones(self.cells))
        return none, every

    def loudest(self, direction: FloatArray) -> FloatArray:
        """Return the estimates of the report worth the most in a direction: entries as small or as large as can be."""
        lowest, highest = self.influence()
        return np.where(direction > 0, highest, lowest)

    def total(self) -> ReportTotal:
        """Return the law of the sum of a report's entries, which does not depend on the true value."""
        expected = self.cells * self.centre + self.shift
        return ReportTotal(expected, expected, self.cells * self.spread)


def gls_score(frequencies: FloatArray, estimate: FloatArray, noise: float, n: int) -> tuple[FloatArray, Information]:
    """Return the generalized-least-squares score of an unbiased estimate whose cells share only their sampling.

    n times its covariance is diag(d) - f fᵀ, d = noise + f, with the inverse diag(1/d) + (f/d)(f/d)ᵀ / (1 - Σ f²/d). No
    digits cancel: 1 - Σ f²/d = noise · Σ f/d, and of f/d = 1 - noise/d contrasts see only the second part.
    """
    precision = n / (noise + frequencies)
    weights = precision * frequencies
    total = weights.sum(axis=-1, keepdims=True)
    deviation = estimate - frequencies
    score = precision * (deviation - (weights * deviation).sum(axis=-1, keepdims=True) / total)
    return score, Information(precision, precision[..., None], noise / total[..., None])


def _sums(number: NDArray[np.int64], law: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw sums of so many independent draws from the law: split them by what they show, the largest first."""
    chance = np.minimum(law / np.cumsum(law), 1.0)
    left, total = number, np.zeros_like(number)
    for shown in range(law.size - 1, 0, -1):
        showing = rng.binomial(left, chance[shown])
        total += shown * showing
        left = left - showing
    return total
