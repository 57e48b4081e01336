"""Kinds of protocols: a registry of the classes that read saved ones."""

from __future__ import annotations

from inspect import isabstract
from typing import TypeVar

from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.protocols.central import CentralGaussian, CentralLaplace
from ldpstats.protocols.contract import LocalProtocol, Protocol, missing
from ldpstats.protocols.hadamard_coefficients import HadamardCoefficients
from ldpstats.protocols.per_attribute import PerAttribute
from ldpstats.protocols.personal_levels import PersonalLevels
from ldpstats.protocols.rrba import RRBA
from ldpstats.protocols.sampled_groups import ProductDomain, SampledGroups, WholeView
from ldpstats.protocols.saved import kind_of_protocol

Class = TypeVar("Class", bound=type[Protocol])

PROTOCOLS: dict[str, type[Protocol]] = {
    "sampled groups": SampledGroups,
    "whole view": WholeView,
    "product domain": ProductDomain,
    "per attribute": PerAttribute,
    "hadamard coefficients": HadamardCoefficients,
    "personal levels": PersonalLevels,
    "rrba": RRBA,
    "central laplace": CentralLaplace,
    "central gaussian": CentralGaussian,
}
"""The classes of all protocols, by their kind."""


def register_protocol(cls: Class) -> Class:
    """Let `Protocol.from_json` read the protocols of a class from outside the package; it may stand as a decorator.

    Parameters
    ----------
    cls : type
        A class with the methods of `Protocol`, or of `LocalProtocol` if it has `reports`; its `kind` is one that no
        other class has.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> from ldpstats import SampledGroups
    >>> from ldpstats.extend import register_protocol
    >>> register_protocol(SampledGroups) is SampledGroups
    True
    """
    contract = LocalProtocol if hasattr(cls, "reports") else Protocol
    lacking = missing(cls, contract)
    if lacking or not isinstance(cls, type) or isabstract(cls) or not (isinstance(cls.kind, str) and cls.kind):
        raise LdpstatsError(
            f"{shortened(cls)} without {one_line(lacking)}" if lacking else f"{shortened(cls)}",
            "a class with all methods of Protocol or LocalProtocol, and a kind in words",
        )
    known = PROTOCOLS.get(cls.kind, cls)
    # a module that is imported again, or a cell that is run again, brings the same class again
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise LdpstatsError(
            f"the kind {cls.kind!r} of {cls.__name__}", f"a kind that is none of {one_line(list(PROTOCOLS), 99)}"
        )
    PROTOCOLS[cls.kind] = cls
    return cls


def read_protocol(text: str) -> Protocol:
    """Read a saved protocol of any registered kind."""
    kind = kind_of_protocol(text)
    if not isinstance(kind, str) or kind not in PROTOCOLS:
        raise LdpstatsError(
            f"a saved protocol of the kind {shortened(kind)}",
            one_line(list(PROTOCOLS), len(PROTOCOLS)),
            "A protocol of your own is read after register_protocol(its class).",
        )
    return PROTOCOLS[kind].from_json(text)
