"""Protocols of every registered kind, and their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ldpstats import HR, OUE, SS, Domain
from ldpstats.protocols import (
    RRBA,
    CentralGaussian,
    CentralLaplace,
    HadamardCoefficients,
    PerAttribute,
    PersonalLevels,
    ProductDomain,
    Protocol,
    SampledGroups,
    WholeView,
)
from ldpstats.saving.files import sealed

SMALL = Domain({"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False]})
STRANGE = Domain({"10": [1.5, 2, "2"], "9": ["é\n", "\u2028", '"x" : {'], "ä × ö": [1 << 60, -1]})
KINDS: dict[str, Protocol] = {
    "sampled groups": SampledGroups(SMALL, epsilon=1.0),
    "large numbers": SampledGroups(STRANGE, epsilon=0.5, mechanism="olh", outside="random"),
    "one by one": SampledGroups(SMALL, epsilon=1.0, mechanism=[SS(6, 1.0), OUE(4, 1.0), HR(6, 1.0, blocks=3)]),
    "whole view": WholeView(SMALL, epsilon=2.0, k=1, mechanism="ss"),
    "product domain": ProductDomain(SMALL, epsilon=1.5),
    "per attribute": PerAttribute(SMALL, epsilon=3.0),
    "crossed": PerAttribute(SMALL, epsilon=3.0, k=2, mechanism="sue"),
    "hadamard coefficients": HadamardCoefficients(SMALL, epsilon=1.0),
    "personal levels": PersonalLevels(SMALL, levels={"low": 0.5, "open": 2.0}, protocol=ProductDomain, column="level"),
    "rrba": RRBA(SMALL, p=0.5, block_size=1 << 60),
    "central laplace": CentralLaplace(SMALL, epsilon=1.0),
    "central gaussian": CentralGaussian(SMALL, epsilon=1.0, delta=1e-7, groups=[("a", "c")]),
}


def body_of(protocol: Protocol) -> dict[str, Any]:
    """Return the body of a protocol's file."""
    body: dict[str, Any] = json.loads(protocol.to_json())["body"]
    return body


def sealed_again(body: Any) -> str:
    """Return a file with this body, whose digest fits."""
    return sealed("protocol", 1, body)


def schema() -> dict[str, Any]:
    """Return the published schema of protocol files."""
    found: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data/schemas/protocol-1.json").read_text("utf-8"))
    return found
