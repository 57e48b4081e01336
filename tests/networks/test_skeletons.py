"""Skeletons from the evidence of pairs: trees, loops, what a path explains, constraints, and what changes nothing."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import binom

from ldpstats import Domain, SampledGroups
from ldpstats.arrays import FloatArray
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.datasets import network
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.skeletons import SKELETON_METHODS
from ldpstats.networks.structure import EdgeConstraints
from ldpstats.tables import TableSet

FREE = EdgeConstraints()
AGREE = np.array([[0.4, 0.1], [0.1, 0.4]])


def chain(names: str, strength: FloatArray = AGREE) -> TableSet:
    """Return exact pairs of binary attributes of which each depends on the one before."""
    domain = Domain({name: ["yes", "no"] for name in names})
    given, joint = strength / strength.sum(axis=1, keepdims=True), np.array([0.5, 0.5])
    for _ in names[1:]:
        joint = joint[..., None] * given
    return SampledGroups(domain, epsilon=8.0).simulate((joint * 2_000_000).round().astype(int).ravel(), rng=1)


def edges(tables: TableSet, method: str, constraints: EdgeConstraints = FREE) -> set[tuple[str, str]]:
    return set(SKELETON_METHODS[method](PairEvidence.of(tables), constraints, 0.05).edges)


@pytest.mark.parametrize("method", sorted(SKELETON_METHODS))
@pytest.mark.parametrize("names", list(permutations("abc")))
def test_a_chain_is_found_in_any_order_of_its_attributes(method: str, names: tuple[str, ...]) -> None:
    tables = chain("abc")
    turned = TableSet(tables.domain.project(names), [tables[pair] for pair in combinations(names, 2)], tables.privacy)
    assert {frozenset(edge) for edge in edges(turned, method)} == {frozenset("ab"), frozenset("bc")}


@pytest.mark.parametrize("method", sorted(SKELETON_METHODS))
def test_required_edges_are_in_and_forbidden_ones_out(method: str) -> None:
    known = EdgeConstraints(required=(("d", "a"),), forbidden=(("b", "c"), ("c", "b")))
    found = edges(chain("abcd"), method, known)
    assert ("a", "d") in found
    assert ("b", "c") not in found


def test_the_order_of_everything_changes_no_edge() -> None:
    net = network("asia")
    tables = SampledGroups(net.domain, epsilon=4.0).simulate(net.sample(100_000, 1), rng=1)
    names = np.random.default_rng(1).permutation(net.domain.names).tolist()
    turned = TableSet(net.domain.project(names), list(tables)[::-1], tables.privacy)
    for method in SKELETON_METHODS:
        one, other = (set(map(frozenset, edges(each, method))) for each in (tables, turned))
        assert one == other


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
