"""Expected accuracy: right where the model holds, corrected for what a fit believes of itself, and honest about it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from support.random_networks import random_network

import ldpstats as ldp
from ldpstats import BayesianNetwork
from ldpstats.networks.classifier import Classifier
from ldpstats.networks.expected_accuracy import expected_accuracies
from ldpstats.networks.label_posterior import label_posterior
from ldpstats.networks.naive_bayes import naive_bayes

DOMAIN = ldp.Domain({"label": ["x", "y", "z"], **{name: range(3) for name in "abcdef"}})
STAR = dict.fromkeys("abcdef", ("label",))
PAIRS = [(name, "label") for name in "abcdef"]


def truth(seed: int) -> BayesianNetwork:
    return random_network(DOMAIN, STAR, seed, concentration=4.0)


def exact_accuracy(network: BayesianNetwork, classifier: Classifier) -> float:
    """Return the probability that a classifier is right where a network is the truth, going through all records."""
    codes = np.argwhere(np.ones(DOMAIN.shape))
    chosen = label_posterior(classifier.network, "label", codes).argmax(axis=1)
    return float(network.joint(DOMAIN.names).ravel()[codes[:, 0] == chosen].sum())


def test_it_covers_the_accuracy_that_there_is_where_the_assumption_holds() -> None:
    """Of 20 intervals at .9 at least 10; fewer come less than once in 10^6. benchmarks/classifiers.py has 1,000."""
    runs, level, least = 20, 0.9, 10
    assert binom.cdf(least - 1, runs, level) < 1e-6
    protocol = ldp.SampledGroups(DOMAIN, epsilon=1.5, groups=PAIRS)
    covered, errors, believed = 0, [], []
    for seed in range(runs):
        network = truth(seed)
        people = np.random.default_rng(seed).multinomial(20_000, network.joint(DOMAIN.names).ravel())
        classifier = naive_bayes(protocol.simulate(people.reshape(DOMAIN.shape), rng=seed), "label")
        found = classifier.expected_accuracy(alpha=1 - level, n_resamples=40, rng=seed)
        own = exact_accuracy(network, classifier)
        covered += found.conf_int()[0] <= own <= found.conf_int()[1]
        errors.append(found.estimate - own)
        believed.append(exact_accuracy(classifier.network, classifier) - own)
    assert covered >= least
    assert abs(np.mean(errors)) < abs(np.mean(believed))


def test_simpler_rules_are_those_of_exact_margins() -> None:
    network = truth(1)
    rules, found = expected_accuracies(network, [network] * 2, "label", 0.05, np.random.default_rng(1))
    single = {name: network.joint((name, "label")).max(axis=1).sum() for name in "abcdef"}
    assert rules == ("most frequent label", f"best single feature: {max(single, key=single.__getitem__)}")
    assert np.allclose(found[:2, 0], [network.joint(["label"]).max(), max(single.values())], atol=1e-12)
    optimal = network.joint(DOMAIN.names).reshape(3, -1).max(axis=0).sum()
    assert np.ptp(found, axis=1) == pytest.approx(0), "nothing was drawn anew"
    assert found[2, 0] == pytest.approx(optimal, abs=0.006), "200,000 records: a standard error below .001"


def test_without_any_dependence_it_is_that_of_the_most_frequent_label() -> None:
    domain = ldp.Domain({"label": [0, 1], "a": range(3), "b": range(3)})
    people = np.multiply.outer(np.multiply.outer([30_000, 20_000], [0.2, 0.3, 0.5]), [0.4, 0.3, 0.3])
    tables = ldp.SampledGroups(domain, epsilon=1.0).simulate(people.astype(int), rng=1)
    found = naive_bayes(tables, "label").expected_accuracy(rng=1)
    assert found.conf_int()[0] <= 0.6 <= found.conf_int()[1]
    assert found.table["rule"].tolist()[0] == "most frequent label"
    assert found.table["accuracy"].to_numpy() == pytest.approx(0.6, abs=0.03)


def some_accuracy(**options: object) -> ldp.networks.expected_accuracy.ExpectedAccuracy:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, groups=PAIRS)
    people = np.round(truth(3).joint(DOMAIN.names) * 50_000).astype(int)
    return naive_bayes(protocol.simulate(people, rng=1), "label").expected_accuracy(n_resamples=30, **options)


def test_it_says_what_it_assumes_and_what_not() -> None:
    found = some_accuracy()
    assert found.to_frame()["assumption"].tolist()[:2] == ["", ""]
    shown = str(found.summary())
    assert "Assumed for the last row: features are independent of each other among people with the same label." in shown
    assert "(simulated)" in shown
    assert "epsilon = 3 (strict" in shown
    assert repr(found).startswith("<ExpectedAccuracy of label: 0.")
    assert found.to_dict()["rules"][-1]["rule"] == "Naive Bayes"


def test_a_seed_makes_it_again_and_by_default_it_is_always_the_same() -> None:
    assert some_accuracy().to_frame().equals(some_accuracy().to_frame())
    assert some_accuracy(rng=5).to_frame().equals(some_accuracy(rng=5).to_frame())
    assert not some_accuracy(rng=5).to_frame().equals(some_accuracy(rng=6).to_frame())
    wide, narrow = some_accuracy(rng=5, alpha=0.01).conf_int(), some_accuracy(rng=5, alpha=0.5).conf_int()
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(("options", "message"), [({"alpha": 0}, "alpha"), ({"alpha": 1.5}, "alpha")])
def test_levels_that_are_none_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ldp.LdpstatsError, match=message):
        some_accuracy(**options)
