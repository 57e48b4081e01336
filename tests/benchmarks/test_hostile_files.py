"""Hostile files: those of benchmarks/hostile_files.py that are quick to make are refused in their own words."""

from __future__ import annotations

from pathlib import Path

import hostile_files
import pytest

import ldpstats as ldp
from ldpstats.answers import categorical_answers
from ldpstats.io import csv_files

KNOWN = {one.name: one for one in hostile_files.FILES}
QUICK = {
    "8 GB of tokens, a dictionary of one": "takes up to 8,4",
    "the same with a footer that lies": "takes up to 8,4",
    "described: 8 GB of tokens": "takes up to 8,4",
    "a footer of 10^6 columns": "describes more than 131,072 parts",
    "a footer of columns 100,000 deep": "columns within columns",
    "messages of 10^6 brackets": "letters",
    "answers that share beginnings": "beginnings and ends",
    "10^6 answers of 50 MB": "a cell of 50,000,000 bytes",
    "100 answers, told as 1,000": "1,000 rows, and 100 in its row groups",
    "answers, a footer of 10^6 columns": "describes more than 131,072 parts",
    "CSV of 10^6 columns": "1,000,001 columns",
    "gzip of 200,000 empty parts": "more than 16,384 of them",
    "a sparse file of 100 GB": "of too many bytes",
}


@pytest.mark.parametrize("name", QUICK)
def test_hostile_files_are_refused(tmp_path: Path, name: str) -> None:
    one = KNOWN[name]
    path = tmp_path / f"hostile{one.ending}"
    one.make(path)
    with pytest.raises(ldp.LdpstatsError) as refused:
        one.read(path)
    assert QUICK[name] in str(refused.value)


def test_rows_that_cannot_be_counted_are_looked_at_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of bad rows alone is refused, with a quarantine too, before much is set aside."""
    monkeypatch.setattr(csv_files, "_ROWS", 1 << 12)
    hostile_files.bad_reports(tmp_path / "r.parquet")
    with pytest.raises(ldp.ReportError, match=r"of which 16,384 of 16,384 rows"):
        ldp.tables_of(tmp_path / "r.parquet", hostile_files.PROTOCOL, quarantine=tmp_path / "q.csv")
    (tmp_path / "r.csv").write_bytes(
        b"# ldpstats reports " + hostile_files.header().encode() + b"\nrow,report\n" * 99999
    )
    with pytest.raises(ldp.ReportError, match=r"of which 12,\d* of 12,288 rows"):
        ldp.tables_of(tmp_path / "r.csv", hostile_files.PROTOCOL, quarantine=tmp_path / "q.csv")


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(len(hostile_files.FILES)))
def test_hostile_files_take_neither_time_nor_memory(tmp_path: Path, number: int) -> None:
    found = hostile_files.measured(number, tmp_path)
    assert hostile_files.passes(found), found


def test_honest_files_are_read(tmp_path: Path) -> None:
    for number, one in enumerate(hostile_files.FILES):
        path = tmp_path / f"{number}{one.ending}"
        one.honest(path)
        assert one.read(path) is not None


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_too_little_memory_is_an_error_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    hostile_files.answers(tmp_path / name)
    hostile_files.reports(tmp_path / f"r{name}")
    for place in ("answers.text_column.Texts.column", "io.counted_files.Count.run"):
        monkeypatch.setattr(f"ldpstats.{place}", full)
    for read, path in ((categorical_answers, name), (hostile_files.count, f"r{name}")):
        with pytest.raises(ldp.LdpstatsError, match="not enough memory"):
            read(tmp_path / path)
