"""Tables of four attributes that overlap, and what it takes to make them agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from consistency_speed import disagreement

from ldpstats import Domain, SampledGroups, TableSet
from ldpstats.consistency.marginals import Marginal

Array = np.ndarray[Any, Any]
FOUR = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1, 2], "d": [0, 1, 2, 3]})


def people(domain: Domain, n: int, seed: int, concentration: float = 0.3) -> Array:
    """Return joint counts of a population with many rare cells."""
    rng = np.random.default_rng(seed)
    frequencies = rng.dirichlet(np.full(domain.size(), concentration))
    return rng.multinomial(n, frequencies).reshape(domain.shape)


def collected(groups: Sequence[Sequence[str]], n: int = 3000, seed: int = 1, mechanism: str = "grr") -> TableSet:
    protocol = SampledGroups(FOUR, epsilon=1.0, mechanism=mechanism, groups=groups)
    return protocol.simulate(people(FOUR, n, seed), rng=seed)


def flat(tables: TableSet) -> Array:
    return np.concatenate([table.estimate.ravel() for table in tables])


def marginals(tables: TableSet) -> list[Marginal]:
    return [Marginal.of(table) for table in tables]


def assert_consistent(tables: TableSet) -> None:
    assert disagreement(tables) <= 1e-12
    assert flat(tables).min() >= 0
    assert [table.estimate.sum() for table in tables] == pytest.approx([1.0] * len(tables), abs=1e-12)


def sums_onto(marginal: Marginal, attributes: tuple[str, ...]) -> Array:
    places = marginal.onto(attributes)
    return (np.arange(places.max() + 1)[:, None] == places).astype(float)


GROUPS = {
    "pairs": list(combinations("abcd", 2)),
    "a chain": [("b", "a"), ("b", "c"), ("d", "c")],
    "triples": list(combinations("abcd", 3)),
    "nested": [("a",), ("a", "b"), ("c", "b", "a"), ("d",), ("d", "c")],
    "two islands": [("a", "b"), ("b",), ("c", "d"), ("d",)],
}
each_group = pytest.mark.parametrize("groups", GROUPS)
