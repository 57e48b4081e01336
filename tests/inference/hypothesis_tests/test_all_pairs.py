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
    tests = ldp.independence_tests(tables, adjust=adjust)
    frame = tests.to_frame()
    assert {frozenset(pair) for pair in zip(frame["first"], frame["second"], strict=True)} == {
        frozenset(table.attributes) for table in tables
    }
    for row in frame.itertuples():
        alone = ldp.independence_test(tables[row.first, row.second], pvalue=ldp.inference.AmongMany(3))
        assert (row.statistic, row.pvalue, row.df, row.n) == (alone.statistic, alone.pvalue, alone.df, alone.n)
        level = 0.05 / 3
        told = tests[row.first, row.second].sensitivity
        assert row.power == pytest.approx(told.power(0.1, level), abs=1e-9), "at the level of the first step"
        assert row.power == pytest.approx(alone.power_against(0.1, level), abs=0.02), "by the margins of all tables"
    assert np.allclose(frame["adjusted"], multipletests(frame["pvalue"], method=adjust)[1])
    assert frame["pvalue"].is_monotonic_increasing
    assert list(frame.loc[frame["adjusted"] <= 0.05, "verdict"].unique()) == ["dependent"]
    assert set(frame.loc[frame["verdict"] == "dependent", "first"]) == {"sex"}


def test_what_cannot_be_adjusted_is_refused(tables: ldp.TableSet, domain: ldp.Domain, people: pd.DataFrame) -> None:
    with pytest.raises(ldp.LdpstatsError, match="multipletests"):
        ldp.independence_tests(tables, adjust="magic")
    with pytest.raises(ldp.LdpstatsError, match="alpha"):
        ldp.independence_tests(tables, alpha=5)
    singles = ldp.SampledGroups(domain, k=1, epsilon=1.0).collect(people, rng=1)
    with pytest.raises(ldp.LdpstatsError, match="single attributes"):
        ldp.independence_tests(singles)


def test_pairs_that_cannot_be_tested_do_not_stop_the_others(domain: ldp.Domain, people: pd.DataFrame) -> None:
    """Two respondents for three pairs: one pair has nobody."""
    frame = ldp.independence_tests(ldp.SampledGroups(domain, epsilon=4.0).collect(people.head(2), rng=2)).to_frame()
    untested = frame[frame["verdict"] == "not testable"]
    assert len(untested) == 1
    assert untested["reason"].str.contains("no reports behind").all()
    assert untested[["pvalue", "adjusted", "df"]].isna().all(axis=None)
    tested = frame[frame["pvalue"].notna()]
    assert np.allclose(tested["adjusted"], multipletests(tested["pvalue"], method="holm")[1])


def test_pairs_that_cannot_be_tested_take_nothing_of_the_level(domain: ldp.Domain, people: pd.DataFrame) -> None:
    names = domain.names
    asked = ldp.SampledGroups(domain, epsilon=4.0).collect(people, rng=2)
    empty = ldp.SampledGroups(domain, epsilon=4.0).collect(people.head(0), rng=2)
    last = frozenset(names[-2:])
    mixed = [(empty if frozenset(table.attributes) == last else asked)[table.attributes] for table in asked]
    tests = ldp.independence_tests(ldp.TableSet(domain, mixed, asked.privacy))
    assert tests.level == 0.05 / 2
    for pair in list(tests)[:2]:
        alone = ldp.independence_test(asked[pair.attributes])
        assert pair.power == pytest.approx(alone.power_against(0.1, 0.05 / 2), abs=0.01), "by the margins of all tables"
        assert pair.power == pytest.approx(pair.sensitivity.power(0.1, 0.05 / 2), abs=1e-9)


def test_a_pair_is_tested_on_all_tables_that_hold_it() -> None:
    domain = ldp.Domain({name: ["x", "y"] for name in "abc"})
    protocol = ldp.SampledGroups(domain, epsilon=2.0, groups=[("b", "a"), ("a", "b", "c"), ("c",)])
    tables = protocol.simulate(np.arange(1, 9) * 500, rng=1)
    tests, (single,) = ldp.independence_tests(tables), [table for table in tables if table.attributes == ("c",)]
    assert {pair.attributes: pair.n for pair in tests} == {
        ("a", "b"): tables.n - single.n,
        ("a", "c"): tables["a", "b", "c"].n,
        ("b", "c"): tables["a", "b", "c"].n,
    }
    pooled = ldp.TableSet(domain, list(tables)[:2], tables.privacy).pooled(["a", "b"])
    alone = ldp.independence_test(pooled, pvalue="asymptotic")
    assert tests["a", "b"].statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert tests["a", "c"].statistic == pytest.approx(
        ldp.independence_test(tables["a", "b", "c"].marginal("a", "c")).statistic, rel=1e-6
    )


def test_pairs_of_wider_tables_that_reports_leave_open_are_not_testable() -> None:
    domain = ldp.Domain({name: ["x", "y"] for name in "abcd"})
    few = ldp.HadamardCoefficients(domain, k=3, epsilon=2.0).simulate(np.eye(16, dtype=int)[3] * 5, rng=1)
    tests = ldp.independence_tests(few)
    assert len(tests) == 6
    assert {pair.verdict for pair in tests} == {"not testable"}
    assert all("leave cells of" in pair.reason for pair in tests)


@pytest.mark.parametrize("tables", [None, 5, pd.DataFrame()])
def test_only_table_sets_are_tested(tables: object) -> None:
    with pytest.raises(ldp.LdpstatsError, match="a TableSet"):
        ldp.independence_tests(tables)


class TestDrawnPvalues:
    """Among many tests, even one dependence can be shown by p-values that are drawn."""

    @pytest.fixture
    def rare(self) -> ldp.TableSet:
        """Return three pairs of few respondents, of which one is dependent; false reports are next to none."""
        domain = ldp.Domain({name: [0, 1] for name in "abc"})
        people = np.zeros((2, 2, 2), dtype=int)
        people[0, 0], people[1, 1] = 60, 15
        return ldp.SampledGroups(domain, epsilon=8.0, mechanism="grr").simulate(people, rng=1)

    @pytest.mark.parametrize("adjust", ["holm", "fdr_bh", "bonferroni"])
    def test_one_dependence_is_shown_at_the_level_of_as_many_tests(self, rare: ldp.TableSet, adjust: str) -> None:
        """A level of 0.0002 for three tests is what .05 is for 750."""
        frame = ldp.independence_tests(rare, alpha=2e-4, adjust=adjust).to_frame()
        shown = frame[frame["verdict"] == "dependent"]
        assert list(zip(shown["first"], shown["second"], strict=True)) == [("a", "b")]
        assert shown["pvalue"].item() == 1 / 15_001, "none of as many tables as are needed reaches it"
        alone = ldp.independence_test(rare["a", "b"])
        assert (alone.pvalue, alone.statistic) == (1 / 10_000, shown["statistic"].item())

    def test_draws_that_can_never_reject_are_refused(self, rare: ldp.TableSet) -> None:
        with pytest.raises(ldp.LdpstatsError, match=r"at least 14,999"):
            ldp.independence_tests(rare, pvalue=ldp.MonteCarlo(9_999, rng=1), alpha=2e-4)
        enough = ldp.independence_tests(rare, pvalue=ldp.MonteCarlo(59, rng=1), alpha=0.05).to_frame()
        assert "dependent" in set(enough["verdict"])
        shared = ldp.independence_tests(rare, pvalue=ldp.MonteCarlo(19, rng=1), alpha=0.05, adjust="fdr_bh").to_frame()
        assert shared["adjusted"].min() > 0.05, "here one alone is not enough, but three would be"

    @pytest.mark.parametrize("arguments", [(0,), (2.5,), (10, 1.5)])
    def test_numbers_of_tests_are_checked(self, arguments: tuple[float, ...]) -> None:
        with pytest.raises(ldp.LdpstatsError):
            ldp.inference.AmongMany(*arguments)  # type: ignore[arg-type]  # this is what is refused
