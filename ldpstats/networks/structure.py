"""Structures: what a search for the edges of a Bayesian network is given, and what it finds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line, shortened
from ldpstats.saving.registered import Share
from ldpstats.tables import Table, TableSet
from ldpstats.tables.pooled import pooled_table

if TYPE_CHECKING:
    from networkx import DiGraph

Edge: TypeAlias = tuple[str, str]
"""Two attributes; as an edge without direction, in the order of the domain."""


def graph_of(domain: Domain, edges: Iterable[Edge]) -> DiGraph[str]:
    """Return the graph with these edges; every attribute knows its number of `categories`."""
    from networkx import DiGraph

    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from((name, {"categories": size}) for name, size in zip(domain.names, domain.shape, strict=True))
    graph.add_edges_from(edges)
    return graph


@dataclass(frozen=True, slots=True)
class EdgeConstraints:
    """What is known about the edges before anyone is asked."""

    required: tuple[Edge, ...] = ()  # pairs (from, to)
    forbidden: tuple[Edge, ...] = ()  # pairs (from, to); in both directions there is no edge at all
    order: tuple[str, ...] = ()  # no attribute depends on a later one; empty, or all of them

    def requires(self, first: str, second: str) -> bool:
        """Say whether there must be an edge between two attributes, whatever its direction."""
        return (first, second) in self.required or (second, first) in self.required

    def allows_direction(self, start: str, end: str) -> bool:
        """Say whether an edge may lead from one attribute to another."""
        backward = bool(self.order) and self.order.index(start) > self.order.index(end)
        return not backward and (start, end) not in self.forbidden and (end, start) not in self.required

    def leaves_one_direction(self, first: str, second: str) -> bool:
        """Say whether an edge may lead from one attribute to another, but not back."""
        return self.allows_direction(first, second) != self.allows_direction(second, first)

    def allows(self, first: str, second: str) -> bool:
        """Say whether there may be an edge between two attributes, whatever its direction."""
        return self.allows_direction(first, second) or self.allows_direction(second, first)


@dataclass(frozen=True, slots=True)
class Separation:
    """Why two attributes are not joined: the test of their independence given others."""

    pair: Edge
    given: tuple[str, ...]  # none for the plain test
    pvalue: Share
    power: Share  # at its level, against the dependence worth an edge
    # by "power" that dependence might well have been missed, so that nothing is known
    decided_by: Literal["evidence", "power"]


@dataclass(frozen=True, slots=True)
class Structure:
    """The edges that a search has found."""

    edges: tuple[Edge, ...]  # without direction, in the order of the domain
    directed: tuple[Edge, ...] = ()  # (from, to), where the search itself decides
    separations: tuple[Separation, ...] = ()  # tests by which other pairs are left out, if any
    # edges that a test did not show to be there, and that stay because it lacked power
    undecided: tuple[Edge, ...] = ()


NamedEdges: TypeAlias = Iterable[tuple[str, str]]


def checked_constraints(
    domain: Domain, required: NamedEdges = (), forbidden: NamedEdges = (), order: Iterable[str] | None = None
) -> EdgeConstraints:
    """Return constraints that some network can meet; refuse others, with the reason."""
    ordered = _checked_order(domain, order)
    needed, excluded = _checked_edges(domain, required, "required"), _checked_edges(domain, forbidden, "forbidden")
    if both := [edge for edge in needed if edge in excluded]:
        raise LdpstatsError(
            f"{_arrows(both)} as required and as forbidden", "edges that are one of the two, or neither"
        )
    refuse_directed_cycles(graph_of(domain, needed), "required edges in a circle")
    constraints = EdgeConstraints(needed, excluded, ordered)
    if backward := [edge for edge in needed if not constraints.allows_direction(*edge)]:
        raise LdpstatsError(
            f"{_arrows(backward)} as required, against the order {one_line(ordered)}",
            "required edges from earlier attributes to later ones",
        )
    return constraints


def _checked_order(domain: Domain, order: Iterable[str] | None) -> tuple[str, ...]:
    if order is None:
        return ()
    if isinstance(order, (str, bytes, set, frozenset)) or not isinstance(order, Iterable):
        raise LdpstatsError(f"order = {shortened(order)}", "a list of all attributes, causes before effects")
    names = _known(domain, order) if (order := tuple(order)) else ()
    if names and len(names) < len(domain):
        left_out = [name for name in domain.names if name not in names]
        raise LdpstatsError(
            f"an order without {one_line(left_out)}",
            "an order of all attributes",
            "Of attributes whose order is not known, say with `forbidden` what is.",
        )
    return names


def _checked_edges(domain: Domain, edges: object, what: str) -> tuple[Edge, ...]:
    """Return the edges in the order of the domain, each once."""
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise LdpstatsError(f"{what} = {shortened(edges)}", "a list of pairs (from, to)")
    position = {name: number for number, name in enumerate(domain.names)}
    checked: list[Edge] = []
    for edge in edges:
        if not isinstance(edge, (tuple, list)) or len(edge) != 2:
            raise LdpstatsError(
                f"{shortened(edge)} among the {what} edges", "pairs (from, to)", f"Write {what}=[('from', 'to'), ...]."
            )
        if edge[0] == edge[1]:
            raise LdpstatsError(f"the {what} edge {shortened(tuple(edge))}", "pairs of different attributes")
        start, end = _known(domain, edge)
        checked.append((start, end))
    return tuple(sorted(dict.fromkeys(checked), key=lambda edge: (position[edge[0]], position[edge[1]])))


def _known(domain: Domain, names: Iterable[Any]) -> tuple[str, ...]:
    """Return names of attributes as plain strings, whatever kind of strings they come as; refuse others."""
    return domain.project([str(name) if isinstance(name, str) else name for name in names]).names


def refuse_directed_cycles(graph: DiGraph[Any], came: str = "edges that make a cycle") -> None:
    """Refuse a graph in which some node leads to itself."""
    from networkx import find_cycle, is_directed_acyclic_graph

    if not is_directed_acyclic_graph(graph):
        cycle = [str(edge[0]) for edge in find_cycle(graph)]
        raise LdpstatsError(f"{came}: {' → '.join([*cycle, cycle[0]])}", "edges along which no node leads to itself")


def _arrows(edges: Iterable[Edge]) -> str:
    return ", ".join(f"{start} → {end}" for start, end in edges)


def names_only(names: Sequence[str]) -> pd.DataFrame:
    """Return a frame with a column for each attribute, and the two meaningless rows that pgmpy asks for."""
    return pd.DataFrame({name: ["no", "data"] for name in names})


def structure_of(
    domain: Domain,
    edges: Collection[Edge],
    directed: Collection[Edge],
    separations: Collection[Separation] = (),
    undecided: Collection[frozenset[str]] = (),
) -> Structure:
    """Return a structure in the order of the domain; edges may come either way, separations in that order."""
    joined, known = set(edges), set(directed)
    pairs = [pair for pair in combinations(domain.names, 2) if not joined.isdisjoint((pair, pair[::-1]))]
    both = [edge for pair in pairs for edge in (pair, pair[::-1])]
    arrows = tuple(edge for edge in both if edge in known)
    return Structure(tuple(pairs), arrows, tuple(separations), tuple(pair for pair in pairs if {*pair} in undecided))


_MOST_CELLS = 1 << 10


def most_asked_together(tables: TableSet) -> int:
    """Return the largest number of attributes that were asked together."""
    rows = [len(row.domain) for table in tables for row in table.rows]
    return max([len(table.attributes) for table in tables] + rows)


def table_about(tables: TableSet, names: tuple[str, ...]) -> Table | None:
    """Return the table of some attributes by all reports about them, each once; None where these leave cells open.

    Reports about a single one of several attributes are left out: they tell its margin only, and most of what is known
    of that is told by the others. There are no tables of more than 1,024 cells.
    """
    target, least = tables.domain.project(names), min(2, len(names))
    telling = [table for table in tables if len({*names}.intersection(table.attributes)) >= least]
    if target.size() > _MOST_CELLS or not telling or len(names) > most_asked_together(tables):
        return None
    try:
        return pooled_table(telling, target, tables.privacy)
    except NotIdentifiedError:
        return None
