"""Randomized response: the truth with one probability, else a uniform lie (GRR), or a fake of its own law (RRBA's)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.mechanisms.base import Mechanism
from ldpstats.noise import TruthOrFake
from ldpstats.numbers.arrays import FloatArray, at_least, positive_epsilon, significance
from ldpstats.numbers.grid import GRID, exp_below, favoured_numerator, numerator_at_most, probability
from ldpstats.numbers.randomness import Draws, Word
from ldpstats.privacy import strict_epsilon


@dataclass(frozen=True, slots=True)
class SymbolResponse(Mechanism):
    """Base of all randomized response, over the values or over symbols that stand for them.

    The true one of g symbols is sent with probability e^ε / (e^ε + g - 1), else a uniform other one.
    """

    k: int
    epsilon: float

    @property
    def _symbols(self) -> int:
        return self.k

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        favoured_numerator(self.epsilon, 1, self._symbols)  # refuses levels that are too low

    @property
    def truth(self) -> int:
        """Probability that the true symbol is sent, in GRID-ths."""
        return favoured_numerator(self.epsilon, 1, self._symbols)

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that the true symbol is sent, in GRID-ths."""
        return {"truth": self.truth}

    def likelihood_ratio(self) -> Fraction:
        """Return P(symbol | it is the true one) / P(symbol | it is not)."""
        return Fraction(self.truth * (self._symbols - 1), GRID - self.truth)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Keep the value or replace it by a uniformly drawn other one."""
        return draws.respond(values, self.k, self.truth)


@dataclass(frozen=True, slots=True)
class GRR(SymbolResponse):
    """Generalized randomized response (k-RR, direct encoding; Warner's randomized response at k = 2).

    A respondent answers truly with probability e^ε / (e^ε + k - 1) and otherwise with one of the other values.
    In the literature on local differential privacy (LDP) it is k-ary randomized response (KRR), too.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import GRR
    >>> grr = GRR(4, epsilon=1.0)
    >>> reports = grr.privatize(np.repeat([0, 1, 2, 3], 500), rng=1)
    >>> grr.estimate(reports).to_frame().round(2)
       estimate  std_err  lower  upper
    0      0.25     0.03   0.19   0.31
    1      0.23     0.03   0.16   0.29
    2      0.29     0.03   0.23   0.36
    3      0.23     0.03   0.17   0.29
    """

    name: ClassVar[str] = "grr"
    aliases: ClassVar[tuple[str, ...]] = ("k-rr", "krr", "direct encoding", "de")
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    @property
    def _outputs(self) -> int:
        return self.k

    @property
    def noise(self) -> TruthOrFake:
        """Truth or a uniform fake."""
        return TruthOrFake.uniform(self.k, Fraction(self.truth, GRID))


@dataclass(frozen=True, slots=True)
class RR(SymbolResponse):
    """Randomized response to a yes-or-no question (Warner's RR, binary BRR): GRR with two values.

    Warner's respondents answer "I am" or "I am not" as a coin tells them, which is the same channel.

    Parameters
    ----------
    k : int
        Two: yes or no.
    epsilon : float
        The level of a report: no answer makes it more than e^ε times as likely as the other one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import RR
    >>> round(RR(2, epsilon=np.log(3)).variance(0.5, n=100), 6)
    0.01
    """

    name: ClassVar[str] = "rr"
    aliases: ClassVar[tuple[str, ...]] = ("brr", "warner", "binary randomized response")
    source: ClassVar[str] = "Warner 1965, in Kairouz, Bonawitz & Ramage 2016"
    only_k: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.k != self.only_k:
            raise LdpstatsError(f"k = {self.k!r}", "2 for a yes-or-no question", "GRR takes any number of values.")
        SymbolResponse.__post_init__(self)

    @property
    def noise(self) -> TruthOrFake:
        """That of GRR."""
        return GRR(self.k, self.epsilon).noise


@dataclass(frozen=True, slots=True)
class FakeResponse(Mechanism):
    """Tell the truth with probability p, else draw a fake from T (Imran & Meo 2024, Algorithm 1).

    The worst case is the rarest fake, reported by someone for whom it is true: the strict level is
    ln(1 + p / ((1-p) min T)), infinite if a fake has probability zero. The paper's ln(1 / (1-p)) weighs the truth with
    its frequency in the population, and so is no guarantee to the respondent who holds it.
    """

    truth: int  # p in GRID-ths
    fake: tuple[int, ...]  # T in GRID-ths, adding up to GRID

    name: ClassVar[str] = "truth or fake"
    source: ClassVar[str] = "Imran & Meo 2024"

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", at_least(self.truth, 1, "truth", GRID))
        proper = len(self.fake) >= 2 and all(type(numerator) is int for numerator in self.fake) and min(self.fake) >= 0
        if not proper or sum(self.fake) != GRID:
            raise LdpstatsError(
                f"truth = {self.truth} with {len(self.fake)} fakes",
                "whole GRID-ths, the fakes adding up to all of them",
            )

    @classmethod
    def telling(cls, p: float, fake: tuple[int, ...]) -> Self:
        """Tell the truth with probability p; `fake` is in GRID-ths."""
        return cls(_truth_numerator(p), fake)

    @classmethod
    def at_level(cls, epsilon: float, fake: tuple[int, ...]) -> Self:
        """Tell the truth as often as these fakes allow at a strict level: p = Eτ / (1 + Eτ), E = e^ε - 1, τ = min T."""
        odds = (exp_below(positive_epsilon(epsilon)) - 1) * Fraction(min(fake), GRID)
        truth = numerator_at_most(odds / (1 + odds))
        if truth < 1:
            raise LdpstatsError(
                f"epsilon = {epsilon!r} with a fake of probability {min(fake) / GRID:.3g}",
                "a level and fakes that leave room for the truth on a grid of 2^-64",
                "Mix the fakes with uniform ones: a larger floor.",
            )
        return cls(truth, fake)

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from its fields
        """The number of values."""
        return len(self.fake)

    @property
    def epsilon(self) -> float:  # type: ignore[override]  # follows from its fields
        """The strict level that the probabilities give."""
        return self.strict_epsilon()

    @property
    def p(self) -> Fraction:
        """The probability of telling the truth."""
        return Fraction(self.truth, GRID)

    @property
    def nominal_epsilon(self) -> float:
        """The paper's ln(1 / (1-p)), which does not depend on the fakes (its Theorem 4.1)."""
        return strict_epsilon(None if self.p == 1 else 1 / (1 - self.p))

    @property
    def delta_at_nominal(self) -> Fraction:
        """The δ with which the channel meets the paper's level: p (1 - min T)."""
        return Fraction(self.delta_numerator, GRID**2)

    @property
    def delta_numerator(self) -> int:
        """`delta_at_nominal` in GRID²-ths."""
        return self.truth * (GRID - min(self.fake))

    @property
    def _outputs(self) -> int:
        return self.k

    @property
    def noise(self) -> TruthOrFake:
        """Noise model: truth or a fake."""
        return TruthOrFake(probability(self.truth), tuple(numerator / GRID for numerator in self.fake))

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probabilities of the truth and of each fake, in GRID-ths."""
        return {"truth": self.truth, "fake": list(self.fake)}

    def likelihood_ratio(self) -> Fraction | None:
        """Return P(v | v) / P(v | another value) for the rarest fake v."""
        faked = (GRID - self.truth) * min(self.fake)
        return None if faked == 0 else Fraction(self.truth * GRID + faked, faked)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw who tells the truth, and a fake for everyone."""
        truthful = draws.bernoulli(self.truth, values.size)
        return np.where(truthful, values, draws.pick(self.fake, values.size))

    def randomize_one(self, value: int, word: Word) -> int:
        """Randomize one value by random 64-bit words (from `word`), without the cost of arrays."""
        # both are always drawn, or the time it takes would tell the truth from a fake
        coin, fake = word(), bisect_right(_uppers(self.fake), word())
        return value if coin < self.truth else fake


@lru_cache(maxsize=256)
def _truth_numerator(p: float) -> int:
    truth = numerator_at_most(Fraction(significance(p, "p")))
    if truth < 1:
        raise LdpstatsError(f"p = {p!r}", "a probability of telling the truth from 2^-64 to below 1")
    return truth


@lru_cache(maxsize=4096)
def _uppers(fake: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(accumulate(fake))


def fake_numerators(frequencies: FloatArray | Sequence[float], floor: float = 0.0) -> tuple[int, ...]:
    """Return frequencies, mixed with a share `floor` of uniform ones, as whole GRID-ths that add up to GRID.

    What rounding leaves over goes to the most frequent value. Zeros stay zero unless there is a floor; no value has
    less than `least_fake`.

    Parameters
    ----------
    frequencies : array of float
        Nonnegative, adding up to one.
    floor : float
        The share of uniform fakes.
    """
    proper = np.asarray(frequencies, dtype=float)
    if not (proper.min() >= 0 and abs(proper.sum() - 1) <= 1e-9):  # written so that a NaN fails
        raise LdpstatsError(
            f"fakes with the frequencies {shortened(frequencies)}", "nonnegative numbers that add up to one"
        )
    shares = (1 - floor) * proper
    least = least_fake(len(shares), floor)
    numerators = [least + int(share * GRID) for share in shares.tolist()]
    numerators[int(np.argmax(shares))] += GRID - sum(numerators)
    return tuple(numerators)


@lru_cache(maxsize=256)
def least_fake(cells: int, floor: float) -> int:
    """Return the least probability of a fake that the floor guarantees, in GRID-ths."""
    return numerator_at_most(Fraction(floor) / cells)
