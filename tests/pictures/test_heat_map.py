"""Heat maps: a square per pair that was asked for, coloured where something is shown, and grey where not."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from ldpstats.pictures.heat_map import HeatMap


def heat_map(side: int) -> HeatMap:
    """Return a picture in which all but the last pair were asked for, and every other is shown."""
    numbers = np.add.outer(np.arange(side), np.arange(side))
    asked = ~np.eye(side, dtype=bool)
    asked[-1, -2] = asked[-2, -1] = side < 3
    labels = tuple(f"${place}_$" for place in range(side))
    return HeatMap("V", ("simulated",), labels, numbers / (2 * side), numbers % 2 == 1, asked, "Cramér's V")


def squares(axes: Axes) -> dict[tuple[int, int], tuple[PolyCollection, list[float]]]:
    """Return what draws each square, by its column and row, with the colour of its area."""
    found = {}
    for kind in axes.collections:
        places = [tuple(np.rint(path.vertices[:4].mean(axis=0)).astype(int).tolist()) for path in kind.get_paths()]
        colours = np.resize(kind.get_facecolor(), (len(places), 4)).tolist()
        found |= {place: (kind, colour) for place, colour in zip(places, colours, strict=True)}
    return found


@pytest.mark.parametrize("side", [2, 3, 12, 37])
def test_pairs_that_were_asked_for_are_squares(side: int) -> None:
    picture = heat_map(side)
    axes = picture.draw()
    drawn, frame = squares(axes), picture.to_frame()
    assert len(drawn) == len(frame) == side * (side - 1) // 2 - (side > 2)
    grey = sum(np.ptp(colour[:3]) == 0 for _, colour in drawn.values())
    assert grey == (~frame["decided"]).sum()
    assert len(axes.texts) == (len(frame) if side <= 12 else 0)
    axes.figure.canvas.draw()
    assert picture.svg("v").count("stroke-linejoin") > 0


def test_names_stand_beside_their_squares_and_colours_rise_with_the_numbers() -> None:
    picture = heat_map(8)
    axes = picture.draw()
    named = {round(one.get_position()[0]): one.get_text() for one in axes.get_xticklabels()}
    left = {round(one.get_position()[1]): one.get_text() for one in axes.get_yticklabels()}
    brightness = {(named[x], left[y]): sum(colour[:3]) for (x, y), (_, colour) in squares(axes).items()}
    names = picture.to_frame()[["first", "second"]].map(lambda name: name.replace("$", r"\$")).to_numpy()
    assert {*brightness} == {*map(tuple, names.tolist())}
    rows = zip(map(tuple, names.tolist()), *picture.to_frame()[["value", "decided"]].T.to_numpy(), strict=True)
    values, shown = zip(*sorted((value, brightness[name]) for name, value, decided in rows if decided), strict=True)
    assert np.all(np.diff(shown)[np.diff(values) > 0] < 0)


def test_a_dependence_of_unknown_strength_is_framed() -> None:
    picture = heat_map(3)
    picture.values[1, 0] = np.nan
    (first, colour), (second, same) = squares(picture.draw()).values()
    assert not np.allclose(first.get_edgecolor(), second.get_edgecolor())
    assert colour == same, "its colour would say how strong it is"
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
