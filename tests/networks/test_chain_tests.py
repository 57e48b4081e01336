"""Tests of chains: exact tables of chains, forks and colliders, against enumeration, and their level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom, norm

import ldpstats as ldp
from ldpstats.networks.chain_tests import ChainTest, ChainTests, verdicts_of
from ldpstats.networks.orientation import Triple

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": ["u", "v", "w"]})
RNG = np.random.default_rng(5)
A, C = np.array([0.3, 0.7]), np.array([0.5, 0.2, 0.3])
GIVEN_A = np.array([[0.6, 0.25, 0.15], [0.2, 0.35, 0.45]])
GIVEN_B = np.array([[0.5, 0.3, 0.2], [0.25, 0.4, 0.35], [0.2, 0.2, 0.6]])
CHAIN = A[:, None, None] * GIVEN_A[:, :, None] * GIVEN_B
COLLIDER = np.einsum("a,c,acb->abc", A, C, RNG.dirichlet(np.ones(3) / 2, size=(2, 3)))


def tables(joint: np.ndarray, n: int = 300_000, epsilon: float = 4.0, seed: int = 1, **more: object) -> ldp.TableSet:
    counts = np.round(joint * n).astype(int)
    return ldp.SampledGroups(DOMAIN, epsilon=epsilon, **more).simulate(counts, rng=seed)


@pytest.mark.parametrize("k", [2, 3])
def test_a_chain_is_all_there_and_a_collider_leaves_nothing(k: int):
    whole = tables(CHAIN, 10**7, 12.0, k=k)
    chain = ChainTests(whole).of(("a", "b", "c"))
    assert chain.share == pytest.approx(1, abs=0.02)
    assert chain.present > 20
    assert chain.half > 10
    collider = ChainTests(tables(COLLIDER, 10**7, 12.0, k=k)).of(("a", "b", "c"))
    assert collider.share == pytest.approx(0, abs=0.02)
    assert abs(collider.present) < 5
    assert collider.half < -10


def test_share_is_that_of_the_definition():
    """With hardly any noise it is the inner product of the formula, whatever the joint distribution is."""
    joint = RNG.dirichlet(np.ones(18)).reshape(2, 3, 3)
    found = ChainTests(tables(joint, 10**9, 20.0)).of(("a", "b", "c"))
    ab, bc, ac = joint.sum(axis=2), joint.sum(axis=0), joint.sum(axis=1)
    a, b, c = ab.sum(axis=1), ab.sum(axis=0), bc.sum(axis=0)
    deviations = ac - np.outer(a, c)
    implied = ((ab - np.outer(a, b)) / b) @ (bc - np.outer(b, c))
    share = (deviations * implied / np.outer(a, c)).sum() / (implied**2 / np.outer(a, c)).sum()
    assert found.share == pytest.approx(share, abs=0.01)
    turned = ChainTests(tables(joint, 10**9, 20.0)).of(("c", "b", "a"))
    assert turned.share == pytest.approx(found.share, rel=1e-9)


@pytest.mark.parametrize(
    "protocol",
    [
        ldp.SampledGroups,
        partial(ldp.PerAttribute, k=2),
        pytest.param(ldp.HadamardCoefficients, marks=pytest.mark.exhaustive),
    ],
)
def test_half_of_a_chain_is_rejected_no_more_often_than_the_level_says(protocol: Callable[..., ldp.Protocol]):
    """False failures: 1e-6, the quantile of the binomial law."""
    runs, ends = 60, CHAIN.sum(axis=1)
    beyond = (ends - np.outer(ends.sum(axis=1), ends.sum(axis=0))) / 2
    # the pairs with b are as before, whatever the weights of its categories are, if these have the sum one
    joint = CHAIN - beyond[:, None, :] * np.array([1.2, 0.65, -0.85])[:, None]
    counts = np.round(joint * 20_000).astype(int)
    found = [
        ChainTests(protocol(DOMAIN, epsilon=4.0).simulate(counts, rng=seed)).of(("a", "b", "c")) for seed in range(runs)
    ]
    for rejected in (sum(one.half < -1.645 for one in found), sum(one.half > 1.645 for one in found)):
        assert rejected <= binom.isf(1e-6, runs, 0.05)


@pytest.mark.parametrize(
    "protocol", [ldp.SampledGroups, partial(ldp.SampledGroups, k=3), partial(ldp.PerAttribute, k=2)]
)
def test_making_margins_agree_is_solving_for_all_cells(
    protocol: Callable[..., ldp.Protocol], monkeypatch: pytest.MonkeyPatch
):
    """Of two collections merged, one of which holds two pairs only."""
    counts = np.round(CHAIN * 20_000).astype(int)
    collected = protocol(DOMAIN, epsilon=2.0).simulate(counts, rng=1)
    collected += ldp.SampledGroups(DOMAIN, epsilon=4.0, groups=[("b", "a"), ("c", "b")]).simulate(counts, rng=2)
    found = [ChainTests(collected).of(triple) for triple in permutations("abc")]

    def none(*_: object) -> None:
        raise ldp.NotIdentifiedError("a table", "none")

    monkeypatch.setattr(ChainTests, "_estimated", none)
    for triple, one in zip(permutations("abc"), found, strict=True):
        assert astuple(ChainTests(collected).of(triple)) == pytest.approx(astuple(one), rel=1e-8, abs=1e-10)


def test_pairs_that_nobody_was_asked_about_tell_nothing():
    some = tables(CHAIN, groups=[("a", "b"), ("b", "c")])
    assert ChainTests(some).of(("a", "b", "c")) is None


def test_so_many_cells_are_not_tested():
    wide = ldp.Domain({name: list(range(17)) for name in "abc"})
    people = wide.decode(np.random.default_rng(1).integers(0, 17, (100, 3)))
    assert ChainTests(ldp.SampledGroups(wide, epsilon=4.0).simulate(people, rng=1)).of(("a", "b", "c")) is None


def test_errors_of_the_two_statistics_correlate_as_it_says():
    """With a rare category in the middle, whose share is an error of its own. False failures: 1e-6."""
    given = np.array([[0.9, 0.1], [0.2, 0.8]])
    joint = np.einsum("b,ba,bc->abc", [0.03, 0.97], given, given).ravel()
    domain, runs, rng = ldp.Domain({name: ["x", "y"] for name in "abc"}), 200, np.random.default_rng(1)
    protocol = ldp.SampledGroups(domain, epsilon=8.0)
    found = [
        ChainTests(protocol.simulate(rng.multinomial(20_000, joint), rng=rng)).of(("a", "b", "c")) for _ in range(runs)
    ]
    seen = np.corrcoef([one.present for one in found], [one.half for one in found])[0, 1]
    said = np.arctanh([one.correlation for one in found]).mean()
    assert abs(np.arctanh(seen) - said) < norm.isf(5e-7) / np.sqrt(runs - 3)


def test_levels_of_verdicts_are_those_of_all_triples_and_of_two_sides():
    def told(tests: dict[Triple, ChainTest]) -> dict[Triple, str]:
        edges = [edge for one, middle, other in tests for edge in ((one, middle), (middle, other))]
        return verdicts_of(edges, tests, {frozenset((one, other)): 0.5 for one, _, other in tests}, 0.05)

    collider = ChainTest(0.0, 0.0, -2.0, 0.9)
    alone = ("a", "b", "c")
    # the level is .05 of one side by itself, and .01 among five
    assert told({alone: collider}) == {alone: "collider"}
    assert told({(f"a{place}", f"b{place}", f"c{place}"): collider for place in range(5)}) == {}
    # and .05 of two sides for what contradicts it
    assert told({alone: replace(collider, present=1.8)}) == {alone: "collider"}
    assert told({alone: replace(collider, present=2.0)}) == {}
    assert told({alone: ChainTest(1.0, 3.0, -1.8, 0.9)}) == {alone: "no collider"}
    assert told({alone: ChainTest(1.0, 3.0, -2.0, 0.9)}) == {}
