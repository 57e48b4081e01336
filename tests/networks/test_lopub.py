"""LoPub and its dependency graph: known networks, the published rule, synthetic records, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import combinations, permutations
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from networkx import Graph, cycle_graph, is_chordal, relabel_nodes, set_node_attributes
from scipy.stats import chi2, chi2_contingency, false_discovery_control

from ldpstats import Domain, LdpstatsError, NotIdentifiedError, ReportError, SampledGroups
from ldpstats.conformance.protocol_checks import joint_counts
from ldpstats.consistency.junction_tree import Beliefs
from ldpstats.estimation import mixture_em
from ldpstats.networks.lopub import (
    ESTIMATORS,
    LoPubModel,
    PairAssociation,
    agreeing,
    clique_cells,
    clique_tree,
    dependency_graph,
    lopub,
)
from ldpstats.protocols import PerAttribute

CHAIN = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
EXACT = 40.0
"""The level of an answer that is never false among a million."""


def chain_law() -> np.ndarray[Any, Any]:
    """Return a Markov chain a – b – c – d whose probabilities are multiples of 1/800."""
    start = np.array([0.5, 0.5])
    a_to_b = np.array([[0.6, 0.2, 0.2], [0.2, 0.4, 0.4]])
    b_to_c = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    c_to_d = np.array([[0.9, 0.1], [0.2, 0.8]])
    return np.einsum("a,ab,bc,cd->abcd", start, a_to_b, b_to_c, c_to_d)


def people(domain: Domain, law: np.ndarray[Any, Any], n: int) -> pd.DataFrame:
    """Return n respondents of whom just the right shares hold each record."""
    counts = np.round(law * n).astype(int)
    assert np.abs(counts - law * n).max() < 1e-6
    return domain.decode(np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0))


def crossed(domain: Domain, epsilon: float = EXACT, mechanism: str = "grr") -> PerAttribute:
    """Let everyone answer every attribute at this level."""
    return PerAttribute(domain, epsilon=len(domain) * epsilon, mechanism=mechanism, k=2)


def of_edges(domain: Domain, pairs: list[str]) -> Graph:
    graph: Graph = Graph()
    graph.add_nodes_from((name, {"categories": len(values)}) for name, values in domain.categories.items())
    graph.add_edges_from(tuple(pair) for pair in pairs)
    return graph


@pytest.fixture(scope="module")
def chain_reports() -> pd.DataFrame:
    return crossed(CHAIN).reports(people(CHAIN, chain_law(), 8000), rng=1)


def crossed_table(law: np.ndarray[Any, Any], n: int, epsilon: float, seed: int, mechanism: str = "grr") -> Any:
    names = "ab"[: law.ndim]
    domain = Domain({name: list(range(size)) for name, size in zip(names, law.shape, strict=True)})
    counts = np.random.default_rng(seed).multinomial(n, law.ravel())
    return crossed(domain, epsilon, mechanism).simulate(counts, rng=seed)["a", "b"]


SPARSE = np.array([[0.5, 0.0, 0.0], [0.0, 0.3, 0.2]])


@pytest.mark.parametrize("mechanism", ["grr", "sue"])
def test_em_finds_the_most_likely_cells(mechanism: str) -> None:
    table = crossed_table(SPARSE, 2000, 1.0, 3, mechanism)
    found = clique_cells(table, "em")
    assert np.abs(found - table.estimated_by("mle").estimate.ravel()).max() < 1e-4
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("mechanism", ["grr", "sue"])
def test_the_lasso_solves_its_problem(mechanism: str) -> None:
    """Compare with a solver for the problem as it is written."""
    (block,) = (table := crossed_table(SPARSE, 500, 1.5, 4, mechanism)).blocks
    matrix, _ = block.design()
    observed = block.tally.counts / block.n
    covariance = (np.diag(observed) - np.outer(observed, observed)) / block.n
    penalty = math.sqrt(np.diagonal(matrix.T @ covariance @ matrix).mean())
    cells = cvxpy.Variable(6, nonneg=True)
    # scaled, since the solver's tolerances are absolute
    problem = cvxpy.Problem(
        cvxpy.Minimize(1e4 * (cvxpy.sum_squares(matrix @ cells - observed) / 2 + penalty * cvxpy.sum(cells)))
    )
    problem.solve(solver="CLARABEL")
    assert np.abs(clique_cells(table, "lasso") - cells.value / cells.value.sum()).max() < 1e-4


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("epsilon", [0.1, 3.0, EXACT])
def test_two_respondents_are_enough_for_proper_cells(estimator: str, epsilon: float) -> None:
    found = clique_cells(crossed_table(SPARSE, 2, epsilon, 7), estimator)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_the_lassos_empty_cells_are_no_candidates_for_em() -> None:
    table = crossed_table(SPARSE, 20_000, 3.0, 5)
    lasso, both = clique_cells(table, "lasso"), clique_cells(table, "lasso+em")
    among = lasso > 0
    assert 3 <= among.sum() < 6
    assert np.array_equal(both > 0, among)
    (block,) = table.blocks
    expected = mixture_em(block.design()[0][:, among], block.tally.counts).frequencies
    assert np.abs(both[among] - expected).max() < 1e-4
    assert np.abs(both - SPARSE.ravel()).max() < 0.02


def test_the_published_lasso_sees_no_more_than_single_attributes() -> None:
    same_margins = [np.full((2, 2), 0.25), np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([[0.0, 0.5], [0.5, 0.0]])]
    found = []
    for law in same_margins:
        domain = Domain({"a": [0, 1], "b": [0, 1]})
        table = crossed(domain).collect(people(domain, law, 1000), rng=1)["a", "b"]
        found.append(clique_cells(table, "published lasso"))
        assert np.abs(clique_cells(table, "em") - law.ravel()).max() < 1e-6
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)
    assert np.allclose(found[0].reshape(2, 2).sum(axis=1), 0.5, atol=1e-9)


@pytest.mark.parametrize(("estimator", "off"), [("em", 1e-6), ("lasso+em", 1e-6), ("lasso", 0.01)])
def test_without_noise_a_chain_is_recovered(estimator: str, off: float, chain_reports: pd.DataFrame) -> None:
    model = lopub(crossed(CHAIN), chain_reports, estimator)
    assert set(model.cliques) == {("a", "b"), ("b", "c"), ("c", "d")}
    assert np.abs(model.marginal(CHAIN.names) - chain_law()).max() < off
    assert (model.estimator, model.n, model.domain) == (estimator, 8000, CHAIN)


@pytest.fixture(scope="module")
def two_triangles() -> LoPubModel:
    """Return a model of two triangles a – c – d and b – c – d with a tail e, whose tables had nothing in common."""
    domain = Domain({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1], "d": [0, 1, 2], "e": [0, 1]})
    graph = of_edges(domain, ["ac", "ad", "cd", "bc", "bd", "de"])
    tree, rng = clique_tree(graph), np.random.default_rng(8)
    tables = [rng.dirichlet(np.full(domain.size(clique), 0.7)).reshape(tree.shape(clique)) for clique in tree.cliques]
    # a cell that is never drawn, and cells that lead nowhere
    tables[0].flat[2] = 0
    tables[1][..., 0] = 0
    tables = [table / table.sum() for table in tables]
    beliefs = Beliefs(tree, agreeing(tree, tables))
    return LoPubModel(domain, graph, beliefs, "em", crossed(domain).privacy(), 1000)


def test_cliques_agree_on_what_they_share(two_triangles: LoPubModel) -> None:
    tree, tables = two_triangles.beliefs.tree, two_triangles.beliefs.tables
    assert len(tree.cliques) > 1
    for place, (parent, shared) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        assert tables[place].sum() == pytest.approx(1)
        if parent >= 0:
            held = [
                tables[other].sum(axis=tuple(i for i, name in enumerate(tree.cliques[other]) if name not in shared))
                for other in (place, parent)
            ]
            assert np.allclose(*held, atol=1e-12)


def test_a_marginal_is_the_sum_of_the_product_of_cliques_over_separators(two_triangles: LoPubModel) -> None:
    domain, tree = two_triangles.domain, two_triangles.beliefs.tree
    joint = np.ones(domain.shape)
    letters = dict(zip(domain.names, "abcde", strict=True))
    for clique, shared, table in zip(tree.cliques, tree.separators, two_triangles.beliefs.tables, strict=True):
        axes = [domain.names.index(name) for name in clique]
        wide = np.moveaxis(table.reshape(*table.shape, *[1] * (5 - table.ndim)), range(len(axes)), axes)
        outside = tuple(domain.names.index(name) for name in domain.names if name not in shared)
        share = wide.sum(axis=outside, keepdims=True)
        joint = joint * np.divide(wide, share, out=np.zeros_like(wide), where=share > 0)
    for size in (1, 2, 3, 5):
        for wanted in permutations(domain.names, size):
            expected = np.einsum(f"abcde->{''.join(letters[name] for name in wanted)}", joint)
            assert np.allclose(two_triangles.marginal(wanted), expected, atol=1e-12)


def test_the_network_of_a_model_is_the_same_distribution(two_triangles: LoPubModel) -> None:
    names, network = two_triangles.domain.names, two_triangles.network
    assert network.domain == two_triangles.domain
    for size in (1, 3, 5):
        for wanted in combinations(names, size):
            assert np.allclose(network.joint(wanted), two_triangles.marginal(wanted), atol=1e-12)
    moral = {frozenset(pair) for name, own in network.parents.items() for pair in combinations((name, *own), 2)}
    assert moral == {frozenset(pair) for clique in two_triangles.cliques for pair in combinations(clique, 2)}


def test_a_category_that_a_clique_did_not_see_is_followed_by_what_is_usual() -> None:
    tree = clique_tree(of_edges(CHAIN, ["ab", "bc"]))
    unseen = np.array([[0.1, 0.3], [0.2, 0.4], [0.0, 0.0]])
    tables = {("a", "b"): np.full((2, 3), 1 / 6), ("b", "c"): unseen, ("d",): np.array([0.5, 0.5])}
    agreed = dict(zip(tree.cliques, agreeing(tree, [tables[clique] for clique in tree.cliques]), strict=True))
    assert tree.cliques[0] == ("a", "b")
    assert np.allclose(agreed["b", "c"], np.array([[1 / 4, 3 / 4], [1 / 3, 2 / 3], [0.3, 0.7]]) / 3, atol=1e-15)


def test_without_dependence_the_model_is_the_product_of_its_margins() -> None:
    protocol = crossed(CHAIN, 1.0)
    law = reduce(np.multiply.outer, [np.full(size, 1 / size) for size in CHAIN.shape])
    model = lopub(protocol, protocol.reports(people(CHAIN, law, 4800), rng=1), alpha=1e-3)
    assert set(model.cliques) == {("a",), ("b",), ("c",), ("d",)}
    margins = [model.marginal([name]) for name in CHAIN.names]
    assert np.allclose(model.marginal(CHAIN.names), reduce(np.multiply.outer, margins), atol=1e-12)
    assert joint_counts(CHAIN, model.sample(100, rng=1)).sum() == 100


def test_the_tables_that_the_protocol_forms_do_not_matter(chain_reports: pd.DataFrame) -> None:
    wide = PerAttribute(CHAIN, epsilon=len(CHAIN) * EXACT, mechanism="auto", groups=[("d", "a", "b"), ("c",)])
    one, other = (lopub(protocol, chain_reports) for protocol in (crossed(CHAIN), wide))
    assert one.cliques == other.cliques
    assert np.array_equal(one.marginal(["a", "d"]), other.marginal(["a", "d"]))


def test_attributes_that_were_not_asked_for_are_not_in_the_model() -> None:
    protocol = PerAttribute(CHAIN, epsilon=2 * EXACT, groups=[("b", "c")])
    model = lopub(protocol, protocol.reports(people(CHAIN, chain_law(), 800), rng=1))
    assert model.domain.names == ("b", "c")
    with pytest.raises(LdpstatsError, match="'a'"):
        model.marginal(["a", "b"])


def one_attribute_each() -> Any:
    return PerAttribute(CHAIN, epsilon=4.0)


def sampled() -> Any:
    return SampledGroups(CHAIN, epsilon=4.0)


@pytest.mark.parametrize(("make", "came"), [(one_attribute_each, "k=1"), (sampled, "a SampledGroups")])
def test_other_protocols_are_refused(make: Callable[[], Any], came: str, chain_reports: pd.DataFrame) -> None:
    with pytest.raises(LdpstatsError, match=came):
        lopub(make(), chain_reports)


def test_other_estimators_and_foreign_reports_are_refused(chain_reports: pd.DataFrame) -> None:
    with pytest.raises(LdpstatsError, match="estimator = 'ols'"):
        lopub(crossed(CHAIN), chain_reports, "ols")
    with pytest.raises(ReportError):
        lopub(crossed(CHAIN, 1.0), chain_reports)


def test_a_graph_with_too_large_a_clique_says_how_to_join_less() -> None:
    domain = Domain({name: [0, 1, 2] for name in "abcdefg"})
    protocol = crossed(domain, 0.2)
    reports = protocol.reports(domain.decode(np.argwhere(np.ones(domain.shape))), rng=1)
    with pytest.raises(LdpstatsError, match=r"2,187 cells.*rule = 'direct'"):
        lopub(protocol, reports, rule="published", phi=0.01)
    assert lopub(protocol, reports).n == 2187


@pytest.mark.parametrize("altered", ["attributes", "graph", "numbers", "cliques"])
def test_models_that_cannot_be_are_refused(altered: str):
    domain = Domain({"a": ["x", "y"], "b": ["x", "y"]})
    protocol = PerAttribute(domain, epsilon=4.0, k=2)
    model = lopub(protocol, protocol.reports(domain.decode(np.repeat([[0, 0], [1, 1]], 100, axis=0)), rng=1))
    wrong = {
        "attributes": {"domain": Domain({"a": ["x", "y"], "c": ["x", "y"]})},
        "graph": {"graph": Graph([("a", "c")])},
        "numbers": {"beliefs": replace(model.beliefs, tables=tuple(2 * one for one in model.beliefs.tables))},
        "cliques": {"beliefs": replace(model.beliefs, tables=())},
    }
    with pytest.raises(LdpstatsError):
        replace(model, **wrong[altered])


def test_the_model_shows_its_cliques_and_its_graph(chain_reports: pd.DataFrame) -> None:
    model = lopub(crossed(CHAIN), chain_reports)
    frame = model.to_frame()
    assert frame.groupby("clique")["proportion"].sum().tolist() == pytest.approx([1.0] * len(model.cliques))
    assert {frozenset(edge) for edge in model.graph.edges} == {
        frozenset((edge.first, edge.second)) for edge in model.picture().edges
    }
    assert model.to_dict()["simulated"] == model.simulated == model.n
    assert "LoPub (simulated)" in str(model)
    assert "(simulated)" in repr(model)
    assert "no standard errors" in str(model)
    with pytest.raises(LdpstatsError, match="simulated"):
        replace(model, simulated=model.n + 1)


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


def test_complete_dependence_is_seen_though_it_has_no_variance() -> None:
    found = PairAssociation.of(exact_table([[50, 0], [0, 50]]))
    assert found.pvalue < 1e-20
    assert found.mi == pytest.approx(math.log(2))


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
