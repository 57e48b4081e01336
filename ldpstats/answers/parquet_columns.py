"""Parquet columns: answers as texts, a column and a batch of rows at a time, whose sizes are known before."""

from __future__ import annotations

import csv
import io
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.parquet_sizes import Pages, check_footer, pages_of
from ldpstats.answers.text_column import TextColumn, Texts, refuse_too_many
from ldpstats.errors import LdpstatsError
from ldpstats.limits import LARGEST_ANSWERS, LARGEST_PAGE, MOST_ANSWER_PAGES

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_ROWS = 1 << 20
"""The most rows of a batch."""
_SMALLER = "Write it in smaller row groups, by pandas' to_parquet or as CSV."


def opened_parquet(data: bytes) -> ParquetFile:
    """Open a Parquet file of plain columns, after a check of its footer, with texts dictionary-encoded."""
    from pyarrow.parquet import ParquetFile

    check_footer(io.BytesIO(data))
    found = ParquetFile(io.BytesIO(data)).metadata
    texts = [kind.name for kind in found.schema if kind.physical_type == "BYTE_ARRAY"]
    # else a text stands in memory as often as it occurs
    return ParquetFile(io.BytesIO(data), metadata=found, read_dictionary=texts)


def parquet_columns(file: ParquetFile, data: bytes, name: str) -> list[TextColumn]:
    """Read all columns of a Parquet file as texts; nulls become empty cells.

    The sizes of all pages are checked before anything is unpacked. The file is from `opened_parquet`, its column names
    different.
    """
    found, kinds = file.metadata, list(file.schema)
    refuse_too_many(found.num_rows, len(kinds), name)
    pages: list[list[Pages]] = [[] for _ in kinds]
    left = MOST_ANSWER_PAGES
    rows = [found.row_group(group).num_rows for group in range(found.num_row_groups)]
    # of a row group without rows nothing is read: what stands there may be anything
    groups = [group for group, n in enumerate(rows) if n]
    if min(rows, default=0) < 0 or sum(rows) != found.num_rows:
        raise ValueError(f"{found.num_rows:,} rows, and {sum(rows):,} in its row groups")
    for place, group in product(range(len(kinds)), groups):
        chunk = found.row_group(group).column(place)
        if chunk.num_values != rows[group]:
            raise ValueError(f"{chunk.num_values:,} values in {rows[group]:,} rows")
        pages[place].append(pages_of(io.BytesIO(data), chunk, left))
        left -= pages[place][-1].number
    size = sum(one.size for column in pages for one in column)
    if size > LARGEST_ANSWERS:
        raise LdpstatsError(f"{name} of {size:,} bytes when unpacked", f"up to {LARGEST_ANSWERS:,} bytes")
    largest = max((one.largest for column in pages for one in column), default=0)
    if largest > LARGEST_PAGE:
        raise LdpstatsError(f"{name} with a page of {largest:,} bytes", f"pages of up to {LARGEST_PAGE:,}", _SMALLER)
    columns = [_column(file, groups, kind.name, _rows(kind, own), name) for kind, own in zip(kinds, pages, strict=True)]
    if any(len(one.codes) != found.num_rows for one in columns):
        raise ValueError(f"columns of {[len(one.codes) for one in columns][:8]} values in {found.num_rows:,} rows")
    return columns


def _rows(kind: Any, pages: list[Pages]) -> int:
    """Number of rows of a column to decode at once, so that they take no more than a page may."""
    each = max(kind.length, *(one.densest for one in pages), 8.0)
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
    texts = [_text(one) for one in different.to_pylist()]
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
    if any(
        one(different.type) for one in (kinds.is_string, kinds.is_binary, kinds.is_large_string, kinds.is_large_binary)
    ):
        longest = compute.max(compute.binary_length(different)).as_py() or 0
        if longest > csv.field_size_limit():
            raise LdpstatsError(
                f"a cell of {longest:,} bytes in the column {own!r} of {name}", f"up to {csv.field_size_limit():,}"
            )
