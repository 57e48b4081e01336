"""Skeletons: the methods that find edges from pairs alone, by Chow and Liu's tree and by triangle pruning."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from ldpstats.networks.interactions import Interactions
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import Edge, EdgeConstraints, Structure

_DIGITS = 12


def chow_liu_tree(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the edges of the maximum spanning tree (Chow & Liu 1968) whose pairs are significantly dependent.

    The weights are the information of the posterior mean given all pairs: a plug-in is inflated most where noise is
    widest, and would prefer pairs with many cells. Edges stay whose adjusted p-value is at most alpha, see
    `PairEvidence.adjusted`, and required ones, whatever their weight.
    """
    carried = dict(zip(evidence.pairs, (evidence.adjusted <= alpha).tolist(), strict=True))
    tree = spanning_tree(evidence, constraints)
    kept = {edge for edge in tree if carried[edge] or constraints.requires(*edge)}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept or constraints.requires(*pair)))


def spanning_tree(evidence: PairEvidence, constraints: EdgeConstraints) -> set[Edge]:
    """Return the edges of the maximum spanning tree, or forest, among those that constraints allow.

    Of equal weights the larger information comes first, then the smaller p-value, then the names.
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


# What a path leaves unexplained is worth an edge if it is more than so many nats, by so many standard errors. Settled
# on seeds from 1000 on of child, survey, asia, sachs and alarm; the study (benchmarks/networks.py) has others.
_WORTH_AN_EDGE = 0.005
_STANDARD_ERRORS = 0.7


def pruned_pairs(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the pairs that are significantly dependent among all (Bonferroni) and that no third attribute explains.

    It goes past trees: a loop stays where its weakest edge is more than the path around it brings about. Required pairs
    stay, forbidden ones go, but may explain others.
    """
    dependent = [
        pair
        for pair, pvalue in zip(evidence.pairs, evidence.pvalue, strict=True)
        if pvalue * len(evidence.pairs) <= alpha
    ]
    explained = explained_pairs(evidence, dependent)
    kept = {pair for pair in dependent if pair not in explained and constraints.allows(*pair)}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept or constraints.requires(*pair)))


def explained_pairs(evidence: PairEvidence, dependent: Collection[Edge]) -> set[Edge]:
    """Return the pairs that are the weakest of a triangle of dependent ones and not stronger than its path implies.

    Where b separates a from c, the ends share less than either of them shares with b (the data-processing inequality:
    ARACNE, Margolin et al. 2006), and the interactions are B_ac = B_ab B_bc. With D the difference of the posterior
    means of a weakest pair and of its path, and V its covariance, Σ D² − tr V estimates twice what the pair has beyond
    the path, in nats. The pair is explained unless that is more than .005 nats by .7 standard errors. (Without this
    comparison true loops would lose an edge each, as in networks of proteins.)
    """
    among = set(dependent)
    figures = zip(evidence.pairs, evidence.shrunken.tolist(), strict=True)
    seen: dict[Edge, Interactions] = {}
    for pair, found in zip(evidence.pairs, evidence.interactions, strict=True):
        if pair in among:
            rows, columns = evidence.sources.pools[pair].domain.names
            seen[rows, columns], seen[columns, rows] = found, found.turned
    explained: set[Edge] = set()
    for pair, via in stronger_paths({pair: strength for pair, strength in figures if pair in among}):
        if pair not in explained and _is_explained(*pair, via, seen):
            explained.add(pair)
    return explained


def stronger_paths(strength: Mapping[Edge, float]) -> Iterator[tuple[Edge, str]]:
    """Yield the weakest pair of every triangle, with the attribute that the two stronger ones join its ends by.

    >>> list(stronger_paths({("a", "b"): 0.3, ("a", "c"): 0.1, ("b", "c"): 0.2, ("c", "d"): 0.4}))
    [(('a', 'c'), 'b')]
    """
    around: dict[str, dict[str, float]] = defaultdict(dict)
    for (one, other), own in strength.items():
        around[one][other] = around[other][one] = own
    for (one, other), own in strength.items():
        for via in around[one].keys() & around[other].keys():
            # a strength that is not estimable, nan, is not stronger
            if own < around[one][via] and own < around[other][via]:
                yield (one, other), via


def _is_explained(first: str, second: str, via: str, seen: dict[Edge, Interactions]) -> bool:
    """Say whether a pair is not clearly stronger than the path through a third attribute makes it."""
    direct, start, end = seen[first, second], seen[first, via], seen[via, second]
    beyond = (direct.correlations - start.correlations @ end.correlations).ravel()
    rows, middle, columns = *start.correlations.shape, end.correlations.shape[-1]
    of_start = start.covariance.reshape(rows, middle, rows, middle)
    of_end = end.covariance.reshape(middle, columns, middle, columns)
    spread = direct.covariance.reshape(rows, columns, rows, columns)
    # the path's own uncertainty, by the delta method
    moved = np.tensordot(np.tensordot(of_start, end.correlations, (1, 0)), end.correlations, (2, 0))
    spread = spread + moved.transpose(0, 2, 1, 3)
    moved = np.tensordot(np.tensordot(start.correlations, of_end, (1, 0)), start.correlations, (2, 1))
    spread = spread + moved.transpose(0, 1, 3, 2)
    covariance = spread.reshape(beyond.size, beyond.size)
    estimate = (float(beyond @ beyond) - float(np.trace(covariance))) / 2
    variance = (2 * float((covariance**2).sum()) + 4 * max(float(beyond @ covariance @ beyond), 0.0)) / 4
    return estimate <= _WORTH_AN_EDGE + _STANDARD_ERRORS * math.sqrt(variance)


SkeletonMethod: TypeAlias = Callable[[PairEvidence, EdgeConstraints, float], Structure]


def tree_and_loops(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the edges of the tree together with the pairs that no path explains.

    The tree's weights are compared with each other, so that its edges need less evidence each; what goes past it must
    be significant among all pairs. Where all attributes are independent, there is any edge with a probability of at
    most alpha.
    """
    parts = (method(evidence, constraints, alpha) for method in (chow_liu_tree, pruned_pairs))
    kept = {edge for part in parts for edge in part.edges}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept))


SKELETON_METHODS: Mapping[str, SkeletonMethod] = MappingProxyType(
    {"auto": tree_and_loops, "chow-liu": chow_liu_tree, "pruned": pruned_pairs}
)
"""The methods by the names that `learn_network` knows them by."""
