"""What every protocol must be told by name: nothing but the domain is positional, and no level is a default."""

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
