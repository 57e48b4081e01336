"""Maximum likelihood: the proper frequencies behind randomized reports, in closed form or by the EM algorithm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.estimation.block_stack import TruthOrFakeStack, stacked
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import refuse_empty
from ldpstats.noise import NoiseModel, TruthOrFake
from ldpstats.numbers.arrays import FloatArray, IntArray, as_array, at_least, counts_array
from ldpstats.presentation import progress

# what rounding alone can take from the log-likelihood of a report
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Frequencies found by iteration, and how far from the best they can be.

    The gap is a bound on how much higher the log-likelihood per report of any frequencies is: the largest derivative
    less one. For the log-likelihood is concave and lies below its tangent, which rises most towards a corner of the
    simplex.
    """

    frequencies: FloatArray  # nonnegative, summing to one
    log_likelihood: float  # of all the reports, without terms that no frequency enters
    iterations: int
    converged: bool  # ended by the rule, not for want of iterations
    gap: float

    def warn_unless_converged(self, n: int) -> None:
        """Warn by how much the log-likelihood of n reports may still rise, where the iterations were too few."""
        if not self.converged:
            rise = f"the log-likelihood may still rise by {n * self.gap:.2g}"
            warnings.warn(f"after {self.iterations} iterations {rise}", RuntimeWarning, stacklevel=3)


@dataclass(frozen=True, slots=True, eq=False)
class ReportLikelihood:
    """The log-likelihood of n reports, given by the shares of distinct ones and the map to their probabilities."""

    n: float
    shares: FloatArray
    push: Callable[[FloatArray], FloatArray]  # from frequencies to the probabilities of reports
    pull: Callable[[FloatArray], FloatArray]  # the transpose

    def gradient(self, chances: FloatArray) -> FloatArray:
        """Differentiate the log-likelihood per report; an EM step multiplies the frequencies by this."""
        return self.pull(self.shares / chances)

    def fitted(self, frequencies: FloatArray, iterations: int, converged: bool) -> Fitted:
        """Return frequencies where an iteration ended, with their log-likelihood and gap."""
        chances = self.push(frequencies)
        gap = float(self.gradient(chances).max()) - 1
        return Fitted(frequencies, self.n * float(self.shares @ np.log(chances)), iterations, converged, gap)


def seen_through(noise: NoiseModel, often: NDArray[Any]) -> ReportLikelihood:
    """Return the likelihood of a tally; outputs that were not seen do not enter it."""
    seen = np.flatnonzero(often)
    n = float(often.sum())
    if noise.own_and_common is not None:
        own, common = noise.own_and_common
        maps = _diagonal_and_common(np.full(seen.size, own), common[seen], seen, noise.cells)
    else:
        assert noise.channel is not None  # such counts are refused before
        maps = dense_maps(noise.channel.matrix()[:, seen])
    return ReportLikelihood(n, often[seen] / n, *maps)


_Maps: TypeAlias = tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]


def dense_maps(matrix: FloatArray) -> _Maps:
    """Return the map of a matrix with a row per value and a column per report, and its transpose."""
    return lambda frequencies: frequencies @ matrix, lambda odds: matrix @ odds


def _diagonal_and_common(diagonal: FloatArray, common: FloatArray, values: NDArray[np.intp], cells: int) -> _Maps:
    """Return the maps of reports that any value brings with probability `common`, and the one in `values` more often.

    Such a matrix is one entry per report plus a row for all values: it is applied in O(reports + cells).
    """

    def push(frequencies: FloatArray) -> FloatArray:
        return diagonal * frequencies[values] + common

    def pull(odds: FloatArray) -> FloatArray:
        return np.bincount(values, weights=diagonal * odds, minlength=cells) + common @ odds

    return push, pull


def seen_in_blocks(blocks: Sequence[Block]) -> ReportLikelihood:
    """Return the likelihood of the reports of all blocks of a table: the log-likelihoods of several parts add up."""
    stacks, others = stacked(blocks)
    parts = list(map(_of_stack, stacks))
    if others:
        seen = [np.flatnonzero(block.tally.counts) for block in others]
        often = [block.tally.counts[own] for block, own in zip(others, seen, strict=True)]
        # of channels: without an offset
        columns = [block.design()[0][own].T for block, own in zip(others, seen, strict=True)]
        parts.append((np.concatenate(often).astype(float), dense_maps(np.concatenate(columns, axis=1))))
    of_each = np.concatenate([part for part, _ in parts])
    ends = np.cumsum([part.size for part, _ in parts])[:-1]
    n = float(of_each.sum())

    def push(frequencies: FloatArray) -> FloatArray:
        return np.concatenate([pushed(frequencies) for _, (pushed, _) in parts])

    def pull(odds: FloatArray) -> FloatArray:
        shares = zip(parts, np.split(odds, ends), strict=True)
        pulled: FloatArray = np.sum([pulled(share) for (_, (_, pulled)), share in shares], axis=0)
        return pulled

    return ReportLikelihood(n, of_each / n, push, pull)


def _of_stack(stack: TruthOrFakeStack) -> tuple[FloatArray, _Maps]:
    """Return how often each report came in truth-or-fake blocks, and its maps from and to the cells."""
    rows, values = np.nonzero(stack.counts)
    of_each = stack.counts[rows, values].astype(float)
    push, pull = _diagonal_and_common(stack.truth[rows, 0], stack.fakes[rows, values], values, stack.fakes.shape[1])
    return of_each, (lambda cells: push(stack.answers(cells)), lambda odds: pull(odds)[stack.classes])


def accelerated_em(reports: ReportLikelihood, cells: int, iterations: int = 10_000, tolerance: float = 1e-10) -> Fitted:
    """Maximize the likelihood from the uniform distribution on until the gap is at most the tolerance."""
    frequencies = np.full(cells, 1 / cells)
    gradient = reports.gradient(reports.push(frequencies))
    made, most = 0, at_least(iterations, 1, "iterations")
    with progress(None, "maximizing the likelihood", unit="step") as bar:
        while gradient.max() - 1 > tolerance and made < most:
            frequencies, chances = _squarem_step(reports, frequencies, gradient)
            gradient = reports.gradient(chances)
            made += 1
            bar.update()
    return reports.fitted(frequencies, made, bool(gradient.max() - 1 <= tolerance))


def _squarem_step(reports: ReportLikelihood, start: FloatArray, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Make two EM steps and follow their path as far as the likelihood allows; return where, and `push` of it.

    SQUAREM with the step length S3 (Varadhan & Roland 2008), shortened until the likelihood is no lower than after the
    first step; at length 1 it is the second step, which EM itself guarantees. A frequency stays within a tenth and ten
    times of what the second step makes of it: zero it would never leave, and one that EM quickly drives to zero would
    leap up again.
    """
    once = start * gradient
    chances = reports.push(once)
    twice = once * reports.gradient(chances)
    change = once - start
    bend = twice - once - change
    length = np.linalg.norm(change) / np.linalg.norm(bend) if bend.any() else 1.0
    while length > 1:
        ahead = np.clip(start + 2 * length * change + length**2 * bend, twice / 10, twice * 10)
        ahead /= ahead.sum()
        reached = reports.push(ahead)
        if reports.shares @ np.log1p((reached - chances) / chances) >= -_ROUNDING:
            return ahead, reached
        length /= 4
    return twice, reports.push(twice)


# as far as a leap may take a frequency beyond an EM step: from nothing none comes back
_FARTHEST = np.log(10)
# exponentials of less are zero
_LEAST = np.log(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalEM:
    """EM steps that make reports more likely and never leave a hierarchical log-linear model.

    The reports say how often each cell is expected if the present frequencies hold; the model's margins are made those
    of that table, one after the other (ECM, Meng & Rubin 1993, with a cycle of proportional fitting). The likelihood
    never falls. There may be several maxima, and where one ends depends on the start.
    """

    reports: ReportLikelihood  # of the whole table
    partitions: Sequence[IntArray]  # for every generator the class of each cell that can have respondents
    places: IntArray  # of these cells in the whole table
    cells: int  # of the whole table

    def climbed(self, start: FloatArray, iterations: int, tolerance: float) -> tuple[FloatArray, bool]:
        """Return the member of the model that a climb from another ends at, and whether it ended by itself.

        It ends when a step moves the frequencies by a χ² distance, times the reports, of at most the tolerance.
        """
        reached = start
        for _ in range(iterations):
            once = self._step(reached)
            moved = np.divide((once - reached) ** 2, reached, out=np.zeros_like(once), where=reached > 0)
            if self.reports.n * moved.sum() <= tolerance:
                return once, True
            reached = self._leapt(reached, once, self._step(once))
        return reached, False

    def log_likelihood(self, frequencies: FloatArray) -> float:
        """Return the log-likelihood of all reports."""
        return self.reports.n * float(self.reports.shares @ np.log(self.reports.push(self._whole(frequencies))))

    def _step(self, frequencies: FloatArray) -> FloatArray:
        gradient = self.reports.gradient(self.reports.push(self._whole(frequencies)))[self.places]
        expected, fitted = frequencies * gradient, frequencies
        for classes in self.partitions:
            wanted, reached = (np.bincount(classes, weights=table) for table in (expected, fitted))
            fitted = fitted * np.divide(wanted, reached, out=np.zeros_like(reached), where=reached > 0)[classes]
        step: FloatArray = fitted / fitted.sum()
        return step

    def _leapt(self, start: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
        """Follow the path of two steps as far as the likelihood allows (SQUAREM, Varadhan & Roland 2008).

        It is followed in logarithms, whose combinations stay within the model.
        """
        first, second, third = (np.log(np.maximum(shares, np.finfo(float).tiny)) for shares in (start, once, twice))
        change, bend, weights = second - first, third - 2 * second + first, np.sqrt(twice)
        length = np.linalg.norm(weights * change) / max(float(np.linalg.norm(weights * bend)), np.finfo(float).tiny)
        least = self.log_likelihood(twice)
        while length > 1:
            ahead = first + 2 * length * change + length**2 * bend - third
            logarithms = third + ahead * min(1.0, _FARTHEST / float(np.abs(ahead).max()))
            odds = np.exp(np.maximum(logarithms - logarithms.max(), _LEAST))
            leap = self._step(odds / odds.sum())
            if self.log_likelihood(leap) >= least:
                return leap
            length /= 4
        return twice

    def _whole(self, frequencies: FloatArray) -> FloatArray:
        whole = np.zeros(self.cells)
        whole[self.places] = frequencies
        return whole


def krr_mle(channel: TruthOrFake, counts: ArrayLike) -> FloatArray:
    """Return the exact maximum-likelihood frequencies behind the counts, shape (..., k), of GRR or any truth or fake.

    The most likely distribution of the report is level · counts where that exceeds what fakes alone bring, and what
    they bring elsewhere; the level makes it sum to one. (The derivatives of Σ counts · ln(truth · frequency + fakes)
    are equal where a frequency is positive, and lower where it is zero.) A value therefore has a positive frequency if
    and only if fakes / counts is below the level: sorting by that ratio finds them in O(k log k).
    """
    reported = counts_array(counts, channel.outputs, "counts")
    refuse_empty(int(reported.sum(axis=-1).min(initial=1)))
    fakes = np.broadcast_to((1 - channel.truth) * np.asarray(channel.fake), reported.shape)
    ratio = np.divide(fakes, reported, out=np.full(reported.shape, np.inf), where=reported > 0)
    order = np.argsort(ratio, axis=-1)
    ranked, ranked_fakes = np.take_along_axis(reported, order, -1), np.take_along_axis(fakes, order, -1)
    mass, reports = channel.truth + ranked_fakes.cumsum(axis=-1), ranked.cumsum(axis=-1)
    last = np.count_nonzero(mass * ranked > ranked_fakes * reports, axis=-1, keepdims=True) - 1
    level = np.take_along_axis(mass, last, -1) / np.take_along_axis(reports, last, -1)
    frequencies: FloatArray = np.maximum(level * reported - fakes, 0) / channel.truth
    return frequencies


def expectation_maximization(
    noise: NoiseModel, counts: ArrayLike, *, iterations: int = 10_000, tolerance: float = 1e-10
) -> Fitted:
    """Fit the frequencies to the counts of the outputs of a channel by accelerated EM.

    Every iteration is two EM steps (iterative Bayesian updates) and a leap along their path; it takes O(k) for truth or
    fake, and the size of the matrix otherwise.

    Parameters
    ----------
    noise : MultinomialNoise
    counts : array, shape (outputs,)
    iterations : int
        The most that are made.
    tolerance : float
        The gap at which it ends.
    """
    reported = counts_array(_flat(counts, "counts"), noise.outputs, "counts")
    refuse_empty(int(reported.sum()))
    return accelerated_em(seen_through(noise, reported), noise.cells, iterations, tolerance)


def most_likely(blocks: Sequence[Block], *, iterations: int = 10_000, tolerance: float = 1e-10) -> Fitted:
    """Fit the frequencies of a table's cells to the reports of several blocks by accelerated EM.

    Every block brings the likelihood of its own channel and question. A step multiplies every frequency by the
    derivative of the log-likelihood per report. For truth or fake that is Σ_b p_b o_bv / (n μ_bv) with
    μ_bv = p_b π_v + (1 − p_b) T_bv, plus a term that all values share; without that term and rescaled it is the step
    π_v ∝ Σ_b o_bv p_b π_v / μ_bv, which has the same fixed points.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of one table, with reports that are one output of a channel each.
    iterations, tolerance : int, float
        As of `expectation_maximization`.
    """
    if not all(block.tally.noise.has_likelihood for block in blocks):
        raise LdpstatsError(
            "method = 'mle' for counts whose likelihood is not available",
            "blocks whose reports are one output of a channel each",
            "'gls' needs no more than the counts' means and covariances.",
        )
    return accelerated_em(seen_in_blocks(blocks), blocks[0].question.cells, iterations, tolerance)


def mixture_em(likelihoods: ArrayLike, weights: ArrayLike | None = None) -> Fitted:
    """Fit the frequencies to reports that are given by their likelihoods, by accelerated EM.

    This is the true likelihood of reports that no small tally sums up: subsets, hashes, bits. For unary encoding with 5
    and 20 values and 1,000 reports, its mean squared error was .91 to 1.01 of that of the estimate which
    `iterative_bayesian_update` approaches at ε = 1, and .62 to .96 at ε = 3.

    Parameters
    ----------
    likelihoods : array, shape (reports, cells)
        P(report | value), up to a factor per report; `np.exp(noise.log_likelihoods(...))` for supports.
    weights : array, shape (reports,), optional
        How often each report came; once by default.
    """
    matrix = as_array(likelihoods, "likelihoods").astype(float)
    often = np.ones(len(matrix)) if weights is None else _nonnegative(weights, "weights")
    matrix, often = matrix[often > 0], often[often > 0]
    refuse_empty(len(often))
    largest = matrix.max(axis=1)
    # written so that a NaN fails
    if not (np.all(matrix >= 0) and np.all((largest > 0) & (largest < np.inf))):
        raise LdpstatsError(
            "likelihoods that are negative, infinite or nan, or zero for every value",
            "nonnegative likelihoods, positive for some value of every report",
            "Only ratios within a report matter: exponentiate the logarithms after subtracting their maximum.",
        )
    matrix /= largest[:, None]
    n = float(often.sum())
    fitted = accelerated_em(ReportLikelihood(n, often / n, *dense_maps(matrix.T)), matrix.shape[1])
    return replace(fitted, log_likelihood=fitted.log_likelihood + float(often @ np.log(largest)))


def iterative_bayesian_update(
    observed: ArrayLike,
    noise: NoiseModel,
    iterations: int = 10_000,
    tolerance: float = 1e-12,
) -> Fitted:
    """Return IBU with the settings of Arcolezi, Cerna & Palamidessi (2023, Eq. 3 and Listing 1.1).

    It starts from the uniform distribution and stops once an update changes the frequencies by less than the tolerance,
    or after so many iterations. How often values were supported is taken as they take it: scaled to sum to one, and as
    if seen through the matrix with p on the diagonal and q elsewhere, whose rows need not sum to one.

    On supports (unary encoding, subsets, hashes) this is *not* EM on the likelihood of the reports. It treats every
    supported value as a report of its own, and what it approaches is `krr_mle` of a channel that tells the truth with
    probability (p − q) / (p + (k − 1) q): consistent, but blind to which values were supported together (`mixture_em`
    sees that). Log-likelihood and gap are then those of that pseudo-likelihood. Where reports are single outputs it is
    plain EM, of which `expectation_maximization` is the faster form; a small change is no sign there that the maximum
    is near, the gap is.

    Parameters
    ----------
    observed : array, shape (outputs,)
        How often each output was reported or supported: counts or shares.
    noise : MultinomialNoise or SupportNoise
    iterations, tolerance
        When to stop (theirs: `nb_iter`, `tol`); the change is the largest of a frequency (their `err_func`, "max_abs").
    """
    shares = _nonnegative(observed, "observed")
    if shares.size != noise.outputs or not shares.any():
        raise LdpstatsError(f"{shares.size} observed shares with the sum {shares.sum()}", f"{noise.outputs}, not all 0")
    reports = seen_through(noise, shares)
    frequencies = np.full(noise.cells, 1 / noise.cells)
    made, converged, most = 0, False, at_least(iterations, 1, "iterations")
    while not converged and made < most:
        before, frequencies = frequencies, frequencies * reports.gradient(reports.push(frequencies))
        converged = bool(np.abs(frequencies - before).max() < tolerance)
        made += 1
    return reports.fitted(frequencies, made, converged)


def _flat(values: ArrayLike, what: str) -> NDArray[Any]:
    array = as_array(values, what)
    if array.ndim != 1:
        raise LdpstatsError(f"{what} of shape {array.shape}", "one flat array", "Take one table at a time.")
    return array


def _nonnegative(values: ArrayLike, what: str) -> FloatArray:
    array = _flat(values, what).astype(float)
    if not np.all((array >= 0) & (array < np.inf)):
        raise LdpstatsError(f"{what} with negative, infinite or nan entries", "finite numbers, none below 0")
    return array
