"""Quarantine: only a file of rows that were set aside is written over, and what is not whole does not stay."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.io.quarantines import Quarantine, refuse_mostly_bad


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_rows_stand_there_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "aside.csv"
    with Quarantine(path) as quarantine:
        quarantine.add("r.csv", "line 3", 'no "report", at all', "0,é\n1")
        assert quarantine.settled() == path.stat().st_size
    assert rows_of(path) == [
        ["file", "row", "reason", "content"],
        ["r.csv", "line 3", 'no "report", at all', "0,é\n1"],
    ]
    with Quarantine(path):
        pass
    assert rows_of(path) == [["file", "row", "reason", "content"]]


def test_it_goes_on_behind_what_was_settled(tmp_path: Path) -> None:
    path = tmp_path / "aside.csv"
    with Quarantine(path) as quarantine:
        quarantine.add("a", "1", "b", "c")
        size = quarantine.settled()
        quarantine.add("never", "2", "settled", "d")
    with Quarantine(path, size, kept=True) as quarantine:
        quarantine.add("e", "2", "f", "g")
    assert rows_of(path)[1:] == [["a", "1", "b", "c"], ["e", "2", "f", "g"]]
    path.unlink()
    with pytest.raises(LdpstatsError, match="set aside before the interruption"):
        Quarantine(path, size, kept=True)
    assert not path.exists()


@pytest.mark.parametrize("text", ["my own", "file,row,reason\n", "file,row,reason,content"])
def test_other_files_stay_as_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    if text == "my own" or "content" not in text:
        with pytest.raises(LdpstatsError, match="holds something else"):
            Quarantine(path)
        assert path.read_text("utf-8") == text
    for wrong in (tmp_path, tmp_path / "none" / "x.csv", "a\0b"):
        with pytest.raises(LdpstatsError, match="for rows that are set aside"):
            Quarantine(wrong)


@pytest.mark.parametrize("kept", [False, True])
def test_without_room_nothing_half_written_stays(tmp_path: Path, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "aside.csv"
    with Quarantine(path, kept=kept) as quarantine:
        quarantine.add("a", "1", "b", "c")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(LdpstatsError, match="No space left"):
            quarantine.settled()
    # an interrupted count goes on with as much of it as was settled before
    assert path.exists() == kept


def test_a_file_is_refused_when_most_rows_are_bad_and_enough_were_seen() -> None:
    refuse_mostly_bad("r.csv", 5, 10, over=True)
    refuse_mostly_bad("r.csv", 6, 10, over=False)
    for bad, rows, over in [(6, 10, True), (5001, 10_000, False)]:
        with pytest.raises(LdpstatsError, match="cannot be counted"):
            refuse_mostly_bad("r.csv", bad, rows, over=over)
