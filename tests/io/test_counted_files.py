"""Counted files: those of every form give the tables that a collection of the same respondents gives."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.report_files import PROTOCOLS, SUFFIXES, messages, people, with_digest, write_lines

import ldpstats as ldp
from ldpstats.io import counted_files, csv_files, parquet_files

NUMBERS = PROTOCOLS["numbers"]
WRONG = {
    "0,7000": "the report 7000",
    "0,-1": "the report '-1'",
    "0,": "the report ''",
    "0,1.0": "the report '1.0'",
    "0,1e0": "the report '1e0'",
    "0,01": "the report '01'",
    "0, 1": "the report ' 1'",
    "9,0": "the number 9 of a row",
    "x,0": "the row 'x'",
    "99999999999999999999,0": "the row '99999999999999999999'",
    "0": "the line '0'",
    "0,0,0": "the line '0,0,0'",
    "": "the line ''",
    "0,é": "the report 'é'",
    "0,\x00": "the report",
}


def written(folder: Path, name: str = "r.csv", protocol: Any = NUMBERS, seed: int = 1, **options: Any) -> Path:
    path = folder / name
    ldp.write_reports(path, protocol, people(seed=seed), rng=seed, **options)
    return path


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()[:-1]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("tokens", [None, "token"])
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_file_counts_as_its_collection_does_also_in_small_pieces(
    tmp_path: Path, kind: str, tokens: str | None, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = PROTOCOLS[kind].collect(people(seed=1), rng=1).to_json()
    assert (
        ldp.tables_of(written(tmp_path, f"r.{suffix}", PROTOCOLS[kind], tokens=tokens), PROTOCOLS[kind]).to_json()
        == expected
    )
    monkeypatch.setattr(parquet_files, "_ROWS", 16)
    path = written(tmp_path, f"in pieces.{suffix}", PROTOCOLS[kind], tokens=tokens)
    monkeypatch.setattr(csv_files, "_PIECE", 2000)
    assert ldp.tables_of(path, PROTOCOLS[kind]).to_json() == expected


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_rows_as_data_frames_have_them_are_read_from_frames_and_csv(tmp_path: Path, kind: str) -> None:
    protocol = PROTOCOLS[kind]
    frame, expected = protocol.reports(people(), rng=1), protocol.collect(people(), rng=1).to_json()
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    assert ldp.tables_of(path, protocol).to_json() == expected
    assert ldp.tables_of(frame, protocol).to_json() == expected
    assert ldp.tables_of((part for part in (frame[:100], frame[100:])), protocol).to_json() == expected


def test_frames_of_polars_and_arrow_go_in(tmp_path: Path) -> None:
    rows, expected = NUMBERS.reports(people(), rng=1), NUMBERS.collect(people(), rng=1).to_json()
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        assert ldp.tables_of(kind(rows), NUMBERS).to_json() == expected
        assert ldp.tables_of([kind(rows)], NUMBERS).to_json() == expected
        ldp.write_reports(tmp_path / "r.csv", NUMBERS, kind(people()), rng=1, tokens="token")
        assert ldp.tables_of(tmp_path / "r.csv", NUMBERS).to_json() == expected


def test_several_files_and_forms_count_together(tmp_path: Path) -> None:
    paths = [written(tmp_path, name, seed=seed) for seed, name in enumerate(["a.csv", "b.parquet", "c.csv"])]
    first, *more = (NUMBERS.collect(people(seed=seed), rng=seed) for seed in range(3))
    assert ldp.tables_of(paths, NUMBERS).to_json() == sum(more, first).to_json()
    lines = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    assert sum(table.n for table in ldp.tables_of([*paths, lines], NUMBERS)) == 960


def test_collections_of_an_adaptive_protocol_are_counted_one_by_one(tmp_path: Path) -> None:
    protocol = PROTOCOLS["blocks"]
    paths = [written(tmp_path, f"{seed}.parquet", protocol, seed) for seed in (1, 2)]
    apart = [protocol.collect(people(seed=seed), rng=seed) for seed in (1, 2)]
    assert ldp.tables_of(paths, protocol).to_json() == (apart[0] + apart[1]).to_json()


def test_the_same_collection_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "copy.csv").write_bytes(path.read_bytes())
    with pytest.raises(ldp.ReportError, match="the same collection as"):
        ldp.tables_of([path, tmp_path / "copy.csv"], NUMBERS)
    with pytest.raises(ldp.ReportError, match="the same collection as"):
        ldp.tables_of([path, path], NUMBERS)
    tables = ldp.tables_of(path, NUMBERS)
    with pytest.raises(ldp.LdpstatsError, match="twice"):
        tables + ldp.tables_of(tmp_path / "copy.csv", NUMBERS)
    lines = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    (tmp_path / "more.jsonl").write_bytes(lines.read_bytes())
    with pytest.raises(ldp.ReportError, match="the same collection as"):
        ldp.tables_of([lines, tmp_path / "more.jsonl"], NUMBERS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_another_protocol_is_refused(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, f"r.{suffix}")
    other = ldp.SampledGroups(NUMBERS.domain, k=2, epsilon=2.0, mechanism="grr")
    with pytest.raises(ldp.ReportError, match=r"of another protocol.*mechanisms and epsilon"):
        ldp.tables_of(path, other)
    with pytest.raises(ldp.LdpstatsError, match="respondents send reports themselves"):
        ldp.tables_of(path, ldp.CentralLaplace(NUMBERS.domain, epsilon=1.0))


@pytest.mark.parametrize("bad", WRONG)
def test_a_bad_row_is_refused_naming_its_line_or_set_aside(tmp_path: Path, bad: str) -> None:
    lines = lines_of(written(tmp_path))
    path = with_digest(tmp_path / "bad.csv", [*lines[:12], bad, *lines[12:]])
    with pytest.raises(ldp.ReportError) as refused:
        ldp.tables_of(path, NUMBERS)
    assert WRONG[bad] in str(refused.value)
    assert f"in line 13 of '{path}'" in str(refused.value)
    tables = ldp.tables_of(path, NUMBERS, quarantine=tmp_path / "aside.csv")
    assert sum(table.n for table in tables) == 300
    assert tables.privacy.set_aside == 1
    with (tmp_path / "aside.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["file", "row", "reason", "content"]
    assert [(row[0], row[1], row[3]) for row in rows] == [(str(path), "line 13", bad)]
    assert WRONG[bad] in rows[0][2]


def test_rows_that_data_frames_cannot_have_are_set_aside(tmp_path: Path) -> None:
    frame = NUMBERS.reports(people(), rng=1)
    frame["report"] = frame["report"].astype(int)
    frame.loc[[3, 8], "report"] = [7000, -1]
    with pytest.raises(ldp.ReportError, match=r"the report 7000 in row 3 of 'data frame'"):
        ldp.tables_of(frame, NUMBERS)
    tables = ldp.tables_of(frame, NUMBERS, quarantine=tmp_path / "aside.csv")
    assert (sum(table.n for table in tables), tables.privacy.set_aside) == (298, 2)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ldp.ReportError, match=r"in line 5 of"):
        ldp.tables_of(tmp_path / "rows.csv", NUMBERS)
    again = ldp.tables_of(tmp_path / "rows.csv", NUMBERS, quarantine=tmp_path / "aside.csv")
    assert again.to_json() == tables.to_json()


def test_a_file_of_which_most_rows_are_bad_is_refused(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path))
    half = with_digest(tmp_path / "half.csv", [*lines[:2], *["0,7000"] * 10, *lines[2:12]])
    assert ldp.tables_of(half, NUMBERS, quarantine=tmp_path / "aside.csv").privacy.set_aside == 10
    more = with_digest(tmp_path / "more.csv", [*lines[:2], *["0,7000"] * 11, *lines[2:12]])
    with pytest.raises(ldp.ReportError, match="11 of 21 rows cannot be counted"):
        ldp.tables_of(more, NUMBERS, quarantine=tmp_path / "aside.csv")


@pytest.mark.parametrize("kind", ["numbers", "numbers and bytes", "several rows of a unit", "blocks"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_token_that_comes_twice_is_refused_or_counted_once(tmp_path: Path, kind: str, suffix: str) -> None:
    protocol, frame = PROTOCOLS[kind], people(40)
    ldp.write_reports(tmp_path / f"a.{suffix}", protocol, frame, rng=1, tokens="token")
    ldp.write_reports(tmp_path / f"b.{suffix}", protocol, frame[30:], rng=2, tokens="token")
    paths = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    with pytest.raises(ldp.ReportError, match=r"the token 'r5-3\d' in .*b\.\w+', which came in .*a\.\w+' already"):
        ldp.tables_of(paths, protocol)
    if not protocol.adaptive:
        once = ldp.tables_of(paths, protocol, tokens="once")
        assert [one.n for one in once] == [one.n for one in ldp.tables_of(paths[0], protocol)]
        left_out = len(protocol.reports(frame[30:], rng=2))
        assert f"{left_out} rows were left out, whose respondents' tokens came before" in str(once)
        assert ldp.TableSet.from_json(once.to_json()).checks[0].to_dict()["left_out"] == left_out
    with pytest.raises(ldp.LdpstatsError, match="tokens = 'twice'"):
        ldp.tables_of(paths, protocol, tokens="twice")


def test_a_token_within_one_file_is_noticed_and_an_empty_one_is_none(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, tokens="token"))
    token = lines[5].rpartition(",")[2]
    path = with_digest(tmp_path / "twice.csv", [*lines, f"2,0,{token}", "1,0,", "1,0,"])
    with pytest.raises(ldp.ReportError, match=rf"the token '{token}' in line 303 .*which came in line 6 of"):
        ldp.tables_of(path, NUMBERS)
    assert sum(one.n for one in ldp.tables_of(path, NUMBERS, tokens="once")) == 302


def test_a_bad_row_does_not_use_up_its_token(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, tokens="token"))
    more = ["0,7000,again", "0,1,again", *lines[2:], f"0,1,{'x' * 201}"]
    path = with_digest(tmp_path / "again.csv", [*lines[:2], *more])
    tables = ldp.tables_of(path, NUMBERS, quarantine=tmp_path / "aside.csv")
    assert (sum(one.n for one in tables), tables.privacy.set_aside) == (301, 2)


def test_rows_that_stand_twice_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    assert ldp.tables_of(path, NUMBERS, repeated=True).checks == ()
    lines = lines_of(path)
    again = with_digest(tmp_path / "again.csv", [*lines, *lines[2:202]])
    assert "REPEATED ROWS" in str(ldp.tables_of(again, NUMBERS))
    assert ldp.tables_of(again, NUMBERS, repeated=False).checks == ()
    monkeypatch.setattr(counted_files, "_LOOKED_THROUGH", 100)
    ldp.write_reports(tmp_path / "r.parquet", NUMBERS, pd.concat([people(), people()]), rng=1)
    assert ldp.tables_of(tmp_path / "r.parquet", NUMBERS).checks == ()


def test_reports_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (written(tmp_path), written(tmp_path, "r.parquet")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        assert sum(table.n for table in ldp.tables_of("-", NUMBERS)) == 300
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0,1\n")))
    with pytest.raises(ldp.ReportError, match="the file '-', which is text that begins"):
        ldp.tables_of("-", NUMBERS)


def test_nobody_sent_anything(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"none.{suffix}"
        ldp.write_reports(path, NUMBERS, people(0), rng=1)
        assert [table.n for table in ldp.tables_of(path, NUMBERS)] == [0, 0, 0]
    assert [table.n for table in ldp.tables_of(pd.DataFrame(NUMBERS.reports(people(0), rng=1)), NUMBERS)] == [0, 0, 0]
    with pytest.raises(ldp.LdpstatsError, match="no reports at all"):
        ldp.tables_of([], NUMBERS)


def test_among_messages_that_are_read_together_the_first_line_counts(tmp_path: Path) -> None:
    """It was the one about the lower row."""
    whole = [one | {"token": f"t{place % 20}"} for place, one in enumerate(messages(NUMBERS, 60))]
    for found in (whole, whole[::-1]):
        tables = ldp.tables_of(write_lines(tmp_path / "m.jsonl", found), NUMBERS, tokens="once")
        first = {one["token"]: one for one in reversed(found)}
        assert [table.n for table in tables] == [
            sum(one["unit"] == unit for one in first.values()) for unit in range(len(tables))
        ]


def test_messages_without_a_token_are_said_wherever_tables_are_printed(tmp_path: Path) -> None:
    """The same messages under two names counted twice without a word, where some line differs."""
    found = messages(NUMBERS, 60)
    paths = [write_lines(tmp_path / f"{name}.jsonl", found[start:]) for start, name in enumerate("ab")]
    said = "nothing tells whether the same one came twice"
    for path, n in ((paths[0], 60), (paths, 119)):
        tables = ldp.tables_of(path, NUMBERS)
        assert tables.n == n
        for text in (str(tables), ldp.TableSet.from_json(tables.to_json()).summary().as_html()):
            assert f"{n} messages of clients came without a token: {said}" in text
    named = write_lines(tmp_path / "n.jsonl", [one | {"token": f"t{place}"} for place, one in enumerate(found[:9])])
    assert ldp.tables_of(named, NUMBERS).checks == ()
    bad = write_lines(tmp_path / "c.jsonl", [*found[:5], {**found[5], "reports": [7000]}])
    with_bad = ldp.tables_of([named, bad], NUMBERS, quarantine=tmp_path / "aside.csv")
    assert with_bad.checks[0].to_dict()["unnamed"] == 5
    assert with_bad.privacy.set_aside == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_token_is_calculated_and_each_is_known_again(tmp_path: Path, suffix: str) -> None:
    texts = ["=1+1", "+1", "-1", "@a", "'=1", "''x", "x", "＝1", "'", "-"]
    frame = people(len(texts)).assign(token=texts)
    path = tmp_path / f"r.{suffix}"
    ldp.write_reports(path, NUMBERS, frame, rng=1, tokens="token")
    if suffix == "csv":
        cells = [line.rpartition(",")[2] for line in lines_of(path)[2:]]
        assert not any(cell.startswith(tuple("=+-@＝")) for cell in cells)
        assert sorted(cell.removeprefix("'") for cell in cells) == sorted(texts)
    sent = [one | {"token": token} for one, token in zip(messages(NUMBERS, len(texts)), texts, strict=True)]
    again = write_lines(tmp_path / "m.jsonl", sent)
    tables = ldp.tables_of([path, again], NUMBERS, tokens="once")
    assert (tables.n, tables.checks[0].to_dict()["left_out"]) == (len(texts), len(texts))
