"""Classes of numbers: their words say where each number belongs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpstats.answers.preparation import class_labels, classes_of, quantile_limits

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(NUMBERS, min_size=1, max_size=6, unique=True), st.lists(NUMBERS, max_size=20))
def test_every_number_falls_into_exactly_the_class_between_its_limits(
    limits: list[float], numbers: list[float]
) -> None:
    limits = sorted(limits)
    found = classes_of([*numbers, *limits], class_labels(limits))
    assert found.tolist() == np.searchsorted(limits, [*numbers, *limits], side="right").tolist()


@given(st.lists(NUMBERS, min_size=2, unique=True), st.integers(2, 10), st.data())
def test_no_class_of_quantiles_is_empty(numbers: list[float], classes: int, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 50), min_size=len(numbers), max_size=len(numbers)))
    limits = quantile_limits(numbers, counts, classes)
    assert limits == sorted(set(limits))
    assert len(limits) < classes
    parts = np.searchsorted(limits, numbers, side="right")
    assert set(parts.tolist()) == set(range(len(limits) + 1))


@pytest.mark.parametrize("start", [1.0, 36.5, 100.2, 20_231.5, -7e5])
def test_limits_have_as_many_digits_as_it_takes_to_tell_numbers_apart(start: float) -> None:
    numbers = (start + np.arange(1000) * 1e-6).tolist()
    limits = quantile_limits(numbers, [1] * 1000, 4)
    sizes = np.bincount(np.searchsorted(limits, numbers, side="right"))
    assert len(sizes) == 4
    assert sizes.min() > 100


@pytest.mark.parametrize("category", ["under", "under x", "under 1.2.3", "1 to under", "more", "", 5, True])
def test_other_words_hold_no_number(category: object) -> None:
    assert classes_of([1, 5, math.inf, None], [category]).tolist() == [-1] * 4  # type: ignore[list-item]


def test_a_number_in_two_classes_is_in_none() -> None:
    categories = ["under 50", "under 20", "50 or more", "60 or more"]
    assert classes_of([10, 20, 49.5, 50, 60], categories).tolist() == [-1, 0, 0, 2, -1]
