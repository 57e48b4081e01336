"""Chow and Liu's tree: the spanning tree of largest mutual information, and which of its edges tests carry."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure

_DIGITS = 12


def chow_liu_tree(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the edges of the maximum spanning tree (Chow & Liu 1968) whose pairs are significantly dependent.

    The weights are the information of the posterior mean given all pairs: a plug-in is inflated most where noise is
    widest, and would prefer pairs with many cells. Of the tree those edges stay whose adjusted p-value is at most
    alpha; see `PairEvidence.adjusted`. Required edges are in it, whatever their weight.

    Parameters
    ----------
    evidence : PairEvidence
    constraints : EdgeConstraints
    alpha : float
    """
    carried = dict(zip(evidence.pairs, (evidence.adjusted <= alpha).tolist(), strict=True))
    tree = spanning_tree(evidence, constraints)
    kept = {edge for edge in tree if carried[edge] or constraints.requires(*edge)}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept or constraints.requires(*pair)))


def spanning_tree(evidence: PairEvidence, constraints: EdgeConstraints) -> set[Edge]:
    """Return the edges of the maximum spanning tree, or forest, among those that constraints allow.

    Of equal weights the larger information comes first, then the smaller p-value, then the names.

    Parameters
    ----------
    evidence : PairEvidence
    constraints : EdgeConstraints
    """
    from networkx.utils import UnionFind

    # what differs by rounding is equal
    weights, pvalues = (np.round(one, _DIGITS).tolist() for one in (evidence.shrunken, evidence.pvalue))
    often = Counter(weights)
    strength: dict[Edge, tuple[object, ...]] = {}
    for place, (pair, weight) in enumerate(zip(evidence.pairs, weights, strict=True)):
        if constraints.allows(*pair):
            # the information takes long, and is hardly ever asked for
            tied = (round(evidence.corrected(place), _DIGITS), -pvalues[place]) if often[weight] > 1 else ()
            strength[pair] = (constraints.requires(*pair), weight, tied, tuple(sorted(pair)))
    joined: UnionFind[str] = UnionFind()
    tree = set()
    for pair in sorted(strength, key=strength.__getitem__, reverse=True):
        if joined[pair[0]] != joined[pair[1]]:
            joined.union(*pair)
            tree.add(pair)
    return tree
