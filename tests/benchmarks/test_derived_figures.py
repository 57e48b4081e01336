"""Derived figures: the settings of the study are what they are called."""

from __future__ import annotations

import derived_figures as study
import pytest

from ldpstats.datasets import true_cramers_v


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_settings_are_what_they_are_called(seed: int) -> None:
    setting = study.Setting.drawn(seed)
    assert setting.joint.min() >= 0
    assert setting.joint.sum() == pytest.approx(1)
    assert study.STRENGTHS[0] - 1e-9 <= true_cramers_v(setting.joint) <= study.STRENGTHS[1] + 1e-9
    assert 1 <= setting.pairs <= 91
