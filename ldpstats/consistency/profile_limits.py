"""Profile likelihood intervals for cells of a graphical model, which hold where cells are nearly empty, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ldpstats.consistency.marginals import Attributes, Marginal
from ldpstats.consistency.profile_likelihood import FAR, ProfileLikelihood, far_from_the_ends
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import progress

_USUAL = 0.05


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
        sizes = {name: side for one in marginals for name, side in zip(one.attributes, one.shape, strict=True)}
        cells = math.prod(sizes[name] for name in attributes)
        return cls(ProfileLikelihood(tuple(marginals), attributes), np.arange(cells), cells)

    @property
    def kind(self) -> str:
        """Which cells have which limits."""
        if not self.profile.is_settled:
            return "none, as the fit did not converge"
        far = far_from_the_ends(self._found(), self._delta())
        if far.all():
            return "normal, by the delta method"
        mixed = f"; normal, by the delta method, {FAR} standard errors away from 0 and 1" if far.any() else ""
        return f"profile likelihood{mixed}"

    def limits(self, alpha: float) -> FloatArray:
        """Pointwise intervals, shape (cells, 2), which contain what the model says."""
        if not self.profile.is_settled:
            return np.tile([0.0, 1.0], (self.size, 1))
        z = _quantile(alpha)
        found, errors = self._found(), self._delta()
        limits = np.stack([found - z * errors, found + z * errors], axis=-1)
        for cell in progress(np.flatnonzero(~far_from_the_ends(found, errors)), "profile limits", unit="cell"):
            low, high = self.profile.interval(self.of_cell == cell, z)
            limits[cell] = min(low, found[cell]), max(high, found[cell])
        return limits

    @property
    def std_err(self) -> FloatArray:
        """Standard errors with which normal intervals of .95 would just contain these, whose longer side they have.

        A cell that is estimated as zero has no other: by the delta method zero would be certain.
        """
        reach: FloatArray = np.abs(self.limits(_USUAL) - self._found()[:, np.newaxis]).max(axis=1)
        return reach / _quantile(_USUAL)

    def summed(self, of_cell: IntArray, size: int) -> ProfileLimits:
        """Limits of sums, `of_cell` being the index of the sum that each of these belongs to."""
        return replace(self, of_cell=np.asarray(of_cell)[self.of_cell], size=size)

    def _members(self) -> FloatArray:
        return np.eye(self.size)[:, self.of_cell]

    def _found(self) -> FloatArray:
        return self._members() @ self.profile.model.marginal(self.profile.attributes)

    def _delta(self) -> FloatArray:
        return self.profile.std_err(self._members())


def _quantile(alpha: float) -> float:
    return -NormalDist().inv_cdf(alpha / 2)
