"""Tests of chains: whether two attributes depend on each other as much as a third one between them would imply."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation import Measured
from ldpstats.estimation.estimate import summed
from ldpstats.limits import LARGEST_JOINT
from ldpstats.networks.orientation import Orientation, Triple, Verdict, oriented, unshielded_triples
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet, pooled_measured
from ldpstats.tables.residuals import interactions
from ldpstats.tables.shared import as_reported, overlapping

HALF = 0.5
"""Less than this share of the dependence that a chain implies is no chain."""
_ERRORS = 2.0
"""Categories are taken to be no rarer than so many standard errors of their shares."""
_SAME, _ROUNDING = 1e-6, 1e-10
# so few reports show how far they scatter
_TO_SPREAD = 2

_Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChainTest:
    """How much of the dependence is there that a chain, or a fork, through a third attribute would imply.

    If a and c depend on each other through b alone, the deviations from independence G = P(a, c) − P(a) P(c) are Ĝ =
    Σ_b G(a, b) G(b, c) / P(b). With the inner product by 1 / P(a) P(c), the share κ = ⟨G, Ĝ⟩ / ⟨Ĝ, Ĝ⟩ is 1 then; it is
    0 if both of them are causes of b and independent of each other.
    """

    share: float  # the estimate of κ; nan where the reports show nothing that a chain would imply
    present: float  # the standard normal statistic of κ = 0
    half: float  # that of κ = ½: clearly below zero where a chain is excluded
    correlation: float  # of the errors of these two

    def verdict(self, level: float, alpha: float) -> Verdict | None:
        """Say what the middle one is, by a test at `level` that another one at `alpha` does not contradict."""
        from scipy.special import ndtri

        clearly, hardly = -float(ndtri(level)), -float(ndtri(alpha / 2))
        if self.half < -clearly and abs(self.present) < hardly:
            return "collider"
        return "no collider" if self.present > clearly and self.half > -hardly else None

    def redrawn(self, rng: np.random.Generator) -> ChainTest:
        """Draw the two statistics anew around their values (parametric bootstrap)."""
        first, second = rng.standard_normal(2)
        rest = math.sqrt(max(1 - self.correlation**2, 0))
        half = self.half + self.correlation * first + rest * second
        return replace(self, present=self.present + first, half=half)


class ChainTests:
    """The tests of chains by one set of tables, each worked out when first asked for."""

    def __init__(self, tables: TableSet) -> None:
        self._domain, self._tables = tables.domain, tables.tables
        self._known: dict[Triple, ChainTest | None] = {}
        self._estimates: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._shared = {place for pair in overlapping(self._tables) for place in pair}
        self._holding: dict[frozenset[str], list[int]] = defaultdict(list)
        for place, table in enumerate(self._tables):
            for pair in combinations(table.attributes, 2):
                self._holding[frozenset(pair)].append(place)

    def of(self, triple: Triple) -> ChainTest | None:
        """Return the test of a chain through the middle attribute, by all tables about two of the three or more.

        None where a pair is not identified, or where so many cells would take too long. Variances contain
        randomization, sampling, and the errors of what is implied to second order; they are upper bounds where tables
        share respondents.
        """
        if triple not in self._known:
            self._known[triple] = self._tested(*triple)
        return self._known[triple]

    def _tested(self, one: str, middle: str, other: str) -> ChainTest | None:
        domain, pairs = self._domain.project((one, middle, other)), [(one, middle), (middle, other), (one, other)]
        places = sorted({place for pair in pairs for place in self._holding[frozenset(pair)]})
        if domain.size() > LARGEST_JOINT:
            return None
        try:
            return _PairsOfThree.of(self._measured(places, domain, pairs)).test()
        except NotIdentifiedError:
            return None

    def _measured(self, places: Sequence[int], domain: Domain, pairs: Sequence[Edge]) -> _Measured:
        """Stack what tables measure, and find what the cells of each pair take from it."""
        from scipy.linalg import block_diag

        tables = [as_reported(self._tables[place]) for place in places]
        # what nobody is behind two of is independent
        pooled = None if self._shared.isdisjoint(places) else pooled_measured(tables, domain)
        try:
            found = [self._estimated(place, table, domain) for place, table in zip(places, tables, strict=True)]
        except NotIdentifiedError:
            return _Measured.by_sums(pooled or pooled_measured(tables, domain), domain, pairs)
        estimate, n = np.concatenate([own for _, own, _ in found]), sum(table.n for table in tables)
        covariance = pooled.covariance if pooled else np.asarray(block_diag(*(own for _, _, own in found)))
        cells = _cells_of(pairs, domain, [names for names, _, _ in found], _variances(covariance, n))
        return _Measured(estimate, covariance, pooled.n if pooled else n, cells)

    def _estimated(self, place: int, table: Table, domain: Domain) -> tuple[_Names, FloatArray, FloatArray]:
        """Return a table's attributes among a domain's, and its estimate of their cells with the covariance."""
        if table.n < _TO_SPREAD:
            raise NotIdentifiedError("a single report", "two reports, which show how far they scatter")
        if place not in self._estimates:
            self._estimates[place] = table.linear
        names = tuple(name for name in domain.names if name in table.attributes)
        if names == table.attributes:
            return names, *self._estimates[place]
        return names, *summed(*self._estimates[place], table.domain.onto(names), domain.size(names))

    def redrawn(self, triple: Triple, rng: np.random.Generator) -> ChainTest | None:
        """Return the test with statistics drawn anew."""
        found = self.of(triple)
        return found and found.redrawn(rng)


def oriented_by_tests(
    structure: Structure,
    constraints: EdgeConstraints,
    chain: Callable[[Triple], ChainTest | None],
    strength: Mapping[Edge, float],
    independent: Mapping[frozenset[str], float],
    alpha: float,
) -> Orientation:
    """Direct edges; colliders are tested, each triple by its `chain`, where the search itself directs no edge.

    The other arguments are those of `oriented` and `verdicts_of`.
    """
    if structure.directed:
        return oriented(structure, constraints, strength, {})
    triples = progress(unshielded_triples(structure.edges), "testing chains", unit="triple")
    found = {triple: chain(triple) for triple in triples}
    tests = {triple: test for triple, test in found.items() if test}
    verdicts = verdicts_of(structure.edges, tests, independent, alpha)
    return oriented(structure, constraints, strength, verdicts, {one: test.half for one, test in tests.items()})


def verdicts_of(
    edges: Collection[Edge],
    tests: Mapping[Triple, ChainTest],
    independent: Mapping[frozenset[str], float],
    alpha: float,
) -> dict[Triple, Verdict]:
    """Return which unshielded triples are colliders, and which are none, as far as the reports show it.

    A collider is shown where half of the dependence that a chain implies is excluded, and the p-value of the ends'
    independence (`independent`) exceeds alpha; that there is none, where the ends depend on each other without another
    path between them. Each is tested at alpha over the number of triples: alpha bounds how often any is taken for the
    other.
    """
    import networkx as nx

    graph = nx.Graph(edges)
    found = {}
    for (one, middle, other), test in tests.items():
        verdict = test.verdict(alpha / len(tests), alpha)
        if verdict == "no collider" and nx.has_path(nx.restricted_view(graph, [middle], []), one, other):
            continue
        if verdict and (verdict == "no collider" or independent[frozenset((one, other))] > alpha):
            found[one, middle, other] = verdict
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """What tables measure of three attributes, and what pairs of these take from it."""

    estimate: FloatArray
    covariance: FloatArray
    n: int
    # of each pair, shape (rows, columns, measured): weights of the measured sums, by least squares with their variances
    cells: tuple[FloatArray, ...]

    @classmethod
    def by_sums(cls, measured: Measured, domain: Domain, pairs: Sequence[Edge]) -> _Measured:
        """Take sums that leave cells open, whose covariance has no structure."""
        precise = 1 / np.sqrt(_variances(measured.covariance, measured.n))
        # the sums depend on each other: what is left of that by rounding is not to be inverted
        solution = np.linalg.pinv(measured.sums * precise[:, None], rcond=_ROUNDING) * precise
        found = []
        for pair in pairs:
            cells = np.eye(domain.size(pair))[domain.onto(pair)].T
            weights = cells @ solution
            if not np.allclose(weights @ measured.sums, cells, atol=_SAME):
                raise NotIdentifiedError(
                    f"reports that leave cells of {one_line(pair)} open", "reports about this pair"
                )
            found.append(weights.reshape(*domain.project(pair).shape, -1))
        return cls(measured.estimate, measured.covariance, measured.n, tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class _PairsOfThree:
    """Deviations from independence of three pairs, over the roots of their attributes' shares."""

    deviations: tuple[FloatArray, ...]  # of first and middle, middle and last, first and last
    moves: tuple[FloatArray, ...]  # their derivatives in what was measured, shape (rows, columns, measured)
    middle: FloatArray  # the relative derivatives of the middle one's shares, shape (categories, measured)
    covariance: FloatArray  # of what was measured

    @classmethod
    def of(cls, measured: _Measured) -> _PairsOfThree:
        before, after, _ = measured.cells
        shares = [_Shares.of(measured, own) for own in (before.sum(axis=1), before.sum(axis=0), after.sum(axis=0))]
        deviations, moves = [], []
        for weights, (rows, columns) in zip(measured.cells, (shares[:2], shares[1:], shares[::2]), strict=True):
            scale = np.outer(1 / np.sqrt(rows.proper), 1 / np.sqrt(columns.proper))
            deviations.append(scale * (weights @ measured.estimate - np.outer(rows.estimate, columns.estimate)))
            flat = weights.reshape(scale.size, -1)
            moved = interactions(flat, rows.estimate[:, None], columns.estimate[None, :]).reshape(weights.shape)
            moves.append(scale[..., None] * moved)
        return cls(tuple(deviations), tuple(moves), shares[1].relative, measured.covariance)

    def test(self) -> ChainTest:
        """Compare the dependence of first and last with what a chain would imply."""
        (before, after, _), (moved_before, moved_after, moved) = self.deviations, self.moves
        implied, there = (before @ after).ravel(), self.deviations[2].ravel()
        by_middle = (before[:, None, :] * after.T) @ self.middle
        implied_moves = after.T @ moved_before + np.tensordot(before, moved_after, 1) - by_middle
        implied_moves, moves = implied_moves.reshape(implied.size, -1), moved.reshape(implied.size, -1)
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
    """Shares of an attribute's categories: as estimated, kept above noise, and their relative derivatives."""

    estimate: FloatArray
    proper: FloatArray
    relative: FloatArray

    @classmethod
    def of(cls, measured: _Measured, weights: FloatArray) -> _Shares:
        estimate = weights @ measured.estimate
        variances = ((weights @ measured.covariance) * weights).sum(axis=1)
        least = _ERRORS * np.sqrt(np.maximum(variances, 1 / measured.n**2))
        proper = np.maximum(estimate, least)
        # a share that is put at its least does not move
        return cls(estimate, proper, (estimate > least)[:, None] * weights / proper[:, None])


def _variances(covariance: FloatArray, n: int) -> FloatArray:
    """Return the variances by which sums are weighed, kept above zero."""
    variances = np.diagonal(covariance)
    found: FloatArray = np.maximum(variances, max(variances.mean(), 1 / n) / n)
    return found


def _cells_of(
    pairs: Sequence[Edge], domain: Domain, groups: Sequence[_Names], spread: FloatArray
) -> tuple[FloatArray, ...]:
    """Return the weights of pairs' cells in tables of groups of the attributes, whose cells have variances `spread`."""
    # a table of all three comes first
    parts = {names: domain.project(names) for names in sorted(set(groups), key=lambda names: (-len(names), names))}
    ends = np.cumsum([math.prod(part.shape) for part in parts.values()]).tolist()
    places = {names: np.arange(start, end) for names, start, end in zip(parts, [0, *ends], ends, strict=False)}
    of_sum = np.concatenate([places[names] for names in groups])
    precision: FloatArray = np.bincount(of_sum, 1 / spread).astype(float)
    solution = _agreeing(parts, places, precision)[:, of_sum] / (spread * precision[of_sum])
    found = []
    for pair in pairs:
        holding = next((names for names in reversed(parts) if {*pair} <= {*names}), None)
        if holding is None:
            raise NotIdentifiedError(f"no reports about {one_line(pair)} together", "reports about this pair")
        own = solution[places[holding]].reshape(*parts[holding].shape, -1)
        left = tuple(axis for axis, name in enumerate(holding) if name not in pair)
        found.append(own.sum(axis=left))
    return tuple(found)


def _agreeing(parts: Mapping[_Names, Domain], places: Mapping[_Names, IntArray], precision: FloatArray) -> FloatArray:
    """Return the projection that makes tables agree on their common margins, by weighted least squares.

    It takes a matrix of their margins only, not of all cells. A table of all three comes first.
    """
    links = list(combinations(parts, 2))
    largest = max(map(len, parts))
    if largest > 2:  # what agrees with it agrees
        links = links[: len(parts) - 1]
    rows = [np.zeros((0, precision.size))]
    for link in links:
        common = [name for name in link[0] if name in link[1]]
        sums = [parts[names].onto(common) for names in link]
        unlike = np.zeros((sums[0][-1] + 1, precision.size))
        for names, own, sign in zip(link, sums, (1, -1), strict=True):
            unlike[own, places[names]] = sign
        # two links of three pairs make their totals agree
        rows.append(unlike[:-1] if len(rows) > largest else unlike)
    unlike = np.vstack(rows)
    moved = unlike / precision
    agreeing: FloatArray = np.eye(precision.size) - moved.T @ np.linalg.solve(moved @ unlike.T, unlike)
    return agreeing
