"""Figures: what stands for a table that is not estimated from its own reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.estimation import Estimate, Measured
from ldpstats.estimation.estimate import among_proportions

if TYPE_CHECKING:
    from ldpstats.tables.pooled import JointReports


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """An estimate to show, and what is known of the cells without bias.

    Parameters
    ----------
    shown : Estimate
        What is printed, with its covariance and intervals.
    measured : Measured, optional
        Sums of cells that were estimated without bias; None where the table has blocks, which tell more.
    wider : JointReports, optional
        A larger table that bounds are found in, as attributes beside those of the table join them.
    """

    shown: Estimate
    measured: Measured | None = None
    wider: JointReports | None = None

    def onto(self, of_cell: IntArray, size: int) -> Figures:
        """Add them up to the cells of another table: `of_cell` gives the new cell of every old one."""
        measured = self.measured and self.measured.onto(of_cell, size)
        return replace(self, shown=self.shown.summed(of_cell, size), measured=measured)


@dataclass(frozen=True, slots=True, eq=False)
class LimitsOfReports:
    """The intervals of a table's reports, for cells that are shown otherwise.

    Parameters
    ----------
    unbiased : Estimate
        What the reports say by themselves.
    """

    unbiased: Estimate

    @property
    def kind(self) -> str:
        """Those of the reports."""
        return f"{self.unbiased.kind_of_intervals}, of the unbiased estimate"

    @property
    def std_err(self) -> FloatArray:
        """The standard errors of the unbiased estimate."""
        return self.unbiased.std_err

    def limits(self, alpha: float) -> FloatArray:
        """Return the intervals of the unbiased estimate."""
        return among_proportions(self.unbiased.estimate, self.unbiased.conf_int(alpha))

    def summed(self, of_cell: IntArray, size: int) -> LimitsOfReports:
        """Return those of sums of cells."""
        return LimitsOfReports(self.unbiased.summed(of_cell, size))
