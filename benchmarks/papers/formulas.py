"""Printed formulas beside exact values: what is judged is the largest deviation over all cases looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from papers.comparisons import DIFFERS, NOT_REPRODUCIBLE, Comparison, stated

SAME = 1e-9
"""Deviation up to which values are the same: probabilities are whole numbers of 2^-64, the rest are rounded doubles."""

SIZES, LEVELS = (2, 5, 16, 100), (0.1, 0.5, 1.0, 2.0, 4.0)
"""Numbers of values, and ε, for which formulas are evaluated."""

Floats = NDArray[np.float64]
Place = tuple[str, str, str, str]


def shapes(k: int) -> list[Floats]:
    """Return frequencies of k values: all equal, one value only, and each .8 of the one before."""
    geometric = 0.8 ** np.arange(k)
    return [np.full(k, 1 / k), np.eye(k)[0], geometric / geometric.sum()]


def matched(
    place: Place,
    printed: ArrayLike,
    exact: ArrayLike,
    cases: str,
    *,
    because: str = "",
    mended: ArrayLike | None = None,
) -> Comparison:
    """Judge a printed formula: it gives the exact values in all cases, or a mended one does, or none.

    Parameters
    ----------
    place : tuple of str
        Source, row, column and the printed formula.
    printed, exact : array
        What the formula gives, and what is true, in all cases.
    cases : str
        What the cases are, in words.
    because : str, optional
        Why it differs, if it does.
    mended : array, optional
        What the reading gives that `because` names.
    """
    off = deviation(printed, exact)
    if off <= SAME:
        return stated(place, f"same in {cases}: largest deviation {off:.0e}", holds=True)
    ours = f"{_ratios(printed, exact)} in {cases}"
    if mended is None:
        return stated(place, ours, holds=False, because=because)
    left = deviation(mended, exact)
    verdict = DIFFERS if left <= SAME else NOT_REPRODUCIBLE
    return Comparison(*place, f"{ours}; largest deviation of the mended formula {left:.0e}", verdict, because)


def claimed(place: Place, ours: str, *, holds: bool, unless: str, note: str = "", explained: bool = True) -> Comparison:
    """Judge a statement in words, with a note if it holds, and the reason if it does not.

    Parameters
    ----------
    place : tuple of str
        Source, row, column and the statement.
    ours : str
        What is so here.
    holds : bool
        Whether that is what the statement says.
    unless, note : str
        The reason if it does not hold, and what is to be known if it does.
    explained : bool
        Whether the reading that the reason names was seen to give what is printed; else it is not reproducible.
    """
    if not holds and not explained:
        return Comparison(*place, ours, NOT_REPRODUCIBLE, unless)
    return stated(place, ours, holds=holds, because=note if holds else unless)


def deviation(values: ArrayLike, exact: ArrayLike) -> float:
    """Return the largest difference, relative to the exact value where that is above one.

    >>> round(deviation([0.5, 20.0], [0.4, 10.0]), 12)
    1.0
    """
    wanted = np.asarray(exact, dtype=float)
    off = np.abs(np.asarray(values, dtype=float) - wanted) / np.maximum(np.abs(wanted), 1)
    return float(np.max(np.where(np.isfinite(off), off, np.inf)))


def _ratios(printed: ArrayLike, exact: ArrayLike) -> str:
    values, wanted = (np.ravel(np.asarray(one, dtype=float)) for one in (printed, exact))
    if np.any(values == 0) or np.any(wanted == 0) or not np.all(np.isfinite(values)):
        return f"differs from the exact value by up to {np.abs(values - wanted).max():.4g}"
    ratios = wanted / values
    return f"exact / printed is {ratios.min():.4g} to {ratios.max():.4g}"
