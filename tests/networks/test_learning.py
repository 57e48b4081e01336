"""Learning networks: known structures, constraints, what is refused, and what must change nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.hash_seeds import printed_under_hash_seeds

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.datasets import network
from ldpstats.networks.learning import NETWORK_METHODS
from ldpstats.networks.orientation import cpdag_of, v_structures
from ldpstats.networks.pair_evidence import PairEvidence

METHODS = ["auto", "chow-liu", "pruned"]
ABC = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": ["u", "v"]})
A, C = np.array([0.4, 0.6]), np.array([0.3, 0.7])
GIVEN_A = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
GIVEN_B = np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]])
CHAIN = A[:, None, None] * GIVEN_A[:, :, None] * GIVEN_B
GIVEN_BOTH = np.array([[[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]], [[0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]])
COLLIDER = np.einsum("a,c,acb->abc", A, C, GIVEN_BOTH)


def collected(joint: np.ndarray, n: int = 300_000, domain: ldp.Domain = ABC, **more: Any) -> ldp.TableSet:
    protocol = ldp.SampledGroups(domain, **{"epsilon": 4.0, **more})
    return protocol.simulate(np.round(joint * n).astype(int), rng=1)


@cache
def asia(seed: int = 1) -> ldp.TableSet:
    frame = network("asia").sample(500_000, rng=seed)
    return ldp.SampledGroups(network("asia").domain, epsilon=4.0).simulate(frame, rng=seed)


def said(learned: ldp.LearnedNetwork) -> dict[frozenset[str], str]:
    """Return the edges, each with the attribute that it leads to."""
    ends = {"→": "second", "←": "first", "—": ""}
    return {
        frozenset((row["first"], row["second"])): row.get(ends[row["direction"]], "")
        for row in learned.edges.to_dict("records")
    }


@pytest.mark.parametrize("method", METHODS)
def test_chain_fork_and_collider_of_three(method: str):
    joined = [frozenset("ab"), frozenset("bc")]
    assert said(ldp.learn_network(collected(CHAIN), method, n_resamples=0)) == dict.fromkeys(joined, "")
    collider = ldp.learn_network(collected(COLLIDER), method, n_resamples=0)
    assert said(collider) == dict.fromkeys(joined, "b")
    assert set(collider.edges["directed_by"]) == {"collider"}
    assert set(collider.graph.edges) == set(collider.cpdag.edges) == {("a", "b"), ("c", "b")}


@pytest.mark.parametrize("method", ["hill-climb", "pc"])
def test_searches_need_three_attributes_together(method: str):
    joined = [frozenset("ab"), frozenset("bc")]
    chain = ldp.learn_network(collected(CHAIN, k=3), method)
    assert said(chain) == dict.fromkeys(joined, "")
    assert chain.n_resamples == 0
    collider = ldp.learn_network(collected(COLLIDER, k=3), method, n_resamples=3, rng=1)
    assert said(collider) == dict.fromkeys(joined, "b")
    assert set(collider.edges["directed_by"]) == {"search"}
    assert set(collider.edges["why"]) == {"search"}
    assert set(collider.averaged(0.5).graph.edges) == set(collider.graph.edges)
    led_on = ldp.learn_network(collected(CHAIN, k=3), method, required=[("a", "b")])
    assert led_on.edges["directed_by"].tolist()[0] == "required"


def test_redraws_of_searches_on_shared_respondents_are_refused():
    domain = ldp.Domain({name: ["x", "y"] for name in "abcdef"})
    tables = ldp.WholeView(domain, k=3, epsilon=8.0).simulate(np.full(64, 500), rng=1)
    assert ldp.learn_network(tables, "hill-climb").n_resamples == 0
    with pytest.raises(ldp.LdpstatsError, match="redraws of tables that share respondents"):
        ldp.learn_network(tables, "hill-climb", n_resamples=2)


def test_a_chain_is_directed_by_what_is_known():
    """One direction implies the other one, as b is shown to be no collider."""
    chain = collected(CHAIN)
    required = ldp.learn_network(chain, required=[("a", "b")], n_resamples=0).edges
    assert required["direction"].tolist() == ["→", "→"]
    assert required["directed_by"].tolist() == ["required", "implied"]
    assert required["why"].tolist() == ["required", "tree"]
    ordered = ldp.learn_network(chain, order=["c", "b", "a"], n_resamples=0)
    assert set(ordered.graph.edges) == {("c", "b"), ("b", "a")}
    assert ordered.edges["directed_by"].tolist() == ["constraint", "constraint"]
    forbidden = ldp.learn_network(chain, forbidden=[("a", "b"), ("b", "a")], n_resamples=0)
    assert frozenset("ab") not in said(forbidden)
    assert frozenset("bc") in said(forbidden)


def test_a_required_edge_that_nothing_shows_is_there():
    joint = np.multiply.outer(np.outer(A, [0.2, 0.3, 0.5]), C)
    learned = ldp.learn_network(collected(joint), required=[("c", "a")], n_resamples=0)
    assert said(learned) == {frozenset("ac"): "a"}
    assert learned.edges["why"].tolist() == ["required"]


@pytest.mark.parametrize("name", ["asia", "survey"])
def test_large_collections_find_directions_of_the_true_cpdag_and_no_others(name: str):
    """With hardly any noise: all that pairs tell, and nothing that is wrong."""
    true = network(name)
    people = np.round(true.joint(true.domain.names) * 10**7).astype(int)
    tables = ldp.SampledGroups(true.domain, epsilon=12.0).simulate(people, rng=4)
    learned = ldp.learn_network(tables, n_resamples=0)
    dag = nx.DiGraph(true.edges)
    directed = {edge for edge in learned.cpdag.edges if not learned.cpdag.has_edge(*edge[::-1])}
    assert directed <= set(cpdag_of(dag).edges)
    if name == "asia":
        assert {("tub", "either"), ("lung", "either"), ("either", "xray")} <= directed
    known = v_structures(learned.cpdag)
    assert known <= v_structures(dag)
    assert nx.is_directed_acyclic_graph(learned.graph)


def by_pair(frame: pd.DataFrame, name: str) -> dict[frozenset[str], float]:
    return {frozenset((row["first"], row["second"])): row[name] for row in frame.to_dict("records")}


def test_order_of_columns_and_tables_changes_nothing():
    base = asia()
    names = sorted(base.domain.names, reverse=True)
    tables = [table.reordered(table.attributes[::-1]) for table in list(base)[::-1]]
    learned = ldp.learn_network(base, n_resamples=20)
    other = ldp.learn_network(ldp.TableSet(base.domain.project(names), tables, base.privacy), n_resamples=20)
    assert said(other) == said(learned)
    assert set(other.graph.edges) == set(learned.graph.edges)
    assert by_pair(other.pairs, "confidence") == by_pair(learned.pairs, "confidence")
    for name in ("information", "lower", "upper", "pvalue"):
        assert by_pair(other.edges, name) == pytest.approx(by_pair(learned.edges, name), rel=1e-6, abs=1e-12)


def test_order_of_categories_changes_nothing():
    people = np.round(CHAIN * 20_000).astype(int)
    base = ldp.SampledGroups(ABC, epsilon=3.0, mechanism="grr").simulate(people, rng=1)
    turned = ldp.Domain({name: values[::-1] for name, values in ABC.categories.items()})
    tables = []
    for table in base:
        (block,) = table.blocks
        counts = block.tally.counts.reshape(table.shape)[::-1, ::-1].ravel()
        asked = Question.of(turned, table.attributes)
        again = dataclasses.replace(block, question=asked, tally=dataclasses.replace(block.tally, counts=counts))
        tables.append(ldp.Table(turned.project(table.attributes), (again,), table.privacy))
    learned = ldp.learn_network(base, n_resamples=0)
    other = ldp.learn_network(ldp.TableSet(turned, tables, base.privacy), n_resamples=0)
    pd.testing.assert_frame_equal(other.edges, learned.edges)
    pd.testing.assert_frame_equal(other.pairs, learned.pairs)
    assert other.orientation == learned.orientation


@pytest.mark.parametrize(
    ("method", "k"),
    [("auto", 2), *(pytest.param(one, 3, marks=pytest.mark.exhaustive) for one in ("hill-climb", "pc"))],
)
def test_hash_seed_changes_nothing(method: str, k: int):
    code = (
        "import ldpstats as ldp; from ldpstats.datasets import network; net = network('survey');"
        f"tables = ldp.SampledGroups(net.domain, epsilon=3.0, k={k}).simulate(net.sample(50_000, rng=1), rng=1);"
        f"print(ldp.learn_network(tables, {method!r}, n_resamples=5).to_dict())"
    )
    assert len(printed_under_hash_seeds(code)) == 1


def test_consistent_tables_are_learned_from_as_they_were_collected():
    learned = ldp.learn_network(asia(), n_resamples=0)
    consistent = ldp.learn_network(ldp.make_consistent(asia()), n_resamples=0)
    pd.testing.assert_frame_equal(consistent.edges, learned.edges)
    assert "that consistent ones were made of" in str(consistent.summary())
    assert consistent.n == learned.n


def test_confidence_is_seeded_and_does_not_depend_on_the_method_being_asked_again():
    once, twice = (ldp.learn_network(collected(CHAIN, 3000), n_resamples=30) for _ in range(2))
    pd.testing.assert_frame_equal(once.pairs, twice.pairs)
    other = ldp.learn_network(collected(CHAIN, 3000), n_resamples=30, rng=7)
    assert other.n_resamples == 30
    assert other.pairs["confidence"].between(0, 1).all()
    assert ldp.learn_network(collected(CHAIN), n_resamples=0).pairs["confidence"].isna().all()


def test_confidence_is_high_for_what_is_there_and_low_for_what_is_not():
    learned = ldp.learn_network(collected(COLLIDER), n_resamples=40)
    pairs = learned.pairs.set_index(["first", "second"])
    assert pairs.loc[("a", "b"), "confidence"] == pairs.loc[("b", "c"), "confidence"] == 1
    assert pairs.loc[("a", "c"), "confidence"] < 0.5
    assert pairs.loc[("a", "b"), "forward"] > 0.7
    assert pairs.loc[("b", "c"), "forward"] < 0.3


@pytest.mark.parametrize("protocol", [ldp.WholeView, ldp.ProductDomain])
def test_tables_of_the_same_respondents_are_learned_from(protocol: Callable[..., Any]):
    counts = np.round(CHAIN * 400_000).astype(int)
    learned = ldp.learn_network(protocol(ABC, epsilon=6.0).simulate(counts, rng=1), n_resamples=10)
    assert {frozenset("ab"), frozenset("bc")} <= set(said(learned))


def few_pairs() -> ldp.TableSet:
    return collected(CHAIN, groups=[("a", "b"), ("b", "c")])


def with_reconstructed() -> ldp.TableSet:
    tables = few_pairs()
    return ldp.TableSet(ABC, [*tables, ldp.reconstruct(tables, ["a", "c"])], tables.privacy)


@pytest.mark.parametrize(
    ("given", "options", "came"),
    [
        (lambda: [collected(CHAIN)["a", "b"]], {}, "a list"),
        (lambda: collected(CHAIN), {"method": "tree"}, "method = 'tree'"),
        (lambda: collected(CHAIN), {"alpha": 1.5}, "alpha = 1.5"),
        (lambda: collected(CHAIN), {"n_resamples": -1}, "n_resamples = -1"),
        (lambda: collected(CHAIN), {"required": "ab"}, "required = 'ab'"),
        (lambda: ldp.PerAttribute(ABC, epsilon=1.0).simulate(np.full(12, 99), rng=1), {}, "tell about no two of"),
        (few_pairs, {}, r"no table that identifies \('a', 'c'\), of 3 pairs"),
        (lambda: ldp.TableSet(ABC.project(["a"]), [], collected(CHAIN).privacy), {}, "tables about 'a' alone"),
        (lambda: ldp.TableSet(ABC, [], collected(CHAIN).privacy), {}, "without a single report|no reports"),
        (with_reconstructed, {}, "a reconstructed table of 'a', 'c'"),
    ],
)
def test_what_nothing_can_be_learned_from_is_refused(given: Callable[[], Any], options: dict[str, Any], came: str):
    with pytest.raises(ldp.LdpstatsError, match=came):
        ldp.learn_network(given(), **options)


def test_a_pair_that_nobody_was_asked_about_may_be_forbidden():
    learned = ldp.learn_network(few_pairs(), forbidden=[("a", "c"), ("c", "a")], n_resamples=5)
    assert set(said(learned)) == {frozenset("ab"), frozenset("bc")}


def test_categories_that_nobody_has_are_no_obstacle():
    joint = CHAIN.copy()
    joint[:, 2] = 0
    learned = ldp.learn_network(collected(joint / joint.sum(), 100_000), n_resamples=5)
    assert learned.edges["pvalue"].notna().all()
    assert nx.is_directed_acyclic_graph(learned.graph)


def test_without_redraws_there_is_no_confidence_and_a_note(monkeypatch: pytest.MonkeyPatch):
    def redrawn(*_: object) -> None:
        raise ldp.NotIdentifiedError("a single report", "two")

    monkeypatch.setattr(PairEvidence, "redrawn", redrawn)
    learned = ldp.learn_network(collected(CHAIN))
    assert learned.n_resamples == 0
    assert "no confidence of edges, as counts cannot be drawn again: a single report." in str(learned.summary())
    with pytest.raises(ldp.NotIdentifiedError, match="a single report"):
        ldp.learn_network(collected(CHAIN), n_resamples=5)


def test_methods_are_those_that_are_documented():
    assert set(METHODS) <= set(NETWORK_METHODS)
    for name in NETWORK_METHODS:
        assert f'"{name}"' in str(ldp.learn_network.__doc__)


def test_pairs_with_too_many_cells_are_refused_before_they_take_memory():
    wide = ldp.Domain({name: list(range(80)) for name in "ab"})
    tables = ldp.SampledGroups(wide, epsilon=4.0).simulate(np.ones(6400, dtype=int), rng=1)
    with pytest.raises(ldp.LdpstatsError, match="a and b together: a table of 6,400 cells"):
        ldp.learn_network(tables)


@pytest.mark.parametrize("given", [pd.DataFrame({"a": ["x"], "b": ["p"]}), None, []])
def test_what_is_no_table_set_is_refused_with_the_way_to_one(given: Any):
    for asked in (ldp.learn_network, ldp.make_consistent, ldp.independence_tests):
        with pytest.raises(ldp.LdpstatsError, match=r"Domain\.from_frame\(frame\)"):
            asked(given)
