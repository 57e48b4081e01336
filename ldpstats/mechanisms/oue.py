"""OUE, optimized unary encoding: a bit per value, the true one kept half of the time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.noise import SupportNoise
from ldpstats.randomness import GRID, Draws, exp_below, numerator_at_least

_HALF = GRID // 2
_COUNT_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class OUE(Mechanism):
    """Optimized unary encoding.

    The true value's bit is set with probability 1/2, every other bit with probability 1 / (e^ε + 1).
    Reports are packed, eight bits to a byte.

    Examples
    --------
    >>> import numpy as np
    >>> oue = OUE(10, epsilon=1.0)
    >>> oue.privatize([0, 9, 3], rng=1).data.shape
    (3, 2)
    >>> round(oue.strict_epsilon(), 6)
    1.0
    """

    k: int
    epsilon: float

    name: ClassVar[str] = "oue"
    aliases: ClassVar[tuple[str, ...]] = ("optimized unary encoding",)
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, in Wang et al. 2020"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self._flip >= _HALF:
            raise LdpstatsError(
                f"epsilon = {self.epsilon!r}", "levels large enough for e^-epsilon to differ from 1 on a grid of 2^-64"
            )

    @property
    def _flip(self) -> int:
        return numerator_at_least(1 / (exp_below(self.epsilon) + 1))

    @property
    def noise(self) -> SupportNoise:
        """Independent bits."""
        return SupportNoise.independent(self.k, 0.5, float(Fraction(self._flip, GRID)))

    @property
    def report_format(self) -> ReportFormat:
        """A row of packed bits per report."""
        return ReportFormat(np.dtype(np.uint8), (self.k + 7) // 8)

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of a report with v's bit set and w's not, between v and w: p (1-q) / ((1-p) q)."""
        return Fraction(GRID - self._flip, self._flip)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        """Draw all bits as if they were false, then the true value's own bit."""
        bits = draws.bernoulli(self._flip, (values.size, self.k))
        bits[np.arange(values.size), values] = draws.bernoulli(_HALF, values.shape)
        return np.packbits(bits, axis=1)

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Any bits, but nothing in the padding of the last byte."""
        padding = 8 * reports.shape[1] - self.k
        clean: BoolArray = (reports[:, -1] & np.uint8((1 << padding) - 1)) == 0
        return clean

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each bit, some rows at a time so that the unpacked bits stay small."""
        counts = np.zeros(self.k, dtype=np.int64)
        for start in range(0, len(reports), _COUNT_ROWS):
            bits = np.unpackbits(reports[start : start + _COUNT_ROWS], axis=1, count=self.k)
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts
