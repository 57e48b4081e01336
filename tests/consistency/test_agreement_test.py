"""The test of agreement: against the one by a joint table, its level, and tables of different populations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import ldpstats as ldp
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.consistency.agreement import Agreement, agreement_of, shared_quantities
from ldpstats.consistency.marginals import marginals_of
from ldpstats.identification.identified import Identified
from ldpstats.tables import pooled_measured

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [1, 0], "d": ["u", "v"]})
PEOPLE = np.random.default_rng(1).integers(50, 200, DOMAIN.shape)
PROTOCOLS = {
    "pairs": lambda: ldp.SampledGroups(DOMAIN, k=2, epsilon=2.0),
    "triples": lambda: ldp.SampledGroups(DOMAIN, k=3, epsilon=2.0, mechanism="grr"),
    "several pairs of one respondent": lambda: ldp.WholeView(DOMAIN, k=2, epsilon=6.0),
    "a chain": lambda: ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b"), ("b", "c"), ("c", "d")]),
    "a set within a set": lambda: ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b", "c"), ("a", "c")]),
}


def agreement(tables: ldp.TableSet) -> Agreement:
    marginals = marginals_of(tables)
    found = agreement_of(marginals, shared_quantities(marginals))
    assert found is not None
    return found


@pytest.mark.parametrize("name", PROTOCOLS)
def test_it_is_the_test_by_a_joint_table_without_the_joint_table(name: str):
    tables = PROTOCOLS[name]().simulate(PEOPLE, rng=1)
    found = agreement(tables)
    whole = Identified.of(pooled_measured(list(tables), tables.domain.project(_asked(tables))))
    assert found.df == whole.spare
    if not found.bound:
        assert found.statistic == pytest.approx(whole.disagreement, rel=1e-3)
        assert found.pvalue == pytest.approx(whole.pvalue, rel=1e-2)


@pytest.mark.parametrize("name", [*PROTOCOLS, "a curator"])
def test_the_order_of_tables_and_their_attributes_plays_no_part(name: str):
    """Where covariances are bounds, it matters which table the others are compared with."""
    protocol = PROTOCOLS[name]() if name in PROTOCOLS else ldp.CentralLaplace(DOMAIN, k=2, epsilon=1.0)
    tables = protocol.simulate(PEOPLE, rng=1)
    turned = [table.reordered(table.attributes[::-1]) for table in reversed(list(tables))]
    one, other = agreement(tables), agreement(ldp.TableSet(DOMAIN, turned, tables.privacy))
    assert (one.df, one.bound) == (other.df, other.bound)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-6)


def _asked(tables: ldp.TableSet) -> list[str]:
    return [name for name in DOMAIN.names if any(name in table.attributes for table in tables)]


def test_two_ways_of_computing_it_are_one(monkeypatch: pytest.MonkeyPatch):
    tables = PROTOCOLS["triples"]().simulate(PEOPLE, rng=1)
    one = agreement(tables)
    monkeypatch.setattr("ldpstats.consistency.agreement.independent", lambda _: False)
    other = agreement(tables)
    assert (one.df, one.statistic) == (other.df, pytest.approx(other.statistic))


def test_tables_of_one_population_are_rejected_as_often_as_stated():
    protocol, sets = PROTOCOLS["pairs"](), 300
    rejected = sum(agreement(protocol.simulate(PEOPLE * 20, rng=seed)).pvalue < 0.05 for seed in range(sets))
    low, high = binom.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], sets, 0.05)
    assert low <= rejected <= high


def test_tables_of_different_populations_disagree():
    first, second = (ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[group]) for group in (("a", "b"), ("b", "c")))
    turned = PEOPLE[:, ::-1] * np.array([1, 2, 9])[None, :, None, None]
    tables = first.simulate(PEOPLE, rng=1) + second.simulate(turned, rng=2)
    assert agreement(tables).pvalue < 1e-6
    assert agreement(tables).df == 2


def test_the_same_reports_cannot_disagree_and_tables_that_share_nothing_do_not():
    crossed = agreement(ldp.PerAttribute(DOMAIN, k=2, epsilon=8.0).simulate(PEOPLE, rng=1))
    assert (crossed.df, crossed.pvalue) == (0, 1.0)
    apart = ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b"), ("c", "d")]).simulate(PEOPLE, rng=1)
    assert agreement(apart)[:3] == (0.0, 0, 1.0)


def test_too_many_differences_of_dependent_tables_are_not_tested(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ldpstats.consistency.agreement.MOST_DIFFERENCES", 3)
    marginals = marginals_of(PROTOCOLS["several pairs of one respondent"]().simulate(PEOPLE, rng=1))
    assert agreement_of(marginals, shared_quantities(marginals)) is None
