"""Learning: the edges of a Bayesian network from tables of privatized answers, by a method of this name."""

from __future__ import annotations

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from ldpstats.consistency.marginals import as_collected
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line, shortened
from ldpstats.estimation import refuse_empty
from ldpstats.networks.chain_tests import ChainTest, ChainTests, oriented_by_tests
from ldpstats.networks.constraint_search import pc
from ldpstats.networks.hill_climbing import hill_climb
from ldpstats.networks.interactions import Interactions
from ldpstats.networks.learned_network import LearnedNetwork
from ldpstats.networks.orientation import Triple
from ldpstats.networks.pair_evidence import PairEvidence, edge_confidence, redrawn_sets
from ldpstats.networks.structure import Edge, EdgeConstraints, NamedEdges, Structure, checked_constraints
from ldpstats.numbers.arrays import FloatArray, at_least, significance, unweighted
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import progress
from ldpstats.tables import TableSet, checked_table_set

_REDRAWS = 100
_NO_CONFIDENCE = "There is no confidence of edges, as counts cannot be drawn again: {}."
_AGAIN = "Learned from the collected tables that consistent ones were made of."


@unweighted
def learn_network(
    tables: TableSet,
    method: str = "auto",
    *,
    alpha: float = 0.05,
    required: NamedEdges = (),
    forbidden: NamedEdges = (),
    order: Iterable[str] | None = None,
    n_resamples: int | None = None,
    rng: Rng = None,
) -> LearnedNetwork:
    """Learn a Bayesian network from tables of privatized answers.

    This is structure learning: the Chow-Liu tree, hill climbing on a score, or the PC algorithm.

    Pairs of attributes tell which edges there are, and some directions: where a – b – c are joined but a and c are not,
    the reports of a and c show whether they depend on each other as much as they would through b, see `ChainTest`. If
    not, both edges lead to b. Of 26 such colliders shown in 130 networks (benchmarks/network_directions.py), none was
    wrong; of 127 directions, 2 were reversed and 19 of edges that are not there.

    Parameters
    ----------
    tables : TableSet
        With every pair of attributes in some table, unless its edge is forbidden in both directions. Of tables that
        were made consistent, those that they were made of are used.
    method : {"auto", "chow-liu", "pruned", "hill-climb", "pc"}
        "chow-liu" has the spanning tree of largest mutual information, without the edges that no test carries;
        "pruned" all pairs that are significantly dependent and that no path through a third attribute explains. "auto"
        has the edges of both. They need pairs only.
        "hill-climb" searches for the best score, "pc" takes away what is independent given others: both go as far as
        attributes were asked together, three of them or more; see `hill_climb` and `pc`.
    alpha : float
        The level of the tests that decide about edges and colliders, and one minus that of intervals.
    required, forbidden : iterable of (str, str), optional
        Edges (from, to) that there must be, and that there must not be. Forbid both directions, and there is no edge.
    order : iterable of str, optional
        All attributes, of which none depends on a later one: causes before effects.
    n_resamples : int, optional
        How many networks to learn from redrawn counts, for the confidence of edges; see `edge_confidence`. By default
        100 where pairs are enough; none where a search would take much longer.
    rng : seed or numpy Generator, optional
        For these. By default the seed is taken from the reports, so that a set of tables has one result.

    Returns
    -------
    LearnedNetwork
        Directions are those that constraints, colliders, or the search tell; the others are a choice.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, learn_network
    >>> domain = Domain({"rain": ["yes", "no"], "sprinkler": ["on", "off"], "grass": ["wet", "dry"]})
    >>> people = np.array([22_800, 1_200, 28_800, 7_200, 39_200, 16_800, 4_200, 79_800])
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(people, rng=1)
    >>> learned = learn_network(tables, n_resamples=20, rng=1)
    >>> learned.edges[["first", "direction", "second", "confidence", "directed_by"]]
           first direction second  confidence directed_by
    0       rain         →  grass         1.0    collider
    1  sprinkler         →  grass         1.0    collider
    """
    level = significance(alpha)
    if not isinstance(method, str) or method not in NETWORK_METHODS:
        raise LdpstatsError(f"method = {shortened(method)}", one_line([*NETWORK_METHODS]))
    chosen, given = NETWORK_METHODS[method], checked_table_set(tables)
    if len(given.domain) < 2:
        raise LdpstatsError(f"tables about {one_line(given.domain.names)} alone", "tables about two attributes or more")
    reports = as_collected(given)
    refuse_empty(sum(table.n for table in reports), "the tables")
    reported, notes = given.replaced(tables=reports), (_AGAIN,) if {*reports} - {*given.tables} else ()
    constraints = checked_constraints(reported.domain, required, forbidden, order)
    size = (_REDRAWS if chosen.of_pairs else 0) if n_resamples is None else at_least(n_resamples, 0, "n_resamples")
    # a seed that does not depend on the order of tables, attributes and categories
    counts = [block.tally.counts.ravel() for table in reported for block in table.blocks]
    seed = zlib.crc32(np.sort(np.concatenate([np.zeros(1, dtype=np.int64), *counts])).tobytes())
    numbers = generator(seed if rng is None else rng)
    evidence = PairEvidence.of(reported)
    if missing := [pair for pair in evidence.sources.missing if constraints.allows(*pair)]:
        raise NotIdentifiedError(
            f"no table that identifies {one_line(missing, 4)}, of {math.comb(len(given.domain), 2)} pairs",
            "tables that hold every pair of attributes between which there may be an edge",
            f"Ask for them, as SampledGroups(domain, epsilon=..., groups={missing[:1]!r}) does for the first, and add "
            "these tables; or forbid their edges in both directions.",
        )
    structure = chosen.find(evidence, constraints, level)
    joined = forward = np.full(len(evidence.pairs), np.nan)
    try:
        if size:
            joined, forward = _confidence(evidence, chosen, constraints, level, size, numbers)
    except NotIdentifiedError as error:
        if n_resamples is not None:
            raise
        size, notes = 0, (*notes, _NO_CONFIDENCE.format(error.came))
    first, second = zip(*evidence.pairs, strict=True)
    figures = {"first": first, "second": second, "information": evidence.information, "pvalue": evidence.pvalue}
    figures |= {"adjusted": evidence.adjusted, "confidence": joined, "forward": forward}
    return LearnedNetwork.of(
        reported,
        constraints,
        structure,
        pd.DataFrame(figures),
        why=_reasons(method, structure, evidence, constraints, level),
        method=method,
        words=chosen.words.format(alpha=level),
        alpha=level,
        n_resamples=size,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class NetworkMethod:
    """A method that learns the edges of a network, with its words in the summary."""

    find: Callable[[PairEvidence, EdgeConstraints, float], Structure]
    words: str  # which edges they are, in sentences; {alpha} stands for the level
    of_pairs: bool = True  # whether the evidence of pairs is all it takes, so that 100 redraws take little


def _confidence(
    evidence: PairEvidence,
    method: NetworkMethod,
    constraints: EdgeConstraints,
    alpha: float,
    size: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Learn so many networks from redrawn counts; chain tests are drawn anew by their normal law."""
    chains, index = ChainTests(evidence.tables), {pair: number for number, pair in enumerate(evidence.pairs)}

    def redrawn(triple: Triple) -> ChainTest | None:
        test = chains.of(triple)
        if test is None:
            return None
        first, second = rng.standard_normal(2)
        half = test.correlation * first + math.sqrt(max(1 - test.correlation**2, 0)) * second
        return replace(test, present=test.present + first, half=test.half + half)

    def network(drawn: PairEvidence) -> tuple[Sequence[Edge], Iterable[Edge]]:
        structure = method.find(drawn, constraints, alpha)
        weighed = [edge for edge in structure.edges if constraints.leaves_one_direction(*edge)]
        strength = {edge: drawn.corrected(index[edge]) for edge in weighed}
        independent = dict(zip(map(frozenset, drawn.pairs), drawn.pvalue.tolist(), strict=True))
        orientation = oriented_by_tests(structure, constraints, redrawn, strength, independent, alpha)
        return [edge for edge in structure.edges if edge not in orientation.left_out], orientation.directed

    if method.of_pairs:
        sets = evidence.redrawn(size, rng)
    else:
        sets = map(PairEvidence.of, redrawn_sets(evidence.tables, size, rng))
    return edge_confidence(map(network, progress(sets, "learning again", size, "set")), evidence.pairs)


def _reasons(
    method: str, structure: Structure, evidence: PairEvidence, constraints: EdgeConstraints, alpha: float
) -> dict[Edge, str]:
    """Return why every edge is there, in a word."""
    why = dict.fromkeys(structure.edges, "unexplained" if NETWORK_METHODS[method].of_pairs else "search")
    if method in ("auto", "chow-liu"):
        why |= dict.fromkeys(chow_liu_tree(evidence, constraints, alpha).edges, "tree")
    why |= dict.fromkeys(structure.undecided, "undecided")
    return why | {edge: "required" for edge in structure.edges if constraints.requires(*edge)}


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
    weights, pvalues = (np.round(figures, _DIGITS).tolist() for figures in (evidence.shrunken, evidence.pvalue))
    often = Counter(weights)
    strength: dict[Edge, tuple[object, ...]] = {}
    for index, (pair, weight) in enumerate(zip(evidence.pairs, weights, strict=True)):
        if constraints.allows(*pair):
            # the information takes long, and is hardly ever asked for
            tied = (round(evidence.corrected(index), _DIGITS), -pvalues[index]) if often[weight] > 1 else ()
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
    for pair, interactions in zip(evidence.pairs, evidence.interactions, strict=True):
        if pair in among:
            rows, columns = evidence.sources.pools[pair].domain.names
            seen[rows, columns], seen[columns, rows] = interactions, interactions.turned
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
    for (first, second), own in strength.items():
        around[first][second] = around[second][first] = own
    for (first, second), own in strength.items():
        for via in around[first].keys() & around[second].keys():
            # a strength that is not estimable, nan, is not stronger
            if own < around[first][via] and own < around[second][via]:
                yield (first, second), via


def _is_explained(first: str, second: str, via: str, seen: dict[Edge, Interactions]) -> bool:
    """Say whether a pair is not clearly stronger than the path through a third attribute makes it."""
    direct, start, end = seen[first, second], seen[first, via], seen[via, second]
    beyond = (direct.correlations - start.correlations @ end.correlations).ravel()
    rows, middle, columns = *start.correlations.shape, end.correlations.shape[-1]
    of_start = start.covariance.reshape(rows, middle, rows, middle)
    of_end = end.covariance.reshape(middle, columns, middle, columns)
    covariance: FloatArray = direct.covariance.reshape(rows, columns, rows, columns)
    # the path's own uncertainty, by the delta method
    moved = np.tensordot(np.tensordot(of_start, end.correlations, (1, 0)), end.correlations, (2, 0))
    covariance = covariance + moved.transpose(0, 2, 1, 3)
    moved = np.tensordot(np.tensordot(start.correlations, of_end, (1, 0)), start.correlations, (2, 1))
    covariance = covariance + moved.transpose(0, 1, 3, 2)
    covariance = covariance.reshape(beyond.size, beyond.size)
    estimate = (float(beyond @ beyond) - float(np.trace(covariance))) / 2
    variance = (2 * float((covariance**2).sum()) + 4 * max(float(beyond @ covariance @ beyond), 0.0)) / 4
    return estimate <= _WORTH_AN_EDGE + _STANDARD_ERRORS * math.sqrt(variance)


def tree_and_loops(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Return the edges of the tree together with the pairs that no path explains.

    The tree's weights are compared with each other, so that its edges need less evidence each; what goes past it must
    be significant among all pairs. Where all attributes are independent, there is any edge with a probability of at
    most alpha.
    """
    parts = (method(evidence, constraints, alpha) for method in (chow_liu_tree, pruned_pairs))
    kept = {edge for part in parts for edge in part.edges}
    return Structure(tuple(pair for pair in evidence.pairs if pair in kept))


NETWORK_METHODS: Mapping[str, NetworkMethod] = MappingProxyType(
    {
        "auto": NetworkMethod(
            tree_and_loops,
            "They are those of the tree of largest mutual information that tests carry (false discovery rate "
            "{alpha:g}), and the pairs that are significant among all (Bonferroni, level {alpha:g}) and that no path "
            "explains.",
        ),
        "chow-liu": NetworkMethod(
            chow_liu_tree,
            "They are those of the tree of largest mutual information (Chow & Liu 1968) that tests carry (false "
            "discovery rate {alpha:g}). Of a network that is no tree, other edges are missing.",
        ),
        "pruned": NetworkMethod(
            pruned_pairs,
            "They are the pairs that are significant among all (Bonferroni, level {alpha:g}) and that no path through "
            "a third attribute explains.",
        ),
        "hill-climb": NetworkMethod(
            hill_climb,
            "They are those of the best score that a search by single changes finds: the information of every "
            "attribute with its parents, less a penalty by the effective number of respondents (level {alpha:g}). "
            "Parents that were never asked together with it are not tried: from pairs alone it has one at most, and "
            "the network is a tree, or several.",
            of_pairs=False,
        ),
        "pc": NetworkMethod(
            pc,
            "They are those that no test of independence takes away, given other attributes or none (level {alpha:g}).",
            of_pairs=False,
        ),
    }
)
"""The methods by name; see `learn_network`."""
