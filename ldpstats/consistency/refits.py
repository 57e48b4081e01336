"""Least violation of many sets of marginals at once: nonnegative least squares, and ADMM for absolute deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.least_violation import StandardizedResiduals
from ldpstats.consistency.marginals import Marginal
from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import progress
from ldpstats.workers import each

# the penalties of the method of multipliers, in units of one over the standard error of the most precise marginal:
# where absolute values alone count, and else; and how far its steps go
_FLAT, _CURVED, _RELAXED = 0.1, 3.0, 1.6
# what the norm counts against absolute violations alone: so little that it decides only between equal ones
_EVEN = 0.03
# proportions have standard errors of a thousandth at least where anybody would draw them again
_NEAR, _MOST_STEPS, _BETWEEN_LOOKS = 1e-6, 3000, 50
# the weight of the norm against violations by squares, where these leave it open, and that of the total
_NORM, _TOTAL = 1e-7, 1e3


def shortest_refits(marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain) -> FloatArray:
    """For every row of the estimates, the table of least squares with the smallest norm: see `fitted_joint`.

    The norm counts for so little that it decides only what squares leave open; one problem of nonnegative least squares
    does both.
    """
    from scipy.optimize import nnls

    data, cells = StandardizedResiduals.of(marginals, target), target.size()
    rotation, triangle = np.linalg.qr(data.matrix.toarray())
    observed = data.scaled(estimates) @ rotation
    matrix = np.vstack([triangle, np.full(cells, _TOTAL), math.sqrt(_NORM) * np.eye(cells)])
    ends = np.concatenate([[_TOTAL], np.zeros(cells)])
    found = np.array(each(lambda one: nnls(matrix, np.concatenate([one, ends]))[0], observed, "fitting again", "set"))
    shares: FloatArray = found / found.sum(axis=1, keepdims=True)
    return shares


def least_violating_refits(
    marginals: Sequence[Marginal],
    estimates: Sequence[FloatArray],
    target: Domain,
    share: float,
    start: FloatArray,
) -> FloatArray:
    """For every row of the estimates, a table of least violation with this share of absolute values.

    By the alternating direction method of multipliers (Boyd et al. 2011), from one table for all: residuals r and
    nonnegative cells z are copies of what the table x gives, and all sets share one factorization.
    """
    data = StandardizedResiduals.of(marginals, target)
    matrix, observed = data.matrix.toarray(), data.scaled(estimates)
    penalty, even = (_FLAT / data.unit, _EVEN) if share == 1 else (_CURVED / data.unit, 0.0)
    inverse = np.linalg.inv(matrix.T @ matrix + (1 + 2 * even / penalty) * np.eye(matrix.shape[1]))
    weight = inverse.sum(axis=0) / inverse.sum()
    z = np.tile(start, (len(observed), 1))
    r, u, v = z @ matrix.T - observed, np.zeros_like(observed), np.zeros_like(z)
    for step in progress(range(1, _MOST_STEPS + 1), "fitting again", unit="step"):
        x = ((observed + r - u) @ matrix + z - v) @ inverse
        x = x - (x.sum(axis=1, keepdims=True) - 1) * weight
        before, missed = z, x @ matrix.T - observed
        off, kept = _RELAXED * missed + (1 - _RELAXED) * r, _RELAXED * x + (1 - _RELAXED) * z
        r = _nearer(off + u, share / penalty, 2 * (1 - share) / data.unit / penalty)
        z = np.maximum(kept + v, 0)
        u, v = u + off - r, v + kept - z
        if step % _BETWEEN_LOOKS == 0 and max(np.abs(z - before).max(), np.abs(x - z).max()) < _NEAR:
            break
    shares: FloatArray = z / z.sum(axis=1, keepdims=True)
    return shares


def _nearer(residuals: FloatArray, threshold: float, curvature: float) -> FloatArray:
    """Proximal step: residuals that balance their violation against their distance from these (soft threshold)."""
    return np.sign(residuals) * np.maximum(np.abs(residuals) - threshold, 0) / (1 + curvature)
