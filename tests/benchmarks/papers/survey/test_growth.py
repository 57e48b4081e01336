"""Printed orders of growth are judged by ratios that do not grow."""

from __future__ import annotations

import pytest
from papers.comparisons import AGREES, DIFFERS
from papers.survey.growth import of_order

PLACE = ("a paper, Eq. 1", "GRR", "variance", "2 ε")


@pytest.mark.parametrize(("found", "verdict"), [([2, 4, 8], AGREES), ([2, 2, 2], AGREES), ([2, 8, 32], DIFFERS)])
def test_an_order_holds_unless_the_ratio_to_it_grows(found: list[float], verdict: str) -> None:
    assert of_order(PLACE, found, [1, 2, 4], "k = 1, 2, 4", unless="It grows faster.").verdict == verdict
