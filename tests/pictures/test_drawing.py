"""Drawing: texts that matplotlib takes as they are, and numbers on a scale of ratios."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

from ldpstats.pictures.drawing import label_lines, literal, number_ratios


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
