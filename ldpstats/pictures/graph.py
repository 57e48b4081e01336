"""Networks: attributes in boxes, in layers; edges as wide as they are strong, arrows where a direction is known."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import INK, SERIES
from ldpstats.pictures.drawing import Axes, Picture, legend_below, literal

if TYPE_CHECKING:
    from networkx import DiGraph

_LETTERS = 16
_LINES = 3
_FONT = 9.0
_LINE = 1.2 * _FONT / 72
_LETTERS_PER_INCH = 12
_SHORT = 38
_BELOW = 6.0
_WIDE = "MWmw@%&—…"
_INSIDE = 0.07
_LEAST, _LARGEST = 0.1, 16.0
_OF_AXES = 0.9
_NARROWEST, _MARGIN = 6.0, 0.1
_THIN, _THICK = 0.7, 4.5
_LIGHTEST = 0.35
_MIDDLE = 1.6
_DASHED = (0, (3, 1.6))
_ALONE = "all edges"


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of a network graph."""

    first: str  # upper end; an arrow leads from it
    second: str
    strength: float = math.nan  # shown as width; nan if unknown
    arrow: bool = False  # whether its direction is known
    undecided: bool = False  # whether it is kept for want of power
    confidence: float = math.nan  # from 0 to 1; nan if unknown
    kind: str = _ALONE  # what edges of its colour are, in words


@dataclass(frozen=True, slots=True)
class NetworkGraph(Picture):
    """A network: nodes in rows, with edges between them."""

    nodes: tuple[str, ...]
    edges: tuple[DrawnEdge, ...]  # without cycles, each from `first` to `second`
    strength: str = "strength {}"  # what the width shows; its number takes the place of the braces
    arrows: str = "direction known"  # what an edge with an arrow means
    plain: str = "no direction known"  # what one without means

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches, with the legend."""
        (wide, high), handles = self._places().size, len(list(self._legend()))
        scale = min(1.0, _LARGEST / max(wide, high, _LEAST))
        across = scale * max(_NARROWEST, wide) + 3 * _MARGIN
        said = sum(math.ceil(len(words) / (_LETTERS_PER_INCH * across)) for words in (self.title, *self.notes))
        return across, scale * high + 0.4 + 0.19 * (math.ceil(handles / self._columns()) + said)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per edge."""
        names = ["first", "second", "strength", "arrow", "undecided", "confidence", "kind"]
        return pd.DataFrame([[getattr(edge, name) for name in names] for edge in self.edges], columns=names)

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        joined = {name for edge in self.edges for name in (edge.first, edge.second)}
        alone = [name for name in self.nodes if name not in joined]
        edges = "; ".join(map(self._in_words, self.edges))
        return " ".join(
            [
                f"{self.title}: {len(self.nodes)} attributes, {len(self.edges)} edge{'s' * (len(self.edges) != 1)}.",
                *([f"{edges}."] if edges else []),
                *([f"Without an edge: {', '.join(alone)}."] if alone and self.edges else []),
            ]
        )

    def _in_words(self, edge: DrawnEdge) -> str:
        told = [
            *([] if edge.kind == _ALONE else [edge.kind]),
            *([] if math.isnan(edge.strength) else [self.strength.format(f"{edge.strength:.3g}")]),
            *(["undecided"] if edge.undecided else []),
            *([] if math.isnan(edge.confidence) else [f"confidence {edge.confidence:.2f}"]),
        ]
        words = f" ({', '.join(told)})" if told else ""
        return f"{edge.first} {'→' if edge.arrow else '—'} {edge.second}{words}"

    def _places(self) -> Layered:
        boxes = tuple(sorted((name, _box(name)) for name in self.nodes))
        return layered(boxes, tuple(sorted((edge.first, edge.second) for edge in self.edges)))

    def _draw_on(self, ax: Axes) -> None:
        places, scale = self._places(), self._scale(ax)
        wide, high = places.size
        beside = max(0.0, _NARROWEST - wide) / 2 + _MARGIN
        ax.set_axis_off()
        ax.set_aspect("equal", anchor="N")
        ax.set_xlim(-beside, wide + beside)
        ax.set_ylim(-_MARGIN, high + _MARGIN)
        for edge, points in zip(self.edges, self._lines(places), strict=True):
            self._draw_edge(ax, edge, points, scale)
        for name in self.nodes:
            _draw_node(ax, name, places.centres[name], scale)
        handles = list(self._legend())
        if handles:
            legend_below(ax, handles, self._columns(), below=_BELOW)

    def _columns(self) -> int:
        """Return the number of columns of the legend: two where its words are short."""
        return 2 if all(len(str(entry.get_label())) <= _SHORT for entry in self._legend()) else 1

    def _scale(self, ax: Axes) -> float:
        """Return the factor by which letters shrink, so that they stay within their boxes."""
        figure, (wide, high) = ax.get_figure(root=True), self._places().size
        shown = self.size if figure is None else tuple(figure.get_size_inches())
        if np.allclose(shown, self.size):
            return min(1.0, _LARGEST / max(wide, high, _LEAST))
        box = ax.get_position()
        room = box.width * shown[0] / max(wide, _NARROWEST), box.height * shown[1] / max(high, _LEAST)
        return float(min(1.0, _OF_AXES * min(room)))

    def _lines(self, places: Layered) -> Iterator[list[Point]]:
        """Yield the points that every edge passes through; where several meet at a box they end beside each other."""
        ways = {(edge.first, edge.second): list(places.ways[edge.first, edge.second]) for edge in self.edges}
        for name in self.nodes:
            away = sorted((way[2][0], key) for key, way in ways.items() if key[0] == name)
            into = sorted((way[-3][0], key) for key, way in ways.items() if key[1] == name)
            (wide, high), (x, y) = _box(name), places.centres[name]
            for keys, (last, second), border in ((away, (0, 1), y - high / 2), (into, (-1, -2), y + high / 2)):
                for (_, key), port in zip(keys, _ports(wide, len(keys)), strict=True):
                    ways[key][last], ways[key][second] = (x + port, border), (x + port, ways[key][second][1])
        for edge in self.edges:
            way = ways[edge.first, edge.second]
            yield [way[0], *(there for here, there in pairwise(way) if not np.allclose(here, there))]

    def _draw_edge(self, ax: Axes, edge: DrawnEdge, points: Sequence[Point], scale: float) -> None:
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        width = self._width(edge)
        look: Any = {
            "color": self._colour(edge.kind),
            "alpha": 1.0 if math.isnan(edge.confidence) else _LIGHTEST + (1 - _LIGHTEST) * edge.confidence,
            "zorder": 1,
        }
        *before, (tip, top) = points
        if edge.arrow:
            half, high = (1.6 + 0.75 * width) / 72, (4.5 + 1.2 * width) / 72
            corners = [(tip, top), (tip - half, top + high), (tip + half, top + high)]
            ax.add_patch(Polygon(corners, linewidth=0, **look))
            top += high
        codes, vertices = [Path.MOVETO], [points[0]]
        for (x, y), (right, under) in pairwise([*before, (tip, top)]):
            middle = (y + under) / 2
            vertices += [(x, middle), (right, middle), (right, under)]
            codes += [Path.CURVE4] * 3
        style = _DASHED if edge.undecided else "-"
        line = PathPatch(Path(vertices, codes), fill=False, linewidth=width * scale, linestyle=style, **look)
        line.set_capstyle("butt")
        ax.add_patch(line)

    def _width(self, edge: DrawnEdge) -> float:
        """Return the width of an edge; its square is as the strength, as information is as the square of V."""
        strongest = max((other.strength for other in self.edges if other.strength > 0), default=0.0)
        if math.isnan(edge.strength) or not strongest:
            return _MIDDLE
        return _THIN + (_THICK - _THIN) * math.sqrt(max(edge.strength, 0.0) / strongest)

    def _colour(self, kind: str) -> str:
        kinds = list(dict.fromkeys(edge.kind for edge in self.edges))
        return SERIES[kinds.index(kind) % len(SERIES)]

    def _legend(self) -> Iterator[Any]:
        """Yield the entries of the legend: only what the graph has."""
        from matplotlib.lines import Line2D

        kinds = list(dict.fromkeys(edge.kind for edge in self.edges))
        for kind in kinds if kinds != [_ALONE] else ():
            yield Line2D([], [], color=self._colour(kind), linewidth=2.5, label=kind)
        known = sorted(edge.strength for edge in self.edges if not math.isnan(edge.strength))
        for words, strength in {f"{value:.2g}": value for value in [*known[-1:], *known[:1]]}.items():
            width = self._width(DrawnEdge("", "", strength))
            yield Line2D([], [], color=INK, linewidth=width, label=self.strength.format(words))
        arrows = {edge.arrow for edge in self.edges}
        if True in arrows:
            yield Line2D([], [], color=INK, linewidth=0, marker=r"$\rightarrow$", markersize=12, label=self.arrows)
        if False in arrows:
            yield Line2D([], [], color=INK, label=f"no arrow: {self.plain}")
        if any(edge.undecided for edge in self.edges):
            yield Line2D([], [], color=INK, linestyle=_DASHED, label="dashed: undecided, kept for want of power")
        if any(edge.confidence < 1 for edge in self.edges):
            label = "paler: in fewer networks learned from redrawn counts"
            yield Line2D([], [], color=INK, alpha=_LIGHTEST, linewidth=2.5, label=label)


def _box(name: str) -> tuple[float, float]:
    """Return the width and height of the box of a name, in inches."""
    lines = _lines_of(name)
    return max(map(_wide, lines)) + 2 * _INSIDE, len(lines) * _LINE + 2 * _INSIDE


def _lines_of(name: str) -> list[str]:
    lines = wrap(name, _LETTERS, break_long_words=True) or [""]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"{lines[_LINES - 1][: _LETTERS - 1]}…"]


def _wide(line: str) -> float:
    """Return about how wide a line is, in inches, in fonts without serifs."""
    wide = [letter in _WIDE or unicodedata.east_asian_width(letter) in "WF" for letter in line]
    letters = (1.0 if full else 0.76 if letter.isupper() else 0.64 for letter, full in zip(line, wide, strict=True))
    return max(sum(letters), 2.0) * _FONT / 72


def _ports(wide: float, many: int) -> list[float]:
    """Return where edges meet the border of a box, relative to its middle."""
    room = min(0.16, 0.8 * wide / max(many, 1))
    return [room * (index - (many - 1) / 2) for index in range(many)]


def _draw_node(ax: Axes, name: str, centre: Point, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    (wide, high), (x, y) = _box(name), centre
    shape = f"round,pad=0,rounding_size={min(wide, high) / 3}"
    corner = (x - wide / 2, y - high / 2)
    ax.add_patch(FancyBboxPatch(corner, wide, high, boxstyle=shape, facecolor="none", edgecolor=INK, linewidth=0.8))
    words = "\n".join(map(literal, _lines_of(name)))
    ax.text(x, y, words, ha="center", va="center", fontsize=_FONT * scale, linespacing=1.1)


Edge = tuple[str, str]
Size = tuple[float, float]
Point = tuple[float, float]
# a node, or where an edge passes through a row: the edge and the row
_Stop = str | tuple[Edge, int]

_BESIDE, _BETWEEN, _PASSING = 0.22, 0.5, 0.1
_SWEEPS, _SETTLING = 24, 60
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


@lru_cache(maxsize=32)
def layered(boxes: tuple[tuple[str, Size], ...], edges: tuple[Edge, ...]) -> Layered:
    """Lay out a directed acyclic graph in layers, each node above those that it leads to.

    Method of Sugiyama, Tagawa & Toda (1981): rows such that edges are short, an order in every row with few crossings,
    and places near those of neighbours. The result does not depend on the order of nodes and edges. Components are
    placed beside each other, in a new line where one is full, single nodes last. `boxes` are nodes with the width and
    height of their boxes, in inches.
    """
    from networkx import DiGraph, weakly_connected_components

    sizes = dict(sorted(boxes))
    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from(sizes)
    graph.add_edges_from(sorted(edges))
    names = sorted(map(sorted, weakly_connected_components(graph)), key=lambda names: (-len(names), names))
    parts = [_part(graph.subgraph(own).copy(), sizes) for own in names]
    page = max([_PAGE, *(part.size[0] for part in parts)])
    corners, left, top, high = [], 0.0, 0.0, 0.0
    for part in parts:
        if left and left + part.size[0] > page:
            left, top, high = 0.0, top + high + _BETWEEN, 0.0
        corners.append((left, top))
        left, high = left + part.size[0] + 2 * _BESIDE, max(high, part.size[1])
    bottom = top + high
    moves = [(x, bottom - y - part.size[1]) for part, (x, y) in zip(parts, corners, strict=True)]
    return Layered(
        {
            name: (x + right, y + up)
            for part, (right, up) in zip(parts, moves, strict=True)
            for name, (x, y) in part.centres.items()
        },
        {
            edge: tuple((x + right, y + up) for x, y in way)
            for part, (right, up) in zip(parts, moves, strict=True)
            for edge, way in part.ways.items()
        },
        (max((x + part.size[0] for part, (x, _) in zip(parts, corners, strict=True)), default=0.0), bottom),
    )


def outward(nodes: Iterable[str], edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Direct undirected edges away from the best connected node of every component."""
    from networkx import Graph, bfs_tree, connected_components

    graph: Graph[str] = Graph()
    graph.add_nodes_from(sorted(nodes))
    graph.add_edges_from(sorted((min(edge), max(edge)) for edge in edges))
    rank: dict[str, int] = {}
    for names in sorted(connected_components(graph), key=min):
        root = min(names, key=lambda name: (-graph.degree(name), name))
        for name in bfs_tree(graph, root, sort_neighbors=sorted):
            rank[name] = len(rank)
    directed = (sorted(edge, key=rank.__getitem__) for edge in graph.edges)
    return tuple(sorted((parent, child) for parent, child in directed))


def _part(graph: DiGraph[str], sizes: Mapping[str, Size]) -> Layered:
    """Lay out one component."""
    row = _rows(graph, {name: sizes[name][0] for name in graph})
    paths: dict[Edge, list[_Stop]] = {
        (parent, child): [parent, *(((parent, child), passed) for passed in range(row[parent] + 1, row[child])), child]
        for parent, child in sorted(graph.edges)
    }
    # where an edge passes through stands like the node that it leads to
    stops = sorted(
        {*row, *(stop for path in paths.values() for stop in path)},
        key=lambda stop: (stop, "") if isinstance(stop, str) else stop[0][::-1],
    )
    level = {stop: row[stop] if isinstance(stop, str) else stop[1] for stop in stops}
    rows = [[stop for stop in stops if level[stop] == number] for number in range(1 + max(row.values()))]
    widths = {stop: sizes[stop][0] if isinstance(stop, str) else _PASSING for stop in stops}
    across = _placed(rows, [pair for path in paths.values() for pair in pairwise(path)], widths)
    left = min(across[stop] - widths[stop] / 2 for stop in stops)
    right = max(across[stop] + widths[stop] / 2 for stop in stops)
    halves = [max(sizes[stop][1] for stop in own if isinstance(stop, str)) / 2 for own in rows]
    high = 2 * sum(halves) + _BETWEEN * (len(rows) - 1)
    middles = high - np.cumsum([halves[0], *(upper + lower + _BETWEEN for upper, lower in pairwise(halves))])
    points = {stop: (across[stop] - left, float(middles[level[stop]])) for stop in stops}
    ways = {}
    for edge, path in paths.items():
        spans = [(*points[stop], halves[level[stop]]) for stop in path]
        through = [point for x, y, half in spans for point in ((x, y + half), (x, y - half))]
        ways[edge] = (points[edge[0]], *through[1:-1], points[edge[1]])
    return Layered({name: points[name] for name in sorted(graph)}, ways, (right - left, high))


def _rows(graph: DiGraph[str], widths: Mapping[str, float]) -> dict[str, int]:
    """Assign every node a row below its parents, so that all edges together are shortest.

    Childless nodes of rows that are wider than a page take several.
    """
    from networkx import incidence_matrix
    from scipy.optimize import linprog

    names = sorted(graph)
    # of each edge: 1 where it ends, -1 where it begins
    down = incidence_matrix(graph, names, oriented=True).T.toarray()
    # a vertex of this polyhedron is whole
    solution = linprog(down.sum(axis=0), -down, -np.ones(graph.size()), bounds=(0, len(names)), method="highs-ds")
    row = dict(zip(names, np.rint(np.asarray(solution.x)).astype(int).tolist(), strict=True))
    for level in range(1 + max(row.values())):
        own = [name for name in names if row[name] == level]
        lines = math.ceil(sum(widths[name] + _BESIDE for name in own) / _PAGE)
        ends = [name for name in own if not graph.out_degree(name)]
        row.update({name: level + number % lines for number, name in enumerate(ends)})
    used = sorted({*row.values()})
    return {name: used.index(level) for name, level in row.items()}


def _placed(
    rows: list[list[_Stop]], joined: Sequence[tuple[_Stop, _Stop]], widths: Mapping[_Stop, float]
) -> dict[_Stop, float]:
    """Order every row with few crossings, and place its stops near their neighbours, as far as their boxes let them.

    Rows take turns, down and up. First each is sorted by the mean place of neighbours in the row before (barycentres),
    and the order with the fewest crossings is kept. Then places are least squares in this order, with gaps, which is
    isotonic regression of what is left after the gaps.
    """
    from scipy.optimize import isotonic_regression

    stops = [stop for own in rows for stop in own]
    number = {stop: index for index, stop in enumerate(stops)}
    level = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    upper, lower = np.array([[number[start], number[end]] for start, end in joined], dtype=int).reshape(-1, 2).T
    passing = np.array([isinstance(stop, tuple) for stop in stops], dtype=float)
    wide = np.array([widths[stop] for stop in stops])
    above = np.zeros((len(stops), len(stops)))
    above[lower, upper] = _STRAIGHT ** (passing[lower] + passing[upper])
    order = best = [np.flatnonzero(level == row) for row in range(len(rows))]
    least, positions = math.inf, np.empty(len(stops))
    for sweep in range(_SWEEPS):
        for own in order:
            positions[own] = (np.arange(own.size) + 0.5) / own.size
        first, second = positions[upper], positions[lower]
        crossed = (first[:, None] < first) & (second[:, None] > second) & (level[upper][:, None] == level[upper])
        if crossed.sum() < least:
            best, least = order, crossed.sum()
        near, order = ((above if sweep % 2 == 0 else above.T) > 0, list(order))
        for row in range(len(rows))[:: -1 if sweep % 2 else 1]:
            own = order[row]
            neighbours = near[own].sum(axis=1)
            mean = np.where(neighbours, near[own] @ positions / np.maximum(neighbours, 1), positions[own])
            order[row] = own[np.argsort(mean, kind="stable")]
            positions[order[row]] = (np.arange(own.size) + 0.5) / own.size
    beside = wide + _BESIDE * (1 - passing)
    gaps = [np.cumsum([0.0, *(beside[own][:-1] + beside[own][1:]) / 2]) for own in best]
    for own, gap in zip(best, gaps, strict=True):
        positions[own] = gap - gap[-1] / 2
    joint = above + above.T + np.diag(above.sum(axis=0) + above.sum(axis=1) == 0)
    weight = joint.sum(axis=1)
    for sweep in range(_SETTLING):
        for own, gap in list(zip(best, gaps, strict=True))[:: -1 if sweep % 2 else 1]:
            wished = joint[own] @ positions / weight[own]
            positions[own] = isotonic_regression(wished - gap, weights=weight[own]).x + gap
    return dict(zip(stops, positions.tolist(), strict=True))
