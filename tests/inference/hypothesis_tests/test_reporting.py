"""Hypotheses by name: classic answers without noise, brute force through it, invariance, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats
from statsmodels.formula.api import glm
from statsmodels.stats.contingency_tables import SquareTable
from support.classical_tables import SURVEY, VISION
from support.every_test import EVERY
from support.noisy_tables import PRIVACY, collected, seen, table_of

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference import (
    HypothesisResult,
    conditional_independence_test,
    goodness_of_fit_test,
    joint_independence_test,
    marginal_homogeneity_test,
    no_three_way_interaction_test,
    symmetry_test,
)
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table

Counts = NDArray[np.int64]
CLASSICAL = {"score": "pearson", "gls": "pearson", "wald": "pearson", "lr": "log-likelihood"}
NOISELESS = [("grr", "score"), ("grr", "lr"), ("ss", "gls"), ("sue", "wald")]
"""At ε = 60 a report of these mechanisms is the truth. (OUE stays silent half of the time at any ε.)"""
noiseless = pytest.mark.parametrize(("mechanism", "method"), NOISELESS)

COFFEE = np.array([[93, 17, 44, 7, 10], [9, 46, 11, 0, 9], [17, 11, 155, 9, 12], [6, 4, 9, 15, 2], [10, 4, 12, 2, 27]])
"""First and second purchase of 541 buyers of coffee (Agresti, table 10.5)."""
RATINGS = np.array([[794, 150], [86, 570]])
"""Approval of a prime minister in two surveys of the same 1,600 (Agresti, table 10.1)."""
HAIR = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])
"""Hair and eyes of 592 students (Snee 1974, both sexes together)."""


def affairs() -> Counts:
    """Return satisfaction with a marriage, religiousness and affairs from the survey of Fair (1978)."""
    data = sm.datasets.fair.load_pandas().data
    asked = [data["rate_marriage"].clip(lower=3), data["religious"], data["affairs"] > 0]
    return np.histogramdd(np.column_stack(asked), bins=(3, 4, 2))[0].astype(np.int64)


THREE_WAY = {"survey": SURVEY, "affairs": affairs()}
SQUARE = {"vision": VISION, "coffee": COFFEE, "ratings": RATINGS}
every_three_way = pytest.mark.parametrize("data", THREE_WAY)
every_square = pytest.mark.parametrize("data", SQUARE)


def agrees(result: HypothesisResult, statistic: float, df: int) -> bool:
    tail = float(stats.chi2.sf(statistic, df))
    return result.df == df and tuple(result) == (pytest.approx(statistic, rel=1e-8), pytest.approx(tail, rel=1e-6))


class TestClassicAnswers:
    """Without noise, the statistics of the textbooks."""

    @noiseless
    @pytest.mark.parametrize(
        ("counts", "frequencies"),
        [
            # Mendel's peas (1866): round or wrinkled, yellow or green
            ([[315, 108], [101, 32]], np.array([[9, 3], [3, 1]]) / 16),
            # Weldon's dice (Pearson 1900): throws of twelve by their fives and sixes, ten and more together
            (
                [185, 1149, 3265, 5475, 6114, 5194, 3067, 1331, 403, 105, 18],
                np.append(stats.binom.pmf(range(10), 12, 1 / 3), stats.binom.sf(9, 12, 1 / 3)),
            ),
            (SURVEY, None),
        ],
    )
    def test_goodness_of_fit(self, mechanism: str, method: str, counts: ArrayLike, frequencies: FloatArray) -> None:
        reports = np.asarray(counts)
        result = goodness_of_fit_test(seen(reports, mechanism), frequencies, method, "asymptotic")
        expected = np.full(reports.shape, 1 / reports.size) if frequencies is None else frequencies
        classical = stats.power_divergence(
            reports.ravel(), reports.sum() * expected.ravel(), lambda_=CLASSICAL[method]
        ).statistic
        assert agrees(result, classical, reports.size - 1)

    def test_uniform_frequencies_are_exactly_equal_and_so_are_seeded_draws_from_them(self) -> None:
        """Six numbers of 1/6 add up to less than one: a change of their last digit changes drawn tables."""
        table = seen(np.array([[30, 20, 25], [25, 30, 20]]))
        assert np.all(goodness_of_fit_test(table).expected == 1 / 6)

    @noiseless
    @pytest.mark.parametrize("counts", [VISION, HAIR, *THREE_WAY.values()])
    def test_independence(self, mechanism: str, method: str, counts: Counts) -> None:
        result = ldp.independence_test(seen(counts, mechanism), method, "asymptotic")
        classical = stats.chi2_contingency(counts, correction=False, lambda_=CLASSICAL[method])
        assert agrees(result, classical.statistic, classical.dof)
        assert np.allclose(result.expected * counts.sum(), classical.expected_freq, rtol=1e-6)

    @noiseless
    @every_three_way
    @pytest.mark.parametrize("alone", [0, 1, 2])
    def test_joint_independence(self, mechanism: str, method: str, data: str, alone: int) -> None:
        counts = THREE_WAY[data]
        together = ["a", "b", "c"]
        one = together.pop(alone)
        result = joint_independence_test(seen(counts, mechanism), together, one, method, "asymptotic")
        flat = np.moveaxis(counts, alone, -1).reshape(-1, counts.shape[alone])
        classical = stats.chi2_contingency(flat, correction=False, lambda_=CLASSICAL[method])
        assert agrees(result, classical.statistic, classical.dof)

    @noiseless
    @every_three_way
    def test_conditional_independence_adds_up_the_strata(self, mechanism: str, method: str, data: str) -> None:
        counts = THREE_WAY[data]
        result = conditional_independence_test(seen(counts, mechanism), "a", "b", "c", method, "asymptotic")
        strata = [
            stats.chi2_contingency(stratum, correction=False, lambda_=CLASSICAL[method])
            for stratum in np.moveaxis(counts, -1, 0)
        ]
        assert agrees(result, sum(one.statistic for one in strata), sum(one.dof for one in strata))

    @noiseless
    @every_three_way
    def test_no_three_way_interaction_is_the_poisson_model(self, mechanism: str, method: str, data: str) -> None:
        counts = THREE_WAY[data]
        cells = pd.DataFrame(list(np.ndindex(*counts.shape)), columns=["a", "b", "c"]).assign(n=counts.ravel())
        model = glm("n ~ (C(a) + C(b) + C(c)) ** 2", cells, family=sm.families.Poisson()).fit(tol=1e-13)
        result = no_three_way_interaction_test(seen(counts, mechanism), method, "asymptotic")
        classical = model.deviance if method == "lr" else model.pearson_chi2
        assert agrees(result, classical, int(model.df_resid))

    def test_the_published_figures_of_the_survey_of_students(self) -> None:
        """Agresti, table 9.2: G² and X² of no three-way interaction, of (a, b) given c, and of mutual independence."""
        table = seen(SURVEY)
        found = {
            method: (
                no_three_way_interaction_test(table, method, "asymptotic").statistic,
                conditional_independence_test(table, "a", "b", "c", method, "asymptotic").statistic,
                ldp.independence_test(table, method, "asymptotic").statistic,
            )
            for method in ("lr", "score")
        }
        assert found["lr"] == pytest.approx((0.37, 187.8, 1286.0), abs=0.05)
        assert found["score"] == pytest.approx((0.4, 177.6, 1411.4), abs=0.05)

    @noiseless
    @every_square
    def test_symmetry_is_bowkers(self, mechanism: str, method: str, data: str) -> None:
        counts = SQUARE[data]
        result = symmetry_test(seen(counts, mechanism), method, "asymptotic")
        if method == "lr":
            upper = np.triu_indices(len(counts), 1)
            pairs = np.stack([counts[upper], counts.T[upper]])
            classical = stats.power_divergence(pairs, lambda_="log-likelihood").statistic.sum()
        else:
            classical = SquareTable(counts, shift_zeros=False).symmetry().statistic
        assert agrees(result, classical, math.comb(len(counts), 2))

    @noiseless
    @every_square
    def test_marginal_homogeneity_is_the_score_at_the_maximum_of_the_likelihood(
        self, mechanism: str, method: str, data: str
    ) -> None:
        counts = SQUARE[data]
        if method == "wald":
            stuart = SquareTable(counts, shift_zeros=False).homogeneity("stuart_maxwell").statistic
            assert agrees(marginal_homogeneity_test(seen(counts), method, "asymptotic"), stuart, len(counts) - 1)
            return
        fitted = counts.sum() * homogeneous_maximum(counts)
        # a pair of exchanged cells that both are empty would divide zero by zero
        present = fitted > 0
        classical = stats.power_divergence(
            counts.ravel()[present], fitted[present], lambda_=CLASSICAL[method]
        ).statistic
        result = marginal_homogeneity_test(seen(counts, mechanism), method, "asymptotic")
        assert tuple(result) == pytest.approx((classical, stats.chi2.sf(classical, len(counts) - 1)), rel=2e-5)
        assert result.df == len(counts) - 1


def homogeneous_maximum(counts: Counts) -> FloatArray:
    """Return the most likely frequencies with equal margins (Madansky 1963), from the dual: one multiplier per margin.

    The frequencies are n_ij / (n + λ_i - λ_j), and minus the sum of n_ij ln(n + λ_i - λ_j) is least at the multipliers.
    """
    n = counts.sum()

    def dual(multipliers: FloatArray) -> tuple[float, FloatArray]:
        full = np.append(multipliers, 0)
        scale = 1 + full[:, None] - full
        if scale.min() <= 0:
            return math.inf, np.zeros_like(multipliers)
        shares = counts / n / scale
        return -float((counts / n * np.log(scale)).sum()), -(shares.sum(axis=1) - shares.sum(axis=0))[:-1]

    start = np.zeros(len(counts) - 1)
    fit = optimize.minimize(dual, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    full = np.append(fit.x, 0)
    shares: FloatArray = (counts / n / (1 + full[:, None] - full)).ravel()
    return shares


Test = Callable[..., HypothesisResult]
Constraints = Callable[[FloatArray], FloatArray]


def minors(cells: FloatArray) -> FloatArray:
    """Return what is zero if rows and columns are independent."""
    table = cells.reshape(2, -1)
    return np.array(
        [table[0, i] * table[1, j] - table[0, j] * table[1, i] for i, j in combinations(range(len(cells) // 2), 2)]
    )


def same_odds(cells: FloatArray) -> FloatArray:
    """Return what is zero if both strata of a 2 × 2 × 2 table have the same odds ratio."""
    p = cells.reshape(2, 2, 2)
    return np.array(
        [p[0, 0, 0] * p[1, 1, 0] * p[0, 1, 1] * p[1, 0, 1] - p[0, 1, 0] * p[1, 0, 0] * p[0, 0, 1] * p[1, 1, 1]]
    )


def in_strata(cells: FloatArray) -> FloatArray:
    return np.concatenate([minors(stratum) for stratum in np.moveaxis(cells.reshape(2, 2, 2), -1, 0).reshape(2, 4)])


def across(cells: FloatArray) -> FloatArray:
    table = cells.reshape(3, 3)
    return (table - table.T)[np.triu_indices(3, 1)]


def gap_of_margins(cells: FloatArray) -> FloatArray:
    table = cells.reshape(3, 3)
    return (table.sum(axis=0) - table.sum(axis=1))[:-1]


CONSTRAINED: dict[str, Constraints] = {
    "goodness of fit": lambda cells: cells[:-1] - 0.25,
    "independence": lambda cells: minors(cells)[:2],
    "joint": lambda cells: minors(cells)[:3],
    "conditional": in_strata,
    "no three-way": same_odds,
    "symmetry": across,
    "marginal homogeneity": gap_of_margins,
}
every_hypothesis = pytest.mark.parametrize("name", CONSTRAINED)


def mixture(shape: tuple[int, ...], seed: int) -> list[Tally]:
    """Return blocks of different levels and fakes about a population that is near every hypothesis."""
    cells = math.prod(shape)
    frequencies = np.random.default_rng(seed).dirichlet(np.full(cells, 300.0))
    fakes = np.random.default_rng(seed + 1).dirichlet(np.full(cells, 20.0))
    noise = ldp.noise.MultinomialNoise(ldp.noise.TruthOrFake(0.5, tuple(fakes)))
    adapted = Tally(noise, noise.draw(frequencies, 3000, 1, np.random.default_rng(seed))[0], 3000)
    return [collected(frequencies, 4000, 2.0, seed), collected(frequencies, 2000, 1.0, seed + 2), adapted]


@every_hypothesis
@pytest.mark.parametrize("blocks", [1, 3])
def test_through_noise_it_is_what_brute_force_finds(name: str, blocks: int) -> None:
    """Maximise the likelihood of the reports over all cells, with and without equations; Rao's score with matrices."""
    shape, test, equations = EVERY[name].shape, EVERY[name].test, CONSTRAINED[name]
    tallies = mixture(shape, 3)[:blocks]
    cells, n = math.prod(shape), sum(tally.n for tally in tallies)
    designs = [tally.noise.design()[0] for tally in tallies]

    def surprise(p: FloatArray) -> float:
        reports = zip(tallies, designs, strict=True)
        return -sum(float(tally.counts @ np.log(np.maximum(design @ p, 1e-12))) for tally, design in reports) / n

    def slope(p: FloatArray) -> FloatArray:
        reports = zip(tallies, designs, strict=True)
        return -sum(((tally.counts / (design @ p)) @ design for tally, design in reports), np.zeros(cells)) / n

    def most_likely(start: FloatArray, constraints: list[Constraints]) -> FloatArray:
        every = [lambda p: p.sum() - 1, *constraints]
        # scaled, so that products of cells weigh as much as their sum
        equal = [{"type": "eq", "fun": lambda p, f=f: f(p) * 10} for f in every]
        options = {"ftol": 1e-15, "maxiter": 1000}
        found = optimize.minimize(surprise, start, jac=slope, method="SLSQP", constraints=equal, options=options)
        best: FloatArray = found.x
        return best

    uniform = np.full(cells, 1 / cells)
    scale = {"no three-way": cells**3, "independence": cells, "joint": cells, "conditional": cells}.get(name, 1)
    null, free = most_likely(uniform, [lambda p: scale * equations(p)]), most_likely(uniform, [])
    score = -n * slope(null)
    information = sum(d.T @ (t.n / (d @ null)[:, None] * d) for t, d in zip(tallies, designs, strict=True))
    contrasts = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    beyond = contrasts.T @ score
    rao = beyond @ np.linalg.solve(contrasts.T @ information @ contrasts, beyond)
    table = table_of(shape, tallies)
    result = test(table, method="score", pvalue="asymptotic")
    assert result.statistic == pytest.approx(rao, rel=2e-4, abs=1e-4)
    assert np.allclose(result.expected.ravel(), null, atol=1e-5)
    ratio = 2 * n * (surprise(null) - surprise(free))
    assert test(table, method="lr", pvalue="asymptotic").statistic == pytest.approx(ratio, rel=2e-4, abs=1e-4)


@every_hypothesis
@pytest.mark.parametrize(("mechanism", "method"), [("grr", "auto"), ("ss", "auto"), ("oue", "wald")])
def test_neither_labels_nor_the_order_of_attributes_matter(name: str, mechanism: str, method: str) -> None:
    shape, test = EVERY[name].shape, EVERY[name].test
    frequencies = np.random.default_rng(5).dirichlet(np.full(math.prod(shape), 50.0))
    tally = collected(frequencies, 9000, 1.5, 6, mechanism)
    table = table_of(shape, [tally])
    relabelled = Tally(tally.noise, np.flip(tally.counts.reshape(shape)).ravel(), tally.n)
    plain = test(table, method=method, pvalue="asymptotic")
    for other in (table.reordered(tuple(reversed(table.attributes))), table_of(shape, [relabelled])):
        found = test(other, method=method, pvalue="asymptotic")
        assert (found.statistic, found.df) == (pytest.approx(plain.statistic, rel=1e-6), plain.df)
        assert list(found.power.values()) == pytest.approx(list(plain.power.values()), rel=1e-5)
        if plain.effect is not None:
            assert found.effect.cramers_v == pytest.approx(plain.effect.cramers_v, rel=1e-9)


@every_hypothesis
def test_its_level_holds_and_what_is_false_is_seen(name: str) -> None:
    """100 uniform tables are rejected at most 18 times: with a level of .05 more come less than once in 10^6."""
    shape, test = EVERY[name].shape, EVERY[name].test
    cells = math.prod(shape)
    uniform = np.full(cells, 1 / cells)
    tallies = [collected(uniform, 5000, 1.5, seed, "ss") for seed in range(100)]
    rejected = [test(table_of(shape, [tally]), pvalue="asymptotic").pvalue <= 0.05 for tally in tallies]
    assert stats.binom.sf(18, 100, 0.05) < 1e-6
    assert sum(rejected) <= 18
    wrong = np.arange(1, cells + 1) ** 2.0
    if name == "no three-way":
        wrong = np.array([3.0, 1, 1, 3, 1, 3, 3, 1])
    false = collected(wrong / wrong.sum(), 50_000, 1.5, 1, "ss")
    assert test(table_of(shape, [false])).pvalue < 1e-3


class TestDegenerateTables:
    """Tables of which little or nothing can be said."""

    SQUARE_TESTS = (goodness_of_fit_test, symmetry_test, marginal_homogeneity_test, ldp.independence_test)

    @pytest.mark.parametrize("counts", [np.diag([9, 9, 9]), np.full((3, 3), 4), np.eye(3, dtype=int)[:2, :2] * 30])
    @pytest.mark.parametrize("method", ["score", "lr"])
    @pytest.mark.parametrize("test", [symmetry_test, marginal_homogeneity_test])
    def test_reports_just_as_the_hypothesis_has_them_have_a_pvalue_of_one(
        self, counts: Counts, method: str, test: Test
    ) -> None:
        result = test(seen(counts), method)
        assert result.pvalue_source.startswith("Monte Carlo")
        assert tuple(result) == (pytest.approx(0, abs=1e-9), 1)

    @pytest.mark.parametrize("mechanism", ["grr", "oue"])
    @pytest.mark.parametrize("n", [1, 2, 30])
    @pytest.mark.parametrize("epsilon", [0.1, 40.0])
    def test_few_respondents_have_an_answer_or_a_clear_error(self, mechanism: str, n: int, epsilon: float) -> None:
        frequencies = np.append(np.full(8, 0.01), 0.92)
        table = table_of((3, 3), [collected(frequencies, n, epsilon, seed=n, mechanism=mechanism)])
        told = []
        for test in self.SQUARE_TESTS:
            try:
                result = test(table, pvalue="asymptotic")
            except ldp.NotIdentifiedError as error:
                told.append(error.came)
                continue
            assert 0 <= result.pvalue <= 1
            assert math.isfinite(result.statistic)
            assert all(0.04 <= value <= 1 for value in result.power.values())
        assert all("nobody reported" in reason for reason in told)

    @pytest.mark.parametrize("counts", [[[10, 20, 10], [0, 0, 0], [5, 9, 12]], [[10, 0, 5], [20, 0, 9], [10, 0, 12]]])
    @pytest.mark.parametrize("method", ["score", "lr"])
    def test_a_category_that_nobody_reported(self, counts: ArrayLike, method: str) -> None:
        for test in (ldp.independence_test, lambda t, m: joint_independence_test(t, "a", "b", m)):
            with pytest.raises(ldp.NotIdentifiedError, match="nobody reported 1 of"):
                test(seen(counts), method)
        assert goodness_of_fit_test(seen(counts), method=method).pvalue < 1e-3
        drawn = ldp.MonteCarlo(1999, rng=1)
        assert symmetry_test(seen(counts), method, drawn).pvalue == 1 / 2000
        assert marginal_homogeneity_test(seen(counts), method, drawn).pvalue == 1 / 2000

    def test_a_table_nobody_answered(self) -> None:
        empty = table_of((3, 3), [Tally(ldp.GRR(9, 1.0).noise, np.zeros(9, dtype=int), 0)])
        for test in self.SQUARE_TESTS:
            with pytest.raises(ldp.NotIdentifiedError, match="no reports behind the table of a and b"):
                test(empty)


class TestRefusals:
    """Calls that say what was wrong with them."""

    @pytest.mark.parametrize("test", [symmetry_test, marginal_homogeneity_test])
    def test_tables_that_are_not_square_have_no_diagonal(self, test: Test) -> None:
        for shape in [(2, 3), (2, 2, 2), (4,)]:
            with pytest.raises(ldp.LdpstatsError, match="two attributes with the same categories"):
                test(seen(np.full(shape, 10)))
        other_order = ldp.Domain({"a": ["x", "y"], "b": ["y", "x"]})
        block = Block(Question.of(other_order, ["a", "b"]), Tally(ldp.GRR(4, 1.0).noise, np.full(4, 10), 40))
        with pytest.raises(ldp.LdpstatsError, match="in the same order"):
            test(Table(other_order, (block,), PRIVACY))

    def test_attributes_are_named_each_once(self) -> None:
        table = seen(SURVEY)
        for parts in [("a", "b"), ("a", ["b", "c", "a"]), (["a", "b", "c"], [])]:
            with pytest.raises(ldp.LdpstatsError):
                joint_independence_test(table, *parts)
        for given in ["a", [], ["c", "b"]]:
            with pytest.raises(ldp.LdpstatsError):
                conditional_independence_test(table, "a", "b", given)
        with pytest.raises(ldp.LdpstatsError, match="'nobody'"):
            joint_independence_test(table, "nobody", ["b", "c"])

    def test_three_attributes_have_a_three_way_interaction(self) -> None:
        for shape in [(2, 2), (2, 2, 2, 2)]:
            with pytest.raises(ldp.LdpstatsError, match="a table of three attributes"):
                no_three_way_interaction_test(seen(np.full(shape, 10)))

    @pytest.mark.parametrize(
        "frequencies", [[0.5, 0.5], [0.25] * 3 + [0.26], [0.5, 0.6, -0.1, 0], [0.5, 0.5, np.nan, 0], [[0.25] * 4]]
    )
    def test_frequencies_to_compare_with_are_proper(self, frequencies: ArrayLike) -> None:
        with pytest.raises(ldp.LdpstatsError, match="frequencies"):
            goodness_of_fit_test(seen(RATINGS), frequencies)

    @every_hypothesis
    def test_only_tables_are_tested(self, name: str) -> None:
        with pytest.raises(ldp.LdpstatsError, match="a Table"):
            EVERY[name].test(np.ones(EVERY[name].shape))
