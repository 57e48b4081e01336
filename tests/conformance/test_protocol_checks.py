"""Every local protocol keeps its word: the suite certifies all that are registered, in every way of asking."""

from __future__ import annotations

from typing import Any

import pytest

from ldpstats.conformance.protocol_checks import PROTOCOL_CHECKS, TINY
from ldpstats.protocols import (
    PROTOCOLS,
    RRBA,
    HadamardCoefficients,
    PerAttribute,
    PersonalLevels,
    ProductDomain,
    SampledGroups,
    WholeView,
)
from ldpstats.protocols.contract import LocalProtocol, missing

PAIRS: Any = [("a", "b"), ("c", "b")]
LOCAL: dict[str, Any] = {
    "sampled groups": lambda domain, epsilon: SampledGroups(domain, epsilon=epsilon),
    "sampled groups, grr": lambda domain, epsilon: SampledGroups(
        domain, epsilon=epsilon, mechanism="grr", groups=PAIRS
    ),
    "sampled groups, oue": lambda domain, epsilon: SampledGroups(domain, epsilon=epsilon, mechanism="oue", k=1),
    "sampled groups, ss": lambda domain, epsilon: SampledGroups(
        domain, epsilon=epsilon / 6, mechanism="ss", groups=[("b", "a")]
    ),
    "whole view": lambda domain, epsilon: WholeView(
        domain, epsilon=epsilon, mechanism="grr", groups=[("a", "b"), ["c"], ("b", "c")]
    ),
    "product domain": lambda domain, epsilon: ProductDomain(domain, epsilon=epsilon, mechanism="grr"),
    "per attribute": lambda domain, epsilon: PerAttribute(domain, epsilon=epsilon),
    "per attribute, sampled": lambda domain, epsilon: PerAttribute(
        domain, epsilon=epsilon, mechanism="sue", sampled=True
    ),
    "per attribute, crossed": lambda domain, epsilon: PerAttribute(domain, epsilon=epsilon, k=2),
    "per attribute, crossed numbers": lambda domain, epsilon: PerAttribute(
        domain, epsilon=epsilon, mechanism="hr", groups=[("c", "a"), ["a"]]
    ),
    "per attribute, crossed bits": lambda domain, epsilon: PerAttribute(
        domain, epsilon=epsilon, mechanism="sue", groups=[("c", "a"), ["a"]]
    ),
    "hadamard coefficients": lambda domain, epsilon: HadamardCoefficients(domain, epsilon=epsilon),
    "personal levels": lambda domain, epsilon: PersonalLevels(
        domain, levels={"low": epsilon / 3, "open": epsilon}, mechanism="grr", groups=[("a", "b")]
    ),
    "rrba, p": lambda domain, epsilon: RRBA(
        domain, p=epsilon / 6, floor=0.2, block_size=1, groups=[("a", "b")], update="client"
    ),
    "rrba, epsilon": lambda domain, epsilon: RRBA(domain, epsilon=epsilon, block_size=1, groups=[("a", "b")]),
    "rrba, views": lambda domain, epsilon: RRBA(domain, epsilon=epsilon, block_size=2, answer="view", k=1),
}


VARIANTS = {
    *("sampled groups, grr", "sampled groups, oue", "sampled groups, ss", "per attribute, sampled"),
    *("per attribute, crossed numbers", "per attribute, crossed bits", "rrba, p", "rrba, views"),
}
"""Other ways of asking by a protocol that is certified in full: their simulations are compared exhaustively only."""
SIMULATED = {
    *("all_ways_to_collect_have_one_law", "estimates_are_near_the_truth"),
    *("order_of_the_respondents_does_not_show", "rows_make_the_tables_that_are_collected"),
}


@pytest.mark.parametrize(
    ("make", "check"),
    [
        pytest.param(
            make,
            check,
            id=f"{name}-{check.__name__}",
            marks=[pytest.mark.exhaustive] * (name in VARIANTS and check.__name__ in SIMULATED),
        )
        for name, make in LOCAL.items()
        for check in PROTOCOL_CHECKS
    ],
)
def test_every_local_protocol_passes_every_check(make: Any, check: Any) -> None:
    check(make)


def test_variants_and_simulations_are_what_they_are_called() -> None:
    assert set(LOCAL) >= VARIANTS
    assert {check.__name__ for check in PROTOCOL_CHECKS} >= SIMULATED


def test_every_registered_protocol_is_certified_or_a_curators() -> None:
    certified = {type(make(TINY, 1.0)) for make in LOCAL.values()}
    assert certified == {one for one in PROTOCOLS.values() if "reports" not in missing(one, LocalProtocol)}
