"""Dependency graphs: the pairs of attributes that depend on each other as far as noisy tables show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from ldpstats.arrays import FloatArray, significance
from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.projection import nearest_proper
from ldpstats.errors import LdpstatsError
from ldpstats.estimation import LinearPooling
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import evidence_of, tail
from ldpstats.inference.engine.scope import refuse_untold
from ldpstats.inference.engine.statistics import ScoreStatistic, Statistic, WaldStatistic, interaction_derivative
from ldpstats.tables import Table, TableSet, checked_table

if TYPE_CHECKING:
    from networkx import Graph

Rule: TypeAlias = Literal["direct", "significance", "published"]


def dependency_graph(
    tables: TableSet | Iterable[Table], rule: Rule = "direct", alpha: float = 0.05, phi: float = 0.2
) -> Graph[str]:
    """Join the attributes that depend on each other.

    Every attribute knows its number of `categories`. Every edge carries the figures of `Dependence`, and `adjusted`,
    the p-value after the adjustment for all pairs.

    Parameters
    ----------
    tables : TableSet or iterable of Table
        Those that are not two-way are left out.
    rule : {"direct", "significance", "published"}
        "significance" joins the pairs whose independence is rejected, after Benjamini and Hochberg's (1995)
        adjustment: at most a share of `alpha` of the edges is expected to be wrong. (That is proven for independent
        tables; those of crossed answers rest on the same reports.) A pair that is not joined may depend on each
        other all the same, by less than the noise shows. Any path between two attributes makes them dependent, so
        that with many respondents all connected attributes are joined to each other.
        "direct" leaves out what a path explains: of every triangle of such pairs the edge with the least corrected
        mutual information. In a chain a – b – c the ends never share more than either of them shares with b (Margolin
        et al. 2006). A network in which the attributes form a tree is left with that tree; others lose true edges.
        "published" joins the pairs whose plug-in mutual information in nats exceeds ½ φ² (min(r, c) − 1), which to
        second order is that of a Cramér's V of φ (Ren et al. 2018). It takes no notice of noise, which adds to
        every plug-in: on a small budget it joins nearly all pairs.
    alpha : float
        The level of "direct" and "significance".
    phi : float
        The φ of "published".

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["yes", "no"] for name in "abc"})
    >>> chain = np.array([8, 2, 1, 4, 4, 1, 2, 8]) * 10_000
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(chain, rng=1)
    >>> [list(dependency_graph(tables, rule).edges) for rule in ("direct", "significance")]
    [[('a', 'b'), ('b', 'c')], [('a', 'b'), ('a', 'c'), ('b', 'c')]]
    """
    from scipy.stats import false_discovery_control

    if rule not in get_args(Rule):
        raise LdpstatsError(f"rule = {rule!r}", " or ".join(map(repr, get_args(Rule))))
    level, least = significance(alpha), _published_threshold(phi)
    pairs = [table for table in map(checked_table, tables) if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError(
            "no two-way tables", "at least one", "Take table.marginal([...]) of wider ones, or collect pairs."
        )
    found = [Dependence.of(table) for table in pairs]
    graph = _unjoined(pairs)
    for one, adjusted in zip(found, false_discovery_control([one.pvalue for one in found]).tolist(), strict=True):
        if one.mi > least * one.side if rule == "published" else adjusted <= level:
            graph.add_edge(*one.pair, **asdict(one), adjusted=adjusted)
    if rule == "direct":
        graph.remove_edges_from(_explained(graph))
    return graph


@dataclass(frozen=True, slots=True)
class Dependence:
    """How two attributes of a noisy table depend on each other.

    Parameters
    ----------
    pair : tuple of str
    side : int
        The smaller number of categories, less one.
    mi : float
        The plug-in mutual information in nats, of the table's estimate as projected on the proper ones.
    corrected : float
        The same without what noise adds to it to first order, ½ Σ V/E, where E is the product of the margins and V the
        variance of the deviation from it; at least 0.
    statistic, pvalue : float
        Wald's statistic of the deviations from independence, and how often independent attributes show one as large.
        Of a table without reports of its own it is the generalized least squares of `independence_test`.
    df : int
        Its degrees of freedom.
    """

    pair: tuple[str, str]
    side: int
    mi: float
    corrected: float
    statistic: float
    pvalue: float
    df: int

    @classmethod
    def of(cls, table: Table) -> Dependence:
        """Measure a two-way table.

        The variances are those under independence, with the estimated margins: where margins are rare, a Wald
        statistic with the variances at the estimate itself rejects far too often.
        """
        first, second = table.attributes
        estimate, covariance_at = _linear(table)
        cells = estimate.reshape(table.shape)
        product = np.outer(nearest_proper(cells.sum(axis=1)), nearest_proper(cells.sum(axis=0)))
        covariance = covariance_at(product.ravel())
        statistic, df = _independence(table)
        mi = _mutual_information(nearest_proper(table.estimate.ravel()).reshape(table.shape))
        slope, held = interaction_derivative(product), product.ravel() > 0
        noise = (np.diagonal(slope @ covariance @ slope.T)[held] / product.ravel()[held]).sum() / 2
        corrected = max(mi - float(noise), 0.0)
        return cls((first, second), min(table.shape) - 1, mi, corrected, statistic, tail(df, statistic), df)


def clique_tree(graph: Graph[str]) -> JunctionTree:
    """Triangulate a dependency graph and join its cliques.

    Edges are added where a cycle of four or more attributes has no chord. After that, a distribution in which
    attributes are independent given those that separate them is the product of the tables of the cliques over the
    tables of what neighbours share.

    Parameters
    ----------
    graph : networkx.Graph
        As `dependency_graph` returns it.

    Examples
    --------
    >>> from networkx import cycle_graph, relabel_nodes, set_node_attributes
    >>> graph = relabel_nodes(cycle_graph(4), dict(enumerate("abcd")))
    >>> set_node_attributes(graph, 2, "categories")
    >>> clique_tree(graph).cliques
    (('a', 'b', 'd'), ('b', 'c', 'd'))
    """
    sizes = {name: int(graph.nodes[name]["categories"]) for name in graph}
    return JunctionTree.of([*graph.edges, *((name,) for name in graph)], sizes)


def _published_threshold(phi: object) -> float:
    """Return the mutual information that "published" asks for, per category of the smaller side."""
    if isinstance(phi, bool) or not isinstance(phi, Real) or not 0 < float(phi) < math.inf:
        raise LdpstatsError(f"phi = {phi!r}", "a finite number above 0, such as 0.2")
    return float(phi) ** 2 / 2


def _unjoined(tables: Iterable[Table]) -> Graph[str]:
    """Return the graph of all attributes, without edges."""
    from networkx import Graph

    graph: Graph[str] = Graph()
    for table in tables:
        for name, categories in zip(table.attributes, table.shape, strict=True):
            graph.add_node(name, categories=categories)
    return graph


def _explained(graph: Graph[str]) -> list[tuple[str, str]]:
    """Return the edges that are weaker than both others of some triangle."""

    def shared(one: str, other: str) -> float:
        return float(graph.edges[one, other]["corrected"])

    return [
        (one, other)
        for one, other in graph.edges
        if any(
            shared(one, other) < min(shared(one, via), shared(other, via)) for via in {*graph[one]} & {*graph[other]}
        )
    ]


def _independence(table: Table) -> tuple[float, int]:
    """Return the statistic of the test of independence, and its degrees of freedom."""
    model, evidence = ProductOfConditionals.independent(table.shape), evidence_of(table)
    statistic: Statistic = (
        WaldStatistic(model, evidence)
        if isinstance(evidence, BlockEvidence)
        else ScoreStatistic(model, evidence, table.domain.size())
    )
    refuse_untold(table, statistic.df)
    return float(statistic(evidence).statistic[0]), statistic.df


def _linear(table: Table) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the linear, unbiased estimate and its covariance at given frequencies; a derived table's is what it is."""
    answered = [block for block in table.blocks if block.n > 0]
    if not answered:
        own = Marginal.of(table)
        return own.estimate, lambda _: own.covariance
    pooling = LinearPooling(answered)
    return pooling.estimate([block.tally.counts for block in answered]), pooling.covariance


def _mutual_information(cells: FloatArray) -> float:
    product = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    held = cells > 0
    return float((cells[held] * np.log(cells[held] / product[held])).sum())
