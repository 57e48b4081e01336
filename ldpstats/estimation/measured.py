"""Measured sums of a table's cells: unbiased estimates of linear functions, with their covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import Estimate, invert, refuse_empty, summed
from ldpstats.noise.channels import multinomial_covariance
from ldpstats.numbers.arrays import FloatArray, IntArray, at_least, refuse_no_covariance
from ldpstats.saving.files import Saveable

# singular values below this share of the largest are rounding
_SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Measured(Saveable):
    """Unbiased estimates of sums of a table's cells, with the covariance of their errors.

    They may contradict one another, be negative or exceed one. The covariance is singular wherever sums are known, as
    totals are, or agree by design.
    """

    sums: FloatArray  # shape (m, cells): how often each sum adds each cell; the last attribute varies fastest
    estimate: FloatArray  # shape (m,)
    covariance: FloatArray  # shape (m, m)
    n: int
    bound: str = ""  # why the covariance is an upper bound; empty if it is the covariance itself

    def __post_init__(self) -> None:
        at_least(self.n, 0, "the reports behind what was measured")
        sums = np.shape(self.estimate)
        if np.ndim(self.sums) != 2 or len(sums) != 1 or np.shape(self.sums)[:1] != sums:
            raise LdpstatsError(
                f"{sums} estimates of sums of shape {np.shape(self.sums)}", "a row of multiples of cells for each sum"
            )
        refuse_no_covariance(np.asarray(self.covariance), *sums, "what was measured")

    @classmethod
    def of_cells(cls, estimate: FloatArray, covariance: FloatArray, n: int, bound: str = "") -> Measured:
        """Return what is measured if every cell is."""
        return cls(np.eye(estimate.size), estimate, covariance, n, bound)

    @property
    def is_of_cells(self) -> bool:
        """Whether every cell is measured by itself."""
        return np.array_equal(self.sums, np.eye(self.sums.shape[1]))

    def onto(self, of_cell: IntArray, size: int) -> Measured:
        """Return what they tell about a coarser table of `size` cells, `of_cell` being the new cell of every old one.

        These are all combinations of the sums that depend on the new cells alone.
        """
        if self.is_of_cells:
            return Measured.of_cells(*summed(self.estimate, self.covariance, of_cell, size), self.n, self.bound)
        members = np.eye(size)[of_cell]
        mean = self.sums @ members / members.sum(axis=0)
        left, sizes, _ = np.linalg.svd(self.sums - mean @ members.T)
        rank = int(np.count_nonzero(sizes > _SAME * max(1.0, float(np.abs(self.sums).max(initial=0.0)))))
        combined = left[:, rank:].T
        covariance = combined @ self.covariance @ combined.T
        return replace(self, sums=combined @ mean, estimate=combined @ self.estimate, covariance=covariance)

    def solved(self) -> tuple[FloatArray, FloatArray]:
        """Return the cells and their covariance; refuse sums that do not identify them, the total being one."""
        if self.is_of_cells:
            return self.estimate, self.covariance
        cells = self.sums.shape[1]
        rows = np.vstack([self.sums, np.ones(cells)])
        if np.linalg.matrix_rank(rows, tol=_SAME * np.abs(rows).max()) < cells:
            raise NotIdentifiedError(
                f"reports that identify only some contrasts of {cells} cells",
                "reports that together identify every cell",
                "Collect these attributes together, or see what can be said without an assumption: bounds().",
            )
        inverse = np.linalg.pinv(rows)
        weights = inverse[:, :-1]
        return weights @ self.estimate + inverse[:, -1], weights @ self.covariance @ weights.T


def positive_shares(frequencies: FloatArray) -> FloatArray:
    """Cut frequencies at zero and make them sum to one."""
    positive = np.maximum(frequencies, np.finfo(float).tiny)  # not zero: if all are cut, they are equal
    shares: FloatArray = positive / positive.sum(axis=-1, keepdims=True)
    return shares


def steadied(estimate: Estimate) -> FloatArray:
    """Add half a respondent to every cell of an estimate, none below zero, so that plug-in variances stay positive."""
    proper = np.maximum(estimate.estimate, np.finfo(float).tiny)
    shares: FloatArray = (estimate.n * proper / proper.sum() + 0.5) / (estimate.n + proper.size / 2)
    return shares


def measured_by(blocks: Sequence[Block]) -> Measured:
    """Return the sums of cells that blocks of different respondents ask for, each inverted by itself.

    Of a channel whose rank is below the number of answers they are the contrasts that it keeps apart.

    The covariance is that at the nearest shares that answers can have: at the estimate itself, which may be negative,
    tests would exceed their level where cells are rare (.10 instead of .04 for 500 reports by Hadamard response).
    """
    refuse_empty(len(blocks), "what is measured")
    from scipy.linalg import block_diag

    sums, estimates, covariances = zip(*map(_told_by, blocks), strict=True)
    n = sum(block.n for block in blocks)
    return Measured(np.vstack(sums), np.concatenate(estimates), block_diag(*covariances), n)


def _told_by(block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums that a block tells, their estimate and its covariance: its answers, or what its channel keeps."""
    noise, members = block.noise, np.eye(block.question.answers)[block.classes].T
    try:
        answers = invert(block.tally)
    except NotIdentifiedError:  # a channel of low rank keeps as many contrasts of the answers as it has singular values
        matrix, offset = noise.design()
        left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
        kept = sizes > _SAME * sizes.max()
        operator = left[:, kept].T / sizes[kept, None]
        seen = (block.tally.counts + 0.5) / (block.n + noise.outputs / 2)
        own_covariance = operator @ multinomial_covariance(seen) @ operator.T / block.n
        return right[kept] @ members, operator @ (block.tally.proportions - offset), own_covariance
    return members, answers.estimate, noise.covariance(steadied(answers)) / block.n
