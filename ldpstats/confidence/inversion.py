"""Inversion of score tests: comparisons of a few shares, tested where reports are rare, and what is not rejected.

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
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.unbiased_estimates import ContrastPooling
from ldpstats.noise import Tally, TruthOrFake
from ldpstats.noise.weighted import NODES, share_below, weighted_report
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, integers_below

if TYPE_CHECKING:
    from ldpstats.confidence.group_means import GroupMeans

Shares = Callable[[FloatArray, FloatArray], FloatArray]
Compared = TypeVar("Compared", "Comparison", "GroupMeans")
_NEVER = 1e-300


class Quantity(NamedTuple):
    """A quantity ψ of a few shares, with its constrained maximum likelihood and its score."""

    among: int  # of how many shares
    fitted: Shares  # of shares (..., among + 1) and ψ (...): the most likely shares with this ψ
    gradient: Shares  # of the same: the slope in each share of a constraint that holds at this ψ, and grows with it
    value: Callable[[FloatArray], FloatArray]
    lowest: float
    highest: float  # infinite for a ratio

    @property
    def logarithmic(self) -> bool:
        """Whether it is a ratio, whose logarithm is looked at."""
        return math.isinf(self.highest)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A quantity ψ that depends on the cells through the shares of a few parts of the table.

    Of the shares a to d, the odds ratio is a d / (b c), and risks are a / (a + b) and c / (c + d); of two shares, the
    difference is a - b, and the proportion a / (a + b).
    """

    parts: IntArray  # shape (cells,): the part of each cell; the last one holds what is not compared
    name: Literal["odds ratio", "risk ratio", "risk difference", "difference", "proportion"]

    def __post_init__(self) -> None:
        integers_below(self.parts, self.quantity.among + 1, "the parts of a comparison")

    @property
    def quantity(self) -> Quantity:
        """The quantity of this name, with its formulas."""
        return _QUANTITIES[self.name]

    @property
    def members(self) -> FloatArray:
        """Which cells belong to which part, shape (cells, parts)."""
        return np.eye(self.quantity.among + 1)[self.parts]


def fitted_odds(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    """Fit shares to an odds ratio ψ.

    From b and c to a and d is moved the x with (a + x)(d + x) = ψ (b - x)(c - x): margins stay as they are.
    """
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    weight, rest = _balance(ratio)
    leading, linear, constant = weight - rest, weight * (a + d) + rest * (b + c), weight * a * d - rest * b * c
    root = np.sqrt(np.maximum(linear**2 - 4 * leading * constant, 0))
    moved = np.clip(-2 * constant / np.maximum(linear + root, _NEVER), -np.minimum(a, d), np.minimum(b, c))
    return _with(shares, a + moved, b - moved, c - moved, d + moved)


def fitted_risks(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    """Fit shares to a ratio of two risks, by the quadratic equation for the larger one."""
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second, more = a + b, c + d, ratio > 1
    smaller = np.where(more, 1 / np.where(more, ratio, 1), ratio)
    # the group with the larger risk, and how often it and the other one had the case
    large, small = np.where(more, first, second), np.where(more, second, first)
    often, seldom = np.where(more, a, c), np.where(more, c, a)
    leading, linear = (large + small) * smaller, small * smaller + seldom + large + often * smaller
    root = np.sqrt(np.maximum(linear**2 - 4 * leading * (a + c), 0))
    larger = np.clip(2 * (a + c) / np.maximum(linear + root, _NEVER), 0, 1)
    first_risk, second_risk = np.where(more, larger, smaller * larger), np.where(more, smaller * larger, larger)
    return _with(shares, first * first_risk, first * (1 - first_risk), second * second_risk, second * (1 - second_risk))


def fitted_difference(shares: FloatArray, difference: FloatArray) -> FloatArray:
    """Fit shares to a difference of two risks, by a cubic equation (Miettinen & Nurminen 1985, appendix)."""
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second = a + b, c + d
    total = np.maximum(first + second, _NEVER)
    square = ((first + 2 * second) * difference - total - a - c) / (3 * total)
    linear = ((second * difference - total - 2 * c) * difference + a + c) / (3 * total)
    cube = square**3 - 1.5 * square * linear + c * difference * (1 - difference) / (2 * total)
    half = np.copysign(np.sqrt(np.maximum(square**2 - linear, 0)), cube)
    angle = (math.pi + np.arccos(np.clip(cube / np.where(half == 0, 1, half**3), -1, 1))) / 3
    second_risk = np.clip(2 * half * np.cos(angle) - square, np.maximum(0, -difference), np.minimum(1, 1 - difference))
    first_risk = np.clip(second_risk + difference, 0, 1)
    return _with(shares, first * first_risk, first * (1 - first_risk), second * second_risk, second * (1 - second_risk))


def fitted_shares(shares: FloatArray, difference: FloatArray) -> FloatArray:
    """Fit two shares, and a third of all the rest, to a difference of the two, by a quadratic equation."""
    a, b, rest = np.moveaxis(shares, -1, 0)
    leading = 2 * (a + b + rest)
    linear = (a + b) * (1 - difference) - 2 * (b + rest) * difference
    constant = b * difference * (1 - difference)
    # a root of  leading x² - linear x - constant = 0  that leaves no share negative
    root = np.sqrt(np.maximum(linear**2 + 4 * leading * constant, 0))
    other = np.clip((linear + root) / (2 * leading), np.maximum(0, -difference), (1 - difference) / 2)
    return np.stack([other + difference, other, 1 - 2 * other - difference], axis=-1)


def fitted_proportion(shares: FloatArray, proportion: FloatArray) -> FloatArray:
    """Fit two shares to a proportion a / (a + b): their sum stays as it is."""
    together = shares[..., 0] + shares[..., 1]
    return np.stack([proportion * together, (1 - proportion) * together, shares[..., 2]], axis=-1)


def _odds_gradient(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    weight, rest = _balance(ratio)
    return np.stack([weight * d, -rest * c, -rest * b, weight * a, np.zeros_like(a)], axis=-1)


def _ratio_gradient(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    weight, rest = _balance(ratio)
    parts = [weight * (c + d) - rest * c, -rest * c, weight * a - rest * (a + b), weight * a, np.zeros_like(a)]
    return np.stack(parts, axis=-1)


def _difference_gradient(shares: FloatArray, _: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second = (np.maximum(group, _NEVER**0.25) ** 2 for group in (a + b, c + d))
    return np.stack([b / first, -a / first, -d / second, c / second, np.zeros_like(a)], axis=-1)


def _shares_gradient(shares: FloatArray, _: FloatArray) -> FloatArray:
    return np.broadcast_to(np.array([1.0, -1.0, 0.0]), shares.shape)


def _proportion_gradient(shares: FloatArray, proportion: FloatArray) -> FloatArray:
    parts = np.stack([1 - proportion, -proportion, np.zeros_like(proportion)], axis=-1)
    return np.broadcast_to(parts, shares.shape)


def _risks(shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    return a / (a + b), c / (c + d)


def _balance(ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights that sum to one and whose quotient is the ratio, which may be infinite."""
    weight = 1 / (1 + ratio)
    return weight, 1 - weight


def _with(shares: FloatArray, *compared: FloatArray) -> FloatArray:
    return np.stack([*compared, shares[..., 4]], axis=-1)


_QUANTITIES = {
    "odds ratio": Quantity(
        4, fitted_odds, _odds_gradient, lambda s: s[..., 0] * s[..., 3] / (s[..., 1] * s[..., 2]), 0, math.inf
    ),
    "risk ratio": Quantity(4, fitted_risks, _ratio_gradient, lambda s: np.divide(*_risks(s)), 0, math.inf),
    "risk difference": Quantity(4, fitted_difference, _difference_gradient, lambda s: np.subtract(*_risks(s)), -1, 1),
    "difference": Quantity(2, fitted_shares, _shares_gradient, lambda s: s[..., 0] - s[..., 1], -1, 1),
    "proportion": Quantity(
        2, fitted_proportion, _proportion_gradient, lambda s: s[..., 0] / (s[..., 0] + s[..., 1]), 0, 1
    ),
}


Counts = Sequence[NDArray[np.int64]]
_GROUPS = 8
_MOST_CELLS = 300
_STEPS, _SETTLED = 100, 1e-6
_LEAST = 1e-9
_NO_MASS = 1e-30
_NOTHING = 1e-9
_ROUNDS, _POINTS = 2, 16
_END = 25.0
_FIRST_STEP = 0.0005
_NUMBERS = 2**21
_UNSEEN = 1e-5


@dataclass(frozen=True, eq=False)
class PooledReports:
    """The reports of blocks as one linear, unbiased estimate of the cells, or of the sums of cells that they tell.

    Every count of theirs is a number of reports.
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], forms: FloatArray | None = None) -> PooledReports | None:
        """Return the reports; None if a block counts no reports, cells are not identified, or there are many.

        With `forms`, sums of cells with a row each, these alone must be identified. Sets of values are counted by
        value: the estimate is made of that.
        """
        answered = [block.by_value for block in blocks if block.n]
        if not answered or any(not np.isfinite(block.noise.largest) for block in answered):
            return None
        if max(answered[0].question.cells, *(block.noise.outputs for block in answered)) > _MOST_CELLS:
            return None
        reports = cls(tuple(_fewer(answered)))
        open_cells = isinstance(reports.pooling, ContrastPooling)
        return None if open_cells and (forms is None or not reports.pooling.tells(forms)) else reports

    @cached_property
    def pooling(self) -> LinearPooling:
        """The weights of the estimate."""
        try:
            return LinearPooling(self.blocks)
        except NotIdentifiedError:
            return ContrastPooling(self.blocks)

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

    def fitted(self, comparison: Comparison | GroupMeans, values: FloatArray | None, counts: Counts) -> FloatArray:
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
            expected = frequencies * ((seen / np.maximum(mean, _NO_MASS)) @ operator)
            # what was seen may be impossible at a value; then nothing is expected, and the least shares stay
            everything = np.maximum(expected.sum(axis=-1, keepdims=True), _NO_MASS)
            frequencies = np.maximum(expected / everything, _LEAST)
            if values is not None:
                shares = frequencies @ members
                factor = comparison.quantity.fitted(shares, values) / np.where(shares > 0, shares, 1)
                frequencies = frequencies * factor[..., comparison.parts]
            frequencies = frequencies / frequencies.sum(axis=-1, keepdims=True)
            if np.abs(frequencies - before).max() < _SETTLED:
                break
        return frequencies

    def below(self, comparison: Comparison | GroupMeans, values: FloatArray, counts: Counts) -> FloatArray:
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
        slope = slope - (slope @ self.pooling.of_total)[:, None]  # shares add up to one
        gap, variance, weights = np.zeros(len(cells)), np.zeros(len(cells)), []
        for block, operator, seen in zip(self.blocks, self.pooling.operators, counts, strict=True):
            weight = slope @ operator
            frequencies = block.question.answer_frequencies(cells)
            gap += (weight * (seen / block.n - block.noise.mean(frequencies))).sum(axis=-1)
            variance += (
                np.einsum("...i,...ij,...j->...", weight, block.noise.report_covariance(frequencies), weight) / block.n
            )
            weights.append(weight / block.n)
        largest = np.max([np.abs(weight).max(axis=-1) for weight in weights], axis=0)
        error = np.sqrt(np.maximum(variance, 0))
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
    comparison: Comparison | GroupMeans

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

    def sides(self, value: float) -> tuple[float, float]:
        """Return one-sided p-values: that the quantity is so large or larger, and that it is so small or smaller.

        Tails at the ends of the range are taken as in `limits`.
        """
        low, high = ends_of(self.comparison)
        tried = np.array([low, np.clip(value, low, high), high])
        at_low, share, at_high = self.reports.below(self.comparison, tried, self.reports.counts)
        tails = [(share, least_tail(at_low)), (1 - share, least_tail(1 - at_high))]
        above, below = (min(float(tail / most), 1.0) if most > 0 else 1.0 for tail, most in tails)
        return above, below

    def _first(self, scale: FloatArray, accepted: BoolArray, accept: Callable[[FloatArray], BoolArray]) -> float | None:
        """Return where, in the order of the scale, the accepted values begin; None if at its first one."""
        index = int(np.argmax(accepted))
        if index == 0:
            return None
        outside, inside = scale[index - 1], scale[index]
        for _ in range(_ROUNDS):
            tried = np.linspace(outside, inside, _POINTS + 2)
            fits = np.append(accept(self._shares(tried[1:-1])), True)
            index = int(np.argmax(fits))
            outside, inside = tried[index], tried[index + 1]
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


def counted_by_part(blocks: Sequence[Block], comparison: Compared) -> tuple[list[Block], Compared]:
    """Count the reports of every part together, if all blocks' noise allows that: the comparison needs no more.

    The unbiased estimates of the parts stay what they were, and there are fewer nuisance parameters.
    """
    parts, of_cell = np.unique(comparison.parts, return_inverse=True)
    together = [_of_parts(block, of_cell) for block in blocks]
    merged = [block for block in together if block is not None]
    if len(merged) < len(together):
        return list(blocks), comparison
    return merged, replace(comparison, parts=parts)


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


def ends_of(comparison: Comparison | GroupMeans) -> tuple[float, float]:
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
