"""Chow and Liu's tree: the heaviest of all, tested, within constraints."""

from __future__ import annotations

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.blocks import Block
from ldpstats.datasets import network
from ldpstats.networks.chow_liu import chow_liu_tree, spanning_tree
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import Edge, EdgeConstraints
from ldpstats.questions import Question
from ldpstats.tables import Table, TableSet

FREE = EdgeConstraints()
SURVEY = network("survey")


@pytest.fixture(scope="module")
def evidence() -> PairEvidence:
    return PairEvidence.of(ldp.SampledGroups(SURVEY.domain, epsilon=5.0).simulate(SURVEY.sample(200_000, 1), rng=1))


def all_trees(names: tuple[str, ...]) -> list[set[Edge]]:
    """Return every tree of a few attributes, from Prüfer's sequences."""
    sequences = product(range(len(names)), repeat=len(names) - 2)
    return [
        {
            tuple(sorted((names[one], names[other]), key=names.index))
            for one, other in nx.from_prufer_sequence(list(code)).edges
        }  # type: ignore[misc]  # two names each
        for code in sequences
    ]


def test_no_tree_is_heavier(evidence: PairEvidence) -> None:
    weight = dict(zip(evidence.pairs, evidence.shrunken, strict=True))
    best = max(all_trees(SURVEY.domain.names), key=lambda tree: sum(weight[edge] for edge in tree))
    assert spanning_tree(evidence, FREE) == best


def test_with_required_and_forbidden_edges_no_allowed_tree_is_heavier(evidence: PairEvidence) -> None:
    weight = dict(zip(evidence.pairs, evidence.shrunken, strict=True))
    known = EdgeConstraints(required=(("sex", "age"),), forbidden=(("age", "education"), ("education", "age")))
    allowed = [
        tree for tree in all_trees(SURVEY.domain.names) if ("age", "sex") in tree and ("age", "education") not in tree
    ]
    best = max(allowed, key=lambda tree: sum(weight[edge] for edge in tree))
    assert spanning_tree(evidence, known) == best
    assert ("age", "sex") in chow_liu_tree(evidence, known, 1e-9).edges


def test_required_edges_that_make_a_circle_are_all_there(evidence: PairEvidence) -> None:
    circle = tuple(combinations(("age", "sex", "transport"), 2))
    found = chow_liu_tree(evidence, EdgeConstraints(required=circle), 0.05).edges
    assert set(circle) <= set(found)


def test_an_order_forbids_no_edge(evidence: PairEvidence) -> None:
    assert spanning_tree(evidence, EdgeConstraints(order=SURVEY.domain.names[::-1])) == spanning_tree(evidence, FREE)


def test_edges_that_no_test_carries_are_left_out(evidence: PairEvidence) -> None:
    carried = {pair for pair, pvalue in zip(evidence.pairs, evidence.adjusted, strict=True) if pvalue <= 0.05}
    assert set(chow_liu_tree(evidence, FREE, 0.05).edges) == spanning_tree(evidence, FREE) & carried
    assert len(carried) < 15


@pytest.mark.parametrize("names", list(permutations(("age", "residence", "transport"))))
def test_ties_do_not_depend_on_the_order_of_attributes(names: tuple[str, ...]) -> None:
    domain = ldp.Domain({name: ["x", "y"] for name in names})
    pairs = ldp.SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate(np.full(8, 300), rng=1)
    one = next(iter(pairs))
    # three tables with the same counts
    tally = one.blocks[0].tally
    questions = [Question(pair, (2, 2), (0, 1, 2, 3)) for pair in combinations(sorted(names), 2)]
    alike = [Table(domain.project(asked.attributes), (Block(asked, tally),), one.privacy) for asked in questions]
    tree = spanning_tree(PairEvidence.of(TableSet(domain, alike, pairs.privacy)), FREE)
    assert {frozenset(edge) for edge in tree} == {
        frozenset(("age", "transport")),
        frozenset(("residence", "transport")),
    }
