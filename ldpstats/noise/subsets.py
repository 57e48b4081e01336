"""Exact counts of random subsets: the tally of subset-selection reports without drawing them one by one.

The channel is a mixture: some respondents send a uniform subset of all values, the others ("holders") a subset
that holds their value and is uniform otherwise. The values are halved, and each half again. In such a part all
subsets with as many members are alike, so only the number of subsets of each size is kept: `free` ones are uniform
in the part, `waiting` ones hold their owner's value there and so many others. How many members of a subset fall into
one half is hypergeometric. The cost per table grows with the values, and hardly with the number of respondents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# numpy's hypergeometric sampler refuses larger populations; respondents are independent, so parts add up.
_LARGEST = 10**9 - 1

Counts = NDArray[np.int64]


def subset_counts(true_counts: Counts, p: float, size: int, rng: np.random.Generator) -> Counts:
    """Draw how many reports support each value: `size` values each, the respondent's own with probability `p`."""
    if np.any(true_counts.sum(axis=-1) > _LARGEST):
        half = true_counts // 2
        return subset_counts(half, p, size, rng) + subset_counts(true_counts - half, p, size, rng)
    # p = hold + (1 - hold) size / values
    uniform = size / true_counts.shape[-1]
    holders = rng.binomial(true_counts, min(max((p - uniform) / (1 - uniform), 0.0), 1.0))
    return _drawn((true_counts - holders).sum(axis=-1), holders, size, rng)


def uniform_subset_counts(subsets: Counts, values: int, size: int, rng: np.random.Generator) -> Counts:
    """Draw how many of so many uniformly random subsets hold each value, on a last axis."""
    return _drawn(subsets, np.zeros((*subsets.shape, values), dtype=np.int64), size, rng)


def _drawn(free: Counts, holders: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Draw the counts, given how many subsets are free, and how many hold each value as their owner's."""
    from ldpstats.numbers.kernels import split_subsets

    values, tables = holders.shape[-1], free.size
    if not tables:
        return holders
    widths = [np.array([values])]
    while widths[-1].max() > 1:
        widths.append(np.stack([widths[-1] // 2, (widths[-1] + 1) // 2], axis=-1).ravel())
    owners = np.zeros((widths[-1].size, tables), dtype=np.int64)
    owners[widths[-1] == 1] = holders.reshape(tables, values).T
    of_size = np.arange(size + 1)[:, None] == size
    free, waiting = (of_size * free.ravel())[None], (of_size[1:] * owners.sum(axis=0))[None]
    for narrow in widths[1:]:
        near, far, most = narrow[::2], narrow[1::2], narrow.max()
        below = np.zeros((narrow.size, min(free.shape[1], most + 1), tables), dtype=np.int64)
        below_waiting = np.zeros((narrow.size, min(waiting.shape[1], most), tables), dtype=np.int64)
        arrived = _members(waiting, owners.reshape(narrow.size, -1, tables)[::2].sum(axis=1), rng)
        with rng.bit_generator.lock:
            split_subsets(free, near, far, rng, below[::2], below[1::2])
            split_subsets(arrived, near - 1, far, rng, below_waiting[::2], below[1::2])
            split_subsets(waiting - arrived, far - 1, near, rng, below_waiting[1::2], below[::2])
        free, waiting = below, below_waiting
    counts: Counts = (free[:, 1:].sum(axis=1) + waiting.sum(axis=1))[widths[-1] == 1]
    return counts.T.reshape(holders.shape)


def _members(groups: Counts, number: Counts, rng: np.random.Generator) -> Counts:
    """Draw so many members of the groups on the middle axis without replacement (multivariate hypergeometric)."""
    drawn = np.zeros_like(groups)
    left, rest = number.copy(), groups.sum(axis=1)
    for group in np.flatnonzero(groups.any(axis=(0, 2))):
        rest = rest - groups[:, group]
        drawn[:, group] = rng.hypergeometric(groups[:, group], rest, left)
        left = left - drawn[:, group]
    return drawn
