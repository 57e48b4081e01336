"""Decisions about the tables of a published study: the tables are what they should be, and chance repeats."""

from __future__ import annotations

import numpy as np
import pytest
from papers.imran_meo import decisions
from support.published_formulas import pearson


def test_the_tables_have_their_margins_and_size_and_equal_pairs() -> None:
    margins = [np.array([0.6, 0.4]), np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.5])]
    table = decisions.dependent(margins, 0.2).reshape(2, 4, 2)
    product = np.einsum("i,j,k", *margins)
    assert table.min() > 0
    assert ((table - product) ** 2 / product).sum() == pytest.approx(0.2**2)
    sums = [table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    for found, margin in zip(sums, margins, strict=True):
        assert found == pytest.approx(margin)
    assert [pearson(table.sum(axis=axis)) for axis in range(3)] == pytest.approx([0.2**2 / 3] * 3)


@pytest.mark.parametrize(
    ("shape", "margin"), [((2, 2), (0.35, 0.65)), ((2, 2, 2, 2), (0.93, 0.97)), ((4, 4), (0.35, 0.65))]
)
def test_tests_decide_and_repeat(shape: tuple[int, ...], margin: tuple[float, float]) -> None:
    strong = decisions.Trial("table 4", shape, 0.4, 1, epsilon=2.0, n=4000, margin=margin)
    found = decisions.table_four(strong)
    assert found == decisions.table_four(strong)
    assert all(isinstance(one, (bool, np.bool_)) for one in found.values())
    assert all(one for name, one in found.items() if "independence_test" in name and "221" not in name)
