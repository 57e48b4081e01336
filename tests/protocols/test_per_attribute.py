"""Answers attribute by attribute: what they cost, how crossed answers are counted, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldpstats import GRR, Domain, LdpstatsError, independence_test
from ldpstats.protocols.per_attribute import PerAttribute


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
