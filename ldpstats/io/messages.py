"""Messages of clients: one at a time, and in files with one in each line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.io.columns import Chunk, Ragged, Source
from ldpstats.io.headers import ReportFile, damaged
from ldpstats.limits import LONGEST_LINE
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Layout, SentRows, bad_reports, by_row
from ldpstats.protocols.wire import Reason, parsed_report
from ldpstats.saving.files import UNREADABLE, read_json, shortened_reason

_FORMAT, _VERSION = "ldpstats answer", 1
_REQUIRED = frozenset(["format", "version", "protocol", "unit", "reports", "simulated"])
_AT_ONCE = 1 << 14
"""How many messages are counted at once, at most."""
_FRAME, _NUMBER = 1 << 13, 1 << 6
"""The most bytes of a message beside its reports, and of a report that is a number."""
_MOST_UNITS = 1 << 20
_BYTES = 1 << 24
"""And how many bytes of them, or of the column of their reports."""
_AS_SENT = "a message of a client, as it was sent"


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One message of a client, parsed."""

    rows: tuple[int, ...]  # numbers of the protocol's rows that it answers: those of one unit
    reports: list[NDArray[Any]]  # one for each row
    simulated: bool
    token: str  # empty where there is none


class MessageReader:
    """Parse and check the messages (JSON) of one protocol's clients."""

    def __init__(self, protocol: LocalProtocol) -> None:
        self._fingerprint, self._layout = protocol.fingerprint(), Layout(protocol.sent_rows)
        self._units: dict[int, tuple[int, ...]] = {}
        for number, row in enumerate(protocol.sent_rows):
            self._units[row.unit] = (*self._units.get(row.unit, ()), number)
        widths = self._layout.widths
        # two digits for a byte, and as much again for those who write spaces
        self._longest = _FRAME + max(
            sum(4 * int(widths[row]) + _NUMBER for row in rows) for rows in self._units.values()
        )
        width = self._layout.width * max(map(len, self._units.values()))
        self.at_once = min(_AT_ONCE, max(1, _BYTES // max(width, 1)))  # how many messages are to be read together

    def read(
        self, messages: Sequence[str | bytes | Mapping[str, Any]], identity: str = ""
    ) -> tuple[list[Message], SentRows, NDArray[np.int64], dict[int, Reason]]:
        """Return the messages of this protocol's clients, their reports as rows, their places, and what others are."""
        read = dict(enumerate(map(self._read, messages)))
        known = {position: message for position, message in read.items() if isinstance(message, Message)}
        bad = {position: reason for position, reason in read.items() if isinstance(reason, Reason)}
        rows = self._rows([*known.values()], identity)
        places = np.repeat(np.array([*known], dtype=np.int64), [len(message.rows) for message in known.values()])
        # a report that nobody can send spoils its message
        if wrong := bad_reports(rows, self._layout.rows):
            bad |= {int(places[row]): reason for row, reason in reversed(wrong.items())}
            fine = np.flatnonzero(~np.isin(places, [*bad]))
            rows, places = rows.taken(fine), places[fine]
        return [message for position, message in known.items() if position not in bad], rows, places, bad

    def _rows(self, messages: Sequence[Message], identity: str) -> SentRows:
        rows = np.array([row for message in messages for row in message.rows], dtype=np.int64)
        simulated = np.array([message.simulated for message in messages for _ in message.rows], dtype=np.bool_)
        reports = [report for message in messages for report in message.reports]
        column = self._layout.column(len(rows))
        for row, places in by_row(rows):
            self._layout.put(column, places, row, np.stack([reports[position] for position in places.tolist()]))
        return SentRows(identity, rows, column, None, simulated)

    def _read(self, message: str | bytes | Mapping[str, Any]) -> Message | Reason:
        """Parse a message; return the reason if no client of this protocol sends it."""
        try:
            plain = message if isinstance(message, Mapping) else read_json(_decoded(message, self._longest))
            if not isinstance(plain, Mapping):
                raise TypeError("it is no object")
        except UNREADABLE as error:
            return Reason(f"a message that cannot be read ({shortened_reason(error)[:80]})", _AS_SENT)
        return self._foreign(plain) or self._answer(plain)

    def _foreign(self, plain: Mapping[str, Any]) -> Reason | None:
        if plain.get("format") != _FORMAT or plain.get("version") != _VERSION:
            said = f"the format {shortened(plain.get('format'))}, version {shortened(plain.get('version'))}"
            return Reason(said, f"{_FORMAT!r}, version {_VERSION}")
        if plain.get("protocol") != self._fingerprint:
            return Reason(
                f"an answer to the protocol {shortened(plain.get('protocol'))}", f"the protocol {self._fingerprint!r}"
            )
        if not _REQUIRED <= set(plain) <= _REQUIRED | {"token"}:
            return Reason(
                f"a message with {sorted(map(str, plain))}"[:300], f"{sorted(_REQUIRED)}, and perhaps a token"
            )
        return None

    def _answer(self, plain: Mapping[str, Any]) -> Message | Reason:
        unit, sent, token = plain["unit"], plain["reports"], plain.get("token", "")
        rows = self._units.get(unit) if type(unit) is int else None
        if rows is None or not isinstance(sent, list) or len(sent) != len(rows):
            many = f"{len(sent)} reports" if isinstance(sent, list) else shortened(sent)
            return Reason(
                f"{many} about the unit {shortened(unit)}", f"a report for every row of a unit below {len(self._units)}"
            )
        if (
            type(plain["simulated"]) is not bool
            or not isinstance(token, str)
            or token.encode(errors="ignore").decode() != token
        ):
            return Reason("a message that is neither simulated nor not, or whose token is no text", _AS_SENT)
        reports = []
        for row, report in zip(rows, sent, strict=True):
            known = type(report) in (int, str)
            read = parsed_report(report, self._layout.rows[row].wire.report_format) if known else None
            if not isinstance(read, np.ndarray):
                return read or Reason(
                    f"the report {shortened(report)}", "a whole number, or a text of hexadecimal digits"
                )
            reports.append(read)
        return Message(rows, reports, plain["simulated"], token)


class MessageSource(Source):
    """A file of clients' messages, one in each line; a digest of all of them identifies the collection."""

    tokens = True

    def __init__(self, path: str, name: str) -> None:
        self._path, self.name = path, name
        digest, rows, last = hashlib.sha256(), 0, b"\n"
        for rows, last in enumerate(_lines_of(path, digest), 1):  # noqa: B007  # what stands there in the end
            pass
        self._digest = digest.hexdigest()
        self.identity, self.size = self._digest[:32], rows
        if not last.endswith((b"\n", b"}")):
            raise damaged(name, f"its last line, {rows:,}, was cut off")

    @property
    def about(self) -> list[Any]:
        """SHA-256 digest of all lines, and how many they are, for checkpoints."""
        return ["answers", self._digest, self.size]

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of the messages of a protocol's clients; protocols with adaptive questions are refused."""
        if protocol.adaptive:
            raise LdpstatsError(
                f"messages in the file {self.name!r} for a protocol of the kind {protocol.kind!r}",
                "messages of clients whose questions do not depend on earlier answers",
                "protocol.aggregator(journal=...) takes the answers to its queries one by one.",
            )
        return partial(self._chunks, MessageReader(protocol))

    def described(self) -> ReportFile:
        """Count the messages by unit; reads the whole file."""
        units: Counter[int] = Counter()
        protocols: Counter[str] = Counter()
        simulated, named, others = 0, False, 0
        for line in _lines_of(self._path, hashlib.sha256()):
            plain = _plain(line)
            if plain is None:
                others += 1
                continue
            units[plain["unit"]] += 1
            protocols[plain["protocol"]] += 1
            simulated, named = simulated + plain["simulated"], named or bool(plain.get("token"))
        numbers = range(max(units, default=-1) + 1)
        return ReportFile(
            self.name,
            "messages of clients, one in each line",
            " and ".join(sorted(protocols)),
            tuple(f"unit {number}" for number in numbers),
            (),
            (*(units[number] for number in numbers), others),
            simulated,
            named,
            self._digest[:32],
        )

    def line(self, position: int) -> str:
        """Name a message in errors: by its line, from 1 on."""
        return f"line {position + 1:,}"

    def _chunks(self, reader: MessageReader, end: int = 0) -> Iterator[Chunk]:
        digest, first = hashlib.sha256(), 0
        lines = _lines_of(self._path, digest)
        while messages := _some(lines, reader.at_once):
            if first + len(messages) > end:
                yield self._chunk(reader, messages, first)
            first += len(messages)
        if digest.hexdigest() != self._digest:
            raise damaged(self.name, "it changed while it was read")

    def _chunk(self, reader: MessageReader, messages: list[bytes], first: int) -> Chunk:
        answers, rows, places, bad = reader.read(messages, self._digest[:32])
        tokens = [answer.token.encode() for answer in answers for _ in answer.rows]
        ends = np.cumsum([len(token) for token in tokens], dtype=np.int64)
        texts = Ragged(np.frombuffer(b"".join(tokens), dtype=np.uint8), np.append(0, ends)[:-1], ends)

        def content(position: int) -> str:
            return messages[position].decode(errors="replace").rstrip("\r\n")

        behind = first + len(messages)
        return Chunk(first, len(messages), behind, rows, places, bad, content, texts if any(tokens) else None)


def _lines_of(path: str, digest: Any) -> Iterator[bytes]:
    """Yield lines, and add them to a digest that does not depend on how the system that wrote them ends lines.

    A line that is longer than any message comes in pieces, none of which can be parsed.
    """
    with Path(path).open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            digest.update(line.rstrip(b"\r\n") + b"\n")
            yield line


def _some(lines: Iterator[bytes], most: int) -> list[bytes]:
    """Return the next lines, up to a number of them and a number of bytes."""
    taken: list[bytes] = []
    size = 0
    while len(taken) < most and size < _BYTES and (line := next(lines, b"")):
        taken.append(line)
        size += len(line)
    return taken


def _plain(line: bytes) -> dict[str, Any] | None:
    """Parse a message without its protocol: None unless unit, protocol and simulated are well formed."""
    try:
        plain = read_json(_decoded(line))
        known = type(plain["unit"]) is int and 0 <= plain["unit"] < _MOST_UNITS and type(plain["simulated"]) is bool
        return plain if known and isinstance(plain["protocol"], str) else None
    except UNREADABLE:
        return None


def _decoded(message: str | bytes, most: int = LONGEST_LINE) -> str:
    if len(message) > most:
        raise ValueError(f"it has {len(message):,} letters")
    return message if isinstance(message, str) else message.decode()
