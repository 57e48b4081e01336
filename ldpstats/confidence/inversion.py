"""Score intervals where reports are rare: a comparison's score test, inverted, with the exact law of the reports.

For every value ψ of the comparison the cells are fitted to it, none below zero. The score test asks whether the
unbiased estimate lies farther from that fit, along the constraint's gradient, than chance would have it. Its variance
is that at the fit, so that an empty cell does not make it vanish, and the tails are those of the weighted sum of
reports itself, with half of the probability of what was seen (mid-p). The interval holds the ψ that no tail rejects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.confidence.comparisons import Comparison
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.noise import Tally, TruthOrFake
from ldpstats.noise.weighted import NODES, share_below, weighted_report
from ldpstats.numbers.arrays import BoolArray, FloatArray

Counts = Sequence[NDArray[np.int64]]
_GROUPS = 8
_MOST_CELLS = 300
_STEPS, _SETTLED = 100, 1e-6
_LEAST = 1e-9
_NEVER = 1e-30
_NOTHING = 1e-9
_ROUNDS, _POINTS = 2, 16
_END = 25.0
_FIRST_STEP = 0.0005
_NUMBERS = 2**21
_UNSEEN = 1e-5


@dataclass(frozen=True, eq=False)
class PooledReports:
    """The reports of blocks as one linear, unbiased estimate of the cells, which together they identify.

    Every count of theirs is a number of reports.
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> PooledReports | None:
        """Return the reports; None if a block counts no reports, cells are not identified, or there are many.

        Sets of values are counted by value: the estimate is made of that.
        """
        answered = [block.by_value for block in blocks if block.n]
        if not answered or any(not np.isfinite(block.noise.largest) for block in answered):
            return None
        if max(answered[0].question.cells, *(block.noise.outputs for block in answered)) > _MOST_CELLS:
            return None
        reports = cls(tuple(_fewer(answered)))
        try:
            _ = reports.pooling
        except NotIdentifiedError:
            return None
        return reports

    @cached_property
    def pooling(self) -> LinearPooling:
        """The weights of the estimate."""
        return LinearPooling(self.blocks)

    @property
    def n(self) -> int:
        """The number of reports."""
        return sum(block.n for block in self.blocks)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.blocks[0].question.cells

    @property
    def counts(self) -> Counts:
        """The counts of every block, shape (1, outputs)."""
        return [block.tally.counts[None, :] for block in self.blocks]

    @property
    def has_law(self) -> bool:
        """Whether the exact law of a weighted sum of the reports is known."""
        nothing = [(block, np.zeros((1, block.noise.outputs))) for block in self.blocks]
        even = np.full(self.cells, 1 / self.cells)
        return all(
            weighted_report(block.noise, block.question.answer_frequencies(even), none) is not None
            for block, none in nothing
        )

    def fitted(self, comparison: Comparison, values: FloatArray | None, counts: Counts) -> FloatArray:
        """Return the most likely proper frequencies with each value of the comparison; without values, of all.

        By expectation maximization, whose second half is the comparison's own. For supports it treats every support as
        a report of its own, which is enough to come near the truth.
        """
        designs = [matrix + offset[:, None] for matrix, offset in (block.design() for block in self.blocks)]
        operator, seen = np.concatenate(designs), np.concatenate(counts, axis=-1)
        rows = np.broadcast(np.empty(len(seen)), 0 if values is None else values).size
        start = np.maximum(self.pooling.estimate(counts), 0) + 1 / self.n
        frequencies = np.broadcast_to(start / start.sum(axis=-1, keepdims=True), (rows, self.cells))
        members = comparison.members
        for _ in range(_STEPS):
            before = frequencies
            mean = frequencies @ operator.T
            expected = frequencies * ((seen / np.maximum(mean, _NEVER)) @ operator)
            # what was seen may be impossible at a value; then nothing is expected, and the least shares stay
            everything = np.maximum(expected.sum(axis=-1, keepdims=True), _NEVER)
            frequencies = np.maximum(expected / everything, _LEAST)
            if values is not None:
                shares = frequencies @ members
                factor = comparison.quantity.fitted(shares, values) / np.where(shares > 0, shares, 1)
                frequencies = frequencies * factor[..., comparison.parts]
            frequencies = frequencies / frequencies.sum(axis=-1, keepdims=True)
            if np.abs(frequencies - before).max() < _SETTLED:
                break
        return frequencies

    def below(self, comparison: Comparison, values: FloatArray, counts: Counts) -> FloatArray:
        """Return P(score below what was seen), were each of the values, shape (tables,), true; half of ties count.

        Counts have the shape (tables or 1, outputs) for every block.
        """
        numbers = max(max(block.noise.outputs, block.noise.size or 1) for block in self.blocks)
        at_once = max(_NUMBERS // (NODES.size * numbers), 1)
        if values.size > at_once:
            parts = [slice(start, start + at_once) for start in range(0, values.size, at_once)]
            some = [[seen if len(seen) == 1 else seen[part] for seen in counts] for part in parts]
            return np.concatenate([self.below(comparison, values[p], c) for p, c in zip(parts, some, strict=True)])
        cells = self.fitted(comparison, values, counts)
        slope = comparison.quantity.gradient(cells @ comparison.members, values)[..., comparison.parts]
        gap, spread, weights = np.zeros(len(cells)), np.zeros(len(cells)), []
        for block, operator, seen in zip(self.blocks, self.pooling.operators, counts, strict=True):
            weight = slope @ operator
            frequencies = block.question.answer_frequencies(cells)
            gap += (weight * (seen / block.n - block.noise.mean(frequencies))).sum(axis=-1)
            spread += (
                np.einsum("...i,...ij,...j->...", weight, block.noise.report_covariance(frequencies), weight) / block.n
            )
            weights.append(weight / block.n)
        largest = np.max([np.abs(weight).max(axis=-1) for weight in weights], axis=0)
        error = np.sqrt(np.maximum(spread, 0))
        certain = error <= _NOTHING * largest
        error = np.where(certain, 1.0, error)
        share = self._share(cells, [weight / error[:, None] for weight in weights], gap / error)
        exact = np.where(np.abs(gap) <= _NOTHING * largest * self.n, 0.5, gap > 0)
        return np.where(certain, exact, share)

    def _share(self, cells: FloatArray, weights: list[FloatArray], seen: FloatArray) -> FloatArray:
        """Return the exact share, where the law is known; else that of the normal law with the same variance."""
        from scipy.special import ndtr

        law = np.ones((len(cells), NODES.size), dtype=np.complex128)
        for block, weight in zip(self.blocks, weights, strict=True):
            frequencies = block.question.answer_frequencies(cells)
            centre = (weight * block.noise.mean(frequencies)).sum(axis=-1)
            of_one = weighted_report(block.noise, frequencies, weight[:, None, :] * NODES[:, None])
            if of_one is None:
                return ndtr(seen)
            law *= (of_one * np.exp(-1j * centre[:, None] * NODES)) ** block.n
        return share_below(law, seen)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreInversion:
    """The confidence sets of a comparison: the values that its score test does not reject."""

    reports: PooledReports
    comparison: Comparison

    @property
    def words(self) -> str:
        """How the set is made, and whether its law is exact."""
        law = "the exact law of the reports, mid-p" if self.reports.has_law else "a normal law (an approximation)"
        return f"a score test with {law}; nuisance parameters estimated"

    def limits(self, alpha: float) -> FloatArray:
        """Return one piece, from the first value that is not rejected to the last.

        The share below what was seen falls as the value rises, but not everywhere where nuisance parameters are hardly
        known. Where even the end of the range would seldom show so much, or so little, the tail is taken as a share of
        the tail there; else nothing but that end would be left.
        """
        scale, shares = self._scanned()
        most = 1 - alpha / 2 * float(least_tail(1 - shares[-1]))
        least = alpha / 2 * float(least_tail(shares[0]))
        low = self._first(scale, shares <= most, lambda tried: tried <= most)
        high = self._first(scale[::-1], (shares >= least)[::-1], lambda tried: tried >= least)
        return self._value(np.array([[-math.inf if low is None else low, math.inf if high is None else high]]))

    def _first(self, scale: FloatArray, accepted: BoolArray, accept: Callable[[FloatArray], BoolArray]) -> float | None:
        """Return where, in the order of the scale, the accepted values begin; None if at its first one."""
        place = int(np.argmax(accepted))
        if place == 0:
            return None
        outside, inside = scale[place - 1], scale[place]
        for _ in range(_ROUNDS):
            tried = np.linspace(outside, inside, _POINTS + 2)
            found = np.append(accept(self._shares(tried[1:-1])), True)
            place = int(np.argmax(found))
            outside, inside = tried[place], tried[place + 1]
        return float((outside + inside) / 2)

    def _scanned(self) -> tuple[FloatArray, FloatArray]:
        """Try values around the most likely one, in ever larger steps, and the ends of what is possible."""
        reports, comparison = self.reports, self.comparison
        proper = reports.fitted(comparison, None, reports.counts)[0]
        smooth = (reports.n * proper + 0.5) / (reports.n + reports.cells / 2)
        centre = float(comparison.quantity.value(smooth @ comparison.members))
        low, high = ends_of(comparison)
        if comparison.quantity.logarithmic:
            low, high, centre = math.log(low), math.log(high), math.log(centre)
        steps = _FIRST_STEP * 2.0 ** np.arange(math.ceil(math.log2((high - low) / _FIRST_STEP)))
        scale = np.unique(np.clip(np.concatenate([[low, centre, high], centre - steps, centre + steps]), low, high))
        return scale, self._shares(scale)

    def _shares(self, scale: FloatArray) -> FloatArray:
        return self.reports.below(self.comparison, self._value(scale), self.reports.counts)

    def _value(self, scale: FloatArray | float) -> FloatArray:
        quantity = self.comparison.quantity
        return np.exp(scale) if quantity.logarithmic else np.clip(scale, quantity.lowest, quantity.highest)


def counted_by_part(blocks: Sequence[Block], comparison: Comparison) -> tuple[list[Block], Comparison]:
    """Count the reports of every part together, if all blocks' noise allows that: the comparison needs no more.

    The unbiased estimates of the parts stay what they were, and there are fewer nuisance parameters.
    """
    parts, of_cell = np.unique(comparison.parts, return_inverse=True)
    together = [_of_parts(block, of_cell) for block in blocks]
    found = [block for block in together if block is not None]
    if len(found) < len(together):
        return list(blocks), comparison
    return found, replace(comparison, parts=parts)


def _of_parts(block: Block, of_cell: NDArray[np.int64]) -> Block | None:
    if not block.question.is_bijection:
        return None
    of_answer = np.empty_like(of_cell)
    of_answer[block.classes] = of_cell
    tally = block.tally.merged(of_answer)
    if tally is None:
        return None
    values = tally.noise.cells
    return Block(Question(("part",), (values,), tuple(range(values))), tally)


def least_tail(share: FloatArray) -> FloatArray:
    """Return the tail probability at an end of the range, as a factor of alpha; 0, which rejects nothing, if tiny."""
    return np.where(share > _UNSEEN, share, 0.0)


def ends_of(comparison: Comparison) -> tuple[float, float]:
    """Return values that stand for the ends of the range."""
    quantity = comparison.quantity
    return (math.exp(-_END), math.exp(_END)) if quantity.logarithmic else (quantity.lowest, quantity.highest)


def _fewer(blocks: Sequence[Block]) -> list[Block]:
    """Merge blocks with one noise and question, and many truth-or-fake blocks into groups with their average channel.

    Counts of a group stay unbiased; that they vary a little less than through one channel is left aside.
    """
    alike: dict[object, Block] = {}
    for block in blocks:
        alike[block.asked] = alike[block.asked].merged_with(block) if block.asked in alike else block
    merged = list(alike.values())
    if len(merged) <= _GROUPS or not all_truth_or_fake(merged):
        return merged
    return [_averaged(merged[start::_GROUPS]) for start in range(_GROUPS)]


def _averaged(blocks: Sequence[Block]) -> Block:
    stack = TruthOrFakeStack.of(blocks)
    n, truths, faked = int(stack.n.sum()), float((stack.n * stack.truth).sum()), (stack.n * stack.fakes).sum(axis=0)
    noise = TruthOrFake(truths / n, tuple((faked / faked.sum()).tolist()))
    cells = Question(blocks[0].question.attributes, blocks[0].question.shape, tuple(range(stack.classes.size)))
    return Block(cells, Tally(noise, stack.counts.sum(axis=0), n, sum(block.tally.simulated for block in blocks)))
