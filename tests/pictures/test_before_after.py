"""Pictures of values before and after: every value is drawn on its line."""

from __future__ import annotations

import numpy as np

from ldpstats.pictures.intervals import BeforeAfter

PICTURE = BeforeAfter(
    "Consistency", ("simulated",), ("a: $x$", "b: _"), ((0.1, -0.2, 0.3), (0.5,)), (0.05, 0.45), "proportion"
)


def test_every_value_stands_on_its_line():
    axes = PICTURE.draw()
    _, points = axes.collections
    assert points.get_offsets().tolist() == [[0.1, 1], [-0.2, 1], [0.3, 1], [0.5, 0]]
    after = next(line for line in axes.get_lines() if line.get_marker() == "|")
    assert after.get_xydata().tolist() == [[0.05, 1], [0.45, 0]]
    assert axes.get_title(loc="left") == "Consistency\nsimulated"


def test_zero_is_marked_where_something_is_below_it():
    assert len(PICTURE.draw().get_lines()) == 2
    above = BeforeAfter("Consistency", (), ("a",), ((0.1,),), (0.2,), "proportion").draw()
    assert len(above.get_lines()) == 1


def test_words_and_frame_hold_what_is_drawn():
    assert PICTURE.to_frame()["before"].tolist() == [0.1, -0.2, 0.3, 0.5]
    np.testing.assert_array_equal(PICTURE.to_frame()["after"], [0.05, 0.05, 0.05, 0.45])
    assert "1 values before are below zero, 0 after" in PICTURE.described()
    assert "a: $x$ from -0.2 to 0.3, then 0.05" in PICTURE.described()
