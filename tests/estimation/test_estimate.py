"""Estimates of one tally: unbiased, with intervals that hold the truth as often as they say, also of rare cells."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm
from statsmodels.stats.proportion import proportion_confint
from support.blocks_of_reports import FAKE, FREQUENCIES, TALL, block, multinomial_tallies
from support.comparisons import close
from support.rare_tables import block_of, table_of

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import Estimate, LinearPooling, invert, refuse_empty
from ldpstats.estimation.estimate import among_proportions
from ldpstats.estimation.rare import OwnReports
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism
from ldpstats.noise import MultinomialNoise, NoiseModel, Tally, TruthOrFake


@pytest.mark.parametrize("noise", [FAKE, TALL])
def test_the_estimated_covariance_of_an_inversion_is_unbiased(noise: NoiseModel) -> None:
    mean = np.zeros((3, 3))
    for counts, chance in multinomial_tallies(noise.mean(FREQUENCIES), 4):
        mean += chance * invert(Tally(noise, counts, 4)).covariance
    assert close(mean, noise.covariance(FREQUENCIES) / 4)


def test_intervals_are_normal_and_not_cut() -> None:
    estimate = Estimate(np.array([-0.01, 1.01]), np.array([[0.04, -0.04], [-0.04, 0.04]]), 50)
    for alpha in (0.05, 0.5, 1e-12):
        z = norm.isf(alpha / 2)
        expected = [[-0.01 - 0.2 * z, -0.01 + 0.2 * z], [1.01 - 0.2 * z, 1.01 + 0.2 * z]]
        assert np.allclose(estimate.conf_int(alpha), expected, rtol=1e-12, atol=0)
    frame = estimate.to_frame(alpha=0.5)
    assert frame["std_err"].tolist() == [0.2, 0.2]
    assert np.array_equal(frame[["lower", "upper"]].to_numpy(), estimate.conf_int(0.5))


@pytest.mark.parametrize("mechanism", [GRR(3, 1.0), OUE(3, 1.0), SS(3, 1.0, omega=2)], ids=str)
def test_a_single_report_says_nothing_about_its_spread(mechanism: GRR | OUE | SS) -> None:
    single = mechanism.estimate(mechanism.privatize([1], rng=1))
    assert np.all(single.std_err == inf)
    limits = single.conf_int()
    assert np.all(limits[:, 1] - limits[:, 0] > 1)
    assert np.all(np.isfinite(single.estimate))


def test_nothing_is_estimated_from_no_reports() -> None:
    nothing = Tally(FAKE, [0, 0, 0], 0)
    for attempt in (lambda: invert(nothing), lambda: LinearPooling([block(FAKE, 9), block(FAKE, 0)])):
        with pytest.raises(NotIdentifiedError, match="no reports behind"):
            attempt()
    with pytest.raises(NotIdentifiedError, match="no reports behind the table of a"):
        refuse_empty(0, "the table of a")


def test_estimates_pass_on_where_they_came_from() -> None:
    assert invert(Tally(FAKE, [1, 2, 0], 3, simulated=True)).simulated
    assert not invert(Tally(FAKE, [1, 2, 0], 3)).simulated
    assert GRR(3, 1.0).estimate(GRR(3, 1.0).privatize([0, 1])).privacy == GRR(3, 1.0).privacy()


@pytest.mark.parametrize("mechanism", [GRR(5, 6.0), OUE(5, 1.0), SS(7, 1.0)], ids=str)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_intervals_are_wilsons_rescaled(mechanism: Mechanism, alpha: float) -> None:
    tally = mechanism.simulate([60, 40, *[0] * (mechanism.k - 2)], rng=3)
    lower, upper = proportion_confint(tally.counts, 100, alpha=alpha, method="wilson")
    limits = mechanism.estimate(tally).conf_int(alpha)
    frequent = (tally.counts >= 20) & (tally.counts <= 80)
    wilson = np.stack([mechanism.noise.debias(lower), mechanism.noise.debias(upper)], axis=-1)
    assert close(limits[frequent], wilson[frequent])
    assert frequent.any()
    assert np.all(limits[:, 0] < limits[:, 1]), "also where no report supports a value"


def test_intervals_of_negative_estimates_hold_the_truth_as_often() -> None:
    """By integration: of a normal estimate x < 0 of a proportion of one standard error, .84 are covered, and .95."""
    x = np.linspace(-8, 0, 200_001)[:-1]
    weight = np.exp(-((x - 1) ** 2) / 2)
    usual = np.stack([x - 1.96, x + 1.96], axis=-1)
    for limits, covered in ((usual, 0.843), (among_proportions(x, usual), 0.951)):
        held = weight[(limits[:, 0] <= 1) & (limits[:, 1] >= 1)].sum() / weight.sum()
        assert held == pytest.approx(covered, abs=0.001)
    inside = np.array([0.0, 0.4, 1.0])
    same = np.stack([inside - 0.2, inside + 0.2], axis=-1)
    assert np.array_equal(among_proportions(inside, same), same)
    above = among_proportions(np.array([1.3]), np.array([[0.9, 1.7]]))
    assert above == pytest.approx(np.array([[0.8, 1.7]]))


class TestShown:
    """What an estimate shows: every figure, where intervals come from, and what was left out."""

    def test_rows_are_those_of_the_frame_with_the_level_and_the_kind_of_intervals(self) -> None:
        estimate = GRR(3, 1.0).estimate(Tally(GRR(3, 1.0).noise, [50, 30, 20], 100, simulated=True))
        rows = [[float(one) for one in row] for row in estimate.summary(0.1).panels[0].rows]
        np.testing.assert_allclose(np.array(rows)[:, 1:], estimate.to_frame(alpha=0.1), atol=5e-5)
        assert "3 values from 100 reports (simulated)" in estimate.headline
        assert "pointwise 90 % (Wilson)" in str(estimate.summary(0.1))
        picture = estimate.picture(0.1)
        np.testing.assert_allclose(picture.to_frame().iloc[:, 1:], estimate.to_frame(alpha=0.1).drop(columns="std_err"))
        assert picture.notes == ("simulated", "pointwise 90 % intervals (Wilson)")

    def test_of_many_values_the_most_frequent_are_shown_in_their_order(self) -> None:
        counts = np.zeros(500, dtype=int)
        counts[[499, 3, 250]] = 400
        estimate = GRR(500, 6.0).estimate(Tally(GRR(500, 6.0).noise, counts, 1200))
        shown = [int(row[0]) for row in estimate.summary().panels[0].rows]
        assert len(shown) == 60
        assert shown == sorted(shown)
        assert {3, 250, 499} <= {*shown}
        assert "60 most frequent of 500 values" in str(estimate)
        assert "the 60 most frequent of 500 values" in estimate.picture().notes
        assert len(estimate.to_frame()) == 500

    def test_several_tables_at_once_have_a_headline_and_no_picture(self) -> None:
        estimate = invert(Tally(GRR(3, 1.0).noise, [[5, 3, 2], [2, 2, 6]], 10))
        assert repr(estimate) == "<Estimate: 2 tables of 3 values from 10 reports>"
        assert "2 × 3" in str(estimate)
        with pytest.raises(LdpstatsError, match="one table"):
            estimate.plot()

    def test_one_report_has_plain_values_without_infinity(self) -> None:
        estimate = GRR(3, 1.0).estimate(GRR(3, 1.0).privatize([0], rng=1))
        assert estimate.to_dict()["std_err"] == [None] * 3
        json.dumps(estimate.to_dict(), allow_nan=False)
        assert "1 report;" in str(estimate)
        estimate.plot().figure.canvas.draw()

    def test_names_follow_the_cells_and_are_those_of_all(self) -> None:
        named = replace(GRR(3, 1.0).estimate(Tally(GRR(3, 1.0).noise, [5, 3, 2], 10)), names=("a", "b", "c"))
        assert named.in_order(np.array([2, 0, 1])).names == ("c", "a", "b")
        assert named.summed(np.array([0, 0, 1]), 2).names == ()
        assert named.to_frame().index.tolist() == ["a", "b", "c"]
        with pytest.raises(LdpstatsError, match="2 names of 3 values"):
            replace(named, names=("a", "b"))

    @pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, "0.05", None, float("nan"), True])
    def test_a_level_that_is_none_is_refused_wherever_it_is_asked_for(self, alpha: Any) -> None:
        estimate = GRR(3, 1.0).estimate(Tally(GRR(3, 1.0).noise, [5, 3, 2], 10))
        domain = ldp.Domain({name: [0, 1] for name in "abc"})
        pairs = ldp.SampledGroups(domain, epsilon=2.0, groups=[("a", "b"), ("b", "c")]).simulate(np.ones(8, int), rng=1)
        without = ldp.reconstruct(pairs, ["a", "c"], "l2", n_resamples=2)  # there are no intervals
        asked = [estimate.summary, estimate.to_dict, estimate.picture, estimate.conf_int, without.bounds]
        for ask in (*asked, without.summary, without.to_dict, without.to_frame):
            with pytest.raises(LdpstatsError, match=r"alpha|number"):
                ask(alpha)


class TestProportions:
    """Cells of their own."""

    def test_one_block_is_binomial(self) -> None:
        estimate = ldp.GRR(3, 3.0).estimate(Tally(ldp.GRR(3, 3.0).noise, [60, 37, 3], 100))
        none, every = ldp.GRR(3, 3.0).noise.bounds()[:, 2]

        def tail(share: float) -> float:
            return float(binom.sf(2, 100, share) - binom.pmf(3, 100, share) / 2)

        expected = [brentq(lambda share, level=level: tail(share) - level, 1e-9, 0.5) for level in (0.025, 0.975)]
        assert estimate.conf_int()[2] == pytest.approx([none + (every - none) * share for share in expected], abs=1e-6)

    def test_several_blocks_are_weighted_binomials(self) -> None:
        """All pairs of counts, by hand."""
        n, gain, offset = np.array([[30.0], [20.0]]), np.array([[0.9], [0.6]]), np.array([[0.01], [0.05]])
        seen, weights = np.array([[2.0], [3.0]]), np.array([[0.9], [0.6]])
        own = OwnReports(n, gain, offset, seen, weights)
        first, second = np.meshgrid(np.arange(31), np.arange(21), indexing="ij")
        total, here = weights[0] * first + weights[1] * second, float((weights * seen).sum())
        for level, limit in zip((0.975, 0.025), own.limits(0.05)[0], strict=True):
            mean = (gain * limit + offset)[:, 0]
            chance = binom.pmf(first, 30, mean[0]) * binom.pmf(second, 20, mean[1])
            below = chance[total < here - 1e-9].sum() + chance[np.abs(total - here) < 1e-9].sum() / 2
            # atoms nearer than a tenth of the standard deviation are smoothed
            assert below == pytest.approx(level, abs=0.01)

    def test_tables_of_truth_or_fake_blocks_use_them(self) -> None:
        first, second = (
            MultinomialNoise(TruthOrFake(0.99, fake)) for fake in ((0.7, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.7))
        )
        table = table_of(block_of(first, [50, 0, 1, 49]), block_of(second, [45, 1, 0, 54]))
        limits = table.conf_int().reshape(-1, 2)
        assert np.all(limits[1:3, 0] < 0.006)
        assert np.all(limits[1:3, 1] > 0.015)
        assert "mid-p where reports are few" in str(table.summary())

    def test_sums_of_cells_forget_the_reports_of_each(self) -> None:
        table = table_of(block_of(ldp.OUE(4, 6.0).noise, [50, 2, 1, 40], 100))
        assert table.marginal("row").cells.own is None


def test_an_empty_cell_may_be_empty() -> None:
    table = table_of(block_of(ldp.GRR(4, 60.0).noise, [0, 20, 15, 25]))
    low, high = table.conf_int()[0, 0] if table.conf_int().ndim == 3 else table.conf_int()[0]
    assert low <= 0.0
    # P(none) / 2 = .025 there
    assert high == pytest.approx(1 - 0.05 ** (1 / 60), abs=1e-6)
