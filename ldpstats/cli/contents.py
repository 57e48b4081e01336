"""Contents: what a file holds, in words and as plain values, and what is wrong with it."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpstats.cli import pipes
from ldpstats.errors import LdpstatsError

_HEAD, _TAIL = 1 << 14, 1 << 20
_PARQUET, _OURS = b"PAR1", b"ldpstats"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds."""

    words: str  # for people
    plain: dict[str, Any]  # for programs
    defects: tuple[str, ...] = ()  # what is wrong with it, in sentences


def contents_of(name: str) -> Contents:
    """Find out what kind of file this is, and describe it."""
    from ldpstats.limits import LARGEST_FILE
    from ldpstats.networks.bif import MARK

    with _kept(name) as path:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if holds_reports(head):
            return _of_reports(name, path, head)
        text = _text(name, pipes.bytes_of(str(path), LARGEST_FILE))
    if text.lstrip().startswith(("network ", MARK)):
        from ldpstats.networks.bayesian_network import network_of_bif

        try:
            found = network_of_bif(text)
        except LdpstatsError as error:
            return _damaged(name, "network in the format BIF", error)
        return Contents(str(found), {"kind": "BIF", "file": name, "content": found.to_dict()})
    return _beside_objects(name, text) or _of_saved(name, text)


@contextmanager
def _kept(name: str) -> Iterator[Path]:
    """Yield the path of a file; for standard input, that of a copy."""
    if name != pipes.STANDARD:
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(pipes.bytes_stream(sys.stdin), file)
        yield path


def holds_reports(head: bytes) -> bool:
    """Say whether a file begins like a report file, clients' messages, or rows as CSV."""
    from ldpstats.io.sources import is_report_file

    messages = head.lstrip()[:80].replace(b" ", b"").startswith(b'{"format":"ldpstatsanswer"')
    columns = head.partition(b"\n")[0].strip().split(b",")
    return is_report_file(head) or messages or {b"protocol", b"collection", b"number", b"group"} <= {*columns}


def _of_reports(name: str, path: Path, head: bytes) -> Contents:
    """Describe a file of reports; Parquet of another program is refused."""
    from ldpstats.io import describe_reports

    try:
        found = describe_reports(path)
    except LdpstatsError as error:
        if head.startswith(_PARQUET) and is_of_another_program(path):
            advice = "`ldpstats domain` and `ldpstats analyse` read answers in Parquet."
            raise LdpstatsError(
                f"{pipes.named(name)}, which is no file of ldpstats", "one that it wrote", advice
            ) from error
        return _damaged(name, "file of reports", error)
    return Contents(str(found), {"kind": "reports", "file": name, "content": found.to_dict(), "defects": []})


def is_of_another_program(path: Path) -> bool:
    """Say whether a file is whole Parquet whose footer has no mark of ldpstats."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, _TAIL), os.SEEK_END)
        tail = file.read()
    return tail.endswith(_PARQUET) and _OURS not in tail


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LdpstatsError(f"{pipes.named(name)}, which is no text in UTF-8", "a file of ldpstats") from error


def _beside_objects(name: str, text: str) -> Contents | None:
    """Describe a page, quarantine or checkpoint; None for any other text."""
    from ldpstats.io.counted_files import KIND, VERSION
    from ldpstats.io.quarantines import HEADER
    from ldpstats.saving.files import kind_of, kind_of_page, opened

    page = kind_of_page(text)
    if page is not None:
        kind, words = "page", f"A page of the kind {page!r}, for a browser."
    elif text.startswith(HEADER.decode()):
        rows = sum(1 for _ in csv.reader(io.StringIO(text, newline=""))) - 1
        kind, words = "quarantine", f"Rows of report files that were set aside, with reasons: {rows:,}."
    elif kind_of(text) == KIND:
        try:
            opened(text, KIND, VERSION, dict)
        except LdpstatsError as error:
            return _damaged(name, KIND, error)
        kind, words = KIND, "An unfinished count: `ldpstats tables` with --resume and the same reports goes on from it."
    else:
        return None
    return Contents(words, {"kind": kind, "file": name, "content": words, "defects": []})


def _of_saved(name: str, text: str) -> Contents:
    """Describe a saved object; of one with private answers or keys, only its kind."""
    from ldpstats.saving.files import SECRET, kind_of, loaded
    from ldpstats.tables import Table, TableSet

    kind = kind_of(text)
    try:
        found = loaded(text)
    except LdpstatsError as error:
        if kind is None:
            raise _foreign(name, text, error) from error
        return _damaged(name, kind, error)
    if kind in SECRET:
        return Contents(
            f"A saved {kind}. It holds private answers or keys, which are not shown.", {"kind": kind, "file": name}
        )
    defects = tuple(found.channel_fit().warning) if isinstance(found, (Table, TableSet)) else ()
    words = str(found) if hasattr(found, "summary") else repr(found)
    plain = {"kind": kind or type(found).__name__, "file": name, "content": _plain(found), "defects": [*defects]}
    return Contents(words, plain, defects)


def _plain(found: Any) -> Any:
    """Return an object as plain values if it has them, else its repr."""
    if hasattr(found, "to_dict"):
        return found.to_dict()
    if hasattr(found, "fingerprint"):
        return {"kind": found.kind, "fingerprint": found.fingerprint(), "privacy": found.privacy().to_dict()}
    return repr(found)


def _foreign(name: str, text: str, error: LdpstatsError) -> LdpstatsError:
    """Return the error about a file that is none of ldpstats."""
    if text.lstrip().startswith("{"):
        return LdpstatsError(f"{pipes.named(name)}: {error.came}", error.allowed, error.advice)
    advice = "Of answers, a row per respondent: `ldpstats domain` and `ldpstats analyse` read them."
    return LdpstatsError(f"{pipes.named(name)}, which is no file of ldpstats", "one that it wrote", advice)


def _damaged(name: str, kind: str, error: LdpstatsError) -> Contents:
    words = f"What should be a {kind} cannot be read: {error}"
    return Contents(words, {"kind": kind, "file": name, "defects": [str(error)]}, (str(error),))
