"""Violation of noisy tables by fitted ones: least squares (l2), least absolute deviations (l1), or the elastic net."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.numbers.arrays import real_number

Violation: TypeAlias = Literal["l2", "l1", "elastic-net"]
GAMMA = 0.5


def absolute_share(method: object, gamma: object) -> float:
    """Weight of absolute deviations in a violation; the squared ones have the rest."""
    shares = {"l2": 0.0, "l1": 1.0, "elastic-net": GAMMA}
    if not isinstance(method, str) or method not in shares:
        raise LdpstatsError(f"method = {method!r}", one_line(list(shares)))
    if not 0 <= (share := real_number(gamma)) <= 1:
        raise LdpstatsError(f"gamma = {gamma!r}", "a number from 0 to 1")
    if method == "elastic-net":
        return share
    if gamma != GAMMA:
        raise LdpstatsError(f"gamma = {gamma!r} with method = {method!r}", "gamma with method = 'elastic-net' only")
    return shares[method]
