"""Proper distributions nearest to estimates: by distance, in an information matrix, or with the same totals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray


def nearest_proper(estimate: FloatArray, precision: FloatArray | None = None, gamma: float = 0.0) -> FloatArray:
    """Return the proportions x, nonnegative with the sum one, with the least γ Σ |r| + (1 − γ) Σ r².

    Distances r = √w (x − π̂) are counted in standard errors, w being `precision`, one over the variance of a cell. With
    equal weights (none) this is the Euclidean projection for every γ, of any number of tables; with weights, of one.
    Below γ = 1 the minimiser is unique; at γ = 1 the cells that cost least are moved first, and of cells that cost the
    same the nearest point is taken.
    """
    if precision is None:
        return water_filling(estimate, 1.0, 0.0)
    if gamma == 1:
        return _cheapest_moved(estimate, precision)
    filled = _filled(estimate, gamma * np.sqrt(precision), 1 / (2 * (1 - gamma) * precision), 1.0)
    # exact already, but for the digits that are lost where γ is all but one
    shares: FloatArray = filled / filled.sum()
    return shares


def water_filling(frequencies: FloatArray, intercept: float, slope: float) -> FloatArray:
    """Solve y − f = level (intercept + slope f) for all f that are positive then, the level such that they sum to one.

    If the m largest y are to be positive, level = (Σ y − 1) / (m intercept + slope), and the last of them is if
    y > level · intercept. Along the ranks, y (m intercept + slope) − intercept (Σ y − 1) never rises (it changes by
    the step of y times m intercept + slope), so counting where it is not negative finds m. The solution is unique
    where intercept + slope y > 0, which holds for whatever counts p and q produce.
    """
    ranked = -np.sort(-frequencies, axis=-1)
    weight = np.arange(1, ranked.shape[-1] + 1) * intercept + slope
    excess = ranked.cumsum(axis=-1) - 1
    last = np.maximum(np.count_nonzero(ranked * weight >= intercept * excess, axis=-1, keepdims=True), 1) - 1
    level = np.take_along_axis(excess, last, -1) / weight[last]
    filled: FloatArray = np.maximum((frequencies - level * intercept) / (1 + level * slope), 0)
    return filled


def _filled(estimate: FloatArray, threshold: FloatArray, slope: FloatArray, total: float) -> FloatArray:
    """Return x = max(0, π̂ + slope · soft(level, threshold)), the level such that the cells have this total.

    The level is the Lagrange multiplier of the total; soft moves it toward zero by the threshold. Every cell begins to
    fill, rests at its estimate, and rises again, so that the total is piecewise linear in the level: sorted, its kinks
    tell where it is what it must be.
    """
    begins = -threshold - np.maximum(estimate, 0) / slope
    rises = threshold - np.minimum(estimate, 0) / slope
    kinks = np.concatenate([begins, -threshold, rises])
    order = np.argsort(kinks)
    kinks, rates = kinks[order], np.concatenate([slope, -slope, slope])[order].cumsum()
    totals = np.concatenate([[0.0], (rates[:-1] * np.diff(kinks)).cumsum()])
    last = np.searchsorted(totals, total, side="right") - 1
    level = kinks[last] + (total - totals[last]) / rates[last]
    moved = np.sign(level) * np.maximum(np.abs(level) - threshold, 0)
    filled: FloatArray = np.maximum(estimate + slope * moved, 0)
    return filled


def _cheapest_moved(estimate: FloatArray, precision: FloatArray) -> FloatArray:
    """Empty the cells with the least weight until the rest is below one; give the last what is missing."""
    positive = np.maximum(estimate, 0)
    _, rank = np.unique(precision, return_inverse=True)
    held = np.bincount(rank, weights=positive)
    dearer = held.sum() - held.cumsum()
    last = int(np.argmax(dearer <= 1))
    proper, moved = np.where(rank > last, positive, 0.0), rank == last
    alike = np.ones(np.count_nonzero(moved))
    proper[moved] = _filled(estimate[moved], 0 * alike, alike, max(1 - proper.sum(), 0.0))
    return proper


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
        solution, slope = _held(curvature, target, free)
        wrong = np.where(free, solution < -_ROUNDING, slope > _ROUNDING)
        unsettled = wrong.any(axis=-1)
        if not unsettled.any() or exchanges > _EXCHANGES_AT_ONCE + 10 * cells:
            break
        exchanges += 1
        free = free ^ (wrong if exchanges <= _EXCHANGES_AT_ONCE else _last(wrong))
    beyond = solution - everywhere
    distance = scale * (_times(beyond, curvature) * beyond).sum(axis=-1)
    return ConstrainedMaximum(np.maximum(solution, 0), distance, free)


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
    solution = np.where(free, solved[:, :-1], 0)
    return solution, target - _times(solution, curvature) - solved[:, -1:]


def _held_alike(curvature: FloatArray, target: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Solve for a single table, in a system of its free cells alone."""
    cells = np.flatnonzero(free)
    columns = np.stack([target[0, cells], np.ones(cells.size)], axis=1)
    solved, ones = np.linalg.solve(curvature[np.ix_(cells, cells)], columns).T
    price = (solved.sum() - 1) / ones.sum()
    solution = np.zeros_like(target)
    solution[0, cells] = solved - price * ones
    return solution, target - solution @ curvature - price


def _times(rows: FloatArray, curvature: FloatArray) -> FloatArray:
    """Multiply every row with the one curvature, or with its own."""
    product: FloatArray = rows @ curvature if curvature.ndim == 2 else (curvature @ rows[..., None])[..., 0]
    return product


def _last(wrong: BoolArray) -> BoolArray:
    last = wrong.shape[1] - 1 - wrong[:, ::-1].argmax(axis=1)
    kept: BoolArray = wrong & (np.arange(wrong.shape[1]) == last[:, None])
    return kept


_WRONG = 1e-9


def proportionally_fitted(frequencies: FloatArray, partitions: Iterable[IntArray], rounds: int = 1000) -> FloatArray:
    """Return the frequencies of maximum entropy among all with the same totals over the classes of every partition.

    This is iterative proportional fitting from the uniform table: the totals of one partition after the other are made
    what they have to be. As some frequencies have them all, it converges to the ones of maximum entropy (Csiszár 1975):
    quickly, unless these must have zeros that no total shows. It ends when all totals are right to 1e-9, or after so
    many rounds; after a thousand they were right to 3e-5 in such slow cases. Frequencies have the shape (..., cells),
    and a partition says the class of every cell.
    """
    cells, tables = frequencies.shape[-1], frequencies.size // frequencies.shape[-1]
    parts = []
    for classes in partitions:
        # every table has classes of its own, so that one count serves all
        own = (classes + (classes.max() + 1) * np.arange(tables)[:, None]).ravel()
        parts.append((own, np.bincount(own, weights=frequencies.ravel())))
    even = np.full((tables, cells), 1 / cells)
    # a table that is right is left alone: what comes of it does not depend on the others
    wrong = np.ones(tables, dtype=bool)
    for _ in range(rounds):
        off = np.zeros(tables)
        for own, totals in parts:
            reached = np.bincount(own, weights=even.ravel())
            off = np.maximum(off, np.abs(reached - totals).reshape(tables, -1).max(axis=1))
            ratios = np.divide(totals, reached, out=np.zeros_like(totals), where=reached > 0)[own]
            even[wrong] *= ratios.reshape(even.shape)[wrong]
        wrong &= off > _WRONG
        if not wrong.any():
            break
    return even.reshape(frequencies.shape)
