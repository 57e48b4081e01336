"""RRBA for its users: what may be asked for, what travels, and what is refused with what words."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import same

from ldpstats import RRBA, Domain, LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Client, advised_block_size

PROTOCOLS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 2.0, "block_size": 8},
    "p": {"p": 0.5, "block_size": 8},
    "a whole view": {"p": 0.5, "k": 1, "answer": "view", "block_size": 8},
    "after every client": {"epsilon": 1.0, "k": 1, "update": "client"},
}


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest, domain: Domain) -> RRBA:
    return RRBA(domain, **PROTOCOLS[request.param])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        *[({"p": bad}, "p = ") for bad in (0, 1, 0.0, 1.0, -0.1, 1.5, float("nan"), inf, "x", True, [0.5])],
        *[({"floor": bad}, "floor = ") for bad in (-0.1, 1.1, float("nan"), inf, "x", True)],
        ({"p": 0.5, "floor": 2}, "floor = 2"),
        ({"p": 0.5, "epsilon": 1.0}, "both p = 0.5 and epsilon = 1.0"),
        ({"epsilon": 1.0, "floor": 0}, "nothing to hide behind"),
        ({"floor": 0.0}, "nothing to hide behind"),
        ({"answer": "both"}, "answer = 'both'"),
        ({"answer": None}, "answer = None"),
        ({"update": "never"}, "update = 'never'"),
        *[({"block_size": bad}, "block_size = ") for bad in (0, -1, 2.5, 2.0, "8", True)],
        ({"block_size": 2, "update": "client"}, "blocks of one respondent"),
        ({"p": 1e-30, "block_size": 2}, "p = 1e-30"),
        ({"epsilon": 1e-30, "block_size": 2}, "epsilon = 1e-30"),
    ],
)
def test_bad_parameters_are_refused_with_what_is_allowed(domain: Domain, options: dict[str, Any], told: str) -> None:
    level = {} if "p" in options else {"epsilon": 1.0}
    with pytest.raises(LdpstatsError, match=told):
        RRBA(domain, **level | options)


def test_a_chance_too_small_for_doubles_does_not_break_the_fakes() -> None:
    people = pd.DataFrame({"a": [0, 1] * 8})
    protocol = RRBA(Domain({"a": [0, 1]}), k=1, p=1e-17, block_size=2)
    for seed in range(9):
        assert protocol.collect(people, rng=seed).n == 16


def test_defaults_are_a_strict_level_of_one_with_a_floor(domain: Domain) -> None:
    protocol = RRBA(domain, epsilon=1.0)
    assert (protocol.epsilon, protocol.p, protocol.floor) == (1.0, None, 0.5)
    assert (protocol.answer, protocol.update, protocol.k) == ("group", "block", 2)
    assert 1 - 1e-9 < protocol.privacy().epsilon <= 1
    paper = RRBA(domain, p=0.5)
    assert (paper.epsilon, paper.p, paper.floor) == (None, 0.5, 0.0)
    assert paper.block_size == advised_block_size(6, 0.5) == 80
    assert RRBA(domain, p=0.5, update="client").block_size == 1
    nothing = RRBA(domain, epsilon=1e-12)
    assert RRBA.from_json(nothing.to_json()) == nothing
    # at a strict level the largest group needs the largest blocks: it has the smallest p
    assert protocol.block_size == advised_block_size(6, (np.e - 1) / (np.e - 1 + 6))


def test_advised_blocks_keep_the_error_that_they_promise() -> None:
    for cells, p, error in ((4, 0.221, 0.5), (9, 0.5, 0.25), (2, 0.9, 0.5)):
        size = advised_block_size(cells, p, error)
        standard_error = np.sqrt((1 / cells) * (1 - 1 / cells) / size) / p
        assert standard_error <= error / cells * (1 + 1e-12)
        assert np.sqrt((1 / cells) * (1 - 1 / cells) / (size - 1)) / p > error / cells
    for bad in ((1, 0.5), (4, 0), (4, 1), (4, float("nan")), (2.5, 0.5), (4, 0.5, 0), (4, 0.5, -1)):
        with pytest.raises(LdpstatsError):
            advised_block_size(*bad)


def test_rows_do_not_follow_the_order_of_the_frame(domain: Domain, people: pd.DataFrame) -> None:
    protocol = RRBA(domain, p=0.999, block_size=10)
    one_sided = people.assign(sex=["F"] * 1500 + ["M"] * 1500)
    rows = protocol.reports(one_sided, rng=1)
    asked = rows[rows["group"].str.contains("sex")]
    early = asked.head(400).groupby("group")["report"].value_counts(normalize=True)
    late = asked.tail(400).groupby("group")["report"].value_counts(normalize=True)
    assert (early - late).abs().max() < 0.25


@pytest.fixture
def rows(protocol: RRBA, people: pd.DataFrame) -> pd.DataFrame:
    return protocol.reports(people.head(96), rng=1)


def test_missing_rows_are_refused(protocol: RRBA, rows: pd.DataFrame) -> None:
    label = rows["group"].iloc[0]
    own = rows[rows["group"] == label]
    last_block = own["block"].max()
    assert last_block > 0
    first, middle = own.index[0], own.index[len(own) // 2]
    gone = {
        "the first": [first],
        "one in the middle": own.index[own["block"] == last_block // 2][:1],
        "a block at the beginning": own.index[own["block"] == 0],
        "a block in the middle": own.index[own["block"] == max(last_block // 2, 0)],
        "half of them": own.index[own["block"] < last_block][::2],
    }
    assert middle != first
    for missing in gone.values():
        with pytest.raises(ReportError, match=r"[Rr]ows are missing|no empty block|rows in every block"):
            protocol.tables(rows.drop(index=missing))


def test_a_last_row_that_is_missing_is_missed_where_it_can_be(domain: Domain, people: pd.DataFrame) -> None:
    """Nothing shows that a last block was larger, but the groups of a view are answered together."""
    view = RRBA(domain, **PROTOCOLS["a whole view"])
    rows = view.reports(people.head(100), rng=1)
    with pytest.raises(ReportError, match="as many about every group of a view"):
        view.tables(rows.iloc[:-1])
    single = RRBA(domain, **PROTOCOLS["p"])
    rows = single.reports(people.head(100), rng=1)
    assert single.tables(rows.iloc[:-1]).n == 99


def test_the_missing_rows_of_a_whole_group_are_missed(domain: Domain, people: pd.DataFrame) -> None:
    protocol = RRBA(domain, **PROTOCOLS["p"])
    rows = protocol.reports(people.head(100), rng=1)
    with pytest.raises(ReportError):
        protocol.tables(rows[rows["group"] != rows["group"].iloc[0]])


@pytest.mark.parametrize(
    ("column", "value"),
    [("report", 99), ("report", 0.5), ("block", -1), ("block", 10**6), ("block", 2**62), ("block", None)],
)
def test_rows_that_were_not_sent_are_refused(protocol: RRBA, rows: pd.DataFrame, column: str, value: Any) -> None:
    changed = rows.astype({column: object})
    changed.loc[0, column] = value
    for wrong in (changed.infer_objects(), rows.drop(columns=column)):
        with pytest.raises(ReportError):
            protocol.tables(wrong)


def test_every_parameter_shows_in_the_fingerprint(domain: Domain) -> None:
    protocols = [
        RRBA(domain, p=0.5, block_size=8),
        RRBA(domain, p=0.4, block_size=8),
        RRBA(domain, p=0.5, block_size=9),
        RRBA(domain, p=0.5, block_size=8, floor=0.1),
        RRBA(domain, p=0.5, block_size=8, answer="view"),
        RRBA(domain, p=0.5, block_size=8, k=1),
        RRBA(domain, p=0.5, block_size=1),
        RRBA(domain, p=0.5, update="client"),
        RRBA(domain, epsilon=0.5, block_size=8),
        RRBA(domain, epsilon=0.5, block_size=8, groups=[("age", "sex")]),
        RRBA(Domain({"sex": ["M", "F"], "car": ["yes", "no"], "age": ["young", "adult", "old"]}), p=0.5, block_size=8),
    ]
    assert len({one.fingerprint() for one in protocols}) == len(protocols)
    assert RRBA(domain, p=0.5, block_size=8).fingerprint() == protocols[0].fingerprint()


def test_named_groups_of_different_sizes_are_asked_in_views(domain: Domain, people: pd.DataFrame) -> None:
    protocol = RRBA(domain, p=0.5, block_size=20, answer="view", groups=[("age",), ("sex", "car"), ("age", "sex")])
    assert {frozenset(group) for group in protocol.groups} == {
        frozenset(group) for group in (("age",), ("sex", "car"), ("age", "sex"))
    }
    for view in protocol.views:
        names = [name for group in view for name in group]
        assert len(names) == len(set(names))
    tables = protocol.collect(people.head(300), rng=1)
    assert tables["car", "sex"].n == tables["age"].n == 150


def test_a_big_alphabet_is_no_obstacle() -> None:
    domain = Domain({"town": range(300), "job": range(40)})
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"town": rng.integers(0, 300, 200), "job": rng.integers(0, 40, 200)})
    protocol = RRBA(domain, epsilon=4.0, block_size=50)
    assert 4 - 1e-8 < protocol.privacy().epsilon <= 4
    tables = protocol.collect(people, rng=1)
    assert tables.n == 200
    assert same(protocol.tables(protocol.reports(people, rng=1)), tables)
    assert tables["town", "job"].blocks[-1].tally.counts.size == 12_000
    query = protocol.aggregator().query()
    answer = Client(domain, {"town": 299, "job": 39}, 4.0).answer(query)
    assert 0 <= answer.cells[0] < 12_000


def test_other_methods_are_refused(protocol: RRBA, people: pd.DataFrame) -> None:
    with pytest.raises(LdpstatsError, match="method = 'magic'"):
        protocol.collect(people.head(9), rng=1, method="magic")
    for method in ("two blocks", "closed form"):
        found = protocol.collect(people.head(96), rng=1, method=method)
        assert all(np.isclose(table.estimate.sum(), 1) for table in found)
        assert same(protocol.collect(people.head(96), rng=1).estimated_by(method), found)
