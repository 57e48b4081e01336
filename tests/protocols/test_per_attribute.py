"""Answers attribute by attribute: what they cost, how crossed answers are counted, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ldpstats import GRR, Domain, LdpstatsError, independence_test
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
