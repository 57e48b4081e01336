"""Log-linear tables, random graphs, and marginals of them without noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from ldpstats.consistency.marginals import Attributes, Marginal
from ldpstats.numbers.arrays import FloatArray

SIZES = {"a": 3, "b": 2, "c": 2, "d": 3, "e": 2}


def summed(joint: FloatArray, names: Sequence[str], kept: Sequence[str]) -> FloatArray:
    """Return the flat marginal of a joint table, its attributes in the order in which they are given."""
    left = [name for name in names if name in kept]
    others = tuple(axis for axis, name in enumerate(names) if name not in kept)
    return joint.sum(axis=others).transpose([left.index(name) for name in kept]).ravel()


def spread(estimate: FloatArray, n: int) -> FloatArray:
    """Return the covariance of the proportions of n respondents."""
    return (np.diag(estimate) - np.outer(estimate, estimate)) / n


def noise_free(joint: FloatArray, sizes: Mapping[str, int], groups: Iterable[Attributes], n: int) -> list[Marginal]:
    found = []
    for group in groups:
        cells = summed(joint, list(sizes), group)
        found.append(Marginal(group, tuple(sizes[name] for name in group), cells, spread(cells, n), n))
    return found


def log_linear(sizes: Mapping[str, int], groups: Iterable[Attributes], rng: np.random.Generator) -> FloatArray:
    """Return a random distribution with interactions within the groups only."""
    names = list(sizes)
    logs = np.zeros(tuple(sizes.values()))
    for group in groups:
        ordered = [name for name in names if name in group]
        weights = rng.normal(size=[sizes[name] for name in ordered])
        logs = logs + weights[tuple(slice(None) if name in group else None for name in names)]
    return np.exp(logs) / np.exp(logs).sum()


def random_graph(seed: int) -> tuple[np.random.Generator, dict[str, int], list[Attributes]]:
    """Return a few random groups of up to three out of up to seven attributes."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(2, 4)) for name in "tuvwxyz"[: rng.integers(1, 8)]}
    members = [rng.permutation(list(sizes))[: rng.integers(1, 4)] for _ in range(rng.integers(1, 9))]
    return rng, sizes, [tuple(map(str, group)) for group in members]


# The fit where the answer is known.

CHAIN = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
MODELS = {
    "chain": CHAIN,
    "cycle": [*CHAIN, ("e", "a")],
    "all pairs": list(combinations(SIZES, 2)),
    "threes": [("c", "a", "b"), ("b", "c", "d"), ("d", "e")],
    "groups within groups": [("a", "b", "c"), ("b",), ("c", "a"), ("d", "e"), ("e", "c"), ("d",)],
    "two parts": [("a", "b"), ("c", "d"), ("d", "e")],
    "single attributes": [("a",), ("b",), ("c",), ("d",), ("e",)],
    "everything": [("e", "a", "c", "b", "d")],
}


# What is kept for a target.


def flat(groups: Iterable[Sequence[str]], sizes: Mapping[str, int]) -> list[Marginal]:
    """Return uniform marginals: only their attributes matter."""
    uniform = np.full(tuple(sizes.values()), 1 / math.prod(sizes.values()))
    return noise_free(uniform, sizes, [tuple(group) for group in groups], n=100)
