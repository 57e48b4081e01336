"""Layouts: in what form the reports of a protocol stand in a file, and how its columns become rows to count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.numbers.arrays import IntArray
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRow, SentRows, at_places, unknown_rows
from ldpstats.protocols.wire import Reason, report_size, to_bytes

_CALCULATED = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet calculates, in full width too; or whose beginning it drops."""


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Byte strings of several rows in one array: row i is data[starts[i] : ends[i]]."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def taken(self, places: IntArray) -> Ragged:
        """Return the rows at some places, without copying their bytes."""
        return Ragged(self.data, self.starts[places], self.ends[places])

    def text(self, place: int) -> str:
        """Decode one row as text."""
        return bytes(self.data[self.starts[place] : self.ends[place]]).decode(errors="replace")

    @property
    def unquoted(self) -> Ragged:
        """The rows without the leading quote that `no_formula` put before them."""
        some = np.flatnonzero(self.starts < self.ends)
        starts = self.starts.copy()
        starts[some] += self.data[starts[some]] == ord("'")
        return Ragged(self.data, starts, self.ends)


def no_formula(text: str) -> str:
    """Return a text as a CSV cell that is safe to open (CSV injection): quoted where a spreadsheet would calculate it.

    A text that begins with a quote gets one, too, so that dropping the first quote always restores the text.
    """
    return f"'{text}" if text.startswith(_CALCULATED) else text


@dataclass(frozen=True)
class Layout:
    """The form of a protocol's reports in files: all whole numbers, all bytes of one length, or mixed."""

    rows: tuple[SentRow, ...]
    blocks: bool  # whether rows name their block

    @classmethod
    def of(cls, protocol: LocalProtocol) -> Layout:
        """Return the layout of a protocol's files."""
        return cls(protocol.sent_rows, protocol.adaptive)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of the reports in each row; 0 where they are whole numbers."""
        return np.array([report_size(one.wire.report_format) or 0 for one in self.rows], dtype=np.int64)

    @property
    def size(self) -> int | None:
        """Bytes of every report, 0 if they are whole numbers; None where reports differ."""
        first = int(self.sizes[0])
        return first if np.all(self.sizes == first) else None

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Bytes of the reports in each row, whole numbers too."""
        items = np.array([one.wire.report_format.dtype.itemsize for one in self.rows], dtype=np.int64)
        return np.where(self.sizes > 0, self.sizes, items)

    @property
    def number(self) -> np.dtype[Any]:
        """The type of a column of whole numbers."""
        return np.dtype(f"<u{int(self.widths.max())}")

    @property
    def row_number(self) -> np.dtype[Any]:
        """The type of the column of row numbers."""
        # one number more than there are rows stands for one that is none
        return np.dtype(np.min_scalar_type(len(self.rows)))

    def written(self, row: int, data: NDArray[Any]) -> NDArray[Any]:
        """Return the reports in one row (by number) as the file holds them: whole numbers, or rows of bytes."""
        if self.sizes[row]:
            return to_bytes(data, self.rows[row].wire.report_format)
        if self.size == 0:
            return data.astype(self.number, copy=False)
        own = data.astype(f"<u{int(self.widths[row])}")
        return own.view(np.uint8).reshape(len(own), own.itemsize)

    def wrong_lengths(self, rows: IntArray, reports: Ragged) -> dict[int, Reason]:
        """Return, by place, why reports are refused whose length is not that of their row; all rows must be known."""
        widths, lengths = self.widths[rows], reports.ends - reports.starts
        return {
            int(place): Reason(f"a report of {lengths[place]} bytes", f"one of {widths[place]} bytes")
            for place in np.flatnonzero(lengths != widths)
        }

    def by_form(self, rows: IntArray, reports: Ragged) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Yield the places and the array of reports of each form; rows must be known, and lengths right."""
        from ldpstats.numbers import kernels

        kinds = np.flatnonzero(np.bincount(rows, minlength=len(self.rows)))
        forms = sorted({(not self.sizes[kind], int(self.widths[kind])) for kind in kinds})
        of_rows = np.array([2 * width + (not size) for width, size in zip(self.widths, self.sizes, strict=True)])[rows]
        for number, width in forms:
            places = np.flatnonzero(of_rows == 2 * width + number)
            raw = np.empty((len(places), width), dtype=np.uint8)
            kernels.copy_pieces(reports.data, at_places(reports.starts, places), raw)
            yield places, raw.view(f"<u{width}").ravel() if number else raw


def counted_columns(
    layout: Layout,
    identity: str,
    rows: NDArray[Any],
    reports: NDArray[Any] | Ragged,
    simulated: Any,
    blocks: NDArray[Any] | None,
) -> tuple[list[tuple[NDArray[np.int64] | None, SentRows]], dict[int, Reason]]:
    """Return columns of a file as rows to count, with their places, and why other rows have the wrong form.

    Respondents are numbered by their order. `rows` are numbers of the protocol's rows.
    """
    whole = SentRows(identity, rows, rows, None, simulated, None if blocks is None else blocks.astype(np.int64))
    if not isinstance(reports, Ragged):
        return [(None, replace(whole, reports=reports))], {}
    bad = unknown_rows(whole, layout.rows)
    known = np.delete(np.arange(len(rows)), list(bad))
    wrong = layout.wrong_lengths(rows[known], reports.taken(known))
    bad |= {int(known[place]): reason for place, reason in wrong.items()}
    fine = np.delete(known, list(wrong))
    sent: list[tuple[NDArray[np.int64] | None, SentRows]] = []
    for places, own in layout.by_form(rows[fine], reports.taken(fine)):
        here = fine[places]
        sent.append((here, replace(whole.taken(here), reports=own)))
    return sent, bad
