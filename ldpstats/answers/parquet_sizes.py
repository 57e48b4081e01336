"""Sizes of Parquet: what stands in its footer and page headers, read before anything of a file is unpacked.

A footer may say anything. What is unpacked is said by the headers of pages, in the compact protocol of Apache Thrift
(https://github.com/apache/parquet-format, parquet.thrift), and Arrow follows them, whatever they ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO

from ldpstats.errors import shortened
from ldpstats.limits import LARGEST_FOOTER, MOST_PAGES, MOST_PARTS

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_TRUTHS, _BYTE, _DOUBLE, _WHOLE = (1, 2), 3, 7, (4, 5, 6)
_DEEPEST = 8
_HEADER = 1 << 9
"""Bytes in which most headers of pages fit."""
_LONGEST_HEADER = 1 << 20
_DATA, _DICTIONARY, _DATA_2 = (5, _STRUCT), (7, _STRUCT), (8, _STRUCT)
_REPEATED = 2
_SHARED_PREFIXES = 7
"""The encoding in which a text of a few bytes stands for one of any length."""


@dataclass(frozen=True, slots=True)
class Pages:
    """What the pages of a column of one row group come to, in bytes, when they are unpacked."""

    number: int
    size: int
    largest: int
    dictionary: int  # of the values that others refer to, each as often as it likes
    densest: float  # the most bytes of a page for each of its values


def check_footer(file: BinaryIO) -> None:
    """Refuse a footer that is none, or takes more memory than that of any table with plain columns."""
    whole = file.seek(0, 2)
    file.seek(max(whole - 8, 0))
    last = file.read(8)
    size = int.from_bytes(last[:4], "little")
    if last[4:] != b"PAR1" or size > whole - 12:
        raise ValueError("it ends without a footer")
    if size > LARGEST_FOOTER:
        raise ValueError(f"its footer takes {size:,} bytes, and not up to {LARGEST_FOOTER:,}")
    file.seek(whole - 8 - size)
    columns = _Thrift(file.read(size)).struct().get((2, _LIST), [])
    if any(one.get((5, _I32)) or one.get((3, _I32)) == _REPEATED for one in columns[1:]):
        raise ValueError("it has columns within columns, and not plain ones alone")


def pages_of(file: BinaryIO, chunk: ColumnChunkMetaData, most: int = MOST_PAGES) -> Pages:
    """Return what a column of one row group comes to; more than so many pages, and what cannot be, is refused."""
    sizes, dictionary, densest = [0], 0, 0.0
    for header in _headers(file, chunk, most):
        size = header[2, _I32]
        values: dict[Any, Any] = header.get(_DATA) or header.get(_DATA_2) or header.get(_DICTIONARY) or {}
        n = values.get((1, _I32), 0)
        if size < 0 or n < 0:
            raise ValueError(f"a page of {n:,} values in {size:,} bytes")
        if _DICTIONARY in header:
            if n > size:
                raise ValueError(f"a dictionary of {n:,} values in {size:,} bytes")
            dictionary += size
        elif (values.get((4, _I32)) if _DATA_2 in header else values.get((2, _I32))) == _SHARED_PREFIXES:
            raise ValueError("its texts are written as beginnings and ends, which do not say how long they are")
        else:
            densest = max(densest, size / max(n, 1))
        sizes.append(size)
    return Pages(len(sizes) - 1, sum(sizes), max(sizes), dictionary, densest)


def _headers(file: BinaryIO, chunk: ColumnChunkMetaData, most: int) -> Iterator[dict[Any, Any]]:
    """Yield the headers of all pages, of which each says where the next one stands."""
    place = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < place:
        place = chunk.dictionary_page_offset
    end = place + chunk.total_compressed_size
    if not 4 <= place <= end <= file.seek(0, 2):
        raise ValueError("its columns stand outside of it")
    for number in count():
        if place >= end:
            return
        if number >= most:
            raise ValueError(f"a column of more than {most:,} pages")
        header, size = _header(file, place)
        yield header
        if header[3, _I32] < 0:
            raise ValueError("a page of fewer than no bytes")
        place += size + header[3, _I32]


def _header(file: BinaryIO, place: int) -> tuple[dict[Any, Any], int]:
    for most in (_HEADER, _LONGEST_HEADER):
        file.seek(place)
        thrift = _Thrift(file.read(most))
        try:
            return thrift.struct(), thrift.place
        except IndexError:
            continue
    raise ValueError("a page whose header does not end")


class _Thrift:
    """Reads Thrift structures: fields by number and type, once each, and nothing deeper than Parquet's own."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place, self._parts = data, 0, 0

    def struct(self, depth: int = 0) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        number, known = 0, set()
        if depth > _DEEPEST:
            raise ValueError("it describes parts of parts of its parts")
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._whole()
            value: Any = None if kind & 15 in _TRUTHS else self._value(kind & 15, depth)
            # other readers keep the last 16 or 32 bits, or the last of two fields
            if number in known or not 0 < number < 1 << 15 or (kind & 15 == _I32 and not -1 << 31 <= value < 1 << 31):
                raise ValueError(f"it says {shortened(value)} in its field {shortened(number)}")
            known.add(number)
            found[number, kind & 15] = value
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE:
            return self._whole()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _LIST:
            head = self._byte()
            n, entry = head >> 4 if head >> 4 < 15 else self._varint(), head & 15
            self._parts += n
            if self._parts > MOST_PARTS:
                raise ValueError(f"it describes more than {MOST_PARTS:,} parts of itself")
            # a truth in a list takes a byte
            return [self._value(_BYTE if entry in _TRUTHS else entry, depth) for _ in range(n)]
        if kind in (_BYTE, _DOUBLE, _BINARY):
            self._skipped({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint())
            return None
        raise ValueError(f"it describes itself by something of the kind {kind}")

    def _byte(self) -> int:
        found = self._data[self.place]
        self.place += 1
        return found

    def _skipped(self, n: int) -> None:
        self.place += n
        if self.place > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError("a number without an end")

    def _whole(self) -> int:
        found = self._varint()
        return found >> 1 ^ -(found & 1)
