"""Layered places of a graph's nodes: arrows lead down, boxes never overlap, and lines pass beside boxes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from networkx import DiGraph

Edge = tuple[str, str]
Size = tuple[float, float]
Point = tuple[float, float]
# a node, or where an edge passes through a row: the edge and the row
_Stop = str | tuple[Edge, int]
_Order = list[list[_Stop]]
_Near = dict[_Stop, list[_Stop]]

_BESIDE = 0.22
_BELOW = 0.5
_PASSING = 0.1
_SWEEPS = 24
_SETTLING = 60
_STRAIGHT = 4.0
"""How much more than others lines are kept straight where they pass through rows."""
_PAGE = 9.0
"""How wide a row should be, in inches: of parts that nothing joins, and of nodes that lead nowhere."""


@dataclass(frozen=True, slots=True)
class Layered:
    """A layered layout of a directed graph."""

    centres: Mapping[str, Point]  # of the nodes' boxes
    # points from the centre of the first node down to the second; straight down within rows, curves are between
    ways: Mapping[Edge, tuple[Point, ...]]
    size: Size  # width and height; both start at 0

    def moved(self, right: float, up: float) -> Layered:
        """Return the layout shifted."""
        centres = {name: (x + right, y + up) for name, (x, y) in self.centres.items()}
        ways = {edge: tuple((x + right, y + up) for x, y in way) for edge, way in self.ways.items()}
        return Layered(centres, ways, self.size)


@lru_cache(maxsize=32)
def layered(boxes: tuple[tuple[str, Size], ...], edges: tuple[Edge, ...]) -> Layered:
    """Lay out a directed acyclic graph in layers, each node above those that it leads to.

    Method of Sugiyama, Tagawa & Toda (1981): rows such that edges are short, an order in every row with few crossings,
    and places near those of neighbours. The result does not depend on the order of nodes and edges. Components are
    placed beside each other, single nodes last. `boxes` are nodes with the width and height of their boxes, in inches.
    """
    from networkx import DiGraph, weakly_connected_components

    sizes = dict(sorted(boxes))
    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from(sizes)
    graph.add_edges_from(sorted(edges))
    parts = sorted(map(sorted, weakly_connected_components(graph)), key=lambda names: (-len(names), names))
    return _packed([_part(graph.subgraph(names).copy(), sizes) for names in parts])


def outward(nodes: Iterable[str], edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Direct undirected edges away from the best connected node of every component."""
    from networkx import Graph, bfs_tree, connected_components

    graph: Graph[str] = Graph()
    graph.add_nodes_from(sorted(nodes))
    graph.add_edges_from(sorted((min(edge), max(edge)) for edge in edges))
    place: dict[str, int] = {}
    for names in sorted(connected_components(graph), key=min):
        root = min(names, key=lambda name: (-graph.degree(name), name))
        for name in bfs_tree(graph, root, sort_neighbors=sorted):
            place[name] = len(place)
    directed = (sorted(edge, key=place.__getitem__) for edge in graph.edges)
    return tuple(sorted((one, other) for one, other in directed))


def _part(graph: DiGraph[str], sizes: Mapping[str, Size]) -> Layered:
    """Lay out one component."""
    row = _narrowed(_rows(graph), graph, {name: size[0] for name, size in sizes.items()})
    paths = {(one, other): _path((one, other), row) for one, other in sorted(graph.edges)}
    joined = [pair for path in paths.values() for pair in pairwise(path)]
    order = _ordered(row, paths)
    widths = {stop: sizes[stop][0] if isinstance(stop, str) else _PASSING for own in order for stop in own}
    across = _settled(order, joined, widths)
    left = min(across[stop] - widths[stop] / 2 for stop in across)
    right = max(across[stop] + widths[stop] / 2 for stop in across)
    halves = [max(sizes[stop][1] for stop in own if isinstance(stop, str)) / 2 for own in order]
    high = 2 * sum(halves) + _BELOW * (len(order) - 1)
    middles = high - np.cumsum([halves[0], *(one + other + _BELOW for one, other in pairwise(halves))])
    spans = {
        stop: (across[stop] - left, float(middle), half)
        for own, middle, half in zip(order, middles, halves, strict=True)
        for stop in own
    }
    return Layered(
        {name: spans[name][:2] for name in sorted(graph)},
        {edge: _way([spans[stop] for stop in path]) for edge, path in paths.items()},
        (right - left, high),
    )


def _way(spans: Sequence[tuple[float, float, float]]) -> tuple[Point, ...]:
    """Return the points of an edge, given where the middle of each stop is, and half the height of its row."""
    through = [point for x, y, half in spans for point in ((x, y + half), (x, y - half))]
    return (spans[0][:2], *through[1:-1], spans[-1][:2])


def _rows(graph: DiGraph[str]) -> dict[str, int]:
    """Assign every node a row below its parents, so that the total length of edges is least."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    names, edges = sorted(graph), sorted(graph.edges)
    if not edges:
        return dict.fromkeys(names, 0)
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[one], place[other]] for one, other in edges])
    number = np.arange(len(edges))
    signs = np.repeat([1.0, -1.0], len(edges))
    above = coo_array((signs, (np.tile(number, 2), ends.T.ravel())), shape=(len(edges), len(names))).toarray()
    cost = -above.sum(axis=0)
    # a vertex of this polyhedron is whole
    found = linprog(cost, above, np.full(len(edges), -1.0), bounds=(0, len(names)), method="highs-ds")
    rows = np.rint(np.asarray(found.x)).astype(int)
    return dict(zip(names, (rows - rows.min()).tolist(), strict=True))


def _narrowed(row: Mapping[str, int], graph: DiGraph[str], widths: Mapping[str, float]) -> dict[str, int]:
    """Move childless nodes down from rows that are wider than a page; those that stay are spread evenly."""
    found, place = dict(row), 0
    while place <= max(found.values()):
        own = [name for name in sorted(found) if found[name] == place]
        ends = [name for name in own if not graph.out_degree(name)]
        excess = sum(widths[name] + _BESIDE for name in own) - _PAGE
        if excess > 0 and len(ends) > 1:
            mean = sum(widths[name] + _BESIDE for name in ends) / len(ends)
            staying = max(1, len(ends) - math.ceil(excess / mean))
            kept = {ends[int((2 * number + 1) * len(ends) / (2 * staying))] for number in range(staying)}
            found.update({name: place + 1 for name in ends if name not in kept})
        place += 1
    return found


def _path(edge: Edge, row: Mapping[str, int]) -> list[_Stop]:
    between = range(row[edge[0]] + 1, row[edge[1]])
    return [edge[0], *((edge, place) for place in between), edge[1]]


def _ordered(row: Mapping[str, int], paths: Mapping[Edge, Sequence[_Stop]]) -> _Order:
    """Order rows to reduce crossings: sort by the mean place of neighbours (barycentres), down and up in turn."""
    stops = dict.fromkeys([*row, *(stop for path in paths.values() for stop in path)])
    # where an edge passes through stands like the node that it leads to
    ranked = sorted(stops, key=lambda stop: (stop, "") if isinstance(stop, str) else (stop[0][1], stop[0][0]))
    own = {stop: row[stop] if isinstance(stop, str) else stop[1] for stop in ranked}
    best: _Order = [[stop for stop in ranked if own[stop] == place] for place in range(1 + max(row.values()))]
    order, above, below = best, _neighbours(stops, paths, -1), _neighbours(stops, paths, 1)
    least = _crossings(order, below)
    for sweep in range(_SWEEPS):
        order = _swapped(_swept(order, below, -1) if sweep % 2 else _swept(order, above, 1), above, below)
        crossings = _crossings(order, below)
        if crossings < least:
            best, least = order, crossings
    return best


def _neighbours(stops: Iterable[_Stop], paths: Mapping[Edge, Sequence[_Stop]], step: int) -> _Near:
    """Return the stops that edges lead to in the next row, down (1) or up (-1)."""
    near: _Near = {stop: [] for stop in stops}
    for path in paths.values():
        for one, other in pairwise(path[::step]):
            near[one].append(other)
    return near


def _swept(order: _Order, near: _Near, step: int) -> _Order:
    """Sort the rows one after another by the mean places of neighbours in the row before, down (1) or up (-1)."""
    found = order[::step]
    for number in range(1, len(found)):
        found[number] = _by_neighbours(found[number], found[number - 1], near)
    return found[::step]


def _by_neighbours(own: list[_Stop], beside: list[_Stop], near: _Near) -> list[_Stop]:
    place = {stop: number for number, stop in enumerate(beside)}
    mean = {
        stop: sum(place[one] for one in near[stop]) / len(near[stop]) if near[stop] else number * len(beside) / len(own)
        for number, stop in enumerate(own)
    }
    return sorted(own, key=mean.__getitem__)


def _swapped(order: _Order, *sides: _Near) -> _Order:
    """Swap adjacent stops of a row wherever that saves crossings."""
    swapped = [list(own) for own in order]
    for place, own in enumerate(swapped):
        beside = {
            stop: number
            for other in (place - 1, place + 1)
            if 0 <= other < len(order)
            for number, stop in enumerate(swapped[other])
        }
        for first in range(len(own) - 1):
            one, other = own[first], own[first + 1]
            counts = [
                sum(beside[here] > beside[there] for side in sides for here in side[one] for there in side[other]),
                sum(beside[here] < beside[there] for side in sides for here in side[one] for there in side[other]),
            ]
            if counts[1] < counts[0]:
                own[first], own[first + 1] = other, one
    return swapped


def _crossings(order: _Order, below: _Near) -> int:
    total = 0
    for own, under in pairwise(order):
        place = {stop: number for number, stop in enumerate(under)}
        ends = np.array([[number, place[end]] for number, stop in enumerate(own) for end in below[stop]]).reshape(-1, 2)
        starts, stops = ends.T
        total += int(((starts[:, None] < starts) & (stops[:, None] > stops)).sum())
    return total


def _settled(order: _Order, joined: Sequence[tuple[_Stop, _Stop]], widths: Mapping[_Stop, float]) -> dict[_Stop, float]:
    """Place every stop of a row near its neighbours, as far as the boxes beside it let it.

    Row by row: least squares in a given order, with gaps, which is isotonic regression of what is left after the gaps.
    """
    from scipy.optimize import isotonic_regression

    near: dict[_Stop, list[tuple[_Stop, float]]] = {stop: [] for own in order for stop in own}
    for one, other in joined:
        weight = _STRAIGHT ** sum(isinstance(stop, tuple) for stop in (one, other))
        near[one].append((other, weight))
        near[other].append((one, weight))
    offsets = [_gaps(own, widths) for own in order]
    across = {
        stop: float(x)
        for own, gaps in zip(order, offsets, strict=True)
        for stop, x in zip(own, gaps - gaps[-1] / 2, strict=True)
    }
    for sweep in range(_SETTLING):
        for own, gaps in list(zip(order, offsets, strict=True))[:: -1 if sweep % 2 else 1]:
            weights = np.array([sum(weight for _, weight in near[stop]) or 1e-3 for stop in own])
            wished = [
                sum(weight * across[one] for one, weight in near[stop]) / sum(weight for _, weight in near[stop])
                if near[stop]
                else across[stop]
                for stop in own
            ]
            found = isotonic_regression(np.array(wished) - gaps, weights=weights).x + gaps
            across.update(zip(own, found.tolist(), strict=True))
    return across


def _gaps(own: Sequence[_Stop], widths: Mapping[_Stop, float]) -> NDArray[np.float64]:
    """Return the least places of stops beside each other, the first at 0."""
    steps = [
        (widths[one] + widths[other]) / 2 + _BESIDE * sum(isinstance(stop, str) for stop in (one, other)) / 2
        for one, other in pairwise(own)
    ]
    return np.cumsum([0.0, *steps])


def _packed(parts: Sequence[Layered]) -> Layered:
    """Put components beside each other, in a new row where one is full."""
    width = max([_PAGE, *(part.size[0] for part in parts)])
    shelves: list[list[Layered]] = []
    room = 0.0
    for part in parts:
        if not shelves or part.size[0] > room:
            shelves.append([])
            room = width
        shelves[-1].append(part)
        room -= part.size[0] + 2 * _BESIDE
    heights = [max(part.size[1] for part in shelf) for shelf in shelves]
    high, top = sum(heights) + _BELOW * max(len(heights) - 1, 0), 0.0
    centres, ways, right = dict[str, Point](), dict[Edge, tuple[Point, ...]](), 0.0
    for shelf, height in zip(shelves, heights, strict=True):
        left = 0.0
        for part in shelf:
            there = part.moved(left, high - top - part.size[1])
            centres.update(there.centres)
            ways.update(there.ways)
            left += part.size[0] + 2 * _BESIDE
        right, top = max(right, left - 2 * _BESIDE), top + height + _BELOW
    return Layered(centres, ways, (right, high))
