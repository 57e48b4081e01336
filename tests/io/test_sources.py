"""Sources: what a file is that holds no reports."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.report_files import PROTOCOLS, people

import ldpstats as ldp

NUMBERS = PROTOCOLS["numbers"]


def workbook() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def parquet() -> bytes:
    file = io.BytesIO()
    people(10).to_parquet(file)
    return file.getvalue()


FOREIGN: dict[str, tuple[Any, str]] = {
    "empty": (lambda: b"", "which is empty"),
    "workbook": (workbook, "an Excel workbook"),
    "gzip": (lambda: gzip.compress(b"row,report\n0,1\n", mtime=0), r"packed by gzip.*Unpack it first"),
    "parquet": (parquet, r"a Parquet file with the columns 'sex', 'age'.*write_reports"),
    "half a parquet file": (lambda: parquet()[:50], "not as it was written"),
    "answers": (
        lambda: people(3).to_csv(index=False).encode(),
        r"text that begins with 'sex,age,.*write_reports",
    ),
    "protocol": (lambda: NUMBERS.to_json().encode(), "a saved protocol"),
    "JSON": (lambda: b'{"a": 1}\n', "text that begins with"),
    "UTF-16": (lambda: "row,report\n".encode("utf-16"), "text in UTF-16"),
    "noise": (lambda: bytes(range(128, 250)) * 9, "no text, and nothing that is known"),
    "one line": (lambda: b"x" * 100_000, "text that begins with"),
    "zeros": (lambda: b"\0" * 10_000, "no text, and nothing that is known"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_said_to_be_what_it_is(tmp_path: Path, kind: str) -> None:
    made, said = FOREIGN[kind]
    (tmp_path / "file").write_bytes(made())
    for read in (lambda path: ldp.tables_of(path, NUMBERS), ldp.describe_reports):
        with pytest.raises(ldp.LdpstatsError, match=said) as refused:
            read(tmp_path / "file")
        assert repr(str(tmp_path / "file")) in str(refused.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside.csv").write_text("", encoding="utf-8")
    for path, said in [
        (tmp_path, r"which is a directory \(with inside.csv in it\)"),
        (tmp_path / "none", "which does not exist"),
        ("/dev/null", "which is no ordinary file"),
        ("", "the file ''"),
        ("a\0b", "the file 'a"),
        (3, "reports 3"),
        (b"r.csv", "reports b'r.csv'"),
        ([3], "the file 3"),
        (["-", "-"], "standard input twice"),
        ([pd.DataFrame(), "r.csv"], "'r.csv' among data frames|reports with"),
    ]:
        with pytest.raises(ldp.LdpstatsError, match=said):
            ldp.tables_of(path, NUMBERS)  # type: ignore[arg-type]  # that is what is tried


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_is_refused_at_once_and_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ldp.ReportError) as refused:
        ldp.tables_of(tmp_path / "pipe", NUMBERS)
    assert str(refused.value).count("Allowed") == 1


def test_standard_input_for_which_there_is_no_room_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(ldp.LdpstatsError, match=r"standard input.*No space left.*TMPDIR") as refused:
        ldp.tables_of("-", NUMBERS)
    assert str(tmp_path) in str(refused.value)
