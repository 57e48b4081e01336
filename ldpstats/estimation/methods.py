"""Estimators by name: what `estimate(..., method=)` takes beside the unbiased one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import pandas as pd

from ldpstats.arrays import FloatArray
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation.estimate import Estimate
from ldpstats.estimation.likelihood import Fitted, expectation_maximization, iterative_bayesian_update, krr_mle
from ldpstats.estimation.postprocessing import POST_PROCESSING, NoiseVariance
from ldpstats.noise import MultinomialNoise, SupportNoise, Tally, TruthOrFake
from ldpstats.privacy import PrivacyStatement

ALIASES = {"clip": "norm-mul", "simplex": "norm-sub", "em": "mle"}
METHODS = ("unbiased", "mle", "ibu", *POST_PROCESSING, *ALIASES)
"""`mle` is the maximum of the reports' own likelihood, `ibu` the paper's iterative Bayesian update; the others are
post-processing of the unbiased estimate."""


@dataclass(frozen=True, slots=True, eq=False)
class ProcessedEstimate:
    """Frequencies that are better behaved than unbiased ones, at the price of a bias.

    Parameters
    ----------
    estimate : array, shape (..., cells)
    method : str
        How they were found; the function of that name says what it biases.
    n : int
        The reports behind them.
    fitted : Fitted, optional
        Of an iterative method: likelihood, iterations, and whether it converged.
    """

    estimate: FloatArray
    method: str
    n: int
    privacy: PrivacyStatement | None = None
    simulated: int = 0
    fitted: Fitted | None = None

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
        """Return a row per cell."""
        if self.estimate.ndim != 1:
            raise LdpstatsError(
                f"estimates of shape {self.estimate.shape}", "one table", "Take one estimate at a time."
            )
        return pd.DataFrame({"estimate": self.estimate}, index=index)

    def _refuse(self, what: str) -> NoReturn:
        raise LdpstatsError(
            f"{what} of a biased estimate ({self.method})",
            "unbiased estimates",
            "Call estimate without a method, and take the intervals from there.",
        )


def known_method(method: str) -> str:
    """Return the method's main name."""
    if method not in METHODS:
        raise LdpstatsError(f"method = {method!r}", one_line(list(METHODS), len(METHODS)))
    return ALIASES.get(method, method)


def processed(tally: Tally, unbiased: Estimate, method: str) -> ProcessedEstimate:
    """Estimate by a method that needs no more than the counts and their unbiased estimate."""
    noise, fitted = tally.noise, None
    if method in POST_PROCESSING:
        frequencies = POST_PROCESSING[method](unbiased.estimate, NoiseVariance.of(unbiased))
    elif method == "ibu" and isinstance(noise, (MultinomialNoise, SupportNoise)):
        fitted = iterative_bayesian_update(tally.counts, noise)
    elif method == "mle" and isinstance(noise, MultinomialNoise):
        if isinstance(noise.channel, TruthOrFake):
            frequencies = krr_mle(noise.channel, tally.counts)
        else:
            fitted = expectation_maximization(noise, tally.counts)
    else:
        raise LdpstatsError(
            f"method = {method!r} on counts of {type(noise).__name__}",
            "counts that are all that the reports say about frequencies",
            "Give the reports themselves for 'mle'; 'ibu' is defined for supports and single outputs.",
        )
    found = frequencies if fitted is None else fitted.frequencies
    return ProcessedEstimate(found, method, tally.n, unbiased.privacy, tally.simulated, fitted)
