"""Orientation of edges and Markov equivalence: compared with all graphs of few nodes, and what is refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.comparisons import refused

from ldpstats import LdpstatsError
from ldpstats.networks.orientation import (
    Orientation,
    Triple,
    Verdict,
    cpdag_of,
    extension_of,
    oriented,
    unshielded_triples,
    v_structures,
)
from ldpstats.networks.structure import Edge, EdgeConstraints, Separation, Structure

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


def test_there_are_as_many_graphs_and_classes_as_are_known() -> None:
    """Robinson 1973; Gillispie & Perlman 2002."""
    assert (sum(map(len, classes())), len(classes())) == (543, 185)


def test_a_completed_graph_has_the_directions_that_all_equivalent_ones_share() -> None:
    for members in classes():
        for edges in members:
            found = cpdag_of(of(edges))
            assert set(found.edges) == union(members)
            assert list(found) == list(NODES)


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


@pytest.mark.parametrize("function", [cpdag_of, extension_of])
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
    with refused(LdpstatsError, part):
        function(graph)


def test_contradictions_are_refused() -> None:
    """Two causes, not joined, of the ends of one edge: it would make a new v-structure either way."""
    with pytest.raises(LdpstatsError, match="contradict each other"):
        extension_of(of([("a", "b"), ("b", "c"), ("c", "b"), ("d", "c")]))
    with pytest.raises(LdpstatsError, match="cycle"):
        cpdag_of(of([("a", "b"), ("b", "a")]))


FREE = EdgeConstraints()


def directions(edges: Iterable[Edge]) -> Iterator[frozenset[Edge]]:
    """Yield all acyclic directions of the edges."""
    for ways in product(*((edge, edge[::-1]) for edge in edges)):
        if nx.is_directed_acyclic_graph(nx.DiGraph(ways)):
            yield frozenset(ways)


def verdicts_of(arrows: frozenset[Edge]) -> dict[Triple, Verdict]:
    """Return what is true of the unshielded triples of a directed graph."""
    return {
        (one, middle, other): "collider" if {(one, middle), (other, middle)} <= arrows else "no collider"
        for one, middle, other in unshielded_triples(arrows)
    }


def orientation(edges: Iterable[Edge], verdicts: dict[Triple, Verdict], known: EdgeConstraints = FREE) -> Orientation:
    edges = tuple(sorted(tuple(sorted(edge)) for edge in edges))
    return oriented(Structure(edges), known, dict.fromkeys(edges, 1.0), verdicts)


def graphs(names: str) -> Iterator[tuple[Edge, ...]]:
    pairs = list(combinations(names, 2))
    for size in range(1, len(pairs) + 1):
        yield from combinations(pairs, size)


def common(alternatives: Iterable[frozenset[Edge]]) -> frozenset[Edge]:
    return frozenset.intersection(*alternatives)


def test_all_colliders_known_gives_the_directions_that_all_equivalent_graphs_share():
    for edges in graphs("abcd"):
        classes: dict[tuple[tuple[Triple, Verdict], ...], list[frozenset[Edge]]] = {}
        for arrows in directions(edges):
            classes.setdefault(tuple(verdicts_of(arrows).items()), []).append(arrows)
        for verdicts, equivalent in classes.items():
            found = orientation(edges, dict(verdicts))
            assert set(found.directed) == common(equivalent)
            assert frozenset(found.chosen) in equivalent


def test_an_open_triple_says_nothing_about_what_follows():
    """Directions are those that all graphs share which agree with the verdicts there are."""
    for edges in graphs("abcd"):
        alternatives = list(directions(edges))
        for arrows in alternatives[::3]:
            known = dict(list(verdicts_of(arrows).items())[::2])
            agreeing = [one for one in alternatives if known.items() <= verdicts_of(one).items()]
            found = orientation(edges, known)
            if "collider" in known.values():
                assert set(found.directed) == common(agreeing)
            assert frozenset(found.chosen) in agreeing


@pytest.mark.parametrize("names", list(permutations("abcd")))
def test_a_tree_without_directions_leads_away_from_one_attribute(names: tuple[str, ...]):
    for edges in (list(pairwise(names)), [(names[0], other) for other in names[1:]]):
        chosen = nx.DiGraph(orientation(edges, {}).chosen)
        assert nx.is_arborescence(chosen)


def test_required_forbidden_and_ordered_edges_have_their_direction_and_others_follow():
    chain, verdicts = [("a", "b"), ("b", "c")], {("a", "b", "c"): "no collider"}
    assert orientation(chain, verdicts, EdgeConstraints(required=(("a", "b"),))).directed == {
        ("a", "b"): "required",
        ("b", "c"): "implied",
    }
    assert orientation(chain, verdicts, EdgeConstraints(forbidden=(("a", "b"),))).directed == {("b", "a"): "constraint"}
    ordered = orientation(chain, {}, EdgeConstraints(order=("c", "a", "b")))
    assert ordered.directed == {("a", "b"): "constraint", ("c", "b"): "constraint"}
    # what is known prevails over what the reports say
    assert orientation(chain, verdicts, EdgeConstraints(order=("c", "a", "b"))).directed == ordered.directed


def test_of_a_circle_of_constraints_the_weakest_edge_is_left_out():
    edges = (("a", "b"), ("a", "c"), ("b", "c"))
    against = EdgeConstraints(forbidden=(("b", "a"), ("c", "b"), ("a", "c")))
    strength = dict(zip(edges, (3.0, 1.0, 2.0), strict=True))
    found = oriented(Structure(edges), against, strength, {})
    assert found.left_out == (("a", "c"),)
    assert found.chosen == (("a", "b"), ("b", "c"))
    needed = EdgeConstraints(required=(("c", "a"),), forbidden=(("b", "a"), ("c", "b")))
    assert oriented(Structure(edges), needed, strength, {}).left_out == (("b", "c"),)


def test_colliders_that_direct_an_edge_against_each_other_are_not_taken():
    chain = [("a", "b"), ("b", "c"), ("c", "d")]
    against = {("a", "b", "c"): "collider", ("b", "c", "d"): "collider"}
    assert not orientation(chain, against).directed
    circle = [*chain, ("a", "d")]
    # every attribute would have a circle's next one before it
    found = orientation(circle, dict.fromkeys(unshielded_triples(circle), "no collider"))
    assert not found.directed
    assert nx.is_directed_acyclic_graph(nx.DiGraph(found.chosen))


def test_colliders_that_contradict_what_is_no_collider_are_not_taken():
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    verdicts: dict[Triple, Verdict] = {
        ("a", "b", "c"): "collider",
        ("b", "c", "d"): "no collider",
        ("c", "d", "e"): "collider",
    }
    assert set(orientation(edges, verdicts).directed) == {("a", "b"), ("c", "b"), ("c", "d"), ("e", "d")}
    verdicts[("b", "c", "d")] = "collider"
    assert not orientation(edges, verdicts).directed


def test_a_search_that_directs_edges_is_followed_but_for_constraints():
    structure = Structure((("a", "b"), ("b", "c")), directed=(("a", "b"), ("c", "b")))
    free = oriented(structure, FREE, dict.fromkeys(structure.edges, 1.0), {})
    assert free.directed == {("a", "b"): "search", ("c", "b"): "search"}
    bound = oriented(structure, EdgeConstraints(required=(("b", "c"),)), dict.fromkeys(structure.edges, 1.0), {})
    assert bound.directed == {("a", "b"): "search", ("b", "c"): "required"}


def test_what_was_separated_by_evidence_is_led_on():
    edges = (("a", "b"), ("b", "c"), ("c", "d"))
    separations = [Separation(("a", "c"), (), 0.5, 0.9, "evidence")]
    for decided_by, implied in (("evidence", True), ("power", False)):
        more = Separation(("b", "d"), ("c",), 0.5, 0.9, decided_by)
        structure = Structure(edges, (("a", "b"), ("c", "b")), (*separations, more))
        assert not oriented(structure, FREE, dict.fromkeys(edges, 1.0), {}).directed.keys() & {("c", "d"), ("d", "c")}
        entered = Structure(edges, (("a", "b"), ("b", "c")), (*separations, more))
        assert (("c", "d") in oriented(entered, FREE, dict.fromkeys(edges, 1.0), {}).directed) == implied


def test_directions_in_a_circle_are_refused():
    with pytest.raises(LdpstatsError, match="no circle"):
        Orientation({}, (("a", "b"), ("b", "c"), ("c", "a")), {})
    with pytest.raises(LdpstatsError, match="whose direction is known"):
        Orientation({("b", "a"): "search"}, (("a", "b"),), {})
