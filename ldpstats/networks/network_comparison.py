"""Comparison of a network with a reference: edges, equivalence classes, divergence and likelihood of records."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.orientation import cpdag_of, extension_of
from ldpstats.networks.structure import Edge
from ldpstats.numbers.arrays import at_least
from ldpstats.pictures.graph import DrawnEdge, NetworkGraph, outward
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.saving.registered import Amount, Count

if TYPE_CHECKING:
    from networkx import DiGraph, Graph


def compare_networks(learned: Any, truth: Any, records: Frame | None = None) -> NetworkComparison:
    """Compare a network with a reference network of the same attributes.

    Parameters
    ----------
    learned, truth : BayesianNetwork, LearnedNetwork, networkx graph or pgmpy model
        Of a graph, and of a model without tables, the edges alone are compared. A graph without directions has a
        skeleton, and no more. In a DiGraph an edge without direction stands in both: the class is that of its
        extensions, and one without any is refused. A learned network has the directions that are known.
    records : DataFrame, optional
        Records that neither network was learned from, for their likelihood.

    Returns
    -------
    NetworkComparison
        Edges in common and not, the structural Hamming distance (SHD), and the Kullback-Leibler divergence.

    Examples
    --------
    >>> import networkx as nx
    >>> from ldpstats import compare_networks
    >>> from ldpstats.datasets import network
    >>> learned = nx.DiGraph([("asia", "tub"), ("smoke", "lung"), ("smoke", "bronc"), ("smoke", "dysp")])
    >>> learned.add_nodes_from(["either", "xray"])
    >>> comparison = compare_networks(learned, network("asia"))
    >>> comparison.precision, comparison.recall, comparison.shd, comparison.extra
    (0.75, 0.375, 6, (('dysp', 'smoke'),))
    """
    own, reference = _described(learned, "the learned network"), _described(truth, "the reference")
    if {*own.skeleton} != {*reference.skeleton}:
        raise LdpstatsError(
            f"a network of {one_line(sorted(own.skeleton))} and a reference of {one_line(sorted(reference.skeleton))}",
            "two networks of the same attributes",
        )
    learned_edges, true_edges = ({_named(edge) for edge in described.skeleton.edges} for described in (own, reference))
    mine, theirs = own.network, reference.network
    divergence: float | None = None
    impossible: tuple[str, ...] = ()
    shd = None
    if own.cpdag is not None and reference.cpdag is not None:
        # pairs in which the two differ (Tsamardinos, Brown & Aliferis 2006)
        shd = len({_named(edge) for edge in {*own.cpdag.edges} ^ {*reference.cpdag.edges}})
    if mine is not None and theirs is not None:
        mine = _with_categories(mine, theirs.domain)
        divergence, impossible = _divergence(mine, theirs)
    return NetworkComparison(
        shared=tuple(sorted(learned_edges & true_edges)),
        missing=tuple(sorted(true_edges - learned_edges)),
        extra=tuple(sorted(learned_edges - true_edges)),
        shd=shd,
        divergence=divergence,
        impossible=impossible,
        records=None if records is None else _likelihood(mine, theirs, records),
        attributes=tuple(sorted(own.skeleton)),
    )


@dataclass(frozen=True, slots=True)
class RecordLikelihood:
    """The log-likelihood of the same records in two networks, in nats per record."""

    n: Count
    learned: float | None  # −inf if any record has probability 0, None without tables
    truth: float | None  # likewise
    impossible: Count  # records to which the learned network gives probability 0
    difference: float | None  # truth less learned, in the mean; None where either is not finite
    std_err: Amount | None

    def __post_init__(self) -> None:
        at_least(self.impossible, 0, "the impossible records", most=at_least(self.n, 1, "the records"))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NetworkComparison(Result):
    """How far a network is from a reference.

    Parameters
    ----------
    shared, missing, extra : tuple of (str, str)
        Edges without direction: those of both, those of the reference alone, those of the learned network alone.
    shd : int or None
        The structural Hamming distance: in how many pairs of attributes the two CPDAGs differ, whether by an edge or
        by its direction; None where a graph has no directions.
    divergence : float or None
        The Kullback-Leibler divergence from the reference to the learned network in nats, exact; infinite if the
        latter rules out what can be. None where there are no tables.
    impossible : tuple of str
        The attributes whose tables rule out what can be.
    records : RecordLikelihood or None
        How likely records are that neither was learned from.
    attributes : tuple of str
        All that the two networks are about.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.datasets import network
    >>> truth = network("survey")
    >>> people = truth.sample(20_000, rng=1)
    >>> tables = ldp.SampledGroups(truth.domain, epsilon=4.0).simulate(people, rng=1)
    >>> comparison = ldp.compare_networks(ldp.learn_network(tables, n_resamples=0), truth)
    >>> comparison.shared, comparison.missing
    ((('age', 'education'), ('education', 'occupation'), ('education', 'residence'), ('education', 'sex'),
    ('residence', 'transport')), (('occupation', 'transport'),))
    >>> comparison.precision, round(comparison.recall, 2), comparison.shd, round(comparison.divergence, 2)
    (1.0, 0.83, 6, 0.01)
    """

    _in_dict = (
        "precision recall f1 shd divergence records=records.n log_likelihood=records.learned "
        "true_log_likelihood=records.truth difference=records.difference std_err=records.std_err "
        "impossible_records=records.impossible"
    )

    shared: tuple[Edge, ...]
    missing: tuple[Edge, ...]
    extra: tuple[Edge, ...]
    shd: Count | None
    divergence: Amount | None
    impossible: tuple[str, ...]
    records: RecordLikelihood | None
    attributes: tuple[str, ...] = ()

    @property
    def precision(self) -> float:
        """The share of the edges found that are true; 1 if none was found."""
        return _share(len(self.shared), len(self.extra))

    @property
    def recall(self) -> float:
        """The share of the true edges that were found; 1 if there are none."""
        return _share(len(self.shared), len(self.missing))

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 if there are no edges, and none was found."""
        return _share(2 * len(self.shared), len(self.missing) + len(self.extra))

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a row, so that several comparisons make a table."""
        return pd.DataFrame([self.to_dict()])

    def summary(self) -> Summary:
        """Return the figures, and what they do not say."""
        true, learned = len(self.shared) + len(self.missing), len(self.shared) + len(self.extra)
        facts = {
            "Edges": f"{true} in the reference; {learned} found, {len(self.shared)} of them right",
            "Skeleton": f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}",
        }
        if self.shd is not None:
            facts["Structural Hamming distance"] = f"{self.shd} (of CPDAGs)"
        if self.divergence is not None:
            facts["Kullback-Leibler divergence"] = f"{self.divergence:.4g} nats, from the reference"
        if told := self.records:
            facts["Held-out records"] = f"{told.n:,}"
            for whose, mean in (("learned", told.learned), ("reference", told.truth)):
                if mean is not None:
                    facts[f"Log-likelihood per record, {whose}"] = f"{mean:.4f} nats"
            if told.difference is not None:
                error = "" if told.std_err is None else f" ± {told.std_err:.4f} (standard error)"
                facts["Lost by the learned network"] = f"{told.difference:.4f}{error}"
        return summary_of_facts("Comparison of a network with a reference", facts, list(self._sentences()))

    @property
    def headline(self) -> str:
        """How many edges are right, and how far the two are apart."""
        shd = "" if self.shd is None else f", structural Hamming distance {self.shd}"
        divergence = "" if self.divergence is None else f", divergence {self.divergence:.4g} nats"
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}{shd}{divergence}"

    def picture(self) -> NetworkGraph:
        """Return the edges of both networks, and those of one of them alone; directions are left out."""
        kinds = {
            **dict.fromkeys(self.shared, "in both"),
            **dict.fromkeys(self.missing, "in the reference alone: missed"),
            **dict.fromkeys(self.extra, "in the learned network alone: wrong"),
        }
        nodes = tuple(sorted({*self.attributes, *(name for edge in kinds for name in edge)}))
        edges = [DrawnEdge(*edge, kind=kinds[_named(edge)]) for edge in outward(nodes, kinds)]
        order = list(dict.fromkeys(kinds.values()))
        return NetworkGraph(
            "Comparison of a network with a reference",
            (self.headline,),
            nodes,
            tuple(sorted(edges, key=lambda edge: order.index(edge.kind))),
            plain="directions are not drawn",
        )

    def _sentences(self) -> Iterable[str]:
        if self.shd is None:
            yield "One of the graphs has no directions: the edges alone are compared."
        if self.impossible:
            yield (
                f"The learned tables of {', '.join(self.impossible)} give probability 0 to what the reference allows; "
                "smoothed tables would not."
            )
        if self.records is not None and self.records.impossible:
            yield (
                f"{self.records.impossible:,} of the records have probability 0 in the learned network, which makes "
                "the mean of the logarithms −inf."
            )


class _Described(NamedTuple):
    """A network's edges without direction, and its directions and tables as far as they are known."""

    skeleton: Graph[str]
    cpdag: DiGraph[str] | None
    network: BayesianNetwork | None


def _described(given: Any, what: str) -> _Described:
    from networkx import DiGraph, Graph, number_of_selfloops

    if isinstance(given, BayesianNetwork):
        return _Described(given.to_networkx().to_undirected(), cpdag_of(given.to_networkx()), given)
    if isinstance(getattr(given, "cpdag", None), DiGraph):
        return _Described(given.cpdag.to_undirected(), given.cpdag, getattr(given, "network", None))
    if getattr(given, "cpds", None):
        return _described(BayesianNetwork.from_pgmpy(given), what)
    plain = isinstance(given, Graph) and not given.is_multigraph() and not number_of_selfloops(given)
    if not plain or not all(isinstance(name, str) for name in given):
        raise LdpstatsError(
            f"{what} as a {type(given).__name__}",
            "a BayesianNetwork, what learn_network returns, a pgmpy model, or a networkx graph of attributes by name",
        )
    if not isinstance(given, DiGraph):
        return _Described(given, None, None)
    return _Described(given.to_undirected(), cpdag_of(extension_of(given)), None)


def _named(edge: Iterable[str]) -> Edge:
    first, second = sorted(edge)
    return first, second


def _with_categories(network: BayesianNetwork, domain: Domain) -> BayesianNetwork:
    """Return the same network with attributes and categories in the order of another domain."""
    tables = {}
    for name, own in network.parents.items():
        table = network.tables[name]
        for axis, attribute in enumerate((name, *own)):
            mine, theirs = network.domain.categories[attribute], domain.categories[attribute]
            if {*mine} != {*theirs}:
                raise LdpstatsError(
                    f"the categories {one_line(mine)} of {attribute!r} in the learned network",
                    f"those of the reference: {one_line(theirs)}",
                    "A BIF file holds texts: numbers and truth values come back as such.",
                )
            table = table.take([mine.index(value) for value in theirs], axis=axis)
        tables[name] = table
    return BayesianNetwork(domain, network.parents, tables)


def _divergence(learned: BayesianNetwork, truth: BayesianNetwork) -> tuple[float, tuple[str, ...]]:
    """Return the Kullback-Leibler divergence from the truth, and the attributes that make it infinite.

    It needs no more than the joint distribution of each family: tables are multiplied, so logarithms add up.
    """
    from scipy.special import xlogy

    total, impossible = 0.0, []
    for name in sorted(truth.domain.names):
        for network, sign in ((truth, 1), (learned, -1)):
            family = (name, *network.parents[name])
            expected = sign * float(xlogy(truth.joint(family), network.tables[name]).sum())
            total += expected
            if math.isinf(expected):
                impossible.append(name)
    # rounding of printed probabilities takes it below zero
    return max(total, 0.0), tuple(impossible)


def _likelihood(learned: BayesianNetwork | None, truth: BayesianNetwork | None, records: Frame) -> RecordLikelihood:
    if learned is None and truth is None:
        raise LdpstatsError("records for two graphs", "at least one network with tables")
    of_learned, of_truth = (None if model is None else model.log_likelihood(records) for model in (learned, truth))
    n = next(len(each) for each in (of_learned, of_truth) if each is not None)
    if not n:
        raise LdpstatsError("no records", "at least one")
    means = [None if own is None else float(own.mean()) for own in (of_learned, of_truth)]
    difference = std_err = None
    if of_learned is not None and of_truth is not None and np.isfinite([*of_learned, *of_truth]).all():
        difference = float((of_truth - of_learned).mean())
        std_err = float((of_truth - of_learned).std(ddof=1) / math.sqrt(n)) if n > 1 else None
    impossible = 0 if of_learned is None else int(np.isneginf(of_learned).sum())
    return RecordLikelihood(n, means[0], means[1], impossible, difference, std_err)


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 1.0
