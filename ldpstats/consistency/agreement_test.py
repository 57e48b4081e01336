"""A test of agreement: whether noise explains by how much tables disagree about the marginals that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ldpstats.consistency.agreement import SharedQuantities
from ldpstats.consistency.marginals import Marginal, stacked
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables.stacked import Contribution, Stacked

_FLAT = 1e-10
MOST_DIFFERENCES = 1500
"""So many differences of dependent tables are tested at most: their covariance is a matrix of that size."""


class Agreement(NamedTuple):
    """Result of the test of Hansen (1982): χ² where all tables are of one population and fit their channels."""

    statistic: float
    df: int  # 0 where nothing is shared
    pvalue: float
    bound: str  # why the test is conservative; empty where the covariance is known


def agreement_of(marginals: Sequence[Marginal], shared: Sequence[SharedQuantities]) -> Agreement | None:
    """Test whether tables tell the same of what they share; None where dependent tables share too much to be tested.

    Of independent tables with sums q_t of covariance S_t, the statistic is the least Σ (q_t − q)ᵀ S_t⁻¹ (q_t − q) over
    all q, which needs no covariance of all tables together. Of others it is dᵀ V⁻¹ d for all differences d.
    """
    from scipy.stats import chi2

    joint = stacked(marginals)
    told = list(zip(marginals, shared, strict=True))
    if independent(joint):
        statistic, df = _of_independent(told)
    else:
        # which quantity is compared between which two tables: the first that holds it, and every other one; which is
        # the first does not depend on the order of the tables: it matters where the covariance is a bound
        holders: dict[int, list[int]] = {}
        for table in sorted(range(len(told)), key=lambda place: sorted(told[place][0].attributes)):
            own = told[table][1]
            for place in own.places[own.places > 0].tolist():
                holders.setdefault(place, []).append(table)
        differences = [(place, first, other) for place, (first, *others) in sorted(holders.items()) for other in others]
        if len(differences) > MOST_DIFFERENCES:
            return None
        statistic, df = _of_dependent(told, differences, joint)
    return Agreement(statistic, df, float(chi2.sf(statistic, df)) if df else 1.0, joint.bound)


def independent(joint: Stacked) -> bool:
    """Whether the errors of all tables are independent."""
    return not (joint.pairs or joint.counted or joint.clusters)


def _of_independent(told: Sequence[tuple[Marginal, SharedQuantities]]) -> tuple[float, int]:
    size = 1 + max(int(own.places.max()) for _, own in told)
    total, weighted, known = np.zeros((size, size)), np.zeros(size), []
    for one, own in told:
        # the first place is the total, which nobody can disagree about
        places, sums = own.places[own.places > 0], own.sums[own.places > 0]
        spread = sums @ one.covariance @ sums.T
        information, rank = _inverse(spread, float(np.trace(spread)))
        values = sums @ one.estimate
        total[np.ix_(places, places)] += information
        weighted[places] += information @ values
        known.append((places, values, information, rank))
    inverse, common = _inverse(total, float(np.trace(total)))
    pooled = inverse @ weighted
    errors = [(values - pooled[places], information) for places, values, information, _ in known]
    statistic = sum(float(error @ information @ error) for error, information in errors)
    return statistic, sum(rank for *_, rank in known) - common


def _of_dependent(
    told: Sequence[tuple[Marginal, SharedQuantities]], differences: Sequence[tuple[int, int, int]], joint: Stacked
) -> tuple[float, int]:
    size, parts = len(differences), list[Contribution]()
    error = np.zeros(size)
    for table, (one, own) in enumerate(told):
        matrix = np.zeros((size, one.estimate.size))
        sums = dict(zip(own.places.tolist(), own.sums, strict=True))
        for row, (place, first, second) in enumerate(differences):
            if table in (first, second):
                matrix[row] = sums[place] if table == second else -sums[place]
        rows = np.flatnonzero(matrix.any(axis=1))
        error += matrix @ one.estimate
        parts.append(one.part(rows, matrix[rows]))
    # where the same reports tell what tables share, no difference varies but by rounding
    inverse, rank = _inverse(joint.covariance_of(parts, size), max(float(np.trace(one.covariance)) for one, _ in told))
    return float(error @ inverse @ error), rank


def _inverse(matrix: FloatArray, scale: float) -> tuple[FloatArray, int]:
    """Pseudoinverse of a covariance, in directions with variance relative to the scale, and its rank."""
    variances, directions = np.linalg.eigh(matrix)
    some = variances > _FLAT * scale
    kept = directions[:, some]
    return (kept / variances[some]) @ kept.T, int(some.sum())
