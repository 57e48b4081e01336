"""Expected accuracy and posteriors of a label: by definition, by simulation, and what is refused."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from support.random_networks import full_joint, random_network

import ldpstats as ldp
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.classifier import Classifier, naive_bayes
from ldpstats.networks.expected_accuracy import label_posterior

FOUR = ldp.Domain({"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False], "d": [0, 1, 2]})


def some_network(seed: int) -> BayesianNetwork:
    rng = np.random.default_rng(seed)
    order = rng.permutation(FOUR.names).tolist()
    parents = {name: tuple(one for one in order[:place] if rng.random() < 0.6) for place, name in enumerate(order)}
    return random_network(FOUR, parents, seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("label", FOUR.names)
def test_they_are_those_of_the_joint_distribution(seed: int, label: str) -> None:
    network = some_network(seed)
    joint = np.moveaxis(full_joint(network), FOUR.names.index(label), -1)
    expected = joint / joint.sum(axis=-1, keepdims=True)
    codes = np.argwhere(np.ones(FOUR.shape))
    found = label_posterior(network, label, codes)
    others = np.delete(codes, FOUR.names.index(label), axis=1)
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


DOMAIN = ldp.Domain({"label": ["x", "y", "z"], **{name: range(3) for name in "abcdef"}})
STAR = dict.fromkeys("abcdef", ("label",))
PAIRS = [(name, "label") for name in "abcdef"]


def truth(seed: int) -> BayesianNetwork:
    return random_network(DOMAIN, STAR, seed, concentration=4.0)


def test_with_hardly_any_noise_all_rules_are_as_accurate_as_in_the_truth() -> None:
    network, people = truth(1), 10_000_000
    protocol = ldp.SampledGroups(DOMAIN, epsilon=12.0, groups=PAIRS)
    tables = protocol.simulate(np.round(network.joint(DOMAIN.names) * people).astype(int), rng=1)
    found = naive_bayes(tables, "label").expected_accuracy(n_resamples=10).to_frame()
    single = {name: network.joint((name, "label")).max(axis=1).sum() for name in "abcdef"}
    optimal = network.joint(DOMAIN.names).reshape(3, -1).max(axis=0).sum()
    expected = [network.joint(["label"]).max(), max(single.values()), optimal]
    best = max(single, key=single.__getitem__)
    assert found["rule"].tolist() == ["most frequent label", f"best single feature: {best}", "Naive Bayes"]
    assert found["accuracy"].to_numpy() == pytest.approx(expected, abs=0.004), "errors of 200,000 and of 2,000 records"


def test_reports_that_tell_nothing_leave_everything_open() -> None:
    """All 30 people have one label; smoothing makes the fit nearly even, and what it believes .5."""
    domain = ldp.Domain({"y": ["a", "b"], "x": ["p", "q", "r"], "z": [0, 1]})
    tables = ldp.SampledGroups(domain, epsilon=0.2).simulate(np.eye(12, dtype=int)[0] * 30, rng=2)
    found = naive_bayes(tables, "y").expected_accuracy(n_resamples=50)
    lower, upper = found.conf_int()
    assert upper - lower > 0.9
    assert (found.to_frame()["upper"] - found.to_frame()["lower"] > 0.9).all()


@cache
def some_classifier() -> Classifier:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, groups=PAIRS)
    people = np.round(truth(3).joint(DOMAIN.names) * 50_000).astype(int)
    return naive_bayes(protocol.simulate(people, rng=1), "label")


def some_accuracy(**options: object) -> ldp.ExpectedAccuracy:
    return some_classifier().expected_accuracy(n_resamples=5, **options)


def test_it_says_what_it_assumes_and_what_not() -> None:
    found = some_accuracy()
    assert found.to_frame()["assumption"].tolist()[:2] == ["", ""]
    shown = str(found.summary())
    assert "Assumed for the last row: features are independent of each other among people with the same label." in shown
    assert "(simulated)" in shown
    assert "epsilon = 3 (strict" in shown
    assert found.to_dict()["rules"][-1]["rule"] == "Naive Bayes"


def test_a_seed_makes_it_again_and_by_default_it_is_always_the_same() -> None:
    assert some_accuracy().to_frame().equals(some_accuracy().to_frame())
    seeded = some_accuracy(rng=5).to_frame()
    assert some_accuracy(rng=5).to_frame().equals(seeded)
    assert not some_accuracy(rng=6).to_frame().equals(seeded)
    wide, narrow = some_accuracy(alpha=0.01).conf_int(), some_accuracy(alpha=0.5).conf_int()
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
