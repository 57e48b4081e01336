"""Longitudinal unary encoding: permanent bits, of which each report sends noisy copies (L-SUE, L-OSUE, RAPPOR)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.grid import GRID, double, numerator_at_most
from ldpstats.mechanisms.changing import IndependentPart, changing_ratio
from ldpstats.mechanisms.longitudinal import Longitudinal, least_noise
from ldpstats.mechanisms.unary import OUE, SUE, UE, UnaryEncoding
from ldpstats.noise import SupportNoise
from ldpstats.privacy import strict_epsilon
from ldpstats.randomness import Draws

_HALF = GRID // 2
_SOURCE = "Arcolezi et al. 2022, in Arcolezi et al. 2023"


class LongitudinalUnary(Longitudinal, Protocol):
    """What all mechanisms of this kind share: the permanent round is a unary encoding, and so is a report of its bits.

    With p1 and q1 for how often the permanent round sets the true bit and another one, and p2 and q2 for how often a
    report shows a set and an unset bit of the permanent answer as set, one report shows the true bit as set with
    probability p* = p1 p2 + (1-p1) q2 and another one with q* = q1 p2 + (1-q1) q2. Its level is
    ln(p* (1-q*) / ((1-p*) q*)); that of the permanent answer, and so of all reports together, is
    ln(p1 (1-q1) / ((1-p1) q1)).
    """

    @property
    @abstractmethod
    def permanent(self) -> UnaryEncoding:
        """The unary encoding at the level of all reports together."""

    @property
    def fixed_show(self) -> int | None:
        """How often a set permanent bit is shown as set, in GRID-ths; None: as often as an unset one as unset."""
        return None

    def __post_init__(self) -> None:
        """Check the parameters."""
        Longitudinal.__post_init__(self)
        if not self.rounds.pretend < self.rounds.show:
            raise LdpstatsError(
                f"first_epsilon = {self.first_level!r}", "levels large enough to differ from 0 on a grid of 2^-64"
            )

    @property
    def rounds(self) -> BitTwice:
        """What becomes of a bit in the two rounds."""
        return _solved(*self.permanent.bit_numerators, self.fixed_show, self.first_level)

    @property
    def noise(self) -> SupportNoise:
        """Independent bits, as one report per respondent shows them."""
        return SupportNoise.independent(self.k, *map(double, self.rounds.shown))

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """How often the first round sets a bit, and how often the second one shows it as set."""
        both = self.rounds
        return {"true": both.true, "other": both.other, "show": both.show, "pretend": both.pretend}

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report: p* (1-q*) / ((1-p*) q*)."""
        return self.rounds.ratio

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration of a bit at a time."""
        return changing_ratio(partial(self.rounds.parts, self.k), self.k, rounds, changes, others)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[np.uint8]:
        """Flip bits; or, where set and unset ones differ, draw each for both cases and let the permanent bit choose."""
        unset_ones = draws.bits(self.rounds.pretend, len(permanent), self.k)
        if self.fixed_show is None:
            return permanent ^ unset_ones
        set_ones = draws.bits(self.rounds.show, len(permanent), self.k)
        return (permanent & set_ones) | (~permanent & unset_ones)


@dataclass(frozen=True, slots=True)
class BitTwice:
    """Two rounds that randomize bits.

    Parameters
    ----------
    true, other : int
        How often the first round sets the true value's bit, and another one, in GRID-ths.
    show, pretend : int
        How often the second round shows a set bit as set, and an unset one, in GRID-ths.
    """

    true: int
    other: int
    show: int
    pretend: int

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        """How often a report shows the true value's bit as set, and another one: p* and q*."""
        true, other = (
            Fraction(bit * self.show + (GRID - bit) * self.pretend, GRID * GRID) for bit in (self.true, self.other)
        )
        return true, other

    @property
    def ratio(self) -> Fraction:
        """The worst-case ratio of a report."""
        true, other = self.shown
        return true * (1 - other) / ((1 - true) * other)

    def parts(self, k: int, values: int) -> list[IndependentPart]:
        """Return the bits of the first values, and one for those of all the others, which are drawn anew as well."""
        shown = tuple((GRID - often, often) for often in (self.pretend, self.show))
        true, other = ((GRID - often, often) for often in (self.true, self.other))
        own = [
            IndependentPart(tuple(true if value == bit else other for value in range(values)), shown)
            for bit in range(values)
        ]
        return [*own, IndependentPart((other,) * values, shown, k - values)] if k > values else own


@lru_cache(maxsize=1024)
def _solved(true: int, other: int, show: int | None, epsilon: float) -> BitTwice:
    """Return the two rounds of which the second shows unset bits as set as rarely as the level of a report allows."""

    def rounds(pretend: int) -> BitTwice:
        return BitTwice(true, other, GRID - pretend if show is None else show, pretend)

    return rounds(least_noise(lambda pretend: rounds(pretend).ratio, _HALF if show is None else show, epsilon))


@dataclass(frozen=True, slots=True)
class LSUE(LongitudinalUnary):
    """Longitudinal SUE, which is basic RAPPOR: symmetric unary encoding in both rounds.

    `LUE.from_rappor` takes the parameters f, p and q of RAPPOR.

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
    >>> from ldpstats.mechanisms import LSUE
    >>> lsue = LSUE(10, epsilon=2.0, first_epsilon=1.0)
    >>> round(lsue.strict_epsilon(), 6), round(lsue.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-sue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal sue", "basic rappor")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Arcolezi et al. 2023 and Wang et al. 2020"

    @property
    def permanent(self) -> SUE:
        """Symmetric unary encoding at the level of all reports together."""
        return SUE(self.k, self.epsilon)


@dataclass(frozen=True, slots=True)
class LOSUE(LongitudinalUnary):
    """Longitudinal OUE and SUE: optimized unary encoding for the permanent answer, symmetric flips for a report.

    A report shows the true bit half of the time and another one with 1 / (e^ε₁ + 1), exactly as a single report
    of OUE at its own level does: no unary encoding in two rounds has less variance for rare values.

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
    >>> from ldpstats import OUE
    >>> from ldpstats.mechanisms import LOSUE
    >>> losue = LOSUE(10, epsilon=2.0, first_epsilon=1.0)
    >>> bool(np.isclose(losue.variance(0.1, n=100), OUE(10, epsilon=1.0).variance(0.1, n=100)))
    True
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-osue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal osue",)
    source: ClassVar[str] = _SOURCE

    @property
    def permanent(self) -> OUE:
        """Optimized unary encoding at the level of all reports together."""
        return OUE(self.k, self.epsilon)


@dataclass(frozen=True, slots=True)
class LOUE(LongitudinalUnary):
    """Longitudinal OUE: optimized unary encoding in both rounds.

    A report drops half of the permanent answer's bits even where nothing else is random, so its level stays below
    ln((2 e^ε + 1) / 3).

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
    >>> from ldpstats.mechanisms import LOSUE, LOUE
    >>> loue = LOUE(10, epsilon=2.0, first_epsilon=1.65)
    >>> round(loue.first_report_epsilon(), 6)
    1.65
    >>> loue.variance(0.1, n=100) > LOSUE(10, epsilon=2.0, first_epsilon=1.65).variance(0.1, n=100)
    True
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-oue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal oue",)
    source: ClassVar[str] = _SOURCE

    @property
    def permanent(self) -> OUE:
        """Optimized unary encoding at the level of all reports together."""
        return OUE(self.k, self.epsilon)

    @property
    def fixed_show(self) -> int:
        """How often a set permanent bit is shown as set, in GRID-ths."""
        return _HALF


@dataclass(frozen=True, slots=True)
class LSOUE(LongitudinalUnary):
    """Longitudinal SUE and OUE: symmetric flips for the permanent answer, optimized unary encoding for a report.

    With s = e^(ε/2) the level of a report stays below ln(s (2s + 1) / (s + 2)).

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
    >>> from ldpstats.mechanisms import LOSUE, LSOUE
    >>> LSOUE(10, epsilon=2.0).noise.p < LOSUE(10, epsilon=2.0).noise.p
    True
    """

    k: int
    epsilon: float
    first_epsilon: float | None = None

    name: ClassVar[str] = "l-soue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal soue",)
    source: ClassVar[str] = _SOURCE

    @property
    def permanent(self) -> SUE:
        """Symmetric unary encoding at the level of all reports together."""
        return SUE(self.k, self.epsilon)

    @property
    def fixed_show(self) -> int:
        """How often a set permanent bit is shown as set, in GRID-ths."""
        return _HALF


@dataclass(frozen=True, slots=True)
class LUE(LongitudinalUnary):
    """Longitudinal unary encoding with probabilities of your own, and RAPPOR's parameters f, p and q.

    The permanent round sets the true bit with probability `keep`, a report shows a set bit with probability
    `show`; the two levels leave the other two probabilities.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many: that of the permanent answer.
    keep : float
        The probability that the permanent answer has the true bit set.
    first_epsilon : float, optional
        The level of a single report, below `epsilon`; half of that by default.
    show : float
        The probability that a report has a bit set that the permanent answer has.

    Examples
    --------
    >>> from ldpstats.mechanisms import LUE
    >>> rappor = LUE.from_rappor(10, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 6), round(rappor.first_epsilon, 6)
    (2.197225, 0.537143)
    """

    k: int
    epsilon: float
    keep: float = 0.5
    first_epsilon: float | None = None
    show: float = 0.75

    name: ClassVar[str] = "l-ue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal unary encoding",)
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Wang et al. 2020"

    def __post_init__(self) -> None:
        if isinstance(self.show, bool) or not isinstance(self.show, (int, float)) or not 0 < self.show < 1:
            raise LdpstatsError(f"show = {self.show!r}", "a probability strictly between 0 and 1")
        LongitudinalUnary.__post_init__(self)

    @property
    def permanent(self) -> UE:
        """Unary encoding with this probability, at the level of all reports together."""
        return UE(self.k, self.epsilon, self.keep)

    @classmethod
    def from_rappor(cls, k: int, f: float, p: float, q: float) -> LUE:
        """Return basic RAPPOR with the parameters of Erlingsson et al.: no hashing, a bit for each value.

        The permanent round replaces each bit by a fair coin with probability `f`, so that its level is
        2 ln((1 - f/2) / (f/2)). A report shows a set bit as set with probability `q` and an unset one with `p`
        (Wang et al. 2020, Eq. 31, have the two letters the other way round, and write r for f).

        Parameters
        ----------
        k : int
            The number of values.
        f : float
            How often the permanent round replaces a bit by a fair coin.
        p, q : float
            How often a report shows an unset, and a set permanent bit as set.
        """
        if not (0 < f < 1 and 0 < p < q < 1):
            raise LdpstatsError(
                f"f = {f!r}, p = {p!r} and q = {q!r}",
                "probabilities with 0 < f < 1 and 0 < p < q < 1",
                "q belongs to the set bits; without a second round RAPPOR is SUE.",
            )
        keep, flip, show, pretend = (
            int(GRID * probability) for probability in (1 - Fraction(f) / 2, Fraction(f) / 2, Fraction(q), Fraction(p))
        )
        first = strict_epsilon(BitTwice(keep, flip, show, pretend).ratio)
        return cls(k, 2 * math.log((2 - f) / f), 1 - f / 2, first, q)

    @property
    def fixed_show(self) -> int:
        """How often a set permanent bit is shown as set, in GRID-ths."""
        return numerator_at_most(Fraction(self.show))
