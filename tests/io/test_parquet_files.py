"""Parquet: no damage to a file changes a count, and what was written is read as it was."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet
from support.report_files import PROTOCOLS, people

import ldpstats as ldp
from ldpstats.io import parquet_files
from ldpstats.io.headers import DamagedFileError
from ldpstats.io.parquet_files import checksum

NUMBERS = PROTOCOLS["numbers"]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet_files, "_ROWS", 16)
    ldp.write_reports(tmp_path / "r.parquet", NUMBERS, people(40), rng=1, tokens="token")
    return tmp_path / "r.parquet"


def attempted(path: Path, raw: bytes, expected: str) -> bool:
    """Write damaged bytes, and say whether they are refused; what is read is the same."""
    path.write_bytes(raw)
    try:
        found = ldp.tables_of(path, NUMBERS).to_json()
    except ldp.LdpstatsError as refused:
        return repr(str(path)) in str(refused)
    assert found == expected
    return False


def test_damage_is_refused_or_changes_no_count(path: Path) -> None:
    """Flip every seventh byte, and cut in sixty places; the whole of it is `benchmarks/fuzz_readers.py`."""
    raw, expected, rng = path.read_bytes(), ldp.tables_of(path, NUMBERS).to_json(), random.Random(1)  # noqa: S311
    refused = [
        attempted(path, raw[:place] + bytes([raw[place] ^ rng.randrange(1, 256)]) + raw[place + 1 :], expected)
        for place in range(0, len(raw), 7)
    ]
    # some bytes of the format mean nothing to its reader
    assert np.mean(refused) > 0.8
    assert all(attempted(path, raw[:place], expected) for place in range(0, len(raw), len(raw) // 60))


@pytest.mark.parametrize("edit", ["value", "order", "fewer", "row groups", "types", "column", "nothing"])
def test_a_file_that_another_program_wrote_anew_is_refused(path: Path, edit: str) -> None:
    table = parquet.read_table(path)
    frame = table.to_pandas()
    metadata = parquet.ParquetFile(path).metadata.metadata
    if edit == "value":
        frame.loc[3, "report"] = (frame.loc[3, "report"] + 1) % 6
    elif edit == "order":
        frame = frame.iloc[[1, 0, *range(2, 40)]]
    elif edit == "fewer":
        frame = frame.iloc[:39]
    elif edit == "types":
        frame = frame.astype({"report": "int64"})
    elif edit == "column":
        frame = frame.drop(columns="token")
    changed = pa.Table.from_pandas(
        frame, preserve_index=False, schema=None if edit in ("types", "column") else table.schema
    )
    changed = changed.replace_schema_metadata({b"ldpstats": metadata[b"ldpstats"]})
    parquet.write_table(changed, path, row_group_size=40 if edit == "row groups" else 16)
    with pytest.raises(DamagedFileError) if edit != "nothing" else pytest.raises(ldp.LdpstatsError):
        ldp.tables_of(path, NUMBERS)
        raise ldp.LdpstatsError("a file with the same rows in the same row groups", "that, too")


def test_a_footer_of_another_file_is_refused(path: Path) -> None:
    metadata = parquet.ParquetFile(path).metadata.metadata[b"ldpstats"]
    ldp.write_reports(path, NUMBERS, people(40, 9), rng=2, tokens="token")
    table = parquet.read_table(path).replace_schema_metadata({b"ldpstats": metadata})
    parquet.write_table(table, path, row_group_size=16)
    with pytest.raises(DamagedFileError, match="the rows from 0 on are others"):
        ldp.tables_of(path, NUMBERS)


def test_it_is_as_compact_as_its_reports(tmp_path: Path) -> None:
    """A report out of 6, 20 or 30 takes 3 to 5 bits; row numbers that come in runs next to nothing."""
    n = 200_000
    ldp.write_reports(tmp_path / "r.parquet", NUMBERS, people(n), rng=1)
    assert (tmp_path / "r.parquet").stat().st_size < n * 4.5 / 8 + 5000


def test_without_pyarrow_it_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (
        lambda: ldp.tables_of(path, NUMBERS),
        lambda: ldp.write_reports(path, NUMBERS, people(3)),
    ):
        with pytest.raises(ldp.LdpstatsError, match=r"pip install 'ldpstats\[scale\]'"):
            call()
    ldp.write_reports(path.with_suffix(".csv"), NUMBERS, people(3), rng=1)
    assert ldp.tables_of(path.with_suffix(".csv"), NUMBERS).n == 3


WORD = 1 << 64
FACTOR, ODD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def folded(words: list[int], t: int) -> int:
    """Fold words as docs/report-files.md says."""
    a, b, c, d = t, t ^ ODD, (t + FACTOR) % WORD, (t * ODD + FACTOR) % WORD
    lanes, whole = [a, b, c, d], len(words) // 4 * 4
    for place, word in enumerate(words):
        lane = place % 4 if place < whole else 0
        lanes[lane] = mixed(lanes[lane] ^ word, FACTOR)
    for lane in (1, 2, 3):
        lanes[0] = mixed(lanes[0], ODD) ^ lanes[lane]
    return mixed(lanes[0], ODD)


def mixed(x: int, factor: int) -> int:
    x = x * factor % WORD
    return x ^ x >> 32


def by_the_page(columns: list[bytes]) -> str:
    t = 1
    for raw in columns:
        whole = len(raw) // 8 * 8
        t = folded([int.from_bytes(raw[at : at + 8], "little") for at in range(0, whole, 8)], t)
        t = folded([int.from_bytes(raw[whole:], "little"), len(raw) - whole], t)
    return f"{t:016x}"


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 32, 33, 64, 100, 1000])
def test_a_checksum_is_as_the_page_says(size: int) -> None:
    rng = np.random.default_rng(size)
    columns: list[NDArray[np.uint8]] = [rng.integers(0, 256, size, dtype=np.uint8) for _ in range(3)]
    assert checksum(columns) == by_the_page([column.tobytes() for column in columns])


def test_every_byte_makes_a_difference() -> None:
    data = np.random.default_rng(1).integers(0, 256, 203, dtype=np.uint8)
    changed = {data.tobytes()}
    for place in range(203):
        for flip in (1, 128, 255):
            other = data.copy()
            other[place] ^= flip
            changed.add(other.tobytes())
        for step in (1, 8, 32, 64):
            other = data.copy()
            other[[place, (place + step) % 203]] = other[[(place + step) % 203, place]]
            changed.add(other.tobytes())
    assert len({checksum([np.frombuffer(one, dtype=np.uint8)]) for one in changed}) == len(changed) > 1000
    assert checksum([data[:8], data[8:]]) != checksum([data])
    assert checksum([np.zeros(8, np.uint8)]) != checksum([np.zeros(16, np.uint8)]) != checksum([np.zeros(9, np.uint8)])
