"""Constraints of a user on the edges of a network: checked, and put into the order of the domain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.networks.structure import Edge, EdgeConstraints

NamedEdges: TypeAlias = Iterable[tuple[str, str]]


def checked_constraints(
    domain: Domain, required: NamedEdges = (), forbidden: NamedEdges = (), order: Iterable[str] | None = None
) -> EdgeConstraints:
    """Return constraints that some network can meet; others are refused, with the reason.

    Parameters
    ----------
    domain : Domain
        The attributes of the network.
    required, forbidden : iterable of (str, str)
        Pairs (from, to).
    order : iterable of str, optional
        All attributes, of which none depends on a later one.

    Examples
    --------
    >>> domain = Domain({name: ["yes", "no"] for name in ("rain", "wet", "slip")})
    >>> checked_constraints(domain, [("wet", "slip")], order=["rain", "wet", "slip"]).required
    (('wet', 'slip'),)
    >>> checked_constraints(domain, [("wet", "slip"), ("slip", "wet")])
    Traceback (most recent call last):
    ...
    ldpstats.errors.LdpstatsError: required edges in a circle: wet → slip → wet. Allowed: edges that lead back nowhere.
    """
    ordered = _checked_order(domain, order)
    needed, excluded = _checked_edges(domain, required, "required"), _checked_edges(domain, forbidden, "forbidden")
    both = [edge for edge in needed if edge in excluded]
    if both:
        raise LdpstatsError(
            f"{_arrows(both)} as required and as forbidden", "edges that are one of the two, or neither"
        )
    _refuse_circle(needed)
    constraints = EdgeConstraints(needed, excluded, ordered)
    backward = [edge for edge in needed if not constraints.allows_direction(*edge)]
    if backward:
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
    place = {name: number for number, name in enumerate(domain.names)}
    found: list[Edge] = []
    for edge in edges:
        if not isinstance(edge, (tuple, list)) or len(edge) != 2:
            raise LdpstatsError(
                f"{shortened(edge)} among the {what} edges", "pairs (from, to)", f"Write {what}=[('from', 'to'), ...]."
            )
        if edge[0] == edge[1]:
            raise LdpstatsError(f"the {what} edge {shortened(tuple(edge))}", "pairs of different attributes")
        start, end = _known(domain, edge)
        found.append((start, end))
    return tuple(sorted(dict.fromkeys(found), key=lambda edge: (place[edge[0]], place[edge[1]])))


def _known(domain: Domain, names: Iterable[Any]) -> tuple[str, ...]:
    """Return names of attributes as plain strings, whatever kind of strings they come as; refuse others."""
    return domain.project([str(name) if isinstance(name, str) else name for name in names]).names


def _refuse_circle(edges: Iterable[Edge]) -> None:
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(edges)
    if not nx.is_directed_acyclic_graph(graph):
        circle = [start for start, _ in nx.find_cycle(graph)]
        raise LdpstatsError(
            f"required edges in a circle: {' → '.join([*circle, circle[0]])}", "edges that lead back nowhere"
        )


def _arrows(edges: Iterable[Edge]) -> str:
    return ", ".join(f"{start} → {end}" for start, end in edges)
