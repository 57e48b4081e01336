"""Figures: what stands for a table that is not estimated from its own reports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpstats.arrays import IntArray
from ldpstats.estimation import Estimate, Measured


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """An estimate to show, and what is known of the cells without bias.

    Parameters
    ----------
    shown : Estimate
        What is printed, with its covariance and intervals.
    measured : Measured, optional
        Sums of cells that were estimated without bias; None where the table has blocks, which tell more.
    """

    shown: Estimate
    measured: Measured | None = None

    def onto(self, of_cell: IntArray, size: int) -> Figures:
        """Add them up to the cells of another table: `of_cell` gives the new cell of every old one."""
        measured = self.measured and self.measured.onto(of_cell, size)
        return replace(self, shown=self.shown.summed(of_cell, size), measured=measured)
