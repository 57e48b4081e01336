"""Channels in protocols of every local kind: at their level, in files, counted from messages, estimated, tested."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from scipy.stats import kstest
from support.protocol_files import schema

import ldpstats as ldp
from ldpstats import LdpstatsError, client
from ldpstats.errors import NotIdentifiedError
from ldpstats.mechanisms import Channel
from ldpstats.numbers.grid import GRID
from ldpstats.protocols import AssignedQuestions, PerAttribute, ProductDomain, SampledGroups, WholeView

SCHEMA = Draft202012Validator(schema())
DOMAIN = ldp.Domain({"a": ["no", "yes"], "b": [1, 2, 3], "c": ["p", "q"]})
ONE_SIDED = Channel([[0.5, 0.5], [0, 1]], values=["no", "yes"])
WIDE = [[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]]
RECTANGULAR, EVEN = Channel(WIDE, values=[1, 2, 3]), [[0.8, 0.2], [0.3, 0.7]]
CHANNELS = [ONE_SIDED, RECTANGULAR, Channel(EVEN)]
PAIRS = [Channel(np.kron(one, other)) for one, other in ((EVEN, WIDE), (EVEN, EVEN), (WIDE, EVEN))]
DEFICIENT = Channel([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
"""It tells whether b is 1, and not 2 from 3."""

KINDS: dict[str, Callable[..., AssignedQuestions]] = {
    "sampled attributes": partial(SampledGroups, k=1, epsilon=math.inf, mechanism=CHANNELS),
    "sampled pairs": partial(SampledGroups, epsilon=5.0, mechanism=PAIRS),
    "whole view": partial(WholeView, k=1, epsilon=math.inf, mechanism=CHANNELS),
    "per attribute": partial(PerAttribute, epsilon=math.inf, mechanism=CHANNELS),
    "one attribute of each": partial(PerAttribute, epsilon=math.inf, sampled=True, mechanism=CHANNELS),
    "crossed rows": partial(PerAttribute, epsilon=math.inf, k=2, mechanism=CHANNELS),
    "product domain": partial(ProductDomain, epsilon=7.0, mechanism=[Channel(np.kron(np.kron(EVEN, WIDE), EVEN))]),
}


def people(n: int) -> pd.DataFrame:
    """Return records in which a and b depend on each other, and c on neither."""
    rng = np.random.default_rng(5)
    a = rng.random(n) < 0.3
    b = np.where(a, rng.choice([1, 2, 3], n, p=[0.6, 0.3, 0.1]), rng.choice([1, 2, 3], n))
    return pd.DataFrame({"a": np.where(a, "yes", "no"), "b": b, "c": rng.choice(["p", "q"], n)})


@pytest.mark.parametrize("name", KINDS)
def test_protocols_with_channels_come_back_and_keep_what_they_promise(name: str, tmp_path: Path) -> None:
    protocol = KINDS[name](DOMAIN)
    protocol.save(tmp_path / "protocol.json")
    assert ldp.load(tmp_path / "protocol.json") == protocol
    assert pickle.loads(pickle.dumps(protocol)) == protocol  # noqa: S301  # our own
    SCHEMA.validate(json.loads(protocol.to_json()))
    respondent = client.Respondent(protocol.to_json())
    assert respondent.epsilon == protocol.privacy().epsilon
    assert respondent.certain == (protocol.privacy().epsilon == math.inf)
    used = {one.epsilon for unit in protocol.units() for row in unit for one in _mechanisms(row)}
    level = max(used) if len(used) == 1 or name == "sampled pairs" else math.inf
    assert protocol.privacy().epsilon == pytest.approx(level, rel=1e-12)


def _mechanisms(row: Any) -> Sequence[Channel]:
    return [one.mechanism for one in getattr(row, "asked", (row,))]


@pytest.mark.parametrize("name", KINDS)
def test_tables_of_channels_estimate_the_truth(name: str) -> None:
    """To within 6 standard errors: the false-failure rate of all is below 1e-6."""
    frame = people(30_000)
    for table in KINDS[name](DOMAIN).collect(frame, rng=7):
        shape = [len(DOMAIN.categories[one]) for one in table.attributes]
        codes = [pd.Categorical(frame[one], DOMAIN.categories[one]).codes for one in table.attributes]
        true = np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape)).reshape(shape) / len(frame)
        estimate = table.estimate, table.std_err
        off = np.abs(estimate[0] - true)
        assert np.all(off <= 6 * estimate[1])


@pytest.mark.parametrize("name", KINDS)
def test_messages_about_channels_are_counted_from_every_file(name: str, tmp_path: Path) -> None:
    protocol, records = KINDS[name](DOMAIN), people(60).to_dict("records")
    text = protocol.to_json()
    messages = [client.Respondent(text).answer(record, f"person-{n}") for n, record in enumerate(records)]
    (tmp_path / "answers.jsonl").write_text("\n".join(messages), encoding="utf-8")
    counted = []
    for file in ("answers.jsonl", "reports.csv", "reports.parquet"):
        if file != "answers.jsonl":
            ldp.write_messages(tmp_path / file, protocol, messages)
        tables = ldp.tables_of(tmp_path / file, protocol)
        counted.append([block.tally.counts.tolist() for table in tables for block in table.blocks])
    assert counted[0] == counted[1] == counted[2]


def test_a_channel_is_asked_at_its_level_or_above_and_about_its_own_values() -> None:
    channel = Channel(EVEN)
    for level in (channel.epsilon, 3.0, math.inf):
        asked = SampledGroups(DOMAIN, groups=[["a"]], epsilon=level, mechanism=[channel])
        assert asked.privacy().epsilon == channel.epsilon
    with pytest.raises(LdpstatsError, match="epsilon"):
        SampledGroups(DOMAIN, groups=[["a"]], epsilon=math.nextafter(channel.epsilon, 0), mechanism=[channel]).units()
    for values in (["yes", "no"], ["p", "q"]):
        with pytest.raises(LdpstatsError, match="a channel with the same values in the same order"):
            SampledGroups(DOMAIN, groups=[["a"]], epsilon=3.0, mechanism=[Channel(EVEN, values=values)]).units()
    with pytest.raises(LdpstatsError, match="epsilon = inf"):
        SampledGroups(DOMAIN, epsilon=math.inf)


def test_other_rows_or_names_are_another_protocol() -> None:
    rows = [[GRID // 2, GRID // 2], [GRID // 4, GRID - GRID // 4]]
    changed = [[GRID // 2, GRID // 2], [GRID // 4 + 1, GRID - GRID // 4 - 1]]
    channels = Channel(rows), Channel(changed), Channel(rows, values=["no", "yes"]), Channel(rows, outputs=["x", "y"])
    asked = [SampledGroups(DOMAIN, groups=[["a"]], epsilon=3.0, mechanism=[one]).fingerprint() for one in channels]
    assert len(set(asked)) == len(channels)


def test_what_a_deficient_channel_leaves_open_is_refused_and_the_rest_is_tested() -> None:
    """Of b only whether it is 1 is told: the test has the one degree of freedom that this leaves, and is as exact."""
    channels = [Channel(EVEN), DEFICIENT, Channel(EVEN)]
    protocol = PerAttribute(DOMAIN, epsilon=9.0, k=2, mechanism=channels)
    table = protocol.collect(people(20_000), rng=3)["a", "b"]
    with pytest.raises(NotIdentifiedError, match="rank 4 for 6 values"):
        _ = table.estimate
    result = ldp.independence_test(table)
    assert result.df == 1
    assert result.pvalue < 1e-6
    alike = np.multiply.outer([0.7, 0.3], [0.5, 0.2, 0.3])
    counts = np.round(np.multiply.outer(alike, [0.5, 0.5]) * 4_000).astype(int)
    pvalues = [
        ldp.independence_test(protocol.simulate(counts.ravel(), rng=seed)["a", "b"]).pvalue for seed in range(100)
    ]
    assert kstest(pvalues, "uniform").pvalue > 1e-6
    assert np.mean(np.array(pvalues) < 0.05) < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": [["1"], ["1", "2"], ["1"]], "names": "values"},
        {"rows": [["1"]]},
        {"rows": "1"},
        {"rows": [[1, 2], [3, 4]]},
        {"rows": [["0", "1"], []]},
        {"truth": "1"},
        {"certain": None},
        {"certain": "perhaps"},
        {"epsilon": 1.0},
    ],
    ids=str,
)
def test_the_schema_knows_what_is_wrong_with_a_channel(changed: dict[str, Any]) -> None:
    plain = json.loads(KINDS["sampled attributes"](DOMAIN).to_json())
    assert SCHEMA.is_valid(plain)
    channel, privacy = plain["body"]["mechanisms"][0], plain["body"]["privacy"]
    names = changed.pop("names", None)
    if names:
        channel[names] = {}
    elif "certain" in changed and changed["certain"] is None:
        del privacy["certain"]
    elif {*changed} & {*privacy}:
        privacy.update(changed)
    else:
        channel["probabilities"].update(changed)
    assert not SCHEMA.is_valid(plain)


def test_a_hypothesis_without_parameters_is_tested_through_a_one_sided_channel() -> None:
    protocol = SampledGroups(DOMAIN, groups=[["a"]], epsilon=math.inf, mechanism=[ONE_SIDED])
    table = protocol.simulate(np.repeat([0, 400], 6), rng=1)["a"]
    assert ldp.goodness_of_fit_test(table, [0.5, 0.5]).pvalue < 1e-6
    assert ldp.goodness_of_fit_test(table, [0.0, 1.0]).pvalue == 1
    mixed = protocol.simulate(np.repeat([10, 400], 6), rng=1)["a"]
    assert ldp.goodness_of_fit_test(mixed, [0.0, 1.0]).pvalue <= 1e-4


def test_channels_too_large_to_travel_are_asked_and_said_to_be_too_large() -> None:
    rng = np.random.default_rng(1)
    for k, travels in ((100, True), (650, False)):
        entries = GRID // 2 // k + rng.integers(1 << 50, size=(k, k - 1))
        channel = Channel([[*row, GRID - sum(row)] for row in entries.tolist()])
        protocol = SampledGroups(ldp.Domain({"n": range(k)}), k=1, epsilon=40.0, mechanism=[channel])
        assert protocol.simulate(np.full(k, 10), rng=1).n == 10 * k
        if travels:
            assert client.Respondent(protocol.to_json()).answer({"n": 3})
        else:
            with pytest.raises(LdpstatsError, match="more than 8388608 bytes"):
                protocol.to_json()
