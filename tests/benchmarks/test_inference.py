"""The study of the tests: a slice of it, and that its populations are what they are called."""

from __future__ import annotations

from dataclasses import replace

import inference as study
import numpy as np
import pytest
from scipy.stats import binom


@pytest.mark.parametrize("shape", study.SHAPES)
def test_alternatives_have_their_effect_and_the_margins_of_the_hypothesis(shape: tuple[int, ...]) -> None:
    setting = study.Setting("grr", shape, 500, 1.0, 0.3, effect=0.2)
    frequencies, null = setting.alternative(np.random.default_rng(1)), setting.null
    assert frequencies.min() > 0
    squared = float(((frequencies - null) ** 2 / null).sum())
    sides = min(shape) - 1 if len(shape) == 2 else 1
    assert squared == pytest.approx(0.2**2 * sides)
    for axis in range(len(shape)):
        others = tuple(other for other in range(len(shape)) if other != axis)
        assert np.allclose(*(one.reshape(shape).sum(axis=others) for one in (frequencies, null)))


def test_true_hypotheses_are_rejected_as_often_as_they_may_be() -> None:
    """Of 600 tables at most 60: more come less than once in 10^6 at a level of .05."""
    assert binom.sf(60, 600, 0.05) < 1e-6
    setting = study.Setting("grr", (3, 2), 5000, 1.0, 0.3)
    assert 600 * study.rejected(setting) <= 60


def test_power_is_there_and_grows() -> None:
    setting = study.Setting("ss", (4, 4), 50_000, 1.0, effect=0.1, tables=200)
    strong = study.rejected(setting)
    assert strong > 0.85, "it is .97, so that 170 of 200 are missed once in 10^9"
    assert study.rejected(replace(setting, n=5_000)) < strong - 0.3
    assert study.rejected(replace(setting, epsilon=study.NO_NOISE, n=5_000)) > 0.9


@pytest.mark.exhaustive
def test_a_study_of_few_tables_has_a_row_per_setting() -> None:
    settings = [replace(one, tables=20) for one in study.levels_grid()][::60]
    frame = study.levels(settings)
    assert len(frame) == len(settings)
    assert frame["type I"].between(0, 1).all()
    assert study.levels_as_text(frame).startswith("1. Type I error at 0.05")
    assert 0 <= study.rejected_rrba(0.5, 0.0, 1000, 3) <= 1
    assert study.other_level(("symmetry", "ss", 2000, 1.0, 0.5), tables=5)["no answer"] == 0
    assert "fastest at most 1.5" in study.speed(200, (10**3, 10**4), 10**3)


@pytest.mark.exhaustive
def test_power_is_stated_as_it_is_simulated() -> None:
    """The standard error of a share of 1,000 tables is at most .016; the seeds are fixed."""
    found = study.formula([replace(one, tables=1000) for one in study.formula_grid()][::40])
    assert found["gap"].abs().max() < 0.06
    assert found["simulated"].max() > 0.5


def test_rivals_decide_about_the_same_tables() -> None:
    found = study.rivals([study.Setting("grr", (2, 2), 4_000, 2.0, effect=0.1, tables=100)]).set_index("method")
    assert list(found.index) == ["auto", "one fit", "lr", "wald"]
    assert np.ptp(found["mean power"]) <= 0.02
    assert found["largest type I"].between(0.01, 0.1).all()
