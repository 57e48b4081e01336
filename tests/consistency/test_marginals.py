"""Noisy marginals: what is added up to a target, what stays apart, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.joint_tables import marginal_of, pairs_of, some_joint

from ldpstats import LdpstatsError, NotIdentifiedError
from ldpstats.consistency.marginals import Marginal, within


def test_a_marginal_is_added_up_to_the_target_with_its_covariance() -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    whole = Marginal(("b", "a"), (3, 2), rng.random(6), root @ root.T, 50)
    alone, turned = (within([whole], target)[0] for target in (["b"], ["a", "b"]))
    assert alone.estimate == pytest.approx([whole.estimate[2 * b : 2 * b + 2].sum() for b in range(3)])
    for one, other in product(range(3), repeat=2):
        block = whole.covariance[2 * one : 2 * one + 2, 2 * other : 2 * other + 2]
        assert alone.covariance[one, other] == pytest.approx(block.sum())
    assert (turned.attributes, turned.shape, turned.n) == (("a", "b"), (2, 3), 50)
    assert turned.estimate == pytest.approx(whole.estimate.reshape(3, 2).T.ravel())
    assert np.diagonal(turned.covariance) == pytest.approx(np.diagonal(whole.covariance).reshape(3, 2).T.ravel())


def test_marginals_of_one_group_stay_apart_and_others_go() -> None:
    joint = some_joint()
    found = within([*pairs_of(joint), marginal_of(joint, ["c"])], ["a", "b"])
    assert [one.attributes for one in found] == [("a", "b"), ("b",), ("a",)]
    assert [one.attributes for one in within(pairs_of(joint), ("b",))] == [("b",), ("b",)]


def test_targets_that_no_marginal_is_about_are_refused_by_name() -> None:
    pair = marginal_of(some_joint(), ("a", "b"))
    with pytest.raises(NotIdentifiedError, match="'c', 'd'"):
        within([pair], ("a", "c", "d"))
    for target in ((), ("a", "a")):
        with pytest.raises(LdpstatsError, match="different attributes"):
            within([pair], target)
