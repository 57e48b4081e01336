"""Projection on the probability simplex: the proper distribution nearest to noisy estimates, exactly, by sorting."""

from __future__ import annotations

import numpy as np

from ldpstats.numbers.arrays import FloatArray


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
    _, place = np.unique(precision, return_inverse=True)
    held = np.bincount(place, weights=positive)
    dearer = held.sum() - held.cumsum()
    last = int(np.argmax(dearer <= 1))
    proper, moved = np.where(place > last, positive, 0.0), place == last
    alike = np.ones(np.count_nonzero(moved))
    proper[moved] = _filled(estimate[moved], 0 * alike, alike, max(1 - proper.sum(), 0.0))
    return proper
