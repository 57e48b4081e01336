"""CSV rows: cells a chunk at a time; a row that is not like the others is refused by its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from ldpstats.errors import LdpstatsError, one_line

_CHUNK, _SHOWN = 1 << 16, 20
Chunk = tuple[list[list[str]], list[int]]
"""Rows of cells, and the lines in which they end."""


class CsvRows:
    """The rows of a CSV file, of which the first one has names.

    Parameters
    ----------
    text : str
        The whole file.
    separator : str
    name : str
        Of the file, for errors.
    """

    def __init__(self, text: str, separator: str, name: str) -> None:
        self._reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        self._name, self.blank_lines = name, 0
        first = self._take(1)
        self.names = [cell.strip() for cell in first[0][0]] if first[0] else []

    def chunks(self) -> Iterator[Chunk]:
        """Return all further rows, none of them empty or of another width."""
        while True:
            rows, lines = self._take(_CHUNK)
            if not rows:
                return
            if set(map(len, rows)) != {len(self.names)}:
                self._refuse_ragged(rows, lines)
            yield rows, lines

    def _take(self, most: int) -> Chunk:
        """Return so many further rows, fewer only at the end; empty lines are counted, and are none."""
        rows: list[list[str]] = []
        lines: list[int] = []
        before = self._reader.line_num
        try:
            while len(rows) < most:
                row = next(self._reader, None)
                before = self._reader.line_num
                if row:
                    rows.append(row)
                    lines.append(before)
                elif row is None:
                    break
                else:
                    self.blank_lines += 1
        except csv.Error as error:
            raise self._unreadable(before + 1, error) from error
        return rows, lines

    def _unreadable(self, line: int, error: csv.Error) -> LdpstatsError:
        if "limit" in str(error):
            came = f"a cell of more than {csv.field_size_limit():,} letters"
            return LdpstatsError(f"{came} in {self._name}, line {line}", "shorter answers", "Is a quote never closed?")
        came = "a quote that opens and is never closed" if "end of data" in str(error) else f"a line with {error}"
        return LdpstatsError(
            f"{came} in {self._name}, line {line}",
            'cells in quotes from their beginning to their end, as "a ""quoted"" word"',
            "Correct the line.",
        )

    def _refuse_ragged(self, rows: list[list[str]], lines: list[int]) -> None:
        wrong = [(row, line) for row, line in zip(rows, lines, strict=True) if len(row) != len(self.names)]
        row, line = wrong[0]
        raise LdpstatsError(
            f"line {line} of {self._name} with the cells {one_line([cell[:_SHOWN] for cell in row], 4)}",
            f"{len(self.names)} cells in every line, as in the first one ({one_line(self.names, 4)})",
            "Put cells that hold separators in quotes; where the first line lacks a name, add one.",
        )
