"""CSV: report files that every program reads; the first line says what they are, the last has a digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import shortened
from ldpstats.io.chunks import Chunk
from ldpstats.io.described_files import ReportFile, counted
from ldpstats.io.headers import Header, damaged, read_header, refuse_other_columns
from ldpstats.io.layouts import Layout, Ragged, no_formula
from ldpstats.limits import LARGEST_HEADER
from ldpstats.numbers.arrays import BoolArray, IntArray
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRows, unknown_rows
from ldpstats.protocols.wire import Reason

MAGIC = b"# ldpstats reports "
_PIECE = 1 << 22
"""How many bytes are read at once; no line is longer."""
_NUMBER = 20
"""No whole number takes more letters, with what separates it from the next one."""
_END = re.compile(rb"# end (0|[1-9][0-9]{0,17}) ([0-9a-f]{64})\n")
_ROWS = 1 << 17
"""The most lines that are looked at at once: of each that is bad it is kept why."""
_FIRST_LINE = 3
"""The line of the first row, behind the header and the names of the columns."""
_WHOLE = "a whole number, as it was written"


class CsvReports:
    """Writer of reports as CSV, to a file or to a stream that cannot seek."""

    def __init__(self, file: BinaryIO, layout: Layout, header: Header, *, tokens: bool) -> None:
        self._file, self._layout = file, layout
        self._digest, self._n = hashlib.sha256(), 0
        self._write(MAGIC + f"{header.to_text()}\n{','.join(_names(layout, tokens=tokens))}\n".encode())

    def add(
        self, row: int, data: NDArray[Any], blocks: IntArray | None = None, tokens: Sequence[str] | None = None
    ) -> None:
        """Write the reports of several respondents in one row (by number) of the protocol."""
        self._n += len(data)
        step = max(1, _PIECE // (3 * _NUMBER + 2 * int(self._layout.widths[row])))
        for start in range(0, len(data), step):
            part = slice(start, start + step)
            lines = self._lines(row, data[part], None if blocks is None else blocks[part])
            if tokens is not None:
                texts = zip(lines.splitlines(), tokens[part], strict=True)
                lines = b"".join(line + f",{no_formula(token)}\n".encode() for line, token in texts)
            self._write(lines)

    def close(self) -> None:
        """Write the last line: how many rows there are, and a digest of all before it."""
        self._write(f"# end {self._n} {self._digest.hexdigest()}\n".encode())

    def give_up(self) -> None:
        """Do nothing: there is nothing to release."""

    def _lines(self, row: int, data: NDArray[Any], blocks: IntArray | None) -> bytes:
        from ldpstats.numbers import kernels

        form = self._layout.rows[row].wire.report_format
        if self._layout.sizes[row]:
            raw = self._layout.written(row, data)
            out = np.empty(len(raw) * (_NUMBER + 2 * raw.shape[1] + 2), dtype=np.uint8)
            written = kernels.write_bytes(np.full(len(raw), row), np.ascontiguousarray(raw), out)
        else:
            assert form.width is None  # one whole number
            columns = [np.full(len(data), row), data, *([] if blocks is None else [blocks])]
            out = np.empty(len(data) * _NUMBER * len(columns), dtype=np.uint8)
            written = kernels.write_numbers(np.column_stack(columns).astype(np.int64), out)
        return out[:written].tobytes()

    def _write(self, text: bytes) -> None:
        self._digest.update(text)
        self._file.write(text)


class CsvSource:
    """Reader of reports in a CSV file, in constant memory."""

    size: int | None = None

    def __init__(self, path: str, name: str) -> None:
        self._path, self.name = path, name
        with Path(path).open("rb") as file:
            head, names = file.readline(LARGEST_HEADER), file.readline(LARGEST_HEADER)
        if not head.endswith(b"\n") or not names.endswith(b"\n") or not head.startswith(MAGIC):
            raise damaged(name, f"its header does not end, or takes more than {LARGEST_HEADER:,} bytes")
        if b"\r" in head + names:
            raise damaged(name, "its lines end with a carriage return: a program changed them")
        self.header, _ = read_header(head[len(MAGIC) :], name)
        self.identity, self._head = self.header.collection, head + names
        self._names = names.decode(errors="replace").rstrip("\n").split(",")
        refuse_other_columns(self._names, name)

    @property
    def about(self) -> list[Any]:
        """A digest of all of it; the one in its last line is not known to be true before all of it was read."""
        with Path(self._path).open("rb") as file:
            return ["csv", hashlib.file_digest(file, "sha256").hexdigest()]

    @property
    def tokens(self) -> bool:
        """Whether rows have tokens."""
        return "token" in self._names

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows; a file of another protocol is refused."""
        self.header.refuse_another(protocol, self.name)
        layout = Layout.of(protocol)
        if self._names != _names(layout, tokens=self.tokens):
            raise damaged(self.name, f"its columns are {shortened(self._names, 200)}")
        return partial(self._chunks, layout)

    def line(self, place: int) -> str:
        """Name a row in errors: by its line in the file."""
        return f"line {place + _FIRST_LINE:,}"

    def described(self) -> ReportFile:
        """Return the header's statements and the number of reports in every row; reads the whole file."""
        counts = np.zeros(len(self.header.rows) + 1, dtype=np.int64)
        for text, _ in self._lines():
            lines = _Lines(np.frombuffer(text, dtype=np.uint8), text.count(b"\n"), len(self._names))
            counts += counted(lines.numbers(0), len(self.header.rows))
        return ReportFile.of(self.name, "CSV", self.header, counts.tolist(), tokens=self.tokens)

    def _chunks(self, layout: Layout, end: int = 0) -> Iterator[Chunk]:
        """Read all of the file, since its digest is that of all of it, and yield the chunks behind `end`."""
        first = behind = 0
        for text, place in self._lines():
            n, behind = text.count(b"\n"), place + len(text)
            if behind > end:
                lines = _Lines(np.frombuffer(text, dtype=np.uint8), n, len(self._names))
                sent, bad = lines.sent(layout, self.header)
                tokens = lines.field(len(self._names) - 1).unquoted if self.tokens else None
                yield Chunk(first, n, sent, bad, lines.whole, tokens, behind)
            first += n
        if end > behind:
            raise damaged(self.name, f"it ends before the place {end:,}, from which it was to be read on")

    def _lines(self) -> Iterator[tuple[bytes, int]]:
        """Yield pieces of whole lines with their places in the file, and refuse what was changed or cut."""
        digest, rows, rest, place = hashlib.sha256(self._head), 0, b"", len(self._head)
        with Path(self._path).open("rb") as file:
            if file.read(place) != self._head:
                raise damaged(self.name, "another file took its place while it was read")
            while piece := file.read(_PIECE):
                text = rest + piece
                over = 0 if text.startswith(b"#") else text.find(b"\n#") + 1
                ended = over > 0 or text.startswith(b"#")
                stop = over if ended else text.rfind(b"\n") + 1
                whole, rest = text[:stop], text[stop:]
                digest.update(whole)
                rows += whole.count(b"\n")
                for part in _parts(whole):
                    yield part, place
                    place += len(part)
                if ended:
                    self._refuse_other_end(rest + file.read(_PIECE), rows, digest.hexdigest())
                    return
                if len(rest) > _PIECE:
                    raise damaged(self.name, f"its line {rows + _FIRST_LINE:,} does not end")
        raise damaged(self.name, f"it ends behind {rows:,} rows without the line that closes it")

    def _refuse_other_end(self, last: bytes, rows: int, digest: str) -> None:
        said = _END.fullmatch(last)
        if not said:
            raise damaged(self.name, f"it ends with {shortened(last.decode(errors='replace'))}")
        if (int(said[1]), said[2].decode()) != (rows, digest):
            raise damaged(
                self.name,
                f"its last line tells of {int(said[1]):,} rows, and of another text than that of these {rows:,}",
            )


def _parts(text: bytes) -> Iterator[bytes]:
    """Yield pieces of whole lines, of bounded size."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))[_ROWS - 1 :: _ROWS]
    for start, end in pairwise([0, *(int(one) + 1 for one in ends), len(text)]):
        if start < end:
            yield text[start:end]


class _Lines:
    """Lines of one piece of text, with the bounds of their fields."""

    def __init__(self, text: NDArray[np.uint8], n: int, columns: int) -> None:
        from ldpstats.numbers import kernels

        self._text, self._n = text, n
        self._bounds = np.zeros((n, columns + 1), dtype=np.int64)
        kernels.find_fields(text, self._bounds)
        self._broken = self._bounds[:, 1] < 0
        self._ends = self._bounds[:, columns].copy()
        # of a line that has other fields nothing is read
        self._bounds[self._broken, 1:] = self._bounds[self._broken, :1] + 1

    def whole(self, place: int) -> str:
        """Return a line as it stands in the file."""
        return bytes(self._text[self._bounds[place, 0] : self._ends[place] - 1]).decode(errors="replace")

    def field(self, column: int) -> Ragged:
        """Return the texts of one column."""
        return Ragged(self._text, self._bounds[:, column].copy(), self._bounds[:, column + 1] - 1)

    def sent(
        self, layout: Layout, header: Header
    ) -> tuple[list[tuple[NDArray[np.int64] | None, SentRows]], dict[int, Reason]]:
        """Return the lines as rows to count, with their places, and why others are none."""
        rows, texts = self.numbers(0), self.field(1)
        blocks = self.numbers(2) if layout.blocks else None
        allowed = f"{self._bounds.shape[1] - 1} fields with commas between them"
        bad = {
            place: Reason(f"the line {self.whole(place)[:80]!r}", allowed)
            for place in np.flatnonzero(self._broken).tolist()
        }
        bad |= self._no_numbers(0, rows, bad)
        bad |= {} if blocks is None else self._no_numbers(2, blocks, bad)
        known = np.delete(np.arange(self._n), list(bad))
        whole = SentRows(header.collection, rows, rows, None, header.simulated, blocks)
        strange = unknown_rows(whole.taken(known), layout.rows)
        bad |= {int(known[place]): reason for place, reason in strange.items()}
        known = np.delete(known, list(strange))
        sent: list[tuple[NDArray[np.int64] | None, SentRows]] = []
        for size in np.unique(layout.sizes[rows[known]]).tolist():
            places = known[layout.sizes[rows[known]] == size]
            reports, fine = _read(texts.taken(places), size)
            wanted = f"{size} bytes: an x, and two digits for each" if size else _WHOLE
            bad |= {int(one): Reason(f"the report {texts.text(one)[:80]!r}", wanted) for one in places[~fine]}
            sent.append(
                (
                    places[fine],
                    SentRows(
                        header.collection,
                        rows[places[fine]],
                        reports[fine],
                        None,
                        header.simulated,
                        None if blocks is None else blocks[places[fine]],
                    ),
                )
            )
        return sent, bad

    def numbers(self, column: int) -> NDArray[np.int64]:
        """Return the whole numbers of one column; -1 for anything else."""
        return _read(self.field(column), 0)[0]

    def _no_numbers(self, column: int, found: NDArray[np.int64], known: dict[int, Reason]) -> dict[int, Reason]:
        texts, what = self.field(column), ("row", "report", "block")[column]
        wrong = [int(place) for place in np.flatnonzero(found < 0) if place not in known]
        return {place: Reason(f"the {what} {texts.text(place)[:80]!r}", _WHOLE) for place in wrong}


def _read(texts: Ragged, size: int) -> tuple[NDArray[Any], BoolArray]:
    """Parse fields as whole numbers (size 0), or as `size` bytes each in hexadecimal; and which fields are such."""
    from ldpstats.numbers import kernels

    starts, ends = np.ascontiguousarray(texts.starts), np.ascontiguousarray(texts.ends)
    if not size:
        numbers = np.empty(len(starts), dtype=np.int64)
        kernels.read_numbers(texts.data, starts, ends, numbers)
        return numbers, numbers >= 0
    raw, fine = np.zeros((len(starts), size), dtype=np.uint8), np.empty(len(starts), dtype=np.bool_)
    kernels.read_bytes(texts.data, starts, ends, raw, fine)
    return raw, fine


def _names(layout: Layout, *, tokens: bool) -> list[str]:
    return ["row", "report", *["block"] * layout.blocks, *["token"] * tokens]
