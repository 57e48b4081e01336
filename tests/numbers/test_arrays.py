"""Arguments: numbers, counts and levels are checked, and refused in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.comparisons import assert_tells, typed

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import at_least, counts_array, integers_below, positive_epsilon, significance


@pytest.mark.parametrize("values", [[1.5], ["a"], None, 3, [[1]], [True], [-1], [3], [[1], [1, 2]], [2**70]])
def test_wrong_integers_are_refused(values: object) -> None:
    with pytest.raises(LdpstatsError) as error:
        integers_below(values, 3, "the reports")
    assert_tells(error, "the reports")
    assert integers_below([], 3, "the reports").dtype == integers_below([2], 3, "the reports").dtype == np.int64


@pytest.mark.parametrize(
    ("counts", "part"),
    [
        ([1, 1.5], "1.5 at position (1,)"), ([[1, 2], [3, -4]], "-4 at position (1, 1)"), ([np.nan, 1], "nan"),
        ([np.inf, 1], "inf"), ([1e300, 1], "1e+300"), (np.array([2**63, 1], dtype=np.uint64), str(2**63)),
        ([2**70, 1], "object"), ([True, True], "bool"), ("ab", "<U2"), (None, "object"), (3, "()"), ([1, 2, 3], "(3,)"),
        ([[1], [1, 2]], "different lengths"),
    ],
)  # fmt: skip
def test_wrong_counts_are_refused(counts: object, part: str) -> None:
    with pytest.raises(LdpstatsError) as error:
        counts_array(counts, 2, "the tally")
    assert_tells(error, "the tally", part)


def test_whole_counts_of_any_type_are_read() -> None:
    for counts in ([[1, 2]], [[1.0, 2.0]], np.array([[1, 2]], dtype=np.uint8)):
        assert typed(counts_array(counts, 2, "the tally").ravel().tolist()) == typed([1, 2])


@pytest.mark.parametrize("value", [None, "1", True, 0, -1.0, math.nan, math.inf, 10**400, [1], np.array([1, 2])])
def test_wrong_epsilon_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match="epsilon = "):
        positive_epsilon(value)
    assert typed(positive_epsilon(one) for one in (1, np.float32(1), np.int8(1))) == typed([1.0] * 3)


@pytest.mark.parametrize("value", [None, "0.1", 0, 1, True, math.nan, [0.1], np.array([0.1, 0.2])])
def test_wrong_level_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match="alpha = "):
        significance(value)
    assert typed([significance(np.float32(0.5))]) == typed([0.5])


@pytest.mark.parametrize("value", [None, "3", 3.0, True, np.bool_(True), 1, [3], np.array([3, 4])])
def test_wrong_whole_number_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match=r"k = .*at least 2"):
        at_least(value, 2, "k")
    assert typed([at_least(np.int8(3), 2, "k")]) == typed([3])
