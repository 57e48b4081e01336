"""The study of classifiers: a slice of it, and that what it counts is what classifiers say."""

from __future__ import annotations

import classifiers as study
import numpy as np
import pandas as pd
import pytest

from ldpstats.datasets import network

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds


def test_what_is_counted_of_raw_records_is_near_to_the_best() -> None:
    net = network("asia")
    train, test = net.sample(50_000, rng=1), net.sample(5000, rng=2)
    joint = net.joint(net.domain.names)
    label = net.domain.names.index("dysp")
    codes = net.domain.encode(test)
    best = np.moveaxis(joint, label, -1).argmax(axis=-1)[tuple(np.delete(codes, label, axis=1).T)]
    optimal = float(np.mean(best == codes[:, label]))
    assert optimal - 0.05 < study.counted(train, test, "dysp") <= optimal + 0.005


def test_a_slice_of_accuracies() -> None:
    rows = pd.DataFrame(study.compared(("asia", 100_000, 0))).set_index(["classifier", "ε"])["accuracy"]
    assert rows["naive Bayes, pairs", 4.0] > rows["most frequent label"].item() + 0.1
    assert abs(rows["naive Bayes, pairs", 4.0] - rows["naive Bayes of raw records"].item()) < 0.03


def test_a_slice_of_intervals() -> None:
    """Of 40 intervals at .95 fewer than 29 hold the truth less than once in 10^6."""
    rows = pd.DataFrame([study.covered((100_000, 2.0, seed)) for seed in range(40)])
    assert rows["covered"].sum() >= 29
    assert abs(rows["bias"].mean()) < 0.02
