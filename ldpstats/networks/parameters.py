"""Parameters of a network: the proportions of every attribute given its parents, from tables of privatized answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.answers.columns import Category, listed
from ldpstats.consistency import reconstruct
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.estimation import ASSUMED
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.family_estimates import MAXIMUM_ENTROPY, Family, FamilyEstimates, SmoothedRows, answer_variance
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, at_least, real_number, significance, unweighted
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.pictures.graph import NetworkGraph
from ldpstats.presentation import Result, Summary, plain_rows, plain_values, progress, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Amount
from ldpstats.tables import TableSet, checked_table_set

if TYPE_CHECKING:
    from networkx import DiGraph

    from ldpstats.networks.queries import QueryResult

_LEAST = 1.0
"""The least weight that is estimated: one respondent, so that nothing is taken for impossible that was not seen."""
_NAMED = 6
_TOLD = "all parents were asked together with the child"
_ASSUMED = "they were not: an assumption, which print() names"
MOST_DRAWN = 10_000
"""The most networks that are drawn at once: more would not fit into memory."""


@unweighted
def fit_parameters(
    tables: TableSet,
    dag: DiGraph[str] | BayesianNetwork | Mapping[str, Iterable[str]],
    *,
    smoothing: float | None = None,
) -> FittedParameters:
    """Estimate the conditional probability tables (CPTs) of a Bayesian network of given edges: parameter learning.

    The cells of an attribute and its parents are pooled from all tables that tell something about them, and made
    proper in their covariance. Divided by the sums of their rows they are the proportions given the parents. Where
    reports do not identify these cells (nobody was asked about all of them together), they are those of maximum
    entropy, as `reconstruct` finds them, and the result says what that assumes.

    Every row is then averaged with the attribute's own proportions, which count for as many respondents as `smoothing`
    says, the row itself for as many as would know it as well without noise; and the attribute's own proportions with
    even ones, which count for one. So no probability is zero, and the likelihood of any record finite.

    Parameters
    ----------
    tables : TableSet
        As a protocol collects it, of at least two reports about each attribute.
    dag : networkx.DiGraph, BayesianNetwork, or mapping of str to sequence of str
        The edges, from parents to children; or the parents of every attribute that has some. The network is about
        the attributes that are named there.
    smoothing : float, optional
        The weight of an attribute's own proportions, in respondents. By default it is estimated for every attribute,
        by how much its rows differ beyond noise (empirical Bayes), and at least one. With 0 nothing is averaged;
        rows that nobody seems to belong to are the attribute's own proportions all the same.

    Returns
    -------
    FittedParameters

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, fit_parameters
    >>> domain = Domain({"smoker": ["yes", "no"], "ill": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([200, 100, 50, 650]) * 100, rng=1)
    >>> fitted = fit_parameters(tables, {"ill": ["smoker"]})
    >>> fitted.network.tables["ill"].round(2)
    array([[0.67, 0.07],
           [0.33, 0.93]])
    """
    checked_table_set(tables)
    parents, weight = _parents_of(dag, tables), None if smoothing is None else real_number(smoothing)
    if weight is not None and not 0 <= weight < math.inf:
        raise LdpstatsError(f"smoothing = {shortened(smoothing)}", "a number of respondents, 0 or more; or None")
    families = FamilyEstimates.of(tables, parents)
    cells = [family.cells[None] for family in families.families]
    (network,) = _networks(families, cells, weight, tables)
    return FittedParameters(network, tables, weight, families)


@dataclass(frozen=True, eq=False, repr=False)
class FittedParameters(Result):
    """A Bayesian network with the tables that its parameters were estimated from; see `fit_parameters`.

    Parameters
    ----------
    network : BayesianNetwork
        The fitted network.
    reports : TableSet
        What it was fitted to.
    smoothing : float, optional
        The weight of the attributes' own proportions in their rows, in respondents; None if it was estimated.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"smoker": ["yes", "no"], "ill": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=4.0).simulate([20_000, 10_000, 5_000, 65_000], rng=1)
    >>> fitted = ldp.fit_parameters(tables, {"ill": ["smoker"]})
    >>> fitted
    <FittedParameters: 2 attributes, 1 edge, n = 100,000 (simulated)>
    >>> fitted.query("ill", {"smoker": "yes"}).conf_int().round(2)
    array([[0.66, 0.67],
           [0.33, 0.34]])
    """

    network: BayesianNetwork
    reports: TableSet
    smoothing: Amount | None = None
    _families: FamilyEstimates | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        names = self.network.domain.names
        if not set(names).issubset(self.reports.domain.names) or self.reports.domain.project(names) != (
            self.network.domain
        ):
            raise LdpstatsError(
                f"tables about {one_line(self.reports.domain.names)} for a network of {one_line(names)}",
                "tables about its attributes, with the same categories",
            )

    @cached_property
    def families(self) -> FamilyEstimates:
        """The cells of every attribute and its parents, as they were estimated."""
        return self._families or FamilyEstimates.of(self.reports, self.network.parents)

    @property
    def privacy(self) -> PrivacyStatement:
        """What the respondents were promised."""
        return self.reports.privacy

    @property
    def n(self) -> int:
        """The reports behind all tables, each counted once."""
        return self.reports.n

    @property
    def simulated(self) -> int:
        """How many of them came from a simulation."""
        return self.reports.simulated

    @property
    def assumptions(self) -> dict[str, str]:
        """What must hold beside the reports, for every attribute that was not asked together with all its parents."""
        return {family.attribute: family.assumption for family in self.families.families if family.assumption}

    def redrawn(self, size: int, rng: Rng = None) -> Iterator[BayesianNetwork]:
        """Yield networks fitted to estimates as they might have come out, were this one the truth: a bootstrap.

        The errors are normal, with the covariance of the reports of all tables; what tables have in common is in it.
        Everything else is done again, smoothing too. It is drawn towards an attribute's own proportions each time, so
        that the networks scatter less than estimates do: intervals are those of `query` and `to_frame`.

        Parameters
        ----------
        size : int
            How many.
        rng : seed or numpy Generator, optional
        """
        moved = self.families.deviations(at_least(size, 1, "size", most=MOST_DRAWN), generator(rng))
        pairs = zip(self.families.families, moved, strict=True)
        cells = [self.network.joint(family.domain.names).ravel() + errors for family, errors in pairs]
        yield from _networks(self.families, cells, self.smoothing, self.reports)

    def query(
        self,
        of: str | Iterable[str],
        given: Mapping[str, Category] | None = None,
        *,
        n_resamples: int = 200,
        rng: Rng = 0,
    ) -> QueryResult:
        """Return the probabilities of some attributes' categories, given those of others, with intervals.

        Parameters
        ----------
        of, given, n_resamples, rng
            As in `ldpstats.networks.query`.
        """
        from ldpstats.networks.queries import query

        return query(self, of, given, n_resamples=n_resamples, rng=rng)

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per parameter: its probability, and the interval that the reports tell of it.

        Intervals are those of `Table.conditional`, for all that reports tell about the attribute and its parents, or
        under the assumption that is named. They are of the reports, and reach as far as the probability, which may have
        been averaged with others. `respondents` says how many would know the row as well without noise, and `weight`
        for how many the attribute's own proportions count.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals, each by itself.
        """
        ordered = {family.attribute: position for position, family in enumerate(self.families.families)}
        parts = [self._frame_of(ordered[name], alpha) for name in self.network.domain.names]
        return pd.concat(parts, ignore_index=True)

    def _frame_of(self, position: int, alpha: float) -> pd.DataFrame:
        family = self.families.families[position]
        rows = RowsOfFamily.of(self.families, position, family.cells[None], self.smoothing)
        table = self.table_of(family)
        limits, shown = self._limits(family, alpha), table.ravel()
        # probabilities are smoothed, and intervals are those of what the reports say: they reach as far
        limits = np.stack([np.minimum(limits[:, 0], shown), np.maximum(limits[:, 1], shown)], axis=-1)
        index = family.domain.index()
        return pd.DataFrame(
            {
                "attribute": family.attribute,
                "category": index.get_level_values(0).astype(object),
                "given": [in_words(dict(zip(family.parents, labels[1:], strict=True))) for labels in index],
                "probability": shown,
                "lower": limits[:, 0],
                "upper": limits[:, 1],
                "respondents": np.tile(rows.respondents[0], len(table)),
                "weight": float(rows.weight[0]),
                "assumption": family.assumption,
            }
        )

    def table_of(self, family: Family) -> FloatArray:
        """Return the network's table of a family, with axes in the order of this.

        Parameters
        ----------
        family : Family
        """
        own = self.network.parents[family.attribute]
        axes = [0, *(1 + own.index(parent) for parent in family.parents)]
        return self.network.tables[family.attribute].transpose(axes)

    def _limits(self, family: Family, alpha: float) -> FloatArray:
        """Return the intervals of a family's proportions, in the order of its cells."""
        if family.assumption:
            table = reconstruct(self.reports, family.domain.names, MAXIMUM_ENTROPY)
        else:
            table = self.reports.pooled(family.domain.names)
        if not family.parents:
            intervals: FloatArray = table.conf_int(alpha)
        else:
            limits = table.conditional(family.attribute, given=list(family.parents)).conf_int(alpha)
            intervals = np.moveaxis(limits, -2, 0).reshape(-1, 2)
        clipped: FloatArray = np.clip(intervals, 0, 1)
        return clipped

    def summary(self) -> Summary:
        """Return how the network was fitted, and what its parameters rest on."""
        asked = len(self.families.families) - len(self.assumptions)
        weights = [
            float(RowsOfFamily.of(self.families, position, family.cells[None], self.smoothing).weight[0])
            for position, family in enumerate(self.families.families)
            if family.parents
        ]
        facts = {
            "Reports": f"{self.n:,}",
            "Attributes": str(len(self.network.domain)),
            "Edges": str(len(self.network.edges)),
            "Asked together with all parents": f"{asked} of {len(self.families.families)} attributes",
            "Smoothing": _smoothing_in_words(self.smoothing, weights),
            "Privacy": self.privacy.lines(),
        }
        named = list(self.assumptions.items())[:_NAMED]
        more = len(self.assumptions) - len(named)
        sentences = [
            *(f"{name} and its parents were not asked together; assumes: {words}." for name, words in named),
            *([f"{more} more attributes rest on such assumptions; to_frame() names them."] if more else []),
            *([f"In the covariance, {self.families.bound}."] if self.families.bound else []),
            "Edges are taken as given: intervals do not allow for others.",
            ASSUMED,
            *self.reports.channel_fit().warning,
        ]
        title = f"Parameters of a Bayesian network{simulation(self.simulated, self.n)}"
        return summary_of_facts(title, facts, sentences)

    @property
    def headline(self) -> str:
        """How large the network is, how much of it rests on assumptions, and from how many reports it is."""
        size, assuming = self.network.headline, len(self.assumptions)
        told = f", {assuming} attribute{'s' * (assuming != 1)} under an assumption" if assuming else ""
        return f"{size}{told}, n = {self.n:,}{simulation(self.simulated, self.n)}"

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return the network and its parameters as plain values.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        names = "network parameters level smoothing assumptions n privacy simulated channel_fit=reports.channel_fit"
        parameters = plain_rows(self.to_frame(alpha))
        return plain_values(self, names, parameters=parameters, level=1 - significance(alpha))

    def picture(self) -> NetworkGraph:
        """Return the graph of the fitted network; edges to attributes under an assumption have their own colour."""
        shown, assumed = self.network.picture(), self.assumptions
        edges = [
            replace(edge, kind=_ASSUMED if edge.second in assumed else _TOLD) if assumed else edge
            for edge in shown.edges
        ]
        title = f"Fitted network of {len(self.network.domain)} attributes{simulation(self.simulated, self.n)}"
        notes = tuple(self.reports.channel_fit().warning)
        return replace(shown, title=title, notes=notes, edges=tuple(sorted(edges, key=lambda edge: edge.kind != _TOLD)))


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfFamily:
    """The proportions of an attribute given its parents, for many estimates of their cells, and what smooths them."""

    rows: SmoothedRows  # as the cells have them
    margin: FloatArray  # own proportions averaged with even ones, shape (tables, categories)
    weight: FloatArray  # in respondents, shape (tables,); 0 without parents

    @classmethod
    def of(cls, families: FamilyEstimates, position: int, estimates: FloatArray, weight: float | None) -> RowsOfFamily:
        """Make estimates of a family's cells proper, shape (tables, cells), and divide them by their rows."""
        family, covariance = families.families[position], families.covariance_within(position)
        own, many = family.rows
        cells = family.proper(estimates, covariance).reshape(-1, own, many)
        within = covariance.reshape(own, many, own, many).sum(axis=(1, 3))
        alone = SmoothedRows.of(cells.sum(axis=2, keepdims=True), within)
        even = np.full((own, 1), 1 / own)
        margin = alone.towards(even, 0.0 if weight == 0 else _LEAST, 1 - 1 / own)[..., 0]
        if not family.parents:
            return cls(alone, margin, np.zeros(len(cells)))
        rows = SmoothedRows.of(cells, covariance)
        weights = rows.weight_of_margin(margin, _LEAST) if weight is None else np.full(len(cells), weight)
        return cls(rows, margin, weights)

    @property
    def respondents(self) -> FloatArray:
        """How many would know each row as well without noise, shape (tables, rows)."""
        return self.rows.respondents(answer_variance(self.margin))

    @property
    def tables(self) -> FloatArray:
        """The smoothed proportions, shape (tables, categories, rows)."""
        if self.rows.proportions.shape[-1] == 1:
            return self.margin[..., None]
        return self.rows.towards(self.margin[..., None], self.weight, answer_variance(self.margin))


def _networks(
    families: FamilyEstimates, estimates: Sequence[FloatArray], weight: float | None, tables: TableSet
) -> Iterator[BayesianNetwork]:
    """Yield the network of each set of estimates of the families' cells."""
    behind = progress(zip(families.families, estimates, strict=True), "smoothing", len(estimates), "attribute")
    fitted = {
        family.attribute: RowsOfFamily.of(families, position, cells, weight).tables.reshape(-1, *family.domain.shape)
        for position, (family, cells) in enumerate(behind)
    }
    domain = tables.domain.project([name for name in tables.domain.names if name in fitted])
    parents = {family.attribute: family.parents for family in families.families}
    for number in range(len(estimates[0])):
        yield BayesianNetwork(domain, parents, {name: own[number] for name, own in fitted.items()})


def in_words(given: Mapping[str, Category]) -> str:
    """Return the given categories as one text, such as 'sex = F, car = True'."""
    return ", ".join(f"{name} = {category}" for name, category in given.items())


def _smoothing_in_words(smoothing: float | None, weights: Sequence[float]) -> str:
    if not weights:
        return "none, as no attribute has parents"
    if smoothing == 0:
        return "none, but for rows that nobody seems to belong to"
    if smoothing is not None:
        return f"an attribute's own proportions count for {smoothing:g} respondents in each of its rows"
    return (
        f"an attribute's own proportions count for {min(weights):.3g} to {max(weights):.3g} respondents in each of its "
        f"rows (empirical Bayes)"
    )


def _parents_of(dag: object, tables: TableSet) -> dict[str, tuple[str, ...]]:
    """Return the parents of every attribute of a network, from whatever says them."""
    if isinstance(dag, (Mapping, BayesianNetwork)):
        given = {child: listed(own) for child, own in (dag if isinstance(dag, Mapping) else dag.parents).items()}
    elif callable(getattr(dag, "predecessors", None)) and callable(getattr(dag, "nodes", None)):
        given = {child: tuple(dag.predecessors(child)) for child in dag.nodes}  # type: ignore[attr-defined]  # checked
    else:
        raise LdpstatsError(
            f"a graph of type {type(dag).__name__}",
            "a networkx.DiGraph, or a mapping from attributes to their parents, such as {'ill': ['smoker']}",
        )
    everybody = dict.fromkeys([*given, *(parent for own in given.values() for parent in own)])
    known = tables.domain.project(everybody).names  # refuses others, and none at all
    return {name: given.get(name, ()) for name in known}
