"""Auditing: a lower confidence bound of a mechanism's privacy level, from its reports or by enumerating its code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism, plain_mechanism
from ldpstats.mechanisms.registry import checked_mechanism
from ldpstats.numbers.arrays import FloatArray, at_least, positive_epsilon, significance
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import Picture, Result, Summary, progress, summary_of_figures
from ldpstats.privacy import plain_level, strict_epsilon, worst_ratio
from ldpstats.saving.registered import Amount, Count, Share

if TYPE_CHECKING:
    import pandas as pd

    from ldpstats.conformance.events import EventFrequencies

_MOST_ENUMERATED = 9
"""Values up to which enumeration is tried; it stops by itself where the sampler takes too many courses."""
_MOST_VALUES = 1 << 12
_LEAST_REPORTS = 1000
_FEWEST, _MOST_LOOKED_AT, _REPORTS_EACH = 4, 12, 250
_VIOLATIONS = (1.05, 1.1, 1.2)
"""By which factors a level is exceeded for which an audit says how likely it would have shown that."""


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Result):
    """Result of an audit, each number with how it was obtained.

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
    power : tuple of (float, float)
        Factors on the claimed level, and how likely these reports would have shown that it is exceeded by them.
    failures : tuple of str
        What contradicts the mechanism; empty if nothing does.

    Examples
    --------
    >>> from ldpstats import GRR, audit
    >>> audit(GRR(4, epsilon=1.0), rng=1).verdict
    'HOLDS: enumeration of the sampler gives no more than is claimed, and that is no more than was asked for.'
    """

    mechanism: Mechanism
    n: Count
    confidence: Share
    simulated: bool
    claimed: Amount
    lifetime: Amount
    exact: Amount | None
    lower_bound: Amount
    event: str
    power: tuple[tuple[float, Share], ...]
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

    @property
    def headline(self) -> str:
        """The mechanism, what is known of its level, the largest power, and the verdict."""
        exact = "" if self.exact is None else f", exactly {_said(self.exact)}"
        power = f", power {self.power[-1][1]:.2g} against {self.power[-1][0]:g} times that" if self.power else ""
        shown = f"claimed {_said(self.claimed)}{exact}, shown {_rounded_down(self.lower_bound)}{power}"
        return f"{self.mechanism}: {shown}: {self.verdict}"

    def _levels(self) -> list[tuple[str, float | None, str]]:
        """Return every level: what it is of, how large, and how that is known."""
        implemented = "from the implemented probabilities"
        drawn = "simulated" if self.simulated else "securely drawn"
        return [
            ("asked for", self.asked, "by whoever made the mechanism"),
            ("claimed, one report", self.claimed, implemented),
            ("claimed, a lifetime of reports", self.lifetime, implemented),
            ("exact, one report", self.exact, "by enumerating every possible course of the sampler"),
            (
                "shown, one report, at least",
                self.lower_bound,
                f"by {self.n:,} {drawn} reports, with {100 * self.confidence:g} % confidence",
            ),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per level: what it is of, how large, and how that is known; nan where it is not."""
        import pandas as pd

        frame = pd.DataFrame(self._levels(), columns=["level", "epsilon", "known"])
        return frame.assign(epsilon=frame["epsilon"].astype(float))

    def summary(self) -> Summary:
        """Return the levels as a table that can be read aloud, what was seen, and what follows."""
        *known, (shown, bound, how) = self._levels()
        rows = [[name, "—", "no"] if level is None else [name, _figure(level), by] for name, level, by in known]
        rows.append([shown, _rounded_down(bound or 0.0), how])
        many = f"a sampler is enumerated for up to {_MOST_ENUMERATED} values, if its courses are not too many"
        sentences = [
            *([f"Exact: not known ({many})."] if self.exact is None else []),
            f"Seen: {self.event}",
            self._power_in_words(),
            f"Verdict: {self.verdict}",
        ]
        return summary_of_figures(f"Audit of {self.mechanism}", ["level", "epsilon", "known"], rows, sentences)

    def picture(self) -> Picture:
        """Return what `plot` draws: the levels on one axis; what reports show is only a lower bound."""
        from ldpstats.pictures.intervals import Intervals

        *known, (shown, _, _) = [row for row in self._levels() if row[1] is not None]
        finite = [level if level is not None and math.isfinite(level) else math.nan for _, level, _ in known]
        # an arrow at the border stands for an infinite level
        ends = [math.inf if level == math.inf else math.nan for _, level, _ in known]
        drawn = "simulated" if self.simulated else "securely drawn"
        return Intervals(
            f"Audit of {self.mechanism}: {self.verdict.partition(':')[0]}",
            (f"{self.n:,} {drawn} reports; shown with {100 * self.confidence:g} % confidence",),
            (*(name for name, *_ in known), shown),
            (*finite, math.nan),
            (*ends, self.lower_bound),
            (*ends, math.inf),
            "epsilon",
            reference=self.claimed if math.isfinite(self.claimed) else None,
        )

    def _power_in_words(self) -> str:
        if not self.power:
            return "Power: none, for no level exceeds the one that is claimed."
        factors, chances = zip(*self.power, strict=True)
        return (
            f"Power: had this event shown the claimed level times {', '.join(f'{factor:g}' for factor in factors)}, "
            "so many reports would have proved that in "
            f"{', '.join(f'{chance:.2g}' for chance in chances)} of all audits."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = "n confidence simulated asked claimed lifetime exact lower_bound event"
        plain = {name: plain_level(getattr(self, name)) for name in names.split()}
        mechanism = plain_mechanism(self.mechanism)
        return {"mechanism": mechanism, **plain, "power": dict(self.power), "verdict": self.verdict}


def audit(mechanism: Mechanism, n: int = 100_000, confidence: float = 0.99, rng: Rng = None) -> Audit:
    """Check the level of one report in three ways: as claimed, by enumeration, and against what is really sent.

    The claim is what the mechanism derives from its implemented probabilities. Enumeration runs the sampler through
    every possible outcome of its draws; it is exact, and made for up to nine values if the courses are not too many.

    The third way, a privacy audit from samples alone (an empirical lower bound of ε), takes `privatize` as it is. Half
    of `n` reports choose two values and an event that is likelier under the one than under the other. The other half,
    independent of that choice, bounds the event's two probabilities (Clopper & Pearson 1934); the logarithm of their
    ratio bounds the level from below, whatever was chosen. So a correct mechanism is accused by its reports in at most
    1 - `confidence` of all audits, and by enumeration never.

    The bound speaks of the values it looked at and of events of two kinds: the mechanism's own likelihoods favour a
    value so and so much, or a byte of the report is such and such. The values are the first two, the middle and the
    last one, and up to eight others along a Halton sequence that starts at random. A leak elsewhere is not seen, and a
    bound far below the claim does not show more privacy than is claimed. `power` says what the reports were good for:
    how likely they would have shown more than the claim, had the event's probabilities had a higher ratio.

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

    Returns
    -------
    Audit
        The level as it is claimed, enumerated, and shown by reports; and a verdict.

    Examples
    --------
    >>> from ldpstats import SS, audit
    >>> print(audit(SS(20, epsilon=1.0), rng=1))  # doctest: +ELLIPSIS
                      Audit of SS(k=20, epsilon=1.0, omega=5)
    ===...
    level                           epsilon  known
    ---...
    asked for                             1  by whoever made the mechanism
    claimed, one report                   1  from the implemented probabilities
    claimed, a lifetime of reports        1  from the implemented probabilities
    exact, one report                     —  no
    shown, one report, at least       0.9... by 100,000 simulated reports, with 99 % confidence
    ===...
    Exact: not known (a sampler is enumerated for up to 9 values, if its courses are not too many).
    Seen: ...
    Power: had this event shown the claimed level times 1.05, 1.1, 1.2, so many reports would have proved...
    Verdict: NOT REFUTED: the claim rests on the implemented probabilities; the reports do not contradict it.
    """
    mechanism = checked_mechanism(mechanism)
    reports, surely = at_least(n, _LEAST_REPORTS, "n"), significance(confidence, "confidence")
    if mechanism.k > _MOST_VALUES:
        raise LdpstatsError(
            f"a mechanism for {mechanism.k} values", f"up to {_MOST_VALUES}", "Audit the same one for fewer values."
        )
    bound, event, outcome, simulated = _shown(mechanism, reports, surely, rng)
    claimed, lifetime = strict_epsilon(mechanism.likelihood_ratio()), mechanism.strict_epsilon()
    exact, failures = _enumerated(mechanism)
    highest = max(claimed, lifetime, exact or 0.0)
    if highest > mechanism.epsilon:
        failures.append(f"a level of {_said(highest)} is more than was asked for{_by(highest - mechanism.epsilon)}")
    # of the mechanism's own statements
    level = max(claimed, exact or 0.0)
    stated = {"strict_epsilon()": mechanism.strict_epsilon(), "privacy()": mechanism.privacy().epsilon}
    failures += [
        f"{name} states {_said(epsilon)}, which is less than {_said(level)}"
        for name, epsilon in stated.items()
        if epsilon < level
    ]
    if bound > claimed:
        failures.append(
            f"the reports show at least {_rounded_down(bound)} for one report, and {_said(claimed)} is claimed "
            f"(a correct mechanism would be accused so in at most {1 - surely:.2g} of all audits)"
        )
    # where no level exceeds the claimed one, nothing could have shown that
    factors = _VIOLATIONS if math.isfinite(claimed) else ()
    power = tuple((factor, outcome.power(factor * claimed, claimed, surely)) for factor in factors)
    return Audit(
        mechanism,
        reports,
        surely,
        simulated,
        claimed,
        lifetime,
        exact,
        bound,
        event,
        power,
        tuple(failures),
    )


def audits(
    make: Callable[[int, float], Mechanism],
    settings: int = 8,
    k: int = 1000,
    epsilon: float = 4.0,
    n: int = 20_000,
    confidence: float = 0.99,
    rng: Rng = None,
) -> Iterator[Audit]:
    """Audit a mechanism, made from k and ε, at settings along a randomly shifted Halton sequence.

    k goes from 2 to `k`, evenly by its logarithm, and ε evenly from a twentieth of `epsilon` to all of it. A correct
    mechanism is accused in at most 1 - `confidence` of all such walks: each audit gets its share of that.
    """
    number, most = at_least(settings, 1, "settings"), at_least(k, 2, "k")
    highest, surely = positive_epsilon(epsilon), significance(confidence, "confidence")
    source = None if rng is None else generator(rng)
    each = 1 - (1 - surely) / number
    for size, level in progress(_halton(number, 2, source), "auditing", unit="setting"):
        values = getattr(make, "only_k", None) or min(int(2 * (most / 2 + 0.5) ** size), most)
        yield audit(make(values, highest * (0.05 + 0.95 * level)), n, each, source)


def _halton(points: int, dimensions: int, rng: Rng) -> FloatArray:
    """Return the first points of a Halton sequence, all moved by a random one (Cranley & Patterson 1976)."""
    from scipy.stats.qmc import Halton

    start = generator(rng).random(dimensions)
    return (Halton(dimensions, scramble=False).random(points) + start) % 1


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


def _shown(mechanism: Mechanism, n: int, confidence: float, rng: Rng) -> tuple[float, str, EventFrequencies, bool]:
    """Choose an event by half of the reports, bound the level that it shows by the other half, and say how."""
    from ldpstats.conformance.events import Sample, best_event, level_of

    source = None if rng is None else generator(rng)
    # the first two, the middle, the last, and others
    number = min(max((n // 2) // _REPORTS_EACH, _FEWEST), _MOST_LOOKED_AT)
    others = (_halton(number, 1, source)[:, 0] * mechanism.k).astype(int).tolist()
    values = sorted(list(dict.fromkeys([0, 1, mechanism.k // 2, mechanism.k - 1, *others]))[:number])
    event = best_event(Sample.drawn(mechanism, values, n // 2, source))
    second = Sample.drawn(mechanism, [event.value, event.rival], n - n // 2, source)
    bound, outcome = level_of(event, second, confidence)
    story = (
        f"{outcome.hits:,} of {outcome.n:,} reports of the value {event.value}, and {outcome.rival_hits:,} of "
        f"{outcome.rival_n:,} of the value {event.rival}, {event}."
    )
    return bound, story, outcome, second.simulated


def _figure(level: float) -> str:
    return "∞" if level == math.inf else _said(level)


def _said(level: float) -> str:
    return f"{level:.6g}" if math.isfinite(level) else "infinite"


def _by(excess: float) -> str:
    return f" by {excess:.2g}" if math.isfinite(excess) else ""


def _rounded_down(level: float) -> str:
    return f"{math.floor(1000 * level) / 1000:g}"
