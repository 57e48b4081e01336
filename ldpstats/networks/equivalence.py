"""Markov equivalence: graphs that state the same independences, and which directions all of them have in common.

A partially directed graph is a DiGraph of networkx in which an edge without direction stands in both directions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from ldpstats.errors import LdpstatsError, one_line

if TYPE_CHECKING:
    from networkx import DiGraph

N = TypeVar("N", bound=Hashable)


def v_structures(graph: DiGraph[N]) -> set[tuple[frozenset[N], N]]:
    """Return the pairs of parents that are not joined themselves, each with their common child.

    Parameters
    ----------
    graph : networkx.DiGraph
        Directed, or partially.
    """
    return {
        (frozenset(pair), child)
        for child in graph
        for pair in combinations([one for one in graph.pred[child] if one not in graph.succ[child]], 2)
        if not _joined(graph, *pair)
    }


def cpdag_of(dag: DiGraph[N]) -> DiGraph[N]:
    """Return the completed partially directed graph: an edge is directed if it is so in all equivalent graphs.

    Graphs without cycles state the same independences if they have the same edges but for directions, and the same
    v-structures (Verma & Pearl 1990).

    Parameters
    ----------
    dag : networkx.DiGraph
        Without directed cycles.

    Examples
    --------
    >>> from networkx import DiGraph
    >>> sorted(cpdag_of(DiGraph([("a", "c"), ("b", "c"), ("c", "d")])).edges)
    [('a', 'c'), ('b', 'c'), ('c', 'd')]
    >>> sorted(cpdag_of(DiGraph([("a", "b"), ("b", "c")])).edges)
    [('a', 'b'), ('b', 'a'), ('b', 'c'), ('c', 'b')]
    """
    plain = _plain(dag)
    refuse_directed_cycles(plain)
    pattern = plain.copy()
    pattern.add_edges_from([(end, start) for start, end in plain.edges])
    pattern.remove_edges_from([(child, parent) for pair, child in v_structures(plain) for parent in pair])
    return closed(pattern)


def closed(pdag: DiGraph[N]) -> DiGraph[N]:
    """Return the graph with every direction that follows from those it has.

    These are the four rules of Meek (1995), applied until nothing follows any more. Started from v-structures and
    from what is known beforehand, they find all that the extensions have in common. What is given is not questioned:
    two directions that make a v-structure which the tests did not show describe another class. A cycle, and an edge
    that would have to have both directions, are refused; whether there is any extension, `extension_of` finds out.

    Parameters
    ----------
    pdag : networkx.DiGraph
        Partially directed.

    Examples
    --------
    >>> from networkx import DiGraph
    >>> sorted(closed(DiGraph([("a", "b"), ("b", "c"), ("c", "b")])).edges)
    [('a', 'b'), ('b', 'c')]
    """
    graph = _plain(pdag)
    found = True
    while found:
        found = False
        for start, end in list(graph.edges):
            if graph.has_edge(start, end) and graph.has_edge(end, start) and _follows(graph, start, end):
                if _follows(graph, end, start):
                    raise _contradiction(f"{start!r} and {end!r}, whose edge would have to have both directions")
                graph.remove_edge(end, start)
                found = True
    refuse_directed_cycles(_directed_part(graph))
    return graph


def extension_of(pdag: DiGraph[N]) -> DiGraph[N]:
    """Return a graph without cycles that has all directions of a partially directed one, and no other v-structures.

    This is the algorithm of Dor & Tarsi (1992). Where there is a choice, edges lead from names that are earlier in
    the alphabet, whatever the order of the nodes.

    Parameters
    ----------
    pdag : networkx.DiGraph
        Partially directed. One without such an extension is refused.

    Examples
    --------
    >>> from networkx import DiGraph
    >>> sorted(extension_of(DiGraph([("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")])).edges)
    [('a', 'b'), ('b', 'c')]
    """
    left = _plain(pdag)
    directed = left.copy()
    while left:
        sink = next((one for one in sorted(left, key=str, reverse=True) if _can_be_last(left, one)), None)
        if sink is None:
            raise _contradiction(f"{one_line(sorted(left, key=str))}, none of which can have edges toward it alone")
        directed.remove_edges_from([(sink, one) for one in left.succ[sink]])
        left.remove_node(sink)
    return directed


def refuse_directed_cycles(graph: DiGraph[N]) -> None:
    """Refuse a graph in which some node leads to itself.

    Parameters
    ----------
    graph : networkx.DiGraph
    """
    from networkx import find_cycle, is_directed_acyclic_graph

    if not is_directed_acyclic_graph(graph):
        cycle = [str(edge[0]) for edge in find_cycle(graph)]
        raise LdpstatsError(
            f"edges that make a cycle: {' → '.join([*cycle, cycle[0]])}", "edges along which no node leads to itself"
        )


def _plain(graph: Any) -> DiGraph[Any]:
    """Return a graph of the same nodes and edges that can be changed."""
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


def _joined(graph: DiGraph[N], one: N, other: N) -> bool:
    return graph.has_edge(one, other) or graph.has_edge(other, one)


def _into(graph: DiGraph[N], node: N) -> Iterator[N]:
    """Return the nodes with an edge toward this one."""
    return (one for one in graph.pred[node] if one not in graph.succ[node])


def _follows(graph: DiGraph[N], start: N, end: N) -> bool:
    """Say whether an edge without direction must lead from one node to the other: Meek's rules, one by one."""
    loose = [one for one in graph.succ[start] if one in graph.pred[start] and one != end]
    before_end = list(_into(graph, end))
    return (
        any(not _joined(graph, one, end) for one in _into(graph, start))
        or any(start in set(_into(graph, one)) for one in before_end)
        or any(not _joined(graph, one, other) for one, other in combinations([n for n in loose if n in before_end], 2))
        or any(
            one in set(_into(graph, via)) and not _joined(graph, one, end) and _joined(graph, start, via)
            for via in before_end
            for one in loose
        )
    )


def _can_be_last(graph: DiGraph[N], node: N) -> bool:
    """Say whether all edges of a node may lead toward it without making a new v-structure."""
    near = {*graph.succ[node], *graph.pred[node]}
    return all(
        one in graph.pred[node] and all(_joined(graph, one, other) for other in near - {one})
        for one in graph.succ[node]
    )


def _directed_part(graph: DiGraph[N]) -> DiGraph[N]:
    return graph.edge_subgraph([(one, other) for one, other in graph.edges if not graph.has_edge(other, one)])


def _contradiction(where: str) -> LdpstatsError:
    return LdpstatsError(
        f"directions that contradict each other at {where}",
        "a partially directed graph that some graph without cycles and without further v-structures extends",
        "Leave some of the directions open.",
    )
