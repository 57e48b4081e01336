"""Extremes: hardly any respondents, hardly any noise, a category nobody chose: figures or a clear error."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.mechanisms import Mechanism, OpenRAPPOR, OpenRR
from ldpstats.mechanisms.registry import REGISTRY

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "never chosen"]})
LEVELS = [0, 1e-6, 1.0, 50.0]
SIZES = [0, 1, 7, 300]

PROTOCOLS: dict[str, Callable[[float], Any]] = {
    "one group": lambda epsilon: ldp.SampledGroups(DOMAIN, epsilon=epsilon),
    "one group, supports": lambda epsilon: ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism="oue"),
    "per attribute": lambda epsilon: ldp.PerAttribute(DOMAIN, epsilon=epsilon, k=2),
    "the paper's blocks": lambda epsilon: ldp.RRBA(DOMAIN, p=min(max(epsilon, 1e-6) / 2, 1.0), block_size=50),
    "curator, Gaussian": lambda epsilon: ldp.CentralGaussian(DOMAIN, epsilon=epsilon),
}
TESTS: dict[str, Callable[[ldp.Table], ldp.HypothesisResult]] = {
    "independence": ldp.independence_test,
    "likelihood ratio": lambda table: ldp.independence_test(table, method="lr"),
    "Wald": lambda table: ldp.independence_test(table, method="wald"),
    "goodness of fit": ldp.goodness_of_fit_test,
    "trend": ldp.trend_test,
    "homogeneity": lambda table: ldp.homogeneity_test([table, table]),
    "main effects": lambda table: ldp.log_linear_model(table, "a + b").test(),
    "two steps": lambda table: ldp.two_step_test(table, rng=1, n_resamples=99),
    "naive": lambda table: ldp.naive_test(table, "debiased"),
}
EFFECTS: dict[str, Callable[[ldp.Table], Any]] = {
    "association": ldp.association,
    "mutual information": ldp.mutual_information,
    "odds ratio": lambda table: ldp.odds_ratio(table, rows=("x", "y"), columns=("p", "never chosen")),
    "risk ratio": lambda table: ldp.risk_ratio(table, rows=("x", "y"), column="never chosen"),
    "risk difference": lambda table: ldp.risk_difference(table, rows=("x", "y"), column="never chosen"),
}


@cache
def tables_of(name: str) -> list[ldp.Table]:
    rng, tables = np.random.default_rng(1), []
    for epsilon in LEVELS:
        try:
            protocol = PROTOCOLS[name](epsilon)
        except ldp.LdpstatsError:
            continue
        for n in SIZES:
            people = pd.DataFrame({"a": rng.choice(["x", "y"], n), "b": rng.choice(["p", "q"], n)})
            tables += list(protocol.simulate(people, rng=2))
    assert tables
    return [table for table in tables if len(table.shape) == 2]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_test_gives_a_pvalue_or_a_clear_error(name: str) -> None:
    answered = 0
    for table in tables_of(name):
        for test in TESTS.values():
            try:
                result = test(table)
            except ldp.LdpstatsError:
                continue
            assert 0 <= result.statistic < np.inf
            assert 0 <= result.pvalue <= 1
            assert str(result.summary())
            answered += 1
    assert answered


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_effect_gives_values_in_order_or_says_why_not(name: str) -> None:
    answered = 0
    for table in tables_of(name):
        for effect in EFFECTS.values():
            try:
                found = effect(table)
            except ldp.LdpstatsError:
                continue
            assert str(found.summary())
            assert bool(found.why_not) == math.isnan(found.estimate)
            assert all(low <= high for low, high in found.conf_set())
            answered += 1
    assert answered


LARGEST = (1 << 32) - 1


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_alphabets_that_draws_do_not_reach_are_refused_before_anybody_answers(kind: type[Mechanism]) -> None:
    for k in (1 << 32, (1 << 32) + 1, 1 << 62, 10**400):
        with pytest.raises(ldp.LdpstatsError, match="k = "):
            kind(k, 23.0)  # type: ignore[call-arg]  # every kind takes k and epsilon


@pytest.mark.parametrize("k", [1 << 31, (1 << 31) + 1, (1 << 31) + 2, LARGEST])
@pytest.mark.parametrize("name", ["grr", "l-grr", "blh", "olh", "l-olh", "hr", "hrr"])
def test_respondents_lie_among_billions_of_values_as_they_should(name: str, k: int) -> None:
    mechanism = ldp.mechanism(name, k=k, epsilon=1.0)
    values = np.arange(3000) * (k // 3000)
    reports = mechanism.privatize(values, rng=4)
    assert len(reports) == values.size
    if name in ("grr", "l-grr"):
        lies = reports.data[reports.data != values].astype(float) / k
        # a truth has probability 1e-9; lies are uniform: 1e-9 to be further from their means than 6 standard errors
        assert lies.size == values.size
        assert abs(lies.mean() - 0.5) < 6 * (12 * lies.size) ** -0.5
        assert abs((lies**2).mean() - 1 / 3) < 6 * (4 / 45 / lies.size) ** 0.5


def test_cohorts_whose_numbers_do_not_fit_into_a_report_are_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match="cohorts of"):
        OpenRR(epsilon=1.0, symbols=4, cohorts=1 << 62)
    with pytest.raises(ldp.LdpstatsError, match="cohorts of"):
        OpenRAPPOR(epsilon=1.0, bits=1 << 33)
