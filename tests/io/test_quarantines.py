"""Quarantine: only a file of rows that were set aside is written over, and what is not whole does not stay."""

from __future__ import annotations

import csv
import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.io.quarantines import HEADER, Quarantine, refuse_mostly_bad


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


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
@pytest.mark.parametrize("mode", [None, 0o644])
def test_only_its_owner_reads_it(tmp_path: Path, mode: int | None) -> None:
    """It was open to all beside sources that were not."""
    path = tmp_path / "aside.csv"
    if mode:
        path.write_bytes(HEADER)
        path.chmod(mode)
    with Quarantine(path) as quarantine:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        quarantine.add("a", "1", "b", "c")
    other = tmp_path / "other"
    other.write_bytes(b"of somebody else")
    other.chmod(0o644)
    with pytest.raises(LdpstatsError, match="something else"):
        Quarantine(other)
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "'=1", "''", "0,=1", "x", "", "＝1"]
)
def test_no_cell_is_calculated_and_none_is_lost(tmp_path: Path, text: str) -> None:
    path = tmp_path / "aside.csv"
    with Quarantine(path) as quarantine:
        quarantine.add(text, "line 1", text, text)
    (cells,) = rows_of(path)[1:]
    assert not any(cell.startswith(tuple("=+-@\t\r\n＝")) for cell in cells)
    assert [cell.removeprefix("'") for cell in cells] == [text, "line 1", text, text]
