"""RAPPOR, and what it shares with sketches and open alphabets: random cohorts with public hash functions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, at_least
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.grid import GRID, exp_below, numerator_at_least, numerator_at_most, probability
from ldpstats.hashing import symbols_of
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.mechanisms.bits import bit_counts, clean_padding, set_bits
from ldpstats.noise import CohortChannel, MultinomialNoise, RevealedBits
from ldpstats.noise.revealed import differing_bits, identifies
from ldpstats.randomness import Draws

Family: TypeAlias = Callable[[int, int, int, int], NDArray[np.int64]]
"""Public maps from k values to symbols: family(k, how many maps, symbols, seed) has a row per map."""

_SEEDS_TRIED = 100
_LARGEST_CODE = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Which of `width` symbols, or bits, stand for a value in a cohort; everybody knows that.

    Parameters
    ----------
    symbols : array of int, shape (cohorts, hashes, values)
        The values of the public hash functions, of which every cohort has the same number.
    width : int
        The number of symbols.
    """

    symbols: NDArray[np.int64]
    width: int

    def __post_init__(self) -> None:
        self.symbols.setflags(write=False)

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return len(self.symbols)

    @property
    def single(self) -> NDArray[np.int64]:
        """The one symbol of every value in every cohort, by the first function."""
        return self.symbols[:, 0]

    def filters(self) -> NDArray[np.int8]:
        """Return the bits of every cohort in turn, those at a value's symbols set: shape (slots, values)."""
        cohorts, hashes, values = self.symbols.shape
        bits = np.zeros((cohorts, self.width, values), dtype=np.int8)
        for function in range(hashes):
            bits[np.arange(cohorts)[:, None], self.symbols[:, function], np.arange(values)] = 1
        return bits.reshape(-1, values)


def hashed(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return hash functions of the family in `ldpstats.hashing`, a row of values each."""
    functions = np.repeat(_functions(seed, maps), k, axis=0)
    return symbols_of(functions, np.tile(np.arange(k), maps), symbols).reshape(maps, k)


def permuted(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return pseudo-random orders of the values modulo `symbols`, which makes all symbols nearly equally frequent."""
    order: NDArray[np.int64] = np.argsort(hashed(k, maps, 1 << 32, seed), axis=1, kind="stable") % symbols
    return order


def _functions(seed: int, count: int) -> NDArray[np.uint64]:
    """Return the seeds of public functions: digests, so that clients and servers of any kind find the same ones."""
    words = b"".join(blake2b(f"{seed} {number}".encode(), digest_size=16).digest() for number in range(count))
    return np.frombuffer(words, dtype="<u8").reshape(count, 2).astype(np.uint64)


@lru_cache(maxsize=16)
def public_codes(family: Family, k: int, cohorts: int, hashes: int, width: int, seed: int) -> Codes:
    """Return the codes of the first seed, from this one on, that lets reports tell all k frequencies."""
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
    """Refuse more values than any functions could tell apart, or than a computer could."""
    # with one function per cohort its bits sum to one, so that each cohort after the first tells one number less
    most = cohorts * (width - 1) + 1 if hashes == 1 else cohorts * width
    if k > most:
        raise NotIdentifiedError(
            f"{k} values in {cohorts} cohorts of {width} symbols", f"at most {most} values", "Take more cohorts."
        )
    if cohorts * width * k > _LARGEST_CODE:
        raise LdpstatsError(
            f"{cohorts} cohorts of {width} symbols for {k} values",
            f"up to {_LARGEST_CODE} combinations of them",
            "OLH hashes alphabets of any size.",
        )


def usual_width(k: int) -> int:
    """Return a power of two that makes collisions rare enough: at least 4 √k, but no more than twice k."""
    return 1 << (min(k + 1, math.ceil(4 * math.sqrt(k))) - 1).bit_length()


def usual_cohorts(k: int, width: int) -> int:
    """Return how many cohorts have four times as many slots in all as there are values; at least four."""
    return max(4, -(-4 * k // width))


def settled(frozen: object, name: str, least: int, usual: int | None = None) -> int:
    """Check a field, which has its usual value where none is given, and return it."""
    given = getattr(frozen, name)
    value = at_least(usual if given is None else given, least, name)
    object.__setattr__(frozen, name, value)
    return value


class CohortAnswers(Mechanism, Protocol):
    """Mechanisms that send a random cohort, and by randomized response the symbol that it gives to the value."""

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """Which symbol each value has in each cohort."""

    @property
    def truth(self) -> int:
        """How often the symbol is sent as it is, in GRID-ths."""
        return truth_numerator(self.epsilon, self.codes.width)

    @property
    def noise(self) -> MultinomialNoise:
        """Randomized response in every cohort."""
        return _answers_noise(self)

    @property
    def report_format(self) -> ReportFormat:
        """One number per report: cohort · symbols + symbol."""
        return ReportFormat(np.min_scalar_type(self._outputs - 1))

    @property
    def report_bits(self) -> int:
        """The bits of that number."""
        return (self._outputs - 1).bit_length()

    @property
    def _outputs(self) -> int:
        return self.codes.cohorts * self.codes.width

    def likelihood_ratio(self) -> Fraction:
        """Return P(symbol | a value that has it) / P(symbol | another value)."""
        if np.all(self.codes.single == self.codes.single[:, :1]):
            return Fraction(1)
        return Fraction(self.truth * (self.codes.width - 1), GRID - self.truth)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        """Join a cohort and keep the value's symbol there, or replace it by a uniformly drawn other one."""
        cohorts = draws.uniform(self.codes.cohorts, values.shape)
        return answered(cohorts, self.codes.single[cohorts, values], self.codes.width, self.truth, draws)

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Any symbol of any cohort."""
        return reports < self._outputs

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each symbol of each cohort."""
        return np.bincount(reports, minlength=self._outputs)


def answered(
    cohorts: NDArray[np.int64], symbols: NDArray[np.int64], width: int, truth: int, draws: Draws
) -> NDArray[np.int64]:
    """Randomize symbols of given cohorts, and number them together with these."""
    answers: NDArray[np.int64] = draws.respond(symbols, width, truth)
    return cohorts * width + answers


def truth_numerator(epsilon: float, symbols: int) -> int:
    """Return how often randomized response tells the truth, in GRID-ths; refuse levels at which it says nothing."""
    likelihood = exp_below(epsilon)
    truth = numerator_at_most(likelihood / (likelihood + symbols - 1))
    if truth * symbols <= GRID:
        raise LdpstatsError(f"epsilon = {epsilon!r} for {symbols} symbols", "levels that show on a grid of 2^-64")
    return truth


@lru_cache(maxsize=4)
def _answers_noise(mechanism: CohortAnswers) -> MultinomialNoise:
    codes = mechanism.codes
    return MultinomialNoise(CohortChannel(codes.single, codes.width, probability(mechanism.truth)))


class CohortBits(Mechanism, Protocol):
    """Mechanisms that send a random cohort, and the filter that it gives to the value with bits flipped at random."""

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """Which bits each value sets in each cohort."""

    @property
    @abstractmethod
    def flip(self) -> int:
        """How often a bit is flipped, in GRID-ths."""

    @property
    def noise(self) -> RevealedBits:
        """Independent bits of one cohort."""
        return _bits_noise(self)

    @property
    def report_format(self) -> ReportFormat:
        """A row of bytes per report: the cohort's number, highest byte first, and packed bits."""
        return ReportFormat(np.dtype(np.uint8), header_bytes(self.codes.cohorts) + (self.codes.width + 7) // 8)

    @property
    def report_bits(self) -> int:
        """The bits of the cohort's number, and the filter."""
        return (self.codes.cohorts - 1).bit_length() + self.codes.width

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
        """Any bits of any cohort, but nothing in the padding of the last byte."""
        cohorts, rows = self._split(reports)
        known: BoolArray = (cohorts < self.codes.cohorts) & clean_padding(rows, self.codes.width)
        return known

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each bit of each cohort, as set and as not set."""
        cohorts, rows = self._split(reports)
        sizes = np.bincount(cohorts, minlength=self.codes.cohorts)
        groups = np.split(rows[np.argsort(cohorts, kind="stable")], np.cumsum(sizes)[:-1])
        sent = np.stack([bit_counts(group, self.codes.width) for group in groups])
        return np.stack([sent, sizes[:, None] - sent], axis=1).ravel()

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return what each report adds to the tally: the bits of its cohort, and their complements."""
        cohorts, rows = self._split(reports)
        bits = np.unpackbits(rows, axis=1, count=self.codes.width)
        tallies = np.zeros((len(reports), self.codes.cohorts, 2, self.codes.width), dtype=np.int64)
        tallies[np.arange(len(reports)), cohorts] = np.stack([bits, 1 - bits], axis=1)
        return tallies.reshape(len(reports), -1)

    def _split(self, reports: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the cohorts of reports, and their packed bits."""
        header = header_bytes(self.codes.cohorts)
        places = 256 ** np.arange(header)[::-1]
        return reports[:, :header].astype(np.int64) @ places, reports[:, header:]


def header_bytes(cohorts: int) -> int:
    """Return the bytes of a cohort's number; none where there is only one."""
    return ((cohorts - 1).bit_length() + 7) // 8


def flipped(
    cohorts: NDArray[np.int64], places: NDArray[np.int64], width: int, flip: int, header: int, draws: Draws
) -> NDArray[np.uint8]:
    """Flip bits of filters in which these places are set, and put the cohorts' numbers before them."""
    filters = np.zeros((cohorts.size, -(-width // 8)), dtype=np.uint8)
    for place in places.T:
        set_bits(filters, place, np.ones(cohorts.size, dtype=np.bool_))
    numbers = cohorts.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - header :]
    return np.hstack([numbers, filters ^ draws.bits(flip, cohorts.size, width)])


def flip_numerator(epsilon: float, differing: int) -> int:
    """Return how often bits are flipped where at most `differing` tell two values apart: 1 / (e^(ε/d) + 1), rounded.

    It is in GRID-ths; levels at which bits would be fair coins are refused.
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


@lru_cache(maxsize=16)
def most_differing(codes: Codes) -> int:
    """Return in how many bits the filters of two values in a cohort differ at most."""
    if codes.symbols.shape[1] == 1:
        return 2 if np.any(codes.single != codes.single[:, :1]) else 0
    return max(map(sum, differing_bits(codes.filters(), codes.cohorts, codes.width)))


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

    Examples
    --------
    >>> rappor = RAPPOR(100, epsilon=2.0)
    >>> rappor.bits, rappor.cohorts, rappor.report_bits
    (64, 7, 67)
    >>> rappor.privatize([0, 99, 3], rng=1).data.shape
    (3, 9)
    """

    k: int
    epsilon: float
    bits: int | None = None
    hashes: int = 2
    cohorts: int | None = None
    seed: int = 0

    name: ClassVar[str] = "rappor"
    aliases: ClassVar[tuple[str, ...]] = ("one-time rappor", "bloom filter")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        hashes, seed = settled(self, "hashes", 1), settled(self, "seed", 0)
        bits = settled(self, "bits", 2, self._usual_bits)
        cohorts = settled(self, "cohorts", 1, self._usual_cohorts(bits))
        flip_numerator(self.epsilon, 2 * hashes)
        public_codes(self._family, self.k, cohorts, hashes, bits, seed)

    @property
    def _family(self) -> Family:
        return hashed

    @property
    def _usual_bits(self) -> int:
        return usual_width(self.k)

    def _usual_cohorts(self, bits: int) -> int:
        return usual_cohorts(self.k, bits)

    @property
    def codes(self) -> Codes:
        """The functions of the cohorts."""
        assert self.bits is not None
        assert self.cohorts is not None  # both are set in __post_init__
        return public_codes(self._family, self.k, self.cohorts, self.hashes, self.bits, self.seed)

    @property
    def flip(self) -> int:
        """How often a bit is flipped, in GRID-ths."""
        return flip_numerator(self.epsilon, 2 * self.hashes)

    @property
    def slack_reason(self) -> str:
        """Collisions make filters differ in fewer bits."""
        if most_differing(self.codes) < 2 * self.hashes:
            return "hash functions collide, and no two values' filters differ in as many bits as they might"
        return str(Mechanism.slack_reason.__get__(self))
