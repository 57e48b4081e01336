"""Pictures of networks: widths, arrows, dashes and words are those of the edges; boxes and lines keep apart."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

from ldpstats.datasets import network
from ldpstats.pictures.graph import DrawnEdge, Layered, NetworkGraph, layered, outward

LONG = "how often in the past year, in whole days"


def drawn() -> NetworkGraph:
    edges = (
        DrawnEdge("a", "b", 0.4, arrow=True, confidence=1.0),
        DrawnEdge("a", "c", 0.1, undecided=True, confidence=0.5),
        DrawnEdge("b", "c", -0.01, confidence=0.0),
        DrawnEdge("c", LONG),
    )
    return NetworkGraph("Network", ("simulated",), ("$x_1$", "a", "b", "c", LONG), edges, "information {}")


def test_edges_are_as_wide_as_the_root_of_their_strength():
    axes = drawn().draw()
    lines = [one for one in axes.patches if isinstance(one, PathPatch)]
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] > widths[1] > widths[2] > 0
    assert (widths[1] - widths[2]) * 2 == pytest.approx(widths[0] - widths[2])
    assert [one.get_linestyle() not in ("-", "solid") for one in lines] == [False, True, False, False]
    assert [one.get_alpha() for one in lines] == [1.0, 0.675, 0.35, 1.0]


def test_only_known_directions_have_an_arrow():
    axes = drawn().draw()
    (head,) = [one for one in axes.patches if isinstance(one, Polygon)]
    tip = head.get_xy()[:, 1].min()
    borders = {one.get_y() + one.get_height() for one in axes.patches if isinstance(one, FancyBboxPatch)}
    assert any(math.isclose(tip, border) for border in borders)


def test_the_legend_says_what_is_to_be_seen_and_nothing_else():
    words = [text.get_text() for text in drawn().draw().get_legend().get_texts()]
    assert words[:2] == ["\u200binformation 0.4", "\u200binformation -0.01"]
    assert [one for one in words if "undecided" in one]
    assert [one for one in words if "no direction known" in one]
    plain = NetworkGraph("Network", (), ("a", "b"), (DrawnEdge("a", "b", arrow=True),)).draw()
    assert [text.get_text() for text in plain.get_legend().get_texts()] == ["\u200bdirection known"]
    for nodes in ((), ("a",), ("a", "b")):
        assert NetworkGraph("Network", (), nodes, ()).draw().get_legend() is None


def test_the_frame_and_the_words_hold_what_is_drawn():
    picture = drawn()
    frame = picture.to_frame()
    assert frame["strength"].tolist()[:3] == [0.4, 0.1, -0.01]
    assert frame["undecided"].tolist() == [False, True, False, False]
    words = picture.described()
    assert "a → b (information 0.4, confidence 1.00)" in words
    assert "a — c (information 0.1, undecided, confidence 0.50)" in words
    assert "Without an edge: $x_1$." in words


@pytest.mark.parametrize("wide", [2.0, 12.0])
def test_labels_stay_within_their_boxes(wide: float):
    """Also where someone else's axes are small."""
    figure, axes = plt.subplots(figsize=(wide, wide))
    drawn().draw(axes)
    figure.canvas.draw()
    _labels_fit(axes)


@pytest.mark.parametrize("letters", ["WORDS_IN_CAPITALS_", "mmmmwwww", "ill it", "a", "年龄与性别的关系"])
def test_labels_of_any_letters_stay_within_their_boxes(letters: str):
    picture = NetworkGraph("Network", (), tuple(letters * count for count in (1, 2, 5)), ())
    if letters.isascii():
        axes = picture.draw()
        axes.figure.canvas.draw()
        _labels_fit(axes)
    assert letters[:8] in picture.svg("letters")


def _labels_fit(axes: plt.Axes) -> None:
    boxes = [one.get_window_extent() for one in axes.patches if isinstance(one, FancyBboxPatch)]
    for text in axes.texts:
        label = text.get_window_extent()
        box = next(one for one in boxes if one.contains(*np.mean(label.get_points(), axis=0)))
        assert box.x0 <= label.x0 < label.x1 <= box.x1, text.get_text()
        assert box.y0 <= label.y0 < label.y1 <= box.y1, text.get_text()


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
