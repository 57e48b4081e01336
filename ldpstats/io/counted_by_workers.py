"""Counts by workers: report files in parts, and Dask data frames of reports by partition, counted on a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.io.columns import Source
from ldpstats.io.counted_files import Count, refuse_same_collections
from ldpstats.io.parquet_files import ParquetSource
from ldpstats.io.quarantines import Quarantine, SetAside, refuse_mostly_bad
from ldpstats.io.row_files import FrameSource
from ldpstats.io.sources import STANDARD, open_source, opened_sources
from ldpstats.io.tokens import REFUSE, RepeatedTokens
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import Counting
from ldpstats.protocols.partitions import added_up, is_partitioned
from ldpstats.tables import TableSet
from ldpstats.workers import done

_GROUPS = 8
"""How many row groups of a file one worker counts at a time."""


@dataclass(frozen=True, slots=True)
class _FilePart:
    """A part of a file for a worker: `stop` is the end of its last chunk, None the end of the file."""

    file: str
    known_by: object
    start: int = 0
    stop: int | None = None


@dataclass(slots=True, eq=False)
class _Counted:
    """What workers counted: `bad` rows as for `Quarantine.add`, and how many messages had no token (`unnamed`)."""

    counting: Counting
    rows: int = 0
    bad: list[tuple[str, str, str, str]] = field(default_factory=list)
    unnamed: int = 0

    def add(self, other: _Counted) -> None:
        """Add what another worker counted."""
        self.counting.add(other.counting)
        self.rows, self.bad, self.unnamed = self.rows + other.rows, self.bad + other.bad, self.unnamed + other.unnamed


def counted_by_workers(reports: Any, protocol: LocalProtocol, quarantine: str | Path | None) -> TableSet:
    """Count files in parts, or a Dask data frame by partition, on a cluster: the same tables as in one place."""
    with ExitStack() as opened:
        aside = None if quarantine is None else opened.enter_context(Quarantine(quarantine))
        if is_partitioned(reports):
            whole = _of_partitions(reports, protocol, keep=aside is not None)
            _write(whole, aside, "data frame")
            tables = whole.counting.tables(set_aside=len(whole.bad))
        else:
            sources = opened.enter_context(opened_sources(reports))
            refuse_same_collections(sources)
            tables = _of_files(sources, protocol, aside)
        if aside is not None:
            aside.settled()
        return tables


def _of_files(sources: list[Source], protocol: LocalProtocol, aside: Quarantine | None) -> TableSet:
    file_parts = []
    for source in sources:
        if type(source) is FrameSource or source.name == STANDARD:
            raise LdpstatsError(
                "a data frame in memory or standard input for the workers of a cluster",
                "files that the workers can open, or a Dask data frame",
            )
        source.fits(protocol)  # a file of another protocol is refused before anything is counted
        file_parts += _parts_of(source)
    work = partial(_count_part, protocol, aside is not None)
    # each file is one collection of a protocol in which questions depend on earlier answers
    countings, set_aside, unnamed = [protocol.counting()], 0, 0
    counted = zip(file_parts, done(work, file_parts, "counting", "part"), strict=True)
    for file, parts in groupby(counted, key=lambda pair: pair[0].file):
        whole = _Counted(countings[-1])
        for _, of_part in parts:
            whole.add(of_part)
        _write(whole, aside, file)
        set_aside, unnamed = set_aside + len(whole.bad), unnamed + whole.unnamed
        if protocol.adaptive and file != sources[-1].name:
            countings.append(protocol.counting())
    first, *more = countings
    tables = sum((counting.tables() for counting in more), first.tables(set_aside=set_aside))
    check = RepeatedTokens(sum(counting.n for counting in countings), 0, unnamed)
    return tables.replaced(checks=(*tables.checks, check)) if unnamed else tables


def _parts_of(source: Source) -> list[_FilePart]:
    """Divide a Parquet file by row groups; other files are counted whole."""
    if not isinstance(source, ParquetSource):
        return [_FilePart(source.name, _known_by(source))]
    starts = range(0, max(source.groups, 1), _GROUPS)
    known_by = _known_by(source)
    return [_FilePart(source.name, known_by, start, min(start + _GROUPS, source.groups)) for start in starts]


def _known_by(source: Source) -> object:
    """Return what identifies a file to workers: a digest of a Parquet file; of others, the collection is enough."""
    return source.about if isinstance(source, ParquetSource) else source.identity


def _of_partitions(frame: Any, protocol: LocalProtocol, *, keep: bool) -> _Counted:
    from dask.delayed import delayed

    used, count = delayed(protocol), delayed(_count_partition, pure=False)
    parts = [count(used, keep, part, f"partition {number}") for number, part in enumerate(frame.to_delayed())]
    whole: _Counted = added_up(parts, partial(_added, protocol))
    return whole


def _count_part(protocol: LocalProtocol, keep: bool, part: _FilePart) -> _Counted:
    source = open_source(part.file)
    if _known_by(source) != part.known_by:
        raise ReportError(
            f"the file {part.file!r}, which is another one to a worker than where the count began",
            "files that all workers see under the same names, and that do not change meanwhile",
        )
    return _count(source, protocol, keep, part.start, part.stop)


def _count_partition(protocol: LocalProtocol, keep: bool, frame: pd.DataFrame, name: str) -> _Counted:
    return _count(FrameSource([frame], name), protocol, keep)


def _count(source: Source, protocol: LocalProtocol, keep: bool, start: int = 0, stop: int | None = None) -> _Counted:
    aside = SetAside() if keep else None
    counting, rows, unnamed = Count([source], protocol, REFUSE).part(start, stop, aside)
    return _Counted(counting, rows, aside.rows if aside else [], unnamed)


def _added(protocol: LocalProtocol, parts: Iterable[_Counted]) -> _Counted:
    """Add counts in a new object, for Dask may run the same sum again."""
    whole = _Counted(protocol.counting())
    for counted in parts:
        whole.add(counted)
    return whole


def _write(whole: _Counted, aside: Quarantine | None, name: str) -> None:
    """Write the rows that were set aside to the quarantine."""
    refuse_mostly_bad(name, len(whole.bad), whole.rows, over=True)
    for row in whole.bad:
        assert aside is not None  # else the first bad row is an error
        aside.add(*row)
