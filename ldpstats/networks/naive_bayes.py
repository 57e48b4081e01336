"""Naive Bayes classifiers, and those whose features are joined in a tree, from tables of features with the label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.inference import AmongMany, conditional_independence_test
from ldpstats.networks.asked_together import AskedTogether
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.classifier import Classifier
from ldpstats.networks.interactions import ErrorAxes, information_of, interactions_of, posteriors
from ldpstats.networks.parameters import fit_parameters
from ldpstats.networks.structure import Edge
from ldpstats.numbers.arrays import FloatArray, significance, unweighted
from ldpstats.tables import Table, TableSet, checked_table_set
from ldpstats.tables.pooled import pooled_table
from ldpstats.tables.shared import overlapping


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
    known, left_out = features_with(tables, label, features)
    fitted = fit_parameters(tables, dict.fromkeys(known, (label,)))
    assumption = f"features are independent of each other among people with the same {label}"
    return Classifier("Naive Bayes", label, fitted, assumption, notes_on_others(left_out, features is None))


def notes_on_others(left_out: Sequence[str], by_default: bool) -> tuple[str, ...]:
    """Name the attributes that were left out because they were not asked together with the label."""
    return (
        (f"Not asked together with the label, and left out: {', '.join(left_out)}.",) if left_out and by_default else ()
    )


def features_with(
    tables: TableSet, label: str, features: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features that were asked together with a label, and all other attributes, in the domain's order.

    Features that are named must all have been asked so.
    """
    checked_table_set(tables)
    (label,) = tables.domain.project([label]).names
    together = {name for table in tables if label in table.attributes and table.n for name in table.attributes}
    others = [name for name in tables.domain.names if name != label]
    if not others:
        raise LdpstatsError(f"tables about {label!r} alone", "tables about at least one feature as well")
    chosen = others if features is None else _named(tables, label, features)
    lacking = [name for name in chosen if name not in together]
    if (lacking and features is not None) or len(lacking) == len(chosen):
        wanted = [(name, label) for name in lacking]
        raise NotIdentifiedError(
            f"no reports about {label!r} together with {one_line(lacking)}",
            "features that were asked together with the label",
            f"SampledGroups(domain, epsilon=..., groups=[{one_line(wanted)}]) asks for them.",
        )
    known = tuple(name for name in others if name in chosen and name in together)
    return known, tuple(name for name in others if name not in known)


def _named(tables: TableSet, label: str, features: Sequence[str]) -> tuple[str, ...]:
    chosen = tables.domain.project(listed(features)).names
    if label in chosen:
        raise LdpstatsError(f"the label {label!r} among the features", "other attributes as features")
    return chosen


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
    known, left_out = features_with(tables, label, features)
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
    notes = [*notes_on_others(left_out, features is None), *_notes(label, len(known), len(pooled), len(above))]
    assumption = f"among people with the same {label} a feature depends on no other but its neighbours in the tree"
    return Classifier("Tree-augmented naive Bayes", label, fitted, assumption, tuple(notes))


def conditional_information(pooled: Mapping[Edge, Table], label: str, naive: BayesianNetwork) -> dict[Edge, float]:
    """Return the conditional mutual information of every pair of features given the label, in nats.

    Among people with the same label the interactions of two features are those of a two-way table, with the margins of
    naive Bayes. All of them share a prior.
    """
    shares = naive.tables[label]
    strata = []
    for (first, second), table in pooled.items():
        cells, spread = table.unbiased.estimate.reshape(table.shape), table.unbiased.covariance
        places = np.arange(cells.size).reshape(table.shape)
        for value, share in enumerate(shares):
            own = places[..., value].ravel()
            margins = naive.tables[first][None, None, :, value], naive.tables[second][None, None, :, value]
            stratum = cells.ravel()[None, None, own] / share, spread[None, None, own[:, None], own] / share**2
            strata.append((ErrorAxes.of_interactions(interactions_of(*stratum, *margins)), margins))
    behind = posteriors([one for one, _ in strata])
    nats = [information_of(mean, *both).item() for (mean, _), (_, both) in zip(behind, strata, strict=True)]
    averaged: FloatArray = np.reshape(nats, (len(pooled), shares.size)) @ shares
    return dict(zip(pooled, averaged.tolist(), strict=True))


def _asked_with_label(tables: TableSet, label: str, features: Sequence[str]) -> dict[Edge, Table]:
    """Return the tables of two features and the label, by pair of features, as far as reports identify them."""
    pairs, together = list(combinations(features, 2)), AskedTogether(tables)
    found = {pair: _of_a_triple(tables, (*pair, label), together) for pair in pairs}
    asked = {pair: table for pair, table in found.items() if table is not None}
    if not asked:
        wanted = [(*pair, label) for pair in pairs]
        raise NotIdentifiedError(
            f"no reports about {label!r} together with two features",
            "tables of two features and the label",
            f"SampledGroups(domain, epsilon=..., groups=[{one_line(wanted)}]) asks for them; naive_bayes needs pairs "
            "alone.",
        )
    return asked


def _of_a_triple(tables: TableSet, attributes: tuple[str, ...], together: AskedTogether) -> Table | None:
    """Return the table of three attributes by tables that hold them; where there are none, by all reports.

    Others tell about their margins only, and would make every test many times as long.
    """
    holding = [one for one in tables if one.n and {*attributes} <= {*one.attributes}]
    if not holding:
        return together.table(attributes)
    return pooled_table(holding, tables.domain.project(attributes), tables.privacy)


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
        for place in np.flatnonzero(rejected):
            pair, table = list(pooled.items())[place]
            pvalues[place] = conditional_independence_test(table, *pair, given=label, pvalue=pvalue).pvalue
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


def _notes(label: str, features: int, asked: int, joined: int) -> list[str]:
    """Say how the tree was found."""
    pairs = features * (features - 1) // 2
    apart = f"{pairs - asked} of {pairs} pairs of features were not asked together with {label}, and cannot be joined."
    found = f"{joined} pairs are joined, their independence given {label} being rejected; the direction is a choice."
    return [*([apart] if asked < pairs else []), found]
