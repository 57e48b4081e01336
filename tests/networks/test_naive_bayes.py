"""Naive Bayes, plain and with a tree: known laws, each report once, and what is refused."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import rel_entr
from scipy.stats import binom, norm
from support.random_networks import random_network
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import BayesianNetwork
from ldpstats.datasets import network
from ldpstats.networks.classifier import _asked_with_label, conditional_information, naive_bayes, tree_augmented
from ldpstats.networks.interactions import ErrorAxes, posteriors

CHILD = network("child")
FEATURES = tuple(name for name in CHILD.domain.names if name != "Disease")


def pairs_with(label: str, domain: ldp.Domain = CHILD.domain) -> list[tuple[str, str]]:
    return [(name, label) for name in domain.names if name != label]


def open_posterior(train: pd.DataFrame, records: pd.DataFrame, label: str) -> pd.DataFrame:
    """Count naive Bayes on open records."""
    prior = train[label].value_counts(normalize=True)
    found = pd.DataFrame(dict(prior.items()), index=records.index)
    for name in train.columns.drop(label):
        given = pd.crosstab(train[name], train[label], normalize="columns")
        found *= given.loc[records[name], found.columns].to_numpy()
    return found.div(found.sum(axis=1), axis=0)


def test_without_noise_it_is_that_of_open_counts() -> None:
    """Every respondent answers every pair; smoothing counts for a few of 20,000."""
    train, records = CHILD.sample(20_000, rng=1), CHILD.sample(400, rng=2)
    names = ["Disease", "Age", "LungFlow", "Sick"]
    domain = CHILD.domain.project(names)
    tables = ldp.ProductDomain(domain, epsilon=400.0).collect(train, rng=3)
    classifier = naive_bayes(tables, "Disease")
    expected = open_posterior(train[names], records, "Disease")
    found = classifier.predict_proba(records)[expected.columns.tolist()]
    assert np.abs(found.to_numpy() - expected.to_numpy()).max() < 0.02
    same = classifier.predict(records) == expected.idxmax(axis=1)
    assert same.mean() >= 0.99


def test_the_label_is_pooled_from_all_reports_about_it() -> None:
    protocol = ldp.SampledGroups(CHILD.domain, epsilon=3.0, groups=pairs_with("Disease"))
    tables = protocol.simulate(CHILD.sample(50_000, rng=1), rng=1)
    pooled = tables.pooled("Disease").estimate
    assert np.allclose(naive_bayes(tables, "Disease").network.tables["Disease"], pooled, atol=1e-3)


def test_features_are_those_that_were_asked_with_the_label() -> None:
    protocol = ldp.SampledGroups(
        CHILD.domain, epsilon=3.0, groups=[("Age", "Disease"), ("Sick", "Disease"), ("CO2", "LVH")]
    )
    tables = protocol.simulate(CHILD.sample(3000, rng=1), rng=1)
    classifier = naive_bayes(tables, "Disease")
    assert classifier.features == tuple(name for name in FEATURES if name in ("Age", "Sick"))
    assert any("left out: " in note and "CO2" in note for note in classifier.notes)
    one = naive_bayes(tables, "Disease", features=["Sick"])
    assert (one.features, one.notes) == (("Sick",), ())
    assert naive_bayes(tables, "Disease", features="Sick").features == ("Sick",)


@pytest.mark.parametrize(
    ("label", "features", "message"),
    [
        ("CO2", None, "asks for them"),
        ("Disease", ["Age", "LVH"], r"'Disease' together with 'LVH'.*groups=\[\('LVH', 'Disease'\)\]"),
        ("Disease", ["Age", "Disease"], "among the features"),
        ("Disease", ["Age", "shoes"], "shoes"),
        ("Disease", ["Age", "Age"], "Age"),
        ("shoes", None, "shoes"),
    ],
)
def test_what_was_never_asked_is_refused(label: str, features: list[str] | None, message: str) -> None:
    protocol = ldp.SampledGroups(
        CHILD.domain, epsilon=3.0, groups=[("Age", "Disease"), ("Sick", "Disease"), ("LVH", "Age")]
    )
    tables = protocol.simulate(CHILD.sample(3000, rng=1), rng=1)
    with pytest.raises(ldp.LdpstatsError, match=message):
        naive_bayes(tables, label, features=features)


def test_a_label_alone_has_no_features() -> None:
    domain = CHILD.domain.project(["Disease"])
    alone = ldp.SampledGroups(domain, k=1, epsilon=1.0).simulate(np.full(6, 100), rng=1)
    with pytest.raises(ldp.LdpstatsError, match="tables about 'Disease' alone"):
        naive_bayes(alone, "Disease")


@pytest.mark.parametrize("kind", ["WholeView", "PerAttribute"])
def test_tables_of_common_respondents_make_a_classifier(kind: str) -> None:
    domain = CHILD.domain.project(["Disease", "Age", "Sick", "LungFlow"])
    protocol = getattr(ldp, kind)(domain, epsilon=12.0, k=2)
    frame, records = CHILD.sample(20_000, rng=1)[list(domain.names)], CHILD.sample(4000, rng=2)
    classifier = naive_bayes(protocol.collect(frame, rng=1), "Disease")
    best = open_posterior(frame, records, "Disease").idxmax(axis=1)
    assert classifier.accuracy(records) > (best == records["Disease"]).mean() - 0.05


def test_few_reports_and_derived_tables_make_one_too() -> None:
    domain = CHILD.domain.project(["Disease", "Age", "Sick"])
    protocol = ldp.SampledGroups(domain, epsilon=1.0)
    few = protocol.simulate(CHILD.sample(20, rng=1)[list(domain.names)], rng=1)
    assert naive_bayes(few, "Disease").predict_proba(CHILD.sample(5, rng=1)).sum(axis=1).to_numpy() == pytest.approx(1)
    many = protocol.simulate(CHILD.sample(5000, rng=1)[list(domain.names)], rng=1)
    agreed, plain = naive_bayes(ldp.make_consistent(many), "Disease"), naive_bayes(many, "Disease")
    assert np.allclose(agreed.network.tables["Age"], plain.network.tables["Age"], atol=1e-6), "the same reports"


DOMAIN = ldp.Domain(
    {"e": range(3), "b": range(2), "label": ["x", "y", "z"], "a": range(2), "d": range(3), "c": range(2)}
)
JOINED = tuple(name for name in DOMAIN.names if name != "label")
TREE = {"a": ("label",), "b": ("label", "a"), "c": ("label", "b"), "d": ("label", "b"), "e": ("label",)}
"""c and d depend on b, and b on a; e on the label alone."""


@cache
def truth() -> BayesianNetwork:
    return random_network(DOMAIN, TREE, seed=5, concentration=0.7)


def population(network: BayesianNetwork, n: int) -> np.ndarray:
    return np.round(network.joint(network.domain.names) * n).astype(int)


def triples(domain: ldp.Domain, label: str = "label") -> list[tuple[str, str, str]]:
    return [(*pair, label) for pair in combinations([name for name in domain.names if name != label], 2)]


@cache
def clear() -> ldp.TableSet:
    """Return triples of many respondents at a high level."""
    protocol = ldp.SampledGroups(DOMAIN, epsilon=8.0, groups=triples(DOMAIN))
    return protocol.simulate(population(truth(), 2_000_000), rng=1)


def exact_information(network: BayesianNetwork, first: str, second: str) -> float:
    joint = network.joint((first, second, "label"))
    with_first, with_second = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    return float(rel_entr(joint, with_first * with_second / joint.sum(axis=(0, 1))).sum())


def joined(classifier: object) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in classifier.network.edges if "label" not in edge}


def test_the_conditional_information_of_pairs_is_that_of_the_truth() -> None:
    naive = naive_bayes(clear(), "label").network
    found = conditional_information(_asked_with_label(clear(), "label", JOINED), "label", naive)
    assert list(found) == list(combinations(JOINED, 2))
    for pair, nats in found.items():
        assert nats == pytest.approx(exact_information(truth(), *pair), abs=0.01), pair


def test_a_tree_is_found_and_directed_away_from_the_first_of_its_names() -> None:
    network = tree_augmented(clear(), "label").network
    assert network.parents == {"label": (), **{name: tuple(sorted(own)) for name, own in TREE.items()}}
    for name, own in network.parents.items():
        order = [0, *(1 + truth().parents[name].index(one) for one in own)]
        assert np.abs(network.tables[name] - truth().tables[name].transpose(order)).max() < 0.05


def test_independent_features_are_rarely_joined() -> None:
    """Under no dependence at all the false discovery rate is the rate of runs with any edge: 5 %."""
    domain = ldp.Domain({"label": [0, 1], **{name: range(2) for name in "abc"}})
    network = random_network(domain, dict.fromkeys("abc", ("label",)), seed=2, concentration=3.0)
    runs, most = 40, 11
    assert binom.sf(most, runs, 0.05) < 1e-6
    protocol = ldp.SampledGroups(domain, epsilon=2.0, groups=triples(domain))
    people = population(network, 60_000)
    false = sum(bool(joined(tree_augmented(protocol.simulate(people, rng=seed), "label"))) for seed in range(runs))
    assert false <= most


def test_without_an_edge_it_is_naive_bayes() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=0.5, groups=triples(DOMAIN))
    tables = protocol.simulate(population(truth(), 500), rng=1)
    classifier = tree_augmented(tables, "label")
    assert classifier.network == naive_bayes(tables, "label").network
    assert classifier.notes == (
        "0 pairs are joined, their independence given label being rejected; the direction is a choice.",
    )


def test_the_order_of_columns_and_tables_changes_nothing() -> None:
    turned = ldp.Domain({name: DOMAIN.categories[name] for name in reversed(DOMAIN.names)})
    moved = [table.reordered(table.attributes[::-1]) for table in reversed(clear().tables)]
    other = tree_augmented(ldp.TableSet(turned, moved, clear().privacy), "label")
    plain = tree_augmented(clear(), "label")
    assert {frozenset(edge) for edge in other.network.edges} == {frozenset(edge) for edge in plain.network.edges}
    assert other.network.parents.items() == plain.network.parents.items()
    records = truth().sample(100, rng=1)
    assert np.allclose(other.predict_proba(records), plain.predict_proba(records), atol=1e-6)


def test_only_what_was_asked_together_can_be_joined() -> None:
    groups = [("a", "b", "label"), ("c", "d", "label"), ("e", "label")]
    tables = ldp.SampledGroups(DOMAIN, epsilon=8.0, groups=groups).simulate(population(truth(), 500_000), rng=1)
    classifier = tree_augmented(tables, "label")
    assert joined(classifier) == {frozenset("ab"), frozenset("cd")}
    assert classifier.features == JOINED
    assert "8 of 10 pairs of features were not asked together with label, and cannot be joined." in classifier.notes
    shown = spoken(classifier.summary())
    assert "Tree-augmented naive Bayes" in shown
    assert "a – b" in shown
    assert "depends on no other but its neighbours in the tree" in shown


def test_crossed_answers_of_single_attributes_hold_triples() -> None:
    domain = DOMAIN.project(["a", "b", "label"])
    protocol = ldp.PerAttribute(domain, epsilon=24.0, k=2)
    frame = truth().sample(20_000, rng=1)[list(domain.names)]
    assert joined(tree_augmented(protocol.collect(frame, rng=1), "label")) == {frozenset("ab")}


def test_pairs_alone_are_refused_with_the_triples_to_ask() -> None:
    pairs = ldp.SampledGroups(DOMAIN, epsilon=2.0).simulate(population(truth(), 20_000), rng=1)
    with pytest.raises(ldp.NotIdentifiedError, match=r"groups=\[\('e', 'b', 'label'\), .* \(10 in all\)\]"):
        tree_augmented(pairs, "label")
    with pytest.raises(ldp.NotIdentifiedError, match="naive_bayes needs pairs alone"):
        tree_augmented(pairs, "label", features=["a", "b"])
    with pytest.raises(ldp.LdpstatsError, match="'a' as the only feature"):
        tree_augmented(clear(), "label", features=["a"])
    with pytest.raises(ldp.LdpstatsError, match="alpha"):
        tree_augmented(clear(), "label", alpha=0)


def test_the_noise_within_a_label_is_that_of_its_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variances that are shrunken by, beside those of 300 sets. False failures: 1e-6."""
    domain, size, rng = DOMAIN.project(["b", "a", "label"]), 300, np.random.default_rng(1)
    known = random_network(domain, {"a": ("label",), "b": ("label",)}, seed=5)
    protocol, seen = ldp.SampledGroups(domain, k=3, epsilon=4.0), list[tuple[np.ndarray, np.ndarray]]()

    def kept(strata: list[ErrorAxes]) -> list[tuple[np.ndarray, np.ndarray]]:
        found = [(one.correlations(one.along), one.covariance) for one in strata]
        seen.append(tuple(np.ravel(both) for both in zip(*found, strict=True)))
        return posteriors(strata)

    monkeypatch.setitem(conditional_information.__globals__, "posteriors", kept)
    for _ in range(size):
        tables = protocol.simulate(rng.multinomial(20_000, known.joint(domain.names).ravel()), rng=rng)
        conditional_information({("b", "a"): tables["b", "a", "label"]}, "label", known)
    correlations, variances = map(np.array, zip(*seen, strict=True))
    assert correlations.shape == (size, 3)
    ratios = correlations.var(axis=0, ddof=1) / variances.mean(axis=0)
    assert np.all(np.abs(ratios - 1) < norm.isf(1e-6 / 6) * np.sqrt(2 / size))
