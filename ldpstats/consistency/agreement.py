"""Agreement: the tables nearest to noisy ones that are equal where they overlap, in closed form or by a programme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ldpstats.consistency.least_violation import deviation, minimized
from ldpstats.consistency.marginals import Attributes, Marginal, stacked
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables.shared import Cluster, Contribution, Stacked, shares, sum_at

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# variances of differences below this share of the scale are rounding
_FLAT = 1e-10
MOST_DIFFERENCES = 1500
"""So many differences of dependent tables are tested at most: their covariance is a matrix of that size."""


def shared_quantities(marginals: Sequence[Marginal]) -> list[Contribution]:
    """Linearly independent sums of each table's cells that tables must agree on, and their indices among those of all.

    They are the total, which has the index 0, and the marginals that stand in several tables.
    Of a marginal only cells without any first category count: the others follow from these and from smaller marginals.
    """
    tables = Counter(frozenset(subset) for marginal in marginals for subset in _subsets(marginal.attributes))
    first: dict[Attributes, int] = {}
    size, contributions = 0, []
    for marginal in marginals:
        sums, places = [], []
        for subset in _subsets(marginal.attributes):
            if subset and tables[frozenset(subset)] == 1:
                continue
            shape = tuple(marginal.shape[marginal.attributes.index(name)] for name in subset)
            inner = np.flatnonzero(np.indices(shape).all(axis=0))
            if subset not in first:
                first[subset], size = size, size + inner.size
            sums.append(inner[:, None] == marginal.onto(subset))
            places.append(first[subset] + np.arange(inner.size))
        contributions.append(Contribution(np.concatenate(places), np.concatenate(sums).astype(float)))
    return contributions


class AgreeingFit:
    """Generalized least squares under the equations of agreement: all is linear, and cells may be negative.

    Each table tells of the shared quantities, sums K of its cells, with the information F = (K W⁻¹ Kᵀ)⁻¹. These are
    pooled with these weights, the total being known. Then each table moves by W⁻¹ Kᵀ F (pooled − own). That is
    x̂ = P π̂ + constant with P = I − W⁻¹Aᵀ(A W⁻¹Aᵀ)⁻¹A for all the equations A x = constant together; but the matrix to
    invert has only as many rows as there are shared quantities.
    """

    def __init__(self, marginals: Sequence[Marginal], shared: Sequence[Contribution]) -> None:
        self._marginals, self._shared = marginals, shared
        with_cells = [own.matrix / marginal.precision for marginal, own in zip(marginals, shared, strict=True)]
        self._information = [np.linalg.inv(cross @ own.matrix.T) for cross, own in zip(with_cells, shared, strict=True)]
        self._gains = [cross.T @ information for cross, information in zip(with_cells, self._information, strict=True)]
        size = 1 + max(int(own.places.max()) for own in shared)
        total = np.zeros((size, size))
        for own, information in zip(shared, self._information, strict=True):
            total[np.ix_(own.places, own.places)] += information
        self._with_total = total[:, 0]
        self._inverse = np.zeros_like(total)
        self._inverse[1:, 1:] = np.linalg.inv(total[1:, 1:])

    def tables(self, estimates: Sequence[FloatArray]) -> list[FloatArray]:
        """The nearest tables that agree and have the total one."""
        sums = [own.matrix @ estimate for own, estimate in zip(self._shared, estimates, strict=True)]
        weighted = np.zeros(len(self._inverse))
        for own, information, quantities in zip(self._shared, self._information, sums, strict=True):
            weighted[own.places] += information @ quantities
        pooled = self._inverse @ (weighted - self._with_total)
        pooled[0] = 1.0
        moves = [pooled[own.places] - quantities for own, quantities in zip(self._shared, sums, strict=True)]
        return [estimate + gain @ move for estimate, gain, move in zip(estimates, self._gains, moves, strict=True)]

    def covariances(self) -> list[FloatArray]:
        """Covariance of each fitted table: its own errors enter directly, those of all through what is pooled."""
        size = len(self._inverse)
        parts = [
            Contribution(own.places, information @ own.matrix)
            for own, information in zip(self._shared, self._information, strict=True)
        ]
        cross = self.stacked.with_sum(parts, size)
        pooled = self._inverse @ sum_at(parts, cross, size) @ self._inverse
        covariances = []
        for index, (own, gain, with_sum) in enumerate(zip(self._shared, self._gains, cross, strict=True)):
            block, direct = np.ix_(own.places, own.places), np.eye(len(gain)) - gain @ own.matrix
            across = direct @ with_sum @ self._inverse[:, own.places] @ gain.T
            alone = direct @ self.stacked.covariance(index) @ direct.T
            covariance = alone + across + across.T + gain @ pooled[block] @ gain.T
            covariances.append((covariance + covariance.T) / 2)
        for cluster in self.stacked.clusters:
            self._add_slack(cluster, parts, covariances)
        return covariances

    @cached_property
    def stacked(self) -> Stacked:
        """The dependence of the tables, whose `bound` says why covariances are upper bounds, if they are."""
        return stacked(self._marginals)

    def _add_slack(self, cluster: Cluster, parts: Sequence[Contribution], covariances: list[FloatArray]) -> None:
        """Add to each covariance the most that errors of a cluster's tables may have in common beyond independence.

        A table's own error, and what it takes from the others in its cluster, may go together.
        """
        size = len(self._inverse)
        influence = {index: self._inverse[:, parts[index].places] @ parts[index].matrix for index, _ in cluster}
        contributed = {index: influence[index] @ covariance @ influence[index].T for index, covariance in cluster}
        weights = dict(zip(contributed, shares([float(np.trace(part)) for part in contributed.values()]), strict=True))
        most = {index: part / weights[index] if weights[index] > 0 else part for index, part in contributed.items()}
        all_most, all_alone = (sum(those.values(), np.zeros((size, size))) for those in (most, contributed))
        members = dict(cluster)
        for index, (own, gain) in enumerate(zip(self._shared, self._gains, strict=True)):
            block = np.ix_(own.places, own.places)
            if index not in members:
                covariances[index] += gain @ (all_most - all_alone)[block] @ gain.T
                continue
            direct = np.eye(len(gain)) - gain @ own.matrix + gain @ influence[index][own.places]
            own_error = direct @ members[index] @ direct.T
            others = gain @ (all_most - most[index])[block] @ gain.T
            weight = shares([float(np.trace(own_error)), float(np.trace(others))])
            alone = own_error + gain @ (all_alone - contributed[index])[block] @ gain.T
            both = [part / share for part, share in zip((own_error, others), weight, strict=True) if share > 0]
            covariances[index] += sum(both, np.zeros_like(own_error)) - alone


def _subsets(attributes: Attributes) -> Iterator[Attributes]:
    """All subsets of the sorted attributes, by size, the empty one first."""
    names = sorted(attributes)
    return (subset for size in range(len(names) + 1) for subset in combinations(names, size))


# in standard errors of a cell: what Clarabel is asked for, and what is still good enough where it gets no further
_ASKED, _ACCEPTED = 1e-10, 1e-6
_SETTINGS: dict[str, Any] = {
    f"{prefix}tol_{name}": tolerance
    for prefix, tolerance in (("", _ASKED), ("reduced_", _ACCEPTED))
    for name in ("gap_abs", "gap_rel", "feas")
} | {"direct_solve_method": "qdldl"}  # 4,950 tables of 4 by 4 take 1.1 s, by what Clarabel chooses 2.8
# in proportions: how far from proper tables that agree a solution may be
_REPAIRED = 1e-6


def nearest_agreeing(marginals: Sequence[Marginal], shared: Sequence[Contribution], gamma: float) -> list[FloatArray]:
    """Proper tables that agree on all they share, with the least γ Σ |r| + (1 − γ) Σ r², r = (x − π̂) / standard error.

    The estimates themselves do not agree, for they are noisy: they enter by their distance only.
    """
    from scipy.sparse import block_diag, csr_array, vstack

    estimates = np.concatenate([marginal.estimate for marginal in marginals])
    standard_errors = 1 / np.sqrt(np.concatenate([marginal.precision for marginal in marginals]))
    sums = csr_array(block_diag([csr_array(own.matrix) for own in shared]))
    places = np.concatenate([own.places for own in shared])
    _, first = np.unique(places, return_index=True)
    again = np.setdiff1d(np.flatnonzero(places), first)
    totals, differences = sums[places == 0], sums[again] - sums[first[places[again]]]
    # A and a of A x = a: totals are one, common quantities are those of the first table that has them
    equations, values = csr_array(vstack([totals, differences])), np.repeat([1.0, 0.0], [len(shared), again.size])
    # cells and equations in standard errors, so that the solver's tolerances are, too
    unit = np.median(standard_errors)
    open_values = (values - equations @ estimates) / unit
    moves = _least_moves(equations.multiply(standard_errors / unit), open_values, -estimates / standard_errors, gamma)
    ends = np.cumsum([marginal.estimate.size for marginal in marginals])[:-1]
    solution = np.split(estimates + standard_errors * moves, ends)
    # made to agree to the last digits by the linear fit; then mixed with as little of uniform tables, which agree and
    # are positive, as it takes for no cell to be negative
    agreeing = AgreeingFit(marginals, shared).tables(solution)
    least = np.array([min(table.min(), 0.0) for table in agreeing])
    share = float((least / (least - np.array([1 / table.size for table in agreeing]))).max())
    proper = [np.maximum((1 - share) * table + share / table.size, 0) for table in agreeing]
    moved = max(float(np.abs(table - other).max()) for table, other in zip(proper, solution, strict=True))
    # written so that a NaN fails
    if not moved <= _REPAIRED:
        raise _unsolved(f"its solution is {moved:.1g} away from proper tables that agree")
    return proper


def _least_moves(equations: csr_array, values: FloatArray, least: FloatArray, gamma: float) -> FloatArray:
    """Minimize γ Σ |u| + (1 − γ) Σ u² for A u = values and u ≥ least: by Clarabel, or by HiGHS if it is linear."""
    import cvxpy

    moves: Any = cvxpy.Variable(least.size)
    settings = {"solver": cvxpy.HIGHS} if gamma == 1 else {"solver": cvxpy.CLARABEL, **_SETTINGS}
    constraints = [equations @ moves == values, moves >= least]
    return minimized(moves, deviation(moves, gamma), constraints, _unsolved, **settings)


def _unsolved(why: str) -> LdpstatsError:
    return LdpstatsError(
        f"tables for which the solver finds no consistent ones ({why})",
        "tables whose variances are not too many orders of magnitude apart",
        "Leave out the tables with the least or the largest variances, or take another method.",
    )


class Agreement(NamedTuple):
    """Result of the test of Hansen (1982): χ² where all tables are of one population and fit their channels."""

    statistic: float
    df: int  # 0 where nothing is shared
    pvalue: float
    bound: str  # why the test is conservative; empty where the covariance is known


def agreement_of(marginals: Sequence[Marginal], shared: Sequence[Contribution]) -> Agreement | None:
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
        for table in sorted(range(len(told)), key=lambda table: sorted(told[table][0].attributes)):
            own = told[table][1]
            for index in own.places[own.places > 0].tolist():
                holders.setdefault(index, []).append(table)
        differences = [(index, first, other) for index, (first, *others) in sorted(holders.items()) for other in others]
        if len(differences) > MOST_DIFFERENCES:
            return None
        statistic, df = _of_dependent(told, differences, joint)
    return Agreement(statistic, df, float(chi2.sf(statistic, df)) if df else 1.0, joint.bound)


def independent(joint: Stacked) -> bool:
    """Whether the errors of all tables are independent."""
    return not (joint.pairs or joint.counted or joint.clusters)


def _of_independent(told: Sequence[tuple[Marginal, Contribution]]) -> tuple[float, int]:
    size = 1 + max(int(own.places.max()) for _, own in told)
    total, weighted, known = np.zeros((size, size)), np.zeros(size), []
    for marginal, own in told:
        # the first is the total, which nobody can disagree about
        places, sums = own.places[own.places > 0], own.matrix[own.places > 0]
        covariance = sums @ marginal.covariance @ sums.T
        information, rank = _inverse(covariance, float(np.trace(covariance)))
        values = sums @ marginal.estimate
        total[np.ix_(places, places)] += information
        weighted[places] += information @ values
        known.append((places, values, information, rank))
    inverse, common = _inverse(total, float(np.trace(total)))
    pooled = inverse @ weighted
    errors = [(values - pooled[places], information) for places, values, information, _ in known]
    statistic = sum(float(error @ information @ error) for error, information in errors)
    return statistic, sum(rank for *_, rank in known) - common


def _of_dependent(
    told: Sequence[tuple[Marginal, Contribution]], differences: Sequence[tuple[int, int, int]], joint: Stacked
) -> tuple[float, int]:
    size, parts = len(differences), list[Contribution]()
    error = np.zeros(size)
    for table, (marginal, own) in enumerate(told):
        matrix = np.zeros((size, marginal.estimate.size))
        sums = dict(zip(own.places.tolist(), own.matrix, strict=True))
        for row, (index, first, second) in enumerate(differences):
            if table in (first, second):
                matrix[row] = sums[index] if table == second else -sums[index]
        rows = np.flatnonzero(matrix.any(axis=1))
        error += matrix @ marginal.estimate
        parts.append(Contribution(rows, matrix[rows]))
    # where the same reports tell what tables share, no difference varies but by rounding
    scale = max(float(np.trace(marginal.covariance)) for marginal, _ in told)
    inverse, rank = _inverse(joint.covariance_of(parts, size), scale)
    return float(error @ inverse @ error), rank


def _inverse(matrix: FloatArray, scale: float) -> tuple[FloatArray, int]:
    """Pseudoinverse of a covariance, in directions with variance relative to the scale, and its rank."""
    variances, directions = np.linalg.eigh(matrix)
    some = variances > _FLAT * scale
    kept = directions[:, some]
    return (kept / variances[some]) @ kept.T, int(some.sum())
