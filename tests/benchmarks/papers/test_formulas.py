"""Printed formulas are judged by what is exact."""

from __future__ import annotations

import math

import pytest
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE
from papers.formulas import claimed, matched

PLACE = ("a paper, Eq. 1", "GRR", "variance", "2 ε")


@pytest.mark.parametrize(
    ("printed", "mended", "verdict"),
    [
        ([1.0, 2.0], None, AGREES),
        ([1.0, 2.1], None, DIFFERS),
        ([1.0, 2.1], [1.0, 2.0], DIFFERS),
        ([1.0, 2.1], [1.0, 2.2], NOT_REPRODUCIBLE),
        ([math.inf, 2.0], None, DIFFERS),
    ],
)
def test_a_formula_is_judged_by_its_largest_deviation(
    printed: list[float], mended: list[float] | None, verdict
) -> None:
    judged = matched(PLACE, printed, [1.0, 2.0], "two cases", because="a misprint", mended=mended)
    assert judged.verdict == verdict
    assert judged.because == ("" if verdict == AGREES else "a misprint")


def test_a_statement_without_an_explanation_is_not_reproducible() -> None:
    assert claimed(PLACE, "no", holds=False, unless="unknown", explained=False).verdict == NOT_REPRODUCIBLE
    assert claimed(PLACE, "no", holds=False, unless="a reading").verdict == DIFFERS
    assert claimed(PLACE, "yes", holds=True, unless="a reading", note="a choice").because == "a choice"
