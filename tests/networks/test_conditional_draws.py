"""Conditional draws: the law of what is drawn, its corners, and cells of tables without axes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.networks.conditional_draws import cell_numbers, drawn

LAWS = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])


def test_every_row_has_the_law_of_its_distribution() -> None:
    rows = np.arange(4).repeat(100_000)
    found = drawn(LAWS, rows, np.random.default_rng(4)).reshape(4, -1)
    for law, own in zip(LAWS, found, strict=True):
        seen = np.bincount(own, minlength=3)
        assert not seen[law == 0].any()
        if np.sum(law > 0) > 1:
            assert chisquare(seen[law > 0], law[law > 0] * own.size).pvalue > FALSE_FAILURE_RATE


class Fixed(np.random.Generator):
    """A generator whose uniform numbers are given."""

    def __init__(self, numbers: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = np.array(numbers)

    def random(self, *_: object, **__: object) -> np.ndarray:
        return self.numbers


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ([0.5, 0.5, 0.0], [0, 1, 1]),
        ([0.0, 0.5, 0.5], [1, 2, 2]),
        ([0.0, 0.5, 0.4999999], [1, 2, 2]),
        ([0.5, 0.4999999, 0.0], [0, 1, 1]),
        ([0.5, 0.5000001, 0.0], [0, 1, 1]),
        ([0.1] * 10 + [0.0], [0, 5, 9]),
    ],
)
def test_what_has_no_probability_is_not_drawn_at_the_ends_either(law: list[float], expected: list[int]) -> None:
    """Also where printed probabilities, or rounded sums, miss one."""
    found = drawn(np.array([law]), np.zeros(3, dtype=int), Fixed([0.0, 0.5, 1 - 2**-53]))
    assert found.tolist() == expected


def test_cells_are_numbered_as_numpy_has_them() -> None:
    codes = np.argwhere(np.ones((2, 3, 4)))
    assert cell_numbers(codes, (2, 3, 4)).tolist() == list(range(24))
    assert cell_numbers(codes[:, :0], ()).tolist() == [0] * 24
