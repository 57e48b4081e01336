"""Answers attribute by attribute: what they cost, how crossed answers are counted, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import GRR, RR, Domain, LdpstatsError, ReportError, association, independence_test
from ldpstats.protocols.per_attribute import PerAttribute

RECORD = "a respondent's whole record"
MECHANISMS = ["grr", "oue", "ss", "hr", "auto"]


@pytest.mark.parametrize("epsilon", [0.3, 1, 3.0])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_split_budget_adds_up_to_no_more_than_the_whole(domain: Domain, mechanism: str, epsilon: float) -> None:
    protocol = PerAttribute(domain, epsilon=epsilon, mechanism=mechanism)
    promised = protocol.privacy()
    assert epsilon - 1e-9 < promised.epsilon <= epsilon
    assert promised.unit == RECORD
    assert promised.per_group == {name: protocol.mechanism_for(name).strict_epsilon() for name in domain.names}
    assert sum(map(Fraction, promised.per_group.values())) >= Fraction(promised.epsilon) - Fraction(1, 10**12)
    assert max(promised.per_group.values()) <= epsilon / 3


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_sampled_attribute_takes_the_whole_budget(domain: Domain, people: pd.DataFrame, mechanism: str) -> None:
    protocol = PerAttribute(domain, epsilon=2.0, mechanism=mechanism, sampled=True)
    promised, tables = protocol.privacy(), protocol.collect(people.head(100), rng=1)
    assert 2.0 - 1e-9 < promised.epsilon <= 2.0
    assert promised.epsilon == max(promised.per_group.values())
    assert sorted(table.n for table in tables) == [33, 33, 34]
    assert len(protocol.reports(people.head(100), rng=1)) == 100
    assert [
        table.n for table in PerAttribute(domain, mechanism=mechanism, epsilon=1.0).collect(people.head(100), rng=1)
    ] == [100] * 3


def test_only_attributes_whose_tables_are_formed_are_asked_for(domain: Domain, people: pd.DataFrame) -> None:
    protocol = PerAttribute(domain, epsilon=2.0, groups=[("car", "age")])
    assert protocol.mechanism_for("age") == GRR(3, 1.0)
    with pytest.raises(LdpstatsError, match=r"\('age',\), \('car',\)"):
        protocol.mechanism_for("sex")
    rows = protocol.reports(people.head(5), rng=1)
    assert rows["group"].unique().tolist() == ["age × car"]
    joint = np.arange(12)
    for population in (people, joint):
        table = protocol.simulate(population, rng=1)["age", "car"]
        assert table.n == (3000 if population is people else 66)
    single = PerAttribute(domain, epsilon=2.0, groups=[["car"]])
    assert single.mechanism_for("car").epsilon == 2.0
    assert len(single.collect(people.head(5), rng=1)) == 1


def test_every_table_of_crossed_answers_rests_on_all_respondents(domain: Domain, people: pd.DataFrame) -> None:
    protocol = PerAttribute(domain, epsilon=6.0, k=2)
    tables = protocol.collect(people, rng=1)
    assert [table.n for table in tables] == [3000] * 3
    counts = {table.attributes: table.blocks[0].tally.counts.reshape(table.shape) for table in tables}
    # the same randomized answers stand behind all tables, so they agree about what they share
    assert np.array_equal(counts["sex", "car"].sum(axis=1), counts["age", "sex"].sum(axis=0))
    table = tables["sex", "car"]
    truth = pd.crosstab(people["sex"], people["car"], normalize=True)[["yes", "no"]].to_numpy()
    assert np.all(np.abs(table.estimate - truth) < 4.9 * table.std_err)
    assert independence_test(table).pvalue < 1e-6
    assert 0.1 < association(table).cramers_v < 0.5  # .31 among these respondents


def test_counts_of_large_populations_are_crossed_at_no_more_cost(domain: Domain) -> None:
    tables = PerAttribute(domain, epsilon=2.0, groups=[("age", "sex", "car"), ("car", "age")]).simulate(
        np.full(12, 80_000_000), rng=1
    )
    # 4.9 standard errors: a false-failure rate of 1e-6 for each cell
    for table in tables:
        assert table.n == 960_000_000
        assert np.all(np.abs(table.estimate - 1 / table.estimate.size) < 4.9 * table.std_err)


BAD: tuple[Any, ...] = (
    *("", "x", "0", "x00", "x0001", "x00010100", "x030000", "x000200", "x000002", "x0000ff", "x00 0000", "x00000g"),
    *("X000000", "[0, 0, 0]", None, f"x{'0' * 5000}"),
)


@pytest.mark.parametrize("report", BAD, ids=lambda report: str(report)[:12])
def test_bad_crossed_answers_are_refused_by_row(domain: Domain, people: pd.DataFrame, report: Any) -> None:
    protocol = PerAttribute(domain, k=2, epsilon=1.0)
    rows = protocol.reports(people.head(20), rng=1).astype(object)
    rows.loc[17, "report"] = report
    with pytest.raises(ReportError, match=r"in row 17\. Allowed: "):
        protocol.tables(rows)


def test_crossed_rows_of_another_kind_are_refused(domain: Domain, people: pd.DataFrame) -> None:
    protocol = PerAttribute(domain, k=2, epsilon=1.0)
    rows = protocol.reports(people.head(20), rng=1)
    single = PerAttribute(domain, mechanism="grr", epsilon=1.0)
    cases = {
        "20 rows of another protocol": rows.assign(protocol=PerAttribute(domain, k=2, epsilon=2.0).fingerprint()),
        "60 rows of another protocol": single.reports(people.head(20), rng=1),
        "row 0 answers the group 'age'": rows.assign(group="age"),
        "does not say whether it is simulated": rows.assign(simulated="yes"),
        "each once": rows.drop(columns="report"),
    }
    for told, bad in cases.items():
        with pytest.raises(ReportError, match=told):
            protocol.tables(bad)
    with pytest.raises(ReportError, match="20 rows of another protocol"):
        single.tables(rows)


def test_names_of_randomized_response_are_taken_for_crossed_answers(domain: Domain) -> None:
    assert PerAttribute(domain, k=2, epsilon=1.0).mechanism_for("age") == PerAttribute(
        domain, k=2, mechanism="k-RR", epsilon=1.0
    ).mechanism_for("age")
    binary = Domain({name: [0, 1] for name in "abc"})
    assert PerAttribute(binary, k=2, epsilon=3.0, mechanism="warner").mechanism_for("a") == RR(2, 1.0)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "sets of values for pairs": ({"k": 2, "mechanism": "ss"}, "report one number, such as 'grr'"),
    "hash functions for pairs": ({"k": 2, "mechanism": "olh"}, "report one number, such as 'grr'"),
    "randomized response with a memory for pairs": ({"k": 2, "mechanism": "l-grr"}, "none that remembers"),
    "sampled pairs": ({"k": 2, "sampled": True}, "SampledGroups"),
    "sampled named pairs": ({"groups": [("age", "sex")], "sampled": True}, "SampledGroups"),
    "sampled in words": ({"sampled": "yes"}, "True or False"),
    "groups of nothing": ({"k": 0}, "k = 0"),
    "no epsilon": ({"epsilon": 0}, "epsilon = 0"),
    "unknown attribute": ({"groups": [("age", "height")]}, "different names out of"),
    "group twice": ({"groups": [("age", "sex"), ("sex", "age")]}, "no group twice"),
    "unknown mechanism": ({"mechanism": "laplace"}, "'rr', 'grr', 'sue'"),
    "a frame for a domain": ({"domain": pd.DataFrame({"a": [1, 2]})}, "Domain.from_frame"),
}


@pytest.mark.parametrize(("options", "told"), REFUSED.values(), ids=REFUSED)
def test_impossible_protocols_are_refused(domain: Domain, options: dict[str, Any], told: str) -> None:
    with pytest.raises(LdpstatsError, match="Allowed: ") as refusal:
        PerAttribute(**({"domain": domain, "epsilon": 1.0} | options))
    assert told in str(refusal.value)


def test_tables_whose_channel_would_be_too_large_are_refused() -> None:
    wide = Domain({name: list(range(33)) for name in "ab"})
    with pytest.raises(LdpstatsError, match="a group with 1,089 cells"):
        PerAttribute(wide, k=2, epsilon=1.0)
    assert len(PerAttribute(wide, epsilon=1.0).groups) == 2


def test_a_marginal_of_crossed_answers_is_what_they_tell_about_fewer_attributes() -> None:
    """The same randomized answers, added up over one attribute, or never crossed with it."""
    asked = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
    groups = [("a", "b", "c"), ("a", "b")]
    tables = PerAttribute(asked, epsilon=3.0, mechanism="grr", groups=groups).simulate(np.arange(12) * 100, rng=1)
    marginal, direct = tables[groups[0]].marginal(["a", "b"]), tables["a", "b"]
    assert marginal.blocks[0].tally.counts.tolist() == direct.blocks[0].tally.counts.tolist()
    np.testing.assert_allclose(marginal.covariance, direct.covariance, atol=1e-12)
    one, other = independence_test(marginal), independence_test(direct)
    assert (one.method, one.df) == (other.method, other.df)
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
