"""What a command expects: a file of a kind; of another it is said what it is, and which command makes the right one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpstats.cli import pipes
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from ldpstats.answers.domain import Domain
    from ldpstats.protocols import LocalProtocol
    from ldpstats.tables import TableSet

_HEAD = 1 << 14


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
_PAGE = FileKind("a page for a browser", "")
_BEGINNINGS = {
    r"\s*(//[^\n]*\n\s*)*network\s": FileKind("a network in the format BIF", _SHOWN),
    r'\s*\{\s*"[^"]*"\s*:\s*\[': DOMAIN,
}
_SAVED = {"domain": DOMAIN, "Domain": DOMAIN, "protocol": PROTOCOL, "table set": TABLES, "answer": REPORTS}


@contextmanager
def expected(kind: FileKind, *names: str) -> Iterator[None]:
    """If reading fails within the context, say in the error which other kind of file one of `names` is."""
    try:
        yield
    except LdpstatsError as error:
        found = {name: _kind_of(name) for name in names if name != pipes.STANDARD}
        for name, other in found.items():
            if other is not None and other != kind:
                advice = " ".join(filter(None, (kind.made, other.read)))
                raise LdpstatsError(f"{pipes.named(name)}, which holds {other.came}", kind.allowed, advice) from error
        raise


def saved_domain(name: str) -> Domain:
    """Load a domain; any other object is refused."""
    from ldpstats.answers.domain import Domain

    found: Domain = _saved(name, DOMAIN, lambda one: isinstance(one, Domain))
    return found


def saved_protocol(name: str) -> LocalProtocol:
    """Load a protocol whose respondents randomize their answers themselves; all else is refused."""
    from ldpstats.protocols import LocalProtocol
    from ldpstats.protocols.contract import missing

    found: LocalProtocol = _saved(name, PROTOCOL, lambda one: not missing(one, LocalProtocol))
    return found


def saved_tables(name: str) -> TableSet:
    """Load a set of tables; any other object is refused."""
    from ldpstats.tables import TableSet

    found: TableSet = _saved(name, TABLES, lambda one: isinstance(one, TableSet))
    return found


def _saved(name: str, kind: FileKind, fits: Callable[[object], bool]) -> Any:
    """Load an object; one that does not fit is refused in the words of `kind`."""
    with expected(kind, name):
        found = pipes.saved_object(name)
        if not fits(found):
            came = f"{pipes.named(name)}, which holds a {type(found).__name__}"
            raise LdpstatsError(came, kind.allowed, kind.made)
    return found


def _kind_of(name: str) -> FileKind | None:
    """Guess the kind of a file by its beginning; None if that does not tell."""
    from ldpstats.cli.contents import holds_reports, is_of_another_program
    from ldpstats.saving.files import kind_of, kind_of_page

    try:
        with Path(name).open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return None
    if holds_reports(head):
        return ANSWERS if head.startswith(b"PAR1") and is_of_another_program(Path(name)) else REPORTS
    text = head.decode("utf-8-sig", errors="ignore")
    saved = kind_of(text)
    if saved is not None:
        return _SAVED.get(saved, FileKind(f"a saved {saved}", _SHOWN))
    if kind_of_page(text) is not None:
        return _PAGE
    for beginning, kind in _BEGINNINGS.items():
        if re.match(beginning, text):
            return kind
    return ANSWERS if _holds_answers(head) else None


def _holds_answers(head: bytes) -> bool:
    """Say whether the whole lines of a file's beginning can be read as answers."""
    from ldpstats.answers import read_answers

    try:
        return len(read_answers(head[: head.rfind(b"\n") + 1], "")) > 0
    except LdpstatsError:
        return False
