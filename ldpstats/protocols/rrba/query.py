"""Queries and answers: all that aggregator and client say to each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ldpstats.answers.columns import Category
from ldpstats.answers.domain import Domain
from ldpstats.client import ClientError, refuse_oversized
from ldpstats.errors import LdpstatsError, ReportError, one_line, shortened
from ldpstats.mechanisms import FakeResponse, joint_ratio, plain_mechanism
from ldpstats.numbers.grid import read_numerator
from ldpstats.privacy import strict_epsilon
from ldpstats.saving.files import UNREADABLE, differences, read_json, shortened_reason

_VERSION = 1
_QUERY_HEAD, _ANSWER_HEAD = ({"format": f"ldpstats RRBA {what}", "version": _VERSION} for what in ("query", "answer"))
"""What queries and answers begin with."""
_QUERY = ("protocol", "number", "block", "token", "groups")
_GROUP = ("domain", "truth", "fake")
_ANSWER = ("protocol", "number", "block", "token", "cells", "simulated")


@dataclass(frozen=True, slots=True, eq=False)
class GroupQuery:
    """Question about one group of attributes, and the randomizer with its fakes (the paper's current table T)."""

    domain: Domain
    randomizer: FakeResponse
    _places: tuple[tuple[str, Mapping[Category, int]], ...]

    @classmethod
    def about(cls, domain: Domain, randomizer: FakeResponse) -> GroupQuery:
        """Ask about the attributes of a domain; there is a fake for every cell."""
        if domain.size() != randomizer.k:
            raise LdpstatsError(
                f"{randomizer.k} fakes for {domain.names} with {domain.size()} cells", "a fake for every cell"
            )
        places, stride = [], domain.size()
        for name, categories in domain.categories.items():
            stride //= len(categories)
            places.append((name, {category: stride * code for code, category in enumerate(categories)}))
        return cls(domain, randomizer, tuple(places))

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

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> query = ldp.RRBA(domain, epsilon=1.0).aggregator().query()
    >>> query.number, query.block, round(query.strict_epsilon(), 6)
    (0, 0, 1.0)
    """

    protocol: str
    number: int
    block: int
    token: str
    groups: tuple[GroupQuery, ...]

    def refuse_misfits(self) -> None:
        """Refuse what no aggregator writes."""
        asked = (
            isinstance(self.groups, tuple)
            and self.groups
            and all(isinstance(group, GroupQuery) for group in self.groups)
        )
        if not (asked and _plain((self.number, self.block), (self.protocol, self.token))):
            raise ReportError(
                f"the query {shortened(self)}", "numbers, a token and groups, as Query.to_json wrote them"
            )

    def strict_epsilon(self) -> float:
        """Return the strict level of answering all of it: of the respondent's record, from these very fakes."""
        return _level(tuple(asked.randomizer for asked in self.groups))

    def to_json(self) -> str:
        """Return the query as JSON: what is sent to the client."""
        groups = [
            {"domain": asked.domain.to_list(), **plain_mechanism(asked.randomizer)["probabilities"]}
            for asked in self.groups
        ]
        plain = {"protocol": self.protocol, "number": self.number, "block": self.block, "token": self.token}
        text = json.dumps({**_QUERY_HEAD, **plain, "groups": groups}, ensure_ascii=False)
        try:
            refuse_oversized(text, "a query")
        except ClientError as error:
            raise ReportError(error.came, error.allowed, "Ask for groups of fewer cells.") from error
        return text

    @classmethod
    def from_json(cls, text: str) -> Query:
        """Read a query that `to_json` wrote.

        Parameters
        ----------
        text : str
        """
        try:
            refuse_oversized(text, "a query")
            plain = _named(_without_head(read_json(text), _QUERY_HEAD), _QUERY)
            groups = tuple(_read_group(_named(group, _GROUP)) for group in plain["groups"])
            read = cls(plain["protocol"], plain["number"], plain["block"], plain["token"], groups)
            read.refuse_misfits()
        except UNREADABLE as error:
            raise ReportError(
                f"text that is not a query ({shortened_reason(error)})", "what Query.to_json wrote"
            ) from error
        return read


def _read_group(plain: Mapping[str, Any]) -> GroupQuery:
    used = FakeResponse(read_numerator(plain["truth"]), tuple(map(read_numerator, plain["fake"])))
    return GroupQuery.about(Domain.from_list(plain["domain"]), used)


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

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> protocol = ldp.RRBA(domain, epsilon=1.0)
    >>> respondent = protocol.client({"sex": "F", "car": "no"}, limit=1.0)
    >>> answer = respondent.answer(protocol.aggregator().query(), rng=1)
    >>> answer.cells, answer.simulated
    ((3,), True)
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
        return json.dumps({**_ANSWER_HEAD, **self.to_dict()})

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        return {name: getattr(self, name) for name in _ANSWER}

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """Read an answer that `to_json` wrote.

        Parameters
        ----------
        text : str
        """
        try:
            return cls.from_dict(_without_head(read_json(text), _ANSWER_HEAD))
        except UNREADABLE as error:
            raise ReportError(
                f"text that is not an answer ({shortened_reason(error)})", "what Answer.to_json wrote"
            ) from error

    @classmethod
    def from_dict(cls, plain: object) -> Answer:
        """Read what `to_dict` returned.

        Parameters
        ----------
        plain : dict
            Plain values.
        """
        values = _named(plain, _ANSWER)
        read = cls(**{**values, "cells": tuple(values["cells"])})
        read.refuse_misfits()
        return read


def _without_head(plain: object, head: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without its format and version; those of others are refused."""
    if not isinstance(plain, dict):
        raise ReportError(shortened(plain), f"an object that begins with {dict(head)}")
    own_head = {name: plain.get(name) for name in head}
    if differences(head, own_head):
        raise ReportError(f"a message that begins with {shortened(own_head)}", f"one that begins with {dict(head)}")
    return {name: value for name, value in plain.items() if name not in head}


def _named(plain: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Refuse what is not an object with exactly these names."""
    if not isinstance(plain, dict) or set(plain) != set(names):
        raise ReportError(shortened(plain), f"an object with {one_line(names)}")
    return plain


def _plain(numbers: Iterable[object], texts: Iterable[object]) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers) and all(
        isinstance(text, str) and text.isascii() for text in texts
    )
