"""Chunks: a thread reads ahead, and ends when nobody wants more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.report_files import PROTOCOLS, people, with_digest

import ldpstats as ldp
from ldpstats.io import csv_files
from ldpstats.io.columns import ahead


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ldpstats reader"]


def test_items_come_in_order_and_errors_where_they_are_wanted() -> None:
    def items() -> Iterator[int]:
        yield from range(100)
        raise KeyError("the end")

    found: list[int] = []
    with pytest.raises(KeyError, match="the end"):
        found.extend(ahead(items()))
    assert found == list(range(100))
    assert list(ahead([])) == []
    assert not readers()


def test_a_reader_ends_when_nobody_wants_more() -> None:
    def endless() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    items = ahead(endless())
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    items.close()
    assert not readers()


def test_a_count_that_fails_leaves_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_PIECE", 700)
    protocol, path = PROTOCOLS["numbers"], tmp_path / "r.csv"
    ldp.write_reports(path, protocol, people(), rng=1)
    lines = path.read_text("utf-8").splitlines()
    with_digest(path, [*lines[:3], "0,7000", *lines[3:-1]])
    with pytest.raises(ldp.ReportError) as refused:
        ldp.tables_of(path, protocol)
    assert not readers()
    assert "line 4" in str(refused.value)


def test_threads_count_the_same_file_at_once(tmp_path: Path) -> None:
    protocol, path = PROTOCOLS["bytes of several lengths"], tmp_path / "r.parquet"
    ldp.write_reports(path, protocol, people(), rng=1)
    expected = ldp.tables_of(path, protocol).to_json()
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: ldp.tables_of(path, protocol).to_json(), range(12))
        assert set(found) == {expected}
