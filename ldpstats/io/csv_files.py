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
from ldpstats.io.columns import Chunk, Ragged, Source, no_formula
from ldpstats.io.headers import Header, ReportFile, counted, damaged, read_header, refuse_other_columns
from ldpstats.limits import LARGEST_HEADER
from ldpstats.numbers.arrays import BoolArray, IntArray
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Layout, SentRows, impossible, unknown_rows
from ldpstats.protocols.wire import Reason, to_bytes

MAGIC = b"# ldpstats reports "
_PIECE = 1 << 22
"""How many bytes are read at once; no line is longer."""
_NUMBER = 20
"""No whole number takes more letters, with what separates it from the next one."""
_END = re.compile(rb"# end (0|[1-9][0-9]{0,17}) ([0-9a-f]{64})\n")
_ROWS, _BYTES = 1 << 17, 1 << 26
"""The most lines, and bytes of their reports, that are looked at at once: of each that is bad it is kept why."""
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
        form = self._layout.rows[row].wire.report_format
        step = max(1, _PIECE // (3 * _NUMBER + 2 * int(self._layout.widths[row])))
        for start in range(0, len(data), step):
            part = slice(start, start + step)
            if form.width is None:
                lines = _lines_of_numbers(row, [data[part], *([] if blocks is None else [blocks[part]])])
            else:
                raw = to_bytes(data[part], form)
                digits = raw.tobytes().hex("\n", raw.shape[1]).replace("\n", f"\n{row},x")
                lines = f"{row},x{digits}\n".encode()
            if tokens is not None:
                texts = zip(lines.splitlines(), tokens[part], strict=True)
                lines = b"".join(line + f",{no_formula(token)}\n".encode() for line, token in texts)
            self._write(lines)

    def close(self) -> None:
        """Write the last line: how many rows there are, and a digest of all before it."""
        self._write(f"# end {self._n} {self._digest.hexdigest()}\n".encode())

    def give_up(self) -> None:
        """Do nothing: there is nothing to release."""

    def _write(self, text: bytes) -> None:
        self._digest.update(text)
        self._file.write(text)


def _lines_of_numbers(row: int, columns: Sequence[IntArray]) -> bytes:
    """Write a line for every row of whole numbers behind the number of the protocol's row, with commas between them."""
    written: list[tuple[Any, Any]] = [(ord(digit), True) for digit in str(row)]
    for numbers in columns:
        written.append((ord(","), True))
        for exponent in reversed(range(len(str(numbers.max())))):
            power = numbers.dtype.type(10**exponent)
            # without zeros before the first digit
            written.append((numbers // power % 10 + ord("0"), numbers >= power if exponent else True))
    written.append((ord("\n"), True))
    letters = np.empty((len(columns[0]), len(written)), dtype=np.uint8)
    shown = np.empty(letters.shape, dtype=np.bool_)
    for column, (letter, is_shown) in enumerate(written):
        letters[:, column], shown[:, column] = letter, is_shown
    return letters[shown].tobytes()


class CsvSource(Source):
    """Reader of reports in a CSV file, in constant memory."""

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
        self.tokens = "token" in self._names
        refuse_other_columns(self._names, name)

    @property
    def about(self) -> list[Any]:
        """A digest of all of it; the one in its last line is not known to be true before all of it was read."""
        with Path(self._path).open("rb") as file:
            return ["csv", hashlib.file_digest(file, "sha256").hexdigest()]

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows; a file of another protocol is refused."""
        self.header.refuse_another(protocol, self.name)
        layout = Layout(protocol.sent_rows, protocol.adaptive)
        if self._names != _names(layout, tokens=self.tokens):
            raise damaged(self.name, f"its columns are {shortened(self._names, 200)}")
        return partial(self._chunks, layout)

    def line(self, position: int) -> str:
        """Name a row in errors: by its line in the file."""
        return f"line {position + _FIRST_LINE:,}"

    def described(self) -> ReportFile:
        """Return the header's statements and the number of reports in every row; reads the whole file."""
        rows = (_numbers(_fields(text, len(self._names))[0]) for text, _ in self._lines(_ROWS))
        return ReportFile.of(self.name, "CSV", self.header, counted(rows, len(self.header.rows)), tokens=self.tokens)

    def _chunks(self, layout: Layout, end: int = 0) -> Iterator[Chunk]:
        """Read all of the file, since its digest is that of all of it, and yield the chunks behind `end`."""
        first = behind = 0
        for text, offset in self._lines(min(_ROWS, max(1, _BYTES // max(layout.width, 1)))):
            behind = offset + len(text)
            if behind > end:
                yield self._chunk(layout, text, first, behind)
            first += text.count(b"\n")
        if end > behind:
            raise damaged(self.name, f"it ends before the place {end:,}, from which it was to be read on")

    def _chunk(self, layout: Layout, text: bytes, first: int, end: int) -> Chunk:
        """Return the lines that can be read as rows to count, and why others cannot."""
        fields = _fields(text, len(self._names))
        numbers = {"row": _numbers(fields[0]), **({"block": _numbers(fields[2])} if layout.blocks else {})}
        rows, n = numbers["row"], len(fields[0].starts)
        readable = np.logical_and.reduce([values >= 0 for values in numbers.values()])
        known = np.flatnonzero(readable & (rows < len(layout.rows)))
        reports, fine = _reports(layout, rows[known], fields[1].taken(known))
        places = known[fine]

        def content(position: int) -> str:
            line = slice(fields[0].starts[position], fields[-1].ends[position])
            return text[line].decode(errors="replace")

        bad: dict[int, Reason] = {}
        if len(places) < n:
            wanted = f"{len(fields)} fields with commas between them"
            broken = np.flatnonzero(fields[0].ends < 0).tolist()
            bad = {position: Reason(f"the line {content(position)[:80]!r}", wanted) for position in broken}
            for what, values in numbers.items():
                column = fields[self._names.index(what)]
                for position in np.flatnonzero(values < 0).tolist():
                    bad.setdefault(position, Reason(f"the {what} {column.text(position)[:80]!r}", _WHOLE))
            for position, reason in unknown_rows(rows, layout.rows).items():
                bad.setdefault(position, reason)
            for position in known[~fine].tolist():
                bad[position] = _no_report(layout, int(rows[position]), fields[1].text(position))
        sent = SentRows(
            self.header.collection,
            rows[places],
            reports[fine],
            None,
            self.header.simulated,
            numbers["block"][places] if layout.blocks else None,
        )
        tokens = fields[-1].taken(places).unquoted if self.tokens else None
        return Chunk(first, n, end, sent, None if len(places) == n else places, bad, content, tokens)

    def _lines(self, most: int) -> Iterator[tuple[bytes, int]]:
        """Yield pieces of at most so many whole lines with their places, and refuse what was changed or cut."""
        digest, rows, rest, offset = hashlib.sha256(self._head), 0, b"", len(self._head)
        with Path(self._path).open("rb") as file:
            if file.read(offset) != self._head:
                raise damaged(self.name, "another file took its place while it was read")
            while piece := file.read(_PIECE):
                text = rest + piece
                over = 0 if text.startswith(b"#") else text.find(b"\n#") + 1
                ended = over > 0 or text.startswith(b"#")
                stop = over if ended else text.rfind(b"\n") + 1
                whole, rest = text[:stop], text[stop:]
                digest.update(whole)
                rows += whole.count(b"\n")
                for part in _parts(whole, most):
                    yield part, offset
                    offset += len(part)
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


def _parts(text: bytes, most: int) -> Iterator[bytes]:
    """Yield pieces of at most so many whole lines."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))[most - 1 :: most]
    for start, end in pairwise([0, *(int(newline) + 1 for newline in ends), len(text)]):
        if start < end:
            yield text[start:end]


def _fields(text: bytes, columns: int) -> list[Ragged]:
    """Return the fields of lines by column; of a line that has others the first one ends before it begins."""
    from ldpstats.numbers import kernels

    data = np.frombuffer(text, dtype=np.uint8)
    bounds = np.zeros((text.count(b"\n"), columns + 1), dtype=np.int64)
    kernels.find_fields(data, bounds)
    return [Ragged(data, bounds[:, column].copy(), bounds[:, column + 1] - 1) for column in range(columns)]


def _numbers(texts: Ragged) -> NDArray[np.int64]:
    """Read whole numbers; -1 for anything else."""
    from ldpstats.numbers import kernels

    numbers = np.empty(len(texts.starts), dtype=np.int64)
    kernels.read_numbers(texts.data, texts.starts, texts.ends, numbers)
    return numbers


def _reports(layout: Layout, rows: IntArray, texts: Ragged) -> tuple[NDArray[Any], BoolArray]:
    """Read the reports in known rows as a column, and say which of them can be read."""
    from ldpstats.numbers import kernels

    numbers = layout.are_numbers[rows]
    if not layout.width:
        values = _numbers(texts)
        return values, values >= 0
    column, fine = layout.column(len(rows)), np.empty(len(rows), dtype=np.bool_)
    kernels.read_bytes(texts.data, texts.starts, texts.ends, layout.widths[rows], column, fine)
    fine &= ~numbers
    for row in np.unique(rows[numbers]).tolist():
        places = np.flatnonzero(rows == row)
        values = _numbers(texts.taken(places))
        fits = (values >= 0) & (values <= np.iinfo(layout.rows[row].wire.report_format.dtype).max)
        column[places] = 0
        layout.put(column, places[fits], row, values[fits])
        fine[places] = fits
    return column, fine


def _no_report(layout: Layout, row: int, text: str) -> Reason:
    """Return why a text is no report in a known row."""
    wire = layout.rows[row].wire
    if wire.report_format.width is not None:
        return Reason(f"the report {text[:80]!r}", f"{layout.widths[row]} bytes: an x, and two digits for each")
    if re.fullmatch("[1-9][0-9]{0,17}", text):  # more than its bytes can hold
        return impossible(int(text), wire)
    return Reason(f"the report {text[:80]!r}", _WHOLE)


def _names(layout: Layout, *, tokens: bool) -> list[str]:
    return ["row", "report", *["block"] * layout.blocks, *["token"] * tokens]
