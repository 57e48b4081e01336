"""Hostile files: small ones that would fill the memory or take minutes, and in which words each is refused.

    python benchmarks/hostile_files.py

Every file is made in a process of its own, and read in another one that may take 4 GB. Seconds (of the processor)
and megabytes (of the largest resident size) are those of reading alone, after the process has
imported everything and read an honest file. A file passes if it is refused by the project's own error within a second
and 300 MB.
"""

from __future__ import annotations

import gzip
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import ldpstats as ldp
from ldpstats.answers import categorical_answers
from ldpstats.io.headers import Header
from ldpstats.io.parquet_files import checksum

SECONDS, MEGABYTES, ADDRESSES = 1.0, 300.0, 4 << 30
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
PROTOCOL = ldp.SampledGroups(DOMAIN, k=1, epsilon=1.0)
ENDING = b"PAR1"


Reader: TypeAlias = Callable[[Path], object]
"""What reads, or writes, a file."""


class Hostile(NamedTuple):
    """A file that must be refused: its name, what writes and reads it, and what writes one that is read gladly."""

    name: str
    make: Reader
    read: Reader
    honest: Reader
    ending: str


def header(**more: Any) -> str:
    """Return the header of a report file."""
    return Header.of(PROTOCOL, "0" * 32, simulated=True).to_text(**more)


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


def tokens(path: Path, rows: int, length: int) -> None:
    """Write reports whose tokens are one text of so many letters, which a dictionary holds once."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["t" * length]))
    numbers = pa.array(np.zeros(rows, dtype=np.uint8))
    kinds = [("row", pa.uint8()), ("report", pa.uint8()), ("token", texts.type)]
    written(path, [numbers, numbers, texts], kinds, "0" * 16)


def written(path: Path, columns: list[Any], kinds: list[tuple[str, Any]], digits: str) -> None:
    """Write a report file of these columns in one row group."""
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])
    table = pa.Table.from_arrays(columns, schema=schema)
    with parquet.ParquetWriter(path, schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table, row_group_size=len(table))
        writer.add_key_value_metadata({"ldpstats": header(groups=[(len(table), digits)])})


def column(path: Path, values: Any, **options: Any) -> None:
    """Write answers with one column."""
    parquet.write_table(pa.table({"a": values}), path, compression="zstd", **options)


def constant(rows: int, text: str = "x") -> pa.DictionaryArray:
    """Return as many answers, all of them one text."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array([text]))


def wide_answers(path: Path) -> None:
    """Write a million answers of 50 MB; statistics of them would take a quarter of a minute."""
    column(path, constant(1_000_000, "x" * 50_000_000), write_statistics=False)


def more_rows(path: Path) -> None:
    """Write a hundred answers, and a footer that tells of a thousand."""
    column(path, ["x", "y"] * 50)
    raw = path.read_bytes()
    size = int.from_bytes(raw[-8:-4], "little")
    path.write_bytes(raw[: -8 - size] + raw[-8 - size :].replace(b"\x16" + whole(100), b"\x16" + whole(1000), 1))


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
    """Return a whole number as the compact protocol writes it."""
    return varint(number << 1 ^ (number >> 63))


def with_footer(path: Path, footer: bytes) -> None:
    """Write a file that is a footer alone."""
    path.write_bytes(ENDING + footer + struct.pack("<I", len(footer)) + ENDING)


def columns_of_nothing(path: Path) -> None:
    """Write a footer that lists a million empty columns of one row group."""
    n = 1 << 20
    group = b"\x19\xfc" + varint(n) + b"\x26\x00\x00" * n + b"\x16\x00\x16\x00\x00"
    with_footer(path, b"\x15\x02\x19\x0c\x16\x00\x19\x1c" + group + b"\x00")


def nested(path: Path, depth: int = 100_000) -> None:
    """Write a footer with columns within columns, as deep as no stack is."""
    inner = b"\x48\x01a\x15\x02\x00" * depth + b"\x15\x02\x38\x01a\x00"
    with_footer(path, b"\x15\x02\x19\xfc" + varint(depth + 1) + inner + b"\x16\x00\x19\x0c\x00")


def lists(path: Path) -> None:
    """Write one row that is a list of 10^7 numbers."""
    parquet.write_table(pa.table({"a": [np.zeros(10_000_000, dtype=np.int8)]}), path, compression="zstd")


def lying_footer(path: Path) -> None:
    """Write tokens that unpack to 8 GB, and a footer that tells of one byte for each column: sizes are claims."""
    tokens(path, 1 << 20, 8000)
    raw, found = path.read_bytes(), parquet.ParquetFile(path).metadata.row_group(0)
    size = int.from_bytes(raw[-8:-4], "little")
    footer = raw[-8 - size : -8]
    for place in range(found.num_columns):
        said = whole(found.column(place).total_uncompressed_size)
        footer = footer.replace(b"\x16" + said + b"\x16", b"\x16" + as_long(1, len(said)) + b"\x16")
    path.write_bytes(raw[: -8 - size] + footer + raw[-8:])
    assert parquet.ParquetFile(path).metadata.row_group(0).column(2).total_uncompressed_size == 1


def as_long(number: int, length: int) -> bytes:
    """Return a number in so many bytes, as its writer did not have to."""
    bits = number << 1
    return bytes(bits >> 7 * place & 127 | 128 * (place < length - 1) for place in range(length))


# gzip and CSV


def packed(path: Path, text: bytes, times: int) -> None:
    """Write a text so many times over, packed."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        for _ in range(times):
            file.write(text)


def sparse(path: Path) -> None:
    """Write a file that takes no room, and says that it is large."""
    with path.open("wb") as file:
        file.truncate(100_000_000_000)


def csv_of_blank_lines(path: Path) -> None:
    """Write a report file of lines that hold nothing."""
    path.write_bytes(b"# ldpstats reports " + header().encode() + b"\nrow,report\n" + b"\n" * 20_000_000)


def csv_header(path: Path) -> None:
    """Write a header of a hundred million brackets."""
    path.write_bytes(b'# ldpstats reports {"version": 1, "rows": [' + b"[]," * 20_000_000 + b"[]]}\nrow,report\n")


def bad_reports(path: Path) -> None:
    """Write a row group of which no report is possible."""
    numbers = np.full(1 << 20, 7, dtype=np.uint8)
    columns, kinds = [pa.array(numbers)] * 2, [("row", pa.uint8()), ("report", pa.uint8())]
    written(path, columns, kinds, checksum([numbers, numbers]))


def messages(path: Path) -> None:
    """Write messages of clients that hold many lists."""
    said = f'{{"format": "ldpstats answer", "version": 1, "protocol": "{PROTOCOL.fingerprint()}", "reports": '
    path.write_text(f'{said}[{"[]," * 1_000_000}0], "unit": 0, "simulated": true}}\n' * 30, "ascii")


def rows_with_a_long_cell(path: Path) -> None:
    """Write rows as data frames are written, with a cell that never ends."""
    path.write_bytes(b"protocol,collection,number,group,report,simulated\n" + b'p,c,0,g,"' + b"x" * 500_000_000)


def rows_of_many_columns(path: Path) -> None:
    """Write rows with two million further columns."""
    names = b"protocol,collection,number,group,report,simulated"
    path.write_bytes(names + b",x" * 2_000_000 + b"\n" + (b"1" + b",1" * 2_000_005 + b"\n") * 4)


def sections() -> Iterator[tuple[Reader, Reader, str, list[tuple[str, Reader]]]]:
    """Yield what reads files, what makes honest ones, how their names end, and hostile ones by what they are."""
    unpacked: list[tuple[str, Reader]] = [
        ("8 GB of tokens, a dictionary of one", partial(tokens, rows=1 << 20, length=8000)),
        ("the same with a footer that lies", lying_footer),
        ("tokens in a page of 200 MB", partial(tokens, rows=1000, length=200_000_000)),
        ("10^6 reports, none of them possible", bad_reports),
        ("a footer of 10^6 columns", columns_of_nothing),
        ("a footer of columns 100,000 deep", nested),
        ("a footer of 100 MB", lambda path: with_footer(path, b"\0" * 100_000_000)),
    ]
    yield count, reports, ".parquet", unpacked
    yield ldp.describe_reports, reports, ".parquet", [("described: 8 GB of tokens", unpacked[0][1])]
    lines: list[tuple[str, Reader]] = [
        ("2 * 10^7 empty lines", csv_of_blank_lines),
        ("a header of 60 MB", csv_header),
        ("messages of 10^6 brackets", messages),
        ("rows with a cell of 500 MB", rows_with_a_long_cell),
        ("rows with 2 * 10^6 columns", rows_of_many_columns),
    ]
    yield count, reports, ".csv", lines
    asked: list[tuple[str, Reader]] = [
        ("2 * 10^8 answers", lambda path: column(path, constant(200_000_000))),
        ("answers in a page of 200 MB", lambda path: column(path, ["x" * 200_000_000])),
        ("10^6 answers of 50 MB", wide_answers),
        ("100 answers, told as 1,000", more_rows),
        ("answers that share beginnings", shared_prefixes),
        ("an answer that lists 10^7 numbers", lists),
        ("answers, a footer of 10^6 columns", columns_of_nothing),
    ]
    yield categorical_answers, answers, ".parquet", asked
    packings: list[tuple[str, Reader]] = [
        ("gzip of 5 * 10^8 cells", lambda path: packed(path, b"a,b\n" * 250_000, 1000)),
        ("gzip of 5 * 10^8 lines", lambda path: packed(path, b"a\n" * 500_000, 1000)),
        ("gzip of a line of 1 GB", lambda path: packed(path, b"a" * 1_000_000, 1000)),
        ("gzip of 6 * 10^7 empty lines", lambda path: packed(path, b"\n" * 1_000_000, 60)),
        ("gzip of 3 * 10^7 answers", lambda path: packed(path, b"a\n" + b"F\nM\n" * 500_000, 32)),
        ("gzip of 2 GB", lambda path: packed(path, (b"a" * 999 + b"\n") * 1000, 2000)),
        ("gzip of 200,000 empty parts", lambda path: path.write_bytes(gzip.compress(b"") * 200_000)),
        ("CSV of 10^6 columns", lambda path: path.write_bytes((b"a" + b",a" * 1_000_000 + b"\n") * 2)),
        ("a sparse file of 100 GB", sparse),
    ]
    yield categorical_answers, answers, ".csv", packings


FILES = [
    Hostile(name, make, read, honest, ending) for read, honest, ending, files in sections() for name, make in files
]


def took(number: int, path: Path) -> dict[str, Any]:
    """Read one of the files, and say what that took."""
    one = FILES[number]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    with tempfile.TemporaryDirectory() as folder:
        honest = Path(folder) / f"honest{one.ending}"
        one.honest(honest)
        one.read(honest)
    before, began = peak(), time.process_time()
    try:
        said = f"READ: {one.read(path)!r}"
    except ldp.LdpstatsError as error:
        said = str(error).replace(str(path), path.name)
    except BaseException as error:  # what is foreign is what is looked for
        said = f"FOREIGN: {error!r}"
    return {"seconds": time.process_time() - began, "MB": peak() - before, "error": said}


def peak() -> float:
    """Return the largest resident size of this process; that of `getrusage` may be its parent's."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    return int(status.read_text("ascii").partition("VmHWM:")[2].split()[0]) / 1024


def measured(number: int, folder: Path) -> dict[str, Any]:
    """Make one of the files and read it, in processes of their own; say what reading took."""
    path = folder / f"hostile{FILES[number].ending}"
    for step in ("make", "read"):
        asked = [sys.executable, str(Path(__file__)), step, str(number), str(path)]
        done = subprocess.run(asked, check=step == "make", capture_output=True, text=True)  # noqa: S603  # our own
    lines = done.stdout.splitlines()
    found = json.loads(lines[-1]) if lines else {"seconds": 0.0, "MB": 0.0, "error": f"FOREIGN: end {done.returncode}"}
    return {"file": FILES[number].name, "bytes": path.stat().st_size, **found}


def passes(found: dict[str, Any]) -> bool:
    """Say whether a file was refused as it should be."""
    refused = not found["error"].startswith(("READ", "FOREIGN"))
    return refused and found["seconds"] < SECONDS and found["MB"] < MEGABYTES


def main(*names: str) -> int:
    """Print a line for every file, or for those whose names have some words; the exit code says whether all passed."""
    failed = 0
    for number, one in enumerate(FILES):
        if names and not any(name in one.name for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = measured(number, Path(folder))
        failed += not passes(found)
        size = f"{found['bytes']:>15,} bytes {found['seconds']:5.2f} s {found['MB']:5.0f} MB"
        print(f"{' ' if passes(found) else '!'} {one.name:36}{size}  {found['error'][:150]}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        FILES[int(sys.argv[2])].make(Path(sys.argv[3]))
    elif sys.argv[1:2] == ["read"]:
        print(json.dumps(took(int(sys.argv[2]), Path(sys.argv[3]))))
    else:
        sys.exit(main(*sys.argv[1:]))
