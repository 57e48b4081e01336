"""RAPPOR: the bits of a Bloom filter, each randomized on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.codes import (
    Codes,
    Family,
    hashed,
    most_differing,
    public_codes,
    settled,
    usual_cohorts,
    usual_width,
)
from ldpstats.mechanisms.cohorts import CohortBits, flip_numerator


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
