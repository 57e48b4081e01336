"""Longitudinal unary encoding: permanent bits, of which each report sends noisy copies (L-SUE, L-OSUE, RAPPOR)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.grid import GRID, double, numerator_at_most
from ldpstats.mechanisms.changing import IndependentPart, changing_ratio
from ldpstats.mechanisms.longitudinal import TwoRounds, least_noise
from ldpstats.mechanisms.unary import OUE, SUE, UE, UnaryEncoding
from ldpstats.noise import SupportNoise
from ldpstats.privacy import strict_epsilon
from ldpstats.randomness import Draws

_HALF = GRID // 2
_SOURCE = "Arcolezi et al. 2022, in Arcolezi et al. 2023"


class LongitudinalUnary(TwoRounds, UnaryEncoding, Protocol):
    """What all mechanisms of this kind share: the permanent round is the unary encoding that they derive from.

    With p1 and q1 for how often that sets the true bit and another one, and p2 and q2 for how often a report
    shows a set and an unset bit of the permanent answer as set, one report shows the true bit as set with
    probability p* = p1 p2 + (1-p1) q2 and another one with q* = q1 p2 + (1-q1) q2. Its level is
    ln(p* (1-q*) / ((1-p*) q*)); that of the permanent answer, and so of all reports together, is
    ln(p1 (1-q1) / ((1-p1) q1)).
    """

    def __post_init__(self) -> None:
        """Check the parameters."""
        TwoRounds.__post_init__(self)
        UnaryEncoding.__post_init__(self)
        if not self._pretend < self._show:
            raise LdpstatsError(
                f"first_epsilon = {self._first!r}", "levels large enough to differ from 0 on a grid of 2^-64"
            )

    @property
    def _fixed_show(self) -> int | None:
        """How often a set permanent bit is shown as set, in GRID-ths; None: as often as an unset one as unset."""
        return None

    @property
    def _show(self) -> int:
        return GRID - self._pretend if self._fixed_show is None else self._fixed_show

    @property
    def _pretend(self) -> int:
        """How often an unset permanent bit is shown as set, in GRID-ths."""
        return _second_flip(self._keep, self._flip, self._fixed_show, self._first)

    @property
    def noise(self) -> SupportNoise:
        """Independent bits, as one report per respondent shows them."""
        true, other = (_shown(bit, self._show, self._pretend) for bit in (self._keep, self._flip))
        return SupportNoise.independent(self.k, double(true), double(other))

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of one report: p* (1-q*) / ((1-p*) q*)."""
        return _chained_ratio(self._keep, self._flip, self._show, self._pretend)

    def lifetime_ratio(self) -> Fraction:
        """Return the ratio of the permanent answer: p1 (1-q1) / ((1-p1) q1)."""
        return UnaryEncoding.likelihood_ratio(self)

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration of a bit at a time."""
        return changing_ratio(self._parts, self.k, rounds, changes, others)

    def _parts(self, values: int) -> list[IndependentPart]:
        """Return the bits of the first values, and one for those of all the others, which are drawn anew as well."""
        shown = tuple((GRID - often, often) for often in (self._pretend, self._show))
        true, other = ((GRID - often, often) for often in (self._keep, self._flip))
        own = [
            IndependentPart(tuple(true if value == bit else other for value in range(values)), shown)
            for bit in range(values)
        ]
        rest = self.k - values
        return [*own, IndependentPart((other,) * values, shown, rest)] if rest else own

    def remember(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        """Draw the permanent bits."""
        return UnaryEncoding.randomize(self, values, draws)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[np.uint8]:
        """Flip bits; or, where set and unset ones differ, draw each for both cases and let the permanent bit choose."""
        unset_ones = draws.bits(self._pretend, len(permanent), self.k)
        if self._fixed_show is None:
            flipped: NDArray[np.uint8] = permanent ^ unset_ones
            return flipped
        set_ones = draws.bits(self._show, len(permanent), self.k)
        chosen: NDArray[np.uint8] = (permanent & set_ones) | (~permanent & unset_ones)
        return chosen


def _shown(bit: int, show: int, pretend: int) -> Fraction:
    """Return how often a bit is reported as set that the permanent round sets `bit` GRID-ths of the time."""
    return Fraction(bit * show + (GRID - bit) * pretend, GRID * GRID)


def _chained_ratio(keep: int, flip: int, show: int, pretend: int) -> Fraction:
    true, other = _shown(keep, show, pretend), _shown(flip, show, pretend)
    return true * (1 - other) / ((1 - true) * other)


@lru_cache(maxsize=1024)
def _second_flip(keep: int, flip: int, show: int | None, epsilon: float) -> int:
    """Return how often a report must show an unset permanent bit as set, for its level to be `epsilon`."""
    if show is None:
        return least_noise(lambda pretend: _chained_ratio(keep, flip, GRID - pretend, pretend), _HALF, epsilon)
    return least_noise(lambda pretend: _chained_ratio(keep, flip, show, pretend), show, epsilon)


@dataclass(frozen=True, slots=True)
class LSUE(LongitudinalUnary, SUE):
    """Longitudinal SUE, which is basic RAPPOR: symmetric unary encoding in both rounds.

    `LUE.from_rappor` takes the parameters f, p and q of RAPPOR.

    Examples
    --------
    >>> lsue = LSUE(10, epsilon=2.0, first_epsilon=1.0)
    >>> round(lsue.strict_epsilon(), 6), round(lsue.first_report_epsilon(), 6)
    (2.0, 1.0)
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-sue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal sue", "basic rappor")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Arcolezi et al. 2023 and Wang et al. 2020"


@dataclass(frozen=True, slots=True)
class LOSUE(LongitudinalUnary, OUE):
    """Longitudinal OUE and SUE: optimized unary encoding for the permanent answer, symmetric flips for a report.

    A report shows the true bit half of the time and another one with 1 / (e^ε₁ + 1), exactly as a single report
    of OUE at its own level does: no unary encoding in two rounds has less variance for rare values.

    Examples
    --------
    >>> losue = LOSUE(10, epsilon=2.0, first_epsilon=1.0)
    >>> bool(np.isclose(losue.variance(0.1, n=100), OUE(10, epsilon=1.0).variance(0.1, n=100)))
    True
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-osue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal osue",)
    source: ClassVar[str] = _SOURCE


@dataclass(frozen=True, slots=True)
class LOUE(LongitudinalUnary, OUE):
    """Longitudinal OUE: optimized unary encoding in both rounds.

    A report drops half of the permanent answer's bits even where nothing else is random, so its level stays below
    ln((2 e^ε + 1) / 3).

    Examples
    --------
    >>> loue = LOUE(10, epsilon=2.0, first_epsilon=1.65)
    >>> round(loue.first_report_epsilon(), 6)
    1.65
    >>> loue.variance(0.1, n=100) > LOSUE(10, epsilon=2.0, first_epsilon=1.65).variance(0.1, n=100)
    True
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-oue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal oue",)
    source: ClassVar[str] = _SOURCE

    @property
    def _fixed_show(self) -> int:
        return _HALF


@dataclass(frozen=True, slots=True)
class LSOUE(LongitudinalUnary, SUE):
    """Longitudinal SUE and OUE: symmetric flips for the permanent answer, optimized unary encoding for a report.

    With s = e^(ε/2) the level of a report stays below ln(s (2s + 1) / (s + 2)).

    Examples
    --------
    >>> LSOUE(10, epsilon=2.0).noise.p < LOSUE(10, epsilon=2.0).noise.p
    True
    """

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-soue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal soue",)
    source: ClassVar[str] = _SOURCE

    @property
    def _fixed_show(self) -> int:
        return _HALF


@dataclass(frozen=True, slots=True)
class LUE(LongitudinalUnary, UE):
    """Longitudinal unary encoding with probabilities of your own, and RAPPOR's parameters f, p and q.

    The permanent round sets the true bit with probability `keep`, a report shows a set bit with probability
    `show`; the two levels leave the other two probabilities.

    Examples
    --------
    >>> rappor = LUE.from_rappor(10, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 6), round(rappor.first_epsilon, 6)
    (2.197225, 0.537143)
    """

    first_epsilon: float | None = None
    show: float = 0.75

    name: ClassVar[str] = "l-ue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal unary encoding",)
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Wang et al. 2020"

    def __post_init__(self) -> None:
        if isinstance(self.show, bool) or not isinstance(self.show, (int, float)) or not 0 < self.show < 1:
            raise LdpstatsError(f"show = {self.show!r}", "a probability strictly between 0 and 1")
        UE.__post_init__(self)
        LongitudinalUnary.__post_init__(self)

    @classmethod
    def from_rappor(cls, k: int, f: float, p: float, q: float) -> LUE:
        """Return basic RAPPOR with the parameters of Erlingsson et al.: no hashing, a bit for each value.

        The permanent round replaces each bit by a fair coin with probability `f`, so that its level is
        2 ln((1 - f/2) / (f/2)). A report shows a set bit as set with probability `q` and an unset one with `p`
        (Wang et al. 2020, Eq. 31, have the two letters the other way round, and write r for f).
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
        first = strict_epsilon(_chained_ratio(keep, flip, show, pretend))
        return cls(k, 2 * math.log((2 - f) / f), 1 - f / 2, first, q)

    @property
    def _fixed_show(self) -> int:
        return numerator_at_most(Fraction(self.show))
