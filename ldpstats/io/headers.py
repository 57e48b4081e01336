"""What a report file says about itself, how many reports it has, and whether a protocol can have made it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats import __version__
from ldpstats.errors import LdpstatsError, ReportError, one_line, shortened
from ldpstats.presentation import Result, Summary, plain_rows, plain_values, summary_of_figures
from ldpstats.privacy import plain_level, rounded_up
from ldpstats.protocols import LocalProtocol
from ldpstats.saving.files import digest, read_json
from ldpstats.saving.registered import Count

VERSION = 1
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_SAID = 30
"""Up to so many rows of a protocol have a line each."""


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
            f"d{hashlib.sha256(protocol.domain.to_json().encode()).hexdigest()[:12]}",
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
        plain = {entry.name: getattr(self, entry.name) for entry in fields(self)}
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
            key for key in ("domain", "rows", "mechanisms", "epsilon") if getattr(self, key) != getattr(own, key)
        ]
        known = f"they differ in {' and '.join(differing)}" if differing else "domain, groups and mechanisms are alike"
        raise ReportError(
            f"the file {name!r} of another protocol, {shortened(self.protocol)} ({known})",
            f"reports of the protocol {own.protocol!r}",
            "Domain, groups, mechanism and epsilon must be those of the collection.",
        )


@dataclass(frozen=True, slots=True, repr=False)
class ReportFile(Result):
    """A file of reports, read from its beginning to its end.

    A file that says what wrote it is as it was written; messages of clients and plain rows do not show whether they are
    all. Whether its reports are possible ones, only the protocol knows: `tables_of` counts them.

    Parameters
    ----------
    name : str
        What the file is called.
    form : str
        Such as "Parquet".
    protocol : str
        The fingerprint of its protocol.
    labels, mechanisms : tuple of str
        What the protocol's rows are called, and what randomizes the answers in them, where the file says that.
    counts : tuple of int
        How many reports there are in each of these rows, and last in rows that the protocol does not have.
    simulated : int
        How many of them came from a seed.
    tokens : bool
        Whether they name their respondents by tokens.
    collection : str
        What no other collection is called; empty where rows name theirs.
    epsilon : float, optional
        The strict level of a respondent, where the file says it.
    unit : str
        What that is a level of.
    writer : str
        What wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> protocol = ldp.SampledGroups(domain, k=1, epsilon=1.0)
    >>> people = domain.decode([[0, 0], [1, 1]] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_reports(f"{folder}/reports.csv", protocol, people, rng=1)
    ...     described = ldp.describe_reports(f"{folder}/reports.csv")
    >>> described.form, described.labels, described.counts, described.epsilon
    ('CSV', ('sex', 'car'), (50, 50, 0), 1.0)
    >>> described.protocol == protocol.fingerprint()
    True
    """

    name: str
    form: str
    protocol: str
    labels: tuple[str, ...]
    mechanisms: tuple[str, ...]
    counts: tuple[Count, ...]
    simulated: Count
    tokens: bool
    collection: str = ""
    epsilon: float | None = None
    unit: str = ""
    writer: str = ""

    def __post_init__(self) -> None:
        fits = len(self.counts) == len(self.labels) + 1 and len(self.mechanisms) in (0, len(self.labels))
        if not fits or min(self.counts) < 0 or not 0 <= self.simulated <= self.n:
            raise LdpstatsError(
                f"a file with {one_line(self.counts)} reports", "a number for every row, and for others"
            )
        # files have a word for an infinite level
        object.__setattr__(self, "epsilon", math.inf if self.epsilon == plain_level(math.inf) else self.epsilon)

    @classmethod
    def of(cls, name: str, form: str, header: Header, counts: list[int], *, tokens: bool) -> ReportFile:
        """Return a file with a header.

        Parameters
        ----------
        name, form : str
        header : Header
        counts : list of int
            The reports in each row of its protocol, and in others.
        tokens : bool
        """
        simulated = sum(counts) if header.simulated else 0
        said = (header.collection, header.epsilon, header.unit, header.writer)
        own = (name, form, header.protocol, header.rows, header.mechanisms, tuple(counts), simulated, tokens)
        return cls(*own, *said)  # type: ignore[arg-type]  # a level may be the word for an infinite one

    @property
    def n(self) -> int:
        """How many reports there are."""
        return sum(self.counts)

    @property
    def headline(self) -> str:
        """How many reports, about how much, and in what form."""
        simulated = " (simulated)" if self.simulated else ""
        return f"{self.n:,} reports{simulated} about {len(self.labels):,} groups, {self.form}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per row of the protocol: its number, label, mechanism, and how many reports there are."""
        made = self.mechanisms or ("",) * len(self.labels)
        rows = zip(range(len(self.labels)), self.labels, made, self.counts, strict=False)
        return pd.DataFrame(rows, columns=["row", "label", "mechanism", "reports"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        named = "form protocol collection n simulated tokens epsilon unit writer"
        plain = plain_values(self, named, epsilon=plain_level(self.epsilon))
        return {**plain, "of no row": self.counts[-1], "rows": plain_rows(self.to_frame())}

    def summary(self) -> Summary:
        """Return how many reports about what there are, and in sentences what the file says about itself."""
        rows = [
            [f"{row['row']}", str(row["label"]), str(row["mechanism"]), f"{row['reports']:,}"]
            for row in self.to_frame().to_dict(orient="records")
        ]
        more = len(rows) - _SAID
        sentences = [
            *([f"And {more:,} further rows: to_frame() has them."] if more > 0 else []),
            *([f"{self.counts[-1]:,} reports in rows that the protocol does not have."] if self.counts[-1] else []),
            f"{self.form}, of the protocol {self.protocol}"
            + (f", collection {self.collection}." if self.collection else "."),
            *([self._level] if self.epsilon is not None else []),
            *([f"{self.simulated:,} of the reports came from a seed: a simulation."] if self.simulated else []),
            *(["Reports name their respondents by tokens."] if self.tokens else []),
            *([f"Written by {self.writer}."] if self.writer else []),
            self._whole,
            "Whether its reports are possible ones, tables_of(file, protocol) says.",
        ]
        title = f"{self.n:,} reports in {self.name}"
        return summary_of_figures(title, ["row", "about", "randomized by", "reports"], rows[:_SAID], sentences)

    @property
    def _whole(self) -> str:
        return "The file is as it was written." if self.writer else "Nothing in the file shows whether it is whole."

    @property
    def _level(self) -> str:
        return f"epsilon = {rounded_up(self.epsilon or 0.0)} (strict; unit: {self.unit})."


def counted(columns: Iterable[NDArray[Any]], known: int) -> list[int]:
    """Return how often each of the row numbers 0, ..., known - 1 occurs in columns, and last how often others do."""
    counts = np.zeros(known + 1, dtype=np.int64)
    for rows in columns:
        places = np.where((rows >= 0) & (rows < known), rows, known)
        counts += np.bincount(places.astype(np.int64), minlength=known + 1)
    return [*counts.tolist()]


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


def _header_of(plain: Mapping[str, Any]) -> tuple[Header, dict[str, Any]]:
    said = {name: value for name, value in plain.items() if name != "digest"}
    version = said.pop("version", None)
    if version != VERSION or plain.get("digest") != digest({"version": version, **said}):
        raise ValueError("its digest is that of another header")
    own = {entry.name: said.pop(entry.name) for entry in fields(Header)}
    texts = all(isinstance(own[name], str) for name in ("protocol", "domain", "collection", "unit", "writer"))
    lists = all(
        isinstance(own[name], list) and all(isinstance(text, str) for text in own[name])
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
