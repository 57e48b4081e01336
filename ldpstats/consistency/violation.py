"""Violation: how the distance of fitted tables from noisy ones is counted, by squares, absolute values or both."""

from __future__ import annotations

from numbers import Real
from typing import Literal, TypeAlias

from ldpstats.errors import LdpstatsError, one_line

Violation: TypeAlias = Literal["l2", "l1", "elastic-net"]
GAMMA = 0.5


def absolute_share(method: object, gamma: object) -> float:
    """Return what absolute distances are weighed by, the squared ones having the rest."""
    shares = {"l2": 0.0, "l1": 1.0, "elastic-net": GAMMA}
    if not isinstance(method, str) or method not in shares:
        raise LdpstatsError(f"method = {method!r}", one_line(list(shares)))
    if isinstance(gamma, bool) or not isinstance(gamma, Real) or not 0 <= float(gamma) <= 1:
        raise LdpstatsError(f"gamma = {gamma!r}", "a number from 0 to 1")
    if method == "elastic-net":
        return float(gamma)
    if gamma != GAMMA:
        raise LdpstatsError(f"gamma = {gamma!r} with method = {method!r}", "gamma with method = 'elastic-net' only")
    return shares[method]
