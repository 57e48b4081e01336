"""Curves of planning: figures of power and sample size, and lines that are drawn through them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import ldpstats as ldp
from ldpstats.inference.planning.sizing import power, power_curve, sample_size, sample_size_curve


class TestPowerCurve:
    """Curves over n and ε."""

    def test_has_a_row_for_every_combination(self) -> None:
        curve = power_curve(["auto", "grr", "ss"], (3, 3), epsilon=[0.5, 1.0], n=[1000, 10_000])
        assert curve.table.columns.tolist() == ["mechanism", "epsilon", "n", "power"]
        assert len(curve.table) == 8, "auto is SS here, which stands there once"
        for row in curve.table.itertuples():
            assert row.power == power(row.mechanism, (3, 3), epsilon=row.epsilon, n=row.n)

    def test_draws_a_line_per_mechanism_and_level(self) -> None:
        axes = Figure().subplots()
        curve = power_curve("grr", (2, 2), epsilon=[0.5, 1.0], n=[1000, 100, 10_000])
        assert curve.plot(axes) is axes
        assert [line.get_label() for line in axes.get_lines()[:2]] == ["GRR, ε = 0.5", "GRR, ε = 1"]
        assert [text.get_text() for text in axes.texts] == ["level", "80 %"]
        assert axes.get_lines()[0].get_xdata().tolist() == [100, 1000, 10_000]
        along_level = power_curve(("grr", "oue"), (2, 2), epsilon=[2.0, 0.5, 1.0], n=1000).plot()
        assert [line.get_label() for line in along_level.get_lines()[:2]] == ["GRR, n = 1,000", "OUE, n = 1,000"]
        assert along_level.get_lines()[1].get_xdata().tolist() == [0.5, 1.0, 2.0]
        plt.close(along_level.figure)

    def test_without_matplotlib_it_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ldp.LdpstatsError, match=r"pip install 'ldpstats\[plots\]'"):
            power_curve("grr", (2, 2), epsilon=1.0, n=100).plot()


class TestSampleSizeCurve:
    """What is needed over ε."""

    def test_has_the_sample_size_of_every_mechanism_at_every_level(self) -> None:
        curve = sample_size_curve(["grr", "auto"], (2, 3), epsilon=[2.0, 0.5], effect=0.2, power=0.9, alpha=0.01)
        assert curve.table["epsilon"].tolist() == [0.5, 2.0] * 2
        for row in curve.table.itertuples():
            options = {"epsilon": row.epsilon, "effect": 0.2, "power": 0.9, "alpha": 0.01}
            assert row.n == sample_size(row.mechanism, (2, 3), **options)
        assert "Assumed: equally frequent categories" in str(curve)
        assert f"{curve.table['n'].max():,}" in str(curve)

    def test_draws_a_line_per_mechanism_on_logarithmic_axes(self) -> None:
        curve = sample_size_curve(["grr", "oue"], (2, 2), epsilon=[0.5, 1.0, 2.0], margins=[[0.7, 0.3]] * 2)
        axes = curve.plot(Figure().subplots())
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert [line.get_label() for line in axes.get_lines()] == ["GRR", "OUE"]
        assert axes.get_lines()[0].get_ydata().tolist() == curve.table["n"].tolist()[:3]
        assert "the margins given" in axes.get_title(loc="left")


@pytest.mark.parametrize(
    ("curve", "arguments", "message"),
    [
        (power_curve, {"epsilon": [], "n": 100}, "no levels"),
        (power_curve, {"mechanism": (), "n": 100}, "no mechanisms"),
        (power_curve, {"effect": np.full((2, 2), 0.25), "n": 100}, "a single number"),
        (sample_size_curve, {"epsilon": []}, "no levels"),
        (sample_size_curve, {"epsilon": None}, "a level for a mechanism"),
        (sample_size_curve, {"mechanism": ()}, "no mechanisms"),
        (sample_size_curve, {"mechanism": ldp.GRR(4, epsilon=1.0)}, "a mechanism that is named"),
        (sample_size_curve, {"power": 0.01}, "power"),
        (sample_size_curve, {"shape": None}, "shape"),
    ],
)
def test_curves_of_nothing_are_refused(curve: Any, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ldp.LdpstatsError, match=message):
        curve(**{"mechanism": "grr", "shape": (2, 2), "epsilon": 1.0, **arguments})
