"""Chow and Liu's tree, triangle pruning, and both together: known networks, ties, constraints, and noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

import ldpstats as ldp
from ldpstats import Domain, SampledGroups
from ldpstats.answers.questions import Question
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.datasets import network
from ldpstats.estimation.blocks import Block
from ldpstats.networks.interactions import Interactions
from ldpstats.networks.learning import NETWORK_METHODS, chow_liu_tree, explained_pairs, pruned_pairs, spanning_tree
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import Edge, EdgeConstraints
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table, TableSet

SKELETON_METHODS = {name: one.find for name, one in NETWORK_METHODS.items() if one.of_pairs}
FREE = EdgeConstraints()
SURVEY = network("survey")


@pytest.fixture(scope="module")
def evidence() -> PairEvidence:
    return PairEvidence.of(ldp.SampledGroups(SURVEY.domain, epsilon=5.0).simulate(SURVEY.sample(200_000, 1), rng=1))


def all_trees(names: tuple[str, ...]) -> list[set[Edge]]:
    """Return every tree of a few attributes, from Prüfer's sequences."""
    sequences = product(range(len(names)), repeat=len(names) - 2)
    return [
        {
            tuple(sorted((names[one], names[other]), key=names.index))
            for one, other in nx.from_prufer_sequence(list(code)).edges
        }  # type: ignore[misc]  # two names each
        for code in sequences
    ]


def test_no_tree_is_heavier(evidence: PairEvidence) -> None:
    weight = dict(zip(evidence.pairs, evidence.shrunken, strict=True))
    best = max(all_trees(SURVEY.domain.names), key=lambda tree: sum(weight[edge] for edge in tree))
    assert spanning_tree(evidence, FREE) == best


def test_with_required_and_forbidden_edges_no_allowed_tree_is_heavier(evidence: PairEvidence) -> None:
    weight = dict(zip(evidence.pairs, evidence.shrunken, strict=True))
    known = EdgeConstraints(required=(("sex", "age"),), forbidden=(("age", "education"), ("education", "age")))
    allowed = [
        tree for tree in all_trees(SURVEY.domain.names) if ("age", "sex") in tree and ("age", "education") not in tree
    ]
    best = max(allowed, key=lambda tree: sum(weight[edge] for edge in tree))
    assert spanning_tree(evidence, known) == best
    assert ("age", "sex") in chow_liu_tree(evidence, known, 1e-9).edges


def test_required_edges_that_make_a_circle_are_all_there(evidence: PairEvidence) -> None:
    circle = tuple(combinations(("age", "sex", "transport"), 2))
    found = chow_liu_tree(evidence, EdgeConstraints(required=circle), 0.05).edges
    assert set(circle) <= set(found)


def test_an_order_forbids_no_edge(evidence: PairEvidence) -> None:
    assert spanning_tree(evidence, EdgeConstraints(order=SURVEY.domain.names[::-1])) == spanning_tree(evidence, FREE)


def test_edges_that_no_test_carries_are_left_out(evidence: PairEvidence) -> None:
    carried = {pair for pair, pvalue in zip(evidence.pairs, evidence.adjusted, strict=True) if pvalue <= 0.05}
    assert set(chow_liu_tree(evidence, FREE, 0.05).edges) == spanning_tree(evidence, FREE) & carried
    assert len(carried) < 15


@pytest.mark.parametrize("names", list(permutations(("age", "residence", "transport"))))
def test_ties_do_not_depend_on_the_order_of_attributes(names: tuple[str, ...]) -> None:
    domain = ldp.Domain({name: ["x", "y"] for name in names})
    pairs = ldp.SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate(np.full(8, 300), rng=1)
    one = next(iter(pairs))
    # three tables with the same counts
    tally = one.blocks[0].tally
    questions = [Question(pair, (2, 2), (0, 1, 2, 3)) for pair in combinations(sorted(names), 2)]
    alike = [Table(domain.project(asked.attributes), (Block(asked, tally),), one.privacy) for asked in questions]
    tree = spanning_tree(PairEvidence.of(TableSet(domain, alike, pairs.privacy)), FREE)
    assert {frozenset(edge) for edge in tree} == {
        frozenset(("age", "transport")),
        frozenset(("residence", "transport")),
    }


def evidence_of(joint: FloatArray, n: int, epsilon: float = 6.0, names: str = "abc") -> PairEvidence:
    domain = Domain({name: list(range(size)) for name, size in zip(names, joint.shape, strict=True)})
    return PairEvidence.of(SampledGroups(domain, epsilon=epsilon).simulate((joint * n).round().astype(int), rng=1))


def chain_of_three(categories: int = 3, kept: float = 0.7) -> FloatArray:
    """Return a → b → c, each with `kept` of the values before it."""
    given = np.full((categories, categories), (1 - kept) / (categories - 1))
    np.fill_diagonal(given, kept)
    joint: FloatArray = np.einsum("ab,bc->abc", given / categories, given)
    return joint


def loop() -> FloatArray:
    """Return c, which depends on both a and b, and a on b: the weakest pair is stronger than the path."""
    both = np.array([[0.4, 0.1], [0.1, 0.4]])
    given = np.array([[0.9, 0.45], [0.55, 0.1]])
    joint: FloatArray = np.stack([both * given, both * (1 - given)], axis=-1)
    return joint


@pytest.mark.parametrize("categories", [2, 3, 4])
def test_the_ends_of_a_chain_are_explained(categories: int) -> None:
    evidence = evidence_of(chain_of_three(categories), 600_000)
    assert explained_pairs(evidence, evidence.pairs) == {("a", "c")}
    assert pruned_pairs(evidence, FREE, 0.05).edges == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_loop_stays_in_any_order(order: tuple[int, ...]) -> None:
    evidence = evidence_of(loop().transpose(order), 600_000)
    assert not explained_pairs(evidence, evidence.pairs)
    assert len(pruned_pairs(evidence, FREE, 0.05).edges) == 3


def test_without_the_reports_to_tell_a_loop_is_a_path() -> None:
    few = evidence_of(loop(), 300, epsilon=3.0)
    assert len(explained_pairs(few, few.pairs)) == 1


def test_only_dependent_pairs_explain() -> None:
    evidence = evidence_of(chain_of_three(), 600_000)
    assert not explained_pairs(evidence, [("a", "b"), ("a", "c")])


def test_a_required_pair_stays_and_a_forbidden_one_explains_all_the_same() -> None:
    evidence = evidence_of(chain_of_three(), 600_000)
    required = pruned_pairs(evidence, EdgeConstraints(required=(("a", "c"),)), 0.05)
    assert required.edges == evidence.pairs
    forbidden = pruned_pairs(evidence, EdgeConstraints(forbidden=(("a", "b"), ("b", "a"))), 0.05)
    assert forbidden.edges == (("b", "c"),)


def test_longer_paths_explain_their_ends_by_any_attribute_between() -> None:
    given = np.array([[0.85, 0.15], [0.15, 0.85]])
    joint = np.einsum("ab,bc,cd->abcd", given / 2, given, given)
    found = pruned_pairs(evidence_of(joint, 2_000_000, names="abcd"), FREE, 0.05)
    assert found.edges == (("a", "b"), ("b", "c"), ("c", "d"))


def test_pairs_must_be_significant_among_all() -> None:
    evidence = evidence_of(chain_of_three(), 600_000)
    altered = replace(evidence, pvalue=np.array([0.01, 0.2, 0.02]))
    assert pruned_pairs(altered, FREE, 0.05).edges == (("a", "b"),)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_paths_are_followed_in_any_order_through_categories_of_any_number(order: tuple[int, ...]) -> None:
    before = np.array([[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]])
    after = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.8, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7]])
    joint = np.einsum("a,ab,bc->abc", [0.4, 0.6], before, after).transpose(order)
    names = "".join("abc"[place] for place in order)
    evidence = evidence_of(joint, 2_000_000, names=names)
    assert {frozenset(pair) for pair in explained_pairs(evidence, evidence.pairs)} == {frozenset("ac")}


@pytest.mark.parametrize("wide", [("a", "b"), ("b", "c")])
def test_the_noise_of_either_leg_is_noise_of_the_path(wide: tuple[str, str]) -> None:
    evidence = evidence_of(chain_of_three(2), 600_000)
    assert evidence.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    variances = [0.08 if pair == wide else 1e-9 for pair in evidence.pairs]
    interactions = tuple(Interactions(np.array([[0.5]]), np.array([[variance]])) for variance in variances)
    # the path makes .25 ± .14 of a correlation of .5
    noisy = replace(evidence, interactions=interactions, shrunken=np.array([0.2, 0.1, 0.2]))
    assert explained_pairs(noisy, noisy.pairs) == {("a", "c")}
    known = tuple(replace(one, given_covariance=np.array([[1e-9]])) for one in interactions)
    assert not explained_pairs(replace(noisy, interactions=known), noisy.pairs)


def test_auto_is_the_tree_and_the_loops() -> None:
    net = network("survey")
    evidence = PairEvidence.of(SampledGroups(net.domain, epsilon=4.0).simulate(net.sample(100_000, 1), rng=1))
    found = {method: set(find(evidence, FREE, 0.05).edges) for method, find in SKELETON_METHODS.items()}
    assert found["auto"] == found["chow-liu"] | found["pruned"]


def test_independent_attributes_are_hardly_ever_joined() -> None:
    domain = Domain({name: ["yes", "no"] for name in "abcd"})
    protocol, runs = SampledGroups(domain, epsilon=2.0), 40
    found = [PairEvidence.of(protocol.simulate(np.full(16, 300), rng=seed)) for seed in range(runs)]
    most = binom.isf(FALSE_FAILURE_RATE, runs, 0.05)
    for find in SKELETON_METHODS.values():
        assert sum(bool(find(evidence, FREE, 0.05).edges) for evidence in found) <= most
