"""Constraint search: edges that no test of conditional independence takes away, by the PC algorithm of pgmpy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.inference.engine.detectability import NoncentralityProfile, deviations_seen
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import Method, evidence_of, null_model_outcome
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import (
    Edge,
    EdgeConstraints,
    Separation,
    Structure,
    most_asked_together,
    names_only,
    structure_of,
    table_about,
)
from ldpstats.presentation import progress
from ldpstats.tables import Table

if TYPE_CHECKING:
    from networkx import Graph


def triples_to_ask(graph: Graph[str]) -> tuple[tuple[str, str, str], ...]:
    """Return the triples of attributes that conditional tests need, once it is known which pairs depend on each other.

    These are all that two or three edges join. A triangle tells whether one of its edges is explained by the two
    others; two edges that meet tell whether their ends are independent given the attribute between them, and so
    whether both point to it. Of a sparse graph they are far fewer than all triples.

    Parameters
    ----------
    graph : networkx.Graph
        The attributes, joined where they depend on each other, such as `dependency_graph` or a learned network's
        `graph`; directions make no difference.

    Returns
    -------
    tuple of (str, str, str)
        In the order of the graph's nodes; `SampledGroups(domain, epsilon=..., groups=...)` asks for them.

    Examples
    --------
    >>> from networkx import path_graph, relabel_nodes
    >>> from ldpstats import triples_to_ask
    >>> triples_to_ask(relabel_nodes(path_graph(4), dict(enumerate("abcd"))))
    (('a', 'b', 'c'), ('b', 'c', 'd'))
    """
    if not callable(getattr(graph, "to_undirected", None)):
        raise LdpstatsError(f"a graph of type {type(graph).__name__}", "a networkx.Graph, such as `dependency_graph`")
    joined = graph.to_undirected(as_view=True)
    index = {name: position for position, name in enumerate(joined)}
    triples = {
        tuple(sorted((index[first], index[second], index[middle])))
        for middle in joined
        for first, second in combinations(set(joined[middle]) - {middle}, 2)
    }
    names = list(index)
    return tuple((names[first], names[second], names[third]) for first, second, third in sorted(triples))


Pair = frozenset[str]
Given = tuple[str, ...]

WORTH_AN_EDGE = 0.1
"""The Cramér's V, within the values of what is given, that a test must have power against to decide."""
ENOUGH_POWER = 0.8
_SHOWN = 4


def pc(evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> Structure:
    """Find the edges left when pairs are taken away that are independent given some of their neighbours (PC-stable).

    See Spirtes, Glymour & Scheines (2001) and Colombo & Maathuis (2014); some table must be about three attributes.
    Pairs without any association are taken away first (false discovery rate alpha), then those that are independent
    given other attributes, as many as were asked together with them: every pair found dependent is tested at alpha over
    their number.

    A test that does not reject decides by evidence if it had power .8 against a Cramér's V of .1 within the values of
    what is given. One that had less takes a pair away only where its information is the least in the triangle, as it is
    where the third attribute explains it (data processing), and is said to decide by power. Directions follow from
    separations by evidence alone, and only where the pair is seen to depend on each other given what both point to.
    """
    from pgmpy.causal_discovery import PC

    names, largest = sorted(evidence.domain.names), most_asked_together(evidence.tables)
    if largest < 3 <= len(names):
        _refuse_pairs_alone(evidence, alpha)
    tests = ConditionalTests(evidence, constraints, alpha)
    with progress(None, "testing edges", unit="test") as bar:

        def tested(*asked: Any, **level: Any) -> Any:
            bar.update()
            return tests(*asked, **level)

        search = PC(
            variant="stable",
            ci_test=tested,
            significance_level=alpha,
            max_cond_vars=max(largest - 2, 0),
            show_progress=False,
        )
        skeleton: Graph[str] = search.fit(names_only(names)).skeleton_
    left = map(tests.separation, combinations(evidence.domain.names, 2))
    separations = [separation for separation in left if separation is not None]
    arrows = _colliding(skeleton, tests, constraints)
    return structure_of(evidence.domain, skeleton.edges, arrows, separations, tests.undecided)


def _refuse_pairs_alone(evidence: PairEvidence, alpha: float) -> None:
    """Refuse tables of pairs alone, and name the triples to ask for: those that pairs dependent at `alpha` form."""
    from networkx import Graph

    graph: Graph[str] = Graph()
    graph.add_nodes_from(evidence.domain.names)
    graph.add_edges_from(evidence.pairs[index] for index in np.flatnonzero(evidence.adjusted <= alpha))
    asked = triples_to_ask(graph) or tuple(combinations(evidence.domain.names, 3))
    raise NotIdentifiedError(
        "conditional tests on tables of pairs alone, which tell nothing about three attributes together",
        "tables of three attributes or more",
        f"Ask {len(asked)} triple{'s' * (len(asked) > 1)}, SampledGroups(domain, epsilon=..., "
        f"groups=[{one_line(list(asked), _SHOWN)}]), or search by a method for pairs.",
    )


@dataclass(frozen=True, slots=True)
class ConditionalTest:
    """A test of the independence of two attributes given others, with its power against a dependence worth an edge."""

    given: Given
    pvalue: float
    power: float
    rejects: bool  # independence, at its level

    @property
    def decides(self) -> bool:
        """Whether a dependence that is worth an edge would have been seen."""
        return self.power >= ENOUGH_POWER


class ConditionalTests:
    """The conditional independence tests of PC, each made once; what pgmpy calls a `ci_test`."""

    def __init__(self, evidence: PairEvidence, constraints: EdgeConstraints, alpha: float) -> None:
        pairs, rejected = [frozenset(pair) for pair in evidence.pairs], evidence.adjusted <= alpha
        self._constraints = constraints
        self._table: Callable[[Given], Table | None] = cache(partial(table_about, evidence.tables))
        self._information = dict(zip(pairs, evidence.shrunken.tolist(), strict=True))
        self._pvalues = dict(zip(pairs, evidence.pvalue.tolist(), strict=True))  # of plain tests
        self._level = float(evidence.pvalue[rejected].max(initial=alpha / max(len(pairs), 1)))
        self._level_given = alpha / max(int(rejected.sum()), 1)
        # by the pair and what is given; None where the reports tell nothing
        self._made: dict[tuple[Pair, Pair], ConditionalTest | None] = {}
        # those that take a pair away
        self._accepted: dict[Pair, list[ConditionalTest]] = defaultdict(list)

    def __call__(self, first: str, second: str, given: Sequence[str], significance_level: float) -> bool:  # noqa: ARG002  # every test has its own level
        """Say whether an edge is removed."""
        pair = frozenset((first, second))
        if self._constraints.requires(first, second):
            return False
        if not self._constraints.allows(first, second):
            return True
        test = self.test(pair, given)
        if test is None or test.rejects:
            return False
        # without power it goes only where it has less information than each of the two has with one of the others
        if given and not test.decides:
            around = ([self._information.get(frozenset((end, other)), 0.0) for end in pair] for other in given)
            if not any(self._information[pair] < min(values) for values in around):
                return False
        self._accepted[pair].append(test)
        return True

    def test(self, pair: Pair, given: Sequence[str]) -> ConditionalTest | None:
        """Return a test; None if the reports tell nothing about it."""
        key = (pair, frozenset(given))
        if key not in self._made:
            self._made[key] = self._tested(pair, tuple(sorted(given)))
        return self._made[key]

    def _tested(self, pair: Pair, given: Given) -> ConditionalTest | None:
        table = self._table(tuple(sorted((*pair, *given))))
        if table is None or pair not in self._pvalues:
            return None
        level = self._level_given if given else self._level
        try:
            pvalue, power = pvalue_and_power(table.reordered((*sorted(pair), *given)), level)
        except NotIdentifiedError:
            # of a category that never occurs nothing is known; the plain test is one of those that do
            if given:
                return None
            pvalue = power = 0.0
        pvalue = pvalue if given else self._pvalues[pair]
        return ConditionalTest(given, pvalue, power, pvalue <= level)

    def separation(self, pair: Edge) -> Separation | None:
        """Return the test by which a pair is left out, if any, rather one that decides than one that lacks power."""
        accepted = self._accepted[frozenset(pair)]
        if not accepted:
            return None
        best = max(accepted, key=lambda test: (test.decides, test.pvalue, test.given))
        return Separation(pair, best.given, best.pvalue, best.power, "evidence" if best.decides else "power")

    @property
    def undecided(self) -> set[Pair]:
        """Pairs with a conditional test that did not reject their independence and lacked power."""
        tested = [(pair, test) for (pair, given), test in self._made.items() if given and test is not None]
        return {pair for pair, test in tested if not test.rejects and not test.decides}

    def points_to(self, pair: Pair, middle: str) -> bool:
        """Say whether an attribute that both of a separated pair are joined to must be a collider between them."""
        tests = [test for test in self._accepted[pair] if test.decides]
        if not tests or any(middle in test.given for test in tests):
            return False
        further = (self.test(pair, (*test.given, middle)) for test in tests)
        known = [test for test in further if test is not None]
        return bool(known) and all(test.rejects for test in known)


def pvalue_and_power(table: Table, alpha: float) -> tuple[float, float]:
    """Return the p-value of the independence of the first two attributes given all others, and the test's power.

    The power is that against the dependence worth an edge, at level alpha. The statistic is Wald's where the covariance
    under independence is known, else that of least squares, with the χ² approximation.
    """
    given = tuple(range(2, len(table.shape)))
    model = ProductOfConditionals(table.shape, (*([(given, ())] if given else []), ((0,), given), ((1,), given)))
    method: Method = "wald" if evidence_of(table).has_null_covariance else "gls"
    outcome = null_model_outcome(table, model, method, "asymptotic", None)
    seen = deviations_seen(model, outcome.evidence, outcome.null)
    power = NoncentralityProfile(outcome.df, seen, min(table.shape[:2])).power(WORTH_AN_EDGE, alpha)
    return outcome.pvalue, power


def _colliding(skeleton: Graph[str], tests: ConditionalTests, constraints: EdgeConstraints) -> set[Edge]:
    """Return the directions of v-structures; those that contradict constraints, or each other, decide nothing."""
    colliders = [
        {(first, middle), (last, middle)}
        for middle in skeleton
        for first, last in combinations(sorted(skeleton[middle]), 2)
        if not skeleton.has_edge(first, last)
        and all(constraints.allows_direction(end, middle) for end in (first, last))
        and tests.points_to(frozenset((first, last)), middle)
    ]
    every = set().union(*colliders)
    return set().union(*(arrows for arrows in colliders if not any(edge[::-1] in every for edge in arrows)))
