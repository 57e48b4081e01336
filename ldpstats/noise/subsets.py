"""Exact counts of random subsets: the tally of subset-selection reports without drawing them one by one.

The channel is a mixture: some respondents send a uniform subset of all values, the others ("holders") a subset
that holds their value and is uniform otherwise. The values are visited one after another. All subsets that
still have r members to place are alike, so only the number of subsets with each r is kept: `free` ones may
receive any unvisited value, `waiting` ones belong to holders whose own value lies ahead. These treat all other
values alike, so who among them holds the value whose turn comes is independent of r. The cost per table grows
with values times subset size, not with the number of respondents.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray

# numpy's hypergeometric sampler refuses larger populations; respondents are independent, so parts add up.
_LARGEST = 10**9 - 1
_MANY_GROUPS = 64
"""From so many groups on numpy's own loop over them is much the faster one."""

Counts = NDArray[np.int64]


def subset_counts(true_counts: Counts, p: float, size: int, rng: np.random.Generator) -> Counts:
    """Draw how many reports support each value, when it is known how many respondents have which value.

    Each report supports `size` values, and the respondent's own with probability `p`.
    """
    if np.any(true_counts.sum(axis=-1) > _LARGEST):
        half = true_counts // 2
        return subset_counts(half, p, size, rng) + subset_counts(true_counts - half, p, size, rng)
    values = true_counts.shape[-1]
    holders = rng.binomial(true_counts, _hold_probability(p, size, values))
    free = (true_counts - holders).sum(axis=-1)
    return _visit(
        values, size, free, holders.sum(axis=-1), lambda v, waiting: _members(waiting, holders[..., v], rng), rng
    )


def subset_draws(frequencies: FloatArray, n: int, p: float, size: int, tables: int, rng: np.random.Generator) -> Counts:
    """Draw the same for `n` random respondents whose values have these frequencies, in each of `tables` tables."""
    values = frequencies.shape[-1]
    holders = rng.binomial(n, _hold_probability(p, size, values), size=tables)
    ahead = np.cumsum(frequencies[::-1])[::-1]
    turn = np.divide(frequencies, ahead, out=np.ones(values), where=ahead > 0).clip(0, 1)
    return _visit(values, size, n - holders, holders, lambda v, waiting: rng.binomial(waiting, turn[v]), rng)


def uniform_subset_counts(subsets: Counts, values: int, size: int, rng: np.random.Generator) -> Counts:
    """Draw how many of so many uniformly random subsets hold each value; the result has a last axis for these."""
    free = subsets[..., None] * (np.arange(size + 1) == size)
    placed = [_place(free, values - value, size - value, rng) for value in range(values)]
    return np.stack(placed, axis=-1)


def _visit(
    values: int,
    size: int,
    free: Counts,
    holders: Counts,
    own: Callable[[int, Counts], Counts],
    rng: np.random.Generator,
) -> Counts:
    """Visit the values; `own` says how many of the waiting subsets belong to holders of the current one."""
    free = free[..., None] * (np.arange(size + 1) == size)
    waiting = holders[..., None] * (np.arange(size) == size - 1)
    counts = np.empty((*holders.shape, values), dtype=np.int64)
    for value in range(values):
        unvisited = values - value
        arrived = own(value, waiting) if unvisited > 1 else waiting.copy()
        waiting -= arrived
        placed = _place(free, unvisited, size - value, rng) + _place(waiting, unvisited - 1, size - 1 - value, rng)
        counts[..., value] = arrived.sum(axis=-1) + placed
        free[..., :-1] += arrived
    return counts


def _hold_probability(p: float, size: int, values: int) -> float:
    """Solve p = hold + (1 - hold) size / values."""
    uniform = size / values
    return min(max((p - uniform) / (1 - uniform), 0.0), 1.0)


def _place(subsets: Counts, unvisited: int, least: int, rng: np.random.Generator) -> Counts:
    """Decide which subsets take the current value, move them down by one member, and return how many did.

    No subset has fewer than `least` members to place; those with none are left out, too.
    """
    first = max(least, 1)
    unplaced = np.arange(first, subsets.shape[-1])
    taken = rng.binomial(subsets[..., first:], np.minimum(unplaced / max(unvisited, 1), 1.0))
    subsets[..., first:] -= taken
    subsets[..., first - 1 : -1] += taken
    number: Counts = taken.sum(axis=-1)
    return number


def _members(groups: Counts, number: Counts, rng: np.random.Generator) -> Counts:
    """Draw `number` members from grouped ones without replacement: a multivariate hypergeometric draw."""
    if groups.ndim == 1 and groups.size > _MANY_GROUPS:
        return rng.multivariate_hypergeometric(groups, int(number), method="marginals")
    drawn = np.zeros_like(groups)
    left, rest = number.copy(), groups.sum(axis=-1)
    for group in range(groups.shape[-1] - 1):
        rest = rest - groups[..., group]
        drawn[..., group] = rng.hypergeometric(groups[..., group], rest, left)
        left = left - drawn[..., group]
    drawn[..., -1] = left
    return drawn
