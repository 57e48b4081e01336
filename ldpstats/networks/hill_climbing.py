"""Hill climbing: the network with the best score that single changes of an edge lead to, by pgmpy's search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.networks.asked_together import AskedTogether
from ldpstats.networks.equivalence import cpdag_of
from ldpstats.networks.family_score import FamilyScores
from ldpstats.networks.pgmpy_searches import names_only, structure_of
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure
from ldpstats.presentation import progress
from ldpstats.tables import TableSet

if TYPE_CHECKING:
    from networkx import DiGraph, Graph
    from pgmpy.structure_score import BaseStructureScore

# Nats per respondent: no change is worth less, and of networks with the same score none differs by as much.
_LEAST = 1e-7
_ALL_TIES = 1e-8


def hill_climb(tables: TableSet, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Find the network with the best score that adding, removing and reversing edges leads to.

    The search starts from no edges, and from the heaviest tree, rooted at every attribute in turn; the best of what it
    ends in is kept. The score is that of `FamilyScores`: attributes that were never asked together are no family.
    So from pairs alone every attribute has one parent at most, and the network is the heaviest tree, or several.

    Parameters
    ----------
    tables : TableSet
    constraints : EdgeConstraints
    alpha : float
        The level that keeps edges from chance where the effective number of respondents is small.
    """
    from networkx import DiGraph

    names, scores = sorted(tables.domain.names), FamilyScores(AskedTogether(tables), alpha)
    refuse_required_families(scores.together, constraints)
    added = tie_breakers(names)

    def total(edges: Sequence[Edge]) -> float:
        return sum(scores.family(name, [start for start, end in edges if end == name]) for name in names) + sum(
            added[edge] for edge in edges
        )

    found = {tuple(sorted(edges)) for edges in _climbed(names, scores, constraints)}
    best = max(found, key=lambda edges: (total(edges), edges))
    pattern = cpdag_of(DiGraph(best))
    return structure_of(tables.domain, best, [edge for edge in pattern.edges if not pattern.has_edge(*edge[::-1])])


def structure_score(scores: FamilyScores, names: Sequence[str]) -> BaseStructureScore:
    """Return the scores as one of pgmpy's, for its searches.

    Of several networks with the same score a search takes the first one that it meets, in an order that changes from
    one run to the next. So every possible edge adds something of its own, far less than any evidence is worth.

    Parameters
    ----------
    scores : FamilyScores
    names : sequence of str
    """
    from pgmpy.structure_score import BaseStructureScore

    class NoiseAwareScore(BaseStructureScore):  # type: ignore[misc]  # pgmpy has no types
        """The score of families whose tables are estimated from privatized answers."""

        def _local_score(self, variable: str, parents: tuple[str, ...]) -> float:
            return scores.family(variable, parents) + sum(added[parent, variable] for parent in parents)

    added, found = tie_breakers(names), NoiseAwareScore(names_only(names))
    return found


def tie_breakers(names: Sequence[str]) -> Mapping[Edge, float]:
    """Return a different small number for every possible edge.

    Parameters
    ----------
    names : sequence of str
    """
    edges = list(permutations(names, 2))
    return {edge: _ALL_TIES * (place + 1) / len(edges) ** 2 for place, edge in enumerate(edges)}


def refuse_required_families(together: AskedTogether, constraints: EdgeConstraints) -> None:
    """Refuse required edges that give an attribute parents which it was never asked together with.

    Parameters
    ----------
    together : AskedTogether
    constraints : EdgeConstraints
    """
    for name in sorted({end for _, end in constraints.required}):
        parents = sorted(start for start, end in constraints.required if end == name)
        if together.table((name, *parents)) is None:
            raise NotIdentifiedError(
                f"required edges to {name!r} from {one_line(parents)}, which nobody was asked about together",
                "required parents that were asked together with their child",
                f"Ask the group {(*parents, name)!r}, or search by another method.",
            )


def _climbed(names: Sequence[str], scores: FamilyScores, constraints: EdgeConstraints) -> Iterator[list[Edge]]:
    """Yield the edges that the search ends in, from each of its starts."""
    from pgmpy.base import DAG
    from pgmpy.causal_discovery import ExpertKnowledge, HillClimbSearch

    score = structure_score(scores, names)
    known = ExpertKnowledge(
        required_edges=set(constraints.required),
        forbidden_edges={edge for edge in permutations(names, 2) if not constraints.allows_direction(*edge)},
    )
    for edges in progress(_starts(names, scores, constraints), "climbing", unit="start"):
        start = DAG()
        start.add_nodes_from(names)
        start.add_edges_from(edges)
        search = HillClimbSearch(
            scoring_method=score,
            start_dag=start,
            max_indegree=scores.together.largest - 1,
            expert_knowledge=known,
            return_type="dag",
            epsilon=_LEAST,
            show_progress=False,
        )
        yield list(search.fit(names_only(names)).causal_graph_.edges())


def _starts(names: Sequence[str], scores: FamilyScores, constraints: EdgeConstraints) -> set[tuple[Edge, ...]]:
    """Return the networks that the search starts from: the required edges, and the heaviest tree from every root."""
    from networkx import DiGraph, bfs_edges, descendants

    forest = _heaviest_forest(names, scores)
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


def _heaviest_forest(names: Sequence[str], scores: FamilyScores) -> Graph[str]:
    """Return the tree, or trees, of the pairs that are worth most."""
    from networkx import Graph, maximum_spanning_tree

    pairs: Graph[str] = Graph()
    pairs.add_nodes_from(names)
    worth = {pair: scores.worth(pair) for pair in combinations(names, 2)}
    pairs.add_weighted_edges_from([(*pair, value) for pair, value in worth.items() if value > 0])
    forest: Graph[str] = maximum_spanning_tree(pairs)
    return forest
