"""Heat maps: a square per pair that was asked for, coloured where something is shown, and grey where not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from ldpstats.pictures.heat_map import HeatMap


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    yield
    plt.close("all")


def heat_map(side: int) -> HeatMap:
    """Return a picture in which all but the last pair were asked for, and every other is shown."""
    numbers = np.add.outer(np.arange(side), np.arange(side))
    asked = ~np.eye(side, dtype=bool)
    asked[-1, -2] = asked[-2, -1] = side < 3
    labels = tuple(f"${place}_$" for place in range(side))
    return HeatMap("V", ("simulated",), labels, numbers / (2 * side), numbers % 2 == 1, asked, "Cramér's V")


@pytest.mark.parametrize("side", [2, 3, 12, 37])
def test_pairs_that_were_asked_for_are_squares(side: int) -> None:
    picture = heat_map(side)
    axes = picture.draw()
    colours = [patch.get_facecolor() for patch in axes.patches if isinstance(patch, Rectangle)]
    colours += [colour for one in axes.collections if isinstance(one, PolyCollection) for colour in one.get_facecolor()]
    frame = picture.to_frame()
    assert len(colours) == len(frame) == side * (side - 1) // 2 - (side > 2)
    grey = sum(np.ptp(colour[:3]) == 0 for colour in colours)
    assert grey == (~frame["decided"]).sum()
    assert len(axes.texts) == (len(frame) if side <= 12 else 0)
    axes.figure.canvas.draw()
    assert picture.svg("v").count("stroke-linejoin") > 0


def test_names_stand_beside_their_squares() -> None:
    picture = heat_map(4)
    axes = picture.draw()
    below, beside = axes.get_xticklabels(), axes.get_yticklabels()
    named = {round(one.get_position()[0]): one.get_text() for one in below}
    left = {round(one.get_position()[1]): one.get_text() for one in beside}
    squares = [
        (patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2) for patch in axes.patches
    ]
    drawn = [(named[round(x)], left[round(y)]) for x, y in squares]
    names = picture.to_frame()[["first", "second"]].map(lambda name: name.replace("$", r"\$")).to_numpy()
    assert drawn == list(map(tuple, names.tolist()))


def test_colours_rise_with_the_numbers() -> None:
    picture = heat_map(8)
    squares = picture.draw().patches
    shown = [
        (value, sum(square.get_facecolor()[:3]))
        for square, value, decided in zip(squares, *picture.to_frame()[["value", "decided"]].T.to_numpy(), strict=True)
        if decided
    ]
    values, brightness = zip(*sorted(shown), strict=True)
    assert np.all(np.diff(brightness)[np.diff(values) > 0] < 0)


def test_a_dependence_of_unknown_strength_is_framed() -> None:
    picture = heat_map(3)
    picture.values[1, 0] = np.nan
    first, second = picture.draw().patches
    assert not np.allclose(first.get_edgecolor(), second.get_edgecolor())
    assert first.get_facecolor() == second.get_facecolor(), "its colour would say how strong it is"
    assert [text.get_text() for text in picture.draw().texts] == ["–", "0.33"]
    assert picture.described() == "V: Cramér's V of 2 pairs, 1 of them shown to be dependent."


@pytest.mark.parametrize("side", [4, 13])
def test_squares_have_sharp_edges(side: int) -> None:
    every = np.ones((side, side))
    axes = HeatMap("", (), tuple(["·"] * side), every, every > 0, every > 0, "").draw()
    for words in axes.texts:
        words.set_visible(False)
    axes.figure.canvas.draw()
    box, pixels = axes.get_window_extent(), np.asarray(axes.figure.canvas.buffer_rgba())
    left, right, height = int(box.x0) + 2, int(box.x1) - 2, len(pixels)
    seen = pixels[height - int(box.y1) + 2 : height - int(box.y0) - 2, left:right].reshape(-1, 4)
    assert len(np.unique(seen, axis=0)) == 2
