"""The study of conditional proportions: its populations are what they are called, and all tallies are covered."""

from __future__ import annotations

import conditional_coverage as study
import pandas as pd
import pytest

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
