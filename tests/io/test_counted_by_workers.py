"""Reports counted by the workers of a cluster: the counts of one process, every refusal, and a worker that is lost."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.clusters import by_value, killing_once, two_workers
from support.comparisons import refused

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.io import counted_by_workers, parquet_files

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]})
PROTOCOLS = {
    "numbers": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr"),
    "bytes": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="oue"),
    "crossed": ldp.PerAttribute(DOMAIN, epsilon=2.0),
    "blocks": ldp.RRBA(DOMAIN, p=0.5, block_size=10),
}
N = 700


def people(seed: int = 0) -> pd.DataFrame:
    return DOMAIN.decode(np.random.default_rng(seed).integers([2, 3, 2], size=(N, 3)))


@pytest.fixture(autouse=True)
def _in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a cluster that is this process, without the time that one takes to start."""
    monkeypatch.setattr("ldpstats.io.counted_by_workers.done", lambda work, places, *_: map(work, places))
    monkeypatch.setattr("ldpstats.workers._client_of", lambda _: (object(), False))
    return "here"


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "_ROWS", 64)
    monkeypatch.setattr(counted_by_workers, "_GROUPS", 3)


@pytest.mark.parametrize("kind", PROTOCOLS)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files_in_parts_count_as_they_do_in_one_place(kind: str, form: str, tmp_path: Path, here: str) -> None:
    protocol = PROTOCOLS[kind]
    paths = [tmp_path / f"{number}.{form}" for number in range(2)]
    for seed, path in enumerate(paths):
        ldp.write_reports(path, protocol, people(seed), rng=seed)
    for files in (paths, paths[0], paths[::-1]):
        whole = ldp.tables_of(files, protocol)
        assert ldp.tables_of(files, protocol, scheduler=here).to_json() == whole.to_json()
    assert whole.n >= 2 * N


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_frames_of_rows_count_by_partition(kind: str) -> None:
    protocol = PROTOCOLS[kind]
    rows = protocol.reports(people(), rng=1)
    expected = ldp.tables_of(rows, protocol).to_json()
    for partitions in (1, 3, 20):
        frame = dd.from_pandas(rows, npartitions=partitions)
        assert ldp.tables_of(frame, protocol).to_json() == expected
    shuffled = rows.sample(frac=1, random_state=0).reset_index(drop=True)
    assert ldp.tables_of(dd.from_pandas(shuffled, npartitions=9), protocol).to_json() == expected


def test_rows_that_stand_in_two_partitions_are_refused() -> None:
    protocol = PROTOCOLS["numbers"]
    rows = protocol.reports(people(), rng=1)
    twice = dd.concat([dd.from_pandas(rows, npartitions=2), dd.from_pandas(rows[:1], npartitions=1)])
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        ldp.tables_of(twice, protocol)


def test_bad_rows_of_partitions_are_refused_or_set_aside(tmp_path: Path) -> None:
    protocol = PROTOCOLS["numbers"]
    rows = protocol.reports(people(), rng=1)
    rows.loc[500, "report"] = 99
    frame = dd.from_pandas(rows, npartitions=7)
    with refused(ReportError, "the report 99", "'partition 5'"):
        ldp.tables_of(frame, protocol)
    tables = ldp.tables_of(frame, protocol, quarantine=tmp_path / "bad.csv")
    assert tables.to_json() == ldp.tables_of(rows, protocol, quarantine=tmp_path / "known.csv").to_json()
    assert tables.privacy.set_aside == 1
    (bad,) = csv.DictReader((tmp_path / "bad.csv").read_text().splitlines())
    assert bad["file"] == "partition 5"
    with pytest.raises(ReportError, match="another protocol"):
        ldp.tables_of(frame, PROTOCOLS["bytes"])


def test_bad_rows_of_files_are_set_aside_as_in_one_place(tmp_path: Path, here: str) -> None:
    protocol = PROTOCOLS["numbers"]
    messages = tmp_path / "rows.csv"
    rows = protocol.reports(people(), rng=1)
    rows.loc[[5, 400], "report"] = 99
    rows.to_csv(messages, index=False)
    with pytest.raises(ReportError, match=r"the report .?99.? in line 7 of"):
        ldp.tables_of(messages, protocol, scheduler=here)
    known, found = (tmp_path / name for name in ("known.csv", "found.csv"))
    expected = ldp.tables_of(messages, protocol, quarantine=known).to_json()
    assert ldp.tables_of(messages, protocol, quarantine=found, scheduler=here).to_json() == expected
    assert found.read_text() == known.read_text()
    rows.assign(report=99).to_csv(messages, index=False)
    with pytest.raises(ReportError, match="rows cannot be counted"):
        ldp.tables_of(messages, protocol, quarantine=found, scheduler=here)


def test_what_only_one_process_can_do_is_refused(tmp_path: Path, here: str) -> None:
    protocol, path = PROTOCOLS["numbers"], tmp_path / "tokens.parquet"
    frame = people().assign(token=[f"t{number}" for number in range(N)])
    ldp.write_reports(path, protocol, frame, rng=1, tokens="token")
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (path, {}, "have tokens"),
        (path, {"tokens": "once"}, "tokens on a cluster"),
        (path, {"resume": tmp_path / "resume"}, "resume on a cluster"),
        (frame, {}, "data frame in memory"),
        ([path, path], {}, "holds the same collection"),
        (tmp_path / "absent", {}, "does not exist"),
    ]
    for reports, options, told in refused:
        with pytest.raises(LdpstatsError, match=told):
            ldp.tables_of(reports, protocol, scheduler=here, **options)
    with pytest.raises(ReportError, match="another"):
        ldp.tables_of(path, PROTOCOLS["bytes"], scheduler=here)


def test_an_edited_file_is_refused_by_a_worker(tmp_path: Path, here: str) -> None:
    protocol, path = PROTOCOLS["numbers"], tmp_path / "reports.csv"
    ldp.write_reports(path, protocol, people(), rng=1)
    text = path.read_bytes()
    for edited in (text[:-40], text.replace(b"\n0,", b"\n1,", 1), text + b"0,1\n"):
        path.write_bytes(edited)
        with pytest.raises(ReportError):
            ldp.tables_of(path, protocol, scheduler=here)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_worker_that_sees_another_file_under_that_name_counts_nothing(
    tmp_path: Path, here: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, path = PROTOCOLS["numbers"], tmp_path / f"reports.{form}"
    ldp.write_reports(path, protocol, people(), rng=1)

    def replaced(work: Any, places: Any, *_: object) -> Any:
        for number, place in enumerate(places):
            if number == len(places) - 1:
                ldp.write_reports(path, protocol, people(), rng=2)
            yield work(place)

    monkeypatch.setattr(counted_by_workers, "done", replaced)
    with pytest.raises(ReportError, match="another one to a worker"):
        ldp.tables_of(path, protocol, scheduler=here)


def test_rows_that_cannot_be_set_aside_are_an_error_among_workers_too(
    tmp_path: Path, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    rows = PROTOCOLS["numbers"].reports(people(), rng=1)
    rows.loc[[5, 400], "report"] = 99
    rows.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LdpstatsError, match="No space left"):
        ldp.tables_of(tmp_path / "rows.csv", PROTOCOLS["numbers"], quarantine=tmp_path / "bad.csv", scheduler=here)
    assert not (tmp_path / "bad.csv").exists()


def test_nobody_is_counted_by_workers_too(tmp_path: Path, here: str) -> None:
    protocol = PROTOCOLS["numbers"]
    for form in ("csv", "parquet"):
        ldp.write_reports(tmp_path / f"none.{form}", protocol, people()[:0], rng=1)
        assert ldp.tables_of(tmp_path / f"none.{form}", protocol, scheduler=here).n == 0


def test_a_worker_that_is_killed_while_it_counts_changes_nothing(tmp_path: Path) -> None:
    """Two processes, one of which is lost while it reads: the same counts to the last unit, of files and of frames."""
    protocol, path = PROTOCOLS["numbers"], tmp_path / "reports.parquet"
    ldp.write_reports(path, protocol, people(), rng=1)
    rows = protocol.reports(people(), rng=1)
    expected = ldp.tables_of(path, protocol).to_json()
    count = counted_by_workers._count_part
    dying = killing_once(count, tmp_path / "killed", lambda *arguments: arguments[-1].start == 6)
    with by_value(__name__), two_workers(tmp_path) as client:
        with patch.object(counted_by_workers, "_count_part", dying):
            assert ldp.tables_of(path, protocol, scheduler=client).to_json() == expected
        assert (tmp_path / "killed").exists()
        # a client that connects while a worker comes back may be told two things at once, which distributed asserts not
        client.wait_for_workers(2, timeout=60)
        address = client.scheduler_info()["address"]
        assert ldp.tables_of(path, protocol, scheduler=address).to_json() == expected
        frame = dd.from_pandas(rows, npartitions=5)
        assert ldp.tables_of(frame, protocol, scheduler=address).n == N
