"""Orientation: against all acyclic directions of small graphs, under constraints, and where decisions contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, permutations, product

import networkx as nx
import pytest

from ldpstats import LdpstatsError
from ldpstats.networks.orientation import Orientation, Triple, Verdict, oriented, unshielded_triples
from ldpstats.networks.structure import Edge, EdgeConstraints, Separation, Structure

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
