"""Test statistics: how far tables are from a null model, each a function of evidence for many tables at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import LinearPooling
from ldpstats.inference.evidence import Evidence, identified_contrasts
from ldpstats.inference.null_model import NullFit, NullModel, NullScore, TwoWayIndependence, fit_null, null_score
from ldpstats.noise import Information, solve_or_shortest

_EXACT = 1e-14
# Moves a statistic by less than 0.001, typically: nothing beside the Monte Carlo error of a rank.
_RANKING = 1e-3


class Statistic(Protocol):
    """A test statistic with its reference degrees of freedom."""

    df: int

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits.

        `near` gives frequencies that all tables are draws of, as in Monte Carlo; the fit then starts there
        and goes only as far as ranking the tables needs.
        """
        ...


class ScoreStatistic:
    """The Rao score statistic, and its generalized-least-squares form where only moments are known.

    With u the score at the fitted null, J the information and K the null model's tangents it is
    uᵀ J⁻ u − (Kᵀu)ᵀ (KᵀJK)⁻ (Kᵀu) over the contrasts that the blocks identify. For one block of randomized
    response this is Pearson's statistic of the reports; for other counts it is the smallest weighted
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

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits."""
        if near is not None:
            return fit_null(self._model, evidence, self._model.nearest(near[None, :]), self._measure, _RANKING)
        return fit_null(self._model, evidence, self._start(evidence), self._measure, _EXACT)

    def _measure(self, at: NullScore) -> FloatArray:
        return np.maximum(self._total(at.score, at.information) - at.gain, 0)

    def _start(self, evidence: Evidence) -> FloatArray:
        """Return parameters near each table's unbiased estimate (uniform ones where that does not exist)."""
        if self._pooling is None:
            return self._model.nearest(np.tile(self._uniform, (len(evidence), 1)))
        return self._model.nearest(self._pooling.estimate(evidence.counts))

    def _total(self, score: FloatArray, information: Information) -> FloatArray:
        """Return uᵀ J⁻ u over the identified contrasts; in closed form where all of them are."""
        cells, contrasts = self._contrasts.shape
        if contrasts == cells - 1 and np.all(information.diagonal > 0):
            return information.contrast_norm(score)
        projected = score @ self._contrasts
        matrix = information.between(self._contrasts)
        total: FloatArray = (projected * solve_or_shortest(matrix, projected[..., None])[..., 0]).sum(axis=-1)
        return total

    def _nuisance_rank(self, evidence: Evidence) -> int:
        """Return how many directions of the null model the blocks can see, at a point without special symmetry."""
        irregular = 1 + np.arange(self._uniform.size) * np.sqrt(2) % 1
        parameters = self._model.nearest(irregular / irregular.sum())
        at = null_score(self._model, evidence, parameters[None, :])
        return int(np.linalg.matrix_rank(at.information.between(self._model.jacobian(parameters))[0], hermitian=True))


class WaldStatistic:
    """The estimated interaction, measured by its covariance at the product of the estimated margins."""

    def __init__(self, model: TwoWayIndependence, evidence: Evidence) -> None:
        self._model = model
        self._pooling = LinearPooling(evidence.blocks)
        self.df = (model.rows - 1) * (model.columns - 1)

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:  # noqa: ARG002  # nothing to start
        """Take each table's estimated margins, cut just above zero, and measure the interaction there."""
        estimate = self._pooling.estimate(evidence.counts)
        parameters = self._model.nearest(estimate)
        frequencies = self._model.frequencies(parameters)
        statistic = interaction_wald(self._model, estimate, self._pooling.covariance(frequencies))
        return NullFit(parameters, frequencies, statistic, np.ones(len(evidence), dtype=np.bool_))


def interaction_wald(model: TwoWayIndependence, estimate: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return gᵀ V⁻¹ g for the interactions g of estimated tables and their covariance V.

    Interactions sum to zero along rows and columns, so those outside the last row and column say it all.
    """
    table = estimate.reshape(*estimate.shape[:-1], model.rows, model.columns)
    gaps = interaction(table)[..., :-1, :-1].reshape(*estimate.shape[:-1], -1)
    inner = np.arange(model.rows * model.columns).reshape(model.rows, model.columns)[:-1, :-1].ravel()
    derivative = interaction_derivative(table)[..., inner, :]
    spread = derivative @ covariance @ np.swapaxes(derivative, -1, -2)
    wald: FloatArray = (gaps * solve_or_shortest(spread, gaps[..., None])[..., 0]).sum(axis=-1)
    return wald


def interaction(table: FloatArray) -> FloatArray:
    """Return cell − row margin × column margin / total, which is zero if and only if the two are independent.

    The total of an unbiased estimate is one only on average where reports support several values.
    """
    row, column = table.sum(axis=-1, keepdims=True), table.sum(axis=-2, keepdims=True)
    gaps: FloatArray = table - row * column / table.sum(axis=(-1, -2), keepdims=True)
    return gaps


def interaction_derivative(table: FloatArray) -> FloatArray:
    """Return the derivative of the flattened interactions in the flattened cells."""
    rows, columns = table.shape[-2:]
    total = table.sum(axis=(-1, -2))[..., None]
    row, column = table.sum(axis=-1) / total, table.sum(axis=-2) / total
    of_row = np.repeat(np.eye(rows), columns, axis=0)
    of_column = np.tile(np.eye(columns), (rows, 1))
    row_share, column_share = row @ of_row.T, column @ of_column.T
    by_row = column_share[..., None] * (of_row @ of_row.T)
    by_column = row_share[..., None] * (of_column @ of_column.T)
    derivative: FloatArray = np.eye(rows * columns) - by_row - by_column + (row_share * column_share)[..., None]
    return derivative


def _pooling_if_identified(evidence: Evidence) -> LinearPooling | None:
    try:
        return LinearPooling(evidence.blocks)
    except NotIdentifiedError:
        return None
