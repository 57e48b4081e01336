"""The channel of whole reports that are sets of values, where there are few enough sets to count each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import MOST_PATTERNS
from ldpstats.noise.channels import RAREST, ChannelNoise, proper
from ldpstats.noise.information import Information, information_of
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.noise.support import SupportNoise
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class PatternChannel(ChannelNoise):
    """Every output is a set of values that a report supports: any set, or any of the fixed size.

    Counts of sets have a likelihood, those by value two moments; the unbiased estimate is by the latter. Sets of any
    size are numbered in binary, the first value first; those of a fixed size by their largest members, then the next.
    """

    support: SupportNoise

    def __post_init__(self) -> None:
        if not _few_patterns(self.support):
            size = "any size" if self.support.size is None else f"size {self.support.size}"
            raise LdpstatsError(
                f"all sets of {size} of {self.cells:,} values",
                f"up to {MOST_PATTERNS:,} sets",
                "Count how many reports support each value instead.",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # what is cached here can be made again
        return PatternChannel, (self.support,)

    @property
    def cells(self) -> int:
        """The number of true values."""
        return self.support.cells

    @property
    def outputs(self) -> int:
        """The number of sets."""
        return _patterns(self.support)

    @property
    def epsilon(self) -> float:
        """The privacy level."""
        return self.support.epsilon

    @cached_property
    def members(self) -> FloatArray:
        """A row per set, with ones for its values."""
        size, values = self.support.size, np.arange(self.cells)
        if size is None:
            bits: FloatArray = ((np.arange(self.outputs)[:, None] >> values[::-1]) & 1).astype(float)
            return bits
        sets = sorted(combinations(range(self.cells), size), key=lambda chosen: chosen[::-1])
        held: FloatArray = np.any(np.array(sets)[:, :, None] == values, axis=1).astype(float)
        return held

    def numbers(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the set that each report supports; a report is a row of zeros and ones."""
        numbers: NDArray[np.int64]
        if self.support.size is None:
            numbers = reports @ (1 << np.arange(self.cells)[::-1])
            return numbers
        # the sets before it in the order: that of the combinatorial number system
        numbers = (reports * self._before[np.arange(self.cells), reports.cumsum(axis=1)]).sum(axis=1)
        return numbers

    def numbers_of_members(self, members: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of sets of the fixed size, each row its values in increasing order."""
        numbers = np.zeros(len(members), dtype=np.int64)
        for position in range(members.shape[1]):
            numbers += self._before[:, position + 1][members[:, position]]
        return numbers

    @cached_property
    def _before(self) -> IntArray:
        """Number of sets of each size below each value, cut at the number of outputs, beyond which no set needs it."""
        before = np.zeros((self.cells, self.cells + 1), dtype=np.int64)
        before[:, 0] = 1
        for value in range(1, self.cells):
            before[value, 1:] = np.minimum(before[value - 1, 1:] + before[value - 1, :-1], self.outputs)
        return before

    @cached_property
    def _chances(self) -> tuple[FloatArray, FloatArray]:
        """Probability of every set, for a true value that is in it and for one that is not."""
        noise, held = self.support, self.members.sum(axis=1)
        others = self.cells - 1
        if noise.size is not None:
            outside = (1 - noise.p) / math.comb(others, noise.size) if noise.size < self.cells else 0.0
            inside = noise.p / math.comb(others, noise.size - 1)
            return np.full(self.outputs, inside), np.full(self.outputs, outside)
        inside = noise.p * noise.q ** np.maximum(held - 1, 0) * (1 - noise.q) ** (others - np.maximum(held - 1, 0))
        outside = (1 - noise.p) * noise.q**held * (1 - noise.q) ** np.maximum(others - held, 0)
        return inside, outside

    @cached_property
    def _matrix(self) -> FloatArray:
        inside, outside = self._chances
        matrix = np.where(self.members.T > 0, inside, outside)
        matrix.setflags(write=False)
        return matrix

    @cached_property
    def _gains(self) -> FloatArray:
        """How much likelier a set is for its members than for the others, a row per set."""
        inside, outside = self._chances
        return self.members * np.where(self.idle, 0.0, inside - outside)[:, None]

    @cached_property
    def _pairs(self) -> FloatArray:
        """The products of the gains of any two values, each pair once, a row per set."""
        first, second = np.triu_indices(self.cells)
        return self._gains[:, first] * self._gains[:, second]

    @cached_property
    def _places(self) -> IntArray:
        """Which column of `_pairs` is for which two values."""
        places = np.zeros((self.cells, self.cells), dtype=np.int64)
        first, second = np.triu_indices(self.cells)
        places[first, second] = places[second, first] = np.arange(first.size)
        return places

    @cached_property
    def idle(self) -> BoolArray:
        """Mask of the sets that all values make equally likely: the empty one, and that of all."""
        held = self.members.sum(axis=1)
        idle: BoolArray = (held == 0) | (held == self.cells)
        return idle

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return frequencies @ self._matrix

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        return self._matrix

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies by the counts by value, as if no more was known."""
        return self.support.debias(proportions @ self.members)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the multinomial score and its information; idle sets have no gain, so they need no care."""
        mean = self.mean(frequencies)
        inverse = 1 / np.where(mean == 0, RAREST, mean)
        information = information_of((n * inverse @ self._pairs)[..., self._places])
        return (counts * inverse - n) @ self._gains, information

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the reports of each true value's respondents and add them up."""
        counts = np.zeros((*true_counts.shape[:-1], self.outputs), dtype=np.int64)
        for value, law in enumerate(proper(self._matrix)):
            counts += rng.multinomial(true_counts[..., value], law)
        return counts

    def bounds(self) -> FloatArray:
        """Return each cell's estimate if none, and if all, of the reports supported it."""
        return self.support.bounds()

    @property
    def by_value(self) -> SupportNoise:
        """The noise of the same reports, counted by the values that they support."""
        return self.support

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate: that of the counts by value."""
        return self.support.covariance(frequencies)

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        return self.support.variance(frequencies)

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return epsilon for the values in each set, and 0 for the others: ln P(set | value), up to a constant."""
        return self.support.log_likelihoods(self.members[tallies.argmax(axis=-1)])

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for each table whether every set that tells anything has a positive probability, beyond rounding."""
        # many sets are tiny, and so is their rounding error
        rounding = np.finfo(float).eps * self._matrix.max(axis=0)
        proper: BoolArray = np.all((self.mean(frequencies) > rounding) | self.idle, axis=-1)
        return proper

    def total(self) -> ReportTotal | None:
        """Return the law of the size of the reported sets; None where it is fixed."""
        of_values = self.support.total()
        return None if of_values is None else replace(of_values, weights=self.members.sum(axis=1))


def patterns_of(noise: NoiseModel) -> PatternChannel | None:
    """Return the channel of whole reports; None where they are no sets of values, or too many sets to count."""
    return pattern_channel(noise) if isinstance(noise, SupportNoise) and _few_patterns(noise) else None


@lru_cache(maxsize=64)
def pattern_channel(noise: SupportNoise) -> PatternChannel:
    """Return the channel of whole reports, cached with its matrices."""
    return PatternChannel(noise)


def _few_patterns(noise: SupportNoise) -> bool:
    # there are no fewer sets than values, and of very many values their number alone would take long
    return noise.cells <= MOST_PATTERNS and _patterns(noise) <= MOST_PATTERNS


def _patterns(noise: SupportNoise) -> int:
    return 1 << noise.cells if noise.size is None else math.comb(noise.cells, noise.size)
