"""Unbiased estimates from several blocks: inverted, pooled by least squares, in closed form, or of the last two."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import Estimate, invert, over_degrees_of_freedom, refuse_empty
from ldpstats.estimation.measured import positive_shares, steadied
from ldpstats.estimation.rare import OwnReports
from ldpstats.numbers.arrays import FloatArray

Made = TypeVar("Made")

# how far, relative to its multiples, a sum of cells may be from what reports tell; singular values that are rounding
_TOLD, _FLAT = 1e-7, 1e-9


class LinearPooling:
    """Weighted least squares with weights that depend on the designs only, so that the estimate stays unbiased.

    Each output is weighted by its inverse variance under uniform frequencies; for a single invertible block this is the
    plain inversion. Designs that were chosen after earlier reports (adapted fakes) make the weights depend on those
    reports, and leave a bias of smaller order than the standard error.
    """

    def __init__(self, measurements: Sequence[Block]) -> None:
        self._whole = measurements
        both = [block.summed for block in measurements]
        self._measurements, self._sums = [block for block, _ in both], [added for _, added in both]
        for block in self._measurements:
            refuse_empty(block.n, "a pooled block")
        self._alone = len(both) == 1 and self._measurements[0].question.is_bijection and self._inverts()
        if not self._alone:
            _ = self._solution  # refused where cells stay open

    def _inverts(self) -> bool:
        """Say whether a single block that asks for the cells is inverted: if no weights can matter."""
        return self._measurements[0].noise.exchangeable

    @cached_property
    def _solution(self) -> tuple[list[FloatArray], FloatArray]:
        """The weights of every measurement's proportions, (cells, outputs), and what is added."""
        if not self._alone:
            return self._chosen(self._measurements)
        noise, cells = self._measurements[0].noise, self._measurements[0].classes
        nothing = noise.debias(np.zeros(noise.outputs))
        return [(noise.debias(np.eye(noise.outputs)) - nothing).T[cells]], nothing[cells]

    @cached_property
    def operators(self) -> list[FloatArray]:
        """What the reports of each measurement, as proportions, are multiplied by, shape (cells, outputs)."""
        parts = zip(self._solution[0], self._sums, strict=True)
        return [weight if added is None else weight @ added.T for weight, added in parts]

    def _chosen(self, measurements: Sequence[Block]) -> tuple[list[FloatArray], FloatArray]:
        designs = _of_each(measurements, lambda block: block.design())
        cells = designs[0][0].shape[1]
        uniform = np.full(cells, 1 / cells)
        covariances = _of_each(measurements, lambda block: block.report_covariance(uniform))
        variances = [np.diagonal(own) for own in covariances]
        # an output that every report brings tells nothing
        weights = [
            np.divide(block.n, own, out=np.zeros(own.shape), where=own > 0)
            for block, own in zip(measurements, variances, strict=True)
        ]
        roots = np.sqrt(np.concatenate(weights))
        scaled = np.vstack([matrix for matrix, _ in designs]) * roots[:, None]
        ends = np.cumsum([own.size for own in weights])[:-1]
        operators = np.split(self._inverted(scaled) * roots, ends, axis=1)
        offsets = [weight @ offset for weight, (_, offset) in zip(operators, designs, strict=True)]
        return operators, -np.sum(offsets, axis=0)

    def _inverted(self, scaled: FloatArray) -> FloatArray:
        """Invert the designs by least squares; refused where cells stay open."""
        gram = scaled.T @ scaled
        if len(scaled) < len(gram) or np.linalg.matrix_rank(gram, hermitian=True) < len(gram):
            raise NotIdentifiedError(
                f"{len(self._measurements)} blocks that identify only some contrasts of {len(gram)} cells",
                "blocks that together identify every cell",
                "bounds() says what is known of the cells, and functional(weights) estimates what the reports tell; or "
                "collect a block that asks for the cells.",
            )
        return np.linalg.solve(gram, scaled.T)

    @cached_property
    def of_total(self) -> FloatArray:
        """What every cell takes of what the estimates lack of one in all, by their covariance at uniform frequencies.

        Nothing where they always add up to one. Supports do not: by themselves they tell the total with noise.
        """
        cells = self._measurements[0].question.cells
        covariance = self.covariance(np.full(cells, 1 / cells))
        with_total = covariance.sum(axis=1)
        known = with_total.sum() <= _TOLD * np.trace(covariance)
        return np.zeros(cells) if known else with_total / with_total.sum()

    def tells(self, forms: FloatArray) -> bool:
        """Say whether the reports identify sums of cells, with a row of multiples each: but for constants, offsets."""
        pairs = zip(self.operators, (block.design()[0] for block in self._whole), strict=True)
        missed = np.sum([forms @ operator @ matrix for operator, matrix in pairs], axis=0) - forms
        return bool(np.all(np.ptp(missed, axis=1) <= _TOLD * np.abs(forms).max(axis=1)))

    def estimate(self, counts: Sequence[NDArray[np.int64]]) -> FloatArray:
        """Return the estimated cell frequencies for one tally per measurement (leading axes: many tables)."""
        if self._alone:
            (block,), (added,), (tally,) = self._measurements, self._sums, counts
            inverted: FloatArray = block.noise.debias((tally if added is None else tally @ added) / block.n)
            return inverted[..., block.question.classes]
        parts = zip(self._measurements, self.operators, counts, strict=True)
        pooled: FloatArray = np.sum([tally / block.n @ operator.T for block, operator, tally in parts], axis=0)
        return pooled + self._solution[1]

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the exact covariance of the estimate under these frequencies.

        Improper ones are cut at zero and scaled to sum to one, lest a block with little noise be given a negative
        variance.
        """
        proper = positive_shares(frequencies)
        if self._alone:
            (block,) = self._measurements
            places = block.classes
            covariance = block.noise.covariance(block.question.answer_frequencies(proper)) / block.n
            return covariance if block.question.is_identity else covariance[..., places[:, None], places]
        of_reports = _of_each(self._measurements, lambda block: block.report_covariance(proper))
        parts = zip(self._measurements, self._solution[0], of_reports, strict=True)
        pooled: FloatArray = np.sum([operator @ own @ operator.T / block.n for block, operator, own in parts], axis=0)
        return pooled


def _of_each(measurements: Sequence[Block], work_out: Callable[[Block], Made]) -> list[Made]:
    """Return what `work_out` makes of each measurement, worked out once for those that ask the same in the same way."""
    known: dict[Hashable, Made] = {}
    asked = [(block.question, block.noise) for block in measurements]
    for key, block in zip(asked, measurements, strict=True):
        if key not in known:
            known[key] = work_out(block)
    return [known[key] for key in asked]


def unbiased(blocks: Sequence[Block]) -> Estimate:
    """Invert a single block that asks for the cells; pool anything else with weights from the designs alone.

    Blocks of truth or fake are weighed by n_b p_b², whatever their fakes are: this stays unbiased when fakes follow the
    reports of earlier blocks, as long as p does not.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of one table, with reports.
    """
    if len(blocks) == 1 and blocks[0].question.is_bijection:
        return _inverted(blocks[0])
    if all_truth_or_fake(blocks):
        stack = TruthOrFakeStack.of(blocks)
        return _pooled_truths(stack, stack.truth)
    pooling, n = LinearPooling(blocks), sum(block.n for block in blocks)
    estimate = pooling.estimate([block.tally.counts for block in blocks])
    return Estimate(estimate, over_degrees_of_freedom(n * pooling.covariance(estimate), n), n)


def unbiased_weights(blocks: Sequence[Block]) -> list[FloatArray]:
    """Return what the `unbiased` estimate multiplies the proportions of every block by, shape (cells, outputs)."""
    return UnbiasedPooling(blocks).operators


class UnbiasedPooling(LinearPooling):
    """The `unbiased` estimate, for other tallies of the same blocks and at any frequencies.

    The inversion of a channel need not be its least squares: the estimates of Hadamard response are not.
    """

    def _inverts(self) -> bool:
        return True

    def _chosen(self, measurements: Sequence[Block]) -> tuple[list[FloatArray], FloatArray]:
        if all_truth_or_fake(measurements):
            stack = TruthOrFakeStack.of(measurements)
            truths = stack.truth * stack.n
            shares = truths / (truths * stack.truth).sum()
            own = zip(shares.ravel(), measurements, strict=True)
            weights = [share * np.eye(block.question.cells)[block.classes] for share, block in own]
            return weights, -(shares * stack.fakes).sum(axis=0)
        return super()._chosen(measurements)


class ContrastPooling(LinearPooling):
    """The same where blocks leave cells open: right for the sums of cells that they do identify (see `tells`)."""

    def _inverted(self, scaled: FloatArray) -> FloatArray:
        inverted: FloatArray = np.linalg.pinv(scaled, rcond=_FLAT)
        return inverted


def closed_form(blocks: Sequence[Block]) -> Estimate:
    """Take the fakes that were to be expected from all the reports: (Σ o_b − Σ n_b (1−p_b) T_b) / Σ n_b p_b.

    Where p_b does not depend on any report, this stays exactly unbiased when every T_b is made of the blocks before:
    the errors of the blocks are martingale differences. (At a strict level p_b follows from T_b, and a bias remains
    that is small beside the standard error.) For the same reason the covariance is, on average,
    Σ n_b (diag μ_b − μ_b μ_bᵀ) / (Σ n_b p_b)². Its estimate is divided by 1 − Σ n_b p_b² / (Σ n_b p_b)²
    (for one block: multiplied by n / (n - 1)), which makes it unbiased where the T_b were fixed beforehand.
    """
    stack = _about_the_cells(blocks, "closed form")
    return _pooled_truths(stack, np.ones_like(stack.truth))


def _pooled_truths(stack: TruthOrFakeStack, weights: FloatArray) -> Estimate:
    """Divide the true answers, so weighted, by the number that was to be expected.

    The plug-in covariance is too small by the share Σ w² n p² / (Σ w n p)² of itself, because the estimate is in it. A
    negative estimate can make a report's probability negative in some block; it is taken for that of half a truthful
    respondent, lest a cell that shows less than nothing be given no variance.
    """
    expected, n = float((weights * stack.n * stack.truth).sum()), int(stack.n.sum())
    estimate = (weights * (stack.counts - stack.n * stack.fakes)).sum(axis=0) / expected
    mean, often = stack.truth * estimate + stack.fakes, weights**2 * stack.n
    mean = np.where(mean < 0, stack.truth / (2 * n), mean)
    unscaled = np.diag((often * mean).sum(axis=0)) - (often * mean).T @ mean
    free = expected**2 - float((often * stack.truth**2).sum()) if n > 1 else 0.0
    gain = np.broadcast_to(stack.truth, stack.counts.shape)
    own = OwnReports(stack.n.astype(float), gain, stack.fakes, stack.counts.astype(float), weights)
    return Estimate(estimate, unscaled / free if free else np.full_like(unscaled, np.inf), n, own=own)


def two_blocks(blocks: Sequence[Block]) -> Estimate:
    """Average what the last two blocks say, each inverted by itself (Imran & Meo 2024, Section 5 and Eq. 4).

    It is the paper's estimate, for comparison. It is unbiased but does not converge: the blocks before count for
    nothing, so that its variance stays what two blocks have, however many there are.

    Parameters
    ----------
    blocks : sequence of Block
        Truth-or-fake blocks that ask for the cells, in the order of collection.
    """
    _about_the_cells(blocks, "two blocks")
    if len(blocks) < 2:
        raise NotIdentifiedError(
            f"method = 'two blocks' for {len(blocks)} block with reports",
            "at least two blocks with reports",
            "'closed form' takes any number of them.",
        )
    first, second = map(_inverted, last_two(blocks))
    return Estimate(
        (first.estimate + second.estimate) / 2, (first.covariance + second.covariance) / 4, first.n + second.n
    )


def full_blocks(blocks: Sequence[Block]) -> Sequence[Block]:
    """Leave out a last block with fewer reports than any other: it is still open.

    All others must be about of one size (late reports make some a little larger): merged collections have open blocks
    among them, and common first ones.
    """
    sizes = [block.n for block in blocks[:-1]]
    if sizes and max(sizes) >= 2 * min(sizes):
        raise LdpstatsError(
            f"blocks of {min(sizes)} to {max(sizes)} reports before the last",
            "the blocks of one collection, all of one size but the last",
            "Estimate every collection by itself, or all of them by 'mle'.",
        )
    return blocks[:-1] if sizes and blocks[-1].n < min(sizes) else blocks


def last_two(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the last two blocks that are full; if there are but two, these."""
    return (full_blocks(blocks) if len(blocks) > 2 else blocks)[-2:]


def steady_covariance(blocks: Sequence[Block], estimate: Estimate) -> FloatArray:
    """Return the covariance of an unbiased estimate at the nearest proper shares, with n - 1 for n."""
    shares_at = steadied(estimate)
    if len(blocks) == 1 and blocks[0].question.is_bijection:
        (block,) = blocks
        covariance = block.noise.covariance(block.question.answer_frequencies(shares_at))
        return over_degrees_of_freedom(covariance[np.ix_(block.classes, block.classes)], estimate.n)
    if not all_truth_or_fake(blocks):
        return over_degrees_of_freedom(estimate.n * LinearPooling(blocks).covariance(shares_at), estimate.n)
    stack = TruthOrFakeStack.of(blocks)
    truthful, mean, often = float((stack.n * stack.truth**2).sum()), stack.mean(shares_at), stack.truth**2 * stack.n
    covariance = np.diag((often * mean).sum(axis=0)) - (often * mean).T @ mean
    return over_degrees_of_freedom(estimate.n * covariance / truthful**2, estimate.n)


def _inverted(block: Block) -> Estimate:
    answers = invert(block.tally)
    return answers if block.question.is_identity else answers.in_order(np.asarray(block.question.classes))


def _about_the_cells(blocks: Sequence[Block], method: str) -> TruthOrFakeStack:
    if not all_truth_or_fake(blocks):
        raise LdpstatsError(
            f"method = {method!r} for blocks that do not all report a cell, the true one or a fake",
            "truth-or-fake blocks (randomized response) that ask for the cells themselves",
            "'gls' and 'unbiased' take any blocks.",
        )
    return TruthOrFakeStack.of(blocks)
