"""Unary encoding: a bit per value, each randomized on its own (SUE, OUE, THE, probabilities of your own)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.mechanisms.patterns import by_pattern
from ldpstats.noise import SupportNoise
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, exp_below, numerator_at_least, numerator_at_most, probability
from ldpstats.numbers.randomness import Draws

_HALF = GRID // 2


def set_bits(rows: NDArray[np.uint8], places: NDArray[np.int64], bits: BoolArray) -> None:
    """Set the bit at each row's place to its value, in place, in packed rows."""
    row, byte = np.arange(len(rows)), places >> 3
    mask = (0x80 >> (places & 7)).astype(np.uint8)
    rows[row, byte] = np.where(bits, rows[row, byte] | mask, rows[row, byte] & ~mask)


def clean_padding(rows: NDArray[Any], width: int) -> BoolArray:
    """Return which packed rows have no bit set beyond `width`."""
    padding = 8 * rows.shape[1] - width
    clean: BoolArray = (rows[:, -1] & np.uint8((1 << padding) - 1)) == 0
    return clean


def bit_counts(rows: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """Count how often each bit is set in packed rows."""
    from ldpstats.numbers import kernels

    words = -(-rows.shape[1] // 8)
    padded = rows
    if rows.shape[1] != 8 * words:
        padded = np.zeros((len(rows), 8 * words), dtype=np.uint8)
        padded[:, : rows.shape[1]] = rows
    counts = np.zeros(64 * words, dtype=np.int64)
    kernels.count_bits(np.ascontiguousarray(padded).view("<u8"), counts)
    # the first bit of a byte is its highest one
    return counts.reshape(-1, 8)[:, ::-1].ravel()[:width]


@dataclass(frozen=True, slots=True)
class UnaryEncoding(Mechanism):
    """Base of unary encodings, given the probabilities that a true and a false bit are sent as set.

    Reports are packed, eight bits to a byte.
    """

    k: int
    epsilon: float

    @property
    @abstractmethod
    def bit_numerators(self) -> tuple[int, int]:
        """Probabilities that the true value's bit is sent as set, and another one's, in GRID-ths."""

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        keep, flip = self.bit_numerators
        if not 0 < flip < keep < GRID:
            raise LdpstatsError(
                f"epsilon = {self.epsilon!r}", "levels large enough for e^-epsilon to differ from 1 on a grid of 2^-64"
            )

    @property
    def noise(self) -> SupportNoise:
        """Noise model: independent bits."""
        return SupportNoise.independent(self.k, *map(probability, self.bit_numerators))

    @property
    def finest(self) -> Mechanism:
        """Count whole rows of bits for up to ten values (1,024 distinct reports), else bits per value."""
        return by_pattern(self)

    @property
    def report_format(self) -> ReportFormat:
        """A row of packed bits per report."""
        return ReportFormat(np.dtype(np.uint8), (self.k + 7) // 8)

    @property
    def report_bits(self) -> int:
        """One bit per value."""
        return self.k

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probabilities that the true value's bit is sent as set, and another one's, in GRID-ths."""
        keep, flip = self.bit_numerators
        return {"keep": keep, "flip": flip}

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of a report with v's bit set and w's not, between v and w: p (1-q) / ((1-p) q)."""
        keep, flip = self.bit_numerators
        return Fraction(keep * (GRID - flip), (GRID - keep) * flip)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        """Draw all bits as if they were false, then the true value's own bit."""
        keep, flip = self.bit_numerators
        rows = draws.bits(flip, values.size, self.k)
        set_bits(rows, values, draws.bernoulli(keep, values.shape))
        return rows

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports have no bit set in the padding of the last byte."""
        return clean_padding(reports, self.k)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each value's bit is set."""
        return bit_counts(reports, self.k)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bits, a 0-1 row per report."""
        return np.unpackbits(reports, axis=1, count=self.k).astype(np.int64)


@dataclass(frozen=True, slots=True)
class OUE(UnaryEncoding):
    """Optimized unary encoding: the true bit is kept half of the time, and the others are set as rarely as ε allows.

    A false bit is set with probability 1 / (e^ε + 1).

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> from ldpstats import OUE
    >>> oue = OUE(10, epsilon=1.0)
    >>> round(oue.strict_epsilon(), 6)
    1.0
    """

    name: ClassVar[str] = "oue"
    aliases: ClassVar[tuple[str, ...]] = ("optimized unary encoding", "optimal unary encoding")
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"

    @property
    def bit_numerators(self) -> tuple[int, int]:
        """How often the true bit is sent as set, and how often another one, in GRID-ths."""
        return _HALF, numerator_at_least(1 / (exp_below(self.epsilon) + 1))


@dataclass(frozen=True, slots=True)
class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic one-time RAPPOR, k-RAPPOR): every bit is flipped with the same probability.

    That probability is 1 / (e^(ε/2) + 1): a value and its rival differ in two bits.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import SUE
    >>> sue = SUE(4, epsilon=1.0)
    >>> reports = sue.privatize(np.repeat([0, 3], 1000), rng=5)
    >>> sue.estimate(reports).estimate.round(2)
    array([ 0.5 , -0.04,  0.04,  0.51])
    """

    name: ClassVar[str] = "sue"
    aliases: ClassVar[tuple[str, ...]] = ("symmetric unary encoding", "k-rappor", "basic one-time rappor")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, in Kairouz, Bonawitz & Ramage 2016"

    @property
    def bit_numerators(self) -> tuple[int, int]:
        """How often the true bit is sent as set, and how often another one, in GRID-ths."""
        flip = numerator_at_least(1 / (exp_below(self.epsilon / 2) + 1))
        return GRID - flip, flip


@dataclass(frozen=True, slots=True)
class UE(UnaryEncoding):
    """Unary encoding with a `keep` probability of your own for the true bit; ε leaves the other one.

    A false bit is set with probability keep / (keep + e^ε (1 - keep)). See `from_probabilities` for setting both.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    keep : float
        The probability that the true bit stays set.

    Examples
    --------
    >>> from ldpstats.mechanisms import UE
    >>> round(UE.from_probabilities(4, keep=0.75, flip=0.25).strict_epsilon(), 6)
    2.197225
    """

    keep: float = 0.5

    name: ClassVar[str] = "ue"
    aliases: ClassVar[tuple[str, ...]] = ("unary encoding",)
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"
    purpose: ClassVar[str] = "parameters of your own"

    def __post_init__(self) -> None:
        if isinstance(self.keep, bool) or not isinstance(self.keep, (int, float)) or not 0 < self.keep < 1:
            raise LdpstatsError(f"keep = {self.keep!r}", "a probability strictly between 0 and 1")
        UnaryEncoding.__post_init__(self)

    @classmethod
    def from_probabilities(cls, k: int, keep: float, flip: float) -> UE:
        """Return the mechanism that sends a true bit as set with probability `keep`, a false one with `flip`.

        Parameters
        ----------
        k : int
            The number of values.
        keep, flip : float
            How often a true bit, and another one, is sent as set.
        """
        if not 0 < flip < keep < 1:
            raise LdpstatsError(f"keep = {keep!r} and flip = {flip!r}", "probabilities with 0 < flip < keep < 1")
        return cls(k, math.log(keep * (1 - flip) / ((1 - keep) * flip)), keep)

    @property
    def bit_numerators(self) -> tuple[int, int]:
        """How often the true bit is sent as set, and how often another one, in GRID-ths."""
        numerator = numerator_at_most(Fraction(self.keep))
        keep = Fraction(numerator, GRID)
        return numerator, numerator_at_least(keep / (keep + exp_below(self.epsilon) * (1 - keep)))


@dataclass(frozen=True, slots=True)
class OneHotCMS(UnaryEncoding):
    """The count mean sketch as Le & Zia evaluate it: one-hot, without a hash function; the channel is that of SUE.

    Their printed estimator is right only with e^(ε/2) in place of e^ε in c = (e^ε + 1) / (e^ε - 1), and after
    division by n; it is then the unbiased one of SUE, which is what `estimate` returns.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.mechanism("cms-one-hot", k=10, epsilon=1.0).noise == ldp.SUE(10, epsilon=1.0).noise
    True
    """

    name: ClassVar[str] = "cms-one-hot"
    aliases: ClassVar[tuple[str, ...]] = ("one-hot cms",)
    source: ClassVar[str] = "Le & Zia 2020"
    purpose: ClassVar[str] = "comparison with the paper"
    bit_numerators = SUE.bit_numerators


@dataclass(frozen=True, slots=True)
class THE(UnaryEncoding):
    """Thresholded histogram encoding: a bit says whether a one-hot entry plus Laplace noise exceeds `threshold`.

    The noise has the scale 2/ε, so a true entry passes with probability 1 - e^(ε (θ-1) / 2) / 2 and a false one
    with e^(-ε θ / 2) / 2, for θ from 1/2 to 1. Only the bit is sent. Without a threshold the one of least variance
    is taken. The thresholded noise spends less than ε: `strict_epsilon` says how much.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level that the noise is scaled to; a report has a lower one.
    threshold : float, optional
        What an entry must exceed, from 1/2 to 1.

    Examples
    --------
    >>> from ldpstats import THE
    >>> the = THE(4, epsilon=1.0)
    >>> round(the.threshold, 2), round(the.strict_epsilon(), 2)
    (0.62, 0.9)
    """

    threshold: float | None = None

    name: ClassVar[str] = "the"
    aliases: ClassVar[tuple[str, ...]] = ("thresholding with histogram encoding", "thresholded histogram encoding")
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Arcolezi et al. 2023"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        threshold = best_threshold(self.epsilon) if self.threshold is None else self.threshold
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0.5 <= threshold <= 1:
            raise LdpstatsError(f"threshold = {threshold!r}", "a number from 0.5 to 1")
        object.__setattr__(self, "threshold", float(threshold))
        UnaryEncoding.__post_init__(self)

    @property
    def bit_numerators(self) -> tuple[int, int]:
        """How often the true bit is sent as set, and how often another one, in GRID-ths."""
        assert self.threshold is not None  # set in __post_init__
        missed, passed = (exp_below(self.epsilon * share / 2) for share in (1 - self.threshold, self.threshold))
        return GRID - numerator_at_least(1 / (2 * missed)), numerator_at_least(1 / (2 * passed))

    @property
    def slack_reason(self) -> str:
        """Why the strict level stays below the one asked for: a bit says less than the noisy number it was made of."""
        return "the noise is thresholded after it was drawn at the level asked for"


def best_threshold(epsilon: float) -> float:
    """Return the threshold that gives THE the least variance for rare values: q (1-q) / (p-q)^2."""
    from scipy.optimize import minimize_scalar

    def log_variance(threshold: float) -> float:
        likely, rare = epsilon * (threshold - 1) / 2, -epsilon * threshold / 2
        return rare + math.log1p(-math.exp(rare) / 2) - 2 * math.log(-math.expm1(likely) - math.expm1(rare))

    return float(minimize_scalar(log_variance, bounds=(0.5, 1.0), method="bounded").x)
