"""Sources: which files hold reports and in what form, and what all others are."""

from __future__ import annotations

import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from ldpstats.answers.csv_text import foreign_kind
from ldpstats.answers.frames import known_frame
from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.io import csv_files, parquet_files
from ldpstats.io.columns import Source
from ldpstats.io.headers import ReportFile
from ldpstats.io.messages import MessageSource
from ldpstats.io.row_files import COLUMNS, FrameSource, RowsSource
from ldpstats.limits import enough_memory
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.contract import missing
from ldpstats.saving.files import kind_of

Reports: TypeAlias = str | Path | pd.DataFrame | Iterable[str | Path] | Iterable[pd.DataFrame]
"""Files, data frames, or several of one kind."""

STANDARD = "-"
"""The name of standard input and output."""
_HEAD = 1 << 14
_ANSWER = re.compile(rb'\s*\{[^\n]*"format"\s*:\s*"ldpstats answer"')
_ALLOWED = "a file of reports: Parquet or CSV as `write_reports` writes it, or messages of clients, one in each line"
_ANSWERS = "Answers, a row per respondent, are written as reports by `write_reports`."


@contextmanager
def opened_sources(reports: Reports) -> Iterator[list[Source]]:
    """Open files, or take data frames, for the time of the context; standard input is copied to a temporary file."""
    whole = None if isinstance(reports, (str, Path)) else known_frame(reports)
    first, rest = _peeked(reports if whole is None else whole)
    if known_frame(first) is not None:
        yield [FrameSource(_frames(rest))]
        return
    paths = [_checked_path(path) for path in rest]
    if paths.count(STANDARD) > 1:
        raise LdpstatsError("standard input twice", "each file once")
    with tempfile.TemporaryDirectory() if STANDARD in paths else nullcontext("") as folder:
        yield [_standard_input(folder) if path == STANDARD else open_source(path) for path in paths]


def open_source(path: str, name: str | None = None) -> Source:
    """Open a file of reports of any form; the error about any other file says what it seems to be.

    Errors call the file `name`, by default its path.
    """
    head, called = _head(path), path if name is None else name
    first, ended, _ = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    names = first.decode(errors="replace").strip() if ended else ""
    kinds: list[tuple[object, Callable[[str, str], Source]]] = [
        (head.startswith(parquet_files.MAGIC), parquet_files.ParquetSource),
        (head.startswith(csv_files.MAGIC), csv_files.CsvSource),
        (_ANSWER.match(head), MessageSource),
        ((set(names.replace('"', "").split(",")) >= COLUMNS), RowsSource),
    ]
    for fits, source in kinds:
        if fits:
            return source(path, called)
    what = _described(head)
    advice = "Unpack it first." if "packed" in what else "" if head.lstrip().startswith(b"{") else _ANSWERS
    raise ReportError(f"the file {called!r}, which is {what}", _ALLOWED, advice)


def describe_reports(path: str | Path) -> ReportFile:
    """Return what a file of reports says about itself, and how many reports about what there are in it.

    All of it is read, in constant memory: a file that was edited or cut short is refused.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ReportFile
        Its form, protocol and collection, and how many reports of which rows it has.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import ldpstats as ldp
    >>> protocol = ldp.SampledGroups(ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), k=1, epsilon=1.0)
    >>> people = pd.DataFrame({"sex": ["F", "M"] * 50, "car": ["yes", "no"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_reports(f"{folder}/reports.csv", protocol, people, rng=1)
    ...     ldp.describe_reports(f"{folder}/reports.csv")
    <ReportFile: 100 reports (simulated) about 2 groups, CSV>
    """
    with enough_memory(f"the file {str(path)!r}"), opened_sources(_checked_path(path)) as sources:
        return sources[0].described()


def refuse_other_protocols(protocol: object) -> None:
    """Refuse what is no protocol whose respondents send reports themselves."""
    if missing(protocol, LocalProtocol):
        raise LdpstatsError(
            f"{shortened(protocol)} as the protocol of reports", "a protocol whose respondents send reports themselves"
        )


def is_report_file(head: bytes) -> bool:
    """Say whether a file begins like one of `write_reports`."""
    return head.startswith((csv_files.MAGIC, parquet_files.MAGIC))


def _peeked(reports: Any) -> tuple[Any, Iterable[Any]]:
    """Return the first item, and an iterable of all."""
    if isinstance(reports, (str, Path, pd.DataFrame)):
        return reports, [reports]
    if not isinstance(reports, Iterable) or isinstance(reports, (bytes, dict)):
        raise LdpstatsError(f"reports {shortened(reports)}", "the names of files, or data frames")
    listed = iter(reports)
    first = list(islice(listed, 1))
    if not first:
        raise LdpstatsError("no reports at all", "the name of at least one file, or a data frame")
    return first[0], chain(first, listed)


def _frames(frames: Iterable[Any]) -> Iterator[pd.DataFrame]:
    for given in frames:
        frame = known_frame(given)
        if frame is None:
            raise LdpstatsError(f"{shortened(given)} among data frames", "data frames of rows that `reports` returned")
        yield frame


def _checked_path(path: Any) -> str:
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise LdpstatsError(f"the file {shortened(path)}", "the name of a file, as a text or a pathlib.Path")
    return str(path)


def _standard_input(folder: str) -> Source:
    """Copy standard input to a file, since it is read more than once."""
    path, stream = Path(folder) / "standard input", getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise LdpstatsError("standard input, which is closed or gives text only", "standard input of a program")
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
    except OSError as error:
        raise LdpstatsError(
            f"standard input, which could not be kept in {str(path.parent.parent)!r} ({error.strerror or error})",
            "as much as there is room for in the directory of temporary files",
            "TMPDIR names another one. Or write it to a file, and name that.",
        ) from error
    return open_source(str(path), STANDARD)


def _head(path: str) -> bytes:
    """Return the first bytes of a file; refuse what is no ordinary file."""
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            inside = sorted(entry.name for entry in Path(path).iterdir())[:3]
            raise ReportError(
                f"{path!r}, which is a directory (with {', '.join(inside) or 'nothing'} in it)",
                _ALLOWED,
                "Name the files in it.",
            )
        if not stat.S_ISREG(status.st_mode):
            raise ReportError(f"{path!r}, which is no ordinary file", _ALLOWED)
        with Path(path).open("rb") as file:
            return file.read(_HEAD)
    except ReportError:
        raise
    except FileNotFoundError as error:
        raise ReportError(f"the file {path!r}, which does not exist", _ALLOWED) from error
    except (OSError, ValueError) as error:
        raise ReportError(f"the file {path!r}, which cannot be read ({error})", _ALLOWED) from error


def _described(head: bytes) -> str:
    """Describe a file of another kind by its first bytes."""
    if not head:
        return "empty"
    packed = {b"\x1f\x8b": "a file packed by gzip", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}
    if what := foreign_kind(head)[0] or packed.get(head[:2]):
        return what
    text = head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    if csv_files.MAGIC in head:
        return "a file of reports that a program changed: it begins with something else"
    if (kind := kind_of(text)) is not None:
        return f"a saved {kind}"
    if "\0" in text or text.count("�") > len(text) // 10:
        return f"no text, and nothing that is known here: it begins with {head[:16].hex(' ')}"
    return f"text that begins with {shortened(text.partition(chr(10))[0][:80])}"
