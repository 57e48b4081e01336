"""Searches of pgmpy: the frame that they read the attributes from, and what they find in the order of the domain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

import pandas as pd

from ldpstats.domain import Domain
from ldpstats.networks.structure import Edge, Separation, Structure


def names_only(names: Sequence[str]) -> pd.DataFrame:
    """Return a frame with a column for each attribute, and with the two rows that pgmpy asks for, in which is nothing.

    Parameters
    ----------
    names : sequence of str
    """
    return pd.DataFrame({name: ["no", "data"] for name in names})


def structure_of(
    domain: Domain,
    edges: Collection[Edge],
    directed: Collection[Edge],
    separations: Collection[Separation] = (),
    undecided: Collection[frozenset[str]] = (),
) -> Structure:
    """Return what was found in the order of the domain.

    Parameters
    ----------
    domain : Domain
    edges : collection of (str, str)
        Either way.
    directed : collection of (str, str)
    separations : collection of Separation
        In the order of the domain.
    undecided : collection of frozenset of str
    """
    found, known = set(edges), set(directed)
    pairs = [pair for pair in combinations(domain.names, 2) if not found.isdisjoint((pair, pair[::-1]))]
    both = [edge for pair in pairs for edge in (pair, pair[::-1])]
    arrows = tuple(edge for edge in both if edge in known)
    return Structure(tuple(pairs), arrows, tuple(separations), tuple(one for one in pairs if {*one} in undecided))
