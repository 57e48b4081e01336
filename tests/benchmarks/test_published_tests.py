"""The study of published tests: its decisions, and what it counts."""

from __future__ import annotations

import numpy as np
import published_tests
import pytest


@pytest.mark.parametrize("study", published_tests.STUDIES)
def test_every_study_of_the_benchmark_decides_and_repeats(study: str) -> None:
    strong = published_tests.Trial(study, (2, 2), 0.4, 1, epsilon=2.0, n=4000)
    found = published_tests.decided(strong)
    assert found == published_tests.decided(strong)
    assert all(isinstance(one, (bool, np.bool_)) for one in found.values())
    ours = [one for name, one in found.items() if name.endswith(("_test", "all blocks)"))]
    assert all(ours)


def test_the_benchmark_counts_percentages() -> None:
    percentages = published_tests.shares(map, "transcripts", (2, 2), 0.5, 4)
    assert percentages["independence_test (score, all blocks)"] == 100
    assert set(percentages) <= {0, 25, 50, 75, 100}
