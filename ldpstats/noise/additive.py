"""Additive noise, independent in every cell: sums of reports that are noisy histograms, a curator's noisy counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.channels import multinomial_covariance, privacy_loss, proper
from ldpstats.noise.information import Information
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.numbers.arrays import FloatArray, at_least, whole_cells

_CANCELLED = 1e-12
"""A sum that is a smaller share of its absolute terms has lost too many digits to be called positive."""
_LEAST_SCALE = 0.01
"""Less noise than this is never seen: a cell would be wrong once in 10^43 releases."""
_SMOOTH = 2.0
"""From this standard deviation on, doubles do not tell the variance after rounding from that before plus 1/12."""
_FAR = 37.0
"""A normal variable exceeds this many standard deviations with a probability below the least normal double, 10^-308."""


class IndependentNoise(NoiseModel):
    """Base of models whose entries are a `centre`, `shift` more for the true value, and noise of its own in each."""

    @property
    @abstractmethod
    def centre(self) -> float:
        """The mean of the entry of a value that is not the true one."""

    @property
    @abstractmethod
    def shift(self) -> float:
        """How much larger the true value's entry is on average."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of an entry's noise, per report."""

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each entry's expectation."""
        return self.centre + self.shift * frequencies

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report: noise in every entry, and the sampling of the respondent."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        return self.noise_variance * np.eye(self.cells) + self.shift**2 * multinomial_covariance(frequencies)

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies."""
        return (proportions - self.centre) / self.shift

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        return self.report_covariance(frequencies) / self.shift**2

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        return self.noise_variance / self.shift**2 + frequencies * (1 - frequencies)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score of the debiased estimate, and its information."""
        return gls_score(frequencies, self.debias(counts / n), self.noise_variance / self.shift**2, n)

    def total(self) -> ReportTotal:
        """Return the law of the sum of a report's entries, which does not depend on the true value."""
        expected = self.cells * self.centre + self.shift
        return ReportTotal(expected, expected, self.cells * self.noise_variance)


@dataclass(frozen=True, slots=True)
class AdditiveNoise(IndependentNoise):
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
    def noise_variance(self) -> float:
        """The variance of any entry, given the true value."""
        return float(self._law @ (np.arange(len(self.weights)) - self.centre) ** 2)

    @property
    def _law(self) -> FloatArray:
        return np.asarray(self.weights)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sum of each entry over those who hold its value and those who do not."""
        others = true_counts.sum(axis=-1, keepdims=True) - true_counts
        return _sums(true_counts, self._law[::-1], rng) + _sums(others, self._law, rng)

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


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Two-sided geometric noise on whole numbers: P(z) is proportional to e^(-|z| / scale).

    Its variance, about 2 scale² - 1/6, is within 2.1 % of that of continuous Laplace noise from a scale of 2 on.
    """

    scale: float

    def __post_init__(self) -> None:
        _refuse_scale(self.scale)

    @property
    def variance(self) -> float:
        """The variance of one draw."""
        return 2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2

    @property
    def epsilon(self) -> float:
        """Privacy level of one histogram: another record moves one count down and one up."""
        return 2 / self.scale

    def sums(self, number: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw sums of so many independent draws: a draw is the difference of two geometric ones."""
        success = -math.expm1(-1 / self.scale)
        drawn: NDArray[np.int64] = rng.negative_binomial(number, success, shape)
        return drawn - rng.negative_binomial(number, success, shape)

    def log_weight(self, noise: NDArray[Any]) -> FloatArray:
        """Return ln P(noise), up to a constant."""
        weight: FloatArray = -np.abs(noise) / self.scale
        return weight


@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """Normal noise with the standard deviation `sigma`, rounded to whole numbers: variance about sigma² + 1/12.

    As rounding may come after adding to whole counts, a release has the (ε, δ) of continuous noise, and no ε alone.
    """

    sigma: float

    def __post_init__(self) -> None:
        _refuse_scale(self.sigma)

    @classmethod
    def least(cls, epsilon: float, delta: float, sensitivity: float) -> RoundedGaussian:
        """Return the law with the least sigma that has this delta at this level, to a part in 10^9 (Balle & Wang 2018).

        The textbook's sensitivity √(2 ln(1.25/δ)) / ε is proved for ε below 1 only, and larger than needed there.
        """
        gap = _gap(epsilon, delta)
        return cls(sensitivity * (math.sqrt(gap**2 + 2 * epsilon) - gap) / (2 * epsilon) * (1 + 1e-9))

    @property
    def variance(self) -> float:
        """Variance of one draw: the sum of (2 k + 1) P(|z| > k) over all k."""
        if self.sigma >= _SMOOTH:
            return self.sigma**2 + 1 / 12
        from scipy.special import ndtr

        k = np.arange(100)
        return float(2 * ((2 * k + 1) * ndtr(-(k + 0.5) / self.sigma)).sum())

    @property
    def epsilon(self) -> float:
        """Infinite: there are counts that one record makes more likely than another, by any factor."""
        return math.inf

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Return the δ at a level, for counts that another record moves by s in all (Euclidean norm).

        It is that of the normal variable, Φ(s/2σ − εσ/s) − e^ε Φ(−s/2σ − εσ/s); rounding can only help.
        """
        shift = sensitivity / self.sigma
        return math.exp(_log_delta(shift / 2 - epsilon / shift, epsilon))

    def sums(self, number: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw sums of so many independent draws."""
        drawn: NDArray[np.int64] = np.rint(rng.normal(0, self.sigma, (number, *shape))).sum(axis=0).astype(np.int64)
        return drawn

    def log_weight(self, noise: NDArray[Any]) -> FloatArray:
        """Return ln P(noise), from the two tails that the rounded interval lies between."""
        from scipy.special import log_ndtr

        farther, nearer = (log_ndtr(-(np.abs(noise) + side) / self.sigma) for side in (0.5, -0.5))
        weight: FloatArray = nearer + np.log(-np.expm1(farther - nearer))
        return weight


NoiseLaw: TypeAlias = DiscreteLaplace | RoundedGaussian


@dataclass(frozen=True, slots=True)
class NoisyCounts(IndependentNoise):
    """True counts plus independent noise in every cell, once per release of a table with `n` respondents.

    Releases of as many respondents each add up. Counts may be negative, or exceed the number of respondents.
    """

    cells: int
    n: int
    law: NoiseLaw

    def __post_init__(self) -> None:
        whole_cells(self.cells)
        at_least(self.n, 0, "the number of respondents of a release")

    @property
    def epsilon(self) -> float:
        """Privacy level of one release, for another record in place of any one."""
        return self.law.epsilon

    @property
    def largest(self) -> float:
        """Infinite: noise has no bounds, up or down."""
        return math.inf

    @property
    def centre(self) -> float:
        """Zero: noise has the mean zero."""
        return 0.0

    @property
    def shift(self) -> float:
        """One: what is counted are the true values."""
        return 1.0

    @property
    def noise_variance(self) -> float:
        """Variance of a cell's noise, per respondent: divided by n."""
        return self.law.variance / self.n

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the estimate's covariance at frequencies cut at zero, lest a cell have less than its noise."""
        return self.report_covariance(_cut(frequencies))

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the estimate, from the frequencies cut likewise."""
        return IndependentNoise.variance(self, _cut(frequencies))

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Release the true counts of n respondents once."""
        totals = true_counts.sum(axis=-1)
        if np.any(totals != self.n):
            raise LdpstatsError(
                f"true counts that add up to {totals[totals != self.n].flat[0]}", f"those of {self.n} respondents"
            )
        return true_counts + self.law.sums(1, true_counts.shape, rng)

    def draw(self, frequencies: FloatArray, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of `n` random respondents each, in releases of as many as this noise is for."""
        releases, rest = divmod(n, self.n)
        if rest or not releases:
            raise LdpstatsError(f"a tally of {n} respondents", f"releases of {self.n} respondents each")
        counts = rng.multinomial(n, proper(frequencies), size=size)
        return counts + self.law.sums(releases, counts.shape, rng)

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(release | value), up to a constant, where a single respondent is in the table."""
        return self.law.log_weight(tallies - 1) - self.law.log_weight(tallies)

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether the covariance of the counts is positive definite there."""
        diagonal = self.noise_variance + frequencies
        positive = np.all(diagonal > 0, axis=-1)
        # 1 - Σ f²/d, the other condition, is noise_variance · Σ f/d
        shares = np.divide(frequencies, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        definite: NDArray[np.bool_] = positive & (shares.sum(axis=-1) > _CANCELLED * np.abs(shares).sum(axis=-1))
        return definite

    def influence(self) -> tuple[FloatArray, FloatArray]:
        """Return zeros and ones: the curator adds the noise, not the respondents."""
        return np.zeros(self.cells), np.ones(self.cells)


def _refuse_scale(scale: float) -> None:
    # written so that a NaN fails
    if not _LEAST_SCALE <= scale < math.inf:
        raise LdpstatsError(f"noise of scale {scale!r}", f"finite scales from {_LEAST_SCALE}")


def _cut(frequencies: FloatArray) -> FloatArray:
    """Cut frequencies just above zero and rescale them; equal, if all are cut."""
    return proper(np.maximum(frequencies, np.finfo(float).tiny))


@lru_cache(maxsize=256)
def _gap(epsilon: float, delta: float) -> float:
    """Solve the equation of `RoundedGaussian.delta` for s/2σ − εσ/s."""
    from scipy.optimize import brentq

    return float(brentq(lambda gap: _log_delta(gap, epsilon) - math.log(delta), -_FAR, _FAR, xtol=1e-14))


def _log_delta(gap: float, epsilon: float) -> float:
    """Return ln δ of normal noise for gap = s/2 − ε/s, s the shift in standard deviations (the root is s/2 + ε/s).

    In logarithms no digits are lost where both terms are tiny, or e^ε is large.
    """
    from scipy.special import log_ndtr

    nearer, farther = log_ndtr(gap), epsilon + log_ndtr(-math.sqrt(gap**2 + 2 * epsilon))
    return float(nearer + np.log(-np.expm1(farther - nearer)))
