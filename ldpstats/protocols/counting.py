"""Counting: rows of reports as arrays, taken chunk by chunk into counts that add up exactly, in any order."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import ReportFormat
from ldpstats.numbers.arrays import BoolArray, IntArray, at_least
from ldpstats.protocols.wire import Reason, Sendable, from_bytes, report_size
from ldpstats.tables import TableSet
from ldpstats.tables.parts import Parts

_LOOKED_AT = 1 << 14
"""Rows at once of which it is kept why they are bad."""


@dataclass(frozen=True, slots=True)
class SentRow:
    """One kind of row that respondents of a protocol send."""

    label: str  # what rows are called in data frames and files
    wire: Sendable
    unit: int  # respondents who are asked this unit send all of its rows


@dataclass(frozen=True, slots=True, eq=False)
class SentRows:
    """Rows of one collection, as arrays."""

    identity: str  # of the collection: 32 hexadecimal digits
    rows: NDArray[Any]  # unsigned numbers of the protocol's rows
    reports: NDArray[Any]  # whole numbers; a row of bytes each, of one length; or objects, of both kinds
    # respondents' places among those who were asked the same; where None, respondents are numbered as they are counted,
    # so that all rows of the collection must be here, or be counted together
    numbers: NDArray[np.int64] | None = None
    simulated: bool | BoolArray = False  # drawn from a seed
    blocks: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, places: NDArray[Any]) -> SentRows:
        """Return the rows in some places."""
        rest = {name: getattr(self, name) for name in ("numbers", "blocks", "simulated")}
        own = {name: value[places] if isinstance(value, np.ndarray) else value for name, value in rest.items()}
        return replace(self, rows=self.rows[places], reports=self.reports[places], **own)

    def simulated_at(self, places: NDArray[np.intp]) -> int:
        """Return how many of the rows in some places came from a seed."""
        if isinstance(self.simulated, np.ndarray):
            return int(self.simulated[places].sum())
        return len(places) * self.simulated


@dataclass(frozen=True, slots=True, eq=False)
class SentReports:
    """What several respondents sent in one row of a protocol."""

    row: int  # number of the protocol's row
    data: NDArray[Any]  # as the mechanism has them
    people: NDArray[np.integer[Any]]  # which respondents of the frame, in the order in which they are numbered
    blocks: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sending:
    """What all respondents of a collection sent."""

    identity: str  # 32 hexadecimal digits
    simulated: bool
    reports: Sequence[SentReports]


class Counting(typing.Protocol):
    """Running counts of the rows that respondents of a protocol sent."""

    def bad_rows(self, rows: SentRows) -> dict[int, Reason]:
        """Return, by their places, why rows cannot be counted."""

    def take(self, rows: SentRows) -> None:
        """Count all of these rows or, naming its place, refuse one that no client can have sent."""

    def add(self, other: typing.Self) -> None:
        """Add counts of the same protocol: of other rows of these collections, or of other collections."""

    @property
    def n(self) -> int:
        """How many rows were counted."""

    def tables(self, set_aside: int = 0) -> TableSet:
        """Return the tables, which say how many rows were `set_aside` because they could not be read."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for `restore`."""

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned."""


class Respondents:
    """Whose rows were counted: respondents by their places where rows have numbers, else only how many there are."""

    def __init__(self, rows: Sequence[SentRow]) -> None:
        self._rows = rows
        self._numbered: list[list[Parts]] = [[] for _ in rows]
        self._unnumbered: dict[str, Counter[int]] = {}

    def take(self, row: int, identity: str, numbers: NDArray[np.int64] | None, n: int) -> None:
        """Note who sent n rows of one kind; `numbers` are the respondents' places."""
        if numbers is None:
            self._unnumbered.setdefault(identity, Counter())[row] += n
        elif n:
            self._numbered[row].append(Parts.numbered_in(identity, self._rows[row].unit, numbers))

    def add(self, other: Respondents) -> None:
        """Add those of other rows; refuse those of another protocol."""
        if [one.label for one in other._rows] != [one.label for one in self._rows]:
            raise LdpstatsError("counts of another protocol", "counts of the same protocol")
        for own, more in zip(self._numbered, other._numbered, strict=True):
            own.extend(more)
        for identity, counted in other._unnumbered.items():
            self._unnumbered.setdefault(identity, Counter()).update(counted)

    def parts(self) -> list[Parts]:
        """Return the respondents behind every kind of row; refuse respondents who are counted twice."""
        unit = [one.unit for one in self._rows]
        whole = [
            [Parts.whole(identity, unit[row], counted[row]) for identity, counted in self._unnumbered.items()]
            for row in range(len(self._rows))
        ]
        self._numbered = [[Parts.together(own)] for own in self._numbered]
        return [Parts.together([*own, *more]) for own, more in zip(self._numbered, whole, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for `restore`."""
        numbered = [Parts.together(own).to_list() for own in self._numbered]
        counted = {identity: sorted(rows.items()) for identity, rows in self._unnumbered.items()}
        return {"numbered": numbered, "counted": counted}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        numbered, counted = plain["numbered"], plain["counted"]
        if len(numbered) != len(self._rows) or not isinstance(counted, dict):
            raise LdpstatsError(f"respondents of {len(numbered)} rows", f"of {len(self._rows)}")
        self._numbered = [[Parts.from_list(own)] for own in numbered]
        units = [{one.unit} for one in self._rows]
        if any({unit for *_, unit in own.asked} - unit for (own,), unit in zip(self._numbered, units, strict=True)):
            raise LdpstatsError("respondents who were asked something else", "those of the row's own unit")
        self._unnumbered = {
            # a collection is one by its name
            Parts.whole(identity, 0, 1).collections[0]: read_times(rows, len(self._rows))
            for identity, rows in counted.items()
        }

    def refuse_other_numbers(self, counted: Sequence[int]) -> None:
        """Refuse counts, one for every kind of row, that are not as many as the respondents."""
        sent = [
            sum(one.n for one in own) + sum(rows[row] for rows in self._unnumbered.values())
            for row, own in enumerate(self._numbered)
        ]
        if sent != list(counted):
            raise LdpstatsError(f"counts of {list(counted)} rows from {sent} respondents", "a row of each")


def read_times(plain: Sequence[Sequence[Any]], most: int) -> Counter[int]:
    """Read the sorted items of a counter of numbers below `most`."""
    times = {at_least(one, 0, "a number", most=most - 1): at_least(n, 0, "how often it came") for one, n in plain}
    if len(times) < len(plain):
        raise LdpstatsError(f"{len(plain)} counts of {len(times)} numbers", "one of each")
    return Counter(times)


def without_rows(tables: TableSet, set_aside: int) -> TableSet:
    """Return tables whose privacy statements say how many rows were set aside."""
    if not set_aside:
        return tables
    said = [replace(table, privacy=replace(table.privacy, set_aside=set_aside)) for table in tables]
    return tables.replaced(tables=said, privacy=replace(tables.privacy, set_aside=set_aside))


def by_row(rows: IntArray) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Return, for every kind of row that occurs, its number and the places of its rows."""
    counts = np.bincount(rows)
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(counts)
    return ((row, order[ends[row] - counts[row] : ends[row]]) for row in np.flatnonzero(counts).tolist())


def refuse_bad_rows(bad_rows: Callable[[SentRows], dict[int, Reason]], rows: SentRows) -> None:
    """Refuse the first bad row, in chunks: so no more rows are looked at than it takes."""
    for start in range(0, len(rows), _LOOKED_AT):
        for place, reason in bad_rows(rows.taken(np.arange(start, min(start + _LOOKED_AT, len(rows))))).items():
            raise reason.error(f"row {start + place}")


def unknown_rows(rows: SentRows, kinds: Sequence[SentRow]) -> dict[int, Reason]:
    """Return, by their places, why rows are refused whose number is none of the protocol's."""
    allowed = f"from 0 to {len(kinds) - 1}, for {kinds[0].label!r} to {kinds[-1].label!r}"
    return {
        int(place): Reason(f"the number {rows.rows[place]} of a row of the protocol", allowed)
        for place in np.flatnonzero(rows.rows >= len(kinds))
    }


def decoded_reports(
    reports: NDArray[Any], wire: Sendable, places: Iterable[int]
) -> tuple[NDArray[Any], dict[int, Reason]]:
    """Return reports as their mechanism has them, and by `places` why some of them are none."""
    form, size, reasons = wire.report_format, report_size(wire.report_format), {}
    fits = _fit(reports, form, size)
    if fits.all():
        data = _of_form(reports, form, size)
        possible = wire.possible(data)
    else:
        good = np.flatnonzero(fits)
        data, possible = np.zeros(form.shape(len(reports)), dtype=form.dtype), np.zeros(len(reports), dtype=np.bool_)
        data[good] = _of_form(reports[good], form, size)
        possible[good] = wire.possible(data[good])
    listed, allowed = None, f"reports that {wire} can send"
    for one in np.flatnonzero(~possible).tolist():
        listed = list(places) if listed is None else listed
        came = data[one].tolist() if fits[one] else _shown(reports[one])
        reasons[listed[one]] = Reason(
            f"the report {came!r}",
            allowed,
            "Check that client and server use the same protocol.",
        )
    return data, reasons


def _fit(reports: NDArray[Any], form: ReportFormat, size: int | None) -> BoolArray:
    """Mask of the reports that are whole numbers, or bytes, of this form."""
    if reports.ndim == 2:
        return np.full(len(reports), size == reports.shape[1])
    if size is None:
        return _whole(reports, int(np.iinfo(form.dtype).max))
    return np.array([isinstance(one, bytes) and len(one) == size for one in reports], dtype=np.bool_)


def _of_form(reports: NDArray[Any], form: ReportFormat, size: int | None) -> NDArray[Any]:
    if size is None:
        return reports.astype(form.dtype, copy=False)
    raw = reports if reports.ndim == 2 else np.frombuffer(b"".join(reports), np.uint8)
    return from_bytes(raw.reshape(len(reports), size), form)


def at_places(array: NDArray[Any], places: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the entries in increasing places, without a copy where these follow each other."""
    n = len(places)
    consecutive = n > 0 and int(places[-1]) - int(places[0]) == n - 1
    found: NDArray[Any] = array[int(places[0]) : int(places[0]) + n] if consecutive else array[places]
    return found


def _whole(reports: NDArray[Any], most: int) -> BoolArray:
    if reports.dtype.kind in "iu":
        inside: BoolArray = (reports >= 0) & (reports <= most)
        return inside
    return np.array([type(one) is int and 0 <= one <= most for one in reports], dtype=np.bool_)


def _shown(report: Any) -> object:
    if isinstance(report, np.ndarray):
        return report.tobytes().hex()
    return report.hex() if isinstance(report, bytes) else report.item() if isinstance(report, np.generic) else report
