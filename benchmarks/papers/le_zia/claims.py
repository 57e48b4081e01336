"""What the paper says in words about which algorithm is better, as conditions on measured errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

COMPARABLE = 2.0
"""Errors within this factor of each other count as comparable, or competitive; the paper gives no number."""
DIRECT = ("k-RR", "k-subset", "HR")


@dataclass(frozen=True, slots=True)
class Claim:
    """A condition that is to hold at most places (more than half of them).

    Parameters
    ----------
    holds : callable
        From the mean errors, a row per place and a column per algorithm, to whether it holds at each.
    words : str
        What holds there.
    """

    holds: Callable[[pd.DataFrame], pd.Series]
    words: str

    def counted(self, errors: pd.DataFrame) -> tuple[bool, str]:
        """Return whether it holds at most places, and at how many."""
        places = self.holds(errors)
        return places.sum() > len(places) / 2, f"{places.sum()} of {len(places)}"


def least(*names: str) -> Claim:
    """Return the claim that one of these has the least error."""
    return Claim(
        lambda errors: errors[list(names)].min(axis=1) <= errors.min(axis=1), f"least error by {' or '.join(names)}"
    )


def comparable(*names: str) -> Claim:
    """Return the claim that the errors of these are comparable."""
    return Claim(
        lambda errors: errors[list(names)].max(axis=1) <= COMPARABLE * errors[list(names)].min(axis=1),
        f"errors of {', '.join(names)} within a factor of {COMPARABLE:g}",
    )
