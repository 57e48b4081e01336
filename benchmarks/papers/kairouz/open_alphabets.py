"""Kairouz, Bonawitz & Ramage, Section 5.1: the channel of O-RR and its decoding, Equations 15 to 18."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ldpstats.mechanisms import GRR, ORR, OpenRR
from ldpstats.mechanisms.cohorts import CohortAnswers
from papers.comparisons import Comparison
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import LEVELS, SAME, Floats, Place, claimed, matched, shapes
from papers.kairouz.risks import places_of
from papers.survey.supports import channel_of

_NAME = "kairouz-2016-section-5-1"
_SIZES = ((4, 2, 4), (5, 3, 4), (6, 6, 1))
"""Numbers of values, symbols and cohorts (S, k and C), with which all values are told apart."""
_CASES = f"{2 * len(_SIZES) * len(LEVELS)} cases (4 to 6 values, ε 0.1 to 4, permutations and hash functions)"
_TRIED = list(product([2**power for power in range(1, 13)], [2**power for power in range(11)]))
"""The k and C that Figure 3 tries for 256 values."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What O-RR sends: a row for every value, and a column for every symbol of every cohort.

    Parameters
    ----------
    epsilon : float
        The level.
    cohorts, symbols : int
        C and k of the paper.
    channel : array
        Probabilities, by going through all draws of the sampler.
    own : array
        H of the paper: ones at the symbols of the value.
    """

    epsilon: float
    cohorts: int
    symbols: int
    channel: Floats
    own: Floats

    @classmethod
    def of(cls, mechanism: CohortAnswers) -> Answers:
        """Go through all that a mechanism can send."""
        probabilities, tallies = channel_of(mechanism)
        codes = mechanism.codes
        own = codes.filters().T.astype(float)
        return cls(mechanism.epsilon, codes.cohorts, codes.width, probabilities @ tallies, own)

    @property
    def divisor(self) -> float:
        """C (e^ε + k - 1)."""
        return self.cohorts * (math.exp(self.epsilon) + self.symbols - 1)

    def by_equation_15(self) -> Floats:
        """Return the printed probabilities, case by case."""
        return np.where(self.own == 1, math.exp(self.epsilon), 1.0) / self.divisor

    def by_equation_16(self) -> Floats:
        """Return the printed matrix, with H as it stands here."""
        return (1 + math.expm1(self.epsilon) * self.own) / self.divisor

    def by_equation_18(self, shares: Floats) -> Floats:
        """Return the least-squares solution p̂ for these shares of the reports."""
        right = (self.divisor * shares - 1) / math.expm1(self.epsilon)
        return np.linalg.lstsq(self.own.T, right, rcond=None)[0]


def all_answers() -> list[Answers]:
    """Return all cases looked at."""
    return [Answers.of(mechanism) for mechanism in _mechanisms()]


def _mechanisms() -> Iterator[CohortAnswers]:
    for (values, symbols, cohorts), epsilon in product(_SIZES, LEVELS):
        yield ORR(values, epsilon, symbols=symbols, cohorts=cohorts)
        # hash functions collide: more cohorts tell the values apart
        alphabet = OpenRR(epsilon, symbols=symbols, cohorts=cohorts + 4)
        yield alphabet.over([f"value {number}" for number in range(values)])


def _flat(answers: list[Answers], matrix: Callable[[Answers], Floats]) -> Floats:
    return np.concatenate([matrix(one).ravel() for one in answers])


def _channel(place: Place, answers: list[Answers], printed: Callable[[Answers], Floats]) -> Comparison:
    return matched(place, _flat(answers, printed), _flat(answers, lambda one: one.channel), _CASES)


def _shape(place: Place, answers: list[Answers]) -> Comparison:
    rows = [one.channel.sum(axis=1) for one in answers]
    off = max(float(np.abs(sums - 1).max()) for sums in rows)
    columns = np.concatenate([one.channel.sum(axis=0) for one in answers])
    words = f"rows of the S × kC matrix sum to one up to {off:.0e}, rows of the kC × S one to "
    words += f"{columns.min():.3g} to {columns.max():.3g}"
    because = "It is S × kC, with a row for every value: only so p Q is a product, and rows sum to one."
    return claimed(place, words, holds=bool(np.all(np.abs(columns - 1) < SAME)), unless=because)


def _sparse(place: Place, answers: list[Answers]) -> Comparison:
    ones = [set(one.own.sum(axis=1).tolist()) for one in answers]
    holds = all(own == {one.cohorts} for own, one in zip(ones, answers, strict=True))
    words = f"every value has one symbol in every cohort, in {_CASES}"
    return claimed(place, words, holds=holds, unless="Some value has more or fewer.")


def _decoded(place: Place, answers: list[Answers]) -> Comparison:
    cases = [(one, p) for one in answers for p in shapes(len(one.own))]
    found = [one.by_equation_18(p @ one.channel) for one, p in cases]
    judged = matched(place, np.concatenate(found), np.concatenate([p for _, p in cases]), f"{_CASES}, three p each")
    few = sum(cohorts * (symbols - 1) + 1 < 256 for symbols, cohorts in _TRIED)
    note = (
        "p̂ H is read with a row of H for every value. There is one solution only if H has rank S, for which "
        f"C (k - 1) + 1 must reach S: of {len(_TRIED)} pairs of k and C that Figure 3 tries for S = 256, {few} do not."
    )
    return claimed(place, judged.ours, holds=not judged.because, unless="It is biased.", note=note)


def _without_cohorts(place: Place) -> Comparison:
    printed, exact = [], []
    rng = np.random.default_rng(6)
    for k, epsilon in product((2, 4, 16), LEVELS):
        shares = rng.dirichlet(np.ones(k))
        printed.append(Answers(epsilon, 1, k, np.empty(0), np.eye(k)).by_equation_18(shares))
        exact.append(GRR(k, epsilon).noise.debias(shares))
    cases = f"{len(exact)} random shares of reports (k = 2, 4 and 16, ε 0.1 to 4)"
    return matched(place, np.concatenate(printed), np.concatenate(exact), cases)


def _section(_effort: Effort) -> Measured:
    places, answers = places_of(_NAME), all_answers()
    return Measured(
        [
            _channel(places[0], answers, Answers.by_equation_15),
            _channel(places[1], answers, Answers.by_equation_16),
            _shape(places[2], answers),
            _sparse(places[3], answers),
            _decoded(places[4], answers),
            _without_cohorts(places[5]),
        ]
    )


SECTION_5_1 = Exhibit(
    _NAME,
    "Equations 15 to 18: the channel of O-RR and its decoding",
    "All probabilities are found by going through the draws of the sampler, with permutations and with hash functions. "
    "The channel is as printed, except that the matrices that are called kC × S have a row for every value: they are "
    "S × kC, or else neither their rows sum to one nor is p Q a product. Least squares give the true frequencies back, "
    "exactly, from expected reports; where H has a lower rank, they give only one of many solutions.",
    _section,
)
