"""Means of log-linear terms by weighted least squares: the sufficient statistics that noisy marginals estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.consistency.log_linear_terms import LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Marginal, stacked
from ldpstats.tables.stacked import Contribution, Stacked

_STANDARD_ERRORS = 1e-4
_PROBABILITY = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedMeans:
    """What noisy marginals tell of the means of terms: weighted least squares, every cell by its precision.

    Parameters
    ----------
    means : array, shape (terms,)
        The estimates, which need not be those of any distribution.
    precision : array, shape (terms, terms)
        The curvature of the misfit.
    inverse : array, shape (terms, terms)
        Its inverse.
    contributions : tuple of Contribution
        What every marginal adds to the equations, precision · means.
    errors : Stacked
        What the marginals' errors have to do with each other.
    """

    means: FloatArray
    precision: FloatArray
    inverse: FloatArray
    contributions: tuple[Contribution, ...]
    errors: Stacked

    @classmethod
    def pooled(cls, terms: LogLinearTerms, marginals: Iterable[Marginal]) -> EstimatedMeans:
        """Pool marginals of the groups of the terms."""
        given = list(marginals)
        precision, seen = equations(terms, given)
        inverse = np.linalg.inv(precision)
        contributions = []
        for one in given:
            weighted = one.precision[:, np.newaxis] * cells_from_means(one.shape)[1]
            contributions.append(one.part(terms.places(one.attributes), weighted.T))
        return cls(inverse @ seen, precision, inverse, tuple(contributions), stacked(given))

    @property
    def bound(self) -> str:
        """Why covariances are upper bounds, in words; empty where they are known."""
        return self.errors.bound

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the estimates, with that of the cells within a marginal."""
        return self.covariance_of(np.eye(len(self.means)))

    def covariance_of(self, sums: FloatArray) -> FloatArray:
        """Return the covariance of sums of the estimates, shape (sums, terms)."""
        weights, many = sums @ self.inverse, len(self.means)
        if not self.errors.clusters:
            return weights @ self.errors.covariance_of(self.contributions, many) @ weights.T
        rows = np.arange(len(sums))
        parts = [Contribution(rows, weights[:, places] @ matrix) for places, matrix in self.contributions]
        return self.errors.covariance_of(parts, len(sums))

    def length(self, difference: FloatArray) -> float:
        """Return the length of a difference of means in standard errors."""
        return math.sqrt(max(float(difference @ self.precision @ difference), 0.0))

    def negligible(self, difference: FloatArray, means: FloatArray) -> bool:
        """Say whether such a difference from some means does not matter."""
        far = max(1.0, self.length(means - self.means))
        return self.length(difference) <= _STANDARD_ERRORS * far and bool(np.all(np.abs(difference) <= _PROBABILITY))


def equations(terms: LogLinearTerms, marginals: Iterable[Marginal]) -> tuple[FloatArray, FloatArray]:
    """Return the normal equations for the means of the terms: precision · means = what was seen."""
    many = len(terms.levels)
    precision, seen = np.zeros((many, many)), np.zeros(many)
    for one in marginals:
        places, (constant, slopes) = terms.places(one.attributes), cells_from_means(one.shape)
        weighted = one.precision[:, np.newaxis] * slopes
        precision[np.ix_(places, places)] += slopes.T @ weighted
        seen[places] += weighted.T @ (one.estimate - constant)
    return precision, seen


def misfit(terms: LogLinearTerms, marginals: Iterable[Marginal], means: FloatArray) -> float:
    """Return half the squared deviations of the cells from all marginals, over their variances."""
    total = 0.0
    for one in marginals:
        constant, slopes = cells_from_means(one.shape)
        deviation = constant + slopes @ means[terms.places(one.attributes)] - one.estimate
        total += float(deviation @ (one.precision * deviation)) / 2
    return total
