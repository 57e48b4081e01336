"""The study of classifiers: what it counts of raw records is near to the best that can be."""

from __future__ import annotations

import classifiers as study
import numpy as np
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
