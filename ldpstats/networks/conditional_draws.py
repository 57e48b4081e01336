"""Conditional draws: for each record one value out of the distribution that its other values select."""

from __future__ import annotations

import numpy as np

from ldpstats.arrays import FloatArray, IntArray


def drawn(distributions: FloatArray, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw a value from one of the distributions for each entry of `rows`.

    Parameters
    ----------
    distributions : array, shape (distributions, values)
        Printed probabilities need not add up to one: the last value that has any takes what is missing.
    rows : array of int
        Which of the distributions.
    rng : numpy.random.Generator
        One uniform number is taken for every entry.

    Examples
    --------
    >>> drawn(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([0, 1, 1, 0]), np.random.default_rng(1))
    array([1, 1, 0, 1])
    """
    values = distributions.shape[1]
    ends = distributions.cumsum(axis=1)
    ends = np.where(ends < ends[:, -1:], np.minimum(ends, 1), 1)
    # the distributions one behind the other, each on an interval of length one
    steps = (ends + np.arange(len(ends))[:, None]).ravel()
    found: IntArray = np.searchsorted(steps, rows + rng.random(rows.size), side="right")
    inside: IntArray = np.minimum(found - rows * values, values - 1)
    return inside


def cell_numbers(codes: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Return the cell of each row in a table of this shape, of which there is one if it has no axes.

    Parameters
    ----------
    codes : array of int, shape (n, axes)
    shape : tuple of int

    Examples
    --------
    >>> cell_numbers(np.array([[0, 2], [1, 0]]), (2, 3)), cell_numbers(np.empty((2, 0), dtype=int), ())
    (array([2, 3]), array([0, 0]))
    """
    return np.ravel_multi_index(tuple(codes.T), shape) if shape else np.zeros(len(codes), dtype=np.int64)
