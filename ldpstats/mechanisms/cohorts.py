"""Cohort mechanisms: a report joins a random cohort and randomizes the symbol, or the bits, of its value there."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism, ReportFormat, settled
from ldpstats.mechanisms.bits import bit_counts, clean_padding, set_bits
from ldpstats.mechanisms.codes import Codes, most_differing
from ldpstats.mechanisms.grr import SymbolResponse
from ldpstats.noise import CohortChannel, RevealedBits
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, exp_below, numerator_at_least, probability
from ldpstats.numbers.randomness import Draws


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
        cohorts, rows = self._split(reports)
        return (cohorts < self.codes.cohorts) & clean_padding(rows, self.codes.width)

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
    for place in places.T:
        set_bits(filters, place, np.ones(cohorts.size, dtype=np.bool_))
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
