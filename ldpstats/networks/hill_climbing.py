"""Hill climbing by pgmpy on a score of families: their information less a penalty for what noise adds to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import combinations, permutations

import numpy as np

from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.procedure import evidence_of
from ldpstats.networks.orientation import cpdag_of
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import (
    Edge,
    EdgeConstraints,
    Structure,
    most_asked_together,
    names_only,
    structure_of,
    table_about,
)
from ldpstats.noise import shortest
from ldpstats.numbers.arrays import FloatArray, places_onto
from ldpstats.presentation import progress
from ldpstats.tables import Table
from ldpstats.tables.unbiased_cells import interactions

_ROUNDS = 200
_RIGHT = 1e-10
_ABSENT = 1e-9
# what cells that are estimated as nothing start from when they are fitted to margins
_HARDLY = 1e-6
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


class FamilyScores:
    """The score of an attribute's parents, for hill climbing: nats per respondent.

    The score of a family, an attribute X with parents A, is worth(X, A) − worth(A), where the worth of some attributes
    is their total correlation Σ H(x) − H(all) less a penalty. Thus equivalent networks have the same score.

    The total correlation is that of the proper table with the estimated interaction of all attributes, and otherwise
    the tables of fewer of them: so what noise does to these is the same in all families, and a conditional information
    is never below zero.

    The penalty of a pair u, v given others Z is that of the Bayesian information criterion (Schwarz 1978), df log(n) /
    2n, for n respondents as noise leaves them: where u and v are independent given Z, reports give rise to an
    information of df / 2n on average, and so do n answers without randomization. This n is often so small that log n is
    no protection from chance: the penalty is at least what noise exceeds with a probability of alpha over the number of
    such tests. The penalty of several attributes is what joining two of them given all others adds to those of fewer,
    in the median over the two that come last. Without noise any two give the same, and the score is that of the
    criterion over n, less a constant.

    Where categories are nearly empty, noise exceeds that more often. So a pair is worth no more than nothing, unless
    its independence is rejected at alpha over the number of pairs; see `PairEvidence`.
    """

    def __init__(self, evidence: PairEvidence, alpha: float) -> None:
        self._domain, self._alpha = evidence.domain, alpha
        # of independence, times the number of pairs (Bonferroni)
        many = (evidence.pvalue * len(evidence.pairs)).tolist()
        self._adjusted = dict(zip(map(frozenset, evidence.pairs), many, strict=True))
        self.table: Callable[[tuple[str, ...]], Table | None] = cache(partial(table_about, evidence.tables))
        self.proper, self._penalty = cache(self._proper_table), cache(self._median_penalty)
        self._worth = cache(self._worth_of)

    def family(self, name: str, parents: Iterable[str]) -> float:
        """Return the score of an attribute with these parents; minus infinity where they were not asked together."""
        given = tuple(parents)
        whole = self.worth((name, *given))
        return whole - self.worth(given) if math.isfinite(whole) else whole

    def worth(self, names: Iterable[str]) -> float:
        """Return the total correlation of some attributes less its penalty, in nats."""
        return self._worth(tuple(sorted(names)))

    def _worth_of(self, group: tuple[str, ...]) -> float:
        if len(group) < 2:
            return 0.0
        if self.table(group) is None:
            return -math.inf
        worth = total_correlation(self.proper(group)) - self._penalty(group)
        chance = worth > 0 and len(group) == 2 and self._adjusted.get(frozenset(group), 0.0) > self._alpha
        return 0.0 if chance else worth

    def _proper_table(self, group: tuple[str, ...]) -> FloatArray:
        """Return the proper table of sorted attributes, which agrees with those of fewer of them."""
        table = self.table(group)
        assert table is not None  # the table of more attributes was asked for before
        cells = table.unbiased.estimate.reshape(table.shape)
        fewer = [self.proper(_without(group, name)) for name in group if len(group) > 1]
        return with_faces(cells, fewer) if fewer else nearest_proper(cells)

    def _median_penalty(self, group: tuple[str, ...]) -> float:
        """Return the penalty of sorted attributes: what two of them add, given all others, to that of fewer."""
        if len(group) < 2:
            return 0.0
        given, attributes = len(group) - 2, len(self._domain)
        tests = math.comb(attributes, 2) * math.comb(attributes - 2, given)
        orders = []
        for pair in combinations(group, 2):
            rest, table = _without(group, *pair), self.table(group)
            assert table is not None  # its worth was asked for
            strata = np.transpose(self.proper(group), [group.index(name) for name in (*rest, *pair)])
            added = noise_penalty(
                strata.reshape(-1, *strata.shape[-2:]),
                evidence_of(table.reordered((*rest, *pair))),
                self._alpha / tests,
            )
            first, second = (self._penalty(_without(group, name)) for name in pair)
            orders.append(first + second - self._penalty(rest) + added)
        return float(np.median(orders))


def noise_penalty(strata: FloatArray, evidence: Evidence, alpha: float) -> float:
    """Return the penalty in nats of joining two attributes, given tables of them, one for each value of others.

    It is that of the Bayesian information criterion, df log(n) / 2n, or what noise exceeds with probability alpha where
    the two are independent, if that is more. So many respondents n without randomization would show as much on average.
    """
    from scipy.special import chdtri

    total = strata.sum(axis=(1, 2), keepdims=True)
    rows, columns = strata.sum(axis=2, keepdims=True), strata.sum(axis=1, keepdims=True)
    row, column = _conditional_shares(rows, total), _conditional_shares(columns, total)
    expected = (total * row * column).ravel()
    deviation = _efficient_covariance(evidence, expected)
    for _ in range(2):  # from both sides: covariances are symmetric
        by_stratum = deviation.T.reshape(len(strata), -1, expected.size)
        deviation = interactions(by_stratum, row, column).reshape(expected.size, -1)
    kept = expected > _ABSENT
    occurring = [np.maximum((side > _ABSENT).sum(axis=(1, 2)) - 1, 0) for side in (rows, columns)]
    df = int((occurring[0] * occurring[1]).sum())
    most = np.minimum(*np.broadcast_arrays(rows, columns)).ravel()
    average = _excess(expected[kept], np.diagonal(deviation)[kept], most[kept])
    if not df or average <= 0:
        return 0.0
    # the multiple of χ² with the same mean and variance (Satterthwaite 1946)
    scaled = deviation[np.ix_(kept, kept)] / expected[kept, None]
    first, second = np.trace(scaled), np.einsum("ij,ji->", scaled, scaled)
    effective_df = float(first**2 / second) if second > 0 else 1.0
    return average * max(math.log(df / (2 * average)), float(chdtri(effective_df, alpha)) / effective_df)


def total_correlation(cells: FloatArray) -> float:
    """Return the total correlation Σ H(x) − H(all) of proper cells in nats: what attributes have in common."""
    from scipy.special import rel_entr

    expected = np.ones_like(cells)
    for axis in range(cells.ndim):
        expected = expected * cells.sum(axis=_others(cells.ndim, axis), keepdims=True)
    return float(rel_entr(cells, expected).sum())


def with_faces(estimate: FloatArray, faces: Sequence[FloatArray]) -> FloatArray:
    """Return the proper table with given margins and the interaction of all attributes that is estimated.

    The faces are the margin without the first axis, without the second, and so on. The table of maximum entropy with
    these margins is moved by what of the estimate's distance from it leaves the margins alone, at the least Σ δ² / π.
    That is linear in the estimate, so that noise is as its covariance says; odds ratios of small cells are not. Cells
    that come out below zero are cut there, and the margins are met once more.
    """
    nearest = fitted_to_faces(np.ones(estimate.shape), faces)
    places = [places_onto(estimate.shape, _others(estimate.ndim, axis)) for axis in range(estimate.ndim)]
    sums = np.vstack([np.eye(face.size)[:, onto] for face, onto in zip(faces, places, strict=True)])
    gap, weighted = (estimate - nearest).ravel(), sums * nearest.ravel()
    gap -= weighted.T @ shortest(weighted @ sums.T, (sums @ gap)[:, None])[:, 0]
    moved = np.maximum(nearest + gap.reshape(nearest.shape), _HARDLY * nearest)
    return fitted_to_faces(moved, faces)


def fitted_to_faces(cells: FloatArray, faces: Sequence[FloatArray]) -> FloatArray:
    """Fit nonnegative cells to the margins of `with_faces` by iterative proportional fitting (Deming & Stephan 1940).

    Margins that no table has are met as nearly as `_ROUNDS` rounds come.
    """
    wanted = [np.expand_dims(face, axis) for axis, face in enumerate(faces)]
    table = cells
    for _ in range(_ROUNDS):
        off = 0.0
        for axis, face in enumerate(wanted):
            now = table.sum(axis=axis, keepdims=True)
            off = max(off, float(np.abs(now - face).max()))
            table = table * np.divide(face, now, out=np.zeros_like(face), where=now > 0)
        if off < _RIGHT:
            break
    fitted: FloatArray = table / table.sum()
    return fitted


def _others(axes: int, axis: int) -> tuple[int, ...]:
    return tuple(other for other in range(axes) if other != axis)


def _without(group: tuple[str, ...], *names: str) -> tuple[str, ...]:
    return tuple(name for name in group if name not in names)


def _conditional_shares(sides: FloatArray, total: FloatArray) -> FloatArray:
    """Return the shares of categories in each stratum; equal ones in a stratum that nobody is in."""
    nobody = np.full_like(sides, 1 / max(sides.shape[1:]))
    return np.divide(sides, total, out=nobody, where=total > _ABSENT)


def _efficient_covariance(evidence: Evidence, cells: FloatArray) -> FloatArray:
    """Return the covariance of the best estimate of all cells, were these the true ones."""
    from scipy.linalg import helmert

    inside = np.maximum(cells, _ABSENT)
    contrasts = np.asarray(helmert(cells.size)).T
    _, information = evidence.score((inside / inside.sum())[None, :])
    covariance: FloatArray = contrasts @ shortest(information.between(contrasts)[0], contrasts.T)
    return covariance


def _excess(expected: FloatArray, variances: FloatArray, most: FloatArray) -> float:
    """Return the mean of Σ x ln(x / E) − x + E for cells that noise scatters about E, cut at zero and at their margins.

    Where the noise is much less than E that is Σ V / 2E. It is normal here, by Gauss–Hermite quadrature.
    """
    from scipy.special import rel_entr

    scattered = expected[:, None] + np.sqrt(np.maximum(variances, 0))[:, None] * _NODES
    cells = np.clip(scattered, 0, most[:, None])
    terms = rel_entr(cells, expected[:, None]) - cells + expected[:, None]
    return float((terms @ _WEIGHTS).sum() / _WEIGHTS.sum())


# Nats per respondent: no change is worth less, and of networks with the same score none differs by as much.
_LEAST = 1e-7
_ALL_TIES = 1e-8


def hill_climb(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Find the network with the best score that adding, removing and reversing edges leads to.

    The search starts from no edges, and from the heaviest tree, rooted at every attribute in turn; the best of what it
    ends in is kept. The score is that of `FamilyScores` at level alpha: attributes that were never asked together are
    no family. So from pairs alone every attribute has one parent at most, and the network is the heaviest tree, or
    several.

    Of networks with the same score a search takes the first that it meets, in an order that changes from run to run. So
    every possible edge adds something of its own, far less than any evidence is worth.
    """
    from networkx import DiGraph
    from pgmpy.base import DAG
    from pgmpy.causal_discovery import ExpertKnowledge, HillClimbSearch
    from pgmpy.structure_score import BaseStructureScore

    names, scores = sorted(evidence.domain.names), FamilyScores(evidence, alpha)
    _refuse_required_families(scores, constraints)
    possible = list(permutations(names, 2))
    added = {edge: _ALL_TIES * (number + 1) / len(possible) ** 2 for number, edge in enumerate(possible)}

    class NoiseAwareScore(BaseStructureScore):  # type: ignore[misc]  # pgmpy has no types
        """The score of families whose tables are estimated from privatized answers."""

        def _local_score(self, variable: str, parents: tuple[str, ...]) -> float:
            return scores.family(variable, parents) + sum(added[parent, variable] for parent in parents)

    def total(edges: Sequence[Edge]) -> float:
        return sum(scores.family(name, [start for start, end in edges if end == name]) for name in names) + sum(
            added[edge] for edge in edges
        )

    score = NoiseAwareScore(names_only(names))
    known = ExpertKnowledge(
        required_edges=set(constraints.required),
        forbidden_edges={edge for edge in possible if not constraints.allows_direction(*edge)},
    )
    networks = set[tuple[Edge, ...]]()
    for edges in progress(_starts(names, scores, constraints), "climbing", unit="start"):
        start = DAG()
        start.add_nodes_from(names)
        start.add_edges_from(edges)
        search = HillClimbSearch(
            scoring_method=score,
            start_dag=start,
            max_indegree=most_asked_together(evidence.tables) - 1,
            expert_knowledge=known,
            return_type="dag",
            epsilon=_LEAST,
            show_progress=False,
        )
        networks.add(tuple(sorted(search.fit(names_only(names)).causal_graph_.edges())))
    best = max(networks, key=lambda edges: (total(edges), edges))
    pattern = cpdag_of(DiGraph(best))
    return structure_of(evidence.domain, best, [edge for edge in pattern.edges if not pattern.has_edge(*edge[::-1])])


def _refuse_required_families(scores: FamilyScores, constraints: EdgeConstraints) -> None:
    """Refuse required edges that give an attribute parents which it was never asked together with."""
    for name in sorted({end for _, end in constraints.required}):
        parents = sorted(start for start, end in constraints.required if end == name)
        if scores.table(tuple(sorted((name, *parents)))) is None:
            raise NotIdentifiedError(
                f"required edges to {name!r} from {one_line(parents)}, which nobody was asked about together",
                "required parents that were asked together with their child",
                f"Ask the group {(*parents, name)!r}, or search by another method.",
            )


def _starts(names: Sequence[str], scores: FamilyScores, constraints: EdgeConstraints) -> set[tuple[Edge, ...]]:
    """Return the networks that the search starts from: the required edges, and the heaviest forest from every root."""
    from networkx import DiGraph, Graph, bfs_edges, descendants, maximum_spanning_tree

    pairs: Graph[str] = Graph()
    pairs.add_nodes_from(names)
    worth = {pair: scores.worth(pair) for pair in combinations(names, 2)}
    pairs.add_weighted_edges_from([(*pair, value) for pair, value in worth.items() if value > 0])
    forest: Graph[str] = maximum_spanning_tree(pairs)
    starts = {constraints.required}
    for root in names:
        dag: DiGraph[str] = DiGraph(constraints.required)
        dag.add_nodes_from(names)
        for first in (root, *names):
            for start, end in bfs_edges(forest, first):
                free = not dag.has_edge(start, end) and not dag.has_edge(end, start) and not dag.pred[end]
                if free and constraints.allows_direction(start, end) and start not in descendants(dag, end):
                    dag.add_edge(start, end)
        starts.add(tuple(dag.edges))
    return starts
