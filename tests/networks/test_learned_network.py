"""Learned networks: what is said of edges and directions, averaging over redraws, and files that were altered."""

from __future__ import annotations

import dataclasses
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.forged_files import forged
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.networks.pair_evidence import averaging_threshold
from ldpstats.networks.structure import EdgeConstraints, Separation, Structure

DOMAIN = ldp.Domain({"rain": ["yes", "no"], "lawn": ["wet", "dry"], "hose": ["on", "off"], "pipe": [1, 2, 3]})
RAIN, HOSE = np.array([0.3, 0.7]), np.array([0.4, 0.6])
WET = np.array([[0.95, 0.8], [0.7, 0.05]])
JOINT = np.einsum("r,rhw,h,p->rwhp", RAIN, np.stack([WET, 1 - WET], axis=-1), HOSE, np.array([0.2, 0.3, 0.5]))


@cache
def learned(n: int = 300_000, n_resamples: int = 20) -> ldp.LearnedNetwork:
    tables = ldp.SampledGroups(DOMAIN, epsilon=4.0).simulate(np.round(JOINT * n).astype(int), rng=3)
    return ldp.learn_network(tables, n_resamples=n_resamples)


def test_figures_of_an_edge_are_those_of_the_inference_layer():
    found = learned()
    (row,) = found.edges.query("first == 'rain'").to_dict("records")
    effect = ldp.mutual_information(found.tables.pooled(["rain", "lawn"]))
    assert (row["second"], row["direction"], row["why"], row["directed_by"]) == ("lawn", "→", "tree", "collider")
    assert row["information"] == effect.estimate
    assert (row["lower"], row["upper"]) == effect.conf_int()
    assert row["confidence"] == 1
    assert row["adjusted"] >= row["pvalue"]
    pd.testing.assert_frame_equal(found.to_frame(), found.edges)


def test_graphs_have_all_attributes_and_their_categories():
    found = learned()
    for graph in (found.skeleton, found.cpdag, found.graph, found.to_networkx()):
        assert dict(graph.nodes(data="categories")) == {"rain": 2, "lawn": 2, "hose": 2, "pipe": 3}
    assert set(found.graph.edges) == set(found.cpdag.edges) == {("rain", "lawn"), ("hose", "lawn")}
    assert {frozenset(edge) for edge in found.skeleton.edges} == {frozenset(edge) for edge in found.graph.edges}
    assert not found.skeleton.is_directed()
    some = ldp.learn_network(found.tables, forbidden=[("hose", "lawn"), ("lawn", "hose")], n_resamples=0)
    assert set(some.cpdag.edges) == {("rain", "lawn"), ("lawn", "rain")}
    assert some.graph.number_of_edges() == 1


def test_summary_says_what_must_be_known():
    found = learned()
    text = str(found.summary())
    for words in (
        "rain →  lawn",
        "Directions are due to colliders.",
        "no two attributes have a cause in common that nobody was asked about",
        "20 networks, learned from counts drawn again",
        "false discovery rate 0.05",
    ):
        assert " ".join(words.split()) in " ".join(text.split())
    assert "is a choice" not in text
    tree = ldp.learn_network(found.tables, forbidden=[("hose", "lawn"), ("lawn", "hose")], n_resamples=0)
    assert "that is a choice" in spoken(tree.summary())
    assert "cause in common" not in " ".join(str(tree.summary()).split())
    assert "drawn again" not in str(tree.summary())
    assert repr(found) == "<LearnedNetwork: 4 attributes, 2 edges by 'auto', n = 300,000 (simulated)>"


def test_summary_says_what_constraints_left_out_and_what_rests_on_an_assumption():
    domain = ldp.Domain({name: ["x", "y"] for name in "abc"})
    joint = np.array([[[6, 2], [2, 1]], [[1, 2], [2, 6]]]) / 22
    tables = ldp.SampledGroups(domain, epsilon=6.0).simulate(np.round(joint * 10**6).astype(int), rng=2)
    kept = ldp.learn_network(tables, "pruned", alpha=0.9, required=[("a", "b"), ("b", "c"), ("a", "c")], n_resamples=0)
    assert "Nobody was asked about c together with all parents" in str(kept.summary())
    directed = {edge: why for edge, why in kept.orientation.directed.items() if edge != ("a", "c")}
    left_out = dataclasses.replace(
        kept.orientation, chosen=(("a", "b"), ("b", "c")), directed=directed, left_out=(("a", "c"),)
    )
    told = dataclasses.replace(kept, orientation=left_out, edges=kept.edges.query("first != 'a' or second != 'c'"))
    assert "in a circle with stronger edges: a and c." in str(told.summary())


def test_a_network_without_edges_says_so():
    even = np.full(JOINT.shape, 1000)
    found = ldp.learn_network(ldp.SampledGroups(DOMAIN, epsilon=1.0).simulate(even, rng=1), n_resamples=0)
    assert "Edges: 0." in str(found.summary())
    assert found.edges.empty
    assert found.graph.number_of_nodes() == 4
    assert found.to_dict()["edges"] == []


def test_separations_by_power_are_told_from_those_by_evidence():
    found = learned()
    tests = (
        Separation(("rain", "hose"), (), 0.4, 0.99, "evidence"),
        Separation(("rain", "pipe"), ("lawn",), 0.2, 0.1, "power"),
    )
    told = dataclasses.replace(found, structure=dataclasses.replace(found.structure, separations=tests))
    assert told.separations.to_dict("list") == {
        "first": ["rain", "rain"],
        "second": ["hose", "pipe"],
        "given": ["", "lawn"],
        "pvalue": [0.4, 0.2],
        "power": [0.99, 0.1],
        "decided_by": ["evidence", "power"],
    }
    text = " ".join(str(told.summary()).split())
    assert "Tests separate 2 pairs, 1 of them by evidence." in text
    assert "nothing is known about rain and pipe" in text
    assert ldp.LearnedNetwork.from_json(told.to_json()).structure == told.structure


def test_averaged_network_has_the_edges_of_most_redraws():
    found = learned(2_000)
    confidence = found.pairs["confidence"].to_numpy()
    for threshold in (None, 0.5, 0.0, 1.0):
        averaged = found.averaged(threshold)
        least = averaging_threshold(confidence) if threshold is None else threshold
        assert len(averaged.edges) == int((confidence >= least).sum())
        assert nx.is_directed_acyclic_graph(averaged.graph)
        assert set(averaged.edges["why"]) <= {"averaged"}
    assert "Averaged over 20 networks" in str(found.averaged(0.5).summary())
    assert found.averaged(0.0).method == "auto, averaged"
    assert found.averaged(0.0).edges["information"].notna().any()


def test_averaged_network_meets_the_constraints():
    ends = [("rain", "lawn"), ("lawn", "rain")]
    found = ldp.learn_network(learned().tables, forbidden=ends, required=[("pipe", "hose")], n_resamples=5)
    for threshold in (0.0, 1.0):
        edges = found.averaged(threshold).graph.edges
        assert ("pipe", "hose") in edges
        assert not set(ends) & set(edges)


def test_averaging_needs_redraws():
    with pytest.raises(ldp.LdpstatsError, match="without redraws"):
        learned(300_000, 0).averaged()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("alpha", 2.0),
        ("n_resamples", -1),
        ("method", 3),
        ("edges", {"list": []}),
        ("structure", {"Structure": {"edges": [["rain", "lawn"]], "directed": [], "separations": []}}),
        ("orientation chosen", []),
    ],
)
def test_altered_files_are_refused(field: str, value: object):
    with pytest.raises(ldp.LdpstatsError):
        ldp.LearnedNetwork.from_json(forged(learned().to_json(), field, value))


def test_figures_that_contradict_the_edges_are_refused():
    found = learned()
    with pytest.raises(ldp.LdpstatsError, match="a direction of every edge"):
        dataclasses.replace(found, structure=Structure((("rain", "hose"),)))
    with pytest.raises(ldp.LdpstatsError, match="the column 'pvalue'"):
        dataclasses.replace(found, edges=found.edges.assign(pvalue=2.0))
    with pytest.raises(ldp.LdpstatsError, match="figures in the columns"):
        dataclasses.replace(found, edges=found.edges.drop(columns="why"))


def test_the_fitted_network_is_that_of_its_graph(tmp_path):
    found = learned()
    assert set(found.network.edges) == set(found.graph.edges)
    # the lawn's proportions given both are under an assumption, those of its margin are not
    np.testing.assert_allclose(found.network.joint(["lawn", "rain"]), JOINT.sum(axis=(2, 3)).T, atol=0.02)
    assert found.parameters is found.parameters
    sample = found.sample(5, rng=1)
    assert sample.columns.tolist() == list(DOMAIN.names)
    pd.testing.assert_frame_equal(sample, found.sample(5, rng=1))
    found.to_bif(tmp_path / "lawn.bif")
    assert set(ldp.BayesianNetwork.from_bif(tmp_path / "lawn.bif").edges) == set(found.graph.edges)
    assert set(found.model.edges()) == set(found.to_pgmpy().edges()) == set(found.graph.edges)
    answer = found.query("rain", {"lawn": "wet"}, n_resamples=100)
    assert answer.estimate[0] == pytest.approx(0.258 / 0.475, abs=0.03)


@pytest.mark.parametrize(
    ("frame", "column", "value"),
    [
        ("edges", "direction", "→"),
        ("edges", "directed_by", "collider"),
        ("edges", "pvalue", 0.5),
        ("edges", "confidence", 0.123),
        ("pairs", "second", "elsewhere"),
        ("pairs", "adjusted", 0.5),
        ("pairs", "confidence", np.nan),
    ],
)
def test_figures_that_contradict_each_other_are_refused(frame: str, column: str, value: object):
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    found = ldp.learn_network(ldp.SampledGroups(domain, epsilon=3.0).simulate([40, 10, 10, 40], rng=1), n_resamples=5)
    altered = getattr(found, frame).assign(**{column: value})
    with pytest.raises(ldp.LdpstatsError):
        dataclasses.replace(found, **{frame: altered})
    for wrong in ({"n_resamples": 0}, {"constraints": EdgeConstraints(required=(("a", "elsewhere"),))}):
        with pytest.raises(ldp.LdpstatsError):
            dataclasses.replace(found, **wrong)


def test_the_picture_has_arrows_where_directions_are_known_and_dashes_where_power_decided():
    found = learned()
    frame = found.picture().to_frame().set_index(["first", "second"])
    assert frame.loc[("rain", "lawn"), "strength"] == found.edges.query("first == 'rain'")["information"].item()
    assert frame["arrow"].all()
    assert not frame["undecided"].any()
    assert found.picture().title == "Network of 4 attributes (simulated)"
    (first, *others) = found.edges.itertuples(index=False)
    doubted = pd.DataFrame([first._replace(why="undecided"), *others])
    assert dataclasses.replace(found, edges=doubted).picture().to_frame()["undecided"].tolist() == [True, False]
    chain = ldp.learn_network(found.tables, forbidden=[("hose", "lawn"), ("lawn", "hose")], n_resamples=0)
    (only,) = chain.picture().edges
    assert (only.arrow, np.isnan(only.confidence)) == (False, True)
