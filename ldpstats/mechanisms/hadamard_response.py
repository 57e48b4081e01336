"""Hadamard mechanisms: short reports and fast decoding for large alphabets (HR, HRR)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.grr import SymbolResponse
from ldpstats.noise.hadamard import HadamardRandomizedResponse, HadamardResponse, odd, order, places
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, exp_below, favoured_numerator, probability
from ldpstats.numbers.randomness import Draws

_LARGEST_TELLING = 64.0
"""Beyond this level the grid of 2^-64 makes all levels the same, and the number of blocks need not change."""


@dataclass(frozen=True, slots=True)
class HR(Mechanism):
    """Hadamard response: an output of the value's own set is e^ε times likelier than one outside; sets overlap by half.

    The K = B b outputs form B blocks of a power of two b. A value has one of the rows of the b-by-b Hadamard
    matrix, without the first, in one of the blocks, and its set are the s = b/2 outputs where that row is +1.
    With Z = s e^ε + K - s the estimate of a frequency is Z / (s (e^ε - 1)) times the mean of the row's entries at
    the reports of its block.

    The paper has B = 2^(⌈log₂ min(e^ε, 2k)⌉ - 1) blocks of b = 2^⌈log₂(k/B + 1)⌉ outputs. Here b is the same function
    of B, but B is a number of your own or else the one of least exact variance when all values are equally frequent;
    it need not be a power of two. At ε = 1 that is one block where the paper has two, and leaves 65 to 85 % of the
    variance; at ε = 4 and k = 1000, where the paper has 32 blocks and values in only 16 of them, it is 33 blocks and
    leaves 69 %.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    blocks : int, optional
        The number of blocks of outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import HR
    >>> hr = HR(1000, epsilon=1.0)
    >>> reports = hr.privatize(np.repeat([3, 999], 5000), rng=1)
    >>> hr.estimate(reports).to_frame().loc[[0, 3, 999]].round(2)
         estimate  std_err  lower  upper
    0        0.00     0.02  -0.04   0.05
    3        0.49     0.02   0.45   0.53
    999      0.47     0.02   0.42   0.51
    """

    k: int
    epsilon: float
    blocks: int | None = None

    name: ClassVar[str] = "hr"
    aliases: ClassVar[tuple[str, ...]] = ("hadamard response",)
    source: ClassVar[str] = "Acharya, Sun & Zhang 2019"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        settled(self, "blocks", 1, _best_blocks(self.k, self.epsilon), most=2 * self.k)
        favoured_numerator(self.epsilon, self._half, self._outputs)  # refuses levels that are too low

    @property
    def _blocks(self) -> int:
        assert self.blocks is not None  # set in __post_init__
        return self.blocks

    @property
    def _size(self) -> int:
        return _block_size(self.k, self._blocks)

    @property
    def _half(self) -> int:
        return self._size // 2

    @property
    def _outputs(self) -> int:
        return self._blocks * self._size

    @property
    def _inside(self) -> int:
        """Probability that a report is in the set of its value, in GRID-ths."""
        return favoured_numerator(self.epsilon, self._half, self._outputs)

    @property
    def noise(self) -> HadamardResponse:
        """The channel, with its fast transform."""
        return HadamardResponse(self.k, self._blocks, self._size, probability(self._inside))

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that a report is in the set of its value, in GRID-ths."""
        return {"inside": self._inside}

    @property
    def derived(self) -> dict[str, int]:
        """The number of outputs in a block."""
        return {"size": self._size}

    def likelihood_ratio(self) -> Fraction:
        """Return P(y | y in the set of v) / P(y | not in that of w)."""
        return Fraction(self._inside * (self._outputs - self._half), (GRID - self._inside) * self._half)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        """Draw an output of the value's set, or one of all the others, of which the first half block is near."""
        start, row = np.divmod(places(values, self._size), self._size)
        start *= self._size
        inside = draws.bernoulli(self._inside, values.shape)
        near = draws.uniform(self._half, values.shape)
        other = draws.uniform(self._outputs - self._half, values.shape)
        column = _column(row, np.where(inside, near, other), negative=~inside)
        elsewhere = other - self._half
        elsewhere += self._size * (elsewhere >= start)
        return np.where(inside | (other < self._half), start + column, elsewhere)


@dataclass(frozen=True, slots=True)
class HRR(SymbolResponse):
    """Hadamard randomized response: a random column of a Hadamard matrix, and the sign of the value's entry there.

    The sign is kept with probability p = e^ε / (e^ε + 1). The estimate is the inverse transform of the coefficients
    divided by 2p - 1, and n times its covariance is c² I - f fᵀ with c = (e^ε + 1) / (e^ε - 1).

    Eq. 47 of Wang et al. (2020), 4 p (1 - p) / (2p - 1)² / n = 4 e^ε / (e^ε - 1)² / n, is (c² - 1) / n: it leaves out
    that columns are sampled. The variance of a rare value is c² / n, that of BLH: larger by 1/n, or 27 % at ε = 1.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> from ldpstats.mechanisms import HRR
    >>> hrr = HRR(1000, epsilon=1.0)
    >>> hrr.report_bits
    11
    >>> round(hrr.variance(0, n=1), 4)
    4.6827
    """

    name: ClassVar[str] = "hrr"
    aliases: ClassVar[tuple[str, ...]] = ("hadamard randomized response", "hadamard coefficients")
    source: ClassVar[str] = "Cormode, Kulkarni & Srivastava 2018, in Wang et al. 2020"

    @property
    def _symbols(self) -> int:
        return 2

    @property
    def _outputs(self) -> int:
        return 2 * order(self.k)

    @property
    def noise(self) -> HadamardRandomizedResponse:
        """The channel, with its fast transform."""
        return HadamardRandomizedResponse(self.k, probability(self.truth))

    @property
    def derived(self) -> dict[str, int]:
        """The number of columns."""
        return {"columns": order(self.k)}

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        """Draw a column, and keep or turn the sign there."""
        columns = draws.uniform(order(self.k), values.shape)
        reports: NDArray[np.int64] = 2 * columns + draws.respond(odd(values, columns), 2, self.truth)
        return reports


def _block_size(k: int, blocks: int) -> int:
    """Return the smallest power of two that leaves rows for all values, if no block has a value in its first row."""
    most = -(-k // blocks)
    return 1 << most.bit_length()


def _best_blocks(k: int, epsilon: float) -> int:
    """Return the number of blocks with the least variance; for each block size the least number is enough to try."""
    sizes = [1 << digits for digits in range(1, k.bit_length() + 1)]
    likelihood = exp_below(min(epsilon, _LARGEST_TELLING))
    return min((-(-k // (size - 1)) for size in sizes), key=lambda blocks: _variance_at_uniform(k, likelihood, blocks))


def _variance_at_uniform(k: int, likelihood: Fraction, blocks: int) -> Fraction:
    """Return the mean n-fold variance of HR over the values, up to a constant, at equal frequencies.

    A value's is c² times the probability of its block, less the square of its frequency, where c = Z / (s (e^ε - 1))
    and a block of total frequency F has the probability (b + s (e^ε - 1) F) / Z.
    """
    size = _block_size(k, blocks)
    full, rest = divmod(k, size - 1)
    together = Fraction(full * (size - 1) ** 2 + rest**2, k**2)
    gain = size // 2 * (likelihood - 1)
    total = gain + blocks * size
    return total / gain**2 * (size + gain * together)


def _column(row: NDArray[np.int64], number: NDArray[np.int64], *, negative: BoolArray) -> NDArray[np.int64]:
    """Return the column of this number, below half of them, among those where the row is negative, or is positive.

    The number gives all binary digits but one, for which the row has a one: that digit sets the sign.
    """
    digit = row & -row
    low = number & (digit - 1)
    column: NDArray[np.int64] = 2 * (number - low) + low
    return np.where(odd(row, column) == negative, column, column + digit)
