"""Report files for the fuzz: what is read of a damaged one is what a few plain lines of Python read of it, or nothing.

Every kind is three things: specimens, what reads them and looks at what was read, and what makes a text of a damaged
JSON value, with digests that fit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

import ldpstats as ldp
from ldpstats.client import Respondent
from ldpstats.envelope import digest
from ldpstats.io import checkpoints, csv_files
from ldpstats.io.checksums import checksum
from ldpstats.io.parquet_files import _arrays

Fuzzed: TypeAlias = tuple[list[str], Callable[[str], object], Callable[[Any], str]]
Row: TypeAlias = tuple[int, int]
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
PROTOCOL = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="grr")
NAMES = ["row", "report"]
KEY, PIECE = b"ldpstats", 1000


def fuzzed_files(folder: str, sealed_again: Callable[[Any], str]) -> dict[str, Fuzzed]:
    """Return all kinds of files that hold reports, or how far they were counted.

    Parameters
    ----------
    folder : str
        Where files may be written.
    sealed_again : callable
        Makes an envelope whose digest fits its body.
    """
    place = Path(folder) / f"{os.getpid()}-reports"
    place.mkdir(exist_ok=True)
    return {
        "reports as csv": _csv(place / "reports.csv"),
        "reports as parquet": _parquet(place / "reports.parquet"),
        "messages": _messages(place / "messages.jsonl"),
        "checkpoint": _checkpoint(place / "checkpoint", sealed_again),
        "quarantine": _quarantine(place / "quarantine"),
    }


def refuse_other_counts(tables: ldp.TableSet, rows: Iterable[Row]) -> None:
    """See that tables count exactly these rows.

    Parameters
    ----------
    tables : TableSet
    rows : iterable of (int, int)
        The number of the protocol's row, and the report.
    """
    counted = Counter(rows)
    for number, (row, table) in enumerate(zip(PROTOCOL.sent_rows, tables, strict=True)):
        assert row.label == " × ".join(table.attributes)
        found = sum((block.tally.counts for block in table.blocks), np.zeros(table.domain.size(), dtype=np.int64))
        wanted = [counted.pop((number, report), 0) for report in range(table.domain.size())]
        assert found.tolist() == wanted, "other counts than those of the rows"
    assert not counted, "rows that were dropped"


def _written(path: Path, n: int = 24) -> bytes:
    ldp.write_reports(path, PROTOCOL, DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)).repeat(n // 12, axis=0)), rng=1)
    return path.read_bytes()


def _bytes(text: str) -> bytes:
    """Return what stands in a file: each letter is a byte, unless there is no such byte."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _sealed_header(plain: Any) -> str:
    """Return the text of a header, with the digest of what is in it now."""
    kept = {name: value for name, value in plain.items() if name != "digest"}
    return json.dumps({**kept, "digest": digest(kept)})


def _csv(path: Path) -> Fuzzed:
    first, names, *lines = _written(path).decode().splitlines()
    plain = {
        "header": json.loads(first.partition("{")[1] + first.partition("{")[2]),
        "names": names.split(","),
        "rows": [list(map(int, line.split(","))) for line in lines[:-1]],
    }

    def join(plain: Any) -> str:
        rows = [",".join(str(one) for one in row) for row in plain["rows"]]
        text = "\n".join([f"# ldpstats reports {_sealed_header(plain['header'])}", ",".join(plain["names"]), *rows, ""])
        return f"{text}# end {len(rows)} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}\n"

    def read(text: str) -> object:
        raw = text.encode("utf-8", "surrogatepass")
        path.write_bytes(raw)
        tables = ldp.tables_of(path, PROTOCOL)
        _, names, *lines, _ = raw.decode().splitlines()
        places = [names.split(",").index(one) for one in NAMES]
        refuse_other_counts(tables, ((int(one[places[0]]), int(one[places[1]])) for one in map(_fields, lines)))
        return tables.n

    return [json.dumps(plain), join(plain)], lambda text: read(_joined(text, join)), join


def _fields(line: str) -> list[str]:
    return line.split(",")


def _joined(text: str, join: Callable[[Any], str]) -> str:
    """Return the file that a JSON value describes; any other text is one itself."""
    try:
        return join(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return text


def _parquet(path: Path) -> Fuzzed:
    import pyarrow as pa
    from pyarrow import parquet

    raw = _written(path)
    known = parquet.read_table(path)
    with parquet.ParquetFile(path) as file:
        header = json.loads(file.metadata.metadata[KEY])
    plain = {"header": header, "columns": known.to_pydict()}

    def join(plain: Any) -> str:
        columns = {name: _array(values) for name, values in plain["columns"].items()}
        whole = pa.schema([pa.field(name, one.type, nullable=bool(one.null_count)) for name, one in columns.items()])
        table = pa.table(list(columns.values()), schema=whole)
        groups = [[len(table), checksum(_arrays(table))]] if "groups" in plain["header"] else []
        table = table.replace_schema_metadata({KEY: _sealed_header({**plain["header"], "groups": groups})})
        file = io.BytesIO()
        parquet.write_table(table, file, write_page_checksum=True)
        return file.getvalue().decode("latin-1")

    def _array(values: Sequence[Any]) -> pa.Array:
        try:
            return pa.array(values, pa.uint8())
        except (pa.ArrowException, OverflowError):
            return pa.array(values)

    def read(text: str) -> object:
        try:
            text = _joined(text, join)
        except (pa.ArrowException, OverflowError):
            return 0
        path.write_bytes(_bytes(text))
        tables = ldp.tables_of(path, PROTOCOL)
        found = parquet.read_table(path).to_pydict()
        refuse_other_counts(tables, zip(*(found[name] for name in NAMES), strict=True))
        return tables.n

    return [json.dumps(plain), raw.decode("latin-1")], read, json.dumps


def _messages(path: Path) -> Fuzzed:
    text = PROTOCOL.to_json()
    sent = [Respondent(text).answer({"a": "x", "b": "pqr"[place % 3], "c": place % 2}) for place in range(12)]
    units: dict[int, list[int]] = {}
    for number, row in enumerate(PROTOCOL.sent_rows):
        units.setdefault(row.unit, []).append(number)

    def join(plain: Any) -> str:
        return "".join(f"{json.dumps(one)}\n" for one in plain)

    def read(text: str) -> object:
        raw = text.encode("utf-8", "surrogatepass")
        path.write_bytes(raw)
        tables = ldp.tables_of(path, PROTOCOL)
        messages = [json.loads(line) for line in raw.decode("utf-8-sig").split("\n") if line.strip()]
        rows = [
            (row, int(report))
            for one in messages
            for row, report in zip(units[one["unit"]], one["reports"], strict=True)
        ]
        refuse_other_counts(tables, rows)
        return tables.n

    plain = [json.loads(one) for one in sent]
    return [json.dumps(plain), join(plain)], lambda text: read(_joined(text, join)), json.dumps


class _StoppedError(Exception):
    pass


def _interrupted(path: Path, files: dict[str, Path], writes: int) -> None:
    """Count a file until its checkpoint was written so many times."""
    written = checkpoints.Checkpoint.write

    def write(self: Any, state: dict[str, Any]) -> None:
        nonlocal writes
        written(self, state)
        writes -= 1
        if not writes:
            raise _StoppedError

    with (
        patch.object(checkpoints.Checkpoint, "write", write),
        patch.object(checkpoints, "_SECONDS", 0.0),
        patch.object(csv_files, "_PIECE", PIECE),
    ):
        try:
            ldp.tables_of(path, PROTOCOL, **files)
        except _StoppedError:
            return
    raise AssertionError("the count came to its end")


def _half_counted(folder: Path) -> tuple[Path, dict[str, Path], ldp.TableSet]:
    """Return a file with two bad rows among others, what was written of half its count, and its tables."""
    folder.mkdir(exist_ok=True)
    path, files = folder / "reports.csv", {"quarantine": folder / "bad.csv", "resume": folder / "count.json"}
    first, names, *lines = _written(path, 1200).decode().splitlines()
    text = "\n".join([first, names, "0,99", *lines[:100], "9,0", *lines[100:-1], ""])
    path.write_text(f"{text}# end {len(lines) + 1} {hashlib.sha256(text.encode()).hexdigest()}\n", "utf-8", newline="")
    tables = ldp.tables_of(path, PROTOCOL, quarantine=folder / "other.csv")
    _interrupted(path, files, 3)
    return path, files, tables


def _resumed(folder: Path, changed: str, text: str) -> ldp.TableSet:
    """Go on with a count after one of its files was changed; all of them are put back afterwards."""
    before = {one: one.read_bytes() for one in folder.iterdir()}
    try:
        (folder / changed).write_bytes(text.encode("utf-8", "surrogatepass"))
        files = {"quarantine": folder / "bad.csv", "resume": folder / "count.json"}
        with patch.object(csv_files, "_PIECE", PIECE):
            return ldp.tables_of(folder / "reports.csv", PROTOCOL, **files)
    finally:
        for path, raw in before.items():
            path.write_bytes(raw)


def _checkpoint(folder: Path, sealed_again: Callable[[Any], str]) -> Fuzzed:
    _, files, wanted = _half_counted(folder)

    def read(text: str) -> object:
        tables = _resumed(folder, "count.json", text)
        # whoever makes the digest anew can write another answer for one that was counted, but no other number of them
        assert tables.n == wanted.n, "reports were lost, or counted twice"
        return tables.n

    return [files["resume"].read_text("utf-8")], read, sealed_again


def _quarantine(folder: Path) -> Fuzzed:
    _, files, wanted = _half_counted(folder)

    def read(text: str) -> object:
        tables = _resumed(folder, "bad.csv", text)
        assert tables.to_json() == wanted.to_json(), "rows set aside changed what was counted"
        return tables.n

    return [files["quarantine"].read_text("utf-8")], read, json.dumps
