"""Wide panels: figures as texts, and every column in one of the panels."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.tables.crosstab import wide_panels, with_errors


@pytest.mark.parametrize(
    ("share", "error", "percent", "text"),
    [
        (0.21534, 0.0134, False, "0.215 ± 0.013"),
        (0.21534, 0.134, False, "0.215 ± 0.134"),
        (0.21534, 0.00041, False, "0.21534 ± 0.00041"),
        (-0.00002, 0.0134, False, "0.000 ± 0.013"),
        (1.0, 0.0, False, "1.000"),
        (1.0, 1.4e-17**0.5, False, "1.000"),
        (0.21534, 0.0134, True, "21.5 % ± 1.3"),
        (0.5, np.nan, False, "0.500"),
        (0.5, np.inf, False, "0.500 ± inf"),
        (np.nan, 0.1, True, "-"),
    ],
)
def test_a_share_has_the_digits_that_its_error_leaves(share: float, error: float, percent: bool, text: str) -> None:
    assert with_errors(np.array([[share]]), np.array([[error]]), percent=percent) == [[text]]


def test_columns_stand_once_and_in_order_beside_every_row() -> None:
    beside = [f"category {place}" for place in range(20)]
    texts = [[f"{row}.{place}" for place in range(20)] for row in range(3)]
    panels = wide_panels("Columns: car", ["sex"], [["a"], ["b"], ["c"]], beside, texts)
    assert [one for panel in panels for one in panel.headers[1:]] == beside
    for row in range(3):
        assert [one for panel in panels for one in panel.rows[row][1:]] == texts[row]
        assert {panel.rows[row][0] for panel in panels} == {"abc"[row]}
    assert panels[0].title == f"Columns: car, from category 0 to {panels[0].headers[-1]}"
    assert max(sum(map(len, panel.headers)) for panel in panels) < 90


def test_a_column_wider_than_a_panel_stands_alone() -> None:
    panels = wide_panels("", ["sex"], [["a"]], ["x" * 200, "y", "z"], [["1", "2", "3"]])
    assert [panel.headers[1:] for panel in panels] == [("x" * 200,), ("y", "z")]
    assert wide_panels("", ["sex"], [["a"]], ["x"], [["1"]])[0].title == ""
