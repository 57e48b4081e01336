"""Test statistics: how far tables are from a null model, each a function of evidence for many tables at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Protocol

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.estimation import LinearPooling
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.evidence import Evidence, identified_contrasts
from ldpstats.inference.engine.families import LinearSubspace, ProductOfConditionals
from ldpstats.inference.engine.null_model import (
    PRECISE,
    RANKING,
    NullFit,
    NullModel,
    NullScore,
    fit_null,
    irregular,
    remaining,
)
from ldpstats.noise import Information, shortest, solve_or_shortest


class Statistic(Protocol):
    """A test statistic with its reference degrees of freedom."""

    @property
    def df(self) -> int:
        """The degrees of freedom; none if the evidence tells nothing about the hypothesis."""
        ...

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits.

        `near` gives frequencies that all tables are draws of, as in Monte Carlo; every fit then takes the same few
        steps, which is enough for ranking the tables.
        """
        ...


class Fits:
    """Fits of null models, from near each table's unbiased estimate; where there is none, all from one place."""

    def __init__(self, evidence: Evidence, cells: int) -> None:
        self._uniform = np.full(cells, 1 / cells)
        self._estimated = evidence.estimator()
        # where contrasts are open, so may be some of a model's parameters
        self.solve = solve_or_shortest if self._estimated else shortest

    def __call__(
        self,
        model: NullModel,
        evidence: Evidence,
        near: FloatArray | None = None,
        measure: Callable[[NullScore], FloatArray] = remaining,
    ) -> NullFit:
        """Fit a model; precisely, or if the tables are drawn `near` frequencies, as far as ranking them needs."""
        start = (self._uniform if near is None else near)[None, :]
        if self._estimated is not None:
            start = self._estimated(evidence)
        effort = PRECISE if near is None else RANKING
        return fit_null(model, evidence, model.nearest(start), effort, measure, self.solve)


class ScoreStatistic:
    """The Rao score statistic, and its generalized-least-squares form where only moments are known.

    With u the score at the fitted null, J the information and K the null model's tangents it is
    uᵀ J⁻ u − (Kᵀu)ᵀ (KᵀJK)⁻ (Kᵀu) over the contrasts that the evidence identifies. For one block of randomized
    response this is Pearson's statistic of the reports; for other counts it is the smallest weighted
    distance to the null minus the smallest to any table, with the covariance taken at the null. The
    subtracted term vanishes at convergence; it makes a fit that stopped early harmless.
    """

    def __init__(self, model: NullModel, evidence: Evidence, cells: int) -> None:
        self._model = model
        self.fit = Fits(evidence, cells)
        self._uniform = np.full(cells, 1 / cells)
        self.contrasts = identified_contrasts(evidence, self._uniform)
        self.df = self.contrasts.shape[1] - seen_directions(model, evidence, cells)

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits."""
        return self.fit(self._model, evidence, near, self._measure)

    def _measure(self, at: NullScore) -> FloatArray:
        return np.maximum(self.total(at.score, at.information) - at.gain, 0)

    def total(self, score: FloatArray, information: Information) -> FloatArray:
        """Return uᵀ J⁻ u over the identified contrasts; in closed form where all of them are."""
        cells, contrasts = self.contrasts.shape
        if contrasts == cells - 1 and np.all(information.diagonal > 0):
            return information.contrast_norm(score)
        projected = score @ self.contrasts
        matrix = information.between(self.contrasts)
        total: FloatArray = (projected * solve_or_shortest(matrix, projected[..., None])[..., 0]).sum(axis=-1)
        return total


def seen_directions(model: NullModel, evidence: Evidence, cells: int) -> int:
    """Return how many directions of a model the evidence can see, where no symmetry hides any."""
    parameters = model.nearest(irregular(cells))
    if not parameters.size:
        return 0
    _, information = evidence.score(model.frequencies(parameters)[None, :])
    return int(np.linalg.matrix_rank(information.between(model.jacobian(parameters))[0], hermitian=True))


class LikelihoodRatio(ScoreStatistic):
    """Twice the logarithm of how much more likely the reports are under the best frequencies than under the best null.

    The best frequencies need not be proper: it is enough that every report has a positive probability. So they meet
    no boundary, and for one block of randomized response this is the likelihood ratio statistic of the reports.
    """

    def __init__(self, model: NullModel, evidence: Evidence, cells: int) -> None:
        super().__init__(model, evidence, cells)
        self._everything = LinearSubspace(self._uniform, self.contrasts)

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit the hypothesis and everything to every table, and compare their likelihoods."""
        null, free = (self.fit(model, evidence, near) for model in (self._model, self._everything))
        return likelihood_gain(evidence, null, free)


def likelihood_gain(evidence: Evidence, small: NullFit, large: NullFit) -> NullFit:
    """Return twice the gain in log-likelihood of the larger of two fits, each measured by what it left to explain.

    What a fit left is added, so that one that stopped early does little harm.
    """
    gained = 2 * (evidence.log_likelihood(large.frequencies) - evidence.log_likelihood(small.frequencies))
    statistic = np.maximum(gained + large.statistic - small.statistic, 0)
    return replace(small, statistic=statistic, converged=small.converged & large.converged)


class WaldStatistic:
    """The estimated interaction, measured by its covariance at the product of the estimated margins."""

    def __init__(self, model: ProductOfConditionals, evidence: BlockEvidence) -> None:
        self._model = model
        self._pooling = LinearPooling(evidence.blocks)
        self.df = int(np.count_nonzero(_telling(model.shape)))

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:  # noqa: ARG002  # nothing to start
        """Take each table's estimated margins, cut just above zero, and measure the interaction there."""
        assert isinstance(evidence, BlockEvidence)  # of the same blocks
        estimate = self._pooling.estimate(evidence.counts)
        parameters = self._model.nearest(estimate)
        frequencies = self._model.frequencies(parameters)
        statistic = _interaction_wald(self._model.shape, estimate, self._pooling.covariance(frequencies))
        return NullFit(parameters, frequencies, statistic, np.ones(len(evidence), dtype=np.bool_))


def _interaction_wald(shape: tuple[int, ...], estimate: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return gᵀ V⁻¹ g for the interactions g of estimated tables and their covariance V.

    Interactions have margins of zero, so that some of them say it all.
    """
    table = estimate.reshape(*estimate.shape[:-1], *shape)
    telling = np.flatnonzero(_telling(shape))
    gaps = interaction(table, len(shape)).reshape(estimate.shape)[..., telling]
    derivative = interaction_derivative(table, len(shape))[..., telling, :]
    spread = derivative @ covariance @ np.swapaxes(derivative, -1, -2)
    wald: FloatArray = (gaps * solve_or_shortest(spread, gaps[..., None])[..., 0]).sum(axis=-1)
    return wald


def _telling(shape: tuple[int, ...]) -> BoolArray:
    """Say which cells are in no last category of at least two attributes; margins of zero give the others."""
    positions = np.indices(shape).reshape(len(shape), -1)
    telling: BoolArray = (positions < np.array(shape)[:, None] - 1).sum(axis=0) >= 2
    return telling


def interaction(table: FloatArray, ways: int = 2) -> FloatArray:
    """Return cell − product of margins (of the last axes, so many), which is zero if and only if they are independent.

    The total of an unbiased estimate is one only on average where reports support several values.
    """
    margins, total = _margins(table, ways), _total(table, ways)
    gaps: FloatArray = table - reduce(np.multiply, [margin / total for margin in margins]) * total
    return gaps


def interaction_derivative(table: FloatArray, ways: int = 2) -> FloatArray:
    """Return the derivative of the flattened interactions in the flattened cells."""
    shape, leading = table.shape[-ways:], table.shape[:-ways]
    cells = prod(shape)
    total = _total(table, ways)
    shares = np.stack(
        [np.broadcast_to(margin / total, table.shape).reshape(*leading, cells) for margin in _margins(table, ways)]
    )
    derivative: FloatArray = np.eye(cells) + (ways - 1) * np.prod(shares, axis=0)[..., None]
    for axis, position in enumerate(np.indices(shape).reshape(ways, -1)):
        others = np.prod(np.delete(shares, axis, axis=0), axis=0)
        derivative = derivative - others[..., None] * (position[:, None] == position)
    return derivative


def _total(table: FloatArray, ways: int) -> FloatArray:
    """Return the total of each table, in place; one that noise has brought to nothing counts as one."""
    total = table.sum(axis=tuple(range(-ways, 0)), keepdims=True)
    return np.where(total == 0, 1.0, total)


def _margins(table: FloatArray, ways: int) -> list[FloatArray]:
    """Return the margin of each of the last axes, in place."""
    axes = range(-ways, 0)
    return [table.sum(axis=tuple(other for other in axes if other != axis), keepdims=True) for axis in axes]
