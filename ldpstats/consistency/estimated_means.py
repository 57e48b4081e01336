"""Means of log-linear terms by weighted least squares: the sufficient statistics that noisy marginals estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ldpstats.consistency.log_linear_terms import LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Marginal, stacked
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables.stacked import Contribution, Stacked

_STANDARD_ERRORS = 1e-4
_PROBABILITY = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedMeans:
    """Weighted least squares for the means of log-linear terms (sufficient statistics) from noisy marginals."""

    means: FloatArray  # need not be those of any distribution
    precision: FloatArray  # curvature of the misfit
    inverse: FloatArray  # of the precision
    contributions: tuple[Contribution, ...]  # of each marginal to precision · means
    errors: Stacked  # dependence of the marginals

    @classmethod
    def pooled(cls, terms: LogLinearTerms, marginals: Iterable[Marginal]) -> EstimatedMeans:
        """Estimate the means from marginals of the groups of the terms."""
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
        """Why covariances are upper bounds; empty where they are known."""
        return self.errors.bound

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the estimates."""
        return self.covariance_of(np.eye(len(self.means)))

    def covariance_of(self, sums: FloatArray) -> FloatArray:
        """Covariance of sums of the estimates, whose coefficients have shape (sums, terms)."""
        weights, many = sums @ self.inverse, len(self.means)
        if not self.errors.clusters:
            return weights @ self.errors.covariance_of(self.contributions, many) @ weights.T
        rows = np.arange(len(sums))
        parts = [Contribution(rows, weights[:, places] @ matrix) for places, matrix in self.contributions]
        return self.errors.covariance_of(parts, len(sums))

    def length(self, difference: FloatArray) -> float:
        """Length of a difference of means, in standard errors."""
        return math.sqrt(max(float(difference @ self.precision @ difference), 0.0))

    def negligible(self, difference: FloatArray, means: FloatArray) -> bool:
        """Whether a change of these means is below 1e-4 standard errors (of their misfit, if more), and 1e-5 each."""
        far = max(1.0, self.length(means - self.means))
        return self.length(difference) <= _STANDARD_ERRORS * far and bool(np.all(np.abs(difference) <= _PROBABILITY))


def equations(terms: LogLinearTerms, marginals: Iterable[Marginal]) -> tuple[FloatArray, FloatArray]:
    """Normal equations for the means of the terms: the matrix (precision), and the right-hand side."""
    many = len(terms.levels)
    precision, seen = np.zeros((many, many)), np.zeros(many)
    for one in marginals:
        places, (constant, slopes) = terms.places(one.attributes), cells_from_means(one.shape)
        weighted = one.precision[:, np.newaxis] * slopes
        precision[np.ix_(places, places)] += slopes.T @ weighted
        seen[places] += weighted.T @ (one.estimate - constant)
    return precision, seen


def misfit(terms: LogLinearTerms, marginals: Iterable[Marginal], means: FloatArray) -> float:
    """Half the sum of squared deviations of the cells from all marginals, over their variances."""
    total = 0.0
    for one in marginals:
        constant, slopes = cells_from_means(one.shape)
        deviation = constant + slopes @ means[terms.places(one.attributes)] - one.estimate
        total += float(deviation @ (one.precision * deviation)) / 2
    return total
