"""Queries and answers on their way between an aggregator and a respondent."""

from __future__ import annotations

from typing import Any

import pytest
from support.rrba_collections import PROTOCOLS, answered, broken, run

from ldpstats import RRBA, Domain
from ldpstats.errors import ReportError
from ldpstats.grid import GRID
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
