"""Cohort mechanisms: a report joins a random cohort and randomizes the symbol, or the bits, of its value there.

Which symbols or bits stand for a value in a cohort are public codes, by hash functions or permutations.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.mechanisms.base import Mechanism, ReportFormat, settled
from ldpstats.mechanisms.grr import SymbolResponse
from ldpstats.mechanisms.unary import bit_counts, clean_padding, set_bits
from ldpstats.noise import CohortChannel, RevealedBits
from ldpstats.noise.revealed import differing_bits, identifies
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, exp_below, favoured_numerator, numerator_at_least, probability
from ldpstats.numbers.hashing import symbols_of
from ldpstats.numbers.randomness import Draws

Family: TypeAlias = Callable[[int, int, int, int], NDArray[np.int64]]
"""Public maps from k values to symbols: family(k, how many maps, symbols, seed) has a row per map."""

_SEEDS_TRIED = 100
_LARGEST_EXPONENT = 100.0
_MOST_HASHES = 256
"""With so many functions the filters of all values are the same, unless they are very wide; every seed is tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Public codes: which of `width` symbols (or bits of a Bloom filter) stand for a value in each cohort."""

    symbols: NDArray[np.int64]  # shape (cohorts, hashes, values); read-only
    width: int

    def __post_init__(self) -> None:
        self.symbols.setflags(write=False)

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return len(self.symbols)

    @property
    def hashes(self) -> int:
        """Hash functions per cohort."""
        return int(self.symbols.shape[1])

    @property
    def single(self) -> NDArray[np.int64]:
        """Symbols by the first hash function, shape (cohorts, values)."""
        return self.symbols[:, 0]

    def filters(self) -> NDArray[np.int8]:
        """Return the bits of every cohort in turn, those at a value's symbols set: shape (slots, values)."""
        cohorts, hashes, values = self.symbols.shape
        bits = np.zeros((cohorts, self.width, values), dtype=np.int8)
        for function in range(hashes):
            bits[np.arange(cohorts)[:, None], self.symbols[:, function], np.arange(values)] = 1
        return bits.reshape(-1, values)


def hashed(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return hash functions of the family in `ldpstats.numbers.hashing`, a row of symbols for the k values each."""
    # digests, so that clients and servers of any kind find the same ones
    words = b"".join(blake2b(f"{seed} {number}".encode(), digest_size=16).digest() for number in range(maps))
    functions = np.repeat(np.frombuffer(words, dtype="<u8").reshape(maps, 2).astype(np.uint64), k, axis=0)
    return symbols_of(functions, np.tile(np.arange(k), maps), symbols).reshape(maps, k)


def permuted(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return pseudo-random permutations of the values modulo `symbols`: each symbol has about as many values."""
    return np.argsort(hashed(k, maps, 1 << 32, seed), axis=1, kind="stable") % symbols


def public_codes(
    family: Family, k: int, cohorts: int | None, hashes: int | None, width: int | None, seed: int
) -> Codes:
    """Return the codes of the first seed, from this one on, for which all k frequencies are identified."""
    assert cohorts is not None
    assert hashes is not None
    assert width is not None  # mechanisms settle them
    return _identifying(family, k, cohorts, hashes, width, seed)


@lru_cache(maxsize=16)
def _identifying(family: Family, k: int, cohorts: int, hashes: int, width: int, seed: int) -> Codes:
    refuse_too_many(k, cohorts, hashes, width)
    for shift in range(_SEEDS_TRIED):
        codes = Codes(family(k, cohorts * hashes, width, seed + shift).reshape(cohorts, hashes, k), width)
        if identifies(codes.filters()):
            return codes
    raise LdpstatsError(
        f"{cohorts} cohorts of {width} symbols, in which {_SEEDS_TRIED} seeds do not tell {k} values apart",
        "more cohorts or symbols, or fewer hash functions",
    )


def refuse_too_many(k: int, cohorts: int, hashes: int, width: int) -> None:
    """Refuse more values than the slots of all cohorts can identify, or codes that are too large to compute."""
    # with one function per cohort its bits sum to one, so that each cohort after the first identifies one number less
    most = cohorts * (width - 1) + 1 if hashes == 1 else cohorts * width
    if k > most:
        raise NotIdentifiedError(
            f"{k} values in {cohorts} cohorts of {width} symbols", f"at most {most} values", "Take more cohorts."
        )
    if hashes > _MOST_HASHES:
        raise LdpstatsError(f"hashes = {hashes}", f"up to {_MOST_HASHES}", "One or two identify values best.")
    refuse_too_large((cohorts, max(width, hashes), k), "codes", "OLH hashes alphabets of any size.", MOST_CODES)


def usual_width(k: int) -> int:
    """Return the default width, which makes collisions rare: a power of two, at least 4 √k but no more than twice k."""
    return 1 << (min(k + 1, math.ceil(4 * math.sqrt(k))) - 1).bit_length()


def usual_cohorts(k: int, width: int) -> int:
    """Return the default number of cohorts: at least four, with four times as many slots in all as values."""
    return max(4, -(-4 * k // width))


@lru_cache(maxsize=16)
def most_differing(codes: Codes) -> int:
    """Return the most bits in which the filters of two values differ in a cohort."""
    if codes.hashes == 1:
        return 2 if np.any(codes.single != codes.single[:, :1]) else 0
    return max(map(sum, differing_bits(codes.filters(), codes.cohorts, codes.width)))


@lru_cache(maxsize=16)
def most_differing_pairs(codes: Codes) -> frozenset[tuple[int, int]]:
    """Return in how many bits filters of two values differ: set by the one alone, and at most so many by the other."""
    most: dict[int, int] = {}
    for first, second in differing_bits(codes.filters(), codes.cohorts, codes.width):
        most[first] = max(second, most.get(first, 0))
    return frozenset(most.items())


class CohortAnswers(SymbolResponse):
    """Base of mechanisms that send a random cohort and, by randomized response, the value's symbol there."""

    purpose: ClassVar[str] = "short reports"

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """Which symbol each value has in each cohort."""

    @property
    def _symbols(self) -> int:
        return self.codes.width

    @property
    def noise(self) -> CohortChannel:
        """Noise model: randomized response in every cohort."""
        return _answers_noise(self)

    @property
    def _outputs(self) -> int:
        return self.codes.cohorts * self.codes.width

    def likelihood_ratio(self) -> Fraction:
        """Return P(symbol | a value that has it) / P(symbol | another value)."""
        if np.all(self.codes.single == self.codes.single[:, :1]):
            return Fraction(1)
        return SymbolResponse.likelihood_ratio(self)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        """Join a cohort and keep the value's symbol there, or replace it by a uniformly drawn other one."""
        cohorts = draws.uniform(self.codes.cohorts, values.shape)
        return answered(cohorts, self.codes.single[cohorts, values], self.codes.width, self.truth, draws)


def answered(
    cohorts: NDArray[np.int64], symbols: NDArray[np.int64], width: int, truth: int, draws: Draws
) -> NDArray[np.int64]:
    """Randomize symbols of given cohorts, and number them together with these."""
    answers: NDArray[np.int64] = draws.respond(symbols, width, truth)
    return cohorts * width + answers


@lru_cache(maxsize=4)
def _answers_noise(mechanism: CohortAnswers) -> CohortChannel:
    codes = mechanism.codes
    return CohortChannel(codes.single, codes.width, probability(mechanism.truth))


@dataclass(frozen=True)
class CohortBits(Mechanism):
    """Base of mechanisms that send a random cohort and the value's filter there, each bit flipped at random."""

    k: int
    epsilon: float

    purpose: ClassVar[str] = "short reports"

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """Which bits each value sets in each cohort."""

    @property
    def flip(self) -> int:
        """Probability that a bit is flipped, in GRID-ths."""
        return flip_numerator(self.epsilon, 2 * self.codes.hashes)

    @property
    def bit_numerators(self) -> tuple[int, int]:
        """How often a set bit of the filter is sent as set, and an unset one, in GRID-ths."""
        return GRID - self.flip, self.flip

    @property
    def slack_reason(self) -> str:
        """Why the strict level stays below the one asked for: collisions make filters differ in fewer bits."""
        if most_differing(self.codes) < 2 * self.codes.hashes:
            return "no two values have filters that differ in as many bits as those of other values might"
        return super().slack_reason

    @property
    def noise(self) -> RevealedBits:
        """Noise model: independent bits of one cohort per report."""
        return _bits_noise(self)

    @property
    def report_format(self) -> ReportFormat:
        """A row of bytes per report: the cohort's number, highest byte first, and packed bits."""
        return ReportFormat(np.dtype(np.uint8), header_bytes(self.codes.cohorts) + (self.codes.width + 7) // 8)

    @property
    def report_bits(self) -> int:
        """The bits of the cohort's number, and the filter."""
        return (self.codes.cohorts - 1).bit_length() + self.codes.width

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that a bit is flipped, in GRID-ths."""
        return {"flip": self.flip}

    def likelihood_ratio(self) -> Fraction:
        """Return ((1 - flip) / flip)^d, where d is the most bits in which the filters of two values differ."""
        return Fraction(GRID - self.flip, self.flip) ** most_differing(self.codes)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        """Join a cohort and flip the bits of the value's filter there."""
        codes, cohorts = self.codes, draws.uniform(self.codes.cohorts, values.shape)
        return flipped(
            cohorts, codes.symbols[cohorts, :, values], codes.width, self.flip, header_bytes(codes.cohorts), draws
        )

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports name a cohort and have no bit set in the padding of the last byte."""
        cohorts, rows = self.split(reports)
        return (cohorts < self.codes.cohorts) & clean_padding(rows, self.codes.width)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each bit of each cohort, as set and as not set."""
        cohorts, rows = self.split(reports)
        sizes = np.bincount(cohorts, minlength=self.codes.cohorts)
        groups = np.split(rows[np.argsort(cohorts, kind="stable")], np.cumsum(sizes)[:-1])
        sent = np.stack([bit_counts(group, self.codes.width) for group in groups])
        return np.stack([sent, sizes[:, None] - sent], axis=1).ravel()

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return what each report adds to the tally: the bits of its cohort, and their complements."""
        cohorts, rows = self.split(reports)
        bits = np.unpackbits(rows, axis=1, count=self.codes.width)
        tallies = np.zeros((len(reports), self.codes.cohorts, 2, self.codes.width), dtype=np.int64)
        tallies[np.arange(len(reports)), cohorts] = np.stack([bits, 1 - bits], axis=1)
        return tallies.reshape(len(reports), -1)

    def split(self, reports: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the cohorts of reports, and their packed bits.

        Parameters
        ----------
        reports : array
            Reports of the right dtype and width.
        """
        header = header_bytes(self.codes.cohorts)
        places = 256 ** np.arange(header)[::-1]
        return reports[:, :header].astype(np.int64) @ places, reports[:, header:]


def settle_cohorts(filters: CohortBits, usual: int) -> None:
    """Set the default number of cohorts and the seed; refuse codes and levels that do not serve."""
    settled(filters, "cohorts", 1, usual)
    settled(filters, "seed", 0)
    flip_numerator(filters.epsilon, 2 * filters.codes.hashes)


def header_bytes(cohorts: int) -> int:
    """Return the bytes of a cohort's number; none where there is only one."""
    return ((cohorts - 1).bit_length() + 7) // 8


def flipped(
    cohorts: NDArray[np.int64], places: NDArray[np.int64], width: int, flip: int, header: int, draws: Draws
) -> NDArray[np.uint8]:
    """Return packed reports: the cohorts' numbers, then filters with bits set at `places` and flipped at random."""
    filters = np.zeros((cohorts.size, -(-width // 8)), dtype=np.uint8)
    for bits in places.T:
        set_bits(filters, bits, np.ones(cohorts.size, dtype=np.bool_))
    numbers = cohorts.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - header :]
    return np.hstack([numbers, filters ^ draws.bits(flip, cohorts.size, width)])


def flip_numerator(epsilon: float, differing: int) -> int:
    """Return the probability that a bit is flipped, in GRID-ths: 1 / (e^(ε/d) + 1), rounded up, with d = `differing`.

    Two values differ in at most d bits. Levels at which bits would be fair coins are refused.
    """
    share = epsilon / differing
    if Fraction(share) * differing > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    flip = numerator_at_least(1 / (exp_below(share) + 1))
    if not 0 < 2 * flip < GRID:
        raise LdpstatsError(f"epsilon = {epsilon!r}", "levels large enough to show on a grid of 2^-64")
    return flip


@lru_cache(maxsize=4)
def _bits_noise(mechanism: CohortBits) -> RevealedBits:
    codes, flip = mechanism.codes, mechanism.flip
    return RevealedBits(codes.filters(), probability(GRID - flip), probability(flip), codes.cohorts)


@dataclass(frozen=True, slots=True)
class RAPPOR(CohortBits):
    """One-time RAPPOR: a Bloom filter of `bits` bits, with `hashes` hash functions of a random cohort, bits flipped.

    The filters of two values differ in up to 2 · hashes bits, so each bit is flipped with probability
    1 / (e^(ε / (2 hashes)) + 1): ε covers the whole report. Where no two of the k values have filters in one cohort
    that differ in so many bits, `strict_epsilon` is lower. Frequencies are decoded by least squares over the k
    values, which is unbiased given the hash functions. These are public and follow from `seed`; if they do not
    tell all k frequencies, those of the next seed are taken.

    The usual filter has a power of two of bits, at least 4 √k but hardly more than k, and so many cohorts that
    there are four times as many bits in all as values.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    bits : int, optional
        The length of the Bloom filter.
    hashes : int
        The number of hash functions, and so of the bits that a value sets at most.
    cohorts : int, optional
        Into how many groups respondents fall by chance, each with hash functions of its own.
    seed : int
        What the hash functions follow from; it is public.

    Examples
    --------
    >>> from ldpstats import RAPPOR
    >>> rappor = RAPPOR(100, epsilon=2.0)
    >>> rappor.bits, rappor.cohorts, rappor.report_bits
    (64, 7, 67)
    """

    bits: int | None = None
    hashes: int = 2
    cohorts: int | None = None
    seed: int = 0

    name: ClassVar[str] = "rappor"
    aliases: ClassVar[tuple[str, ...]] = ("one-time rappor", "bloom filter")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        settled(self, "hashes", 1)
        bits = settled(self, "bits", 2, usual_width(self.k))
        settle_cohorts(self, usual_cohorts(self.k, bits))

    @property
    def codes(self) -> Codes:
        """The functions of the cohorts."""
        return public_codes(hashed, self.k, self.cohorts, self.hashes, self.bits, self.seed)


@dataclass(frozen=True, slots=True)
class ORR(CohortAnswers):
    """O-RR for k known values: a random cohort permutes them, takes places modulo `symbols`, and randomizes these.

    With one cohort and k symbols this is GRR, but for the names of the outputs. With all permutations for cohorts
    it would be subset selection of k / symbols values; so the usual number of symbols is k over the size that is
    best there, and there are so many cohorts that they tell four times as many contrasts as there are values.
    The permutations are public and follow from `seed`; if they do not tell all k frequencies, those of the next
    seed are taken. Frequencies are decoded by least squares, which is unbiased given the permutations.

    (In Eq. 16 the channel is called a kC by S matrix; as it is used, p on its left, it is S by kC.)

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    symbols : int, optional
        How many different reports there are in a cohort.
    cohorts : int, optional
        Into how many groups respondents fall by chance, each with a permutation of its own.
    seed : int
        What the permutations follow from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import ORR
    >>> orr = ORR(100, epsilon=1.0)
    >>> orr.symbols, orr.cohorts, orr.report_bits
    (4, 132, 10)
    """

    symbols: int | None = None
    cohorts: int | None = None
    seed: int = 0

    name: ClassVar[str] = "o-rr"
    aliases: ClassVar[tuple[str, ...]] = ("orr",)
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        best_size = max(1, round(self.k / (math.exp(min(self.epsilon, _LARGEST_EXPONENT)) + 1)))
        symbols = settled(self, "symbols", 2, max(2, round(self.k / best_size)))
        cohorts = settled(self, "cohorts", 1, 1 if symbols >= self.k else -(-4 * (self.k - 1) // (symbols - 1)))
        favoured_numerator(self.epsilon, 1, symbols)
        public_codes(permuted, self.k, cohorts, 1, symbols, settled(self, "seed", 0))

    @property
    def codes(self) -> Codes:
        """The permutations modulo the number of symbols."""
        return public_codes(permuted, self.k, self.cohorts, 1, self.symbols, self.seed)


@dataclass(frozen=True, slots=True)
class ORAPPOR(CohortBits):
    """O-RAPPOR for k known values: a random cohort permutes them, and a filter holds their places modulo `bits`.

    With one cohort, one permutation per filter and k bits this is SUE (k-RAPPOR), but for the order of the bits;
    for up to 16 values that is also the usual choice. For more there are at least 4 √k bits, and so many cohorts
    that there are four times as many bits in all as values. All else is as in RAPPOR.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    bits : int, optional
        The length of a filter.
    hashes : int
        The number of places that a value sets in it, at most.
    cohorts : int, optional
        Into how many groups respondents fall by chance, each with a permutation of its own.
    seed : int
        What the permutations follow from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import ORAPPOR
    >>> ORAPPOR(100, epsilon=1.0).report_bits
    67
    """

    bits: int | None = None
    hashes: int = 1
    cohorts: int | None = None
    seed: int = 0

    name: ClassVar[str] = "o-rappor"
    aliases: ClassVar[tuple[str, ...]] = ("orappor",)
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        hashes, bits = settled(self, "hashes", 1), settled(self, "bits", 2, min(self.k, usual_width(self.k)))
        settle_cohorts(self, 1 if bits >= self.k and hashes == 1 else usual_cohorts(self.k, bits))

    @property
    def codes(self) -> Codes:
        """The permutations of the cohorts, modulo the number of bits."""
        return public_codes(permuted, self.k, self.cohorts, self.hashes, self.bits, self.seed)
