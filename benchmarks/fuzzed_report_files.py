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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

import ldpstats as ldp
from ldpstats.client import Respondent
from ldpstats.io import counted_files, csv_files
from ldpstats.io.parquet_files import _arrays, checksum
from ldpstats.saving.files import digest

Fuzzed: TypeAlias = tuple[list[str], Callable[[str], object], Callable[[Any], str]]
Row: TypeAlias = tuple[int, int]
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
PROTOCOL = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="grr")
COUNTED: dict[str, Any] = {
    "numbers": PROTOCOL,
    "bytes": ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="oue"),
    "hashes": ldp.SampledGroups(DOMAIN, k=1, epsilon=1.0, mechanism="olh"),
    "sets": ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="ss"),
    "numbers and bytes": ldp.SampledGroups(
        DOMAIN, k=1, epsilon=1.0, mechanism=[ldp.GRR(2, epsilon=1.0), ldp.OUE(3, epsilon=1.0), ldp.OLH(2, epsilon=1.0)]
    ),
    "attributes": ldp.PerAttribute(DOMAIN, epsilon=3.0),
    "crossed answers": ldp.PerAttribute(DOMAIN, epsilon=3.0, k=2),
    "views": ldp.WholeView(DOMAIN, epsilon=2.0, k=1),
    "coefficients": ldp.HadamardCoefficients(DOMAIN, epsilon=1.0),
    "blocks": ldp.RRBA(DOMAIN, epsilon=1.0, block_size=30),
    "blocks of views": ldp.RRBA(DOMAIN, p=0.5, block_size=30, k=1, answer="view"),
}
"""A protocol of every kind of counts."""
NAMES = ["row", "report"]
KEY, PIECE = b"ldpstats", 300


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
        **{
            f"checkpoint of {name}": _checkpoint(place / name, sealed_again, protocol)
            for name, protocol in COUNTED.items()
        },
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


def interrupted(count: Callable[[], object], writes: int, *, later: bool = False) -> None:
    """Count until the checkpoint was written so many times, or until it would be once more.

    Parameters
    ----------
    count : callable
    writes : int
    later : bool
    """
    written = counted_files.Checkpoint.write
    left = writes + later

    def write(self: Any, state: dict[str, Any]) -> None:
        nonlocal left
        left -= 1
        if left or not later:
            written(self, state)
        if not left:
            raise _StoppedError

    with patch.object(counted_files.Checkpoint, "write", write), patch.object(counted_files, "_SECONDS", 0.0):
        try:
            count()
        except _StoppedError:
            return
    raise AssertionError("the count came to its end")


@dataclass(frozen=True)
class HalfCounted:
    """Files of two collections, with bad rows and a token that comes again, of which a part was counted.

    Parameters
    ----------
    folder : Path
    protocol : LocalProtocol
    """

    folder: Path
    protocol: Any = PROTOCOL

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        answers = DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)).repeat(9, axis=0))
        for seed, path in enumerate(self.paths, 1):
            people = answers.assign(token=[f"{seed}-{place}" for place in range(len(answers))])
            ldp.write_reports(path, self.protocol, people, rng=seed, tokens="token")
            first, names, *lines = path.read_text("utf-8").splitlines()
            bad, again = ",".join(["9" * len(names.split(","))]), lines[1].rsplit(",", 1)[0] + ",1-3"
            text = "\n".join([first, names, bad, *lines[:20], bad, *([again] if seed == 2 else []), *lines[20:-1], ""])
            digest = hashlib.sha256(text.encode()).hexdigest()
            path.write_text(f"{text}# end {text.count(chr(10)) - 2} {digest}\n", "utf-8", newline="")

    @property
    def paths(self) -> list[Path]:
        """The files that are counted."""
        return [self.folder / f"{name}.csv" for name in "ab"]

    def count(self, aside: str = "bad.csv", resume: str | None = "count.json") -> ldp.TableSet:
        """Count them, from where a count was interrupted.

        Parameters
        ----------
        aside, resume : str
            The names of the file for bad rows, and of the checkpoint.
        """
        files = {"quarantine": self.folder / aside, "resume": resume and self.folder / resume}
        with patch.object(csv_files, "_PIECE", PIECE):
            return ldp.tables_of(self.paths, self.protocol, **files, tokens="once")

    def stopped_after(self, writes: int, *, later: bool = False) -> str:
        """Return the checkpoint of a new count that was written so many times.

        Parameters
        ----------
        writes : int
        later : bool
            Whether the count went on until the checkpoint would be written again.
        """
        (self.folder / "count.json").unlink(missing_ok=True)
        interrupted(self.count, writes, later=later)
        return (self.folder / "count.json").read_text("utf-8")


def _resumed(half: HalfCounted, changed: str, text: str) -> ldp.TableSet:
    """Go on with a count after one of its files was changed; all of them are put back afterwards."""
    before = {one: one.read_bytes() for one in half.folder.iterdir()}
    try:
        (half.folder / changed).write_bytes(text.encode("utf-8", "surrogatepass"))
        return half.count()
    finally:
        for path, raw in before.items():
            path.write_bytes(raw)


def _checkpoint(folder: Path, sealed_again: Callable[[Any], str], protocol: Any) -> Fuzzed:
    half = HalfCounted(folder, protocol)
    wanted = half.count("other.csv", None)
    specimen = half.stopped_after(4)

    def read(text: str) -> object:
        tables = _resumed(half, "count.json", text)
        # whoever makes the digest anew can write another answer for one that was counted, but no other number of them
        assert _numbers(tables) == _numbers(wanted), "reports were lost, or counted twice"
        return tables.n

    return [specimen], read, sealed_again


def _numbers(tables: ldp.TableSet) -> list[int]:
    return [tables.n, tables.privacy.set_aside, *(table.n for table in tables)]


def _quarantine(folder: Path) -> Fuzzed:
    half = HalfCounted(folder)
    wanted = half.count("other.csv", None)
    half.stopped_after(3)

    def read(text: str) -> object:
        tables = _resumed(half, "bad.csv", text)
        assert tables.to_json() == wanted.to_json(), "rows set aside changed what was counted"
        return tables.n

    return [(half.folder / "bad.csv").read_text("utf-8")], read, json.dumps
