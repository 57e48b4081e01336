"""Rankings: a point for each number, none where no number is enough."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from ldpstats.pictures.intervals import Ranking


@pytest.mark.parametrize("logarithmic", [False, True])
def test_points_stand_at_their_numbers(logarithmic: bool) -> None:
    picture = Ranking("Needed", (), ("$a_1$", "b", "c"), (0.25, 1200.0, np.inf), "respondents", logarithmic)
    axes = picture.draw(Figure().subplots())
    points = [line.get_xydata()[0].tolist() for line in axes.get_lines() if line.get_marker() == "o"]
    assert points == [[0.25, 2.0], [1200.0, 1.0]]
    assert [text.get_text() for text in axes.texts] == ["0.25", "1,200", "none is enough"]
    assert picture.described() == "Needed: respondents. $a_1$ 0.25; b 1,200; c none is enough."
    assert picture.to_frame()["value"].tolist() == [0.25, 1200.0, np.inf]


@pytest.mark.parametrize("count", [1, 60])
def test_few_and_many_are_drawn(count: int) -> None:
    picture = Ranking("Needed", (), tuple(map(str, range(count))), (np.inf,) * count, "respondents", True)
    assert picture.svg("many").startswith("<svg")
    assert ("and 48 more" in picture.described()) == (count == 60)
