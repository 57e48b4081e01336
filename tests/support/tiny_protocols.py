"""Tiny protocols: respondents few enough that the law of all that they report can be enumerated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ldpstats import Domain
from ldpstats.conformance import exact_channel
from ldpstats.conformance.enumeration import decoded

FALSE_FAILURE_RATE = 1e-6
"""How often a check would fail correct code, if its seed were not fixed."""

Law = dict[tuple[int, ...], float]


def joint_counts(domain: Domain, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    cells = domain.cells(domain.encode(frame), domain.names)
    return np.bincount(cells, minlength=domain.size()).reshape(domain.shape)


PATHS: dict[str, tuple[str, Callable[[Domain, pd.DataFrame], Any]]] = {
    "collect": ("collect", lambda _, frame: frame),
    "simulate a frame": ("simulate", lambda _, frame: frame),
    "simulate joint counts": ("simulate", joint_counts),
}
TINY = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
THREE = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 1]})


def tally_laws(protocol: Any, group: tuple[str, ...]) -> list[Law]:
    """Return the exact law of one report's tally as protocols keep it, for every value of the group."""
    used = protocol.mechanism_for(group).finest
    laws = []
    for channel in exact_channel(used):
        law: Law = defaultdict(float)
        for report, probability in channel.items():
            law[tuple(used.count(decoded(used, report)).counts.tolist())] += float(probability)
        laws.append(law)
    return laws


def convolved(one: Law, other: Law) -> Law:
    law: Law = defaultdict(float)
    for (counts, p), (more, q) in product(one.items(), other.items()):
        law[tuple(np.add(counts, more).tolist())] += p * q
    return law


def drawn(protocol: Any, frame: pd.DataFrame, path: str, draws: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield the tallies of all groups, one behind the other, of repeated collections from the same respondents."""
    rng, (verb, population_of) = np.random.default_rng(seed), PATHS[path]
    population = population_of(protocol.domain, frame)
    for _ in range(draws):
        tables = getattr(protocol, verb)(population, rng)
        yield tuple(count for table in tables for count in table.blocks[0].tally.counts.tolist())
