"""Intervals: what is drawn is what the frame says, also of ends that are infinite or not there."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from ldpstats.pictures.colours import BLUE, UNDECIDED
from ldpstats.pictures.intervals import Intervals


def intervals(rows: list[tuple[float, float, float]], **more: object) -> Intervals:
    labels = tuple(f"row {place}" for place in range(len(rows)))
    return Intervals("Some rows", (), labels, *zip(*rows, strict=True), "value", **more)


def bars(ax: Axes) -> list[tuple[float, float]]:
    """Return the lines from left to right that are no arrows, from top to bottom."""
    found = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_ydata()[0] == line.get_ydata()[1]]
    return [tuple(map(float, line.get_xdata())) for line in sorted(found, key=lambda line: -line.get_ydata()[0])]


def arrows(ax: Axes) -> list[tuple[str, float]]:
    return [(line.get_marker(), float(line.get_ydata()[0])) for line in ax.lines if line.get_marker() in ("<", ">")]


def test_bars_are_the_intervals_and_their_colours_say_whether_they_hold_the_reference():
    picture = intervals([(1.5, 0.9, 2.0), (0.4, 0.2, 0.7), (3.0, 1.2, 4.0)], reference=1.0, logarithmic=True)
    ax = picture.draw()
    assert bars(ax) == [(0.9, 2.0), (0.2, 0.7), (1.2, 4.0)]
    assert [line.get_color() for line in ax.lines if line.get_linestyle() == "-"] == [UNDECIDED, BLUE, BLUE]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [(1.5, 2), (0.4, 1), (3.0, 0)])
    assert ax.get_title(loc="left") == "Some rows"
    assert [one.get_text() for one in ax.get_yticklabels()] == ["row 0", "row 1", "row 2"]


@pytest.mark.parametrize("logarithmic", [False, True])
def test_infinite_ends_are_arrows_at_the_border(logarithmic: bool):
    lowest = 0.0 if logarithmic else -inf
    rows = [(1.5, 1.0, 2.0), (2.0, lowest, 3.0), (2.5, 1.2, inf), (1.8, lowest, inf), (nan, nan, nan)]
    ax = intervals(rows, logarithmic=logarithmic).draw()
    low, high = ax.get_xlim()
    assert bars(ax)[:4] == [(1.0, 2.0), (low, 3.0), (1.2, high), (low, high)]
    assert arrows(ax) == [("<", 3), (">", 2), ("<", 1), (">", 1)]
    at = {line.get_marker(): float(line.get_xdata()[0]) for line in ax.lines}
    assert (at["<"], at[">"]) == (low, high)
    assert [one.get_text() for one in ax.texts] == ["not estimable"]
    ax.figure.canvas.draw()


def test_an_end_far_beyond_all_others_does_not_squeeze_them():
    rows = [(0.1, 0.0, 0.2), (0.2, 0.1, 0.3), (0.15, -50.0, 70.0)]
    ax = intervals(rows).draw()
    low, high = ax.get_xlim()
    assert high - low < 2
    assert arrows(ax) == [("<", 0), (">", 0)]


def test_intervals_inside_others_are_thick():
    picture = intervals([(nan, 0.1, 0.4), (nan, 0.2, 0.5)], inner_lower=(0.15, 0.25), inner_upper=(0.35, 0.45))
    ax = picture.draw()
    drawn = [(line.get_linewidth(), *map(float, line.get_xdata())) for line in ax.lines]
    assert [one[1:] for one in drawn] == [(0.1, 0.4), (0.2, 0.5), (0.15, 0.35), (0.25, 0.45)]
    assert drawn[0][0] < drawn[2][0]
    assert picture.to_frame().columns.tolist() == ["label", "estimate", "lower", "upper", "inner_lower", "inner_upper"]
    assert "row 0 0.1 to 0.4 (inside: 0.15 to 0.35)" in picture.described()


@pytest.mark.parametrize("rows", [[(1.0, 1.0, 1.0)], [(nan, nan, nan)] * 2, [(0.5, nan, nan)] * 60])
def test_few_many_and_empty_rows_are_drawn(rows: list[tuple[float, float, float]]):
    for logarithmic in (False, True):
        picture = intervals(rows, logarithmic=logarithmic)
        picture.draw().figure.canvas.draw()
        assert "nan" not in picture.described()
        assert len(picture.described()) < 600


def test_numbers_and_names_that_would_be_formulas_are_drawn():
    picture = Intervals("$5 & $10", ("a_b", "50 %"), ("$x$", "<b>\n"), (1.0, 2.0), (0.5, 1.0), (1.5, 3.0), "value")
    ax = picture.draw()
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == "\\$5 & \\$10\na_b\n50 %"
    assert "currentColor" in picture.svg("p1")
    assert plt.get_fignums() == [ax.figure.number]


def test_letters_that_no_font_has_are_written_without_a_warning_where_they_stay_letters():
    picture = Intervals("中文", ("$",), ("中", "文\n"), (1.0, 2.0), (0.5, 1.0), (1.5, 3.0), "value")
    assert picture.draw().get_title(loc="left") == "中文\n\\$"
    assert "中文" in picture.svg("p1")


def test_grey_is_explained_where_there_is_some() -> None:
    for lower, said in ((-0.1, ["grey: the interval holds 0"]), (0.1, [])):
        picture = Intervals("t", (), ("a", "b"), (0.2, 0.3), (lower, 0.1), (0.4, 0.5), "difference", reference=0.0)
        legend = picture.draw().get_legend()
        assert (
            [one.get_text().lstrip("\N{ZERO WIDTH SPACE}") for one in legend.get_texts() if legend] == said
            if legend
            else not said
        )
