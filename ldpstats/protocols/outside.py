"""Missing and unknown answers: refused, or answered for a uniformly random category instead.

An error tells something: the device that raises it stays silent, and silence shows that an answer was missing or no
category. Where a random category takes its place, before anything is asked, the law of the reports is the mean of those
of all records that the other answers leave possible. So no worst-case ratio grows, and the level covers such records.
What is estimated are frequencies of records with their substitutes. Where one group leaves more answers out than
another, that mixture differs between them, and tests see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import IntArray
from ldpstats.numbers.randomness import Draws

REFUSE, RANDOM = "refuse", "random"


def checked_outside(outside: object) -> str:
    """Refuse a policy other than "refuse" and "random"."""
    if not isinstance(outside, str) or outside not in (REFUSE, RANDOM):
        raise LdpstatsError(
            f"outside = {outside!r}",
            f"{REFUSE!r} (an error) or {RANDOM!r} (answers for a uniformly random category)",
        )
    return outside


def with_substitutes(codes: IntArray, shape: Sequence[int], draws: Draws) -> IntArray:
    """Replace every code below 0 by a uniformly random category, drawn anew; where there is none, nothing is drawn."""
    filled = codes.copy()
    for column, categories in zip(filled.T, shape, strict=True):
        outside = column < 0
        column[outside] = draws.uniform(categories, int(outside.sum()))
    return filled
