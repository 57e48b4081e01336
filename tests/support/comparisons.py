"""Comparisons of what was found with what is expected, at some frequencies, and of whole sets of tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc

from ldpstats import TableSet
from ldpstats.errors import LdpstatsError

FALSE_FAILURE_RATE = 1e-6
"""How often a random check would fail correct code, if its seed were not fixed."""


def some_frequencies(cells: int, tables: int = 3) -> NDArray[np.float64]:
    return np.random.default_rng(cells).dirichlet(np.full(cells, 2.0), tables)


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    return bool(np.abs(np.asarray(found) - expected).max() <= tolerance * max(1.0, np.abs(expected).max()))


def fits(seen: Mapping[Any, int], law: Mapping[Any, float]) -> bool:
    """Pearson's test against an exact law, whose rare outcomes are taken together; the impossible never fits."""
    n = sum(seen.values())
    pooled: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for outcome, chance in law.items():
        where = pooled[outcome if n * chance >= 10 else "rare"]
        where[0] += seen.get(outcome, 0)
        where[1] += n * chance
    statistic = sum((found - expected) ** 2 / expected for found, expected in pooled.values() if expected > 0)
    known = set(seen) <= {one for one in law if law[one] > 0}
    return known and bool(chdtrc(max(len(pooled) - 1, 1), statistic) > FALSE_FAILURE_RATE)


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def on_contrasts(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    centre = np.eye(matrix.shape[-1]) - 1 / matrix.shape[-1]
    return centre @ matrix @ centre


def same(one: TableSet, other: TableSet) -> bool:
    return one.to_json() == other.to_json()


def assert_tells(error: pytest.ExceptionInfo[LdpstatsError], *parts: str) -> None:
    """Check that the message holds every part, and says what would have been accepted."""
    message = str(error.value)
    assert [part for part in (*parts, "Allowed: ") if part not in message] == []


@contextmanager
def refused(kind: type[LdpstatsError], *parts: str) -> Iterator[None]:
    """Check that what is done here is refused in these words, and what would have been accepted."""
    with pytest.raises(kind) as error:
        yield
    assert_tells(error, *parts)


def typed(values: object) -> list[tuple[type, object]]:
    return [(type(value), value) for value in values]
