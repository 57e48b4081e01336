"""RAPPOR: the bits of a Bloom filter, each randomized on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.codes import Codes, hashed, public_codes, usual_cohorts, usual_width
from ldpstats.mechanisms.cohorts import CohortBits, settle_cohorts


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
