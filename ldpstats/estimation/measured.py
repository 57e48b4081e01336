"""Measured sums of a table's cells: unbiased estimates of linear functions, with their covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.arrays import FloatArray, IntArray, at_least, refuse_no_covariance
from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.estimate import Estimate, invert, refuse_empty, summed
from ldpstats.saving import Saveable

# singular values below this share of the largest are rounding
_SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Measured(Saveable):
    """Sums of a table's cells that were estimated without bias, with the covariance of their errors.

    Parameters
    ----------
    sums : array, shape (m, cells)
        Which cells each sum adds, and how often; the last attribute of the table varies fastest.
    estimate : array, shape (m,)
        The estimated sums; they may contradict one another, be negative or exceed one.
    covariance : array, shape (m, m)
        The covariance of the estimates. It is singular wherever sums are known, as totals are, or agree by design.
    n : int
        The reports behind them.
    bound : str
        Why the covariance is an upper bound, in words; empty if it is the covariance itself.

    Examples
    --------
    The margins of a table of 2 by 2, from the same 100 respondents:

    >>> import numpy as np
    >>> from ldpstats.estimation import Measured
    >>> rows, columns = np.repeat(np.eye(2), 2, axis=1), np.tile(np.eye(2), 2)
    >>> spread = np.array([[1, -1], [-1, 1]])
    >>> margins = Measured(
    ...     np.vstack([rows, columns]),
    ...     np.array([0.6, 0.4, 0.3, 0.7]),
    ...     np.kron(np.diag([0.24, 0.21]), spread) / 100,
    ...     n=100,
    ... )
    >>> margins.sums @ np.array([0.2, 0.4, 0.1, 0.3])
    array([0.6, 0.4, 0.3, 0.7])
    """

    sums: FloatArray
    estimate: FloatArray
    covariance: FloatArray
    n: int
    bound: str = ""

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
        """Return what is measured if every cell is.

        Parameters
        ----------
        estimate : array, shape (cells,)
        covariance : array, shape (cells, cells)
        n : int
            The reports behind them.
        bound : str
            Why the covariance is an upper bound, if it is.
        """
        return cls(np.eye(estimate.size), estimate, covariance, n, bound)

    @property
    def is_of_cells(self) -> bool:
        """Whether every cell is measured by itself."""
        return np.array_equal(self.sums, np.eye(self.sums.shape[1]))

    def onto(self, of_cell: IntArray, size: int) -> Measured:
        """Return what they tell about the cells of a coarser table, `of_cell` being the new cell of every old one.

        These are all combinations of the sums that depend on the new cells alone.

        Parameters
        ----------
        of_cell : array of int, shape (cells,)
            The new place of every cell.
        size : int
            The number of new cells.
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
        """Return the cells and their covariance, where the sums and the total, which is one, identify all of them."""
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


def steadied(found: Estimate) -> FloatArray:
    """Return an estimate with half a respondent more in every cell, none below zero: variances there do not vanish.

    Parameters
    ----------
    found : Estimate
        Of one table.
    """
    proper = np.maximum(found.estimate, np.finfo(float).tiny)  # not zero: if all are cut, they are equal
    shares: FloatArray = (found.n * proper / proper.sum() + 0.5) / (found.n + proper.size / 2)
    return shares


def measured_by(blocks: Sequence[Block]) -> Measured:
    """Return the sums of cells that blocks of different respondents ask for, each inverted by itself.

    The covariance is that at the nearest shares that answers can have: at the estimate itself, which may be negative,
    tests would exceed their level where cells are rare (.10 instead of .04 for 500 reports by Hadamard response).

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of one table, each of other respondents.
    """
    refuse_empty(len(blocks), "what is measured")
    found = [invert(block.tally) for block in blocks]
    sums = [np.eye(block.question.answers)[np.asarray(block.question.classes)].T for block in blocks]
    from scipy.linalg import block_diag

    pairs = zip(blocks, found, strict=True)
    spread = block_diag(*(block.tally.noise.covariance(steadied(one)) / one.n for block, one in pairs))
    return Measured(
        np.vstack(sums), np.concatenate([one.estimate for one in found]), spread, sum(one.n for one in found)
    )
