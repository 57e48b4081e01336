"""Tests of chains: whether two attributes depend on each other as much as a third one between them would imply."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.domain import Domain
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation import Measured
from ldpstats.limits import LARGEST_JOINT
from ldpstats.networks.orientation import Orientation, Triple, Verdict, oriented, unshielded_triples
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet, pooled_measured
from ldpstats.tables.pooled import onto
from ldpstats.tables.residuals import interactions

HALF = 0.5
"""Less than this share of the dependence that a chain implies is no chain."""
_ERRORS = 2.0
"""Categories are taken to be no rarer than so many standard errors of their shares."""
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class ChainTest:
    """How much of the dependence is there that a chain, or a fork, through a third attribute would imply.

    If a and c depend on each other through b alone, the deviations from independence G = P(a, c) − P(a) P(c) are
    Ĝ = Σ_b G(a, b) G(b, c) / P(b). With the inner product by 1 / P(a) P(c), the share κ = ⟨G, Ĝ⟩ / ⟨Ĝ, Ĝ⟩ is 1 then;
    it is 0 if both of them are causes of b and independent of each other.

    Parameters
    ----------
    share : float
        The estimate of κ; nan where the reports show nothing that a chain would imply.
    present : float
        The standard normal statistic of κ = 0.
    half : float
        That of κ = ½: clearly below zero where a chain is excluded.
    correlation : float
        Of the errors of these two.
    """

    share: float
    present: float
    half: float
    correlation: float

    def verdict(self, level: float, alpha: float) -> Verdict | None:
        """Say what the middle one is, by a test at `level` where another one at `alpha` does not contradict it."""
        from scipy.special import ndtri

        clearly, hardly = -float(ndtri(level)), -float(ndtri(alpha / 2))
        if self.half < -clearly and abs(self.present) < hardly:
            return "collider"
        return "no collider" if self.present > clearly and self.half > -hardly else None

    def redrawn(self, rng: np.random.Generator) -> ChainTest:
        """Draw the two statistics again, around what they are."""
        first, second = rng.standard_normal(2)
        rest = math.sqrt(max(1 - self.correlation**2, 0))
        half = self.half + self.correlation * first + rest * second
        return replace(self, present=self.present + first, half=half)


class ChainTests:
    """The tests of chains by one set of tables, each worked out when it is first asked for."""

    def __init__(self, tables: TableSet) -> None:
        self._tables = tables
        self._known: dict[Triple, ChainTest | None] = {}
        self._holding: dict[frozenset[str], list[int]] = defaultdict(list)
        for place, table in enumerate(tables):
            for pair in combinations(table.attributes, 2):
                self._holding[frozenset(pair)].append(place)

    def of(self, triple: Triple) -> ChainTest | None:
        """Return the test of a chain through the attribute in the middle, by the tables about two of the three or more.

        There is none where they leave one of its pairs open, or where so many cells would take too long. Variances
        contain the randomization, the sampling, and the errors of what is implied, to second order. Where respondents
        stand behind several tables they are upper bounds.
        """
        if triple not in self._known:
            self._known[triple] = self._tested(*triple)
        return self._known[triple]

    def _tested(self, one: str, middle: str, other: str) -> ChainTest | None:
        domain, pairs = self._tables.domain.project((one, middle, other)), [(one, middle), (middle, other), (one, other)]
        places = sorted({place for pair in pairs for place in self._holding[frozenset(pair)]})
        if domain.size() > LARGEST_JOINT:
            return None
        try:
            return _PairsOfThree.of([self._tables.tables[place] for place in places], domain, pairs).test()
        except NotIdentifiedError:
            return None

    def redrawn(self, triple: Triple, rng: np.random.Generator) -> ChainTest | None:
        """Return the test with statistics that are drawn again."""
        found = self.of(triple)
        return found and found.redrawn(rng)


def oriented_by_tests(
    structure: Structure,
    constraints: EdgeConstraints,
    chain: Callable[[Triple], ChainTest | None],
    figures: Mapping[Edge, tuple[float, float]],
    alpha: float,
) -> Orientation:
    """Direct edges; colliders are looked for where the search itself directs none.

    Parameters
    ----------
    structure : Structure
    constraints : EdgeConstraints
    chain : callable
        From a triple to its test.
    figures : mapping
        From pairs to their mutual information and the p-value of their independence.
    alpha : float
        As in `verdicts_of`.
    """
    strength = {pair: information for pair, (information, _) in figures.items()}
    if structure.directed:
        return oriented(structure, constraints, strength, {})
    triples = progress(unshielded_triples(structure.edges), "testing chains", unit="triple")
    found = {triple: chain(triple) for triple in triples}
    tests = {triple: test for triple, test in found.items() if test}
    independent = {frozenset(pair): pvalue for pair, (_, pvalue) in figures.items()}
    verdicts = verdicts_of(structure.edges, tests, independent, alpha)
    return oriented(structure, constraints, strength, verdicts, {one: test.half for one, test in tests.items()})


def verdicts_of(
    edges: Collection[Edge],
    tests: Mapping[Triple, ChainTest],
    independent: Mapping[frozenset[str], float],
    alpha: float,
) -> dict[Triple, Verdict]:
    """Return which unshielded triples are colliders, and which are none, as far as the reports show it.

    A collider is shown where half of the dependence that a chain implies is excluded, and no test rejects that the ends
    are independent. That it is none is shown where these are dependent, and have no other path between them. Each is
    tested at alpha over the number of triples.

    Parameters
    ----------
    edges : collection of (str, str)
    tests : mapping
        Of unshielded triples.
    independent : mapping
        From pairs to the p-values of their independence.
    alpha : float
        How often, at most, any chain is taken for a collider, or any collider for a chain.
    """
    import networkx as nx

    graph = nx.Graph(edges)
    found = {}
    for (one, middle, other), test in tests.items():
        verdict = test.verdict(alpha / len(tests), alpha)
        apart = not nx.has_path(nx.restricted_view(graph, [middle], []), one, other)
        if verdict and (apart if verdict == "no collider" else independent[frozenset((one, other))] > alpha):
            found[one, middle, other] = verdict
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _PairsOfThree:
    """The deviations from independence of three pairs, over the roots of their attributes' shares.

    Parameters
    ----------
    deviations : tuple of arrays
        Of the first with the middle one, the middle with the last one, and the first with the last.
    moves : tuple of arrays
        Their derivatives in what was measured, a row for each entry.
    middle : array, shape (categories, measured)
        The relative derivatives of the middle one's shares.
    covariance : array
        Of what was measured.
    """

    deviations: tuple[FloatArray, ...]
    moves: tuple[FloatArray, ...]
    middle: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, tables: Sequence[Table], domain: Domain, pairs: Sequence[Edge]) -> _PairsOfThree:
        measured = pooled_measured(tables, domain)
        cells = _cells_of(pairs, domain, measured, [one.names for _, one, _ in onto(tables, domain)])
        first, last = pairs[0], pairs[1]
        shares = {
            first[0]: _Shares.of(measured, cells[first].reshape(*domain.project(first).shape, -1).sum(axis=1)),
            first[1]: _Shares.of(measured, cells[first].reshape(*domain.project(first).shape, -1).sum(axis=0)),
            last[1]: _Shares.of(measured, cells[last].reshape(*domain.project(last).shape, -1).sum(axis=0)),
        }
        deviations, moves = [], []
        for (row, column), weights in cells.items():
            rows, columns = shares[row], shares[column]
            scale = np.kron(1 / np.sqrt(rows.proper), 1 / np.sqrt(columns.proper))
            independent = np.outer(rows.estimate, columns.estimate).ravel()
            derivative = interactions(weights, rows.estimate[:, None], columns.estimate[None, :])
            found = scale * (weights @ measured.estimate - independent)
            deviations.append(found.reshape(rows.estimate.size, -1))
            moves.append(scale[:, None] * derivative)
        return cls(tuple(deviations), tuple(moves), shares[first[1]].relative, measured.covariance)

    def test(self) -> ChainTest:
        """Compare what there is with what a chain would imply."""
        (before, after, _), (moved_before, moved_after, moves) = self.deviations, self.moves
        implied, there = (before @ after).ravel(), self.deviations[2].ravel()
        by_middle = np.einsum("ab,bc->acb", before, after).reshape(implied.size, -1)
        implied_moves = (
            np.kron(np.eye(len(before)), after.T) @ moved_before
            + np.kron(before, np.eye(after.shape[1])) @ moved_after
            - by_middle @ self.middle
        )
        own = implied_moves @ self.covariance @ implied_moves.T
        both = implied_moves @ self.covariance @ moves.T
        # errors of what is implied enter both products, and are taken off on average
        length, product = implied @ implied - np.trace(own), implied @ there - np.trace(both)

        levels = np.array([0.0, HALF])
        rest = implied @ moves - levels[:, None] * (implied @ implied_moves)
        with_rest = both - levels[:, None, None] * own
        spread = rest @ self.covariance @ rest.T + np.einsum("iab,jba->ij", with_rest, with_rest)
        deviations = np.sqrt(np.maximum(np.diagonal(spread), 0))
        if not deviations.all():
            return ChainTest(math.nan, 0.0, 0.0, 0.0)
        present, half = ((product - levels * length) / deviations).tolist()
        share = float(product / length) if length > 0 else math.nan
        return ChainTest(share, present, half, float(spread[0, 1] / deviations.prod()))


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """The shares of an attribute's categories: as estimated, no smaller than noise, and their relative derivatives."""

    estimate: FloatArray
    proper: FloatArray
    relative: FloatArray

    @classmethod
    def of(cls, measured: Measured, weights: FloatArray) -> _Shares:
        estimate = weights @ measured.estimate
        variances = np.einsum("ij,jk,ik->i", weights, measured.covariance, weights)
        least = _ERRORS * np.sqrt(np.maximum(variances, 1 / measured.n**2))
        proper = np.maximum(estimate, least)
        # a share that is put at its least does not move
        return cls(estimate, proper, (estimate > least)[:, None] * weights / proper[:, None])


def _cells_of(
    pairs: Sequence[Edge], domain: Domain, measured: Measured, groups: Sequence[tuple[str, ...]]
) -> dict[Edge, FloatArray]:
    """Return what the cells of pairs take from each measured sum, by least squares with the sums' variances."""
    variances = np.diagonal(measured.covariance)
    spread = np.maximum(variances, max(variances.mean(), 1 / measured.n) / measured.n)
    sizes = {names: domain.size(names) for names in sorted(set(groups), key=lambda names: (-len(names), names))}
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    places = [starts[names] + np.arange(sizes[names]) for names in groups]
    if not _are_margins(measured.sums, [domain.onto(names) for names in groups]):
        return {pair: _cells_by_sums(domain.onto(pair), measured.sums, spread) for pair in pairs}
    of_sum = np.concatenate(places)
    precision = np.bincount(of_sum, 1 / spread)
    solution = _agreeing(domain, starts, precision)[:, of_sum] / (spread * precision[of_sum])
    found = {}
    for pair in pairs:
        holding = next((names for names in reversed(sizes) if {*pair} <= {*names}), None)
        if holding is None:
            raise NotIdentifiedError(f"no reports about {one_line(pair)} together", "reports about this pair")
        own = solution[starts[holding] : starts[holding] + sizes[holding]]
        found[pair] = own if holding == pair else np.eye(domain.size(pair))[domain.project(holding).onto(pair)].T @ own
    return found


def _are_margins(sums: FloatArray, places: Sequence[IntArray]) -> bool:
    """Say whether sums are those of tables, by the places of the cells in each; not where tables leave cells open."""
    sizes = [int(own.max()) + 1 for own in places]
    if len(sums) != sum(sizes) or np.count_nonzero(sums) != sum(own.size for own in places):
        return False
    starts = np.cumsum([0, *sizes])
    return all((sums[start + own, np.arange(own.size)] == 1).all() for start, own in zip(starts, places, strict=False))


def _agreeing(domain: Domain, starts: Mapping[tuple[str, ...], int], precision: FloatArray) -> FloatArray:
    """Return what makes tables agree about the attributes that they have in common, by least squares.

    It takes a matrix of their margins only, not of all cells. The largest table comes first.
    """
    links = list(combinations(starts, 2))
    largest = next(iter(starts))
    if len(largest) > 2:  # what agrees with a table of all three agrees
        links = links[: len(starts) - 1]
    rows = [np.zeros((0, precision.size))]
    for link in links:
        common = [name for name in link[0] if name in link[1]]
        unlike = np.zeros((domain.size(common), precision.size))
        for names, sign in zip(link, (1, -1), strict=True):
            part = domain.project(names)
            unlike[part.onto(common), starts[names] + np.arange(part.size())] = sign
        # two links of three pairs make their totals agree
        rows.append(unlike[:-1] if len(rows) > 2 and len(largest) == 2 else unlike)
    unlike = np.vstack(rows)
    moved = unlike / precision
    agreeing: FloatArray = np.eye(precision.size) - moved.T @ np.linalg.solve(moved @ unlike.T, unlike)
    return agreeing


def _cells_by_sums(of_cell: IntArray, sums: FloatArray, spread: FloatArray) -> FloatArray:
    """Return what the cells of a pair take from sums of any kind."""
    precise, cells = 1 / np.sqrt(spread), np.eye(of_cell.max() + 1)[of_cell].T
    weights: FloatArray = cells @ np.linalg.pinv(sums * precise[:, None]) * precise
    if not np.allclose(weights @ sums, cells, atol=_SAME):
        raise NotIdentifiedError("reports that leave cells of a pair open", "reports about this pair")
    return weights
