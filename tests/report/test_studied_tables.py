"""What a report finds in a table set: every pair that some table holds, in one order, whatever the set's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from ldpstats import Domain, PerAttribute, SampledGroups, Table, TableSet, make_consistent, reconstruct
from ldpstats.report.studied_tables import StudiedTables

DOMAIN = Domain({"age": ["young", "adult", "old"], "sex": ["F", "M"], "car": ["yes", "no"], "pet": [0, 1]})
PEOPLE = np.random.default_rng(1).multinomial(20_000, np.random.default_rng(2).dirichlet(np.ones(24)))


@pytest.fixture(name="pairs")
def all_pairs() -> TableSet:
    return SampledGroups(DOMAIN, epsilon=3.0).simulate(PEOPLE, rng=1)


def test_pairs_of_wider_tables_are_pooled_from_all_that_hold_them() -> None:
    tables = SampledGroups(DOMAIN, k=3, epsilon=3.0).simulate(PEOPLE, rng=1)
    studied = StudiedTables(tables)
    assert list(studied.pairs) == list(combinations(DOMAIN.names, 2))
    assert all(table.n == 10_000 for table in studied.pairs.values())
    assert len(studied.other_tables) == 4
    assert not studied.not_asked


def triples() -> TableSet:
    return SampledGroups(DOMAIN, k=3, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=1)


def collapsed(tables: TableSet) -> TableSet:
    return tables.collapse({"age": {"young": ["young"], "older": ["adult", "old"]}})


def with_a_model(tables: TableSet) -> TableSet:
    """Return pairs of which one is missing, and two reconstructed tables that both hold it."""
    pairs = SampledGroups(DOMAIN, epsilon=3.0, groups=[("age", "car"), ("sex", "car"), ("pet", "car")])
    collected = pairs.simulate(PEOPLE, rng=1)
    made = [reconstruct(collected, ["age", "sex", name], n_resamples=3) for name in ("car", "pet")]
    return TableSet(DOMAIN, [*made, *collected], tables.privacy.joined(collected.privacy))


@pytest.mark.parametrize(
    "derived",
    [
        lambda _: SampledGroups(DOMAIN, epsilon=3.0).simulate(PEOPLE, rng=1),
        *(collapsed, make_consistent, with_a_model),
        lambda tables: collapsed(make_consistent(tables)),
    ],
    ids=["pairs", "collapsed", "consistent", "with a model", "consistent, then collapsed"],
)
def test_nothing_depends_on_the_order_of_tables_and_axes(derived: Callable[[TableSet], TableSet]) -> None:
    tables = derived(triples())
    reversed_ = [table.reordered(table.attributes[::-1]) for table in reversed(tables.tables)]
    turned = TableSet(tables.domain, reversed_, tables.privacy)
    one, other = StudiedTables(tables), StudiedTables(turned)
    assert [(pair.name, pair.said) for pair in one.ranked_pairs] == [
        (pair.name, pair.said) for pair in other.ranked_pairs
    ]
    for name in DOMAIN.names:
        first, second = one.singles[name], other.singles[name]
        assert isinstance(first, Table)
        assert isinstance(second, Table)
        np.testing.assert_allclose(first.std_err, second.std_err, rtol=1e-9)


def test_reports_of_all_tables_are_counted_where_categories_were_put_together_or_tables_agree() -> None:
    for tables in (collapsed(triples()), make_consistent(triples())):
        assert all(table.n == 10_000 for table in StudiedTables(tables).pairs.values())
    assert all(table.n == 15_000 for table in StudiedTables(collapsed(triples())).singles.values())  # type: ignore[union-attr]  # there are tables


def test_proportions_of_an_attribute_are_of_all_reports_about_it(pairs: TableSet) -> None:
    both = PerAttribute(DOMAIN, epsilon=4.0).simulate(PEOPLE, rng=2) + pairs
    for name, table in StudiedTables(both).singles.items():
        assert isinstance(table, Table)
        assert table.n == both.pooled(name).n > both[name].n
        np.testing.assert_allclose(table.estimate, both.pooled(name).estimate)
    alone = PerAttribute(DOMAIN, epsilon=4.0).simulate(PEOPLE, rng=2)
    assert all(table is alone[name] for name, table in StudiedTables(alone).singles.items())


def test_the_strongest_dependence_comes_first(pairs: TableSet) -> None:
    found = StudiedTables(pairs).ranked_pairs
    shown = [pair.effect.cramers_v for pair in found if pair.is_dependent]
    assert shown == sorted(shown, reverse=True)
    assert [pair.is_dependent for pair in found] == sorted((pair.is_dependent for pair in found), reverse=True)
    rest = [pair.test.pvalue for pair in found if not pair.is_dependent]
    assert rest == sorted(rest)


def test_consistent_tables_show_what_they_agree_on(pairs: TableSet) -> None:
    consistent = make_consistent(pairs)
    singles = StudiedTables(consistent).singles
    for name in DOMAIN.names:
        for table in consistent:
            if name in table.attributes:
                np.testing.assert_allclose(singles[name].estimate, table.marginal(name).estimate, atol=1e-8)  # type: ignore[union-attr]  # there is one


def test_single_attributes_have_no_pairs() -> None:
    studied = StudiedTables(PerAttribute(DOMAIN, epsilon=4.0).simulate(PEOPLE, rng=1))
    assert not studied.ranked_pairs
    assert len(studied.not_asked) == 6


def test_an_assumed_dependence_is_said_to_be_assumed() -> None:
    asked = SampledGroups(DOMAIN, epsilon=3.0, groups=[("age", "sex"), ("sex", "car"), ("pet",)])
    tables = asked.simulate(PEOPLE, rng=1)
    assumed = reconstruct(tables, ["age", "car"])
    studied = StudiedTables(TableSet(DOMAIN, [*tables, assumed], assumed.privacy.joined(tables.privacy)))
    (pair,) = (pair for pair in studied.ranked_pairs if pair.table.attributes == ("age", "car"))
    assert not pair.is_tested
    assert "assuming no interaction" in pair.said
    assert "nan" not in pair.said
