"""The EM algorithm, accelerated (SQUAREM), for frequencies whose reports are seen through a linear map."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation.block_stack import TruthOrFakeStack, stacked
from ldpstats.estimation.blocks import Block
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import FloatArray, at_least
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
    """Return the likelihood of the reports of all blocks of a table."""
    stacks, others = stacked(blocks)
    return _side_by_side([*map(_of_stack, stacks), *([_of_others(others)] if others else [])])


def _of_stack(stack: TruthOrFakeStack) -> tuple[FloatArray, _Maps]:
    """Return how often each report came in truth-or-fake blocks, and its maps from and to the cells."""
    rows, values = np.nonzero(stack.counts)
    of_each = stack.counts[rows, values].astype(float)
    push, pull = _diagonal_and_common(stack.truth[rows, 0], stack.fakes[rows, values], values, stack.fakes.shape[1])
    return of_each, (lambda cells: push(stack.answers(cells)), lambda odds: pull(odds)[stack.classes])


def _of_others(blocks: Sequence[Block]) -> tuple[FloatArray, _Maps]:
    """Return how often each output of some channels came, and the maps of their matrices side by side."""
    often, columns = [], []
    for block in blocks:
        matrix, _ = block.design()  # of a channel: without an offset
        seen = np.flatnonzero(block.tally.counts)
        often.append(block.tally.counts[seen].astype(float))
        columns.append(matrix[seen].T)
    return np.concatenate(often), dense_maps(np.concatenate(columns, axis=1))


def _side_by_side(parts: Sequence[tuple[FloatArray, _Maps]]) -> ReportLikelihood:
    """Put the reports of several parts one after another: their log-likelihoods add up."""
    often = np.concatenate([part for part, _ in parts])
    ends = np.cumsum([part.size for part, _ in parts])[:-1]
    n = float(often.sum())

    def push(frequencies: FloatArray) -> FloatArray:
        return np.concatenate([pushed(frequencies) for _, (pushed, _) in parts])

    def pull(odds: FloatArray) -> FloatArray:
        shares = zip(parts, np.split(odds, ends), strict=True)
        pulled: FloatArray = np.sum([pulled(share) for (_, (_, pulled)), share in shares], axis=0)
        return pulled

    return ReportLikelihood(n, often / n, push, pull)


def accelerated_em(reports: ReportLikelihood, cells: int, iterations: int, tolerance: float) -> Fitted:
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
