"""Quantities of a few shares, such as ratios: their constrained maximum likelihood, and how they change with shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ldpstats.numbers.arrays import FloatArray, IntArray, integers_below

Shares = Callable[[FloatArray, FloatArray], FloatArray]
_NEVER = 1e-300


class Quantity(NamedTuple):
    """A quantity ψ of a few shares, with its constrained maximum likelihood and its score."""

    among: int  # of how many shares
    fitted: Shares  # of shares (..., among + 1) and ψ (...): the most likely shares with this ψ
    gradient: Shares  # of the same: the slope in each share of a constraint that holds at this ψ, and grows with it
    value: Callable[[FloatArray], FloatArray]
    lowest: float
    highest: float  # infinite for a ratio

    @property
    def logarithmic(self) -> bool:
        """Whether it is a ratio, whose logarithm is looked at."""
        return math.isinf(self.highest)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A quantity ψ that depends on the cells through the shares of a few parts of the table.

    Of the shares a to d, the odds ratio is a d / (b c), and risks are a / (a + b) and c / (c + d); of two shares, the
    difference is a - b, and the proportion a / (a + b).
    """

    parts: IntArray  # shape (cells,): the part of each cell; the last one holds what is not compared
    name: Literal["odds ratio", "risk ratio", "risk difference", "difference", "proportion"]

    def __post_init__(self) -> None:
        integers_below(self.parts, self.quantity.among + 1, "the parts of a comparison")

    @property
    def quantity(self) -> Quantity:
        """The quantity of this name, with its formulas."""
        return _QUANTITIES[self.name]

    @property
    def members(self) -> FloatArray:
        """Which cells belong to which part, shape (cells, parts)."""
        return np.eye(self.quantity.among + 1)[self.parts]


def fitted_odds(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    """Fit shares to an odds ratio ψ.

    From b and c to a and d is moved the x with (a + x)(d + x) = ψ (b - x)(c - x): margins stay as they are.
    """
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    one, other = _balance(ratio)
    leading, linear, constant = one - other, one * (a + d) + other * (b + c), one * a * d - other * b * c
    root = np.sqrt(np.maximum(linear**2 - 4 * leading * constant, 0))
    moved = np.clip(-2 * constant / np.maximum(linear + root, _NEVER), -np.minimum(a, d), np.minimum(b, c))
    return _with(shares, a + moved, b - moved, c - moved, d + moved)


def fitted_risks(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    """Fit shares to a ratio of two risks, by the quadratic equation for the larger one."""
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second, more = a + b, c + d, ratio > 1
    smaller = np.where(more, 1 / np.where(more, ratio, 1), ratio)
    # the group with the larger risk, and how often it and the other one had the case
    large, small = np.where(more, first, second), np.where(more, second, first)
    often, seldom = np.where(more, a, c), np.where(more, c, a)
    leading, linear = (large + small) * smaller, small * smaller + seldom + large + often * smaller
    root = np.sqrt(np.maximum(linear**2 - 4 * leading * (a + c), 0))
    larger = np.clip(2 * (a + c) / np.maximum(linear + root, _NEVER), 0, 1)
    one, other = np.where(more, larger, smaller * larger), np.where(more, smaller * larger, larger)
    return _with(shares, first * one, first * (1 - one), second * other, second * (1 - other))


def fitted_difference(shares: FloatArray, difference: FloatArray) -> FloatArray:
    """Fit shares to a difference of two risks, by a cubic equation (Miettinen & Nurminen 1985, appendix)."""
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second = a + b, c + d
    total = np.maximum(first + second, _NEVER)
    square = ((first + 2 * second) * difference - total - a - c) / (3 * total)
    linear = ((second * difference - total - 2 * c) * difference + a + c) / (3 * total)
    cube = square**3 - 1.5 * square * linear + c * difference * (1 - difference) / (2 * total)
    half = np.copysign(np.sqrt(np.maximum(square**2 - linear, 0)), cube)
    angle = (math.pi + np.arccos(np.clip(cube / np.where(half == 0, 1, half**3), -1, 1))) / 3
    other = np.clip(2 * half * np.cos(angle) - square, np.maximum(0, -difference), np.minimum(1, 1 - difference))
    one = np.clip(other + difference, 0, 1)
    return _with(shares, first * one, first * (1 - one), second * other, second * (1 - other))


def fitted_shares(shares: FloatArray, difference: FloatArray) -> FloatArray:
    """Fit two shares, and a third of all the rest, to a difference of the two, by a quadratic equation."""
    a, b, rest = np.moveaxis(shares, -1, 0)
    leading = 2 * (a + b + rest)
    linear = (a + b) * (1 - difference) - 2 * (b + rest) * difference
    constant = b * difference * (1 - difference)
    # a root of  leading x² - linear x - constant = 0  that leaves no share negative
    root = np.sqrt(np.maximum(linear**2 + 4 * leading * constant, 0))
    other = np.clip((linear + root) / (2 * leading), np.maximum(0, -difference), (1 - difference) / 2)
    return np.stack([other + difference, other, 1 - 2 * other - difference], axis=-1)


def fitted_proportion(shares: FloatArray, proportion: FloatArray) -> FloatArray:
    """Fit two shares to a proportion a / (a + b): their sum stays as it is."""
    together = shares[..., 0] + shares[..., 1]
    return np.stack([proportion * together, (1 - proportion) * together, shares[..., 2]], axis=-1)


def _odds_gradient(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    one, other = _balance(ratio)
    return np.stack([one * d, -other * c, -other * b, one * a, np.zeros_like(a)], axis=-1)


def _ratio_gradient(shares: FloatArray, ratio: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    one, other = _balance(ratio)
    parts = [one * (c + d) - other * c, -other * c, one * a - other * (a + b), one * a, np.zeros_like(a)]
    return np.stack(parts, axis=-1)


def _difference_gradient(shares: FloatArray, _: FloatArray) -> FloatArray:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    first, second = (np.maximum(group, _NEVER**0.25) ** 2 for group in (a + b, c + d))
    return np.stack([b / first, -a / first, -d / second, c / second, np.zeros_like(a)], axis=-1)


def _shares_gradient(shares: FloatArray, _: FloatArray) -> FloatArray:
    return np.broadcast_to(np.array([1.0, -1.0, 0.0]), shares.shape)


def _proportion_gradient(shares: FloatArray, proportion: FloatArray) -> FloatArray:
    parts = np.stack([1 - proportion, -proportion, np.zeros_like(proportion)], axis=-1)
    return np.broadcast_to(parts, shares.shape)


def _risks(shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    a, b, c, d = np.moveaxis(shares[..., :4], -1, 0)
    return a / (a + b), c / (c + d)


def _balance(ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights that sum to one and whose quotient is the ratio, which may be infinite."""
    one = 1 / (1 + ratio)
    return one, 1 - one


def _with(shares: FloatArray, *compared: FloatArray) -> FloatArray:
    return np.stack([*compared, shares[..., 4]], axis=-1)


_QUANTITIES = {
    "odds ratio": Quantity(
        4, fitted_odds, _odds_gradient, lambda s: s[..., 0] * s[..., 3] / (s[..., 1] * s[..., 2]), 0, math.inf
    ),
    "risk ratio": Quantity(4, fitted_risks, _ratio_gradient, lambda s: np.divide(*_risks(s)), 0, math.inf),
    "risk difference": Quantity(4, fitted_difference, _difference_gradient, lambda s: np.subtract(*_risks(s)), -1, 1),
    "difference": Quantity(2, fitted_shares, _shares_gradient, lambda s: s[..., 0] - s[..., 1], -1, 1),
    "proportion": Quantity(
        2, fitted_proportion, _proportion_gradient, lambda s: s[..., 0] / (s[..., 0] + s[..., 1]), 0, 1
    ),
}
