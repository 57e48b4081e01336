"""Local hashing: the value's symbol under a random public hash function, by randomized response (LH, BLH, OLH)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms.base import Mechanism, ReportFormat, settled
from ldpstats.mechanisms.grr import SymbolResponse
from ldpstats.noise import SupportNoise
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import exp_below, probability
from ldpstats.numbers.hashing import LARGEST_SYMBOLS, support_counts, symbols_of
from ldpstats.numbers.randomness import Draws

_SEED_WORDS = 2
_CERTAINLY_MOST = 20.0
"""Above this level e^ε is larger than the number of symbols can be."""


class LocalHashing(SymbolResponse):
    """Base of local hashing with g symbols.

    Every respondent draws a hash function of her own, which is public, and answers with her value's symbol: the
    true one with probability p = e^ε / (e^ε + g - 1), or another one. That is ε-private whatever the function. A
    report supports the values that its function sends to the answer, which holds for another value than the true
    one with probability 1/g. The noise model is that of ideal hashing; `ldpstats.numbers.hashing` says how near the
    functions come to it.

    The estimate (θ/n - 1/g) / (p - 1/g) from the number θ of supports is Eq. 38 of Wang et al. (2020).
    """

    @property
    def noise(self) -> SupportNoise:
        """Noise model: independent supports; values other than the true one are supported with probability 1/g."""
        return SupportNoise.independent(self.k, probability(self.truth), 1 / self._symbols)

    @property
    def report_format(self) -> ReportFormat:
        """A row per report: the two words that give the hash function, and the answered symbol."""
        return ReportFormat(np.dtype(np.uint64), _SEED_WORDS + 1, np.min_scalar_type(self._symbols - 1))

    @property
    def report_bits(self) -> int:
        """The bits of the hash function and of a symbol."""
        return 64 * _SEED_WORDS + (self._symbols - 1).bit_length()

    @property
    def hash_symbols(self) -> int:
        """The number of symbols."""
        return self._symbols

    @property
    def derived(self) -> dict[str, int]:
        """The number of symbols."""
        return {"symbols": self._symbols}

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        """Draw hash functions, and answer with the values' symbols."""
        return self.answered(draws.hash_seeds(values.size, self.k, self._symbols), values, draws)

    def answered(self, seeds: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        """Answer with the values' symbols under given hash functions.

        Parameters
        ----------
        seeds : array, shape (respondents, words)
            The hash functions.
        values : array of int
        draws : Draws
        """
        answers = draws.respond(symbols_of(seeds, values, self._symbols), self._symbols, self.truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports name a symbol that exists; any hash function does."""
        return reports[:, _SEED_WORDS] < self._symbols

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how many reports support each value."""
        seeds, answers = np.ascontiguousarray(reports[:, :_SEED_WORDS]), reports[:, _SEED_WORDS]
        return support_counts(seeds, answers, self.k, self._symbols)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return which values each report supports, a 0-1 row per report."""
        seeds, answers = np.ascontiguousarray(reports[:, :_SEED_WORDS]), reports[:, _SEED_WORDS]
        supported = np.empty((len(reports), self.k), dtype=np.int64)
        for value in range(self.k):
            supported[:, value] = symbols_of(seeds, np.full(len(reports), value), self._symbols) == answers
        return supported


@dataclass(frozen=True, slots=True)
class LH(LocalHashing):
    """Local hashing to a number of `symbols` of your own; without it, to the best one, as OLH does.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    symbols : int, optional
        How many symbols values are hashed to.

    Examples
    --------
    >>> from ldpstats.mechanisms import LH
    >>> round(LH(100, epsilon=1.0, symbols=8).variance(0, n=1), 2)
    4.57
    """

    symbols: int | None = None

    name: ClassVar[str] = "lh"
    aliases: ClassVar[tuple[str, ...]] = ("local hashing",)
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"
    purpose: ClassVar[str] = "parameters of your own"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        settled(self, "symbols", 2, best_symbols(self.epsilon), LARGEST_SYMBOLS)
        SymbolResponse.__post_init__(self)

    @property
    def _symbols(self) -> int:
        assert self.symbols is not None  # set in __post_init__
        return self.symbols


@dataclass(frozen=True, slots=True)
class BLH(LocalHashing):
    """Binary local hashing: to a single bit, so that the variance is ((e^ε + 1) / (e^ε - 1))² / n for rare values.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> from ldpstats import BLH
    >>> BLH(100, epsilon=1.0).report_bits
    129
    """

    name: ClassVar[str] = "blh"
    aliases: ClassVar[tuple[str, ...]] = ("binary local hashing",)
    source: ClassVar[str] = "Bassily & Smith 2015; Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"

    @property
    def _symbols(self) -> int:
        return 2


@dataclass(frozen=True, slots=True)
class OLH(LocalHashing):
    """Optimal local hashing: to the number g of symbols that gives rare values the least variance.

    The variance of a rare value, (e^ε + g - 1)² / ((g - 1) (e^ε - 1)²) / n, is least at g = e^ε + 1. The paper
    rounds that down; here the better of the two whole numbers around it is taken, up to 65,536. That is 3 instead
    of 2 at ε = .5 and 4 instead of 3 at ε = 1, with 5 and 2 % less variance.

    Two printed formulas hold only for g = e^ε + 1 itself: the estimate 2 (gθ - N) / (N (e^ε - 1)) of Wang et al.
    (2020) and their Eq. 43, the variance 4 e^ε / (e^ε - 1)² / N. With the paper's g = 3 at ε = 1 the former is 15 %
    too small in the mean. `estimate` is unbiased and `variance` exact for the g that is used.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import OLH
    >>> olh = OLH(1000, epsilon=1.0)
    >>> reports = olh.privatize(np.repeat([3, 999], 5000), rng=1)
    >>> olh.estimate(reports).to_frame().loc[[0, 3, 999]].round(2)
         estimate  std_err  lower  upper
    0       -0.00     0.02  -0.04   0.04
    3        0.50     0.02   0.45   0.54
    999      0.54     0.02   0.50   0.58
    """

    name: ClassVar[str] = "olh"
    aliases: ClassVar[tuple[str, ...]] = ("optimal local hashing", "optimized local hashing")
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"

    @property
    def _symbols(self) -> int:
        return best_symbols(self.epsilon)


def best_symbols(epsilon: float) -> int:
    """Return the number of symbols that gives rare values the least variance, of the two around e^ε + 1.

    With m symbols but one, (e^ε + m)² / m is smaller for m + 1 than for m just if e^(2ε) exceeds m (m + 1).
    """
    if epsilon > _CERTAINLY_MOST:
        return LARGEST_SYMBOLS
    likelihood = exp_below(epsilon)
    below = int(likelihood)
    better = below + 2 if likelihood**2 > below * (below + 1) else below + 1
    return min(better, LARGEST_SYMBOLS)
