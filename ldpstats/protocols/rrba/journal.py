"""The journal: a file of JSON lines that are written before anything is acknowledged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ldpstats.errors import LdpstatsError


class NoRoomError(LdpstatsError):
    """A line that could not be written; the journal is as it was before."""


class Journal:
    """Lines that are only ever added; every line is in the file when `write` returns.

    A line that a killed process left unfinished was never acknowledged, and is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise LdpstatsError(
                f"the journal {str(path)!r} ({error.strerror})", "a file that can be written"
            ) from error
        _lock(self._file, path)

    def lines(self) -> list[Any]:
        """Return what was written, and cut an unfinished last line off."""
        whole, newline, _unfinished = self._path.read_bytes().rpartition(b"\n")
        os.ftruncate(self._file, len(whole) + len(newline))
        try:
            return [json.loads(line) for line in (whole + newline).splitlines()]
        except ValueError as error:
            raise LdpstatsError(
                f"the journal {self._path.name!r}, which is damaged ({error})", "a journal as it was written"
            ) from error

    def write(self, line: Any) -> None:
        """Add a line; where there is no room for the whole of it, none of it stays."""
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if self._file < 0:
            raise LdpstatsError(f"a line for the journal {self._path.name!r}, which is closed", "an open journal")
        before = os.fstat(self._file).st_size
        try:
            whole = os.write(self._file, data) == len(data)
        except OSError:
            whole = False
        if not whole:
            os.ftruncate(self._file, before)
            raise NoRoomError(
                f"no room for a line in the journal {self._path.name!r}", "room on its disk", "Nothing was counted."
            )

    def close(self) -> None:
        """Close the file, and let others have it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _lock(file: int, path: Path) -> None:
    """Keep a second aggregator from the same journal, where the system can (it ends with the process)."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise LdpstatsError(
            f"the journal {path.name!r}, which another aggregator has open", "a journal of its own for every aggregator"
        ) from error
