"""Log-linear models and trends: Poisson regression and correlation without noise, level and power through it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import binom, chi2
from support.classical_tables import HABITS, STUDENTS, VISION
from support.comparisons import FALSE_FAILURE_RATE
from support.noisy_tables import seen_without_noise

import ldpstats as ldp
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.statistics import NestedStatistic, ScoreStatistic
from ldpstats.noise import Tally
from ldpstats.tables.respondents import RespondentSet

FORMULAS = [
    "alcohol + cigarettes + marijuana",
    "alcohol*cigarettes + marijuana",
    "alcohol*marijuana + cigarettes*marijuana",
    "alcohol*cigarettes + alcohol*marijuana + cigarettes*marijuana",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_without_noise_a_model_is_the_poisson_regression_of_its_formula(formula: str) -> None:
    rows = pd.DataFrame(HABITS.decode(np.stack(np.unravel_index(np.arange(8), (2, 2, 2)), axis=1))).assign(n=STUDENTS)
    known = smf.glm(f"n ~ {formula}", data=rows, family=sm.families.Poisson()).fit()
    fit = ldp.log_linear_model(seen_without_noise(HABITS, STUDENTS), formula)
    assert fit.converged
    assert np.allclose(fit.expected.ravel() * STUDENTS.sum(), known.fittedvalues, atol=1e-6)
    assert fit.test("score").statistic == pytest.approx(known.pearson_chi2, rel=1e-8)
    assert fit.test("lr").statistic == pytest.approx(known.deviance, rel=1e-8)
    assert fit.test().df == known.df_resid


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_that_noise_makes_negative_hides_no_strong_dependence(seed: int) -> None:
    """Few students without alcohol tried marijuana: their frequency, fitted near zero, once let statistics explode."""
    protocol = ldp.SampledGroups(HABITS, groups=[HABITS.names], mechanism="grr", epsilon=4.0)
    table = protocol.simulate(STUDENTS.reshape(2, 2, 2), rng=seed)[HABITS.names]
    small, large = (ldp.log_linear_model(table, formula) for formula in FORMULAS[2:])
    known = ldp.log_linear_model(seen_without_noise(HABITS, STUDENTS), FORMULAS[2]).test("lr").statistic
    for found in (small.test(), small.test("lr"), small.compared_with(large)):
        assert found.pvalue < 0.001
        assert 0.4 * known < found.statistic < known


def test_nested_models_differ_by_their_deviances_and_by_the_score_of_further_terms() -> None:
    table = seen_without_noise(HABITS, STUDENTS)
    small, large = (ldp.log_linear_model(table, formula) for formula in FORMULAS[2:])
    found = small.compared_with(large)
    assert found.statistic == pytest.approx(small.test("lr").statistic - large.test("lr").statistic, rel=1e-8)
    assert found.df == 1
    # without noise, the score of the one term that is left to the saturated model is Pearson's statistic
    everything = ldp.log_linear_model(table, "alcohol*cigarettes*marijuana")
    score = large.compared_with(everything, method="score", pvalue="asymptotic")
    assert score.statistic == pytest.approx(large.test("score").statistic, rel=1e-6)
    assert np.allclose(everything.expected, STUDENTS.reshape(2, 2, 2) / STUDENTS.sum(), atol=1e-6)


@pytest.mark.parametrize(
    ("smaller", "larger", "shape", "n", "crossed"),
    [
        ("a*b+b*c+a*c", "a*b*c", (2, 2, 2), 40_000, True),
        ("a*b+b*c", "a*b+b*c+a*c", (3, 3, 2), 16_000, False),
    ],
)
def test_the_power_of_a_comparison_is_the_simulated_one(
    smaller: str, larger: str, shape: tuple[int, ...], n: int, crossed: bool
) -> None:
    """Against what the larger model adds, in 20 random directions: a share of 2,000 has a standard error of .011."""
    domain = ldp.Domain({name: range(side) for name, side in zip("abc", shape, strict=True)})
    kinds = {True: partial(ldp.PerAttribute, epsilon=3.0), False: partial(ldp.SampledGroups, epsilon=2.0)}
    protocol = kinds[crossed](domain, k=3, mechanism="grr")
    margins = [np.linspace(1, 2, side) / np.linspace(1, 2, side).sum() for side in shape]
    null = np.einsum("a,b,c->abc", *margins).ravel()
    table = protocol.simulate(np.round(n * null).astype(int), rng=1)["a", "b", "c"]
    block = table.blocks[0]
    counts = np.round(n * block.noise.mean(null)).astype(int)
    tally = Tally(block.noise, counts, counts.sum())
    asked = RespondentSet.whole("0" * 32, 0, tally.n)
    expected = replace(table, blocks=(Block(block.question, tally),), parts=asked, rows=())
    fits = [ldp.log_linear_model(expected, formula) for formula in (smaller, larger)]
    stated = fits[0].compared_with(fits[1], pvalue="asymptotic").power[0.1]
    models, rng = [fit.model for fit in fits], np.random.default_rng(3)
    evidence = BlockEvidence.observed((Block(block.question, tally),))
    statistic = NestedStatistic(*models, evidence, likelihood=True)
    assert 0.1 < stated < 0.95
    own, further = (model.tangents(null) / np.sqrt(null)[:, None] for model in models)
    basis = np.linalg.qr(own).Q
    added = np.linalg.svd(further - basis @ (basis.T @ further), full_matrices=False)[0][:, : statistic.df]
    rejected = []
    for weights in rng.standard_normal((20, statistic.df)):
        frequencies = null + 0.1 * np.sqrt(null) * (added @ (weights / np.linalg.norm(weights)))
        found = statistic(evidence.replicates(frequencies, 100, rng)).statistic
        rejected.append(np.mean(chi2.sf(found, statistic.df) <= 0.05))
    assert abs(stated - np.mean(rejected)) < 0.05


def test_formulas_may_be_written_in_several_ways() -> None:
    table = seen_without_noise(HABITS, STUDENTS)
    ways = (
        "alcohol*cigarettes + marijuana",
        " marijuana+cigarettes:alcohol + alcohol",
        [("cigarettes", "alcohol"), "marijuana"],
    )
    fits = [ldp.log_linear_model(table, formula) for formula in ways]
    assert len({frozenset(map(frozenset, fit.generators)) for fit in fits}) == 1
    assert all(np.allclose(fit.expected, fits[0].expected) for fit in fits)
    assert list(fits[0].to_frame().columns) == ["fitted", "estimate", "std_err"]


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("alcohol*cigarettes", "without 'marijuana'"),
        ("alcohol*wine + marijuana + cigarettes", "different names out of"),
        ("", "different names out of"),
        (5, "different names out of"),
    ],
)
def test_formulas_that_leave_something_out_are_refused(formula: Any, told: str) -> None:
    with pytest.raises(ldp.LdpstatsError, match=told):
        ldp.log_linear_model(seen_without_noise(HABITS, STUDENTS), formula)


def test_models_are_compared_by_what_their_tables_are() -> None:
    """A table that was saved and read again was called another one."""
    domain = ldp.Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    for mechanism in ("grr", "oue"):
        protocol = ldp.SampledGroups(domain, k=3, epsilon=3.0, mechanism=mechanism)
        tables = protocol.simulate(np.arange(8) * 100, rng=1)
        again = ldp.TableSet.from_json(tables.to_json())
        names = list(domain.names)
        small, large = ldp.log_linear_model(tables[names], FORMULAS_ABC[0]), FORMULAS_ABC[1]
        one, other = (small.compared_with(ldp.log_linear_model(each[names], large)) for each in (tables, again))
        assert tuple(one) == tuple(other)
        fewer = protocol.simulate(np.arange(8) * 100, rng=2)
        with pytest.raises(ldp.LdpstatsError, match="of the same table"):
            small.compared_with(ldp.log_linear_model(fewer[names], large))
        derived = [ldp.make_consistent(each)[names] for each in (tables, again)]
        assert derived[0].holds_the_same(derived[1])
        assert not derived[0].holds_the_same(tables[names])
        assert not tables[names].holds_the_same(tables[names].marginal(["a", "b"]))


FORMULAS_ABC = ("a + b + c", "a*b + c")


def test_only_nested_models_of_one_table_are_compared() -> None:
    table, other = (seen_without_noise(HABITS, counts) for counts in (STUDENTS, STUDENTS[::-1]))
    chain, another = (ldp.log_linear_model(table, formula) for formula in FORMULAS[1:3])
    for larger in (another, ldp.log_linear_model(other, FORMULAS[3])):
        with pytest.raises(ldp.LdpstatsError, match=r"nested"):
            chain.compared_with(larger)
    with pytest.raises(ldp.NotIdentifiedError, match="cannot tell"):
        chain.compared_with(chain)
    with pytest.raises(ldp.LdpstatsError, match="a Table"):
        ldp.log_linear_model(STUDENTS, "a")  # type: ignore[arg-type]  # this is what is refused


# Class and survival of the 2,201 on the Titanic, by age: of the crew nobody was a child (Dawson 1995)
TITANIC = np.array([[[122, 197], [0, 6]], [[167, 94], [0, 24]], [[476, 151], [52, 27]], [[673, 212], [0, 0]]])
ABOARD = ldp.Domain(
    {"class": ["first", "second", "third", "crew"], "age": ["adult", "child"], "survived": ["no", "yes"]}
)
NO_CHILDREN = [{"class": "crew", "age": "child"}]


class TestStructuralZeros:
    """Combinations that cannot occur are no part of the model."""

    @pytest.mark.parametrize(
        "formula", ["class + age + survived", "class*age + survived", "class*survived + age*survived"]
    )
    @pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
    def test_without_noise_it_is_the_poisson_regression_of_the_other_cells(self, formula: str) -> None:
        codes = np.stack(np.unravel_index(np.arange(16), (4, 2, 2)), axis=1)
        rows = pd.DataFrame(ABOARD.decode(codes)).assign(n=TITANIC.ravel())
        rows = rows[(rows["class"] != "crew") | (rows["age"] != "child")].astype(
            {"class": str, "age": str, "survived": str}
        )
        written = formula.replace("class", "C(Q('class'))")
        known = smf.glm(f"n ~ {written}", data=rows, family=sm.families.Poisson()).fit()
        fit = ldp.log_linear_model(seen_without_noise(ABOARD, TITANIC), formula, NO_CHILDREN)
        assert fit.converged
        assert np.all(fit.expected[3, 1] == 0)
        kept = np.delete(fit.expected.ravel(), [14, 15]) * TITANIC.sum()
        assert np.allclose(kept, known.fittedvalues, atol=1e-4)
        found = fit.test("lr", pvalue="asymptotic")
        assert found.statistic == pytest.approx(known.deviance, rel=1e-6)
        assert found.df == len(rows) - 1 - known.df_model
        assert found.expected.shape == (4, 2, 2)

    def test_comparisons_need_the_same_zeros(self) -> None:
        table = seen_without_noise(ABOARD, TITANIC)
        small, large = (
            ldp.log_linear_model(table, formula, NO_CHILDREN)
            for formula in ("class*age + class*survived", "class*age + class*survived + age*survived")
        )
        found = small.compared_with(large, pvalue="asymptotic")
        assert found.df == 1
        assert found.statistic == pytest.approx(small.test("lr").statistic - large.test("lr").statistic, rel=1e-4)
        with pytest.raises(ldp.LdpstatsError, match="nested"):
            small.compared_with(ldp.log_linear_model(table, "class*age*survived"))

    @pytest.mark.parametrize("zeros", [[{}], [{"class": "pilot"}], [{"deck": "A"}], ["crew"]])
    def test_zeros_are_of_the_table(self, zeros: Any) -> None:
        with pytest.raises(ldp.LdpstatsError, match="structural zero"):
            ldp.log_linear_model(seen_without_noise(ABOARD, TITANIC), "class + age + survived", zeros)

    def test_the_level_holds_through_noise(self) -> None:
        """Rejections at .05 of quasi-independence, out of 1,000, within binomial limits at the false-failure rate."""
        rng, domain = np.random.default_rng(6), ldp.Domain({"a": [0, 1, 2], "b": [0, 1, 2]})
        weights = np.outer([0.5, 0.3, 0.2], [0.4, 0.35, 0.25])
        np.fill_diagonal(weights, 0)
        frequencies = (weights / weights.sum()).ravel()
        protocol = ldp.SampledGroups(domain, epsilon=3.0, mechanism="ss")
        table = protocol.simulate(rng.multinomial(4000, frequencies), rng=rng)["a", "b"]
        zeros = [{"a": one, "b": one} for one in range(3)]
        fit = ldp.log_linear_model(table, "a + b", zeros)
        possible = np.array(fit.model.possible)
        evidence = replace(BlockEvidence.observed(table.blocks), possible=possible)
        statistic = ScoreStatistic(fit.model, evidence, possible.size)
        assert statistic.df == fit.test(pvalue="asymptotic").df == 1
        found = statistic(evidence.replicates(frequencies[possible], 1000, rng)).statistic
        low, high = binom.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], 1000, 0.05)
        assert low <= np.count_nonzero(chi2.sf(found, 1) <= 0.05) <= high


EYES = ldp.Domain({"right": [1, 2, 3, 4], "left": [1, 2, 3, 4]})


def test_without_noise_a_trend_is_the_squared_correlation_times_n() -> None:
    found = ldp.trend_test(seen_without_noise(EYES, VISION))
    right, left = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    spread = np.cov(np.vstack([right, left]), fweights=VISION.ravel())
    n = VISION.sum()
    assert found.statistic == pytest.approx(n * spread[0, 1] ** 2 / spread[0, 0] / spread[1, 1], rel=1e-8)
    assert found.df == 1
    assert "left rises with right" in str(found.summary())
    turned = ldp.trend_test(seen_without_noise(EYES, VISION), column_scores=[4, 3, 2, 1])
    assert turned.statistic == pytest.approx(found.statistic)
    assert turned.about.otherwise == "left falls with right"


def test_the_scale_of_scores_does_not_matter_and_wrong_ones_are_refused() -> None:
    table = seen_without_noise(EYES, VISION)
    plain = ldp.trend_test(table, row_scores=[1, 2, 4, 8])
    assert ldp.trend_test(table, row_scores=[105, 110, 120, 140]).statistic == pytest.approx(plain.statistic)
    for scores in ([1, 2, 3], [1, 1, 1, 1], [1, 2, 3, np.nan], "abcd", [[1], [2], [3], [4]]):
        with pytest.raises(ldp.LdpstatsError, match="scores"):
            ldp.trend_test(table, row_scores=scores)
