"""Exact counts of random subsets: the tally of subset-selection reports without drawing them one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# numpy's hypergeometric sampler refuses larger populations; respondents are independent, so parts add up.
_LARGEST = 10**9 - 1


def subset_counts(true_counts: NDArray[np.int64], p: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many reports support each value, when each supports `size` values and the true one with probability `p`.

    The channel is a mixture: with probability `1 - hold` the report is a uniform subset of all values, else it
    holds the true value and is uniform otherwise. The values are then visited one after another. All subsets
    that still have r members to place are alike, so only the number of subsets with each r is kept: `free`
    for those that may still receive any unvisited value, `waiting` for those whose own value lies ahead
    (they treat all others alike, so the ones whose turn comes are a random draw from the waiting).

    The cost per table grows with values times `size`, not with the number of respondents.
    """
    if np.any(true_counts.sum(axis=-1) > _LARGEST):
        half = true_counts // 2
        return subset_counts(half, p, size, rng) + subset_counts(true_counts - half, p, size, rng)
    values = true_counts.shape[-1]
    holders = rng.binomial(true_counts, _hold_probability(p, size, values))
    tables = true_counts.shape[:-1]
    free = np.zeros((*tables, size + 1), dtype=np.int64)
    waiting = np.zeros_like(free)
    free[..., size] = (true_counts - holders).sum(axis=-1)
    waiting[..., size - 1] = holders.sum(axis=-1)
    counts = np.zeros_like(true_counts)
    for value in range(values):
        unvisited = values - value
        arrived = _random_members(waiting, holders[..., value], rng)
        waiting -= arrived
        hit_free = _place(free, unvisited, rng)
        hit_waiting = _place(waiting, unvisited - 1, rng)
        counts[..., value] = holders[..., value] + hit_free + hit_waiting
        free += arrived
    return counts


def _hold_probability(p: float, size: int, values: int) -> float:
    """Split p = hold + (1 - hold) size / values."""
    uniform = size / values
    return min(max((p - uniform) / (1 - uniform), 0.0), 1.0)


def _place(subsets: NDArray[np.int64], unvisited: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Decide which subsets take the current value, move them down by one member, and return how many did."""
    if unvisited == 0:
        return np.zeros(subsets.shape[:-1], dtype=np.int64)
    members = np.arange(subsets.shape[-1])
    taken = rng.binomial(subsets, np.minimum(members / unvisited, 1.0))
    subsets -= taken
    subsets[..., :-1] += taken[..., 1:]
    return taken.sum(axis=-1)


def _random_members(
    groups: NDArray[np.int64], number: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw `number` members from grouped ones without replacement: a multivariate hypergeometric draw."""
    drawn = np.zeros_like(groups)
    left, rest = number.copy(), groups.sum(axis=-1)
    for group in range(groups.shape[-1] - 1):
        rest = rest - groups[..., group]
        drawn[..., group] = rng.hypergeometric(groups[..., group], rest, left)
        left = left - drawn[..., group]
    drawn[..., -1] = left
    return drawn
