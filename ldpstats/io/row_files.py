"""Rows in data frames, and in CSV files as data frames are written: reports that name collection and respondent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from ldpstats.errors import ReportError, shortened
from ldpstats.io.columns import Chunk, Source
from ldpstats.io.headers import ReportFile
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Layout
from ldpstats.protocols.row_frames import rows_of_frame
from ldpstats.saving.files import UNREADABLE

COLUMNS = frozenset(["collection", "group", "number", "protocol", "report", "simulated"])
_ROWS = 1 << 16
"""How many rows are read at once."""
_LETTERS = 1 << 26
"""And of how many letters at most."""
_FIRST_LINE = 2
_TEXTS = dict.fromkeys(["collection", "group", "protocol", "report", "simulated"], str)


class FrameSource(Source):
    """Rows in data frames, as `protocol.reports` returns them; the frames are read once, one after the other."""

    form = "data frames"

    def __init__(self, frames: Iterable[pd.DataFrame], name: str = "data frame") -> None:
        self.name, self._given = name, frames

    @property
    def about(self) -> list[Any]:
        """Empty: data frames cannot be read again."""
        return []

    def line(self, position: int) -> str:
        """Name a row in errors: by its place among all rows."""
        return f"row {position}"

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows."""
        return partial(self._chunks, Layout(protocol.sent_rows, protocol.adaptive), protocol.fingerprint())

    def described(self) -> ReportFile:
        """Count the rows by group."""
        groups, protocols, simulated = Counter[str](), Counter[str](), 0
        for frame in self._frames():
            groups.update(frame["group"].astype(str).tolist())
            protocols.update(frame["protocol"].astype(str).tolist())
            simulated += int((frame["simulated"].astype(str) == "True").sum())
        labels, name = tuple(sorted(groups)), " and ".join(sorted(protocols))
        counts = (*(groups[label] for label in labels), 0)
        return ReportFile(self.name, self.form, name, labels, (), counts, simulated, tokens=False)

    def _frames(self) -> Iterator[pd.DataFrame]:
        return iter(self._given)

    def _chunks(self, layout: Layout, fingerprint: str, end: int = 0) -> Iterator[Chunk]:
        first = 0
        for frame in self._frames():
            for part, rows, places, bad in rows_of_frame(frame, fingerprint, layout):
                stop = first + len(part)

                def content(position: int, part: pd.DataFrame = part) -> str:
                    return ",".join(map(str, part.iloc[position].tolist()))

                if stop > end:
                    yield Chunk(first, len(part), stop, rows, places if bad else None, bad, content)
                first = stop


class RowsSource(FrameSource):
    """Rows in a CSV file as `protocol.reports(...).to_csv` writes it; nothing in it shows whether it is whole."""

    form = "rows as CSV"

    def __init__(self, path: str, name: str) -> None:
        super().__init__([], name)
        self._path = path
        with Path(path).open("rb") as file:
            self._digest = hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def about(self) -> list[Any]:
        """SHA-256 digest of all of it."""
        return ["rows", self._digest]

    def line(self, position: int) -> str:
        """Name a row in errors: by its line in the file."""
        return f"line {position + _FIRST_LINE:,}"

    def _chunks(self, layout: Layout, fingerprint: str, end: int = 0) -> Iterator[Chunk]:
        try:
            yield from super()._chunks(layout, fingerprint, end)
        except ReportError as error:
            known = repr(self.name) in error.came
            came = error.came if known else f"the file {self.name!r}: {error.came}"
            raise type(error)(came, error.allowed, error.advice) from error

    def _frames(self) -> Iterator[pd.DataFrame]:
        with Path(self._path).open("rb") as raw:
            line = max(map(len, (raw.readline(_LETTERS), raw.readline(_LETTERS))))
        with Path(self._path).open(encoding="utf-8-sig", newline="") as file:
            some = _Some(file)
            try:
                # everything as it stands there: numbers are read by whoever knows what they should be
                rows = max(1, min(_ROWS, _LETTERS // 4 // (line + 1)))
                given: Any = some
                reader = pd.read_csv(given, dtype=_TEXTS, chunksize=rows, keep_default_na=False, na_filter=False)
                with reader:
                    for frame in reader:
                        some.left = _LETTERS
                        yield frame
            except UNREADABLE as error:
                came = str(error).strip() if some.left >= 0 else "a row does not end"
                raise ReportError(
                    f"the file {self.name!r}, which cannot be read as rows ({shortened(came, 200)})",
                    "rows as they were sent, as CSV",
                    "It may be cut short or edited.",
                ) from error


class _Some:
    """A text file that refuses to read on when the next rows take more than `_LETTERS` characters."""

    def __init__(self, file: TextIO) -> None:
        self._file, self.left = file, _LETTERS

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def read(self, most: int = -1) -> str:
        """Return the next characters."""
        text = self._file.read(most)
        self.left -= len(text)
        if self.left < 0:
            raise ValueError("too long")
        return text
