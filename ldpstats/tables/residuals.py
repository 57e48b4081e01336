"""Adjusted residuals: how far cells are from independence, in standard errors that the channel and sampling give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables.table import Table
from ldpstats.tables.unbiased_cells import bound_of, is_sparse, never_certain, own_reports, unbiased_cells

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
        found: FloatArray = self.deviation / self.std_err
        return found

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
    there, total = tuple(one > _TINY for one in margins), square.sum()
    named = [
        f"{' and '.join(side)} {', '.join(_labels(table, side, np.flatnonzero(~seen)))}"
        for side, seen in zip((rows, columns), there, strict=True)
        if not seen.all()
    ]
    unseen = f"not estimated above zero: {'; '.join(named)}" if named else ""
    if min(int(one.sum()) for one in there) < 2 or total < _TINY:
        return AdjustedResiduals.none(shape, unseen or "there is one category")
    row, column = (np.maximum(one, 0) / np.maximum(one, 0).sum() for one in margins)
    own = own_reports(table)
    spread = UnbiasedPooling(own).covariance(np.outer(row, column).ravel()) if own else never_certain(table, cells)
    variances = np.diagonal(covariance_of_interactions(spread, row[:, None], column[None, :])).reshape(shape).copy()
    beyond = _of_products(spread.reshape(*shape, *shape), row, column) / total**2
    variances += np.maximum(beyond - _SMALL * variances, 0)
    known = np.logical_and.outer(*there)
    expected = np.where(known, np.outer(*margins) / total, math.nan)
    std_err = np.sqrt(np.where(known, variances, math.nan))
    return AdjustedResiduals(expected, square - expected, std_err, unseen, _approximate(table))


def interactions(columns: FloatArray, row: FloatArray, column: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the deviations from independence of flattened cells (..., cells, any): (I − r1ᵀ) ⊗ (I − c1ᵀ) columns.

    The margins r (..., rows, 1) and c (..., 1, columns) sum to one; `out` may be the columns themselves.
    """
    found = np.empty(columns.shape) if out is None else out
    step = max(1, _AT_ONCE // max(1, math.prod(columns.shape[:-1])))
    for first in range(0, columns.shape[-1], step):
        part = columns[..., first : first + step]
        cells = part.reshape(*part.shape[:-2], row.shape[-2], column.shape[-1], part.shape[-1])
        cells = cells - row[..., None] * cells.sum(axis=-3, keepdims=True)
        cells -= column[..., None] * cells.sum(axis=-2, keepdims=True)
        found[..., first : first + step] = cells.reshape(part.shape)
    return found


def covariance_of_interactions(covariance: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """Return the covariance of deviations from independence, given that of the cells."""
    of_rows = np.swapaxes(interactions(covariance, row, column), -1, -2)
    return interactions(of_rows, row, column, out=of_rows)


def _of_products(spread: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """Return the variance of deviations beyond the first order: of products of both margins' errors."""
    rows, columns = np.einsum("ijkl->ik", spread), np.einsum("ijkl->jl", spread)
    both = np.einsum("ijkl->il", spread)
    of_row, of_column = (np.eye(one.size) - one[:, None] for one in (row, column))
    alone = (np.diagonal(of_one @ one @ of_one.T) for of_one, one in ((of_row, rows), (of_column, columns)))
    found: FloatArray = np.outer(*alone) + (of_row @ both @ of_column.T) ** 2
    return found


def _labels(table: Table, side: Sequence[str], places: np.ndarray) -> list[str]:
    index = table.domain.index(side)
    more = [f"and {places.size - _NAMED} more"] if places.size > _NAMED else []
    return [*(" and ".join(map(str, index[place])) for place in places[:_NAMED]), *more]


def _approximate(table: Table) -> str:
    bound = bound_of(table)
    if bound:
        return f"their standard errors are upper bounds: {bound}"
    if is_sparse(table):
        return "some report was counted fewer than 20 times, so that their law under independence is known roughly"
    return "" if own_reports(table) else "their standard errors are those of the estimate, not those under independence"
