"""The score statistic averaged over what noise leaves possible: against quadrature, its level, and when it is taken."""

from __future__ import annotations

from unittest.mock import patch

import inference as study
import numpy as np
import pytest
from scipy.stats import beta, chi2
from support.noisy_tables import table_of

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine import procedure
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import LinearSubspace, ProductOfConditionals
from ldpstats.inference.engine.null_model import null_score
from ldpstats.inference.engine.procedure import approximations_checked, averaged_score
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic

SQUARE = ProductOfConditionals.independent((2, 2))


def by_quadrature(evidence: BlockEvidence) -> float:
    """Average over the margins of a 2-by-2 table at equally probable places under the prior Beta(½, ½)."""
    places = beta.ppf((np.arange(80) + 0.5) / 80, 0.5, 0.5)
    margins = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    cells = SQUARE.frequencies(margins)
    (block,) = evidence.blocks
    estimate = block.noise.debias(evidence.counts[0] / block.n)
    at = null_score(SQUARE, evidence, margins)
    contrasts = np.linalg.svd(np.ones((1, 4)))[2][1:].T
    logarithms, statistics = [], []
    for place, frequencies in enumerate(cells):
        covariance = contrasts.T @ block.noise.covariance(frequencies) @ contrasts / block.n
        gap = (estimate[0] - frequencies) @ contrasts
        distance = gap @ np.linalg.solve(covariance, gap)
        logarithms.append(-(distance + np.linalg.slogdet(covariance)[1]) / 2)
        statistics.append(distance - at.gain[place])
    weights = np.exp(np.array(logarithms) - max(logarithms))
    return float(weights @ np.array(statistics) / weights.sum())


@pytest.mark.parametrize("mechanism", ["grr", "ss", "oue"])
@pytest.mark.parametrize("counts", [[60, 40, 50, 50], [120, 40, 30, 10], [150, 0, 0, 50]])
def test_averages_are_those_of_quadrature(mechanism: str, counts: list[int]) -> None:
    tally = ldp.mechanism(mechanism, k=4, epsilon=0.5).simulate(np.array(counts), rng=2)
    evidence = BlockEvidence.observed(table_of((2, 2), [tally]).blocks)
    statistic = ScoreStatistic(SQUARE, evidence, 4)
    found = averaged_score(statistic, SQUARE, evidence, statistic(evidence).frequencies[0])
    assert found == pytest.approx(by_quadrature(evidence), rel=0.05, abs=0.05)
    with patch.object(procedure, "_AT_ONCE", 40):
        in_parts = averaged_score(statistic, SQUARE, evidence, statistic(evidence).frequencies[0])
    assert in_parts == pytest.approx(found, rel=1e-12)


def test_no_average_where_the_reports_tell_the_margins() -> None:
    evidence = BlockEvidence.observed(table_of((2, 2), [ldp.GRR(4, 3.0).simulate(np.full(4, 10_000), rng=1)]).blocks)
    statistic = ScoreStatistic(SQUARE, evidence, 4)
    assert averaged_score(statistic, SQUARE, evidence, np.array([0.97, 0.01, 0.01, 0.01])) is None


def test_only_scores_of_products_are_averaged() -> None:
    evidence = BlockEvidence.observed(table_of((2, 2), [ldp.GRR(4, 0.5).simulate(np.full(4, 30), rng=1)]).blocks)
    given = LinearSubspace(np.full(4, 0.25), np.zeros((4, 0)))
    scores = []
    for kind, model in ((ScoreStatistic, SQUARE), (LikelihoodRatio, SQUARE), (ScoreStatistic, given)):
        statistic = kind(model, evidence, 4)
        fit = statistic(evidence)
        rarest = evidence.rarest_expected_report(fit.frequencies)
        (check,) = approximations_checked(model, evidence, fit, rarest, statistic)
        scores.append(check.score is not None)
    assert scores == [True, False, False]


@pytest.mark.parametrize("mechanism", ["grr", "ss", "oue"])
def test_drowned_tables_are_tested_by_the_average(mechanism: str) -> None:
    table = table_of((4, 4), [ldp.mechanism(mechanism, k=16, epsilon=0.5).simulate(np.full(16, 30), rng=1)])
    result, single = ldp.independence_test(table), ldp.independence_test(table, pvalue="asymptotic")
    assert "averaged over the margins that the reports leave possible" in result.method
    assert "so wide" in result.pvalue_source
    assert "averaged" not in single.method
    assert result.statistic != single.statistic
    assert result.pvalue == pytest.approx(chi2.sf(result.statistic, 9))
    assert tuple(ldp.independence_test(table)) == tuple(result)


def test_the_study_of_the_corner_has_a_row_per_setting() -> None:
    frame = study.corner([study.Setting("grr", (4, 4), 500, 0.5, rarest, tables=20) for rarest in (0.5, 0.01)])
    assert frame[["type I, auto", "type I, one fit"]].to_numpy().max() < 0.5
    assert frame["attainable"].notna().tolist() == [True, False]
    assert len(list(study.corner_grid())) == 72


@pytest.mark.parametrize("mechanism", ["grr", "ss", "hr"])
def test_the_order_of_attributes_and_categories_changes_no_average(mechanism: str) -> None:
    """Before, the p-value of a transposed table was another one, by up to .02."""
    domain = ldp.Domain({"a": ["x", "y"], "b": list("uvwz")})
    protocol = ldp.SampledGroups(domain, epsilon=0.5, mechanism=mechanism)
    table = protocol.simulate(np.array([40, 30, 20, 10, 10, 20, 30, 40]), rng=5)["a", "b"]
    evidence, shape = BlockEvidence.observed(table.blocks), table.shape
    model = ProductOfConditionals.independent(shape)
    fitted = ScoreStatistic(model, evidence, 8)(evidence).frequencies[0]
    of_cell = np.arange(8).reshape(shape)
    found = []
    for order in (of_cell, of_cell.T, of_cell[::-1, [2, 0, 3, 1]]):
        question = Question(("a", "b"), order.shape, tuple(order.ravel().tolist()))
        moved = BlockEvidence.observed([Block(question, table.blocks[0].tally)])
        turned = ProductOfConditionals.independent(order.shape)
        found.append(averaged_score(ScoreStatistic(turned, moved, 8), turned, moved, fitted[order.ravel()]))
    assert found[0] is not None
    assert found[1:] == pytest.approx([found[0]] * 2, rel=1e-9)
