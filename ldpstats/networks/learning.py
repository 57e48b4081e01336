"""Learning: the edges of a Bayesian network from tables of privatized answers, by a method of this name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ldpstats.consistency.marginals import as_collected
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line, shortened
from ldpstats.estimation import refuse_empty
from ldpstats.networks.chain_tests import ChainTests, oriented_by_tests
from ldpstats.networks.constraint_search import pc
from ldpstats.networks.hill_climbing import hill_climb
from ldpstats.networks.learned_network import LearnedNetwork
from ldpstats.networks.pair_evidence import EdgeConfidence, PairEvidence, redrawn_sets
from ldpstats.networks.skeletons import SKELETON_METHODS
from ldpstats.networks.structure import Edge, EdgeConstraints, NamedEdges, Structure, checked_constraints
from ldpstats.numbers.arrays import at_least, significance, unweighted
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
        How many networks to learn from redrawn counts, for the confidence of edges; see `EdgeConfidence`. By default
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
    level, chosen = significance(alpha), _named(method)
    reported, notes = _collected(tables)
    constraints = checked_constraints(reported.domain, required, forbidden, order)
    size = chosen.redraws if n_resamples is None else at_least(n_resamples, 0, "n_resamples")
    numbers = generator(_seed_of(reported) if rng is None else rng)
    evidence = PairEvidence.of(reported)
    _refuse_missing(evidence, constraints)
    search = _Search(chosen, constraints, level)
    structure = search.structure(reported, evidence)
    try:
        confidence = search.confidence(reported, evidence, size, numbers) if size else None
    except NotIdentifiedError as error:
        if n_resamples is not None:
            raise
        confidence, size, notes = None, 0, (*notes, _NO_CONFIDENCE.format(error.came))
    return LearnedNetwork.of(
        reported,
        constraints,
        structure,
        _figures(evidence, confidence),
        why=search.reasons(evidence, structure),
        method=method,
        words=chosen.words.format(alpha=level),
        alpha=level,
        n_resamples=size,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class NetworkMethod:
    """A method that learns the edges of a network, with its words in the summary."""

    find: Callable[[TableSet, PairEvidence, EdgeConstraints, float], Structure]
    words: str  # which edges they are, in sentences; {alpha} stands for the level
    redraws: int = 0  # by default so many networks are learned from redrawn counts
    of_pairs: bool = False  # whether the evidence of pairs is all it takes
    # methods in `SKELETON_METHODS` whose edges it has, with the word for why they are there
    parts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def by_pairs(cls, name: str, words: str, parts: Mapping[str, str]) -> NetworkMethod:
        """Return a method that needs pairs only."""
        found = SKELETON_METHODS[name]

        def find(_: TableSet, evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
            return found(evidence, constraints, alpha)

        return cls(find, words, _REDRAWS, True, parts)

    @classmethod
    def by_tables(cls, search: Callable[[TableSet, EdgeConstraints, float], Structure], words: str) -> NetworkMethod:
        """Return a search that needs more than pairs."""
        return cls(lambda tables, _, constraints, alpha: search(tables, constraints, alpha), words)


NETWORK_METHODS: dict[str, NetworkMethod] = {
    "auto": NetworkMethod.by_pairs(
        "auto",
        "They are those of the tree of largest mutual information that tests carry (false discovery rate {alpha:g}), "
        "and the pairs that are significant among all (Bonferroni, level {alpha:g}) and that no path explains.",
        {"pruned": "unexplained", "chow-liu": "tree"},
    ),
    "chow-liu": NetworkMethod.by_pairs(
        "chow-liu",
        "They are those of the tree of largest mutual information (Chow & Liu 1968) that tests carry (false discovery "
        "rate {alpha:g}). Of a network that is no tree, other edges are missing.",
        {"chow-liu": "tree"},
    ),
    "pruned": NetworkMethod.by_pairs(
        "pruned",
        "They are the pairs that are significant among all (Bonferroni, level {alpha:g}) and that no path through a "
        "third attribute explains.",
        {"pruned": "unexplained"},
    ),
    "hill-climb": NetworkMethod.by_tables(
        hill_climb,
        "They are those of the best score that a search by single changes finds: the information of every attribute "
        "with its parents, less a penalty by the effective number of respondents (level {alpha:g}). Parents "
        "that were never asked together with it are not tried: from pairs alone it has one at most, and the network is "
        "a tree, or several.",
    ),
    "pc": NetworkMethod.by_tables(
        pc,
        "They are those that no test of independence takes away, given other attributes or none (level {alpha:g}).",
    ),
}
"""The methods by name; see `learn_network`."""


@dataclass(frozen=True, slots=True)
class _Search:
    """A method with the constraints and the level of one call."""

    method: NetworkMethod
    constraints: EdgeConstraints
    alpha: float

    def structure(self, tables: TableSet, evidence: PairEvidence) -> Structure:
        return self.method.find(tables, evidence, self.constraints, self.alpha)

    def confidence(
        self, tables: TableSet, evidence: PairEvidence, size: int, rng: np.random.Generator
    ) -> EdgeConfidence:
        """Learn so many networks from redrawn counts; chain tests are drawn anew by their normal law."""
        chains = ChainTests(tables)

        def network(drawn: tuple[TableSet, PairEvidence]) -> tuple[Sequence[Edge], Iterable[Edge]]:
            structure = self.structure(*drawn)
            found = oriented_by_tests(
                structure,
                self.constraints,
                lambda triple: chains.redrawn(triple, rng),
                *self._figures(structure, drawn[1]),
                self.alpha,
            )
            return [edge for edge in structure.edges if edge not in found.left_out], found.directed

        sets = self._redrawn(tables, evidence, size, rng)
        return EdgeConfidence.of(map(network, progress(sets, "learning again", size, "set")), evidence.pairs)

    def _figures(
        self, structure: Structure, evidence: PairEvidence
    ) -> tuple[dict[Edge, float], dict[frozenset[str], float]]:
        """Return the information of edges that constraints leave one direction, and the p-values of all pairs."""
        place = {pair: number for number, pair in enumerate(evidence.pairs)}
        weighed = [edge for edge in structure.edges if self.constraints.leaves_one_direction(*edge)]
        independent = dict(zip(map(frozenset, evidence.pairs), evidence.pvalue.tolist(), strict=True))
        return {edge: evidence.corrected(place[edge]) for edge in weighed}, independent

    def _redrawn(
        self, tables: TableSet, evidence: PairEvidence, size: int, rng: np.random.Generator
    ) -> Iterator[tuple[TableSet, PairEvidence]]:
        if self.method.of_pairs:
            return ((tables, one) for one in evidence.redrawn(size, rng))
        return ((drawn, PairEvidence.of(drawn)) for drawn in redrawn_sets(tables, size, rng))

    def reasons(self, evidence: PairEvidence, structure: Structure) -> dict[Edge, str]:
        """Return why every edge is there, in a word."""
        why = dict.fromkeys(structure.edges, "search")
        for part, word in self.method.parts.items():
            edges = SKELETON_METHODS[part](evidence, self.constraints, self.alpha).edges
            why |= dict.fromkeys(edges, word)
        why |= dict.fromkeys(structure.undecided, "undecided")
        return why | {edge: "required" for edge in structure.edges if self.constraints.requires(*edge)}


def _named(method: object) -> NetworkMethod:
    if not isinstance(method, str) or method not in NETWORK_METHODS:
        raise LdpstatsError(f"method = {shortened(method)}", one_line([*NETWORK_METHODS]))
    return NETWORK_METHODS[method]


def _collected(given: object) -> tuple[TableSet, tuple[str, ...]]:
    """Return the tables that have reports of their own, with a note if others were made of them."""
    tables = checked_table_set(given)
    if len(tables.domain) < 2:
        raise LdpstatsError(
            f"tables about {one_line(tables.domain.names)} alone", "tables about two attributes or more"
        )
    reported = as_collected(tables)
    refuse_empty(sum(table.n for table in reported), "the tables")
    again = [table for table in reported if table not in tables.tables]
    return tables.replaced(tables=reported), (_AGAIN,) if again else ()


def _seed_of(tables: TableSet) -> int:
    """Return a seed that does not depend on the order of tables, attributes and categories."""
    counts = [block.tally.counts.ravel() for table in tables for block in table.blocks]
    return zlib.crc32(np.sort(np.concatenate([np.zeros(1, dtype=np.int64), *counts])).tobytes())


def _refuse_missing(evidence: PairEvidence, constraints: EdgeConstraints) -> None:
    missing = [pair for pair in evidence.missing if constraints.allows(*pair)]
    if missing:
        asked = len(evidence.pairs) + len(evidence.missing)
        raise NotIdentifiedError(
            f"no table that identifies {one_line(missing, 4)}, of {asked} pairs",
            "tables that hold every pair of attributes between which there may be an edge",
            f"Ask for them, as SampledGroups(domain, epsilon=..., groups={missing[:1]!r}) does for the first, and add "
            "these tables; or forbid their edges in both directions.",
        )


def _figures(evidence: PairEvidence, confidence: EdgeConfidence | None) -> pd.DataFrame:
    """Return the figures of all pairs, a row each."""
    none = np.full(len(evidence.pairs), np.nan)
    first, second = zip(*evidence.pairs, strict=True)
    return pd.DataFrame(
        {
            "first": first,
            "second": second,
            "information": evidence.information,
            "pvalue": evidence.pvalue,
            "adjusted": evidence.adjusted,
            "confidence": confidence.joined if confidence else none,
            "forward": confidence.forward if confidence else none,
        }
    )
