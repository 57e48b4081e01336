"""Test statistics: how far tables are from a null model, each a function of evidence for many tables at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import LinearPooling
from ldpstats.inference.evidence import Evidence, identified_contrasts
from ldpstats.inference.null_model import NullModel, TwoWayIndependence, fit_null, solve_or_shortest
from ldpstats.noise import Information


class Statistic(Protocol):
    """A test statistic with its reference degrees of freedom."""

    df: int

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Return the statistic of every table."""
        ...

    def null_frequencies(self, evidence: Evidence) -> FloatArray:
        """Return every table's fitted frequencies under the hypothesis."""
        ...


class ScoreStatistic:
    """The Rao score statistic, and its generalized-least-squares form where only moments are known.

    With u the score at the fitted null, J the information and K the null model's tangents it is
    uᵀ J⁻ u − (Kᵀu)ᵀ (KᵀJK)⁻ (Kᵀu) over the contrasts that the blocks identify. For one block of randomized
    response this is Pearson's statistic of the reports; for support counts it is the smallest weighted
    distance to the null minus the smallest to any table, with the covariance taken at the null. The
    subtracted term vanishes at convergence; it makes a fit that stopped early harmless.
    """

    def __init__(self, model: NullModel, evidence: Evidence, cells: int) -> None:
        self._model = model
        self._pooling = _pooling_if_identified(evidence)
        self._uniform = np.full(cells, 1 / cells)
        self._contrasts = identified_contrasts(evidence, self._uniform)
        self.df = self._contrasts.shape[1] - self._nuisance_rank(evidence)
        if self.df <= 0:
            raise NotIdentifiedError(
                "reports that tell nothing about the hypothesis",
                "blocks that identify more contrasts than the hypothesis leaves free",
                "Add a block that asks for the cells themselves.",
            )

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Return the statistic of every table."""
        fit = fit_null(self._model, evidence, self._start(evidence))
        score, information = evidence.score(fit.frequencies)
        jacobian = self._model.jacobian(fit.parameters)
        transposed = np.swapaxes(jacobian, -1, -2)
        gradient = (transposed @ score[..., None])[..., 0]
        explained = solve_or_shortest(transposed @ information.times(jacobian), gradient)
        return np.maximum(self._total(score, information) - (explained * gradient).sum(axis=-1), 0)

    def null_frequencies(self, evidence: Evidence) -> FloatArray:
        """Return every table's fitted frequencies under the hypothesis; some may be slightly negative."""
        return fit_null(self._model, evidence, self._start(evidence)).frequencies

    def _start(self, evidence: Evidence) -> FloatArray:
        """Return parameters near each table's unbiased estimate (uniform ones where that does not exist)."""
        if self._pooling is None:
            return self._model.nearest(np.tile(self._uniform, (len(evidence), 1)))
        return self._model.nearest(self._pooling.estimate(evidence.counts))

    def _total(self, score: FloatArray, information: Information) -> FloatArray:
        """Return uᵀ J⁻ u over the identified contrasts; in closed form where J is diagonal."""
        cells, contrasts = self._contrasts.shape
        if information.left is None and contrasts == cells - 1:
            weight = 1 / information.diagonal
            mean = (score * weight).sum(axis=-1, keepdims=True) / weight.sum(axis=-1, keepdims=True)
            return ((score - mean) ** 2 * weight).sum(axis=-1)
        projected = score @ self._contrasts
        matrix = self._contrasts.T @ information.times(self._contrasts)
        return (projected * np.linalg.solve(matrix, projected[..., None])[..., 0]).sum(axis=-1)

    def _nuisance_rank(self, evidence: Evidence) -> int:
        jacobian = self._model.jacobian(self._model.nearest(self._uniform))
        _, information = evidence.score(self._uniform[None, :])
        return int(np.linalg.matrix_rank(jacobian.T @ information.times(jacobian)[0], hermitian=True))


class WaldStatistic:
    """The estimated interaction, measured by its covariance at the product of the estimated margins."""

    def __init__(self, model: TwoWayIndependence, evidence: Evidence) -> None:
        self._model = model
        self._pooling = LinearPooling(evidence.blocks)
        self.df = (model.rows - 1) * (model.columns - 1)

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Return the statistic of every table."""
        estimate = self._pooling.estimate(evidence.counts)
        return interaction_wald(self._model, estimate, self._pooling.covariance(self.null_frequencies(evidence)))

    def null_frequencies(self, evidence: Evidence) -> FloatArray:
        """Return the product of each table's estimated margins, cut at zero."""
        nearest = self._model.nearest(self._pooling.estimate(evidence.counts))
        return self._model.frequencies(nearest)


def interaction_wald(model: TwoWayIndependence, estimate: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return gᵀ V⁻¹ g for the deviations g of the cells from the product of their margins.

    The deviations sum to zero along rows and columns, so those of all rows and columns but the last say it all.
    """
    table = estimate.reshape(*estimate.shape[:-1], model.rows, model.columns)
    row, column = table.sum(axis=-1), table.sum(axis=-2)
    gaps = (table - row[..., :, None] * column[..., None, :])[..., :-1, :-1]
    gaps = gaps.reshape(*estimate.shape[:-1], -1)
    derivative = interaction_derivative(row, column)
    inner = np.arange(model.rows * model.columns).reshape(model.rows, model.columns)[:-1, :-1].ravel()
    derivative = derivative[..., inner, :]
    spread = derivative @ covariance @ np.swapaxes(derivative, -1, -2)
    return (gaps * np.linalg.solve(spread, gaps[..., None])[..., 0]).sum(axis=-1)


def interaction_derivative(row: FloatArray, column: FloatArray) -> FloatArray:
    """Return the derivative of (cell − row margin × column margin) in the cells, for flattened tables."""
    rows, columns = row.shape[-1], column.shape[-1]
    row_sum = np.kron(np.eye(rows), np.ones(columns))
    column_sum = np.kron(np.ones(rows), np.eye(columns))
    of_row = np.repeat(np.eye(rows), columns, axis=0)
    of_column = np.tile(np.eye(columns), (rows, 1))
    by_row = (column @ of_column.T)[..., None] * (of_row @ row_sum)
    by_column = (row @ of_row.T)[..., None] * (of_column @ column_sum)
    return np.eye(rows * columns) - by_row - by_column


def _pooling_if_identified(evidence: Evidence) -> LinearPooling | None:
    try:
        return LinearPooling(evidence.blocks)
    except NotIdentifiedError:
        return None
