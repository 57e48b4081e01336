"""Files: objects as JSON in an envelope that shows damage, written whole or not at all, and any of them loaded."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened
from ldpstats.limits import LARGEST_FILE
from ldpstats.saving.codec import decoded_as, encoded
from ldpstats.saving.registered import class_named, find_class

Read = TypeVar("Read")
_VERSION = 1
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
_NAMES = ("format", "version", "digest against accidents, not attackers", "body")
_WRITER = "ldpstats "
_NOT_ITS_NAME = "Pass what the file holds, not its name: pathlib.Path(name).read_text(encoding='utf-8')."
_FORMAT = re.compile(r'\s*\{\s*"format"\s*:\s*"ldpstats ([^"\\]+)"\s*[,}]')
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError, MemoryError)
"""What a body that is not as it was written may raise in whoever reads it."""
_FORMS = {
    "RRBA aggregator": ("protocols.rrba", "Aggregator"),
    "client": ("protocols.rrba", "Client"),
    "domain": ("answers.domain", "Domain"),
    "memo": ("mechanisms", "Memo"),
    "protocol": ("protocols", "Protocol"),
    "table set": ("tables", "TableSet"),
}
"""The classes that read the formats which are not named after a class, each imported when it is first met."""
_HEAD = 4096
_COUNTED = "`ldpstats tables FILE --protocol PROTOCOL` and ldpstats.tables_of(file, protocol) count them."
_COLLECTED = (
    "Answers, a row per respondent, become tables by SampledGroups(Domain.from_frame(frame), "
    "epsilon=...).collect(frame), and by `ldpstats analyse FILE --epsilon 2`."
)
_OTHERS: Mapping[str, tuple[str, str]] = {
    r"PAR1": ("a file in the format Parquet", f"If it holds reports: {_COUNTED} {_COLLECTED}"),
    r"# ldpstats reports ": ("a file of reports", _COUNTED),
    r"(?!\s*\{)(?=.*\bprotocol\b)(?=.*\bcollection\b)(?=.*\breport\b)": ("reports, a row each", _COUNTED),
    r'\s*\{\s*"format"\s*:\s*"ldpstats answer"': ("what clients sent, a line each", _COUNTED),
    r'\s*\{\s*"format"\s*:\s*"ldpstats RRBA (query|answer)"': (
        "a message between an aggregator and a client",
        "rrba.Query.from_json and rrba.Answer.from_json read them.",
    ),
    r'\["ldpstats rrba journal"': (
        "the journal of an aggregator",
        "protocol.aggregator(journal=path) goes on from it.",
    ),
}
"""How other files begin that stand beside saved objects: what they are, and what reads them."""


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
        known = find_class(kind_of(text) or "")
        if known and not issubclass(known, cls):
            raise LdpstatsError(
                f"a saved {known.__name__}", f"a saved {cls.__name__}", "ldpstats.load reads objects of every class."
            )
        read: Self = _object(text, (known or cls).__name__)
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


def load(path: str | Path) -> Any:
    """Read a saved object: a domain, a protocol, tables, a mechanism, a result, or what keeps answers.

    Nothing in a file is run: it names classes that are known, whose objects are made by their constructors.

    Parameters
    ----------
    path : str or Path
        A file that `save` wrote, or that holds what `to_json` returned.

    Returns
    -------
    object
        Of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from ldpstats import GRR, load
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     GRR(3, epsilon=1.0).save(f"{directory}/mechanism.json")
    ...     load(f"{directory}/mechanism.json")
    GRR(k=3, epsilon=1.0)
    """
    # before it is read as text: other files may be of any size, and need not be texts
    try:
        _refuse_other_kinds(_head(path))
    except LdpstatsError as error:
        raise type(error)(f"the file {str(path)!r}: {error.came}", error.allowed, error.advice) from error
    return read_file(path, loaded, "a file that `save` wrote", LARGEST_FILE)


def loaded(text: str) -> Any:
    """Read a saved object from what its file holds."""
    _refuse_other_kinds(text)
    kind = kind_of(text)
    if kind is None:
        if not text.lstrip().startswith("{"):
            raise LdpstatsError("text that is no saved object", "a file that `save` wrote", _COLLECTED)
        kind = "domain"
    if kind in _FORMS:
        module, name = _FORMS[kind]
        return getattr(import_module(f"ldpstats.{module}"), name).from_json(text)
    if not find_class(kind):
        raise LdpstatsError(
            f"the format {shortened(f'ldpstats {kind}')}, which this version does not know",
            f"saved objects of registered classes, and {one_line(list(_FORMS))}",
            "It may be that of a newer ldpstats, or of a class that has to be registered first: "
            "ldpstats.extend.register.",
        )
    return _object(text, kind)


def _refuse_other_kinds(text: str) -> None:
    for beginning, (came, advice) in _OTHERS.items():
        if re.match(beginning, text[:_HEAD]):
            raise LdpstatsError(came, "a file that `save` wrote", advice)


def _head(path: Any) -> str:
    """Return how a file begins, whatever it is; nothing where it cannot be read."""
    try:
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except (TypeError, ValueError, OSError):
        return ""
    return ""


def sealed(kind: str, version: int, body: Any) -> str:
    """Return a saved file as JSON.

    Its digest shows accidents alone: whoever can change the body can change the digest.
    """
    plain = _written(body)
    head = json.dumps(dict(zip(_NAMES, (_WRITER + kind, version, _digest(plain)), strict=False)), ensure_ascii=False)
    return f'{head[:-1]}, "{_NAMES[-1]}": {plain}}}'


def kind_of(text: object) -> str | None:
    """Return the kind of saved file that a text begins as; None if it is none."""
    said = _FORMAT.match(text) if isinstance(text, str) else None
    return said and said[1]


def opened(text: str, kind: str, version: int, read: Callable[[Any], Read]) -> Read:
    """Return what `read` makes of the body of a saved file; any other text is refused."""
    try:
        return read(_opened(read_json(text), kind, version))
    except UNREADABLE as error:
        raise LdpstatsError(
            f"text that is not a saved {kind} ({shortened_reason(error)})",
            f"a whole file of the format '{_WRITER}{kind}', version {version}, as it was written",
            "" if isinstance(text, (str, bytes)) and "{" in str(text) else _NOT_ITS_NAME,
        ) from error


def digest(body: Any) -> str:
    """Return a digest of plain values: the order of names makes a difference, spaces and line breaks make none."""
    return _digest(_written(body))


def _written(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _digest(plain: str) -> str:
    # text cut inside a letter of two halves cannot be encoded, and is still different from all others
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()


def differences(known: Mapping[str, Any], plain: Mapping[str, Any]) -> list[str]:
    """Return the names under which two objects of plain values hold different JSON: 1 is not true."""
    texts = [{name: json.dumps(value, sort_keys=True) for name, value in values.items()} for values in (known, plain)]
    return [name for name in dict.fromkeys([*known, *plain]) if texts[0].get(name) != texts[1].get(name)]


def read_json(text: str) -> Any:
    """Parse JSON; refuse a name that stands twice in an object, of which `json.loads` keeps the last."""
    return json.loads(text, object_pairs_hook=_different_names)


def shortened_reason(error: BaseException) -> str:
    """Say in a few words what was wrong with a file."""
    reason = f"no {error}" if isinstance(error, KeyError) else str(error)
    return reason if len(reason) <= 300 else shortened(reason, 300)


def _opened(whole: Any, kind: str, known: int) -> Any:
    if not isinstance(whole, dict) or "format" not in whole:
        raise ValueError(f"{shortened(whole)} without a format")
    if whole["format"] != _WRITER + kind:
        raise ValueError(f"its format is {shortened(whole['format'])}")
    version = whole.get("version")
    if type(version) is not int or version != known:
        raise ValueError(f"its version is {shortened(version)}, and this ldpstats reads version {known}")
    if set(whole) != set(_NAMES):
        raise ValueError(f"it holds {one_line(list(whole))}")
    if whole[_NAMES[2]] != digest(whole["body"]):
        raise ValueError("its digest is that of another body: the file was changed after it was written")
    return whole["body"]


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        repeated = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise DomainError(f"the names {one_line(repeated)} stand more than once", "different names")
    return named


def _object(text: str, name: str) -> Any:
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
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            came = "which is a directory" if stat.S_ISDIR(status.st_mode) else "which is no ordinary file"
        elif status.st_size > most:
            came = f"of {status.st_size:,} bytes"
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
        mode = _refuse_others(target, _written_kind(text), text)
        return 0o600 if kind_of(text) in SECRET else mode

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
        for entry in entries:
            if not _BESIDE.fullmatch(entry.name):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                old = stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _ABANDONED
                if old and status.st_uid == os.getuid():
                    with Path(entry.path).open("rb") as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        Path(entry.path).unlink()


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
        status = target.stat()
    except FileNotFoundError:
        return None
    came = f"{str(target)!r}, which is no file"
    if stat.S_ISREG(status.st_mode):
        with target.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
            ours = _written_kind(head) == known if known else head + file.read(len(text) + 1) == text
        if ours or not status.st_size:
            return stat.S_IMODE(status.st_mode)
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
