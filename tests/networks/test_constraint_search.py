"""Constraint search and the triples that it needs: known networks, power, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from support.colliders import COLLIDER, collected, people_of_a_collider, turned

import ldpstats as ldp
from ldpstats import (
    Domain,
    NotIdentifiedError,
    PerAttribute,
    ProductDomain,
    SampledGroups,
    WholeView,
    learn_network,
)
from ldpstats.networks.constraint_search import ENOUGH_POWER, pc, triples_to_ask
from ldpstats.networks.hill_climbing import hill_climb
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import EdgeConstraints, Structure
from ldpstats.protocols.contract import LocalProtocol


@pytest.mark.parametrize("seed", range(10))
def test_they_are_all_triples_with_two_edges_or_three(seed: int) -> None:
    graph = nx.gnp_random_graph(9, 0.1 * seed, seed=seed)
    counted = tuple(three for three in combinations(graph, 3) if graph.subgraph(three).number_of_edges() > 1)
    assert triples_to_ask(graph) == counted


def test_directions_make_no_difference() -> None:
    directed = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("d", "c")])
    assert triples_to_ask(directed) == triples_to_ask(directed.to_undirected())
    assert triples_to_ask(directed) == (("a", "c", "b"), ("a", "c", "d"), ("c", "b", "d"))


def test_loops_are_no_edges_and_what_is_no_graph_is_refused() -> None:
    assert triples_to_ask(nx.Graph([("a", "a"), ("a", "b")])) == ()
    with pytest.raises(ldp.LdpstatsError, match=r"a networkx\.Graph"):
        triples_to_ask([("a", "b"), ("b", "c")])


FREE = EdgeConstraints()
DOMAIN = Domain({name: ["no", "yes"] for name in "abcd"})


def test_without_noise_it_finds_what_pgmpy_finds_in_the_raw_records() -> None:
    from pgmpy.causal_discovery import PC

    cells = np.repeat(np.arange(16), people_of_a_collider(50_000))
    frame = DOMAIN.decode(np.column_stack(np.unravel_index(cells, (2, 2, 2, 2))))
    found = pc(PairEvidence.of(ProductDomain(DOMAIN, epsilon=60.0).simulate(frame, rng=1)), FREE, 0.05)
    search = PC(variant="stable", ci_test="chi_square", significance_level=0.05, show_progress=False)
    theirs = search.fit(frame.astype(str)).causal_graph_
    assert {frozenset(edge) for edge in found.edges} == {
        frozenset(edge) for edge in (*theirs.directed_edges, *theirs.undirected_edges)
    }
    # c → d follows from the two others: whoever completes the graph adds it
    assert set(found.directed) == set(COLLIDER[:2])
    assert set(theirs.directed_edges) == set(COLLIDER)


def test_a_collider_is_found_through_noise_and_separations_say_what_decided() -> None:
    found = pc(PairEvidence.of(collected()), FREE, 0.05)
    assert found.edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert found.directed == (("a", "c"), ("b", "c"))
    given = {one.pair: one.given for one in found.separations}
    assert given == {("a", "b"): (), ("a", "d"): ("c",), ("b", "d"): ("c",)}
    assert all(one.decided_by == "evidence" and one.power >= ENOUGH_POWER for one in found.separations)
    assert all(one.pvalue > 0.05 / 6 for one in found.separations)


def test_what_few_respondents_leave_out_is_left_out_for_want_of_power() -> None:
    found = pc(PairEvidence.of(collected(4_000, epsilon=1.0)), FREE, 0.05)
    assert found.separations
    assert all(one.decided_by == "power" and one.power < ENOUGH_POWER for one in found.separations)
    assert not found.directed
    assert {one.pair for one in found.separations}.isdisjoint(found.edges)


def test_an_edge_that_stays_for_want_of_power_is_said_to_be_undecided() -> None:
    tables = collected(10_000, epsilon=1.0)
    found = pc(PairEvidence.of(tables), FREE, 0.05)
    assert found.undecided == (("a", "c"),)
    assert set(found.undecided) < set(found.edges)
    learned = learn_network(tables, "pc")
    assert learned.edges["why"].tolist() == ["undecided", "search", "search"]
    assert "Edges that are undecided (1)" in str(learned)
    assert not pc(PairEvidence.of(collected()), FREE, 0.05).undecided


def test_pairs_alone_are_refused_with_the_triples_to_ask() -> None:
    with pytest.raises(NotIdentifiedError, match=r"groups=\[\('a', 'b', 'c'\), ") as caught:
        pc(PairEvidence.of(collected(k=2)), FREE, 0.05)
    assert "Ask 4 triples" in caught.value.advice
    assert len(SampledGroups(DOMAIN, epsilon=1.0, groups=[("a", "b", "c"), ("a", "c", "d")]).groups) == 2


@pytest.mark.parametrize(
    "protocol",
    [
        WholeView(DOMAIN, epsilon=12.0, k=3),
        PerAttribute(DOMAIN, epsilon=12.0, k=2),
        SampledGroups(DOMAIN, epsilon=4.0, k=3, mechanism="oue"),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_whatever_the_protocol_both_searches_find_the_collider(protocol: LocalProtocol) -> None:
    cells = np.repeat(np.arange(16), people_of_a_collider(60_000))
    frame = DOMAIN.decode(np.column_stack(np.unravel_index(cells, (2, 2, 2, 2))))
    tables = protocol.collect(frame, rng=1)
    for found in (pc(PairEvidence.of(tables), FREE, 0.05), hill_climb(PairEvidence.of(tables), FREE, 0.05)):
        assert found.edges == COLLIDER
        assert found.directed[:2] == COLLIDER[:2]


def test_twenty_respondents_show_nothing_and_nothing_is_said_to_be_known() -> None:
    tables = SampledGroups(DOMAIN, epsilon=1.0, k=3).simulate(people_of_a_collider(20), rng=1)
    found = pc(PairEvidence.of(tables), FREE, 0.05)
    assert found.edges == hill_climb(PairEvidence.of(tables), FREE, 0.05).edges == ()
    assert {one.decided_by for one in found.separations} == {"power"}


@pytest.mark.parametrize("epsilon", [4.0, 60.0])
def test_a_category_that_never_occurs_makes_no_edge(epsilon: float) -> None:
    people = people_of_a_collider(50_000).reshape(2, 8)
    people[0] += people[1]
    people[1] = 0
    found = pc(PairEvidence.of(ProductDomain(DOMAIN, epsilon=epsilon).simulate(people.ravel(), rng=1)), FREE, 0.05)
    assert found.edges == (("b", "c"), ("c", "d"))
    assert {one.pair: one.decided_by for one in found.separations if "a" in one.pair} == {
        ("a", name): "power" for name in "bcd"
    }


def test_triples_that_were_asked_are_tested_and_others_not() -> None:
    groups = [("a", "c", "d"), ("a", "b"), ("b", "c"), ("b", "d")]
    tables = SampledGroups(DOMAIN, epsilon=4.0, groups=groups).simulate(people_of_a_collider(200_000), rng=1)
    found = pc(PairEvidence.of(tables), FREE, 0.05)
    assert found.edges == (("a", "c"), ("b", "c"), ("b", "d"), ("c", "d"))
    # a and b were never asked together with c: that both point to it is not seen
    assert found.directed == ()


@pytest.mark.parametrize("search", [hill_climb, pc])
def test_constraints_are_kept(search: Callable[..., Structure]) -> None:
    evidence = PairEvidence.of(collected())
    required = search(evidence, EdgeConstraints(required=(("d", "a"),)), 0.05)
    assert ("a", "d") in required.edges
    assert ("a", "d") not in required.directed
    forbidden = search(evidence, EdgeConstraints(forbidden=(("c", "d"), ("d", "c"))), 0.05)
    assert ("c", "d") not in {*forbidden.edges, *(one.pair for one in forbidden.separations)}
    ordered = search(evidence, EdgeConstraints(order=("d", "c", "a", "b")), 0.05)
    assert {("c", "d"), ("b", "c"), ("a", "c")} <= set(ordered.edges)
    assert all("dcab".index(start) < "dcab".index(end) for start, end in ordered.directed)


def test_the_order_of_attributes_and_tables_changes_nothing() -> None:
    tables = collected(20_000)
    both = [PairEvidence.of(one) for one in (tables, turned(tables))]
    for search in (hill_climb, pc):
        ours, theirs = (search(one, FREE, 0.05) for one in both)
        assert {frozenset(edge) for edge in ours.edges} == {frozenset(edge) for edge in theirs.edges}
        assert set(ours.directed) == set(theirs.directed)
    figures = [{frozenset(one.pair): one for one in found.separations} for found in (ours, theirs)]
    assert figures[0].keys() == figures[1].keys()
    for pair, one in figures[0].items():
        other = figures[1][pair]
        assert (one.given, one.decided_by) == (other.given, other.decided_by)
        assert (one.pvalue, one.power) == pytest.approx((other.pvalue, other.power), rel=1e-6)
