"""The study of conditional proportions: a slice of it, and that what it counts is what tables say."""

from __future__ import annotations

import conditional_coverage as study
import numpy as np
import pandas as pd
import pytest
from reconstruction_populations import Setting

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds


@pytest.mark.parametrize("kind", study.KINDS)
def test_populations_are_what_they_are_called(kind: str) -> None:
    for rows, columns in study.SHAPES:
        setting = study.Collected(rows, columns, kind, "grr", 1.0, 500)
        assert setting.cells.sum() == pytest.approx(1)
        assert [truth for _, _, truth in study.proportions(setting)] == pytest.approx(
            (setting.cells / setting.cells.sum(axis=1, keepdims=True)).ravel()
        )


@pytest.mark.parametrize("kind", ["even", "empty", "row of 3 people"])
def test_all_tallies_of_twenty_reports(kind: str) -> None:
    rows = pd.DataFrame(study.measure((1, study.Collected(2, 2, kind, "grr", 4.0, 20))))
    assert rows["now"].min() >= 0.93
    assert rows["fieller"].min() < rows["now"].min()


@pytest.mark.parametrize(
    ("mechanism", "kind", "n"), [("oue", "extreme", 500), ("ss", "row of .01", 500), ("grr", "empty", 5_000)]
)
def test_a_slice(mechanism: str, kind: str, n: int) -> None:
    """Of 400 intervals that hold the truth 95 % of the time, fewer than 341 do once in 10^11."""
    rows = pd.DataFrame(study.measure((1, study.Collected(4, 3, kind, mechanism, 4.0, n, runs=400))))
    assert rows["now"].min() > 0.85
    assert set(study.report(rows, ["kind"])["asked"]) <= {"met", "missed"}


def test_whole_tables_say_what_is_counted() -> None:
    """Their own intervals, of 60 tables of a fixed seed: fewer than 42 of 60 hold the truth once in 10^8."""
    setting, rng = study.Collected(2, 2, "row of 3 people", "grr", 4.0, 500), np.random.default_rng(1)
    limits = np.array([setting.table(rng).conditional("a1", given="a0").conf_int() for _ in range(60)])
    truth = setting.cells / setting.cells.sum(axis=1, keepdims=True)
    assert ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).sum(axis=0).min() >= 42


def test_tables_that_were_not_collected() -> None:
    """Half of the intervals of 20 collections fail less than once in 10^7, however dependent a table's cells are."""
    rows = pd.DataFrame(study.measure_made(Setting("even chain", "chain", 10_000, 2.0, runs=20)))
    assert set(rows["kind"]) == set(study.MADE)
    assert (rows.groupby("kind")["now"].mean() > 0.5).all()
