"""Triples to ask are those that two or three edges join, and nothing else."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest

import ldpstats as ldp
from ldpstats.networks.triples_to_ask import triples_to_ask


@pytest.mark.parametrize("seed", range(20))
def test_they_are_all_triples_with_two_edges_or_three(seed: int) -> None:
    graph = nx.gnp_random_graph(9, 0.1 * (seed % 10), seed=seed)
    counted = tuple(three for three in combinations(graph, 3) if graph.subgraph(three).number_of_edges() > 1)
    assert triples_to_ask(graph) == counted


def test_directions_make_no_difference() -> None:
    directed = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("d", "c")])
    assert triples_to_ask(directed) == triples_to_ask(directed.to_undirected())
    assert triples_to_ask(directed) == (("a", "c", "b"), ("a", "c", "d"), ("c", "b", "d"))


def test_an_empty_graph_needs_none_and_a_complete_one_all() -> None:
    assert triples_to_ask(nx.empty_graph(5)) == triples_to_ask(nx.Graph([("a", "a"), ("a", "b")])) == ()
    assert len(triples_to_ask(nx.complete_graph(6))) == 20


def test_a_protocol_asks_for_them() -> None:
    domain = ldp.Domain({name: [0, 1] for name in "abcd"})
    graph = nx.path_graph(list("abcd"))
    protocol = ldp.SampledGroups(domain, epsilon=2.0, groups=triples_to_ask(graph))
    assert protocol.groups == (("a", "b", "c"), ("b", "c", "d"))


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match=r"a networkx\.Graph"):
        triples_to_ask([("a", "b"), ("b", "c")])
