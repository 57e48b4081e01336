"""Partitions: the respondents of a Dask data frame, asked and counted where they are, each partition by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.workers import computed

Partitioned: TypeAlias = Any
"""A data frame of Dask."""
Collected = TypeVar("Collected")
_ADDED_AT_ONCE = 8


def is_partitioned(frame: object) -> TypeGuard[Any]:
    """Say whether this is a data frame of Dask."""
    # who has such a frame has loaded Dask
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(frame, frames.DataFrame)


def collected_by_partition(
    collect: Callable[[pd.DataFrame, Rng], Collected],
    together: Callable[[list[Collected]], Collected],
    frame: Partitioned,
    rng: Rng,
) -> Collected:
    """Collect from every partition on the Dask workers, and add up the counts.

    With a seed every partition has a child seed by its place: who computes it, and how often, changes nothing. Without
    one, a partition that a lost worker had is asked again; only one result of each partition is ever counted.
    `together` must leave its list unchanged: a worker may be asked for the same sum again.
    """
    from dask.delayed import delayed

    asked = delayed(_collected, pure=False)
    parts = frame.to_delayed()
    used = delayed(collect)  # sent to the workers once
    left = [
        asked(used, part, seed, partition, len(parts))
        for partition, (part, seed) in enumerate(zip(parts, child_seeds(rng, len(parts)), strict=True))
    ]
    return added_up(left, together)


def added_up(results: Sequence[Any], together: Callable[[list[Collected]], Collected]) -> Collected:
    """Compute one or more delayed results of Dask, and add them up on the workers, a few at a time."""
    from dask.delayed import delayed

    added, used, left = delayed(_sum, pure=False), delayed(together), list(results)
    while len(left) > 1:
        left = [added(used, left[start : start + _ADDED_AT_ONCE]) for start in range(0, len(left), _ADDED_AT_ONCE)]
    total: Collected = computed(left[0])
    return total


def child_seeds(rng: Rng, parts: int) -> Sequence[np.random.SeedSequence | None]:
    """Return a different seed for each part, or None for each without a seed.

    Examples
    --------
    >>> [int(np.random.default_rng(seed).integers(100)) for seed in child_seeds(1, 3)]
    [78, 10, 19]
    """
    if rng is None:
        return [None] * parts
    words = generator(rng).integers(1 << 32, size=4, dtype=np.uint64)
    return np.random.SeedSequence(words.tolist()).spawn(parts)


def _collected(
    collect: Callable[[pd.DataFrame, Rng], Collected], frame: pd.DataFrame, rng: Rng, partition: int, parts: int
) -> Collected:
    try:
        return collect(frame, rng)
    except LdpstatsError as error:
        raise type(error)(
            f"in partition {partition} (of 0 to {parts - 1}), {error.came}", error.allowed, error.advice
        ) from None


def _sum(together: Callable[[list[Collected]], Collected], parts: list[Collected]) -> Collected:
    return together(parts)
