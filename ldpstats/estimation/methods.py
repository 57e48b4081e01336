"""Estimators of one tally by name: maximum likelihood, iterative Bayesian update, post-processing of the unbiased one.

Another estimator is a function of a tally and its unbiased estimate, and a line in `METHODS`. Post-processing turns
unbiased estimates into better-behaved, biased ones by the methods of Wang, Lopuhaä-Zwakenberg, Li, Škorić & Li (NDSS
2020, arXiv 1905.08320). Each takes estimated frequencies, shape (..., k) with leading axes for many tables, and the
`NoiseVariance` behind them. That, and not standard errors at the estimates, is what they are defined by: Base-Cut
and Power need the noise of a value that nobody holds, MLE-Apx the noise at the frequencies that it is about to find.
Finite estimates never give a nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NoReturn, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation.estimate import (
    Estimate,
    counted_values,
    picture_of_values,
    refuse_many_tables,
    refuse_other_names,
    reports_in_sentences,
    summary_of_values,
)
from ldpstats.estimation.likelihood import Fitted, expectation_maximization, iterative_bayesian_update, krr_mle
from ldpstats.estimation.simplex import nearest_proper, water_filling
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray, at_least
from ldpstats.presentation import Picture, Result, Summary
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count


@dataclass(frozen=True, slots=True, eq=False)
class NoiseVariance:
    """How far the mechanism alone spreads the estimate of a frequency f: its variance is (base + slope f) / n.

    With p and q the chances that a report supports the true value and another one, base = q(1 − q) / (p − q)² and
    slope = (1 − p − q) / (p − q).
    """

    n: int
    base: FloatArray | float  # for each value, or for all alike
    slope: FloatArray | float

    def __post_init__(self) -> None:
        at_least(self.n, 1, "the number of reports")
        # written so that a NaN fails
        if not (np.all(np.asarray(self.base) >= 0) and np.all(np.isfinite(self.base) & np.isfinite(self.slope))):
            raise LdpstatsError(
                f"a noise variance with base {self.base} and slope {self.slope}",
                "finite numbers, the base not below 0",
                "A single report says nothing about its own spread.",
            )

    @classmethod
    def of(cls, estimate: Estimate) -> NoiseVariance:
        """Read it off an unbiased estimate.

        Where an estimate is a count of reports, rescaled, its bounds are −q / (p − q) and (1 − q) / (p − q), which say
        it all. Elsewhere (pooled estimates) the squared standard error stands for the noise at any frequency.
        """
        if estimate.bounds is None:
            return cls(estimate.n, estimate.n * estimate.std_err**2, 0.0)
        none, every = estimate.bounds
        return cls(estimate.n, -none * every, none + every - 1)

    @property
    def std_err(self) -> FloatArray:
        """The standard error of a value that nobody holds."""
        return np.sqrt(np.asarray(self.base) / self.n)


# how many values that nobody holds Base-Cut keeps on average (α in the paper)
_FALSE_POSITIVES = 2

PostProcessing: TypeAlias = Callable[[FloatArray, NoiseVariance], FloatArray]


def base(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Return the estimates as they are: unbiased for every value, set and contrast."""
    return frequencies.copy()


def base_pos(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Raise negative estimates to zero, which biases every value, and so every sum, upward."""
    return np.maximum(frequencies, 0)


def base_cut(frequencies: FloatArray, variance: NoiseVariance) -> FloatArray:
    """Set estimates to zero that noise alone would explain.

    This biases values near the threshold down, often to nothing, and values that nobody holds up by a little; the
    sum may go either way. Kept is what is at least Φ⁻¹(1 − 2 / k) standard errors of a value that nobody holds: were
    all such, two would be kept on average. With fewer than four values that is below zero, and zero takes its place.
    (The number two is a choice: the authors' code leaves it open.)
    """
    threshold = -NormalDist().inv_cdf(min(_FALSE_POSITIVES / frequencies.shape[-1], 0.5)) * variance.std_err
    return np.where(frequencies >= threshold, frequencies, 0.0)


def norm(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Shift all estimates alike so that they sum to one.

    This biases nothing: contrasts stay as they are and the shift is zero on average. Some stay negative.
    """
    shifted: FloatArray = frequencies + (1 - frequencies.sum(axis=-1, keepdims=True)) / frequencies.shape[-1]
    return shifted


def norm_mul(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Raise negative estimates to zero and divide by the sum (clip and renormalize).

    This biases rare values up, and frequent ones down in proportion to their size; all the noise that clipping left
    is taken from them. Where no estimate is positive, all values become equal.
    """
    return _shares(np.maximum(frequencies, 0))


def norm_sub(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Return the nearest proper distribution: subtract one number from all, so that the positive rest sums to one.

    This Euclidean projection on the simplex biases the rarest values up and all others down by the same amount,
    whatever their size; the more values are cut at zero, the larger that is. It is found exactly, by sorting.
    """
    return nearest_proper(frequencies)


def norm_cut(frequencies: FloatArray, _variance: NoiseVariance) -> FloatArray:
    """Keep the largest estimates, no more than it takes to reach the sum one, and scale them to it.

    This biases values that are too rare to be kept down to zero, and frequent ones down in proportion to their size,
    but by less in all than the last value kept: by no more does the sum exceed one before it is scaled. Where the
    positive estimates do not reach one, this is Norm-Mul. Equal estimates are kept or cut together. (That the value
    which crosses one is kept is the authors' code; one could also stop before it.)
    """
    positive = np.maximum(frequencies, 0)
    ranked = -np.sort(-positive, axis=-1)
    crossing = np.count_nonzero(ranked.cumsum(axis=-1) < 1, axis=-1, keepdims=True)
    least = np.take_along_axis(ranked, np.minimum(crossing, ranked.shape[-1] - 1), -1)
    return _shares(np.where(positive >= least, positive, 0.0))


def mle_apx(frequencies: FloatArray, variance: NoiseVariance) -> FloatArray:
    """Return the proper distribution that is most likely, nearly, if the estimates were independent and normal.

    Each differs from its estimate y by a multiple of its own variance: y − f = level (base + slope f) where f is
    positive. Frequent values are biased down by more than in Norm-Sub where slope is positive, for they vary more;
    at p + q = 1 both agree. It drops the terms of the normal score that do not grow with n, as the paper's closed
    form does, and so maximizes the quasi-likelihood of the variance; exactly, by sorting.
    """
    noise = np.stack([np.ravel(coefficients) for coefficients in np.broadcast_arrays(variance.base, variance.slope)])
    if np.any(np.ptp(noise, axis=-1) > 1e-9 * np.abs(noise).max()):
        raise LdpstatsError(
            "noise that differs between the values",
            "a mechanism with one p and one q for all values, which MLE-Apx is defined by",
            "For truth or fake, krr_mle is exact; norm-sub asks for no variance.",
        )
    intercept, slope = noise[:, 0].tolist()
    if np.any(intercept + slope * frequencies < -1e-9):
        raise LdpstatsError("estimates where the variance would be negative", "estimates that this noise can produce")
    # without any noise all the estimates are equally good
    return water_filling(frequencies, intercept, slope) if intercept or slope else norm_sub(frequencies, variance)


def power(frequencies: FloatArray, variance: NoiseVariance) -> FloatArray:
    """Return the posterior mean of every frequency when their sizes follow a power law and the noise is normal.

    The law says how many respondents hold a value: x of them, from 1 to n, with probability proportional to x^−s. The
    exponent s is such that the law has the mean of the estimates; as in the authors' code it is 1.01 where that mean
    is below one respondent, and (own choice) it is 0 where the mean is above that of the flat law. Estimates up to
    a few standard errors are biased far down, and negative ones up to one respondent or more; far larger ones keep
    about s · variance / estimate of bias. The sum is biased either way.
    """
    k = frequencies.shape[-1]
    tables, std_errors = frequencies.reshape(-1, k), np.broadcast_to(variance.std_err, frequencies.shape).reshape(-1, k)
    rows = [_power_law_means(table, std_err, variance.n) for table, std_err in zip(tables, std_errors, strict=True)]
    return np.reshape(rows, frequencies.shape)


def power_ns(frequencies: FloatArray, variance: NoiseVariance) -> FloatArray:
    """Make Power's frequencies proper by Norm-Sub, which moves those that stay positive by one amount, up or down."""
    return norm_sub(power(frequencies, variance), variance)


POST_PROCESSING: Mapping[str, PostProcessing] = {
    "base": base,
    "base-pos": base_pos,
    # of single values; of a set of values the paper adds up first, whose bias is less than that of their sum
    "post-pos": base_pos,
    "base-cut": base_cut,
    "norm": norm,
    "norm-mul": norm_mul,
    "norm-sub": norm_sub,
    "norm-cut": norm_cut,
    "mle-apx": mle_apx,
    "power": power,
    "power-ns": power_ns,
}


def _shares(positive: FloatArray) -> FloatArray:
    """Divide by the sum; a sum of zero gives equal parts."""
    total = positive.sum(axis=-1, keepdims=True)
    equal = np.full(positive.shape, 1 / positive.shape[-1])
    shares: FloatArray = np.divide(positive, total, out=equal, where=total > 0)
    return shares


def _power_law_means(frequencies: FloatArray, std_err: FloatArray, n: int) -> FloatArray:
    """Return the posterior means of Power for one table; estimates without noise stay."""
    counts, errors, means = frequencies * n, std_err * n, frequencies.astype(float)
    noisy = np.flatnonzero(errors > 0)
    if noisy.size:
        held, width = _respondents(n, float(errors[noisy].min()))
        log_law = np.log(width) - _exponent(held, width, float(counts.mean())) * np.log(held)
        for value in noisy:
            logarithms = log_law - (counts[value] - held) ** 2 / (2 * errors[value] ** 2)
            weights = np.exp(logarithms - logarithms.max())
            means[value] = weights @ held / weights.sum() / n
    return means


def _respondents(n: int, error: float) -> tuple[FloatArray, FloatArray]:
    """Divide 1, ..., n into ranges across which neither law nor noise changes; return middles and lengths."""
    by_law = np.geomspace(1, n + 1, 2 + int(100 * np.log(n + 1)))
    by_noise = np.arange(1, n + 1, max(1.0, error / 32))
    edges = np.unique(np.concatenate([by_law, by_noise]).round())
    width = np.diff(edges)
    return edges[:-1] + (width - 1) / 2, width


def _exponent(held: FloatArray, width: FloatArray, mean: float) -> float:
    """Return the exponent of the power law with this mean."""
    from scipy.optimize import brentq

    def excess(exponent: float) -> float:
        weights = width * held**-exponent
        return float(weights @ held / weights.sum()) - mean

    if mean < 1:
        return 1.01
    # 2 to the power of 60 is so large that the law sits at 1, as far as doubles tell
    return 0.0 if excess(0) <= 0 else float(brentq(excess, 0, 60))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProcessedEstimate(Result):
    """Frequencies better behaved than unbiased ones, at the price of a bias, which the method's own function states."""

    _in_dict = "estimate method n simulated privacy iterations=fitted.iterations converged=fitted.converged"

    estimate: FloatArray  # shape (..., cells)
    method: str
    n: Count
    privacy: PrivacyStatement | None = None
    simulated: Count = 0
    fitted: Fitted | None = None  # of an iterative method
    names: tuple[str, ...] = ()  # of the cells, where these are known

    def __post_init__(self) -> None:
        refuse_other_names(self.names, self.estimate.shape[-1] if self.estimate.ndim else 0)

    @property
    def covariance(self) -> NoReturn:
        """There is none: its errors are no longer centred at the truth."""
        self._refuse("a covariance matrix")

    @property
    def std_err(self) -> NoReturn:
        """There is none."""
        self._refuse("standard errors")

    def conf_int(self, alpha: float = 0.05) -> NoReturn:
        """There is none."""
        self._refuse(f"intervals (alpha = {alpha!r})")

    def to_frame(self, index: pd.Index | None = None) -> pd.DataFrame:
        """Return a row per cell, by its name if that is known."""
        refuse_many_tables(self.estimate)
        known = pd.Index(self.names, name="value") if self.names else None
        return pd.DataFrame({"estimate": self.estimate}, index=known if index is None else index)

    @property
    def headline(self) -> str:
        """Of how many values the frequencies are, from how many reports, and how they were found."""
        promised = [] if self.privacy is None else [self.privacy.headline]
        counted = counted_values(self.estimate, self.n, self.simulated)
        return "; ".join([f"{counted}, by {self.method} (biased, no intervals)", *promised])

    def summary(self) -> Summary:
        """Return the frequencies as a table that can be read aloud, and how they were found."""
        title = f"Frequencies, by {self.method}, of {counted_values(self.estimate, self.n, self.simulated)}"
        sentences = [
            *reports_in_sentences(self.n, self.privacy),
            f"Found by {self.method}, which is biased, and so without standard errors and intervals.",
            "Unbiased frequencies have them: call estimate without a method.",
        ]
        if self.fitted is not None:
            made, rise = f"{self.fitted.iterations:,} iterations", f"{self.n * self.fitted.gap:.2g}"
            ended = f"{made}, which converged" if self.fitted.converged else f"NOT CONVERGED after {made}"
            sentences.append(f"{ended}; the log-likelihood could still rise by at most {rise}.")
        return summary_of_values(title, self.estimate, self.names, {}, sentences)

    def picture(self) -> Picture:
        """Return the frequencies, as `plot` draws them; they have no intervals."""
        refuse_many_tables(self.estimate)
        none, said = np.full((self.estimate.size, 2), np.nan), f"by {self.method}: biased, and so without intervals"
        return picture_of_values(self.estimate, none, self.names, (self.simulated, self.n), said)

    def _refuse(self, what: str) -> NoReturn:
        raise LdpstatsError(
            f"{what} of a biased estimate ({self.method})",
            "unbiased estimates",
            "Call estimate without a method, and take the intervals from there.",
        )


def _most_likely(tally: Tally, _unbiased: Estimate) -> FloatArray | Fitted:
    if not tally.noise.has_likelihood:
        raise _says_too_little("mle", tally)
    if tally.noise.truth_or_fake is not None:
        return krr_mle(tally.noise.truth_or_fake, tally.counts)
    return expectation_maximization(tally.noise, tally.counts)


def _iterative_bayesian_update(tally: Tally, _unbiased: Estimate) -> Fitted:
    if tally.noise.channel is None and tally.noise.own_and_common is None:
        raise _says_too_little("ibu", tally)
    return iterative_bayesian_update(tally.counts, tally.noise)


def _says_too_little(method: str, tally: Tally) -> LdpstatsError:
    return LdpstatsError(
        f"method = {method!r} on counts of {type(tally.noise).__name__}",
        "counts that are all that the reports say about frequencies",
        "Give the reports themselves for 'mle'; 'ibu' is defined for supports and single outputs.",
    )


TallyEstimator: TypeAlias = Callable[[Tally, Estimate], FloatArray | Fitted]
"""From a tally and its unbiased estimate to frequencies, or to a fit by iteration."""


def _post_processed(process: PostProcessing) -> TallyEstimator:
    return lambda _tally, unbiased: process(unbiased.estimate, NoiseVariance.of(unbiased))


METHODS: dict[str, TallyEstimator] = {
    "mle": _most_likely,
    "ibu": _iterative_bayesian_update,
    **{name: _post_processed(process) for name, process in POST_PROCESSING.items()},
}
"""`mle` is the maximum of the reports' own likelihood, `ibu` the paper's iterative Bayesian update; the others are
post-processing of the unbiased estimate."""
ALIASES = {"clip": "norm-mul", "simplex": "norm-sub", "em": "mle"}


def known_method(method: str) -> str:
    """Return the main name of a method, which may be "unbiased", one of `METHODS`, or an alias."""
    known = ["unbiased", *METHODS, *ALIASES]
    if method not in known:
        raise LdpstatsError(f"method = {method!r}", one_line(known, len(known)))
    return ALIASES.get(method, method)


def processed(tally: Tally, unbiased: Estimate, method: str) -> ProcessedEstimate:
    """Estimate by a method that needs no more than the counts and their unbiased estimate."""
    outcome = METHODS[method](tally, unbiased)
    frequencies, fitted = (outcome.frequencies, outcome) if isinstance(outcome, Fitted) else (outcome, None)
    return ProcessedEstimate(frequencies, method, tally.n, unbiased.privacy, tally.simulated, fitted)
