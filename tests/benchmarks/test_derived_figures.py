"""Derived figures: a slice of the study, and that its tables are what they are called."""

from __future__ import annotations

import derived_figures as study
import numpy as np
import pandas as pd
import pytest

from ldpstats.datasets import true_cramers_v

CHEAP = (7, 65)


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_settings_are_what_they_are_called(seed: int) -> None:
    setting = study.Setting.drawn(seed)
    assert setting.joint.min() >= 0
    assert setting.joint.sum() == pytest.approx(1)
    assert study.STRENGTHS[0] - 1e-9 <= true_cramers_v(setting.joint) <= study.STRENGTHS[1] + 1e-9
    assert 1 <= setting.pairs <= 91


@pytest.mark.exhaustive
def test_needs_and_power_are_near_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds are fixed: the whole study is run by `make studies`."""
    monkeypatch.setattr(study, "SIZES", (0.7, 1.0, 1.4))
    monkeypatch.setattr(study, "DIRECTIONS", 5)
    rows = pd.DataFrame([study.measured_needs(seed) for seed in CHEAP])
    assert np.abs(rows["power, true table"] - 0.8).max() < 0.08
    assert rows["shown covers"].all()
    assert "Simulated power" in study.needs(rows)
    power = pd.DataFrame([study.measured_power(seed) for seed in CHEAP])
    assert power[["all pairs, gap", "one table, gap"]].abs().max(axis=None) < 0.15
    assert "less the simulated one" in study.powers(power)
