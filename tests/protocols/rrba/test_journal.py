"""The journal: no file but its own is touched, no line is taken as it comes, and no other process writes to it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.interruptions import FORKS, interrupted
from support.rrba_collections import PAIR, PROTOCOL, PROTOCOLS, answered, assert_refused, run

from ldpstats import RRBA, LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Aggregator, Client
from ldpstats.protocols.rrba.journal import _SIGNATURE, _line
from ldpstats.protocols.rrba.series import plain_randomizers

# -- files that are something else


FOREIGN: dict[str, Callable[[], bytes]] = {
    "a saved aggregator": lambda: PROTOCOL.aggregator().to_json().encode(),
    "tables": lambda: PROTOCOL.aggregator().tables().to_json().encode(),
    "a protocol": lambda: PROTOCOL.to_json().encode(),
    "a table with an end": lambda: b"sex,car\nF,yes\nM,no\n",
    "a table without an end": lambda: b"sex,car\nF,yes\nM,no",
    "a line without an end": lambda: b"important",
    "a line break": lambda: b"\n",
    "a bracket": lambda: b"[",
    "less than a signature": lambda: _SIGNATURE[:-1],
    "another version": lambda: _line("", ["ldpstats rrba journal", 4, "note", {}])[0],
    "an unfinished line of another version": lambda: _SIGNATURE + b'4,"no',
    "another protocol": lambda: head_of(RRBA(PAIR, p=0.4, block_size=3)),
    "an unfinished line of another protocol": lambda: head_of(RRBA(PAIR, p=0.4, block_size=3))[:-40],
    "an edited first line": lambda: head_of(PROTOCOL).replace(b'"F"', b'"f"'),
    "letters that are none": lambda: b"\xff\xfe",
    "brackets": lambda: b"[" * 100_000,
}


def head_of(protocol: RRBA) -> bytes:
    return _line("", ["ldpstats rrba journal", 1, _note(), json.loads(protocol.to_json())])[0]


def _note() -> str:
    from ldpstats.protocols.rrba.journal import _NOTE

    return _NOTE


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_that_is_no_journal_of_this_protocol_is_not_touched(kind: str, tmp_path: Path) -> None:
    path, data = tmp_path / "file", FOREIGN[kind]()
    path.write_bytes(data)
    before = path.stat()
    with pytest.raises(LdpstatsError, match="Nothing in it was changed"):
        PROTOCOL.aggregator(path)
    after = path.stat()
    assert path.read_bytes() == data
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert_unlocked(path)


def assert_unlocked(path: Path) -> None:
    """Let somebody else lock the file."""
    import fcntl

    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(file)


def test_links_devices_and_folders_are_no_journals(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "new")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("link", "nowhere", "pipe", "folder", "socket", "/dev/null", "", "no/file", "a\0b"):
            with pytest.raises(LdpstatsError, match="journal"):
                PROTOCOL.aggregator(tmp_path / name if name else "")
    for nothing in (5, b"", []):
        with pytest.raises(LdpstatsError, match="the name of a file"):
            PROTOCOL.aggregator(nothing)  # type: ignore[arg-type]  # this is what is refused
    assert path.read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_a_file_that_may_not_be_written_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ldpstats.protocols.rrba.journal.os.open", denied)
    with pytest.raises(LdpstatsError, match="Permission denied"):
        PROTOCOL.aggregator(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.touch()
    with PROTOCOL.aggregator(path) as aggregator:
        run(aggregator, 2)
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 2


def test_who_was_killed_in_the_first_lines_begins_again_where_these_are_provably_ours(path: Path) -> None:
    """Cut in the first line it is completed, in the second it is written anew; no byte before changes."""
    data = path.read_bytes()
    head, begin = data.splitlines(keepends=True)[:2]
    for end in [*range(len(_SIGNATURE), len(head) - 2, 40), *range(len(head) - 2, len(head) + len(begin), 9)]:
        path.write_bytes(data[:end])
        with PROTOCOL.aggregator(path) as aggregator:
            assert aggregator.n == 0
            run(aggregator, 1)
        lines = path.read_bytes().splitlines(keepends=True)
        assert lines[0] == head
        assert lines[1].startswith(b'["begin"')
        assert lines[1] != begin  # with a key of its own
        with PROTOCOL.aggregator(path) as aggregator:
            assert aggregator.n == 1


def test_a_whole_line_that_has_lost_its_line_break_still_counts(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 8
        assert path.read_bytes() == data
        run(aggregator, 1)
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 9


def test_an_unfinished_line_is_cut_off_only_where_the_lines_before_it_hold(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[4]
    broken = b"".join(lines) + b'["answer",5'
    path.write_bytes(broken)
    with pytest.raises(LdpstatsError, match="line 5 of the journal"):
        PROTOCOL.aggregator(path)
    assert path.read_bytes() == broken


# -- lines that were changed


def entries(path: Path) -> list[list[Any]]:
    return [json.loads(line)[:-1] for line in path.read_bytes().splitlines()]


def chained(entries: list[Any]) -> bytes:
    """Return lines with digests that fit them."""
    lines, digest = [], ""
    for entry in entries:
        line, digest = _line(digest, entry)
        lines.append(line)
    return b"".join(lines)


def position(entries: list[list[Any]], kind: str, which: int = 0) -> int:
    return [place for place, entry in enumerate(entries) if entry[0] == kind][which]


def changed(kind: str, which: int, place: int, value: Any) -> Callable[[list[Any]], None]:
    return lambda entries: entries[position(entries, kind, which)].__setitem__(place, value)


def twice(kind: str, which: int = 0) -> Callable[[list[Any]], None]:
    return lambda entries: entries.insert(position(entries, kind, which), entries[position(entries, kind, which)])


def gone(kind: str, which: int = 0) -> Callable[[list[Any]], None]:
    return lambda entries: entries.pop(position(entries, kind, which))


def no_reports(entries: list[list[Any]]) -> None:
    """Begin a block whose fakes are right, and close it without a single report."""
    fakes = plain_randomizers(PROTOCOL.series()[0].following())
    entries[position(entries, "answer") :] = [["block", 0, fakes]]


CHANGED: dict[str, Callable[[list[Any]], object]] = {
    "a block line twice": twice("block"),
    "a block of no reports": no_reports,
    "a block before its time": lambda entries: entries.insert(5, entries.pop(position(entries, "block"))),
    "no block line": gone("block"),
    "fakes of another block": lambda entries: changed("block", 1, 2, entries[position(entries, "block")][2])(entries),
    "a sure truth": lambda entries: entries[position(entries, "block")][2][0].__setitem__(0, 2**64),
    "the unit -1": changed("block", 0, 1, -1),
    "the unit True": changed("block", 0, 1, False),
    "a cell below": changed("answer", 0, 3, [-1]),
    "a word for a number": changed("answer", 0, 1, "0"),
    "a word for numbers": changed("reserve", 0, 1, "1024"),
    "no identity": changed("begin", 0, 2, "0"),
    "a short key": changed("begin", 0, 3, "00"),
    "an answer less": gone("answer"),
    "the last answer of a block less": gone("answer", 2),
    "another cell in a closed block": changed("answer", 0, 3, [3]),
    "a cell too far": changed("answer", 0, 3, [4]),
    "a block to come": changed("answer", 0, 2, 1),
    "another number": changed("answer", 7, 1, 2000),
    "a second, different answer": lambda entries: entries.append(
        [*entries[position(entries, "answer")][:3], [9], True]
    ),
    "no numbers reserved": gone("reserve"),
    "numbers that fill the memory": changed("reserve", 0, 1, 3_000_000_000),
    "numbers that go back": lambda entries: entries.append(["reserve", 0]),
    "no beginning": gone("begin"),
    "two beginnings": twice("begin"),
    "a unit to begin with": changed("begin", 0, 1, 7),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_line_is_refused_also_where_its_digest_is_made_anew(change: str, path: Path) -> None:
    whole, before = entries(path), path.read_bytes()
    assert chained(whole) == before
    CHANGED[change](whole)
    digests = [line[-36:] for line in before.splitlines(keepends=True)]
    own_digests = [_line("", entry)[0][:-36] + tail for entry, tail in zip(whole, digests * 2, strict=False)]
    for damaged in (b"".join(own_digests), chained(whole)):
        path.write_bytes(damaged)
        with pytest.raises(LdpstatsError, match=r"line \d+ of the journal"):
            PROTOCOL.aggregator(path)
        assert path.read_bytes() == damaged
        assert_unlocked(path)


def test_the_same_answer_written_twice_counts_once(path: Path) -> None:
    """Who is interrupted between the line and the count is sent the answer again, and writes the same line."""
    whole = entries(path)
    late = whole[position(whole, "answer", 1)]
    path.write_bytes(chained([*whole, late, late]))
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 8
        assert [block.n for block in aggregator._series[0].blocks] == [3, 3, 2]


@pytest.mark.parametrize(
    "touched", [lambda path: path.write_bytes(path.read_bytes() + b"something else\n"), Path.unlink]
)
def test_a_journal_that_something_else_writes_to_or_removes_takes_no_more(
    path: Path, touched: Callable[[Path], object]
) -> None:
    aggregator = PROTOCOL.aggregator(path)
    answer = answered(aggregator.query())
    touched(path)
    before = [one.read_bytes() for one in path.parent.iterdir()]
    for _ in range(2):
        with pytest.raises(LdpstatsError, match="something else has removed, shortened or written to"):
            aggregator.take(answer)
    assert ([one.read_bytes() for one in path.parent.iterdir()], aggregator.n) == (before, 8)
    aggregator.close()


def test_a_lock_that_the_file_system_does_not_know_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(37, "No locks available")

    before = path.read_bytes()
    monkeypatch.setattr("fcntl.flock", unknown)
    with pytest.raises(LdpstatsError, match="No locks available"):
        PROTOCOL.aggregator(path)
    assert path.read_bytes() == before


# -- slices of the studies


@FORKS
def test_kills_at_any_moment_lose_and_double_nothing() -> None:
    """What was not acknowledged is sent to the next process."""
    from rrba_journal import FAULTS, killed

    found = killed(16, seed=2)
    assert found["answers"] > 0
    assert {name: found[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)


def test_damaged_files_meet_with_no_error_but_ours() -> None:
    """Changed bytes, and changed contents whose digests are made anew: every type and size in every place."""
    from rrba_readers import verdicts

    for seen in verdicts(2000, seed=3).values():
        assert seen["refused"] > 0
        assert seen["violated"] == seen["foreign"] == 0


# -- interruptions


@pytest.mark.parametrize("place", ["first query", "last answer of a block"])
@pytest.mark.parametrize("kind", ["journal", "state"])
def test_interruptions_anywhere_lose_nothing_and_count_nothing_twice(tmp_path: Path, kind: str, place: str) -> None:
    """Every seventh step, of some hundreds: where a key or a timer comes is not ours to choose."""
    for step in range(0, 3000, 7):
        path = tmp_path / str(step) if kind == "journal" else None
        aggregator, came = PROTOCOL.aggregator(path), False
        if place == "first query":
            came = interrupted(aggregator.query, step, "rrba")
            run(aggregator, 3)
            run(aggregator, 1)
        else:
            run(aggregator, 2)
            answer = answered(aggregator.query())
            came = interrupted(partial(aggregator.take, answer), step, "rrba")
            with suppress(ReportError):  # if it was counted, and interrupted before that was said
                aggregator.take(answer)
            run(aggregator, 1)
        tables, state = aggregator.tables().to_json(), aggregator.to_json()
        assert aggregator.n == 4
        assert [block.n for block in aggregator._series[0].blocks] == [3, 1]
        aggregator.close()
        with PROTOCOL.aggregator(path) if path else Aggregator.from_json(state) as again:
            assert again.tables().to_json() == tables
        if not came:
            return
    raise AssertionError("it never came to an end")


def test_an_interrupted_client_has_paid_for_what_it_answered_and_for_nothing_else() -> None:
    query = PROTOCOL.aggregator().query()
    for step in range(0, 3000, 3):
        client = PROTOCOL.client({"sex": "F", "car": "no"}, inf)
        came = interrupted(partial(client.answer, query), step, "rrba")
        assert client.spent in (0.0, query.strict_epsilon())
        client.answer(query)
        assert Client.from_json(client.to_json()).answer(query) == client.answer(query)
        assert client.spent == query.strict_epsilon()
        if not came:
            return
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize("end", ['{"format": "ldpstats RRBA aggregator", "version": 2}', "a note", " ", "\r", "[1, 2"])
def test_what_something_else_has_put_at_the_end_is_not_cut_off(path: Path, end: str) -> None:
    """A saved state, without a line break, appended to the journal by mistake."""
    before = path.read_bytes() + end.encode()
    path.write_bytes(before)
    for _ in range(2):
        with pytest.raises(LdpstatsError, match=r"at whose end stands .*Nothing in it was changed"):
            PROTOCOL.aggregator(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("end", [b"[", b'["', b'["answer",8,2,[1],fal', bytes(500), b'["block",0' + bytes(9)])
def test_what_a_process_or_machine_left_unfinished_is_cut_off(path: Path, end: bytes) -> None:
    before = path.read_bytes()
    path.write_bytes(before + end)
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 8
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "name", ["two units", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("p", "a whole view"))]
)
def test_a_journal_cut_at_any_byte_of_its_last_lines_goes_on(name: str, tmp_path: Path) -> None:
    protocol, path = PROTOCOLS[name], tmp_path / "journal"
    aggregator = protocol.aggregator(path)
    answers = run(aggregator, 2 * protocol.block_size * len(protocol._units))
    whole = aggregator.tables().to_json()
    aggregator.close()
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    assert any(b"block" in line for line in lines[-3:])
    borders = np.cumsum([len(line) for line in lines])[-4:].tolist()
    # around the ends of lines every byte, within them one in four
    for end in sorted({*range(borders[0], borders[-1], 4), *(end - step for end in borders for step in range(3))}):
        cut = tmp_path / f"cut{end}"
        cut.write_bytes(data[:end])
        resumed = protocol.aggregator(cut)
        counted = resumed.n
        assert counted >= len(answers) - 4
        for place, answer in enumerate(answers):
            if place < counted:
                assert_refused(resumed, answer, "second answer")
            else:
                resumed.take(answer)
        assert resumed.tables().to_json() == whole
        assert resumed.query().number >= len(answers)
        resumed.close()
        again = protocol.aggregator(cut)
        assert again.tables().to_json() == whole
        again.close()


def test_fakes_are_made_when_a_killed_process_left_them_out(tmp_path: Path) -> None:
    protocol, path = PROTOCOLS["p"], tmp_path / "journal"
    aggregator = protocol.aggregator(path)
    run(aggregator, 4)
    fakes = aggregator.query().groups[0].randomizer
    aggregator.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[-1].startswith(b'["block"')
    path.write_bytes(b"".join(lines[:-1]))
    resumed = protocol.aggregator(path)
    assert resumed.query().groups[0].randomizer == fakes
    resumed.close()
    assert path.read_bytes().splitlines(keepends=True)[: len(lines)] == lines


def test_a_resumed_aggregator_never_gives_a_number_twice(tmp_path: Path) -> None:
    protocol, path = PROTOCOLS["epsilon"], tmp_path / "journal"
    seen = set()
    for _ in range(3):
        aggregator = protocol.aggregator(path)
        tokens = {aggregator.query().token for _ in range(1030)}  # more than one reservation
        assert len(tokens) == 1030
        assert not tokens & seen
        seen |= tokens
        aggregator.close()


def test_two_aggregators_cannot_share_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    aggregator = PROTOCOLS["p"].aggregator(path)
    with pytest.raises(LdpstatsError, match="another aggregator"):
        PROTOCOLS["p"].aggregator(path)
    run(aggregator, 2)
    aggregator.close()
    resumed = PROTOCOLS["p"].aggregator(path)
    assert resumed.n == 2
    resumed.close()


def test_a_closed_journal_is_closed_once_and_takes_no_more(tmp_path: Path) -> None:
    aggregator = PROTOCOLS["p"].aggregator(tmp_path / "journal")
    answer = answered(aggregator.query())
    aggregator.close()
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)  # takes the number that has become free
    try:
        with pytest.raises(LdpstatsError):
            aggregator.take(answer)
        aggregator.close()
        assert os.fstat(other).st_size == 0
    finally:
        os.close(other)


class FullDisk:
    """A disk without room for lines of one kind: half of such a line is written, or none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, half: bool) -> None:
        self.kind, self.half, self.full, self.failed = f'["{kind}"'.encode(), half, True, 0
        self._write = os.write
        monkeypatch.setattr("ldpstats.protocols.rrba.journal.os.write", self)

    def __call__(self, file: int, data: bytes) -> int:
        if self.full and data.startswith(self.kind):
            self.failed += 1
            if not self.half:
                raise OSError(28, "No space left on device")
            return self._write(file, data[: len(data) // 2])
        return self._write(file, data)


HALF = pytest.mark.parametrize("half", [False, True], ids=["nothing is written", "half is written"])


@HALF
def test_an_answer_for_which_there_is_no_room_is_not_counted(
    half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    aggregator = PROTOCOLS["p"].aggregator(path)
    run(aggregator, 2)
    answer, before, state = answered(aggregator.query()), path.read_bytes(), aggregator.to_json()
    disk = FullDisk(monkeypatch, "answer", half)
    for _ in range(2):
        with pytest.raises(LdpstatsError, match="no room"):
            aggregator.take(answer)
    assert disk.failed == 2
    assert (path.read_bytes(), aggregator.to_json()) == (before, state)
    disk.full = False
    aggregator.take(answer)
    run(aggregator, 4)
    whole = aggregator.tables().to_json()
    aggregator.close()
    resumed = PROTOCOLS["p"].aggregator(path)
    assert resumed.tables().to_json() == whole
    resumed.close()


@HALF
def test_a_block_for_which_there_is_no_room_loses_nothing(
    half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, protocol = tmp_path / "journal", PROTOCOLS["p"]
    aggregator = protocol.aggregator(path)
    run(aggregator, 3)
    disk = FullDisk(monkeypatch, "block", half)
    last = answered(aggregator.query())
    aggregator.take(last)  # not refused: the answer itself is in the journal
    assert disk.failed >= 1
    assert_refused(aggregator, last, "second answer")
    disk.full = False
    run(aggregator, 6)
    whole = aggregator.tables().to_json()
    aggregator.close()
    resumed = protocol.aggregator(path)
    assert resumed.n == 10
    assert resumed.tables().to_json() == whole
    resumed.close()


@HALF
def test_numbers_for_which_there_is_no_room_are_not_given_out(
    half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, protocol = tmp_path / "journal", PROTOCOLS["p"]
    aggregator = protocol.aggregator(path)
    disk = FullDisk(monkeypatch, "reserve", half)
    for _ in range(2):
        with pytest.raises(LdpstatsError, match="no room"):
            aggregator.query()
    disk.full = False
    first = aggregator.query()
    aggregator.close()
    resumed = protocol.aggregator(path)
    assert resumed.query().token != first.token
    resumed.take(answered(first))
    resumed.close()
