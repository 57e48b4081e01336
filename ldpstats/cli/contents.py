"""Contents of files: what `show` says of them, and a command that gets a file of another kind than it takes."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpstats.cli import pipes
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from ldpstats.answers.domain import Domain
    from ldpstats.protocols import LocalProtocol
    from ldpstats.tables import TableSet

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

    with _kept(name) as path:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if holds_reports(head):
            return _of_reports(name, path, head)
        return _of_text(name, _text(name, pipes.bytes_of(str(path), LARGEST_FILE)))


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
        reports = describe_reports(path)
    except LdpstatsError as error:
        if head.startswith(_PARQUET) and _is_of_another_program(path):
            advice = "`ldpstats domain` and `ldpstats analyse` read answers in Parquet."
            raise _foreign(name, advice) from error
        return _damaged(name, "file of reports", error)
    return Contents(str(reports), {"kind": "reports", "file": name, "content": reports.to_dict(), "defects": []})


def _is_of_another_program(path: Path) -> bool:
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


def _of_text(name: str, text: str) -> Contents:
    """Describe whatever is no file of reports."""
    from ldpstats.networks.bayesian_network import network_of_bif
    from ldpstats.networks.bif import MARK
    from ldpstats.saving.files import kind_of, loaded

    is_network = text.lstrip().startswith(("network ", MARK))
    kind = "network in the format BIF" if is_network else kind_of(text)
    try:
        if (told := _beside_objects(text, kind)) is not None:
            return Contents(told[1], {"kind": told[0], "file": name, "content": told[1], "defects": []})
        held: Any = network_of_bif(text) if is_network else loaded(text)
    except LdpstatsError as error:
        if kind is not None:
            return _damaged(name, kind, error)
        if text.lstrip().startswith("{"):
            raise LdpstatsError(f"{pipes.named(name)}: {error.came}", error.allowed, error.advice) from error
        advice = "Of answers, a row per respondent: `ldpstats domain` and `ldpstats analyse` read them."
        raise _foreign(name, advice) from error
    if is_network:
        return Contents(str(held), {"kind": "BIF", "file": name, "content": held.to_dict()})
    return _of_object(name, kind, held)


def _beside_objects(text: str, kind: str | None) -> tuple[str, str] | None:
    """Say of a page, rows that were set aside or an unfinished count what kind it is, and what that is."""
    from ldpstats.io.counted_files import KIND, VERSION
    from ldpstats.io.quarantines import HEADER
    from ldpstats.saving.files import kind_of_page, opened

    if (page := kind_of_page(text)) is not None:
        return "page", f"A page of the kind {page!r}, for a browser."
    if text.startswith(HEADER.decode()):
        rows = sum(1 for _ in csv.reader(io.StringIO(text, newline=""))) - 1
        return "quarantine", f"Rows of report files that were set aside, with reasons: {rows:,}."
    if kind == KIND:
        opened(text, KIND, VERSION, dict)
        return kind, "An unfinished count: `ldpstats tables` with --resume and the same reports goes on from it."
    return None


def _of_object(name: str, kind: str | None, held: Any) -> Contents:
    """Describe a saved object; of one with private answers or keys, only its kind."""
    from ldpstats.saving.files import SECRET
    from ldpstats.tables import Table, TableSet

    if kind in SECRET:
        words = f"A saved {kind}. It holds private answers or keys, which are not shown."
        return Contents(words, {"kind": kind, "file": name})
    defects = tuple(held.channel_fit().warning) if isinstance(held, (Table, TableSet)) else ()
    content: Any = repr(held)
    if hasattr(held, "to_dict"):
        content = held.to_dict()
    elif hasattr(held, "fingerprint"):
        content = {"kind": held.kind, "fingerprint": held.fingerprint(), "privacy": held.privacy().to_dict()}
    plain = {"kind": kind or type(held).__name__, "file": name, "content": content, "defects": [*defects]}
    return Contents(str(held) if hasattr(held, "summary") else repr(held), plain, defects)


def _foreign(name: str, advice: str) -> LdpstatsError:
    return LdpstatsError(f"{pipes.named(name)}, which is no file of ldpstats", "one that it wrote", advice)


def _damaged(name: str, kind: str, error: LdpstatsError) -> Contents:
    words = f"What should be a {kind} cannot be read: {error}"
    return Contents(words, {"kind": kind, "file": name, "defects": [str(error)]}, (str(error),))


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file on the way from answers to a report, with the phrases of error messages about it."""

    came: str  # what messages call it
    read: str  # which command reads it
    allowed: str = ""  # how a command that reads it names what it wants
    made: str = ""  # which command makes it


ANSWERS = FileKind(
    "what looks like raw answers, which nothing has randomized",
    "`ldpstats analyse DATA --epsilon E` does all steps with raw answers, as a simulation.",
    "answers, a row per respondent, as CSV or Parquet",
)
DOMAIN = FileKind(
    "a domain",
    "A domain goes to `ldpstats protocol` and `ldpstats plan --domain`.",
    "a domain",
    "`ldpstats domain DATA -o DOMAIN` makes one of answers.",
)
PROTOCOL = FileKind(
    "a protocol",
    "A protocol goes to `ldpstats privatize DATA --protocol PROTOCOL`.",
    "a protocol whose respondents randomize their answers",
    "`ldpstats protocol DOMAIN --epsilon E -o PROTOCOL` makes one of a domain.",
)
REPORTS = FileKind(
    "reports of respondents",
    "Reports go to `ldpstats tables REPORTS --protocol PROTOCOL`.",
    "reports: what `ldpstats privatize` wrote, as Parquet or CSV, or messages of clients, one in each line",
    "`ldpstats privatize DATA --protocol PROTOCOL -o REPORTS` makes them of raw answers, as respondents' devices do.",
)
TABLES = FileKind(
    "tables",
    "Tables go to `ldpstats test`, `effects`, `network`, `report` and `merge`.",
    "tables",
    "`ldpstats tables REPORTS --protocol PROTOCOL -o TABLES` makes them of reports.",
)
_SHOWN = "`ldpstats show` says what it holds."
_BY_KIND = {
    "domain": DOMAIN,
    "Domain": DOMAIN,
    "protocol": PROTOCOL,
    "table set": TABLES,
    "answer": REPORTS,
    "BIF": FileKind("a network in the format BIF", _SHOWN),
    "page": FileKind("a page for a browser", ""),
}


@contextmanager
def expected(kind: FileKind, *names: str) -> Iterator[None]:
    """If reading fails within the context, say in the error which other kind of file one of `names` is."""
    try:
        yield
    except LdpstatsError as error:
        kinds = {name: _kind_of(name) for name in names if name != pipes.STANDARD}
        for name, other in kinds.items():
            if other is not None and other != kind:
                advice = " ".join(filter(None, (kind.made, other.read)))
                raise LdpstatsError(f"{pipes.named(name)}, which holds {other.came}", kind.allowed, advice) from error
        raise


def saved_domain(name: str) -> Domain:
    """Load a domain; any other object is refused."""
    from ldpstats.answers.domain import Domain

    domain: Domain = _saved(name, DOMAIN, lambda held: isinstance(held, Domain))
    return domain


def saved_protocol(name: str) -> LocalProtocol:
    """Load a protocol whose respondents randomize their answers themselves; all else is refused."""
    from ldpstats.protocols import LocalProtocol
    from ldpstats.protocols.contract import missing

    protocol: LocalProtocol = _saved(name, PROTOCOL, lambda held: not missing(held, LocalProtocol))
    return protocol


def saved_tables(name: str) -> TableSet:
    """Load a set of tables; any other object is refused."""
    from ldpstats.tables import TableSet

    tables: TableSet = _saved(name, TABLES, lambda held: isinstance(held, TableSet))
    return tables


def _saved(name: str, kind: FileKind, fits: Callable[[object], bool]) -> Any:
    """Load an object; one that does not fit is refused in the words of `kind`."""
    from ldpstats.limits import LARGEST_FILE
    from ldpstats.saving.files import load, loaded

    with expected(kind, name):
        try:
            held = load(name) if name != pipes.STANDARD else loaded(_text(name, pipes.bytes_of(name, LARGEST_FILE)))
        except LdpstatsError as error:
            if name != pipes.STANDARD or error.came.startswith(pipes.named(name)):
                raise
            raise type(error)(f"{pipes.named(name)}: {error.came}", error.allowed, error.advice) from error
        if not fits(held):
            came = f"{pipes.named(name)}, which holds a {type(held).__name__}"
            raise LdpstatsError(came, kind.allowed, kind.made)
    return held


def _kind_of(name: str) -> FileKind | None:
    """Say what kind of file this is; None if that cannot be told."""
    from ldpstats.answers import read_answers
    from ldpstats.saving.files import kind_of

    try:
        with Path(name).open("rb") as file:
            head = file.read(_HEAD)
        if holds_reports(head):  # perhaps more than memory holds
            return ANSWERS if head.startswith(_PARQUET) and _is_of_another_program(Path(name)) else REPORTS
        # what a saved object is, its beginning says: all of it may take long to read
        kind = kind_of(head.decode("utf-8-sig", errors="ignore")) or contents_of(name).plain["kind"]
    except LdpstatsError:
        with suppress(LdpstatsError):  # as it is raised where the whole lines of its beginning are no answers either
            return ANSWERS if len(read_answers(head[: head.rfind(b"\n") + 1], "")) else None
        return None
    except (OSError, ValueError):
        return None
    return _BY_KIND.get(kind, FileKind(f"a saved {kind}", _SHOWN))
