"""Views of the groups that an analyst names: a colouring of the graph that joins groups with a shared attribute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, combinations
from math import comb

from ldpstats.views.arguments import Attribute, Group, View
from ldpstats.views.exact import every_group


def packed(groups: Sequence[Group]) -> list[View]:
    """Return few views of disjoint groups in which every given group stands once; the fewest for all of one size."""
    members = list(dict.fromkeys(chain.from_iterable(groups)))
    size = len(groups[0])
    if all(len(group) == size for group in groups) and len(groups) == comb(len(members), size):
        given = {frozenset(group): group for group in groups}
        made = every_group(len(members), size)
        return [[given[frozenset(members[place] for place in group)] for group in view] for view in made]
    return _coloured(groups)


def _coloured(groups: Sequence[Group]) -> list[View]:
    """Colour groups that share attributes differently, greedily and in several orders; return the best as views."""
    from networkx import Graph, greedy_color

    holders: dict[Attribute, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        for name in group:
            holders[name].append(place)
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
    for place, group in enumerate(groups):
        made[best[place]].append(group)
    return list(made.values())
