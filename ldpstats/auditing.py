"""Auditing: what can be shown about the privacy level of a mechanism's own code, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray, at_least, significance
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.randomness import Rng, generator

_MOST_ENUMERATED = 9
"""Values up to which enumeration is tried; it stops by itself where the sampler takes too many courses."""
_MOST_VALUES = 1 << 12
_LEAST_REPORTS = 1000
_CHUNK_CELLS = 1 << 21
_THRESHOLDS = 64
_ROUNDING = 1e-8
_IMPOSSIBLE = -1e6
_CAUTION, _MORE_CAUTION = 3.0, 5.0
"""How many standard errors an event is taken to be worse than it looks: the best of some thresholds, of many bytes."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found, each number with the way in which it is known.

    Parameters
    ----------
    mechanism : Mechanism
        What was audited.
    n : int
        The reports that were drawn for it.
    confidence : float
        How surely `lower_bound` is not above the true level, if reports are independent of each other.
    simulated : bool
        Whether the reports came from a seed; else they came from the operating system's randomness.
    claimed, lifetime : float
        The levels of one report and of all that a respondent ever sends, from the implemented probabilities.
    exact : float or None
        The level of one report, from every possible course of the sampler; None where there are too many.
    lower_bound : float
        What the reports show: the level of one report is at least that, with `confidence`.
    event : str
        How they show it: which reports came more often from one value than from another, and how often.
    failures : tuple of str
        What contradicts the mechanism; empty if nothing does.

    Examples
    --------
    >>> from ldpstats.mechanisms import GRR
    >>> audit(GRR(4, epsilon=1.0), rng=1).verdict
    'HOLDS: enumeration of the sampler gives no more than is claimed, and that is no more than was asked for.'
    """

    mechanism: Mechanism
    n: int
    confidence: float
    simulated: bool
    claimed: float
    lifetime: float
    exact: float | None
    lower_bound: float
    event: str
    failures: tuple[str, ...]

    @property
    def asked(self) -> float:
        """The level that the mechanism was asked for."""
        return self.mechanism.epsilon

    @property
    def verdict(self) -> str:
        """What follows, in words: FAILS, HOLDS (only where the sampler was enumerated) or NOT REFUTED."""
        if self.failures:
            return f"FAILS: {'; '.join(self.failures)}."
        if self.exact is None:
            return "NOT REFUTED: the claim rests on the implemented probabilities; the reports do not contradict it."
        if self.lifetime > self.claimed:
            return "HOLDS for one report, by enumeration; for a lifetime it rests on the implemented probabilities."
        return (
            "HOLDS: enumeration of the sampler gives no more than is claimed, and that is no more than was asked for."
        )

    def summary(self) -> str:
        """Return the audit in sentences."""
        levels = f"{_said(self.claimed)} for one report, {_said(self.lifetime)} for all that a respondent ever sends"
        exact = (
            f"not known (a sampler is enumerated for up to {_MOST_ENUMERATED} values, if its courses are not too many)"
            if self.exact is None
            else f"{_said(self.exact)} for one report, by enumerating every possible course of the sampler"
        )
        drawn = "simulated" if self.simulated else "securely drawn"
        shown = (
            f"at least {_rounded_down(self.lower_bound)} for one report, with {100 * self.confidence:g} % confidence"
        )
        sentences = (
            f"Audit of {self.mechanism}, which was asked for epsilon = {self.asked:g}.",
            f"Claimed, from the implemented probabilities: {levels}.",
            f"Exact: {exact}.",
            f"Shown by {self.n:,} {drawn} reports: {shown}. {self.event}",
            f"Verdict: {self.verdict}",
        )
        return "\n".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("n", "confidence", "simulated", "asked", "claimed", "lifetime", "exact", "lower_bound", "event")
        plain = {name: getattr(self, name) for name in names}
        return {"mechanism": self.mechanism.to_dict(), **plain, "verdict": self.verdict}


def audit(mechanism: Mechanism, n: int = 100_000, confidence: float = 0.99, rng: Rng = None) -> Audit:
    """Check the level of one report in three ways: as claimed, by enumeration, and against what is really sent.

    The claim is what the mechanism derives from its implemented probabilities. Enumeration runs the sampler through
    every possible outcome of its draws; it is exact, and made for up to nine values if the courses are not too many.

    The third way takes `privatize` as it is. Half of `n` reports choose two values and an event that is likelier
    under the one than under the other. The other half, independent of that choice, bounds the event's two
    probabilities (Clopper & Pearson 1934); the logarithm of their ratio bounds the level from below, whatever was
    chosen. So a correct mechanism is accused by its reports in at most 1 - `confidence` of all audits, and by
    enumeration never.

    The bound speaks of the values it looked at, which are the first two, the middle and the last one, and of events
    of two kinds: the mechanism's own likelihoods favour a value so and so much, or a byte of the report is such and
    such. A leak elsewhere is not seen, and a bound far below the claim does not show more privacy than is claimed.

    Parameters
    ----------
    mechanism : Mechanism
        A mechanism for up to 4096 values.
    n : int
        The number of reports, at least 1000.
    confidence : float
        How surely the lower bound holds.
    rng : optional
        A seed for a reproducible audit; without it the reports come from the operating system's randomness.

    Examples
    --------
    >>> from ldpstats.mechanisms import SS
    >>> print(audit(SS(20, epsilon=1.0), rng=1).summary())  # doctest: +ELLIPSIS
    Audit of SS(k=20, epsilon=1.0, omega=5), which was asked for epsilon = 1.
    Claimed, from the implemented probabilities: 1 for one report, 1 for all that a respondent ever sends.
    Exact: not known (a sampler is enumerated for up to 9 values, if its courses are not too many).
    Shown by 100,000 simulated reports: at least 0.906 for one report, with 99 % confidence. 9,342 of 25,000 ...
    Verdict: NOT REFUTED: the claim rests on the implemented probabilities; the reports do not contradict it.
    """
    reports, surely = at_least(n, _LEAST_REPORTS, "n"), significance(confidence, "confidence")
    if mechanism.k > _MOST_VALUES:
        raise LdpstatsError(
            f"a mechanism for {mechanism.k} values", f"up to {_MOST_VALUES}", "Audit the same one for fewer values."
        )
    shown, event, simulated = _shown(mechanism, reports, surely, rng)
    claimed, lifetime = strict_epsilon(mechanism.likelihood_ratio()), mechanism.strict_epsilon()
    exact, failures = _enumerated(mechanism)
    highest = max(claimed, lifetime, exact or 0.0)
    if highest > mechanism.epsilon:
        failures.append(f"a level of {_said(highest)} is more than was asked for{_by(highest - mechanism.epsilon)}")
    if shown > claimed:
        failures.append(
            f"the reports show at least {_rounded_down(shown)} for one report, and {_said(claimed)} is claimed "
            f"(a correct mechanism would be accused so in at most {1 - surely:.2g} of all audits)"
        )
    return Audit(mechanism, reports, surely, simulated, claimed, lifetime, exact, shown, event, tuple(failures))


def level_shown(hits: int, n: int, rival_hits: int, rival_n: int, confidence: float) -> float:
    """Return a number, at least 0, that is not above ln(p / q) with `confidence`.

    Parameters
    ----------
    hits, n : int
        How often an event of probability p happened, in so many independent trials.
    rival_hits, rival_n : int
        The same for the probability q.
    confidence : float
        What it lacks to 1 goes half to the Clopper-Pearson bound of p from below, half to that of q from above.

    Examples
    --------
    >>> round(level_shown(300, 1000, 100, 1000, confidence=0.99), 2)
    0.73
    """
    from scipy.special import betaincinv

    if not hits:
        return 0.0
    error = (1 - confidence) / 2
    least = float(betaincinv(hits, n - hits + 1, error))
    most = 1.0 if rival_hits == rival_n else float(betaincinv(rival_hits + 1, rival_n - rival_hits, 1 - error))
    return max(math.log(least / most), 0.0)


def _enumerated(mechanism: Mechanism) -> tuple[float | None, list[str]]:
    """Return the exact level of one report, where that is affordable, and how it contradicts the claim."""
    from ldpstats.conformance.enumeration import TooManyCoursesError, exact_channel

    if mechanism.k > _MOST_ENUMERATED:
        return None, []
    try:
        worst = worst_ratio(exact_channel(mechanism))
    except TooManyCoursesError:
        return None, []
    exact, claimed = strict_epsilon(worst), mechanism.likelihood_ratio()
    # compared as rationals: doubles may not show the difference
    if claimed is None or (worst is not None and worst <= claimed):
        return exact, []
    more = _by(math.inf if worst is None else strict_epsilon(worst / claimed))
    return exact, [f"enumeration gives {_said(exact)} for one report, which is more than is claimed{more}"]


def _shown(mechanism: Mechanism, n: int, confidence: float, rng: Rng) -> tuple[float, str, bool]:
    """Return a lower bound of the level, how often what happened, and whether the reports were simulated."""
    source = None if rng is None else generator(rng)
    first = _Sample.drawn(mechanism, sorted({0, 1, mechanism.k // 2, mechanism.k - 1}), n // 2, source)
    events: list[_Event] = [*_likelihood_events(first), *_byte_events(first)]
    event = max(events, key=lambda one: one.worth)
    second = _Sample.drawn(mechanism, [event.value, event.rival], n - n // 2, source)
    happened = event.happened(second)
    own, rival = (happened[second.values == value] for value in (event.value, event.rival))
    bound = level_shown(int(own.sum()), own.size, int(rival.sum()), rival.size, confidence)
    story = (
        f"{own.sum():,} of {own.size:,} reports of the value {event.value}, and {rival.sum():,} of {rival.size:,} "
        f"of the value {event.rival}, {event}."
    )
    return bound, story, second.simulated


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Reports whose values are known."""

    mechanism: Mechanism
    values: NDArray[np.int64]
    reports: NDArray[Any]
    simulated: bool

    @classmethod
    def drawn(cls, mechanism: Mechanism, values: Sequence[int], n: int, rng: Rng) -> _Sample:
        """Privatize n values, as many of each."""
        known = np.resize(np.array(values, dtype=np.int64), n)
        reports = mechanism.privatize(known, rng)
        return cls(mechanism, known, reports.data, reports.simulated)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The reports as they are stored, a row each."""
        return np.ascontiguousarray(self.reports).view(np.uint8).reshape(len(self.reports), -1)

    def log_likelihoods(self, values: Sequence[int]) -> FloatArray:
        """Return ln P(report | value) by the mechanism's own probabilities, up to a constant, a column per value."""
        noise, step = self.mechanism.noise, max(1, _CHUNK_CELLS // self.mechanism.k)
        reports, place = self.reports, np.arange(len(self.reports))
        if reports.ndim == 1:  # numbers below k or so repeat themselves; rows hardly do
            reports, place = np.unique(reports, return_inverse=True)
        with np.errstate(divide="ignore"):
            parts = [
                noise.log_likelihoods(self.mechanism.contributions(reports[start : start + step]))[:, list(values)]
                for start in range(0, len(reports), step)
            ]
        said: FloatArray = np.maximum(np.concatenate(parts), _IMPOSSIBLE)[place]
        return said


class _Event(Protocol):
    """Something that a report does or does not, and that seems likelier under a value than under its rival."""

    @property
    def value(self) -> int: ...

    @property
    def rival(self) -> int: ...

    @property
    def worth(self) -> float:
        """The level that it seems to show, cautiously."""
        ...

    def happened(self, sample: _Sample) -> BoolArray:
        """Say which reports do it."""
        ...


@dataclass(frozen=True, slots=True)
class _Favours:
    """A report favours the value over its rival by so much, in the mechanism's own eyes."""

    value: int
    rival: int
    worth: float
    log_odds: float

    def happened(self, sample: _Sample) -> BoolArray:
        said = sample.log_likelihoods((self.value, self.rival))
        favours: BoolArray = said[:, 0] - said[:, 1] >= self.log_odds
        return favours

    def __str__(self) -> str:
        odds = f"{math.exp(min(self.log_odds, 700)):.4g}"
        return (
            f"make {self.value} at least {odds} times as likely as {self.rival}, by the mechanism's own probabilities"
        )


@dataclass(frozen=True, slots=True)
class _Holds:
    """A stored report has a certain byte at a certain place."""

    value: int
    rival: int
    worth: float
    place: int
    byte: int

    def happened(self, sample: _Sample) -> BoolArray:
        holds: BoolArray = sample.bytes[:, self.place] == self.byte
        return holds

    def __str__(self) -> str:
        return f"have {self.byte} as byte number {self.place + 1}"


def _likelihood_events(sample: _Sample) -> Iterator[_Favours]:
    """Find the best threshold of the log-likelihood ratio, for each two values."""
    values = np.unique(sample.values).tolist()
    said = sample.log_likelihoods(values)
    for (i, value), (j, rival) in permutations(enumerate(values), 2):
        odds = said[:, i] - said[:, j]
        own, other = (np.sort(odds[sample.values == one]) for one in (value, rival))
        steps = np.unique(odds[odds > 0].round(9))
        if steps.size:
            steps = steps[np.linspace(0, steps.size - 1, min(steps.size, _THRESHOLDS)).astype(int)] - _ROUNDING
            above = [one.size - np.searchsorted(one, steps) for one in (own, other)]
            worth = _worth(above[0], own.size, above[1], other.size, _CAUTION)
            best = int(worth.argmax())
            yield _Favours(value, rival, float(worth[best]), float(steps[best]))


def _byte_events(sample: _Sample) -> Iterator[_Holds]:
    """Find the best byte at any place, for each two values."""
    values = np.unique(sample.values).tolist()
    rows = {value: np.ascontiguousarray(sample.bytes[sample.values == value].T) for value in values}
    counts = {value: np.stack([np.bincount(one, minlength=256) for one in rows[value]]) for value in values}
    for value, rival in permutations(values, 2):
        worth = _worth(counts[value], rows[value].shape[1], counts[rival], rows[rival].shape[1], _MORE_CAUTION)
        place, byte = np.unravel_index(worth.argmax(), worth.shape)
        yield _Holds(value, rival, float(worth.max()), int(place), int(byte))


def _worth(hits: NDArray[Any], n: int, rival_hits: NDArray[Any], rival_n: int, caution: float) -> FloatArray:
    """Return ln(p / q) as it looks, less so many standard errors."""
    own, other = hits + 0.5, rival_hits + 0.5
    worth: FloatArray = np.log(own / n) - np.log(other / rival_n) - caution * np.sqrt(1 / own + 1 / other)
    return worth


def _said(level: float) -> str:
    return f"{level:.6g}" if math.isfinite(level) else "infinite"


def _by(excess: float) -> str:
    return f" by {excess:.2g}" if math.isfinite(excess) else ""


def _rounded_down(level: float) -> str:
    return f"{math.floor(1000 * level) / 1000:g}"
