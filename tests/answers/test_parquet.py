"""Sizes of Parquet: nothing that a footer or a header of a page says is taken for what will be unpacked."""

from __future__ import annotations

import io
from typing import Any

import hostile_files as hostile
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ldpstats.answers.parquet import _Thrift, check_footer, pages_of
from ldpstats.limits import MOST_GROUPS, MOST_PARTS


def file_of(values: Any, **options: Any) -> tuple[io.BytesIO, Any]:
    """Return a file of one column, and what Arrow says about the column."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"a": values}), file, **options)
    return file, parquet.ParquetFile(file).metadata.row_group(0).column(0)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("values", [range(50_000), ["some", "text"] * 25_000, np.arange(50_000) / 7])
def test_pages_come_to_what_a_true_footer_says(version: str, compression: str, values: Any) -> None:
    """The footer counts the headers of pages, too, which are short."""
    options: Any = {"data_page_size": 1 << 12, "write_statistics": False}
    file, chunk = file_of(values, data_page_version=version, compression=compression, **options)
    check_footer(file)
    pages = pages_of(file, chunk)
    assert 0 < chunk.total_uncompressed_size - pages.size <= 60 * pages.number
    assert bool(pages.dictionary) == chunk.has_dictionary_page
    assert pages.number > 1
    assert pages.largest <= pages.size


def test_the_largest_report_files_can_be_read_again() -> None:
    """As many parts as their footers list: groups, and in each four columns."""
    table = pa.table([[0] * 8, [0] * 8, [0] * 8, ["t"] * 8], names=["row", "report", "block", "token"])
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=1, use_dictionary=["row", "report", "block"])
    size = int.from_bytes(file.getvalue()[-8:-4], "little")
    footer = _Thrift(file.getvalue()[-8 - size : -8])
    footer.struct()
    assert footer._parts / 8 * MOST_GROUPS < MOST_PARTS


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x15\x02\x05\x02\x04\x00", "its field 1"),
        (b"\x05" + hostile.whole(1 << 16 | 2) + b"\x02\x00", "its field 65538"),
        (b"\x15" + hostile.whole(1 << 32 | 5) + b"\x00", "4294967301"),
        (b"\x15" + b"\xff" * 11, "without an end"),
        (b"\x19\xf5" + hostile.varint(MOST_PARTS + 1), "parts of itself"),
        (b"\x1c" * 20, "parts of parts"),
        (b"\x1b\x00\x00", "of the kind 11"),
    ],
)
def test_what_readers_may_take_for_something_else_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        _Thrift(raw).struct()


@pytest.mark.parametrize("raw", [b"\x18\x7f", b"\x15", b"\x15\x80", b"\x17\x00", b"\x19"])
def test_what_ends_too_early_is_refused(raw: bytes) -> None:
    with pytest.raises(IndexError):
        _Thrift(raw).struct()


def test_footers_of_nested_columns_are_refused_before_a_stack_is_full() -> None:
    for values in ([[1], [2]], [{"b": 1}]):
        with pytest.raises(ValueError, match="columns within columns"):
            check_footer(file_of(values)[0])


@pytest.mark.parametrize("raw", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1" + b"\x00" * 8 + b"PARE"])
def test_files_without_a_footer_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="without a footer"):
        check_footer(io.BytesIO(raw))
