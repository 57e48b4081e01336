"""Rows in data frames, and in CSV files as data frames are written: reports that name collection and respondent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import ReportError, shortened
from ldpstats.io.chunks import Chunk
from ldpstats.io.described_files import ReportFile
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRow, SentRows
from ldpstats.protocols.framed import refuse_foreign_rows, sent_of_frame
from ldpstats.protocols.wire import Reason
from ldpstats.saving.files import UNREADABLE

COLUMNS = frozenset(["collection", "group", "number", "protocol", "report", "simulated"])
_ROWS = 1 << 16
"""How many rows are read at once."""
_LETTERS = 1 << 26
"""And of how many letters at most."""
_FIRST_LINE = 2
_TEXTS = dict.fromkeys(["collection", "group", "protocol", "report"], str)
_TEXTS["simulated"] = str


class FrameSource:
    """Rows in data frames, as `protocol.reports` returns them; the frames are read once, one after the other."""

    identity: str | None = None
    size: int | None = None
    tokens = False

    def __init__(self, frames: Iterable[pd.DataFrame]) -> None:
        self.name, self._frames = "data frame", frames

    @property
    def about(self) -> list[Any]:
        """Empty: data frames cannot be read again."""
        return []

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows."""
        return lambda _: _chunks_of_frames(self._frames, protocol)

    def described(self) -> ReportFile:
        """Count the rows by group."""
        return _described(self.name, "data frames", self._frames)

    def line(self, place: int) -> str:
        """Name a row in errors: by its place among all rows."""
        return f"row {place}"


class RowsSource:
    """Rows in a CSV file as `protocol.reports(...).to_csv` writes it; nothing in it shows whether it is whole."""

    identity: str | None = None
    size: int | None = None
    tokens = False

    def __init__(self, path: str, name: str) -> None:
        self._path, self.name = path, name
        with Path(path).open("rb") as file:
            self._digest = hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def about(self) -> list[Any]:
        """SHA-256 digest of all of it."""
        return ["rows", self._digest]

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return a reader of a protocol's rows."""
        return partial(self._chunks, protocol)

    def described(self) -> ReportFile:
        """Count the rows by group; reads the whole file."""
        return _described(self.name, "rows as CSV", self._frames())

    def line(self, place: int) -> str:
        """Name a row in errors: by its line in the file."""
        return f"line {place + _FIRST_LINE:,}"

    def _chunks(self, protocol: LocalProtocol, end: int = 0) -> Iterator[Chunk]:
        try:
            yield from (chunk for chunk in _chunks_of_frames(self._frames(), protocol) if chunk.end > end)
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
        found = self._file.read(most)
        self.left -= len(found)
        if self.left < 0:
            raise ValueError("too long")
        return found


def _chunks_of_frames(frames: Iterable[pd.DataFrame], protocol: LocalProtocol) -> Iterator[Chunk]:
    kinds, fingerprint, first = protocol.sent_rows, protocol.fingerprint(), 0
    labels = [one.label for one in kinds]
    for frame in frames:
        refuse_foreign_rows(frame, fingerprint, labels)
        yield _chunk(frame, kinds, first)
        first += len(frame)


def _described(name: str, form: str, frames: Iterable[pd.DataFrame]) -> ReportFile:
    groups: Counter[str] = Counter()
    protocols: Counter[str] = Counter()
    simulated = 0
    for frame in frames:
        groups.update(frame["group"].astype(str).tolist())
        protocols.update(frame["protocol"].astype(str).tolist())
        simulated += int((frame["simulated"].astype(str) == "True").sum())
    labels = tuple(sorted(groups))
    counts = tuple(groups[label] for label in labels)
    return ReportFile(name, form, " and ".join(sorted(protocols)), labels, (), (*counts, 0), simulated, tokens=False)


def _chunk(frame: pd.DataFrame, kinds: tuple[SentRow, ...], first: int) -> Chunk:
    sent: list[tuple[NDArray[np.int64] | None, SentRows]] = []
    bad: dict[int, Reason] = {}
    for places, rows, reasons in sent_of_frame(frame, kinds):
        bad |= {int(places[place]): reason for place, reason in reasons.items()}
        fine = np.delete(np.arange(len(rows)), list(reasons))
        sent.append((places[fine], rows.taken(fine)))

    def content(place: int) -> str:
        return ",".join(map(str, frame.iloc[place].tolist()))

    return Chunk(first, len(frame), sent, bad, content, None, first + len(frame))
