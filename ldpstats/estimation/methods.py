"""Estimators of one tally by name: maximum likelihood, iterative Bayesian update, post-processing of the unbiased one.

Another estimator is a function of a tally and its unbiased estimate, and a line in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation.em import Fitted
from ldpstats.estimation.estimate import Estimate
from ldpstats.estimation.likelihood import expectation_maximization, iterative_bayesian_update, krr_mle
from ldpstats.estimation.postprocessing import POST_PROCESSING, NoiseVariance, PostProcessing
from ldpstats.estimation.shown_values import (
    counted_values,
    picture_of_values,
    refuse_many_tables,
    refuse_other_names,
    reports_in_sentences,
    summary_of_values,
)
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import Picture, Result, Summary
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProcessedEstimate(Result):
    """Frequencies better behaved than unbiased ones, at the price of a bias, which the method's own function states."""

    _in_dict = "estimate method n simulated privacy iterations=fitted.iterations converged=fitted.converged"

    estimate: FloatArray  # shape (..., cells)
    method: str
    n: Count
    privacy: PrivacyStatement | None = None
    simulated: Count = 0
    fitted: Fitted | None = None  # of an iterative method
    names: tuple[str, ...] = ()  # of the cells, where these are known

    def __post_init__(self) -> None:
        refuse_other_names(self.names, self.estimate.shape[-1] if self.estimate.ndim else 0)

    @property
    def covariance(self) -> NoReturn:
        """There is none: its errors are no longer centred at the truth."""
        self._refuse("a covariance matrix")

    @property
    def std_err(self) -> NoReturn:
        """There is none."""
        self._refuse("standard errors")

    def conf_int(self, alpha: float = 0.05) -> NoReturn:
        """There is none."""
        self._refuse(f"intervals (alpha = {alpha!r})")

    def to_frame(self, index: pd.Index | None = None) -> pd.DataFrame:
        """Return a row per cell, by its name if that is known."""
        refuse_many_tables(self.estimate)
        known = pd.Index(self.names, name="value") if self.names else None
        return pd.DataFrame({"estimate": self.estimate}, index=known if index is None else index)

    @property
    def headline(self) -> str:
        """Of how many values the frequencies are, from how many reports, and how they were found."""
        promised = [] if self.privacy is None else [self.privacy.headline]
        counted = counted_values(self.estimate, self.n, self.simulated)
        return "; ".join([f"{counted}, by {self.method} (biased, no intervals)", *promised])

    def summary(self) -> Summary:
        """Return the frequencies as a table that can be read aloud, and how they were found."""
        title = f"Frequencies, by {self.method}, of {counted_values(self.estimate, self.n, self.simulated)}"
        sentences = [
            *reports_in_sentences(self.n, self.privacy),
            f"Found by {self.method}, which is biased, and so without standard errors and intervals.",
            "Unbiased frequencies have them: call estimate without a method.",
            *self._iterations(),
        ]
        return summary_of_values(title, self.estimate, self.names, {}, sentences)

    def _iterations(self) -> list[str]:
        if self.fitted is None:
            return []
        made, rise = f"{self.fitted.iterations:,} iterations", f"{self.n * self.fitted.gap:.2g}"
        ended = f"{made}, which converged" if self.fitted.converged else f"NOT CONVERGED after {made}"
        return [f"{ended}; the log-likelihood could still rise by at most {rise}."]

    def picture(self) -> Picture:
        """Return the frequencies, as `plot` draws them; they have no intervals."""
        refuse_many_tables(self.estimate)
        none, said = np.full((self.estimate.size, 2), np.nan), f"by {self.method}: biased, and so without intervals"
        return picture_of_values(self.estimate, none, self.names, (self.simulated, self.n), said)

    def _refuse(self, what: str) -> NoReturn:
        raise LdpstatsError(
            f"{what} of a biased estimate ({self.method})",
            "unbiased estimates",
            "Call estimate without a method, and take the intervals from there.",
        )


def _most_likely(tally: Tally, _unbiased: Estimate) -> FloatArray | Fitted:
    if not tally.noise.has_likelihood:
        raise _says_too_little("mle", tally)
    if tally.noise.truth_or_fake is not None:
        return krr_mle(tally.noise.truth_or_fake, tally.counts)
    return expectation_maximization(tally.noise, tally.counts)


def _iterative_bayesian_update(tally: Tally, _unbiased: Estimate) -> Fitted:
    if tally.noise.channel is None and tally.noise.own_and_common is None:
        raise _says_too_little("ibu", tally)
    return iterative_bayesian_update(tally.counts, tally.noise)


def _says_too_little(method: str, tally: Tally) -> LdpstatsError:
    return LdpstatsError(
        f"method = {method!r} on counts of {type(tally.noise).__name__}",
        "counts that are all that the reports say about frequencies",
        "Give the reports themselves for 'mle'; 'ibu' is defined for supports and single outputs.",
    )


TallyEstimator: TypeAlias = Callable[[Tally, Estimate], FloatArray | Fitted]
"""From a tally and its unbiased estimate to frequencies, or to a fit by iteration."""


def _post_processed(process: PostProcessing) -> TallyEstimator:
    return lambda _tally, unbiased: process(unbiased.estimate, NoiseVariance.of(unbiased))


METHODS: dict[str, TallyEstimator] = {
    "mle": _most_likely,
    "ibu": _iterative_bayesian_update,
    **{name: _post_processed(process) for name, process in POST_PROCESSING.items()},
}
"""`mle` is the maximum of the reports' own likelihood, `ibu` the paper's iterative Bayesian update; the others are
post-processing of the unbiased estimate."""
ALIASES = {"clip": "norm-mul", "simplex": "norm-sub", "em": "mle"}


def known_method(method: str) -> str:
    """Return the main name of a method, which may be "unbiased", one of `METHODS`, or an alias."""
    known = ["unbiased", *METHODS, *ALIASES]
    if method not in known:
        raise LdpstatsError(f"method = {method!r}", one_line(known, len(known)))
    return ALIASES.get(method, method)


def processed(tally: Tally, unbiased: Estimate, method: str) -> ProcessedEstimate:
    """Estimate by a method that needs no more than the counts and their unbiased estimate."""
    found = METHODS[method](tally, unbiased)
    frequencies, fitted = (found.frequencies, found) if isinstance(found, Fitted) else (found, None)
    return ProcessedEstimate(frequencies, method, tally.n, unbiased.privacy, tally.simulated, fitted)
