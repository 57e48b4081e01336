"""Totals: what one report adds to many entries of a tally together, where its true value hardly matters for that."""

from __future__ import annotations

from dataclasses import dataclass

from ldpstats.arrays import BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """The sum of some entries of a tally, per report.

    Parameters
    ----------
    lowest, highest : float
        The range of its expectation over all frequencies of the true values.
    variance : float
        Its largest variance in a report.
    entries : array of bool, optional
        The entries that are added up; all of them by default.
    """

    lowest: float
    highest: float
    variance: float
    entries: BoolArray | None = None
