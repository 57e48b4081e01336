"""Noisy marginals: the estimated tables that consistency and reconstruction start from, and what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.limits import LARGEST_JOINT, refuse_too_many_cells
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import FloatArray, IntArray, places_onto
from ldpstats.saving.registered import Count
from ldpstats.tables import Consistent, Reconstructed, Table, checked_table
from ldpstats.tables.shared import Stacked, as_reported

Attributes = tuple[str, ...]
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Estimated proportions of the cells of a few attributes: unbiased, and perhaps negative."""

    attributes: Attributes
    shape: tuple[int, ...]
    estimate: FloatArray  # flat, the last attribute varying fastest
    covariance: FloatArray
    n: Count  # reports
    table: Table | None = None  # that it was added up from; without one it is independent of all others
    expected: FloatArray | None = None  # better known frequencies, by which cells are weighed

    def __post_init__(self) -> None:
        cells = math.prod(self.shape)
        if len(self.shape) != len(self.attributes) or self.estimate.shape != (cells,):
            raise LdpstatsError(
                f"an estimate of shape {self.estimate.shape} of a marginal of shape {self.shape}", f"{cells} cells"
            )

    @classmethod
    def of(cls, table: Table) -> Marginal:
        """Read a table's linear, unbiased estimate: that of the reports, whatever was made of it since.

        Of a consistent table it is that of the table that was made consistent, lest its reports count twice. Tables of
        a single report have no finite variance and are refused.
        """
        table = as_reported(table)
        estimate, covariance = table.linear
        if not np.all(np.isfinite(covariance)):
            raise LdpstatsError(
                f"a table of {' and '.join(table.attributes)} without finite variances, as a single report has none",
                "tables of at least two reports, or that bring a finite covariance along",
                "Leave the table out.",
            )
        return cls(table.attributes, table.shape, estimate, covariance, table.n, table)

    @property
    def precision(self) -> FloatArray:
        """One over the variance of every cell, evened out between cells that noise makes look exact.

        The variance is that at the expected frequencies, where there are any. An estimate's own variance is the less,
        the less was counted by chance, and weighed by it the frequencies of frequent cells are too large.
        """
        variance = np.diagonal(self.covariance)
        if self.expected is not None:
            variance = variance + self.more_variance(np.maximum(self.expected, 0))
        variance = np.maximum(variance, 0)
        return 1 / np.maximum(variance, max(_LEAST, variance.mean() / self.n))

    def more_variance(self, frequencies: FloatArray) -> FloatArray:
        """How much larger the variances of the cells were, were these their frequencies."""
        rises = [block.n * rise_of_variance(block.noise) for block in (self.table.blocks if self.table else ())]
        # no less than that of a proportion
        rise = max(1.0, sum(rises) / self.n) / self.n
        return rise * (frequencies - self.estimate) - (frequencies**2 - self.estimate**2) / self.n

    def onto(self, attributes: Attributes) -> IntArray:
        """Index of each cell in the table of some of the attributes."""
        return places_onto(self.shape, [self.attributes.index(name) for name in attributes])

    def summed(self, attributes: Attributes) -> FloatArray:
        """Cells added up to some of the attributes."""
        return np.bincount(self.onto(attributes), weights=self.estimate).astype(float)

    def added_up(self, attributes: Attributes) -> Marginal:
        """Marginal of some of the attributes, with its covariance."""
        shape = tuple(self.shape[self.attributes.index(name)] for name in attributes)
        sums = np.eye(math.prod(shape))[self.onto(attributes)]
        covariance = sums.T @ self.covariance @ sums
        return replace(
            self, attributes=attributes, shape=shape, estimate=self.summed(attributes), covariance=covariance
        )

    @property
    def sums(self) -> FloatArray:
        """Indicator matrix of the cells of its table that each cell adds up; without a table, the identity."""
        cells = np.eye(self.estimate.size)
        if self.table is None or self.table.attributes == self.attributes:
            return cells
        return cells[:, self.table.domain.onto(self.attributes)]


def rise_of_variance(noise: NoiseModel) -> float:
    """Slope, at rare frequencies, of the variance of a frequency that is estimated from one report.

    It is read off the variances under an even and an uneven table: they are linear but for the square of a mean.
    """
    even, uneven = np.full(noise.cells, 1 / noise.cells), np.arange(1.0, noise.cells + 1)
    uneven /= uneven.sum()
    rises = noise.variance(uneven) + uneven**2 - noise.variance(even) - even**2
    return float(rises @ (uneven - even)) / float((uneven - even) @ (uneven - even)) if noise.cells > 1 else 1.0


def marginals_of(tables: Iterable[Table]) -> list[Marginal]:
    """Marginals of all tables that have reports."""
    answered = [Marginal.of(table) for table in map(checked_table, tables) if table.n > 0]
    if not answered:
        raise NotIdentifiedError("no tables with reports", "at least one")
    return answered


def as_collected(tables: Iterable[Table]) -> list[Table]:
    """Tables with reports; of those that were made consistent, the ones that they were made of.

    Reports of all others have entered a consistent table: it would count their reports again.
    """
    collected: list[Table] = []
    for table in map(checked_table, tables):
        if isinstance(table.provenance, Reconstructed):
            raise LdpstatsError(
                f"a reconstructed table of {one_line(table.attributes)} among others",
                "tables that were collected, or made consistent",
                "It was made of reports that stand in other tables, and would count them again.",
            )
        if isinstance(table.provenance, Consistent):
            as_reported(table)  # refuses classes that these did not have
            collected += table.sources
        else:
            collected.append(table)
    return [table for table in dict.fromkeys(collected) if table.n > 0]


def stacked(marginals: Sequence[Marginal]) -> Stacked:
    """Dependence between the tables behind marginals; a marginal without one counts as independent."""
    tables = [marginal.table for marginal in marginals if marginal.table is not None]
    if len(tables) < len(marginals):
        return Stacked.independent([marginal.covariance for marginal in marginals])
    return Stacked.of(tables)


def refuse_untold(wanted: Iterable[str], groups: Iterable[Attributes]) -> None:
    """Refuse attributes that none of the groups has, and a target without attributes."""
    known, names = dict.fromkeys(name for group in groups for name in group), list(wanted)
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise NotIdentifiedError(
            f"a target with {one_line(missing)}, which no table with reports is about",
            f"attributes out of {one_line(list(known))}",
            "Leave these attributes out, or collect a group that has them.",
        )


def within(marginals: Iterable[Marginal], target: Attributes) -> list[Marginal]:
    """Add every marginal up to those of its attributes that are in the target, in the target's order.

    One that has none of them is left out. Several about the same attributes stay separate, each with its own
    covariance.
    """
    given = list(marginals)
    refuse_untold(target, [marginal.attributes for marginal in given])
    kept = [tuple(name for name in target if name in marginal.attributes) for marginal in given]
    return [marginal.added_up(names) for marginal, names in zip(given, kept, strict=True) if names]


def overlapping(marginals: Iterable[Marginal], target: Domain) -> list[Marginal]:
    """Marginals within a target that is small enough for its joint table."""
    refuse_too_many_cells(target.size(), f"all of {one_line(target.names)} together: a table", LARGEST_JOINT)
    return within(marginals, target.names)
