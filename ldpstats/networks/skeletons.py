"""Skeletons: the methods that find edges from the evidence of pairs alone, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from ldpstats.networks.chow_liu import chow_liu_tree
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import EdgeConstraints, Structure
from ldpstats.networks.triangle_pruning import pruned_pairs

SkeletonMethod: TypeAlias = Callable[[PairEvidence, EdgeConstraints, float], Structure]


def tree_and_loops(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the edges of the tree together with the pairs that no path explains.

    The tree's weights are compared with each other, so that its edges need less evidence each; what goes past it
    must be significant among all pairs. Where all attributes are independent, there is any edge with a probability of
    at most alpha.

    Parameters
    ----------
    evidence : PairEvidence
    constraints : EdgeConstraints
    alpha : float
    """
    parts = (method(evidence, constraints, alpha) for method in (chow_liu_tree, pruned_pairs))
    kept = {edge for part in parts for edge in part.edges}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept))


SKELETON_METHODS: Mapping[str, SkeletonMethod] = MappingProxyType(
    {"auto": tree_and_loops, "chow-liu": chow_liu_tree, "pruned": pruned_pairs}
)
"""The methods by the names that `learn_network` knows them by."""
