"""Unbiased cells: what intervals of quantities of a table start from, and their deviations from independence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import Estimate
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.measured import steadied as shares_of
from ldpstats.estimation.rare import FEW
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.tables.provenance import assuming_briefly
from ldpstats.tables.table import Table

_ROUNDING = 1e-9


def unbiased_cells(table: Table) -> Estimate | str:
    """Return the table's linear, unbiased estimate, or why there is none.

    Effects start from it, as they take its noise; where reports leave cells open, it is that under the assumption.
    """
    if table.provenance.refused:
        return table.provenance.refused
    try:
        cells = table.cells if table.assumption else table.unbiased
    except NotIdentifiedError as error:
        return error.came
    return cells if table.n > 1 else "a single report does not show how much reports vary"


def own_reports(table: Table) -> tuple[Block, ...]:
    """Return the blocks behind the unbiased estimate; none where it rests on an assumption, or on sums."""
    return () if table.assumption else tuple(block for block in table.blocks if block.n)


def assuming(table: Table) -> str:
    """Say in a few words what a table assumes, to follow a title; empty if nothing."""
    return assuming_briefly(table.assumption)


def bound_of(table: Table) -> str:
    """Say why the covariance of a table without reports is an upper bound; empty if it is none."""
    return table.measured.bound if table.figures and not own_reports(table) and not table.assumption else ""


def provenance_in_words(table: Table) -> list[str]:
    """Say where a table comes from and what it assumes; nothing of one that was simply collected."""
    words, assumption = table.provenance.words, table.assumption
    return [*([words] if words else []), *([f"Assumes: {assumption}."] if assumption else [])]


def improper_in_words(proportions: FloatArray) -> list[str]:
    """Say how many proportions are below 0 or above 1, if any are."""
    beyond = int(((proportions < -_ROUNDING) | (proportions > 1 + _ROUNDING)).sum())
    words = "1 proportion is" if beyond == 1 else f"{beyond:,} proportions are"
    return [f"{words} estimated below 0 or above 1, as the noise exceeds them"] if beyond else []


def is_sparse(table: Table) -> bool:
    """Say whether blocks that ask the same counted some report fewer than 20 times: too few for a normal law."""
    counted: dict[object, FloatArray] = {}
    for block in (reported.by_value for reported in own_reports(table)):
        alike = (block.question, block.noise.outputs)
        counted[alike] = counted.get(alike, np.zeros(block.noise.outputs)) + block.tally.counts
    return any(bool(counts.min() < FEW) for counts in counted.values())


def never_certain(table: Table, cells: Estimate) -> FloatArray:
    """Return the cells' covariance; of a table without own reports with every variance at least 1/n²."""
    if own_reports(table):
        return cells.covariance
    missing = np.maximum(1 / cells.n**2 - np.diagonal(cells.covariance), 0)
    return cells.covariance + np.diag(missing)


def steadied(table: Table, cells: Estimate) -> Estimate:
    """Return the estimate with half a respondent more in every cell, none below zero; its covariance never vanishes."""
    shares = shares_of(cells)
    covariance = UnbiasedPooling(own_reports(table)).covariance(shares)
    return replace(cells, estimate=shares, spread=covariance, bounds=None, own=None)


# a share below it is rounding
_TINY = 1e-12
_NAMED = 5
# entries of what is worked on at once: of wide tables there would be many copies
_AT_ONCE = 1 << 22
# what is beyond the first order is left out up to this share of the variance: of few reports without much noise it
# is outweighed by its covariance with the first order
_SMALL = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class AdjustedResiduals:
    """Deviations of cells from the product of their margins, with standard errors under independence.

    With p the unbiased estimate of the cells, s its sum and r, c its margins, the deviation p_ij − r_i c_j / s of a
    cell is to first order (I − r1ᵀ) ⊗ (I − c1ᵀ) p, so that its variance under independence follows from the covariance
    of p there. Beyond it is the product of the errors of both margins, whose variance is added where noise makes it
    more than a quarter of that. Without randomization these are the adjusted residuals of Haberman (1973). Tables
    without reports of their own have the covariance of the estimate.

    `expected` is nan where a margin is not above zero. `why_not` says why cells have no residual, `approximate` why
    they may be far from standard normal; both may be empty.
    """

    expected: FloatArray
    deviation: FloatArray
    std_err: FloatArray
    why_not: str = ""
    approximate: str = ""

    @property
    def scaled(self) -> FloatArray:
        """The adjusted residuals: standard normal under independence, pointwise and approximately."""
        residuals: FloatArray = self.deviation / self.std_err
        return residuals

    @classmethod
    def none(cls, shape: tuple[int, int], why_not: str) -> AdjustedResiduals:
        """Return nan for all cells of this shape, and why."""
        nothing = np.full(shape, math.nan)
        return cls(nothing, nothing, nothing, why_not)


def adjusted_residuals(table: Table, rows: Sequence[str], columns: Sequence[str]) -> AdjustedResiduals:
    """Return the residuals of `rows` by `columns`; none where a model fills in cells: what it says is no evidence."""
    shape = table.domain.size(rows), table.domain.size(columns)
    if table.assumption:
        return AdjustedResiduals.none(shape, "a model fills in what the reports leave open, and is no evidence")
    cells = unbiased_cells(table)
    if isinstance(cells, str):
        return AdjustedResiduals.none(shape, cells)
    square = cells.estimate.reshape(shape)
    margins = square.sum(axis=1), square.sum(axis=0)
    there, total = tuple(margin > _TINY for margin in margins), square.sum()
    named = [
        named_categories(table, side, np.flatnonzero(~seen))
        for side, seen in zip((rows, columns), there, strict=True)
        if not seen.all()
    ]
    unseen = f"not estimated above zero: {'; '.join(named)}" if named else ""
    if min(int(seen.sum()) for seen in there) < 2 or total < _TINY:
        return AdjustedResiduals.none(shape, unseen or "there is one category")
    row, column = (np.maximum(margin, 0) / np.maximum(margin, 0).sum() for margin in margins)
    own = own_reports(table)
    covariance = UnbiasedPooling(own).covariance(np.outer(row, column).ravel()) if own else never_certain(table, cells)
    variances = np.diagonal(covariance_of_interactions(covariance, row[:, None], column[None, :])).reshape(shape).copy()
    beyond = _of_products(covariance.reshape(*shape, *shape), row, column) / total**2
    variances += np.maximum(beyond - _SMALL * variances, 0)
    known = np.logical_and.outer(*there)
    expected = np.where(known, np.outer(*margins) / total, math.nan)
    std_err = np.sqrt(np.where(known, variances, math.nan))
    return AdjustedResiduals(expected, square - expected, std_err, unseen, _approximate(table))


def interactions(columns: FloatArray, row: FloatArray, column: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the deviations from independence of flattened cells (..., cells, any): (I − r1ᵀ) ⊗ (I − c1ᵀ) columns.

    The margins r (..., rows, 1) and c (..., 1, columns) sum to one; `out` may be the columns themselves.
    """
    deviations = np.empty(columns.shape) if out is None else out
    step = max(1, _AT_ONCE // max(1, math.prod(columns.shape[:-1])))
    for first in range(0, columns.shape[-1], step):
        part = columns[..., first : first + step]
        cells = part.reshape(*part.shape[:-2], row.shape[-2], column.shape[-1], part.shape[-1])
        cells = cells - row[..., None] * cells.sum(axis=-3, keepdims=True)
        cells -= column[..., None] * cells.sum(axis=-2, keepdims=True)
        deviations[..., first : first + step] = cells.reshape(part.shape)
    return deviations


def covariance_of_interactions(covariance: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """Return the covariance of deviations from independence, given that of the cells."""
    of_rows = np.swapaxes(interactions(covariance, row, column), -1, -2)
    return interactions(of_rows, row, column, out=of_rows)


def _of_products(covariance: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """Return the variance of deviations beyond the first order: of products of both margins' errors."""
    rows, columns = np.einsum("ijkl->ik", covariance), np.einsum("ijkl->jl", covariance)
    both = np.einsum("ijkl->il", covariance)
    of_row, of_column = (np.eye(margin.size) - margin[:, None] for margin in (row, column))
    alone = (np.diagonal(margin @ own @ margin.T) for margin, own in ((of_row, rows), (of_column, columns)))
    variances: FloatArray = np.outer(*alone) + (of_row @ both @ of_column.T) ** 2
    return variances


def named_categories(table: Table, attributes: Sequence[str], places: IntArray) -> str:
    """Name some attributes and combinations of their categories, the first five of many."""
    index = table.domain.index(attributes)
    labels = [" and ".join(map(str, index[cell])) for cell in places[:_NAMED]]
    more = f" and {places.size - _NAMED} more" if places.size > _NAMED else ""
    return f"{' and '.join(attributes)} {', '.join(labels)}{more}"


def _approximate(table: Table) -> str:
    bound = bound_of(table)
    if bound:
        return f"their standard errors are upper bounds: {bound}"
    if is_sparse(table):
        return "some report was counted fewer than 20 times, so that their law under independence is known roughly"
    return "" if own_reports(table) else "their standard errors are those of the estimate, not those under independence"
