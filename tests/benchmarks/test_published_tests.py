"""The study of published tests: its tables, its decisions, and what it counts."""

from __future__ import annotations

import numpy as np
import published_tests
import pytest
from support.published_formulas import pearson


def test_the_benchmarks_tables_have_their_margins_and_size_and_equal_pairs() -> None:
    margins = [np.array([0.6, 0.4]), np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.5])]
    table = published_tests.dependent(margins, 0.2).reshape(2, 4, 2)
    product = np.einsum("i,j,k", *margins)
    assert table.min() > 0
    assert ((table - product) ** 2 / product).sum() == pytest.approx(0.2**2)
    sums = [table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    for found, margin in zip(sums, margins, strict=True):
        assert found == pytest.approx(margin)
    assert [pearson(table.sum(axis=axis)) for axis in range(3)] == pytest.approx([0.2**2 / 3] * 3)


@pytest.mark.parametrize("study", published_tests.STUDIES)
def test_every_study_of_the_benchmark_decides_and_repeats(study: str) -> None:
    strong = published_tests.Trial(study, (2, 2), 0.4, 1, epsilon=2.0, n=4000)
    found = published_tests.decided(strong)
    assert found == published_tests.decided(strong)
    assert all(isinstance(one, (bool, np.bool_)) for one in found.values())
    ours = [one for name, one in found.items() if "independence_test" in name and "221" not in name]
    assert all(ours)


def test_the_benchmark_counts_percentages() -> None:
    percentages = published_tests.shares(map, "transcripts", (2, 2), 0.5, 4)
    assert percentages["independence_test (score, all blocks)"] == 100
    assert set(percentages) <= {0, 25, 50, 75, 100}
