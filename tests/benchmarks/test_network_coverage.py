"""The study of intervals of networks: a slice of it, and that it sees intervals that are too short."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from network_coverage import ANYWHERE, MEAN, Setting, by_setting, measure


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["survey", "asia"])
def test_intervals_of_parameters_and_of_queries_hold_the_truth(name: str) -> None:
    found = by_setting(pd.DataFrame(measure(Setting(name, tree=True, n=100_000, epsilon=2.0, runs=40))))
    # of 40 runs with at least 25 points the mean has a standard error of about .01
    assert (found["mean"] >= MEAN - 0.03).all()
    assert (found.missed == 0).all()


def test_the_truth_of_a_tree_is_that_of_its_network() -> None:
    setting = Setting("asia", tree=True, n=1, epsilon=1.0)
    tree, whole = setting.truth, Setting("asia", tree=False, n=1, epsilon=1.0).truth
    np.testing.assert_allclose(tree.joint(["dysp", "bronc"]), whole.joint(["dysp", "bronc"]))
    assert len(setting.queries()) == len({str(one) for one in setting.queries()})
    assert setting.queries() == setting.queries()


def test_points_that_are_missed_are_counted() -> None:
    rows = pd.DataFrame(measure(Setting("survey", tree=True, n=10_000, epsilon=4.0, runs=2)))
    shown = by_setting(rows.assign(runs=100, held=[75, *[100] * (len(rows) - 1)]))
    assert shown.missed.sum() == 1
    assert ANYWHERE == 0.9
    assert rows.truth.between(0, 1).all()
