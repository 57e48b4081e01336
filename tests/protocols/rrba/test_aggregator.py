"""The aggregator and its clients: what is refused, what survives a kill at any moment, and what a respondent pays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import RRBA, Domain, DomainError, LdpstatsError
from ldpstats.envelope import sealed
from ldpstats.errors import ReportError
from ldpstats.grid import GRID
from ldpstats.mechanisms import FakeResponse, fake_numerators, joint_ratio
from ldpstats.privacy import worst_ratio
from ldpstats.protocols.rrba import Aggregator, Answer, Client, Query
from ldpstats.protocols.rrba.query import GroupQuery

PAIR = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
RECORDS = [{"sex": "FFM"[i % 3], "car": ("no", "yes")[i % 5 == 0]} for i in range(60)]
PROTOCOLS = {
    "epsilon": RRBA(PAIR, epsilon=1.0, block_size=3),
    "p": RRBA(PAIR, p=0.6, block_size=4),
    "after every client": RRBA(PAIR, p=0.4, update="client"),
    "a whole view": RRBA(PAIR, k=1, p=0.5, block_size=3, answer="view"),
    "two units": RRBA(PAIR, k=1, epsilon=2.0, block_size=2),
}


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> RRBA:
    return PROTOCOLS[request.param]


def answered(query: Query, seed: int | None = None) -> Answer:
    """Let the respondent of this number answer with a seed of her own."""
    return device(query).answer(query, query.number if seed is None else seed)


def device(query: Query) -> Client:
    """Return the client of the respondent of this number, who knows the protocol if it is one of those above."""
    known = {protocol.fingerprint(): protocol for protocol in PROTOCOLS.values()}
    return Client(PAIR, RECORDS[query.number % 60], inf, protocol=known.get(query.protocol))


def run(aggregator: Aggregator, answers: int) -> list[Answer]:
    given = []
    for _ in range(answers):
        given.append(answered(aggregator.query()))
        aggregator.take(given[-1])
    return given


def blocks(aggregator: Aggregator) -> list[list[tuple[int, list[list[int]]]]]:
    return [[(block.n, block.counts) for block in series.blocks] for series in aggregator._series]


def fakes(aggregator: Aggregator) -> list[float]:
    used = [one for series in aggregator._series for block in series.blocks for one in block.randomizers]
    return [fake / GRID for one in used for fake in (one.truth, *one.fake)]


def assert_refused(aggregator: Aggregator, answer: Answer, match: str | None = None) -> None:
    before = aggregator.to_json()
    with pytest.raises(ReportError, match=match):
        aggregator.take(answer)
    assert aggregator.to_json() == before


FORGED = {
    "a number not yet made": {"number": 99},
    "another number": {"number": 1},
    "a negative number": {"number": -1},
    "a huge number": {"number": 2**70},
    "a negative block": {"block": -1},
    "a block to come": {"block": 2},
    "a huge block": {"block": 2**70},
    "a made-up token": {"token": "0" * 32},
    "no token": {"token": ""},
    "another protocol": {"protocol": "p0123456789ab"},
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_was_never_asked_is_refused_and_changes_nothing(protocol: RRBA, forged: str) -> None:
    aggregator = protocol.aggregator(rng=1)
    answer = answered(aggregator.query())
    aggregator.query()
    assert_refused(aggregator, replace(answer, **FORGED[forged]))
    aggregator.take(answer)
    assert aggregator.n == 1


def test_cells_that_no_client_sends_are_refused_and_change_nothing(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    answer = answered(aggregator.query())
    first = protocol.series()[0].blocks[0].randomizers[0].k
    for cells in ((), (*answer.cells, 0), (first, *answer.cells[1:]), (-1, *answer.cells[1:]), (2**70,)):
        assert_refused(aggregator, replace(answer, cells=cells), "cell")
    aggregator.take(answer)
    assert aggregator.n == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": (1.0,)},
        {"cells": ("0",)},
        {"cells": (True,)},
        {"number": 0.0},
        {"number": None},
        {"block": 0.0},
        {"token": "é"},
        {"token": 5},
        {"simulated": "no"},
    ],
)
def test_answers_of_the_wrong_type_are_refused_and_change_nothing(wrong: dict[str, Any]) -> None:
    aggregator = PROTOCOLS["epsilon"].aggregator(rng=1)
    assert_refused(aggregator, replace(answered(aggregator.query()), **wrong))
    assert aggregator.n == 0


def test_a_second_answer_is_refused_and_changes_nothing(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    for answer in run(aggregator, 9):
        assert_refused(aggregator, answer, "second answer")
        assert_refused(aggregator, replace(answer, cells=(0,) * len(answer.cells)), "second answer")
    assert aggregator.n == 9


def test_a_token_of_one_number_is_worth_nothing_for_another(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    one, other = aggregator.query(), aggregator.query()
    assert_refused(aggregator, replace(answered(one), number=other.number))
    assert len({one.token, other.token, protocol.aggregator().query().token}) == 3


def test_late_answers_count_in_the_block_that_they_answer(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    units = len(aggregator._series)
    late = [aggregator.query() for _ in range(2 * units)]
    run(aggregator, protocol.block_size * 2 * units)
    size = protocol.block_size
    assert [[n for n, _ in own] for own in blocks(aggregator)] == [[size, size, 0]] * units
    for query in late:
        answer = answered(query)
        assert_refused(aggregator, replace(answer, block=1), "block 0, in which it was asked")
        sent = aggregator._series[aggregator._unit(query.number)].blocks[0].randomizers
        assert tuple(asked.randomizer for asked in query.groups) == sent
        aggregator.take(answer)
    assert [[n for n, _ in own] for own in blocks(aggregator)] == [[size + 2, size, 0]] * units
    assert aggregator.n == sum(n for own in blocks(aggregator) for n, _ in own)


def test_queries_that_nobody_answers_block_nothing(protocol: RRBA) -> None:
    aggregator, units = protocol.aggregator(rng=1), len(protocol._units)
    for _ in range(3 * protocol.block_size * units):
        for _ in range(2 * units):
            aggregator.query()
        run(aggregator, 1)
    assert aggregator.n == 3 * protocol.block_size * units
    assert all(len(own) == 4 for own in blocks(aggregator))


def test_units_are_asked_in_turn_beginning_anywhere() -> None:
    protocol = PROTOCOLS["two units"]
    firsts = set()
    for seed in range(20):
        aggregator = protocol.aggregator(rng=seed)
        names = [aggregator.query().groups[0].domain.names for _ in range(6)]
        assert names[::2] == [names[0]] * 3
        assert names[1::2] == [names[1]] * 3
        firsts.add(names[0])
    assert firsts == {("sex",), ("car",)}


def messages(seed: int, steps: int) -> Iterator[int]:
    """Yield how many of the oldest outstanding queries are answered after each new one; some answers come late."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield int(rng.integers(0, 3))


@pytest.mark.parametrize("seed", [1, 2])
def test_saving_at_every_step_changes_nothing(protocol: RRBA, seed: int) -> None:
    def course(saved: Callable[[Aggregator], Aggregator]) -> Aggregator:
        aggregator, open_queries = protocol.aggregator(rng=5), []
        for count in messages(seed, 25):
            open_queries.append(aggregator.query())
            aggregator = saved(aggregator)
            for _ in range(min(count, len(open_queries))):
                aggregator.take(answered(open_queries.pop(0 if count == 1 else -1)))
                aggregator = saved(aggregator)
        return aggregator

    whole = course(lambda one: one)
    again = course(lambda one: Aggregator.from_json(one.to_json()))
    assert blocks(again) == blocks(whole)
    # late answers are added up in another order after a restart, where T is made of all of them
    close = 1e-12 if protocol.update == "client" else 0
    assert fakes(again) == pytest.approx(fakes(whole), abs=close, rel=0)
    assert [table.estimate for table in again.tables()] == [
        pytest.approx(table.estimate, abs=1e6 * close, rel=0) for table in whole.tables()
    ]
    assert again.progress().equals(whole.progress())


def test_an_old_state_refuses_what_it_has_forgotten(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    known = answered(aggregator.query())
    old = aggregator.to_json()
    forgotten = [answered(aggregator.query()) for _ in range(5)]
    restored, other = Aggregator.from_json(old), Aggregator.from_json(old)
    own, foreign = answered(restored.query()), answered(other.query())
    assert own.number == forgotten[0].number
    assert len({own.token, foreign.token, forgotten[0].token}) == 3
    for answer in (*forgotten, foreign):
        assert_refused(restored, answer, "never made")
    restored.take(known)
    restored.take(own)
    assert restored.n == 2


@pytest.fixture
def saved() -> str:
    aggregator = PROTOCOLS["epsilon"].aggregator(rng=1)
    run(aggregator, 8)
    return aggregator.to_json()


def test_truncated_states_are_refused(saved: str) -> None:
    for end in range(0, len(saved), 7):
        with pytest.raises(LdpstatsError):
            Aggregator.from_json(saved[:end])
    assert Aggregator.from_json(saved).n == 8


@pytest.mark.parametrize("rubbish", ["", "[]", "null", "3", "{}", '{"format": 1}', "{" * 100_000, None, 5])
def test_rubbish_is_neither_state_nor_query_nor_answer(rubbish: Any) -> None:
    for kind in (Aggregator, Query, Answer):
        with pytest.raises(LdpstatsError):
            kind.from_json(rubbish)


def block(state: dict[str, Any], place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = state["series"][0][place]
    return found


DAMAGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a count": lambda state: block(state)["counts"][0].__setitem__(0, 77),
    "a negative count": lambda state: block(state)["counts"][0].__setitem__(0, -1),
    "edited cells that add up": lambda state: block(state).update(counts=[moved(block(state)["counts"][0])]),
    "a block's size": lambda state: block(state).update(n=5),
    "a cell too many": lambda state: block(state)["counts"][0].append(0),
    "a fake's chance": lambda state: block(state)["randomizers"][0][1].__setitem__(0, 1),
    "fakes of other reports": lambda state: block(state, 1).update(randomizers=block(state)["randomizers"]),
    "a surer truth": lambda state: block(state)["randomizers"][0].__setitem__(0, GRID),
    "fewer units": lambda state: state["series"].clear(),
    "more units": lambda state: state["series"].append(state["series"][0]),
    "the protocol's level": lambda state: state["protocol"].update(epsilon=0.5),
    "the protocol's block size": lambda state: state["protocol"].update(block_size=4),
    "no protocol": lambda state: state["protocol"].update(epsilon=-1.0),
    "the answered": lambda state: state.update(answered="0g"),
    "a key that is none": lambda state: state.update(keys=5),
    "no number made": lambda state: state.pop("made"),
    "more names": lambda state: state.update(more=1),
    "a count of words": lambda state: block(state)["counts"][0].__setitem__(0, "1"),
    "no blocks": lambda state: state["series"][0].clear(),
    "fewer queries made than answered": lambda state: state.update(made=0),
    "a negative number made": lambda state: state.update(made=-4),
    "a number made that fills the memory": lambda state: state.update(made=3_000_000_000),
    "more answers than reports": lambda state: state.update(answered="ffff", made=16),
    "an answer less": lambda state: state.update(answered="7f"),
    "no keys": lambda state: state.update(keys=[]),
    "no key for the first query": lambda state: state["keys"][0].__setitem__(0, 1),
    "a short key": lambda state: state["keys"][0].__setitem__(1, "00"),
    "a whole block gone": lambda state: state["series"][0].pop(0),
    "a block twice": lambda state: state["series"][0].insert(1, block(state)),
    "a block of no reports": lambda state: state["series"][0].append(block(state, 2) | {"n": 0, "counts": [[0] * 4]}),
    "more simulated than there are": lambda state: block(state).update(simulated=4),
    "a late report that is none": lambda state: block(state).update(late=[[4, 0, 0, 0]]),
    "late reports of an open block": lambda state: block(state, 2).update(late=block(state, 2)["counts"]),
    "late reports that leave a block too few": lambda state: block(state).update(late=block(state)["counts"]),
    "late reports about nothing": lambda state: block(state).update(late=0),
    "an identity": lambda state: state.update(identity="0" * 31),
    "the unit asked first": lambda state: state.update(first=1),
}


def moved(counts: list[int]) -> list[int]:
    """Return the counts with one report moved to another cell."""
    place = counts.index(max(counts))
    return [count - (cell == place) + (cell == (place + 1) % 4) for cell, count in enumerate(counts)]


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_states_are_refused_also_where_their_digest_is_made_anew(saved: str, damage: str) -> None:
    whole = json.loads(saved)
    DAMAGED[damage](whole["body"])
    with pytest.raises(LdpstatsError, match=r"not a saved RRBA aggregator \(its digest"):
        Aggregator.from_json(json.dumps(whole))
    with pytest.raises(LdpstatsError, match="not a saved RRBA aggregator"):
        Aggregator.from_json(sealed("RRBA aggregator", 2, whole["body"]))


def test_a_level_that_was_edited_is_not_the_one_that_was_kept() -> None:
    """A whole view collected at a level of 3 does not become one at a level of 1."""
    aggregator = RRBA(PAIR, k=1, epsilon=3.0, block_size=2, answer="view").aggregator()
    run(aggregator, 5)
    body = json.loads(aggregator.to_json())["body"]
    assert Aggregator.from_json(sealed("RRBA aggregator", 2, body)).n == 5
    weaker = RRBA(PAIR, k=1, epsilon=1.0, block_size=2, answer="view")
    body["protocol"] = json.loads(weaker.to_json())
    with pytest.raises(LdpstatsError, match="other chances of the truth"):
        Aggregator.from_json(sealed("RRBA aggregator", 2, body))


def test_a_protocol_without_floor_never_asks_for_the_plain_truth() -> None:
    """A state with the chance 1 of the truth, in the first block or in a later one, is no state."""
    aggregator = PROTOCOLS["p"].aggregator()
    run(aggregator, 5)
    for place in (0, 1):
        body = json.loads(aggregator.to_json())["body"]
        body["series"][0][place]["randomizers"][0][0] = 2**64
        with pytest.raises(LdpstatsError, match="other chances of the truth"):
            Aggregator.from_json(sealed("RRBA aggregator", 2, body))


def test_a_state_keeps_what_came_late_and_what_was_simulated(protocol: RRBA) -> None:
    aggregator, units = protocol.aggregator(rng=1), len(protocol._units)
    late = [aggregator.query() for _ in range(3 * units)]
    run(aggregator, 3 * protocol.block_size * units)
    for place, query in enumerate(late):
        aggregator.take(device(query).answer(query, 5 if place % 3 else None))
    again = Aggregator.from_json(aggregator.to_json())
    assert [series.blocks for series in again._series] == [series.blocks for series in aggregator._series]
    simulated = sum(block.simulated for series in again._series for block in series.blocks)
    assert simulated == 3 * protocol.block_size * units + 2 * units
    assert (again.n, again.identity) == (aggregator.n, aggregator.identity)


def test_a_collection_has_an_identity_that_no_other_one_has(tmp_path: Path) -> None:
    protocol = PROTOCOLS["p"]
    first, other = protocol.aggregator(rng=1), protocol.aggregator(tmp_path / "journal", rng=1)
    kept = other.identity
    assert len({first.identity, kept}) == 2
    assert all(len(bytes.fromhex(one)) == 16 for one in (first.identity, kept))
    other.close()
    with protocol.aggregator(tmp_path / "journal") as resumed:
        assert resumed.identity == kept
        assert Aggregator.from_json(resumed.to_json()).identity == kept


def test_queries_and_answers_survive_json(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    run(aggregator, 9)
    query = aggregator.query()
    sent = Query.from_json(query.to_json())
    assert sent.to_json() == query.to_json()
    assert sent.strict_epsilon() == query.strict_epsilon()
    assert [one.randomizer for one in sent.groups] == [one.randomizer for one in query.groups]
    answer = answered(sent)
    assert Answer.from_json(answer.to_json()) == answer == answered(query)
    aggregator.take(Answer.from_json(answer.to_json()))


def test_categories_of_every_kind_survive_json() -> None:
    domain = Domain({"ä×": [1, 2, 3], "b": [True, False], "c": ["1", "é\n"]})
    aggregator = RRBA(domain, k=3, epsilon=1.0).aggregator()
    query = Query.from_json(aggregator.query().to_json())
    for cell, row in enumerate(domain.index()):
        assert query.groups[0].cell(dict(zip(domain.names, row, strict=True))) == cell


def broken(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": ["0"]},
        {"cells": [0.5]},
        {"cells": [-1]},
        {"cells": [True]},
        {"cells": 0},
        {"cells": None},
        {"number": "0"},
        {"number": -1},
        {"block": 0.0},
        {"token": 5},
        {"protocol": None},
        {"simulated": 1},
        {"more": 1},
    ],
)
def test_answers_that_no_client_wrote_are_refused(changes: dict[str, Any]) -> None:
    text = answered(PROTOCOLS["epsilon"].aggregator().query()).to_json()
    assert Answer.from_json(text).to_json() == text
    with pytest.raises(ReportError):
        Answer.from_json(broken(text, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": 5},
        {"groups": [5]},
        {"groups": [{"domain": {"a": ["x", "y"]}, "truth": 1, "fake": [GRID]}]},
        {"groups": [{"domain": {"a": ["x", "y"]}, "truth": 1, "fake": [GRID - 1, 2]}]},
        {"groups": [{"domain": {"a": ["x", "y"]}, "truth": 0.5, "fake": [GRID - 1, 1]}]},
        {"groups": [{"domain": {"a": ["x", "y", "z"]}, "truth": 1, "fake": [GRID - 1, 1]}]},
        {"groups": [{"domain": {"a": ["x"]}, "truth": 1, "fake": [GRID]}]},
        {"number": [1]},
        {"number": -1},
        {"block": "x"},
        {"token": 5},
        {"protocol": None},
        {"groups": []},
    ],
)
def test_queries_that_no_aggregator_wrote_are_refused(changes: dict[str, Any]) -> None:
    text = PROTOCOLS["epsilon"].aggregator().query().to_json()
    with pytest.raises(ReportError):
        Query.from_json(broken(text, **changes))


# -- the journal

WORKER = """
import os, signal, sys
from pathlib import Path
from ldpstats import RRBA
from ldpstats.envelope import sealed
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Answer

protocol, journal = RRBA.from_json(Path(sys.argv[1]).read_text()), sys.argv[2]
word, left, part = sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
aggregator = protocol.aggregator(journal)
write = os.write


def dying(file, data):
    global left
    if data.startswith(b'["' + word.encode()):
        left -= 1
        if left == 0:
            write(file, data[: int(part * len(data))])
            os.kill(os.getpid(), signal.SIGKILL)
    return write(file, data)


os.write = dying
for line in sys.stdin:
    if line == "query\\n":
        print(aggregator.query().to_json(), flush=True)
    else:
        try:
            aggregator.take(Answer.from_json(line))
            print("taken", flush=True)
        except ReportError as error:
            assert "second answer" in str(error), error
            print("known", flush=True)
"""
NEVER = ("never", 0, 1.0)


class Worker:
    """An aggregator in a process of its own, which can be killed, or kills itself at a certain write."""

    def __init__(self, folder: Path, death: tuple[str, int, float] = NEVER) -> None:
        arguments = [str(folder / "protocol"), str(folder / "journal"), *map(str, death)]
        root = Path(__file__).parents[3]
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=root,
        )

    def send(self, lines: list[str]) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it was killed while it was sent more
            self.process.stdin.write("".join(f"{line}\n" for line in lines))
            self.process.stdin.flush()

    def read(self, most: int) -> list[str]:
        """Return up to so many lines; fewer if the process died before."""
        assert self.process.stdout is not None
        lines = []
        while len(lines) < most and (line := self.process.stdout.readline()):
            lines.append(line.strip())
        return lines

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL
        self._close()

    def end(self) -> None:
        self._close()
        assert self.process.wait() == 0

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # what was not read when it was killed
                pipe.close()


def ask(worker: Worker, count: int) -> list[Answer]:
    worker.send(["query"] * count)
    return [answered(Query.from_json(line)) for line in worker.read(count)]


def unbroken(protocol: RRBA, folder: Path, head: str, answers: list[Answer]) -> Aggregator:
    """Return an aggregator with the same keys that was never killed, after the same answers."""
    path = folder / "unbroken"
    path.write_text(head, encoding="utf-8")
    aggregator = protocol.aggregator(path)
    aggregator._made = aggregator._reserved = 1_000_000
    for answer in answers:
        aggregator.take(answer)
    return aggregator


DEATHS = [
    ("answer", 1, 0.0),  # before anything of the line is there
    ("answer", 3, 0.5),  # half a line
    ("answer", 3, 1.0),  # written, not acknowledged
    ("block", 1, 0.0),  # between the last answer of a block and the fakes of the next
    ("block", 1, 0.5),
    ("block", 1, 1.0),
]


@pytest.mark.parametrize("name", ["p", "two units"])
def test_no_answer_is_lost_or_counted_twice_however_the_process_is_killed(name: str, tmp_path: Path) -> None:
    """Six deaths at chosen writes and one from outside; what was not acknowledged is sent to the next process."""
    protocol = PROTOCOLS[name]
    (tmp_path / "protocol").write_text(protocol.to_json(), encoding="utf-8")
    given: list[Answer] = []
    pending: list[Answer] = []
    for death in [*DEATHS, NEVER]:
        worker = Worker(tmp_path, death)
        asked = ask(worker, 9)
        given += asked
        pending += asked
        worker.send([answer.to_json() for answer in pending])
        replies = worker.read(2 if death == NEVER else len(pending))
        worker.kill()
        assert len(replies) < len(pending)
        assert replies == sorted(replies)  # those that are known come first: answers are counted in order
        pending = pending[len(replies) :]
    last = Worker(tmp_path)
    last.send([answer.to_json() for answer in pending])
    assert len(last.read(len(pending))) == len(pending)
    last.end()
    survivor = protocol.aggregator(tmp_path / "journal")
    head = (tmp_path / "journal").read_text(encoding="utf-8").splitlines(keepends=True)[:2]
    whole = unbroken(protocol, tmp_path, "".join(head), given)
    assert survivor.n == len(given) == 63
    assert blocks(survivor) == blocks(whole)
    assert survivor.tables().to_json() == whole.tables().to_json()
    survivor.close()
    whole.close()


@pytest.mark.parametrize("name", ["p", "two units", "a whole view"])
def test_a_journal_cut_at_any_byte_of_its_last_lines_goes_on(name: str, tmp_path: Path) -> None:
    protocol, path = PROTOCOLS[name], tmp_path / "journal"
    aggregator = protocol.aggregator(path)
    answers = run(aggregator, 2 * protocol.block_size * len(protocol._units))
    whole = aggregator.tables().to_json()
    aggregator.close()
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    assert any(b"block" in line for line in lines[-3:])
    for end in range(len(data) - sum(map(len, lines[-3:])), len(data) + 1):
        cut = tmp_path / f"cut{end}"
        cut.write_bytes(data[:end])
        resumed = protocol.aggregator(cut)
        counted = resumed.n
        assert counted >= len(answers) - 3
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


def test_a_resumed_aggregator_takes_answers_to_queries_made_before(tmp_path: Path) -> None:
    path, protocol = tmp_path / "journal", PROTOCOLS["epsilon"]
    aggregator = protocol.aggregator(path)
    late = answered(aggregator.query())
    aggregator.close()
    resumed = protocol.aggregator(path)
    resumed.take(late)
    assert resumed.n == 1
    assert_refused(resumed, late, "second answer")
    resumed.close()


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


def test_a_journal_of_another_protocol_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    aggregator = PROTOCOLS["p"].aggregator(path)
    aggregator.close()
    before = path.read_bytes()
    with pytest.raises(LdpstatsError, match="another protocol"):
        PROTOCOLS["epsilon"].aggregator(path)
    assert path.read_bytes() == before
    PROTOCOLS["p"].aggregator(path).close()


@pytest.mark.parametrize("damage", [b"{}\n", b"5\n", b"rubbish\n", b'["reserve",1024]\n', b"\xff\n", b"\n"])
def test_a_damaged_head_is_refused(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(damage)
    with pytest.raises(LdpstatsError):
        PROTOCOLS["p"].aggregator(path)


@pytest.mark.parametrize(
    "damage",
    [
        "rubbish",
        "5",
        '["other",1]',
        '["answer",1]',
        '["answer",0,7,[0],true]',
        '["answer",0,0,[9],true]',
        '["answer",-1,0,[0],true]',
        '["block",9,[]]',
    ],
)
def test_a_damaged_line_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    aggregator = PROTOCOLS["p"].aggregator(path)
    run(aggregator, 5)
    aggregator.close()
    path.write_bytes(path.read_bytes() + damage.encode() + b"\n")
    with pytest.raises(LdpstatsError):
        PROTOCOLS["p"].aggregator(path)


def test_a_journal_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "journal"):
        with pytest.raises(LdpstatsError, match="journal"):
            PROTOCOLS["p"].aggregator(path)


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


# -- the client


def test_the_same_query_gets_the_same_answer_at_no_further_cost(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    client, query = protocol.client(RECORDS[0], inf), aggregator.query()
    first, spent = client.answer(query), client.spent
    assert all(client.answer(one) == first for one in [query, Query.from_json(query.to_json())] * 20)
    assert client.spent == spent == query.strict_epsilon()
    # nor does the same query with fakes that hide less
    telling = FakeResponse.telling(0.999, query.groups[0].randomizer.fake)
    sharper = replace(query, groups=tuple(one.asking_with(telling) for one in query.groups[:1]))
    assert client.answer(sharper) == first
    other = aggregator.query()
    assert client.answer(other).number == 1
    assert client.spent == pytest.approx(spent + other.strict_epsilon())


def query_at(number: int, *levels: float) -> Query:
    fake = fake_numerators(np.array([0.6, 0.1, 0.1, 0.2]))
    groups = tuple(GroupQuery.about(PAIR, FakeResponse.at_level(level, fake)) for level in levels)
    return Query("p", number, 0, "t", groups)


def test_levels_add_up_exactly_and_are_limited() -> None:
    client, levels = Client(PAIR, RECORDS[0], 2.0), [0.1, 0.7, 0.25, 0.3, 0.1]
    for number, level in enumerate(levels):
        client.answer(query_at(number, level))
        exact = sum((Fraction(query_at(0, one).strict_epsilon()) for one in levels[: number + 1]), Fraction(0))
        assert 0 <= Fraction(client.spent) - exact < Fraction(1, 2**49)
    spent = client.spent
    with pytest.raises(LdpstatsError, match=r"no more than 2\.0 in all"):
        client.answer(query_at(9, 0.6))
    with pytest.raises(LdpstatsError, match=r"no more than 2\.0 in all"):
        client.answer(query_at(9, 0.3, 0.3))
    assert client.spent == spent
    client.answer(query_at(9, 0.5))
    assert client.spent <= 2.0
    assert client.answer(query_at(9, 0.5)) == client.answer(query_at(9, 0.5))


def test_a_limit_may_be_used_to_the_last_bit_and_not_beyond() -> None:
    level = query_at(0, 1.0).strict_epsilon()
    exact, short = Client(PAIR, RECORDS[0], level), Client(PAIR, RECORDS[0], float(np.nextafter(level, 0)))
    exact.answer(query_at(0, 1.0))
    with pytest.raises(LdpstatsError):
        short.answer(query_at(0, 1.0))
    assert (exact.spent, short.spent) == (level, 0.0)
    two = query_at(0, 0.5, 0.75)
    ratio = Fraction(1)
    for asked in two.groups:
        own = asked.randomizer.likelihood_ratio()
        assert own is not None
        ratio *= own
    assert np.log(float(ratio)) == pytest.approx(two.strict_epsilon(), rel=1e-14)


PAPERS = PROTOCOLS["p"]
FINGERPRINT = PAPERS.fingerprint()


def papers_query(truth: int, *fakes: float, protocol: str = FINGERPRINT, domain: Domain = PAIR) -> Query:
    asked = GroupQuery.about(domain, FakeResponse(truth, fake_numerators(np.array(fakes))))
    return Query(protocol, 0, 0, "t", (asked,))


def test_fakes_that_never_come_are_answered_only_by_who_knows_a_protocol_with_such_fakes() -> None:
    truth = FakeResponse.telling(0.6, (GRID // 2, GRID // 2)).truth
    query = papers_query(truth, 0.5, 0.5, 0.0, 0.0)
    for limit in (1e9, inf):
        ignorant = Client(PAIR, RECORDS[0], limit)
        with pytest.raises(LdpstatsError, match="epsilon = inf"):
            ignorant.answer(query)
        assert ignorant.spent == 0.0
    limited, free = PAPERS.client(RECORDS[0], 1e9), PAPERS.client(RECORDS[0], inf)
    with pytest.raises(LdpstatsError, match="epsilon = inf"):
        limited.answer(query)
    free.answer(query)
    assert (limited.spent, free.spent) == (0.0, inf)


def test_who_knows_the_protocol_answers_nothing_but_its_own_queries() -> None:
    truth, even = FakeResponse.telling(0.6, (GRID // 2, GRID // 2)).truth, (0.25,) * 4
    client = PAPERS.client(RECORDS[0], inf)
    for wrong in (
        papers_query(GRID, *even),
        papers_query(GRID, 0.5, 0.5, 0.0, 0.0),
        papers_query(truth + 1, *even),
        papers_query(truth - 1, *even),
        papers_query(truth, *even, protocol="p0123456789ab"),
        papers_query(truth, 0.5, 0.5, domain=PAIR.project(["car"])),
        papers_query(truth, *even, domain=PAIR.project(["car", "sex"])),
        replace(papers_query(truth, *even), groups=papers_query(truth, *even).groups * 2),
    ):
        with pytest.raises(LdpstatsError, match="her protocol does not make"):
            client.answer(wrong)
        assert client.spent == 0.0
    again = Client.from_json(client.to_json())
    for one in (client, again):
        with pytest.raises(LdpstatsError, match="her protocol does not make"):
            one.answer(papers_query(GRID, *even))
        assert one.answer(papers_query(truth, *even)).block == 0
    floored = RRBA(PAIR, epsilon=1.0, floor=0.5, block_size=3)
    rarer = FakeResponse.at_level(1.0, fake_numerators(np.array([0.7, 0.1, 0.1, 0.1])))
    asked = Query(floored.fingerprint(), 0, 0, "t", (GroupQuery.about(PAIR, rarer),))
    assert asked.strict_epsilon() <= 1.0
    with pytest.raises(LdpstatsError, match="her protocol does not make"):
        floored.client(RECORDS[0], 1.0).answer(asked)
    with pytest.raises(LdpstatsError, match="a protocol over"):
        Client(PAIR.project(["car"]), {"car": "no"}, 1.0, protocol=PAPERS)


def test_records_outside_the_questionnaire_answer_for_a_category_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for record in ({}, {"sex": None, "car": "no"}, {"sex": float("nan"), "car": ["no"]}, {"sex": "X", "car": "no"}):
        with pytest.raises(DomainError, match=r"outside='random'"):
            Client(PAIR, record, 5.0)
        client = Client(PAIR, record, 5.0, outside="random")
        kept = json.loads(client.to_json())["body"]["record"]
        assert kept["sex"] in PAIR.categories["sex"]
        assert Client.from_json(client.to_json()).to_json() == client.to_json()
        client.answer(query_at(0, 1.0))
    monkeypatch.setattr("ldpstats.randomness.urandom", lambda count: b"\x01" + bytes(count - 1))
    kept = json.loads(Client(PAIR, {}, 5.0, outside="random").to_json())["body"]["record"]
    assert kept == {"sex": "M", "car": "no"}  # the word 1, modulo two categories
    with pytest.raises(LdpstatsError, match="outside = 'guess'"):
        Client(PAIR, RECORDS[0], 5.0, outside="guess")
    with pytest.raises(DomainError, match="a record of type"):
        Client(PAIR, 5, 5.0, outside="random")  # type: ignore[arg-type]


def test_a_random_value_keeps_the_level_of_all_queries_together() -> None:
    """The law of a record outside is the mean of those inside, so that no ratio grows; by enumeration."""
    used = [query_at(0, level).groups[0].randomizer for level in (0.4, 1.0)]
    laws = []
    for value in range(4):
        rows = [exact_row(one, value) for one in used]
        laws.append({(a, b): rows[0][a] * rows[1][b] for a, b in product(range(4), repeat=2)})
    outside = {pair: sum((law[pair] for law in laws), Fraction(0)) / 4 for pair in laws[0]}
    assert worst_ratio([*laws, outside]) == worst_ratio(laws) == joint_ratio(used)


def exact_row(used: FakeResponse, value: int) -> list[Fraction]:
    fakes = [Fraction((GRID - used.truth) * fake, GRID**2) for fake in used.fake]
    return [fake + (used.p if cell == value else 0) for cell, fake in enumerate(fakes)]


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True, "1", None])
def test_other_limits_are_refused(limit: Any) -> None:
    with pytest.raises(LdpstatsError, match="limit"):
        Client(PAIR, RECORDS[0], limit)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({}, "without 'sex'"),
        ({"sex": "F"}, "without 'car'"),
        ({"sex": "F", "car": "maybe"}, "'maybe' about 'car'"),
        ({"sex": "X", "car": "no"}, "'X' about 'sex'"),
        ({"sex": None, "car": "no"}, "None about 'sex'"),
        ({"sex": float("nan"), "car": "no"}, "nan about 'sex'"),
        ({"sex": ["F"], "car": "no"}, "about 'sex'"),
        ({"sex": "F", "car": np.int64(1)}, "1. about 'car'"),
    ],
)
def test_records_without_an_answer_make_no_client(record: dict[str, Any], told: str) -> None:
    with pytest.raises(DomainError, match=told):
        Client(PAIR, record, 5.0)


OTHER = {
    "a category more": Domain({"sex": ["F", "M", "X"], "car": ["yes", "no"]}),
    "a category less": Domain({"sex": ["F", "Z"], "car": ["yes", "no"]}),
    "another order": Domain({"sex": ["M", "F"], "car": ["yes", "no"]}),
    "another attribute": Domain({"sex": ["F", "M"], "age": ["young", "old"]}),
}


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("limit", [1e-9, 0.5, inf])
def test_what_is_refused_does_not_depend_on_the_record(
    other: str, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn")

    monkeypatch.setattr("ldpstats.randomness.urandom", forbidden)
    domain = OTHER[other]
    fake = fake_numerators(np.full(domain.size(), 1 / domain.size()))
    query = Query("p", 0, 0, "t", (GroupQuery.about(domain, FakeResponse.at_level(0.1, fake)),))
    told = set()
    for sex, car in product(["F", "M"], ["yes", "no"]):
        client = Client(PAIR, {"sex": sex, "car": car}, limit)
        with pytest.raises(DomainError) as refusal:
            client.answer(query)
        told.add(str(refusal.value))
        assert client.spent == 0.0
    assert len(told) == 1


def test_a_query_about_parts_of_the_questionnaire_is_answered() -> None:
    query = Query(
        "p", 0, 0, "t", (GroupQuery.about(PAIR.project(["car"]), FakeResponse.at_level(1.0, (GRID // 2,) * 2)),)
    )
    assert Client(PAIR, RECORDS[0], 1.0).answer(query).cells[0] in (0, 1)


def test_a_stored_client_remembers_answers_and_what_they_cost() -> None:
    client = Client(PAIR, RECORDS[0], 1.5)
    first = client.answer(query_at(0, 1.0))
    again = Client.from_json(client.to_json())
    assert again.spent == client.spent
    assert again.to_json() == client.to_json()
    assert all(again.answer(query_at(0, 1.0)) == first for _ in range(40))
    with pytest.raises(LdpstatsError, match="in all"):
        again.answer(query_at(1, 1.0))
    assert again.answer(query_at(2, 0.25)).number == 2
    assert again.spent == pytest.approx(1.25)
    assert Client.from_json(Client(PAIR, RECORDS[0], inf).to_json()).limit == inf


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", sealed("client", 1, {}), sealed("client", 2, []), "3", "[" * 100_000]
)
def test_what_is_no_saved_client_is_refused(text: str) -> None:
    whole = Client(PAIR, RECORDS[0], 1.5).to_json()
    for wrong in (text, whole[:-5], whole.replace('"spent": 0.0', '"spent": 0.5'), whole.replace('"F"', '"M"', 1)):
        with pytest.raises(LdpstatsError, match="not a saved client"):
            Client.from_json(wrong)


EDITED: dict[str, Callable[[dict[str, Any]], object]] = {
    "less spent": lambda body: body.update(spent=0.5),
    "nothing spent": lambda body: body.update(spent=0),
    "a spent word": lambda body: body.update(spent="1.0"),
    "an infinity spent": lambda body: body.update(spent="inf"),
    "a lower limit": lambda body: body.update(limit=1.0),
    "no limit": lambda body: body.update(limit=0),
    "an answer less": lambda body: body["answers"].pop(),
    "an answer twice": lambda body: body["answers"].append(body["answers"][0]),
    "an answer for nothing": lambda body: body["answers"][0].update(epsilon=0),
    "an answer with a debt": lambda body: body["answers"][0].update(epsilon=-1.0),
    "an answer without a price": lambda body: body["answers"][0].pop("epsilon"),
    "an odd answer": lambda body: body["answers"][0].update(cells=["0"]),
    "another record": lambda body: body["record"].update(sex="Q"),
    "half a record": lambda body: body["record"].pop("sex"),
    "a longer record": lambda body: body["record"].update(more="F"),
    "no domain": lambda body: body.update(domain={}),
    "more names": lambda body: body.update(more=1),
}


@pytest.mark.parametrize("edit", EDITED)
def test_an_edited_client_is_refused_also_where_its_digest_is_made_anew(edit: str) -> None:
    client = Client(PAIR, RECORDS[0], 1.5)
    for number, level in enumerate((0.7, 0.6)):
        client.answer(query_at(number, level))
    body = json.loads(client.to_json())["body"]
    assert Client.from_json(sealed("client", 2, body)).spent == client.spent
    whole = json.loads(client.to_json())
    EDITED[edit](body)
    for damaged in (json.dumps({**whole, "body": body}), sealed("client", 2, body)):
        with pytest.raises(LdpstatsError, match="not a saved client"):
            Client.from_json(damaged)


MIXED = Domain({"a": ["x", "y"], "b": [1, 2], "c": [True, False], "d": [0.5, 1.5], "e": [10, 20.5]})
RECORD_ROWS: dict[str, Callable[[], Any]] = {
    "numpy values": lambda: {
        "a": np.str_("x"),
        "b": np.int64(2),
        "c": np.bool_(False),
        "d": np.float64(0.5),
        "e": np.int8(10),
    },
    "a row of a frame": lambda: dict(pd.DataFrame({"a": ["x"], "b": [2], "c": [False], "d": [0.5], "e": [10]}).iloc[0]),
    "a series": lambda: pd.DataFrame({"a": ["x"], "b": [2], "c": [False], "d": [0.5], "e": [10]}).iloc[0],
    "equal values of other types": lambda: {"a": "x", "b": 2.0, "c": 0, "d": Fraction(1, 2), "e": np.float32(10)},
    "a text of a kind of its own": lambda: {"a": OwnText("x"), "b": 2, "c": False, "d": 0.5, "e": 10},
    "a pandas categorical": lambda: dict(
        pd.DataFrame({"a": ["x"], "b": [2], "c": [False], "d": [0.5], "e": [10]}).astype("category").iloc[0]
    ),
}


class OwnText(str):
    """A text that is not a plain one."""

    __slots__ = ()


@pytest.mark.parametrize("kind", RECORD_ROWS)
def test_a_record_is_copied_into_the_categories_of_the_domain(kind: str) -> None:
    """So what can be answered can be stored, whatever it was made from."""
    client = Client(MIXED, RECORD_ROWS[kind](), 10.0)
    assert client._record == {"a": "x", "b": 2, "c": False, "d": 0.5, "e": 10}
    assert [type(value) for value in client._record.values()] == [str, int, bool, float, int]
    query = RRBA(MIXED, k=5, epsilon=1.0).aggregator().query()
    answer = client.answer(query)
    again = Client.from_json(client.to_json())
    assert (again.answer(query), again.spent) == (answer, client.spent)


def test_what_becomes_of_the_callers_record_changes_nothing() -> None:
    record = {"sex": "F", "car": "no"}
    client = Client(PAIR, record, 5.0)
    before = client.to_json()
    record["sex"] = "M"
    record.clear()
    assert client.to_json() == before
    assert client.answer(query_at(0, 1.0)).cells[0] in range(4)


@pytest.mark.parametrize(
    "wrong",
    [
        np.array(["F", "M"]),
        pd.NA,
        pd.NaT,
        pd.Timestamp("2020-01-01"),
        pd.Series(["F"]),
        b"F",
        ("F",),
        np.datetime64(0, "D"),
    ],
)
def test_values_that_are_no_category_make_no_client(wrong: Any) -> None:
    with pytest.raises(DomainError, match="about 'sex'"):
        Client(PAIR, {"sex": wrong, "car": "no"}, 1.0)


@pytest.mark.parametrize("record", [None, 5, "F", ["F", "no"], {("sex",): "F"}])
def test_what_is_no_record_makes_no_client(record: Any) -> None:
    with pytest.raises(DomainError, match="record"):
        Client(PAIR, record, 1.0)


def test_nothing_is_spent_before_all_that_can_fail_has_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(count: int) -> bytes:
        raise OSError(count)

    client, query = Client(PAIR, RECORDS[0], 5.0), query_at(0, 1.0)
    odd: list[Any] = [
        replace(query, number=np.int64(0)),
        replace(query, groups=()),
        replace(query, token=5),
        replace(query, groups=list(query.groups)),
        replace(query, groups=(5,)),
        query.to_json(),
        None,
    ]
    for one in odd:
        with pytest.raises(ReportError):
            client.answer(one)
    with monkeypatch.context() as patch:
        patch.setattr("ldpstats.randomness.urandom", broken)
        with pytest.raises(OSError, match="8"):
            client.answer(query)
    assert (client.spent, json.loads(client.to_json())["body"]["answers"]) == (0.0, [])
    client.answer(query)
    assert client.spent == query.strict_epsilon()


@pytest.mark.parametrize("rng", [True, "seed", -1])
def test_a_source_of_chance_that_cannot_be_used_costs_nothing(rng: Any) -> None:
    client = Client(PAIR, RECORDS[0], 5.0)
    with pytest.raises(LdpstatsError, match="rng"):
        client.answer(query_at(0, 1.0), rng)
    assert client.spent == 0.0


def test_secure_randomness_is_the_default_and_simulation_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def scripted(count: int) -> bytes:
        drawn.append(count)
        return b"\xff" * count

    monkeypatch.setattr("ldpstats.randomness.urandom", scripted)
    asked = query_at(0, 1.0)
    answer = Client(PAIR, RECORDS[0], 5.0).answer(asked)
    assert (answer.cells, answer.simulated) == ((3,), False)  # the largest words: a fake, and the last one
    assert set(drawn) == {8}
    monkeypatch.setattr("ldpstats.randomness.urandom", bytes)
    assert Client(PAIR, {"sex": "M", "car": "yes"}, 5.0).answer(asked).cells == (2,)  # the smallest word: the truth
    drawn.clear()
    monkeypatch.setattr("ldpstats.randomness.urandom", scripted)
    seeded = Client(PAIR, RECORDS[0], 5.0).answer(asked, 1)
    assert seeded.simulated
    assert not drawn


def test_tables_say_whether_any_answer_was_simulated(protocol: RRBA) -> None:
    aggregator = protocol.aggregator()
    for record in RECORDS[:4]:
        aggregator.take(protocol.client(record, inf).answer(aggregator.query()))
    assert not aggregator.tables().simulated
    aggregator.take(protocol.client(RECORDS[4], inf).answer(aggregator.query(), 1))
    assert aggregator.tables().simulated
    assert Aggregator.from_json(aggregator.to_json()).tables().simulated


def test_answers_of_a_client_follow_her_channel() -> None:
    """A χ² test of 20,000 secure answers; its false-failure rate is 1e-6."""
    from scipy.stats import chisquare

    query, n = query_at(0, 1.0), 20_000
    cells = [Client(PAIR, RECORDS[0], 5.0).answer(query).cells[0] for _ in range(n)]
    used, truth = query.groups[0].randomizer, query.groups[0].cell(RECORDS[0])
    law = (1 - float(used.p)) * np.array(used.fake, dtype=float) / GRID
    law[truth] += float(used.p)
    assert chisquare(np.bincount(cells, minlength=4), n * law).pvalue > 1e-6


def test_progress_counts_blocks_and_reports() -> None:
    aggregator = PROTOCOLS["two units"].aggregator(rng=1)
    run(aggregator, 7)
    expected = pd.DataFrame({"blocks closed": [2, 1], "reports in the open block": [0, 1]})
    found = aggregator.progress()
    assert sorted(found["groups"]) == ["car", "sex"]
    rows = found[expected.columns].sort_values("blocks closed", ascending=False).reset_index(drop=True)
    assert rows.equals(expected)


def test_a_restored_aggregator_asks_with_the_fakes_of_the_state_and_not_with_its_own() -> None:
    protocol = RRBA(PAIR, p=0.5, block_size=2, groups=[("sex",)])
    one, other = protocol.aggregator(), protocol.aggregator()
    for aggregator, value in ((one, 0), (other, 1)):
        for _ in range(2):
            query = aggregator.query()
            aggregator.take(Answer(query.protocol, query.number, query.block, query.token, (value,)))
        aggregator.query()
    fakes = [json.loads(aggregator.query().to_json())["groups"][0]["fake"] for aggregator in (one, other)]
    assert fakes[0] != fakes[1]
    restored = Aggregator.from_json(other.to_json())
    assert json.loads(restored.query().to_json())["groups"][0]["fake"] == fakes[1]


@pytest.mark.parametrize("outside", ["refuse", "random"])
def test_a_row_with_an_interval_is_a_record(outside: str) -> None:
    """A random category in its place would be a wrong answer that nobody sees."""
    frame = pd.DataFrame({"age": pd.cut(pd.Series([18, 25, 40, 67]), 8), "car": ["yes", "no", "yes", "no"]})
    for place, age in enumerate(frame["age"]):
        client = Client(Domain.from_frame(frame), dict(frame.iloc[place]), 1.0, outside=outside)
        assert json.loads(client.to_json())["body"]["record"]["age"] == str(age)


@pytest.mark.parametrize("limit", [10**400, -(10**400), float("nan"), True, "1", None, np.array(1.0)])
def test_limits_that_are_no_levels_are_refused(limit: Any) -> None:
    with pytest.raises(LdpstatsError, match="limit ="):
        Client(Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), {"car": "no", "sex": "F"}, limit)
