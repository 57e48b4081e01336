"""Hostile files: small ones that would fill the memory or take minutes, and in which words each is refused.

    python benchmarks/hostile_files.py

Every file is read in a process of its own that may take 4 GB. Seconds and megabytes are those of reading alone: what
the process took after it had imported everything and read an honest file of the same form. A file passes if it is
refused by the project's own error within a second and 300 MB.
"""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import ldpstats as ldp
from ldpstats.answers import categorical_answers
from ldpstats.io import parquet_files
from ldpstats.io.checksums import checksum
from ldpstats.io.headers import Header
from ldpstats.io.layouts import Layout

SECONDS, MEGABYTES, ADDRESSES = 1.0, 300.0, 4 << 30
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
PROTOCOL = ldp.SampledGroups(DOMAIN, k=1, epsilon=1.0)
ENDING = b"PAR1"


class Hostile(NamedTuple):
    """A file that must be refused: its name, how to write it, what reads it, and an honest one that it reads gladly."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    honest: Callable[[Path], object]


def header(groups: list[tuple[int, str]] | None = None) -> str:
    """Return the header of a report file."""
    own = Header.of(PROTOCOL, "0" * 32, simulated=True)
    return own.to_text() if groups is None else own.to_text(groups=groups)


def reports(path: Path) -> None:
    """Write an honest report file."""
    people = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["p", "q"] * 500})
    ldp.write_reports(path, PROTOCOL, people, rng=1)


def answers(path: Path) -> None:
    """Write an honest file of answers."""
    frame = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["p", "q"] * 500})
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


def count(path: Path) -> object:
    """Count reports."""
    return ldp.tables_of(path, PROTOCOL)


# Parquet


def tokens(path: Path, rows: int, length: int, **options: Any) -> None:
    """Write reports whose tokens are one text of so many letters, which a dictionary holds once."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["t" * length]))
    zeros = np.zeros(rows, dtype=np.uint8)
    schema = pa.schema([pa.field(one, pa.uint8(), nullable=False) for one in ("row", "report")])
    table = pa.table([pa.array(zeros), pa.array(zeros)], schema=schema)
    table = table.append_column(pa.field("token", texts.type, nullable=False), texts)
    groups = [(min(1 << 20, rows - start), "0" * 16) for start in range(0, rows, 1 << 20)]
    schema = table.schema.with_metadata({"ldpstats": header(groups)})
    parquet.write_table(
        table.cast(schema), path, compression="zstd", row_group_size=1 << 20, store_schema=False, **options
    )


def column(path: Path, values: Any, **options: Any) -> None:
    """Write answers with one column."""
    parquet.write_table(pa.table({"a": values}), path, compression="zstd", **options)


def constant(rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array(["x"]))


def shared_prefixes(path: Path) -> None:
    """Write texts of which each begins as the one before: a few bytes stand for any length."""
    column(path, ["x" * 20_000] * 2000, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})


def varint(number: int) -> bytes:
    """Return a number as Thrift's compact protocol writes it."""
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def whole(number: int) -> bytes:
    return varint(number << 1 ^ (number >> 63))


def with_footer(path: Path, footer: bytes) -> None:
    """Write a file that is a footer alone."""
    path.write_bytes(ENDING + footer + struct.pack("<I", len(footer)) + ENDING)


def groups_of_nothing(path: Path) -> None:
    """Write a footer that lists a million empty columns of one row group."""
    n = 1 << 20
    columns = b"\x19\xfc" + varint(n) + b"\x26\x00\x00" * n
    with_footer(path, b"\x15\x02" + b"\x19\x0c" + b"\x16\x00" + b"\x19\x1c" + columns + b"\x16\x00\x16\x00\x00" + b"\x00")


def nested(path: Path, depth: int = 100_000) -> None:
    """Write a footer with columns within columns, as deep as no stack is."""
    inner = b"\x48\x01a\x15\x02\x00" * depth + b"\x15\x02\x38\x01a\x00"
    with_footer(path, b"\x15\x02\x19\xfc" + varint(depth + 1) + inner + b"\x16\x00\x19\x0c\x00")


def lists(path: Path) -> None:
    """Write one row that is a list of 10^7 numbers."""
    parquet.write_table(pa.table({"a": [np.zeros(10_000_000, dtype=np.int8)]}), path, compression="zstd")


def lying_footer(path: Path) -> None:
    """Write 2 * 10^8 rows, and a footer that tells of small columns: sizes are claims, pages are not."""
    tokens(path, 1 << 20, 8000)
    raw = path.read_bytes()
    size = int.from_bytes(raw[-8:-4], "little")
    found = parquet.ParquetFile(path).metadata.row_group(0).column(2).total_uncompressed_size
    footer = raw[-8 - size : -8]
    assert footer.count(whole(found)) > 0
    path.write_bytes(raw[: -8 - size] + footer.replace(whole(found), whole(100)[:1].rjust(len(whole(found)), b"\x80")[:0] + _as_long(100, len(whole(found)))) + raw[-8:])


def _as_long(number: int, length: int) -> bytes:
    """Return a number in so many bytes, as a varint with leading zeros."""
    bits = number << 1
    return bytes([bits >> 7 * place & 127 | 128 * (place < length - 1) for place in range(length)])


# gzip and CSV


def packed(path: Path, text: bytes, times: int) -> None:
    """Write a text so many times over, packed."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        for _ in range(times):
            file.write(text)


def of_parts(path: Path) -> None:
    """Write empty parts one after the other, as files that were packed piece by piece have full ones."""
    path.write_bytes(gzip.compress(b"") * 200_000)


def csv_of_blank_lines(path: Path) -> None:
    """Write a report file of lines that hold nothing."""
    path.write_bytes(b"# ldpstats reports " + header().encode() + b"\nrow,report\n" + b"\n" * 20_000_000)


def csv_header(path: Path) -> None:
    """Write a header of a hundred million brackets."""
    path.write_bytes(b'# ldpstats reports {"version": 2, "rows": [' + b"[]," * 20_000_000 + b"[]]}\nrow,report\n")


def bad_reports(path: Path) -> None:
    """Write a row group of which no report is possible."""
    n = 1 << 20
    table = pa.table([pa.array(np.full(n, 7, dtype=np.uint8))] * 2, names=["row", "report"])
    schema = pa.schema([pa.field(one, pa.uint8(), nullable=False) for one in ("row", "report")])
    said = header([(n, checksum(parquet_files._arrays(table)))])
    parquet.write_table(table.cast(schema.with_metadata({"ldpstats": said})), path, row_group_size=n)


def messages(path: Path, many: int, inside: str) -> None:
    """Write messages of clients with much inside."""
    one = json.dumps({"format": "ldpstats answer", "version": 1, "reports": [0], "protocol": PROTOCOL.fingerprint()})
    with path.open("w") as file:
        for _ in range(many):
            file.write(f'{one[:-1]}, "unit": {inside}}}\n')


def rows_of_one_line(path: Path) -> None:
    """Write rows as data frames are written, with a cell that never ends."""
    path.write_bytes(b"protocol,collection,number,group,report,simulated\n" + b'p,c,0,g,"' + b"x" * 500_000_000)


def rows_of_many_columns(path: Path) -> None:
    """Write rows with two million further columns."""
    names = b"protocol,collection,number,group,report,simulated"
    path.write_bytes(names + b",x" * 2_000_000 + b"\n" + (b"1" + b",1" * 2_000_005 + b"\n") * 4)


FILES: list[Hostile] = [
    Hostile("tokens of 8 kB in a dictionary", partial(tokens, rows=1 << 20, length=8000), count, reports),
    Hostile("the same, in a footer that lies", lying_footer, count, reports),
    Hostile("tokens, a page of 200 MB", partial(tokens, rows=1000, length=200_000_000), count, reports),
    Hostile("reports, none of them possible", bad_reports, count, reports),
    Hostile("a million columns, footer", groups_of_nothing, count, reports),
    Hostile("nested 100,000 deep, footer", nested, count, reports),
    Hostile("the same, described", nested, ldp.describe_reports, reports),
    Hostile("answers: 2 * 10^8 rows", lambda path: column(path, constant(200_000_000)), categorical_answers, answers),
    Hostile("answers: a page of 200 MB", lambda path: column(path, ["x" * 200_000_000]), categorical_answers, answers),
    Hostile("answers: a cell of 50 MB, 10^6 times", lambda path: column(path, ["x" * 50_000_000] + ["y"]), categorical_answers, answers),
    Hostile("answers: shared prefixes", shared_prefixes, categorical_answers, answers),
    Hostile("answers: a list of 10^7 numbers", lists, categorical_answers, answers),
    Hostile("answers: a million columns, footer", groups_of_nothing, categorical_answers, answers),
]
_GZIP: list[tuple[str, Callable[[Path], object]]] = [
    ("gzip: 10^9 letters of cells", lambda path: packed(path, b"a,b\n" * 250_000, 1000)),
    ("gzip: 10^9 letters of lines", lambda path: packed(path, b"a\n" * 500_000, 1000)),
    ("gzip: 10^9 letters, one line", lambda path: packed(path, b"a" * 1_000_000, 1000)),
    ("gzip: 10^10 letters", lambda path: packed(path, b"a" * 999 + b"\n", 10_000_000)),
    ("gzip: 200,000 empty parts", of_parts),
    ("CSV: 10^6 columns", lambda path: path.write_bytes(b"a" + b",a" * 1_000_000 + b"\n1" + b",1" * 1_000_000)),
]
FILES += [Hostile(name, make, categorical_answers, answers) for name, make in _GZIP]
FILES += [
    Hostile("reports as CSV: blank lines", csv_of_blank_lines, count, reports),
    Hostile("reports as CSV: a header of 60 MB", csv_header, count, reports),
    Hostile("messages: lines of brackets", lambda path: messages(path, 40, "[" + "[]," * 1_000_000 + "0]"), count, reports),
    Hostile("rows: a cell of 500 MB", rows_of_one_line, count, reports),
    Hostile("rows: two million columns", rows_of_many_columns, count, reports),
]
"""Whoever reads another form of file adds a line."""


def ending(one: Hostile) -> str:
    """Return the end of its name, by which honest files are written."""
    return ".csv" if "CSV" in one.name or "gzip" in one.name or "messages" in one.name or "rows:" in one.name[:5] else ".parquet"


def read(number: str, path: str) -> None:
    """Read one of the files, and print what that took."""
    one = FILES[int(number)]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    with tempfile.TemporaryDirectory() as folder:
        one.honest(Path(folder) / f"honest{ending(one)}")
        one.read(Path(folder) / f"honest{ending(one)}")
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        said = f"read: {one.read(Path(path))!r}"
    except ldp.LdpstatsError as error:
        said = f"{type(error).__name__}: {error}"
    except BaseException as error:  # what is foreign is what is looked for
        said = f"FOREIGN {type(error).__name__}: {error}"
    took = time.perf_counter() - began
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"seconds": took, "megabytes": peak, "said": said[:300]}))


def measured(number: int, folder: Path) -> dict[str, Any]:
    """Make one of the files, read it in a process of its own, and return what that took."""
    one, path = FILES[number], folder / f"hostile{ending(FILES[number])}"
    one.make(path)
    asked = [sys.executable, str(Path(__file__)), "read", str(number), str(path)]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)  # noqa: S603  # our own
    lines = done.stdout.splitlines()
    found = json.loads(lines[-1]) if lines else {"seconds": 0.0, "megabytes": 0.0, "said": f"FOREIGN end {done.returncode}"}
    size = path.stat().st_size
    path.unlink()
    return {"file": one.name, "bytes": size, **found}


def passes(found: dict[str, Any]) -> bool:
    """Say whether a file was refused as it should be."""
    refused = not found["said"].startswith(("read", "FOREIGN"))
    return refused and found["seconds"] < SECONDS and found["megabytes"] < MEGABYTES


def main(*names: str) -> int:
    """Print a line for every file; the exit code says whether all passed."""
    failed = 0
    for number, one in enumerate(FILES):
        if names and not any(name in one.name for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = measured(number, Path(folder))
        failed += not passes(found)
        mark = " " if passes(found) else "!"
        print(f"{mark} {found['file']:40} {found['bytes']:>12,} {found['seconds']:6.2f} s {found['megabytes']:6.0f} MB  {found['said']}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        read(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
