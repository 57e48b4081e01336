"""LoPub: the dependency graph of attributes, and their joint distribution by its cliques (Ren et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.consistency.junction_tree import Beliefs, Factor, JunctionTree
from ldpstats.consistency.marginals import Attributes, Marginal
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.estimation import ASSUMED, mixture_em
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.inference.effects.cramers_v import mutual_information
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import Method, asymptotic_test, evidence_of
from ldpstats.networks.bayesian_network import BayesianNetwork, in_numbers
from ldpstats.networks.interactions import plug_in_information
from ldpstats.networks.learning import stronger_paths
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, are_shares, at_least, real_number, significance
from ldpstats.numbers.randomness import Rng
from ldpstats.pictures.graph import DrawnEdge, NetworkGraph, outward
from ldpstats.presentation import Result, Summary, plain_values, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols import PerAttribute
from ldpstats.saving.registered import Count
from ldpstats.tables import Table, TableSet, checked_table

if TYPE_CHECKING:
    from networkx import Graph

_ASSUMES = (
    "Assumed: attributes of different cliques depend on each other through what cliques share, and in no other way."
)
_NO_INTERVALS = "There are no standard errors: which cliques there are was itself decided by the noise."


def lopub(
    protocol: PerAttribute,
    reports: pd.DataFrame,
    estimator: str = "em",
    rule: Rule = "direct",
    alpha: float = 0.05,
    phi: float = 0.2,
) -> LoPubModel:
    """Learn which attributes depend on each other, and their joint distribution, from one and the same reports.

    This is LoPub (Ren, Yu, Yu, Yang, Yang, McCann & Yu 2018). Every respondent randomizes every attribute. All pairs
    are estimated from these answers and give a dependency graph; its cliques are estimated from the same answers once
    more. The joint distribution is the product of the cliques' tables over those that neighbours share. Looking at the
    same reports twice costs no privacy.

    A respondent spends the sum over all attributes, ε = Σ ε_a, and the `privacy` of the model says so. Ren et al. send
    every attribute through a Bloom filter with h hash functions, whose bits flip with probability f/2: a level of at
    most 2 h ln((2 − f)/f) each (Erlingsson, Pihur & Korolova 2014), and of just that where no two hashes meet. Here
    there is an answer (mechanism "grr") or a bit per category ("sue", which is h = 1 without collisions), and the level
    is that of the implemented channel. So there is no nominal level beside the strict one. At a small ε_a the table of
    a pair is mostly noise: where attributes are many, `calm_views` are far more exact at the same ε.

    Parameters
    ----------
    protocol : PerAttribute
        One with crossed answers (k = 2); its groups may be any, since the reports do not depend on them.
    reports : DataFrame
        What `protocol.reports` returned.
    estimator : {"em", "lasso", "lasso+em", "published lasso"}
        How a clique is estimated. "em" finds the most likely cells. "lasso" regresses the shares of the patterns of
        answers on what each cell makes likely, with nonnegative cells and a penalty on their sum, and rescales them to
        one; as large as the noise of the regression, the penalty empties cells that noise alone would explain.
        "lasso+em" takes the cells that are left as the only candidates for "em".
        "published lasso" regresses the counts of single bits on the cells that set them, as the code of Ren et al.
        does, with its penalty (but nonnegative cells and no intercept). It is there for comparison: such counts tell
        the distributions of single attributes and nothing else, every joint distribution that has them fits equally
        well, and which one comes out is an accident of the solver.
    rule, alpha, phi
        Which attributes are joined; see `dependency_graph`. Ren et al. have "published".

    Examples
    --------
    >>> from ldpstats import Domain
    >>> domain = Domain({name: ["yes", "no"] for name in "abc"})
    >>> frame = domain.decode(np.repeat([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], 5000, axis=0))
    >>> protocol = PerAttribute(domain, epsilon=6.0, k=2)
    >>> model = lopub(protocol, protocol.reports(frame, rng=1))
    >>> model.cliques, model.marginal(["b", "a"]).round(2)
    ((('a', 'b'), ('c',)), array([[0.5, 0. ],
           [0. , 0.5]]))
    """
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise LdpstatsError(f"estimator = {shortened(estimator)}", one_line(list(ESTIMATORS)))
    if not isinstance(protocol, PerAttribute) or protocol.k < 2:
        raise LdpstatsError(
            f"the protocol {protocol!r}" if isinstance(protocol, PerAttribute) else f"a {type(protocol).__name__}",
            "PerAttribute with crossed answers: k = 2",
            "Everyone then answers every attribute, and each pair can be estimated.",
        )
    names = tuple(name for name in protocol.domain.names if any(name in group for group in protocol.groups))
    # what is sent does not depend on the tables that are formed
    forming = partial(PerAttribute, protocol.domain, epsilon=protocol.epsilon, mechanism=protocol.mechanism)
    pairs = forming(groups=list(combinations(names, 2))).tables(reports)
    graph = dependency_graph(pairs, rule, alpha, phi)
    tree = clique_tree(graph)
    try:
        # answers are crossed only where a group has several attributes, which no clique need have
        cliques = forming(groups=list(dict.fromkeys([*tree.cliques, names[:2]])))
    except LdpstatsError as error:
        raise LdpstatsError(
            f"a dependency graph with too large a clique ({error.came})",
            error.allowed,
            "Join fewer pairs: rule = 'direct', a smaller alpha or a larger phi.",
        ) from error
    tables = cliques.tables(reports)
    cells = [clique_cells(tables[clique], estimator).reshape(tables[clique].shape) for clique in tree.cliques]
    beliefs = Beliefs(tree, agreeing(tree, cells))
    table, warning = tables[tree.cliques[0]], tuple(pairs.channel_fit().warning)
    return LoPubModel(
        protocol.domain.project(names), graph, beliefs, estimator, pairs.privacy, table.n, table.simulated, warning
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoPubModel(Result):
    """A distribution of many attributes that was estimated clique by clique by `lopub`."""

    domain: Domain
    graph: Graph[str]
    beliefs: Beliefs  # tables of the cliques, which agree on what neighbours share
    estimator: str  # how the cliques were estimated
    privacy: PrivacyStatement
    n: Count  # respondents
    simulated: Count = 0
    warning: tuple[str, ...] = ()  # that reports do not fit their channel, if they do not

    def __post_init__(self) -> None:
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the respondents"))
        tree, sizes = self.beliefs.tree, dict(zip(self.domain.names, self.domain.shape, strict=True))
        shapes = [tuple(sizes.get(name, 0) for name in clique) for clique in tree.cliques]
        table_shapes = [table.shape for table in self.beliefs.tables]
        if dict(tree.sizes) != sizes or {*self.graph} != {*sizes} or shapes != table_shapes:
            raise LdpstatsError(
                f"cliques {one_line(tree.cliques)} of {one_line(self.domain.names)}", "tables of the same attributes"
            )
        if not all(map(are_shares, self.beliefs.tables)):
            raise LdpstatsError("the tables of cliques with other numbers", "probabilities that add up to one")

    @property
    def cliques(self) -> tuple[Attributes, ...]:
        """The cliques of the triangulated graph, the root of the junction tree first."""
        return self.beliefs.tree.cliques

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Return the proportions of the cells of any attributes, in the shape of their table.

        There are no standard errors: which cliques there are was itself decided by the noise.
        """
        return self.beliefs.marginal(self.domain.project(attributes).names)

    @property
    def network(self) -> BayesianNetwork:
        """The same distribution as a Bayesian network: attributes depend on those before them in their clique.

        Where neighbouring cliques disagree about what is possible, so that nothing is known given some categories,
        an attribute has there the distribution that it has at large.
        """
        parents: dict[str, Attributes] = {}
        tables: dict[str, FloatArray] = {}
        tree = self.beliefs.tree
        for clique, shared, table in zip(tree.cliques, tree.separators, self.beliefs.tables, strict=True):
            known = shared
            for name in (attribute for attribute in clique if attribute not in shared):
                family = Factor(clique, table).summed({*known, name})
                given = _given(family.table, family.attributes, known)
                parents[name], tables[name] = known, given.T.reshape(tree.shape((name, *known)))
                known = (*known, name)
        return BayesianNetwork(self.domain, parents, tables)

    @property
    def headline(self) -> str:
        """The size of the model, and the number of respondents."""
        size = in_numbers(len(self.domain), self.graph.number_of_edges())
        return f"{size}, {len(self.cliques)} cliques, n = {self.n:,}{simulation(self.simulated, self.n)}"

    def summary(self) -> Summary:
        """Return the cliques, and what the distribution rests on."""
        facts = {
            "Respondents": f"{self.n:,}",
            "Attributes": str(len(self.domain)),
            "Dependent pairs": str(self.graph.number_of_edges()),
            "Cliques": [", ".join(clique) for clique in self.cliques],
            "Estimated by": self.estimator,
            "Privacy": self.privacy.lines(),
        }
        return summary_of_facts(
            f"LoPub{simulation(self.simulated, self.n)}", facts, [_ASSUMES, _NO_INTERVALS, ASSUMED, *self.warning]
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for every cell of every clique: its categories in words, and its proportion."""
        parts = [
            pd.DataFrame(
                {
                    "clique": ", ".join(clique),
                    "cell": [", ".join(map(str, labels)) for labels in self.domain.project(clique).index()],
                    "proportion": table.ravel(),
                }
            )
            for clique, table in zip(self.cliques, self.beliefs.tables, strict=True)
        ]
        return pd.concat(parts, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values."""
        names = "attributes=domain edges cliques tables=beliefs.tables estimator n privacy simulated"
        return plain_values(self, names, edges=[list(edge) for edge in self.graph.edges])

    def picture(self) -> NetworkGraph:
        """Return the dependency graph, with edges as wide as the mutual information of their ends."""
        edges = outward(self.domain.names, self.graph.edges)
        return NetworkGraph(
            f"Dependent pairs by LoPub{simulation(self.simulated, self.n)}",
            self.warning,
            self.domain.names,
            tuple(DrawnEdge(*edge, float(plug_in_information(self.marginal(edge)))) for edge in edges),
            "mutual information {} nats",
            plain="dependence has no direction",
        )

    def sample(self, n: int, rng: Rng = None) -> pd.DataFrame:
        """Draw n synthetic records; see `BayesianNetwork.sample`."""
        return self.network.sample(n, rng)


ESTIMATORS = ("em", "lasso", "lasso+em", "published lasso")
"""How the table of a clique is estimated; see `lopub`."""


def clique_cells(table: Table, estimator: str) -> FloatArray:
    """Estimate the cells of a clique's table by one of `ESTIMATORS`."""
    if estimator == "em":
        return table.estimated_by("mle").cells.estimate
    if estimator == "published lasso":
        joint = Marginal.of(table)
        sums = [(size, joint.onto((name,))) for name, size in zip(joint.attributes, joint.shape, strict=True)]
        bits = np.concatenate([np.eye(size)[:, indices] for size, indices in sums])
        counts = np.concatenate([joint.summed((name,)) for name in joint.attributes])
        # the authors' code minimises ∥·∥² / (2 · bits) + Σ cells, all in respondents
        return _nonnegative_lasso(bits, counts, len(bits) / joint.n)
    (block,) = table.blocks
    matrix, _ = block.design()
    observed = block.tally.proportions
    noise = (observed @ matrix**2 - (observed @ matrix) ** 2) / block.n
    cells = _nonnegative_lasso(matrix, observed, math.sqrt(float(noise.mean())))
    if estimator == "lasso+em":
        among = cells > 0
        cells[among] = mixture_em(matrix[:, among], observed).frequencies
    return cells


def _nonnegative_lasso(matrix: FloatArray, observed: FloatArray, penalty: float) -> FloatArray:
    """Minimise ½ ∥matrix cells − observed∥² + penalty Σ cells over nonnegative cells, and rescale them to the sum one.

    All columns of the matrix have the same sum s, so that Σ cells is the sum of matrix · cells over s: up to a
    constant this is nonnegative least squares from observed − penalty / s. A penalty that would empty all cells is cut.
    """
    from scipy.optimize import nnls

    felt = min(penalty, float((observed @ matrix).max()) / 2)
    cells, _ = nnls(matrix, observed - felt / matrix[:, 0].sum())
    shares: FloatArray = cells / cells.sum()
    return shares


def agreeing(tree: JunctionTree, tables: Iterable[FloatArray]) -> tuple[FloatArray, ...]:
    """Let every clique keep what it says given what it shares with its parent, and take the latter from the parent."""
    agreed: list[FloatArray] = []
    for clique, parent, shared, table in zip(tree.cliques, tree.parents, tree.separators, tables, strict=True):
        if parent < 0:
            agreed.append(table)
            continue
        others = tuple(axis for axis, name in enumerate(tree.cliques[parent]) if name not in shared)
        joint = agreed[parent].sum(axis=others).reshape(-1, 1) * _given(table, clique, shared)
        axes = [clique.index(name) for name in shared]
        shape = tree.shape([*shared, *(name for name in clique if name not in shared)])
        agreed.append(np.moveaxis(joint.reshape(shape), range(len(axes)), axes))
    return tuple(agreed)


def _given(table: FloatArray, clique: Attributes, shared: Attributes) -> FloatArray:
    """Return the distribution of the other attributes of a clique, a row for every cell of the shared ones.

    Where the clique's own table has no such cell, the row is the distribution of the others at large.
    """
    axes = [clique.index(name) for name in shared]
    rows = np.moveaxis(table, axes, range(len(axes))).reshape(math.prod(table.shape[axis] for axis in axes), -1)
    sums, at_large = rows.sum(axis=1, keepdims=True), rows.sum(axis=0) / rows.sum()
    given: FloatArray = np.divide(rows, sums, out=np.tile(at_large, (len(rows), 1)), where=sums > 0)
    return given


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
    from networkx import Graph
    from scipy.stats import false_discovery_control

    if not isinstance(rule, str) or rule not in get_args(Rule):
        raise LdpstatsError(f"rule = {shortened(rule)}", " or ".join(map(repr, get_args(Rule))))
    if not isinstance(tables, Iterable):
        raise LdpstatsError(f"a {type(tables).__name__}", "a TableSet, or a list of tables")
    level, share = significance(alpha), real_number(phi)
    if not 0 < share < math.inf:
        raise LdpstatsError(f"phi = {phi!r}", "a finite number above 0, such as 0.2")
    pairs = [table for table in map(checked_table, tables) if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError(
            "no two-way tables", "at least one", "Take table.marginal([...]) of wider ones, or collect pairs."
        )
    associations = [PairAssociation.of(table) for table in pairs]
    adjusted = false_discovery_control([association.pvalue for association in associations]).tolist()
    graph: Graph[str] = Graph()
    for table, association, pvalue in zip(pairs, associations, adjusted, strict=True):
        graph.add_nodes_from((name, {"categories": k}) for name, k in zip(table.attributes, table.shape, strict=True))
        if association.mi > share**2 / 2 * association.side if rule == "published" else pvalue <= level:
            graph.add_edge(*association.pair, **asdict(association), adjusted=pvalue)
    if rule == "direct":
        corrected = {pair: float(graph.edges[pair]["corrected"]) for pair in graph.edges}
        graph.remove_edges_from({pair for pair, _ in stronger_paths(corrected)})
    return graph


@dataclass(frozen=True, slots=True)
class PairAssociation:
    """How strongly two attributes of a noisy table are associated."""

    pair: tuple[str, str]
    side: int  # the smaller number of categories, less one
    mi: float  # plug-in mutual information in nats, of the estimate made proper
    corrected: float  # without what noise adds, as in `mutual_information`; nan where not estimable
    statistic: float  # asymptotic Wald test of independence; of generalized least squares without reports
    pvalue: float
    df: int

    @classmethod
    def of(cls, table: Table) -> PairAssociation:
        """Measure the association in a two-way table."""
        first, second = table.attributes
        method: Method = "wald" if evidence_of(table).has_null_covariance else "gls"
        statistic, pvalue, df = asymptotic_test(table, ProductOfConditionals.independent(table.shape), method)
        mi = float(plug_in_information(nearest_proper(table.estimate.ravel()).reshape(table.shape)))
        corrected = mutual_information(table).estimate
        return cls((first, second), min(table.shape) - 1, mi, corrected, statistic, pvalue, df)


def clique_tree(graph: Graph[str]) -> JunctionTree:
    """Triangulate a dependency graph, and join its cliques in a junction tree.

    Edges are added where a cycle of four or more attributes has no chord. A distribution in which attributes are
    independent given those that separate them is then the product of the cliques' tables over those that neighbours
    share.
    """
    sizes = {name: int(graph.nodes[name]["categories"]) for name in graph}
    return JunctionTree.of([*graph.edges, *((name,) for name in graph)], sizes)
