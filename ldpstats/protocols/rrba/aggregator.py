"""The aggregator: a state machine that hands out queries, takes answers, closes blocks, and survives being killed."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from ldpstats.arrays import at_least
from ldpstats.domain import Domain
from ldpstats.envelope import read_json
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.mechanisms import FakeResponse
from ldpstats.protocols.rrba.journal import Journal, NoRoomError
from ldpstats.protocols.rrba.query import Answer, GroupQuery, Query
from ldpstats.protocols.rrba.series import Series, UnitBlock
from ldpstats.tables import TableSet

if TYPE_CHECKING:
    from ldpstats.protocols.rrba.protocol import RRBA

_FORMAT = "ldpstats rrba 1"
_RESERVED = 1024
"""How many query numbers are written down at once; a killed aggregator leaves the rest of them out."""


class Aggregator:
    """The collecting side of an RRBA protocol: it sees queries and randomized answers, never a record.

    `query` asks about the next unit of groups, with the fakes of its open block. `take` counts an answer, exactly
    once; when a block has all its reports, new fakes are made of them and the next block begins. A late answer
    still counts in the block that it belongs to, with the fakes that it was sent.

    With a journal every answer is written down before it is counted, and a killed process is resumed from there
    by opening the same file. (It is handed to the operating system, not forced onto the disk: a failing machine
    may lose what a killed process does not.) Without one, `to_json` saves the state at any moment. An aggregator
    serves one thread.

    Examples
    --------
    >>> from ldpstats import RRBA, Domain
    >>> from ldpstats.protocols.rrba import Client
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> aggregator = RRBA(domain, epsilon=1.0, block_size=2).aggregator()
    >>> for _ in range(3):
    ...     answer = Client(domain, {"sex": "F", "car": "no"}, limit=1.0).answer(aggregator.query())
    ...     aggregator.take(answer)
    >>> aggregator.progress()
           groups  blocks closed  reports in the open block
    0  sex × car              1                          1
    """

    def __init__(self, protocol: RRBA, first: int = 0, journal: Journal | None = None) -> None:
        self.protocol = protocol
        self._fingerprint = protocol.fingerprint()
        self._series = protocol.series()
        self._first, self._made, self._reserved = first, 0, 0
        self._keys = [(0, secrets.token_bytes(16))]
        self._answered = bytearray()
        self._asked = [(one.blocks[0], _group_queries(protocol.domain, one)) for one in self._series]
        self._journal: Journal | None = None
        if journal is not None:
            try:
                self._go_on_from(journal)
            except LdpstatsError:
                journal.close()
                raise

    @property
    def n(self) -> int:
        """The number of respondents whose answers were counted."""
        return sum(self._answered)

    def query(self) -> Query:
        """Return the question for the next respondent."""
        number = self._made
        if number >= self._reserved:
            if self._journal is not None:
                self._journal.write(["reserve", number + _RESERVED])
            self._reserved = number + _RESERVED
        self._made += 1
        block, groups = self._open_groups(self._unit(number))
        return Query(self._fingerprint, number, block, self._token(number, block), groups)

    def take(self, answer: Answer) -> None:
        """Count an answer; one that this aggregator did not ask for, or has counted before, is refused."""
        self._refuse(answer)
        if self._journal is not None:
            self._journal.write(["answer", answer.number, answer.block, answer.cells, answer.simulated])
        unit = self._unit(answer.number)
        self._count(answer.number, answer.block, answer.cells, simulated=answer.simulated)
        if self._series[unit].is_full:
            # without room for the line the block stays open, takes more answers, and the next of them tries again
            with suppress(NoRoomError):
                self._open_next(unit)

    def tables(self, method: str = "mle") -> TableSet:
        """Return the tables that all blocks so far give, the open ones included; see `Table.estimated_by`."""
        return self.protocol.tables_of(self._series, method)

    def progress(self) -> pd.DataFrame:
        """Return how far every unit is."""
        rows = [
            {
                "groups": ", ".join(" × ".join(question.attributes) for question in series.questions),
                "blocks closed": len(series.blocks) - 1,
                "reports in the open block": series.blocks[-1].n,
            }
            for series in self._series
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """Return the whole state as JSON; `from_json` goes on from there. It holds the key of the queries' tokens."""
        series = [
            {"simulated": one.simulated, "blocks": [_plain_block(block) for block in one.blocks]}
            for one in self._series
        ]
        state = {
            "format": _FORMAT,
            "protocol": json.loads(self.protocol.to_json()),
            "keys": [[first, key.hex()] for first, key in self._keys],
            "first": self._first,
            "made": self._made,
            "answered": self._answered.hex(),
            "series": series,
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Go on from a state that `to_json` wrote.

        Queries that were made after it was saved are forgotten; new ones cannot be taken for them.
        """
        from ldpstats.protocols.rrba.protocol import RRBA

        try:
            state = read_json(text)
            read = cls(RRBA.from_json(json.dumps(state["protocol"])))
            read.restore(state)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LdpstatsError(
                f"text that is not a saved aggregator ({error})", f"a whole state written by to_json ({_FORMAT})"
            ) from error
        return read

    def restore(self, state: Mapping[str, Any], *, forgetful: bool = True) -> None:
        """Take a saved state of the same protocol in the place of this one; a state that does not fit changes nothing.

        Unless everything that happened since is known too, later queries are `forgetful` of those made since.
        """
        try:
            if state["format"] != _FORMAT or state["protocol"] != json.loads(self.protocol.to_json()):
                raise ValueError("another format or another protocol")
            first, made = at_least(state["first"], 0, "first"), at_least(state["made"], 0, "made")
            keys = [(at_least(since, 0, "a key's first query"), bytes.fromhex(key)) for since, key in state["keys"]]
            answered, all_series = bytearray.fromhex(state["answered"]), self.protocol.series()
            for series, saved in zip(all_series, state["series"], strict=True):
                if not isinstance(saved["simulated"], bool):
                    raise TypeError(f"simulated = {saved['simulated']!r}")
                series.restore([_read_block(block) for block in saved["blocks"]], simulated=saved["simulated"])
            if not keys or keys[0][0]:
                raise ValueError("no key for the first query")
            _refuse_contradictions(all_series, first, made, answered)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise LdpstatsError(f"a state that does not fit ({error})", f"a state of {self._fingerprint}") from error
        self._first, self._made, self._reserved, self._answered = first, made, made, answered
        self._series, self._keys = all_series, [*keys, (made, secrets.token_bytes(16))] if forgetful else keys

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unit(self, number: int) -> int:
        return (self._first + number) % len(self._series)

    def _token(self, number: int, block: int) -> str:
        """Return what only this aggregator can give to a query: nobody else can make one up."""
        asked = number.to_bytes(8, "big") + block.to_bytes(8, "big")
        key = next(key for first, key in reversed(self._keys) if first <= number)
        return hashlib.blake2b(asked, key=key, digest_size=16).hexdigest()

    def _open_groups(self, unit: int) -> tuple[int, tuple[GroupQuery, ...]]:
        """Return the position of a unit's open block, and its groups with the fakes of that block."""
        blocks = self._series[unit].blocks
        block, groups = self._asked[unit]
        if block is not blocks[-1]:
            pairs = zip(groups, blocks[-1].randomizers, strict=True)
            groups = tuple(one.asking_with(used) for one, used in pairs)
            self._asked[unit] = blocks[-1], groups
        return len(blocks) - 1, groups

    def _refuse(self, answer: Answer) -> None:
        answer.refuse_misfits()
        number, block = answer.number, answer.block
        if answer.protocol != self._fingerprint:
            raise ReportError(f"an answer to the protocol {answer.protocol!r}", f"answers to {self._fingerprint!r}")
        known = 0 <= number < self._made and 0 <= block < len(self._series[self._unit(number)].blocks)
        if not known or not hmac.compare_digest(answer.token, self._token(number, block)):
            raise self._foreign(answer)
        if number < len(self._answered) and self._answered[number]:
            raise ReportError(
                f"a second answer to query {number}",
                "one answer to every query",
                "The first one is counted; this one changes nothing.",
            )
        randomizers = self._series[self._unit(number)].blocks[block].randomizers
        fits = len(answer.cells) == len(randomizers) and all(
            0 <= cell < one.k for cell, one in zip(answer.cells, randomizers, strict=True)
        )
        if not fits:
            raise ReportError(
                f"the cells {answer.cells!r} in answer to query {number}",
                f"a cell below each of {[one.k for one in randomizers]}",
                "Check that client and aggregator use the same protocol.",
            )

    def _foreign(self, answer: Answer) -> ReportError:
        """Say what is wrong with a token: perhaps it belongs to another block."""
        made = 0 <= answer.number < self._made
        for block in range(len(self._series[self._unit(answer.number)].blocks) if made else 0):
            if hmac.compare_digest(answer.token, self._token(answer.number, block)):
                return ReportError(
                    f"an answer to query {answer.number} as if of block {answer.block}",
                    f"block {block}, in which it was asked",
                    "The fakes of different blocks differ: send the answer as the client made it.",
                )
        return ReportError(
            f"an answer to a query {answer.number} that this aggregator never made", "answers to its own queries"
        )

    def _count(self, number: int, block: int, cells: Iterable[int], *, simulated: bool) -> None:
        if number >= len(self._answered):
            self._answered.extend(bytes(number + 1 - len(self._answered)))
        self._answered[number] = 1
        self._series[self._unit(number)].take(block, tuple(cells), simulated=simulated)

    def _open_next(self, unit: int) -> None:
        randomizers = self._series[unit].following()
        if self._journal is not None:
            self._journal.write(["block", unit, _plain_randomizers(randomizers)])
        self._series[unit].open_next(randomizers)

    def _go_on_from(self, journal: Journal) -> None:
        """Begin a journal, or do again what it says, with the fakes that were really sent."""
        lines = journal.lines()
        if not lines:
            journal.write(json.loads(self.to_json()))
        else:
            self.restore(lines[0], forgetful=False)
        for place, line in enumerate(lines[1:], 2):
            try:
                self._redo(*line)
            except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
                raise LdpstatsError(f"line {place} of the journal ({error})", "a journal as it was written") from error
        self._journal = journal
        for unit, series in enumerate(self._series):
            if series.is_full:  # killed between the last answer of a block and the fakes of the next
                self._open_next(unit)

    def _redo(self, kind: str, first: int, *rest: Any) -> None:
        """Do again what one line of the journal says."""
        if kind == "reserve":
            self._made = self._reserved = at_least(first, self._made, "a reserved number")
        elif kind == "answer":
            block, cells, simulated = rest
            self._refuse(Answer(self._fingerprint, first, block, self._token(first, block), tuple(cells), simulated))
            self._count(first, block, cells, simulated=simulated)
        elif kind == "block":
            self._series[first].open_next(_read_randomizers(rest[0]))
        else:
            raise ValueError(f"{kind!r} is no kind of line")


def _refuse_contradictions(all_series: list[Series], first: int, made: int, answered: bytearray) -> None:
    """Refuse a state whose queries, answers and blocks do not belong together."""
    units = len(all_series)
    answers = [sum(answered[(unit - first) % units :: units]) for unit in range(units)]
    counted = [sum(block.n for block in series.blocks) for series in all_series]
    if not set(answered) <= {0, 1} or len(answered) > made or answers != counted:
        raise ValueError(f"{answers} answers to {made} queries in blocks of {counted}")


def _group_queries(domain: Domain, series: Series) -> tuple[GroupQuery, ...]:
    pairs = zip(series.questions, series.blocks[0].randomizers, strict=True)
    return tuple(GroupQuery.about(domain.project(question.attributes), randomizer) for question, randomizer in pairs)


def _plain_randomizers(randomizers: Iterable[FakeResponse]) -> list[list[Any]]:
    return [[one.truth, list(one.fake)] for one in randomizers]


def _read_randomizers(plain: list[list[Any]]) -> tuple[FakeResponse, ...]:
    return tuple(FakeResponse(truth, tuple(fake)) for truth, fake in plain)


def _plain_block(block: UnitBlock) -> dict[str, Any]:
    return {"randomizers": _plain_randomizers(block.randomizers), "counts": block.counts, "n": block.n}


def _read_block(plain: dict[str, Any]) -> UnitBlock:
    return UnitBlock(_read_randomizers(plain["randomizers"]), plain["counts"], plain["n"])
