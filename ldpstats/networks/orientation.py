"""Orientation: which edges of a network have a direction: those that equivalent graphs have in common, or evidence.

A partially directed graph is a DiGraph of networkx in which an edge without direction stands in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure, refuse_directed_cycles

if TYPE_CHECKING:
    from networkx import DiGraph, Graph

N = TypeVar("N", bound=Hashable)


def v_structures(graph: DiGraph[N]) -> set[tuple[frozenset[N], N]]:
    """Return the pairs of parents that are not joined themselves, each with their common child."""
    return {
        (frozenset(pair), child)
        for child in graph
        for pair in combinations([parent for parent in graph.pred[child] if parent not in graph.succ[child]], 2)
        if not _joined(graph, *pair)
    }


def cpdag_of(dag: DiGraph[N]) -> DiGraph[N]:
    """Return the CPDAG of a DAG: an edge is directed if it is so in all Markov equivalent graphs.

    Graphs without cycles state the same independences if they have the same edges but for directions, and the same
    v-structures (Verma & Pearl 1990). What follows from these the first three rules of Meek (1995) find.
    """
    plain = _plain(dag)
    refuse_directed_cycles(plain)
    pattern = plain.copy()
    pattern.add_edges_from([(end, start) for start, end in plain.edges])
    pattern.remove_edges_from([(child, parent) for pair, child in v_structures(plain) for parent in pair])
    changed = True
    while changed:
        changed = False
        for start, end in list(pattern.edges):
            if pattern.has_edge(start, end) and pattern.has_edge(end, start) and _follows(pattern, start, end):
                pattern.remove_edge(end, start)
                changed = True
    return pattern


def extension_of(pdag: DiGraph[N]) -> DiGraph[N]:
    """Return a DAG that has all directions of a partially directed graph, and no other v-structures.

    A graph without such an extension is refused. Where there is a choice, it depends on names, not on their order.
    """
    directed = _plain(pdag)
    arrows = [edge for edge in directed.edges if not directed.has_edge(*edge[::-1])]
    refuse_directed_cycles(directed.edge_subgraph(arrows))
    v_structures_given, chosen = v_structures(directed), _chosen(directed.to_undirected().edges, arrows, {})
    directed.remove_edges_from([edge[::-1] for edge in chosen])
    if v_structures(directed) != v_structures_given:
        raise LdpstatsError(
            f"directions that contradict each other among {one_line(sorted(directed, key=str))}",
            "a partially directed graph that some graph without cycles and without further v-structures extends",
            "Leave some of the directions open.",
        )
    return directed


def _plain(graph: Any) -> DiGraph[Any]:
    """Return a copy of a DiGraph without attributes; refuse edges from a node to itself."""
    from networkx import DiGraph, number_of_selfloops

    if not isinstance(graph, DiGraph) or number_of_selfloops(graph):
        raise LdpstatsError(
            "a graph with an edge from a node to itself" if isinstance(graph, DiGraph) else f"a {type(graph).__name__}",
            "a networkx.DiGraph, in which an edge without direction stands in both",
        )
    plain: DiGraph[Any] = DiGraph()
    plain.add_nodes_from(graph)
    plain.add_edges_from(graph.edges)
    return plain


def _joined(graph: DiGraph[N], first: N, second: N) -> bool:
    return graph.has_edge(first, second) or graph.has_edge(second, first)


def _into(graph: DiGraph[N], node: N) -> Iterator[N]:
    """Return the nodes with an edge toward this one."""
    return (parent for parent in graph.pred[node] if parent not in graph.succ[node])


def _follows(graph: DiGraph[N], start: N, end: N) -> bool:
    """Say whether an edge without direction must lead from one node to the other, by Meek's first three rules."""
    before_end = list(_into(graph, end))
    loose = [parent for parent in before_end if parent in graph.succ[start] and parent in graph.pred[start]]
    return (
        any(not _joined(graph, parent, end) for parent in _into(graph, start))
        or any(start in set(_into(graph, parent)) for parent in before_end)
        or any(not _joined(graph, first, second) for first, second in combinations(loose, 2))
    )


Triple: TypeAlias = tuple[str, str, str]
"""Two attributes that are not joined, and between them one that both are joined to."""
Verdict: TypeAlias = Literal["collider", "no collider"]
Reason: TypeAlias = Literal["required", "constraint", "search", "collider", "implied"]


@dataclass(frozen=True, slots=True)
class Orientation:
    """The directions of the edges of a network."""

    directed: Mapping[Edge, Reason]  # edges (from, to) whose direction is known
    chosen: tuple[Edge, ...]  # all edges, the others' directions by choice: a DAG
    verdicts: Mapping[Triple, Verdict]  # of unshielded triples, named as in `unshielded_triples`
    left_out: tuple[Edge, ...] = ()  # edges that constraints would turn in a circle with stronger ones

    def __post_init__(self) -> None:
        circle = _within_circles(self.chosen)
        if circle or not self.directed.keys() <= set(self.chosen):
            raise LdpstatsError(
                f"the directed edges {one_line(sorted(circle or self.directed.keys()))}",
                "edges that make no circle, among them those whose direction is known",
            )


def oriented(
    structure: Structure,
    constraints: EdgeConstraints,
    strength: Mapping[Edge, float],
    verdicts: Mapping[Triple, Verdict],
    chains: Mapping[Triple, float] = MappingProxyType({}),
) -> Orientation:
    """Direct what constraints, the search and colliders direct, what follows from that, and the rest by choice.

    Constraints prevail. Nothing follows from a triple without a verdict: in Meek's rules (1995) every unshielded triple
    that is not known as a collider is a chain or a fork; here only one that the reports show to be no collider, or
    whose ends were separated by evidence given the one in the middle. `strength` decides which edge of a circle of
    constraints is left out; where there must be a collider by choice, it is where `chains` speaks least against it.
    """
    known, left_out = _forced(structure.edges, constraints, strength)
    edges = [edge for edge in structure.edges if edge not in left_out]
    kept = {way for edge in edges for way in (edge, edge[::-1])}
    searched = [edge for edge in structure.directed if edge in kept and not {edge, edge[::-1]} & known.keys()]
    circle = _within_circles([*known, *searched])
    known |= dict.fromkeys([edge for edge in searched if edge not in circle], "search")
    triples = set(unshielded_triples(edges))
    separated = {
        (min(separation.pair), middle, max(separation.pair))
        for separation in structure.separations
        if separation.decided_by == "evidence"
        for middle in separation.given
    }
    told: dict[Triple, Verdict] = {**verdicts, **dict.fromkeys(separated, "no collider")}
    verdicts = {triple: verdict for triple, verdict in told.items() if triple in triples}
    never = [
        way
        for triple, verdict in verdicts.items()
        if verdict == "no collider" and not {triple[:2], triple[:0:-1]} <= known.keys()
        for way in (triple, triple[::-1])
    ]
    own = [{triple[:2], triple[:0:-1]} for triple, verdict in verdicts.items() if verdict == "collider"]
    directed = _with_colliders(edges, known, own, never)
    against = {way: value for triple, value in chains.items() for way in (triple, triple[::-1])}
    chosen = _chosen(edges, directed, against | dict.fromkeys(never, math.inf))
    return Orientation(directed, chosen, verdicts, left_out)


def unshielded_triples(edges: Iterable[Edge]) -> list[Triple]:
    """Return the triples (end, middle, end) whose middle is joined to both ends, and these not to each other.

    They are in the order of names.
    """
    import networkx as nx

    graph: Graph[str] = nx.Graph(edges)
    return [
        (first, middle, last)
        for middle in sorted(graph)
        for first, last in combinations(sorted(graph[middle]), 2)
        if not graph.has_edge(first, last)
    ]


def _forced(
    edges: Iterable[Edge], constraints: EdgeConstraints, strength: Mapping[Edge, float]
) -> tuple[dict[Edge, Reason], tuple[Edge, ...]]:
    """Return the directions that constraints leave, and the weakest edges, without which these have no circle."""
    import networkx as nx

    graph: DiGraph[str] = nx.DiGraph()
    forced: dict[Edge, Reason] = {}
    left_out = []

    def rank(edge: Edge) -> tuple[bool, float, Edge]:
        return not constraints.requires(*edge), -strength[edge], (min(edge), max(edge))

    single = [edge for edge in edges if constraints.leaves_one_direction(*edge)]
    for edge in sorted(single, key=rank):
        start, end = edge if constraints.allows_direction(*edge) else edge[::-1]
        if start in graph and end in graph and nx.has_path(graph, end, start):
            left_out.append(edge)
            continue
        graph.add_edge(start, end)
        forced[start, end] = "required" if constraints.requires(*edge) else "constraint"
    return forced, tuple(sorted(left_out))


def _with_colliders(
    edges: Collection[Edge], known: Mapping[Edge, Reason], own: Iterable[set[Edge]], chains: Collection[Triple]
) -> dict[Edge, Reason]:
    """Add the colliders that contradict nothing, and what follows; none of them, where that contradicts itself.

    Of colliders that direct an edge against each other, or in a circle, none is taken.
    """
    against = {edge for arrows in own for edge in arrows} | known.keys()
    own = [arrows for arrows in own if not any(edge[::-1] in against for edge in arrows)]
    circle = _within_circles([*known, *(edge for arrows in own for edge in arrows)])
    kept = {edge for arrows in own if arrows.isdisjoint(circle) for edge in arrows}
    no_arrows: set[Edge] = set()
    for taken, paths in ((kept, chains), (no_arrows, chains), (no_arrows, [])):
        implied = _implied({*known, *taken}, edges, paths)
        if implied is not None:
            break
    assert implied is not None  # what is known has no circle
    reasons: dict[Edge, Reason] = dict.fromkeys(implied, "implied")
    return {**reasons, **dict.fromkeys(taken, "collider"), **known}


def _within_circles(arrows: Iterable[Edge]) -> set[Edge]:
    """Return the edges that lie on a circle of directed ones."""
    import networkx as nx

    graph: DiGraph[str] = nx.DiGraph(arrows)
    component = {name: number for number, part in enumerate(nx.strongly_connected_components(graph)) for name in part}
    return {(start, end) for start, end in graph.edges if component[start] == component[end]}


def _implied(arrows: set[Edge], edges: Iterable[Edge], chains: Collection[Triple]) -> set[Edge] | None:
    """Return the directions that follow: the opposite ones lead to a circle, or to a collider where there is none.

    All four Meek rules are of this kind. None where the arrows contradict each other.
    """
    directed = _propagated(arrows, edges, chains) if arrows else set()
    while directed is not None:
        ways = [way for edge in edges if not {edge, edge[::-1]} & directed for way in (edge, edge[::-1])]
        new = {way for way in ways if _propagated({*directed, way[::-1]}, edges, chains) is None} if directed else set()
        if not new:
            return directed - arrows
        directed = _propagated(directed | new, edges, chains)
    return None


def _propagated(arrows: set[Edge], edges: Iterable[Edge], chains: Collection[Triple]) -> set[Edge] | None:
    """Direct edges along entered chains, and along directed paths; None where that makes a circle or a collider."""
    import networkx as nx

    graph: DiGraph[str] = nx.DiGraph(arrows)
    graph.add_nodes_from(name for edge in edges for name in edge)
    while True:
        led_on = {(middle, last) for first, middle, last in chains if graph.has_edge(first, middle)}
        after = {name: nx.descendants(graph, name) for name in graph}
        led_on |= {way for edge in edges for way in (edge, edge[::-1]) if way[1] in after[way[0]]}
        if any(graph.has_edge(end, start) or (end, start) in led_on for start, end in led_on):
            return None
        if led_on <= set(graph.edges):
            return set(graph.edges)
        graph.add_edges_from(led_on)


def _chosen(
    edges: Iterable[tuple[Any, Any]], directed: Iterable[tuple[Any, Any]], against: Mapping[Triple, float]
) -> tuple[Any, ...]:
    """Direct all edges without a circle: few parents each, and as few colliders as there may be.

    Attributes are taken away one by one, each with all its edges into it (Dor & Tarsi 1992): one from which no directed
    edge leads, best one whose parents are joined to each other, else one whose colliders have the least against them,
    then one with the fewest parents. So in a tree without known directions every attribute has one parent at most.
    """
    import networkx as nx

    graph: Graph[Any] = nx.Graph(edges)
    left = set(directed)
    chosen: list[tuple[Any, Any]] = []

    def rank(name: str) -> tuple[float, int, str]:
        free = [other for other in graph[name] if (other, name) not in left]
        pairs = [(first, second) for first in free for second in graph[name] if first != second]
        new = [(first, name, second) for first, second in pairs if not graph.has_edge(first, second)]
        return max((against.get(triple, 0.0) for triple in new), default=-math.inf), len(graph[name]), name

    ranks: dict[str, tuple[float, int, str]] = {}
    while graph:
        starts = {start for start, _ in left}
        # without the one taken last, those that were joined to it rank differently, and no others
        ranks |= {name: rank(name) for name in graph if name not in ranks}
        last = min((name for name in graph if name not in starts), key=ranks.__getitem__)
        chosen += [(other, last) for other in graph[last]]
        ranks = {name: known for name, known in ranks.items() if name not in graph[last]}
        graph.remove_node(last)
        left = {edge for edge in left if last not in edge}
    return tuple(sorted(chosen))
