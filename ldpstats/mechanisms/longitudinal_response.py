"""Longitudinal randomized response, twice over the values (L-GRR) or over their hash values (L-BLH, L-OLH)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.grid import GRID, double
from ldpstats.hashing import symbols_of
from ldpstats.mechanisms.changing import IndependentPart, changing_ratio
from ldpstats.mechanisms.grr import GRR
from ldpstats.mechanisms.local_hashing import BLH, LH, LocalHashing, best_symbols
from ldpstats.mechanisms.longitudinal import Longitudinal, least_noise
from ldpstats.noise import MultinomialNoise, SupportNoise, TruthOrFake
from ldpstats.randomness import Draws


@dataclass(frozen=True, slots=True)
class LGRR(Longitudinal):
    """Longitudinal GRR: the permanent answer is randomized response, and so is each report of it.

    With p1 and p2 for the truth in the two rounds, and q1 and q2 for each of the k-1 lies, a report names the true
    value with probability p* = p1 p2 + (k-1) q1 q2 and another one with q* = p1 q2 + q1 p2 + (k-2) q1 q2. Its
    level is ln(p* / q*), that of the permanent answer is ln(p1 / q1). The second round solves the former, so that

        p2 = (p* (k-1) - (1-p1)) / (k p1 - 1)    where    p* = e^ε₁ / (e^ε₁ + k - 1).

    Arcolezi et al. (2023) print p* and q* without the k-1 and without the last term of q*, which is right for
    k = 2 alone: elsewhere the two are not a distribution, and the p2 that follows from them adds more noise than
    ε₁ asks for. The formula printed for that p2 lacks an ε₁ in an exponent, besides (their L-LH has it), and can
    exceed 1.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many: that of the permanent answer.
    first_epsilon : float, optional
        The level of a single report, below `epsilon`; half of that by default.

    Examples
    --------
    >>> from ldpstats.mechanisms import LGRR
    >>> lgrr = LGRR(16, epsilon=2.0, first_epsilon=1.0)
    >>> round(lgrr.strict_epsilon(), 6), round(lgrr.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-grr"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal grr",)
    source: ClassVar[str] = "Arcolezi et al. 2022, in Arcolezi et al. 2023"

    def __post_init__(self) -> None:
        Longitudinal.__post_init__(self)
        self.rounds.refuse_noise_alone(self.first_level)

    @property
    def permanent(self) -> GRR:
        """Randomized response at the level of all reports together."""
        return GRR(self.k, self.epsilon)

    @property
    def rounds(self) -> ResponseTwice:
        """The two rounds: p1 and p2."""
        return _solved(self.k, self.permanent.truth, self.first_level)

    @property
    def noise(self) -> MultinomialNoise:
        """Truth or a uniform fake, as one report per respondent shows it."""
        return MultinomialNoise(TruthOrFake.uniform(self.k, self.rounds.truth))

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """How often each of the two rounds tells the truth."""
        return {"first": self.rounds.first, "second": self.rounds.second}

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report: p* / q*."""
        return self.rounds.ratio

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration."""
        return changing_ratio(self.rounds.parts, self.k, rounds, changes, others)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Name the permanent answer or another value."""
        return draws.respond(permanent.astype(np.int64), self.k, self.rounds.second)


@dataclass(frozen=True, slots=True)
class ResponseTwice:
    """Two rounds of randomized response over so many symbols.

    Parameters
    ----------
    symbols : int
        The number of symbols.
    first, second : int
        How often the first and the second round tell the truth, in GRID-ths.
    """

    symbols: int
    first: int
    second: int

    @property
    def truth(self) -> Fraction:
        """How often both rounds end where they began: both tell the truth, or the second takes the lie back."""
        lies = (GRID - self.first) * (GRID - self.second)
        return Fraction(self.first * self.second * (self.symbols - 1) + lies, GRID * GRID * (self.symbols - 1))

    @property
    def ratio(self) -> Fraction:
        """The worst-case ratio of a report."""
        return self.truth * (self.symbols - 1) / (1 - self.truth)

    def parts(self, _values: int) -> tuple[IndependentPart]:
        """Return the one part that a report has, whatever the values."""
        return (IndependentPart(self._responses(self.first), self._responses(self.second)),)

    def _responses(self, truth: int) -> tuple[tuple[int, ...], ...]:
        rows, lies = range(self.symbols), self.symbols - 1
        return tuple(tuple(truth * lies if symbol == row else GRID - truth for symbol in rows) for row in rows)

    def refuse_noise_alone(self, epsilon: float) -> None:
        """Refuse a second round in which the grid leaves no more of the permanent answer than chance would."""
        if self.second * self.symbols <= GRID:
            raise LdpstatsError(
                f"first_epsilon = {epsilon!r} for {self.symbols} symbols",
                "levels large enough to show on a grid of 2^-64",
            )


@lru_cache(maxsize=1024)
def _solved(symbols: int, first: int, epsilon: float) -> ResponseTwice:
    """Return the rounds of which the second tells the truth as often as the level of a report, `epsilon`, allows."""

    def rounds(lie: int) -> ResponseTwice:
        return ResponseTwice(symbols, first, GRID - lie)

    # at this many lies the second round is uniform
    return rounds(least_noise(lambda lie: rounds(lie).ratio, -(-GRID * (symbols - 1) // symbols), epsilon))


class LongitudinalHashing(Longitudinal, Protocol):
    """What L-BLH and L-OLH share: L-GRR over the symbols to which a respondent's own hash function sends values.

    A respondent draws the function once and keeps it for all values, with a permanent answer for each symbol. So
    values that share a symbol share a permanent answer, and there are at most as many of these as there are symbols.
    (Their levels do not bound what a value that changes gives away, for when it changes shows, too.) Given the
    function, the levels are those of L-GRR over the symbols. A report supports the values that its function sends to
    its symbol: the true one with the p* of L-GRR over g symbols, another one with q* = 1/g.

    The formulas that Arcolezi et al. (2023) print for L-LH mix the q1 of a lie, which ε₁ needs, with the 1/g that
    the estimator needs, and lack the terms of the chain for g > 2 that are missing in those of L-GRR.
    """

    @property
    @abstractmethod
    def permanent(self) -> LocalHashing:
        """Local hashing at the level of all reports together."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        Longitudinal.__post_init__(self)
        self.rounds.refuse_noise_alone(self.first_level)

    @property
    def rounds(self) -> ResponseTwice:
        """The two rounds, over the symbols."""
        return _solved(self.permanent.hash_symbols, self.permanent.truth, self.first_level)

    @property
    def noise(self) -> SupportNoise:
        """Independent supports, as one report per respondent shows them."""
        return SupportNoise.independent(self.k, double(self.rounds.truth), 1 / self.rounds.symbols)

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """How often each of the two rounds tells the truth."""
        return {"first": self.rounds.first, "second": self.rounds.second}

    @property
    def derived(self) -> dict[str, int]:
        """The number of symbols."""
        return self.permanent.derived

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report, which is that of L-GRR over the symbols."""
        return self.rounds.ratio

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the ratio of L-GRR over symbols, under a hash function that tells as many values apart as can be."""
        return changing_ratio(self.rounds.parts, min(self.k, self.rounds.symbols), rounds, changes, others)

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        """Draw a permanent answer about another value's symbol, under the hash function that the respondent has."""
        return self.permanent.answered(self.kept(earlier), values, draws)

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return the hash functions."""
        return permanent[:, :-1]

    @property
    def most_classes(self) -> int:
        """One for each symbol."""
        return self.permanent.hash_symbols

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values' symbols."""
        return symbols_of(self.kept(permanent), values, self.permanent.hash_symbols)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[np.uint64]:
        """Send the hash function along with a randomized response to the permanent symbol."""
        rounds = self.rounds
        answers = draws.respond(permanent[:, -1].astype(np.int64), rounds.symbols, rounds.second)
        return np.column_stack([self.kept(permanent), answers.astype(np.uint64)])


@dataclass(frozen=True, slots=True)
class LBLH(LongitudinalHashing):
    """Longitudinal binary local hashing: a hash function to two symbols, and two rounds of randomized response.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many: that of the permanent answer.
    first_epsilon : float, optional
        The level of a single report, below `epsilon`; half of that by default.

    Examples
    --------
    >>> from ldpstats.mechanisms import LBLH
    >>> lblh = LBLH(100, epsilon=2.0, first_epsilon=1.0)
    >>> round(lblh.strict_epsilon(), 6), round(lblh.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-blh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal blh", "biloloha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"

    @property
    def permanent(self) -> BLH:
        """Binary local hashing at the level of all reports together."""
        return BLH(self.k, self.epsilon)


@dataclass(frozen=True, slots=True)
class LOLH(LongitudinalHashing):
    """Longitudinal optimal local hashing: to the number of symbols that gives one report the least variance.

    At a given ε₁ a report does not depend on ε at all: the second round makes up for the first, whatever that was.
    So the best number of symbols is that of OLH at ε₁, about e^ε₁ + 1. The number that Arcolezi et al. (2023) print
    depends on ε, because it belongs to their second round, which misses ε₁ for more than two symbols.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many: that of the permanent answer.
    first_epsilon : float, optional
        The level of a single report, below `epsilon`; half of that by default.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.mechanisms import LH, LOLH
    >>> variances = [LOLH(100, epsilon=level, first_epsilon=1.0).variance(0.01, n=100) for level in (1.1, 2, 9)]
    >>> bool(np.allclose(variances, LH(100, epsilon=1.0).variance(0.01, n=100)))
    True
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-olh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal olh", "ololoha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"

    @property
    def permanent(self) -> LH:
        """Local hashing to the symbols that are best for one report, at the level of all reports together."""
        return LH(self.k, self.epsilon, best_symbols(self.first_level))
