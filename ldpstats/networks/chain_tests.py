"""Tests of chains: whether two attributes depend on each other as much as a third one between them would imply."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
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
from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet, pooled_measured
from ldpstats.tables.shared import as_reported, overlapping
from ldpstats.tables.unbiased_cells import interactions

HALF = 0.5
"""Less than this share of the dependence that a chain implies is no chain."""
_ERRORS = 2.0
"""Categories are taken to be no rarer than so many standard errors of their shares."""
_SAME, _ROUNDING = 1e-6, 1e-10
# so few reports show how far they scatter
_LEAST_REPORTS = 2

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


class ChainTests:
    """The tests of chains by one set of tables, each worked out when first asked for."""

    def __init__(self, tables: TableSet) -> None:
        self._domain, self._tables = tables.domain, tables.tables
        self._known: dict[Triple, ChainTest | None] = {}
        self._estimates: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._shared = {index for pair in overlapping(self._tables) for index in pair}
        self._holding: dict[frozenset[str], list[int]] = defaultdict(list)
        for index, table in enumerate(self._tables):
            for pair in combinations(table.attributes, 2):
                self._holding[frozenset(pair)].append(index)

    def of(self, triple: Triple) -> ChainTest | None:
        """Return the test of a chain through the middle attribute, by all tables about two of the three or more.

        None where a pair is not identified, or where so many cells would take too long. Variances contain
        randomization, sampling, and the errors of what is implied to second order; they are upper bounds where tables
        share respondents.
        """
        if triple not in self._known:
            try:
                self._known[triple] = self._tested(self._domain.project(triple))
            except NotIdentifiedError:
                self._known[triple] = None
        return self._known[triple]

    def _tested(self, domain: Domain) -> ChainTest | None:
        """Stack what tables measure of three attributes, and test what the cells of each pair take from it."""
        from scipy.linalg import block_diag

        if domain.size() > LARGEST_JOINT:
            return None
        first, middle, last = domain.names
        pairs = [(first, middle), (middle, last), (first, last)]
        indices = sorted({index for pair in pairs for index in self._holding[frozenset(pair)]})
        tables = [as_reported(self._tables[index]) for index in indices]
        # what nobody is behind two of is independent
        pooled = None if self._shared.isdisjoint(indices) else pooled_measured(tables, domain)
        try:
            estimates = [self._estimated(index, table, domain) for index, table in zip(indices, tables, strict=True)]
        except NotIdentifiedError:
            pooled = pooled or pooled_measured(tables, domain)
            cells = _cells_by_sums(pooled, domain, pairs)
            return _chain_test(pooled.estimate, pooled.covariance, pooled.n, cells)
        estimate, n = np.concatenate([own for _, own, _ in estimates]), sum(table.n for table in tables)
        covariance = pooled.covariance if pooled else np.asarray(block_diag(*(own for _, _, own in estimates)))
        cells = _cells_of(pairs, domain, [names for names, _, _ in estimates], _variances(covariance, n))
        return _chain_test(estimate, covariance, pooled.n if pooled else n, cells)

    def _estimated(self, index: int, table: Table, domain: Domain) -> tuple[_Names, FloatArray, FloatArray]:
        """Return a table's attributes among a domain's, and its estimate of their cells with the covariance."""
        if table.n < _LEAST_REPORTS:
            raise NotIdentifiedError("a single report", "two reports, which show how far they scatter")
        if index not in self._estimates:
            self._estimates[index] = table.linear
        names = tuple(name for name in domain.names if name in table.attributes)
        if names == table.attributes:
            return names, *self._estimates[index]
        return names, *summed(*self._estimates[index], table.domain.onto(names), domain.size(names))


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
    tests = {triple: test for triple in triples if (test := chain(triple))}
    verdicts = verdicts_of(structure.edges, tests, independent, alpha)
    return oriented(structure, constraints, strength, verdicts, {triple: test.half for triple, test in tests.items()})


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
    verdicts = {}
    for (first, middle, last), test in tests.items():
        verdict = test.verdict(alpha / len(tests), alpha)
        if verdict == "no collider" and nx.has_path(nx.restricted_view(graph, [middle], []), first, last):
            continue
        if verdict and (verdict == "no collider" or independent[frozenset((first, last))] > alpha):
            verdicts[first, middle, last] = verdict
    return verdicts


def _chain_test(estimate: FloatArray, covariance: FloatArray, n: int, cells: Sequence[FloatArray]) -> ChainTest:
    """Compare the dependence of first and last with what a chain would imply.

    Of each pair, of first and middle, middle and last, first and last, the cells are weights of what was estimated,
    shape (rows, columns, measured).
    """
    shares, roots, relative = [], [], []
    for weights in (cells[0].sum(axis=1), cells[0].sum(axis=0), cells[1].sum(axis=0)):
        variances = ((weights @ covariance) * weights).sum(axis=1)
        least = _ERRORS * np.sqrt(np.maximum(variances, 1 / n**2))
        share = weights @ estimate
        proper = np.maximum(share, least)
        shares.append(share)
        roots.append(np.sqrt(proper))
        # a share that is put at its least does not move
        relative.append((share > least)[:, None] * weights / proper[:, None])
    # deviations from independence, over the roots of the shares, and their derivatives in what was measured
    deviations, moves = [], []
    for weights, (row, column) in zip(cells, ((0, 1), (1, 2), (0, 2)), strict=True):
        scale = np.outer(1 / roots[row], 1 / roots[column])
        deviations.append(scale * (weights @ estimate - np.outer(shares[row], shares[column])))
        flat = weights.reshape(scale.size, -1)
        moved = interactions(flat, shares[row][:, None], shares[column][None, :]).reshape(weights.shape)
        moves.append(scale[..., None] * moved)

    (before, after, ends), (moved_before, moved_after, moved_ends) = deviations, moves
    implied, there = (before @ after).ravel(), ends.ravel()
    by_middle = (before[:, None, :] * after.T) @ relative[1]
    implied_moves = after.T @ moved_before + np.tensordot(before, moved_after, 1) - by_middle
    implied_moves, direct = implied_moves.reshape(implied.size, -1), moved_ends.reshape(implied.size, -1)
    own = implied_moves @ covariance @ implied_moves.T
    both = implied_moves @ covariance @ direct.T
    # errors of what is implied enter both products, and are taken off on average
    length, product = implied @ implied - np.trace(own), implied @ there - np.trace(both)

    levels = np.array([0.0, HALF])
    rest = implied @ direct - levels[:, None] * (implied @ implied_moves)
    with_rest = both - levels[:, None, None] * own
    rest_covariance = rest @ covariance @ rest.T + np.einsum("iab,jba->ij", with_rest, with_rest)
    errors = np.sqrt(np.maximum(np.diagonal(rest_covariance), 0))
    if not errors.all():
        return ChainTest(math.nan, 0.0, 0.0, 0.0)
    present, half = ((product - levels * length) / errors).tolist()
    share_of_chain = float(product / length) if length > 0 else math.nan
    return ChainTest(share_of_chain, present, half, float(rest_covariance[0, 1] / errors.prod()))


def _cells_by_sums(measured: Measured, domain: Domain, pairs: Sequence[Edge]) -> list[FloatArray]:
    """Return the weights of pairs' cells in sums that leave others open, by least squares with their variances."""
    precise = 1 / np.sqrt(_variances(measured.covariance, measured.n))
    # the sums depend on each other: what is left of that by rounding is not to be inverted
    solution = np.linalg.pinv(measured.sums * precise[:, None], rcond=_ROUNDING) * precise
    weights_by_pair: list[FloatArray] = []
    for pair in pairs:
        cells = np.eye(domain.size(pair))[domain.onto(pair)].T
        weights = cells @ solution
        if not np.allclose(weights @ measured.sums, cells, atol=_SAME):
            raise NotIdentifiedError(f"reports that leave cells of {one_line(pair)} open", "reports about this pair")
        weights_by_pair.append(weights.reshape(*domain.project(pair).shape, -1))
    return weights_by_pair


def _variances(covariance: FloatArray, n: int) -> FloatArray:
    """Return the variances by which sums are weighed, kept above zero."""
    variances = np.diagonal(covariance)
    kept: FloatArray = np.maximum(variances, max(variances.mean(), 1 / n) / n)
    return kept


def _cells_of(
    pairs: Sequence[Edge], domain: Domain, groups: Sequence[_Names], variances: FloatArray
) -> list[FloatArray]:
    """Return the weights of pairs' cells in tables of groups of the attributes, whose cells have such `variances`.

    Tables are made to agree on their common margins by weighted least squares, which takes a matrix of these only, not
    of all cells.
    """
    # a table of all three comes first
    parts = {names: domain.project(names) for names in sorted(set(groups), key=lambda names: (-len(names), names))}
    ends = np.cumsum([part.size() for part in parts.values()]).tolist()
    places = {names: np.arange(start, end) for names, start, end in zip(parts, [0, *ends], ends, strict=False)}
    of_sum = np.concatenate([places[names] for names in groups])
    precision: FloatArray = np.bincount(of_sum, 1 / variances).astype(float)
    links, largest = list(combinations(parts, 2)), max(map(len, parts))
    if largest > 2:  # what agrees with it agrees
        links = links[: len(parts) - 1]
    rows: list[FloatArray] = [np.zeros((0, precision.size))]
    for link in links:
        common = [name for name in link[0] if name in link[1]]
        sums = [parts[names].onto(common) for names in link]
        unlike: FloatArray = np.zeros((sums[0][-1] + 1, precision.size))
        for names, own, sign in zip(link, sums, (1, -1), strict=True):
            unlike[own, places[names]] = sign
        # two links of three pairs make their totals agree
        rows.append(unlike[:-1] if len(rows) > largest else unlike)
    apart = np.vstack(rows)
    moved = apart / precision
    agreeing: FloatArray = np.eye(precision.size) - moved.T @ np.linalg.solve(moved @ apart.T, apart)
    solution = agreeing[:, of_sum] / (variances * precision[of_sum])
    weights_by_pair: list[FloatArray] = []
    for pair in pairs:
        holding = next((names for names in reversed(parts) if {*pair} <= {*names}), None)
        if holding is None:
            raise NotIdentifiedError(f"no reports about {one_line(pair)} together", "reports about this pair")
        table = solution[places[holding]].reshape(*parts[holding].shape, -1)
        left = tuple(axis for axis, name in enumerate(holding) if name not in pair)
        weights_by_pair.append(table.sum(axis=left))
    return weights_by_pair
