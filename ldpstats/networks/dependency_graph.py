"""Dependency graphs: the pairs of attributes whose association is significant, strong, or explained by no path."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ldpstats.arrays import real_number, significance
from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.inference.effects.cramers_v import mutual_information
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import Method, asymptotic_test, evidence_of
from ldpstats.networks.shrunken_information import plug_in_information
from ldpstats.networks.triangle_pruning import stronger_paths
from ldpstats.tables import Table, TableSet, checked_table

if TYPE_CHECKING:
    from networkx import Graph

Rule: TypeAlias = Literal["direct", "significance", "published"]


def dependency_graph(
    tables: TableSet | Iterable[Table], rule: Rule = "direct", alpha: float = 0.05, phi: float = 0.2
) -> Graph[str]:
    """Join the attributes that depend on each other.

    Every attribute knows its number of `categories`. Every edge carries the figures of `PairAssociation`, and
    `adjusted`, the p-value after the adjustment for all pairs.

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
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["yes", "no"] for name in "abc"})
    >>> chain = np.array([8, 2, 1, 4, 4, 1, 2, 8]) * 10_000
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(chain, rng=1)
    >>> [list(dependency_graph(tables, rule).edges) for rule in ("direct", "significance")]
    [[('a', 'b'), ('b', 'c')], [('a', 'b'), ('a', 'c'), ('b', 'c')]]
    """
    from scipy.stats import false_discovery_control

    if not isinstance(rule, str) or rule not in get_args(Rule):
        raise LdpstatsError(f"rule = {shortened(rule)}", " or ".join(map(repr, get_args(Rule))))
    if not isinstance(tables, Iterable):
        raise LdpstatsError(f"a {type(tables).__name__}", "a TableSet, or a list of tables")
    level, least = significance(alpha), _published_threshold(phi)
    pairs = [table for table in map(checked_table, tables) if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError(
            "no two-way tables", "at least one", "Take table.marginal([...]) of wider ones, or collect pairs."
        )
    found = [PairAssociation.of(table) for table in pairs]
    graph = _unjoined(pairs)
    for one, adjusted in zip(found, false_discovery_control([one.pvalue for one in found]).tolist(), strict=True):
        if one.mi > least * one.side if rule == "published" else adjusted <= level:
            graph.add_edge(*one.pair, **asdict(one), adjusted=adjusted)
    if rule == "direct":
        corrected = {pair: float(graph.edges[pair]["corrected"]) for pair in graph.edges}
        graph.remove_edges_from({pair for pair, _ in stronger_paths(corrected)})
    return graph


@dataclass(frozen=True, slots=True)
class PairAssociation:
    """How strongly two attributes of a noisy table are associated.

    Parameters
    ----------
    pair : tuple of str
    side : int
        The smaller number of categories, less one.
    mi : float
        The plug-in mutual information in nats, of the table's estimate as projected on the proper ones.
    corrected : float
        The same without what noise adds to it, as `mutual_information` has it; nan where that is not estimable.
    statistic, pvalue : float
        Of the Wald test of independence, asymptotically; of a table without reports of its own, of the generalized
        least squares of `independence_test`.
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
    def of(cls, table: Table) -> PairAssociation:
        """Measure a two-way table."""
        first, second = table.attributes
        method: Method = "wald" if evidence_of(table).has_null_covariance else "gls"
        statistic, pvalue, df = asymptotic_test(table, ProductOfConditionals.independent(table.shape), method)
        mi = float(plug_in_information(nearest_proper(table.estimate.ravel()).reshape(table.shape)))
        corrected = mutual_information(table).estimate
        return cls((first, second), min(table.shape) - 1, mi, corrected, statistic, pvalue, df)


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
    share = real_number(phi)
    if not 0 < share < math.inf:
        raise LdpstatsError(f"phi = {phi!r}", "a finite number above 0, such as 0.2")
    return share**2 / 2


def _unjoined(tables: Iterable[Table]) -> Graph[str]:
    """Return the graph of all attributes, without edges."""
    from networkx import Graph

    graph: Graph[str] = Graph()
    for table in tables:
        for name, categories in zip(table.attributes, table.shape, strict=True):
            graph.add_node(name, categories=categories)
    return graph
