"""Figures: what stands for a table that is not estimated from its own reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldpstats.estimation import Estimate, Measured
from ldpstats.estimation.estimate import among_proportions
from ldpstats.numbers.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from ldpstats.tables.pooled import JointReports


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Estimate of a table derived from other tables.

    `measured` are unbiased sums of cells, None where blocks tell more; `wider` is a larger table to find bounds in.
    """

    shown: Estimate
    measured: Measured | None = None
    wider: JointReports | None = None

    def onto(self, of_cell: IntArray, size: int) -> Figures:
        """Add the cells up to those of another table; `of_cell` is the new cell of every old one."""
        measured = self.measured and self.measured.onto(of_cell, size)
        return replace(self, shown=self.shown.summed(of_cell, size), measured=measured)


@dataclass(frozen=True, slots=True, eq=False)
class LimitsOfReports:
    """Intervals of a table's unbiased estimate, for cells that are shown otherwise."""

    unbiased: Estimate

    @property
    def kind(self) -> str:
        """How the intervals were found, in words."""
        return f"{self.unbiased.kind_of_intervals}, of the unbiased estimate"

    @property
    def std_err(self) -> FloatArray:
        """The standard errors of the unbiased estimate."""
        return self.unbiased.std_err

    def limits(self, alpha: float) -> FloatArray:
        """Return the intervals of the unbiased estimate."""
        return among_proportions(self.unbiased.estimate, self.unbiased.conf_int(alpha))

    def summed(self, of_cell: IntArray, size: int) -> LimitsOfReports:
        """Return the intervals of sums of cells; `of_cell` is the new cell of every old one."""
        return LimitsOfReports(self.unbiased.summed(of_cell, size))
