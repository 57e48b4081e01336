"""Laws of collections: what one respondent sends and what a few make of tables, by every course of all draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.conformance.courses import TooManyCoursesError
from ldpstats.conformance.enumeration import MOST_COURSES, ScriptedDraws, outcomes
from ldpstats.conformance.requirements import ConformanceError
from ldpstats.numbers.randomness import Shape
from ldpstats.protocols import LocalProtocol
from ldpstats.tables import TableSet

Make: TypeAlias = Callable[[Domain, float], LocalProtocol]
"""A protocol, given its domain and the level of a respondent."""
CollectionLaw: TypeAlias = dict[Hashable, Fraction]

TINY = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
LEVEL = 3.0
"""The level of the protocols whose laws are enumerated."""
_KEYS = 1 << 31


class CollectionDraws(ScriptedDraws):
    """Scripted draws for several respondents in random order."""

    simulated = False

    def __init__(self, script: list[int]) -> None:
        super().__init__(script)
        self._ordered = False

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Follow the script for uniform integers; sort keys, which come in halves, are one draw among all orders."""
        if bound < _KEYS:
            return super().uniform(bound, shape)
        count = int(np.prod(shape, dtype=np.int64))
        self._ordered = not self._ordered
        if not self._ordered:
            return np.zeros(count, dtype=np.int64)
        orders = list(permutations(range(count)))
        return np.array(orders[int(super().uniform(len(orders), 1)[0])], dtype=np.int64)


def law_of_run(run: Callable[[], Hashable], most: int = MOST_COURSES) -> CollectionLaw:
    """Return the exact law of what a call returns, which must take all its chance from `client_draws`.

    It is called once for every course of its draws, of which there may be `most`.
    """
    law: CollectionLaw = defaultdict(Fraction)

    def once(draws: ScriptedDraws) -> Any:
        with patch("ldpstats.numbers.randomness._ByteDraws", lambda *_, **__: draws), without_generators():
            made = run()
        if prod(sum(weight > 0 for weight in weights) for weights, _ in draws.choices) > most:
            raise TooManyCoursesError
        return made

    outcome: Any
    for outcome, probability in outcomes(once, most, CollectionDraws):
        law[outcome] += probability
    return dict(law)


def without_generators() -> AbstractContextManager[object]:
    """Context in which `default_rng` raises: chance must come from the operating system's secure source."""
    insecure = ConformanceError("without a seed, chance comes from a generator that is not secure")
    return patch("numpy.random.default_rng", side_effect=insecure)


Sent: TypeAlias = tuple[tuple[Any, ...], ...]
"""The rows of one respondent, but for the number of the collection: all that describes them, and their values."""


@dataclass(frozen=True, slots=True, eq=False)
class OneRespondent:
    """Exact law of the rows that one respondent sends, for every record."""

    protocol: LocalProtocol
    records: NDArray[np.int64]  # a row of codes each
    laws: list[CollectionLaw]  # of the rows, for each record
    tables: dict[Hashable, TableSet]  # of every outcome

    @property
    def some(self) -> TableSet:
        """Tables of any one outcome, for what those of all outcomes share."""
        return next(iter(self.tables.values()))

    def seen_through(self, shown: Callable[[Any], Hashable]) -> list[CollectionLaw]:
        """Return the laws, for each record, of a function of what is sent."""
        merged: list[CollectionLaw] = []
        for law in self.laws:
            seen: CollectionLaw = defaultdict(Fraction)
            for sent, probability in law.items():
                seen[shown(sent)] += probability
            merged.append(dict(seen))
        return merged


@lru_cache(maxsize=4)
def one_respondent(make: Make) -> OneRespondent:
    """Enumerate what one respondent sends; `make` gives a protocol by domain and level."""
    protocol = make(TINY, LEVEL)
    domain = protocol.domain
    records = np.array(list(product(*map(range, domain.shape))))
    laws: list[CollectionLaw] = []
    kept: dict[Hashable, pd.DataFrame] = {}
    for record in records:
        frame = domain.decode(record[None])

        def send(alone: pd.DataFrame = frame) -> Hashable:
            rows = protocol.reports(alone)
            sent = sent_rows(rows)
            kept.setdefault(sent, rows)
            return sent

        laws.append(law_of_run(send))
    return OneRespondent(protocol, records, laws, {sent: protocol.tables(rows) for sent, rows in kept.items()})


def sent_rows(rows: pd.DataFrame, *left_out: str) -> Sent:
    """Return rows as values with all that a data frame shows, but for the collection's identity and other columns."""
    shown = rows.drop(columns=["collection", *left_out])
    head = (*shown.columns, *map(str, rows.dtypes), repr(rows.index), repr(rows.attrs))
    return (head, *shown.itertuples(index=False, name=None))


def people(protocol: LocalProtocol, n: int) -> pd.DataFrame:
    """Return respondents: the first two differ in every answer, and later categories are rarer than early ones."""
    rng, shape = np.random.default_rng(n), protocol.domain.shape
    codes = (rng.random((n, len(shape))) ** 2 * shape).astype(np.int64)
    codes[:2] = np.arange(n)[:2, None]
    return protocol.domain.decode(codes)


def tallies(tables: TableSet) -> tuple[Hashable, ...]:
    """Return, for every table and block, the number of reports and the counts."""
    return tuple(tuple((block.n, *block.tally.counts.tolist()) for block in table.blocks) for table in tables)


def joint_counts(domain: Domain, frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return how many respondents have each record, in the domain's shape."""
    cells = domain.cells(domain.encode(frame), domain.names)
    return np.bincount(cells, minlength=domain.size()).reshape(domain.shape)


def ways_to_collect(
    protocol: LocalProtocol, frame: pd.DataFrame, rng: np.random.Generator
) -> dict[str, Callable[[], TableSet]]:
    """Return calls that make tables of the same respondents in every way that there is."""
    joint = joint_counts(protocol.domain, frame)
    return {
        "collect": lambda: protocol.collect(frame, rng),
        "reports and tables": lambda: protocol.tables(protocol.reports(frame, rng)),
        "simulate a frame": lambda: protocol.simulate(frame, rng),
        "simulate joint counts": lambda: protocol.simulate(joint, rng),
    }
