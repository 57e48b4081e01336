"""Block counts: what respondents of RRBA sent, counted by group and block; the fakes of all blocks follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.mechanisms import ReportFormat
from ldpstats.numbers.arrays import BoolArray
from ldpstats.protocols.counting import (
    Respondents,
    SentRow,
    SentRows,
    bad_reports,
    by_row,
    read_times,
    refuse_bad_rows,
    without_rows,
)
from ldpstats.protocols.wire import Reason
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import RespondentSet

BlocksOfRow: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The reports about a group, a row for each block; and how many of a block's respondents drew from a seed."""
_LARGEST_BLOCK = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class CellsOfGroup:
    """Reports about a group: numbers of cells."""

    cells: int

    @property
    def report_format(self) -> ReportFormat:
        """One whole number."""
        return ReportFormat(np.dtype(np.int64))

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Mask of the numbers that are those of cells."""
        known: BoolArray = reports < self.cells
        return known

    def __str__(self) -> str:
        return f"respondents asked for one of {self.cells} cells"


class BlockCounts:
    """Running counts by group and block: `Counting` for RRBA.

    Every group is a row with so many `cells`; `make_tables` takes the blocks and the respondents of all rows.
    """

    def __init__(
        self,
        rows: Sequence[SentRow],
        cells: Sequence[int],
        make_tables: Callable[[Sequence[BlocksOfRow], Sequence[RespondentSet]], TableSet],
    ) -> None:
        self._rows, self._cells, self._make_tables = rows, cells, make_tables
        self._counts: list[Counter[int]] = [Counter() for _ in rows]
        self._simulated: list[Counter[int]] = [Counter() for _ in rows]
        self._respondents = Respondents(rows)

    @property
    def n(self) -> int:
        """How many rows were counted."""
        return sum(counts.total() for counts in self._counts)

    def bad_rows(self, rows: SentRows) -> dict[int, Reason]:
        """Return, by their places, why rows cannot be counted."""
        reasons, blocks = bad_reports(rows, self._rows), _blocks_of(rows)
        for position in np.flatnonzero((blocks < 0) | (blocks > _LARGEST_BLOCK)).tolist():
            reasons.setdefault(position, Reason(f"the block {blocks[position]}", "numbers of blocks, from 0"))
        return dict(sorted(reasons.items()))

    def take(self, rows: SentRows) -> None:
        """Count all of these rows or, naming its place, refuse one that no client can have sent."""
        refuse_bad_rows(self.bad_rows, rows)
        blocks, counted = _blocks_of(rows), [0] * len(self._rows)
        simulated = np.broadcast_to(np.asarray(rows.simulated), len(rows))
        for row, places in by_row(rows.rows):
            cells = blocks[places] * self._cells[row] + rows.reports[places].astype(np.int64)
            self._counts[row].update(_how_often(cells))
            self._simulated[row].update(_how_often(blocks[places][simulated[places]]))
            counted[row] = len(places)
        self._respondents.take(rows, counted)

    def add(self, other: Self) -> None:
        """Add counts of the same protocol: of other rows of these collections, or of other collections."""
        self._respondents.add(other._respondents)
        for mine, theirs in ((self._counts, other._counts), (self._simulated, other._simulated)):
            for own, more in zip(mine, theirs, strict=True):
                own.update(more)

    def tables(self, set_aside: int = 0) -> TableSet:
        """Return the tables; every row of a collection must have been counted, since fakes follow from all before."""
        blocks = [self._blocks(row) for row in range(len(self._rows))]
        return without_rows(self._make_tables(blocks, self._respondents.parts()), set_aside)

    def _blocks(self, row: int) -> BlocksOfRow:
        counts, cells = self._counts[row], self._cells[row]
        blocks, n = max(counts, default=-1) // cells + 1, counts.total()
        if blocks > n:
            raise ReportError(f"{n} rows in {blocks} blocks", "no empty block", "Rows are missing.")
        table, simulated = np.zeros(blocks * cells, dtype=np.int64), np.zeros(blocks, dtype=np.int64)
        for array, known in ((table, counts), (simulated, self._simulated[row])):
            array[list(known)] = list(known.values())
        return table.reshape(blocks, cells), simulated

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for `restore`."""
        kept = {
            "counts": [sorted(counts.items()) for counts in self._counts],
            "simulated": [sorted(counts.items()) for counts in self._simulated],
        }
        return {**kept, "respondents": self._respondents.to_dict()}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` returned."""
        if len(plain["counts"]) != len(self._rows) or len(plain["simulated"]) != len(self._rows):
            raise LdpstatsError(f"counts of {len(plain['counts'])} rows", f"of the {len(self._rows)} of this protocol")
        blocks = _LARGEST_BLOCK + 1
        self._counts = [read_times(own, blocks * n) for own, n in zip(plain["counts"], self._cells, strict=True)]
        self._simulated = [read_times(own, blocks) for own in plain["simulated"]]
        self._respondents.restore(plain["respondents"])
        self._respondents.refuse_other_numbers([own.total() for own in self._counts])
        for own, cells, simulated in zip(self._counts, self._cells, self._simulated, strict=True):
            of_blocks = Counter[int]()
            for cell, times in own.items():
                of_blocks[cell // cells] += times
            if simulated - of_blocks:
                raise LdpstatsError("more simulated rows of a block than it has", "some of them, or all")


def _blocks_of(rows: SentRows) -> NDArray[np.int64]:
    if rows.blocks is None:
        raise ReportError("reports without a column 'block'", "the rows as they were sent")
    return rows.blocks


def _how_often(keys: NDArray[np.int64]) -> dict[int, int]:
    different, times = np.unique(keys, return_counts=True)
    return dict(zip(different.tolist(), times.tolist(), strict=True))
