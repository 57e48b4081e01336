"""CSV as text: what stands in the bytes of a file, whatever program wrote them, and what separates its cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import LARGEST_ANSWERS, LARGEST_PAGE, LONGEST_LINE, MOST_ANSWERS, MOST_PACKED, ROWS_OF_A_SHEET

_CSV = "text as CSV in UTF-8, also packed by gzip, or Parquet"
_SAVE_AS = "Save the sheet as CSV (UTF-8), one row per respondent, and take that file."
_UNPACK = "Unpack it first, or pack the CSV by gzip."
_IN_R = "In R, write.csv(DATA, 'answers.csv', row.names = FALSE) makes CSV of it, where DATA is {}."


def _by_pandas(reader: str, more: str = "") -> str:
    return (
        f"pandas.{reader}(FILE).to_csv('answers.csv', index=False) makes CSV of it, with labels instead of codes where "
        f"it has them{more}; in Python, Domain.from_frame and collect take that data frame as it is."
    )


_FOREIGN = {
    rb"\xd0\xcf\x11\xe0": ("an Excel workbook, or another file of Microsoft Office", _SAVE_AS),
    rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis": ("an OpenDocument sheet or text", _SAVE_AS),
    rb"PK\x03\x04.*(xl/|\[Content_Types\]\.xml)": ("an Excel workbook, or another of Microsoft Office", _SAVE_AS),
    rb"PK\x03\x04|7z\xbc\xaf|\xfd7zXZ|BZh[1-9]1AY|\x28\xb5\x2f\xfd": ("a packed archive", _UNPACK),
    rb"<stata_dta>|[\x66-\x73][\x01\x02]\x01\x00": ("a file of Stata (.dta)", _by_pandas("read_stata")),
    rb"\$FL[23]": ("a file of SPSS (.sav)", _by_pandas("read_spss", " (pip install pyreadstat)")),
    rb".{0,400}ASCII SPSS PORT FILE": ("a file of SPSS (.por)", "Save it as CSV in SPSS."),
    rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB": ("a file of SAS", _by_pandas("read_sas")),
    rb"(ARROW1|FEA1)\x00": ("a file of Arrow (Feather)", _by_pandas("read_feather")),
    rb"ORC\n?[\x00-\x08]": ("a file in the format ORC", _by_pandas("read_orc")),
    rb"X\n\x00\x00\x00|A\n[23]\n[0-9]{5,6}\n": ("a file of R (.rds)", _IN_R.format("readRDS(FILE)")),
    rb"RD[AX][23]\n[XAB]\n": ("a file of R (.RData)", _IN_R.format("a data frame that load(FILE) brings")),
    rb"%PDF": ("a PDF document", "Export the table as CSV."),
    rb"SQLite format 3\x00": ("a database", "Export the table as CSV."),
    rb"\x89HDF": ("an HDF5 file", _by_pandas("read_hdf")),
    rb"\x93NUMPY": ("an array of NumPy", "Make a data frame of it, and CSV by its to_csv."),
    rb"\x80[\x02-\x05][\x8c\x95c}\]]": ("a pickle of Python", "Save the data frame by its to_csv."),
}
"""How files of other programs begin, what they are, and what makes CSV of them."""
_GZIPPED, _PARQUET = b"\x1f\x8b", b"PAR1"
_SEPARATING = b"\n\r,;\t|"
_PIECE, _GIVEN, _PARTS = 1 << 20, 1 << 16, 1 << 14
"""Bytes at once, unpacked and packed; and how often a file may begin anew, as it does where packing was divided."""
_WHOLE = f"a whole file, of up to {LARGEST_ANSWERS:,} bytes when unpacked"
_SAMPLE = 1 << 12
SEPARATORS = ",;\t|"
_LETTERS, _ROWS = 1 << 16, 500
"""By so many letters and rows a separator is known."""
_STATED = "sep="
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def unpacked(data: bytes, name: str) -> bytes:
    """Decompress a file that gzip packed, refusing one that would fill the memory; other bytes stay as they are."""
    if not data.startswith(_GZIPPED):
        return data
    try:
        # the end says how long the last part is
        if (said := int.from_bytes(data[-4:], "little")) > LARGEST_ANSWERS:
            raise EOFError(f"it was cut short, or comes to {said:,} bytes")
        # first without keeping it: what is refused has filled no memory
        refuse_too_large_text(pieces_of(data), name, MOST_PACKED * len(data))
        return b"".join(pieces_of(data))
    except (EOFError, zlib.error) as error:
        raise LdpstatsError(f"{name}, packed by gzip, which cannot be unpacked ({error})", _WHOLE) from error


def refuse_too_large_text(pieces: Iterable[bytes], name: str, most: int = LARGEST_ANSWERS) -> None:
    """Refuse text of more bytes, lines or cells than can be held; Parquet only by its size.

    More than `most` bytes are refused, too, unless the file is of ordinary size.
    """
    size, packed, text = 0, False, _Lengths(name)
    for piece in pieces:
        packed = packed if size else piece.startswith(_PARQUET)
        size += len(piece)
        if size > LARGEST_ANSWERS:
            raise LdpstatsError(
                f"{name} with more than {LARGEST_ANSWERS:,} bytes when unpacked", f"up to {LARGEST_ANSWERS:,} bytes"
            )
        if size > most and (size > LARGEST_PAGE or text.lines > ROWS_OF_A_SHEET):
            raise LdpstatsError(
                f"{name}, of which every byte stands for more than {MOST_PACKED}",
                "answers of respondents who differ",
                "If it is what you mean, unpack it first.",
            )
        if not packed:
            text.add(np.frombuffer(piece, dtype=np.uint8))


class _Lengths:
    """Numbers of line ends and separators read so far; long lines and too many cells are refused."""

    def __init__(self, name: str) -> None:
        self._name, self._unended, self._counts = name, 0, np.zeros(len(_SEPARATING), dtype=np.int64)

    @property
    def lines(self) -> int:
        """Number of lines so far."""
        return int(self._counts[:2].max())

    def add(self, raw: NDArray[np.uint8]) -> None:
        """Count in further bytes."""
        self._counts += [np.count_nonzero(raw == byte) for byte in _SEPARATING]
        ends = (raw == _SEPARATING[0]) | (raw == _SEPARATING[1])
        first, last = (int(marks.argmax()) if marks.any() else len(raw) for marks in (ends, ends[::-1]))
        # no line within a piece is too long
        longest = self._unended + first
        self._unended = last if last < len(raw) else longest
        if longest > LONGEST_LINE:
            raise LdpstatsError(f"{self._name} with a line of more than {LONGEST_LINE:,} bytes", "shorter lines")
        if self.lines + self._counts[2:].max() > MOST_ANSWERS:
            raise LdpstatsError(
                f"{self._name} of more than {MOST_ANSWERS:,} cells",
                f"up to {MOST_ANSWERS:,} cells",
                "Take the questions alone, or write parts of it to files of their own.",
            )


def pieces_of(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of a file a piece at a time, decompressed where gzip packed it, in one part or more."""
    if not data.startswith(_GZIPPED):
        yield from (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
        return
    rest, parts = memoryview(data), 0
    while rest[:1] and not (parts and rest[0] == 0 and not bytes(rest).strip(b"\0")):  # zeros fill up blocks of tapes
        parts += 1
        if parts > _PARTS or rest[:2] != _GZIPPED:
            raise zlib.error(f"what follows its end is no other part, or it has more than {_PARTS:,} of them")
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            if not rest:
                raise EOFError("it ends too early")
            given, rest = bytes(rest[:_GIVEN]), rest[_GIVEN:]
            while given and not unpacker.eof:
                yield unpacker.decompress(given, _PIECE)
                given = unpacker.unconsumed_tail
        rest = memoryview(data)[len(data) - len(rest) - len(unpacker.unused_data) :]


def foreign_kind(ends: bytes) -> tuple[str, str]:
    """Say of which other program a file is, by its first and last bytes, and what to do with it; or nothing."""
    return next((kind for beginning, kind in _FOREIGN.items() if re.match(beginning, ends, re.DOTALL)), ("", ""))


def text_of(data: bytes, name: str) -> tuple[str, list[str]]:
    """Decode a file as UTF-8, UTF-16 or Windows-1252; return the text, and notes about its encoding.

    Files of other programs, such as Excel and SPSS, are refused with advice.
    """
    what, advice = foreign_kind(data[:_SAMPLE] + data[-_SAMPLE:])  # an archive lists at its end what is in it
    if what:
        raise LdpstatsError(f"{name}, which is {what}", _CSV, advice)
    encoding = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    notes: list[str] = []
    try:
        text = data.decode(encoding or _unmarked(data))
    except UnicodeDecodeError as error:
        if encoding is not None or b"\0" in data:
            raise LdpstatsError(f"{name}, which is no text ({error.reason})", _CSV) from error
        text = data.decode("cp1252", errors="replace")
        notes = [f"{name} is not in UTF-8; its letters were read as those of Windows-1252 (Western European)."]
        if "\N{REPLACEMENT CHARACTER}" in text:
            raise LdpstatsError(f"{name}, in an unknown encoding", _CSV, "Save it again in UTF-8.") from error
    if "\0" in text:
        raise LdpstatsError(f"{name}, which is no text but binary data", _CSV)
    return text, notes


def _unmarked(data: bytes) -> str:
    """Detect UTF-16 without a byte order mark, by zeros in every other byte (mostly Latin letters); else UTF-8."""
    head = data[:_SAMPLE]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 2 > len(head) // 2 and min(even, odd) * 8 < len(head) // 2:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def separator_of(text: str) -> str:
    r"""Detect the separator that gives most lines as many cells as the first one; a comma where none does.

    Examples
    --------
    >>> separator_of('sex,note\nF,"yes; no; maybe"\n')
    ','
    """
    fits = {separator: _fit(text, separator) for separator in SEPARATORS}
    best = max(SEPARATORS, key=lambda separator: fits[separator])
    return best if fits[best][1] > 1 else SEPARATORS[0]


def stated_separator(text: str) -> str | None:
    """Separator stated by a first line such as `sep=;`, as Excel writes it; None without one."""
    first = text[: len(_STATED) + 3].splitlines()[:1]
    stated = first[0][-1] if first and len(first[0]) == len(_STATED) + 1 and first[0].startswith(_STATED) else None
    if stated == '"':
        raise LdpstatsError("a first line that says that quotation marks separate cells", "a mark of its own")
    return stated


def _fit(text: str, separator: str) -> tuple[float, int]:
    """Share of lines with as many cells as the first one, and that number of cells."""
    sample = text[:_LETTERS]
    try:
        rows = list(islice(filter(None, csv.reader(io.StringIO(sample, newline=""), delimiter=separator)), _ROWS))
    except csv.Error:  # a cell as long as a file, as an open quote makes it
        return 0.0, 1
    if len(sample) < len(text) and len(rows) < _ROWS and len(rows) > 1:
        rows.pop()  # which the sample may cut
    width = len(rows[0]) if rows else 1
    return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, 1)
