"""Many pairs: the frame of tests, and p-values adjusted as statsmodels does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import ldpstats as ldp


@pytest.fixture
def tables(domain: ldp.Domain, people: pd.DataFrame) -> ldp.TableSet:
    return ldp.SampledGroups(domain, epsilon=4.0).collect(people, rng=2)


@pytest.mark.parametrize("adjust", ["holm", "fdr_bh", "bonferroni"])
def test_every_pair_stands_once_with_its_own_test(tables: ldp.TableSet, adjust: str) -> None:
    frame = ldp.independence_tests(tables, adjust=adjust)
    assert {frozenset(pair) for pair in zip(frame["first"], frame["second"], strict=True)} == {
        frozenset(table.attributes) for table in tables
    }
    for row in frame.itertuples():
        alone = ldp.independence_test(tables[row.first, row.second])
        assert (row.statistic, row.pvalue, row.df, row.n) == (alone.statistic, alone.pvalue, alone.df, alone.n)
    assert np.allclose(frame["adjusted"], multipletests(frame["pvalue"], method=adjust)[1])
    assert list(frame.loc[frame["adjusted"] <= 0.05, "verdict"].unique()) == ["dependent"]
    assert set(frame.loc[frame["verdict"] == "dependent", "first"]) == {"sex"}


def test_what_cannot_be_adjusted_is_refused(tables: ldp.TableSet, domain: ldp.Domain, people: pd.DataFrame) -> None:
    with pytest.raises(ldp.LdpstatsError, match="multipletests"):
        ldp.independence_tests(tables, adjust="magic")
    with pytest.raises(ldp.LdpstatsError, match="alpha"):
        ldp.independence_tests(tables, alpha=5)
    singles = ldp.SampledGroups(domain, k=1, epsilon=1.0).collect(people, rng=1)
    with pytest.raises(ldp.LdpstatsError, match="two-way"):
        ldp.independence_tests(singles)


def test_pairs_that_cannot_be_tested_do_not_stop_the_others(domain: ldp.Domain, people: pd.DataFrame) -> None:
    """Two respondents for three pairs: one pair has nobody."""
    frame = ldp.independence_tests(ldp.SampledGroups(domain, epsilon=4.0).collect(people.head(2), rng=2))
    untested = frame[frame["verdict"] == "not testable"]
    assert len(untested) == 1
    assert untested["reason"].str.contains("no reports behind").all()
    assert untested[["pvalue", "adjusted", "df"]].isna().all(axis=None)
    tested = frame[frame["pvalue"].notna()]
    assert np.allclose(tested["adjusted"], multipletests(tested["pvalue"], method="holm")[1])


@pytest.mark.parametrize("tables", [None, 5, pd.DataFrame()])
def test_only_table_sets_are_tested(tables: object) -> None:
    with pytest.raises(ldp.LdpstatsError, match="a TableSet"):
        ldp.independence_tests(tables)
