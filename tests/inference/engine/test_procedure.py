"""The procedure of every test: the methods and p-values that each takes, their level, and classical answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import binom, chi2
from statsmodels.formula.api import glm
from support.classical_tables import SURVEY, VISION
from support.comparisons import FALSE_FAILURE_RATE
from support.every_test import EVERY
from support.noisy_tables import collected, domain_of, seen, table_of

import ldpstats as ldp
from ldpstats.inference.engine.evidence import BlockEvidence, GroupedEvidence
from ldpstats.inference.engine.families import LinearSubspace, LogLinear, ProductOfConditionals
from ldpstats.inference.engine.null_model import NullModel
from ldpstats.inference.engine.procedure import WORDS
from ldpstats.inference.engine.statistics import Statistic, WaldStatistic
from ldpstats.inference.hypothesis_tests.homogeneity import HomogeneityStatistic, HomogeneityWald, any_frequencies
from ldpstats.inference.hypothesis_tests.log_linear import LinearByLinear

METHODS = ("auto", "score", "gls", "lr", "wald")
DRAWN = ldp.MonteCarlo(99, rng=1)


@pytest.mark.parametrize("mechanism", ["grr", "oue"])
@pytest.mark.parametrize("name", EVERY)
def test_every_method_and_pvalue_has_an_answer_or_says_what_is_allowed(name: str, mechanism: str) -> None:
    tested, cells = EVERY[name], int(np.prod(EVERY[name].shape))
    table = table_of(tested.shape, [collected(np.full(cells, 1 / cells), 3000, 2.0, 5, mechanism)])
    usual = "score" if mechanism == "grr" else "gls"
    found: dict[str, set[float]] = {}
    for method, pvalue in product(METHODS, ("asymptotic", DRAWN, "auto")):
        if (name, method) == ("nested", "wald") or (mechanism == "oue" and method in ("score", "lr")):
            with pytest.raises(ldp.LdpstatsError, match=r"Allowed: .*'gls'"):
                tested.test(table, method=method, pvalue=pvalue)
            continue
        result = tested.test(table, method=method, pvalue=pvalue)
        assert name == "nested" or result.method.startswith(WORDS[usual if method == "auto" else method])
        expected = {"asymptotic": "asymptotic χ²", DRAWN: "Monte Carlo, 99 tables, seed 1", "auto": ""}[pvalue]
        assert result.pvalue_source.startswith(expected)
        if pvalue == "asymptotic":
            assert result.pvalue == pytest.approx(float(chi2.sf(result.statistic, result.df)))
        if pvalue == DRAWN:
            assert result.pvalue * 100 == pytest.approx(round(result.pvalue * 100))
        found.setdefault(method, set()).add(result.statistic)
    assert all(len(statistics) == 1 for statistics in found.values()), "the p-value does not change the statistic"
    with pytest.raises(ldp.LdpstatsError, match=r"method = 'pearson'.*Allowed: 'auto', 'score', 'gls', 'lr'"):
        tested.test(table, method="pearson", pvalue="auto")
    with pytest.raises(ldp.LdpstatsError, match=r"pvalue = 'exact'.*MonteCarlo"):
        tested.test(table, method="auto", pvalue="exact")


CLASSICAL: dict[str, tuple[NDArray[np.int64], Callable[[Any], float]]] = {
    "trend": (
        VISION,
        lambda counts: (
            sm.stats.Table(counts, shift_zeros=False).test_ordinal_association().zscore ** 2
            * counts.sum()
            / (counts.sum() - 1)
        ),
    ),
    "log-linear": (SURVEY, lambda counts: poisson(counts, "a*b + c").pearson_chi2),
}


def poisson(counts: NDArray[np.int64], formula: str) -> Any:
    cells = pd.DataFrame(list(np.ndindex(*counts.shape)), columns=list("abc")[: counts.ndim]).assign(n=counts.ravel())
    return glm(f"n ~ {formula}", cells, family=sm.families.Poisson()).fit(tol=1e-13)


@pytest.mark.parametrize("mechanism", ["grr", "sue"])
@pytest.mark.parametrize("name", CLASSICAL)
def test_without_noise_walds_statistic_is_the_classical_one(name: str, mechanism: str) -> None:
    """Pearson's, or that of the correlation: the covariance is that of the null."""
    counts, classical = CLASSICAL[name]
    result = EVERY[name].test(seen(counts, mechanism), method="wald", pvalue="asymptotic")
    assert result.statistic == pytest.approx(classical(counts), rel=1e-6)


def test_without_noise_the_likelihood_ratio_of_a_trend_is_a_difference_of_deviances() -> None:
    known = [poisson(VISION, formula).deviance for formula in ("C(a) + C(b)", "C(a) + C(b) + a:b")]
    result = ldp.trend_test(seen(VISION), method="lr", pvalue="asymptotic")
    assert result.statistic == pytest.approx(known[0] - known[1], rel=1e-8)


MODELS: dict[str, tuple[tuple[int, ...], NullModel]] = {
    "goodness of fit": ((4,), LinearSubspace(np.full(4, 0.25), np.zeros((4, 0)))),
    "conditional": ((2, 2, 3), ProductOfConditionals((2, 2, 3), (((2,), ()), ((0,), (2,)), ((1,), (2,))))),
    "no three-way": ((2, 2, 2), LogLinear((2, 2, 2), ((0, 1), (0, 2), (1, 2)))),
    "chain": ((2, 3, 2), LogLinear((2, 3, 2), ((0, 1), (1, 2)))),
    "a linear constraint": ((4,), LinearSubspace.constrained(np.full(4, 0.25), np.array([[1.0, -1, 1, -1]]))),
}


def rejected(statistic: Statistic, evidence: Any, frequencies: Any, tables: int = 2000) -> None:
    """Draw tables under the null; rejections at .05 are within binomial limits at the false-failure rate."""
    found = statistic(evidence.replicates(frequencies, tables, np.random.default_rng(6))).statistic
    low, high = binom.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], tables, 0.05)
    assert low <= np.count_nonzero(chi2.sf(found, statistic.df) <= 0.05) <= high


@pytest.mark.parametrize(("name", "mechanism"), [*((name, "grr") for name in MODELS), ("no three-way", "oue")])
def test_the_level_of_walds_statistic_holds_through_noise(name: str, mechanism: str) -> None:
    shape, model = MODELS[name]
    cells = int(np.prod(shape))
    near = np.random.default_rng(2).dirichlet(np.full(cells, 200.0))
    null = model.frequencies(model.nearest(near))
    blocks = table_of(shape, [collected(null, 9000, level, 3, mechanism) for level in (1.5, 2.0)]).blocks
    evidence = BlockEvidence.observed(blocks)
    rejected(WaldStatistic(model, evidence, cells), evidence, null)


@pytest.mark.parametrize(("mechanism", "method"), [("ss", "score"), ("grr", "lr"), ("oue", "wald")])
def test_the_levels_of_trend_and_homogeneity_hold_through_noise(mechanism: str, method: str) -> None:
    null = np.outer([0.6, 0.4], [0.5, 0.3, 0.2]).ravel()
    groups = [table_of((2, 3), [collected(null, n, 2.0, n, mechanism)]) for n in (6000, 4000, 5000)]
    alone = [BlockEvidence.observed(group.blocks) for group in groups]
    together = GroupedEvidence(tuple(alone), tuple(group.n for group in groups))
    trend = LinearByLinear((2, 3), np.array([-0.5, 0.5]), np.array([-1.0, 0, 1]))
    rejected(trend.statistic(method, alone[0]), alone[0], null)
    homogeneous = (
        HomogeneityWald(together, any_frequencies(together, 6))
        if method == "wald"
        else HomogeneityStatistic(together, any_frequencies(together, 6), likelihood=method == "lr")
    )
    assert homogeneous.df == 10
    rejected(homogeneous, together, null, 500)


def test_structural_zeros_are_no_part_of_walds_statistic() -> None:
    """The cells of the zeros say nothing: without noise it is Pearson's of quasi-independence."""
    counts = np.array([[0, 40, 25], [35, 0, 50], [30, 45, 0]])
    fit = ldp.log_linear_model(seen(counts), "a + b", [{"a": one, "b": one} for one in range(3)])
    expected = fit.expected * counts.sum()
    kept = expected > 0
    pearson = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    result = fit.test("wald", pvalue="asymptotic")
    assert (result.statistic, result.df) == (pytest.approx(pearson, rel=1e-6), 1)


def test_reports_of_what_cannot_occur_have_no_likelihood() -> None:
    fit = ldp.log_linear_model(seen(np.full((3, 3), 40), epsilon=45.0), "a + b", [{"a": 2, "b": 0}])
    with pytest.raises(ldp.LdpstatsError, match="impossible in cells without respondents"):
        fit.test("lr")
    # the score is of the other cells, which are as the model has them
    assert fit.test("score", pvalue="asymptotic").pvalue == pytest.approx(1)


def test_blocks_that_leave_cells_open_have_no_wald_statistic() -> None:
    domain = domain_of((2, 2, 2))
    chain = ldp.SampledGroups(domain, epsilon=1.0, groups=[("a", "b"), ("b", "c")]).simulate(np.full(8, 100), rng=1)
    with pytest.raises(ldp.NotIdentifiedError, match="identify"):
        ldp.log_linear_model(ldp.reconstruct(chain, list("abc")), "a + b + c").test("wald")
