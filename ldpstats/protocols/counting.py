"""Counting: rows of reports as arrays, taken chunk by chunk into counts that add up exactly, in any order."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import BoolArray, IntArray, at_least
from ldpstats.protocols.wire import Reason, Sendable, from_bytes, report_size, to_bytes
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.registered import fits
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import RespondentSet

_LOOKED_AT = 1 << 14
"""Rows at once of which it is kept why they are bad."""


@dataclass(frozen=True, slots=True)
class SentRow:
    """One kind of row that respondents of a protocol send."""

    label: str  # what rows are called in data frames and files
    wire: Sendable
    unit: int  # respondents who are asked this unit send all of its rows


@dataclass(frozen=True)
class Layout:
    """The column in which reports of a protocol stand: whole numbers, or as many bytes as the widest report takes."""

    rows: tuple[SentRow, ...]
    blocks: bool = False  # whether rows name their block

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Bytes of a report in each row of the protocol."""
        return np.array([report_size(row.wire.report_format) for row in self.rows], dtype=np.int64)

    @cached_property
    def are_numbers(self) -> BoolArray:
        """Mask of the protocol's rows whose reports are whole numbers."""
        return np.array([row.wire.report_format.width is None for row in self.rows], dtype=np.bool_)

    @cached_property
    def width(self) -> int:
        """Bytes of the widest report; 0 where all are whole numbers."""
        return 0 if self.are_numbers.all() else int(self.widths.max())

    @cached_property
    def number(self) -> np.dtype[Any]:
        """The type of a column of whole numbers."""
        return np.dtype(f"<u{int(self.widths.max())}")

    def column(self, n: int) -> NDArray[Any]:
        """Return a column for n reports, with zeros in it."""
        return np.zeros((n, self.width), dtype=np.uint8) if self.width else np.zeros(n, dtype=self.number)

    def put(self, column: NDArray[Any], places: Any, row: int, data: NDArray[Any]) -> None:
        """Write reports in one row (by number) of the protocol, as their mechanism has them, to their places."""
        if self.width:
            column[places, : self.widths[row]] = to_bytes(data, self.rows[row].wire.report_format)
        else:
            column[places] = data


@dataclass(frozen=True, slots=True, eq=False)
class SentRows:
    """Rows of reports as columns."""

    # of the collection, 32 hexadecimal digits; where rows have numbers, also one for each row
    identity: str | NDArray[np.object_]
    rows: NDArray[Any]  # numbers of the protocol's rows
    reports: NDArray[Any]  # a column as the protocol's `Layout` has it
    # respondents' places among those who were asked the same; where None, respondents are numbered as they are counted,
    # so that all rows of the collection must be here, or be counted together
    numbers: NDArray[np.int64] | None = None
    simulated: bool | BoolArray = False  # drawn from a seed
    blocks: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, places: NDArray[Any] | slice) -> SentRows:
        """Return the rows in some places."""
        columns = (getattr(self, column.name) for column in fields(self))
        return SentRows(*(values[places] if isinstance(values, np.ndarray) else values for values in columns))


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
        self._numbered: list[list[RespondentSet]] = [[] for _ in rows]
        self._unnumbered: dict[str, Counter[int]] = {}

    def take(self, rows: SentRows, counted: Iterable[int]) -> None:
        """Note who sent these rows, `counted` of each kind."""
        if rows.numbers is None:
            for row, n in enumerate(counted):
                self.take_whole(row, str(rows.identity), n)
            return
        for row, places in by_row(rows.rows):
            unit, numbers = self._rows[row].unit, rows.numbers[places]
            identity = rows.identity if isinstance(rows.identity, str) else pd.Series(rows.identity[places])
            self._numbered[row].append(RespondentSet.numbered(identity, unit, numbers))

    def take_whole(self, row: int, identity: str, n: int) -> None:
        """Note that n further respondents of a collection sent a row of one kind."""
        if n:
            self._unnumbered.setdefault(identity, Counter())[row] += n

    def add(self, other: Respondents) -> None:
        """Add those of other rows; refuse those of another protocol."""
        if [row.label for row in other._rows] != [row.label for row in self._rows]:
            raise LdpstatsError("counts of another protocol", "counts of the same protocol")
        for own, more in zip(self._numbered, other._numbered, strict=True):
            own.extend(more)
        for identity, counted in other._unnumbered.items():
            self._unnumbered.setdefault(identity, Counter()).update(counted)

    def parts(self) -> list[RespondentSet]:
        """Return the respondents behind every kind of row; refuse respondents who are counted twice."""
        unit = [row.unit for row in self._rows]
        whole = [
            [RespondentSet.whole(identity, unit[row], counted[row]) for identity, counted in self._unnumbered.items()]
            for row in range(len(self._rows))
        ]
        self._numbered = [[RespondentSet.together(own)] for own in self._numbered]
        return [RespondentSet.together([*own, *more]) for own, more in zip(self._numbered, whole, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for `restore`."""
        numbered = encoded(tuple(map(RespondentSet.together, self._numbered)))
        counted = {identity: sorted(rows.items()) for identity, rows in self._unnumbered.items()}
        return {"numbered": numbered, "counted": counted}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        numbered, counted = decoded(plain["numbered"]), plain["counted"]
        if not fits(numbered, tuple[RespondentSet, ...]) or not isinstance(counted, dict):
            raise LdpstatsError("respondents of another form", "sets of them, and numbers by collection")
        units = [{row.unit} for row in self._rows]
        if any({unit for *_, unit in own.asked} - unit for own, unit in zip(numbered, units, strict=True)):
            raise LdpstatsError("respondents who were asked something else", "those of the row's own unit")
        self._numbered = [[own] for own in numbered]
        self._unnumbered = {
            # a collection is one by its name
            RespondentSet.whole(identity, 0, 1).collections[0]: read_times(rows, len(self._rows))
            for identity, rows in counted.items()
        }

    def refuse_other_numbers(self, counted: Sequence[int]) -> None:
        """Refuse counts, one for every kind of row, that are not as many as the respondents."""
        sent = [
            sum(respondents.n for respondents in own) + sum(rows[row] for rows in self._unnumbered.values())
            for row, own in enumerate(self._numbered)
        ]
        if sent != list(counted):
            raise LdpstatsError(f"counts of {list(counted)} rows from {sent} respondents", "a row of each")


def read_times(plain: Sequence[Sequence[Any]], most: int) -> Counter[int]:
    """Read the sorted items of a counter of numbers below `most`."""
    times = {at_least(number, 0, "a number", most=most - 1): at_least(n, 0, "how often it came") for number, n in plain}
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
        for position, reason in bad_rows(rows.taken(slice(start, start + _LOOKED_AT))).items():
            raise reason.error(f"row {start + position}")


def unknown_rows(rows: IntArray, kinds: Sequence[SentRow]) -> dict[int, Reason]:
    """Return, by their places, why rows are refused whose number is none of the protocol's."""
    allowed = f"from 0 to {len(kinds) - 1}, for {kinds[0].label!r} to {kinds[-1].label!r}"
    return {
        int(position): Reason(f"the number {rows[position]} of a row of the protocol", allowed)
        for position in np.flatnonzero(rows >= len(kinds))
    }


def bad_reports(rows: SentRows, kinds: Sequence[SentRow]) -> dict[int, Reason]:
    """Return, by their places, why rows are refused: for their row of the protocol, or as reports in it."""
    reasons = unknown_rows(rows.rows, kinds)
    known = np.flatnonzero(rows.rows < len(kinds))
    for row, places in by_row(rows.rows[known]):
        here, wire = known[places], kinds[row].wire
        reports = rows.reports[here]
        data, possible = decoded_reports(reports, wire)
        for position in np.flatnonzero(~possible).tolist():
            reasons[int(here[position])] = impossible((data if reports.ndim > 1 else reports)[position].tolist(), wire)
    return dict(sorted(reasons.items()))


def impossible(report: object, wire: Sendable) -> Reason:
    """Return why a report is refused that cannot have been sent."""
    advice = "Check that client and server use the same protocol."
    return Reason(f"the report {report!r}", f"reports that {wire} can send", advice)


def decoded_reports(reports: NDArray[Any], wire: Sendable) -> tuple[NDArray[Any], BoolArray]:
    """Return the reports of one kind in a column as their mechanism has them, and which of them are possible."""
    form = wire.report_format
    if reports.ndim > 1:
        data = from_bytes(reports[:, : report_size(form)], form)
        return data, wire.possible(data)
    fits = (reports >= 0) & (reports <= np.iinfo(form.dtype).max)
    data = (reports if fits.all() else np.where(fits, reports, 0)).astype(form.dtype, copy=False)
    return data, fits & wire.possible(data)


def at_places(array: NDArray[Any], places: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the entries in increasing places, without a copy where these follow each other."""
    n = len(places)
    consecutive = n > 0 and int(places[-1]) - int(places[0]) == n - 1
    entries: NDArray[Any] = array[int(places[0]) : int(places[0]) + n] if consecutive else array[places]
    return entries
