"""RRBA protocols of several kinds, their respondents, and what an aggregator has counted."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import pytest

from ldpstats import RRBA, Domain
from ldpstats.errors import ReportError
from ldpstats.numbers.grid import GRID
from ldpstats.protocols.rrba import Aggregator, Answer, Client, Query

PAIR = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
RECORDS = [{"sex": "FFM"[i % 3], "car": ("no", "yes")[i % 5 == 0]} for i in range(60)]
PROTOCOL = RRBA(PAIR, p=0.5, block_size=3)
PROTOCOLS = {
    "epsilon": RRBA(PAIR, epsilon=1.0, block_size=3),
    "p": RRBA(PAIR, p=0.6, block_size=4),
    "after every client": RRBA(PAIR, p=0.4, update="client"),
    "a whole view": RRBA(PAIR, k=1, p=0.5, block_size=3, answer="view"),
    "two units": RRBA(PAIR, k=1, epsilon=2.0, block_size=2),
}


def answered(query: Query, seed: int | None = None) -> Answer:
    """Let the respondent of this number answer with a seed of her own."""
    return device(query).answer(query, query.number if seed is None else seed)


def device(query: Query) -> Client:
    """Return the client of the respondent of this number, who knows the protocol if it is one of those above."""
    known = {protocol.fingerprint(): protocol for protocol in (PROTOCOL, *PROTOCOLS.values())}
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


def broken(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})
