"""Classifiers predict what their network says, in the user's categories, and refuse records that they do not know."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from support.noisy_tables import implausible

import ldpstats as ldp
from ldpstats.networks.classifier import Classifier, naive_bayes

DOMAIN = ldp.Domain({"cough": ["yes", "no"], "ill": [0, 1, 2], "fever": [False, True], "age": [30, 40.5]})
PEOPLE = np.random.default_rng(1).dirichlet(np.full(24, 0.5)) * 400_000
PAIRS = [("cough", "ill"), ("ill", "fever"), ("age", "ill")]


@cache
def fitted() -> Classifier:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=5.0, groups=PAIRS)
    return naive_bayes(protocol.simulate(PEOPLE.astype(int), rng=1), "ill")


@cache
def records() -> pd.DataFrame:
    return DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)))


def test_probabilities_are_those_of_the_network_and_predictions_the_most_probable() -> None:
    classifier = fitted()
    joint = classifier.network.joint(DOMAIN.names)
    expected = (joint / joint.sum(axis=1, keepdims=True)).transpose(0, 2, 3, 1)
    codes = DOMAIN.encode(records())
    own = expected[codes[:, 0], codes[:, 2], codes[:, 3]]
    found = classifier.predict_proba(records())
    assert found.columns.tolist() == [0, 1, 2]
    assert found.columns.name == "ill"
    assert np.allclose(found, own, atol=1e-12)
    assert classifier.predict(records()).tolist() == own.argmax(axis=1).tolist()


def test_records_keep_their_index_and_other_columns_play_no_part() -> None:
    classifier, frame = fitted(), records().set_index(pd.Index(range(100, 124)))
    plain = classifier.predict(frame)
    assert plain.index.equals(frame.index)
    assert plain.name == "ill"
    assert classifier.predict(frame[["age", "fever", "cough"]]).equals(plain), "the label and the order play no part"
    assert classifier.predict(frame.assign(shoes="x")).equals(plain)
    assert classifier.predict(frame.iloc[:0]).tolist() == []
    assert classifier.predict_proba(frame.iloc[[3]]).shape == (1, 3)


def test_the_accuracy_counts_right_predictions() -> None:
    classifier = fitted()
    right = classifier.predict(records()) == records()["ill"]
    assert classifier.accuracy(records()) == right.mean()
    assert classifier.accuracy(records()[right]) == 1.0
    with pytest.raises(ldp.LdpstatsError, match="no records"):
        classifier.accuracy(records().iloc[:0])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("cough", "maybe", "maybe"), ("fever", None, "fever"), ("age", 41, "41"), ("cough", "Yes", "Yes")],
)
def test_categories_that_nobody_knows_are_refused(column: str, value: object, message: str) -> None:
    frame = records().astype(object)
    frame.loc[3, column] = value
    with pytest.raises(ldp.DomainError, match=message):
        fitted().predict(frame)


def test_the_summary_says_what_is_assumed_and_promised() -> None:
    shown = str(fitted().summary())
    assert "Naive Bayes, fitted to privatized answers" in shown
    assert "Assumed: features are independent of each other among people with the same ill." in shown
    assert "epsilon = 5 (strict; unit: a respondent's whole record)" in shown
    assert "(simulated)" in shown
    assert repr(fitted()).startswith("<Classifier: Naive Bayes, ill from 3 features, n = ")


def test_a_classifier_of_another_label_is_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match="shoes"):
        Classifier("Naive Bayes", "shoes", fitted().fitted, "nothing")


def test_reports_that_do_not_fit_their_channel_get_a_warning_in_everything_that_is_made_of_them() -> None:
    tables = ldp.SampledGroups(DOMAIN, epsilon=5.0, groups=PAIRS, mechanism="grr").simulate(PEOPLE.astype(int), rng=1)
    found = naive_bayes(ldp.TableSet(DOMAIN, map(implausible, tables), tables.privacy), "ill")
    accuracy = found.expected_accuracy(n_resamples=5)
    for result in (found, accuracy, found.fitted):
        assert "IMPLAUSIBLE" in str(result)
        assert any("IMPLAUSIBLE" in note for note in result.picture().notes)
