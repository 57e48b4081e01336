"""Longitudinal randomized response, twice over the values (L-GRR) or over their hash values (L-BLH, L-OLH)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.grid import GRID, double
from ldpstats.hashing import symbols_of
from ldpstats.mechanisms.changing import IndependentPart, Parts, changing_ratio
from ldpstats.mechanisms.grr import GRR
from ldpstats.mechanisms.local_hashing import BLH, OLH, LocalHashing, best_symbols
from ldpstats.mechanisms.longitudinal import TwoRounds, least_noise
from ldpstats.noise import MultinomialNoise, SupportNoise, TruthOrFake
from ldpstats.randomness import Draws


@dataclass(frozen=True, slots=True)
class LGRR(TwoRounds, GRR):
    """Longitudinal GRR: the permanent answer is randomized response, and so is each report of it.

    With p1 and p2 for the truth in the two rounds, and q1 and q2 for each of the k-1 lies, a report names the true
    value with probability p* = p1 p2 + (k-1) q1 q2 and another one with q* = p1 q2 + q1 p2 + (k-2) q1 q2. Its
    level is ln(p* / q*), that of the permanent answer is ln(p1 / q1). The second round solves the former, so that

        p2 = (p* (k-1) - (1-p1)) / (k p1 - 1)    where    p* = e^ε₁ / (e^ε₁ + k - 1).

    Arcolezi et al. (2023) print p* and q* without the k-1 and without the last term of q*, which is right for
    k = 2 alone: elsewhere the two are not a distribution, and the p2 that follows from them adds more noise than
    ε₁ asks for. The formula printed for that p2 lacks an ε₁ in an exponent, besides (their L-LH has it), and can
    exceed 1.

    Examples
    --------
    >>> lgrr = LGRR(16, epsilon=2.0, first_epsilon=1.0)
    >>> round(lgrr.strict_epsilon(), 6), round(lgrr.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-grr"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal grr",)
    source: ClassVar[str] = "Arcolezi et al. 2022, in Arcolezi et al. 2023"

    def __post_init__(self) -> None:
        TwoRounds.__post_init__(self)
        GRR.__post_init__(self)
        _refuse_noise_alone(self.k, self._second_truth, self._first)

    @property
    def _second_truth(self) -> int:
        return _solved_truth(self.k, self._truth, self._first)

    @property
    def _honest(self) -> Fraction:
        """How often a report names the true value."""
        return _chained_truth(self.k, self._truth, self._second_truth)

    @property
    def noise(self) -> MultinomialNoise:
        """Truth or a uniform fake, as one report per respondent shows it."""
        return MultinomialNoise(TruthOrFake.uniform(self.k, self._honest))

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report: p* / q*."""
        return _response_ratio(self.k, self._honest)

    def lifetime_ratio(self) -> Fraction:
        """Return the ratio of the permanent answer: p1 / q1."""
        return GRR.likelihood_ratio(self)

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration."""
        parts = _response_parts(self.k, (self._truth, self._second_truth))
        return changing_ratio(parts, self.k, rounds, changes, others)

    def remember(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Keep the value or another one for good."""
        return GRR.randomize(self, values, draws)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Name the permanent answer or another value."""
        return draws.respond(permanent.astype(np.int64), self.k, self._second_truth)


def _response_ratio(symbols: int, truth: Fraction) -> Fraction:
    """Return the ratio of randomized response that tells the truth with this probability."""
    return truth * (symbols - 1) / (1 - truth)


def _chained_truth(symbols: int, first: int, second: int) -> Fraction:
    """Return how often two rounds end where they began: both tell the truth, or the second takes the lie back."""
    return Fraction(first * second * (symbols - 1) + (GRID - first) * (GRID - second), GRID * GRID * (symbols - 1))


def _response_parts(symbols: int, truths: tuple[int, int]) -> Parts:
    """Return the one part that a report of two rounds of randomized response has, whatever the values."""

    def responses(truth: int) -> tuple[tuple[int, ...], ...]:
        rows, lies = range(symbols), symbols - 1
        return tuple(tuple(truth * lies if symbol == row else GRID - truth for symbol in rows) for row in rows)

    whole = (IndependentPart(responses(truths[0]), responses(truths[1])),)
    return lambda _: whole


@lru_cache(maxsize=1024)
def _solved_truth(symbols: int, first: int, epsilon: float) -> int:
    """Return how often the second round must tell the truth, for the level of a report to be `epsilon`."""

    def ratio(lie: int) -> Fraction:
        return _response_ratio(symbols, _chained_truth(symbols, first, GRID - lie))

    # at this many lies the second round is uniform
    return GRID - least_noise(ratio, -(-GRID * (symbols - 1) // symbols), epsilon)


def _refuse_noise_alone(symbols: int, truth: int, epsilon: float) -> None:
    """Refuse a second round in which the grid leaves no more of the permanent answer than chance would."""
    if truth * symbols <= GRID:
        raise LdpstatsError(
            f"first_epsilon = {epsilon!r} for {symbols} symbols", "levels large enough to show on a grid of 2^-64"
        )


class LongitudinalHashing(TwoRounds, LocalHashing, Protocol):
    """What L-BLH and L-OLH share: L-GRR over the symbols to which a respondent's own hash function sends values.

    A respondent draws the function once and keeps it for all values, with a permanent answer for each symbol. So
    values that share a symbol share a permanent answer, and there are at most as many of these as there are symbols.
    (Their levels do not bound what a value that changes gives away, for when it changes shows, too.) Given the
    function, the levels are those of L-GRR over the symbols. A report supports the values that its function sends to
    its symbol: the true one with the p* of L-GRR over g symbols, another one with q* = 1/g.

    The formulas that Arcolezi et al. (2023) print for L-LH mix the q1 of a lie, which ε₁ needs, with the 1/g that
    the estimator needs, and lack the terms of the chain for g > 2 that are missing in those of L-GRR.
    """

    def __post_init__(self) -> None:
        """Check the parameters."""
        TwoRounds.__post_init__(self)
        LocalHashing.__post_init__(self)
        _refuse_noise_alone(self._symbols, self._second_truth, self._first)

    @property
    def _second_truth(self) -> int:
        return _solved_truth(self._symbols, self._truth, self._first)

    @property
    def _honest(self) -> Fraction:
        """How often a report supports the true value."""
        return _chained_truth(self._symbols, self._truth, self._second_truth)

    @property
    def noise(self) -> SupportNoise:
        """Independent supports, as one report per respondent shows them."""
        return SupportNoise.independent(self.k, double(self._honest), 1 / self._symbols)

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report, which is that of L-GRR over the symbols."""
        return _response_ratio(self._symbols, self._honest)

    def lifetime_ratio(self) -> Fraction:
        """Return the ratio of the permanent answer."""
        return LocalHashing.likelihood_ratio(self)

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the ratio of L-GRR over symbols, under a hash function that tells as many values apart as can be."""
        parts = _response_parts(self._symbols, (self._truth, self._second_truth))
        return changing_ratio(parts, min(self.k, self._symbols), rounds, changes, others)

    def remember(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        """Draw a hash function for each respondent, and a permanent answer about her value's symbol."""
        return LocalHashing.randomize(self, values, draws)

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        """Draw a permanent answer about another value's symbol, under the hash function that the respondent has."""
        seeds = self.kept(earlier)
        answers = draws.respond(symbols_of(seeds, values, self._symbols), self._symbols, self._truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return the hash functions."""
        return permanent[:, :-1]

    @property
    def most_classes(self) -> int:
        """One for each symbol."""
        return self._symbols

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values' symbols."""
        return symbols_of(self.kept(permanent), values, self._symbols)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[np.uint64]:
        """Send the hash function along with a randomized response to the permanent symbol."""
        answers = draws.respond(permanent[:, -1].astype(np.int64), self._symbols, self._second_truth)
        return np.column_stack([self.kept(permanent), answers.astype(np.uint64)])


@dataclass(frozen=True, slots=True)
class LBLH(LongitudinalHashing, BLH):
    """Longitudinal binary local hashing: a hash function to two symbols, and two rounds of randomized response.

    Examples
    --------
    >>> lblh = LBLH(100, epsilon=2.0, first_epsilon=1.0)
    >>> round(lblh.strict_epsilon(), 6), round(lblh.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-blh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal blh", "biloloha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"


@dataclass(frozen=True, slots=True)
class LOLH(LongitudinalHashing, OLH):
    """Longitudinal optimal local hashing: to the number of symbols that gives one report the least variance.

    At a given ε₁ a report does not depend on ε at all: the second round makes up for the first, whatever that was.
    So the best number of symbols is that of OLH at ε₁, about e^ε₁ + 1. The number that Arcolezi et al. (2023) print
    depends on ε, because it belongs to their second round, which misses ε₁ for more than two symbols.

    Examples
    --------
    >>> variances = [LOLH(100, epsilon=level, first_epsilon=1.0).variance(0.01, n=100) for level in (1.1, 2, 9)]
    >>> bool(np.allclose(variances, OLH(100, epsilon=1.0).variance(0.01, n=100)))
    True
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-olh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal olh", "ololoha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"

    @property
    def _symbols(self) -> int:
        return best_symbols(self._first)
