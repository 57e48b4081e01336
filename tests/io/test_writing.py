"""Writing: what respondents send stands in files as it would be collected, as a whole or not at all."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.report_files import DOMAIN, PROTOCOLS, SUFFIXES, messages, people

import ldpstats as ldp
from ldpstats.io import parquet_files

NUMBERS = PROTOCOLS["numbers"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_frames_one_after_the_other_are_one_collection(tmp_path: Path, kind: str, suffix: str) -> None:
    protocol, frame, path = PROTOCOLS[kind], people(200), tmp_path / f"r.{suffix}"
    ldp.write_reports(path, protocol, (frame[start : start + 50] for start in range(0, 200, 50)), rng=1)
    tables = ldp.tables_of(path, protocol)
    assert len({identity for table in tables for identity in table.parts.collections}) == 1
    once = protocol.collect(frame, rng=1)
    # every frame begins its own schedule: numbers differ by one for each
    assert all(abs(table.n - one.n) <= 4 for table, one in zip(tables, once, strict=True))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_others_read_files_as_pandas_does(tmp_path: Path, kind: str, suffix: str) -> None:
    protocol, path = PROTOCOLS[kind], tmp_path / f"r.{suffix}"
    ldp.write_reports(path, protocol, people(50), rng=1)
    read = pd.read_csv(path, comment="#") if suffix == "csv" else pd.read_parquet(path)
    sent = protocol.sent(people(50), rng=1).reports
    assert read["row"].tolist() == [one.row for one in sent for _ in one.people]
    if protocol.adaptive:
        assert read["report"].tolist() == np.concatenate([one.data for one in sent]).tolist()
        assert read["block"].tolist() == np.concatenate([one.blocks for one in sent]).tolist()
    for one in sent if suffix == "parquet" and not protocol.adaptive else ():
        own: Any = read.loc[read["row"] == one.row, "report"].tolist()
        if one.data.ndim == 1:
            assert [int.from_bytes(x, "little") if isinstance(x, bytes) else x for x in own] == one.data.tolist()
        elif one.data.dtype == np.uint8:
            assert [list(x) for x in own] == one.data.tolist()


def test_the_same_seed_writes_the_same_file_and_without_one_it_is_no_simulation(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        for name in ("a", "b"):
            ldp.write_reports(tmp_path / f"{name}.{suffix}", NUMBERS, people(), rng=3)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
        ldp.write_reports(tmp_path / f"a.{suffix}", NUMBERS, people())
        assert not ldp.tables_of(tmp_path / f"a.{suffix}", NUMBERS).simulated


def test_row_groups_have_their_size_whatever_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import parquet

    monkeypatch.setattr(parquet_files, "_ROWS", 64)
    ldp.write_reports(tmp_path / "r.parquet", NUMBERS, (people(30, seed) for seed in range(9)), rng=1)
    file = parquet.ParquetFile(tmp_path / "r.parquet").metadata
    assert [file.row_group(group).num_rows for group in range(file.num_row_groups)] == [64, 64, 64, 64, 14]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_respondents_sent_is_never_replaced(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r.{suffix}"
    ldp.write_reports(path, NUMBERS, people(10))
    sent = path.read_bytes()
    for rng in (None, 1):
        with pytest.raises(ldp.LdpstatsError, match=r"reports that are not simulated.* cannot be made again"):
            ldp.write_reports(path, NUMBERS, people(20), rng=rng)
    assert path.read_bytes() == sent
    path.write_bytes(sent[:-1])
    with pytest.raises(ldp.LdpstatsError, match="reports that are not simulated"):
        ldp.write_reports(path, NUMBERS, people(20), rng=1)


def test_simulated_reports_are_replaced_and_any_other_file_is_not(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"r.{suffix}"
        ldp.write_reports(path, NUMBERS, people(10), rng=1)
        path.chmod(0o640)
        ldp.write_reports(path, NUMBERS, people(20), rng=1)
        assert ldp.describe_reports(path).n == 20
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.write_text("my own", encoding="utf-8")
        with pytest.raises(ldp.LdpstatsError, match="which is no report file"):
            ldp.write_reports(path, NUMBERS, people(10), rng=1)
        assert path.read_text("utf-8") == "my own"
    for name in (tmp_path, tmp_path / "r.xlsx", tmp_path / "r", "", 3, tmp_path / "none" / "r.csv", "\0.csv"):
        with pytest.raises(ldp.LdpstatsError):
            ldp.write_reports(name, NUMBERS, people(10), rng=1)  # type: ignore[arg-type]  # that is what is tried


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_left_where_writing_ends_in_the_middle(tmp_path: Path, suffix: str) -> None:
    def frames() -> Iterator[pd.DataFrame]:
        yield people(100)
        yield people(100).replace({"sex": {"F": "X"}})

    path = tmp_path / f"r.{suffix}"
    ldp.write_reports(path, NUMBERS, people(10), rng=1)
    before = path.read_bytes()
    with pytest.raises(ldp.DomainError, match="'X'"):
        ldp.write_reports(path, NUMBERS, frames(), rng=1)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208  # with hidden files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_without_room_is_an_error_and_nothing_is_left(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ldp.LdpstatsError, match=r"could not be written \(No space left"):
        ldp.write_reports(tmp_path / f"r.{suffix}", NUMBERS, people(), rng=1)
    assert not list(tmp_path.iterdir())


def test_standard_streams_may_be_closed_or_take_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(ldp.LdpstatsError, match="standard output"):
            ldp.write_reports("-", NUMBERS, people(3), rng=1)
        with pytest.raises(ldp.LdpstatsError, match="standard input"):
            ldp.tables_of("-", NUMBERS)


def test_csv_goes_to_standard_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream))
    ldp.write_reports("-", NUMBERS, people(), rng=1)
    (tmp_path / "r.csv").write_bytes(stream.getvalue())
    assert ldp.tables_of(tmp_path / "r.csv", NUMBERS).to_json() == NUMBERS.collect(people(), rng=1).to_json()


@pytest.mark.parametrize(
    "token", ["", " ", "a b", "a,b", 'a"b', "a\nb", "\ud800", "x" * 201, "é" * 101, None, 3, "a\u2028b"]
)
def test_tokens_that_no_file_can_hold_are_refused(tmp_path: Path, token: Any) -> None:
    frame = people(3)
    frame["token"] = pd.Series(["a", token, "b"], dtype=object)
    with pytest.raises(ldp.LdpstatsError):
        ldp.write_reports(tmp_path / "r.csv", NUMBERS, frame, rng=1, tokens="token")
    assert not list(tmp_path.iterdir())


def test_tokens_stand_beside_the_reports_of_their_respondents(tmp_path: Path) -> None:
    # at this level nobody lies: the report is the answer
    protocol = ldp.SampledGroups(ldp.Domain({"a": list(range(50)), "b": [0, 1]}), k=1, epsilon=40.0, mechanism="grr")
    frame = pd.DataFrame({"a": np.arange(50), "b": np.arange(50) % 2, "who": [f"é-{number}" for number in range(50)]})
    for suffix in SUFFIXES:
        path = tmp_path / f"r.{suffix}"
        ldp.write_reports(path, protocol, frame, rng=1, tokens="who")
        read = pd.read_csv(path, comment="#") if suffix == "csv" else pd.read_parquet(path)
        who = read["token"].str.removeprefix("é-").astype(int)
        assert (read["report"] == np.where(read["row"] == 0, who, who % 2)).all()
        assert sorted(who) == list(range(50))


def test_what_cannot_go_together_is_refused(tmp_path: Path) -> None:
    frame = people(3).assign(n=2)
    with pytest.raises(ldp.LdpstatsError, match="tokens, or counts"):
        ldp.write_reports(tmp_path / "r.csv", NUMBERS, frame, rng=1, tokens="token", counts="n")
    for asked in NUMBERS.domain.names:
        with pytest.raises(ldp.LdpstatsError, match="which the protocol asks about"):
            ldp.write_reports(tmp_path / "r.csv", NUMBERS, frame, rng=1, tokens=asked)
    assert not list(tmp_path.iterdir())
    ldp.write_reports(tmp_path / "r.csv", NUMBERS, frame, rng=1, counts="n")
    assert ldp.describe_reports(tmp_path / "r.csv").n == 6
    for protocol in (NUMBERS, PROTOCOLS["blocks"]):
        with pytest.raises(ldp.LdpstatsError, match="no data frame at all"):
            ldp.write_reports(tmp_path / "none.csv", protocol, [], rng=1)
    with pytest.raises(ldp.LdpstatsError, match="respondents send reports themselves"):
        ldp.write_reports(tmp_path / "r.csv", ldp.CentralLaplace(DOMAIN, epsilon=1.0), frame)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", [kind for kind in PROTOCOLS if not PROTOCOLS[kind].adaptive])
def test_messages_become_a_report_file(tmp_path: Path, kind: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.io.messages._AT_ONCE", 7)
    protocol, path = PROTOCOLS[kind], tmp_path / f"r.{suffix}"
    found = messages(protocol)
    ldp.write_messages(path, protocol, (json.dumps(one) for one in found))
    ldp.write_messages(tmp_path / "again.csv", protocol, found)
    expected = protocol.collect(people(60, 7), rng=7)
    for tables in (ldp.tables_of(path, protocol), ldp.tables_of(tmp_path / "again.csv", protocol)):
        assert tables.simulated
        for table, one in zip(tables, expected, strict=True):
            assert table.n == one.n
            assert np.array_equal(table.blocks[0].tally.counts, one.blocks[0].tally.counts)


def test_a_message_that_nobody_sends_is_refused_naming_its_number(tmp_path: Path) -> None:
    found = messages(NUMBERS)
    for wrong in ({**found[0], "reports": [7000]}, {**found[0], "unit": 9}, {**found[0], "protocol": "p0"}, {}):
        with pytest.raises(ldp.ReportError, match="in message 4"):
            ldp.write_messages(tmp_path / "r.csv", NUMBERS, [*found[:3], wrong])
    with pytest.raises(ldp.ReportError, match="message 2, which says simulated = False"):
        ldp.write_messages(tmp_path / "r.csv", NUMBERS, [found[0], {**found[1], "simulated": False}])
    for nothing, said in (([], "no messages at all"), (None, "messages None")):
        with pytest.raises(ldp.LdpstatsError, match=said):
            ldp.write_messages(tmp_path / "r.csv", NUMBERS, nothing)  # type: ignore[arg-type]  # that is what is tried
    with pytest.raises(ldp.LdpstatsError, match="aggregator"):
        ldp.write_messages(tmp_path / "r.csv", PROTOCOLS["blocks"], found)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["numbers", "blocks"])
def test_frames_of_any_library_are_written_alike(tmp_path: Path, kind: str) -> None:
    import polars as pl
    import pyarrow as pa

    frame, protocol = people(), PROTOCOLS[kind]
    ldp.write_reports(tmp_path / "pandas.csv", protocol, [frame, frame], rng=1, tokens="token")
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        ldp.write_reports(tmp_path / "other.csv", protocol, [frame, other], rng=1, tokens="token")
        assert (tmp_path / "other.csv").read_bytes() == (tmp_path / "pandas.csv").read_bytes()
