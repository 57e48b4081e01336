"""A slice of the study of what reports say about forged reports."""

from __future__ import annotations

import forged_reports_figures as study
import numpy as np
import pytest


def test_the_stated_share_brings_the_median_of_v_to_what_was_found() -> None:
    """Fixed seeds: what is simulated is the same every time."""
    found = study.shares(10, 40).dropna(subset="stated")
    assert len(found) >= 8
    assert np.median(found["V at 1 times"]) == pytest.approx(1, abs=0.05)
    assert found["V at 0.8 times"].median() < 0.9
    assert found["V at 1.25 times"].median() > 1.1


def test_stated_shifts_are_those_of_expected_tallies() -> None:
    ratios = study.shifts(k=5, epsilons=(1.0,))
    assert ratios.to_numpy() == pytest.approx(1, abs=1e-9)
