"""The journal: no file but its own is touched, no line is taken as it comes, and no other process writes to it."""

from __future__ import annotations

import copy
import json
import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest
from support.interruptions import interrupted

from ldpstats import RRBA, Domain, LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Aggregator, Answer, Client, Query
from ldpstats.protocols.rrba.journal import _SIGNATURE, Journal, _line
from ldpstats.protocols.rrba.series import plain_randomizers

PAIR = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
PROTOCOL = RRBA(PAIR, p=0.5, block_size=3)
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


def answered(query: Query) -> Answer:
    """Let the respondent of this number answer with a seed of her own."""
    record = {"sex": "FFM"[query.number % 3], "car": ("no", "yes")[query.number % 2]}
    return PROTOCOL.client(record, inf).answer(query, query.number)


def run(aggregator: Aggregator, answers: int) -> list[Answer]:
    given = [answered(aggregator.query()) for _ in range(answers)]
    for answer in given:
        aggregator.take(answer)
    return given


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a journal of 8 answers: two closed blocks and an open one."""
    path = tmp_path / "journal"
    with PROTOCOL.aggregator(path) as aggregator:
        for _ in range(8):
            aggregator.take(answered(aggregator.query()))
    return path


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
    "another version": lambda: _line("", ["ldpstats rrba journal", 3, "note", {}])[0],
    "an unfinished line of another version": lambda: _SIGNATURE + b'3,"no',
    "another protocol": lambda: head_of(RRBA(PAIR, p=0.4, block_size=3)),
    "an unfinished line of another protocol": lambda: head_of(RRBA(PAIR, p=0.4, block_size=3))[:-40],
    "an edited first line": lambda: head_of(PROTOCOL).replace(b'"F"', b'"f"'),
    "letters that are none": lambda: b"\xff\xfe",
    "brackets": lambda: b"[" * 100_000,
}


def head_of(protocol: RRBA) -> bytes:
    return _line("", ["ldpstats rrba journal", 2, _note(), json.loads(protocol.to_json())])[0]


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


def test_only_what_follows_the_last_line_break_is_cut_off(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data + b'["answer",5')
    with PROTOCOL.aggregator(path) as aggregator:
        assert aggregator.n == 8
    assert path.read_bytes() == data


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


def added(*entry: Any) -> Callable[[list[Any]], None]:
    return lambda entries: entries.append([*entry])


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
    "the unit 1": changed("block", 0, 1, 1),
    "the unit True": changed("block", 0, 1, False),
    "no fakes": changed("block", 0, 2, []),
    "an answer less": gone("answer"),
    "the last answer of a block less": gone("answer", 2),
    "another cell in a closed block": changed("answer", 0, 3, [3]),
    "a cell too far": changed("answer", 0, 3, [4]),
    "a cell below": changed("answer", 0, 3, [-1]),
    "two cells": changed("answer", 0, 3, [0, 0]),
    "no list of cells": changed("answer", 0, 3, 0),
    "a block to come": changed("answer", 0, 2, 1),
    "another number": changed("answer", 7, 1, 2000),
    "a number below": changed("answer", 7, 1, -1),
    "a second, different answer": lambda entries: entries.append(
        [*entries[position(entries, "answer")][:3], [9], True]
    ),
    "a word for a number": changed("answer", 0, 1, "0"),
    "a word for a mark": changed("answer", 0, 4, "no"),
    "a number for a mark": changed("answer", 0, 4, 1),
    "an odd answer": added("answer", "0", 0, [0], True),
    "half an answer": added("answer", 8),
    "no numbers reserved": gone("reserve"),
    "numbers that fill the memory": changed("reserve", 0, 1, 3_000_000_000),
    "numbers that go back": added("reserve", 0),
    "a word for numbers": changed("reserve", 0, 1, "1024"),
    "no beginning": gone("begin"),
    "two beginnings": twice("begin"),
    "a unit to begin with": changed("begin", 0, 1, 7),
    "no identity": changed("begin", 0, 2, "0"),
    "a short key": changed("begin", 0, 3, "00"),
    "a key in other letters": changed("begin", 0, 3, "0x" * 16),
    "a line of another kind": added("other", 1),
    "a line of no kind": added(["answer"]),
    "a line of nothing": added(),
    "a line of null": added(None),
}
ODD_LINES = {
    "a number": b"5\n",
    "an object": b'{"answer":1}\n',
    "no text": b"\xff\n",
    "nothing": b"\n",
    "brackets": b"[" * 100_000 + b"\n",
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


@pytest.mark.parametrize("odd", ODD_LINES)
def test_an_odd_line_is_refused_with_its_digest_too(odd: str, path: Path) -> None:
    before = path.read_bytes()
    digest = before[-35:-3].decode()
    body = ODD_LINES[odd][:-1]
    from ldpstats.protocols.rrba.journal import _tail

    for damaged in (before + ODD_LINES[odd], before + body + _tail(digest, body)[0]):
        path.write_bytes(damaged)
        with pytest.raises(LdpstatsError, match="line 14 of the journal"):
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


def test_an_interruption_between_the_line_and_the_count_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregator = PROTOCOL.aggregator(path)
    answer = answered(aggregator.query())
    with monkeypatch.context() as patch:

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(Aggregator, "_count", interrupted)
        with suppress(KeyboardInterrupt):
            aggregator.take(answer)
    aggregator.take(answer)
    tables = aggregator.tables().to_json()
    aggregator.close()
    with PROTOCOL.aggregator(path) as resumed:
        assert resumed.n == 9
        assert resumed.tables()["sex", "car"].estimate.tolist() == aggregator_estimate(tables)


def aggregator_estimate(tables: str) -> list[Any]:
    from ldpstats.tables import TableSet

    found: list[Any] = TableSet.from_json(tables)["sex", "car"].estimate.tolist()
    return found


def test_a_journal_that_something_else_writes_to_takes_no_more(path: Path) -> None:
    aggregator = PROTOCOL.aggregator(path)
    answer = answered(aggregator.query())
    with path.open("ab") as other:
        other.write(b"something else\n")
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(LdpstatsError, match="something else has removed, shortened or written to"):
            aggregator.take(answer)
    assert (path.read_bytes(), aggregator.n) == (before, 8)
    aggregator.close()


def test_a_journal_that_was_removed_takes_no_more(path: Path) -> None:
    aggregator = PROTOCOL.aggregator(path)
    answer = answered(aggregator.query())
    path.unlink()
    with pytest.raises(LdpstatsError, match="something else has removed"):
        aggregator.take(answer)
    aggregator.close()


def test_a_lock_that_the_file_system_does_not_know_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(37, "No locks available")

    before = path.read_bytes()
    monkeypatch.setattr("fcntl.flock", unknown)
    with pytest.raises(LdpstatsError, match="No locks available"):
        PROTOCOL.aggregator(path)
    assert path.read_bytes() == before


# -- other processes, threads and copies


def in_a_child(work: Callable[[], object]) -> str:
    """Return what work said in a forked process: what it raised, or 'nothing'."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = "nothing"
        try:
            work()
        except BaseException as error:  # all of it is told to the parent
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    told = os.read(reading, 1 << 16).decode()
    os.close(reading)
    assert os.waitpid(child, 0)[1] == 0
    return told


@pytest.fixture(params=["with a journal", "without"])
def aggregator(request: pytest.FixtureRequest, path: Path) -> Iterator[Aggregator]:
    with PROTOCOL.aggregator(path if request.param == "with a journal" else None) as one:
        yield one


@FORKS
def test_a_forked_process_gives_out_nothing_and_acknowledges_nothing(aggregator: Aggregator, path: Path) -> None:
    answer, before, counted = answered(aggregator.query()), path.read_bytes(), aggregator.n
    works: list[Callable[[], object]] = [
        aggregator.query,
        lambda: aggregator.take(answer),
        aggregator.to_json,
        aggregator.tables,
        aggregator.progress,
        lambda: aggregator.n,
    ]
    for work in works:
        told = in_a_child(work)
        assert told.startswith("LdpstatsError: process")
        assert "Allowed: process" in told
        assert "Let other processes send their answers here" in told
    assert in_a_child(aggregator.close) == "nothing"
    assert path.read_bytes() == before
    aggregator.take(answer)
    assert aggregator.n == counted + 1


@FORKS
def test_a_child_that_inherits_a_held_lock_does_not_wait_for_it(aggregator: Aggregator) -> None:
    with aggregator._lock:
        held = threading.Event()
        thread = threading.Thread(target=lambda: held.set() or aggregator.query())  # type: ignore[func-returns-value]
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            with suppress(LdpstatsError):
                aggregator.query()
            aggregator.close()
            os._exit(0)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@FORKS
def test_a_child_does_not_keep_the_journal_locked_when_its_parent_is_gone(path: Path) -> None:
    aggregator = PROTOCOL.aggregator(path)
    (born, bearing), (reading, writing) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.write(bearing, b"1")
        os.read(reading, 1)  # until the parent closes its end
        os._exit(0)
    assert os.read(born, 1) == b"1"
    os.close(aggregator._journal._file)  # type: ignore[union-attr]  # as a killed process lets go of it
    aggregator._journal._file = -1  # type: ignore[union-attr]
    PROTOCOL.aggregator(path).close()
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    for end in (born, bearing, reading):
        os.close(end)


@FORKS
def test_the_journal_itself_refuses_another_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "other", "nothing")
    before = (tmp_path / "other").read_bytes()
    assert in_a_child(lambda: journal.write(["answer"])).startswith("LdpstatsError: a line for the journal 'other'")
    assert (tmp_path / "other").read_bytes() == before
    journal.close()


@FORKS
def test_a_forked_client_does_not_answer_the_same_query_again() -> None:
    client, query = Client(PAIR, {"sex": "F", "car": "no"}, inf), PROTOCOL.aggregator().query()
    assert in_a_child(lambda: client.answer(query)).startswith("LdpstatsError: process")
    assert in_a_child(client.to_json).startswith("LdpstatsError: process")
    assert client.spent == 0.0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_is_no_second_aggregator_or_client(copied: Callable[[object], object], path: Path) -> None:
    client = Client(PAIR, {"sex": "F", "car": "no"}, inf)
    with PROTOCOL.aggregator(path) as aggregator:
        for one in (aggregator, PROTOCOL.aggregator(), client):
            with pytest.raises(LdpstatsError, match="a copy of"):
                copied(one)


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads come between one another's steps as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_threads_count_every_answer_once(aggregator: Aggregator, path: Path) -> None:
    """Four threads ask, answer, and send every answer twice, while the states and tables of others are read."""
    counted, given, refused = aggregator.n, [], []

    def serve() -> None:
        for _ in range(40):
            answer = answered(aggregator.query())
            given.append(answer)
            for _ in range(2):
                try:
                    aggregator.take(answer)
                except ReportError:
                    refused.append(answer.number)
            aggregator.to_json()

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.number for answer in given}) == len(given) == 160
    assert sorted(refused) == sorted(answer.number for answer in given)
    assert aggregator.n == counted + 160
    again = Aggregator.from_json(aggregator.to_json())
    assert again.n == counted + 160
    assert all(block.as_it_closed().n == 3 for block in aggregator._series[0].blocks[:-1])
    aggregator.close()
    if aggregator._journal is not None:
        with PROTOCOL.aggregator(path) as resumed:
            assert resumed._series[0].blocks == aggregator._series[0].blocks


@pytest.mark.usefixtures("hasty")
def test_one_client_in_many_threads_draws_one_answer() -> None:
    client, query = Client(PAIR, {"sex": "F", "car": "no"}, inf), PROTOCOL.aggregator().query()
    drawn: list[Answer] = []
    threads = [threading.Thread(target=lambda: drawn.append(client.answer(query))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 1
    assert client.spent == query.strict_epsilon()


def test_two_that_go_on_from_one_state_do_not_take_each_others_answers() -> None:
    aggregator = PROTOCOL.aggregator()
    run(aggregator, 4)
    pending = aggregator.query()
    one, other = (Aggregator.from_json(aggregator.to_json()) for _ in range(2))
    assert one.identity == other.identity == aggregator.identity  # what adds tables can tell
    answer = answered(one.query())
    with pytest.raises(ReportError, match="never made"):
        other.take(answer)
    with pytest.raises(ReportError, match="never made"):
        aggregator.take(replace(answer, number=pending.number))
    one.take(answer)


# -- slices of the studies


@FORKS
def test_a_few_kills_lose_and_double_nothing() -> None:
    from rrba_journal import FAULTS, killed

    found = killed(4, seed=2)
    assert found["answers"] > 0
    assert {name: found[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)


def test_some_damaged_files_meet_with_no_error_but_ours() -> None:
    from rrba_readers import verdicts

    for seen in verdicts(240, seed=3).values():
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
