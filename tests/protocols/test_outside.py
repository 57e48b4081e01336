"""Answers outside the questionnaire: an error, or random ones in their place, which every number then says."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.conformance import exact_channel
from ldpstats.conformance.enumeration import outcomes
from ldpstats.conformance.protocol_checks import substitutes_are_uniform
from ldpstats.errors import DomainError, LdpstatsError, ReportError
from ldpstats.mechanisms import FakeResponse
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.protocols.population import respondents
from ldpstats.protocols.rrba import Client
from ldpstats.saving.codec import encoded
from ldpstats.saving.files import sealed

DOMAIN = ldp.Domain({"sex": ["F", "M"], "age": [1, 2, 3], "car": [True, False]})
PEOPLE = pd.DataFrame({"sex": ["F", "M", "M", "F"] * 5, "age": [1, 2, 3, 2, 1] * 4, "car": [True, False] * 10})
FOREIGN = pd.DataFrame(
    {
        "sex": ["F", None, float("nan"), pd.NA, "x", 1],
        "age": [1, 2, 2.5, "1", pd.NaT, [1]],
        "car": [True, "yes", None, (), False, {}],
    }
)
SAYS = "answers outside the questionnaire are replaced by random ones: estimates and tests are of that mixture"
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sampled groups": (ldp.SampledGroups, {}),
    "whole view": (ldp.WholeView, {"views": [[["sex", "age"], ["car"]], [["age"]]]}),
    "per attribute": (ldp.PerAttribute, {}),
    "one attribute": (ldp.PerAttribute, {"sampled": True}),
    "crossed": (ldp.PerAttribute, {"k": 2}),
    "product domain": (ldp.ProductDomain, {}),
    "hadamard coefficients": (ldp.HadamardCoefficients, {}),
    "rrba": (ldp.RRBA, {"block_size": 4}),
    "rrba, views": (ldp.RRBA, {"block_size": 4, "answer": "view", "k": 1}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_way = pytest.mark.parametrize("kind", ["sampled groups", "crossed", "rrba"])
"""What becomes of answers outside is done in two places: for questions that are assigned, and for those of RRBA."""


def made(kind: str, epsilon: float = 2.0, **more: Any) -> Any:
    make, options = KINDS[kind]
    return make(DOMAIN, epsilon=epsilon, **options, **more)


@each_way
def test_the_default_is_an_error_that_names_row_and_column(kind: str) -> None:
    protocol = made(kind)
    for column, wrong, said in (
        ("sex", None, "missing value None in row 7"),
        ("age", 9, "unknown category 9 in row 7"),
    ):
        frame = PEOPLE.astype(object).rename(index={3: 7})
        frame.iloc[3, frame.columns.get_loc(column)] = wrong
        for use in (protocol.collect, protocol.reports, protocol.simulate):
            with pytest.raises(DomainError, match=f"column '{column}' has the {said}"):
                use(frame, rng=1)
    assert protocol == made(kind, outside="refuse")
    assert json.loads(protocol.to_json())["body"]["outside"] == "refuse"
    assert not protocol.privacy().substitutes


@each_way
def test_nothing_else_changes_where_no_answer_is_outside(kind: str) -> None:
    one, other = made(kind), made(kind, outside="random")
    for seed in (1, 2):
        rows, same = (protocol.reports(PEOPLE, rng=seed) for protocol in (one, other))
        pd.testing.assert_frame_equal(rows.drop(columns="protocol"), same.drop(columns="protocol"))
        for path in ("collect", "simulate"):
            tables, alike = (getattr(protocol, path)(PEOPLE, rng=seed) for protocol in (one, other))
            for table, twin in zip(tables, alike, strict=True):
                assert encoded(table.blocks) == encoded(twin.blocks)
                assert table.parts == twin.parts


@each_way
def test_every_answer_outside_is_replaced_and_every_number_says_so(kind: str) -> None:
    protocol, frame = made(kind, outside="random"), FOREIGN.loc[np.arange(60) % 6]
    rows = protocol.reports(frame, rng=1)
    counted = [protocol.tables(rows), protocol.collect(frame, rng=1), protocol.simulate(frame, rng=1)]
    for tables in (*counted, ldp.TableSet.from_json(counted[0].to_json())):
        assert max(table.n for table in tables) <= len(frame) < 2 * sum(table.n for table in tables)
        assert SAYS in spoken(tables)
        for table in tables:
            assert SAYS in spoken(table.summary())
            assert SAYS in table.marginal(table.attributes[:1]).privacy.headline
        assert SAYS in (tables + made(kind).collect(PEOPLE, rng=3)).privacy.lines()
    assert protocol.privacy().substitutes
    assert counted[0].to_json() == counted[1].to_json()


@each_kind
def test_client_and_server_agree_on_the_policy(kind: str) -> None:
    protocol = made(kind, outside="random")
    again = type(protocol).from_json(protocol.to_json())
    assert (again, again.outside, again.fingerprint()) == (protocol, "random", protocol.fingerprint())
    assert protocol.fingerprint() != made(kind).fingerprint()
    with pytest.raises(ReportError, match="of another protocol"):
        made(kind).tables(protocol.reports(PEOPLE, rng=1))
    for damaged in ("guess", "refuse", None, ["random"]):
        text = sealed("protocol", 1, {**json.loads(protocol.to_json())["body"], "outside": damaged})
        with pytest.raises(LdpstatsError):
            type(protocol).from_json(text)
    for wrong in ("guess", None, True, []):
        with pytest.raises(LdpstatsError, match="outside ="):
            made(kind, outside=wrong)


@each_way
def test_a_column_that_is_not_there_is_another_questionnaire(kind: str) -> None:
    protocol = made(kind, outside="random")
    for use in (protocol.collect, protocol.reports, protocol.simulate):
        with pytest.raises(DomainError, match="no column 'car'"):
            use(PEOPLE.drop(columns="car"), rng=1)
        with pytest.raises(DomainError, match="column 'car' stands for 2 columns"):
            use(pd.concat([PEOPLE, PEOPLE[["car"]]], axis=1), rng=1)
    assert len(protocol.reports(PEOPLE.head(1).assign(car=None))) > 0


@each_way
def test_a_device_raises_for_no_answer_and_its_rows_show_none(kind: str) -> None:
    """One record to a device, secure randomness: its rows are of a kind that records inside send, too."""
    protocol = made(kind, outside="random")
    usual = protocol.reports(PEOPLE.head(1))
    for place in range(len(FOREIGN)):
        rows = protocol.reports(FOREIGN.iloc[[place]])
        assert list(rows.columns) == list(usual.columns)
        assert set(rows["number"]) == {0}
        assert not rows["simulated"].any()
        assert 1 <= max(table.n for table in protocol.tables(rows)) <= len(rows)


def test_substitutes_are_drawn_from_the_secure_source(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=5.0, groups=[("sex", "age")], mechanism="grr", outside="random")
    record = pd.DataFrame({"sex": [None], "age": ["x"], "car": [True]})
    for byte, cell in ((b"\x00", 0), (b"\x01", 4)):  # the coin says the truth; words of ones are 1 modulo 2 and 3
        monkeypatch.setattr("ldpstats.numbers.randomness.urandom", lambda count, one=byte: one * count)
        assert protocol.reports(record)["report"].tolist() == [cell]


def test_a_frequency_table_with_lists_in_cells_is_still_recognized() -> None:
    frame = FOREIGN.assign(n=range(6))
    with pytest.raises(DomainError, match="looks like a frequency table"):
        made("sampled groups", outside="random").collect(frame, rng=1)
    assert made("product domain", outside="random").collect(frame, rng=1, counts="n").n == 15


def test_substitutes_are_uniform_and_independent_by_enumeration() -> None:
    """All that the source can do: every completion of the records comes with the same probability."""
    frame = pd.DataFrame({"sex": [None, "M", "x"], "age": [2, None, 7], "car": [True, False, False]})
    law = {codes.tobytes(): p for codes, p in outcomes(lambda draws: respondents(DOMAIN, frame, None, draws))}
    completions = product(range(2), range(3), range(2), range(3))
    expected = {
        np.array([[a, 1, 0], [1, b, 1], [c, d, 1]], dtype=np.int8).tobytes(): Fraction(1, 36)
        for a, b, c, d in completions
    }
    assert law == expected


def test_every_respondent_of_a_frequency_table_draws_her_own() -> None:
    frame = pd.DataFrame({"sex": [None, "M"], "age": [2, 1], "car": [True, False], "n": [2, 1]})
    found = [codes for codes, _ in outcomes(lambda draws: respondents(DOMAIN, frame, "n", draws))]
    assert sorted(codes[:, 0].tolist() for codes in found) == [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]


def asked_of_one(protocol: Any) -> list[list[tuple[Any, Any]]]:
    """Return what one respondent is asked: questions with the mechanisms of their answers."""
    if isinstance(protocol, ldp.RRBA):
        return [list(zip(one.questions, one.blocks[-1].randomizers, strict=True)) for one in protocol.series()]
    return [[(one.question, one.mechanism) for row in unit for one in row.asked] for unit in protocol._units]


def channel_of(used: Any) -> list[dict[Any, Fraction]]:
    if isinstance(used, FakeResponse):
        fakes = [(1 - used.p) * Fraction(fake, sum(used.fake)) for fake in used.fake]
        return [dict(enumerate(f + (used.p if c == own else 0) for c, f in enumerate(fakes))) for own in range(used.k)]
    return list(exact_channel(used))


def law_of(unit: list[tuple[Any, Any]], channels: list[Any], codes: np.ndarray[Any, Any]) -> dict[Any, Fraction]:
    """Return the exact joint law of a record's reports about all that one respondent is asked."""
    rows = [channel[question.answer(DOMAIN, codes)[0]] for (question, _), channel in zip(unit, channels, strict=True)]
    return {
        tuple(report for report, _ in sent): prod((p for _, p in sent), start=Fraction(1))
        for sent in product(*(row.items() for row in rows))
    }


@each_kind
def test_the_level_covers_records_outside_by_enumeration(kind: str) -> None:
    """Their law is the mean of those inside, drawn before anything is asked; so no ratio grows."""
    protocol = made(kind, outside="random", **({} if "rrba" in kind or "hadamard" in kind else {"mechanism": "grr"}))
    unit = max(asked_of_one(protocol), key=len)
    channels = [channel_of(used) for _, used in unit]
    laws = {cell: law_of(unit, channels, np.array([cell])) for cell in product(range(2), range(3), range(2))}
    outside = []
    for record in ({"sex": "F", "age": None, "car": True}, {"sex": "x", "age": 2, "car": "y"}, dict.fromkeys("abc")):
        frame, law = pd.DataFrame([record], columns=list(DOMAIN.names)), dict.fromkeys(laws[0, 0, 0], Fraction(0))
        for codes, probability in outcomes(lambda draws, own=frame: respondents(DOMAIN, own, None, draws)):
            own = laws[tuple(codes[0].tolist())]
            law = {sent: p + probability * own[sent] for sent, p in law.items()}
        outside.append(law)
    assert sum(outside[0].values()) == 1
    worst = worst_ratio(laws.values())
    assert worst_ratio([*laws.values(), *outside]) == worst
    assert strict_epsilon(worst) <= protocol.privacy().epsilon


@each_way
def test_what_takes_their_place_has_its_law_whichever_way_tables_come_about(kind: str) -> None:
    make, options = KINDS[kind]
    substitutes_are_uniform(lambda domain, epsilon: make(domain, epsilon=epsilon, outside="random", **options))


@pytest.mark.parametrize("record", [{}, {"sex": None, "age": 2.5, "car": ["no"]}, {"sex": "F", "age": 9, "car": True}])
def test_a_client_takes_the_policy_from_its_protocol(record: dict[str, Any]) -> None:
    protocol = made("rrba", outside="random")
    client, aggregator = protocol.client(record, limit=2.0), protocol.aggregator()
    aggregator.take(client.answer(aggregator.query()))
    assert SAYS in spoken(aggregator.tables())
    assert SAYS in spoken(protocol.summary())
    again = Client.from_json(client.to_json())
    assert again.to_json() == client.to_json()
    with pytest.raises(DomainError, match="outside='random'"):
        made("rrba").client(record, limit=2.0)
    for outside in ("random", "refuse"):
        with pytest.raises(LdpstatsError, match="beside a protocol with outside = 'random'"):
            Client(DOMAIN, record, 2.0, protocol=protocol, outside=outside)


@pytest.mark.parametrize("damage", [{"sex": "Q"}, {"sex": None}])
def test_a_stored_record_that_was_damaged_is_not_drawn_anew(damage: dict[str, Any]) -> None:
    body = json.loads(made("rrba", outside="random").client({}, limit=inf).to_json())["body"]
    assert Client.from_json(sealed("client", 1, body)).limit == inf
    with pytest.raises(LdpstatsError, match="not a saved client"):
        Client.from_json(sealed("client", 1, {**body, "record": {**body["record"], **damage}}))


def test_statements_of_substitutes_are_true_or_false() -> None:
    with pytest.raises(LdpstatsError, match="substitutes = 1"):
        ldp.PrivacyStatement(1.0, "a record", substitutes=1)  # type: ignore[arg-type]  # this is what is refused


@pytest.mark.parametrize("column", [[1, 2, 1, 2], [1.0, None, 2.0, 2.0]])
def test_a_column_of_another_type_is_warned_of(column: list[Any]) -> None:
    """Numbers where the questionnaire has texts would all be replaced, and nothing would tell."""
    protocol = ldp.SampledGroups(ldp.Domain({"age": ["1", "2"], "sex": ["F", "M"]}), epsilon=1.0, outside="random")
    frame = pd.DataFrame({"age": column, "sex": list("FMFM")})
    for use in (protocol.collect, protocol.simulate, protocol.reports):
        with pytest.warns(UserWarning, match=r"No answer in column 'age' .* 1(.0)? is none of '1', '2'.*Convert"):
            use(frame, rng=1)
    protocol.collect(frame.assign(age=["1", *column[1:]]), rng=1)
    protocol.collect(frame.assign(age=None), rng=1)
