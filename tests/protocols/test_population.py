"""Populations: frequency tables are counted when their column is named, joint counts of any size and no other shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.protocols.population import Records

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
FREQUENCIES = pd.DataFrame({"sex": ["F", "F", "M", "M"], "car": ["yes", "no", "yes", "no"], "n": [20, 0, 12, 30]})
ROWS = FREQUENCIES.loc[FREQUENCIES.index.repeat(FREQUENCIES["n"]), ["sex", "car"]]
PROTOCOLS: list[Any] = [
    ldp.SampledGroups(DOMAIN, epsilon=60.0, mechanism="grr"),
    ldp.WholeView(DOMAIN, epsilon=60.0, k=1),
    ldp.PerAttribute(DOMAIN, epsilon=120.0, k=2),
    ldp.RRBA(DOMAIN, epsilon=40.0, block_size=10),
    ldp.CentralLaplace(DOMAIN, epsilon=100.0),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_named_column_of_counts_is_counted(protocol: Any) -> None:
    """At such levels nobody lies, so that tables are the true counts."""
    for tables in (
        protocol.collect(FREQUENCIES, rng=1, counts="n"),
        protocol.simulate(FREQUENCIES, rng=1, counts="n"),
        protocol.collect(ROWS, rng=1),
    ):
        assert max(table.n for table in tables) == 62
        if ("sex", "car") in tables:
            np.testing.assert_allclose(tables["sex", "car"].estimate * 62, [[20, 0], [12, 30]], atol=1e-6)
    if hasattr(protocol, "reports"):
        rows = protocol.reports(FREQUENCIES, rng=1, counts="n")
        assert protocol.tables(rows).to_json() == protocol.collect(FREQUENCIES, rng=1, counts="n").to_json()
        assert protocol.tables(rows).to_json() == protocol.collect(ROWS, rng=1).to_json()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["n", "Freq", "count", "weight"])
def test_what_looks_like_a_frequency_table_is_not_read_as_respondents(protocol: Any, name: str) -> None:
    frame = FREQUENCIES.rename(columns={"n": name})
    for use in (protocol.collect, protocol.simulate, getattr(protocol, "reports", protocol.collect)):
        with pytest.raises(LdpstatsError, match=f"looks like a frequency table.*counts='{name}'.*drop"):
            use(frame, rng=1)
        use(frame.drop(columns=name), rng=1)


def test_respondents_with_a_number_of_their_own_are_respondents() -> None:
    protocol = PROTOCOLS[0]
    frames = {
        "rows that repeat": ROWS.assign(n=3),
        "fractions": FREQUENCIES.assign(n=[0.5, 1.5, 2.5, 70.25]),
        "flags": FREQUENCIES.assign(n=[0, 1, 1, 0]),
        "another name": FREQUENCIES.rename(columns={"n": "height"}),
        "text": FREQUENCIES.assign(n=list("abcd")),
        "one respondent": FREQUENCIES.head(1),
        "weights in kg, attributes that repeat": pd.concat([FREQUENCIES, FREQUENCIES]).rename(columns={"n": "weight"}),
    }
    for case, frame in frames.items():
        assert protocol.collect(frame, rng=1).n == len(frame), case


def test_a_frequency_table_over_more_attributes_is_recognized_too() -> None:
    frame = FREQUENCIES.merge(pd.DataFrame({"age": ["young", "old"]}), how="cross")
    with pytest.raises(LdpstatsError, match="looks like a frequency table"):
        PROTOCOLS[0].collect(frame, rng=1)
    assert PROTOCOLS[0].collect(frame, rng=1, counts="n").n == 124


WRONG: dict[str, tuple[Any, str]] = {
    "survey weights": ([1.37, 0.5, 2.0, 1.0], "1.37 in row 0 .*Survey weights cannot be taken"),
    "negative": ([1, -1, 2, 3], "-1 in row 1"),
    "missing": ([1, np.nan, 2, 3], "missing value"),
    "infinite": ([1, np.inf, 2, 3], "inf in row 1"),
    "text": (list("1234"), "whole numbers of respondents"),
    "flags": ([True, False, True, True], "whole numbers of respondents"),
    "too many": ([10**12, 1, 1, 1], "at most 100,000,000"),
}


@pytest.mark.parametrize(("values", "told"), WRONG.values(), ids=WRONG)
def test_counts_that_are_none_are_refused(values: Any, told: str) -> None:
    with pytest.raises(LdpstatsError, match=told):
        PROTOCOLS[0].collect(FREQUENCIES.assign(n=values), rng=1, counts="n")


def test_counts_are_a_column_beside_the_attributes() -> None:
    for protocol in PROTOCOLS:
        with pytest.raises(LdpstatsError, match="no column 'm'"):
            protocol.collect(FREQUENCIES, rng=1, counts="m")
        with pytest.raises(LdpstatsError, match="an attribute of the domain"):
            protocol.collect(FREQUENCIES, rng=1, counts="sex")
        with pytest.raises(LdpstatsError, match="for an array"):
            protocol.simulate(np.array([1, 2, 3, 4]), rng=1, counts="n")


LARGER = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "middle", "old"]})
PEOPLE = LARGER.decode(np.random.default_rng(5).integers(0, LARGER.shape, (400, 3)))


def made_by_pandas() -> dict[str, pd.DataFrame]:
    crossed = pd.crosstab([PEOPLE["sex"], PEOPLE["car"]], PEOPLE["age"])
    counted = PEOPLE.value_counts().reset_index()
    return {
        "size": PEOPLE.groupby(list(PEOPLE), observed=True).size().reset_index(),
        "melt": crossed.reset_index().melt(id_vars=["sex", "car"], var_name="age"),
        "any other name": counted.rename(columns={"count": "Anzahl"}),
        "another spelling": counted.rename(columns={"count": "Number_of respondents"}),
        "objects": counted.astype(object),
        "text": counted.astype(str),
        "gaps": counted.assign(count=counted["count"].where(counted["count"] > 33)),
        "two columns": counted.join(counted["count"].rename("again")).set_axis(
            [*LARGER.names, "count", "count"], axis=1
        ),
    }


@pytest.mark.parametrize("kind", made_by_pandas())
def test_frequency_tables_as_pandas_makes_them_are_not_read_as_respondents(kind: str) -> None:
    protocol = ldp.SampledGroups(LARGER, epsilon=1.0)
    with pytest.raises(LdpstatsError, match="looks like a frequency table"):
        protocol.collect(made_by_pandas()[kind], rng=1)


def test_respondents_with_numbers_of_any_name_are_respondents() -> None:
    """Of 400 respondents some have the same answers; few may all differ, whatever their numbers are called."""
    protocol = ldp.SampledGroups(LARGER, epsilon=1.0)
    few = LARGER.decode([[0, 0, 0], [0, 1, 0], [1, 0, 2], [1, 1, 1]])
    for column, frame in ((range(400), PEOPLE), ([3, 2, 2, 1], few)):
        for name in ("id", "height", "Anzahl", "Unnamed: 0"):
            assert protocol.collect(frame.assign(**{name: column}), rng=1).n == len(frame), name


@pytest.mark.parametrize("counts", [["n"], {"n": 1}, np.array(["n"])])
def test_what_is_no_name_of_a_column_is_refused(counts: Any) -> None:
    with pytest.raises(LdpstatsError, match="the name of a column"):
        PROTOCOLS[0].collect(FREQUENCIES, rng=1, counts=counts)
    assert PROTOCOLS[0].collect(FREQUENCIES.astype(object), rng=1, counts="n").n == 62


@pytest.mark.parametrize(
    ("kind", "options", "n"),
    [
        (ldp.SampledGroups, {}, 320_000_000),
        (ldp.PerAttribute, {"groups": [("age", "sex", "car"), ("car", "age")]}, 960_000_000),
        (ldp.PerAttribute, {"groups": [("age", "sex", "car"), ("car", "age")], "mechanism": "oue"}, 960_000_000),
    ],
)
def test_large_populations_cost_nothing_more(domain: ldp.Domain, kind: Any, options: dict[str, Any], n: int) -> None:
    for table in kind(domain, epsilon=6.0, **options).simulate(np.full(12, 80_000_000), rng=1):
        assert table.n == n
        # 4.9 standard errors: a false-failure rate of 1e-6 for each cell
        assert np.all(np.abs(table.estimate - 1 / table.estimate.size) < 4.9 * table.std_err)


@pytest.mark.parametrize(
    ("population", "told"),
    [
        (np.ones((2, 2, 3), dtype=int), r"shape \(2, 2, 3\).*\(12,\) or \(3, 2, 2\)"),
        (np.ones((1, 12), dtype=int), r"shape \(1, 12\)"),
        (np.ones(11, dtype=int), r"shape \(11,\)"),
        (5, r"int of shape \(\)"),
        ([[1], [1, 2]], "rows of different lengths"),
        (np.full(12, 1 / 12), "whole counts"),
        ([-1] + [1] * 11, "holds -1"),
        (["1"] * 12, "dtype"),
        ([2**62] * 12, "a population of 55,340,232,221,128,654,848.*parts"),
        ([10**9] + [0] * 11, "at most 999,999,999"),
        (pd.Series([1] * 12), r"counts\.reindex\(domain\.index\(\)"),
        (pd.DataFrame({"sex": ["F"]}), "no column 'age'"),
        (None, "shape"),
    ],
)
def test_other_populations_are_refused(domain: ldp.Domain, population: Any, told: str) -> None:
    with pytest.raises(LdpstatsError, match=told):
        ldp.SampledGroups(domain, epsilon=1.0).simulate(population, rng=1)


def test_different_answers_of_a_data_frame_come_in_the_order_of_the_rows() -> None:
    """Seeded draws depend on it."""
    codes = np.random.default_rng(1).integers(0, 2, (50, 3))
    people = Records(ldp.Domain({name: ["x", "y"] for name in "abc"}), codes)
    rows, copies = people.distinct(["c", "a"])
    expected, times = np.unique(codes[:, [2, 0]], axis=0, return_counts=True)
    assert np.array_equal(rows, expected)
    assert np.array_equal(copies, times)
