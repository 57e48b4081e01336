"""A respondent's client: what it answers, what that costs, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.rrba_collections import PAIR, PROTOCOLS, RECORDS

from ldpstats import RRBA, Domain, DomainError, LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.mechanisms import FakeResponse, fake_numerators
from ldpstats.numbers.grid import GRID
from ldpstats.protocols.rrba import Client, Query
from ldpstats.protocols.rrba.query import GroupQuery
from ldpstats.saving.files import sealed


def test_the_same_query_gets_the_same_answer_at_no_further_cost(protocol: RRBA) -> None:
    aggregator = protocol.aggregator(rng=1)
    client, query = protocol.client(RECORDS[0], inf), aggregator.query()
    first, spent = client.answer(query), client.spent
    assert all(client.answer(one) == first for one in [query, Query.from_json(query.to_json())] * 20)
    assert client.spent == spent == query.strict_epsilon()
    # nor does the same query with fakes that hide less
    telling = FakeResponse.telling(0.999, query.groups[0].randomizer.fake)
    sharper = replace(query, groups=tuple(replace(one, randomizer=telling) for one in query.groups[:1]))
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
    assert rarer.strict_epsilon() <= 1.0
    for used in (rarer, FakeResponse(rarer.truth, (GRID, 0, 0, 0)), FakeResponse(GRID, rarer.fake)):
        asked = Query(floored.fingerprint(), 0, 0, "t", (GroupQuery.about(PAIR, used),))
        with pytest.raises(LdpstatsError, match="her protocol does not make"):
            floored.client(RECORDS[0], inf).answer(asked)
    with pytest.raises(LdpstatsError, match="a protocol over"):
        Client(PAIR.project(["car"]), {"car": "no"}, 1.0, protocol=PAPERS)


def test_what_a_client_was_promised_can_be_read() -> None:
    """An infinite level with p = .6 is told from the truth whenever it is asked for."""
    bounded = PROTOCOLS["epsilon"]
    asked = bounded.aggregator().query().groups[0].randomizer  # even fakes leave room for the most truth
    promised = {
        (inf, 0.6, True): PAPERS.client(RECORDS[0], inf),
        (2.0, 0.6, False): PAPERS.client(RECORDS[0], 2.0),
        (1.0, float(asked.p), False): bounded.client(RECORDS[0], inf),
        (inf, None, False): Client(PAIR, RECORDS[0], inf),
    }
    for found, client in promised.items():
        assert (client.epsilon, client.p, client.certain) == found


def test_records_outside_the_questionnaire_answer_for_a_category_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for record in ({}, {"sex": None, "car": "no"}, {"sex": float("nan"), "car": ["no"]}, {"sex": "X", "car": "no"}):
        with pytest.raises(DomainError, match=r"outside='random'"):
            Client(PAIR, record, 5.0)
        client = Client(PAIR, record, 5.0, outside="random")
        kept = json.loads(client.to_json())["body"]["record"]
        assert kept["sex"] in PAIR.categories["sex"]
        assert Client.from_json(client.to_json()).to_json() == client.to_json()
        client.answer(query_at(0, 1.0))
    monkeypatch.setattr("ldpstats.numbers.randomness.urandom", lambda count: b"\x01" + bytes(count - 1))
    kept = json.loads(Client(PAIR, {}, 5.0, outside="random").to_json())["body"]["record"]
    assert kept == {"sex": "M", "car": "no"}  # the word 1, modulo two categories
    with pytest.raises(LdpstatsError, match="outside = 'guess'"):
        Client(PAIR, RECORDS[0], 5.0, outside="guess")
    with pytest.raises(DomainError, match="a record of type"):
        Client(PAIR, 5, 5.0, outside="random")  # type: ignore[arg-type]  # this is what is refused


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
        *(
            ({"sex": wrong, "car": "no"}, "about 'sex'")
            for wrong in (np.array(["F", "M"]), pd.NA, pd.Series(["F"]), b"F")
        ),
        *((wrong, "record") for wrong in (None, 5, "F", ["F", "no"], {("sex",): "F"})),
    ],
)
def test_records_without_an_answer_make_no_client(record: Any, told: str) -> None:
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

    monkeypatch.setattr("ldpstats.numbers.randomness.urandom", forbidden)
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
    "text", ["", "{}", "[]", "null", sealed("client", 2, {}), sealed("client", 1, []), "3", "[" * 100_000]
)
def test_what_is_no_saved_client_is_refused(text: str) -> None:
    whole = Client(PAIR, RECORDS[0], 1.5).to_json()
    for wrong in (text, whole[:-5], whole.replace('"spent":0.0', '"spent":0.5'), whole.replace('"F"', '"M"', 1)):
        with pytest.raises(LdpstatsError, match="not a saved client"):
            Client.from_json(wrong)


EDITED: dict[str, Callable[[dict[str, Any]], object]] = {
    "less spent": lambda body: body.update(spent=0.5),
    "a lower limit": lambda body: body.update(limit=1.0),
    "a spent word": lambda body: body.update(spent="1.0"),
    "an answer with a debt": lambda body: body["answers"][0].update(epsilon=-1.0),
    "an answer less": lambda body: body["answers"].pop(),
    "an answer twice": lambda body: body["answers"].append(body["answers"][0]),
    "another record": lambda body: body["record"].update(sex="Q"),
}


@pytest.mark.parametrize("edit", EDITED)
def test_an_edited_client_is_refused_also_where_its_digest_is_made_anew(edit: str) -> None:
    client = Client(PAIR, RECORDS[0], 1.5)
    for number, level in enumerate((0.7, 0.6)):
        client.answer(query_at(number, level))
    body = json.loads(client.to_json())["body"]
    assert Client.from_json(sealed("client", 1, body)).spent == client.spent
    whole = json.loads(client.to_json())
    EDITED[edit](body)
    for damaged in (json.dumps({**whole, "body": body}), sealed("client", 1, body)):
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
        patch.setattr("ldpstats.numbers.randomness.urandom", broken)
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

    monkeypatch.setattr("ldpstats.numbers.randomness.urandom", scripted)
    asked = query_at(0, 1.0)
    answer = Client(PAIR, RECORDS[0], 5.0).answer(asked)
    assert (answer.cells, answer.simulated) == ((3,), False)  # the largest words: a fake, and the last one
    assert set(drawn) == {8}
    monkeypatch.setattr("ldpstats.numbers.randomness.urandom", bytes)
    assert Client(PAIR, {"sex": "M", "car": "yes"}, 5.0).answer(asked).cells == (2,)  # the smallest word: the truth
    drawn.clear()
    monkeypatch.setattr("ldpstats.numbers.randomness.urandom", scripted)
    seeded = Client(PAIR, RECORDS[0], 5.0).answer(asked, 1)
    assert seeded.simulated
    assert not drawn


@pytest.mark.parametrize("outside", ["refuse", "random"])
def test_a_row_with_an_interval_is_a_record(outside: str) -> None:
    """A random category in its place would be a wrong answer that nobody sees."""
    frame = pd.DataFrame({"age": pd.cut(pd.Series([18, 25, 40, 67]), 8), "car": ["yes", "no", "yes", "no"]})
    for place, age in enumerate(frame["age"]):
        client = Client(Domain.from_frame(frame), dict(frame.iloc[place]), 1.0, outside=outside)
        assert json.loads(client.to_json())["body"]["record"]["age"] == str(age)


@pytest.mark.parametrize("limit", [0, -1, 10**400, -(10**400), float("nan"), True, "1", None, np.array(1.0)])
def test_limits_that_are_no_levels_are_refused(limit: Any) -> None:
    with pytest.raises(LdpstatsError, match="limit ="):
        Client(PAIR, RECORDS[0], limit)
