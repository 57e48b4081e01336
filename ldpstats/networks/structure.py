"""Structures: what a search for the edges of a Bayesian network is given, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ldpstats.hints import Share

Edge: TypeAlias = tuple[str, str]
"""Two attributes; as an edge without direction, in the order of the domain."""


@dataclass(frozen=True, slots=True)
class EdgeConstraints:
    """What is known about the edges before anyone is asked.

    Parameters
    ----------
    required, forbidden : tuple of (str, str)
        Pairs (from, to). A pair that is forbidden in both directions has no edge at all.
    order : tuple of str
        Attributes of which none depends on a later one, such as causes before effects; empty, or all of them.
    """

    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    order: tuple[str, ...] = ()

    def requires(self, one: str, other: str) -> bool:
        """Say whether there must be an edge between two attributes, whatever its direction."""
        return (one, other) in self.required or (other, one) in self.required

    def allows_direction(self, start: str, end: str) -> bool:
        """Say whether an edge may lead from one attribute to another."""
        backward = bool(self.order) and self.order.index(start) > self.order.index(end)
        return not backward and (start, end) not in self.forbidden and (end, start) not in self.required

    def leaves_one_direction(self, one: str, other: str) -> bool:
        """Say whether an edge may lead from one attribute to another, but not back."""
        return self.allows_direction(one, other) != self.allows_direction(other, one)

    def allows(self, one: str, other: str) -> bool:
        """Say whether there may be an edge between two attributes, whatever its direction."""
        return self.allows_direction(one, other) or self.allows_direction(other, one)


@dataclass(frozen=True, slots=True)
class Separation:
    """Why two attributes are not joined.

    Parameters
    ----------
    pair : (str, str)
    given : tuple of str
        The attributes given which they were tested; none for the plain test of independence.
    pvalue : float
    power : float
        Of this test, at its level, against the dependence that is worth an edge.
    decided_by : {"evidence", "power"}
        "evidence" if that dependence would have been seen; "power" if it might well have been missed, so that
        nothing is known.
    """

    pair: Edge
    given: tuple[str, ...]
    pvalue: Share
    power: Share
    decided_by: Literal["evidence", "power"]


@dataclass(frozen=True, slots=True)
class Structure:
    """The edges that a search has found.

    Parameters
    ----------
    edges : tuple of (str, str)
        Without direction, each in the order of the domain, and in that order.
    directed : tuple of (str, str)
        Those of them whose direction the search itself decides, (from, to).
    separations : tuple of Separation
        The tests by which other pairs are left out, where the search makes any.
    undecided : tuple of (str, str)
        Those of the edges that a test did not show to be there, and that stay because it lacked power.
    """

    edges: tuple[Edge, ...]
    directed: tuple[Edge, ...] = ()
    separations: tuple[Separation, ...] = ()
    undecided: tuple[Edge, ...] = ()
