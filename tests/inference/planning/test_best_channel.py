"""The best channel: its level and figures by enumeration, known mechanisms, and oracles of both programmes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import ldpstats as ldp
from ldpstats.inference.engine.detectability import report_information
from ldpstats.inference.planning import channel_programmes
from ldpstats.inference.planning.best_channel import Aim, BestChannel
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID, exp_below

LEVELS = (0.1, 0.5, 1.0, 2.0, 4.0)
RARE = [0.9, 0.06, 0.04]
RANDOM = np.random.default_rng(5).dirichlet(np.ones(6)).tolist()


def known(k: int, epsilon: float) -> Iterator[NoiseModel]:
    """Yield the law of whole reports of mechanisms for all values alike."""
    for name in ("grr", "ss", "oue", "sue"):
        if k <= 6 or name in ("grr", "ss"):
            yield ldp.mechanism(name, k=k, epsilon=epsilon).finest.noise


def exact_moments(best: BestChannel) -> tuple[list[Fraction], list[Fraction]]:
    """Return mean and variance of what a report counts for, under every value, from the whole numbers sent."""
    scores = [Fraction(float(score)) for score in best.scores]
    rows = [[Fraction(entry, GRID) for entry in row] for row in best.channel.rows]
    means = [sum((p * s for p, s in zip(row, scores, strict=True)), Fraction(0)) for row in rows]
    squares = [sum((p * s * s for p, s in zip(row, scores, strict=True)), Fraction(0)) for row in rows]
    return means, [square - mean**2 for mean, square in zip(means, squares, strict=True)]


class TestNumbers:
    """Means, proportions and contrasts."""

    @pytest.mark.parametrize(
        ("epsilon", "certified", "within"),
        [(1, 3.989, 0.001), (2, 0.864, 0.005), (3, 0.3033, 0.016), (4, 0.1263, 0.03)],
    )
    def test_numbers_of_a_range_vary_less_than_by_duchi_piecewise_and_hybrid(
        self, epsilon: float, certified: float, within: float
    ) -> None:
        # Wang et al. 2019: worst variances of three mechanisms for numbers from -1 to 1
        root, odds = math.exp(epsilon / 2), math.exp(epsilon)
        duchi = ((odds + 1) / (odds - 1)) ** 2
        piecewise = 4 * root / (3 * (root - 1) ** 2)
        hybrid = (root + 3) / (3 * root * (root - 1)) + (odds + 1) ** 2 / (root * (odds - 1) ** 2)
        best = ldp.best_channel((-1, 1), epsilon, points=17)
        assert best.attained <= (1 + within) * certified
        assert best.attained < min(duchi, piecewise, hybrid)
        assert certified <= best.bound <= best.attained
        assert best.gap <= within
        means, variances = exact_moments(best)
        grid = np.linspace(-1, 1, 17)
        assert np.allclose(np.array(means, dtype=float), grid, rtol=0, atol=1e-12)
        numbers = np.linspace(-1, 1, 1601)
        squares = np.array(variances, dtype=float) + grid**2
        assert np.max(np.interp(numbers, grid, squares) - numbers**2) == pytest.approx(best.attained, rel=1e-5)

    @pytest.mark.parametrize("epsilon", LEVELS)
    @pytest.mark.parametrize(
        ("aim", "of", "prior"),
        [
            ("mean", [1.0, 2.0, 3.0, 4.0, 5.0], None),
            ("mean", [0.0, 1.0, 10.0], RARE),
            ("contrast", [1.0, -1.0, 0.25, 0.0, 0.0, 1.0], None),
            ("contrast", [1.0, -1.0, 0.25, 0.0, 0.0, 1.0], RANDOM),
            ("proportion", [1], None),
            ("proportion", [0, 3], RANDOM),
        ],
    )
    def test_no_known_mechanism_varies_less_and_no_channel_by_more_than_a_hundredth(
        self, aim: Aim, of: list[float], prior: list[float] | None, epsilon: float
    ) -> None:
        k = len(prior or (of if aim != "proportion" else range(6)))
        best = ldp.best_channel(range(k), epsilon, aim, of=of, prior=prior)
        wanted = np.isin(np.arange(k), of).astype(float) if aim == "proportion" else np.array(of)
        assert best.channel.epsilon <= epsilon
        means, variances = exact_moments(best)
        assert np.allclose(np.array(means, dtype=float), wanted, rtol=0, atol=1e-9)
        measured = max(map(float, variances)) if prior is None else float(np.dot(prior, np.array(variances, float)))
        assert best.attained == pytest.approx(measured, rel=1e-9)
        assert 0.99 * best.attained <= best.bound <= best.attained * (1 + 1e-9)
        assert best.gap == pytest.approx(max(best.attained / best.bound - 1, 0))
        for noise in known(k, epsilon):
            theirs = np.array([wanted @ noise.covariance(true) @ wanted for true in np.eye(k)])
            assert best.attained <= (1 + 1e-9) * (theirs.max() if prior is None else np.dot(prior, theirs))

    def test_many_irregular_scores_at_a_high_level_are_told_apart_as_well_as_can_be(self) -> None:
        # begun with the sets from one value on alone, this stopped with a bound below 0, which was called no gap
        best = ldp.best_channel(range(24), 6.0, of=np.random.default_rng(0).normal(size=24))
        assert best.gap < 0.001

    def test_a_bound_that_is_none_says_nothing_of_other_channels(self) -> None:
        best = replace(ldp.best_channel([0, 1, 3], 1.0), bound=-1.0)
        assert best.gap == math.inf
        assert "is not known" in str(best.summary())

    @pytest.mark.parametrize("prior", [None, RARE])
    @pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
    def test_all_sets_with_many_counts_make_no_better_channel(self, epsilon: float, prior: list[float] | None) -> None:
        scores = np.array([-1.0, 0.2, 1.0])
        best = ldp.best_channel(["a", "b", "c"], epsilon, of=scores, prior=prior)
        oracle = least_variance_of_grid(scores, epsilon, np.eye(3) if prior is None else np.array([prior]))
        assert best.bound <= oracle
        # the programme stops within 3e-5 of its bound
        assert best.attained * (1 - 3e-5) <= oracle <= 1.002 * best.attained

    def test_two_values_are_asked_by_randomized_response(self) -> None:
        best = ldp.best_channel(["no", "yes", "unsure"], 1.5, "proportion", of={"yes"})
        odds = math.exp(1.5)
        assert best.attained == pytest.approx(odds / (odds - 1) ** 2, rel=1e-9)
        assert len(best.channel.rows[0]) == 2

    def test_mean_of_answers_to_a_protocol(self) -> None:
        best = ldp.best_channel([1, 2, 3, 4, 5], 1.0)
        domain = ldp.Domain({"mood": [1, 2, 3, 4, 5]})
        protocol = ldp.SampledGroups(domain, epsilon=1.0, k=1, mechanism=[best.channel])
        counts, n = [100, 300, 200, 900, 500], 2000
        blocks = protocol.simulate(counts, rng=1)["mood"].blocks
        mean = sum(float(block.tally.counts @ best.scores) for block in blocks) / n
        # off by more than 5.1 standard errors: a chance of 3e-7 per seed, which is fixed
        assert abs(mean - np.dot(counts, [1, 2, 3, 4, 5]) / n) < 5.1 * math.sqrt(best.attained / n)

    def test_bound_of_a_range_is_that_without_rounding(self) -> None:
        rounded, points = ldp.best_channel((-1, 1), 3.0, points=5), ldp.best_channel([-1, -0.5, 0, 0.5, 1], 3.0)
        assert rounded.bound <= points.attained < rounded.attained
        assert rounded.bound == pytest.approx(points.bound, rel=1e-4)

    def test_numbers_are_rounded_to_themselves_on_average(self) -> None:
        best = ldp.best_channel((-3, 5), 1.0, points=5)
        points = np.array([-3.0, -1.0, 1.0, 3.0, 5.0])
        assert np.array_equal(best.rounded(points, rng=1), np.arange(5))
        codes = best.rounded(np.full(100_000, 1.5), rng=1)
        assert set(codes.tolist()) == {2, 3}
        # 5.1 standard errors: a chance of 3e-7 per seed, which is fixed
        assert abs(points[codes].mean() - 1.5) < 5.1 * math.sqrt(0.75 / 100_000)


def least_variance_of_grid(scores: FloatArray, epsilon: float, mixes: FloatArray) -> float:
    """Return the least variance with outputs of every set of values that count for many numbers."""
    bit = 1 / math.tanh(epsilon / 2)
    sets = np.array([*product([False, True], repeat=scores.size)])
    counts = np.linspace(-1.5 * bit, 1.5 * bit, 601)
    likely = np.tile(np.where(sets, math.exp(epsilon), 1.0).T, counts.size)
    counts = np.repeat(counts, len(sets))
    solved: Any = linprog(
        np.append(np.zeros(counts.size), 1.0),
        A_ub=np.column_stack([mixes @ (likely * counts**2), -np.ones(len(mixes))]),
        b_ub=mixes @ scores**2,
        A_eq=np.column_stack([np.vstack([likely, likely * counts]), np.zeros(2 * scores.size)]),
        b_eq=np.concatenate([np.ones(scores.size), scores]),
        method="highs-ipm",
    )
    return float(solved.fun)


class TestTests:
    """Channels for tests of fit and of independence."""

    @pytest.mark.parametrize("epsilon", LEVELS)
    @pytest.mark.parametrize(
        "margins", [[[0.2] * 5], [RARE], [RANDOM], [[0.5, 0.5]] * 2, [[0.9, 0.1], [0.8, 0.2]], [RARE, [0.6, 0.4]]]
    )
    def test_no_known_mechanism_shows_more_and_no_channel_by_more_than_a_hundredth(
        self, margins: list[list[float]], epsilon: float
    ) -> None:
        best = best_for(margins, epsilon)
        frequencies = [np.array(margin) for margin in margins]
        assert best.channel.epsilon <= epsilon
        assert best.attained == pytest.approx(told(best.channel.noise, frequencies), rel=1e-12)
        assert best.attained * (1 - 1e-8) <= best.bound <= 1.01 * best.attained
        directions = math.prod(len(margin) - 1 for margin in margins)
        # no report tells more of all directions together
        assert directions * best.attained <= math.sinh(epsilon / 2) ** 2
        for noise in known(best.channel.k, epsilon):
            assert best.attained >= (1 - 1e-7) * told(noise, frequencies)
        whole = report_information(best.channel.noise, [np.outer(*frequencies).ravel()] if margins[1:] else frequencies)
        share = 0.25 if margins[1:] else 0.05
        assert np.linalg.eigvalsh(whole)[0] >= share * best.attained

    @pytest.mark.parametrize("epsilon", [0.5, 3.0])
    def test_in_a_table_of_sixteen_cells_dependence_is_told_much_of(self, epsilon: float) -> None:
        best = best_for([[0.25] * 4] * 2, epsilon)
        assert best.attained * (1 - 1e-8) <= best.bound <= 1.001 * best.attained
        assert best.attained >= (1 - 1e-6) * told(ldp.SS(16, epsilon).finest.noise, [np.full(4, 0.25)] * 2)

    @pytest.mark.parametrize("prior", [[0.4, 0.3, 0.2, 0.1], RANDOM])
    def test_fit_is_the_linear_programme_over_all_sets(
        self, prior: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Kairouz, Oh & Viswanath 2016, Theorem 4: without regard to directions that are not seen
        monkeypatch.setattr(channel_programmes, "SEEN", {1: 0.0})
        sets = np.array([*product([False, True], repeat=len(prior))])
        likely = np.where(sets, math.e, 1.0)
        worth = np.square(likely) @ prior / (likely @ prior)
        solved: Any = linprog(-worth, A_eq=likely.T, b_eq=np.ones(len(prior)))
        limit = (-solved.fun - 1) / (len(prior) - 1)
        assert best_for([prior], 1.0).attained == pytest.approx(limit, rel=1e-4)

    @pytest.mark.parametrize("epsilon", [1.0, 4.0])
    def test_of_many_equally_frequent_cells_the_best_is_subset_selection(self, epsilon: float) -> None:
        best = best_for([[1 / 20] * 20], epsilon)
        assert best.bound <= math.sinh(epsilon / 2) ** 2 / 19 * (1 + 1e-9)
        assert best.attained == pytest.approx(told(ldp.SS(20, epsilon).finest.noise, [np.full(20, 1 / 20)]), rel=1e-4)
        assert best.gap < 0.01

    def test_independence_is_found_more_often_than_by_subset_selection(self) -> None:
        domain = ldp.Domain({"a": [0, 1], "b": [0, 1]})
        best = ldp.best_channel([[0, 1], [0, 1]], 1.0, "independence")
        found = {}
        for name, mechanism in (("best", [best.channel]), ("ss", "ss")):
            protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
            tables = [protocol.simulate([1650, 1350, 1350, 1650], rng=seed)["a", "b"] for seed in range(100)]
            found[name] = sum(ldp.independence_test(table).pvalue < 0.05 for table in tables)
        # 0.83 and 0.60 of very many tests; the seeds are fixed
        assert found["best"] > found["ss"]

    def test_level_of_the_test_where_margins_are_others(self) -> None:
        domain = ldp.Domain({"a": [0, 1], "b": [0, 1]})
        best = ldp.best_channel([[0, 1], [0, 1]], 1.0, "independence")
        protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=[best.channel])
        tables = [protocol.simulate([840, 360, 1960, 840], rng=seed)["a", "b"] for seed in range(150)]
        rejected = sum(ldp.independence_test(table).pvalue < 0.05 for table in tables)
        # Binomial(150, .05) is beyond 24 with a chance of 2e-7
        assert rejected <= 24


def best_for(margins: list[list[float]], epsilon: float) -> BestChannel:
    if len(margins) == 1:
        return ldp.best_channel(range(len(margins[0])), epsilon, "fit", prior=margins[0])
    return ldp.best_channel([range(len(margin)) for margin in margins], epsilon, "independence", prior=margins)


def told(noise: NoiseModel, margins: list[FloatArray]) -> float:
    information = report_information(noise, margins)
    return float(np.trace(information)) / len(information)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0, 10.0])
def test_rows_are_whole_numbers_within_the_level(epsilon: float) -> None:
    for best in (
        ldp.best_channel(["x", "y", "z"], epsilon, of=[0, 1, 5]),
        ldp.best_channel(["x", "y", "z"], epsilon, "fit", prior=RARE),
    ):
        ratio = best.channel.likelihood_ratio()
        assert ratio is not None
        assert ratio <= exp_below(epsilon)
        assert ratio >= exp_below(epsilon * (1 - 1e-6))
        assert all(sum(row) == GRID for row in best.channel.rows)


def test_it_shows_and_saves_itself(tmp_path: Path) -> None:
    best = ldp.best_channel(["no", "yes"], 1.0, "contrast", of=[-1, 1])
    assert list(best.to_frame().columns) == ["score", "no", "yes"]
    assert list(ldp.best_channel(["no", "yes"], 1.0, "fit").to_frame().columns) == ["no", "yes"]
    assert "No channel is below" in str(best)
    best.save(tmp_path / "best.json")
    again = ldp.load(tmp_path / "best.json")
    assert again.to_dict() == best.to_dict()
    assert again.channel == best.channel


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([], {}),
        (1, {}),
        ("abc", {}),
        ([1, 1], {}),
        ({1, 2}, {}),
        (["a", "b"], {}),
        ([[1], [2]], {}),
        (range(34), {}),
        ([1, 2], {"epsilon": 0}),
        ([1, 2], {"epsilon": 0.001}),
        ([1, 2], {"epsilon": 11}),
        ([1, 2], {"epsilon": math.inf}),
        ([1, 2], {"aim": "median"}),
        ([1, 2], {"aim": ["mean"]}),
        ([1, 2], {"of": [1, 1]}),
        ([1, 2], {"of": [1, 2, 3]}),
        ([1, 2], {"of": [1, math.nan]}),
        ([1, 2], {"of": [-1.7e308, 1.7e308]}),
        ([1, 2], {"of": [0, 1e-320]}),
        ([1, 2], {"prior": [0.5, 0.6]}),
        ([1, 2], {"prior": [1, 0]}),
        ([1, 2], {"aim": "contrast"}),
        ([1, 2], {"aim": "proportion"}),
        ([1, 2], {"aim": "proportion", "of": [3]}),
        ([1, 2], {"aim": "proportion", "of": [1, 2]}),
        ([1, 2], {"aim": "fit", "of": [1, 2]}),
        ([1, 2], {"aim": "fit", "prior": [0.9999, 0.0001]}),
        (range(37), {"aim": "fit"}),
        ([1, 2], {"aim": "independence"}),
        ([[1, 2], [3]], {"aim": "independence"}),
        ([[1, 2], [3, 4]], {"aim": "independence", "prior": [0.5, 0.5]}),
        ((1, 0), {"points": 5}),
        ((0, 1, 2), {"points": 5}),
        ((0, math.inf), {"points": 5}),
        ((1, 1 + 1e-15), {"points": 5}),
        ((0, 1), {"points": 1}),
        ((0, 1), {"points": 34}),
        ((0, 1), {"points": 5, "prior": [0.5, 0.5]}),
        ((0, 1), {"points": 5, "aim": "fit"}),
    ],
)
def test_bad_input_is_refused(values: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ldp.LdpstatsError, match="Allowed"):
        ldp.best_channel(values, **{"epsilon": 1.0, **options})


def test_only_numbers_of_the_range_are_rounded() -> None:
    best = ldp.best_channel((0, 1), 1.0, points=3)
    for numbers in ([1.1], [-1e-9], [math.nan], ["a"]):
        with pytest.raises(ldp.LdpstatsError):
            best.rounded(numbers)
    with pytest.raises(ldp.LdpstatsError, match="points="):
        ldp.best_channel([0, 1], 1.0).rounded([0.5])


def test_so_many_values_are_numbered() -> None:
    assert ldp.best_channel(5, epsilon=1.0).to_frame().equals(ldp.best_channel(range(5), epsilon=1.0).to_frame())
