"""Layouts: in what form the reports of a protocol stand in a file, and how its columns become rows to count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import IntArray
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRow, SentRows, at_places, unknown_rows
from ldpstats.protocols.wire import Reason, report_size, to_bytes

_CALCULATED = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet calculates, in full width too; or whose beginning it drops."""


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Bytes of several rows, one behind the other.

    Parameters
    ----------
    data : array of uint8
    starts, ends : array of int64
        Where each row's bytes begin, and the place behind them.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def taken(self, places: IntArray) -> Ragged:
        """Return those of some rows.

        Parameters
        ----------
        places : array of int
        """
        return Ragged(self.data, self.starts[places], self.ends[places])

    def text(self, place: int) -> str:
        """Return those of one row as text.

        Parameters
        ----------
        place : int
        """
        return bytes(self.data[self.starts[place] : self.ends[place]]).decode(errors="replace")

    @property
    def unquoted(self) -> Ragged:
        """The texts of cells that `no_formula` returned."""
        some = np.flatnonzero(self.starts < self.ends)
        starts = self.starts.copy()
        starts[some] += self.data[starts[some]] == ord("'")
        return Ragged(self.data, starts, self.ends)


def no_formula(text: str) -> str:
    """Return a text as a cell of CSV that people may open: behind a quote where a spreadsheet would calculate it.

    So is one that begins with a quote: the text is always what stands behind the first one, if there is one.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> [no_formula(text) for text in ("0,7", "=1+1", "'tis")]
    ['0,7', "'=1+1", "''tis"]
    """
    return f"'{text}" if text.startswith(_CALCULATED) else text


@dataclass(frozen=True)
class Layout:
    """The form of a protocol's reports: all whole numbers, all bytes of one length, or both and different ones.

    Parameters
    ----------
    rows : tuple of SentRow
        The protocol's.
    blocks : bool
        Whether rows name their block.
    """

    rows: tuple[SentRow, ...]
    blocks: bool

    @classmethod
    def of(cls, protocol: LocalProtocol) -> Layout:
        """Return the layout of a protocol's files.

        Parameters
        ----------
        protocol : LocalProtocol
        """
        return cls(protocol.sent_rows, protocol.adaptive)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many bytes the reports in each row take; 0 where they are whole numbers."""
        return np.array([report_size(one.wire.report_format) or 0 for one in self.rows], dtype=np.int64)

    @property
    def size(self) -> int | None:
        """How many bytes every report takes, 0 if they are whole numbers; None where reports differ."""
        first = int(self.sizes[0])
        return first if np.all(self.sizes == first) else None

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """How many bytes the reports in each row take, whole numbers too."""
        items = np.array([one.wire.report_format.dtype.itemsize for one in self.rows], dtype=np.int64)
        return np.where(self.sizes > 0, self.sizes, items)

    @property
    def number(self) -> np.dtype[Any]:
        """The type of a column of whole numbers."""
        return np.dtype(f"<u{int(self.widths.max())}")

    @property
    def row_number(self) -> np.dtype[Any]:
        """The type of the column that names rows."""
        # one number more than there are rows stands for one that is none
        return np.dtype(np.min_scalar_type(len(self.rows)))

    def written(self, row: int, data: NDArray[Any]) -> NDArray[Any]:
        """Return reports in one row as they stand in the file: whole numbers, or rows of bytes.

        Parameters
        ----------
        row : int
            The number of the protocol's row.
        data : array
            The reports, as their mechanism has them.
        """
        if self.sizes[row]:
            return to_bytes(data, self.rows[row].wire.report_format)
        if self.size == 0:
            return data.astype(self.number, copy=False)
        own = data.astype(f"<u{int(self.widths[row])}")
        return own.view(np.uint8).reshape(len(own), own.itemsize)

    def wrong_lengths(self, rows: IntArray, reports: Ragged) -> dict[int, Reason]:
        """Return why reports are refused that have more or fewer bytes than those in their row.

        Parameters
        ----------
        rows : array of int
            The numbers of the protocol's rows, all known.
        reports : Ragged
            The bytes of every report.
        """
        widths, lengths = self.widths[rows], reports.ends - reports.starts
        return {
            int(place): Reason(f"a report of {lengths[place]} bytes", f"one of {widths[place]} bytes")
            for place in np.flatnonzero(lengths != widths)
        }

    def by_form(self, rows: IntArray, reports: Ragged) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Return reports of different forms, those of one form together: their places, and an array.

        Parameters
        ----------
        rows : array of int
            The numbers of the protocol's rows, all known.
        reports : Ragged
            The bytes of every report, as many as they should be.
        """
        from ldpstats import kernels

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
    """Return columns of a file as rows to count, with their places, and why others have no report of the right form.

    Respondents are numbered by their order.

    Parameters
    ----------
    layout : Layout
    identity : str
        That of the collection.
    rows : array of unsigned int
        The numbers of the protocol's rows.
    reports : array or Ragged
    simulated : bool or array of bool
    blocks : array, optional
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
