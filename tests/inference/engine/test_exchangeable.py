"""Exchangeable reports: the bounds are never below the exact tails, and near them where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import hypergeom

from ldpstats.inference.hypothesis_tests.collectors import log_part_pvalues
from ldpstats.numbers.arrays import FloatArray


def part_pvalues(counts: Any, size: int, totals: Any, n: int) -> FloatArray:
    return np.exp(log_part_pvalues(counts, size, totals, n))


def exact(seen: int, size: int, known: int, n: int) -> float:
    law = hypergeom(n, known, size)
    return float(min(1.0, 2 * min(law.sf(seen - 1), law.cdf(seen))))


def test_p_values_are_never_below_the_exact_ones_by_enumeration() -> None:
    for n in range(2, 13):
        for size in range(1, n):
            for known in range(n + 1):
                law = hypergeom(n, known, size)
                numbers = np.arange(max(0, size + known - n), min(size, known) + 1)
                found = part_pvalues(numbers, size, np.full(numbers.size, known), n)
                exactly = np.array([exact(one, size, known, n) for one in numbers.tolist()])
                assert np.all(found >= exactly * (1 - 1e-9))
                # so each level is kept, whatever it is
                for level in (0.001, 0.01, 0.05, 0.3):
                    assert law.pmf(numbers[found <= level]).sum() <= level * (1 + 1e-9)


def test_they_are_near_the_exact_ones_where_something_is_shown() -> None:
    for size, known, n in ((200, 300, 1000), (1000, 50, 5000), (20, 10_000, 100_000)):
        law = hypergeom(n, known, size)
        for tail in (1e-3, 1e-6, 1e-9):
            seen = int(law.isf(tail)) + 1
            (found,) = part_pvalues(np.array([seen]), size, np.array([known]), n)
            assert 1 <= found / exact(seen, size, known, n) < 1.2


def test_very_many_reports_are_no_difficulty() -> None:
    n, size, known = 10**12, 10**11, 3 * 10**11
    usual = size * (known / n)
    spread = np.sqrt(usual * (1 - known / n) * (1 - size / n))
    found = part_pvalues(np.array([usual, usual + 7 * spread, usual - 7 * spread]).astype(np.int64), size, known, n)
    assert found[0] == 1
    np.testing.assert_allclose(found[1:], 2.56e-12, rtol=0.05)


def test_what_cannot_differ_has_a_p_value_of_one() -> None:
    assert part_pvalues(np.array([5, 0]), 5, np.array([12, 0]), 12).tolist() == [1.0, 1.0]
