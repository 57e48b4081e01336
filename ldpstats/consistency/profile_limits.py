"""Profile likelihood intervals for cells of a graphical model, which hold where cells are nearly empty, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from ldpstats.consistency.log_linear_terms import CellTermCovariance, LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Attributes, Marginal, refuse_untold
from ldpstats.consistency.maximum_entropy import (
    EstimatedMeans,
    LogLinearPoint,
    MaximumEntropy,
    fit_maximum_entropy,
    minimum,
    sizes_of,
)
from ldpstats.noise import solve_or_shortest
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, refuse_no_covariance
from ldpstats.presentation import progress

FAR = 5
"""A cell so many standard errors away from zero and from one gets normal limits."""
# what entropy counts for beside the misfit: as much as the reports of so few respondents, which keeps cells positive
_ENTROPY = 0.05
# so many standard errors of measured cells: what all cells are lifted by to be well above zero, and what a cell is
# lifted by where the search for its upper limit begins
_SMOOTH = 0.5
_OUTSIDE = 4.0
_NEWTON_STEPS = 60
_LONGEST_STEP = 20.0
_HALVINGS = 30
_SETTLED = 0.03
_ROUNDS = 14
_ADAPTED = 2
_NEAR = 0.06
_NOTHING = 1e-6
_RIDGE = 1e-12
# the level of the intervals that standard errors are read off
_USUAL = 0.05


def far_from_the_ends(proportions: FloatArray, errors: FloatArray) -> BoolArray:
    """Mask of cells that are so far from zero and from one that normal limits do."""
    return np.minimum(proportions, 1 - proportions) >= FAR * errors


@dataclass(frozen=True, eq=False)
class ProfileLikelihood:
    """The least misfit of the distributions in which a cell, or a sum of cells, has some probability.

    It is followed from the outside: where the logarithm of the probability is worth κ times as much as the misfit,
    the distribution that is best for both is one of the least misfit for its probability. Newton's method finds it,
    for ever better κ. Logarithms keep all positive that the cell is made of.
    """

    marginals: tuple[Marginal, ...]
    attributes: Attributes  # of the table whose cells are asked for
    _limits: dict[tuple[bytes, float], tuple[float, float]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for marginal in self.marginals:
            refuse_no_covariance(marginal.covariance, marginal.estimate.size, "a marginal")
        refuse_untold(self.attributes, [marginal.attributes for marginal in self.marginals])

    def interval(self, members: BoolArray, z: float) -> tuple[float, float]:
        """Interval of a sum of cells."""
        if members.all() or not members.any():
            return float(members.all()), float(members.all())
        key = members.tobytes(), z
        if key not in self._limits:
            low, high = self._limit(members * 1.0, z, up=False), self._limit(members * 1.0, z, up=True)
            self._limits[key] = low, high
        return self._limits[key]

    def std_err(self, members: FloatArray) -> FloatArray:
        """Standard errors of sums of cells (rows), by `covariance`."""
        errors: FloatArray = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", members, self.covariance, members), 0))
        return errors

    @cached_property
    def model(self) -> MaximumEntropy:
        """The model of maximum entropy that is fitted to the marginals."""
        return fit_maximum_entropy(self.marginals)

    @property
    def terms(self) -> LogLinearTerms:
        """Terms of the model."""
        return self.model.terms

    @cached_property
    def is_settled(self) -> bool:
        """Whether the fit and the search for the nearest distribution converged."""
        return self.model.converged and self._nearest[0].tau <= _ENTROPY

    @cached_property
    def cells(self) -> CellTermCovariance:
        """Covariances of the table's cells with the terms."""
        return CellTermCovariance.of(self.terms, self.attributes)

    @cached_property
    def _nearest(self) -> tuple[LogLinearPoint, LogLinearPoint]:
        """The distribution nearest to the estimates, and one near to it whose cells are all well above zero.

        That is the nearest one mixed with the uniform one, as far as it has the means of a distribution of the model.
        """
        known = self._known
        nearest = minimum(self.terms, known, _ENTROPY)[0]
        uniform = LogLinearPoint.at(np.zeros(len(nearest.means)), _ENTROPY, self.terms)
        errors = [np.sqrt(np.maximum(np.diagonal(marginal.covariance), 0)).sum() for marginal in self.marginals]
        share = min(_SMOOTH * max(errors), 0.5)
        mixed = replace(known, means=(1 - share) * nearest.means + share * uniform.means)
        return nearest, minimum(self.terms, mixed, _ENTROPY)[0]

    @cached_property
    def _known(self) -> EstimatedMeans:
        """The estimated means, with distances in their covariance."""
        return self.model.known.measured_in(self.model.known.covariance_of(np.eye(len(self.model.known.means))))

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the cells by the delta method."""
        return self.model.known.covariance_of(self.response)

    @cached_property
    def response(self) -> FloatArray:
        """Derivative of the cells in the estimated means, shape (cells, terms).

        It is that at the fitted distribution only where no measured cell is near zero: there it would call zero
        certain. Else it is that at a distribution near by whose cells are all above zero.
        """
        errors = [np.sqrt(np.maximum(np.diagonal(marginal.covariance), 0)) for marginal in self.marginals]
        measured = [self.model.marginal(marginal.attributes) for marginal in self.marginals]
        if all(far_from_the_ends(cells, error).all() for cells, error in zip(measured, errors, strict=True)):
            return self.model.response(self.attributes)
        smooth = self._nearest[1]
        slope = self.cells.covariance(smooth.beliefs)
        return solve_or_shortest(smooth.covariance + _ENTROPY * self._known.inverse, slope.T).T

    @cached_property
    def _operators(self) -> tuple[FloatArray, ...]:
        """What deviations of each marginal's cells, weighed, change in the estimated means."""
        return tuple(
            self.model.known.inverse[:, self.terms.indices(marginal.attributes)]
            @ (marginal.precision[:, np.newaxis] * cells_from_means(marginal.shape)[1]).T
            for marginal in self.marginals
        )

    def _at_these(self, means: FloatArray) -> EstimatedMeans:
        """The estimated means, with variances no smaller than measured cells had under these."""
        covariance = self._known.inverse
        for marginal, operator in zip(self.marginals, self._operators, strict=True):
            more = marginal.more_variance(self.terms.cells_at(means, marginal.attributes))
            covariance = covariance + (operator * np.maximum(more, 0)) @ operator.T
        return self._known.measured_in(covariance)

    def _limit(self, members: FloatArray, z: float, up: bool) -> float:
        """Search for the push at which the excess over the least misfit is what is allowed; see `ProfileObjective`.

        Small probabilities may drop to zero at once as the push grows, and the excess with them: then the limit is on
        the conservative side of the drop.
        """
        known, error = self._known, float(self.std_err(members[np.newaxis])[0])
        start, push = self._begin(members, z, up, error)
        tried: list[tuple[float, float, float]] = []  # pushes, with the probability and excess they have led to
        for round_ in range(_ROUNDS):
            climb = ProfileObjective(self, members, up, push, known)
            point = climb.settled(climb.revived(climb.settled(start)))
            if up and round_ < _ADAPTED:
                known = self._at_these(point.means)
            frequency = climb.frequency(point)
            excess = math.sqrt(max(known.misfit(point.means) - known.misfit(self._nearest[0].means), 0.0))
            if not up and frequency <= _NOTHING * error and excess <= z:
                return 0.0
            if abs(excess - z) <= _NEAR * z and (round_ or not up):
                # on the short way left what is gained, times the push, is what half the squared distance grows by
                gain = excess * (z - excess) / push
                return min(frequency * math.exp(gain), 1.0) if up else max(frequency - gain, 0.0)
            tried.append((push, frequency, excess))
            push = _next_push(tried, z)
            start = point if up or excess <= z else start
        beyond = [trial for trial in tried if trial[2] >= z]
        return min(beyond, key=lambda trial: trial[2], default=(push, float(up), z))[1]

    def _begin(self, members: FloatArray, z: float, up: bool, error: float) -> tuple[LogLinearPoint, float]:
        """A distribution to begin with, and a push that might do.

        Upward it is one in which everything that the cell is made of is frequent, lest the search end too early.
        """
        nearest, smooth = self._nearest
        if not up:
            return nearest, z / error
        near, usual = (float(members @ point.beliefs.marginal(self.attributes).ravel()) for point in (nearest, smooth))
        inside = smooth.means + members @ self.cells.covariance(smooth.beliefs) / usual
        errors = [np.sqrt(np.maximum(np.diagonal(marginal.covariance), 0)) for marginal in self.marginals]
        share = min(_OUTSIDE * float(np.median(np.concatenate(errors))), 0.5)
        means = (1 - share) * smooth.means + share * inside
        return minimum(self.terms, replace(self._known, means=means), _ENTROPY, smooth)[0], z * (z + near / error)


def _next_push(tried: Sequence[tuple[float, float, float]], z: float) -> float:
    """Secant step: where the line through the last two trials, in logarithms, reaches z, within the known bracket."""
    at = [(math.log(push), math.log(max(excess, _NOTHING))) for push, _, excess in tried]
    (push, excess), slope = at[-1], 0.7
    if len(at) > 1 and push != at[-2][0]:
        slope = min(max((excess - at[-2][1]) / (push - at[-2][0]), 0.3), 3.0)
    secant = push + (math.log(z) - excess) / slope
    low = max((push for push, value in at if value < math.log(z)), default=-math.inf)
    high = min((push for push, value in at if value >= math.log(z)), default=math.inf)
    return math.exp(secant if low < secant < high or not math.isfinite(low + high) else (low + high) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class ProfileObjective:
    """Balance of a probability, to be large or small, against the misfit.

    `push` is what the logarithm of the probability (up), or the probability (down), is worth, compared with half the
    squared distance.
    """

    profile: ProfileLikelihood
    members: FloatArray  # 1 for cells that are added up
    up: bool
    push: float
    known: EstimatedMeans

    def frequency(self, point: LogLinearPoint) -> float:
        """Probability of the sum of cells."""
        return float(self.members @ point.beliefs.marginal(self.profile.attributes).ravel())

    def cost(self, point: LogLinearPoint) -> float:
        """Objective to be minimized."""
        terms, frequency = self.profile.terms, self.frequency(point)
        if frequency <= 0 and self.up:
            return math.inf
        height = math.log(frequency) if self.up else -frequency
        entropy = terms.tree.log_total(terms.potentials(point.weights)) - float(point.weights @ point.means)
        return self.known.misfit(point.means) / 2 - _ENTROPY * entropy - self.push * height

    def settled(self, point: LogLinearPoint) -> LogLinearPoint:
        """Minimize it from some point on, with Newton's steps (Gauss-Newton for the misfit)."""
        cost = self.cost(point)
        for _ in range(_NEWTON_STEPS):
            weighted = point.covariance @ self.known.precision
            gradient = weighted @ (point.means - self.known.means) + _ENTROPY * (point.covariance @ point.weights)
            gradient = gradient - self.push * self._rate(point)
            bend = _ENTROPY + self.push * (1.0 if self.up else self.frequency(point))
            curvature = weighted @ point.covariance + bend * point.covariance
            diagonal, beside = np.diagonal(curvature), np.abs(curvature).max(axis=1)
            # what is rounding is not followed: a large push would make a negative curvature of it
            scale = np.sqrt(np.where(diagonal > np.finfo(float).eps * beside, diagonal, math.inf))
            scaled = curvature / np.outer(scale, scale) + _RIDGE * np.eye(scale.size)
            step = -solve_or_shortest(scaled, gradient / scale) / scale
            step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
            slope = float(gradient @ step)
            if -slope <= _SETTLED**2:
                break
            for length in 0.5 ** np.arange(_HALVINGS):
                tried = LogLinearPoint.at(point.weights + length * step, _ENTROPY, self.profile.terms)
                if (value := self.cost(tried)) <= cost + 1e-4 * length * slope:
                    break
            else:
                break
            point, cost = tried, value
        return point

    def revived(self, point: LogLinearPoint) -> LogLinearPoint:
        """A better distribution, if there is one with cells that Newton's steps have brought to zero.

        They cannot bring them back, as nothing changes there any more. The dual problem can, in which the logarithm of
        the probability is taken for a quadratic function of the means.
        """
        known, push = self.known, self.push
        bend = push if self.up else 0.0
        pull = solve_or_shortest(point.covariance + _ENTROPY * known.inverse, self._rate(point))
        reach = known.inverse @ pull
        precision = known.precision + bend * np.outer(pull, pull)
        covariance = known.inverse - bend / (1 + bend * float(pull @ reach)) * np.outer(reach, reach)
        seen = known.precision @ known.means + (push + bend * float(pull @ point.means)) * pull
        known = replace(known, means=covariance @ seen, precision=precision, inverse=covariance)
        better = minimum(self.profile.terms, known, _ENTROPY, point)[0]
        return better if self.cost(better) < self.cost(point) else point

    def _rate(self, point: LogLinearPoint) -> FloatArray:
        """Gradient of what is pushed, in the weights of the terms."""
        slope = self.members @ self.profile.cells.covariance(point.beliefs)
        return slope / self.frequency(point) if self.up else -slope


@dataclass(frozen=True, slots=True, eq=False)
class ProfileLimits:
    """Profile likelihood intervals for cells of a model, or for sums of them.

    A distribution's misfit is the squared distance of the means of its terms from their unbiased estimates, in the
    covariance of these. The interval of a cell holds its probabilities in all distributions of the model whose misfit
    exceeds the least one by no more than the squared normal quantile: it inverts the likelihood-ratio test of normal
    estimates. No cell of these distributions is negative, so that the limits of a cell that is estimated as zero allow
    for all that the estimates of other cells leave for it, and no more.

    Where hardly any report came from a cell its estimated variance is too small. For upper limits the variances of all
    measured cells are therefore those that they had at the limit, as in Wilson's interval (1927).

    A cell that is five standard errors away from zero and from one gets normal limits, by the delta method.
    """

    profile: ProfileLikelihood
    of_cell: IntArray  # index of the sum of each cell of the profile's table
    size: int  # number of sums

    @classmethod
    def of(cls, marginals: Sequence[Marginal], attributes: Attributes) -> ProfileLimits:
        """Limits of the cells of a table of some attributes, by the model that is fitted to marginals."""
        cells = math.prod(sizes_of(marginals)[name] for name in attributes)
        return cls(ProfileLikelihood(tuple(marginals), attributes), np.arange(cells), cells)

    @property
    def kind(self) -> str:
        """Which cells have which limits."""
        if not self.profile.is_settled:
            return "none, as the fit did not converge"
        far = far_from_the_ends(self._proportions(), self._delta())
        if far.all():
            return "normal, by the delta method"
        mixed = f"; normal, by the delta method, {FAR} standard errors away from 0 and 1" if far.any() else ""
        return f"profile likelihood{mixed}"

    def limits(self, alpha: float) -> FloatArray:
        """Pointwise intervals, shape (cells, 2), which contain what the model says."""
        if not self.profile.is_settled:
            return np.tile([0.0, 1.0], (self.size, 1))
        z = _quantile(alpha)
        proportions, errors = self._proportions(), self._delta()
        limits = np.stack([proportions - z * errors, proportions + z * errors], axis=-1)
        for cell in progress(np.flatnonzero(~far_from_the_ends(proportions, errors)), "profile limits", unit="cell"):
            low, high = self.profile.interval(self.of_cell == cell, z)
            limits[cell] = min(low, proportions[cell]), max(high, proportions[cell])
        return limits

    @property
    def std_err(self) -> FloatArray:
        """Standard errors with which normal intervals of .95 would just contain these, whose longer side they have.

        A cell that is estimated as zero has no other: by the delta method zero would be certain.
        """
        reach: FloatArray = np.abs(self.limits(_USUAL) - self._proportions()[:, np.newaxis]).max(axis=1)
        return reach / _quantile(_USUAL)

    def summed(self, of_cell: IntArray, size: int) -> ProfileLimits:
        """Limits of sums, `of_cell` being the index of the sum that each of these belongs to."""
        return replace(self, of_cell=np.asarray(of_cell)[self.of_cell], size=size)

    def _members(self) -> FloatArray:
        return np.eye(self.size)[:, self.of_cell]

    def _proportions(self) -> FloatArray:
        return self._members() @ self.profile.model.marginal(self.profile.attributes)

    def _delta(self) -> FloatArray:
        return self.profile.std_err(self._members())


def _quantile(alpha: float) -> float:
    return -NormalDist().inv_cdf(alpha / 2)
