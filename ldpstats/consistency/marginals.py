"""Noisy marginals: the estimated tables that consistency and reconstruction start from, and what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.tables import Table, checked_table

Attributes = tuple[str, ...]
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Estimated proportions of the cells of a few attributes, unbiased and perhaps negative.

    Parameters
    ----------
    attributes : tuple of str
    shape : tuple of int
    estimate : array, shape (cells,)
        The last attribute varies fastest.
    covariance : array, shape (cells, cells)
    n : int
        The reports behind it.
    """

    attributes: Attributes
    shape: tuple[int, ...]
    estimate: FloatArray
    covariance: FloatArray
    n: int

    @classmethod
    def of(cls, table: Table) -> Marginal:
        """Read a table's linear, unbiased estimate; a derived table has no other than its own."""
        cells = (table if table.derived is not None else table.estimated_by("unbiased")).cells
        if not np.all(np.isfinite(cells.covariance)):
            raise LdpstatsError(
                f"a table of {' and '.join(table.attributes)} from a single report, which shows no spread",
                "tables of at least two reports",
                "Leave the table out.",
            )
        covariance = cells.covariance
        if table.derived is None:
            # where all reports fell in one cell there would be no variance at all: none is known better than to one
            covariance = covariance + np.diag(np.maximum(1 / cells.n**2 - np.diagonal(covariance), 0))
        return cls(table.attributes, table.shape, cells.estimate, covariance, cells.n)

    @property
    def precision(self) -> FloatArray:
        """One over the variance of every cell, evened out between cells that noise makes look exact."""
        variance = np.maximum(np.diagonal(self.covariance), 0)
        return 1 / np.maximum(variance, max(_LEAST, variance.mean() / self.n))

    def onto(self, attributes: Attributes) -> IntArray:
        """Return each cell's place in the table of some of the attributes, in the order in which they are given."""
        positions = np.indices(self.shape).reshape(len(self.shape), -1)
        place = np.zeros(positions.shape[1], dtype=np.int64)
        for name in attributes:
            axis = self.attributes.index(name)
            place = place * self.shape[axis] + positions[axis]
        return place

    def summed(self, attributes: Attributes, values: FloatArray | None = None) -> FloatArray:
        """Add the cells (or other values of them) up to some of the attributes."""
        places = self.onto(attributes)
        size = math.prod(self.shape[self.attributes.index(name)] for name in attributes)
        weights = self.estimate if values is None else values
        return np.bincount(places, weights=weights, minlength=size).astype(float)

    def with_estimate(self, estimate: FloatArray) -> Marginal:
        """Return the same marginal with other figures, as in a bootstrap."""
        return replace(self, estimate=estimate)


def marginals_of(tables: Iterable[Table]) -> list[Marginal]:
    """Return the marginals of all tables that have reports."""
    answered = [Marginal.of(table) for table in map(checked_table, tables) if table.n > 0]
    if not answered:
        raise NotIdentifiedError("no tables with reports", "at least one")
    return answered
