"""Empirical lower bounds of ε: an event chosen in one sample of reports, and bounded by Clopper-Pearson in the next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import BoolArray, FloatArray
from ldpstats.numbers.randomness import Rng

_CHUNK_CELLS = 1 << 21
_THRESHOLDS = 64
_ROUNDING = 1e-8
_IMPOSSIBLE = -1e6
_STD_ERRORS, _STD_ERRORS_OF_BYTES = 3.0, 5.0
"""How many standard errors are subtracted, as the best is chosen: of some thresholds, of many bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Reports with their true values."""

    mechanism: Mechanism
    values: NDArray[np.int64]
    reports: NDArray[Any]
    simulated: bool

    @classmethod
    def drawn(cls, mechanism: Mechanism, values: Sequence[int], n: int, rng: Rng) -> Sample:
        """Privatize n values, as many of each."""
        known = np.resize(np.array(values, dtype=np.int64), n)
        reports = mechanism.privatize(known, rng)
        return cls(mechanism, known, reports.data, reports.simulated)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """Stored bytes of the reports, a row each."""
        return np.ascontiguousarray(self.reports).view(np.uint8).reshape(len(self.reports), -1)

    def log_likelihoods(self, values: Sequence[int]) -> FloatArray:
        """Return ln P(report | value) by the mechanism's own probabilities, up to a constant, a column per value."""
        noise = self.mechanism.noise
        step = max(1, _CHUNK_CELLS // max(self.mechanism.k, noise.outputs))
        reports, rows = self.reports, np.arange(len(self.reports))
        if reports.ndim == 1:  # numbers below k or so repeat themselves; rows hardly do
            reports, rows = np.unique(reports, return_inverse=True)
        with np.errstate(divide="ignore"):
            parts = [
                noise.log_likelihoods(self.mechanism.contributions(reports[start : start + step]))[:, list(values)]
                for start in range(0, len(reports), step)
            ]
        log_likelihoods: FloatArray = np.maximum(np.concatenate(parts), _IMPOSSIBLE)[rows]
        return log_likelihoods


@dataclass(frozen=True, slots=True)
class _LikelihoodRatioEvent:
    """Event that the mechanism's own log-likelihood ratio of a report is at least `log_odds`."""

    value: int
    rival: int
    level: float
    log_odds: float

    def happened(self, sample: Sample) -> BoolArray:
        log_likelihoods = sample.log_likelihoods((self.value, self.rival))
        return log_likelihoods[:, 0] - log_likelihoods[:, 1] >= self.log_odds

    def __str__(self) -> str:
        if self.log_odds > -_IMPOSSIBLE / 2:
            return f"are possible under {self.value} and not under {self.rival}, by the mechanism's own probabilities"
        odds = f"{math.exp(min(self.log_odds, 700)):.4g}"
        return (
            f"make {self.value} at least {odds} times as likely as {self.rival}, by the mechanism's own probabilities"
        )


@dataclass(frozen=True, slots=True)
class _ByteEvent:
    """Event that a stored report has a certain byte at a certain position."""

    value: int
    rival: int
    level: float
    position: int
    byte: int

    def happened(self, sample: Sample) -> BoolArray:
        holds: BoolArray = sample.bytes[:, self.position] == self.byte
        return holds

    def __str__(self) -> str:
        return f"have {self.byte} as byte number {self.position + 1}"


Event: TypeAlias = _LikelihoodRatioEvent | _ByteEvent
"""Property of a report that seems likelier under a value than under its rival, with a careful estimate of the level."""


def best_event(sample: Sample) -> Event:
    """Return the event with the highest conservative estimate of the level."""
    events: list[Event] = [*_likelihood_events(sample), *_byte_events(sample)]
    return max(events, key=lambda event: event.level)


def level_of(event: Event, sample: Sample, confidence: float) -> tuple[float, EventFrequencies]:
    """Return the level that an event shows in a sample that did not choose it, and how often it happened there."""
    happened = event.happened(sample)
    own, rival = (happened[sample.values == value] for value in (event.value, event.rival))
    outcome = EventFrequencies(int(own.sum()), own.size, int(rival.sum()), rival.size)
    return level_shown(outcome.hits, outcome.n, outcome.rival_hits, outcome.rival_n, confidence), outcome


@dataclass(frozen=True, slots=True)
class EventFrequencies:
    """How often an event happened among the reports of its value, and of the rival."""

    hits: int
    n: int
    rival_hits: int
    rival_n: int

    def power(self, level: float, claimed: float, confidence: float) -> float:
        """Return how likely so many reports show more than `claimed`, if `level` is the log-ratio of the probabilities.

        Their sum is taken as seen, and neither is above 1. All outcomes within nine standard deviations are added up.
        """
        from scipy.stats import binom

        together = (self.hits + 0.5) / (self.n + 1) + (self.rival_hits + 0.5) / (self.rival_n + 1)
        likely = min(together / (1 + math.exp(-level)), 1.0)
        rare = likely * math.exp(-level)
        hits, rivals = _range(self.n, likely), _range(self.rival_n, rare)
        least, most = _bounds(hits, self.n, rivals, self.rival_n, confidence)
        enough = np.searchsorted(most, least * math.exp(-claimed), side="left")
        below = np.concatenate([[0.0], np.cumsum(binom.pmf(rivals, self.rival_n, rare))])
        return float(np.clip(binom.pmf(hits, self.n, likely) @ below[enough], 0, 1))


def _range(n: int, probability: float) -> NDArray[np.int64]:
    reach = 9 * math.sqrt(n * probability * (1 - probability)) + 40
    return np.arange(max(0, math.floor(n * probability - reach)), min(n, math.ceil(n * probability + reach)) + 1)


def level_shown(hits: int, n: int, rival_hits: int, rival_n: int, confidence: float) -> float:
    """Return a lower confidence bound of ln(p / q), at least 0, by binomial samples of p and of the rival's q."""
    least, most = _bounds(np.array(hits), n, np.array(rival_hits), rival_n, confidence)
    return max(math.log(least / most), 0.0) if least else 0.0


def _bounds(
    hits: NDArray[np.int64], n: int, rivals: NDArray[np.int64], rival_n: int, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return Clopper-Pearson bounds, of p from below and of q from above; each takes half of what lacks to 1."""
    from scipy.special import betaincinv

    error = (1 - confidence) / 2
    least = betaincinv(np.maximum(hits, 1), n - np.maximum(hits, 1) + 1, error) * (hits > 0)
    most = np.where(rivals == rival_n, 1.0, betaincinv(rivals + 1, np.maximum(rival_n - rivals, 1), 1 - error))
    return least, most


def _likelihood_events(sample: Sample) -> Iterator[_LikelihoodRatioEvent]:
    """Yield, for each two values, the event with the best threshold of the log-likelihood ratio."""
    values = np.unique(sample.values).tolist()
    log_likelihoods = sample.log_likelihoods(values)
    rows = {value: log_likelihoods[sample.values == value] for value in values}
    for (i, value), (j, rival) in permutations(enumerate(values), 2):
        own, other = (np.sort(rows[given][:, i] - rows[given][:, j]) for given in (value, rival))
        odds = np.concatenate([own, other])
        steps = np.unique(odds[odds > 0].round(9))
        if steps.size:
            steps = steps[np.linspace(0, steps.size - 1, min(steps.size, _THRESHOLDS)).astype(int)] - _ROUNDING
            above = [ratios.size - np.searchsorted(ratios, steps) for ratios in (own, other)]
            level = _conservative_level(above[0], own.size, above[1], other.size, _STD_ERRORS)
            best = int(level.argmax())
            yield _LikelihoodRatioEvent(value, rival, float(level[best]), float(steps[best]))


def _byte_events(sample: Sample) -> Iterator[_ByteEvent]:
    """Yield, for each two values, the event of the best byte in any place."""
    values = np.unique(sample.values).tolist()
    rows = {value: np.ascontiguousarray(sample.bytes[sample.values == value].T) for value in values}
    counts = {value: np.stack([np.bincount(column, minlength=256) for column in rows[value]]) for value in values}
    for value, rival in permutations(values, 2):
        level = _conservative_level(
            counts[value], rows[value].shape[1], counts[rival], rows[rival].shape[1], _STD_ERRORS_OF_BYTES
        )
        position, byte = np.unravel_index(level.argmax(), level.shape)
        yield _ByteEvent(value, rival, float(level.max()), int(position), int(byte))


def _conservative_level(
    hits: NDArray[Any], n: int, rival_hits: NDArray[Any], rival_n: int, std_errors: float
) -> FloatArray:
    """Return the estimate of ln(p / q) less so many standard errors."""
    own, other = hits + 0.5, rival_hits + 0.5
    return np.log(own / n) - np.log(other / rival_n) - std_errors * np.sqrt(1 / own + 1 / other)
