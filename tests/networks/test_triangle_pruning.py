"""Triangle pruning: what a path explains goes, true loops stay, and the weakest is judged by the noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from ldpstats import Domain, SampledGroups
from ldpstats.arrays import FloatArray
from ldpstats.networks.interactions import Interactions
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import EdgeConstraints
from ldpstats.networks.triangle_pruning import explained_pairs, pruned_pairs

FREE = EdgeConstraints()


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


def test_a_fork_is_as_a_chain() -> None:
    given = np.array([[0.8, 0.2], [0.3, 0.7]])
    joint = np.einsum("b,ba,bc->abc", [0.6, 0.4], given, given)
    assert explained_pairs(evidence_of(joint, 1_000_000), [("a", "b"), ("a", "c"), ("b", "c")]) == {("a", "c")}


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
    known = tuple(replace(one, spread=np.array([[1e-9]])) for one in interactions)
    assert not explained_pairs(replace(noisy, interactions=known), noisy.pairs)
