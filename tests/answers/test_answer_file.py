"""Answer files: every kind of dirt is read as what it is, or refused by its place."""

from __future__ import annotations

import gzip
import io
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ldpstats import Domain, LdpstatsError, SampledGroups, write_reports
from ldpstats.answers.answer_file import AnswerFile, read_answers

ROWS = [["name", "größe", "note"], ["Ann", "1,5", "a;b"], ["Bär", "2", "x|y"]]


def read(text: str | bytes, **options: object) -> AnswerFile:
    return read_answers(text if isinstance(text, bytes) else text.encode(), "a file", **options)  # type: ignore[arg-type]


def cells(file: AnswerFile) -> list[list[str]]:
    return [list(file.names), *file.frame().astype(str).to_numpy().tolist()]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_usual_way_to_write_a_table_is_read(encoding: str, separator: str, end: str) -> None:
    lines = [separator.join(f'"{cell}"' for cell in row) for row in ROWS]
    file = read((end.join(lines) + end).encode(encoding))
    assert cells(file) == ROWS
    assert file.commas == (separator != ",")
    assert any("Windows-1252" in note for note in file.notes) == (encoding == "cp1252")
    assert any("separated by" in note for note in file.notes) == (separator != ",")


def test_packed_files_and_stated_separators_are_read() -> None:
    text = "sep=;\na;b\n1;2\n"
    assert cells(read(gzip.compress(text.encode(), mtime=0))) == [["a", "b"], ["1", "2"]]
    assert read(text).place(0) == "line 3"


def test_parquet_is_read_as_the_same_texts() -> None:
    frame = pd.DataFrame({"a": [1, 2, None], "b": ["x", None, "z"], "c": [True, False, True], "d": [0.5, 1.0, 1.0]})
    frame["e"] = pd.Categorical(["u", "v", None])
    packed = io.BytesIO()
    frame.to_parquet(packed)
    file = read(packed.getvalue())
    assert cells(file)[1:] == [
        ["1.0", "x", "True", "0.5", "u"],
        ["2.0", "", "False", "1.0", "v"],
        ["", "z", "True", "1.0", ""],
    ]
    assert file.place(2) == "row 3"
    assert [column.counts.min() for column in file.columns] == [1] * 5


def test_texts_that_stand_in_no_row_of_a_parquet_file_are_none() -> None:
    packed = io.BytesIO()
    pd.DataFrame({"a": pd.Categorical(["u", "v"], categories=["NA", "u", "v"])}).to_parquet(packed)
    assert read(packed.getvalue())["a"].texts == ("u", "v")


def test_parquet_in_its_stranger_forms_is_read() -> None:
    """Row groups without rows, as streams leave them behind, and texts that are stored as bytes."""
    table = pa.table({"a": ["u", "v"], "b": [b"p", "q\u00e4".encode()]})
    packed = io.BytesIO()
    with parquet.ParquetWriter(packed, table.schema) as writer:
        for part in (table.slice(0, 0), table):
            writer.write_table(part)
    file = read(packed.getvalue())
    assert [one.texts for one in file.columns] == [("u", "v"), ("p", "q\u00e4")]


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("rows", [100, 999, 1001, 8000])
def test_parquet_that_tells_of_other_rows_than_it_holds_is_refused_or_read_in_full(place: int, rows: int) -> None:
    """Of a thousand rows nothing is lost, and none is made up, whichever of the six numbers in its footer lies."""
    packed = io.BytesIO()
    parquet.write_table(pa.table({"a": ["u", "v"] * 500, "b": ["p", "q"] * 500}), packed)
    raw, (true, lie) = packed.getvalue(), (bytes([0x16, 2 * n & 127 | 128, n >> 6]) for n in (1000, rows))
    assert raw.count(true) == 6
    before = true.join(raw.split(true)[: place + 1])
    try:
        file = read(before + lie + raw[len(before) + 3 :])
    except LdpstatsError:
        return
    assert [len(file), *(one.counts.tolist() for one in file.columns)] == [1000, [500, 500], [500, 500]]


def test_wide_files_are_read_in_time_that_grows_with_their_columns() -> None:
    file = read(b",".join(b"q%d" % n for n in range(20_000)) + b"\n" + b"1" + b",1" * 19_999 + b"\n")
    began = time.process_time()
    assert all(file[name].name == name for name in file.names)
    assert time.process_time() - began < 1


def test_files_of_nothing_and_of_quotes_alone_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.answers.answer_file.ROWS_OF_A_SHEET", 1 << 13)
    assert len(read("a,b\n1,2\n" + "\n" * 8000 + "2,1\n")) == 2
    for text, said in (("a,b\n1,2\n" + "\n" * 9000, "8,192 empty lines"), ('sep="\na"b\n1"2\n', "quotation marks")):
        with pytest.raises(LdpstatsError, match=said):
            read(text)


def test_answers_that_repeat_are_read_from_a_pack_of_as_many_rows_as_a_sheet_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ldpstats.answers.csv_text.ROWS_OF_A_SHEET", 1 << 13)
    assert len(read(gzip.compress(b"a,b\n" + b"F,yes\nM,no\n" * 4000, mtime=0))) == 8000
    with pytest.raises(LdpstatsError, match="stands for more than 200"):
        read(gzip.compress(b"a,b\n" + b"F,yes\nM,no\n" * 500_000, mtime=0))


def test_reports_in_parquet_are_no_answers(tmp_path: Path) -> None:
    domain = Domain({"a": ["x", "y"], "b": ["x", "y"]})
    write_reports(tmp_path / "r.parquet", SampledGroups(domain, epsilon=1.0), domain.decode([[0, 1]] * 9), rng=1)
    with pytest.raises(LdpstatsError, match="which is a file of reports"):
        read((tmp_path / "r.parquet").read_bytes())


def test_line_breaks_in_cells_and_empty_lines_do_not_shift_what_errors_name() -> None:
    file = read('a,b\n\n"one\ntwo",1\n\n3,4\n\n')
    assert [file.place(row) for row in range(len(file))] == ["line 4", "line 6"]
    assert file["a"].texts == ("one\ntwo", "3")
    assert file.notes == ("a file: 3 empty lines were left out.",)


def test_names_are_made_different_and_said() -> None:
    file = read(",age,age, sex ,,age\n0,1,1,F,,1\n1,2,3,M,,2\n")
    assert file.names == ("age", "age (column 3)", "sex")
    assert [note.partition(": ")[2] for note in file.notes] == [
        "column 1 has no name, numbers the rows, and was left out.",
        "the name 'age' stands there again; column 3 is called 'age (column 3)'.",
        "column 5 has no name, is empty, and was left out.",
        "column 6 is 'age' again, with the same answers, and was left out.",
    ]
    assert read("a,\n1,x\n2,y\n").names == ("a", "column 2")


def test_spaces_around_cells_are_no_part_of_them() -> None:
    file = read("a, b\nx , y\nx,\u00a0y\n")
    assert [column.texts for column in file.columns] == [("x",), ("y",)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "which is empty"),
        (b"\n\n", "which is empty"),
        (b"\xef\xbb\xbf", "which is empty"),
        (b"a,b\n", "holds names and no rows"),
        (b"a,b\n1,2\n3\n", "line 3 of a file with the cells '3'. Allowed: 2 cells in every line"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 of a file with the cells '3', '4', '5'"),
        (b'a,b\n1,"2\n3,4\n', "a quote that opens and is never closed in a file, line 2"),
        (b'a,b\n1,"2"x\n', "line 2"),
        (b'a,b\n1,"' + b"x" * 200_000 + b'"\n', "a cell of more than 131,072 letters"),
        (b"F,25\nM,30\nF,25\nM,25\n", "looks like a row of answers"),
        (b"F,x\nM,y\nF,x\nM,x\n", "looks like a row of answers"),
        (b"y,y,x\nx,y,y\ny,y,x\nx,x,x\n", "whose first line 'y', 'y', 'x' looks like a row of answers"),
        (b",,\nx,y,y\ny,y,x\n", "whose first line names nothing"),
        (b"PK\x03\x04....[Content_Types].xml", "an Excel workbook"),
        (b"PK\x03\x04....", "a packed archive"),
        (b"PK\x03\x04" + b"." * 26 + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "OpenDocument"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook"),
        (b"r\x02\x01\x00" + bytes(99), "a file of Stata (.dta)"),
        (b"<stata_dta><header>", "pandas.read_stata(FILE).to_csv('answers.csv', index=False) makes CSV of it"),
        (b"$FL2@(#) SPSS DATA FILE", "a file of SPSS (.sav)"),
        (bytes(200) + b"ASCII SPSS PORT FILE", "a file of SPSS (.por)"),
        (bytes(12) + b"\xc2\xea\x81\x60", "a file of SAS"),
        (b"ARROW1\0\0", "pandas.read_feather"),
        (gzip.compress(b"X\n\0\0\0\3\0\4", mtime=0), "a file of R (.rds). Allowed"),
        (gzip.compress(b"RDX3\nX\n\0", mtime=0), "a file of R (.RData)"),
        (b"\xfd7zXZ\0", "a packed archive"),
        (b"\x80\x04\x95\x10\0", "a pickle of Python"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x00\x01\x02\x03" * 100, "binary data"),
        (b"\x81\x8d,b\n1,2\n", "in an unknown encoding"),
        (b"\xff\xfea", "which is no text"),
        (b"\x1f\x8b\x08garbage", "cannot be unpacked"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-4], "cannot be unpacked"),
        (b"PAR1garbagePAR1", "Parquet that cannot be read"),
        (b'{"a": 1}', "begins like JSON or XML"),
        (b'{"format": "ldpstats protocol", "version": 1}', "which is a saved protocol"),
        (b"# ldpstats reports {}\nrow,report\n", "which is a file of reports"),
        (b"protocol,collection,number,group,report,simulated\np,c,0,a,1,True\n", "which is a file of reports"),
    ],
)
def test_what_is_no_table_of_answers_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(LdpstatsError, match="Allowed") as error:
        read(content)
    assert message in str(error.value)


def test_many_rows_are_read_in_chunks_as_the_same() -> None:
    rows = [f"{number % 7},{number}" for number in range(150_000)]
    file = read("\n".join(["a,b", *rows]))
    assert len(file) == 150_000
    assert file["b"].codes.tolist() == list(range(150_000))
    assert [file["a"].texts[code] for code in file["a"].codes[[0, 65_535, 65_536, 149_999]]] == ["0", "1", "2", "3"]
    assert file.place(149_999) == "line 150001"
