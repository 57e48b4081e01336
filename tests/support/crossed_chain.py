"""A chain of dependent attributes that everyone answers, and graphs of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from networkx import Graph

from ldpstats import Domain
from ldpstats.protocols import PerAttribute

CHAIN = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
EXACT = 40.0
"""The level of an answer that is never false among a million."""


def chain_law() -> np.ndarray[Any, Any]:
    """Return a Markov chain a – b – c – d whose probabilities are multiples of 1/800."""
    start = np.array([0.5, 0.5])
    a_to_b = np.array([[0.6, 0.2, 0.2], [0.2, 0.4, 0.4]])
    b_to_c = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    c_to_d = np.array([[0.9, 0.1], [0.2, 0.8]])
    return np.einsum("a,ab,bc,cd->abcd", start, a_to_b, b_to_c, c_to_d)


def people(domain: Domain, law: np.ndarray[Any, Any], n: int) -> pd.DataFrame:
    """Return n respondents of whom just the right shares hold each record."""
    counts = np.round(law * n).astype(int)
    assert np.abs(counts - law * n).max() < 1e-6
    return domain.decode(np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0))


def crossed(domain: Domain, epsilon: float = EXACT, mechanism: str = "grr") -> PerAttribute:
    """Let everyone answer every attribute at this level."""
    return PerAttribute(domain, epsilon=len(domain) * epsilon, mechanism=mechanism, k=2)


def of_edges(domain: Domain, pairs: list[str]) -> Graph:
    graph: Graph = Graph()
    graph.add_nodes_from((name, {"categories": len(values)}) for name, values in domain.categories.items())
    graph.add_edges_from(tuple(pair) for pair in pairs)
    return graph
