"""Totals of a tally: the range of the expectation and the variance of what one report adds to several entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ldpstats.numbers.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ReportTotal:
    """Sum of a tally's `entries` (all if None) times `weights`, per report: range of its mean, largest variance."""

    lowest: float
    highest: float
    variance: float
    entries: BoolArray | None = None
    weights: FloatArray | None = None

    def of(self, tallies: NDArray[Any]) -> FloatArray:
        """Return the sums of tallies, shape (tables, outputs)."""
        added = tallies if self.entries is None else tallies[:, self.entries]
        return added.sum(axis=-1) if self.weights is None else added @ self.weights
