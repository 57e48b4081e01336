"""Totals of a tally: the range of the expectation and the variance of what one report adds to several entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ReportTotal:
    """The sum of some entries of a tally, per report.

    Parameters
    ----------
    lowest, highest : float
        The range of its expectation over all frequencies of the true values.
    variance : float
        Its largest variance in a report.
    entries : array of bool, optional
        The entries that are added up; all of them by default.
    weights : array, optional
        What each entry counts for, where that is not one.
    """

    lowest: float
    highest: float
    variance: float
    entries: BoolArray | None = None
    weights: FloatArray | None = None

    def of(self, tallies: NDArray[Any]) -> FloatArray:
        """Return the sums of tallies, a row each.

        Parameters
        ----------
        tallies : array, shape (tables, outputs)
            What is added up.
        """
        added = tallies if self.entries is None else tallies[:, self.entries]
        return added.sum(axis=-1) if self.weights is None else added @ self.weights
