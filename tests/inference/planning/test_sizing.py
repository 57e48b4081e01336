"""Power, sample sizes and curves: what noncentrality says before anyone is asked, and what simulation says of it."""

from __future__ import annotations

import math
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.stats import chi2, chi2_contingency, ncx2
from statsmodels.stats.power import GofChisquarePower
from support.two_way_tables import MARGINS, open_answers, share_rejected, some_table

import ldpstats as ldp
from ldpstats.inference.engine.detectability import NoncentralityProfile, departures, product_of
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.planning.sizing import power, power_curve, sample_size, sample_size_curve
from ldpstats.noise import DenseChannel, MultinomialNoise, SupportNoise


class TestWithoutNoise:
    """Reports that never lie: the classical tests."""

    @pytest.mark.parametrize(("values", "n", "effect", "alpha"), [(2, 300, 0.2, 0.05), (5, 900, 0.1, 0.01)])
    def test_goodness_of_fit_has_the_power_of_statsmodels(
        self, values: int, n: int, effect: float, alpha: float
    ) -> None:
        classical = GofChisquarePower()
        found = power(open_answers(values), n=n, effect=effect, alpha=alpha)
        assert found == pytest.approx(classical.power(effect, n, alpha, n_bins=values), abs=1e-9)
        needed = classical.solve_power(effect_size=effect, alpha=alpha, power=0.9, n_bins=values)
        assert sample_size(open_answers(values), power=0.9, effect=effect, alpha=alpha) == math.ceil(needed)

    @pytest.mark.parametrize("skewed", [False, True])
    @pytest.mark.parametrize(
        ("shape", "conditional", "df"), [((3, 4), False, 6), ((2, 3, 2), False, 7), ((3, 2, 4), True, 8)]
    )
    def test_independence_has_the_noncentrality_of_its_effect(
        self, shape: tuple[int, ...], conditional: bool, df: int, skewed: bool
    ) -> None:
        """That is n φ², V² times the rows or columns beyond one, of two attributes, and n w² of more."""
        margins = [MARGINS[side] for side in shape] if skewed else None
        options = {"n": 700, "conditional": conditional, "margins": margins}
        found = power(open_answers(math.prod(shape)), shape, effect=0.15, **options)
        times = min(shape) - 1 if len(shape) == 2 else 1
        assert found == pytest.approx(ncx2.sf(chi2.isf(0.05, df), df, 700 * 0.15**2 * times), abs=1e-9)
        if conditional:
            nats = power(open_answers(math.prod(shape)), shape, mutual_information=0.01, **options)
            assert nats == pytest.approx(ncx2.sf(chi2.isf(0.05, df), df, 700 * 2 * 0.01), abs=1e-9)

    def test_a_whole_table_has_the_noncentrality_of_pearsons_statistic(self) -> None:
        table = some_table((3, 4))
        pearson = chi2_contingency(table * 500, correction=False).statistic
        assert power(open_answers(12), (3, 4), n=500, effect=table) == pytest.approx(
            ncx2.sf(chi2.isf(0.05, 6), 6, pearson), abs=1e-9
        )


class TestNoncentrality:
    """Through noise: the quadratic form, term by term."""

    @pytest.mark.parametrize("name", ["grr", "ss", "oue", "hr", "she", "dbitflip"])
    @pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
    def test_is_the_least_squares_distance_from_the_null_that_a_fit_finds(
        self, name: str, shape: tuple[int, ...]
    ) -> None:
        """δᵀ Aᵀ Σ⁻ A δ where Kᵀ Aᵀ Σ⁻ A δ is zero; Σ and A are a report's covariance and design, K the tangents."""
        table = some_table(shape)
        margins = [table.sum(axis=tuple(a for a in range(len(shape)) if a != axis)) for axis in range(len(shape))]
        noise, step = ldp.mechanism(name, k=table.size, epsilon=1.0).noise, 1e-6
        design, _ = noise.design()
        for _ in range(20):  # Fisher scoring from the table's own margins
            null = product_of(margins)
            weight = design.T @ np.linalg.pinv(noise.report_covariance(null), rcond=1e-10, hermitian=True) @ design
            tangents, gap = [], table.ravel() - null
            for axis, margin in enumerate(margins):
                for entry in range(margin.size - 1):
                    moved = [one.copy() for one in margins]
                    moved[axis][entry] += step
                    moved[axis][-1] -= step
                    tangents.append((product_of(moved) - null) / step)
            left = np.array(tangents).T
            best = np.linalg.solve(left.T @ weight @ left, left.T @ weight @ gap)
            ends = np.cumsum([margin.size - 1 for margin in margins])[:-1]
            margins = [
                margin + np.append(own, -own.sum()) for margin, own in zip(margins, np.split(best, ends), strict=True)
            ]
        assert np.abs(best).max() < 1e-9
        df = null.size - 1 - left.shape[1]
        expected = ncx2.sf(chi2.isf(0.05, df), df, 4000 * gap @ weight @ gap)
        assert power(noise, shape, n=4000, effect=table) == pytest.approx(expected, rel=1e-6)

    def test_the_average_lies_above_the_least_favourable_direction(self) -> None:
        options = {"n": 30_000, "margins": [MARGINS[4]] * 2}
        least, average = (power(ldp.GRR(16, 1.0), (4, 4), direction=d, **options) for d in ("least", "average"))
        assert 0.05 < least < average - 0.05
        rng, directions = np.random.default_rng(4), departures(options["margins"])[0]
        null = product_of(options["margins"])
        for _ in range(50):
            way = rng.standard_normal(9)
            table = null + directions @ (0.02 * way / np.linalg.norm(way))
            # a table with V = .1 may be improper; a w of .02 takes (.1 √3 / .02)² = 75 times the reports
            seen = power(ldp.GRR(16, 1.0), (4, 4), n=30_000 * 75, effect=table.reshape(4, 4))
            assert seen >= least - 1e-9

    def test_a_parity_shows_no_dependence_whose_margins_are_unknown(self) -> None:
        parity = MultinomialNoise(DenseChannel(((0.7, 0.3), (0.3, 0.7), (0.3, 0.7), (0.7, 0.3))))
        with pytest.raises(ldp.NotIdentifiedError, match="tell nothing about the hypothesis"):
            power(parity, (2, 2), n=1000)
        of_quarters = np.eye(4)[np.kron([[0, 1], [2, 3]], np.ones((2, 2), dtype=int)).ravel()] * 0.6 + 0.1
        noise = MultinomialNoise(DenseChannel(tuple(map(tuple, of_quarters.tolist()))))
        assert 0.05 < power(noise, (4, 4), n=3000) < 1
        with pytest.raises(ldp.LdpstatsError, match="fewer than 10"):
            sample_size(noise, (4, 4), direction="least")


@pytest.mark.parametrize(
    ("name", "shape", "epsilon", "effect", "wanted", "skewed"),
    [
        ("grr", (2, 2), 0.5, 0.1, 0.9, False),
        ("ss", (4, 4), 1.0, 0.1, 0.8, True),
        ("oue", (3, 2), 2.0, 0.2, 0.5, True),
    ],
)
def test_stated_power_is_the_simulated_one(
    name: str, shape: tuple[int, int], epsilon: float, effect: float, wanted: float, skewed: bool
) -> None:
    """12 random directions, 250 tables each: the standard error of the share is at most .0092; the seeds are fixed.

    Directions come from a seed of their own: how powerful they are on average does not depend on how tables are drawn.
    """
    margins = [MARGINS[side] if skewed else np.full(side, 1 / side) for side in shape]
    n = sample_size(name, shape, power=wanted, epsilon=epsilon, effect=effect, margins=margins)
    noise = ldp.mechanism(name, k=math.prod(shape), epsilon=epsilon).finest.noise
    rng, ways = np.random.default_rng(5), np.random.default_rng(6)
    null, directions = product_of(margins), departures(margins)[0]
    rejected, stated = [], []
    while len(rejected) < 12:
        way = ways.standard_normal(directions.shape[1])
        size = effect * math.sqrt(min(shape) - 1)
        frequencies = null + directions @ (size * way / np.linalg.norm(way))
        if frequencies.min() < 0:
            continue
        rejected.append(share_rejected(noise, ProductOfConditionals.independent(shape), frequencies, n, 250, rng))
        stated.append(power(noise, shape, n=n, effect=frequencies.reshape(shape)))
    assert np.mean(rejected) == pytest.approx(wanted, abs=0.05)
    assert np.mean(rejected) == pytest.approx(np.mean(stated), abs=0.05)


class TestBehaviour:
    """What must hold whatever the numbers."""

    @pytest.mark.parametrize("name", ["grr", "oue", "hr", "dbitflip"])
    def test_power_grows_with_n_the_level_and_the_effect(self, name: str) -> None:
        over_n = power(name, (2, 4), epsilon=1.0, n=[10, 1000, 5000, 20_000, 10**6])
        over_level = power(name, (2, 4), epsilon=np.geomspace(0.05, 16, 20), n=1500)
        over_effect = power(name, (2, 4), epsilon=1.0, n=5000, effect=[0, 0.05, 0.2, 0.5, 1])
        for grown in (over_n, over_level, over_effect):
            assert np.all(np.diff(grown) > -1e-9)
            assert grown[-1] > grown[0] + 0.01
        assert over_effect[0] == pytest.approx(0.05, abs=1e-12), "without an effect it is the level"

    @pytest.mark.parametrize("name", ["grr", "oue", "ss", "she"])
    @pytest.mark.parametrize("direction", ["average", "least"])
    def test_the_order_of_attributes_and_categories_does_not_matter(self, name: str, direction: str) -> None:
        options = {"n": 9000, "epsilon": 1.0, "direction": direction}
        plain = power(name, (3, 4), margins=[MARGINS[3], MARGINS[4]], **options)
        turned = power(name, (4, 3), margins=[MARGINS[4][::-1], MARGINS[3][[1, 2, 0]]], **options)
        assert turned == pytest.approx(plain, abs=1e-9)

    @pytest.mark.parametrize(("epsilon", "wanted"), [(0.5, 0.8), (2.0, 0.99), (1.0, 0.051)])
    @pytest.mark.parametrize("shape", [(4,), (2, 2), (3, 3, 2)])
    def test_the_sample_size_is_the_least_that_is_enough(
        self, shape: tuple[int, ...], epsilon: float, wanted: float
    ) -> None:
        n = sample_size("ss", shape, epsilon=epsilon, power=wanted)
        enough, short = power("ss", shape, epsilon=epsilon, n=[n, max(n - 1, 1)])
        assert enough >= wanted
        assert n == 1 or short < wanted

    def test_many_at_once_are_each_one_by_itself(self) -> None:
        levels, ns, effects = np.array([[0.5], [1.0]]), np.array([500, 5000, 50_000]), 0.2
        grid = power("auto", (2, 3), epsilon=levels, n=ns, effect=effects)
        assert grid.shape == (2, 3)
        for (row, level), (column, n) in product(enumerate(levels.ravel()), enumerate(ns)):
            one = power("auto", (2, 3), epsilon=level, n=int(n), effect=effects)
            assert isinstance(one, float)
            assert grid[row, column] == pytest.approx(one, abs=1e-12)

    def test_a_name_a_mechanism_and_its_noise_are_the_same(self) -> None:
        mechanism = ldp.SS(6, 1.0)
        found = {
            power("k-subset", (2, 3), epsilon=1.0, n=900),
            power(mechanism, (2, 3), n=900),
            power(mechanism.finest.noise, (2, 3), n=900),
        }
        assert len(found) == 1
        assert power(mechanism, n=900) == power(mechanism, 6, n=900) == power(mechanism, (6,), n=900)

    def test_a_single_attribute_is_compared_with_its_hypothesis(self) -> None:
        expected, noise = np.array([0.3, 0.3, 0.2, 0.2]), open_answers(4)
        found = power(noise, n=400, effect=expected, margins=[MARGINS[4]])
        distance = ((expected - MARGINS[4]) ** 2 / MARGINS[4]).sum()
        assert found == pytest.approx(ncx2.sf(chi2.isf(0.05, 3), 3, 400 * distance), abs=1e-9)

    def test_averaging_is_over_directions_and_not_over_noncentralities(self) -> None:
        profile = NoncentralityProfile(2, np.array([0.0, 2.0]))
        expected = [ncx2.sf(chi2.isf(0.05, 2), 2, 10 * 0.25 * seen) for seen in profile.seen]
        assert profile.powers(10, 0.5, 0.05) == pytest.approx(np.mean(expected), abs=1e-9)
        assert profile.seen.mean() == pytest.approx(1, abs=0.2), "half of a random direction lies along either axis"


def test_support_noise_of_ones_own_can_be_planned_with() -> None:
    own = SupportNoise.independent(4, 0.6, 0.2)
    assert power(own, (2, 2), n=2000) < power(own, (2, 2), n=4000)


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
        (sample_size_curve, {"epsilon": None}, "a level for a mechanism"),
        (sample_size_curve, {"mechanism": ldp.GRR(4, epsilon=1.0)}, "a mechanism that is named"),
        (sample_size_curve, {"power": 0.01}, "power"),
        (sample_size_curve, {"shape": None}, "shape"),
    ],
)
def test_curves_of_nothing_are_refused(curve: Any, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ldp.LdpstatsError, match=message):
        curve(**{"mechanism": "grr", "shape": (2, 2), "epsilon": 1.0, **arguments})
