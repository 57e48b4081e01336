"""Answer files: a row per respondent and a column per question, read from CSV or Parquet as texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.csv_text import (
    pieces_of,
    refuse_too_large_text,
    separator_of,
    stated_separator,
    text_of,
    unpacked,
)
from ldpstats.answers.parquet import opened_parquet, parquet_columns
from ldpstats.answers.text_column import TextColumn, Texts, numbers_in, refuse_too_many
from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened
from ldpstats.limits import ROWS_OF_A_SHEET, enough_memory
from ldpstats.saving.files import UNREADABLE, kind_of

if TYPE_CHECKING:
    from _csv import Reader

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "-")
"""Cells that mean that there is no answer, unless one of them is a category."""
_PARQUET = b"PAR1"
_OURS, _REPORTS = b"ldpstats", {"protocol", "collection", "number", "group", "report"}
_WORDS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SHOWN, _CHUNK = 20, 1 << 12
"""Letters of a cell that are shown, and rows at once."""
_NAMES_FIRST = "The first line must name the questions: add such a line."


@dataclass(frozen=True, slots=True, eq=False)
class AnswerFile:
    """An answer file as it was read: a text column per question, before any categories are made."""

    name: str
    columns: tuple[TextColumn, ...]
    lines: NDArray[np.int64]  # per row, the line in which it ends; in Parquet, its number
    what: str  # "line" or "row"
    commas: bool  # whether fractions may have a decimal comma
    missing: tuple[str, ...]  # cells that are no answer
    notes: tuple[str, ...]  # how the file was read
    _places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {column.name: index for index, column in enumerate(self.columns)})

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> TextColumn:
        if name in self._places:
            return self.columns[self._places[name]]
        raise DomainError(
            f"no column {name!r} in {self.name}", f"one of {one_line(self.names)}", "Names must match letter by letter."
        )

    def place(self, row: int) -> str:
        """Name where a row stands, such as "line 7", for messages."""
        return f"{self.what} {self.lines[row]}"

    def numbers(self, column: TextColumn) -> list[int | float | None]:
        """Parse the different texts of a column as numbers; None for those that are none."""
        return numbers_in(column.texts, commas=self.commas)

    def frame(self) -> pd.DataFrame:
        """Data frame of all cells, as categoricals of texts."""
        return pd.DataFrame({column.name: column.as_categorical() for column in self.columns})


def read_answers(data: bytes, name: str, missing: Iterable[str] = MISSING) -> AnswerFile:
    """Read a CSV or Parquet file with a row per respondent and a column per question.

    Nothing is guessed silently: `notes` says what separates cells, which encoding was read, and what was renamed.

    Parameters
    ----------
    data : bytes
        CSV in UTF-8, UTF-16 or Windows-1252 with commas, semicolons, tabs or vertical bars, also packed by gzip; or
        Parquet.
    name : str
        Of the file, for messages.
    missing : iterable of str
        Cells that are no answer; empty cells never are.
    """
    with enough_memory(name):
        return _read(data, name, tuple(dict.fromkeys(["", *missing])))


def _read(data: bytes, name: str, none: tuple[str, ...]) -> AnswerFile:
    whole = unpacked(data, name)
    if whole.startswith(_PARQUET):
        return _of_parquet(whole, name, none)
    if whole is data:
        refuse_too_large_text(pieces_of(data), name)
    text, notes = text_of(whole, name)
    _refuse_saved(text, name)
    stated = stated_separator(text)
    separator = stated or separator_of(text)
    read, lines, blank = _cells(text.partition("\n")[2] if stated else text, separator, name)
    if not lines.size:
        raise LdpstatsError(f"{name}, which holds names and no rows", "a row per respondent")
    _refuse_without_names(read, name)
    columns, renamed = _named(read, len(lines), name)
    if separator in _WORDS:
        notes.append(f"{name}: cells are separated by {_WORDS[separator]}.")
    if blank:
        notes.append(f"{name}: {blank} empty lines were left out.")
    return AnswerFile(name, columns, lines + bool(stated), "line", separator != ",", none, (*notes, *renamed))


def _cells(text: str, separator: str, name: str) -> tuple[list[TextColumn], NDArray[np.int64], int]:
    """Read columns below their names, the lines in which their rows end, and how many lines are empty.

    A row that is not like the others is refused by its line.
    """
    encoded = text.encode()  # a StringIO takes four bytes for every letter
    reader, blank = _reader(encoded, separator), 0
    names: list[str] = []
    columns: list[Texts] = []
    lines = [np.empty(0, dtype=np.int64)]
    try:
        # first the names alone; in chunks, since the garbage collector goes through all rows again and again
        while read := [(row, reader.line_num) for row in islice(reader, _CHUNK if names else 1)]:
            kept = [numbered for numbered in read if numbered[0]]
            blank += len(read) - len(kept)
            if blank > ROWS_OF_A_SHEET:
                came = f"{name} with more than {ROWS_OF_A_SHEET:,} empty lines"
                raise LdpstatsError(came, "up to as many", "Take them out of the file.")
            if kept and names:
                _refuse_ragged(kept, names, name)
                for column, cells in zip(columns, zip(*(row for row, _ in kept), strict=True), strict=True):
                    column.add(cells)
                lines.append(np.array([line for _, line in kept], dtype=np.int64))
            elif kept:
                names = [cell.strip() for cell in kept[0][0]]
                _refuse_other_names(names, name)
                columns = [Texts() for _ in names]
    except csv.Error as error:
        raise _unreadable(error, _reader(encoded, separator), name) from error
    _refuse_other_names(names, name)
    return [texts.column(own) for texts, own in zip(columns, names, strict=True)], np.concatenate(lines), blank


def _reader(encoded: bytes, separator: str) -> Reader:
    lines = io.TextIOWrapper(io.BytesIO(encoded), encoding="utf-8", newline="")
    return csv.reader(lines, delimiter=separator, strict=True)


def _refuse_other_names(names: Sequence[str], name: str) -> None:
    """Refuse a file whose first line has no names, too many, or those of reports."""
    if not any(names):
        what = "whose first line names nothing" if names else "which is empty"
        raise LdpstatsError(f"{name}, {what}", "a line of names, and a row per respondent", _NAMES_FIRST)
    refuse_too_many(1, len(names), name)
    if {*names} >= _REPORTS:
        raise _of_reports(name)


def _refuse_ragged(rows: Sequence[tuple[list[str], int]], names: Sequence[str], name: str) -> None:
    for row, line in rows:
        if len(row) != len(names):
            raise LdpstatsError(
                f"line {line} of {name} with the cells {one_line([cell[:_SHOWN] for cell in row], 4)}",
                f"{len(names)} cells in every line, as in the first one ({one_line(names, 4)})",
                "Take away lines above the names, add a name that lacks, and put cells that hold separators in quotes.",
            )


def _unreadable(error: csv.Error, again: Reader, name: str) -> LdpstatsError:
    """Error for a row that cannot be parsed, by the line where it begins: parsing may end far below it."""
    line = 0
    with suppress(csv.Error):
        for _ in again:
            line = again.line_num
    where = f"{name}, line {line + 1}"
    if "limit" in str(error):
        came = f"a cell of more than {csv.field_size_limit():,} letters in {where}"
        return LdpstatsError(came, "shorter answers", "Is a quote never closed?")
    came = "a quote that opens and is never closed" if "end of data" in str(error) else f"a row with {error}"
    return LdpstatsError(
        f"{came} in {where}", 'cells in quotes from beginning to end, as "a ""quoted"" word"', "Correct the line."
    )


def _named(read: Sequence[TextColumn], rows: int, file: str) -> tuple[tuple[TextColumn, ...], list[str]]:
    """Give columns different names; unnamed row numbers, empty columns and copies are left out, with a note."""
    notes: list[str] = []
    known: dict[str, TextColumn] = {}
    for number, given in enumerate(read, start=1):
        name = given.name
        column = given if name else TextColumn(f"column {number}", given.texts, given.codes)
        why = "" if name else _needs_no_name(column, rows)
        twin = known.get(column.name)
        if why:
            notes.append(f"{file}: column {number} has no name, {why}.")
            continue
        if twin is not None and column.texts == twin.texts and np.array_equal(column.codes, twin.codes):
            notes.append(f"{file}: column {number} is {column.name!r} again, with the same answers, and was left out.")
            continue
        if twin is not None:
            column = TextColumn(f"{column.name} (column {number})", column.texts, column.codes)
            notes.append(f"{file}: the name {name!r} stands there again; column {number} is called {column.name!r}.")
        elif not name:
            notes.append(f"{file}: column {number} has no name, and is called {column.name!r}.")
        if column.name in known:
            raise LdpstatsError(f"{file} with the columns {one_line([own.name for own in read])}", "different names")
        known[column.name] = column
    return tuple(known.values()), notes


def _needs_no_name(column: TextColumn, rows: int) -> str:
    """Why an unnamed column is left out: it is empty or numbers the rows; else an empty string."""
    if column.texts == ("",):
        return "is empty, and was left out"
    for first in (0, 1):
        if column.texts == tuple(map(str, range(first, first + rows))):
            return "numbers the rows, and was left out"
    return ""


def _refuse_without_names(columns: Collection[TextColumn], name: str) -> None:
    """Refuse a file without a header, whose first line is a row of answers."""
    numbers = [
        column.name
        for column in columns
        if numbers_in([column.name], commas=True) != [None] and {*numbers_in(column.texts, commas=True)} - {None}
    ]
    if numbers or all(column.name in column.texts for column in columns):
        raise LdpstatsError(
            f"{name}, whose first line {one_line([column.name for column in columns], 4)} looks like a row of answers",
            "the names of the questions in the first line",
            _NAMES_FIRST,
        )


def _refuse_saved(text: str, name: str) -> None:
    kind = kind_of(text)
    if text.startswith("# ldpstats reports"):
        raise _of_reports(name)
    if kind is not None:
        raise LdpstatsError(
            f"{name}, which is a saved {kind}", "answers, a row per respondent", "`ldpstats show` says what it holds."
        )
    if text.lstrip()[:1] in ("{", "[", "<"):
        raise LdpstatsError(f"{name}, which begins like JSON or XML: {shortened(text.lstrip()[:20])}", "CSV or Parquet")


def _of_reports(name: str) -> LdpstatsError:
    return LdpstatsError(
        f"{name}, which is a file of reports", "answers, a row per respondent", "`ldpstats tables` counts reports."
    )


def _of_parquet(data: bytes, name: str, missing: tuple[str, ...]) -> AnswerFile:
    if find_spec("pyarrow") is None:
        raise LdpstatsError(
            f"{name}, which is Parquet", "CSV, or Parquet with pyarrow", "pip install 'ldpstats[scale]'"
        )
    import pyarrow as pa

    try:
        file = opened_parquet(data)
        names, rows = file.schema_arrow.names, file.metadata.num_rows
        if _OURS in (file.metadata.metadata or {}):
            raise _of_reports(name)
        if not names or not rows:
            raise LdpstatsError(f"{name}, which holds {len(names)} columns and {rows} rows", "at least one")
        if len({*names}) < len(names):
            raise LdpstatsError(f"{name} with the columns {one_line(names)}", "different names")
        columns = parquet_columns(file, data, name)
    except (LdpstatsError, MemoryError):
        raise
    except (pa.ArrowException, OSError, *UNREADABLE) as error:
        raise LdpstatsError(
            f"{name}, Parquet that cannot be read ({shortened(str(error), 200)})",
            "a file of plain columns",
            "Write it again by pandas' to_parquet, or as CSV.",
        ) from error
    return AnswerFile(name, tuple(columns), np.arange(1, rows + 1), "row", commas=False, missing=missing, notes=())
