"""Ownership: another process, another thread and a copy get nothing that belongs to one aggregator or client."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path

import pytest
from support.interruptions import FORKS
from support.rrba_collections import PAIR, PROTOCOL, answered

from ldpstats import LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Aggregator, Answer, Client
from ldpstats.protocols.rrba.journal import Journal

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


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
    aggregator._journal._file = -1  # type: ignore[union-attr]  # it keeps a journal
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


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads come between one another's steps as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)
