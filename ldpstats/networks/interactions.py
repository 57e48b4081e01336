"""Interactions: what two attributes have to do with each other, as correlations of functions of their categories."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ldpstats.arrays import FloatArray, kronecker

Margins: TypeAlias = tuple[FloatArray, FloatArray]
"""Something of the first attribute of a pair, and of the second one: the shares of their categories, say."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """The estimated interactions of one pair of attributes, in one or several sets of tables.

    With p and q the margins and X, Y functions of the categories that are uncorrelated under them, with mean 0 and
    variance 1, the cells are p q (1 + X B Yᵀ). The entries of B are the correlations of those functions, its singular
    values are the canonical correlations, and Σ B² is Pearson's φ². Where b separates a from c, B_ac = B_ab B_bc.

    Parameters
    ----------
    correlations : array, shape (sets, functions, functions)
        B, for the functions of the first attribute by those of the second.
    spread : array, shape (sets, entries, entries), or callable
        The covariance of its flattened entries, or what works it out when it is first asked for.
    """

    correlations: FloatArray
    spread: FloatArray | Callable[[], FloatArray]

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of its flattened entries."""
        return self.spread() if callable(self.spread) else self.spread

    @property
    def turned(self) -> Interactions:
        """The same with the second attribute first."""
        order = np.arange(math.prod(self.correlations.shape[-2:])).reshape(self.correlations.shape[-2:]).T.ravel()
        return Interactions(np.swapaxes(self.correlations, -1, -2), lambda: self.covariance[..., order[:, None], order])


def cells_of(correlations: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the cells of a table with these interactions and margins, shape (sets, rows, columns)."""
    rows, columns = first[..., None] * orthonormal_functions(first), second[..., None] * orthonormal_functions(second)
    cells: FloatArray = first[..., :, None] * second[..., None, :] + rows @ correlations @ np.swapaxes(columns, -1, -2)
    return cells


def interactions_of(cells: FloatArray, covariance: FloatArray, first: FloatArray, second: FloatArray) -> Interactions:
    """Return the interactions of estimated cells, shape (sets, cells), with their covariance, for such margins."""
    functions = orthonormal_functions(first), orthonormal_functions(second)
    table = cells.reshape(*cells.shape[:-1], first.shape[-1], second.shape[-1])
    both = kronecker(*functions)
    found = np.swapaxes(functions[0], -1, -2) @ table @ functions[1]
    return Interactions(found, np.swapaxes(both, -1, -2) @ covariance @ both)


def orthonormal_functions(shares: FloatArray) -> FloatArray:
    """Return functions of categories that have mean 0 and variance 1 and are uncorrelated, shape (..., categories, k).

    There are as many as categories, less one; they are the columns of a Householder reflection that takes the roots of
    the shares to a unit vector.

    Parameters
    ----------
    shares : array, shape (..., categories)
        Above zero, with the sum one.

    Examples
    --------
    >>> orthonormal_functions(np.array([0.2, 0.8])).round(6)
    array([[ 2. ],
           [-0.5]])
    """
    roots = np.sqrt(shares)
    normal = roots.copy()
    normal[..., -1] += 1
    # the squared length of the normal is 2 (1 + its last root)
    reflected = np.eye(shares.shape[-1]) - normal[..., :, None] * normal[..., None, :] / normal[..., -1, None, None]
    functions: FloatArray = reflected[..., :-1] / roots[..., None]
    return functions
