"""Partitions: the respondents of a Dask data frame, asked and counted where they are, each partition by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.randomness import Rng, generator
from ldpstats.workers import computed

Partitioned: TypeAlias = Any
"""A data frame of Dask."""
Collected = TypeVar("Collected")
_ADDED_AT_ONCE = 8


def is_partitioned(frame: object) -> TypeGuard[Any]:
    """Say whether something is a data frame of Dask.

    Parameters
    ----------
    frame : object
    """
    # who has such a frame has loaded Dask
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(frame, frames.DataFrame)


def collected_by_partition(
    collect: Callable[[pd.DataFrame, Rng], Collected],
    together: Callable[[list[Collected]], Collected],
    frame: Partitioned,
    rng: Rng,
) -> Collected:
    """Collect from every partition by itself, on the workers, and add up what was counted.

    With a seed every partition has a child seed of its own, by its place: who computes it, and how often, changes
    nothing. Without one a partition that is computed again, because a worker was lost, is asked again; what was lost
    has not been counted, and of each partition one result is: it is added up once, and nobody else has it.

    Parameters
    ----------
    collect : callable
        What is done with a partition and its seed.
    together : callable
        Returns the sum of a list, which it leaves as it is: a worker may be asked for the same sum again.
    frame : dask.dataframe.DataFrame
    rng : int or Generator, optional
        As in a protocol's `collect`.
    """
    from dask.delayed import delayed

    asked = delayed(_collected, pure=False)
    parts = frame.to_delayed()
    used = delayed(collect)  # sent to the workers once
    left = [
        asked(used, part, seed, place, len(parts))
        for place, (part, seed) in enumerate(zip(parts, child_seeds(rng, len(parts)), strict=True))
    ]
    return added_up(left, together)


def added_up(results: Sequence[Any], together: Callable[[list[Collected]], Collected]) -> Collected:
    """Compute delayed results of Dask and add them up on the workers, a few at a time.

    Parameters
    ----------
    results : sequence of Delayed
        At least one.
    together : callable
        As in `collected_by_partition`.
    """
    from dask.delayed import delayed

    added, used, left = delayed(_sum, pure=False), delayed(together), list(results)
    while len(left) > 1:
        left = [added(used, left[start : start + _ADDED_AT_ONCE]) for start in range(0, len(left), _ADDED_AT_ONCE)]
    found: Collected = computed(left[0])
    return found


def child_seeds(rng: Rng, parts: int) -> Sequence[np.random.SeedSequence | None]:
    """Return a seed for each of some parts, all different; None for each where chance is secure.

    Parameters
    ----------
    rng : int or Generator, optional
    parts : int

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
    collect: Callable[[pd.DataFrame, Rng], Collected], frame: pd.DataFrame, rng: Rng, place: int, parts: int
) -> Collected:
    try:
        return collect(frame, rng)
    except LdpstatsError as error:
        raise type(error)(
            f"in partition {place} (of 0 to {parts - 1}), {error.came}", error.allowed, error.advice
        ) from None


def _sum(together: Callable[[list[Collected]], Collected], parts: list[Collected]) -> Collected:
    return together(parts)
