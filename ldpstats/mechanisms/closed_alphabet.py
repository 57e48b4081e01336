"""O-RR and O-RAPPOR for values that are known: permutations in place of hash functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.codes import Codes, permuted, public_codes, usual_cohorts, usual_width
from ldpstats.mechanisms.cohorts import CohortAnswers, CohortBits, settle_cohorts
from ldpstats.numbers.grid import favoured_numerator

_LARGEST_EXPONENT = 100.0


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
