"""The table nearest to independence that noisy marginals do not contradict: structure only where noise is no excuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.consistency.joint import overlapping, within
from ldpstats.consistency.marginals import Attributes, Marginal, places
from ldpstats.consistency.projection import nearest_proper

# a variance no estimate is taken to be below, in squared proportions
_LEAST_VARIANCE = 1e-12
# of the logarithm of the penalty: from strong to so weak that the distance from independence counts for nothing
_STRIDE, _STRIDES = 1.5, 60
# of the dual objective, which is of the size of a log-likelihood ratio per respondent
_TOLERANCE = 1e-10
_MOST_STEPS = 100
# the share of the variances below which that of the total is rounding
_SURE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shrunken:
    """A table between independence and the data.

    Parameters
    ----------
    frequencies : array, shape (cells,)
        Positive, summing to one.
    discrepancy : float
        How far its marginals are from the estimated ones: D(p) = Σ_t (M_t p − π̂_t)ᵀ C_t⁻ (M_t p − π̂_t).
    df : float
        The effective number of parameters that were fitted: those of the one-way margins, and tr K (K + λ)⁻¹ with K the
        spread of the whitened sums that the margins do not explain.
    """

    frequencies: FloatArray
    discrepancy: float
    df: float


def shrunken_joint(marginals: Iterable[Marginal], target: Attributes, shape: Sequence[int]) -> Shrunken:
    """Find the table between independence and the data whose estimated error is least.

    Independence q is the product of the one-way margins, each pooled from all marginals by inverse variances and made
    proper. From there the minimizers p of ½ D(p) + λ KL(p ‖ q) lead to the data, as λ falls. Each of these problems
    is convex; p is log-linear, q exp(Σ_t M_tᵀ θ_t), with no interaction that no marginal is about. Of them the one is
    taken whose D + 2 df is least (Mallows 1973), an unbiased estimate, up to a constant, of the expected squared
    distance between its marginals and the true ones, in standard errors. The df are those of the one-way margins, which
    q takes from the data, and those of the ridge beyond them.

    Covariances are estimates themselves. No direction is taken to be more certain than half a respondent makes it, so
    that cells which nobody reported do not count as known; of a marginal whose total is known for sure, only the
    contrasts count.

    Parameters
    ----------
    marginals : iterable of Marginal
        Each is added up to the target first.
    target : tuple of str
    shape : tuple of int
        The number of categories of each attribute of the target.

    Examples
    --------
    Two attributes that hang together a little, seen through much noise and through little:

    >>> seen = np.array([0.3, 0.2, 0.2, 0.3])
    >>> for variance in (0.01, 0.0001):
    ...     pair = Marginal(("sex", "car"), (2, 2), seen, variance * (np.eye(4) - 1 / 4), 1000)
    ...     print(shrunken_joint([pair], ("sex", "car"), (2, 2)).frequencies.round(3))
    [0.25 0.25 0.25 0.25]
    [0.299 0.201 0.201 0.299]
    """
    found = overlapping(marginals, target, shape)
    path = _Path.of(found, target, shape)
    short = path.compressed()
    multipliers, df = _least_risk(short, _one_way(target, shape))
    table = short.table(multipliers)
    return Shrunken(table, path.discrepancy(table), df)


def independent(marginals: Sequence[Marginal], target: Attributes) -> FloatArray:
    """Return the flat product of the one-way margins, each pooled from all the marginals that have it.

    No category counts for less than half a respondent: a margin of zero would rule its cells out for good.

    Examples
    --------
    >>> pair = Marginal(("sex", "car"), (2, 2), np.array([0.4, 0.1, 0.2, 0.3]), np.eye(4) / 100, 100)
    >>> independent([pair], ("sex", "car")).round(2)
    array([0.3, 0.2, 0.3, 0.2])
    """
    return reduce(lambda table, margin: np.outer(table, margin).ravel(), [_pooled(marginals, name) for name in target])


def _pooled(marginals: Sequence[Marginal], name: str) -> FloatArray:
    """Return the proper, positive margin of one attribute."""
    own = within([one for one in marginals if name in one.attributes], [name])
    precision = np.sum([one.precision for one in own], axis=0)
    pooled = np.sum([one.precision * one.estimate for one in own], axis=0) / precision
    positive = np.maximum(nearest_proper(pooled, precision), 1 / (2 * sum(one.n for one in own)))
    margin: FloatArray = positive / positive.sum()
    return margin


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The tables p that minimize ½ ‖W p − w‖² + λ KL(p ‖ q), for every λ.

    Their dual problems are smooth and have no bounds: p = q exp(Wᵀθ) / Z(θ), where θ minimizes
    ln Z(θ) − wᵀθ + ½ λ ‖θ‖².
    """

    independent: FloatArray
    whitened: FloatArray
    observed: FloatArray

    @classmethod
    def of(cls, marginals: Sequence[Marginal], target: Attributes, shape: Sequence[int]) -> _Path:
        """Begin at independence, and measure distances from all the marginals in standard errors."""
        roots = [_whitening(one) for one in marginals]
        whitened = [root[:, places(target, shape, one.attributes)] for root, one in zip(roots, marginals, strict=True)]
        observed = [root @ one.estimate for root, one in zip(roots, marginals, strict=True)]
        return cls(independent(marginals, target), np.concatenate(whitened), np.concatenate(observed))

    def compressed(self) -> _Path:
        """Return the same path with no more directions than cells; its discrepancies differ by a constant."""
        rotation, directions = np.linalg.qr(self.whitened)
        return _Path(self.independent, directions, rotation.T @ self.observed)

    def table(self, multipliers: FloatArray) -> FloatArray:
        """Return the table with these multipliers θ."""
        logarithms = np.log(self.independent) + multipliers @ self.whitened
        weights = np.exp(logarithms - logarithms.max())
        table: FloatArray = weights / weights.sum()
        return table

    def discrepancy(self, table: FloatArray) -> float:
        """Return the squared distance of a table from the marginals."""
        return float(np.square(self.whitened @ table - self.observed).sum())

    def spread(self, table: FloatArray) -> FloatArray:
        """Return the covariance of the whitened marginals of one respondent drawn from a table."""
        mean = self.whitened @ table
        return (self.whitened * table) @ self.whitened.T - np.outer(mean, mean)

    def spread_beyond(self, margins: FloatArray, table: FloatArray) -> FloatArray:
        """Return the spread of what other sums of cells do not explain."""
        centred = margins - (margins @ table)[:, None]
        crossed = (self.whitened * table) @ centred.T
        own = (centred * table) @ centred.T + _LEAST_VARIANCE * np.eye(len(margins))
        explained: FloatArray = crossed @ np.linalg.solve(own, crossed.T)
        return self.spread(table) - explained

    def objective(self, multipliers: FloatArray, penalty: float) -> float:
        """Return what the multipliers of the path minimize."""
        log_total = np.logaddexp.reduce(np.log(self.independent) + multipliers @ self.whitened)
        return float(log_total - self.observed @ multipliers + penalty / 2 * multipliers @ multipliers)

    def at(self, penalty: float, near: FloatArray) -> FloatArray:
        """Return the multipliers at this penalty: by Newton's method, halving steps that do not lower it enough."""
        multipliers = near
        for _ in range(_MOST_STEPS):
            table = self.table(multipliers)
            slope = self.whitened @ table - self.observed + penalty * multipliers
            step = np.linalg.solve(self.spread(table) + penalty * np.eye(slope.size), slope)
            fall = float(slope @ step)
            if fall <= _TOLERANCE:
                return multipliers - step
            before, length = self.objective(multipliers, penalty), 1.0
            while self.objective(multipliers - length * step, penalty) > before - length * fall / 4:
                length /= 2
            multipliers = multipliers - length * step
        return multipliers


def _least_risk(path: _Path, margins: FloatArray) -> tuple[FloatArray, float]:
    """Return the multipliers where discrepancy + 2 df is least along the path, and the df there."""
    penalty = 100 * float(np.trace(path.spread(path.independent)))
    multipliers: FloatArray = np.zeros(path.observed.size)
    best, df = multipliers, float(len(margins))
    least = path.discrepancy(path.independent) + 2 * df
    for _ in range(_STRIDES):
        multipliers = path.at(penalty, multipliers)
        table = path.table(multipliers)
        beyond = path.spread_beyond(margins, table)
        ridge = float(np.trace(np.linalg.solve(beyond + penalty * np.eye(len(beyond)), beyond)))
        own = len(margins) + max(ridge, 0.0)
        risk = path.discrepancy(table) + 2 * own
        if risk < least:
            best, df, least = multipliers, own, risk
        penalty /= _STRIDE
    return best, df


def _one_way(target: Attributes, shape: Sequence[int]) -> FloatArray:
    """Return what the one-way margins are sums of: a row for each category but the first of each attribute."""
    rows = [np.eye(size)[1:, places(target, shape, (name,))] for name, size in zip(target, shape, strict=True)]
    return np.concatenate(rows)


def _whitening(marginal: Marginal) -> FloatArray:
    """Return W such that the covariance of W π̂ is the identity, with a row per direction in which there is noise."""
    from scipy.linalg import helmert

    covariance, cells = marginal.covariance, marginal.estimate.size
    total = float(np.trace(covariance))
    basis = helmert(cells) if covariance.sum() <= _SURE * total else np.eye(cells)
    variances, directions = np.linalg.eigh(basis @ covariance @ basis.T)
    least = max(_LEAST_VARIANCE, total / (2 * marginal.n))
    root: FloatArray = (directions / np.sqrt(np.maximum(variances, least))).T @ basis
    return root
