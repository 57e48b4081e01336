"""Counting: rows of reports as arrays, taken chunk by chunk into counts that add up exactly, in any order."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, IntArray, at_least
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import ReportFormat
from ldpstats.parts import Parts
from ldpstats.protocols.wire import Reason, Sendable, from_bytes, report_size
from ldpstats.tables import TableSet

_LOOKED_AT = 1 << 14
"""Rows at once of which it is kept why they are bad."""


@dataclass(frozen=True, slots=True)
class SentRow:
    """What one row of a respondent's reports answers.

    Parameters
    ----------
    label : str
        What rows are called in data frames and files.
    wire : Sendable
        What can be sent.
    unit : int
        The number of the unit that respondents were asked: they send all of its rows.
    """

    label: str
    wire: Sendable
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class SentRows:
    """Rows of one collection, as arrays.

    Parameters
    ----------
    identity : str
        That of the collection: 32 hexadecimal digits.
    rows : array of unsigned int
        Which of the protocol's rows each one is, by its number.
    reports : array
        Whole numbers; or a row of bytes each, where all reports take as many; or objects: whole numbers and bytes.
    numbers : array of int, optional
        The respondents' places among those who were asked the same. Without them respondents are numbered as they are
        counted, so that these must be all rows of the collection, or all are counted together.
    simulated : bool or array of bool
        Which of them came from a seed.
    blocks : array of int, optional
        In which block respondents were asked, where a protocol has blocks.
    """

    identity: str
    rows: NDArray[Any]
    reports: NDArray[Any]
    numbers: NDArray[np.int64] | None = None
    simulated: bool | BoolArray = False
    blocks: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, places: NDArray[Any]) -> SentRows:
        """Return some of the rows.

        Parameters
        ----------
        places : array of int or bool
            Which.
        """
        rest = {name: getattr(self, name) for name in ("numbers", "blocks", "simulated")}
        own = {name: value[places] if isinstance(value, np.ndarray) else value for name, value in rest.items()}
        return replace(self, rows=self.rows[places], reports=self.reports[places], **own)

    def simulated_at(self, places: NDArray[np.intp]) -> int:
        """Return how many of the rows in some places came from a seed.

        Parameters
        ----------
        places : array of int
        """
        if isinstance(self.simulated, np.ndarray):
            return int(self.simulated[places].sum())
        return len(places) * self.simulated


@dataclass(frozen=True, slots=True, eq=False)
class SentReports:
    """What several respondents sent in one row of a protocol.

    Parameters
    ----------
    row : int
        The number of the protocol's row.
    data : array
        The reports, as their mechanism has them.
    people : array of int
        Which respondents of the frame they are, in the order in which they are numbered.
    blocks : array of int, optional
        In which block they were asked, where a protocol has blocks.
    """

    row: int
    data: NDArray[Any]
    people: NDArray[np.integer[Any]]
    blocks: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sending:
    """What all respondents of a collection sent.

    Parameters
    ----------
    identity : str
        That of the collection: 32 hexadecimal digits.
    simulated : bool
        Whether it came from a seed.
    reports : sequence of SentReports
    """

    identity: str
    simulated: bool
    reports: Sequence[SentReports]


class Counting(typing.Protocol):
    """What was counted so far of the rows that respondents of a protocol sent."""

    def bad_rows(self, rows: SentRows) -> dict[int, Reason]:
        """Return why the rows in some places cannot be counted.

        Parameters
        ----------
        rows : SentRows
        """

    def take(self, rows: SentRows) -> None:
        """Count rows, all of them or none: a row that no client can have sent is refused, naming its place.

        Parameters
        ----------
        rows : SentRows
        """

    def add(self, other: typing.Self) -> None:
        """Add what was counted elsewhere of the same collections' other rows, or of other collections.

        Parameters
        ----------
        other : Counting
            Of the same protocol.
        """

    @property
    def n(self) -> int:
        """How many rows were counted."""

    def tables(self, set_aside: int = 0) -> TableSet:
        """Return the tables of all that was counted.

        Parameters
        ----------
        set_aside : int
            How many rows were not counted, because they could not be read: every result says so.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, from which `restore` goes on."""

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned.

        Parameters
        ----------
        plain : dict
        """


class Respondents:
    """Whose rows were counted: those with numbers by their places, all others by how many there are of each row.

    Parameters
    ----------
    rows : sequence of SentRow
    """

    def __init__(self, rows: Sequence[SentRow]) -> None:
        self._rows = rows
        self._numbered: list[list[Parts]] = [[] for _ in rows]
        self._unnumbered: dict[str, Counter[int]] = {}

    def take(self, row: int, identity: str, numbers: NDArray[np.int64] | None, n: int) -> None:
        """Note who sent n rows of one kind.

        Parameters
        ----------
        row : int
            Which of the protocol's rows.
        identity : str
        numbers : array of int, optional
            The respondents' places.
        n : int
        """
        if numbers is None:
            self._unnumbered.setdefault(identity, Counter())[row] += n
        elif n:
            self._numbered[row].append(Parts.numbered_in(identity, self._rows[row].unit, numbers))

    def add(self, other: Respondents) -> None:
        """Add those of other rows; refuse those of another protocol.

        Parameters
        ----------
        other : Respondents
        """
        if [one.label for one in other._rows] != [one.label for one in self._rows]:
            raise LdpstatsError("counts of another protocol", "counts of the same protocol")
        for own, more in zip(self._numbered, other._numbered, strict=True):
            own.extend(more)
        for identity, counted in other._unnumbered.items():
            self._unnumbered.setdefault(identity, Counter()).update(counted)

    def parts(self) -> list[Parts]:
        """Return the respondents behind every row; refuse some that are there twice."""
        unit = [one.unit for one in self._rows]
        whole = [
            [Parts.whole(identity, unit[row], counted[row]) for identity, counted in self._unnumbered.items()]
            for row in range(len(self._rows))
        ]
        self._numbered = [[Parts.together(own)] for own in self._numbered]
        return [Parts.together([*own, *more]) for own, more in zip(self._numbered, whole, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        numbered = [Parts.together(own).to_list() for own in self._numbered]
        counted = {identity: sorted(rows.items()) for identity, rows in self._unnumbered.items()}
        return {"numbered": numbered, "counted": counted}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned.

        Parameters
        ----------
        plain : dict
        """
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
        """Refuse counts of more or fewer rows of a kind than came from these respondents.

        Parameters
        ----------
        counted : sequence of int
            How many rows of every kind were counted.
        """
        sent = [
            sum(one.n for one in own) + sum(rows[row] for rows in self._unnumbered.values())
            for row, own in enumerate(self._numbered)
        ]
        if sent != list(counted):
            raise LdpstatsError(f"counts of {list(counted)} rows from {sent} respondents", "a row of each")


def read_times(plain: Sequence[Sequence[Any]], most: int) -> Counter[int]:
    """Read how often each number below a limit was counted, from what `sorted(counter.items())` was.

    Parameters
    ----------
    plain : list of [int, int]
    most : int
        The limit.
    """
    times = {at_least(one, 0, "a number", most=most - 1): at_least(n, 0, "how often it came") for one, n in plain}
    if len(times) < len(plain):
        raise LdpstatsError(f"{len(plain)} counts of {len(times)} numbers", "one of each")
    return Counter(times)


def without_rows(tables: TableSet, set_aside: int) -> TableSet:
    """Return tables that say how many rows of their collection were set aside.

    Parameters
    ----------
    tables : TableSet
    set_aside : int
    """
    if not set_aside:
        return tables
    said = [replace(table, privacy=replace(table.privacy, set_aside=set_aside)) for table in tables]
    return tables.replaced(tables=said, privacy=replace(tables.privacy, set_aside=set_aside))


def by_row(rows: IntArray) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Return the places of the rows of every kind that occurs.

    Parameters
    ----------
    rows : array of int
        Which kind each one is.
    """
    counts = np.bincount(rows)
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(counts)
    return ((row, order[ends[row] - counts[row] : ends[row]]) for row in np.flatnonzero(counts).tolist())


def refuse_bad_rows(bad_rows: Callable[[SentRows], dict[int, Reason]], rows: SentRows) -> None:
    """Refuse the first bad row, looking at no more rows than it takes.

    Parameters
    ----------
    bad_rows : callable
        Says why the rows in some places cannot be counted.
    rows : SentRows
    """
    for start in range(0, len(rows), _LOOKED_AT):
        for place, reason in bad_rows(rows.taken(np.arange(start, min(start + _LOOKED_AT, len(rows))))).items():
            raise reason.error(f"row {start + place}")


def unknown_rows(rows: SentRows, kinds: Sequence[SentRow]) -> dict[int, Reason]:
    """Return why rows are refused that are none of the protocol's.

    Parameters
    ----------
    rows : SentRows
    kinds : sequence of SentRow
    """
    allowed = f"from 0 to {len(kinds) - 1}, for {kinds[0].label!r} to {kinds[-1].label!r}"
    return {
        int(place): Reason(f"the number {rows.rows[place]} of a row of the protocol", allowed)
        for place in np.flatnonzero(rows.rows >= len(kinds))
    }


def decoded_reports(
    reports: NDArray[Any], wire: Sendable, places: Iterable[int]
) -> tuple[NDArray[Any], dict[int, Reason]]:
    """Return reports of one form as their mechanism has them, and why those in some places are none.

    Parameters
    ----------
    reports : array
        As in `SentRows`.
    wire : Sendable
    places : iterable of int
        Their places, for the reasons.
    """
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
    """Say which reports are whole numbers, or bytes, of this form."""
    if reports.ndim == 2:
        return np.full(len(reports), size == reports.shape[1])
    if size is None:
        return _whole(reports, int(np.iinfo(form.dtype).max))
    return np.array([isinstance(one, bytes) and len(one) == size for one in reports], dtype=np.bool_)


def _of_form(reports: NDArray[Any], form: ReportFormat, size: int | None) -> NDArray[Any]:
    """Return reports that fit as their mechanism has them."""
    if size is None:
        return reports.astype(form.dtype, copy=False)
    raw = reports if reports.ndim == 2 else np.frombuffer(b"".join(reports), np.uint8)
    return from_bytes(raw.reshape(len(reports), size), form)


def at_places(array: NDArray[Any], places: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return an array's entries in increasing places; where these follow each other, without copying them.

    Parameters
    ----------
    array : array
    places : array of int

    Examples
    --------
    >>> at_places(np.arange(5), np.array([1, 2])), at_places(np.arange(5), np.array([1, 3]))
    (array([1, 2]), array([1, 3]))
    """
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
