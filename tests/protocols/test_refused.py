"""What no protocol takes: levels, sizes, groups, domains and mechanisms that are none, or that do not go together."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import (
    RRBA,
    CentralGaussian,
    CentralLaplace,
    Domain,
    HadamardCoefficients,
    LdpstatsError,
    PerAttribute,
    ProductDomain,
    SampledGroups,
    WholeView,
)

OF_ONE_LABEL = Domain(dict.fromkeys(["a", "a × b", "b × c", "c"], (0, 1)))
WIDE = Domain({name: list(range(33)) for name in "ab"})
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"epsilon {bad!r}": ({"epsilon": bad}, f"epsilon = {bad!r}")
        for bad in (0, -1.0, float("nan"), np.inf, True, "1", [1.0])
    },
    "a frame for a domain": ({"domain": pd.DataFrame({"a": [1, 2]})}, "Domain.from_frame"),
    "groups of nothing": ({"k": 0}, "k = 0"),
    "a bool k": ({"k": True}, "k = True"),
    "groups larger than the domain": ({"k": 4}, "groups of 4 out of 3 attributes"),
    "no groups": ({"groups": []}, "at least one group"),
    "an empty group": ({"groups": [()]}, "at least one"),
    "groups of another type": ({"groups": 5}, "different names out of"),
    "an unknown attribute": ({"groups": [("age", "height")]}, "different names out of 'age', 'sex', 'car'"),
    "an attribute twice in a group": ({"groups": [("age", "age")]}, "different names out of"),
    "a group twice": ({"groups": [("age", "sex"), ("sex", "age")]}, "no group twice"),
    **{
        f"groups {bad!r}": ({"groups": bad}, "each a list of names")
        for bad in ("age", ("age", "sex"), ["age", ("sex",)])
    },
    "groups that share a label": ({"domain": OF_ONE_LABEL, "groups": [("a", "b × c"), ("a × b", "c")]}, "one label"),
    "an unknown mechanism": ({"mechanism": "laplace"}, "'rr', 'grr', 'sue'"),
}
"""Of every protocol that has such parameters."""
KINDS: tuple[Any, ...] = (SampledGroups, WholeView, ProductDomain, PerAttribute, HadamardCoefficients, RRBA)
KINDS += (CentralLaplace, CentralGaussian)
OF_ONE: list[tuple[Any, dict[str, Any], str]] = [
    (PerAttribute, {"k": 2, "mechanism": "ss"}, "report one number, such as 'grr'"),
    (PerAttribute, {"k": 2, "mechanism": "olh"}, "report one number, such as 'grr'"),
    (PerAttribute, {"k": 2, "mechanism": "l-grr"}, "none that remembers"),
    (PerAttribute, {"k": 2, "sampled": True}, "SampledGroups"),
    (PerAttribute, {"groups": [("age", "sex")], "sampled": True}, "SampledGroups"),
    (PerAttribute, {"sampled": "yes"}, "True or False"),
    (PerAttribute, {"domain": WIDE, "k": 2}, "a group with 1,089 cells"),
    (HadamardCoefficients, {"domain": WIDE}, "a group with 1,089 cells"),
    (HadamardCoefficients, {"domain": Domain(dict.fromkeys(["a", "b", "a[1] × b"], (0, 1)))}, "one label"),
    (CentralLaplace, {"scale": "large"}, "'sound', 'paper'"),
    (CentralLaplace, {"epsilon": 1e6}, "finite scales from 0.01"),
    (CentralGaussian, {"delta": 0}, "delta = 0"),
    (CentralGaussian, {"delta": 1.0}, "delta = 1.0"),
    (CentralGaussian, {"epsilon": 1e9}, ""),
]


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        *(
            pytest.param(kind, options, told, id=f"{kind.__name__}, {name}")
            for kind in KINDS
            for name, (options, told) in REFUSED.items()
            if options.keys() <= inspect.signature(kind).parameters.keys()
        ),
        *OF_ONE,
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(
    domain: Domain, kind: Any, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(LdpstatsError, match="Allowed") as refusal:
        kind(**({"domain": domain, "epsilon": 1.0} | options))
    assert told in str(refusal.value)
