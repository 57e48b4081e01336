"""Queries and answers: all that aggregator and client say to each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ldpstats.columns import Category
from ldpstats.domain import Domain
from ldpstats.envelope import read_json
from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.mechanisms import FakeResponse, joint_ratio
from ldpstats.privacy import strict_epsilon


@dataclass(frozen=True, slots=True, eq=False)
class GroupQuery:
    """What is asked about one group: its attributes, and how the answer is to be randomized.

    Parameters
    ----------
    domain : Domain
        The group's attributes with their categories.
    randomizer : FakeResponse
        The probability of telling the truth, and the fakes: the paper's current table T.
    """

    domain: Domain
    randomizer: FakeResponse
    _places: tuple[tuple[str, Mapping[Category, int]], ...]

    @classmethod
    def about(cls, domain: Domain, randomizer: FakeResponse) -> GroupQuery:
        """Ask about some attributes."""
        if domain.size() != randomizer.k:
            raise LdpstatsError(
                f"{randomizer.k} fakes for {domain.names} with {domain.size()} cells", "a fake for every cell"
            )
        places, stride = [], domain.size()
        for name, categories in domain.categories.items():
            stride //= len(categories)
            places.append((name, {category: stride * code for code, category in enumerate(categories)}))
        return cls(domain, randomizer, tuple(places))

    def asking_with(self, randomizer: FakeResponse) -> GroupQuery:
        """Return the same question with other fakes."""
        return GroupQuery(self.domain, randomizer, self._places)

    def cell(self, record: Mapping[str, Category]) -> int:
        """Return the cell of a record that fits the group's domain."""
        return sum([places[record[name]] for name, places in self._places])


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A question to one respondent: all the groups that she is to answer, each with its current fakes.

    Parameters
    ----------
    protocol : str
        The fingerprint of the protocol.
    number, block : int
        The query's number, and the position of its block among those of its groups.
    token : str
        What shows the aggregator that it made this query.
    groups : tuple of GroupQuery
    """

    protocol: str
    number: int
    block: int
    token: str
    groups: tuple[GroupQuery, ...]

    def strict_epsilon(self) -> float:
        """Return the strict level of answering all of it: of the respondent's record, from these very fakes."""
        return _level(tuple(asked.randomizer for asked in self.groups))

    def to_json(self) -> str:
        """Return the query as JSON: what is sent to the client."""
        groups = [
            {"domain": asked.domain.to_dict(), "truth": asked.randomizer.truth, "fake": list(asked.randomizer.fake)}
            for asked in self.groups
        ]
        plain = {"protocol": self.protocol, "number": self.number, "block": self.block, "token": self.token}
        return json.dumps({**plain, "groups": groups}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Query:
        """Read a query that `to_json` wrote."""
        try:
            plain = read_json(text)
            groups = tuple(
                GroupQuery.about(Domain(one["domain"]), FakeResponse(one["truth"], tuple(one["fake"])))
                for one in plain["groups"]
            )
            read = cls(plain["protocol"], plain["number"], plain["block"], plain["token"], groups)
            if not groups or not _plain((read.number, read.block), (read.protocol, read.token)):
                raise ValueError("its numbers, its token or its groups")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ReportError(f"text that is not a query ({error})", "what Query.to_json wrote") from error
        return read


@lru_cache(maxsize=4096)
def _level(randomizers: tuple[FakeResponse, ...]) -> float:
    return strict_epsilon(joint_ratio(randomizers))


@dataclass(frozen=True, slots=True)
class Answer:
    """A respondent's randomized answers to one query.

    Parameters
    ----------
    protocol, number, block, token
        Those of the query.
    cells : tuple of int
        The cell reported about each of the query's groups.
    simulated : bool
        Whether it was drawn from a seed.
    """

    protocol: str
    number: int
    block: int
    token: str
    cells: tuple[int, ...]
    simulated: bool = False

    def refuse_misfits(self) -> None:
        """Refuse what no client writes."""
        cells = self.cells if isinstance(self.cells, tuple) else (None,)
        plain = _plain((self.number, self.block, *cells), (self.protocol, self.token))
        if not (plain and isinstance(self.simulated, bool)):
            raise ReportError(
                f"the answer {shortened(self)}", "numbers, a token and cells, as Answer.to_json wrote them"
            )

    def to_json(self) -> str:
        """Return the answer as JSON: what the client sends back."""
        names = ("protocol", "number", "block", "token", "cells", "simulated")
        return json.dumps({name: getattr(self, name) for name in names})

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """Read an answer that `to_json` wrote."""
        try:
            plain = read_json(text)
            read = cls(**{**plain, "cells": tuple(plain["cells"])})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ReportError(f"text that is not an answer ({error})", "what Answer.to_json wrote") from error
        read.refuse_misfits()
        return read


def _plain(numbers: Iterable[object], texts: Iterable[object]) -> bool:
    return all(type(one) is int and one >= 0 for one in numbers) and all(
        isinstance(text, str) and text.isascii() for text in texts
    )
