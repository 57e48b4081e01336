"""Schedules: who is asked what in turn, whose level that is, and how a level is shared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from ldpstats.mechanisms import Mechanism, joint_ratio
from ldpstats.privacy import strict_epsilon

_MANY = 1000
"""Fewer units are worked through in a moment."""
RECORD = "a respondent's whole record"
"""The unit of every protocol's level."""


def warn_of_few(n: int, units: int, stacklevel: int) -> None:
    """Warn before long work for fewer respondents than units: no table could show a dependence."""
    if n < units and units >= _MANY:
        warnings.warn(
            f"{n:,} respondents for {units:,} groups of questions: {units - n:,} are asked of nobody and the others of "
            "one respondent each, and so no group's table can show a dependence. Ask about fewer attributes, name "
            "groups=[...], or ask for single attributes: k=1.",
            stacklevel=stacklevel + 1,
        )


def scheduled(n: int, units: int, first: int) -> list[range]:
    """Return each unit's places in a random order of n respondents, when the schedule begins at unit `first`."""
    return [range((position - first) % units, n, units) for position in range(units)]


def among(places: range) -> slice:
    """Return places as a slice: given a range, NumPy would take them one by one."""
    return slice(places.start, places.stop, places.step)


def equal_shares(epsilon: float, parts: int) -> float:
    """Return the largest double of which `parts` add up to no more than epsilon."""
    share = epsilon / parts
    return share if Fraction(share) * parts <= Fraction(epsilon) else float(np.nextafter(share, 0))


def worst_level(sent: Iterable[Iterable[Mechanism]]) -> float:
    """Return the largest strict level among sets of mechanisms, each of one respondent's reports."""
    ratios = [joint_ratio(mechanisms) for mechanisms in dict.fromkeys(map(tuple, sent))]
    known = [ratio for ratio in ratios if ratio is not None]
    return strict_epsilon(max(known) if len(known) == len(ratios) else None)
