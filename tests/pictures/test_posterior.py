"""What can become known: bands are where Bayes' rule puts the most telling reports of a channel."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpstats.conformance.enumeration import exact_channel
from ldpstats.mechanisms import GRR
from ldpstats.pictures.lines import Posterior


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
