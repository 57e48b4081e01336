"""Quarantine: rows that cannot be counted, written to a file of their own with the reason."""

from __future__ import annotations

import csv
import io
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.io.columns import no_formula

HEADER = b"file,row,reason,content\n"
_ENOUGH = 10_000
"""So many rows of a file show whether most of them are bad."""


class SetAside:
    """Rows that a worker set aside, for whoever writes them to the file."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str]] = []

    def add(self, file: str, row: str, reason: str, content: str) -> None:
        """Set a row aside; arguments as in `Quarantine.add`."""
        self.rows.append((file, row, reason, content))


class Quarantine:
    """A CSV file of the rows that were set aside, readable by its owner only.

    An earlier quarantine is replaced; with `size` its first so many bytes are kept, and writing goes on behind them.
    With `kept` the file stays after an error, since an interrupted count resumes with it.
    """

    def __init__(self, path: str | Path, size: int | None = None, *, kept: bool = False) -> None:
        self._path, self._kept = str(path), kept
        try:
            target = Path(path)
            if target.exists() and not target.is_file():
                raise OSError("it is no ordinary file")
            if size is not None and not target.exists():
                raise self._other(size)
            new = 0 if target.exists() else os.O_CREAT | os.O_EXCL
            number = os.open(target, os.O_RDWR | getattr(os, "O_BINARY", 0) | new, 0o600)
            self._file: BinaryIO = os.fdopen(number, "r+b")
        except LdpstatsError:
            raise
        except (OSError, TypeError, ValueError) as error:
            raise self._unwritable(error) from error
        try:
            self._begin(size)
            # what rows are set aside from may be private, too
            with suppress(OSError):
                target.chmod(0o600)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # what cannot be written any more was an error before
        with suppress(OSError):
            self._file.close()

    def add(self, file: str, row: str, reason: str, content: str) -> None:
        """Set a row aside: the file and row where it stands, why it cannot be counted, and what stands there."""
        line = io.StringIO()
        # a line that ends with both has both in quotes where they stand in a cell
        csv.writer(line, lineterminator="\r\n").writerow(map(no_formula, (file, row, reason, content)))
        try:
            self._file.write(line.getvalue().removesuffix("\r\n").encode(errors="replace") + b"\n")
        except OSError as error:
            self._discard()
            raise self._unwritable(error) from error

    def settled(self) -> int:
        """Wait until all of it is on the disk (fsync); return its size in bytes."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()
        except OSError as error:
            self._discard()
            raise self._unwritable(error) from error

    def _discard(self) -> None:
        """Remove the unfinished file, unless a count resumes with it (by size, so that a torn end does no harm)."""
        if not self._kept:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                Path(self._path).unlink()

    def _begin(self, size: int | None) -> None:
        """Truncate to `size` bytes, or begin anew; refuse files that hold anything else."""
        start = self._file.read(len(HEADER))
        whole = self._file.seek(0, os.SEEK_END)
        fits = size is None or (len(HEADER) <= size <= whole and start == HEADER)
        if start != HEADER[: len(start)] or not fits:
            raise self._other(size)
        try:
            self._file.truncate(size or 0)
            self._file.seek(size or 0)
            if size is None:
                self._file.write(HEADER)
        except OSError as error:
            raise self._unwritable(error) from error

    def _other(self, size: int | None) -> LdpstatsError:
        """Return the error about a file that is not the quarantine it should be."""
        if size is not None:
            return LdpstatsError(
                f"the file {self._path!r}, without the rows that were set aside before the interruption",
                "that file, as it was left",
                "Put it back; or remove the checkpoint, and count anew.",
            )
        return LdpstatsError(
            f"the file {self._path!r}, which holds something else",
            "a new name, or a file that rows were set aside to",
            "Nothing in it was changed.",
        )

    def _unwritable(self, error: BaseException) -> LdpstatsError:
        return LdpstatsError(
            f"the file {self._path!r} for rows that are set aside ({getattr(error, 'strerror', None) or error})",
            "a name in a directory that may be written to, with room for these rows",
        )


def refuse_mostly_bad(name: str, bad: int, rows: int, *, over: bool) -> None:
    """Refuse a file more than half of whose rows cannot be counted; `over` says that all of it was read."""
    if 2 * bad > rows and (over or rows >= _ENOUGH):
        raise ReportError(
            f"the file {name!r}, of which {bad:,} of {rows:,} rows cannot be counted",
            "a file of which some rows are bad, not most",
            "It seems to be a file of something else.",
        )
