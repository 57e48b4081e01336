"""Classifiers: predicting a label from features by a Bayesian network that was fitted to privatized answers."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.frames import Frame, checked_frame
from ldpstats.errors import LdpstatsError
from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.expected_accuracy import ExpectedAccuracy, expected_accuracies, label_posterior
from ldpstats.networks.parameters import MOST_DRAWN, FittedParameters
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, at_least, significance
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.pictures.graph import NetworkGraph
from ldpstats.presentation import Result, Summary, summary_of_facts


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
        rules, found = expected_accuracies(self.fitted, self.label, size, alpha, numbers)
        columns = {"accuracy": found[:, 0], "lower": found[:, 1], "upper": found[:, 2]}
        beside = "; ".join(self.fitted.assumptions.values())
        assumed = ["", beside, f"{beside}; {self.assumption}" if beside else self.assumption]
        table = pd.DataFrame({"rule": [*rules, self.name], **columns, "assumption": assumed})
        reports = self.fitted.reports
        warning = tuple(reports.channel_fit().warning)
        return ExpectedAccuracy(table, self.label, alpha, size, reports.n, reports.simulated, reports.privacy, warning)

    def summary(self) -> Summary:
        """Return what the classifier predicts, from what, and what it rests on."""
        reports = self.fitted.reports
        edges = [f"{one} – {other}" for one, other in self.network.edges if self.label not in (one, other)]
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
            *(f"{name} was not asked together with {self.label}; assumes: {one}." for name, one in beside),
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
        found = domain.project(self.features).encode(frame)
        codes = np.insert(found, domain.names.index(self.label), 0, axis=1)
        return label_posterior(self.network, self.label, codes)
