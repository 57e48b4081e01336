"""Planted bugs: counts of report files that lose rows or count them twice, and the check that sees each."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fuzzed_report_files
import numpy as np
from fuzzed_report_files import COUNTED, HalfCounted
from support.report_files import PROTOCOLS, people, with_digest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.io import counted_files
from ldpstats.io.counted_files import Count, _Done
from ldpstats.io.quarantines import Quarantine
from ldpstats.io.tokens import KnownTokens
from ldpstats.protocols.counting import Layout, Respondents, by_row, decoded_reports
from ldpstats.protocols.row_counts import RowCounts
from ldpstats.protocols.row_frames import take_frame
from ldpstats.protocols.wire import report_size

PLANTED: dict[str, tuple[type, str, Any, str]] = {}
"""For every bug: what is replaced, by what, and the check that must see it."""
REFUSED = LdpstatsError
SEVERAL_FORMS = PROTOCOLS["numbers and bytes"]


def caught_by(check: str, holder: type, name: str) -> Callable[[Any], Any]:
    """Add what stands in the place of a method, and the check that must see it."""

    def planted(bug: Any) -> Any:
        PLANTED[bug.__name__] = holder, name, bug, check
        return bug

    return planted


@contextmanager
def planted(name: str) -> Iterator[str]:
    """Plant a bug; yield the name of its check."""
    holder, method, bug, check = PLANTED[name]
    with patch.object(holder, method, bug):
        yield check


def of_each_form(folder: Path) -> None:
    """Of a chunk with reports of several forms, good and bad, each good row counts once."""
    for suffix in ("", "token"):
        path, bad = folder / f"good{suffix}.csv", folder / f"bad{suffix}.csv"
        ldp.write_reports(path, SEVERAL_FORMS, people(), rng=1, tokens=suffix or None)
        first, names, *lines = path.read_text("utf-8").splitlines()[:-1]
        whole = ldp.tables_of(path, SEVERAL_FORMS)
        # which can be read, and which no client sends
        forms = [row.wire.report_format for row in SEVERAL_FORMS.sent_rows]
        reports = ["7000" if one.width is None else f"x{'ff' * report_size(one)}" for one in forms]
        wrong = [f"{row},{report}{',another' * bool(suffix)}" for row, report in enumerate(reports)]
        for some in (*zip(wrong), wrong):
            with_digest(bad, [first, names, *lines[:40], *some, *lines[40:]])
            tables = ldp.tables_of(bad, SEVERAL_FORMS, quarantine=folder / "aside.csv")
            assert tables.n == len(lines), "other rows than the good ones are counted"
            assert tables.privacy.set_aside == len(some), "another number of rows is said to be set aside"
            same = [replace(one, privacy=other.privacy) for one, other in zip(tables, whole, strict=True)]
            counted = tables.replaced(tables=same, privacy=whole.privacy)
            assert counted.to_json() == whole.to_json(), "other counts than of the good rows"
            with (folder / "aside.csv").open(encoding="utf-8", newline="") as file:
                assert len([*csv.reader(file)]) == 1 + len(some), "a bad row is not set aside once"


def of_each_piece(folder: Path) -> None:
    """Files in pieces count as their collections do."""
    for kind in ("numbers", "crossed answers", "hashes"):
        half = HalfCounted(folder / kind, COUNTED[kind])
        tables = half.count("other.csv", None)
        with patch.object(fuzzed_report_files, "PIECE", 1 << 20):
            assert tables.to_json() == half.count("other.csv", None).to_json(), "pieces change what is counted"
        assert tables.privacy.set_aside == 4, "another number of rows is said to be set aside"
        for table in tables:
            assert table.parts.n == table.n, "other respondents are named than were counted"


def added_up(_: Path) -> None:
    """Counts of two halves, as two workers have them, add up to those of all rows."""
    for protocol in (COUNTED["hashes"], COUNTED["numbers"]):
        sent = protocol.reports(fuzzed_report_files.DOMAIN.decode([[0, 1, 1]] * 30), rng=1)
        halves = [protocol.counting() for _ in range(2)]
        for counting, rows in zip(halves, (sent[:12], sent[12:]), strict=True):
            take_frame(counting, rows, protocol.fingerprint(), Layout(protocol.sent_rows))
        halves[0].add(halves[1])
        assert halves[0].tables().to_json() == protocol.tables(sent).to_json(), "halves do not add up"


def once_by_token(folder: Path) -> None:
    """Whoever sends reports of two forms under one token counts once."""
    path, sent = folder / "r.csv", COUNTED["numbers and bytes"]
    ldp.write_reports(path, sent, fuzzed_report_files.DOMAIN.decode([[0, 1, 1]] * 30), rng=1)
    first, names, *lines = path.read_text("utf-8").splitlines()[:-1]
    of_rows = {line.partition(",")[0]: line for line in lines}
    assert len({one.wire.report_format.width for one in sent.sent_rows}) > 1
    for order in (sorted(of_rows), sorted(of_rows, reverse=True)):
        with_digest(path, [first, f"{names},token", *(f"{of_rows[one]},one" for one in order)])
        tables = ldp.tables_of(path, sent, tokens="once")
        assert tables.n == 1, "one token counts twice"
        assert [table.n for table in tables].index(1) == int(order[0]), "another one counts than the first that came"
        assert tables.checks[0].to_dict()["left_out"] == len(of_rows) - 1


def after_each_stop(folder: Path) -> None:
    """A count that is stopped anywhere goes on to the same tables, and to the same rows that are set aside."""
    for kind in ("numbers", "views", "blocks"):
        half = HalfCounted(folder / kind, COUNTED[kind])
        wanted = half.count("other.csv", None)
        for stop in range(2, 12):
            half.stopped_after(stop // 2, later=bool(stop % 2))
            assert half.count().to_json() == wanted.to_json(), "a resumed count is another one"
            kept, whole = ((half.folder / name).read_bytes() for name in ("bad.csv", "other.csv"))
            assert kept == whole, "other rows are set aside after a stop"


def on_the_disk(folder: Path) -> None:
    """What a checkpoint says was set aside is on the disk before it is written."""
    half, synced, found = HalfCounted(folder / "half"), Counter[int](), []
    fsync, written = os.fsync, counted_files.Checkpoint.write

    def noted(file: int) -> None:
        fsync(file)
        synced[os.fstat(file).st_ino] = os.fstat(file).st_size

    def write(self: Any, state: dict[str, Any]) -> None:
        number = (half.folder / "bad.csv").stat().st_ino
        assert synced[number] == state["quarantine"], "a checkpoint counts on rows that may be lost"
        found.append(state["quarantine"])
        written(self, state)

    with (
        patch.object(os, "fsync", noted),
        patch.object(counted_files.Checkpoint, "write", write),
        patch.object(counted_files, "_SECONDS", 0.0),
    ):
        half.count()
    assert len({*found}) > 1


CHECKS = {
    one.__name__: one for one in (of_each_form, of_each_piece, added_up, once_by_token, after_each_stop, on_the_disk)
}
_read, _take, _again, _set_aside = Count._read, Count._take, Count._again, Count._set_aside
_write, _restore, _next_source = Count._write, Count._restore, _Done.next_source
_take_respondents, _add, _begin, _aside = Respondents.take, RowCounts.add, Quarantine._begin, Quarantine.add


@caught_by("of_each_form", RowCounts, "_others_counted")
def counts_the_first_forms_of_a_bad_chunk_twice(self: Any, rows: Any) -> list[int] | None:
    """A bad row in the second form is seen when the first form is counted: 749 of 499 rows."""
    counted = [0] * len(self._rows)
    for row, places in by_row(rows.rows):
        data, possible = decoded_reports(rows.reports[places], self._rows[row].wire)
        if not possible.all():
            return None
        self._take_row(row, self._summed[row](data, rows.simulated * len(places)))
        counted[row] = len(places)
    return counted


@caught_by("added_up", RowCounts, "add")
def adds_sums_twice(self: Any, other: Any) -> None:
    _add(self, other)
    self._counts += other._counts
    for row, sums in enumerate(other._sums):
        if sums is not None:
            self._take_row(row, sums)


@caught_by("of_each_form", Count, "_set_aside")
def says_of_bad_rows_that_there_is_one(self: Any, source: Any, chunk: Any, bad: dict[int, Any]) -> None:
    before = self._done.bad
    _set_aside(self, source, chunk, bad)
    self._done.bad = before + bool(bad)


@caught_by("of_each_piece", Respondents, "take")
def names_those_of_the_last_piece(self: Any, rows: Any, counted: list[int]) -> None:
    if rows.numbers is not None:
        _take_respondents(self, rows, counted)
    else:
        self._unnumbered[rows.identity] = Counter(dict(enumerate(counted)))


@caught_by("of_each_piece", Count, "_take")
def counts_a_piece_with_bad_rows_again(self: Any, source: Any, chunk: Any) -> None:
    bad, again = self._done.bad, self._done.again
    _take(self, source, chunk)
    if self._done.bad > bad and self._done.again == again:
        self._countings[-1].take(chunk.rows.taken(slice(len(chunk.rows) - 1, None)))


@caught_by("of_each_piece", _Done, "next_source")
def forgets_the_bad_rows_of_earlier_files(self: Any) -> Any:
    return replace(_next_source(self), earlier_bad=self.bad)


@caught_by("once_by_token", Count, "_again")
def knows_tokens_form_by_form(self: Any, rows: Any, tokens: Any) -> Any:
    again = np.zeros(len(rows), dtype=np.bool_)
    for _, places in by_row(rows.rows):
        self._known = KnownTokens(self._protocol.sent_rows)
        again[places] = _again(self, rows.taken(places), tokens.taken(places))
    return again


@caught_by("once_by_token", Count, "_again")
def keeps_the_lower_row(self: Any, rows: Any, tokens: Any) -> Any:
    """Among rows that are read together the first that came counts, not the first form of reports."""
    again = np.zeros(len(rows), dtype=np.bool_)
    for _, places in by_row(rows.rows):
        again[places] = _again(self, rows.taken(places), tokens.taken(places))
    return again


@caught_by("after_each_stop", Count, "_note_tokens_up_to")
def forgets_tokens_that_came_before_a_stop(self: Any, end: int | None, read: Any) -> None:
    pass


@caught_by("after_each_stop", Count, "_write")
def writes_the_place_of_the_piece_before(self: Any, checkpoint: Any) -> None:
    """The next count begins with a piece that was counted."""
    done, known = self._done, getattr(self, "_before", None)
    self._before = replace(done)
    if known is not None and known.source == done.source:
        self._done = replace(done, end=known.end, rows=known.rows)
    _write(self, checkpoint)
    self._done = done


@caught_by("after_each_stop", Count, "_read")
def writes_a_checkpoint_after_setting_aside(self: Any, checkpoint: Any, show: Any) -> None:
    """Stopped there, the rows of the chunk are set aside again."""

    def set_aside(*parts: Any) -> None:
        _set_aside(self, *parts)
        if checkpoint and checkpoint.due:
            self._write(checkpoint)

    self._set_aside = set_aside
    _read(self, checkpoint, show)


@caught_by("of_each_form", Quarantine, "add")
def sets_a_row_aside_twice(self: Any, *parts: str) -> None:
    _aside(self, *parts)
    _aside(self, *parts)


@caught_by("after_each_stop", Count, "_restore")
def begins_the_file_anew_after_a_stop(self: Any, state: Any) -> None:
    _restore(self, state)
    self._done = replace(self._done, end=0, rows=0)


@caught_by("after_each_stop", Quarantine, "_begin")
def keeps_rows_that_were_set_aside_after_a_checkpoint(self: Any, size: int | None) -> None:
    whole = Path(self._path).stat().st_size
    _begin(self, size if size is None else whole)


@caught_by("on_the_disk", Count, "_write")
def writes_a_checkpoint_before_rows_are_settled(self: Any, checkpoint: Any) -> None:
    size = self._quarantine._file.tell() if isinstance(self._quarantine, Quarantine) else None
    counted = [one.to_dict() for one in self._countings]
    checkpoint.write({"done": asdict(self._done), "counted": counted, "quarantine": size})
    if isinstance(self._quarantine, Quarantine):
        self._quarantine.settled()


@caught_by("on_the_disk", Quarantine, "settled")
def takes_what_is_written_for_settled(self: Any) -> int:
    self._file.flush()
    return int(self._file.tell())
