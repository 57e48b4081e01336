"""Relevant marginals: those that bear upon a table, added up to attributes whose junction tree is affordable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from ldpstats.answers.columns import listed
from ldpstats.consistency.marginals import Attributes, Marginal, refuse_untold, within
from ldpstats.consistency.maximum_entropy import MOST_CELLS, MOST_TERMS, affordable_tree, sizes_of
from ldpstats.errors import LdpstatsError, one_line


@dataclass(frozen=True, slots=True, eq=False)
class RelevantMarginals:
    """The marginals that bear upon a table; see `relevant_marginals`."""

    marginals: tuple[Marginal, ...]  # added up to the attributes that are kept
    attributes: Attributes
    left_out: Attributes  # connected with the table, but too many to be kept


def relevant_marginals(
    marginals: Iterable[Marginal], target: Iterable[str], most_cells: int = MOST_CELLS
) -> RelevantMarginals:
    """Choose the marginals that bear upon a table, and add them up to attributes that a junction tree can hold.

    The first of these that is small enough:

    1. Every attribute that is connected with the target, directly or through others. Nothing is lost.
    2. Without those that are in only one group, and so are linked to the rest at one place; again and again. Marginals
       that agree with each other lose nothing by that.
    3. The target and, where it is not connected in itself, the attributes on shortest paths between its parts.
       What is lost is dependence within the target through the others, as far as no group shows it.

    Whatever a group tells of the attributes that are kept is used. Marginals of the same attributes stay separate, each
    with its precision. `most_cells` limits the tables of all cliques together.
    """
    given, wanted = list(marginals), listed(target)
    groups, sizes = [marginal.attributes for marginal in given], sizes_of(given)
    refuse_untold(wanted, groups)
    connected = _connected(groups, wanted)
    for kept in _ever_fewer(groups, wanted, connected):
        parts = [tuple(name for name in kept if name in group) for group in groups]
        if affordable_tree([part for part in parts if part], {name: sizes[name] for name in kept}, most_cells):
            return RelevantMarginals(
                tuple(within(given, kept)), kept, tuple(name for name in connected if name not in kept)
            )
    raise LdpstatsError(
        f"a table of {one_line(wanted)}, for which any model is too large",
        f"cliques of at most {most_cells:,} cells, and at most {MOST_TERMS:,} terms of the log-linear model",
        "Ask for fewer attributes together.",
    )


def joining(groups: Sequence[Attributes], wanted: Attributes) -> Iterator[Attributes]:
    """Yield attributes that join the wanted ones, with them: all that are no ends, then those on shortest paths."""
    _, *fewer = _ever_fewer(groups, wanted, _connected(groups, wanted))
    yield from fewer


def _ever_fewer(groups: Sequence[Attributes], wanted: Attributes, connected: Attributes) -> Iterator[Attributes]:
    """Yield the attributes that may be kept, the best choice first."""
    yield connected
    for keep in (_without_ends, _joined_by_paths):
        kept = keep(groups, wanted)
        yield tuple(name for name in connected if name in kept)


def _connected(groups: Sequence[Attributes], wanted: Attributes) -> Attributes:
    """All attributes that are connected with the wanted ones, in the order in which groups name them."""
    reached = set(wanted)
    while linked := {name for group in groups if not reached.isdisjoint(group) for name in group} - reached:
        reached |= linked
    return tuple(name for name in dict.fromkeys(chain.from_iterable(groups)) if name in reached)


def _without_ends(groups: Sequence[Attributes], wanted: Attributes) -> set[str]:
    """Leave out attributes in one group only, and groups within others, until there are none (Graham 1979)."""
    left = {frozenset(group) for group in groups}
    while True:
        largest = max(map(len, left), default=0)
        left = {group for group in left if len(group) == largest or not any(group < other for other in left)}
        seen = Counter(chain.from_iterable(left))
        ends = {name for name, times in seen.items() if times == 1}.difference(wanted)
        if not ends:
            return set(seen)
        left = {group - ends for group in left}


def _joined_by_paths(groups: Sequence[Attributes], wanted: Attributes) -> set[str]:
    """Add the attributes on shortest paths between parts of the wanted ones, until all that can be is joined."""
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph(pair for group in groups for pair in combinations(group, 2))
    graph.add_nodes_from(wanted)
    kept = list(wanted)
    while True:
        paths = []
        for part in nx.connected_components(graph.subgraph(kept)):
            from_part = nx.multi_source_dijkstra_path(graph, [name for name in kept if name in part])
            paths += [from_part[name] for name in kept if name in from_part and name not in part]
        if not paths:
            return set(kept)
        kept += min(paths, key=lambda path: (len(path), path))[1:-1]
