"""Quadratic programming over the simplex: the proper frequencies nearest to a score, in its information."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray

_EXCHANGES_AT_ONCE = 20
_RIDGE = 1e-10
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedMaximum:
    """Frequencies where quadratic forms are least over the simplex."""

    frequencies: FloatArray  # shape (..., cells), nonnegative, with the sum one
    distance: FloatArray  # by how much the form exceeds its least value over all frequencies that sum to one
    free: BoolArray  # the cells that are not held at zero

    @property
    def held(self) -> IntArray:
        """How many cells are held at zero.

        For normal scores the distance, given which these are, is at most a χ² with as many degrees of freedom, and
        exactly that if the true frequencies are zero there: it is the part of the score in the cone of directions that
        lead out, and were the truth inside, it would have to come from farther.
        """
        held: IntArray = np.count_nonzero(~self.free, axis=-1)
        return held


def nearest_in_information(
    score: FloatArray, information: FloatArray, start: FloatArray, free: BoolArray | None = None
) -> ConstrainedMaximum:
    """Maximize scoreᵀ d − dᵀ information d / 2 over all d for which start + d is a distribution.

    Cells that came out negative are held at zero, those that should be released are let go, all at once and then,
    should that not converge, one at a time: such exchanges end (Júdice & Pires 1994). Scores have the shape (tables,
    cells), and hold up to multiples of ones, along which the information, one matrix or a stack, is not used; it may be
    singular. `free` is a guess which cells will not be held at zero.
    """
    cells, scale = start.shape[-1], np.diagonal(information, axis1=-2, axis2=-1).max(axis=-1)
    curvature = information / scale[..., None, None] + (_RIDGE * np.eye(cells) + 1 / cells)
    target = score / scale[..., None] + _times(start, curvature)
    everywhere, _ = _held(curvature, target, np.ones(target.shape, dtype=np.bool_))
    free, exchanges = np.ones(target.shape, dtype=np.bool_) if free is None else free, 0
    while True:
        found, slope = _held(curvature, target, free)
        wrong = np.where(free, found < -_ROUNDING, slope > _ROUNDING)
        unsettled = wrong.any(axis=-1)
        if not unsettled.any() or exchanges > _EXCHANGES_AT_ONCE + 10 * cells:
            break
        exchanges += 1
        free = free ^ (wrong if exchanges <= _EXCHANGES_AT_ONCE else _last(wrong))
    beyond = found - everywhere
    distance = scale * (_times(beyond, curvature) * beyond).sum(axis=-1)
    return ConstrainedMaximum(np.maximum(found, 0), distance, free)


def _held(curvature: FloatArray, target: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Solve for the free cells, the others being zero; return the solutions and the slopes for the others."""
    if len(free) == 1 and curvature.ndim == 2:
        return _held_alike(curvature, target, free[0])
    tables, cells = free.shape
    both = free[:, :, None] & free[:, None, :]
    bordered = np.zeros((tables, cells + 1, cells + 1))
    bordered[:, :-1, :-1] = np.where(both, curvature, np.eye(cells))
    bordered[:, :-1, -1] = bordered[:, -1, :-1] = free
    right = np.concatenate([np.where(free, target, 0), np.ones((tables, 1))], axis=1)
    solved = np.linalg.solve(bordered, right[..., None])[..., 0]
    found = np.where(free, solved[:, :-1], 0)
    return found, target - _times(found, curvature) - solved[:, -1:]


def _held_alike(curvature: FloatArray, target: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Solve for a single table, in a system of its free cells alone."""
    cells = np.flatnonzero(free)
    columns = np.stack([target[0, cells], np.ones(cells.size)], axis=1)
    solved, ones = np.linalg.solve(curvature[np.ix_(cells, cells)], columns).T
    price = (solved.sum() - 1) / ones.sum()
    found = np.zeros_like(target)
    found[0, cells] = solved - price * ones
    return found, target - found @ curvature - price


def _times(rows: FloatArray, curvature: FloatArray) -> FloatArray:
    """Multiply every row with the one curvature, or with its own."""
    product: FloatArray = rows @ curvature if curvature.ndim == 2 else (curvature @ rows[..., None])[..., 0]
    return product


def _last(wrong: BoolArray) -> BoolArray:
    last = wrong.shape[1] - 1 - wrong[:, ::-1].argmax(axis=1)
    kept: BoolArray = wrong & (np.arange(wrong.shape[1]) == last[:, None])
    return kept
