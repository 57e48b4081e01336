"""RRBA for its users: what may be asked for, what travels, and what is refused with what words."""

from __future__ import annotations

import io
import json
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import same

from ldpstats import RRBA, Domain, LdpstatsError, SampledGroups
from ldpstats.errors import DomainError, ReportError
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
        *[({"epsilon": bad}, "epsilon = ") for bad in (0, -1.0, float("nan"), inf, "x", True, [1.0])],
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
        ({"groups": []}, "at least one group"),
        ({"groups": "age"}, "a list of groups"),
        ({"groups": [("age", "shoe")]}, "shoe"),
        ({"groups": [("age", "sex"), ("sex", "age")]}, "no group twice"),
        ({"k": 0}, "k = 0"),
        ({"k": 4}, "groups of 4 out of 3"),
    ],
)
def test_bad_parameters_are_refused_with_what_is_allowed(domain: Domain, options: dict[str, Any], told: str) -> None:
    level = {} if "p" in options else {"epsilon": 1.0}
    with pytest.raises(LdpstatsError, match=told):
        RRBA(domain, **level | options)


def test_something_else_than_a_domain_is_refused() -> None:
    with pytest.raises(LdpstatsError, match="domain"):
        RRBA({"a": [0, 1]}, epsilon=1.0)  # type: ignore[arg-type]  # this is what is refused


@pytest.mark.parametrize("options", [{"p": 1e-30}, {"epsilon": 1e-30}])
def test_chances_too_small_for_the_grid_are_refused_at_once(domain: Domain, options: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError, match=r"p = 1e-30|epsilon = 1e-30"):
        RRBA(domain, block_size=2, **options)


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


def test_an_empty_frame_gives_empty_tables(protocol: RRBA, people: pd.DataFrame) -> None:
    nobody = people.head(0)
    for tables in (protocol.collect(nobody), protocol.simulate(nobody, rng=1), protocol.aggregator().tables()):
        assert tables.n == 0
        assert len(tables) == len(protocol.groups)
        with pytest.raises(LdpstatsError):
            _ = next(iter(tables)).estimate


def test_an_empty_frame_gives_no_rows(protocol: RRBA, people: pd.DataFrame) -> None:
    rows = protocol.reports(people.head(0))
    assert len(rows) == 0
    assert list(rows.columns) == list(protocol.reports(people.head(1)).columns)
    assert protocol.tables(rows).n == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_respondents_are_enough(protocol: RRBA, people: pd.DataFrame, n: int) -> None:
    per_respondent = len(protocol.groups) if protocol.answer == "view" else 1
    few = people.head(n)
    for tables in (protocol.collect(few), protocol.simulate(few, rng=1), protocol.tables(protocol.reports(few))):
        assert tables.n == n * per_respondent
        sizes = [table.n for table in tables]
        assert max(sizes) - min(sizes) <= 1
    aggregator = protocol.aggregator()
    for record in few.to_dict("records"):
        aggregator.take(protocol.client(record, inf).answer(aggregator.query()))
    assert aggregator.tables().n == n * per_respondent


def test_missing_columns_and_unknown_categories_are_named(protocol: RRBA, people: pd.DataFrame) -> None:
    for ask in (protocol.collect, protocol.simulate, protocol.reports):
        with pytest.raises(DomainError, match="car"):
            ask(people.drop(columns="car"), rng=1)
        with pytest.raises(DomainError, match="maybe"):
            ask(people.assign(car="maybe"), rng=1)
        with pytest.raises(DomainError):
            ask(people.assign(car=[None, *people["car"][1:]]), rng=1)


def test_a_category_nobody_chose_is_estimated_near_zero(people: pd.DataFrame) -> None:
    domain = Domain({"age": ["young", "adult", "old", "ancient"], "sex": ["F", "M"]})
    tables = RRBA(domain, epsilon=3.0, block_size=50).collect(people, rng=1, method="closed form")
    ancient = tables["age", "sex"].marginal("age")
    assert abs(ancient.estimate[3]) < 4.9 * ancient.std_err[3]
    assert RRBA(domain, p=0.5, block_size=50).collect(people, rng=1)["age", "sex"].estimate[3].max() < 0.02


def test_seeds_reproduce_and_secure_randomness_does_not(protocol: RRBA, people: pd.DataFrame) -> None:
    few = people.head(200)
    for produce in (protocol.collect, lambda df, rng=None: protocol.tables(protocol.reports(df, rng))):
        assert not produce(few).simulated
        assert not same(produce(few), produce(few))
        assert produce(few, rng=3).simulated
        assert same(produce(few, rng=3), produce(few, rng=np.random.default_rng(3)))
        assert not same(produce(few, rng=3), produce(few, rng=4))
    assert protocol.simulate(few).simulated
    assert same(protocol.simulate(few, rng=3), protocol.simulate(few, rng=3))


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


def test_rows_are_counted_in_any_order(protocol: RRBA, rows: pd.DataFrame) -> None:
    whole = protocol.tables(rows)
    for seed in (1, 2):
        shuffled = rows.sample(frac=1, random_state=seed)
        assert same(protocol.tables(shuffled), whole)
        assert same(protocol.tables(shuffled.reset_index(drop=True)[rows.columns[::-1]]), whole)


def test_rows_survive_a_csv_file(protocol: RRBA, rows: pd.DataFrame) -> None:
    read = pd.read_csv(io.StringIO(rows.to_csv(index=False)))
    assert same(protocol.tables(read), protocol.tables(rows))
    assert protocol.tables(read).simulated
    assert all(table.simulated for table in protocol.tables(read))


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


def test_rows_that_stand_twice_are_refused(protocol: RRBA, rows: pd.DataFrame) -> None:
    with pytest.raises(ReportError, match="twice"):
        protocol.tables(pd.concat([rows, rows]))
    with pytest.raises(ReportError, match="twice"):
        protocol.tables(pd.concat([rows, rows.head(1)]))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("report", -1),
        ("report", 99),
        ("report", "zero"),
        ("report", 0.5),
        ("block", -1),
        ("block", 10**6),
        ("block", 2**62),
        ("block", None),
        ("group", "shoe"),
        ("protocol", "p000000000000"),
        ("simulated", "perhaps"),
    ],
)
def test_rows_that_were_not_sent_are_refused(protocol: RRBA, rows: pd.DataFrame, column: str, value: Any) -> None:
    changed = rows.astype({column: object})
    changed.loc[0, column] = value
    with pytest.raises(ReportError):
        protocol.tables(changed.infer_objects())


def test_rows_without_a_column_or_of_another_protocol_are_refused(protocol: RRBA, rows: pd.DataFrame) -> None:
    for column in rows.columns:
        with pytest.raises(ReportError, match=column):
            protocol.tables(rows.drop(columns=column))
    other = RRBA(protocol.domain, k=1, p=0.123, block_size=8)
    with pytest.raises(ReportError, match="another protocol"):
        other.tables(rows)
    with pytest.raises(ReportError):
        protocol.tables([1, 2, 3])  # type: ignore[arg-type]  # this is what is refused


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


def test_protocols_survive_json(protocol: RRBA) -> None:
    again = RRBA.from_json(protocol.to_json())
    assert again == protocol
    assert again.fingerprint() == protocol.fingerprint()
    assert again.privacy() == protocol.privacy()
    assert "RRBA over" in str(again)
    plain = json.loads(protocol.to_json())
    damages: list[dict[str, Any]] = [
        {"p": 0.5, "epsilon": 1.0},
        {"p": 7},
        {"views": []},
        {"views": [[["shoe"]]]},
        {"block_size": 0},
        {"protocol": "other"},
        {"more": 1},
    ]
    for damage in damages:
        with pytest.raises(LdpstatsError):
            RRBA.from_json(json.dumps({**plain, **damage}))
    for rubbish in ("", "[]", "5", protocol.to_json()[:-3], SampledGroups(protocol.domain, epsilon=1.0).to_json()):
        with pytest.raises(LdpstatsError):
            RRBA.from_json(rubbish)


def test_groups_with_one_label_are_refused() -> None:
    domain = Domain({"a × b": [0, 1], "c": [0, 1], "a": [0, 1], "b × c": [0, 1]})
    with pytest.raises(LdpstatsError, match="one label"):
        RRBA(domain, groups=[("a × b", "c"), ("a", "b × c")], epsilon=1.0)


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


@pytest.mark.parametrize("method", ["mle", "closed form", "gls"])
def test_estimates_come_near_the_truth(domain: Domain, people: pd.DataFrame, method: str) -> None:
    protocol = RRBA(domain, p=0.5, block_size=100)
    truth = people.groupby(["sex", "car"]).size() / len(people)
    table = protocol.collect(people, rng=1, method=method)["sex", "car"]
    wanted = truth.reindex(table.domain.index()).to_numpy().reshape(2, 2)
    assert np.all(np.abs(table.estimate - wanted) < 4.9 * table.std_err)
    assert same(protocol.collect(people, rng=1).estimated_by(method), protocol.collect(people, rng=1, method=method))


def test_other_methods_are_refused(protocol: RRBA, people: pd.DataFrame) -> None:
    with pytest.raises(LdpstatsError, match="method = 'magic'"):
        protocol.collect(people.head(9), rng=1, method="magic")
    for method in ("two blocks", "closed form"):
        found = protocol.collect(people.head(96), rng=1, method=method)
        assert all(np.isclose(table.estimate.sum(), 1) for table in found)
