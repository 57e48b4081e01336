"""Arguments of another kind are refused in words; of a protocol nothing but the domain is positional, or a default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
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
