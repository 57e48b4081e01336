"""Arguments of another kind are refused in words; of a protocol nothing but the domain is positional, or a default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import _CLUSTERS, _WEIGHTS
from ldpstats.protocols.groups import groups_of, views_of

DOMAIN = ldp.Domain({name: ["yes", "no"] for name in "abc"})
WITH_LEVEL: list[Callable[..., Any]] = [
    ldp.SampledGroups,
    ldp.WholeView,
    ldp.ProductDomain,
    ldp.PerAttribute,
    ldp.HadamardCoefficients,
    ldp.CentralLaplace,
    ldp.CentralGaussian,
]


@pytest.mark.parametrize("kind", [*WITH_LEVEL, ldp.RRBA])
def test_nothing_but_the_domain_is_positional(kind: Callable[..., Any]) -> None:
    """SampledGroups(domain, 2) used to mean groups of two at ε = 1, PerAttribute(domain, 2) a level of 2."""
    with pytest.raises(TypeError, match="positional"):
        kind(DOMAIN, 2)
    with pytest.raises(TypeError, match="positional"):
        kind(DOMAIN, 2, epsilon=1.0)
    assert kind(DOMAIN, epsilon=2).privacy().unit.startswith("a respondent's whole record")


@pytest.mark.parametrize("kind", WITH_LEVEL)
def test_a_level_is_required(kind: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="'epsilon'"):
        kind(DOMAIN)


def test_rrba_requires_a_level_or_a_probability_of_truth_and_not_both() -> None:
    with pytest.raises(LdpstatsError, match="neither p nor epsilon"):
        ldp.RRBA(DOMAIN)
    with pytest.raises(LdpstatsError, match=r"both p = 0\.5 and epsilon = 1\.0"):
        ldp.RRBA(DOMAIN, p=0.5, epsilon=1.0)
    assert (ldp.RRBA(DOMAIN, p=0.5).epsilon, ldp.RRBA(DOMAIN, epsilon=1.0).p) == (None, None)


@pytest.mark.parametrize("helper", [groups_of, views_of])
def test_sizes_of_groups_are_named_in_the_helpers_too(helper: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="positional"):
        helper(DOMAIN, 2)


TABLES = ldp.SampledGroups(DOMAIN, epsilon=2.0).simulate([100] * 8, rng=1)
TABLE = TABLES["a", "b"]


@pytest.mark.parametrize(
    "call",
    {
        "a table is no mechanism to audit": lambda: ldp.audit(TABLE),  # type: ignore[arg-type]  # refused
        "nor is a name": lambda: ldp.audit("grr"),  # type: ignore[arg-type]  # refused
        "nor is a class": lambda: ldp.poisoning(ldp.GRR, 0.1),  # type: ignore[arg-type]  # refused
        "nobody is no groups": lambda: ldp.homogeneity_test(None),  # type: ignore[arg-type]  # refused
        "a list is no method": lambda: ldp.reconstruct(TABLES, ["a", "b", "c"], ["em"]),  # type: ignore[arg-type]  # refused
        "nor a choice": lambda: ldp.naive_test(TABLE, ["reports"]),  # type: ignore[arg-type]  # refused
        "nor a rule": lambda: ldp.two_step_test(TABLE, rule=[]),  # type: ignore[arg-type]  # refused
        "nor an adjustment": lambda: ldp.independence_tests(TABLES, adjust=[]),  # type: ignore[arg-type]  # refused
        "a table is no counts": lambda: ldp.published.proper_table(TABLE, 5),  # type: ignore[arg-type]  # refused
        "nor a sum": lambda: ldp.published.proper_table([1.0, 2.0], TABLE),  # type: ignore[arg-type]  # refused
    }.items(),
    ids=lambda named: named[0],
)
def test_arguments_of_another_kind_are_refused_in_words(call: tuple[str, Callable[[], Any]]) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        call[1]()


FRAME = DOMAIN.decode(np.zeros((4, 3), dtype=int))
UNWEIGHTED: list[tuple[Callable[..., Any], tuple[object, ...]]] = [
    *((getattr(ldp, name), (TABLE,)) for name in ("independence_test", "goodness_of_fit_test", "trend_test")),
    *((getattr(ldp, name), (TABLE,)) for name in ("association", "odds_ratio", "risk_ratio", "mutual_information")),
    *((getattr(ldp, name), (TABLES,)) for name in ("independence_tests", "learn_network", "make_consistent")),
    *((getattr(ldp, name), ("grr", (2, 2))) for name in ("power", "sample_size", "plan")),
    (ldp.tables_of, (["reports.csv"], WITH_LEVEL[0](DOMAIN, epsilon=1.0))),
    *((getattr(kind(DOMAIN, epsilon=2.0), name), (FRAME,)) for kind in WITH_LEVEL for name in ("collect", "simulate")),
    *((getattr(ldp.RRBA(DOMAIN, epsilon=2.0), name), (FRAME,)) for name in ("collect", "simulate", "reports")),
    (ldp.GRR(2, 1.0).count, ([0, 1],)),
]


@pytest.mark.parametrize(("function", "arguments"), UNWEIGHTED, ids=lambda one: getattr(one, "__qualname__", ""))
def test_weights_and_clusters_are_refused_in_words(function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    """Statisticians try what other packages have; a bare TypeError does not say what to do instead."""
    for name in ("weights", "sample_weight", "strata", "freq_weights"):
        with pytest.raises(LdpstatsError, match=f"{name}= for .* Survey weights cannot be taken"):
            function(*arguments, **{name: np.ones(4)})
    for name in ("cluster", "psu"):
        with pytest.raises(LdpstatsError, match=f"{name}= for .* alike make intervals too short"):
            function(*arguments, **{name: "village"})
    with pytest.raises(TypeError, match="unexpected keyword"):
        function(*arguments, weighing=1)
    assert not {*inspect.signature(function).parameters} & (_WEIGHTS | _CLUSTERS)


def test_strata_that_were_collected_one_by_one_are_weighed_as_the_error_says() -> None:
    """Over 500 surveys a variance errs by .063 of itself: .35, and 5.5 standard errors of a mean, are never reached.

    (4 cells, each by chance in 4e-8.)
    """
    strata, shares = ([300, 0, 0, 100], [50, 50, 200, 0]), (0.8, 0.2)
    protocol = ldp.SampledGroups(ldp.Domain({"a": [0, 1], "b": [0, 1]}), epsilon=2.0)
    rng = np.random.default_rng(1)
    # people drawn anew each time, as the covariance counts sampling, too
    drawn = [
        [protocol.simulate(rng.multinomial(sum(one), np.array(one) / sum(one)), rng=rng)["a", "b"] for one in strata]
        for _ in range(500)
    ]
    weighed = np.array([sum(w * t.estimate for w, t in zip(shares, one, strict=True)) for one in drawn])
    stated = np.mean(
        [np.diag(sum(w**2 * t.covariance for w, t in zip(shares, one, strict=True))) for one in drawn], axis=0
    )
    truth = sum(w * np.array(one) / sum(one) for w, one in zip(shares, strata, strict=True))
    assert np.allclose(weighed.mean(axis=0).ravel(), truth, atol=5.5 * np.sqrt(stated.max() / 500))
    assert np.allclose(weighed.var(axis=0).ravel() / stated, 1, atol=0.35)


def test_several_names_may_stand_one_by_one() -> None:
    assert TABLE.marginal("b", "a").attributes == TABLE.marginal(["b", "a"]).attributes == ("b", "a")
    assert np.array_equal(TABLES.pooled("b", "a").estimate, TABLES.pooled(["b", "a"]).estimate)
    assert DOMAIN.project("b", "a") == DOMAIN.project(["b", "a"])


@pytest.mark.parametrize("kind", [ldp.SampledGroups, ldp.HadamardCoefficients, ldp.CentralLaplace])
def test_an_attribute_that_was_asked_with_others_is_pooled_as_the_error_says(kind: Callable[..., Any]) -> None:
    tables = kind(DOMAIN, epsilon=2.0).simulate([100] * 8, rng=1)
    with pytest.raises(
        LdpstatsError, match=r"tables\.pooled\('a'\) adds all .* tables\[\('a', 'b'\)\]\.marginal\('a'\)"
    ):
        tables["a"]
    assert tables.pooled("a").n >= tables["a", "b"].marginal("a").n > 0
    with pytest.raises(LdpstatsError, match=r"ldpstats\.reconstruct\(tables, \['a', 'b', 'c'\]\)"):
        tables["a", "b", "c"]
    assert ldp.reconstruct(tables, ["a", "b", "c"]).attributes == ("a", "b", "c")
