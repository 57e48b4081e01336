"""The journal: a file of chained JSON lines that are written before anything is acknowledged."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving.files import UNREADABLE, read_json, shortened_reason

_FORMAT, _VERSION = "ldpstats rrba journal", 1
_NOTE = "every line ends with a digest of all lines so far: against accidents, not attackers"
_SIGNATURE = f'["{_FORMAT}",'.encode()
_LINE = b'["'
_DIGEST_BYTES = 16
_TAIL = len(',""]\n') + 2 * _DIGEST_BYTES
_FLAGS = ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")
_ANOTHER_FILE = "Nothing in it was changed. Give the journal another name; a saved state is read by from_json."


class NoRoomError(LdpstatsError):
    """Error of a line that could not be written; the journal is as it was before."""


class Journal:
    """Append-only file of lines, each of which is in the file when `write` returns.

    Each line ends with a digest of itself and all before it, and the first says what the file is about. So a foreign
    file is refused before anything is written to it, and a line that was changed, dropped or doubled is noticed. What a
    killed process left unfinished was never acknowledged: `resume` cuts it off, once all before it is known to be ours.
    """

    def __init__(self, path: str | Path, about: object) -> None:
        self._path, self._process = _checked_path(path), os.getpid()
        self._last = b""
        self._digest = ""
        self._head = _line("", [_FORMAT, _VERSION, _NOTE, about])
        self._file = _opened(self._path)
        try:
            _lock(self._file, self._path)
            self._size = self._begin()
        except BaseException:
            self.close()
            raise
        _OPEN.add(self)

    def replay(self, redo: Callable[..., None]) -> int:
        """Call `redo` with the number and the words of every line after the first; return how many there are."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(self._size)
            number = 0
            for line in file:
                # a whole line that has lost its end was perhaps acknowledged; anything less was not
                ended = line if line.endswith(b"\n") else line + b"\n"
                if ended != line and not self._follows(ended):
                    break
                try:
                    redo(number, *self._read(ended))
                except UNREADABLE as error:
                    raise LdpstatsError(
                        f"line {number + 2} of the journal {self._path.name!r} ({shortened_reason(error)})",
                        "a journal as it was written",
                        "Nothing in it was changed, and the lines before are as they were: use a copy that is whole.",
                    ) from error
                number += 1
        return number

    def resume(self) -> None:
        """Cut off an unfinished last line, to write after all that was replayed."""
        size = os.fstat(self._file).st_size
        if size > self._size:
            # what does not begin as a line of ours does, or as a machine that failed leaves it, is not cut off
            with open(self._file, "rb", closefd=False) as file:
                file.seek(self._size)
                start = file.read(len(_LINE))
            if start != _LINE[: len(start)] and start.strip(b"\0"):
                raise LdpstatsError(
                    f"the journal {self._path.name!r}, at whose end stands {shortened(start)} and more",
                    "a journal as it was written, perhaps with an unfinished line at its end",
                    f"Nothing in it was changed. Move what stands behind its first {self._size} bytes to another file.",
                )
            os.ftruncate(self._file, self._size)
        elif size < self._size:
            self._size = size
            self._append(b"\n")

    def write(self, entry: list[Any]) -> None:
        """Add a line, the whole of it or none."""
        if self._file < 0 or os.getpid() != self._process:
            raise LdpstatsError(
                f"a line for the journal {self._path.name!r}, which is closed", "an open journal of this process"
            )
        line, digest = _line(self._digest, entry)
        self._append(line)
        self._digest = digest

    @property
    def end(self) -> tuple[int, str]:
        """Size and digest so far, for `back_to`."""
        return self._size, self._digest

    def back_to(self, end: tuple[int, str]) -> None:
        """Cut off lines that were written since then and never acknowledged, but nothing that somebody else wrote."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(self._size)
            rest = file.read(len(self._last) + 1)
        if os.fstat(self._file).st_size >= self._size and self._last.startswith(rest):
            os.ftruncate(self._file, end[0])
            self._size, self._digest = end

    def close(self) -> None:
        """Close the file, which also unlocks it."""
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def _begin(self) -> int:
        """Return the size of the first line, written if missing; refuse files of another kind, version or protocol."""
        with open(self._file, "rb", closefd=False) as file:
            begun = file.read(len(self._head[0]))
        ours = begun.startswith(_SIGNATURE)
        if begun and not (ours and self._head[0].startswith(begun)):
            if not ours:
                came = f"the file {str(self._path)!r}, which is no journal: it begins with {shortened(begun, 40)}"
            elif not begun.startswith(_SIGNATURE + f"{_VERSION},".encode()):
                came = f"the journal {str(self._path)!r} of another version"
            else:
                came = f"the journal {str(self._path)!r} of another protocol, or with a damaged first line"
            raise LdpstatsError(came, "a new file, or the journal of this very protocol", _ANOTHER_FILE)
        head, self._digest = self._head
        self._size = len(begun)
        # what was killed in its first line goes on there; nobody was asked anything before that was whole
        if begun != head:
            self._append(head[len(begun) :])
        return len(head)

    def _read(self, line: bytes) -> list[Any]:
        if not self._follows(line):
            raise ValueError("its digest is that of other lines: something was changed, left out or put in")
        body = line[:-_TAIL]
        entry = read_json((body + b"]").decode())
        if not isinstance(entry, list):
            raise TypeError(f"{shortened(entry)} is no line of a journal")
        self._digest = _tail(self._digest, body)[1]
        self._size += len(line)
        return entry

    def _follows(self, line: bytes) -> bool:
        """Say whether a line ends with its own digest, chained to the line before."""
        return line[-_TAIL:] == _tail(self._digest, line[:-_TAIL])[0]

    def _append(self, data: bytes) -> None:
        status = os.fstat(self._file)
        if status.st_size != self._size or status.st_nlink == 0:
            raise LdpstatsError(
                f"the journal {self._path.name!r}, which something else has removed, shortened or written to",
                "a file that belongs to this aggregator alone",
                "Nothing was counted; what was acknowledged stands in what is left of the file.",
            )
        self._last = data
        try:
            whole = os.write(self._file, data) == len(data)
        except OSError:
            whole = False
        if not whole:
            with suppress(OSError):  # then its size is not as it was, and nothing more is written
                os.ftruncate(self._file, self._size)
            raise NoRoomError(
                f"no room for a line in the journal {self._path.name!r}", "room on its disk", "Nothing was counted."
            )
        self._size += len(data)


_OPEN: WeakSet[Journal] = WeakSet()


def _let_go() -> None:
    """Close journals that a forked process inherited: a lock lasts as long as any process has the file open."""
    for journal in list(_OPEN):
        journal.close()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is inherited
    os.register_at_fork(after_in_child=_let_go)


def _line(previous: str, entry: list[Any]) -> tuple[bytes, str]:
    body = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()[:-1]
    tail, digest = _tail(previous, body)
    return body + tail, digest


def _tail(previous: str, body: bytes) -> tuple[bytes, str]:
    digest = hashlib.blake2b(previous.encode() + body, digest_size=_DIGEST_BYTES).hexdigest()
    return f',"{digest}"]\n'.encode(), digest


def _checked_path(path: str | Path) -> Path:
    """Refuse a link or a device in the journal's place, without opening it."""
    try:
        checked = Path(path)
        plain = not checked.is_symlink() and (checked.is_file() or not checked.exists())
    except (TypeError, ValueError, OSError) as error:
        raise LdpstatsError(f"the journal {shortened(path)} ({error})", "the name of a file") from error
    if not plain:
        raise LdpstatsError(f"the journal {str(path)!r}, which is no plain file", "a file of its own, or a new name")
    return checked


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    for name in _FLAGS:
        flags |= getattr(os, name, 0)
    try:
        file = os.open(path, flags, 0o600)
    except (OSError, ValueError) as error:
        raise LdpstatsError(f"the journal {str(path)!r} ({error})", "a file that can be written") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):  # put there since it was looked at
        os.close(file)
        raise LdpstatsError(f"the journal {str(path)!r}, which is no plain file", "a file of its own, or a new name")
    return file


def _lock(file: int, path: Path) -> None:
    """Lock the file against a second aggregator, where the system can; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # on Windows; there a journal that another one writes to is noticed by its size
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LdpstatsError(
            f"the journal {path.name!r}, which another aggregator has open", "a journal of its own for every aggregator"
        ) from error
    except OSError as error:
        raise LdpstatsError(
            f"the journal {str(path)!r} ({error.strerror})", "a file system on which files can be locked"
        ) from error
