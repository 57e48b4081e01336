"""Noisy marginals, and those that bear upon a table: what is kept, what is added up, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.joint_tables import marginal_of, pairs_of, some_joint
from support.log_linear_tables import CHAIN, MODELS, SIZES, flat, log_linear, noise_free, spread, summed

from ldpstats import LdpstatsError, NotIdentifiedError, SampledGroups
from ldpstats.consistency.marginals import Marginal, marginals_of, within
from ldpstats.consistency.maximum_entropy import fit_maximum_entropy
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.datasets import network


def test_a_path_through_attributes_outside_the_target_is_used() -> None:
    joint = log_linear(SIZES, CHAIN, np.random.default_rng(10))
    marginals = noise_free(joint, SIZES, CHAIN, n=10**7)
    whole, path = relevant_marginals(marginals, ["d", "a"]), relevant_marginals(marginals, ["d", "a"], most_cells=17)
    assert (whole.attributes, whole.left_out) == (("a", "b", "c", "d", "e"), ())
    assert (path.attributes, path.left_out) == (("a", "b", "c", "d"), ("e",))
    assert [one.attributes for one in path.marginals] == [("a", "b"), ("b", "c"), ("c", "d"), ("d",)]
    expected = summed(joint, list(SIZES), ["d", "a"])
    apart = np.outer(summed(joint, list(SIZES), "d"), summed(joint, list(SIZES), "a")).ravel()
    assert np.abs(expected - apart).max() > 1e-3
    for found in (whole, path):
        fitted = fit_maximum_entropy(found.marginals)
        assert tuple(fitted.terms.tree.sizes) == found.attributes
        assert np.allclose(fitted.marginal(["d", "a"]), expected, rtol=0, atol=1e-8)


def test_other_parts_are_left_alone() -> None:
    marginals = flat([*MODELS["two parts"]], SIZES)
    assert relevant_marginals(marginals, ["a"]).attributes == ("a", "b")
    assert relevant_marginals(marginals, ["e", "b"]).attributes == ("a", "b", "c", "d", "e")
    assert relevant_marginals(marginals, ["a"]).left_out == ()


def test_attributes_that_hang_on_at_one_place_are_left_out_before_any_others() -> None:
    """Both ways round the cycle are kept from b to e, though that over a is shorter."""
    sizes = dict.fromkeys("abcdexyz", 2)
    groups = flat(["ab", "bc", "cd", "de", "ea", "ax", "xy", "yz"], sizes)
    assert relevant_marginals(groups, ["b", "e"], most_cells=36).left_out == ()
    for most in (35, 24):
        found = relevant_marginals(groups, ["b", "e"], most_cells=most)
        assert (found.attributes, found.left_out) == (("a", "b", "c", "d", "e"), ("x", "y", "z"))
    assert relevant_marginals(groups, ["b", "e"], most_cells=23).attributes == ("a", "b", "e")


def test_what_is_too_large_is_joined_by_the_shortest_paths_instead() -> None:
    sizes = dict.fromkeys("abcdefgh", 2)
    ring_and_chords = ["ab", "bc", "cd", "de", "ef", "fg", "gh", "ha", "be", "cf"]
    found = relevant_marginals(flat(ring_and_chords, sizes), ["a", "e"], most_cells=8)
    assert (found.attributes, found.left_out) == (("a", "b", "e"), ("c", "d", "f", "g", "h"))
    assert {one.attributes for one in found.marginals} == {("a", "b"), ("b", "e"), ("a",), ("b",), ("e",)}
    found = relevant_marginals(flat(ring_and_chords, sizes), ["a", "d", "e", "g"], most_cells=20)
    assert found.attributes == ("a", "b", "d", "e", "g", "h")


def test_of_all_pairs_of_many_attributes_those_of_the_target_are_kept() -> None:
    """37 attributes that are all connected have a joint table of 10¹⁶ cells."""
    net, rng = network("alarm"), np.random.default_rng(1)
    wanted = ("HYPOVOLEMIA", "LVFAILURE", "LVEDVOLUME", "CVP")
    protocol = SampledGroups(net.domain, k=2, epsilon=4.0, mechanism="grr")
    marginals = marginals_of(protocol.simulate(net.sample(50_000, rng), rng))
    with pytest.raises(LdpstatsError, match=r"666 marginals of 37 attributes.*`relevant_marginals`"):
        fit_maximum_entropy(marginals)
    found = relevant_marginals(marginals, wanted)
    assert set(found.attributes) == set(wanted)
    assert set(found.left_out) == set(net.domain.names) - set(wanted)
    assert len(found.marginals) == 6 + 4 * 33
    fitted = fit_maximum_entropy(found.marginals)
    assert fitted.converged


def test_marginals_of_one_attribute_from_several_tables_are_pooled() -> None:
    rng = np.random.default_rng(11)
    tables = []
    for other, n in (("b", 4000), ("c", 1000), ("e", 500)):
        cells = np.outer([0.5, 0.3, 0.2], [0.6, 0.4]).ravel() + rng.normal(scale=0.01, size=6)
        cells /= cells.sum()
        tables.append(Marginal(("a", other), (3, 2), cells, spread(cells, n), n))
    found = relevant_marginals(tables, ["a"], most_cells=3)
    assert (found.attributes, found.left_out) == (("a",), ("b", "c", "e"))
    alone = [one.estimate.reshape(3, 2).sum(axis=1) for one in tables]
    weights = np.array([one.n / (cells * (1 - cells)) for one, cells in zip(tables, alone, strict=True)])
    pooled = (weights * alone).sum(axis=0) / weights.sum(axis=0)
    # cells that sum to one share what is missing by their variances
    expected = pooled + (1 - pooled.sum()) * (1 / weights.sum(axis=0)) / (1 / weights.sum(axis=0)).sum()
    assert np.allclose(fit_maximum_entropy(found.marginals).marginal(["a"]), expected, rtol=0, atol=1e-7)


def test_attributes_that_no_group_has_are_named() -> None:
    with pytest.raises(NotIdentifiedError, match="'height', 'shoes'"):
        relevant_marginals(flat(CHAIN, SIZES), ["height", "a", "shoes"])
    with pytest.raises(NotIdentifiedError, match="a target with nothing"):
        relevant_marginals(flat(CHAIN, SIZES), [])


def test_a_group_with_too_many_cells_is_added_up() -> None:
    """A step of the fit would solve 4,095 equations."""
    sizes = {"a": 64, "b": 64, "c": 2}
    groups = flat(["ab", "bc"], sizes)
    with pytest.raises(LdpstatsError, match=r"2,048 terms"):
        fit_maximum_entropy(groups)
    found = relevant_marginals(groups, ["b", "c"])
    assert (found.attributes, found.left_out) == (("b", "c"), ("a",))


def test_a_marginal_is_added_up_to_the_target_with_its_covariance() -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    whole = Marginal(("b", "a"), (3, 2), rng.random(6), root @ root.T, 50)
    alone, turned = (within([whole], target)[0] for target in (("b",), ("a", "b")))
    assert alone.estimate == pytest.approx([whole.estimate[2 * b : 2 * b + 2].sum() for b in range(3)])
    for one, other in product(range(3), repeat=2):
        block = whole.covariance[2 * one : 2 * one + 2, 2 * other : 2 * other + 2]
        assert alone.covariance[one, other] == pytest.approx(block.sum())
    assert (turned.attributes, turned.shape, turned.n) == (("a", "b"), (2, 3), 50)
    assert turned.estimate == pytest.approx(whole.estimate.reshape(3, 2).T.ravel())
    assert np.diagonal(turned.covariance) == pytest.approx(np.diagonal(whole.covariance).reshape(3, 2).T.ravel())


def test_marginals_of_one_group_stay_apart_and_others_go() -> None:
    joint = some_joint()
    found = within([*pairs_of(joint), marginal_of(joint, ["c"])], ("a", "b"))
    assert [one.attributes for one in found] == [("a", "b"), ("b",), ("a",)]
    assert [one.attributes for one in within(pairs_of(joint), ("b",))] == [("b",), ("b",)]


def test_targets_that_no_marginal_is_about_are_refused_by_name() -> None:
    pair = marginal_of(some_joint(), ("a", "b"))
    with pytest.raises(NotIdentifiedError, match="'c', 'd'"):
        within([pair], ("a", "c", "d"))
