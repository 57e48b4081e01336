"""Newton's method for the dual problem of maximum entropy, with ever less weight on the entropy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpstats.consistency.estimated_means import EstimatedMeans
from ldpstats.consistency.junction_tree import Beliefs
from ldpstats.consistency.log_linear_terms import LogLinearTerms
from ldpstats.noise import solve_or_shortest
from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import progress

_DECADES = 40
_MOST_STEPS = 100
_MOST_HALVINGS = 40


class LogLinearPoint(NamedTuple):
    """A log-linear distribution, fitted with the weight τ on the entropy."""

    tau: float
    weights: FloatArray
    beliefs: Beliefs
    means: FloatArray
    spread: FloatArray  # covariance of the terms, the derivative of the means

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
        return self.spread + self.tau * known.inverse

    def newton_step(self, known: EstimatedMeans) -> FloatArray:
        """Newton's step of the dual problem."""
        return -solve_or_shortest(self.curvature(known), self.gradient(known))


def with_entropy(
    terms: LogLinearTerms, known: EstimatedMeans, least: float, start: LogLinearPoint | None = None
) -> list[LogLinearPoint]:
    """Minima of the dual problem as τ falls by tenths to a least value, or as far as Newton's method converges.

    From a `start`, the least value of τ is tried at once.
    """
    begin = _uniform(terms, known) if start is None else start._replace(tau=least)
    point, found = _minimum(begin, terms, known)
    points = [point]
    while found and points[-1].tau > least:
        point, found = _minimum(points[-1]._replace(tau=max(points[-1].tau / 10, least)), terms, known)
        points += [point] if found else []
    return points


def _uniform(terms: LogLinearTerms, known: EstimatedMeans) -> LogLinearPoint:
    """The uniform distribution, with a τ to begin with."""
    uniform = LogLinearPoint.at(np.zeros(len(terms.levels)), 1.0, terms)
    # at a minimum the weights are the precision times what the means lack, over τ: none above one to begin with
    most = float(np.abs(known.precision @ (known.means - uniform.means)).max(initial=0.0))
    return uniform._replace(tau=most or 1.0)


def minimum_in_the_limit(terms: LogLinearTerms, known: EstimatedMeans) -> tuple[LogLinearPoint, bool]:
    """Follow the minimum of the dual problem as τ goes to zero, and whether it converged."""
    last, found = _minimum(_uniform(terms, known), terms, known)
    for _ in progress(range(_DECADES), "maximizing the entropy", unit="step"):
        if not found:
            break
        point, found = _minimum(last._replace(tau=last.tau / 10), terms, known)
        if found and known.negligible(point.means - last.means, point.means):
            return _polished(point, terms, known), True
        last = point if found else last
    return last, False


def _minimum(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> tuple[LogLinearPoint, bool]:
    """Minimize the dual problem by Newton's method, and say whether that succeeded.

    The means are then as near to those of the minimum as the gradient is short: they are what the minimum would have
    if the gradient were added to η̂, and they never move farther than η̂ does (Moreau 1965: a proximal map).
    """
    for _ in range(_MOST_STEPS):
        if known.negligible(point.gradient(known), point.means):
            return point, True
        step = point.newton_step(known)
        length = _step_length(point, step, terms, known)
        if not length:
            break
        point = LogLinearPoint.at(point.weights + length * step, point.tau, terms)
    return point, False


def _step_length(point: LogLinearPoint, step: FloatArray, terms: LogLinearTerms, known: EstimatedMeans) -> float:
    """Line search: halve a step until the dual problem falls by about what its slope promises (Armijo 1966)."""

    def value(weights: FloatArray) -> float:
        penalty = point.tau / 2 * float(weights @ known.inverse @ weights)
        return terms.tree.log_total(terms.potentials(weights)) - float(weights @ known.means) + penalty

    slope, start = float(point.gradient(known) @ step), value(point.weights)
    rounding = 1e-13 * float(np.abs(point.weights) @ (1 + np.abs(known.means)))
    for length in 0.5 ** np.arange(_MOST_HALVINGS if slope < 0 else 0):
        if value(point.weights + length * step) <= start + 1e-4 * length * slope + rounding:
            return float(length)
    return 0.0


def _polished(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> LogLinearPoint:
    """Take Newton's last steps as long as they at least halve the gradient, which rounding errors end."""
    while True:
        nearer = LogLinearPoint.at(point.weights + point.newton_step(known), point.tau, terms)
        if 2 * known.length(nearer.gradient(known)) >= known.length(point.gradient(known)):
            return point
        point = nearer
