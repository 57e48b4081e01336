"""Agreement: generalized least squares under the constraint that tables have equal marginals where they overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ldpstats.consistency.marginals import Attributes, Marginal, stacked
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.tables.stacked import Cluster, Contribution, Stacked, shares, sum_at


@dataclass(frozen=True, slots=True, eq=False)
class SharedQuantities:
    """Sums of one table's cells that tables must agree on, and their indices among those of all tables."""

    sums: FloatArray  # 0 and 1, shape (quantities of this table, cells)
    places: IntArray  # indices among those of all tables; the total is 0


def shared_quantities(marginals: Sequence[Marginal]) -> list[SharedQuantities]:
    """Linearly independent sums of each table's cells: the total, and the marginals that stand in several tables.

    Of a marginal only cells without any first category count: the others follow from these and from smaller marginals.
    """
    tables = Counter(frozenset(subset) for one in marginals for subset in _subsets(one.attributes))
    first: dict[Attributes, int] = {}
    size, found = 0, []
    for one in marginals:
        sums, places = [], []
        for subset in _subsets(one.attributes):
            if subset and tables[frozenset(subset)] == 1:
                continue
            shape = tuple(one.shape[one.attributes.index(name)] for name in subset)
            inner = np.flatnonzero(np.indices(shape).all(axis=0))
            if subset not in first:
                first[subset], size = size, size + inner.size
            sums.append(inner[:, None] == one.onto(subset))
            places.append(first[subset] + np.arange(inner.size))
        found.append(SharedQuantities(np.concatenate(sums).astype(float), np.concatenate(places)))
    return found


class AgreeingFit:
    """Generalized least squares under the equations of agreement: all is linear, and cells may be negative.

    Each table tells of the shared quantities, sums K of its cells, with the information F = (K W⁻¹ Kᵀ)⁻¹. These are
    pooled with these weights, the total being known. Then each table moves by W⁻¹ Kᵀ F (pooled − own). That is
    x̂ = P π̂ + constant with P = I − W⁻¹Aᵀ(A W⁻¹Aᵀ)⁻¹A for all the equations A x = constant together; but the matrix to
    invert has only as many rows as there are shared quantities.
    """

    def __init__(self, marginals: Sequence[Marginal], shared: Sequence[SharedQuantities]) -> None:
        self._marginals, self._shared = marginals, shared
        spreads = [own.sums / one.precision for one, own in zip(marginals, shared, strict=True)]
        self._information = [np.linalg.inv(spread @ own.sums.T) for spread, own in zip(spreads, shared, strict=True)]
        self._gains = [spread.T @ information for spread, information in zip(spreads, self._information, strict=True)]
        information = self._together(self._information)
        self._with_total = information[:, 0]
        self._inverse = np.zeros_like(information)
        self._inverse[1:, 1:] = np.linalg.inv(information[1:, 1:])

    def tables(self, estimates: Sequence[FloatArray]) -> list[FloatArray]:
        """The nearest tables that agree and have the total one."""
        sums = [own.sums @ estimate for own, estimate in zip(self._shared, estimates, strict=True)]
        weighted = np.zeros(len(self._inverse))
        for own, information, quantities in zip(self._shared, self._information, sums, strict=True):
            weighted[own.places] += information @ quantities
        pooled = self._inverse @ (weighted - self._with_total)
        pooled[0] = 1.0
        moves = [pooled[own.places] - quantities for own, quantities in zip(self._shared, sums, strict=True)]
        return [one + gain @ move for one, gain, move in zip(estimates, self._gains, moves, strict=True)]

    @property
    def bound(self) -> str:
        """Why the covariances are upper bounds; empty where they are known."""
        return self._stacked.bound

    def covariances(self) -> list[FloatArray]:
        """Covariance of each fitted table: its own errors enter directly, those of all through what is pooled."""
        size = len(self._inverse)
        parts = [
            one.part(own.places, information @ own.sums)
            for one, own, information in zip(self._marginals, self._shared, self._information, strict=True)
        ]
        cross = self._stacked.with_sum(parts, size)
        pooled = self._inverse @ sum_at(parts, cross, size) @ self._inverse
        found = []
        for place, (own, gain, with_sum) in enumerate(zip(self._shared, self._gains, cross, strict=True)):
            block, direct = np.ix_(own.places, own.places), np.eye(len(gain)) - gain @ own.sums
            direct = direct @ self._marginals[place].sums
            across = direct @ with_sum @ self._inverse[:, own.places] @ gain.T
            covariance = (
                direct @ self._stacked.covariance(place) @ direct.T + across + across.T + gain @ pooled[block] @ gain.T
            )
            found.append((covariance + covariance.T) / 2)
        for cluster in self._stacked.clusters:
            self._add_slack(cluster, parts, found)
        return found

    @cached_property
    def _stacked(self) -> Stacked:
        return stacked(self._marginals)

    def _add_slack(self, cluster: Cluster, parts: Sequence[Contribution], covariances: list[FloatArray]) -> None:
        """Add to each covariance the most that errors of a cluster's tables may have in common beyond independence.

        A table's own error, and what it takes from the others in its cluster, may go together.
        """
        size = len(self._inverse)
        influence = {one: self._inverse[:, parts[one].places] @ parts[one].matrix for one, _ in cluster}
        spreads = {one: influence[one] @ spread @ influence[one].T for one, spread in cluster}
        weights = dict(zip(spreads, shares([float(np.trace(one)) for one in spreads.values()]), strict=True))
        most = {one: spread / weights[one] if weights[one] > 0 else spread for one, spread in spreads.items()}
        all_most, all_alone = (sum(those.values(), np.zeros((size, size))) for those in (most, spreads))
        members = dict(cluster)
        for place, (own, gain) in enumerate(zip(self._shared, self._gains, strict=True)):
            block = np.ix_(own.places, own.places)
            if place not in members:
                covariances[place] += gain @ (all_most - all_alone)[block] @ gain.T
                continue
            direct = (np.eye(len(gain)) - gain @ own.sums) @ self._marginals[place].sums
            direct = direct + gain @ influence[place][own.places]
            own_error = direct @ members[place] @ direct.T
            others = gain @ (all_most - most[place])[block] @ gain.T
            weight = shares([float(np.trace(own_error)), float(np.trace(others))])
            alone = own_error + gain @ (all_alone - spreads[place])[block] @ gain.T
            both = [one / share for one, share in zip((own_error, others), weight, strict=True) if share > 0]
            covariances[place] += sum(both, np.zeros_like(own_error)) - alone

    def _together(self, matrices: Sequence[FloatArray]) -> FloatArray:
        """Add up the tables' matrices at the indices of their quantities."""
        size = 1 + max(int(own.places.max()) for own in self._shared)
        total = np.zeros((size, size))
        for own, matrix in zip(self._shared, matrices, strict=True):
            total[np.ix_(own.places, own.places)] += matrix
        return total


def _subsets(attributes: Attributes) -> Iterator[Attributes]:
    """All subsets of the sorted attributes, by size, the empty one first."""
    names = sorted(attributes)
    return (subset for size in range(len(names) + 1) for subset in combinations(names, size))
