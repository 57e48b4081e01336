"""Shrinkage towards independence: penalized least squares, with the penalty that minimizes Mallows' estimated risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.marginals import Attributes, Marginal, overlapping
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.workers import each

# a variance no estimate is taken to be below, in squared proportions
_LEAST_VARIANCE = 1e-12
# of the logarithm of the penalty: from strong to so weak that the distance from independence counts for nothing
_STRIDE, _STRIDES = 1.5, 60
# of the dual objective, which is of the size of a log-likelihood ratio per respondent
_TOLERANCE = 1e-10
_MOST_STEPS = 100
# of the objective: what is left of two equal ones when they are computed among others
_ROUNDING = 1e-13
# the share of the variances below which that of the total is rounding
_SURE = 1e-9
# of the matrices of refits that are worked on at once, so that large tables fit into memory
_MOST_NUMBERS = 1_000_000
# the share of the largest singular value below which a direction is rounding
_FLAT = 1e-10


def shrunken_joint(marginals: Iterable[Marginal], target: Domain) -> FloatArray:
    """Find the positive, flat table between independence and the data whose estimated error is least.

    Independence q is the product of the one-way margins, each pooled from all marginals by inverse variances and made
    proper. From there the minimizers p of ½ D(p) + λ KL(p ‖ q) lead to the data, as λ falls, with the discrepancy
    D(p) = Σ_t (M_t p − π̂_t)ᵀ C_t⁻ (M_t p − π̂_t) from the marginals. Each of these problems is convex; p is log-linear,
    q exp(Σ_t M_tᵀ θ_t), with no interaction that no marginal is about. Of them the one is taken whose D + 2 df is least
    (Mallows 1973), an unbiased estimate, up to a constant, of the expected squared distance between its marginals and
    the true ones, in standard errors. The df are those of the one-way margins, which q takes from the data, and those
    of the ridge beyond them: tr K (K + λ)⁻¹ with K the covariance of the whitened sums that the margins do not explain.

    Covariances are estimates themselves. No direction is taken to be more certain than half a respondent makes it, so
    that cells which nobody reported do not count as known; of a marginal whose total is known for sure, only the
    contrasts count.
    """
    kept = overlapping(marginals, target)
    return np.asarray(shrunken_refits(kept, [marginal.estimate[None] for marginal in kept], target)[0])


def shrunken_refits(marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain) -> FloatArray:
    """Frequencies of `shrunken_joint` for every row of the estimates, with the same covariances."""
    paths = _RidgePaths.of(marginals, estimates, target).compressed()
    rows, margins = np.arange(len(paths.observed)), _one_way(target)
    together = max(1, _MOST_NUMBERS // max(1, paths.whitened.size))

    def tables(some: _RidgePaths) -> FloatArray:
        return some.tables(_least_risk(some, margins)[0])

    starts = range(0, rows.size, together)
    batches = (paths.only(rows[first : first + together]) for first in starts)
    return np.concatenate(each(tables, batches, "fitting again", "batch", len(starts)))


def independent(marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Attributes) -> FloatArray:
    """For every row of the estimates, the flat product of the one-way margins, each pooled from all marginals.

    No category counts for less than half a respondent: a margin of zero would rule its cells out for good.
    """
    tables = np.ones((len(estimates[0]), 1))
    for name in target:
        pairs = zip(marginals, estimates, strict=True)
        about = [(marginal, rows) for marginal, rows in pairs if name in marginal.attributes]
        own = [marginal.added_up((name,)) for marginal, _ in about]
        precision = np.sum([marginal.precision for marginal in own], axis=0)
        summed = [rows @ np.eye(precision.size)[marginal.onto((name,))] for marginal, rows in about]
        weighted = [marginal.precision * rows for marginal, rows in zip(own, summed, strict=True)]
        pooled, n = np.sum(weighted, axis=0) / precision, sum(marginal.n for marginal in own)
        positive = np.maximum([nearest_proper(row, precision) for row in pooled], 1 / (2 * n))
        margins = positive / positive.sum(axis=1, keepdims=True)
        tables = (tables[:, :, None] * margins[:, None]).reshape(len(tables), -1)
    return tables


@dataclass(frozen=True, slots=True, eq=False)
class _RidgePaths:
    """The tables p that minimize ½ ‖W p − w‖² + λ KL(p ‖ q), for every λ: a row for each q and w.

    Their dual problems are smooth and have no bounds: p = q exp(Wᵀθ) / Z(θ), where θ minimizes
    ln Z(θ) − wᵀθ + ½ λ ‖θ‖².
    """

    independent: FloatArray
    whitened: FloatArray
    observed: FloatArray

    @classmethod
    def of(cls, marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain) -> _RidgePaths:
        """Begin at independence, and measure distances from all the marginals in standard errors."""
        roots = [_whitening(marginal) for marginal in marginals]
        whitened = [root[:, target.onto(marginal.attributes)] for root, marginal in zip(roots, marginals, strict=True)]
        observed = [rows @ root.T for root, rows in zip(roots, estimates, strict=True)]
        start = independent(marginals, estimates, target.names)
        return cls(start, np.concatenate(whitened), np.concatenate(observed, axis=1))

    def compressed(self) -> _RidgePaths:
        """The same paths in only the directions that tables can move in; discrepancies differ by a constant."""
        centre = self.whitened.mean(axis=1)
        rotation, lengths, directions = np.linalg.svd(self.whitened - centre[:, None], full_matrices=False)
        kept = lengths > _FLAT * lengths.max(initial=0.0)
        moved = lengths[kept, None] * directions[kept]
        return _RidgePaths(self.independent, moved, (self.observed - centre) @ rotation[:, kept])

    def only(self, rows: IntArray) -> _RidgePaths:
        """Some of the paths."""
        return _RidgePaths(self.independent[rows], self.whitened, self.observed[rows])

    def tables(self, multipliers: FloatArray) -> FloatArray:
        """Tables with these multipliers θ."""
        logarithms = np.log(self.independent) + multipliers @ self.whitened
        weights = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        tables: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return tables

    def discrepancies(self, tables: FloatArray) -> FloatArray:
        """Squared distances of tables from the marginals."""
        distances: FloatArray = np.square(tables @ self.whitened.T - self.observed).sum(axis=1)
        return distances

    def covariances_beyond(self, margins: FloatArray, tables: FloatArray) -> FloatArray:
        """Covariance of the whitened marginals given other sums of cells (the margins): what these do not explain."""
        many = len(self.whitened)
        both = _covariances(np.concatenate([self.whitened, margins]), tables)
        own = both[:, many:, many:] + _LEAST_VARIANCE * np.eye(len(margins))
        explained = both[:, :many, many:] @ np.linalg.solve(own, both[:, many:, :many])
        return both[:, :many, :many] - explained

    def objectives(self, multipliers: FloatArray, penalties: FloatArray) -> FloatArray:
        """Dual objective, which the multipliers minimize."""
        log_totals = np.logaddexp.reduce(np.log(self.independent) + multipliers @ self.whitened, axis=1)
        objectives: FloatArray = (
            log_totals - (self.observed * multipliers).sum(axis=1) + penalties / 2 * np.square(multipliers).sum(axis=1)
        )
        return objectives

    def at(self, penalties: FloatArray, near: FloatArray) -> FloatArray:
        """Multipliers at these penalties: by Newton's method, until each converges."""
        multipliers, moving = near.copy(), np.arange(len(near))
        for _ in range(_MOST_STEPS):
            paths, begins, penalty = self.only(moving), multipliers[moving], penalties[moving]
            tables = paths.tables(begins)
            slopes = tables @ self.whitened.T - paths.observed + penalty[:, None] * begins
            curved = _with_ridge(_covariances(self.whitened, tables), penalty)
            steps = np.linalg.solve(curved, slopes[:, :, None])[:, :, 0]
            falls = (slopes * steps).sum(axis=1)
            resting = falls <= _TOLERANCE
            lengths = paths.lengths(begins, steps, np.where(resting, 0.0, falls), penalty)
            multipliers[moving] = begins - lengths[:, None] * steps
            moving = moving[~resting]
            if moving.size == 0:
                break
        return multipliers

    def lengths(self, begins: FloatArray, steps: FloatArray, falls: FloatArray, penalties: FloatArray) -> FloatArray:
        """Line search: halve steps that do not lower the objective enough; take whole those that promise no fall."""
        lengths = np.ones(len(begins))
        short = np.flatnonzero(falls > 0)
        before = self.objectives(begins, penalties)
        while short.size:
            ends = begins[short] - lengths[short, None] * steps[short]
            after = self.only(short).objectives(ends, penalties[short])
            rounding = _ROUNDING * (1 + np.abs(before[short]))
            short = short[after > before[short] - lengths[short] * falls[short] / 4 + rounding]
            lengths[short] /= 2
        return lengths


def _least_risk(paths: _RidgePaths, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Multipliers where discrepancy + 2 df is least along each path, and the df there."""
    penalties = 100 * np.trace(_covariances(paths.whitened, paths.independent), axis1=1, axis2=2)
    multipliers: FloatArray = np.zeros_like(paths.observed)
    best, df = multipliers, np.full(len(multipliers), float(len(margins)))
    least = paths.discrepancies(paths.independent) + 2 * df
    for _ in range(_STRIDES):
        multipliers = paths.at(penalties, multipliers)
        tables = paths.tables(multipliers)
        beyond = paths.covariances_beyond(margins, tables)
        ridge = np.trace(np.linalg.solve(_with_ridge(beyond, penalties), beyond), axis1=1, axis2=2)
        own = len(margins) + np.maximum(ridge, 0.0)
        risk = paths.discrepancies(tables) + 2 * own
        less = risk < least
        best, df, least = np.where(less[:, None], multipliers, best), np.where(less, own, df), np.minimum(risk, least)
        penalties = penalties / _STRIDE
    return best, df


def _covariances(sums: FloatArray, tables: FloatArray) -> FloatArray:
    """Covariances of sums of cells of one respondent drawn from each of the tables."""
    means = tables @ sums.T
    squares = (tables[:, None] * sums).reshape(-1, sums.shape[1]) @ sums.T
    return squares.reshape(len(tables), len(sums), len(sums)) - means[:, :, None] * means[:, None]


def _with_ridge(matrices: FloatArray, penalties: FloatArray) -> FloatArray:
    """Add a penalty to the diagonal of each matrix."""
    return matrices + penalties[:, None, None] * np.eye(matrices.shape[1])


def _one_way(target: Domain) -> FloatArray:
    """Indicator rows of the one-way margins: one for each category but the first of each attribute."""
    rows = [np.eye(target.size((name,)))[1:, target.onto((name,))] for name in target.names]
    return np.concatenate(rows)


def _whitening(marginal: Marginal) -> FloatArray:
    """W such that the covariance of W π̂ is the identity, with a row per direction in which there is noise."""
    from scipy.linalg import helmert

    covariance, cells = marginal.covariance, marginal.estimate.size
    total = float(np.trace(covariance))
    basis = helmert(cells) if covariance.sum() <= _SURE * total else np.eye(cells)
    variances, directions = np.linalg.eigh(basis @ covariance @ basis.T)
    least = max(_LEAST_VARIANCE, total / (2 * marginal.n))
    root: FloatArray = (directions / np.sqrt(np.maximum(variances, least))).T @ basis
    return root
