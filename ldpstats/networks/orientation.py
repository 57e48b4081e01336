"""Orientation: which edges of a network have a direction, and an acyclic one for all of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure

if TYPE_CHECKING:
    from networkx import DiGraph, Graph

Triple: TypeAlias = tuple[str, str, str]
"""Two attributes that are not joined, and between them one that both are joined to."""
Verdict: TypeAlias = Literal["collider", "no collider"]
Reason: TypeAlias = Literal["required", "constraint", "search", "collider", "implied"]


@dataclass(frozen=True, slots=True)
class Orientation:
    """The directions of the edges of a network.

    Parameters
    ----------
    directed : mapping
        The edges (from, to) whose direction is known, each with the reason.
    chosen : tuple of (str, str)
        All edges with a direction, the others' by choice: a directed graph without cycles.
    verdicts : mapping
        What is known of unshielded triples, as `unshielded_triples` names them.
    left_out : tuple of (str, str)
        Edges that constraints would turn in a circle with stronger ones.
    """

    directed: Mapping[Edge, Reason]
    chosen: tuple[Edge, ...]
    verdicts: Mapping[Triple, Verdict]
    left_out: tuple[Edge, ...] = ()

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

    Nothing follows from a triple without a verdict. In Meek's rules (1995) every unshielded triple that is not known
    as a collider is a chain or a fork; here only one that the reports show to be no collider.

    Parameters
    ----------
    structure : Structure
    constraints : EdgeConstraints
        They prevail.
    strength : mapping
        Of edges to which constraints leave one direction, to decide which one of a circle is left out.
    verdicts : mapping
        Of unshielded triples, as `unshielded_triples` names them. Those whose ends were separated by evidence given the
        one in the middle are no colliders anyway.
    chains : mapping
        How much speaks against a collider, for unshielded triples: where there must be one by choice, it is where
        this is least.
    """
    known, left_out = _forced(structure.edges, constraints, strength)
    edges = [edge for edge in structure.edges if edge not in left_out]
    kept = {way for edge in edges for way in (edge, edge[::-1])}
    searched = [edge for edge in structure.directed if edge in kept and not {edge, edge[::-1]} & known.keys()]
    circle = _within_circles([*known, *searched])
    known |= dict.fromkeys([edge for edge in searched if edge not in circle], "search")
    triples = set(unshielded_triples(edges))
    told = {**verdicts, **_separated(structure)}
    verdicts = {triple: verdict for triple, verdict in told.items() if triple in triples}
    never = _mirrored(
        triple
        for triple, verdict in verdicts.items()
        if verdict == "no collider" and not {triple[:2], triple[:0:-1]} <= known.keys()
    )
    own = [{triple[:2], triple[:0:-1]} for triple, verdict in verdicts.items() if verdict == "collider"]
    directed = _with_colliders(edges, known, own, never)
    against = {way: math.inf if way in never else value for one, value in chains.items() for way in (one, one[::-1])}
    chosen = _chosen(edges, directed, dict.fromkeys(never, math.inf) | against)
    return Orientation(directed, chosen, verdicts, left_out)


def unshielded_triples(edges: Iterable[Edge]) -> list[Triple]:
    """Return two attributes with a common neighbour that are not joined, and it between them, in the order of names.

    Parameters
    ----------
    edges : iterable of (str, str)

    Examples
    --------
    >>> unshielded_triples([("b", "c"), ("a", "b"), ("b", "d"), ("c", "d")])
    [('a', 'b', 'c'), ('a', 'b', 'd')]
    """
    import networkx as nx

    graph: Graph[str] = nx.Graph(edges)
    return [
        (one, middle, other)
        for middle in sorted(graph)
        for one, other in combinations(sorted(graph[middle]), 2)
        if not graph.has_edge(one, other)
    ]


def _separated(structure: Structure) -> dict[Triple, Verdict]:
    """Return that attributes are no colliders between those that were separated given them."""
    return {
        (min(one.pair), middle, max(one.pair)): "no collider"
        for one in structure.separations
        if one.decided_by == "evidence"
        for middle in one.given
    }


def _forced(
    edges: Iterable[Edge], constraints: EdgeConstraints, strength: Mapping[Edge, float]
) -> tuple[dict[Edge, Reason], tuple[Edge, ...]]:
    """Return the directions that constraints leave, and edges without which these have no circle: the weakest."""
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
    """Add the colliders that contradict nothing, and what follows; without any of them, where they contradict.

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


def _mirrored(triples: Iterable[Triple]) -> list[Triple]:
    return [way for triple in triples for way in (triple, triple[::-1])]


def _within_circles(arrows: Iterable[Edge]) -> set[Edge]:
    """Return the edges that lie on a circle of directed ones."""
    import networkx as nx

    graph: DiGraph[str] = nx.DiGraph(arrows)
    place = {name: number for number, part in enumerate(nx.strongly_connected_components(graph)) for name in part}
    return {(start, end) for start, end in graph.edges if place[start] == place[end]}


def _implied(arrows: set[Edge], edges: Iterable[Edge], chains: Collection[Triple]) -> set[Edge] | None:
    """Return the directions that follow: the opposite ones lead to a circle, or to a collider where there is none.

    All four Meek rules are of this kind. None where the arrows contradict each other.
    """
    found = _propagated(arrows, edges, chains) if arrows else set()
    while found is not None:
        ways = [way for edge in edges if not {edge, edge[::-1]} & found for way in (edge, edge[::-1])]
        new = {way for way in ways if _propagated({*found, way[::-1]}, edges, chains) is None} if found else set()
        if not new:
            return found - arrows
        found = _propagated(found | new, edges, chains)
    return None


def _propagated(arrows: set[Edge], edges: Iterable[Edge], chains: Collection[Triple]) -> set[Edge] | None:
    """Lead every chain on that is entered, and every edge whose ends a directed path joins; None where that fails."""
    import networkx as nx

    graph: DiGraph[str] = nx.DiGraph(arrows)
    graph.add_nodes_from(name for edge in edges for name in edge)
    while True:
        led_on = {(middle, other) for one, middle, other in chains if graph.has_edge(one, middle)}
        after = {name: nx.descendants(graph, name) for name in graph}
        led_on |= {way for edge in edges for way in (edge, edge[::-1]) if way[1] in after[way[0]]}
        if any(graph.has_edge(end, start) or (end, start) in led_on for start, end in led_on):
            return None
        if led_on <= set(graph.edges):
            return set(graph.edges)
        graph.add_edges_from(led_on)


def _chosen(edges: Collection[Edge], directed: Collection[Edge], against: Mapping[Triple, float]) -> tuple[Edge, ...]:
    """Direct all edges without a circle: few parents each, and as few colliders as there may be.

    Attributes are taken away one after the other, each with all its edges into it (Dor & Tarsi 1992): one from which no
    directed edge leads, best one whose parents are joined to each other, else one whose colliders have the least
    against them, and among these one with the fewest parents. So every attribute of a tree has one parent at most,
    where no direction is known.
    """
    import networkx as nx

    graph: Graph[str] = nx.Graph(edges)
    left = set(directed)
    chosen: list[Edge] = []

    def rank(name: str) -> tuple[float, int, str]:
        free = [other for other in graph[name] if (other, name) not in left]
        pairs = [(one, other) for one in free for other in graph[name] if one != other]
        new = [(one, name, other) for one, other in pairs if not graph.has_edge(one, other)]
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
