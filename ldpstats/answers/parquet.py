"""Parquet: what its footer and page headers say, before anything is unpacked, and its columns of answers as texts.

A footer may say anything. What is unpacked is said by the headers of pages, in the compact protocol of Apache Thrift
(https://github.com/apache/parquet-format, parquet.thrift), and Arrow follows them, whatever they ask for.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.text_column import TextColumn, Texts, refuse_too_many
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.limits import LARGEST_ANSWERS, LARGEST_FOOTER, LARGEST_PAGE, MOST_ANSWER_PAGES, MOST_PAGES, MOST_PARTS

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, ParquetFile

_ROWS = 1 << 20
"""The most rows of a batch."""
_SMALLER = "Write it in smaller row groups, by pandas' to_parquet or as CSV."

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
    if any(column.get((5, _I32)) or column.get((3, _I32)) == _REPEATED for column in columns[1:]):
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
    offset = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < offset:
        offset = chunk.dictionary_page_offset
    end = offset + chunk.total_compressed_size
    if not 4 <= offset <= end <= file.seek(0, 2):
        raise ValueError("its columns stand outside of it")
    for number in count():
        if offset >= end:
            return
        if number >= most:
            raise ValueError(f"a column of more than {most:,} pages")
        header, size = _header(file, offset)
        yield header
        if header[3, _I32] < 0:
            raise ValueError("a page of fewer than no bytes")
        offset += size + header[3, _I32]


def _header(file: BinaryIO, offset: int) -> tuple[dict[Any, Any], int]:
    for most in (_HEADER, _LONGEST_HEADER):
        file.seek(offset)
        thrift = _Thrift(file.read(most))
        try:
            return thrift.struct(), thrift.offset
        except IndexError:
            continue
    raise ValueError("a page whose header does not end")


def opened_parquet(data: bytes) -> ParquetFile:
    """Open a Parquet file of plain columns, after a check of its footer, with texts dictionary-encoded."""
    from pyarrow.parquet import ParquetFile

    check_footer(io.BytesIO(data))
    metadata = ParquetFile(io.BytesIO(data)).metadata
    texts = [kind.name for kind in metadata.schema if kind.physical_type == "BYTE_ARRAY"]
    # else a text stands in memory as often as it occurs
    return ParquetFile(io.BytesIO(data), metadata=metadata, read_dictionary=texts)


def parquet_columns(file: ParquetFile, data: bytes, name: str) -> list[TextColumn]:
    """Read all columns of a Parquet file as texts; nulls become empty cells.

    The sizes of all pages are checked before anything is unpacked. The file is from `opened_parquet`, its column names
    different.
    """
    metadata, kinds = file.metadata, list(file.schema)
    refuse_too_many(metadata.num_rows, len(kinds), name)
    pages: list[list[Pages]] = [[] for _ in kinds]
    left = MOST_ANSWER_PAGES
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    # of a row group without rows nothing is read: what stands there may be anything
    groups = [group for group, n in enumerate(rows) if n]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        raise ValueError(f"{metadata.num_rows:,} rows, and {sum(rows):,} in its row groups")
    for index, group in product(range(len(kinds)), groups):
        chunk = metadata.row_group(group).column(index)
        if chunk.num_values != rows[group]:
            raise ValueError(f"{chunk.num_values:,} values in {rows[group]:,} rows")
        pages[index].append(pages_of(io.BytesIO(data), chunk, left))
        left -= pages[index][-1].number
    size = sum(part.size for column in pages for part in column)
    if size > LARGEST_ANSWERS:
        raise LdpstatsError(f"{name} of {size:,} bytes when unpacked", f"up to {LARGEST_ANSWERS:,} bytes")
    largest = max((part.largest for column in pages for part in column), default=0)
    if largest > LARGEST_PAGE:
        raise LdpstatsError(f"{name} with a page of {largest:,} bytes", f"pages of up to {LARGEST_PAGE:,}", _SMALLER)
    columns = [_column(file, groups, kind.name, _rows(kind, own), name) for kind, own in zip(kinds, pages, strict=True)]
    lengths = [len(column.codes) for column in columns]
    if any(length != metadata.num_rows for length in lengths):
        raise ValueError(f"columns of {lengths[:8]} values in {metadata.num_rows:,} rows")
    return columns


def _rows(kind: Any, pages: list[Pages]) -> int:
    """Number of rows of a column to decode at once, so that they take no more than a page may."""
    each = max(kind.length, *(part.densest for part in pages), 8.0)
    return int(max(1, min(_ROWS, LARGEST_PAGE // each)))


def _column(file: ParquetFile, groups: list[int], own: str, rows: int, name: str) -> TextColumn:
    texts = Texts()
    for batch in file.iter_batches(rows, row_groups=groups, columns=[own], use_threads=False):
        texts.add_coded(*_coded(batch.column(own), own, name))
    return texts.column(own)


def _coded(values: Any, own: str, name: str) -> tuple[list[str], NDArray[np.int64]]:
    """Different texts of a batch, and the index among them for each row."""
    import pyarrow as pa

    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    known = len(coded.dictionary)
    codes = np.asarray(coded.indices.fill_null(known), dtype=np.int64)
    # a dictionary may hold what stands in no row
    used = np.flatnonzero(np.bincount(codes, minlength=known + 1))
    different = coded.dictionary.take(pa.array(used[used < known]))
    _refuse_long(different, own, name)
    texts = [_text(value) for value in different.to_pylist()]
    places = np.empty(known + 1, dtype=np.int64)
    places[used] = np.arange(len(used))
    return [*texts, *[""] * (len(used) > len(texts))], places[codes]


def _text(cell: Any) -> str:
    """Write a cell as CSV would; older programs store texts as bytes without saying that they are texts."""
    if cell is None or cell != cell:  # noqa: PLR0124  # NaN
        return ""
    return cell.decode(errors="backslashreplace") if isinstance(cell, bytes) else str(cell)


def _refuse_long(different: Any, own: str, name: str) -> None:
    """Refuse a text longer than CSV readers take."""
    import pyarrow as pa
    from pyarrow import compute

    kinds = pa.types
    of_letters = (kinds.is_string, kinds.is_binary, kinds.is_large_string, kinds.is_large_binary)
    if any(is_kind(different.type) for is_kind in of_letters):
        longest = compute.max(compute.binary_length(different)).as_py() or 0
        if longest > csv.field_size_limit():
            raise LdpstatsError(
                f"a cell of {longest:,} bytes in the column {own!r} of {name}", f"up to {csv.field_size_limit():,}"
            )


class _Thrift:
    """Reads Thrift structures: fields by number and type, once each, and nothing deeper than Parquet's own."""

    def __init__(self, data: bytes) -> None:
        self._data, self.offset, self._parts = data, 0, 0

    def struct(self, depth: int = 0) -> dict[Any, Any]:
        fields: dict[Any, Any] = {}
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
            fields[number, kind & 15] = value
        return fields

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
        byte = self._data[self.offset]
        self.offset += 1
        return byte

    def _skipped(self, n: int) -> None:
        self.offset += n
        if self.offset > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number without an end")

    def _whole(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)
