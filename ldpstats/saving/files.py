"""Saving: every public object as JSON, and as a file that is written as a whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving.codec import decoded_as, encoded
from ldpstats.saving.envelope import kind_of, opened, sealed
from ldpstats.saving.registered import class_named, is_named

Read = TypeVar("Read")
_VERSION = 1
_HEAD = 4096
_PAGE = re.compile(
    r'<!DOCTYPE html>\s*<html lang="en">\s*<head>\s*<meta charset="utf-8">\s*'
    r'<meta name="generator" content="ldpstats ([a-z ]+)">'
)
_NOTED = re.compile(r"// ldpstats ([A-Za-z ]+)\n")
SECRET = frozenset(["memo", "client", "RRBA aggregator", "unfinished count"])
"""Kinds that hold private answers or keys, or are made of files that may: only their owner may read them."""
_BESIDE = re.compile(r"\.ldpstats-[0-9a-f]{32}\.tmp")
_ABANDONED = 60.0
"""Seconds after which a file that nobody has locked is one that a killed process left behind."""


class Saveable(Protocol):
    """What can be written down and read again as the same.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> text = ldp.GRR(4, epsilon=1.0).to_json()
    >>> ldp.GRR.from_json(text)
    GRR(k=4, epsilon=1.0)
    """

    __slots__ = ()

    def to_json(self) -> str:
        """Return the object as JSON; `from_json` and `ldpstats.load` restore it."""
        return sealed(type(self).__name__, _VERSION, encoded(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read an object that `to_json` wrote; an object of another class is refused.

        Parameters
        ----------
        text : str
            What `to_json` returned, or what is in a file that `save` wrote.
        """
        kind = kind_of(text)
        if kind is not None and is_named(kind) and not issubclass(class_named(kind), cls):
            raise LdpstatsError(
                f"a saved {kind}", f"a saved {cls.__name__}", "ldpstats.load reads objects of every class."
            )
        read: Self = read_object(text, kind if kind is not None and is_named(kind) else cls.__name__)
        return read

    def save(self, path: str | Path) -> None:
        """Write the object to a file, as a whole or not at all.

        Parameters
        ----------
        path : str or Path
            A file that exists is replaced if it holds an object of the same kind; any other is left as it is, and
            refused.

        Examples
        --------
        >>> import tempfile
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tables.save(f"{folder}/tables.json")
        ...     ldp.load(f"{folder}/tables.json").n
        2000
        """
        write(path, self.to_json())


def read_object(text: str, name: str) -> Any:
    """Read an object of a registered class, given by its name, that `to_json` wrote."""
    return opened(text, name, _VERSION, partial(decoded_as, class_named(name)))


def read_file(path: Any, read: Callable[[str], Read], allowed: str, most: int) -> Read:
    """Return what `read` makes of the text in a file of at most so many bytes; errors name the file."""
    text = _text(path, allowed, most)
    try:
        return read(text)
    except LdpstatsError as error:
        raise type(error)(f"the file {str(path)!r}: {error.came}", error.allowed, error.advice) from error


def _text(path: Any, allowed: str, most: int) -> str:
    """Return what is in a file, which must be an ordinary one of at most so many bytes."""
    if not isinstance(path, (str, Path)):
        raise LdpstatsError(f"the path {shortened(path)}", "the name of a file, as a text or a pathlib.Path")
    came = ""
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            came = "which is a directory" if stat.S_ISDIR(found.st_mode) else "which is no ordinary file"
        elif found.st_size > most:
            came = f"of {found.st_size:,} bytes"
        else:
            return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        came = "which is no text in UTF-8"
    except FileNotFoundError:
        came = "which does not exist"
    except (OSError, ValueError) as error:
        came = f"which cannot be read ({error})"
    raise LdpstatsError(f"the file {shortened(str(path), 200)}, {came}", f"{allowed}, of up to {most:,} bytes")


def write(path: str | Path, text: str) -> None:
    """Write text of ours to a file, beside it first: an interruption leaves an older one whole."""

    def permissions(target: Path) -> int | None:
        found = _refuse_others(target, _written_kind(text), text)
        return 0o600 if kind_of(text) in SECRET else found

    with replacing(path, permissions) as file:
        file.write(text.encode())


def refuse_unwritable(path: str | Path, kind: str | None) -> None:
    """Refuse a name that could not be written to, before the work of making the content is done.

    Files of the same `kind` may be replaced; with None, no file may.
    """
    try:
        target = _target(path)
        _refuse_others(target, kind, "")
        if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            raise PermissionError(f"nothing can be written to {str(target.parent)!r}")
    except OSError as error:
        raise _unwritten(path, error) from error


@contextmanager
def replacing(path: str | Path, refuse: Callable[[Path], int | None]) -> Iterator[BinaryIO]:
    """Write a new file beside another, whose place it takes once all of it is on the disk; else nothing is left of it.

    `refuse` refuses a file that must not be replaced, and returns the permissions of the new one; None for the usual
    ones.
    """
    try:
        target = _target(path)
        mode = refuse(target)
        _remove_abandoned(target.parent)
        # a name of its own: with the target's in it, it could be longer than names may be
        beside = target.with_name(f".ldpstats-{secrets.token_hex(16)}.tmp")
        try:
            # nobody else opens it before it has its permissions
            number, named = _new_file(beside, 0o666 if mode is None else 0o600)
            with os.fdopen(number, "wb") as file:
                _lock(number)
                if mode is not None:
                    os.fchmod(number, mode) if hasattr(os, "fchmod") else beside.chmod(mode)
                yield file
                file.flush()
                os.fsync(number)
                if not named:
                    # a directory makes it linkat, which follows that link to the file itself
                    os.link(f"/proc/self/fd/{number}", beside, src_dir_fd=number, follow_symlinks=True)
                # while it is locked, so that it is not taken for an abandoned one; Windows replaces no open file
                if os.name != "nt":
                    beside.replace(target)
            if os.name == "nt":
                beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
        _settle(target.parent)
    except (OSError, UnicodeEncodeError) as error:
        raise _unwritten(path, error) from error


def _new_file(path: Path, mode: int) -> tuple[int, bool]:
    """Open a new file; say whether it has this name yet: without one, nothing stays if its writer is killed."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # a file system that has no files without a name
            return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode), False
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), True


def _lock(number: int) -> None:
    """Show by a lock that a file is being written, where the system can; it ends with the process."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes of the same user have left of files that they were about to replace."""
    try:
        import fcntl
    except ImportError:  # on Windows it cannot be told from what is being written
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for one in entries:
            if not _BESIDE.fullmatch(one.name):
                continue
            with suppress(OSError):
                found = one.stat(follow_symlinks=False)
                old = stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > _ABANDONED
                if old and found.st_uid == os.getuid():
                    with Path(one.path).open("rb") as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        Path(one.path).unlink()


def _unwritten(path: object, error: Exception) -> LdpstatsError:
    return LdpstatsError(
        f"the file {str(path)!r}, which could not be written ({getattr(error, 'strerror', None) or error})",
        "a name in a directory that may be written to, with room for the file",
        "A file that was there before is as it was.",
    )


def kind_of_page(text: str) -> str | None:
    """Return what a page of ours says that it is, such as "report"; None of any other text."""
    page = _PAGE.match(text)
    return page[1] if page else None


def _written_kind(text: str) -> str | None:
    """Return what a text of ours says that it is: in its envelope, in the head of a page, or in a comment above it."""
    noted = _NOTED.match(text)
    return noted[1] if noted else kind_of_page(text) or kind_of(text)


def _target(path: Any) -> Path:
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise LdpstatsError(f"the path {shortened(path)}", "the name of a file, as a text or a pathlib.Path")
    # what a link points to is replaced, not the link
    return Path(os.path.realpath(path))


def _refuse_others(target: Path, known: str | None, text: str) -> int | None:
    """Refuse to replace anything but a file of the same kind; return the permissions of the one replaced."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    came = f"{str(target)!r}, which is no file"
    if stat.S_ISREG(found.st_mode):
        with target.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
            ours = _written_kind(head) == known if known else head + file.read(len(text) + 1) == text
        if ours or not found.st_size:
            return stat.S_IMODE(found.st_mode)
        came = f"the file {str(target)!r}, which holds something else"
    raise LdpstatsError(
        came,
        f"a new name, or a file that holds {f'a saved {known}' if known else 'the same'}",
        "Nothing in it was changed. Choose another name, or remove it first.",
    )


def _settle(directory: Path) -> None:
    """Wait until the directory has the new file on disk (fsync), where directories can be waited for."""
    with suppress(OSError):
        file = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
