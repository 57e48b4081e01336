"""Noisy marginals: the estimated tables that consistency and reconstruction start from, and what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.tables import Table, TableSet, checked_table

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
        return cls(table.attributes, table.shape, cells.estimate, cells.covariance, cells.n)

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


def marginals_of(tables: TableSet | Iterable[Table]) -> tuple[Domain, list[Marginal]]:
    """Return the marginals of all tables that have reports, and the domain that they share."""
    domain = tables.domain if isinstance(tables, TableSet) else None
    found = [checked_table(table) for table in tables]
    if not found:
        raise LdpstatsError("no tables", "at least one table")
    if domain is None:
        domain = _common_domain(found)
    answered = [Marginal.of(table) for table in found if table.n > 0]
    if not answered:
        raise LdpstatsError("tables without a single report", "at least one table with reports")
    return domain, answered


def _common_domain(tables: Sequence[Table]) -> Domain:
    categories: dict[str, Sequence[Any]] = {}
    for table in tables:
        for name in table.attributes:
            known = categories.setdefault(name, tuple(table.domain.categories[name]))
            if known != tuple(table.domain.categories[name]):
                raise LdpstatsError(
                    f"tables with different categories of {name!r}: {known!r} and "
                    f"{tuple(table.domain.categories[name])!r}",
                    "tables over one domain",
                )
    return Domain(categories)
