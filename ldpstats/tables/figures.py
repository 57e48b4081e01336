"""Figures: what stands for a table that is not estimated from its own reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.domain import Classes, Domain
from ldpstats.estimation import Estimate, Measured, among_proportions


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """An estimate to show, and what is known of the cells without bias.

    Parameters
    ----------
    shown : Estimate
        What is printed, with its covariance and intervals.
    measured : Measured, optional
        Sums of cells that were estimated without bias; None where the table has blocks, which tell more.
    wider : Wider, optional
        A larger table that bounds are found in, as attributes beside those of the table join them.
    """

    shown: Estimate
    measured: Measured | None = None
    wider: Wider | None = None

    def onto(self, of_cell: IntArray, size: int) -> Figures:
        """Add them up to the cells of another table: `of_cell` gives the new cell of every old one."""
        measured = self.measured and self.measured.onto(of_cell, size)
        return replace(self, shown=self.shown.summed(of_cell, size), measured=measured)


@dataclass(frozen=True, slots=True, eq=False)
class Wider:
    """What reports tell about a larger table, worked out when it is asked for.

    Parameters
    ----------
    domain : Domain
    measured : callable
        Returns the sums of its cells that were estimated without bias.
    """

    domain: Domain
    measured: Callable[[], Measured]

    def collapsed(self, classes: Classes) -> Wider:
        """Put categories of its attributes together."""
        domain, of_cell = self.domain.collapsed_cells(classes)
        return Wider(domain, partial(_summed, self.measured, of_cell, domain.size()))


def _summed(measured: Callable[[], Measured], of_cell: IntArray, size: int) -> Measured:
    return measured().onto(of_cell, size)


@dataclass(frozen=True, slots=True, eq=False)
class FromReports:
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

    def summed(self, of_cell: IntArray, size: int) -> FromReports:
        """Return those of sums of cells."""
        return FromReports(self.unbiased.summed(of_cell, size))
