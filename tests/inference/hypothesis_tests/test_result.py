"""Results of tests: one line, a row, the power that reports have, and pictures of what was tested."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt

import ldpstats as ldp
from ldpstats.inference.engine.detectability import RespondentsNeeded
from ldpstats.inference.planning.sizing import sample_size
from ldpstats.pictures.intervals import Intervals
from ldpstats.pictures.lines import Lines
from ldpstats.pictures.mosaic import AssociationPlot

DOMAIN = ldp.Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]})


@pytest.fixture(scope="module")
def table() -> ldp.Table:
    """Return a table of evenly distributed, independent attributes."""
    protocol = ldp.SampledGroups(DOMAIN, k=3, epsilon=3.0, mechanism="grr")
    return protocol.simulate(np.full(12, 10_000), rng=1)["a", "b", "c"]


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    yield
    plt.close("all")


def test_one_line_says_the_decision_and_what_it_is_of(table: ldp.Table) -> None:
    result = ldp.independence_test(table.marginal(["a", "b"]))
    assert repr(result) == f"<HypothesisResult: {result.headline}>"
    assert result.headline.startswith(f"a and b are independent: {result.verdict()}, p = {result.pvalue:.3g}, V = ")
    assert result.headline.endswith("120,000 reports (simulated)")
    row = result.to_frame().iloc[0]
    assert result.effect is not None
    assert (row["lower"], row["upper"]) == result.effect.conf_int()
    assert (row["statistic"], row["pvalue"], row["attributes"]) == (*result, ("a", "b"))


def test_power_and_what_is_needed_are_those_of_a_plan(table: ldp.Table) -> None:
    """Margins are even, up to what was drawn; and the power that is said is a special case."""
    result = ldp.independence_test(table)
    assert result.power == {size: result.power_against(size) for size in (0.1, 0.3)}
    planned = sample_size("grr", (2, 2, 3), epsilon=3.0, effect=0.05, power=0.9, alpha=0.01)
    assert result.respondents_needed(0.05, power=0.9, alpha=0.01) == pytest.approx(planned, rel=0.02)
    pair = ldp.independence_test(table.marginal(["b", "c"]))
    assert pair.effect is not None
    assert pair.respondents_needed(0.04) < (pair.respondents_needed(0.02) or 0)
    for arguments in ({"size": -1}, {"size": 2}, {"size": 0.1, "power": 0.01}, {"size": 0.1, "alpha": 0}):
        with pytest.raises(ldp.LdpstatsError):
            result.respondents_needed(**arguments)
    assert pair.respondents_needed(0.0) is None, "nothing is found by no number"
    shown = RespondentsNeeded.shown_by(result.statistic, result.df, result.n, 0.8, 0.05).needed
    assert result.respondents_needed() == shown


def test_pictures_are_of_what_was_tested(table: ldp.Table) -> None:
    pair, single = table.marginal(["a", "c"]), table.marginal("c")
    assert isinstance(ldp.independence_test(pair).picture(), AssociationPlot)
    fit = ldp.goodness_of_fit_test(single, [0.5, 0.3, 0.2]).picture()
    assert isinstance(fit, Intervals)
    assert fit.to_frame()["expected"].tolist() == [0.5, 0.3, 0.2]
    assert fit.to_frame()["estimate"].tolist() == single.estimate.tolist()
    assert "0 of 3 intervals hold the expected one" in fit.described()
    result = ldp.independence_test(table)
    power = result.picture()
    assert isinstance(power, Lines)
    for size, value in power.to_frame()[["x", "y"]].iloc[::10].to_numpy():
        assert value == result.power_against(size)
    for one in (fit, power):
        axes = one.draw()
        axes.figure.canvas.draw()
        assert "simulated" in axes.get_title(loc="left")
    marks = [line for line in fit.draw().get_lines() if line.get_marker() == "D"]
    assert marks[0].get_xdata().tolist() == [0.5, 0.3, 0.2]


def test_a_log_linear_model_is_shown_beside_the_estimates(table: ldp.Table) -> None:
    fit = ldp.log_linear_model(table, "a*b + c")
    assert fit.headline == "a*b + c, fitted to a × b × c; 120,000 reports (simulated)"
    assert f"{fit.expected[0, 0, 0]:.4f}" in str(fit)
    assert [cell["fitted"] for cell in fit.to_dict()["cells"]] == fit.expected.ravel().tolist()
    assert fit.picture().to_frame()["expected"].tolist() == fit.expected.ravel().tolist()


def test_a_model_that_reports_leave_open_says_so() -> None:
    people = np.full(12, 10_000)
    chain = ldp.SampledGroups(DOMAIN, epsilon=3.0, groups=[("a", "b"), ("b", "c")]).simulate(people, rng=1)
    fit = ldp.log_linear_model(ldp.reconstruct(chain, ["a", "b", "c"]), "a*c + b*c")
    assert "it is not fitted" in str(fit)
    assert fit.summary().panels[0].rows[0][3] == "-"
    with pytest.raises(ldp.NotIdentifiedError):
        fit.picture()
