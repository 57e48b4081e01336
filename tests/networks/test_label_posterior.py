"""Posteriors of a label are what the joint distribution says, whatever the network."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.random_networks import full_joint, random_network

import ldpstats as ldp
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.label_posterior import label_posterior

DOMAIN = ldp.Domain({"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False], "d": [0, 1, 2]})


def some_network(seed: int) -> BayesianNetwork:
    rng = np.random.default_rng(seed)
    order = rng.permutation(DOMAIN.names).tolist()
    parents = {name: tuple(one for one in order[:place] if rng.random() < 0.6) for place, name in enumerate(order)}
    return random_network(DOMAIN, parents, seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("label", DOMAIN.names)
def test_they_are_those_of_the_joint_distribution(seed: int, label: str) -> None:
    network = some_network(seed)
    joint = np.moveaxis(full_joint(network), DOMAIN.names.index(label), -1)
    expected = joint / joint.sum(axis=-1, keepdims=True)
    codes = np.argwhere(np.ones(DOMAIN.shape))
    found = label_posterior(network, label, codes)
    others = np.delete(codes, DOMAIN.names.index(label), axis=1)
    assert np.allclose(found, expected[tuple(others.T)], atol=1e-12)


def test_an_impossible_record_says_nothing_about_the_label() -> None:
    domain = ldp.Domain({"label": [0, 1], "one": [0, 1], "other": [0, 1]})
    tables = {"label": [0.3, 0.7], "one": [[1, 1], [0, 0]], "other": [[1, 0], [0, 1]]}
    network = BayesianNetwork(domain, {"label": (), "one": ("label",), "other": ("label",)}, tables)
    found = label_posterior(network, "label", np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    assert found.tolist() == [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]


def test_hundreds_of_features_leave_probabilities() -> None:
    """Products of so many would be zero as doubles."""
    names = [f"x{number}" for number in range(900)]
    domain = ldp.Domain({"label": [0, 1], **{name: range(4) for name in names}})
    even = np.full((4, 2), 0.25)
    tables = {"label": np.array([0.2, 0.8]), **dict.fromkeys(names, even)}
    network = BayesianNetwork(domain, {"label": (), **dict.fromkeys(names, ("label",))}, tables)
    assert 0.25 ** len(names) == 0 or math.log10(0.25) * len(names) < -308
    assert np.allclose(label_posterior(network, "label", np.zeros((1, 901), dtype=int)), [[0.2, 0.8]])
