"""Exchangeable reports: how often chance alone gives a part of them so many, or so few, of one kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpstats.numbers.arrays import FloatArray


def log_part_pvalues(counts: NDArray[np.int64], size: int, totals: NDArray[np.int64], n: int) -> FloatArray:
    """Return logarithms of p-values, never below the exact ones, of how many reports of a part are of every kind.

    Of the `n` reports, the part has `size`, and `counts` of the `totals` of each kind. Where its respondents are like
    the others and came through the same channel, that is hypergeometric, whatever the answers and the channel. The tail
    is at most a geometric series, as ratios of successive probabilities fall; twice the smaller one is returned.
    """
    counts, totals = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64))
    # so few is as many of those that are not of the kind
    few = counts * n < totals * size
    seen, known = np.where(few, size - counts, counts), np.where(few, n - totals, totals)
    ratio = (known - seen) * (size - seen) / ((seen + 1) * (n - known - size + seen + 1))
    with np.errstate(divide="ignore"):
        bound = np.log(2.0) + _log_chance(seen, size, known, n) - np.log1p(-np.minimum(ratio, 1.0))
    found: FloatArray = np.minimum(bound, 0.0)
    return found


def _log_chance(seen: FloatArray, size: int, known: FloatArray, n: int) -> FloatArray:
    chance: FloatArray = _log_choose(known, seen) + _log_choose(n - known, size - seen) - _log_choose(n, size)
    return chance


def _log_choose(n: FloatArray | float, k: FloatArray | float) -> FloatArray:
    from scipy.special import betaln

    found: FloatArray = -np.log1p(n) - betaln(np.add(k, 1.0), np.subtract(n, k) + 1.0)
    return found
