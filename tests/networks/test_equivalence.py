"""Markov equivalence: completed graphs, closures and extensions, against enumeration of all graphs of four nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.comparisons import assert_tells

from ldpstats import LdpstatsError
from ldpstats.networks.equivalence import closed, cpdag_of, extension_of, v_structures

NODES = "abcd"
Edges = frozenset[tuple[str, str]]


def of(edges: Iterable[tuple[Any, Any]], nodes: Iterable[Any] = NODES) -> nx.DiGraph[Any]:
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


@cache
def classes() -> list[list[Edges]]:
    """Return all graphs of four nodes without cycles, by the distributions that they allow: by what is separated."""
    found = defaultdict(list)
    for choice in product((None, 0, 1), repeat=6):
        pairs = zip(combinations(NODES, 2), choice, strict=True)
        edges = frozenset(pair[:: 1 - 2 * way] for pair, way in pairs if way is not None)
        if nx.is_directed_acyclic_graph(graph := of(edges)):
            found[separations(graph)].append(edges)
    return list(found.values())


def separations(graph: nx.DiGraph[str]) -> frozenset[Any]:
    return frozenset(
        (one, other, given)
        for one, other in combinations(NODES, 2)
        for size in range(3)
        for given in combinations(sorted({*NODES} - {one, other}), size)
        if nx.is_d_separator(graph, {one}, {other}, {*given})
    )


def union(graphs: Iterable[Edges]) -> set[tuple[str, str]]:
    return set().union(*graphs)


def refused(graph: nx.DiGraph[str]) -> bool:
    try:
        extension_of(graph)
    except LdpstatsError:
        return True
    return False


def test_there_are_as_many_graphs_and_classes_as_are_known() -> None:
    """Robinson 1973; Gillispie & Perlman 2002."""
    assert (sum(map(len, classes())), len(classes())) == (543, 185)


def test_a_completed_graph_has_the_directions_that_all_equivalent_ones_share() -> None:
    for members in classes():
        for edges in members:
            found = cpdag_of(of(edges))
            assert set(found.edges) == union(members)
            assert list(found) == list(NODES)


def test_what_is_known_beforehand_is_closed_under_all_that_follows() -> None:
    """Whatever one or two further directions are known: the rest is what all members that have them share.

    Directions that no member has make a cycle, or another v-structure.
    """
    for members in classes():
        whole = union(members)
        loose = [edge for edge in whole if edge[::-1] in whole]
        for known in (one for size in (1, 2) for one in combinations(loose, size) if one[0] != one[-1][::-1]):
            fitting = [edges for edges in members if edges.issuperset(known)]
            given = of(whole - {edge[::-1] for edge in known})
            if fitting:
                assert set(closed(given).edges) == union(fitting)
                assert frozenset(extension_of(given).edges) in fitting
            else:
                assert refused(given) or v_structures(extension_of(given)) != v_structures(of(members[0]))


def test_an_extension_is_a_member_of_the_class_and_the_same_for_any_order_of_nodes() -> None:
    for members in classes():
        whole = union(members)
        found = frozenset(extension_of(of(whole)).edges)
        assert found in members
        for order in ("dcba", "badc"):
            assert frozenset(extension_of(of(sorted(whole, reverse=True), order)).edges) == found


def test_every_partially_directed_graph_of_four_nodes_is_extended_or_refused() -> None:
    """The extension has all directions and no other v-structure; refused are those of which no graph is one."""
    known = {edges: v_structures(of(edges)) for edges in (one for members in classes() for one in members)}
    by_skeleton = defaultdict(list)
    for edges in known:
        by_skeleton[frozenset(map(frozenset, edges))].append(edges)
    rng = np.random.default_rng(1)
    choices = list(product((None, 0, 1, 2), repeat=6))
    for choice in [choices[place] for place in rng.choice(len(choices), 1200, replace=False)]:
        edges = set()
        for pair, way in zip(combinations(NODES, 2), choice, strict=True):
            edges |= {pair} if way == 0 else {pair[::-1]} if way == 1 else {pair, pair[::-1]} if way == 2 else set()
        graph = of(edges)
        directed = {edge for edge in edges if edge[::-1] not in edges}
        possible = [
            one
            for one in by_skeleton[frozenset(map(frozenset, edges))]
            if one.issuperset(directed) and known[one] == v_structures(graph)
        ]
        if possible:
            assert frozenset(extension_of(graph).edges) in possible
            assert set(closed(graph).edges) == union(possible)
        else:
            with pytest.raises(LdpstatsError):
                extension_of(graph)


@pytest.mark.exhaustive
def test_completed_graphs_of_five_nodes() -> None:
    """By skeleton and v-structures (Verma & Pearl 1990): 8,782 classes of 29,281 graphs."""
    classes_of_five, nodes = defaultdict(list), "abcde"
    for choice in product((None, 0, 1), repeat=10):
        pairs = zip(combinations(nodes, 2), choice, strict=True)
        edges = frozenset(pair[:: 1 - 2 * way] for pair, way in pairs if way is not None)
        if nx.is_directed_acyclic_graph(graph := of(edges, nodes)):
            classes_of_five[frozenset(map(frozenset, edges)), frozenset(v_structures(graph))].append(edges)
    assert (sum(map(len, classes_of_five.values())), len(classes_of_five)) == (29_281, 8_782)
    for members in classes_of_five.values():
        whole = union(members)
        assert set(cpdag_of(of(members[0], nodes)).edges) == whole
        assert frozenset(extension_of(of(whole, nodes)).edges) in members


@pytest.mark.parametrize("seed", range(3))
def test_larger_graphs_come_back_from_their_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = [int(one) for one in rng.permutation(40)]
    dag = of([edge for edge in combinations(nodes, 2) if rng.random() < 0.08], range(40))
    whole = cpdag_of(dag)
    again = extension_of(whole)
    assert nx.is_directed_acyclic_graph(again)
    assert set(cpdag_of(again).edges) == set(whole.edges)
    assert v_structures(again) == v_structures(dag) == v_structures(whole)
    assert set(closed(whole).edges) == set(whole.edges)


def test_graphs_that_are_given_stay_as_they_are() -> None:
    given = of([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
    given.add_node("a", categories=3)
    before = (list(given.nodes(data=True)), list(given.edges))
    closed(given)
    extension_of(given)
    assert (list(given.nodes(data=True)), list(given.edges)) == before


@pytest.mark.parametrize("function", [cpdag_of, closed, extension_of])
@pytest.mark.parametrize(
    ("graph", "part"),
    [
        (nx.Graph([("a", "b")]), "Graph"),
        (None, "NoneType"),
        ([("a", "b")], "list"),
        (nx.DiGraph([("a", "a")]), "itself"),
        (nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), "a"),
    ],
)
def test_other_graphs_are_refused(function: Any, graph: Any, part: str) -> None:
    with pytest.raises(LdpstatsError) as error:
        function(graph)
    assert_tells(error, part)


def test_contradictions_are_refused() -> None:
    """Two causes, not joined, of the ends of one edge: it would make a new v-structure either way."""
    with pytest.raises(LdpstatsError, match="'b' and 'c'"):
        closed(of([("a", "b"), ("b", "c"), ("c", "b"), ("d", "c")]))
    with pytest.raises(LdpstatsError, match="cycle"):
        cpdag_of(of([("a", "b"), ("b", "a")]))


def test_graphs_without_nodes_or_edges_are_their_own_class() -> None:
    assert not cpdag_of(of([], []))
    assert not extension_of(of([], []))
    assert list(cpdag_of(of([]))) == list(extension_of(of([]))) == list(NODES)
