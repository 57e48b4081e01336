"""The aggregator: what is refused, what its states keep, and whom it asks what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.rrba_collections import PAIR, PROTOCOLS, RECORDS, answered, assert_refused, blocks, device, fakes, run

from ldpstats import RRBA, LdpstatsError
from ldpstats.numbers.grid import GRID
from ldpstats.protocols.rrba import Aggregator, Answer, Query
from ldpstats.saving.files import sealed

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
    "edited cells that add up": lambda state: block(state).update(counts=[moved(block(state)["counts"][0])]),
    "a fake's chance": lambda state: block(state)["randomizers"][0][1].__setitem__(0, 1),
    "a negative count": lambda state: block(state)["counts"][0].__setitem__(0, -1),
    "a count of words": lambda state: block(state)["counts"][0].__setitem__(0, "1"),
    "a short key": lambda state: state["keys"][0].__setitem__(1, "00"),
    "an identity": lambda state: state.update(identity="0" * 31),
    "fakes of other reports": lambda state: block(state, 1).update(randomizers=block(state)["randomizers"]),
    "a surer truth": lambda state: block(state)["randomizers"][0].__setitem__(0, GRID),
    "the protocol's level": lambda state: state["protocol"].update(epsilon=0.5),
    "the protocol's block size": lambda state: state["protocol"].update(block_size=4),
    "a number made that fills the memory": lambda state: state.update(made=3_000_000_000),
    "more answers than reports": lambda state: state.update(answered="ffff", made=16),
    "an answer less": lambda state: state.update(answered="7f"),
    "no key for the first query": lambda state: state["keys"][0].__setitem__(0, 1),
    "a whole block gone": lambda state: state["series"][0].pop(0),
    "a block twice": lambda state: state["series"][0].insert(1, block(state)),
    "a block of no reports": lambda state: state["series"][0].append(block(state, 2) | {"n": 0, "counts": [[0] * 4]}),
    "more simulated than there are": lambda state: block(state).update(simulated=4),
    "a late report that is none": lambda state: block(state).update(late=[[4, 0, 0, 0]]),
    "late reports of an open block": lambda state: block(state, 2).update(late=block(state, 2)["counts"]),
    "late reports that leave a block too few": lambda state: block(state).update(late=block(state)["counts"]),
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
        Aggregator.from_json(sealed("RRBA aggregator", 1, whole["body"]))


def test_a_level_that_was_edited_is_not_the_one_that_was_kept() -> None:
    """A whole view collected at a level of 3 does not become one at a level of 1."""
    aggregator = RRBA(PAIR, k=1, epsilon=3.0, block_size=2, answer="view").aggregator()
    run(aggregator, 5)
    body = json.loads(aggregator.to_json())["body"]
    assert Aggregator.from_json(sealed("RRBA aggregator", 1, body)).n == 5
    weaker = RRBA(PAIR, k=1, epsilon=1.0, block_size=2, answer="view")
    body["protocol"] = json.loads(weaker.to_json())
    with pytest.raises(LdpstatsError, match="other chances of the truth"):
        Aggregator.from_json(sealed("RRBA aggregator", 1, body))


def test_a_protocol_without_floor_never_asks_for_the_plain_truth() -> None:
    """A state with the chance 1 of the truth, in the first block or in a later one, is no state."""
    aggregator = PROTOCOLS["p"].aggregator()
    run(aggregator, 5)
    for place in (0, 1):
        body = json.loads(aggregator.to_json())["body"]
        body["series"][0][place]["randomizers"][0][0] = str(2**64)
        with pytest.raises(LdpstatsError, match="other chances of the truth"):
            Aggregator.from_json(sealed("RRBA aggregator", 1, body))


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


def test_tables_say_whether_any_answer_was_simulated(protocol: RRBA) -> None:
    aggregator = protocol.aggregator()
    for record in RECORDS[:4]:
        aggregator.take(protocol.client(record, inf).answer(aggregator.query()))
    assert not aggregator.tables().simulated
    aggregator.take(protocol.client(RECORDS[4], inf).answer(aggregator.query(), 1))
    assert aggregator.tables().simulated
    assert Aggregator.from_json(aggregator.to_json()).tables().simulated


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
