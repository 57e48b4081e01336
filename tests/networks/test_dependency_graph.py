"""The graph of a collection's attributes: which pairs are associated, by which rule, and the cliques of the graph."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from networkx import Graph, cycle_graph, is_chordal, relabel_nodes, set_node_attributes
from scipy.stats import binom, chi2, chi2_contingency, false_discovery_control
from support.crossed_chain import CHAIN, EXACT, chain_law, crossed, of_edges, people

from ldpstats import Domain, LdpstatsError, NotIdentifiedError, SampledGroups, mutual_information
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.networks.dependency_graph import PairAssociation, clique_tree, dependency_graph
from ldpstats.protocols import PerAttribute


@pytest.fixture(scope="module")
def chain_reports() -> pd.DataFrame:
    return crossed(CHAIN).reports(people(CHAIN, chain_law(), 8000), rng=1)


def exact_table(counts: list[list[int]], epsilon: float = EXACT) -> Any:
    shape = np.shape(counts)
    domain = Domain({"x": list(range(shape[0])), "y": list(range(shape[1]))})
    protocol = SampledGroups(domain, epsilon=epsilon, mechanism="grr")
    return protocol.simulate(np.array(counts), rng=1)["x", "y"]


@pytest.mark.parametrize("counts", [[[30, 10], [10, 30]], [[5, 9, 60], [1, 3, 22]], [[90, 2], [3, 1], [2, 2], [40, 0]]])
def test_without_noise_walds_statistic_is_pearsons(counts: list[list[int]]) -> None:
    found = PairAssociation.of(exact_table(counts))
    expected = chi2_contingency(counts, correction=False)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert (found.df, found.side) == (expected.dof, min(np.shape(counts)) - 1)
    assert found.pvalue == pytest.approx(chi2.sf(found.statistic, found.df), rel=1e-9)


def test_the_mutual_information_is_corrected_for_what_sampling_adds() -> None:
    counts = np.array([[500, 90, 60], [100, 300, 220]])
    table = exact_table(counts.tolist())
    found = PairAssociation.of(table)
    law = counts / counts.sum()
    expected = np.sum(law * np.log(law / np.outer(law.sum(axis=1), law.sum(axis=0))))
    assert found.mi == pytest.approx(expected, rel=1e-9)
    assert found.corrected == mutual_information(table).estimate
    # as much as in an independent table, or, since the deviations vary less here, somewhat less
    assert 0.8 < (found.mi - found.corrected) / (found.df / (2 * counts.sum())) < 1


def test_complete_dependence_is_seen_though_it_has_no_variance() -> None:
    found = PairAssociation.of(exact_table([[50, 0], [0, 50]]))
    assert found.pvalue < 1e-20
    assert found.mi == pytest.approx(math.log(2))


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_independent_attributes_are_rejected_at_the_level(epsilon: float) -> None:
    """Random: a right p-value fails this with probability 1e-6 at most, as far as χ² holds."""
    rng, domain = np.random.default_rng(4), Domain({"a": [0, 1, 2], "b": [0, 1, 2]})
    protocol = PerAttribute(domain, epsilon=epsilon, k=2)
    law = np.outer([0.6, 0.3, 0.1], [0.5, 0.3, 0.2]).ravel()
    draws = [protocol.simulate(rng.multinomial(3000, law), rng)["a", "b"] for _ in range(500)]
    rejected = sum(PairAssociation.of(table).pvalue < 0.05 for table in draws)
    lowest, highest = binom.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], 500, 0.05)
    assert lowest <= rejected <= highest


def test_categories_that_nobody_chose_change_nothing() -> None:
    found = PairAssociation.of(exact_table([[30, 10, 0], [10, 30, 0]]))
    expected = PairAssociation.of(exact_table([[30, 10], [10, 30]]))
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert (found.mi, found.corrected) == pytest.approx((expected.mi, expected.corrected))
    assert (found.df, expected.df) == (2, 1)


def test_the_order_of_attributes_and_a_derived_table_change_nothing() -> None:
    domain = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
    wide = SampledGroups(domain, k=3, epsilon=2.0, mechanism="hr").simulate(np.arange(12) * 100, rng=1)["a", "b", "c"]
    one, other = (PairAssociation.of(wide.marginal(pair)) for pair in (("a", "b"), ("b", "a")))
    assert wide.marginal(("a", "b")).figures is not None
    assert one.pair == other.pair[::-1]
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
    assert one.corrected == pytest.approx(other.corrected, rel=1e-9)
    assert one.pvalue < 0.01


def edges(graph: Graph) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in graph.edges}


def test_the_graph_of_a_chain_is_the_chain(chain_reports: pd.DataFrame) -> None:
    tables = crossed(CHAIN).tables(chain_reports)
    assert edges(dependency_graph(tables)) == {frozenset(pair) for pair in ("ab", "bc", "cd")}
    assert edges(dependency_graph(tables, "significance")) == {frozenset(pair) for pair in combinations("abcd", 2)}


def test_the_published_rule_compares_the_plug_in_with_its_threshold(chain_reports: pd.DataFrame) -> None:
    tables = crossed(CHAIN).tables(chain_reports)
    found = {frozenset(table.attributes): PairAssociation.of(table) for table in tables}
    numbers = set()
    for phi in (0.05, 0.2, 0.3, 0.5, 0.9):
        expected = {pair for pair, one in found.items() if one.mi > phi**2 / 2 * one.side}
        assert edges(dependency_graph(tables, "published", phi=phi)) == expected
        numbers.add(len(expected))
    assert len(numbers) > 2


def test_on_a_small_budget_only_the_published_rule_joins_what_is_independent() -> None:
    domain = Domain({name: [0, 1, 2] for name in "abcdef"})
    tables = crossed(domain, 0.2).simulate(np.full(domain.shape, 5), rng=2)
    assert len(edges(dependency_graph(tables, "published"))) == 15
    assert not edges(dependency_graph(tables, "significance"))


def test_edges_carry_their_figures_and_the_adjusted_p_value(chain_reports: pd.DataFrame) -> None:
    tables = crossed(CHAIN).tables(chain_reports)
    found = [PairAssociation.of(table) for table in tables]
    adjusted = false_discovery_control([one.pvalue for one in found])
    graph = dependency_graph(tables, "significance")
    for one, corrected in zip(found, adjusted, strict=True):
        edge = graph.edges[one.pair]
        assert (edge["mi"], edge["corrected"], edge["statistic"]) == (one.mi, one.corrected, one.statistic)
        assert (edge["pvalue"], edge["adjusted"], edge["df"]) == (one.pvalue, corrected, one.df)
    assert dict(graph.nodes(data="categories")) == dict(zip(CHAIN.names, CHAIN.shape, strict=True))


def test_other_tables_than_pairs_are_left_out() -> None:
    groups = [("a", "b"), ("b", "c", "d"), ("d",)]
    protocol = SampledGroups(CHAIN, epsilon=4.0, groups=groups)
    graph = dependency_graph(protocol.simulate(np.full(CHAIN.shape, 100), rng=1))
    assert set(graph) == {"a", "b"}


@pytest.mark.parametrize(
    ("options", "came"),
    [
        ({"rule": "strict"}, "rule = 'strict'"),
        ({"alpha": 1.0}, "alpha = 1.0"),
        ({"phi": 0}, "phi = 0"),
        ({"phi": math.nan}, "phi = nan"),
        ({"phi": "0.2"}, "phi = '0.2'"),
    ],
)
def test_rules_and_levels_that_there_are_not_are_refused(
    options: dict[str, Any], came: str, chain_reports: pd.DataFrame
) -> None:
    with pytest.raises(LdpstatsError, match=came):
        dependency_graph(crossed(CHAIN).tables(chain_reports), **options)


def test_what_holds_no_pairs_is_refused() -> None:
    tables = SampledGroups(CHAIN, k=3, epsilon=1.0).simulate(np.full(CHAIN.shape, 9), rng=1)
    with pytest.raises(LdpstatsError, match="no two-way tables"):
        dependency_graph(tables)
    with pytest.raises(LdpstatsError, match="a str"):
        dependency_graph(["a"])  # type: ignore[list-item]  # this is what is refused
    few = SampledGroups(CHAIN, epsilon=1.0).simulate(np.eye(24, dtype=int)[3], rng=1)
    with pytest.raises(NotIdentifiedError, match="no reports"):
        dependency_graph(few)


@pytest.mark.parametrize("length", [4, 5, 8])
def test_cycles_are_triangulated(length: int) -> None:
    cycle: Graph = relabel_nodes(cycle_graph(length), {place: f"x{place}" for place in range(length)})
    set_node_attributes(cycle, 2, "categories")
    found = clique_tree(cycle).cliques
    assert sorted(map(len, found)) == [3] * (length - 2)
    filled: Graph = Graph(pair for clique in found for pair in combinations(clique, 2))
    assert is_chordal(filled)
    assert edges(cycle) <= edges(filled)


def test_attributes_alone_are_cliques_of_their_own() -> None:
    tree = clique_tree(of_edges(CHAIN, ["bd"]))
    assert set(tree.cliques) == {("a",), ("b", "d"), ("c",)}
    assert set(tree.separators) == {()}
    assert tree.sizes == dict(zip(CHAIN.names, CHAIN.shape, strict=True))


@pytest.mark.parametrize("rule", [None, ["direct"], np.array(["direct", "published"])])
def test_rules_of_other_types_are_refused(rule: Any):
    with pytest.raises(LdpstatsError, match=r"rule = .*'direct'"):
        dependency_graph([], rule)


@pytest.mark.parametrize("given", [None, 1, "table"])
def test_what_is_no_tables_is_refused(given: Any):
    table = SampledGroups(Domain({"a": [0, 1], "b": [0, 1]}), epsilon=1.0).simulate([1, 2, 3, 4], rng=1)["a", "b"]
    with pytest.raises(LdpstatsError, match="tables"):
        dependency_graph(table if given == "table" else given)
