"""Triples to ask: the attributes that must be asked together so that pairs can be tested given a third one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from networkx import Graph


def triples_to_ask(graph: Graph[str]) -> tuple[tuple[str, str, str], ...]:
    """Return the triples of attributes that conditional tests need, once it is known which pairs depend on each other.

    These are all that two or three edges join. A triangle tells whether one of its edges is explained by the two
    others; two edges that meet tell whether their ends are independent given the attribute between them, and so
    whether both point to it. Of a sparse graph they are far fewer than all triples.

    Parameters
    ----------
    graph : networkx.Graph
        The attributes, joined where they depend on each other, such as `dependency_graph` or a learned network's
        `graph`; directions make no difference.

    Returns
    -------
    tuple of (str, str, str)
        In the order of the graph's nodes; `SampledGroups(domain, epsilon=..., groups=...)` asks for them.

    Examples
    --------
    >>> from networkx import path_graph, relabel_nodes
    >>> from ldpstats import triples_to_ask
    >>> triples_to_ask(relabel_nodes(path_graph(4), dict(enumerate("abcd"))))
    (('a', 'b', 'c'), ('b', 'c', 'd'))
    """
    if not callable(getattr(graph, "to_undirected", None)):
        raise LdpstatsError(f"a graph of type {type(graph).__name__}", "a networkx.Graph, such as `dependency_graph`")
    joined = graph.to_undirected(as_view=True)
    place = {name: position for position, name in enumerate(joined)}
    found = {
        tuple(sorted((place[one], place[other], place[middle])))
        for middle in joined
        for one, other in combinations(set(joined[middle]) - {middle}, 2)
    }
    names = list(place)
    return tuple((names[first], names[second], names[third]) for first, second, third in sorted(found))
