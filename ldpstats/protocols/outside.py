"""Answers outside the questionnaire: refused, or answered for a uniformly random category instead."""

from __future__ import annotations

from ldpstats.errors import LdpstatsError

REFUSE, RANDOM = "refuse", "random"


def checked_outside(outside: object) -> str:
    """Return a known policy."""
    if not isinstance(outside, str) or outside not in (REFUSE, RANDOM):
        raise LdpstatsError(
            f"outside = {outside!r}",
            f"{REFUSE!r} (an error) or {RANDOM!r} (answers for a uniformly random category)",
        )
    return outside
