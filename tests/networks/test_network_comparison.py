"""Comparison of networks: shares of edges, distances of classes, divergences and likelihoods, against enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.comparisons import refused
from support.random_networks import random_network

from ldpstats import BayesianNetwork, Domain, LdpstatsError, SampledGroups, compare_networks, learn_network
from ldpstats.datasets import NETWORKS, network
from ldpstats.networks.orientation import cpdag_of

DOMAIN = Domain({"a": ["x", "y"], "b": [0, 1, 2], "c": [True, False], "d": ["p", "q", "r"]})


def made(parents: dict[str, tuple[str, ...]], seed: int, domain: Domain = DOMAIN) -> BayesianNetwork:
    return random_network(domain, parents, seed)


DIAMOND = {"b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_edges_are_counted_whatever_their_direction() -> None:
    found = compare_networks(nx.DiGraph([("d", "c"), ("a", "b"), ("a", "d")]), made(DIAMOND, 1))
    assert found.shared == (("a", "b"), ("c", "d"))
    assert found.missing == (("a", "c"), ("b", "d"))
    assert found.extra == (("a", "d"),)
    assert (found.precision, found.recall, found.f1) == (2 / 3, 1 / 2, pytest.approx(2 / (3 / 2 + 4 / 2)))
    assert (found.divergence, found.records) == (None, None)


@pytest.mark.parametrize(
    ("edges", "true_edges", "expected"),
    [("", "ab", (1, 0, 0)), ("ab", "", (0, 1, 0)), ("", "", (1, 1, 1)), ("ab", "ab", (1, 1, 1))],
)
def test_shares_of_nothing_are_whole(edges: str, true_edges: str, expected: tuple[float, ...]) -> None:
    graphs = [nx.Graph(), nx.Graph()]
    for graph, edge in zip(graphs, (edges, true_edges), strict=True):
        graph.add_nodes_from("ab")
        graph.add_edges_from([tuple(edge)] if edge else [])
    found = compare_networks(*graphs)
    assert (found.precision, found.recall, found.f1) == expected


@pytest.mark.parametrize(
    ("edges", "distance"),
    [
        (["ab", "ac", "bd", "cd"], 0),
        (["ba", "ac", "bd", "cd"], 0),  # the same class: a chain over a without a v-structure
        (["ab", "ac", "db", "cd"], 3),  # no v-structure at d any more: a collider at b instead
        (["ab", "ac"], 2),
        ([], 4),
        (["ab", "ac", "bd", "cd", "ad"], 1),  # a leads to d in all equivalent graphs
    ],
)
def test_the_distance_counts_pairs_in_which_classes_differ(edges: list[str], distance: int) -> None:
    graph = nx.DiGraph([tuple(edge) for edge in edges])
    graph.add_nodes_from("abcd")
    truth = made(DIAMOND, 1)
    one, other = cpdag_of(graph), cpdag_of(truth.to_networkx())
    counted = sum(
        (one.has_edge(*pair), one.has_edge(*pair[::-1])) != (other.has_edge(*pair), other.has_edge(*pair[::-1]))
        for pair in combinations("abcd", 2)
    )
    assert compare_networks(graph, truth).shd == counted == distance
    assert compare_networks(truth, graph).shd == compare_networks(one, truth).shd == distance


@pytest.mark.parametrize("parents", [DIAMOND, {}, {"a": ("d",), "b": ("a", "d"), "c": ("a", "b", "d")}])
def test_the_divergence_is_that_of_the_joint_distributions(parents: dict[str, tuple[str, ...]]) -> None:
    truth = made(DIAMOND, 1)
    # the learned network has its own order of attributes and of categories
    order = Domain({name: DOMAIN.categories[name][::-1] for name in "dbca"})
    learned = made(parents, 2, order)
    cells = DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)))
    p, q = (np.exp(given.log_likelihood(cells)) for given in (truth, learned))
    found = compare_networks(learned, truth)
    assert found.divergence == pytest.approx(float(np.sum(p * np.log(p / q))), rel=1e-10)
    assert compare_networks(truth, truth).divergence == 0
    assert compare_networks(truth, truth).shd == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_large_networks_are_compared_with_their_own_margins(name: str) -> None:
    """Without edges the divergence is the total correlation: what all entropies exceed that of the joint by."""
    truth = network(name)
    empty = BayesianNetwork(
        truth.domain, dict.fromkeys(truth.domain.names, ()), {one: rescaled(truth, one) for one in truth.domain.names}
    )
    records = truth.sample(20_000, rng=1)
    found = compare_networks(empty, truth, records)
    assert found.records is not None
    assert found.records.difference is not None
    assert found.records.std_err is not None
    # the mean of 20,000 records, to 5.2 standard errors: fails once in five million
    assert abs(found.records.difference - found.divergence) < 5.2 * found.records.std_err
    assert (found.recall, found.precision, found.f1) == (0, 1, 0)
    # whose directions all equivalent networks share or not: every edge of the reference is missing
    assert found.shd == len(truth.edges)


def rescaled(truth: BayesianNetwork, name: str) -> np.ndarray[Any, Any]:
    joint = truth.joint([name])
    return joint / joint.sum()


def test_what_is_ruled_out_wrongly_makes_an_infinite_divergence_and_says_so() -> None:
    domain = Domain({"a": [0, 1], "b": [0, 1]})
    truth = BayesianNetwork(domain, {"a": (), "b": ("a",)}, {"a": [1.0, 0.0], "b": [[0.5, 0.5], [0.5, 0.5]]})
    learned = BayesianNetwork(domain, {"a": (), "b": ()}, {"a": [0.5, 0.5], "b": [1.0, 0.0]})
    records = pd.DataFrame({"a": [0, 0, 0, 0], "b": [0, 1, 0, 1]})
    found = compare_networks(learned, truth, records)
    assert (found.divergence, found.impossible) == (math.inf, ("b",))
    assert found.records is not None
    assert (found.records.learned, found.records.impossible) == (-math.inf, 2)
    assert (found.records.difference, found.records.std_err) == (None, None)
    assert found.records.truth == pytest.approx(math.log(0.5))
    said = str(found.summary())
    assert "tables of b give probability 0" in said
    assert "2 of the records have probability 0" in said
    # what the truth itself rules out costs nothing
    back = compare_networks(truth, learned)
    assert (back.divergence, back.impossible) == (math.inf, ("a",))
    narrower = BayesianNetwork(domain, {"a": (), "b": ()}, {"a": [1.0, 0.0], "b": [0.5, 0.5]})
    assert compare_networks(narrower, truth).divergence == 0


def test_records_are_averaged() -> None:
    truth, learned = made(DIAMOND, 1), made({}, 2)
    records = truth.sample(500, rng=3)
    told = compare_networks(learned, truth, records).records
    assert told is not None
    losses = truth.log_likelihood(records) - learned.log_likelihood(records)
    assert told.n == 500
    assert told.learned == learned.log_likelihood(records).mean()
    assert told.truth == truth.log_likelihood(records).mean()
    assert told.difference == pytest.approx(losses.mean())
    assert told.std_err == pytest.approx(losses.std(ddof=1) / math.sqrt(500))
    one = compare_networks(learned, truth, records.iloc[:1]).records
    assert one is not None
    assert one.std_err is None
    alone = compare_networks(learned, truth.to_networkx(), records).records
    assert alone is not None
    assert (alone.learned, alone.truth, alone.difference) == (told.learned, None, None)


@dataclass
class Learned:
    """What learn_network returns has these two."""

    network: BayesianNetwork | None
    cpdag: nx.DiGraph[str]


def test_every_kind_of_network_is_taken() -> None:
    truth = made(DIAMOND, 1)
    whole = compare_networks(truth, truth)
    graph = truth.to_networkx()
    model = truth.to_pgmpy()
    bare = type(model)(list(graph.edges))
    for given in (truth, model, Learned(truth, cpdag_of(graph))):
        assert compare_networks(given, truth).to_dict() == compare_networks(truth, given).to_dict() == whole.to_dict()
    for given in (graph, bare, cpdag_of(graph), Learned(None, cpdag_of(graph))):
        assert compare_networks(given, truth).to_dict() == whole.to_dict() | {"divergence": None}
    skeleton = compare_networks(truth, graph.to_undirected())
    assert skeleton.to_dict() == whole.to_dict() | {"divergence": None, "shd": None}
    assert "no directions" in str(skeleton.summary())


def test_what_is_learned_is_compared() -> None:
    """Two edges, through almost no noise: an edge too many is found once in a million times."""
    loose = made({"b": ("a",), "d": ("b",)}, 3)
    close = {"b": [[0.8, 0.1], [0.1, 0.2], [0.1, 0.7]], "d": np.full((3, 3), 0.2) + np.eye(3) * 0.4}
    truth = BayesianNetwork(DOMAIN, loose.parents, {**loose.tables, **close})
    tables = SampledGroups(truth.domain, k=2, epsilon=20.0).simulate(truth.sample(60_000, rng=1), rng=2)
    learned = learn_network(tables, alpha=1e-6, n_resamples=0)
    found = compare_networks(learned, truth)
    assert (found.f1, found.shd, found.missing, found.extra) == (1, 0, (), ())


def test_partially_directed_graphs_stand_for_their_extensions() -> None:
    truth = made({"c": ("a", "b"), "d": ("c",)}, 1)
    partial = truth.to_networkx()
    partial.add_edge("d", "c")
    assert compare_networks(partial, truth).shd == 0
    partial.remove_edge("a", "c")
    partial.remove_edge("b", "c")
    partial.add_edges_from([("c", "a"), ("a", "c"), ("b", "c"), ("c", "b")])
    # a star without a v-structure
    assert compare_networks(partial, truth).shd == 3
    square, circle = nx.DiGraph(nx.cycle_graph(list("abcd"))), nx.DiGraph(["ab", "bc", "ca", "cd"])
    for given in (square, circle):
        with pytest.raises(LdpstatsError, match=r"contradict|cycle"):
            compare_networks(given, truth)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (None, "NoneType"),
        (nx.Graph([("a", "b"), ("c", "e")]), "'e'"),
        (nx.Graph([("a", "a")]), "Graph"),
        (nx.MultiDiGraph([("a", "b")]), "MultiDiGraph"),
        (made({}, 1, Domain({**DOMAIN.categories, "c": ["True", "False"]})), "'c'"),
        (made({}, 1, Domain({**DOMAIN.categories, "c": [True, False, "both"]})), "'both'"),
    ],
)
def test_other_networks_are_refused(given: Any, part: str) -> None:
    with refused(LdpstatsError, part):
        compare_networks(given, made(DIAMOND, 1))
    with pytest.raises(LdpstatsError):
        compare_networks(made(DIAMOND, 1), given)


def test_records_need_tables_and_known_categories() -> None:
    truth = made(DIAMOND, 1)
    records = truth.sample(5, rng=1)
    with pytest.raises(LdpstatsError, match="two graphs"):
        compare_networks(truth.to_networkx(), truth.to_networkx(), records)
    for wrong in (records.iloc[:0], records.drop(columns="a"), records.assign(a="z"), [1]):
        with pytest.raises(LdpstatsError):
            compare_networks(truth, truth, wrong)


def test_figures_that_cannot_be_are_refused():
    known = network("asia")
    found = compare_networks(known, known, known.sample(9, rng=1))
    assert found.records is not None
    with pytest.raises(LdpstatsError, match="impossible records"):
        replace(found.records, impossible=10)
    for altered in (replace(found, divergence=-1.0), replace(found, shd=-1)):
        with pytest.raises(LdpstatsError):
            type(found).from_json(altered.to_json())


def test_divergence_of_a_network_with_rounded_tables_from_itself_is_nothing():
    known = network("alarm")
    assert compare_networks(known, known).divergence == 0


def test_the_picture_tells_missed_and_wrong_edges_apart() -> None:
    nothing = nx.empty_graph("ab")
    compare_networks(nothing, nothing).plot().figure.canvas.draw()
    learned, truth = nx.Graph([("a", "b"), ("c", "d"), ("a", "d")]), nx.Graph([("a", "b"), ("b", "c"), ("d", "c")])
    found = compare_networks(learned, truth)
    kinds = {frozenset((edge.first, edge.second)): edge.kind for edge in found.picture().edges}
    assert kinds == {
        **{frozenset(edge): "in both" for edge in found.shared},
        **{frozenset(edge): "in the reference alone: missed" for edge in found.missing},
        **{frozenset(edge): "in the learned network alone: wrong" for edge in found.extra},
    }
