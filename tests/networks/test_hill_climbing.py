"""Hill climbing and its score: known networks, noise, and what is refused."""

from __future__ import annotations

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom
from support.colliders import collected

from ldpstats import Domain, NotIdentifiedError, ProductDomain, SampledGroups
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.datasets import network
from ldpstats.networks.hill_climbing import FamilyScores, fitted_to_faces, hill_climb, total_correlation, with_faces
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import EdgeConstraints
from ldpstats.tables import TableSet

FAMILIES = [
    ("education", ("age",)),
    ("age", ("sex",)),
    ("education", ("age", "sex")),
    ("transport", ("occupation", "residence")),
    ("age", ("education", "sex", "residence")),
]


def test_without_noise_it_is_the_bayesian_information_criterion_of_pgmpy() -> None:
    from pgmpy.structure_score import BIC

    frame = network("survey").sample(50_000, rng=1)
    tables = ProductDomain(network("survey").domain, epsilon=60.0).simulate(frame, rng=1)
    ours, theirs = FamilyScores(PairEvidence.of(tables), 0.5), BIC(frame.astype(str))
    for name, parents in FAMILIES:
        expected = (theirs.local_score(name, parents) - theirs.local_score(name, ())) / len(frame)
        assert ours.family(name, parents) == pytest.approx(expected, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_equivalent_networks_have_the_same_score(epsilon: float) -> None:
    domain = Domain({"a": [*"xyz"], "b": ["yes", "no"], "c": [*"uv"]})
    tables = SampledGroups(domain, epsilon=epsilon, k=3).simulate(np.arange(1, 13) * 100, rng=1)
    scores = FamilyScores(PairEvidence.of(tables), 0.05)
    complete = [
        sum(scores.family(name, order[:place]) for place, name in enumerate(order)) for order in permutations("abc")
    ]
    assert complete == pytest.approx([complete[0]] * 6, abs=1e-12)
    assert scores.family("a", "b") == scores.family("b", "a")


def test_a_family_that_was_never_asked_together_is_worth_nothing_at_all() -> None:
    domain = Domain({name: ["yes", "no"] for name in "abc"})
    scores = FamilyScores(PairEvidence.of(SampledGroups(domain, epsilon=4.0).simulate(np.full(8, 1000), rng=1)), 0.05)
    assert scores.family("a", ("b", "c")) == -np.inf
    assert scores.family("a", ()) == 0.0
    assert np.isfinite(scores.family("a", ("b",)))


def test_total_correlation_is_the_difference_of_entropies() -> None:
    cells = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 3, 2)
    entropies = [
        -(margin * np.log(margin)).sum() for margin in (cells.sum((1, 2)), cells.sum((0, 2)), cells.sum((0, 1)))
    ]
    assert total_correlation(cells) == pytest.approx(sum(entropies) + (cells * np.log(cells)).sum())
    assert total_correlation(np.array([0.3, 0.7])) == 0.0


def test_a_table_with_given_faces_has_the_interaction_that_is_estimated() -> None:
    numbers = np.random.default_rng(2)
    cells, other = (numbers.dirichlet(np.full(12, 20.0)).reshape(2, 3, 2) for _ in range(2))
    faces = [other.sum(axis=axis) for axis in range(3)]
    for found in (fitted_to_faces(cells, faces), with_faces(cells, faces)):
        for axis, face in enumerate(faces):
            assert found.sum(axis=axis) == pytest.approx(face, abs=1e-8)
    # a table that has these faces is left as it is
    assert with_faces(other, faces) == pytest.approx(other, abs=1e-9)
    # what changes the faces alone changes nothing
    nearest = fitted_to_faces(np.ones((2, 3, 2)), faces)
    changed = cells + nearest * numbers.normal(0, 0.01, (2, 3, 1)) + nearest * numbers.normal(0, 0.01, (1, 3, 2))
    assert with_faces(changed, faces) == pytest.approx(with_faces(cells, faces), abs=1e-9)


def test_of_two_attributes_it_is_the_deviation_from_the_product_of_margins() -> None:
    first, second = np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.6])
    estimate = np.array([[0.3, 0.25], [0.05, 0.14], [0.08, 0.18]])
    of_rows, of_columns = np.eye(3) - first[:, None], np.eye(2) - second[:, None]
    expected = np.outer(first, second) + of_rows @ estimate @ of_columns.T
    assert with_faces(estimate, [second, first]) == pytest.approx(expected, abs=1e-9)


def test_nearly_empty_categories_are_seldom_worth_joining() -> None:
    domain = Domain({name: [*"wxyz"] for name in "abcd"})
    people = np.ones(1)
    for _ in domain.names:
        people = np.kron(people, [0.997, 0.001, 0.001, 0.001])
    protocol, runs, rng = SampledGroups(domain, epsilon=3.0, mechanism="grr"), 100, np.random.default_rng(1)
    wrong = 0
    for _ in range(runs):
        tables = protocol.simulate(rng.multinomial(20_000, people), rng=rng)
        scores = FamilyScores(PairEvidence.of(tables), 0.05)
        wrong += any(scores.worth(pair) > 0 for pair in combinations("abcd", 2))
    assert wrong <= binom.isf(FALSE_FAILURE_RATE, runs, 0.05)


def test_the_level_of_a_pair_is_shared_by_all_pairs_of_the_domain() -> None:
    domain, wider = (Domain({name: ["x", "y"] for name in names}) for names in ("ab", "abcd"))
    tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([400, 100, 100, 400]), rng=1)
    few, many = PairEvidence.of(tables), PairEvidence.of(TableSet(wider, tables.tables, tables.privacy))
    assert FamilyScores(many, 0.05).worth("ab") == pytest.approx(FamilyScores(few, 0.05 / 6).worth("ab"), rel=1e-12)
    assert FamilyScores(many, 0.05).worth("ab") < FamilyScores(few, 0.05).worth("ab")


FREE = EdgeConstraints()


def test_without_noise_it_finds_what_pgmpy_finds_in_the_raw_records() -> None:
    from pgmpy.causal_discovery import HillClimbSearch

    frame = network("survey").sample(100_000, rng=1)
    found = hill_climb(
        PairEvidence.of(ProductDomain(network("survey").domain, epsilon=60.0).simulate(frame, rng=1)), FREE, 0.05
    )
    search = HillClimbSearch(scoring_method="bic-d", return_type="pdag", show_progress=False)
    theirs = search.fit(frame.astype(str)).causal_graph_
    assert set(found.directed) == set(theirs.directed_edges)
    assert {frozenset(edge) for edge in found.edges} == {
        frozenset(edge) for edge in (*theirs.directed_edges, *theirs.undirected_edges)
    }


def test_it_ends_in_the_best_of_all_networks() -> None:
    tables = collected(20_000)
    scores = FamilyScores(PairEvidence.of(tables), 0.05)
    found = nx.DiGraph(hill_climb(PairEvidence.of(tables), FREE, 0.05).directed)
    best = -np.inf
    pairs = [(one, other) for place, one in enumerate("abcd") for other in "abcd"[place + 1 :]]
    for ways in product((None, False, True), repeat=6):
        edges = [pair[::-1] if way else pair for pair, way in zip(pairs, ways, strict=True) if way is not None]
        dag = nx.DiGraph(edges)
        dag.add_nodes_from("abcd")
        if nx.is_directed_acyclic_graph(dag):
            best = max(best, sum(scores.family(name, dag.pred[name]) for name in "abcd"))
    assert sum(scores.family(name, found.pred[name]) for name in "abcd") == pytest.approx(best, abs=1e-12)


def test_pairs_alone_give_trees_without_directions() -> None:
    found = hill_climb(PairEvidence.of(collected(k=2)), FREE, 0.05)
    assert found.edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert found.directed == ()


def test_required_parents_that_were_not_asked_together_are_refused() -> None:
    with pytest.raises(NotIdentifiedError, match=r"Ask the group \('a', 'b', 'c'\)"):
        hill_climb(PairEvidence.of(collected(k=2)), EdgeConstraints(required=(("a", "c"), ("b", "c"))), 0.05)
