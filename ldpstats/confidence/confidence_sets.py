"""Confidence sets by inverting tests: Fieller's for a quotient, the noncentral χ² law's for a squared length.

Every class answers `limits(alpha)`, for one or many tables at once, with an array of shape (..., pieces, 2): the
lower and upper limits of the pieces that make up the set, nan for a piece that is not there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray

if TYPE_CHECKING:
    from ldpstats.confidence.group_means import GroupMeans

_FAR = 1e6
# probabilities below this one have lost digits, or are no doubles any more
_LEAST = 1e-280


class Inversion(Protocol):
    """A family of confidence sets of one quantity, a set for every level."""

    @property
    def words(self) -> str:
        """How the sets are made, and what is not exact about them."""

    def limits(self, alpha: float) -> FloatArray:
        """Return the pieces of the set of level 1 - alpha, shape (..., pieces, 2)."""


@dataclass(frozen=True, slots=True)
class PossibleRange:
    """All that was possible beforehand: the set of a quantity that the reports tell nothing about."""

    lowest: float
    highest: float

    @property
    def words(self) -> str:
        """How the set is made."""
        return "what was possible beforehand"

    def limits(self, alpha: float) -> FloatArray:  # noqa: ARG002  # the same at every level
        """Return the range."""
        return np.array([[self.lowest, self.highest]])


@dataclass(frozen=True, slots=True, eq=False)
class FiellerQuotient:
    """A quotient X / Y of two estimates, by Fieller's argument: the ψ with (X - ψY)² at most z² Var(X - ψY).

    That is a quadratic inequality in ψ. Where Y is not clearly different from zero its solutions are unbounded: two
    rays, or everything. They are cut to the possible range; nothing is left where the estimates are far from it.
    """

    pair: FloatArray  # X and Y, shape (..., 2)
    covariance: FloatArray
    lowest: float  # with `highest` the possible range
    highest: float

    @classmethod
    def of_forms(
        cls,
        cells: FloatArray,
        covariance: FloatArray,
        forms: tuple[FloatArray, FloatArray],
        lowest: float,
        highest: float,
    ) -> FiellerQuotient:
        """Return the quotient of two quadratic forms in the cells.

        The covariance of πᵀAπ and πᵀBπ for normal π is 4 πᵀAΣBπ + 2 tr(AΣBΣ). The second term is what the delta method
        leaves out; without it intervals for products of cells that are small beside their noise cover too seldom
        (measured: .90 instead of .94 for an odds ratio of a 4-by-4 table).
        """
        stacked = np.stack(forms)
        gradients = 2 * np.stack([cells @ form for form in forms], axis=-2)
        weighted = stacked @ covariance[..., None, :, :]
        covariance_of_forms = gradients @ covariance @ np.swapaxes(gradients, -1, -2)
        covariance_of_forms = covariance_of_forms + 2 * np.einsum("...aij,...bji->...ab", weighted, weighted)
        return cls((gradients * cells[..., None, :]).sum(axis=-1) / 2, covariance_of_forms, lowest, highest)

    @classmethod
    def of_contrast(cls, cells: FloatArray, covariance: FloatArray, contrast: FloatArray) -> FiellerQuotient:
        """Return a difference of proportions, as a quotient whose denominator is one."""
        pair = np.stack([cells @ contrast, np.ones(cells.shape[:-1])], axis=-1)
        variance = (covariance @ contrast) @ contrast
        return cls(pair, variance[..., None, None] * np.diag([1.0, 0.0]), -1.0, 1.0)

    @classmethod
    def of_means(cls, cells: FloatArray, covariance: FloatArray, means: GroupMeans) -> FiellerQuotient:
        """Return the mean of a group as the quotient that it is; of two, the ratio or the difference."""
        quantity, shares, forms = means.quantity, cells @ means.members, means.forms
        if means.name == "difference":
            slope = means.slope(shares)[means.parts]
            variance = (slope @ covariance @ slope) * np.diag([1.0, 0.0])
            return cls(np.array([float(means.value(shares)), 1.0]), variance, quantity.lowest, quantity.highest)
        if means.name == "ratio":  # of two quotients, to first order
            sizes = (forms[2:] @ cells)[:, None]
            quotients = forms[:2] @ cells / sizes[:, 0]
            forms = (forms[:2] - quotients[:, None] * forms[2:]) / sizes
            return cls(quotients, forms @ covariance @ forms.T, quantity.lowest, quantity.highest)
        return cls(forms @ cells, forms @ covariance @ forms.T, quantity.lowest, quantity.highest)

    @property
    def words(self) -> str:
        """How the sets are made."""
        return "Fieller's argument, with the estimated covariance (a normal approximation)"

    def limits(self, alpha: float) -> FloatArray:
        """Return one or two pieces, in ascending order."""
        return self._pieces(np.square(NormalDist().inv_cdf(alpha / 2)))

    def sides(self, value: float) -> tuple[float, float]:
        """Return one-sided p-values of a single quotient: that it is so large or larger, and so small or smaller."""
        weights = np.array([1.0, -value])
        gap, variance = float(self.pair @ weights), float(weights @ self.covariance @ weights)
        below = NormalDist().cdf(gap / math.sqrt(variance)) if variance > 0 else float(gap >= 0)
        return below, 1 - below if variance > 0 else float(gap <= 0)

    def limits_of_parts(self, alpha: float) -> FloatArray:
        """Return the shortest single pieces where X is a part of Y, both of them proportions, shape (..., 2).

        Estimates may be improper. Where X is below zero, or above Y, quotients are compared with the possible one that
        fits best, 0 or 1, and not with X / Y: so no set is empty. Everything is possible where Y is not above zero, or
        where improper estimates seem to be certain. Elsewhere this changes nothing.
        """
        (x, y), covariance = np.moveaxis(self.pair, -1, 0), self.covariance
        of_rest = covariance[..., 0, 0] - 2 * covariance[..., 0, 1] + covariance[..., 1, 1]
        ends = [_squared(x, covariance[..., 0, 0]), _squared(y - x, of_rest)]
        beyond = np.where((x < 0) | (x > y), np.minimum(*ends), 0.0)
        pieces = self._pieces(np.square(NormalDist().inv_cdf(alpha / 2)) + beyond)
        hull = np.stack([np.fmin.reduce(pieces[..., 0], axis=-1), np.fmax.reduce(pieces[..., 1], axis=-1)], axis=-1)
        told = (y > 0) & ~np.isnan(hull).any(axis=-1)
        return np.where(told[..., None], hull, [self.lowest, self.highest])

    def _pieces(self, squared: FloatArray) -> FloatArray:
        """Return the quotients whose squared distance, in standard errors, is at most this."""
        excess = self.pair[..., :, None] * self.pair[..., None, :] - squared[..., None, None] * self.covariance
        constant, half, leading = excess[..., 0, 0], excess[..., 0, 1], excess[..., 1, 1] + 0.0
        discriminant = half**2 - leading * constant
        shifted = half + np.copysign(np.sqrt(np.maximum(discriminant, 0)), half)
        # a denominator of nothing, or hardly anything, stands for a limit at infinity; 0/0 for everything, below
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            roots = np.sort(np.stack([shifted / leading, constant / shifted], axis=-1), axis=-1)
        # the quotient itself is always in the set, so a parabola that opens upwards has roots
        everything = np.isnan(roots).any(axis=-1) | ((leading < 0) & (discriminant <= 0))
        nothing, below, above = (np.full(leading.shape, value) for value in (np.nan, -np.inf, np.inf))
        within = np.stack([roots, np.stack([nothing, nothing], axis=-1)], axis=-2)
        outside = np.stack(
            [np.stack([below, roots[..., 0]], axis=-1), np.stack([roots[..., 1], above], axis=-1)], axis=-2
        )
        pieces = np.where((leading < 0)[..., None, None], outside, within)
        pieces[everything] = [[-np.inf, np.inf], [np.nan, np.nan]]
        return self._possible(pieces)

    def _possible(self, pieces: FloatArray) -> FloatArray:
        low, high = np.maximum(pieces[..., 0], self.lowest), np.minimum(pieces[..., 1], self.highest)
        return np.where((low <= high)[..., None], np.stack([low, high], axis=-1), np.nan)


def _squared(value: FloatArray, variance: FloatArray) -> FloatArray:
    """Return squared distances from zero in standard errors; 0 where the variance is not positive."""
    return np.divide(value**2, variance, out=np.zeros(value.shape), where=variance > 0)


@dataclass(frozen=True, slots=True, eq=False)
class NoncentralSquare:
    """A squared length whose estimate, lengthened by noise, is about a scaled noncentral χ² variable.

    With S the true square, the estimate is taken as w χ'²_ν(S / w), where wν is what the noise adds on average. The
    limits are those S at which what was seen is at the tails, for the quantity (S / scale) ** power. Where even no
    length at all would seldom show so little, an upper tail taken as it stands would leave nothing but zero; it is
    therefore taken as a share of the tail without any length, which makes the interval longer there and nowhere else.
    """

    squared: FloatArray
    added: FloatArray  # wν, what the noise adds on average
    stretch: FloatArray  # w: the variance of a large estimate over four times its square
    scale: float
    power: float
    highest: float  # the most that the quantity can be

    @property
    def words(self) -> str:
        """How the set is made."""
        return "a noncentral chi-squared law with the estimated covariance (an approximation)"

    def limits(self, alpha: float) -> FloatArray:
        """Return one piece."""
        from scipy.special import chdtr, chndtrinc

        far = self.squared >= _FAR * self.stretch
        stretch = np.where(far, 1.0, self.stretch)
        seen, freedom = np.where(far, 1.0, self.squared) / stretch, np.where(far, 1.0, self.added) / stretch
        short = chdtr(freedom, seen)
        # the inverse would not find a zero exactly
        low = np.where(short > 1 - alpha / 2, chndtrinc(seen, freedom, 1 - alpha / 2), 0.0)
        # F(x; ν + 2) is at most x / ν F(x; ν): a bound which the limit comes near to where hardly anything was seen
        bound = -2 * math.log(alpha / 2) / np.maximum(1 - seen / freedom, _LEAST)
        high = np.where(short > _LEAST, chndtrinc(seen, freedom, alpha / 2 * np.maximum(short, _LEAST)), bound)
        tails: FloatArray = stretch[..., None] * np.stack([low, high], axis=-1)
        squares = np.where((self.squared >= _FAR * self.stretch)[..., None], self._normal(alpha), tails)
        limits: FloatArray = np.minimum((np.maximum(squares, 0) / self.scale) ** self.power, self.highest)
        return limits[..., None, :]

    def _normal(self, alpha: float) -> FloatArray:
        """Return the normal limits of a length very much larger than the noise."""
        centre = np.maximum(self.squared - self.added, 0)
        margin = -NormalDist().inv_cdf(alpha / 2) * np.sqrt(np.maximum(self.stretch, 0) * (2 * self.added + 4 * centre))
        return np.stack([centre - margin, centre + margin], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalHull:
    """The shortest single pieces that hold those of all `sets`.

    >>> IntervalHull((PossibleRange(0.0, 0.5), PossibleRange(0.2, 1.0))).limits(0.05)
    array([[0., 1.]])
    """

    sets: tuple[Inversion, ...]

    def __post_init__(self) -> None:
        if not self.sets or any(isinstance(member, IntervalHull) for member in self.sets):
            raise LdpstatsError(f"a hull of {len(self.sets)} sets", "one or more, none of which is a hull itself")

    @property
    def words(self) -> str:
        """How the first set is made, and whether there are more."""
        more = "" if len(self.sets) == 1 else "; conservative, since some reports are rare"
        return f"{self.sets[0].words}{more}"

    def limits(self, alpha: float) -> FloatArray:
        """Return one piece."""
        pieces = np.stack([member.limits(alpha) for member in self.sets])
        return np.stack([pieces[..., 0].min(axis=0), pieces[..., 1].max(axis=0)], axis=-1)
