"""Permanent answers by one mechanism, and a second round that makes each report of them: L-GRR to L-OLH, and RAPPOR.

========  =============================  ==================================================
kind      permanent answer               second round, as noisy as the level of a report asks
========  =============================  ==================================================
l-grr     GRR                            randomized response over the values
l-blh     BLH                            randomized response over the two symbols
l-olh     LH, best symbols for a report  randomized response over the symbols
l-sue     SUE                            flips every bit as often
l-osue    OUE                            flips every bit as often
l-oue     OUE                            shows half of the set bits, and few unset ones
l-soue    SUE                            shows half of the set bits, and few unset ones
l-ue      UE with a `keep` of your own   shows a share `show` of the set bits, and few unset ones
l-rappor  RAPPOR, with one cohort        shows a share `show` of the set bits, and few unset ones
========  =============================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.cohorts import CohortBits, most_differing_pairs
from ldpstats.mechanisms.grr import GRR, SymbolResponse
from ldpstats.mechanisms.local_hashing import BLH, LH, best_symbols
from ldpstats.mechanisms.longitudinal import IndependentPart, Longitudinal, changing_ratio
from ldpstats.mechanisms.unary import OUE, SUE, UE, UnaryEncoding
from ldpstats.noise import SupportNoise, TruthOrFake
from ldpstats.numbers.arrays import positive_epsilon, real_number
from ldpstats.numbers.grid import GRID, double, exp_below, numerator_at_most
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import strict_epsilon

_SOURCE = "Arcolezi et al. 2022, in Arcolezi et al. 2023"
_ONE_EACH = frozenset([(1, 1)])


@dataclass(frozen=True, slots=True)
class ResponseTwice:
    """Two rounds of randomized response (probabilities of the truth in GRID-ths) over values or their hashes.

    A respondent draws a hash function once and keeps it for all values, with a permanent answer for each symbol. So
    values that share a symbol share a permanent answer, and there are at most as many of these as there are symbols.
    (Their levels do not bound what a value that changes gives away, for when it changes shows, too.) Given the
    function, the levels are those of L-GRR over the symbols. A report supports the values that its function sends to
    its symbol: the true one with the p* of L-GRR over g symbols, another one with q* = 1/g.

    The formulas that Arcolezi et al. (2023) print for L-LH mix the q1 of a lie, which ε₁ needs, with the 1/g that
    the estimator needs, and lack the terms of the chain for g > 2 that are missing in those of L-GRR.
    """

    symbols: int  # their number g
    first: int
    second: int

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        """p* and q*: probabilities of the true symbol (a lie may be taken back), and of supporting another value."""
        lies = (GRID - self.first) * (GRID - self.second)
        truth = Fraction(self.first * self.second * (self.symbols - 1) + lies, GRID * GRID * (self.symbols - 1))
        return truth, Fraction(1, self.symbols)

    @property
    def ratio(self) -> Fraction:
        """The worst-case ratio of a report: p* / q* of L-GRR."""
        truth = self.shown[0]
        return truth * (self.symbols - 1) / (1 - truth)

    def parts(self, _k: int, _values: int) -> tuple[IndependentPart]:
        """Return the one part that a report has, whatever the values."""
        return (IndependentPart(self._responses(self.first), self._responses(self.second)),)

    def _responses(self, truth: int) -> tuple[tuple[int, ...], ...]:
        rows, lies = range(self.symbols), self.symbols - 1
        return tuple(tuple(truth * lies if symbol == row else GRID - truth for symbol in rows) for row in rows)

    def report(self, permanent: NDArray[Any], _k: int, draws: Draws) -> NDArray[Any]:
        """Report the permanent symbol or another one, with the hash function if there is one."""
        reports = permanent.copy()
        symbols = reports if reports.ndim == 1 else reports[:, -1]
        symbols[:] = draws.respond(symbols.astype(np.int64), self.symbols, self.second)
        return reports


@dataclass(frozen=True, slots=True)
class BitTwice:
    """Two rounds that randomize bits (all probabilities in GRID-ths).

    With p1 and q1 for how often the permanent round sets the true bit and another one, and p2 and q2 for how often a
    report shows a set and an unset bit of the permanent answer as set, one report shows the true bit as set with
    probability p* = p1 p2 + (1-p1) q2 and another one with q* = q1 p2 + (1-q1) q2. Its level is
    ln(p* (1-q*) / ((1-p*) q*)); that of the permanent answer, and so of all reports together, is
    ln(p1 (1-q1) / ((1-p1) q1)). Filters of two values may differ in several bits, a of which only the one sets, and b
    only the other: then p* / q* counts a times, and (1-q*) / (1-p*) counts b times.
    """

    true: int  # p1
    other: int  # q1
    show: int  # p2
    pretend: int  # q2
    differing: frozenset[tuple[int, int]] = _ONE_EACH  # the largest a and b

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        """p* and q*: probability that a report shows the true value's bit as set, and another one."""
        true, other = (
            Fraction(bit * self.show + (GRID - bit) * self.pretend, GRID * GRID) for bit in (self.true, self.other)
        )
        return true, other

    @property
    def ratio(self) -> Fraction:
        """The worst-case ratio of a report: p* (1-q*) / ((1-p*) q*), or of the filters that differ most."""
        true, other = self.shown
        return max((true / other) ** first * ((1 - other) / (1 - true)) ** second for first, second in self.differing)

    def parts(self, k: int, values: int) -> list[IndependentPart]:
        """Return the bits of the first values, and one for those of all the others, which are drawn anew as well."""
        own = [(tuple(value == bit for value in range(values)), 1) for bit in range(values)]
        return self.parts_of([*own, ((False,) * values, k - values)] if k > values else own)

    def parts_of(self, bits: Iterable[tuple[tuple[bool, ...], int]]) -> list[IndependentPart]:
        """Return parts for bits: how many there are of those that are set for the same values."""
        shown = tuple((GRID - often, often) for often in (self.pretend, self.show))
        drawn = tuple((GRID - often, often) for often in (self.other, self.true))
        return [IndependentPart(tuple(drawn[bit] for bit in row), shown, copies) for row, copies in bits]

    def report(self, permanent: NDArray[Any], k: int, draws: Draws) -> NDArray[np.uint8]:
        """Flip bits; or, where set and unset ones differ, draw each for both cases and let the permanent bit choose."""
        unset_ones = draws.bits(self.pretend, len(permanent), k)
        if self.show + self.pretend == GRID:
            return permanent ^ unset_ones
        set_ones = draws.bits(self.show, len(permanent), k)
        return (permanent & set_ones) | (~permanent & unset_ones)


@lru_cache(maxsize=1024)
def rounds_after(permanent: Mechanism, epsilon: float, fixed_show: int | None) -> ResponseTwice | BitTwice:
    """Return the rounds with the least noise in the second one for which one report's exact ratio is at most e^ε.

    The ratio falls as the noise grows from 0 to `most` GRID-ths, where a report reveals nothing. So no formula for
    the parameters of a second round is trusted: they are found by bisection, in rational numbers.
    """
    rounds: Callable[[int], ResponseTwice | BitTwice]
    if isinstance(permanent, UnaryEncoding | CohortBits):
        true, other = permanent.bit_numerators
        differing = most_differing_pairs(permanent.codes) if isinstance(permanent, CohortBits) else _ONE_EACH
        most = GRID // 2 if fixed_show is None else fixed_show

        def rounds(pretend: int) -> BitTwice:
            return BitTwice(true, other, GRID - pretend if fixed_show is None else fixed_show, pretend, differing)

    else:
        assert isinstance(permanent, SymbolResponse)
        symbols, truth = permanent.hash_symbols or permanent.k, permanent.truth
        # at this many lies the second round is uniform
        most = -(-GRID * (symbols - 1) // symbols)

        def rounds(lie: int) -> ResponseTwice:
            return ResponseTwice(symbols, truth, GRID - lie)

    bound, least = exp_below(epsilon), rounds(0).ratio
    if least <= bound:
        raise LdpstatsError(
            f"first_epsilon = {epsilon!r}",
            f"levels below about {strict_epsilon(least):.4g}, that of a report with the least noise that a second "
            "round of this kind can add",
            "Ask for a lower first_epsilon, a higher epsilon, or another kind of second round.",
        )
    too_little, enough = 0, most
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if rounds(middle).ratio <= bound:
            enough = middle
        else:
            too_little = middle
    least_noisy = rounds(enough)
    if least_noisy.ratio <= 1:
        raise LdpstatsError(f"first_epsilon = {epsilon!r}", "levels large enough to show on a grid of 2^-64")
    return least_noisy


@dataclass(frozen=True, slots=True)
class TwoRounds(Longitudinal):
    """Base of the kinds above: each names the mechanism of its permanent answers."""

    k: int
    epsilon: float

    _first: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        """Check the levels: that of one report is half of `epsilon` where none is given, as in Arcolezi et al. (2023).

        The second round, which randomizes the permanent answer once more for every report, is the least noisy one
        for which the chain of both rounds keeps one report within that level.
        """
        Mechanism.__post_init__(self)
        first = (
            self.epsilon / 2 if self.first_epsilon is None else positive_epsilon(self.first_epsilon, "first_epsilon")
        )
        if first >= self.epsilon:
            raise LdpstatsError(
                f"first_epsilon = {first!r} with epsilon = {self.epsilon!r}",
                "a level of one report below that of all reports",
                "A mechanism for a single collection needs no second round.",
            )
        object.__setattr__(self, "first_epsilon", first)
        self.rounds  # noqa: B018  # refuses levels that are too low, or too near that of all reports

    @property
    def fixed_show(self) -> int | None:
        """Probability that a set permanent bit is shown as set, in GRID-ths; None: that of an unset one as unset."""
        return None

    @property
    def permanent(self) -> Mechanism:
        """The mechanism of the permanent answers, at the level of all reports together."""
        made: Mechanism = self._first(self.k, self.epsilon)
        return made

    @property
    def rounds(self) -> ResponseTwice | BitTwice:
        """The two rounds with their probabilities."""
        return rounds_after(self.permanent, self.first_level, self.fixed_show)

    @property
    def noise(self) -> SupportNoise:
        """Noise model of one report per respondent: independent supports of values, or bits."""
        return SupportNoise.independent(self.k, *map(double, self.rounds.shown))

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probabilities of the two rounds, in GRID-ths: of the truth; or of setting a bit, and of showing it as set."""
        return {name: often for name, often in asdict(self.rounds).items() if name not in ("symbols", "differing")}

    def likelihood_ratio(self) -> Fraction:
        """Return the worst-case ratio of one report."""
        return self.rounds.ratio

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration: of a bit at a time, or of symbols.

        A hash function is one that tells as many values apart as can be.
        """
        distinct = min(self.k, self.most_classes)
        return changing_ratio(partial(self.rounds.parts, self.k), distinct, rounds, changes, others)

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw a permanent answer about another value, under the hash function that the respondent has, if any."""
        if self.hash_symbols is None:
            return self.remember(values, draws)
        permanent: Any = self.permanent
        answers: NDArray[np.uint64] = permanent.answered(self.kept(earlier), values, draws)
        return answers

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Randomize permanent answers once more."""
        return self.rounds.report(permanent, self.k, draws)


@dataclass(frozen=True, slots=True)
class LGRR(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-grr"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal grr",)
    source: ClassVar[str] = "Arcolezi et al. 2022, in Arcolezi et al. 2023"
    _first = GRR

    @property
    def noise(self) -> TruthOrFake:  # type: ignore[override]  # a report names one value
        """Truth or a uniform fake, as one report per respondent shows it."""
        return TruthOrFake.uniform(self.k, self.rounds.shown[0])


@dataclass(frozen=True, slots=True)
class LBLH(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-blh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal blh", "biloloha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"
    _first = BLH


@dataclass(frozen=True, slots=True)
class LOLH(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-olh"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal olh", "ololoha")
    source: ClassVar[str] = "Arcolezi et al. EDBT 2023, in Arcolezi et al. 2023"
    _first = LH

    @property
    def permanent(self) -> LH:
        """Local hashing to the symbols that are best for one report, at the level of all reports together."""
        return LH(self.k, self.epsilon, best_symbols(self.first_level))


@dataclass(frozen=True, slots=True)
class LSUE(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-sue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal sue", "basic rappor")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Arcolezi et al. 2023 and Wang et al. 2020"
    _first = SUE


@dataclass(frozen=True, slots=True)
class LOSUE(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-osue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal osue",)
    source: ClassVar[str] = _SOURCE
    _first = OUE


@dataclass(frozen=True, slots=True)
class LOUE(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-oue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal oue",)
    source: ClassVar[str] = _SOURCE
    _first = OUE
    fixed_show = GRID // 2


@dataclass(frozen=True, slots=True)
class LSOUE(TwoRounds):
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

    first_epsilon: float | None = None

    name: ClassVar[str] = "l-soue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal soue",)
    source: ClassVar[str] = _SOURCE
    _first = SUE
    fixed_show = GRID // 2


@dataclass(frozen=True, slots=True)
class LUE(TwoRounds):
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

    keep: float = 0.5
    first_epsilon: float | None = None
    show: float = 0.75

    name: ClassVar[str] = "l-ue"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal unary encoding",)
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Wang et al. 2020"
    _first = UE

    def __post_init__(self) -> None:
        refuse_certain_show(self.show)
        TwoRounds.__post_init__(self)

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
        first = rappor_first_epsilon(f, p, q)  # refuses others before a logarithm is taken
        return cls(k, 2 * math.log((2 - f) / f), 1 - f / 2, first, q)

    @property
    def fixed_show(self) -> int:
        """How often a set permanent bit is shown as set, in GRID-ths."""
        return numerator_at_most(Fraction(self.show))


def refuse_certain_show(show: object) -> None:
    """Refuse a probability of showing a set bit as set that is 0, 1 or none."""
    if isinstance(show, bool) or not isinstance(show, (int, float)) or not 0 < show < 1:
        raise LdpstatsError(f"show = {show!r}", "a probability strictly between 0 and 1")


def rappor_first_epsilon(f: float, p: float, q: float, differing: frozenset[tuple[int, int]] = _ONE_EACH) -> float:
    """Return the level of one report with RAPPOR's parameters."""
    if not (0 < real_number(f) < 1 and 0 < real_number(p) < real_number(q) < 1):
        raise LdpstatsError(
            f"f = {f!r}, p = {p!r} and q = {q!r}",
            "probabilities with 0 < f < 1 and 0 < p < q < 1",
            "q belongs to the set bits; without a second round RAPPOR is SUE.",
        )
    keep, flip, show, pretend = (
        int(GRID * probability) for probability in (1 - Fraction(f) / 2, Fraction(f) / 2, Fraction(q), Fraction(p))
    )
    return strict_epsilon(BitTwice(keep, flip, show, pretend, differing).ratio)
