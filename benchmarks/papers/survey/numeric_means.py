"""Exact laws of mechanisms for means of numeric values (Wang et al. 2020, Section 4): Duchi et al., PM and HM.

The package is about categories; these exist here only to check printed formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from papers.formulas import Floats


def contrast(epsilon: float) -> float:
    """Return (e^ε + 1) / (e^ε - 1)."""
    return (math.exp(epsilon) + 1) / math.expm1(epsilon)


@dataclass(frozen=True, slots=True)
class Duchi:
    """Duchi et al.'s mechanism for d attributes: a corner of a cube, on the side of the value's own corner or not.

    Parameters
    ----------
    d : int
        The number of attributes.
    side : float
        The probability of that side, P[u = 1].
    """

    d: int
    side: float

    def corners(self) -> Floats:
        """Return all corners of the cube, a row each."""
        return np.array(list(product((-1.0, 1.0), repeat=self.d)))

    def law(self, corner: Floats) -> Floats:
        """Return the probability of every corner, given that of the discretized value."""
        near = self.corners() @ corner > 0
        chances: Floats = np.where(near, self.side / near.sum(), (1 - self.side) / (~near).sum())
        return chances

    def level(self) -> float:
        """Return the exact privacy level; that of discretized values, which is attained at the corners."""
        channel = np.array([self.law(corner) for corner in self.corners()])
        return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())

    def gain(self) -> float:
        """Return the expectation of a coordinate of the corner sent whose discretized value is 1."""
        corner = np.ones(self.d)
        return float(self.law(corner) @ self.corners()[:, 0])


def repaired_side(d: int, epsilon: float) -> float:
    """Return Eq. 60."""
    near = half_space(d)
    return math.exp(epsilon) * near / (math.expm1(epsilon) * near + 2**d)


def half_space(d: int) -> float:
    """Return Eq. 58."""
    return 2 ** (d - 1) - (0 if d % 2 else math.comb(d, d // 2) / 2)


@dataclass(frozen=True, slots=True)
class Piecewise:
    """The piecewise mechanism: uniform on a short interval about the value, and e^ε times rarer outside it."""

    epsilon: float

    @property
    def bound(self) -> float:
        """C, the largest output."""
        return contrast(self.epsilon / 2)

    def density(self) -> float:
        """Return p of Eq. 62."""
        half = math.exp(self.epsilon / 2)
        return (half**2 - half) / (2 * (half + 1))

    def moments(self, value: float) -> Floats:
        """Return the integrals of the density, and of the output and its square times it."""
        low = (self.bound + 1) / 2 * value - (self.bound - 1) / 2
        high = low + self.bound - 1
        powers = np.arange(1, 4)
        inside = (high**powers - low**powers) / powers
        whole = (self.bound**powers - (-self.bound) ** powers) / powers
        integrals: Floats = self.density() * (inside + (whole - inside) / math.exp(self.epsilon))
        return integrals

    def variance(self, value: float) -> float:
        """Return the exact variance of the output."""
        _, mean, square = self.moments(value)
        return float(square - mean**2)


def duchi_variance(value: float, epsilon: float) -> float:
    """Return the exact variance of Duchi et al.'s output, or of Harmony's, for one attribute."""
    return contrast(epsilon) ** 2 - value**2


def hybrid_variance(value: float, epsilon: float) -> float:
    """Return the exact variance of HM for ε above its threshold: PM with probability 1 - e^(-ε/2), else Duchi et al.'s.

    Both are unbiased, so that the variances are mixed.
    """
    share = -math.expm1(-epsilon / 2)
    return share * Piecewise(epsilon).variance(value) + (1 - share) * duchi_variance(value, epsilon)


VALUES = np.linspace(-1, 1, 41)
"""Values at which worst cases are looked for; they are attained at -1, 0 and 1."""


def worst(variance: object, epsilon: float) -> float:
    """Return the largest variance over all values."""
    assert callable(variance)
    return max(float(variance(float(value), epsilon)) for value in VALUES)


def piecewise_variance(value: float, epsilon: float) -> float:
    """Return the exact variance of PM's output."""
    return Piecewise(epsilon).variance(value)
