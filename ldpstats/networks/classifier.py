"""Classifiers: a label predicted from features by a network fitted to privatized answers, naive Bayes or a tree."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from ldpstats.answers.columns import listed
from ldpstats.answers.frames import Frame, checked_frame
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.inference import AmongMany, conditional_independence_test
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.expected_accuracy import ExpectedAccuracy, expected_accuracies, label_posterior
from ldpstats.networks.interactions import ErrorAxes, information_of, interactions_of, posteriors
from ldpstats.networks.parameters import MOST_DRAWN, FittedParameters, fit_parameters
from ldpstats.networks.structure import Edge, table_about
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, at_least, significance, unweighted
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.pictures.graph import NetworkGraph
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.tables import Table, TableSet, checked_table_set
from ldpstats.tables.pooled import pooled_table
from ldpstats.tables.shared import overlapping


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classifier(Result):
    """A classifier that was fitted to reports, never to records.

    Parameters
    ----------
    name : str
        Which kind of classifier it is.
    label : str
        What it predicts.
    fitted : FittedParameters
        The network of label and features, with its conditional probabilities.
    assumption : str
        What the reports cannot tell and the classifier takes for granted.
    notes : tuple of str
        What else must be known of how it was made.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"ill": ["yes", "no"], "cough": ["yes", "no"], "fever": ["yes", "no"]})
    >>> protocol = ldp.SampledGroups(domain, epsilon=3.0, groups=[("cough", "ill"), ("fever", "ill")])
    >>> people = [30_000, 10_000, 10_000, 5_000, 2_000, 8_000, 10_000, 100_000]
    >>> classifier = ldp.naive_bayes(protocol.simulate(people, rng=1), "ill")
    >>> classifier
    <Classifier: Naive Bayes, ill from 2 features, n = 175,000 (simulated)>
    >>> patient = domain.decode([[0, 0, 0]])
    >>> classifier.predict_proba(patient).round(2)
    ill   yes    no
    0    0.97  0.03
    """

    _in_dict = "name label features assumption notes parameters=fitted"

    name: str
    label: str
    fitted: FittedParameters
    assumption: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.network.domain.project([self.label])

    @property
    def network(self) -> BayesianNetwork:
        """The joint distribution of label and features."""
        return self.fitted.network

    @property
    def features(self) -> tuple[str, ...]:
        """What it predicts from, in the order of the domain."""
        return tuple(name for name in self.network.domain.names if name != self.label)

    def predict(self, frame: Frame) -> pd.Series[Any]:
        """Return the most probable label of every record.

        Parameters
        ----------
        frame : DataFrame
            A column for every feature; others are ignored, that of the label too. A missing value, or a category that
            the domain does not know, is an error. For fewer features there is another classifier:
            `naive_bayes(tables, label, features=[...])`.
        """
        frame = checked_frame(frame)
        chosen = self._posterior(frame).argmax(axis=1)
        named = self.network.domain.project([self.label]).decode(chosen[:, None])[self.label]
        return named.set_axis(frame.index)

    def predict_proba(self, frame: Frame) -> pd.DataFrame:
        """Return how probable each label is for every record: a row per record, a column per category.

        Parameters
        ----------
        frame : DataFrame
            As for `predict`.
        """
        frame = checked_frame(frame)
        categories = pd.Index(self.network.domain.categories[self.label], name=self.label, dtype=object)
        return pd.DataFrame(self._posterior(frame), index=frame.index, columns=categories)

    def accuracy(self, frame: Frame) -> float:
        """Return the share of labelled records whose label is predicted.

        Parameters
        ----------
        frame : DataFrame
            A column for the label, and one for every feature. These records should not be among those that were asked.
        """
        label = self.network.domain.project([self.label])
        frame = checked_frame(frame)
        own = label.encode(frame)[:, 0]
        if not own.size:
            raise LdpstatsError("no records", "at least one labelled record")
        return float(np.mean(self._posterior(frame).argmax(axis=1) == own))

    def expected_accuracy(self, alpha: float = 0.05, n_resamples: int = 200, rng: Rng = None) -> ExpectedAccuracy:
        """Return the accuracy to be expected on people like the respondents, without any record.

        It is that of the classifier as it was fitted, in a population for which its assumption holds, with an interval
        for what the reports leave open. Beside it stand the accuracies of always naming the most frequent label, and
        of the best single feature, which the reports identify without an assumption.

        Where reports are few the interval of the classifier holds less often than it says: .86 ± .03 for a nominal .95
        of naive Bayes from 2,000 respondents at ε = 2, .96 ± .03 from 50,000.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        n_resamples : int
            How many times the reports are drawn anew.
        rng : int, numpy.random.Generator or None
            By default a seed that is taken from the fitted probabilities.
        """
        significance(alpha)
        size = at_least(n_resamples, 2, "n_resamples", most=MOST_DRAWN)
        tables = [self.network.tables[name] for name in sorted(self.network.tables)]
        seed = zlib.crc32(b"".join(np.sort(table, axis=None).tobytes() for table in tables))
        numbers = generator(seed if rng is None else rng)
        rules, accuracies = expected_accuracies(self.fitted, self.label, size, alpha, numbers)
        columns = {"accuracy": accuracies[:, 0], "lower": accuracies[:, 1], "upper": accuracies[:, 2]}
        beside = "; ".join(self.fitted.assumptions.values())
        assumed = ["", beside, f"{beside}; {self.assumption}" if beside else self.assumption]
        table = pd.DataFrame({"rule": [*rules, self.name], **columns, "assumption": assumed})
        reports = self.fitted.reports
        warning = tuple(reports.channel_fit().warning)
        return ExpectedAccuracy(table, self.label, alpha, size, reports.n, reports.simulated, reports.privacy, warning)

    def summary(self) -> Summary:
        """Return what the classifier predicts, from what, and what it rests on."""
        reports = self.fitted.reports
        edges = [f"{first} – {second}" for first, second in self.network.edges if self.label not in (first, second)]
        beside = self.fitted.assumptions.items()
        facts = {
            "Label": f"{self.label} ({len(self.network.domain.categories[self.label])} categories)",
            "Features": ", ".join(self.features),
            **({"Joined features": edges} if edges else {}),
            "Reports": f"{reports.n:,}{simulation(reports.simulated, reports.n)}",
            "Privacy": reports.privacy.lines(),
        }
        sentences = [
            f"Assumed: {self.assumption}.",
            *(f"{name} was not asked together with {self.label}; assumes: {words}." for name, words in beside),
            *self.notes,
            "expected_accuracy() says how often it is right if so; accuracy(frame) counts it on labelled records.",
            *reports.channel_fit().warning,
        ]
        return summary_of_facts(f"{self.name}, fitted to privatized answers", facts, sentences)

    @property
    def headline(self) -> str:
        """What it predicts, from how many features and reports."""
        reports = self.fitted.reports
        features = f"{len(self.features)} feature{'s' * (len(self.features) != 1)}"
        kind = simulation(reports.simulated, reports.n)
        return f"{self.name}, {self.label} from {features}, n = {reports.n:,}{kind}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per conditional probability, with the interval that the reports tell of it."""
        return self.fitted.to_frame()

    def picture(self) -> NetworkGraph:
        """Return the graph of label and features."""
        shown = self.fitted.picture()
        kind = simulation(self.fitted.simulated, self.fitted.n)
        notes = (f"assumes that {self.assumption}", *shown.notes)
        return replace(shown, title=f"{self.name}: {self.label} from features{kind}", notes=notes)

    def _posterior(self, frame: Frame) -> FloatArray:
        domain = self.network.domain
        answers = domain.project(self.features).encode(frame)
        codes = np.insert(answers, domain.names.index(self.label), 0, axis=1)
        return label_posterior(self.network, self.label, codes)


@unweighted
def naive_bayes(tables: TableSet, label: str, *, features: Sequence[str] | None = None) -> Classifier:
    """Fit a naive Bayes classifier: every feature depends on the label, and on nothing else.

    What it takes are pairs of a feature's value and the label, encoded together before they are randomized (Yilmaz et
    al. 2019), or wider tables that hold both (Xue et al. 2019). Each report counts once; the label's frequencies are
    those of all reports about it.

    Parameters
    ----------
    tables : TableSet
        `SampledGroups(domain, epsilon=..., groups=[(feature, label), ...])` asks for no more than is needed.
    label : str
        What is to be predicted.
    features : sequence of str, optional
        From what; by default from all attributes that were asked together with the label.

    Returns
    -------
    Classifier

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, naive_bayes
    >>> domain = Domain({"ill": ["yes", "no"], "cough": ["yes", "no"], "fever": ["yes", "no"]})
    >>> protocol = SampledGroups(domain, epsilon=3.0, groups=[("cough", "ill"), ("fever", "ill")])
    >>> people = np.array([30, 10, 10, 5, 2, 8, 10, 100]) * 1000
    >>> classifier = naive_bayes(protocol.simulate(people, rng=1), "ill")
    >>> classifier.predict(domain.decode([[0, 0, 0], [0, 1, 1]])).tolist()
    ['yes', 'no']
    """
    known, notes = _asked_with(tables, label, features)
    fitted = fit_parameters(tables, dict.fromkeys(known, (label,)))
    assumption = f"features are independent of each other among people with the same {label}"
    return Classifier("Naive Bayes", label, fitted, assumption, notes)


def _asked_with(
    tables: TableSet, label: str, features: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features that were asked together with a label, in the domain's order, and a note if others were not.

    Features that are named must all have been asked so.
    """
    checked_table_set(tables)
    (label,) = tables.domain.project([label]).names
    together = {name for table in tables if label in table.attributes and table.n for name in table.attributes}
    others = tuple(name for name in tables.domain.names if name != label)
    if not others:
        raise LdpstatsError(f"tables about {label!r} alone", "tables about at least one feature as well")
    chosen = others if features is None else tables.domain.project(listed(features)).names
    if label in chosen:
        raise LdpstatsError(f"the label {label!r} among the features", "other attributes as features")
    lacking = [name for name in chosen if name not in together]
    if (lacking and features is not None) or len(lacking) == len(chosen):
        wanted = [(name, label) for name in lacking]
        raise NotIdentifiedError(
            f"no reports about {label!r} together with {one_line(lacking)}",
            "features that were asked together with the label",
            f"SampledGroups(domain, epsilon=..., groups=[{one_line(wanted)}]) asks for them.",
        )
    note = f"Not asked together with the label, and left out: {', '.join(lacking)}."
    return tuple(name for name in others if name in chosen and name in together), (note,) if lacking else ()


@unweighted
def tree_augmented(
    tables: TableSet, label: str, *, features: Sequence[str] | None = None, alpha: float = 0.05
) -> Classifier:
    """Fit a tree-augmented naive Bayes classifier (TAN): features may depend on one more feature each, along a tree.

    The tree is the maximum spanning tree by conditional mutual information given the label (Friedman et al. 1997),
    shrunken by an empirical-Bayes prior over all pairs; a pair is an edge only if its independence given the label is
    rejected (false discovery rate), so that the tree may fall apart, down to naive Bayes.

    Parameters
    ----------
    tables : TableSet
        Tables of two features and the label, or wider ones. Features that were never asked together with each other
        and the label cannot be joined.
    label, features
        As for `naive_bayes`.
    alpha : float
        The share of edges that may be wrong.

    Returns
    -------
    Classifier

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, tree_augmented
    >>> domain = Domain({"ill": ["yes", "no"], "cough": ["yes", "no"], "fever": ["yes", "no"]})
    >>> people = np.array([30, 10, 10, 5, 2, 8, 10, 100]) * 1000
    >>> triples = SampledGroups(domain, k=3, epsilon=3.0).simulate(people, rng=1)
    >>> classifier = tree_augmented(triples, "ill")
    >>> classifier.network.parents["fever"]
    ('cough', 'ill')
    """
    level = significance(alpha)
    known, notes = _asked_with(tables, label, features)
    if len(known) < 2:
        raise LdpstatsError(
            f"{one_line(known)} as the only feature",
            "two features or more, of which some may depend on others",
            "naive_bayes takes a single one.",
        )
    pooled = _asked_with_label(tables, label, known)
    naive = fit_parameters(tables, dict.fromkeys(known, (label,))).network
    shared = conditional_information(pooled, label, naive)
    shown = _shown_to_depend(pooled, label, level)
    above = _parents_in_tree(known, {pair: shared[pair] for pair in shown})
    parents = {name: (label, above[name]) if name in above else (label,) for name in known}
    fitted = fit_parameters(tables, parents)
    pairs = math.comb(len(known), 2)
    if len(pooled) < pairs:
        apart = f"{pairs - len(pooled)} of {pairs} pairs of features"
        notes += (f"{apart} were not asked together with {label}, and cannot be joined.",)
    joined = f"{len(above)} pairs are joined, their independence given {label} being rejected"
    notes += (f"{joined}; the direction is a choice.",)
    assumption = f"among people with the same {label} a feature depends on no other but its neighbours in the tree"
    return Classifier("Tree-augmented naive Bayes", label, fitted, assumption, notes)


def conditional_information(pooled: Mapping[Edge, Table], label: str, naive: BayesianNetwork) -> dict[Edge, float]:
    """Return the conditional mutual information of every pair of features given the label, in nats.

    Among people with the same label the interactions of two features are those of a two-way table, with the margins of
    naive Bayes. All of them share a prior.
    """
    shares = naive.tables[label]
    strata = []
    for (first, second), table in pooled.items():
        cells, covariance = table.unbiased.estimate.reshape(table.shape), table.unbiased.covariance
        indices = np.arange(cells.size).reshape(table.shape)
        for value, share in enumerate(shares):
            own = indices[..., value].ravel()
            margins = naive.tables[first][None, None, :, value], naive.tables[second][None, None, :, value]
            stratum = cells.ravel()[None, None, own] / share, covariance[None, None, own[:, None], own] / share**2
            strata.append((ErrorAxes.of_interactions(interactions_of(*stratum, *margins)), margins))
    behind = posteriors([axes for axes, _ in strata])
    nats = [information_of(mean, *both).item() for (mean, _), (_, both) in zip(behind, strata, strict=True)]
    averaged: FloatArray = np.reshape(nats, (len(pooled), shares.size)) @ shares
    return dict(zip(pooled, averaged.tolist(), strict=True))


def _asked_with_label(tables: TableSet, label: str, features: Sequence[str]) -> dict[Edge, Table]:
    """Return the tables of two features and the label, by pair of features, as far as reports identify them.

    They are by tables that hold all three; where there are none, by all reports. Others tell about their margins only,
    and would make every test many times as long.
    """
    asked: dict[Edge, Table] = {}
    for pair in combinations(features, 2):
        holding = [table for table in tables if table.n and {*pair, label} <= {*table.attributes}]
        if holding:
            asked[pair] = pooled_table(holding, tables.domain.project((*pair, label)), tables.privacy)
        elif table := table_about(tables, (*pair, label)):
            asked[pair] = table
    if not asked:
        wanted = [(*pair, label) for pair in combinations(features, 2)]
        raise NotIdentifiedError(
            f"no reports about {label!r} together with two features",
            "tables of two features and the label",
            f"SampledGroups(domain, epsilon=..., groups=[{one_line(wanted)}]) asks for them; naive_bayes needs pairs "
            "alone.",
        )
    return asked


def _shown_to_depend(pooled: Mapping[Edge, Table], label: str, alpha: float) -> list[Edge]:
    """Return the pairs whose independence given the label is rejected at the false discovery rate `alpha`.

    Where χ² is in doubt p-values are found by drawn tables, which takes long, and is done for those alone that would be
    rejected otherwise: no more can be in the end.
    """
    from scipy.stats import false_discovery_control

    dependent: Literal["bh", "by"] = "by" if overlapping(list(pooled.values())) else "bh"
    tests, pvalues = AmongMany(len(pooled), alpha), np.zeros(len(pooled))
    for pvalue in ("asymptotic", tests):
        rejected = false_discovery_control(pvalues, method=dependent) <= alpha
        for index in np.flatnonzero(rejected):
            pair, table = list(pooled.items())[index]
            pvalues[index] = conditional_independence_test(table, *pair, given=label, pvalue=pvalue).pvalue
    adjusted = false_discovery_control(pvalues, method=dependent)
    return [pair for pair, kept in zip(pooled, adjusted <= alpha, strict=True) if kept]


def _parents_in_tree(features: Sequence[str], weights: Mapping[Edge, float]) -> dict[str, str]:
    """Return the parents of features in the maximum spanning forest, each tree rooted at the first of its names."""
    from networkx import Graph, bfs_predecessors, connected_components, maximum_spanning_tree

    graph: Graph[str] = Graph()
    # by name, so that of equal weights the order of columns decides nothing
    graph.add_nodes_from(sorted(features))
    for pair in sorted(weights, key=sorted):
        graph.add_edge(*sorted(pair), weight=weights[pair])
    forest = maximum_spanning_tree(graph)
    roots = [min(component) for component in connected_components(forest)]
    return {name: parent for root in roots for name, parent in bfs_predecessors(forest, root)}
