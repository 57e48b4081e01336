"""Rows: answers of respondents to several attributes, of as many respondents as are said to be behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpstats import Domain, PerAttribute
from ldpstats.errors import LdpstatsError
from ldpstats.tables.respondents import Parts

DOMAIN = Domain({"a": ["x", "y"], "b": ["x", "y"]})
(ROWS,) = PerAttribute(DOMAIN, epsilon=4.0, k=2).simulate(np.array([5, 3, 2, 4]), rng=1)["a", "b"].rows


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"copies": ROWS.copies - 2 * ROWS.copies * (ROWS.copies == ROWS.copies.min())}, "rows of 14 respondents"),
        ({"copies": 2 * ROWS.copies}, "28 rows of 14 respondents"),
        ({"parts": Parts.whole("0" * 32, 0, 13)}, "14 rows of 13 respondents"),
        ({"simulated": 15}, "simulated = 15"),
        ({"simulated": -1}, "simulated = -1"),
        ({"answers": ROWS.answers - 1}, "a row for each number of copies"),
        ({"answers": ROWS.answers[:, :1]}, "a row for each number of copies"),
    ],
)
def test_rows_of_other_respondents_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        replace(ROWS, **wrong)
    assert replace(ROWS, parts=Parts.none()).n == ROWS.n == 14
