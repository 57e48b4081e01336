"""Subset selection (SS, k-subset, ω-SM): a random set that holds the true value with a raised probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms.base import Mechanism, ReportFormat, settled
from ldpstats.mechanisms.patterns import by_pattern
from ldpstats.noise import NoiseModel, SupportNoise, TruthOrFake
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, double, exp_below, favoured_numerator, probability
from ldpstats.numbers.randomness import Draws

_COUNTED = 1 << 14
"""Up to so many values the number of subsets is counted, beyond its logarithm is: that is right to a part in 10^12."""


@dataclass(frozen=True, slots=True)
class SS(Mechanism):
    """Subset selection (k-subset, ω-SM): `omega` values, the true one among them with a raised probability.

    Without `omega` the better of the whole numbers around k / (e^ε + 1) is taken, by exact variance.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    omega : int, optional
        The number of values in a report.

    Examples
    --------
    >>> from ldpstats import SS
    >>> ss = SS(17, epsilon=1.0)
    >>> ss.omega
    5
    """

    k: int
    epsilon: float
    omega: int | None = None

    name: ClassVar[str] = "ss"
    aliases: ClassVar[tuple[str, ...]] = ("k-subset", "omega-sm", "subset selection")
    source: ClassVar[str] = "Ye & Barg 2017; Wang et al. 2016, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        size = settled(self, "omega", 1, _best_size(self.k, self.epsilon), self.k - 1)
        favoured_numerator(self.epsilon, size, self.k)  # refuses levels that are too low

    @property
    def _size(self) -> int:
        assert self.omega is not None  # set in __post_init__
        return self.omega

    @property
    def _holds_truth(self) -> int:
        return favoured_numerator(self.epsilon, self._size, self.k)

    @property
    def noise(self) -> NoiseModel:
        """Noise model: supports of a fixed size; a single value is truth or a uniform fake, as in GRR."""
        holds = Fraction(self._holds_truth, GRID)
        if self._size == 1:
            return TruthOrFake.uniform(self.k, holds)
        return SupportNoise.subset(self.k, double(holds), self._size)

    @property
    def finest(self) -> Mechanism:
        """Count whole sets if at most 1,024 distinct ones exist, else how many hold each value."""
        return by_pattern(self)

    @property
    def report_format(self) -> ReportFormat:
        """A row of `omega` values in increasing order, so that the order tells nothing."""
        return ReportFormat(np.min_scalar_type(self.k - 1), self._size)

    @property
    def report_bits(self) -> int:
        """Bits that encode a set among all sets of its size."""
        return subset_bits(self.k, self._size)

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that the set holds the true value, in GRID-ths."""
        return {"holds": self._holds_truth}

    def likelihood_ratio(self) -> Fraction:
        """Return P(S | v in S) / P(S | w not in S), with the numbers of sets that hold and do not hold a value."""
        return Fraction(self._holds_truth * (self.k - self._size), (GRID - self._holds_truth) * self._size)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw who sends the truth along, and all other values uniformly."""
        return draws.subsets(values, self.k, self._size, draws.bernoulli(self._holds_truth, values.shape))

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports are increasing values of the alphabet."""
        increasing = np.all(reports[:, 1:] > reports[:, :-1], axis=1)
        valid: BoolArray = increasing & (reports[:, -1] < self.k)
        return valid

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how many sets hold each value."""
        return np.bincount(reports.ravel(), minlength=self.k)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return a 0-1 row per set."""
        rows = np.zeros((len(reports), self.k), dtype=np.int64)
        np.put_along_axis(rows, reports.astype(np.int64), 1, axis=1)
        return rows


def _best_size(k: int, epsilon: float) -> int:
    """Return the size that gives the least variance where all values are equally frequent."""

    def variance(size: int) -> float:
        noise = SupportNoise.subset(k, probability(favoured_numerator(epsilon, size, k)), size)
        mean = noise.q + noise.delta / k
        return mean * (1 - mean) / noise.delta**2

    lower = int(k / (exp_below(epsilon) + 1))
    return min((size for size in (lower, lower + 1) if 1 <= size < k), key=variance)


def subset_bits(values: int, size: int) -> int:
    """Return the bits that encode one set among all sets of its size: log2 of the binomial coefficient, rounded up."""
    if values <= _COUNTED:
        return (math.comb(values, size) - 1).bit_length()
    logarithm = math.lgamma(values + 1) - math.lgamma(size + 1) - math.lgamma(values - size + 1)
    return math.ceil(logarithm / math.log(2))
