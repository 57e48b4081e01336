"""Row counts: what respondents of a protocol with assigned questions sent, counted row by row of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.noise import Tally
from ldpstats.protocols.counting import (
    Respondents,
    SentRow,
    SentRows,
    at_places,
    bad_reports,
    by_row,
    decoded_reports,
    refuse_bad_rows,
    without_rows,
)
from ldpstats.protocols.wire import Reason
from ldpstats.saving.codec import decoded, encoded
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import CrossedRows, RespondentSet

Sums: TypeAlias = Tally | CrossedRows
"""What adds up of the answers in one row of the protocol."""
Summed: TypeAlias = Callable[[NDArray[Any], int], Sums]
"""Counts reports in one row, so many of them simulated."""
MakeTables: TypeAlias = Callable[[Sequence[Sums], Sequence[RespondentSet]], TableSet]


class RowCounts:
    """Running counts by row of the protocol: `Counting` for assigned questions.

    `outputs` says, for each row, how many different reports there are if they are whole numbers that are counted one by
    one, else 0; `summed` what adds up its reports; `make_tables` takes the sums and the respondents of all rows.
    """

    def __init__(
        self, rows: Sequence[SentRow], outputs: Sequence[int], summed: Sequence[Summed], make_tables: MakeTables
    ) -> None:
        self._rows, self._summed, self._make_tables = rows, summed, make_tables
        self._outputs = np.array(outputs, dtype=np.int64)
        self._starts = np.cumsum(self._outputs) - self._outputs
        self._counts = np.zeros(int(self._outputs.sum()), dtype=np.int64)
        self._simulated = np.zeros(len(rows), dtype=np.int64)
        self._sums: list[Sums | None] = [None] * len(rows)
        self._respondents = Respondents(rows)

    @property
    def n(self) -> int:
        """How many rows were counted."""
        return int(self._counts.sum()) + sum(sums.n for sums in self._sums if sums is not None)

    def bad_rows(self, rows: SentRows) -> dict[int, Reason]:
        """Return, by their places, why rows cannot be counted."""
        return bad_reports(rows, self._rows)

    def take(self, rows: SentRows) -> None:
        """Count all of these rows or, naming its place, refuse one that no client can have sent."""
        at_once = rows.reports.ndim == 1 and self._outputs.all()
        counted = self._numbers_counted(rows) if at_once else self._others_counted(rows)
        if counted is None:
            refuse_bad_rows(self.bad_rows, rows)
        else:
            self._respondents.take(rows, counted)

    def _numbers_counted(self, rows: SentRows) -> list[int] | None:
        """Count reports that are whole numbers, at the speed of reading them; None if one is impossible."""
        from ldpstats.numbers import kernels

        counts = np.zeros_like(self._counts)
        if kernels.count_numbers(rows.rows, rows.reports, self._starts, self._outputs, counts):
            return None
        of_rows = np.add.reduceat(counts, self._starts)
        self._counts += counts
        if isinstance(rows.simulated, np.ndarray):
            self._simulated += np.bincount(rows.rows[rows.simulated], minlength=len(self._rows))
        elif rows.simulated:
            self._simulated += of_rows
        return [*of_rows.tolist()]

    def _others_counted(self, rows: SentRows) -> list[int] | None:
        """Count reports row by row of the protocol; None if one is impossible."""
        if np.any(rows.rows >= len(self._rows)):
            return None
        of_rows = []
        for row, places in by_row(rows.rows):
            data, possible = decoded_reports(at_places(rows.reports, places), self._rows[row].wire)
            if not possible.all():
                return None
            of_rows.append((row, places, data))
        counted = [0] * len(self._rows)
        for row, places, data in of_rows:
            said = rows.simulated
            simulated = said[places].sum() if isinstance(said, np.ndarray) else said * len(places)
            self._take_row(row, self._summed[row](data, int(simulated)))
            counted[row] = len(places)
        return counted

    def take_sums(self, row: int, sums: Sums, identity: str) -> None:
        """Count what all respondents of a collection sent in one row of the protocol, added up already."""
        self._take_row(row, sums)
        self._respondents.take_whole(row, identity, sums.n)

    def _take_row(self, row: int, sums: Sums) -> None:
        if self._outputs[row] and isinstance(sums, Tally):
            self._counts[self._own(row)] += sums.counts
            self._simulated[row] += sums.simulated
        else:
            known = self._sums[row]
            self._sums[row] = sums if known is None else _added(known, sums)

    def _own(self, row: int) -> slice:
        return slice(int(self._starts[row]), int(self._starts[row] + self._outputs[row]))

    def add(self, other: Self) -> None:
        """Add counts of the same protocol: of other rows of these collections, or of other collections."""
        self._respondents.add(other._respondents)
        self._counts += other._counts
        self._simulated += other._simulated
        for row, sums in enumerate(other._sums):
            if sums is not None:
                self._take_row(row, sums)

    def tables(self, set_aside: int = 0) -> TableSet:
        """Return the tables, which say how many rows were `set_aside` because they could not be read."""
        return without_rows(self._make_tables(list(self._all_sums()), self._respondents.parts()), set_aside)

    def _all_sums(self) -> Iterator[Sums]:
        for row in range(len(self._rows)):
            empty = self._nothing(row)
            if self._outputs[row] and isinstance(empty, Tally):
                own = self._counts[self._own(row)].copy()
                yield Tally(empty.noise, own, int(own.sum()), int(self._simulated[row]))
            else:
                yield self._sums[row] or empty

    def _nothing(self, row: int) -> Sums:
        """Return the sums of no reports."""
        form = self._rows[row].wire.report_format
        return self._summed[row](np.zeros(form.shape(0), form.dtype), 0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for `restore`."""
        kept = (self._counts, self._simulated, tuple(self._sums))
        return {"counts": encoded(kept), "respondents": self._respondents.to_dict()}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        counts, simulated, sums = decoded(plain["counts"])
        if not (isinstance(counts, np.ndarray) and isinstance(simulated, np.ndarray) and isinstance(sums, tuple)):
            raise LdpstatsError("counts of another form", "two arrays, and sums of rows")
        if {counts.dtype, simulated.dtype} != {np.dtype(np.int64)} or (
            (counts.shape, simulated.shape, len(sums)) != (self._counts.shape, self._simulated.shape, len(self._sums))
        ):
            raise LdpstatsError(f"counts of {len(sums)} rows", f"counts of the {len(self._rows)} rows of this protocol")
        if min(counts.min(initial=0), simulated.min(initial=0)) < 0:
            raise LdpstatsError("counts below zero", "numbers of rows")
        for row, own in enumerate(sums):
            if own is not None and (self._outputs[row] or not _alike(own, self._nothing(row))):
                raise LdpstatsError(f"sums of row {row} that are not its own", "sums of reports in this row")
        self._counts, self._simulated, self._sums = counts.copy(), simulated.copy(), list(sums)
        self._respondents.restore(plain["respondents"])
        # a tally checks what it is made of
        self._respondents.refuse_other_numbers([sums.n for sums in self._all_sums()])


def _alike(own: Any, empty: Sums) -> bool:
    """Say whether sums are of the same question and noise as those of a row without reports."""
    if isinstance(own, Tally) and isinstance(empty, Tally):
        return own.noise == empty.noise and own.counts.shape == empty.counts.shape
    if isinstance(own, CrossedRows) and isinstance(empty, CrossedRows):
        return own.asked == empty.asked and not own.parts.n
    return False


def _added(own: Sums, other: Sums) -> Sums:
    if isinstance(own, Tally) and isinstance(other, Tally):
        return own + other
    assert isinstance(own, CrossedRows)  # a row of a protocol has sums of one kind
    assert isinstance(other, CrossedRows)
    return own + other
