"""Maximum entropy: the log-linear model with the interactions of the measured groups, fitted to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ldpstats.answers.columns import listed
from ldpstats.consistency.junction_tree import Beliefs, JunctionTree
from ldpstats.consistency.log_linear_terms import CellTermCovariance, LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Attributes, Marginal, stacked
from ldpstats.errors import LdpstatsError
from ldpstats.noise import solve_or_shortest
from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import progress
from ldpstats.tables.shared import Contribution, Stacked

MOST_CELLS = 2**20
"""So many cells may the tables of all cliques have: every step of a fit goes through them."""
MOST_TERMS = 2**11
"""So many terms may the model have: every step of a fit solves as many equations."""
# what changes of means are negligible: in standard errors of all together, and in probability of each
_STANDARD_ERRORS = 1e-4
_PROBABILITY = 1e-5
_DECADES = 40
_MOST_STEPS = 100
_MOST_HALVINGS = 40
_RIDGE = 1e-12


def equations(
    terms: LogLinearTerms, marginals: Iterable[Marginal]
) -> tuple[FloatArray, FloatArray, tuple[Contribution, ...]]:
    """Normal equations for the means of the terms: matrix, right-hand side, what each marginal adds to that."""
    many, contributions = len(terms.levels), []
    precision, seen = np.zeros((many, many)), np.zeros(many)
    for marginal in marginals:
        indices, (constant, slopes) = terms.indices(marginal.attributes), cells_from_means(marginal.shape)
        weighted = marginal.precision[:, np.newaxis] * slopes
        precision[np.ix_(indices, indices)] += slopes.T @ weighted
        seen[indices] += weighted.T @ (marginal.estimate - constant)
        contributions.append(Contribution(indices, weighted.T @ marginal.sums))
    return precision, seen, tuple(contributions)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedMeans:
    """Weighted least squares for the means of log-linear terms (sufficient statistics) from noisy marginals."""

    means: FloatArray  # need not be those of any distribution
    precision: FloatArray  # curvature of the misfit
    inverse: FloatArray  # of the precision
    contributions: tuple[Contribution, ...]  # of each marginal to precision · means
    errors: Stacked  # dependence of the marginals

    @classmethod
    def pooled(cls, terms: LogLinearTerms, marginals: Sequence[Marginal]) -> EstimatedMeans:
        """Estimate the means from marginals of the groups of the terms."""
        precision, seen, contributions = equations(terms, marginals)
        inverse = np.linalg.inv(precision)
        return cls(inverse @ seen, precision, inverse, contributions, stacked(marginals))

    def covariance_of(self, sums: FloatArray) -> FloatArray:
        """Covariance of sums of the estimates, whose coefficients have shape (sums, terms)."""
        weights, rows = sums @ self.inverse, np.arange(len(sums))
        if not self.errors.clusters:
            of_terms = self.errors.covariance_of(self.contributions, len(self.means))
            return weights @ of_terms @ weights.T
        parts = [Contribution(rows, weights[:, places] @ matrix) for places, matrix in self.contributions]
        return self.errors.covariance_of(parts, len(sums))

    def measured_in(self, covariance: FloatArray) -> EstimatedMeans:
        """The same estimates, with distances (Mahalanobis) in another covariance of them."""
        scale = np.sqrt(np.diagonal(covariance))
        correlation = covariance / np.outer(scale, scale) + _RIDGE * np.eye(scale.size)
        return replace(self, precision=np.linalg.inv(correlation) / np.outer(scale, scale), inverse=covariance)

    def misfit(self, means: FloatArray) -> float:
        """Squared distance of means from the estimates."""
        return float((means - self.means) @ self.precision @ (means - self.means))

    def length(self, difference: FloatArray) -> float:
        """Length of a difference of means, in standard errors."""
        return math.sqrt(max(float(difference @ self.precision @ difference), 0.0))

    def negligible(self, difference: FloatArray, means: FloatArray) -> bool:
        """Whether a change of these means is below 1e-4 standard errors (of their misfit, if more), and 1e-5 each."""
        far = max(1.0, self.length(means - self.means))
        return self.length(difference) <= _STANDARD_ERRORS * far and bool(np.all(np.abs(difference) <= _PROBABILITY))


class LogLinearPoint(NamedTuple):
    """A log-linear distribution, fitted with the weight τ on the entropy."""

    tau: float
    weights: FloatArray
    beliefs: Beliefs
    means: FloatArray
    covariance: FloatArray  # of the terms: the derivative of the means

    @classmethod
    def at(cls, weights: FloatArray, tau: float, terms: LogLinearTerms) -> LogLinearPoint:
        """The distribution with these weights of the terms."""
        beliefs = terms.tree.beliefs(terms.potentials(weights))
        return cls(tau, weights, beliefs, *terms.moments(beliefs))

    def gradient(self, known: EstimatedMeans) -> FloatArray:
        """Gradient of the dual problem: its means less η̂, plus τ V θ."""
        return self.means - known.means + self.tau * (known.inverse @ self.weights)

    def curvature(self, known: EstimatedMeans) -> FloatArray:
        """Second derivatives (Hessian) of the dual problem."""
        return self.covariance + self.tau * known.inverse


def minimum(
    terms: LogLinearTerms, known: EstimatedMeans, least: float = 0.0, start: LogLinearPoint | None = None
) -> tuple[LogLinearPoint, bool]:
    """Follow the minimum of the dual problem as τ falls by tenths to a least value, and say whether Newton got there.

    Without one it is followed to the limit of none, where means no longer change. From a `start`, the least value is
    tried at once.
    """
    if start is None:
        start = LogLinearPoint.at(np.zeros(len(terms.levels)), 1.0, terms)
        # at a minimum the weights are the precision times what the means lack, over τ: none above one to begin with
        most = float(np.abs(known.precision @ (known.means - start.means)).max(initial=0.0))
        last, converged = _minimum(start._replace(tau=most or 1.0), terms, known)
    else:
        last, converged = _minimum(start._replace(tau=least), terms, known)
    for _ in range(_DECADES) if least else progress(range(_DECADES), "maximizing the entropy", unit="step"):
        if not converged or (least and last.tau <= least):
            break
        point, converged = _minimum(last._replace(tau=max(last.tau / 10, least)), terms, known)
        if converged and not least and known.negligible(point.means - last.means, point.means):
            return _polished(point, terms, known), True
        last = point if converged else last
    return last, converged and last.tau <= least


def _minimum(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> tuple[LogLinearPoint, bool]:
    """Minimize the dual problem by Newton's method, and say whether that succeeded.

    The means are then as near to those of the minimum as the gradient is short: they are what the minimum would have
    if the gradient were added to η̂, and they never move farther than η̂ does (Moreau 1965: a proximal map). A step is
    halved until the dual problem falls by about what its slope promises (Armijo 1966).
    """

    def value(weights: FloatArray) -> float:
        penalty = point.tau / 2 * float(weights @ known.inverse @ weights)
        return terms.tree.log_total(terms.potentials(weights)) - float(weights @ known.means) + penalty

    for _ in range(_MOST_STEPS):
        gradient = point.gradient(known)
        if known.negligible(gradient, point.means):
            return point, True
        step = -solve_or_shortest(point.curvature(known), gradient)
        slope, begin = float(gradient @ step), value(point.weights)
        rounding = 1e-13 * float(np.abs(point.weights) @ (1 + np.abs(known.means)))
        for length in 0.5 ** np.arange(_MOST_HALVINGS if slope < 0 else 0):
            if value(point.weights + length * step) <= begin + 1e-4 * length * slope + rounding:
                point = LogLinearPoint.at(point.weights + length * step, point.tau, terms)
                break
        else:
            break
    return point, False


def _polished(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> LogLinearPoint:
    """Take Newton's last steps as long as they at least halve the gradient, which rounding errors end."""
    while True:
        gradient = point.gradient(known)
        step = -solve_or_shortest(point.curvature(known), gradient)
        nearer = LogLinearPoint.at(point.weights + step, point.tau, terms)
        if 2 * known.length(nearer.gradient(known)) >= known.length(gradient):
            return point
        point = nearer


def fit_maximum_entropy(marginals: Iterable[Marginal]) -> MaximumEntropy:
    """Find the distribution of maximum entropy among those that come nearest to all marginals.

    Nearest means the least misfit: the sum of (fitted − estimated)² / (2 variance) over all cells of all marginals.
    Many distributions reach it. The one of maximum entropy is log-linear, with no interaction that was not measured:
    the Markov random field whose cliques are the measured groups (McKenna, Sheldon & Miklau 2019). Groups may come
    several times, or within others.

    It is the limit of what minimises misfit − τ · entropy, as τ goes to zero. With η̂ the means of the terms that the
    marginals give by least squares, and V the inverse curvature of the misfit, the dual problem is to minimise
    ln Z(θ) − θᵀη̂ + ½ τ θᵀVθ over the weights θ of the terms. Newton's method does that for one τ after the other,
    each a tenth of the last, until no mean moves by more than 1e-5, nor all together by more than 1e-4 standard
    errors. (Where the marginals are many standard errors away from any distribution, by 1e-4 of that distance.)
    """
    given = list(marginals)
    groups, sizes = [marginal.attributes for marginal in given], sizes_of(given)
    tree = affordable_tree(groups, sizes)
    if tree is None:
        raise LdpstatsError(
            f"{len(given)} marginals of {len(sizes)} attributes, whose model is too large",
            f"at most {MOST_CELLS:,} cells, and {MOST_TERMS:,} terms of the log-linear model",
            "Take those that bear upon a few attributes: `relevant_marginals` chooses them.",
        )
    terms = LogLinearTerms.of(tree, groups)
    known = EstimatedMeans.pooled(terms, given)
    return MaximumEntropy(terms, known, *minimum(terms, known))


def weighed_together(marginals: Iterable[Marginal]) -> list[Marginal]:
    """The marginals, their cells weighed by the variances that they have at what all of them say together.

    Weighed by its own estimate, a cell that was counted too seldom counts for more than one counted too often.
    """
    given = list(marginals)
    groups = [marginal.attributes for marginal in given]
    terms = LogLinearTerms.of(JunctionTree.of(groups, sizes_of(given)), groups)
    precision, seen, _ = equations(terms, given)
    means = np.linalg.solve(precision, seen)
    return [replace(marginal, expected=terms.cells_at(means, marginal.attributes)) for marginal in given]


@dataclass(frozen=True, slots=True, eq=False)
class MaximumEntropy:
    """The distribution of maximum entropy that comes nearest to noisy marginals; see `fit_maximum_entropy`."""

    terms: LogLinearTerms
    known: EstimatedMeans  # what the marginals tell of the means of the terms
    point: LogLinearPoint  # where the fit ended
    converged: bool

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Probabilities of the cells of any attributes, flat, the last one varying fastest."""
        return self.point.beliefs.marginal(attributes).ravel()

    def covariance(self, attributes: Iterable[str]) -> FloatArray:
        """Covariance of `marginal(attributes)`, by the delta method.

        It is an upper bound where the dependence of the tables is not known (`known.errors.bound`). Near cells that are
        fitted as zero, because the estimates ask for less, it is too small: zero cells are zero in the linear
        approximation, too.
        """
        return self.known.covariance_of(self.response(attributes))

    def response(self, attributes: Iterable[str]) -> FloatArray:
        """Derivative of `marginal(attributes)` in the estimated means, shape (cells, terms)."""
        slope = CellTermCovariance.of(self.terms, listed(attributes)).covariance(self.point.beliefs)
        return solve_or_shortest(self.point.curvature(self.known), slope.T).T


def affordable_tree(
    groups: Sequence[Attributes], sizes: Mapping[str, int], most_cells: int = MOST_CELLS
) -> JunctionTree | None:
    """Junction tree of the groups; None if it or their model is too large."""
    tree = JunctionTree.of(groups, sizes)
    # every cell of a group but one has a term: no need to list those of a group that has too many by itself
    if tree.cells > most_cells or max(math.prod(tree.shape(group)) for group in groups) > MOST_TERMS + 1:
        return None
    parts = {
        frozenset(part) for group in groups for some in range(len(group)) for part in combinations(group, some + 1)
    }
    return tree if sum(math.prod(sizes[name] - 1 for name in part) for part in parts) <= MOST_TERMS else None


def sizes_of(marginals: Iterable[Marginal]) -> Mapping[str, int]:
    """Number of categories of every attribute, on which the marginals must agree."""
    sizes: dict[str, int] = {}
    for marginal in marginals:
        for name, size in zip(marginal.attributes, marginal.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise LdpstatsError(f"marginals with {sizes[name]} and {size} categories of {name!r}", "one number")
    return sizes
