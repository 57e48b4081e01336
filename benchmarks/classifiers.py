"""Classifiers from privatized answers: accuracy on held-out records, beside open records, and beside what they expect.

    python benchmarks/classifiers.py        all parts, about half an hour on two processors
    python benchmarks/classifiers.py 3      the same with 3 repetitions

1. Every respondent answers one pair of a feature and the label (naive Bayes), or one triple of two features and the
   label (tree-augmented), through "auto" mechanisms, at a strict total level ε. Beside the accuracy on 50,000 held-out
   records stands the one that the classifier expects, which takes its assumption for granted. For comparison: naive
   Bayes that counts all n raw records, which nobody has, and always naming the most frequent label.
2. Populations in which features are independent given the label: how often the interval holds the accuracy that the
   classifier really has, at .95, and the bias of the estimate and of what the fitted network believes.

Seeds are 0, 1, 2, ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import combinations, product
from multiprocessing import Pool

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.classifier import naive_bayes, tree_augmented
from ldpstats.networks.expected_accuracy import label_posterior

LABELS = {"child": "Disease", "asia": "dysp"}
SIZES, LEVELS, HELD_OUT, REPETITIONS = (100_000, 1_000_000), (1.0, 2.0, 4.0), 50_000, 10
COVERAGE, POPULATIONS = 0.95, 300
STAR = ldp.Domain({"label": range(3), **{name: range(3) for name in "abcdef"}})


def groups_about(label: str, names: Iterable[str], features: int) -> list[tuple[str, ...]]:
    """Return the groups of so many features and the label."""
    return [(*own, label) for own in combinations([name for name in names if name != label], features)]


def counted(train: pd.DataFrame, test: pd.DataFrame, label: str) -> float:
    """Return the accuracy of naive Bayes that counts raw records, with one more in every cell."""
    shares = train[label].value_counts(normalize=True)
    logarithms = pd.DataFrame(np.log(np.tile(shares, (len(test), 1))), index=test.index, columns=shares.index)
    for name in train.columns.drop(label):
        together = pd.crosstab(train[name], train[label])[shares.index] + 1
        together = together.reindex(sorted({*train[name], *test[name]}), fill_value=1)
        logarithms += np.log(together / together.sum()).loc[test[name]].to_numpy()
    return float((logarithms.idxmax(axis=1) == test[label]).mean())


def compared(case: tuple[str, int, int]) -> list[dict[str, object]]:
    """Return a row per classifier and level."""
    name, n, seed = case
    net, label = network(name), LABELS[name]
    train, test = net.sample(n, rng=seed), net.sample(HELD_OUT, rng=seed + 10**6)
    open_records = {
        "most frequent label": float((test[label] == train[label].mode()[0]).mean()),
        "naive Bayes of raw records": counted(train, test, label),
    }
    rows: list[dict[str, object]] = [
        {"data": name, "n": n, "ε": np.nan, "classifier": one, "accuracy": found} for one, found in open_records.items()
    ]
    for epsilon, (kind, fit, features) in product(
        LEVELS, (("naive Bayes, pairs", naive_bayes, 1), ("tree-augmented, triples", tree_augmented, 2))
    ):
        asked = groups_about(label, net.domain.names, features)
        protocol = ldp.SampledGroups(net.domain, epsilon=epsilon, groups=asked)
        classifier = fit(protocol.simulate(train, rng=seed + 2 * 10**6), label)
        expected = classifier.expected_accuracy(n_resamples=100, rng=seed)
        rows.append(
            {
                "data": name,
                "n": n,
                "ε": epsilon,
                "classifier": kind,
                "accuracy": classifier.accuracy(test),
                **dict(zip(("expected", "lower", "upper"), (expected.estimate, *expected.conf_int()), strict=True)),
                "joined": sum(label not in edge for edge in classifier.network.edges),
            }
        )
    return rows


def population(seed: int) -> BayesianNetwork:
    """Draw a network in which features are independent given the label."""
    rng = np.random.default_rng(seed)
    given = {name: rng.dirichlet(np.full(3, 4.0), 3).T for name in "abcdef"}
    parents: dict[str, tuple[str, ...]] = {"label": (), **dict.fromkeys("abcdef", ("label",))}
    return BayesianNetwork(STAR, parents, {"label": rng.dirichlet(np.full(3, 4.0)), **given})


def accuracy_in(truth: BayesianNetwork, fitted: BayesianNetwork) -> float:
    """Return the probability that a fitted network is right where another is the truth, going through all records."""
    codes = np.argwhere(np.ones(STAR.shape))
    chosen = label_posterior(fitted, "label", codes).argmax(axis=1)
    return float(truth.joint(STAR.names).ravel()[codes[:, 0] == chosen].sum())


def covered(case: tuple[int, float, int]) -> dict[str, object]:
    """Return what one classifier expects, and what it has."""
    n, epsilon, seed = case
    truth = population(seed)
    people = np.random.default_rng(seed).multinomial(n, truth.joint(STAR.names).ravel()).reshape(STAR.shape)
    protocol = ldp.SampledGroups(STAR, epsilon=epsilon, groups=groups_about("label", STAR.names, 1))
    classifier = naive_bayes(protocol.simulate(people, rng=seed), "label")
    found = classifier.expected_accuracy(alpha=1 - COVERAGE, n_resamples=200, rng=seed)
    own, (lower, upper) = accuracy_in(truth, classifier.network), found.conf_int()
    return {
        "n": n,
        "ε": epsilon,
        "covered": float(lower <= own <= upper),
        "width": upper - lower,
        "bias": found.estimate - own,
        "bias of belief": accuracy_in(classifier.network, classifier.network) - own,
    }


def summarized(rows: Iterable[dict[str, object]], by: list[str]) -> pd.DataFrame:
    """Return the mean of every figure, with its standard error."""
    grouped = pd.DataFrame(list(rows)).groupby(by, sort=False, dropna=False)
    means, errors = grouped.mean(), grouped.sem()
    shown = means.map("{:.3f}".format) + errors.map(" ± {:.3f}".format)
    return shown.where(means.notna(), "").reset_index()


def main(repetitions: int = REPETITIONS, populations: int = POPULATIONS) -> None:
    """Print both parts."""
    with Pool(2) as pool:
        parts = pool.map(compared, [*product(LABELS, SIZES, range(repetitions))], chunksize=1)
        print(f"Accuracy on {HELD_OUT:,} held-out records, mean of {repetitions} repetitions ± standard error")
        found = summarized((row for part in parts for row in part), ["data", "n", "ε", "classifier"])
        print(found.to_string(index=False), "\n")
        cases = [*product((5000, 100_000, 1_000_000), LEVELS, range(populations))]
        print(f"Intervals at {COVERAGE} of {populations} populations with features independent given the label")
        print(summarized(pool.map(covered, cases), ["n", "ε"]).to_string(index=False))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
