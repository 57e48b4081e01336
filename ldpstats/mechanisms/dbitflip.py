"""dBitFlip: each report answers for a few random values whether they are the respondent's own, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.limits import refuse_too_large
from ldpstats.mechanisms.base import Mechanism, ReportFormat, settled
from ldpstats.mechanisms.cohorts import flip_numerator
from ldpstats.mechanisms.longitudinal import Longitudinal
from ldpstats.mechanisms.ss import subset_bits
from ldpstats.noise.revealed import RevealedBits
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID, probability
from ldpstats.numbers.randomness import Draws


@dataclass(frozen=True, slots=True)
class DBitFlip(Mechanism):
    """dBitFlip: symmetric unary encoding of which a report reveals `d` random bits, with the values that they are for.

    The d values ("buckets") are drawn without replacement, whatever the respondent's own is; each bit is flipped
    with probability 1 / (e^(ε/2) + 1). A single bit (d = 1) cannot show two values to differ twice, so that the
    same level allows flips with 1 / (e^ε + 1) only, and they are taken; the paper's would spend but half of ε.

    Without `d` it is the root of k, rounded up: reports grow with the root of k, and so does the variance, compared
    with revealing everything. With d = k this is SUE.

    The estimate for a value is k / (n d) times the sum of (b (e^(ε/2) + 1) - 1) / (e^(ε/2) - 1) over its bits b.
    (Wang et al. 2020, Eq. 54, omit the inner + 1.)

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    d : int, optional
        The number of bits that a report reveals.

    Examples
    --------
    >>> from ldpstats import DBitFlip
    >>> mechanism = DBitFlip(16, epsilon=1.0)
    >>> mechanism.d
    4
    >>> round(mechanism.variance(0, n=100) / DBitFlip(16, epsilon=1.0, d=16).variance(0, n=100), 6)
    4.0
    """

    k: int
    epsilon: float
    d: int | None = None

    name: ClassVar[str] = "dbitflip"
    aliases: ClassVar[tuple[str, ...]] = ("d-bit flip", "omega-bitflip")
    source: ClassVar[str] = "Ding, Kulkarni & Yekhanin 2017, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        refuse_too_large((self.k, self.k), "an encoding", "OUE and OLH take larger alphabets.")
        bits = settled(self, "d", 1, math.isqrt(self.k - 1) + 1, self.k)
        flip_numerator(self.epsilon, min(bits, 2))  # refuses levels that are too low

    @property
    def bits(self) -> int:
        """The number of bits in a report: `d`."""
        assert self.d is not None  # set in __post_init__
        return self.d

    @property
    def _flip(self) -> int:
        """Probability that a bit is flipped, in GRID-ths."""
        return flip_numerator(self.epsilon, min(self.bits, 2))

    @property
    def noise(self) -> RevealedBits:
        """Independent bits, of which chance alone chooses some."""
        return _noise(self.k, self._flip, self.bits)

    @property
    def report_format(self) -> ReportFormat:
        """A row of `d` values in increasing order, and then their bits."""
        return ReportFormat(np.min_scalar_type(self.k - 1), 2 * self.bits)

    @property
    def report_bits(self) -> int:
        """Bits that encode a set of `d` values among all such sets, and one bit for each of them."""
        return subset_bits(self.k, self.bits) + self.bits

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probability that a bit is flipped, in GRID-ths."""
        return {"flip": self._flip}

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of a report with v's bit set and w's not, between v and w; with one bit, of v's alone."""
        return Fraction(GRID - self._flip, self._flip) ** min(self.bits, 2)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw which values to answer for, and answer."""
        return self.answered(self._revealed(values.size, draws), values, draws)

    def _revealed(self, count: int, draws: Draws) -> NDArray[Any]:
        """Draw rows of `d` values, or of those left out if they are fewer; a value that does not exist is in none."""
        nobody, none = np.full(count, self.k), np.zeros(count, dtype=np.bool_)
        if 2 * self.bits <= self.k:
            return draws.subsets(nobody, self.k + 1, self.bits, none)
        shown = np.ones((count, self.k), dtype=np.bool_)
        if self.bits < self.k:
            np.put_along_axis(shown, draws.subsets(nobody, self.k + 1, self.k - self.bits, none), values=False, axis=1)
        return np.nonzero(shown)[1].reshape(count, self.bits)

    def answered(self, revealed: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Answer for given rows of values.

        Parameters
        ----------
        revealed : array, shape (respondents, bits)
            The values that are answered for.
        values : array of int
        draws : Draws
        """
        bits = (revealed == values[:, None]) ^ draws.bernoulli(self._flip, revealed.shape)
        return np.concatenate([revealed, bits], axis=1).astype(self.report_format.dtype)

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports have increasing values of the alphabet, and bits."""
        revealed, bits = np.split(reports, 2, axis=1)
        increasing = np.all(revealed[:, 1:] > revealed[:, :-1], axis=1)
        valid: BoolArray = increasing & (revealed[:, -1] < self.k) & np.all(bits <= 1, axis=1)
        return valid

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each value was said to be the respondent's own, and then how often it was said not to be."""
        return np.bincount(self._entries(reports).ravel(), minlength=2 * self.k)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the entries of the tally that each report counts for, a 0-1 row per report."""
        rows = np.zeros((len(reports), 2 * self.k), dtype=np.int64)
        np.put_along_axis(rows, self._entries(reports), 1, axis=1)
        return rows

    def _entries(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        revealed, bits = np.split(reports.astype(np.int64), 2, axis=1)
        return revealed + self.k * (1 - bits)


@lru_cache(maxsize=16)
def _noise(k: int, flip: int, d: int) -> RevealedBits:
    return RevealedBits(np.eye(k, dtype=np.int8), probability(GRID - flip), probability(flip), revealed=d)


@dataclass(frozen=True, slots=True)
class DBitFlipPM(Longitudinal):
    """dBitFlip with permanent memoization: a respondent keeps her `d` values for good, and repeats her responses.

    She has a permanent response for each of the d values, and one for all the others together: at most d + 1 (k if
    d = k), however many values she goes through. Each is drawn when it is first needed, independently of the
    others, and sent unchanged as long as the value calls for it. So a report about one value reveals as much as all
    reports about it do. But two different responses prove a change: `changing_epsilon` is infinite from the second
    round on. A change goes unseen only if both values are among the others, or if two responses happen to agree.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many.
    d : int, optional
        The number of values that a respondent answers for; as in `DBitFlip`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Memo
    >>> from ldpstats.mechanisms import DBitFlipPM
    >>> memo = Memo(DBitFlipPM(100, epsilon=1.0, d=2))
    >>> rounds = [memo.reports(["ann"], [value], rng=value).data for value in range(100)]
    >>> len(memo), len(np.unique(np.concatenate(rounds)[:, :2], axis=0))
    (3, 1)
    """

    k: int
    epsilon: float
    d: int | None = None

    name: ClassVar[str] = "dbitflip-pm"
    aliases: ClassVar[tuple[str, ...]] = ("dbitflippm", "omega-bitflip-pm")
    source: ClassVar[str] = "Ding, Kulkarni & Yekhanin 2017, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        object.__setattr__(self, "d", self.permanent.d)

    @property
    def permanent(self) -> DBitFlip:
        """What draws the values that a respondent answers for, and her first response."""
        return DBitFlip(self.k, self.epsilon, self.d)

    @property
    def noise(self) -> RevealedBits:
        """That of the permanent responses."""
        return self.permanent.noise

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Probabilities of the permanent responses, in GRID-ths."""
        return self.permanent.probabilities

    def likelihood_ratio(self) -> Fraction:
        """Return that of a permanent response."""
        return self.permanent.likelihood_ratio()

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw another response for the same values."""
        return self.permanent.answered(self.kept(earlier), values, draws)

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return the values that the respondent answers for."""
        return permanent[:, : self.permanent.bits]

    @property
    def most_classes(self) -> int:
        """One for each of these values, and one for all others."""
        return min(self.permanent.bits + 1, self.k)

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of the value among those that the respondent answers for, or d if it is another one."""
        own = self.kept(permanent) == values[:, None]
        return np.where(own.any(axis=1), own.argmax(axis=1), self.permanent.bits)

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction | None:
        """Return the ratio of a single report for values that never change; two different responses prove a change."""
        return None if rounds > 1 and changes + others > 0 else self.lifetime_ratio()

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Repeat the permanent response."""
        del draws
        return permanent
