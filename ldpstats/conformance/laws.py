"""Laws: exact laws of tallies and reports, and how well what was seen fits them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ldpstats.arrays import FloatArray
from ldpstats.conformance.enumeration import Law

Outcome = TypeVar("Outcome", bound=Hashable)

_COMMON = 10


def law_of_tally(respondents: list[list[tuple[FloatArray, float]]]) -> dict[bytes, float]:
    """Convolve the exact laws of single contributions to the law of their sum."""
    total: dict[tuple[int, ...], float] = {(0,) * len(respondents[0][0][0]): 1.0}
    for contributions in respondents:
        following: dict[tuple[int, ...], float] = defaultdict(float)
        for (counts, p), (more, q) in product(total.items(), contributions):
            following[tuple(np.add(counts, more).astype(int).tolist())] += p * q
        total = following
    return {np.array(counts, dtype=np.int64).tobytes(): p for counts, p in total.items()}


def doubles(law: Law) -> dict[bytes, float]:
    """Return a law with doubles for its probabilities."""
    return {report: float(probability) for report, probability in law.items()}


def counted(rows: NDArray[Any]) -> dict[bytes, int]:
    """Count equal rows; they are named by their bytes, as the outcomes of a law are."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return {np.ascontiguousarray(row).tobytes(): int(count) for row, count in zip(distinct, counts, strict=True)}


def fit_pvalue(seen: Mapping[Outcome, int], law: Mapping[Outcome, float]) -> float:
    """Return the p-value of Pearson's χ² against an exact law: 0 if something impossible was seen, nan if all is rare.

    Outcomes that are expected fewer than ten times are taken together.
    """
    if not set(seen) <= set(law):
        return 0.0
    n = sum(seen.values())
    common = [key for key, p in law.items() if n * p >= _COMMON]
    rare = 1 - sum(law[key] for key in common)
    expected = [n * law[key] for key in common]
    observed = [seen.get(key, 0) for key in common]
    if n * rare >= _COMMON:
        expected, observed = [*expected, n * rare], [*observed, n - sum(observed)]
    statistic = np.sum((np.array(observed) - np.array(expected)) ** 2 / np.array(expected))
    return float(chdtrc(len(expected) - 1, statistic))
