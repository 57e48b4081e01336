"""Expected accuracy: how often a classifier that was fitted to reports will be right, as far as its model holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import pandas as pd

from ldpstats.answers.columns import refuse_other_columns
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.parameters import FittedParameters, fit_parameters
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, IntArray, at_least, real_array, significance
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count
from ldpstats.workers import each


def label_posterior(network: BayesianNetwork, label: str, codes: IntArray) -> FloatArray:
    """Return the posterior probabilities of a label's categories, shape (records, categories).

    Codes, shape (records, attributes), are in the order of the network's domain; what stands in the label's column
    plays no part. A record that has probability zero with every label has equal ones.
    """
    columns = {name: column for column, name in enumerate(network.domain.names)}
    values = {name: codes[:, [column]] for name, column in columns.items()}
    categories = len(network.domain.categories[label])
    values[label] = np.arange(categories)[None, :]
    logarithms = np.zeros((len(codes), categories))
    with np.errstate(divide="ignore"):
        for name, table in network.tables.items():
            family = (name, *network.parents[name])
            # what has nothing to do with the label is the same for all its categories
            if label in family:
                logarithms += np.log(table)[tuple(values[attribute] for attribute in family)]
    highest = logarithms.max(axis=1, keepdims=True)
    relative = np.exp(logarithms - np.where(np.isfinite(highest), highest, 0))
    relative = np.where(np.isfinite(highest), relative, 1.0)
    posterior: FloatArray = relative / relative.sum(axis=1, keepdims=True)
    return posterior


_RECORDS = 2000
"""Records that stand for the population of a network in every redraw."""
_MANY_RECORDS = 200_000
"""And of the network that was fitted."""

Accuracies: TypeAlias = FloatArray
"""Of the most frequent label, of the best single feature, and of all features together."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpectedAccuracy(Result):
    """The accuracy to be expected of a classifier, beside that of simpler rules.

    Parameters
    ----------
    table : DataFrame
        A row per rule: rule, accuracy, lower and upper limit, and what is assumed, which is nothing where the reports
        identify the accuracy.
    label : str
    alpha : float
        One minus the confidence of each interval.
    n_resamples : int
        How many times the reports were drawn anew.
    n : int
        The reports behind it.
    simulated : int
        How many of them came from a simulation.
    privacy : PrivacyStatement
    warning : tuple of str
        That reports do not fit their channel, if they do not.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"ill": ["yes", "no"], "cough": ["yes", "no"], "fever": ["yes", "no"]})
    >>> people = [300, 100, 100, 50, 20, 80, 100, 1000]
    >>> triples = ldp.SampledGroups(domain, k=3, epsilon=3.0).simulate(people, rng=1)
    >>> expected = ldp.naive_bayes(triples, "ill").expected_accuracy(n_resamples=20, rng=1)
    >>> expected.to_frame()[["rule", "accuracy", "lower", "upper"]].round(2)
                             rule  accuracy  lower  upper
    0         most frequent label      0.67   0.65   0.70
    1  best single feature: cough      0.85   0.84   0.88
    2                 Naive Bayes      0.85   0.83   0.87
    """

    _in_dict = "label alpha rules=table n_resamples n simulated privacy"

    table: pd.DataFrame
    label: str
    alpha: float
    n_resamples: Count
    n: Count
    simulated: Count
    privacy: PrivacyStatement
    warning: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_other_columns(self.table, ["rule", "assumption"], [])
        shares = [real_array(self.table.get(name, []), name) for name in ("accuracy", "lower", "upper")]
        # written so that a NaN fails
        if not all(column.size == len(self.table) and np.all((column >= 0) & (column <= 1)) for column in shares):
            raise LdpstatsError(f"the accuracies {one_line(self.table.columns.tolist())}", "shares from 0 to 1")
        object.__setattr__(self, "alpha", significance(self.alpha))
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the reports behind an accuracy"))

    @property
    def estimate(self) -> float:
        """The accuracy to be expected of the classifier itself."""
        return float(self.table["accuracy"].iloc[-1])

    def conf_int(self) -> tuple[float, float]:
        """Return the limits of that."""
        return float(self.table["lower"].iloc[-1]), float(self.table["upper"].iloc[-1])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per rule: rule, accuracy, limits, assumption."""
        return self.table.copy()

    def summary(self) -> Summary:
        """Return the accuracies as a table, and in sentences what they rest on."""
        level = f"{100 * (1 - self.alpha):g} %"
        rows = [
            [row["rule"], f"{row['accuracy']:.3f}", f"{row['lower']:.3f}", f"{row['upper']:.3f}"]
            for row in self.table.to_dict(orient="records")
        ]
        *simpler, assumption = self.table["assumption"]
        above = "The rows above assume less." if any(simpler) else "The rows above assume nothing."
        reports = f"{self.n:,} reports{simulation(self.simulated, self.n)}"
        sentences = [
            f"Accuracy to be expected of what was fitted to {reports}, by {self.n_resamples} redraws of the counts.",
            "By how much a fit overrates itself is taken off.",
            f"Assumed for the last row: {assumption}. The reports cannot tell whether that is so.",
            f"Where it is not, the accuracy may be lower. accuracy(frame) counts it on labelled records. {above}",
            *self.privacy.sentences(self.n),
            *self.warning,
        ]
        return summary_of_figures(
            f"Expected accuracy of predicting {self.label}",
            ["rule", "accuracy", f"{level} from", "to"],
            rows,
            sentences,
        )

    @property
    def headline(self) -> str:
        """The accuracy with its interval, and what it assumes."""
        lower, upper = self.conf_int()
        figures = f"{self.estimate:.3f} ({lower:.3f} to {upper:.3f})"
        kind = simulation(self.simulated, self.n)
        return f"{figures} of {self.label}{kind}, if {self.table['assumption'].iloc[-1]}"

    def picture(self) -> Intervals:
        """Return the accuracies of all rules with their intervals."""
        return Intervals(
            f"Expected accuracy of predicting {self.label}{simulation(self.simulated, self.n)}",
            (
                f"{100 * (1 - self.alpha):g} % intervals",
                f"the last if {self.table['assumption'].iloc[-1]}",
                *self.warning,
            ),
            tuple(self.table["rule"]),
            tuple(self.table["accuracy"]),
            tuple(self.table["lower"]),
            tuple(self.table["upper"]),
            "accuracy",
        )


def expected_accuracies(
    fitted: FittedParameters, label: str, size: int, alpha: float, rng: np.random.Generator
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the simpler rules, and the accuracies of them and of the network's own with limits, shape (3, 3).

    What a fitted network believes of the accuracy of its own rule is too high where noise raised a probability and the
    rule follows it, too low where smoothing has levelled what there is. So reports are drawn from the fitted network,
    and a network is fitted to them as the first one was: the mean error is taken off (Efron 1983). The limits are those
    of the basic bootstrap, with errors where the truth is one of the networks that the reports leave possible: these
    are not smoothed, as the truth may be far from even.
    """
    # the same uniform numbers for every network, so that records differ only where networks do
    seed = int(rng.integers(1 << 62))
    network = fitted.network
    rules = _rules(network, label)
    believed = _accuracies(network, label, rules, network, _MANY_RECORDS, seed)
    possible = fit_parameters(fitted.reports, fitted.network.parents, smoothing=0).redrawn(size, rng)
    redrawn = ((truth, *replace(fitted, network=truth).redrawn(1, rng)) for truth in possible)
    error = partial(_error, label=label, seed=seed)
    errors = np.array(each(error, redrawn, "drawing again", "network", size))
    others = ((fitted.network, drawn) for drawn in fitted.redrawn(size, rng))
    mean = np.mean(each(error, others, "drawing again", "network", size), axis=0)
    low, high = np.quantile(errors - errors.mean(axis=0), [1 - alpha / 2, alpha / 2], axis=0)
    accuracies = (believed - mean)[:, None] - np.stack([np.zeros_like(low), low, high], axis=1)
    return ("most frequent label", f"best single feature: {rules[1]}"), np.clip(accuracies, 0, 1)


def _error(networks: tuple[BayesianNetwork, BayesianNetwork], label: str, seed: int) -> Accuracies:
    """Return by how much the second network overrates the rules read off it, where the first is the truth."""
    truth, network = networks
    rules = _rules(network, label)
    believed, true = (_accuracies(network, label, rules, source, _RECORDS, seed) for source in (network, truth))
    return believed - true


def _rules(network: BayesianNetwork, label: str) -> tuple[int, str, IntArray]:
    """Return a network's most frequent label, the best single feature, and the label that each of its values shows."""
    features = [name for name in network.domain.names if name != label]
    joints = {name: network.joint((name, label)) for name in features}
    best = max(features, key=lambda name: (float(joints[name].max(axis=1).sum()), name))
    return int(network.joint([label]).argmax()), best, joints[best].argmax(axis=1)


def _accuracies(
    network: BayesianNetwork, label: str, rules: tuple[int, str, IntArray], truth: BayesianNetwork, size: int, seed: int
) -> Accuracies:
    """Return how often a network's rules, and all its features, are right where records are drawn from `truth`."""
    records = truth.sampled_codes(size, seed)
    frequent, feature, by_feature = rules
    joint = truth.joint((feature, label))
    single = float(joint[np.arange(len(joint)), by_feature].sum())
    chosen = label_posterior(network, label, records).argmax(axis=1)
    # the probability of being right instead of whether it is: half of the scatter is gone
    right = label_posterior(truth, label, records)[np.arange(len(records)), chosen]
    return np.array([float(truth.joint([label])[frequent]), single, float(right.mean())])
