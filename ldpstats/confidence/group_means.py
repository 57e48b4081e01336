"""Means of scores in groups of cells, alone or compared, as quantities that score tests are inverted for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ldpstats.confidence.inversion import Quantity
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, integers_below

_STEPS, _SETTLED = 30, 1e-6
_RIDGE, _LARGEST = 1e-13, 1e100


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans:
    """The mean of scores in a group of parts of a table, or the difference, or the ratio, of two such means.

    The two groups have no part in common. In a group of everything a mean is a linear functional of the cells, and
    where scores are zeros and ones it is a share.
    """

    parts: IntArray  # shape (cells,): the part of each cell
    groups: BoolArray  # shape (means, parts): which parts make up the group of each mean
    scores: FloatArray  # shape (means, parts)
    name: Literal["mean", "difference", "ratio"]

    def __post_init__(self) -> None:
        means, parts = self.groups.shape
        integers_below(self.parts, parts, "the parts of a mean")
        if means != (1 if self.name == "mean" else 2) or self.scores.shape != (means, parts):
            raise LdpstatsError(f"{means} groups for a {self.name}", "one for a mean, two that are compared")
        if not np.abs(self.scores).max() < _LARGEST or not self.groups.any(axis=1).all():
            raise LdpstatsError("scores that are too large, or a group of no cell", f"scores below {_LARGEST:g}")
        spans = [np.ptp(own[group]) for own, group in zip(self.scores, self.groups, strict=True)]
        if not any(spans):
            raise LdpstatsError("scores that are all the same", "scores that differ, so that answers make a difference")
        if (self.groups.sum(axis=0) > 1).any():
            raise LdpstatsError("groups that share some cells", "two groups without a cell in common")
        if self.name == "ratio" and (self.scores[self.groups].min() < 0 or not self.highest_of_each.all()):
            raise LdpstatsError("a ratio of means of negative scores, or of zeros", "scores of zero and more")

    @classmethod
    def of_cells(
        cls, groups: BoolArray, scores: FloatArray, name: Literal["mean", "difference", "ratio"]
    ) -> GroupMeans:
        """Return means by groups and scores of every cell, shape (means, cells); alike cells make up one part."""
        asked = np.concatenate([groups, np.where(groups, scores, 0.0)])
        different, parts = np.unique(asked, axis=1, return_inverse=True)
        return cls(parts.ravel(), different[: len(groups)] > 0, different[len(groups) :], name)

    @property
    def members(self) -> FloatArray:
        """Which cells belong to which part, shape (cells, parts)."""
        return np.eye(self.groups.shape[1])[self.parts]

    @property
    def forms(self) -> FloatArray:
        """The sums that the means are quotients of: scores, then sizes of the groups, shape (2 means, cells)."""
        return np.concatenate([self.groups * self.scores, self.groups])[:, self.parts]

    @property
    def highest_of_each(self) -> FloatArray:
        """The highest score in every group."""
        highest: FloatArray = np.where(self.groups, self.scores, -math.inf).max(axis=1)
        return highest

    @property
    def quantity(self) -> Quantity:
        """The quantity with its formulas."""
        low, high = np.where(self.groups, self.scores, math.inf).min(axis=1), self.highest_of_each
        ends = {"mean": (low[0], high[0]), "difference": (low[0] - high[-1], high[0] - low[-1]), "ratio": (0, math.inf)}
        return Quantity(len(self.groups), self._fitted, self._gradient, self.value, *map(float, ends[self.name]))

    def value(self, shares: FloatArray) -> FloatArray:
        """Return what shares (..., parts) say; nan or infinite where a group, or a denominator, is empty."""
        first, last = np.moveaxis(self._means(shares), -1, 0)[[0, -1]]
        value: FloatArray = first / last if self.name == "ratio" else first - last * (self.name == "difference")
        return value

    def slope(self, shares: FloatArray) -> FloatArray:
        """Return the derivative of the value in every part, at shares (parts,)."""
        of_each: FloatArray = (self.groups * (self.scores - self._means(shares)[:, None])) / (self.groups @ shares)[
            :, None
        ]
        if self.name != "ratio":
            difference: FloatArray = of_each[0] - of_each[1] if len(of_each) > 1 else of_each[0]
            return difference
        slope: FloatArray = (of_each[0] - self.value(shares) * of_each[1]) / self._means(shares)[1]
        return slope

    def _means(self, shares: FloatArray) -> FloatArray:
        means: FloatArray = (shares @ (self.groups * self.scores).T) / (shares @ self.groups.T)
        return means

    def _weights(self, values: FloatArray) -> FloatArray:
        """Return what the means are multiplied by in the constraint, shape (..., means)."""
        if self.name == "ratio":  # weights that sum to one: the ratio may be infinite
            first = 1 / (1 + values)
            return np.stack([first, first - 1], axis=-1)
        return np.broadcast_to([1.0, -1.0][: len(self.groups)], (*values.shape, len(self.groups)))

    def _gradient(self, shares: FloatArray, values: FloatArray) -> FloatArray:
        centred = self.groups * (self.scores - self._means(shares)[..., None])
        weights = self._weights(values) / (shares @ self.groups.T)
        slope: FloatArray = (weights[..., None] * centred).sum(axis=-2)
        return slope

    def _fitted(self, shares: FloatArray, values: FloatArray) -> FloatArray:
        """Fit shares to a value: groups keep their sizes, and are tilted along their scores."""
        sizes, weights = shares @ self.groups.T, self._weights(values)
        compared = ((weights / sizes)[..., None] * self.groups * self.scores).sum(axis=-2)
        wanted = np.zeros(values.shape) if self.name == "ratio" else values
        scale = np.abs(compared).max(axis=-1)
        scale = np.where(scale > 0, scale, 1.0)
        inside = self.groups.any(axis=0)
        rows = np.broadcast_to(self.groups.astype(float), (*values.shape, *self.groups.shape))
        constraints = np.concatenate([rows, (compared / scale[..., None])[..., None, :]], axis=-2)[..., inside]
        sums = np.concatenate([sizes, (wanted / scale)[..., None]], axis=-1)
        fitted = shares.copy()
        fitted[..., inside] = likeliest(shares[..., inside], constraints, sums)
        return fitted


def likeliest(shares: FloatArray, constraints: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the q with the largest Σ shares · ln q among those with these sums, constraints q (empirical likelihood).

    They are shares / (y · constraints), with the y of least y · sums - Σ shares · ln(y · constraints). All constraints
    but the last are groups, into which the parts fall. Newton's steps are divided by one plus the largest relative
    change r of a divisor: with that each of them lowers it, by at least half of what is promised.
    """
    multipliers = np.ones(sums.shape)
    multipliers[..., -1] = 0
    for _ in range(_STEPS):
        divisors = (multipliers[..., None, :] @ constraints)[..., 0, :]
        fitted = shares / divisors
        gap = (constraints @ fitted[..., None])[..., 0] - sums
        curvature = (constraints * (fitted / divisors)[..., None, :]) @ np.swapaxes(constraints, -1, -2)
        ridge = _RIDGE * np.trace(curvature, axis1=-2, axis2=-1)
        step = np.linalg.solve(curvature + ridge[..., None, None] * np.eye(sums.shape[-1]), gap[..., None])
        change = np.abs((np.swapaxes(step, -1, -2) @ constraints)[..., 0, :] / divisors).max(axis=-1, keepdims=True)
        multipliers = multipliers + step[..., 0] / (1 + change)
        if change.max() < _SETTLED:
            break
    return fitted
