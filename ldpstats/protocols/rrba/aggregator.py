"""The aggregator: a state machine that hands out queries, takes answers, closes blocks, and survives being killed."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, ReportError, one_line, shortened
from ldpstats.numbers.arrays import at_least
from ldpstats.protocols.rrba.journal import Journal, NoRoomError
from ldpstats.protocols.rrba.ownership import Owned, in_turn
from ldpstats.protocols.rrba.query import Answer, GroupQuery, Query
from ldpstats.protocols.rrba.series import Series, UnitBlock, plain_randomizers, read_randomizers
from ldpstats.saving.files import Saveable, opened, sealed
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import RespondentSet

if TYPE_CHECKING:
    from ldpstats.protocols.rrba.protocol import RRBA

_FORMAT, _VERSION = "RRBA aggregator", 1
"""What saved states are, the version that wrote probabilities as numbers, and the one that is written."""
_NAMES = {"protocol", "identity", "keys", "first", "made", "answered", "series"}
_RESERVED = 1024
"""How many query numbers are written down at once; a killed aggregator leaves the rest of them out."""
_SECRET_BYTES = 16
_EVERYONE = 1 << 40
"""Whom tables count, whenever they are taken: tables of two times share respondents, and are never added."""


class Aggregator(Owned, Saveable):
    """The collecting side of an RRBA protocol: it sees queries and randomized answers, never a record.

    `query` asks about the next unit of groups, with the fakes of its open block. `take` counts an answer, exactly
    once; when a block has all its reports, new fakes are made of them and the next block begins. A late answer
    still counts in the block that it belongs to, with the fakes that it was sent.

    With a journal every answer is written down before it is counted, and a killed process is resumed from there
    by opening the same file. (It is handed to the operating system, not forced onto the disk: a failing machine
    may lose what a killed process does not.) Without one, `to_json` saves the state at any moment.

    An aggregator serves any number of threads, one after another, and the process that made it alone: in a forked
    one it gives out no query and takes no answer.

    Parameters
    ----------
    protocol : RRBA
        What is asked; `RRBA.aggregator` makes one.
    first : int
        The unit of groups that is asked first.
    journal : str or Path, optional
        The file in which answers are written down.

    Attributes
    ----------
    identity : str
        32 letters that no other collection has; a state that was saved keeps them.

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

    _called = "an aggregator"
    _instead = (
        "Let other processes send their answers here, or give each an aggregator of its own and add the tables; "
        "a saved state (to_json) goes on in one place alone."
    )

    def __init__(self, protocol: RRBA, first: int = 0, journal: str | Path | None = None) -> None:
        super().__init__()
        plain = json.loads(protocol.to_json())  # what could not be saved later is refused before anybody answers
        self.protocol = protocol
        self._fingerprint = protocol.fingerprint()
        self._series = protocol.series()
        self._asked = [(series.blocks[0], _group_queries(protocol.domain, series)) for series in self._series]
        self._made = self._reserved = 0
        self._answered = bytearray()
        self._begin(first, secrets.token_hex(_SECRET_BYTES), secrets.token_bytes(_SECRET_BYTES))
        self._journal: Journal | None = None
        if journal is not None:
            written = Journal(journal, plain)
            answers: dict[int, tuple[Any, ...]] = {}
            try:  # begin it, or do again what it says, with the fakes that were really sent
                begun = written.replay(partial(self._redo, answers))
                written.resume()
                self._journal = written
                if not begun:
                    written.write(["begin", self._first, self.identity, self._keys[0][1].hex()])
                self._open_what_is_due()
            except BaseException:
                written.close()
                raise

    @property
    @in_turn
    def n(self) -> int:
        """The number of respondents whose answers were counted."""
        return sum(self._answered)

    @in_turn
    def query(self) -> Query:
        """Return the question for the next respondent."""
        number = self._made
        if number >= self._reserved:
            self._wholly_or_not(partial(self._reserve, number + _RESERVED), lambda: None)
        self._made += 1
        block, groups = self._open_groups(self._unit(number))
        return Query(self._fingerprint, number, block, self._token(number, block), groups)

    @in_turn
    def take(self, answer: Answer) -> None:
        """Count an answer; one that this aggregator did not ask for, or has counted before, is refused.

        Parameters
        ----------
        answer : Answer
        """
        self._refuse(answer)
        unit = self._unit(answer.number)
        uncounted = self._series[unit].undoing(answer.block, answer.cells)

        def undo() -> None:
            uncounted()
            self._answered[answer.number : answer.number + 1] = b"\0"

        self._wholly_or_not(partial(self._take, unit, answer), undo)

    @in_turn
    def tables(self, method: str = "mle") -> TableSet:
        """Return the tables that all blocks so far give, the open ones included; see `Table.estimated_by`.

        Their intervals, and tests of them, hold for one look: who looks after every block and stops when a result
        pleases finds much that is not there.

        Parameters
        ----------
        method : str
            How the tables are estimated.
        """
        parts = [
            RespondentSet.whole(self.identity, unit, _EVERYONE if any(block.n for block in series.blocks) else 0)
            for unit, series in enumerate(self._series)
        ]
        return self.protocol.tables_of(self._series, method, parts)

    @in_turn
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

    @in_turn
    def to_json(self) -> str:
        """Return the whole state as JSON; `from_json` goes on from there. It holds the key of the queries' tokens."""
        answered = self._answered.ljust(self._made, b"\0")
        body = {
            "protocol": json.loads(self.protocol.to_json()),
            "identity": self.identity,
            "keys": [[first, key.hex()] for first, key in self._keys],
            "first": self._first,
            "made": self._made,
            "answered": np.packbits(np.frombuffer(answered, dtype=np.uint8)).tobytes().hex(),
            "series": [[block.to_dict() for block in series.blocks] for series in self._series],
        }
        return sealed(_FORMAT, _VERSION, body)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Go on from a state that `to_json` wrote.

        Queries that were made after it was saved are forgotten; new ones cannot be taken for them.

        Parameters
        ----------
        text : str
        """
        return opened(text, _FORMAT, _VERSION, cls._read)

    @classmethod
    def _read(cls, body: dict[str, Any]) -> Self:
        from ldpstats.protocols.rrba.protocol import RRBA

        if set(body) != _NAMES:
            raise ValueError(f"it holds {one_line(list(body))}")
        read = cls(RRBA.from_json(json.dumps(body["protocol"])))
        read._begin(body["first"], body["identity"], bytes(_SECRET_BYTES))
        read._made = read._reserved = at_least(body["made"], 0, "made")
        # which key signs the queries from which number on; one that signed none is left out
        keys = [(at_least(first, 0, "the first query of a key"), _read_secret(key)) for first, key in body["keys"]]
        firsts = [first for first, _ in keys]
        if firsts[0] != 0 or firsts != sorted(set(firsts)) or firsts[-1] > read._made:
            raise ValueError(f"keys from the queries {one_line(firsts)} on, of {read._made}")
        # a later query is signed with a new key, so that none is taken for one that was made since
        read._keys = [*(key for key in keys if key[0] < read._made), (read._made, secrets.token_bytes(_SECRET_BYTES))]
        # a bit for each query
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(body["answered"]), dtype=np.uint8))
        if bits.size != -(-read._made // 8) * 8 or bits[read._made :].any():
            raise ValueError(f"{bits.size} marks of answers to {read._made} queries")
        read._answered = bytearray(bits[: read._made].tobytes())
        for series, blocks in zip(read._series, body["series"], strict=True):
            series.restore([UnitBlock.from_dict(block) for block in blocks])
        units = len(read._series)
        answers = [sum(read._answered[(unit - read._first) % units :: units]) for unit in range(units)]
        counted = [sum(block.n for block in series.blocks) for series in read._series]
        if answers != counted:
            raise ValueError(f"{shortened(answers)} answers to queries in blocks of {shortened(counted)}")
        read._open_what_is_due()
        return read

    def close(self) -> None:
        """Close the journal."""
        if self._journal is None:
            return
        try:
            self.refuse_other_processes()
        except LdpstatsError:  # a forked process lets go of its copy, whatever another thread held when it began
            self._journal.close()
            return
        with self._lock:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wholly_or_not(self, step: Callable[[], None], undo: Callable[[], None]) -> None:
        """Run a step as a transaction: if it is interrupted anywhere, by a key or a timer, undo counts and journal."""
        end = None if self._journal is None else self._journal.end
        try:
            step()
        except LdpstatsError:  # refused before anything was written or counted
            raise
        except BaseException:
            undo()
            if self._journal is not None and end is not None:
                self._journal.back_to(end)
            raise

    def _reserve(self, numbers: int) -> None:
        if self._journal is not None:
            self._journal.write(["reserve", numbers])
        self._reserved = numbers

    def _take(self, unit: int, answer: Answer) -> None:
        if self._journal is not None:
            self._journal.write(["answer", answer.number, answer.block, answer.cells, answer.simulated])
        self._count(answer.number, answer.block, answer.cells, simulated=answer.simulated)
        if self._series[unit].is_full:
            # without room for the line the block stays open, takes more answers, and the next of them tries again
            with suppress(NoRoomError):
                self._open_next(unit)

    def _unit(self, number: int) -> int:
        return (self._first + number) % len(self._series)

    def _token(self, number: int, block: int) -> str:
        """Sign a query with a keyed hash, so that nobody else can make one up."""
        asked = number.to_bytes(8, "big") + block.to_bytes(8, "big")
        key = next(key for first, key in reversed(self._keys) if first <= number)
        return hashlib.blake2b(asked, key=key, digest_size=16).hexdigest()

    def _open_groups(self, unit: int) -> tuple[int, tuple[GroupQuery, ...]]:
        """Return the position of a unit's open block, and its groups with the fakes of that block."""
        blocks = self._series[unit].blocks
        block, groups = self._asked[unit]
        if block is not blocks[-1]:
            pairs = zip(groups, blocks[-1].randomizers, strict=True)
            groups = tuple(replace(group, randomizer=used) for group, used in pairs)
            self._asked[unit] = blocks[-1], groups
        return len(blocks) - 1, groups

    def _refuse(self, answer: Answer) -> None:
        if not isinstance(answer, Answer):
            raise ReportError(f"an answer of type {type(answer).__name__}", "an Answer", "Answer.from_json reads one.")
        answer.refuse_misfits()
        number, block = answer.number, answer.block
        if answer.protocol != self._fingerprint:
            raise ReportError(f"an answer to the protocol {answer.protocol!r}", f"answers to {self._fingerprint!r}")
        if not self._is_known(number, block) or not hmac.compare_digest(answer.token, self._token(number, block)):
            raise self._foreign(answer)
        if self._is_answered(number):
            raise ReportError(
                f"a second answer to query {number}",
                "one answer to every query",
                "The first one is counted; this one changes nothing.",
            )
        self._refuse_other_cells(number, block, answer.cells)

    def _is_known(self, number: int, block: int) -> bool:
        return 0 <= number < self._made and 0 <= block < len(self._series[self._unit(number)].blocks)

    def _is_answered(self, number: int) -> bool:
        return number < len(self._answered) and bool(self._answered[number])

    def _refuse_other_cells(self, number: int, block: int, cells: tuple[int, ...]) -> None:
        randomizers = self._series[self._unit(number)].blocks[block].randomizers
        fits = len(cells) == len(randomizers) and all(
            0 <= cell < randomizer.k for cell, randomizer in zip(cells, randomizers, strict=True)
        )
        if not fits:
            raise ReportError(
                f"the cells {shortened(cells)} in answer to query {number}",
                f"a cell below each of {[randomizer.k for randomizer in randomizers]}",
                "Check that client and aggregator use the same protocol.",
            )

    def _foreign(self, answer: Answer) -> ReportError:
        """Return the error for an answer with a wrong token, which perhaps belongs to another block."""
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

    def _begin(self, first: int, identity: str, key: bytes) -> None:
        """Set the first unit, the identity of the collection and its first key."""
        if type(first) is not int or not 0 <= first < len(self._series):
            raise LdpstatsError(f"the unit {shortened(first)} to begin with", f"one of {len(self._series)}")
        if _read_secret(identity).hex() != identity or len(key) != _SECRET_BYTES:
            raise LdpstatsError(f"the identity {shortened(identity)}", "32 hexadecimal digits, and a key as long")
        self._first, self.identity, self._keys = first, identity, [(0, key)]

    def _open_next(self, unit: int) -> None:
        randomizers = self._series[unit].following()
        if self._journal is not None:
            self._journal.write(["block", unit, plain_randomizers(randomizers)])
        self._series[unit].open_next(randomizers)

    def _open_what_is_due(self) -> None:
        """Begin the blocks that could not begin after full ones: the process was killed, or the journal had no room."""
        for unit, series in enumerate(self._series):
            if series.is_full:
                self._open_next(unit)

    def _redo(self, answers: dict[int, tuple[Any, ...]], line: int, kind: str, *rest: Any) -> None:
        """Apply one line of the journal again."""
        if (kind == "begin") != (line == 0):
            raise ValueError(f"a line {shortened(kind)} in this place")
        if kind == "begin":
            first, identity, key = rest
            self._begin(first, identity, _read_secret(key))
        elif kind == "reserve":
            self._redo_reserve(*rest)
        elif kind == "answer":
            self._redo_answer(answers, *rest)
        elif kind == "block":
            self._redo_block(*rest)
        else:
            raise ValueError(f"{shortened(kind)} is no kind of line")

    def _redo_reserve(self, number: int) -> None:
        if type(number) is not int or number != self._made + _RESERVED:
            raise ValueError(f"{shortened(number)} numbers reserved, and {self._made} before")
        self._made = self._reserved = number

    def _redo_answer(self, answers: dict[int, tuple[Any, ...]], number: int, *rest: Any) -> None:
        block, cells, simulated = rest
        answer = Answer(self._fingerprint, number, block, "", tuple(cells), simulated)
        answer.refuse_misfits()
        # who was interrupted between the line and the count writes the same line again
        if self._is_answered(number):
            if answers[number] != rest:
                raise ValueError(f"another answer to query {number}")
            return
        if not self._is_known(number, block):
            raise ValueError(f"an answer to query {number} of block {block}, which was never made")
        self._refuse_other_cells(number, block, answer.cells)
        self._count(number, block, answer.cells, simulated=simulated)
        answers[number] = rest

    def _redo_block(self, unit: int, plain: list[list[Any]]) -> None:
        if type(unit) is not int or not 0 <= unit < len(self._series) or not self._series[unit].is_full:
            raise ValueError(f"a new block of unit {shortened(unit)}, which is not full")
        randomizers = read_randomizers(plain)
        if randomizers != self._series[unit].following():
            raise ValueError("other fakes than follow from the reports")
        self._series[unit].open_next(randomizers)


def _read_secret(text: object) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * _SECRET_BYTES:
        raise LdpstatsError(f"the secret {shortened(text)}", f"{2 * _SECRET_BYTES} hexadecimal digits")
    return bytes.fromhex(text)


def _group_queries(domain: Domain, series: Series) -> tuple[GroupQuery, ...]:
    pairs = zip(series.questions, series.blocks[0].randomizers, strict=True)
    return tuple(GroupQuery.about(domain.project(question.attributes), randomizer) for question, randomizer in pairs)
