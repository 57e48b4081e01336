"""Fisher information about cell frequencies: a diagonal plus a low-rank part, for many tables at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.numbers.arrays import FloatArray, IntArray

# of the largest eigenvalue, once the diagonal is one
_SINGULAR = 1e-9
# of the largest entry of the diagonal: the square of rounding, and a margin
_UNSEEN = 1e-20
# of the largest eigenvalue, for every cell
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """The matrix diag(diagonal) + left core leftᵀ; as frequencies sum to one, it is applied to contrasts only.

    Shapes (..., m), (..., m, k) and (..., k, k); `left` and `core` are None where the matrix is diagonal.
    """

    diagonal: FloatArray
    left: FloatArray | None = None
    core: FloatArray | None = None

    def dense(self) -> FloatArray:
        """Return the whole matrix."""
        return self.times(np.eye(self.diagonal.shape[-1]))

    def scaled(self, numbers: FloatArray) -> Information:
        """Return the matrices times a number each."""
        core = None if self.core is None else numbers[:, None, None] * self.core
        return Information(numbers[:, None] * self.diagonal, self.left, core)

    def times(self, columns: FloatArray) -> FloatArray:
        """Multiply the matrix with a matrix of columns."""
        product = self.diagonal[..., None] * columns
        if self.left is None or self.core is None:
            return product
        return product + self.left @ (self.core @ (np.swapaxes(self.left, -1, -2) @ columns))

    def between(self, columns: FloatArray) -> FloatArray:
        """Return columnsᵀ matrix columns."""
        transposed = np.swapaxes(columns, -1, -2)
        product = transposed @ (self.diagonal[..., None] * columns)
        if self.left is None or self.core is None:
            return product
        inner = transposed @ self.left
        return product + inner @ self.core @ np.swapaxes(inner, -1, -2)

    def contrast_norm(self, score: FloatArray) -> FloatArray:
        """Return scoreᵀ M⁻ score over the contrasts, for a positive diagonal: by the Woodbury formula."""
        columns = np.stack([score, np.ones_like(score)], axis=-1)
        form = np.swapaxes(columns, -1, -2) @ self._solved(columns)[0]
        # taking out the ones direction: what the total could explain is not evidence
        return form[..., 0, 0] - form[..., 0, 1] ** 2 / form[..., 1, 1]

    def contrast_volume(self) -> FloatArray:
        """Return log |CᵀMC| for orthonormal contrasts C, for a positive diagonal: by the matrix determinant lemma."""
        solved, small = self._solved(np.ones((*self.diagonal.shape, 1)))
        # |CᵀMC| = |D| |small| 1ᵀM⁻1 / 1ᵀ1
        logarithms = [
            np.log(self.diagonal).sum(axis=-1),
            np.linalg.slogdet(small)[1],
            np.log(solved.mean(axis=(-2, -1))),
        ]
        volume: FloatArray = sum(logarithms)
        return volume

    def sees_every_contrast(self) -> bool:
        """Say whether one table's matrix is clearly regular, by its diagonal and the eigenvalues that differ."""
        least, most = float(self.diagonal.min()), float(self.diagonal.max())
        if least <= 0:
            return False
        changed = np.linalg.eigvals(self._solved(np.ones((*self.diagonal.shape, 1)))[1]).real
        low, high = min(1.0, float(changed.min())), max(1.0, float(changed.max()))
        return bool(least * low > most * high * self.diagonal.shape[-1] * _ROUNDING)

    def _solved(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return M⁻ columns, and the small matrix whose determinant is that of M over that of its diagonal."""
        solved = columns / self.diagonal[..., None]
        if self.left is None or self.core is None:
            return solved, np.eye(1)
        scaled = self.left / self.diagonal[..., None]
        inner = np.swapaxes(self.left, -1, -2) @ scaled
        small = np.eye(inner.shape[-1]) + self.core @ inner
        solved -= scaled @ solve_or_shortest(small, self.core @ (np.swapaxes(scaled, -1, -2) @ columns))
        return solved, small

    def of_cells(self, classes: IntArray) -> Information:
        """Return the information about cells from this about answers, where `classes` is the answer of every cell."""
        answers = self.diagonal.shape[-1]
        if classes.size == answers:
            left = None if self.left is None else self.left[..., classes, :]
            return Information(self.diagonal[..., classes], left, self.core)
        membership = np.eye(answers)[classes]
        nothing = np.zeros((*self.diagonal.shape[:-1], classes.size))
        return Information(nothing, np.broadcast_to(membership, (*nothing.shape, answers)), self.dense())

    def __add__(self, other: Information) -> Information:
        diagonal = self.diagonal + other.diagonal
        if self.left is None or self.core is None:
            return Information(diagonal, other.left, other.core)
        if other.left is None or other.core is None:
            return Information(diagonal, self.left, self.core)
        first, second = self.core.shape[-1], other.core.shape[-1]
        core = np.zeros((*diagonal.shape[:-1], first + second, first + second))
        core[..., :first, :first] = self.core
        core[..., first:, first:] = other.core
        return Information(diagonal, np.concatenate([self.left, other.left], axis=-1), core)


def solve_or_shortest(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """Solve symmetric systems, one per table; where one is singular, take the shortest solution.

    Parameters
    ----------
    matrix, columns : arrays, shapes (..., cells, cells) and (..., cells, columns)
    """
    try:
        return np.linalg.solve(matrix, columns)
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.linalg.pinv(matrix, rcond=1e-10) @ columns
        both = np.broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])
        every = zip(*(np.broadcast_to(stack, (*both, *stack.shape[-2:])) for stack in (matrix, columns)), strict=True)
        return np.stack([solve_or_shortest(*each) for each in every])


def shortest(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """Solve positive semidefinite systems that may be singular, one per table, whatever the units of their rows.

    Directions seen less than rounding are left alone; the solution is the shortest in units of a diagonal of ones.

    Parameters
    ----------
    matrix, columns : arrays, shapes (..., cells, cells) and (..., cells, columns)
    """
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    largest = diagonal.max(axis=-1, keepdims=True, initial=0.0)
    # what is seen by rounding alone must not become a unit of its own
    seen = diagonal > _UNSEEN * largest
    unit = 1 / np.sqrt(np.where(seen, diagonal, np.where(largest > 0, largest, 1.0)))[..., None]
    even = unit * matrix * np.swapaxes(unit, -1, -2)
    return unit * (np.linalg.pinv(even, rcond=_SINGULAR, hermitian=True) @ (unit * columns))


def information_of(matrix: FloatArray) -> Information:
    """Return a dense matrix as information."""
    left = np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape)
    return Information(np.zeros(matrix.shape[:-1]), left, matrix)
