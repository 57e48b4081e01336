"""Independence tests: exact against classical answers and brute force, their level, their power, their refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize
from scipy.special import chdtrc
from support.noisy_tables import PRIVACY
from support.two_way_tables import Frequencies, drawn, independent, table_of

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.noise import DenseChannel, MultinomialNoise, Tally
from ldpstats.tables import Table


def product_table(parameters: Frequencies) -> Frequencies:
    """Return a 2-by-3 table from the free entries of its margins."""
    row, column = parameters[:1], parameters[1:]
    return np.outer(np.append(row, 1 - row.sum()), np.append(column, 1 - column.sum())).ravel()


@pytest.mark.parametrize("name", ["grr", "ss"])
@pytest.mark.parametrize("n", [10**9, 10**12])
def test_no_digits_are_lost_when_there_are_many_reports(name: str, n: int) -> None:
    counts = np.random.default_rng(3).multinomial(n, independent(3, 4)).reshape(3, 4)
    rows, columns = ([Fraction(int(total)) for total in counts.sum(axis=axis)] for axis in (1, 0))
    expected = np.outer(rows, columns) / n
    pearson = float(((counts - expected) ** 2 / expected).sum())
    tally = Tally(ldp.mechanism(name, k=12, epsilon=60.0).noise, counts.ravel(), n)
    assert ldp.independence_test(table_of((3, 4), [tally])).statistic == pytest.approx(pearson, rel=1e-10)


@pytest.mark.parametrize(("name", "shape"), [("grr", (3, 4)), ("oue", (4, 4)), ("ss", (2, 2))])
def test_level_of_the_score_test_and_failure_of_the_naive_one(name: str, shape: tuple[int, int]) -> None:
    # The issue's own bounds; with 4,000 tables they are 2.9 standard errors, and the seed is fixed.
    block = table_of(shape, [drawn(name, 8000, 1.0, 5, independent(*shape))]).blocks[0]
    evidence = BlockEvidence.observed([block]).replicates(independent(*shape), 4000, np.random.default_rng(17))
    statistic = ScoreStatistic(
        ProductOfConditionals.independent(shape), BlockEvidence.observed([block]), block.question.cells
    )
    pvalues = chdtrc(statistic.df, statistic(evidence).statistic)
    assert 0.04 <= np.mean(pvalues < 0.05) <= 0.06
    if name == "grr":
        reports = evidence.counts[0].reshape(4000, *shape)
        expected = reports.sum(axis=2)[:, :, None] * reports.sum(axis=1)[:, None, :] / 8000
        naive = chdtrc(statistic.df, ((reports - expected) ** 2 / expected).sum(axis=(1, 2)))
        assert np.mean(naive < 0.05) > 0.08, "χ² on the reports takes the noise for dependence"


@pytest.mark.parametrize("name", ["oue", "ss"])
def test_least_squares_is_a_difference_of_two_minima(name: str) -> None:
    """Minimise the weighted distance numerically over independent tables, and over all tables that sum to one."""
    shape = (2, 3)
    tally = drawn(name, 5000, 1.0, 8, independent(*shape))
    result = ldp.independence_test(table_of(shape, [tally]))
    estimate = tally.noise.debias(tally.proportions)
    weight = 5000 * np.linalg.pinv(tally.noise.covariance(result.expected.ravel()), rcond=1e-10)

    def distance(parameters: Frequencies) -> float:
        gap = estimate - product_table(parameters)
        return float(gap @ weight @ gap)

    nearest = optimize.minimize(distance, [0.6, 0.4, 0.3], method="BFGS", options={"gtol": 1e-8}).fun
    centred = np.eye(6) - 1 / 6
    gap = estimate - result.expected.ravel()
    to_any = gap - centred @ np.linalg.pinv(centred @ weight @ centred, rcond=1e-10) @ centred @ weight @ gap
    assert result.statistic == pytest.approx(nearest - to_any @ weight @ to_any, rel=1e-6)


def test_a_contrast_question_adds_to_the_evidence_but_does_not_stand_alone() -> None:
    """One bit about a contrast (a rectangular channel) leaves the margins unknown: df needs a block that tells them."""
    domain = ldp.Domain({"row": ["a", "b"], "column": ["c", "d"]})
    sign = np.array([1, -1, -1, 1]) * np.tanh(0.5) / 2
    bit = MultinomialNoise(DenseChannel(tuple((0.5 + s, 0.5 - s) for s in sign)))
    question = Question.of(domain, ["row", "column"])
    frequencies = np.full(4, 0.25)
    rng = np.random.default_rng(4)
    contrast = Block(question, Tally(bit, bit.draw(frequencies, 4000, 1, rng)[0], 4000))
    plain = Block(question, drawn("grr", 4000, 1.0, 5, frequencies))
    both = ldp.independence_test(Table(domain, (plain, contrast), PRIVACY))
    alone = ldp.independence_test(Table(domain, (plain,), PRIVACY))
    assert both.df == alone.df == 1
    assert both.power[0.1] > alone.power[0.1] + 0.1
    with pytest.raises(ldp.NotIdentifiedError, match="tell nothing about the hypothesis"):
        ldp.independence_test(Table(domain, (contrast,), PRIVACY))


class TestResult:
    """What a test gives back."""

    def test_summary_says_what_was_shown_or_what_could_have_been(self) -> None:
        quiet = ldp.independence_test(table_of((2, 2), [drawn("grr", 900, 1.0, 31, independent(2, 2))]))
        text = str(quiet.summary())
        assert "does not show that it holds" in text
        assert f"power {quiet.power[0.1]:.2f} against V = 0.1" in text
        assert "simulated" in text
        dependent = np.array([0.4, 0.1, 0.1, 0.4])
        loud = ldp.independence_test(table_of((2, 2), [drawn("grr", 90_000, 1.0, 31, dependent)]))
        assert "row and column are dependent" in str(loud.summary())
        assert (quiet.verdict(), loud.verdict()) == ("no dependence shown", "dependent")

    def test_a_marginal_whose_noise_is_unknown_is_tested_by_its_covariance(self) -> None:
        domain = ldp.Domain({name: [0, 1] for name in "abc"})
        protocol = ldp.SampledGroups(domain, groups=[["a", "b", "c"]], epsilon=2.0, mechanism="hr")
        dependent = protocol.simulate(np.array([8, 2, 2, 8] * 2) * 2000, rng=1)["a", "b", "c"].marginal(["b", "c"])
        assert ldp.independence_test(dependent, "gls").pvalue < 1e-6
        for method in ("score", "lr", "wald"):
            with pytest.raises(ldp.LdpstatsError, match="'gls'"):
                ldp.independence_test(dependent, method=method)


class TestRefusals:
    """Input that cannot be tested."""

    def test_names_what_is_allowed(self) -> None:
        table = table_of((2, 2), [drawn("oue", 900, 1.0, 31, independent(2, 2))])
        with pytest.raises(ldp.LdpstatsError, match="at least two attributes"):
            ldp.independence_test(table.marginal("row"))


def test_a_pvalue_too_small_for_a_double_is_not_called_zero() -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    tables = ldp.SampledGroups(domain, epsilon=4.0).simulate(np.array([20_000, 0, 0, 20_000]), rng=1)
    result = ldp.independence_test(tables["a", "b"])
    assert result.pvalue == 0.0
    assert "< 1e-300 (asymptotic" in str(result.summary())
