"""Headers of report files: what a file says about itself, and whether a protocol can have made it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ldpstats import __version__
from ldpstats.errors import ReportError, one_line, shortened
from ldpstats.privacy import plain_level
from ldpstats.protocols import LocalProtocol
from ldpstats.saving.files import digest, read_json

VERSION = 1
_IDENTITY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Header:
    """What a report file says about itself."""

    protocol: str  # fingerprint
    domain: str  # fingerprint
    collection: str  # 32 hexadecimal digits that no other collection has
    rows: tuple[str, ...]  # labels of the protocol's rows; a row of the file names its own by number
    mechanisms: tuple[str, ...]  # of each row
    epsilon: float | str  # strict level of a respondent; "infinite" where there is none
    unit: str  # what epsilon is a level of
    simulated: bool  # whether the reports came from a seed
    writer: str  # program and version

    @classmethod
    def of(cls, protocol: LocalProtocol, collection: str, *, simulated: bool) -> Header:
        """Return the header of a new collection."""
        privacy, rows = protocol.privacy(), protocol.sent_rows
        return cls(
            protocol.fingerprint(),
            domain_fingerprint(protocol),
            collection,
            tuple(row.label for row in rows),
            tuple(str(row.wire) for row in rows),
            plain_level(privacy.epsilon),
            privacy.unit,
            simulated,
            f"ldpstats {__version__}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, the version first."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"version": VERSION, **plain, "rows": list(self.rows), "mechanisms": list(self.mechanisms)}

    def to_text(self, **more: Any) -> str:
        """Return it as JSON in one line, with `more` plain values, and last its own digest."""
        plain = {**self.to_dict(), **more}
        return json.dumps({**plain, "digest": digest(plain)}, ensure_ascii=True, allow_nan=False)

    def refuse_another(self, protocol: LocalProtocol, name: str) -> None:
        """Refuse a file of another protocol; the error calls the file `name`."""
        own = Header.of(protocol, self.collection, simulated=self.simulated)
        if self.protocol == own.protocol and self.rows == own.rows:
            return
        differing = [
            one for one in ("domain", "rows", "mechanisms", "epsilon") if getattr(self, one) != getattr(own, one)
        ]
        known = f"they differ in {' and '.join(differing)}" if differing else "domain, groups and mechanisms are alike"
        raise ReportError(
            f"the file {name!r} of another protocol, {shortened(self.protocol)} ({known})",
            f"reports of the protocol {own.protocol!r}",
            "Domain, groups, mechanism and epsilon must be those of the collection.",
        )


def read_header(text: str | bytes, name: str) -> tuple[Header, dict[str, Any]]:
    """Parse what `Header.to_text` wrote, checking its digest; return the header, and what else it says."""
    try:
        plain = read_json(text if isinstance(text, str) else text.decode())
        if not isinstance(plain, dict):
            raise TypeError("no object")
        # a version that only later programs know
        version = plain.get("version")
        newer = version if type(version) is int and version > VERSION else 0
        header = None if newer else _header_of(plain)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(name, f"its header cannot be read: {shortened(str(error), 200)}") from error
    if header is None:
        raise ReportError(
            f"the report file {name!r} of version {newer}", f"versions up to {VERSION}", "A newer ldpstats wrote it."
        )
    return header


def refuse_other_columns(columns: Sequence[str], name: str) -> None:
    """Refuse a file whose columns are not those of report files, in their order."""
    if tuple(columns) not in {("row", "report", *more) for more in ((), ("block",), ("token",), ("block", "token"))}:
        raise damaged(name, f"its columns are {shortened(list(columns), 200)}")


class DamagedFileError(ReportError):
    """A report file that is not as it was written."""


def damaged(name: str, reason: str) -> DamagedFileError:
    """Return the error about a damaged report file, with the reason that shows it."""
    return DamagedFileError(
        f"the report file {name!r}, which is not as it was written ({reason})",
        "a whole file, as `write_reports` wrote it",
        "It was cut short, edited or damaged: none of it was taken for granted. Copy it again from where it was made.",
    )


def domain_fingerprint(protocol: LocalProtocol) -> str:
    """Return a short digest of a protocol's domain."""
    return f"d{hashlib.sha256(protocol.domain.to_json().encode()).hexdigest()[:12]}"


def _header_of(plain: Mapping[str, Any]) -> tuple[Header, dict[str, Any]]:
    said = {name: value for name, value in plain.items() if name != "digest"}
    version = said.pop("version", None)
    if version != VERSION or plain.get("digest") != digest({"version": version, **said}):
        raise ValueError("its digest is that of another header")
    own = {one.name: said.pop(one.name) for one in fields(Header)}
    texts = all(isinstance(own[name], str) for name in ("protocol", "domain", "collection", "unit", "writer"))
    lists = all(
        isinstance(own[name], list) and all(isinstance(one, str) for one in own[name])
        for name in ("rows", "mechanisms")
    )
    level = own["epsilon"]
    proper = level == plain_level(math.inf) or (type(level) in (int, float) and level >= 0)
    if (
        not (texts and lists and proper and own["rows"])
        or len(own["rows"]) != len(own["mechanisms"])
        or type(own["simulated"]) is not bool
        or not _IDENTITY.fullmatch(own["collection"])
    ):
        raise ValueError(f"it holds {one_line(list(own.values()))}")
    return Header(**{**own, "rows": tuple(own["rows"]), "mechanisms": tuple(own["mechanisms"])}), said
