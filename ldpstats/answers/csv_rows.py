"""CSV rows: cells a chunk at a time; a row that is not like the others is refused by its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.limits import ROWS_OF_A_SHEET

if TYPE_CHECKING:
    from _csv import Reader

_SHOWN = 20
_CHUNK = 1 << 12
"""Rows at once; the garbage collector goes through all of them again and again."""
Chunk = tuple[list[list[str]], list[int]]
"""Rows of cells, and the lines in which they end."""


class CsvRows:
    """Reader of a CSV text, a chunk of rows at a time; the first row has the names."""

    def __init__(self, text: str, separator: str, name: str) -> None:
        # a StringIO takes four bytes for every letter
        self._encoded, self._separator, self._name, self.blank_lines = text.encode(), separator, name, 0
        self._reader = self._opened()
        first = self._take(1)
        self.names = [cell.strip() for cell in first[0][0]] if first[0] else []

    def chunks(self) -> Iterator[Chunk]:
        """Yield all further rows; empty lines are skipped, and rows of another width refused."""
        while True:
            rows, lines = self._take(_CHUNK)
            if not rows:
                return
            if set(map(len, rows)) != {len(self.names)}:
                self._refuse_ragged(rows, lines)
            yield rows, lines

    def _opened(self) -> Reader:
        lines = io.TextIOWrapper(io.BytesIO(self._encoded), encoding="utf-8", newline="")
        return csv.reader(lines, delimiter=self._separator, strict=True)

    def _take(self, most: int) -> Chunk:
        """Read at most so many rows, none only at the end of the file; empty lines are counted and skipped."""
        reader = self._reader
        while True:
            try:
                read = [(row, reader.line_num) for row in islice(reader, most)]
            except csv.Error as error:
                raise self._unreadable(error) from error
            kept = [one for one in read if one[0]]
            self.blank_lines += len(read) - len(kept)
            if self.blank_lines > ROWS_OF_A_SHEET:
                came = f"{self._name} with more than {ROWS_OF_A_SHEET:,} empty lines"
                raise LdpstatsError(came, "up to as many", "Take them out of the file.")
            if kept or not read:
                return [row for row, _ in kept], [line for _, line in kept]

    def _unreadable(self, error: csv.Error) -> LdpstatsError:
        """Error for a row that cannot be parsed, by the line where it begins: parsing may end far below it."""
        again, line = self._opened(), 0
        with suppress(csv.Error):
            for _ in again:
                line = again.line_num
        where = f"{self._name}, line {line + 1}"
        if "limit" in str(error):
            came = f"a cell of more than {csv.field_size_limit():,} letters in {where}"
            return LdpstatsError(came, "shorter answers", "Is a quote never closed?")
        came = "a quote that opens and is never closed" if "end of data" in str(error) else f"a row with {error}"
        return LdpstatsError(
            f"{came} in {where}", 'cells in quotes from beginning to end, as "a ""quoted"" word"', "Correct the line."
        )

    def _refuse_ragged(self, rows: list[list[str]], lines: list[int]) -> None:
        wrong = [(row, line) for row, line in zip(rows, lines, strict=True) if len(row) != len(self.names)]
        row, line = wrong[0]
        raise LdpstatsError(
            f"line {line} of {self._name} with the cells {one_line([cell[:_SHOWN] for cell in row], 4)}",
            f"{len(self.names)} cells in every line, as in the first one ({one_line(self.names, 4)})",
            "Take away lines above the names, add a name that lacks, and put cells that hold separators in quotes.",
        )
