"""Mosaics and association plots: tiles and bars have the sizes of shares and residuals, and labels keep apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from ldpstats.pictures.colours import NOT_KNOWN, Shading
from ldpstats.pictures.mosaic import AssociationPlot, Mosaic, spread

WIDTHS, SHARES = (0.6, 0.3, 0.1), ((0.5, 0.25, 0.25), (0.2, 0.2, 0.6), (0.1, 0.9, 0.0))
RESIDUALS = ((5.0, 0.5, -2.5), (-5.0, 1.0, 3.0), (0.1, np.nan, -1.0))


def mosaic(**more: object) -> Mosaic:
    none = tuple(tuple(share < 0.05 for share in column) for column in SHARES)
    made = Mosaic(
        "b within a", ("simulated",), ("a", "b"), ("x", "y", "z"), ("p", "q", "r"), WIDTHS, SHARES, RESIDUALS, none
    )
    return replace(made, **more)


def tiles(axes: Axes) -> list[Rectangle]:
    """Return the filled tiles, a column after the other."""
    return [one for one in axes.patches if isinstance(one, Rectangle) and one.get_fill()]


def test_areas_are_proportional_to_shares_of_all() -> None:
    areas = np.array([one.get_width() * one.get_height() for one in tiles(mosaic().draw())])
    shares = (np.array(WIDTHS)[:, None] * np.array(SHARES)).ravel()
    assert areas / areas.sum() == pytest.approx(shares[shares > 0], rel=1e-9)


def test_columns_stand_beside_each_other_and_the_first_row_on_top() -> None:
    axes = mosaic().draw()
    drawn = tiles(axes)
    assert [one.get_x() for one in drawn] == sorted(one.get_x() for one in drawn)
    assert drawn[0].get_y() < drawn[1].get_y() < drawn[2].get_y()
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the axis goes down
    assert [one.get_text() for one in axes.get_xticklabels()] == ["x", "y", "z"]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["p", "q", "r"]
    assert max(one.get_x() + one.get_width() for one in drawn) == pytest.approx(1)


def test_shades_and_hatches_follow_residuals() -> None:
    drawn, frame = tiles(mosaic().draw()), mosaic().to_frame()
    frame = frame[frame["share"] > 0]
    assert [bool(one.get_hatch()) for one in drawn] == frame["hatched"].tolist()
    assert frame["hatched"].tolist() == (frame["residual"].abs() <= 1.96).tolist()
    expected = [Shading(1.96).colour(one) for one in frame["residual"]]
    assert [to_hex(one.get_facecolor()) for one in drawn] == expected
    assert expected[7] == NOT_KNOWN
    assert len(set(expected)) == 6


def test_a_dashed_border_says_that_a_share_may_be_none() -> None:
    shown = mosaic(possibly_none=((False, True, False), (False,) * 3, (False,) * 3)).draw()
    dashed = [one for one in shown.patches if isinstance(one, Rectangle) and not one.get_fill()]
    assert len(dashed) == 1
    legend = shown.get_legend()
    assert legend is not None
    assert any("dashed" in one.get_text() for one in legend.get_texts())


def test_negative_shares_are_not_drawn() -> None:
    axes = mosaic(widths=(0.7, 0.4, -0.1), shares=((0.6, -0.2, 0.6), *SHARES[1:])).draw()
    areas = [one.get_width() * one.get_height() for one in tiles(axes)]
    assert len(areas) == 5
    assert areas[0] == pytest.approx(areas[1])


def test_nothing_above_zero_is_an_empty_picture() -> None:
    axes = mosaic(widths=(np.nan, -0.1, 0.0), shares=((np.nan,) * 3,) * 3).draw()
    axes.figure.canvas.draw()
    assert not tiles(axes)


@pytest.mark.parametrize("sides", [(2, 2), (2, 60), (60, 2), (20, 20), (1, 1)])
def test_any_number_of_categories_is_drawn_with_labels_apart(sides: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    across, down = (tuple(f"$a_{place}$ & <b> number {place}" for place in range(size)) for size in sides)
    shares = tuple(map(tuple, rng.dirichlet(np.ones(sides[1]), sides[0]).tolist()))
    residuals = tuple(map(tuple, rng.normal(0, 2, sides).tolist()))
    none = ((False,) * sides[1],) * sides[0]
    made = Mosaic("t", (), ("a", "b"), across, down, tuple(rng.dirichlet(np.ones(sides[0]))), shares, residuals, none)
    axes = made.draw()
    axes.figure.canvas.draw()
    for labels, way in ((axes.get_xticklabels(), 0), (axes.get_yticklabels(), 1)):
        boxes = sorted([one.get_window_extent().get_points()[:, way] for one in labels], key=lambda box: box[0])
        assert all(one[1] <= other[0] + 2 for one, other in pairwise(boxes))
    assert made.svg("mosaic").startswith("<svg")
    assert len(made.described()) < 800


@pytest.mark.parametrize(
    ("down", "columns", "keys"),
    [
        (("p", "q", "r", "s"), 6, ["p", "q", "r", "s"]),
        (("(25, 35]", "(35, 45]", "(45, 55]"), 5, ["(25, 35]", "(35, 45]", "(45, 55]"]),
        (("strongly agree", "agree", "strongly disagree"), 6, ["1", "2", "3"]),
        (("a long name of the first", "a long name of another", "b"), 5, ["a lo…irst", "a lo…ther", "b"]),
        (("1", "2", "3"), 3, ["1", "2", "3"]),
        (("more often than I would like", "now and then"), 3, ["more often than I woul…", "now and then"]),
    ],
)
def test_every_tile_has_its_own_category_beside_it(down: tuple[str, ...], columns: int, keys: list[str]) -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(len(down), 0.2), columns) * (rng.random((columns, len(down))) > 0.2)
    shares[0, 0] = 0
    across = tuple(f"x{place}" for place in range(columns))
    square = tuple((0.0,) * len(down) for _ in across)
    none = tuple((False,) * len(down) for _ in across)
    made = Mosaic("t", (), ("a", "b"), across, down, (1 / columns,) * columns, tuple(map(tuple, shares)), square, none)
    axes = made.draw()
    axes.figure.canvas.draw()
    boxes, said, lines = tiles(axes), [one for one in axes.texts if one.get_ha() == "right"], axes.lines
    beside = [one for one in boxes if one.get_x() > 0]
    named = [keys[row] for column in shares[1:] for row in np.flatnonzero(column > 0)]
    assert [one.get_text() for one in said] == named
    for box, text in zip(beside, said, strict=True):
        led = (box.get_x(), box.get_y() + box.get_height() / 2)
        line = next(one for one in lines if np.allclose(one.get_xydata()[1], led))
        assert line.get_xydata()[0] == pytest.approx(text.get_position())
        # and does not cover the column before
        assert text.get_window_extent().x0 > max(
            one.get_window_extent().x1 for one in boxes if one.get_x() < box.get_x()
        )
    first = [one.get_text() for one in axes.get_yticklabels()]
    assert [one.endswith(" (0%)") for one in first] == (shares[0] == 0).tolist()
    assert all(name in one or "…" in one for name, one in zip(down, first, strict=True))
    assert ["1: " in first[0], "2: " in first[1]] == [keys[0] == "1" != down[0]] * 2


def test_many_columns_have_numbers_in_their_tiles() -> None:
    shares, plain = ((0.6, 0.4),) * 20, ((0.0, 0.0),) * 20
    names = tuple(f"x{place}" for place in range(20))
    axes = Mosaic(
        "t", (), ("a", "b"), names, ("yes", "no"), (0.62, *(0.02,) * 19), shares, plain, ((False,) * 2,) * 20
    ).draw()
    assert [one.get_text() for one in axes.get_yticklabels()] == ["1: yes", "2: no"]
    assert [one.get_text() for one in axes.texts] == ["1: 60%", "2: 40%", *["1", "2"] * 19]


def test_labels_stay_where_they_can_and_keep_apart() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 5, 40):
        centres, lengths = np.sort(rng.uniform(0, 1, size)), np.full(size, 0.9 / size)
        places = spread(centres, lengths)
        assert (np.diff(places) >= 0.9 / size - 1e-9).all()
        assert places[0] >= lengths[0] / 2 - 1e-9
        assert places[-1] <= 1 - lengths[-1] / 2 + 1e-9
    assert spread(np.array([0.2, 0.8]), np.full(2, 0.3)) == pytest.approx([0.2, 0.8])


def test_the_description_names_what_stands_out() -> None:
    assert mosaic().described() == (
        "b within a: a mosaic of 9 tiles. More than independence expects: p of x (+5.0), r of y (+3.0). "
        "Fewer than independence expects: p of y (-5.0), r of x (-2.5). 4 of them may be as independence expects."
    )


def test_without_residuals_nothing_is_said_of_independence() -> None:
    unknown = mosaic(residuals=((np.nan,) * 3,) * 3).described()
    assert "independence" not in unknown
    assert unknown.endswith("None of them has a residual.")


HEIGHTS, EXPECTED = ((5.0, -1.0, -2.5), (-5.0, np.nan, 2.5)), ((0.3, 0.1, 0.1), (0.3, 0.1, 0.1))


def plot(**more: object) -> AssociationPlot:
    made = {"rows": ("x", "y"), "columns": ("p", "q", "r"), "residuals": HEIGHTS, "expected": EXPECTED, **more}
    return AssociationPlot("Residuals", ("simulated",), ("a", "b"), **made)  # type: ignore[arg-type]  # of a test


def bars(made: AssociationPlot) -> list[Rectangle]:
    return [one for one in made.draw().patches if isinstance(one, Rectangle)]


def test_heights_are_residuals_and_widths_roots_of_what_is_expected() -> None:
    drawn = bars(plot())
    known = [one for row in HEIGHTS for one in row if not np.isnan(one)]
    # the axis goes down
    heights = np.array([-one.get_height() for one in drawn])
    assert heights[0] > 0
    assert heights / heights[0] == pytest.approx(np.array(known) / 5)
    widths = np.array([one.get_width() for one in drawn])
    assert widths[1] / widths[0] == pytest.approx(np.sqrt(1 / 3))
    assert np.abs(heights).max() < 0.5
    assert widths.max() < 1
    assert [one.get_y() for one in drawn] == [0, 0, 0, 1, 1]
    assert [bool(one.get_hatch()) for one in drawn] == [False, True, False, False, False]


def test_a_cell_without_a_residual_is_marked() -> None:
    assert [one.get_text() for one in plot().draw().texts] == ["–"]


def test_data_and_words() -> None:
    frame = plot().to_frame()
    assert list(frame.columns) == ["row", "column", "residual", "expected"]
    assert len(frame) == 6
    assert plot().described() == (
        "Residuals: adjusted residuals of a by b, 6 cells. 4 beyond ±1.96: x, p +5.0; y, p -5.0; x, r -2.5; y, r +2.5."
    )


@pytest.mark.parametrize(
    ("sides", "known"),
    [*((sides, True) for sides in ((1, 1), (2, 2), (60, 2), (2, 60), (20, 20))), ((1, 1), False), ((2, 2), False)],
)
def test_any_number_of_categories_is_drawn(sides: tuple[int, int], known: bool) -> None:
    rng = np.random.default_rng(1)
    names = [tuple(f"{'a rather long name ' * 3}$_{place}" for place in range(size)) for size in sides]
    values = rng.normal(0, 2, sides) if known else np.full(sides, np.nan)
    tuples = tuple(map(tuple, values.tolist())), tuple(map(tuple, rng.uniform(0, 1, sides).tolist()))
    made = plot(rows=names[0], columns=names[1], residuals=tuples[0], expected=tuples[1])
    assert made.svg("plot").startswith("<svg")
    assert len(bars(made)) == (values.size if known else 0)
