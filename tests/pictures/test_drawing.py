"""Drawing: pictures on axes that were given or made, as elements of a page, with texts as they are."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from ldpstats import LdpstatsError
from ldpstats.pictures import colours
from ldpstats.pictures.drawing import Picture, label_lines, legend_below, literal, number_ratios
from ldpstats.pictures.graph import DrawnEdge, NetworkGraph
from ldpstats.pictures.heat_map import HeatMap
from ldpstats.pictures.intervals import Intervals
from ldpstats.pictures.lines import Lines, Posterior
from ldpstats.pictures.mosaic import AssociationPlot, Mosaic


def picture(title: str = "Shares", *notes: str) -> Intervals:
    return Intervals(title, notes, ("a", "b"), (0.2, 0.8), (0.1, 0.7), (0.3, 0.9), "proportion")


def test_axes_that_are_given_are_drawn_on_and_returned_and_settings_stay_as_they_were() -> None:
    before = dict(plt.rcParams)
    _, axes = plt.subplots()
    assert picture().draw(axes) is axes
    assert axes.get_title(loc="left") == "Shares"
    assert dict(plt.rcParams) == before


def test_an_element_of_a_page_opens_no_figure_and_is_the_same_again() -> None:
    once = picture().svg("one")
    assert plt.get_fignums() == []
    assert picture().svg("one") == once
    read = ET.fromstring(once)  # noqa: S314  # our own element
    assert read.tag.endswith("svg")
    assert colours.INK not in once
    assert "currentColor" in once
    assert "Shares" in "".join(read.itertext())
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", once)


@pytest.mark.parametrize("given", [False, True])
def test_on_a_dark_figure_ink_is_light(given: bool) -> None:
    for one in (picture(), replace(picture(), others=((0.2,), (0.8,)), kind="raw", words=("raw", "private"))):
        with plt.style.context("dark_background"):
            axes = one.draw(plt.subplots()[1] if given else None)
            axes.figure.canvas.draw()
        shown = [one for one in axes.figure.findobj(Text) if one.get_text()]
        assert len(shown) > 5
        assert {to_hex(one.get_color()) for one in shown} == {"#ffffff"}
    assert to_hex(picture().draw().xaxis.label.get_color()) == colours.INK


def test_threads_draw_one_after_the_other() -> None:
    before, alone = dict(plt.rcParams), picture().svg("one")
    with ThreadPoolExecutor(8) as several:
        drawn = [several.submit(picture().svg, "one") for _ in range(24)]
    assert {one.result() for one in drawn} == {alone}
    assert dict(plt.rcParams) == before


def test_notes_are_remarks_for_those_who_cannot_see_them() -> None:
    assert picture().remarks() == ""
    assert picture("Shares", "simulated", "", "assumes: no trend.").remarks() == "Simulated. Assumes: no trend."


def test_names_within_an_element_are_its_own() -> None:
    one, two = (set(re.findall(r'\bid="([^"]*)"', picture().svg(name))) for name in ("one", "two"))
    assert one
    assert not one & two


HOSTILE = "<script>alert(1)</script> $x^2$ & $ a_b \\alpha 50 % 中文\nnext"
TWO, EVERY = (HOSTILE, "b"), ((1.0, 1.0), (1.0, 1.0))
ASKED = ~np.eye(2, dtype=bool)
KINDS = [
    Intervals(HOSTILE, (HOSTILE,), TWO, (0.2, 0.8), (0.1, 0.7), (0.3, 0.9), HOSTILE),
    Lines(HOSTILE, (HOSTILE,), (1.0, 2.0), dict.fromkeys(TWO, (1.0, 2.0)), HOSTILE, HOSTILE, levels={HOSTILE: 1.5}),
    Posterior(HOSTILE, (HOSTILE,), {HOSTILE: 1.0}, {"b": 0.5}),
    HeatMap(HOSTILE, (HOSTILE,), TWO, np.ones((2, 2)), ASKED, ASKED, HOSTILE),
    Mosaic(HOSTILE, (HOSTILE,), TWO, TWO, TWO, (0.5, 0.5), EVERY, EVERY, ((False,) * 2,) * 2),
    AssociationPlot(HOSTILE, (HOSTILE,), TWO, TWO, TWO, EVERY, EVERY),
    NetworkGraph(HOSTILE, (HOSTILE,), TWO, (DrawnEdge(*TWO),)),
]


@pytest.mark.parametrize("hostile", KINDS, ids=lambda kind: type(kind).__name__)
def test_formulas_and_tags_are_letters_whether_or_not_a_font_has_them(hostile: Picture) -> None:
    element = hostile.svg("one")
    text = "".join(ET.fromstring(element).itertext())  # noqa: S314  # our own element
    for word in ("<script>alert(1)</script>", "$x^2$", "a_b", r"\alpha", "中文", "next"):
        assert word in text
    assert "tspan" not in element, "something is set as a formula"


def test_long_titles_and_notes_are_wrapped_to_the_width() -> None:
    axes = picture("word " * 40, "note " * 40).draw()
    axes.figure.canvas.draw()
    assert axes.title.get_text() == ""
    title = axes._left_title.get_window_extent()  # no public name for a title at the left
    assert title.x1 <= axes.figure.bbox.x1


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from ldpstats.pictures.intervals import Intervals\n"
        "Intervals('t', (), ('a',), (1.0,), (0.0,), (2.0,), 'x').draw()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"{LdpstatsError.__name__}: no matplotlib to draw with" in done.stderr
    assert "pip install 'ldpstats[plots]'" in done.stderr


@pytest.mark.parametrize("words", ["$5 or $10", r"\$5 and \frac{1}{2}$", "a_b^c", "100 % & <b>", "one $ alone"])
def test_matplotlib_shows_texts_as_they_are_written(words: str):
    figure, axes = plt.subplots()
    text = axes.set_title(literal(words))
    figure.canvas.draw()
    shown, formula = text._preprocess_math(text.get_text())  # what it draws
    assert (shown, formula) == (words, False)


def test_long_labels_take_two_lines_and_no_more():
    assert label_lines("one\nword") == "one word"
    lines = label_lines("twelve words " * 20).split("\n")
    assert [len(one) <= 40 for one in lines] == [True, True]
    assert lines[1].endswith("…")


@pytest.mark.parametrize(("low", "high"), [(0.6, 2.5), (0.1, 10.0), (1e-9, 1e9)])
def test_a_scale_of_ratios_has_a_few_plain_numbers(low: float, high: float):
    figure, axes = plt.subplots()
    axes.set_xscale("log")
    number_ratios(axes.xaxis, low, high)
    axes.set_xlim(low, high)
    figure.canvas.draw()
    inside = [
        one.get_text() for one in axes.get_xticklabels() if low <= one.get_position()[0] <= high and one.get_text()
    ]
    assert 2 <= len(inside) <= 10
    assert "1" in inside
    assert not any("$" in one for one in inside)


def test_a_cut_leaves_every_sign_marked_as_no_formula():
    lines = label_lines("a" + "$" * 59).split("\n")
    assert "".join(lines).replace("\\$", "$") == "a" + "$" * 59
    assert all(one.count("\\$") == one.count("$") for one in lines)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_long_words_of_a_legend_leave_the_axes_their_room(columns: int):
    figure, axes = plt.subplots(figsize=(5.2, 5), layout="constrained")
    lines = [axes.plot([0, 1], label=f"line {place} " + "of a very long name with $ " * 6)[0] for place in range(4)]
    legend_below(axes, lines, columns)
    figure.canvas.draw()
    assert axes.get_window_extent().width > 0.6 * figure.bbox.width
    assert all("…" in one.get_text() for one in axes.get_legend().get_texts())


@pytest.mark.parametrize("letters", [10, 500, 5000])
def test_long_notes_leave_room_for_the_picture(letters: int) -> None:
    note = "word " * (letters // 5)
    drawn = picture("Shares", note, note)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = drawn.draw()
        axes.figure.canvas.draw()
        assert axes.get_window_extent().height > 50
        assert axes.title.get_text() == ""
        lines = axes.get_title(loc="left").split("\n")
        assert len(lines) <= 9
        assert max(map(len, lines)) <= 90
        assert drawn.svg("long").startswith("<svg")


def test_a_figure_of_ones_own_keeps_its_size() -> None:
    figure = Figure(figsize=(4, 3))
    picture("Shares", "a note that is long " * 20).draw(figure.subplots())
    assert figure.get_size_inches().tolist() == [4, 3]
