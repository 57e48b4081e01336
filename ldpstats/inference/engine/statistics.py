"""Test statistics: Rao score, generalized least squares, likelihood ratio and Wald, for many tables at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import most_likely
from ldpstats.estimation.likelihood import HierarchicalEM, seen_in_blocks
from ldpstats.inference.engine.evidence import BlockEvidence, Evidence, PooledEstimate, identified_contrasts
from ldpstats.inference.engine.families import LinearSubspace, LogLinear
from ldpstats.inference.engine.null_model import (
    DrawnTables,
    NullFit,
    NullFitter,
    NullModel,
    NullScore,
    along_tangents,
    irregular,
    on_simplex,
)
from ldpstats.noise import Information, shortest, solve_or_shortest
from ldpstats.numbers.arrays import FloatArray, places_onto

_ITERATIONS = 20_000
# the χ² distances of steps at which climbs end: to see which are the highest, and of these
_ROUGH, _PRECISE, _FINALISTS = 1e-6, 1e-14, 3
_DECREASE = 1e-6
_MOST_CORNERS = 64
_TOWARDS_CORNER = 0.9
# the p-value by χ² from which on drawn tables are fitted no further than needed
_CLEAR = 0.02


class Statistic(Protocol):
    """A test statistic with its reference degrees of freedom."""

    @property
    def df(self) -> int:
        """Degrees of freedom; zero if the evidence tells nothing about the hypothesis."""

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits; drawn tables are ranked."""


class ScoreStatistic:
    """Rao score statistic; where only moments are known, its generalized-least-squares form.

    With u the score at the fitted null, J the information and K the null model's tangents it is uᵀ J⁻ u − (Kᵀu)ᵀ
    (KᵀJK)⁻ (Kᵀu) over the contrasts that the evidence identifies. For one block of randomized response this is
    Pearson's statistic of the reports; for other counts the smallest weighted distance to the null minus the smallest
    to any table, with the covariance at the null. The subtracted term vanishes at convergence; it makes a fit that
    stopped early harmless.
    """

    def __init__(self, model: NullModel, evidence: Evidence, cells: int) -> None:
        self._model = model
        self.fit = NullFitter(evidence, cells)
        self._uniform = np.full(cells, 1 / cells)
        self._evidence = evidence
        self._complete = evidence.score(self._uniform[None, :])[1].sees_every_contrast()
        seen = cells - 1 if self._complete else self.contrasts.shape[1]
        self.df = seen - seen_directions(model, evidence, cells)

    @cached_property
    def contrasts(self) -> FloatArray:
        """Basis of the contrasts that the evidence tells anything about: a matrix of cells by contrasts."""
        return identified_contrasts(self._evidence, self._uniform)

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Fit the hypothesis to every table and return the statistics with the fits."""
        from scipy.special import chdtri

        return self.fit(self._model, evidence, drawn, self._measure, float(chdtri(max(self.df, 1), _CLEAR)))

    def _measure(self, at: NullScore) -> FloatArray:
        total = self.total(at.score, at.information)
        # of a projection: where a frequency is nearly zero, rounding alone makes it negative
        return np.maximum(total - np.maximum(at.gain, 0), 0)

    def total(self, score: FloatArray, information: Information) -> FloatArray:
        """Return uᵀ J⁻ u over the identified contrasts; in closed form where all of them are."""
        if self._in_closed_form(information):
            return information.contrast_norm(score)
        projected = score @ self.contrasts
        matrix = information.between(self.contrasts)
        total: FloatArray = (projected * solve_or_shortest(matrix, projected[..., None])[..., 0]).sum(axis=-1)
        return total

    def volume(self, information: Information) -> FloatArray:
        """Return log |J| over the identified contrasts; in closed form where all of them are."""
        if self._in_closed_form(information):
            return information.contrast_volume()
        volume: FloatArray = np.linalg.slogdet(information.between(self.contrasts))[1]
        return volume

    def _in_closed_form(self, information: Information) -> bool:
        complete = self._complete or self.contrasts.shape[1] == self._uniform.size - 1
        return complete and bool(np.all(information.diagonal > 0))


def seen_directions(model: NullModel, evidence: Evidence, cells: int) -> int:
    """Return how many directions of a model the evidence can see, where no symmetry hides any."""
    parameters = model.nearest(irregular(cells))
    if not parameters.size:
        return 0
    score, information = evidence.score(model.frequencies(parameters)[None, :])
    _, matrix = along_tangents(model, parameters[None, :], score, information)
    return int(np.linalg.matrix_rank(matrix[0], hermitian=True))


class LikelihoodRatio(ScoreStatistic):
    """Likelihood ratio statistic: twice the gain in log-likelihood of the best frequencies over the best null.

    The best frequencies need not be proper: it is enough that every report has a positive probability. So they meet no
    boundary, and for one block of randomized response this is the likelihood ratio statistic of the reports.
    """

    def __init__(self, model: NullModel, evidence: Evidence, cells: int) -> None:
        super().__init__(model, evidence, cells)
        self._everything = LinearSubspace(self._uniform, self.contrasts)

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Fit the hypothesis and everything to every table, and compare their likelihoods."""
        null, free = (self.fit(model, evidence, drawn) for model in (self._model, self._everything))
        if drawn is None:
            null = likeliest(self._model, evidence, null)
        return likelihood_gain(evidence, null, free)


def likelihood_gain(evidence: Evidence, small: NullFit, large: NullFit) -> NullFit:
    """Return twice the gain in log-likelihood of the larger fit; what fits left, having stopped early, is added."""
    gained = 2 * (evidence.log_likelihood(large.frequencies) - evidence.log_likelihood(small.frequencies))
    statistic = np.maximum(gained + large.statistic - small.statistic, 0)
    return replace(small, statistic=statistic, converged=small.converged & large.converged)


class NestedStatistic:
    """Score or likelihood ratio statistic of a larger log-linear model against a smaller one within it."""

    def __init__(self, smaller: NullModel, larger: LogLinear, evidence: Evidence, *, likelihood: bool) -> None:
        self._smaller, self._larger, self._likelihood = smaller, larger, likelihood
        cells = larger.design.shape[0]
        self._fit = NullFitter(evidence, cells)
        self.df = seen_directions(larger, evidence, cells) - seen_directions(smaller, evidence, cells)

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Fit the smaller model to every table, and measure what the larger one adds."""
        small = self._fit(self._smaller, evidence, drawn)
        if not self._likelihood:
            return replace(small, statistic=np.maximum(self._further(evidence, small) - small.statistic, 0))
        large = self._fit(self._larger, evidence, drawn)
        if drawn is None:
            small, large = likeliest_nested(self._smaller, self._larger, evidence, small, large)
        return likelihood_gain(evidence, small, large)

    def _further(self, evidence: Evidence, small: NullFit) -> FloatArray:
        """Return the norm of the score in all the directions of the larger model."""
        score, information = evidence.score(small.frequencies)
        tangents = self._larger.tangents(small.frequencies)
        gradient = np.swapaxes(tangents, -1, -2) @ score[..., None]
        norm: FloatArray = (gradient * self._fit.solve(information.between(tangents), gradient)).sum(axis=(-1, -2))
        return norm


class WaldStatistic:
    """Wald's statistic: how far the unbiased estimate is from the null model, by its covariance there.

    With f the member of the null nearest to the estimate π̂, K its tangents, V the covariance of π̂ at f and Q an
    orthonormal basis of all that is orthogonal to f and K (or `directions` of the parameters, shape (..., cells, df),
    where only some deviations are tested), it is (Qᵀπ̂)ᵀ (QᵀVQ)⁻ Qᵀπ̂. For independence Qᵀπ̂ are the estimated
    interactions, for constraints A π = A c the constraints. (A covariance at π̂ would reject far too often where
    categories are rare.) The blocks of the evidence must together identify the cells.
    """

    def __init__(
        self,
        model: NullModel,
        evidence: Evidence,
        cells: int,
        directions: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._model, self._estimate = model, PooledEstimate(evidence)
        self._directions = directions or partial(unexplained, model)
        self.df = self._directions(model.nearest(irregular(cells))).shape[-1]

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:  # noqa: ARG002  # nothing to start
        """Measure every table's estimate at the nearest member of the null."""
        parameters = self._model.nearest(self._estimate(evidence))
        frequencies = self._model.frequencies(parameters)
        gaps, covariance = self._estimate.deviation(evidence, frequencies, self._directions(parameters))
        statistic = (gaps * shortest(covariance, gaps[..., None])[..., 0]).sum(axis=-1)
        return NullFit(parameters, frequencies, statistic, np.ones(len(evidence), dtype=np.bool_))


def unexplained(model: NullModel, parameters: FloatArray) -> FloatArray:
    """Return an orthonormal basis of all that is orthogonal to a member of a null model and to its tangents."""
    spanned = np.concatenate([model.frequencies(parameters)[..., None], model.jacobian(parameters)], axis=-1)
    return np.linalg.qr(spanned, mode="complete").Q[..., spanned.shape[-1] :]


def likeliest(model: NullModel, evidence: Evidence, fit: NullFit, within: FloatArray | None = None) -> NullFit:
    """Replace fits that did not converge by the frequencies of highest likelihood, found by EM.

    They still do not count as converged: at a boundary likelihood ratios are not χ². Models without a boundary keep
    their fits: what these left is allowed for. `within`, a smaller model's fit, bounds the likelihood below.
    """
    lost = np.flatnonzero(~fit.converged)
    if not model.bounded or not lost.size:
        return fit
    if not isinstance(model, LogLinear) or model.covariate is not None or not isinstance(evidence, BlockEvidence):
        raise _not_found("it ran to a boundary")
    frequencies, statistic = fit.frequencies.copy(), fit.statistic.copy()
    for table in lost:
        known = [fit.frequencies[table], *([] if within is None else [within[table]])]
        frequencies[table] = _highest(model, evidence.subset(np.array([table])), known)
        statistic[table] = 0  # nothing is left to explain
    return replace(fit, parameters=model.nearest(frequencies), frequencies=frequencies, statistic=statistic)


def likeliest_nested(
    smaller: NullModel, larger: NullModel, evidence: Evidence, small: NullFit, large: NullFit
) -> tuple[NullFit, NullFit]:
    """Climb by EM where fits of nested models did not converge, or the larger one fell short of the smaller one."""
    if isinstance(smaller, LogLinear):
        gained = evidence.log_likelihood(large.frequencies) - evidence.log_likelihood(small.frequencies)
        both = small.converged & large.converged & (gained > -_DECREASE)
        small, large = replace(small, converged=both), replace(large, converged=both)
    small = likeliest(smaller, evidence, small)
    return small, likeliest(larger, evidence, large, within=small.frequencies)


def _highest(model: LogLinear, evidence: BlockEvidence, known: list[FloatArray]) -> FloatArray:
    """Climb from several starts, and return the frequencies of the highest likelihood reached."""
    blocks = [
        replace(block, tally=replace(block.tally, counts=counts[0]))
        for block, counts in zip(evidence.blocks, evidence.counts, strict=True)
    ]
    cells = blocks[0].question.cells
    possible = np.arange(cells) if model.possible is None else np.array(model.possible)
    partitions = [places_onto(model.shape, axes)[possible] for axes in model.generators]
    em = HierarchicalEM(seen_in_blocks(blocks), partitions, possible, cells)
    evidence.log_likelihood(known[0][None, :])  # reports that are impossible without the zeros are refused
    free = on_simplex(most_likely(blocks).frequencies[possible])
    starts = [*known, *(model.frequencies(model.nearest(near)) for near in _starts_from(free))]
    climbs = sorted((em.climbed(start, _ITERATIONS, _ROUGH)[0] for start in starts), key=em.log_likelihood)
    best = np.stack(climbs[-_FINALISTS:])
    # a leap may have taken a cell near nothing that belongs elsewhere
    revived = model.frequencies(model.nearest(0.99 * best + 0.01 / free.size))
    ends = [em.climbed(climb, _ITERATIONS, _PRECISE) for climb in (*best, *revived)]
    highest, ended = max(ends, key=lambda end: em.log_likelihood(end[0]))
    if not ended:
        raise _not_found(f"{_ITERATIONS:,} steps of EM did not end")
    return highest


def _starts_from(free: FloatArray) -> Iterator[FloatArray]:
    """Yield tables between the likeliest one and even frequencies, and near the corners of its frequent cells."""
    even = np.full(free.size, 1 / free.size)
    for share in (1.0, 0.9, 0.5, 0.0):
        yield share * free + (1 - share) * even
    for corner in np.argsort(-free, kind="stable")[:_MOST_CORNERS]:
        yield _TOWARDS_CORNER * np.eye(free.size)[corner] + (1 - _TOWARDS_CORNER) * even


def _not_found(why: str) -> LdpstatsError:
    return LdpstatsError(
        f"a likelihood ratio of a fit that did not converge: {why}",
        "fits that converge, or log-linear models of generators alone, whose boundary is known",
        'method="score" allows for what the fit left, with a p-value from drawn tables.',
    )
