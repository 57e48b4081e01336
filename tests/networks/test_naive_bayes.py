"""Naive Bayes from privatized pairs: the classifier of open counts without noise, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.networks.naive_bayes import naive_bayes

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


def test_what_is_no_set_of_tables_is_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match="a TableSet"):
        naive_bayes(CHILD.sample(10, rng=1), "Disease")


@pytest.mark.parametrize(
    "kind", ["SampledGroups", "WholeView", "PerAttribute", "HadamardCoefficients", "ProductDomain"]
)
def test_tables_of_every_protocol_make_a_classifier(kind: str) -> None:
    domain = CHILD.domain.project(["Disease", "Age", "Sick", "LungFlow"])
    protocol = getattr(ldp, kind)(domain, epsilon=12.0, **({} if kind == "ProductDomain" else {"k": 2}))
    frame, records = CHILD.sample(20_000, rng=1)[list(domain.names)], CHILD.sample(4000, rng=2)
    classifier = naive_bayes(protocol.collect(frame, rng=1), "Disease")
    best = open_posterior(frame, records, "Disease").idxmax(axis=1)
    assert classifier.accuracy(records) > (best == records["Disease"]).mean() - 0.05


def test_few_reports_and_derived_tables_make_one_too() -> None:
    domain = CHILD.domain.project(["Disease", "Age", "Sick"])
    protocol = ldp.SampledGroups(domain, epsilon=1.0)
    few = protocol.simulate(CHILD.sample(20, rng=1)[list(domain.names)], rng=1)
    assert naive_bayes(few, "Disease").predict_proba(CHILD.sample(5, rng=1)).sum(axis=1).to_numpy() == pytest.approx(1)
    many = [protocol.simulate(CHILD.sample(5000, rng=seed)[list(domain.names)], rng=seed) for seed in (1, 2)]
    merged = naive_bayes(many[0] + many[1], "Disease")
    assert merged.fitted.n == 10_000
    agreed = naive_bayes(ldp.make_consistent(many[0]), "Disease")
    plain = naive_bayes(many[0], "Disease")
    assert np.allclose(agreed.network.tables["Age"], plain.network.tables["Age"], atol=1e-6), "the same reports"
    read = ldp.TableSet.from_json(many[0].to_json())
    assert naive_bayes(read, "Disease").network == plain.network
