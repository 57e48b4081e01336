"""Checkpoints: a count that is killed anywhere, again and again, goes on without loss or double count."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import fuzzed_report_files
import numpy as np
import pytest
from fuzzed_report_files import HalfCounted, interrupted
from support import killed_count
from support.report_files import PROTOCOLS, messages, people, with_digest, write_lines

import ldpstats as ldp
from ldpstats.io import counted_files, csv_files, parquet_files
from ldpstats.saving.codec import encoded
from ldpstats.saving.files import sealed
from ldpstats.tables.respondents import RespondentSet

ROOT = Path(killed_count.__file__).parents[2]
NUMBERS = PROTOCOLS["numbers"]
SENT_TWICE = {"token": "r1-7"}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what a process is told: files with a bad row, and with respondents who sent twice."""
    monkeypatch.setattr(parquet_files, "_ROWS", 64)
    ldp.write_reports(tmp_path / "a.parquet", NUMBERS, people(200, 1), rng=1, tokens="token")
    ldp.write_reports(tmp_path / "whole.csv", NUMBERS, people(150, 2), rng=2, tokens="token")
    lines = (tmp_path / "whole.csv").read_text("utf-8").splitlines()[:-1]
    # of another collection, with a bad row and respondents who are in the first file, too
    lines[0] = lines[0].replace("collection", "collection", 1)
    with_digest(tmp_path / "b.csv", [*lines[:50], "0,7000,bad", *lines[50:], "0,1,r1-7", "0,2,r1-9"])
    write_lines(tmp_path / "c.jsonl", messages(NUMBERS, 80, 3, **SENT_TWICE))
    (tmp_path / "protocol.json").write_text(NUMBERS.to_json(), encoding="utf-8")
    return {
        "files": [str(tmp_path / name) for name in ("a.parquet", "b.csv", "c.jsonl")],
        "protocol": str(tmp_path / "protocol.json"),
        "quarantine": str(tmp_path / "aside.csv"),
        "tokens": "once",
        "resume": str(tmp_path / "checkpoint.json"),
        "out": str(tmp_path / "tables.json"),
        "piece": 700,
    }


def ran(told: dict[str, Any], line: int) -> bool:
    """Run a process that is killed at a line, if it comes so far; say whether it came to its end."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, killed_count.__file__, json.dumps({**told, "line": line})]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode in (0, -signal.SIGKILL), found.stderr
    return found.returncode == 0


def expected(told: dict[str, Any], folder: Path) -> tuple[str, str]:
    tables = ldp.tables_of(told["files"], NUMBERS, quarantine=folder / "once.csv", tokens="once")
    return tables.to_json(), (folder / "once.csv").read_text("utf-8")


def killed_again_and_again(told: dict[str, Any], folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # where a process is killed
    lines = [rng.randrange(200, 2500) for _ in range(kills)]
    ended = sum(ran(told, line) for line in lines)
    assert ended < kills
    assert ran(told, 0)
    assert (Path(told["out"]).read_text("utf-8"), Path(told["quarantine"]).read_text("utf-8")) == expected(told, folder)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a system without SIGKILL")
def test_a_killed_count_goes_on_to_the_same_tables(told: dict[str, Any], tmp_path: Path) -> None:
    killed_again_and_again(told, tmp_path, kills=2, seed=1)


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a system without SIGKILL")
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_count_that_is_killed_many_times_goes_on_to_the_same_tables(
    told: dict[str, Any], tmp_path: Path, seed: int
) -> None:
    killed_again_and_again(told, tmp_path, kills=10, seed=seed)


@pytest.mark.parametrize("chunks", range(1, 10))
def test_a_count_that_stops_after_any_chunk_goes_on(
    told: dict[str, Any], tmp_path: Path, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "_PIECE", 700)
    options: Any = {name: told[name] for name in ("quarantine", "tokens", "resume")}
    count = partial(ldp.tables_of, told["files"], NUMBERS, **options)
    wanted = expected(told, tmp_path)
    interrupted(count, chunks)
    assert (count().to_json(), Path(told["quarantine"]).read_text("utf-8")) == wanted


def test_a_count_that_is_over_is_not_counted_again(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    options: Any = {name: told[name] for name in ("quarantine", "tokens", "resume")}
    tables = ldp.tables_of(told["files"], NUMBERS, **options)
    monkeypatch.setattr(parquet_files.ParquetSource, "_chunks", lambda *_: 1 / 0)
    assert ldp.tables_of(told["files"], NUMBERS, **options).to_json() == tables.to_json()


def test_a_checkpoint_of_another_count_is_refused_and_stays(told: dict[str, Any], tmp_path: Path) -> None:
    options: Any = {name: told[name] for name in ("quarantine", "tokens", "resume")}
    ldp.tables_of(told["files"], NUMBERS, **options)
    before = Path(told["resume"]).read_bytes()
    for files, more in [
        (told["files"][:2], {}),
        (told["files"][::-1], {}),
        (told["files"], {"tokens": "refuse"}),
        (told["files"], {"quarantine": None}),
    ]:
        with pytest.raises(ldp.LdpstatsError, match="of another count"):
            ldp.tables_of(files, NUMBERS, **{**options, **more})
    write_lines(tmp_path / "c.jsonl", messages(NUMBERS, 81, 3, **SENT_TWICE))
    with pytest.raises(ldp.LdpstatsError, match="of another count"):
        ldp.tables_of(told["files"], NUMBERS, **options)
    assert Path(told["resume"]).read_bytes() == before


def test_what_is_no_checkpoint_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    for text in ("", "something", "{}", NUMBERS.to_json()):
        (tmp_path / "checkpoint").write_text(text, encoding="utf-8")
        with pytest.raises(ldp.LdpstatsError, match="saved unfinished count"):
            ldp.tables_of(path, NUMBERS, resume=tmp_path / "checkpoint")
        assert (tmp_path / "checkpoint").read_text("utf-8") == text
    with pytest.raises(ldp.LdpstatsError, match="files, which can be read again"):
        ldp.tables_of(NUMBERS.reports(people(), rng=1), NUMBERS, resume=tmp_path / "new")


@pytest.fixture(name="half")
def half_counted(tmp_path: Path) -> HalfCounted:
    half = HalfCounted(tmp_path / "half")
    half.stopped_after(3)
    return half


@pytest.mark.parametrize("kind", fuzzed_report_files.COUNTED)
def test_a_count_goes_on_where_it_was(tmp_path: Path, kind: str) -> None:
    half = HalfCounted(tmp_path / "half", fuzzed_report_files.COUNTED[kind])
    wanted = half.count("other.csv", None)
    assert wanted.privacy.set_aside == 4
    for writes in (1, 2, 4):
        half.stopped_after(writes)
        assert half.count().to_json() == wanted.to_json()
        assert (half.folder / "bad.csv").read_bytes() == (half.folder / "other.csv").read_bytes()


def test_a_checkpoint_of_other_pieces_is_refused(half: HalfCounted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, rows of the piece in which the earlier one ended were counted twice."""
    monkeypatch.setattr(fuzzed_report_files, "PIECE", 10_000)
    with pytest.raises(ldp.LdpstatsError, match=r"goes on at row 1 after \d+ rows.*Remove the checkpoint"):
        half.count()


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("numbers", ("done",), {}),
        ("numbers", ("done", "rows"), "a"),
        ("numbers", ("done", "rows"), 1),
        ("numbers", ("done", "bad"), -1),
        ("numbers", ("done", "source"), 2),
        ("numbers", ("done", "source"), 1),
        ("numbers", ("counted",), []),
        ("numbers", ("counted",), [{}]),
        ("numbers", ("counts",), 3),
        ("numbers", ("counts", 0, "array", 2, 0), 12),
        ("numbers", ("counts", 0, "array", 2, 0), -12),
        ("numbers", ("respondents", "counted"), {}),
        ("numbers", ("quarantine",), "x"),
        ("blocks", ("counts", 0, 0), [0.5, 1]),
        ("blocks", ("counts", 0, 0), [-1, 1]),
        ("blocks", ("counts", 0, 0), [0, True]),
        ("blocks", ("counts", 0, 0), [1 << 62, 1]),
        ("blocks", ("counts", 0, 1), [0, 1]),
        ("blocks", ("counts",), {"0": []}),
        ("blocks", ("simulated", 0, 0), ["0", 1]),
        ("blocks", ("simulated", 0, 0), [0, 1000]),
        ("blocks", ("simulated", 0, 0), [1 << 31, 1]),
        ("numbers", ("counts",), [3, 4, 5]),
        ("numbers", ("counts", 1), [1, 2, 3]),
        ("numbers", ("counts", 2), {"list": []}),
        ("numbers", ("counts", 2, 0), encoded(ldp.GRR(4, epsilon=1.0).simulate([1, 0, 0, 0], rng=1))),
        ("bytes", ("counts", 2, 0), encoded(ldp.GRR(6, epsilon=1.0).simulate([1, 0, 0, 0, 0, 0], rng=1))),
        ("crossed answers", ("counts", 2, 0), encoded(ldp.GRR(4, epsilon=1.0).simulate([1, 0, 0, 0], rng=1))),
        ("numbers", ("respondents", "counted"), [["0" * 32, [[0, 1]]]]),
        ("numbers", ("respondents", "counted"), {"zz": [[0, 1]]}),
        ("numbers", ("respondents", "counted"), {"0" * 32: [[7, 1]]}),
        ("numbers", ("respondents", "counted"), {"0" * 32: [[0, 1.5]]}),
        ("numbers", ("respondents", "numbered", 0), encoded(RespondentSet.numbered("0" * 32, 5, np.arange(3)))),
        ("numbers", ("respondents", "numbered", 0), [["0" * 32, 5, 0, 3]]),
        ("numbers", ("respondents", "numbered"), []),
    ],
)
def test_numbers_that_no_count_writes_are_refused(
    tmp_path: Path, kind: str, place: tuple[Any, ...], value: Any
) -> None:
    """Also where the digest is that of the forged body: they raised errors of Python's own, or changed the tables."""
    half = HalfCounted(tmp_path / "half", fuzzed_report_files.COUNTED[kind])
    plain = json.loads(half.stopped_after(3))
    holder = plain["body"]["state"]
    holder = holder if place[0] in holder else holder["counted"][0]
    for name in place[:-1]:
        holder = holder[name]
    assert place[-1] in holder if isinstance(holder, dict) else place[-1] < len(holder)
    holder[place[-1]] = value
    (half.folder / "count.json").write_text(sealed("unfinished count", plain["version"], plain["body"]), "utf-8")
    with pytest.raises(ldp.LdpstatsError, match=r"with other numbers than a count writes|goes on at row"):
        half.count()


@pytest.mark.parametrize("chunks", range(1, 9, 2))
def test_collections_of_an_adaptive_protocol_go_on_one_by_one(
    tmp_path: Path, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "_ROWS", 64)
    protocol, paths = PROTOCOLS["blocks of views"], [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for seed, path in enumerate(paths):
        ldp.write_reports(path, protocol, people(70, seed), rng=seed, tokens="token")
    count = partial(ldp.tables_of, paths, protocol, resume=tmp_path / "checkpoint")
    interrupted(count, chunks)
    for _ in range(2):
        assert count().to_json() == ldp.tables_of(paths, protocol).to_json()


def test_rows_of_a_damaged_file_that_were_counted_do_not_count_once_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a file says the same of it, damaged before or not: the digest shows it when all of it was read."""
    monkeypatch.setattr(counted_files, "_SECONDS", 0.0)
    monkeypatch.setattr(csv_files, "_PIECE", 700)
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    whole, expected = path.read_bytes(), ldp.tables_of(path, NUMBERS).to_json()
    path.write_bytes(whole.replace(b"\n0,1\n", b"\n0,2\n", 1))
    with pytest.raises(ldp.ReportError, match="not as it was written"):
        ldp.tables_of(path, NUMBERS, resume=tmp_path / "checkpoint")
    path.write_bytes(whole)
    with pytest.raises(ldp.LdpstatsError, match=r"others by now.*Remove it to count anew"):
        ldp.tables_of(path, NUMBERS, resume=tmp_path / "checkpoint")
    (tmp_path / "checkpoint").unlink()
    assert ldp.tables_of(path, NUMBERS, resume=tmp_path / "checkpoint").to_json() == expected


def test_rows_that_were_set_aside_before_an_interruption_are_missed(told: dict[str, Any]) -> None:
    options: Any = {name: told[name] for name in ("quarantine", "tokens", "resume")}
    ldp.tables_of(told["files"], NUMBERS, **options)
    aside = Path(told["quarantine"])
    kept = aside.read_bytes()
    for left in (None, kept[:10], kept[:-3]):
        aside.unlink()
        if left is not None:
            aside.write_bytes(left)
        with pytest.raises(ldp.LdpstatsError, match="without the rows that were set aside before the interruption"):
            ldp.tables_of(told["files"], NUMBERS, **options)
        assert (aside.read_bytes() if aside.exists() else None) == left
        aside.write_bytes(kept)
    assert ldp.tables_of(told["files"], NUMBERS, **options).privacy.set_aside


def test_two_files_have_two_names(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for resume, quarantine in [("one", "one"), ("one", "link"), ("-", None), (None, "-")]:
        names = [one if one in (None, "-") else tmp_path / str(one) for one in (resume, quarantine)]
        with pytest.raises(ldp.LdpstatsError, match="of two different ones"):
            ldp.tables_of(path, NUMBERS, resume=names[0], quarantine=names[1])
    for wrong in (3, b"x", [], True):
        with pytest.raises(ldp.LdpstatsError, match="for rows that are set aside"):
            ldp.tables_of(path, NUMBERS, quarantine=wrong)  # type: ignore[arg-type]  # that is what is tried
    assert sorted(os.listdir(tmp_path)) == ["link", "r.csv"]  # noqa: PTH208  # with hidden files
