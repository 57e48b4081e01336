"""Distances between distributions: total variation, Jensen-Shannon, χ²; and the expected squared error of a table."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray, as_array
from ldpstats.tables import Table

Distribution: TypeAlias = Table | ArrayLike

# what rounding may do to a sum of proportions, and to a zero
_ROUNDING = 1e-6
_ZERO = 1e-12


def l1(first: Distribution, second: Distribution) -> float:
    """Sum of the absolute differences of all cells.

    Like all distances here it takes two tables of the same attributes, in any order, two arrays of one shape, or one
    of each. Cells may be negative, as unbiased estimates are.
    """
    return float(np.abs(np.subtract(*_aligned(first, second))).sum())


def l2(first: Distribution, second: Distribution) -> float:
    """Euclidean length of the difference; its square is the squared error of an estimate."""
    return float(np.linalg.norm(np.subtract(*_aligned(first, second))))


def total_variation(first: Distribution, second: Distribution) -> float:
    """Half the sum of the absolute differences: the most by which the probability of any event differs."""
    return l1(first, second) / 2


def jensen_shannon(first: Distribution, second: Distribution) -> float:
    """Jensen-Shannon divergence in nats: the mean divergence of both from their average (Lin 1991).

    With the average m it is ½ KL(p ‖ m) + ½ KL(q ‖ m), with natural logarithms: between 0 and ln 2. It is the
    divergence itself; `scipy.spatial.distance.jensenshannon` returns its square root. Both must be proper.
    """
    from scipy.special import rel_entr

    p, q = _proper(first, second)
    m = (p + q) / 2
    return max(float((rel_entr(p, m) + rel_entr(q, m)).sum()) / 2, 0.0)


def chi_squared(first: Distribution, second: Distribution) -> float:
    """Symmetric χ² distance Σ (p − q)² / (p + q), where cells that are zero in both count for nothing.

    It lies between 0 and 2. Pearson's Σ (p − q)² / q, with a reference q, is infinite where q has a zero that p has
    not, as true tables often do; this one is always finite. Times ¼ and ½ ln 2 it bounds the Jensen-Shannon
    divergence from below and from above (Topsøe 2000). Both must be proper.
    """
    p, q = _proper(first, second)
    shared = p + q > 0
    return float((np.square(p - q)[shared] / (p + q)[shared]).sum())


def compare(estimate: Distribution, truth: Distribution) -> pd.Series[float]:
    """All distances of a proper estimate from the truth, and of a table also the expected squared error."""
    measured = {
        "l1": l1(estimate, truth),
        "l2": l2(estimate, truth),
        "total variation": total_variation(estimate, truth),
        "Jensen-Shannon": jensen_shannon(estimate, truth),
        "chi-squared": chi_squared(estimate, truth),
    }
    if isinstance(estimate, Table):
        # of an unbiased estimate, the mean of the squared l2
        measured["expected squared error"] = float(np.trace(estimate.covariance))
    return pd.Series(measured)


def _aligned(first: Distribution, second: Distribution) -> tuple[FloatArray, FloatArray]:
    """Cells of both in the same order."""
    if isinstance(first, Table) and isinstance(second, Table):
        second = second.reordered(first.attributes)
        if second.domain != first.domain:
            raise LdpstatsError(f"tables of {first.domain!r} and {second.domain!r}", "tables with the same categories")
    p, q = (each.estimate if isinstance(each, Table) else as_array(each, "a distribution") for each in (first, second))
    for cells in (p, q):
        if cells.dtype.kind not in "iuf" or not np.all(np.isfinite(cells)):
            raise LdpstatsError(
                f"a distribution of dtype {cells.dtype} that does not consist of finite numbers",
                "a table, or an array of finite numbers",
            )
    if p.shape != q.shape or p.size == 0:
        raise LdpstatsError(f"distributions of shape {p.shape} and {q.shape}", "two of the same shape, with cells")
    return p.astype(float), q.astype(float)


def _proper(first: Distribution, second: Distribution) -> tuple[FloatArray, FloatArray]:
    """Cells of both, after a check that they are probabilities."""
    p, q = _aligned(first, second)
    for cells in (p, q):
        if cells.min() < -_ZERO or abs(cells.sum() - 1) > _ROUNDING:
            raise LdpstatsError(
                f"cells from {cells.min():.4g} up, with the sum {cells.sum():.6g}",
                "proper distributions: nonnegative cells with the sum 1",
                "make_consistent and reconstruct return proper tables, table.estimated_by('mle') is one; divide "
                "counts by their sum. l1, l2 and total_variation take improper ones.",
            )
    # a sum with numbers below the smallest normal one may round to zero
    least = np.finfo(float).tiny
    return np.where(p < least, 0.0, p), np.where(q < least, 0.0, q)
