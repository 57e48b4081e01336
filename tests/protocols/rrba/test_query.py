"""Queries and answers on their way between an aggregator and a respondent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.rrba_collections import PROTOCOLS, answered, broken, run

from ldpstats import RRBA, Domain
from ldpstats.errors import ReportError
from ldpstats.numbers.grid import GRID
from ldpstats.protocols.rrba import Answer, Query


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


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": ["0"]},
        {"cells": [-1]},
        {"cells": [True]},
        {"cells": 0},
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


def asked(**changes: Any) -> dict[str, Any]:
    """Return what a query may ask, but for these changes."""
    group = {"domain": [{"name": "a", "categories": ["x", "y"]}], "truth": "1", "fake": [str(GRID - 1), "1"]}
    return {"groups": [group | changes]}


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": 5},
        {"groups": [5]},
        {"number": [1]},
        {"number": -1},
        {"block": "x"},
        {"token": 5},
        {"protocol": None},
        {"groups": []},
        {"format": "ldpstats RRBA answer"},
        {"version": 3},
        {"version": True},
        *(asked(truth=wrong) for wrong in (1, 0.5, "01", "+1", "1.0", "-1", "", " 1", "١", "9" * 5000, "0x1")),
        *(asked(fake=wrong) for wrong in ([str(GRID)], [str(GRID - 1), "2"], [GRID - 1, 1])),
        asked(domain=[{"name": "a", "categories": ["x", "y", "z"]}]),
        asked(domain=[{"name": "a", "categories": ["x"]}], fake=[str(GRID)]),
        asked(domain={"a": ["x", "y"]}),
    ],
)
def test_queries_that_no_aggregator_wrote_are_refused(changes: dict[str, Any]) -> None:
    text = PROTOCOLS["epsilon"].aggregator().query().to_json()
    assert Query.from_json(broken(text, **asked())).groups[0].randomizer.truth == 1
    with pytest.raises(ReportError):
        Query.from_json(broken(text, **changes))
    with pytest.raises(ReportError):
        Answer.from_json(text)


def test_no_reader_of_json_rounds_a_query_or_reorders_its_attributes() -> None:
    domain = Domain({"10": ["x", "y"], "9": [1 << 60, 2]})
    query = RRBA(domain, epsilon=1.0).aggregator().query()

    def whole(digits: str) -> int:
        assert len(digits) < 16
        return int(digits)

    plain = json.loads(query.to_json(), parse_int=whole)
    assert [one["name"] for one in plain["groups"][0]["domain"]] == ["10", "9"]
    assert int(plain["groups"][0]["truth"]) == query.groups[0].randomizer.truth
    assert Query.from_json(query.to_json()).groups[0].domain == domain
