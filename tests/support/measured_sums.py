"""Measured sums of tables, and what by definition they leave possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from ldpstats import Domain
from ldpstats.estimation import Measured

Array = NDArray[np.float64]
ABC = Domain({"a": ["x", "y"], "b": [1, 2, 3], "c": [False, True]})
BITS = Domain({name: [0, 1] for name in "abc"})
CHAIN = [("a", "b"), ("b", "c")]
PAIRS = [*CHAIN, ("a", "c")]
MANY = 1_000_000_000


def sums_of(domain: Domain, group: Sequence[str]) -> Array:
    return np.eye(domain.size(group))[:, domain.onto(group)]


def some_joint(domain: Domain, seed: int = 1, spread: float = 0.6) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(domain.size(), spread))


def measured(domain: Domain, groups: Sequence[Sequence[str]], joint: Array, n: int = 3000, seed: int = 0) -> Measured:
    """Return tables of groups, each of other respondents, with normal errors (but for seed 0)."""
    parts = [sums_of(domain, group) for group in groups]
    spreads = [(np.diag(own @ joint) - np.outer(own @ joint, own @ joint)) / n for own in parts]
    covariance, sums = block_diag(*spreads), np.vstack(parts)
    errors = np.zeros(len(sums))
    if seed:
        errors = np.random.default_rng(seed).multivariate_normal(errors, covariance, method="eigh")
    return Measured(sums, sums @ joint + errors, covariance, n * len(groups))


def frechet(rows: Array, columns: Array) -> tuple[Array, Array]:
    return np.maximum(np.add.outer(rows, columns) - 1, 0), np.minimum.outer(rows, columns)


def cramers_v(table: Array) -> float:
    expected = np.outer(table.sum(1), table.sum(0))
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (min(table.shape) - 1)))


def xor(strength: float) -> Array:
    """Return three bits of which any two are independent, and the third is mostly their sum."""
    odd = np.indices((2, 2, 2)).sum(0) % 2
    return ((1 + strength * (2 * odd - 1)) / 8).ravel()


def margins(first: float, second: float, spread: float = 0.005) -> Measured:
    """Return one margin of each of two attributes, with independent errors."""
    return Measured(np.array([[1.0, 1, 0, 0], [1, 0, 1, 0]]), np.array([first, second]), spread**2 * np.eye(2), MANY)
