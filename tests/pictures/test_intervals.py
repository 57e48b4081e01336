"""Dot plots: what is drawn is what the frame says, also of what is infinite or not there."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldpstats.pictures.colours import BLUE, UNDECIDED
from ldpstats.pictures.intervals import Intervals, RawAndPrivate

NOTHING = (nan, nan)
AFTER = Intervals("Consistency", ("simulated",), ("a: $x$", "b: _"), (0.05, 0.45), NOTHING, NOTHING, "proportion")
CONSISTENCY = replace(AFTER, others=((0.1, -0.2, 0.3), (0.5,)), kind="reported", words=("before", "after"))


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


def test_grey_is_explained_where_there_is_some() -> None:
    for lower, said in ((-0.1, ["grey: the interval holds 0"]), (0.1, [])):
        picture = Intervals("t", (), ("a", "b"), (0.2, 0.3), (lower, 0.1), (0.4, 0.5), "difference", reference=0.0)
        legend = picture.draw().get_legend()
        assert (
            [one.get_text().lstrip("\N{ZERO WIDTH SPACE}") for one in legend.get_texts() if legend] == said
            if legend
            else not said
        )


def test_every_mark_stands_on_its_line():
    axes = CONSISTENCY.draw()
    marks = next(line for line in axes.get_lines() if line.get_marker() == "D")
    assert marks.get_xydata().tolist() == [[0.1, 1], [-0.2, 1], [0.3, 1], [0.5, 0]]
    assert axes.collections[0].get_offsets().tolist() == [[0.05, 1], [0.45, 0]]
    assert [one.get_text().strip("\u200b") for one in axes.get_legend().get_texts()] == ["before", "after"]
    assert axes.get_title(loc="left") == "Consistency\nsimulated"


def test_zero_is_marked_where_a_mark_is_below_it():
    for others, marked in ((((-0.1,), (0.5,)), True), (((0.1,), (0.5,)), False)):
        lines = replace(CONSISTENCY, others=others).draw().get_lines()
        assert any(line.get_linestyle() == ":" and {*line.get_xdata()} == {0} for line in lines) == marked


def test_words_and_frame_hold_the_marks():
    assert CONSISTENCY.to_frame()["reported"].tolist() == [0.1, -0.2, 0.3, 0.5]
    np.testing.assert_array_equal(CONSISTENCY.to_frame()["estimate"], [0.05, 0.05, 0.05, 0.45])
    assert CONSISTENCY.described() == (
        "Consistency: proportion. 2 of them, beside reported ones. 1 reported ones are below zero. "
        "Furthest apart: a: $x$ 0.05 (reported -0.2); b: _ 0.45 (reported 0.5)."
    )


def ranking(values: tuple[float, ...], labels: tuple[str, ...], **more: object) -> Intervals:
    nothing = (nan,) * len(values)
    return Intervals("Needed", (), labels, values, nothing, nothing, "respondents", ranked=True, **more)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_points_stand_at_their_numbers(logarithmic: bool) -> None:
    picture = ranking((0.25, 1200.0, inf), ("$a_1$", "b", "c"), logarithmic=logarithmic)
    axes = picture.draw(Figure().subplots())
    points = axes.collections[0].get_offsets()
    assert points.tolist()[:2] == [[0.25, 2.0], [1200.0, 1.0]]
    assert points.mask.tolist() == [[False] * 2, [False] * 2, [True] * 2]
    assert [text.get_text() for text in axes.texts] == ["0.25", "1,200", "none is enough"]
    assert picture.described() == "Needed: respondents. $a_1$ 0.25; b 1,200; c none is enough."
    assert picture.to_frame()["estimate"].tolist() == [0.25, 1200.0, inf]


@pytest.mark.parametrize("count", [1, 60])
def test_few_and_many_are_ranked(count: int) -> None:
    picture = ranking((inf,) * count, tuple(map(str, range(count))), logarithmic=True)
    assert picture.svg("many").startswith("<svg")
    assert ("60 of them, among these 0 none is enough; 1 " in picture.described()) == (count == 60)


def raw_and_private(labels: tuple[str, ...], raw: object, *figures: object) -> RawAndPrivate:
    return RawAndPrivate(
        "Pairs", ("simulated",), labels, *map(tuple, figures), "V", others=tuple((one,) for one in raw)
    )


def drawn(many: int) -> RawAndPrivate:
    raw = np.linspace(0.1, 0.9, many)
    private = raw + 0.02 * (-1.0) ** np.arange(many)
    reach = np.where(np.arange(many) % 5 == 2, 0.01, 0.05)
    labels = tuple(f"_pair ${place}$" for place in range(many))
    return raw_and_private(labels, raw, private, private - reach, private + reach)


@pytest.mark.parametrize("many", [1, 2, 40])
def test_few_have_a_line_each(many: int):
    picture = drawn(many)
    axes = picture.draw()
    raw = next(line for line in axes.get_lines() if line.get_marker() == "D" and len(line.get_xdata()))
    assert raw.get_xdata().tolist() == list(picture.raw)
    points = axes.collections[0]
    assert points.get_offsets()[:, 0].tolist() == list(picture.private)
    low, high = axes.get_xlim()
    assert low < min(*picture.raw, 1)
    assert high > max(picture.raw)
    assert axes.get_title(loc="left") == "Pairs\nsimulated"
    assert len(axes.get_legend().get_texts()) == 2


@pytest.mark.parametrize("many", [41, 666])
def test_many_are_points_with_those_that_their_interval_misses_apart(many: int):
    picture = drawn(many)
    axes = picture.draw()
    held, missed = (one.get_offsets() for one in axes.collections if len(one.get_offsets()) > 1)
    assert len(missed) == len(range(2, many, 5))
    assert sorted(np.concatenate([held, missed])[:, 0].tolist()) == list(picture.raw)
    assert f"interval misses it ({len(missed)})" in axes.get_legend().get_texts()[1].get_text()


def test_words_and_frame_hold_what_is_raw_and_private():
    picture = drawn(7)
    assert picture.to_frame().columns.tolist() == ["label", "private", "lower", "upper", "raw"]
    begins = "Pairs: V. 7 of them, beside raw ones. 6 of 7 intervals hold the raw one. Furthest apart: _pair $"
    assert picture.described().startswith(begins)


def test_figures_that_are_not_known_are_left_out_without_a_warning():
    unknown = raw_and_private(("a", "b"), (0.1, nan), (nan, 0.2), (nan, 0.1), (nan, 0.3))
    unknown.draw().figure.canvas.draw()
    assert unknown.described() == "Pairs: V. 2 of them, beside raw ones."
    raw_and_private(("a",), (nan,), (0.2,), (0.1,), (0.3,)).draw().figure.canvas.draw()
    raw_and_private(("a",) * 50, *((nan,) * 50 for _ in range(4))).draw().figure.canvas.draw()
