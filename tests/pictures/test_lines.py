"""Pictures of lines: what is drawn is what was given, and bands of suspicions are where Bayes' rule puts them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpstats.conformance.enumeration import exact_channel
from ldpstats.mechanisms import GRR
from ldpstats.pictures.lines import Lines, Posterior


def _lines(count: int = 2, points: int = 4) -> Lines:
    x = tuple(float(10 ** (2 + place)) for place in range(points))
    series = {f"line {place}": tuple(np.linspace(0.1, 1, points) / (1 + place)) for place in range(count)}
    return Lines("Power", ("simulated",), x, series, "respondents", "power", logarithmic=(True, False))


def test_lines_are_drawn_where_they_are() -> None:
    picture = _lines()
    axes = picture.draw()
    assert [line.get_label() for line in axes.get_lines()] == list(picture.series)
    for line, values in zip(axes.get_lines(), picture.series.values(), strict=True):
        assert np.allclose(line.get_xydata(), np.column_stack([picture.x, values]))
    assert axes.get_title(loc="left") == "Power\nsimulated"
    assert axes.get_xscale() == "log"
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.get_xticklabels()][1:-1] == ["100", "1,000", "10,000", "100,000"]


def test_bands_rules_and_gaps() -> None:
    picture = Lines(
        "Blocks",
        (),
        (1.0, 2.0, 3.0),
        {"yes": (0.2, np.inf, 0.4), "no": (np.nan, np.nan, np.nan)},
        "block",
        "share",
        {"yes": (0.1, 0.1, 0.3)},
        {"yes": (0.3, np.inf, 0.5)},
        {"stopped": 2.0},
        {"truth": 0.35},
        whole=True,
    )
    axes = picture.draw()
    assert len(axes.collections) == 1  # one band
    assert [text.get_text() for text in axes.texts] == ["truth", "stopped"]
    axes.figure.canvas.draw()
    assert all(tick == round(tick) for tick in axes.get_xticks())
    assert picture.described().endswith("yes: from 0.2 to 0.4; no: —. Marked: stopped 2, truth 0.35.")


@pytest.mark.parametrize(("count", "points"), [(1, 1), (2, 2), (60, 60)])
def test_any_number_of_lines_is_told_apart(count: int, points: int) -> None:
    picture = _lines(count, points % 8 + 1)
    axes = picture.draw()
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == min(count, 24)
    assert (axes.get_legend() is None) == (count == 1)
    assert picture.svg("lines").startswith("<svg")


def test_a_band_ends_where_bayes_rule_puts_the_most_telling_report():
    """Oracle: randomized response with two answers, its exact channel, and every prior."""
    mechanism = GRR(2, epsilon=1.0)
    truth = max(exact_channel(mechanism)[0].values())
    frame = Posterior("A suspicion", (), {"epsilon = 1": mechanism.strict_epsilon()}).to_frame()
    for row in frame.iloc[1:-1:20].itertuples():
        before = Fraction(row.before)
        after = [before * p / (before * p + (1 - before) * (1 - p)) for p in (truth, 1 - truth)]
        assert row.most == pytest.approx(float(max(after)), abs=1e-12)
        assert row.least == pytest.approx(float(min(after)), abs=1e-12)


def test_every_level_is_drawn_and_only_those_that_are_guaranteed_as_areas():
    picture = Posterior("A suspicion", ("a note",), {"whole $": 2.0, "_part": 1.0}, {"nominal": 0.5})
    ax = picture.draw()
    areas = [one for one in ax.collections if len(one.get_paths())]
    assert [one.get_label() for one in areas] == ["whole $", "_part"]
    told = [one.get_text().strip("\N{ZERO WIDTH SPACE}") for one in ax.get_legend().get_texts()]
    assert told == ["whole \\$", "_part", "nominal", "nothing learnt"]
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    most = picture.to_frame().query("level == 'nominal'")["most"]
    np.testing.assert_allclose(dashed[1].get_ydata(), most)
    assert [one.get_text() for one in ax.texts] == ["10 % → 45.1 %", "50 % → 88.1 %"]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("level", [0.0, 0.01, 30.0, 800.0, math.inf])
def test_extreme_levels_are_drawn(level: float):
    picture = Posterior("A suspicion", (), {"level": level})
    picture.draw().figure.canvas.draw()
    figures = picture.to_frame()[["before", "least", "most"]].to_numpy()
    assert np.isfinite(figures).all()
    assert (figures[:, 1] <= figures[:, 0] + 1e-12).all()
    assert (figures[:, 2] >= figures[:, 0] - 1e-12).all()
    assert "suspicion of 10 %" in picture.described()
