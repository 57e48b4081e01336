"""Totals of a tally: the range of the expectation and the variance of what one report adds to several entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ReportTotal:
    """Sum of some entries of a tally, per report: the range of its expectation, and its largest variance.

    All `entries` are added up if None; `weights` is what each counts for, one if None.
    """

    lowest: float
    highest: float
    variance: float
    entries: BoolArray | None = None
    weights: FloatArray | None = None

    def of(self, tallies: NDArray[Any]) -> FloatArray:
        """Return the sums of tallies, shape (tables, outputs)."""
        added = tallies if self.entries is None else tallies[:, self.entries]
        return added.sum(axis=-1) if self.weights is None else added @ self.weights
