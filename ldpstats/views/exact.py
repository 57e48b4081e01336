"""Views that hold every group once: all pairs by the circle method, larger groups by flows, named ones by colours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from math import comb

import numpy as np

from ldpstats.numbers.arrays import BoolArray, IntArray
from ldpstats.views.arguments import Attribute, Group, View


def every_group(d: int, k: int) -> Iterable[Iterable[Sequence[int]]]:
    """Return the fewest views in which every group of k out of d attributes stands exactly once."""
    if k == 1:
        return [[(attribute,) for attribute in range(d)]]
    if d < 2 * k:  # no two groups are disjoint
        return [[group] for group in combinations(range(d), k)]
    return _circle(d) if k == 2 else _baranyai(d, k)


def _circle(d: int) -> list[list[tuple[int, int]]]:
    """Return the views of all pairs by the circle method for round-robin tournaments.

    All but the first attribute sit around a table: in every view one meets the first, the others face each other. The
    even numbers come upwards, then the odd ones downwards, so that the views are those printed for 5 and 6 attributes
    by Imran and Meo (2024). With an odd number the last seat is empty, and who would meet it rests.
    """
    seats = d + d % 2
    table = [*range(2, seats, 2), *range(seats - 1, 0, -2)]
    made = []
    for seat, met in enumerate(table):
        facing = [(table[seat - step], table[seat + step - seats + 1]) for step in range(1, seats // 2)]
        made.append([pair for pair in [(0, met), *facing] if max(pair) < d])
    return made


def _baranyai(d: int, k: int) -> list[list[list[int]]]:
    """Build the views of Baranyai's theorem by inserting one attribute after the other.

    Every view holds ⌊d/k⌋ partial groups, all empty at first (the last view may hold fewer). When `left` attributes
    are still to come, a partial group S stands in C(left, k - |S|) places. The next attribute joins
    C(left - 1, k - |S| - 1) of them, at most one in each view. Spread evenly, every view passes its open slots
    divided by `left` to its groups, which is a fractional solution; so a whole one exists (Baranyai 1975; this proof
    by flows is due to Brouwer and Schrijver 1979).
    """
    view = np.arange(comb(d, k)) // (d // k)
    members = np.zeros((len(view), k), dtype=np.int64)
    size, kind = np.zeros((2, len(view)), dtype=np.int64)  # of the partial groups; equal ones are of one kind
    for attribute in range(d):
        left = d - attribute
        rows = np.flatnonzero(size < k)
        _, first, kind[rows] = np.unique(kind[rows], return_index=True, return_inverse=True)
        joining = np.array([comb(left - 1, k - taken - 1) for taken in range(k)])[size[rows][first]]
        slots = np.bincount(view[rows], weights=k - size[rows])
        chosen = rows[_joined(view[rows], kind[rows], joining, slots == left)]
        members[chosen, size[chosen]] = attribute
        kind[chosen] += len(first)
        size[chosen] += 1
    return [part.tolist() for part in np.split(members, np.flatnonzero(np.diff(view)) + 1)]


def _joined(view: IntArray, kind: IntArray, joining: IntArray, forced: BoolArray) -> IntArray:
    """Choose the partial groups that the next attribute joins: so many of each kind, at most one in a view.

    They are the paths of a maximum flow: source, view, kind, sink. A forced view has as many open slots as attributes
    are left, and needs this one. All others get their flow through a hub that passes on no more than the forced views
    leave, so that a flow of full value uses every forced view.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    views, kinds, total = len(forced), len(joining), int(joining.sum())
    source, hub, sink = range(views + kinds, views + kinds + 3)
    start = np.concatenate([[source], np.where(forced, source, hub), view, np.arange(views, views + kinds)])
    end = np.concatenate([[hub], np.arange(views), views + kind, np.full(kinds, sink)])
    capacity = np.concatenate([[total - forced.sum()], np.ones(views + len(view), dtype=np.int64), joining])
    network = csr_array((capacity.astype(np.int32), (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network, source, sink)
    assert flow.flow_value == total  # Baranyai's theorem
    paths = flow.flow.tocoo()
    used = (paths.data > 0) & (paths.row < views)
    places, at = np.unique(view * kinds + kind, return_index=True)
    chosen: IntArray = at[np.searchsorted(places, paths.row[used].astype(np.int64) * kinds + paths.col[used] - views)]
    return chosen


def packed(groups: Sequence[Group]) -> list[View]:
    """Return few views of disjoint groups in which every given group stands once; the fewest for all of one size."""
    members = list(dict.fromkeys(chain.from_iterable(groups)))
    size = len(groups[0])
    if all(len(group) == size for group in groups) and len(groups) == comb(len(members), size):
        given = {frozenset(group): group for group in groups}
        made = every_group(len(members), size)
        return [[given[frozenset(members[index] for index in group)] for group in view] for view in made]
    return _coloured(groups)


def _coloured(groups: Sequence[Group]) -> list[View]:
    """Colour groups that share attributes differently, greedily and in several orders; return the best as views."""
    from networkx import Graph, greedy_color

    holders: dict[Attribute, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for name in group:
            holders[name].append(number)
    conflicts: Graph[int] = Graph()
    conflicts.add_nodes_from(range(len(groups)))
    for sharing in holders.values():
        conflicts.add_edges_from(combinations(sharing, 2))
    colourings = [
        greedy_color(conflicts, "DSATUR"),
        greedy_color(conflicts, "smallest_last"),
        greedy_color(conflicts, "largest_first"),
        greedy_color(conflicts, "connected_sequential_bfs"),
    ]
    best = min(colourings, key=lambda colours: max(colours.values()))
    made: dict[int, View] = defaultdict(list)
    for number, group in enumerate(groups):
        made[best[number]].append(group)
    return list(made.values())
