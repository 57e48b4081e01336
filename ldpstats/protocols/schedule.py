"""Schedules: who is asked what in turn, whose level that is, and how a level is shared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

RECORD = "a respondent's whole record"
"""The unit of every protocol's level."""


def scheduled(n: int, units: int, first: int) -> list[range]:
    """Return each unit's places in a random order of n respondents, when the schedule begins at unit `first`."""
    return [range((position - first) % units, n, units) for position in range(units)]


def equal_shares(epsilon: float, parts: int) -> float:
    """Return the largest double of which so many add up to no more than epsilon."""
    share = epsilon / parts
    return share if Fraction(share) * parts <= Fraction(epsilon) else float(np.nextafter(share, 0))
