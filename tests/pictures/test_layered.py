"""Layered places: boxes apart from each other, lines beside boxes, and nothing that depends on an order."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from ldpstats.datasets import network
from ldpstats.pictures.graph import Layered, layered, outward

GRAPHS = {
    **{name: (network(name).domain.names, network(name).edges) for name in ("survey", "child", "alarm")},
    "no edge": (tuple("abcde"), ()),
    "one node": (("a",), ()),
    "complete": (tuple("abcdefgh"), tuple(combinations("abcdefgh", 2))),
    "star": (tuple(f"n{i}" for i in range(30)), tuple(("n0", f"n{i}") for i in range(1, 30))),
}


def placed(
    nodes: tuple[str, ...], edges: tuple[tuple[str, str], ...]
) -> tuple[dict[str, tuple[float, float]], Layered]:
    boxes = {name: (0.4 + 0.1 * len(name), 0.2 + 0.1 * (len(name) % 3)) for name in nodes}
    return boxes, layered(tuple(boxes.items()), edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_do_not_overlap_and_edges_lead_down(name: str):
    nodes, edges = GRAPHS[name]
    boxes, found = placed(nodes, edges)
    assert {*found.centres} == {*nodes}
    for one, other in combinations(nodes, 2):
        apart = np.abs(np.subtract(found.centres[one], found.centres[other]))
        assert np.any(apart >= np.add(boxes[one], boxes[other]) / 2), (one, other)
    for node, (x, y) in found.centres.items():
        wide, high = boxes[node]
        assert -1e-9 <= x - wide / 2 < x + wide / 2 <= found.size[0] + 1e-9
        assert -1e-9 <= y - high / 2 < y + high / 2 <= found.size[1] + 1e-9
    assert all(found.centres[one][1] > found.centres[other][1] for one, other in edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_lines_pass_beside_the_boxes_of_others(name: str):
    """Within the height of a row lines go straight down, so their corners are all that must be looked at."""
    nodes, edges = GRAPHS[name]
    boxes, found = placed(nodes, edges)
    for edge in edges:
        for (x, y), (_, under) in zip(found.ways[edge], found.ways[edge][1:], strict=False):
            for other in set(nodes).difference(edge):
                (across, up), (wide, high) = found.centres[other], boxes[other]
                level = min(y, up + high / 2) > max(under, up - high / 2) + 1e-9
                assert not level or abs(x - across) >= wide / 2, (edge, other)


@pytest.mark.parametrize("name", ["child", "alarm", "star"])
def test_places_do_not_depend_on_the_order_of_nodes_and_edges(name: str):
    nodes, edges = GRAPHS[name]
    numbers = np.random.default_rng(1)
    shuffled = tuple(numbers.permutation(nodes).tolist()), tuple(map(tuple, numbers.permutation(edges).tolist()))
    _, first = placed(nodes, edges)
    _, second = placed(*shuffled)
    assert dict(first.centres) == dict(second.centres)
    assert dict(first.ways) == dict(second.ways)


def test_a_tree_is_drawn_without_crossings_and_its_edges_are_as_short_as_can_be():
    tree = nx.relabel_nodes(nx.balanced_tree(2, 3, create_using=nx.DiGraph), "n{:02d}".format)
    _, found = placed(tuple(tree), tuple(tree.edges))
    assert all(len(way) == 4 for way in found.ways.values())
    ends = [(found.centres[one], found.centres[other]) for one, other in tree.edges]
    for (here, there), (start, end) in combinations(ends, 2):
        assert here[1] != start[1] or (here[0] - start[0]) * (there[0] - end[0]) >= 0


def test_edges_without_direction_lead_away_from_the_best_connected_node():
    assert outward("abcde", [("b", "a"), ("c", "b"), ("b", "d")]) == (("b", "a"), ("b", "c"), ("b", "d"))
    directed = nx.DiGraph(outward(range(0), []) + outward("abcdef", combinations("abcdef", 2)))
    assert nx.is_directed_acyclic_graph(directed)
    assert directed.number_of_edges() == 15
