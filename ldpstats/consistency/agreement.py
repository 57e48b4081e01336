"""Agreement: the quantities that several tables hold in common, and the least-squares fit that makes them equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.consistency.marginals import Attributes, Marginal


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What one table holds of the quantities that tables agree on: sums of its cells, and which quantities they are.

    Parameters
    ----------
    sums : array of 0 and 1, shape (quantities of this table, cells)
    places : array of int
        Where these quantities stand among those of all tables; the total is the first of all.
    """

    sums: FloatArray
    places: IntArray


def held_in_common(marginals: Sequence[Marginal]) -> list[Held]:
    """Return what every table holds of the total and of the marginals that stand in several tables.

    Of every marginal only those cells count in which no attribute has its first category: the others follow, by
    subtraction, from these and from the smaller marginals. So no quantity of a table follows from its others.
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
        found.append(Held(np.concatenate(sums).astype(float), np.concatenate(places)))
    return found


class AgreeingFit:
    """Weighted least squares under the equations of agreement: cells may be negative, and all is linear.

    Each table tells of the common quantities, sums K of its cells, with the information F = (K W⁻¹ Kᵀ)⁻¹. What the
    tables tell is pooled with these weights, the total being known. Then each table moves by W⁻¹ Kᵀ F (pooled − told).
    That is x̂ = P π̂ + constant with P = I − W⁻¹Aᵀ(A W⁻¹Aᵀ)⁻¹A for all the equations A x = constant together; but the
    matrix to invert has only as many rows as there are common quantities.

    Parameters
    ----------
    marginals : sequence of Marginal
    held : sequence of Held
        What each of them holds in common with others.
    """

    def __init__(self, marginals: Sequence[Marginal], held: Sequence[Held]) -> None:
        self._marginals, self._held = marginals, held
        spreads = [own.sums / one.precision for one, own in zip(marginals, held, strict=True)]
        self._information = [np.linalg.inv(spread @ own.sums.T) for spread, own in zip(spreads, held, strict=True)]
        self._gains = [spread.T @ told for spread, told in zip(spreads, self._information, strict=True)]
        information = self._together(self._information)
        self._with_total = information[:, 0]
        self._inverse = np.zeros_like(information)
        self._inverse[1:, 1:] = np.linalg.inv(information[1:, 1:])

    def tables(self, estimates: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the nearest tables that agree and have the total one."""
        told = [own.sums @ estimate for own, estimate in zip(self._held, estimates, strict=True)]
        weighted = np.zeros(len(self._inverse))
        for own, information, quantities in zip(self._held, self._information, told, strict=True):
            weighted[own.places] += information @ quantities
        pooled = self._inverse @ (weighted - self._with_total)
        pooled[0] = 1.0
        moves = [pooled[own.places] - quantities for own, quantities in zip(self._held, told, strict=True)]
        return [one + gain @ move for one, gain, move in zip(estimates, self._gains, moves, strict=True)]

    def covariances(self) -> list[FloatArray]:
        """Return each table's covariance after the fit, the tables before it being independent of each other.

        A table hears itself directly and through the pooled quantities, and the others through these only.
        """
        parts = list(zip(self._marginals, self._held, self._information, self._gains, strict=True))
        heard = [told @ own.sums @ one.covariance @ own.sums.T @ told for one, own, told, _ in parts]
        pooled = self._inverse @ self._together(heard) @ self._inverse
        found = []
        for (one, own, told, gain), noise in zip(parts, heard, strict=True):
            block = np.ix_(own.places, own.places)
            back = self._inverse[block]
            direct = np.eye(one.estimate.size) - gain @ (own.sums - back @ told @ own.sums)
            covariance = direct @ one.covariance @ direct.T + gain @ (pooled[block] - back @ noise @ back) @ gain.T
            found.append((covariance + covariance.T) / 2)
        return found

    def _together(self, matrices: Sequence[FloatArray]) -> FloatArray:
        """Add up the tables' matrices at the places of their quantities."""
        size = 1 + max(int(own.places.max()) for own in self._held)
        total = np.zeros((size, size))
        for own, matrix in zip(self._held, matrices, strict=True):
            total[np.ix_(own.places, own.places)] += matrix
        return total


def _subsets(attributes: Attributes) -> Iterator[Attributes]:
    """Yield all sets of the attributes, in an order of their own, beginning with the empty one."""
    names = sorted(attributes)
    return (subset for size in range(len(names) + 1) for subset in combinations(names, size))
