"""Hill climbing: the best network without noise, constraints, and nothing that depends on an order."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from support.colliders import COLLIDER, collected, turned
from support.hash_seeds import printed_under_hash_seeds

from ldpstats import Domain, NotIdentifiedError, ProductDomain, SampledGroups
from ldpstats.datasets import network
from ldpstats.networks.asked_together import AskedTogether
from ldpstats.networks.family_score import FamilyScores
from ldpstats.networks.hill_climbing import hill_climb
from ldpstats.networks.structure import EdgeConstraints

FREE = EdgeConstraints()


def test_without_noise_it_finds_what_pgmpy_finds_in_the_raw_records() -> None:
    from pgmpy.causal_discovery import HillClimbSearch

    frame = network("survey").sample(100_000, rng=1)
    found = hill_climb(ProductDomain(network("survey").domain, epsilon=60.0).simulate(frame, rng=1), FREE, 0.05)
    search = HillClimbSearch(scoring_method="bic-d", return_type="pdag", show_progress=False)
    theirs = search.fit(frame.astype(str)).causal_graph_
    assert set(found.directed) == set(theirs.directed_edges)
    assert {frozenset(edge) for edge in found.edges} == {
        frozenset(edge) for edge in (*theirs.directed_edges, *theirs.undirected_edges)
    }


def test_it_ends_in_the_best_of_all_networks() -> None:
    tables = collected(20_000)
    scores = FamilyScores(AskedTogether(tables), 0.05)
    found = nx.DiGraph(hill_climb(tables, FREE, 0.05).directed)
    best = -np.inf
    pairs = [(one, other) for place, one in enumerate("abcd") for other in "abcd"[place + 1 :]]
    for ways in product((None, False, True), repeat=6):
        edges = [pair[::-1] if way else pair for pair, way in zip(pairs, ways, strict=True) if way is not None]
        dag = nx.DiGraph(edges)
        dag.add_nodes_from("abcd")
        if nx.is_directed_acyclic_graph(dag):
            best = max(best, sum(scores.family(name, dag.pred[name]) for name in "abcd"))
    assert sum(scores.family(name, found.pred[name]) for name in "abcd") == pytest.approx(best, abs=1e-12)


def test_a_collider_is_found_through_noise_with_its_directions() -> None:
    found = hill_climb(collected(), FREE, 0.05)
    assert found.edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert found.directed == COLLIDER


def test_pairs_alone_give_trees_without_directions() -> None:
    found = hill_climb(collected(k=2), FREE, 0.05)
    assert found.edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert found.directed == ()


def test_no_evidence_gives_no_edges() -> None:
    domain = Domain({name: ["no", "yes"] for name in "abcd"})
    tables = SampledGroups(domain, epsilon=1.0, k=3).simulate(np.full(16, 500), rng=1)
    assert hill_climb(tables, FREE, 0.05).edges == ()


def test_constraints_are_kept() -> None:
    tables = collected()
    required = hill_climb(tables, EdgeConstraints(required=(("d", "a"),)), 0.05)
    assert ("a", "d") in required.edges
    assert ("a", "d") not in required.directed
    forbidden = hill_climb(tables, EdgeConstraints(forbidden=(("c", "d"), ("d", "c"))), 0.05)
    assert ("c", "d") not in forbidden.edges
    ordered = hill_climb(tables, EdgeConstraints(order=("d", "c", "b", "a")), 0.05)
    assert {("c", "d"), ("b", "c"), ("a", "c")} <= set(ordered.edges)
    place = {name: number for number, name in enumerate("dcba")}
    assert all(place[start] < place[end] for start, end in ordered.directed)


def test_required_parents_that_were_not_asked_together_are_refused() -> None:
    with pytest.raises(NotIdentifiedError, match=r"Ask the group \('a', 'b', 'c'\)"):
        hill_climb(collected(k=2), EdgeConstraints(required=(("a", "c"), ("b", "c"))), 0.05)


def test_the_order_of_attributes_and_tables_changes_nothing() -> None:
    tables = collected(20_000)
    ours, theirs = (hill_climb(one, FREE, 0.05) for one in (tables, turned(tables)))
    assert {frozenset(edge) for edge in ours.edges} == {frozenset(edge) for edge in theirs.edges}
    assert set(ours.directed) == set(theirs.directed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["hill_climb", "pc"])
def test_the_hash_seed_changes_nothing(method: str) -> None:
    module = {"hill_climb": "hill_climbing", "pc": "constraint_search"}[method]
    code = (
        f"from ldpstats import SampledGroups; from ldpstats.datasets import network; "
        f"from ldpstats.networks.{module} import {method}; from ldpstats.networks.structure import EdgeConstraints; "
        "asia = network('asia'); tables = SampledGroups(asia.domain, epsilon=2.0, k=3)"
        f".simulate(asia.sample(100_000, rng=1), rng=1); print({method}(tables, EdgeConstraints(), 0.05))"
    )
    assert len(printed_under_hash_seeds(code, range(4))) == 1
