"""Random projection: one randomized bit of a public random code of the value (S-Hist)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import ReportError
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.codes import Codes, public_codes
from ldpstats.mechanisms.cohorts import CohortAnswers
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import favoured_numerator, probability

_ROWS_PER_VALUE = 4


@dataclass(frozen=True, slots=True)
class SHist(CohortAnswers):
    """Succinct histogram: the entry of a public random matrix of signs in a random row and the value's column.

    The sign is kept with probability p = e^ε / (e^ε + 1). The matrix has `rows` rows, 4k if none are given: at least
    k, so that every frequency is identified. It follows from `seed`; of the seeds from there on the first is used
    whose matrix tells all values apart. All respondents and the server must have the same.

    The estimate is least squares, which is unbiased given the matrix. Its variance is about rows / (rows - k) times
    that of HRR, which does the same with orthogonal columns and is the better choice but for a handful of values.

    The paper's own decoder, Σ z Φ[j, v] (Wang et al. 2020, Eqs. 44 and 45, where the division by N is missing),
    takes the columns for orthogonal. Random signs are so only on average: given the matrix it is biased by
    Σ (Φ_v · Φ_w / rows) f_w over the other values w, however many reports there are. It is `projected`.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    rows : int, optional
        The rows of the matrix.
    seed : int
        What the matrix follows from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import SHist
    >>> shist = SHist(100, epsilon=1.0)
    >>> shist.rows, shist.report_bits
    (400, 10)
    >>> shist.privatize([0, 99], rng=1).data
    array([767, 679], dtype=uint16)
    """

    rows: int | None = None
    seed: int = 0

    name: ClassVar[str] = "shist"
    aliases: ClassVar[tuple[str, ...]] = ("s-hist", "succinct histogram", "random matrix projection")
    source: ClassVar[str] = "Bassily & Smith 2015, in Wang et al. 2020"
    purpose: ClassVar[str] = "comparison with the paper"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        rows = settled(self, "rows", self.k, _ROWS_PER_VALUE * self.k)
        refuse_too_large((rows, 2, self.k), "codes", "HRR does the same for larger alphabets.", MOST_CODES)
        settled(self, "seed", 0)
        favoured_numerator(self.epsilon, 1, 2)  # refuses levels that are too low

    @property
    def codes(self) -> Codes:
        """The signs of all rows: a cohort each, the symbol 1 where the sign is negative."""
        return public_codes(_signs, self.k, self.rows, 1, 2, self.seed)

    def projected(self, tally: Tally) -> FloatArray:
        """Return the paper's estimate, which is biased given the matrix: the mean of z Φ[j, v] over the reports.

        Parameters
        ----------
        tally : Tally
            What count or simulate returned.
        """
        if tally.noise != self.noise:
            raise ReportError(f"a tally seen through {tally.noise}", f"a tally of {self}")
        shares = tally.proportions
        signs = 1.0 - 2.0 * self.codes.single
        contrast = 2 * probability(self.truth) - 1
        return (shares[..., ::2] - shares[..., 1::2]) @ signs / contrast


def _signs(k: int, maps: int, _symbols: int, seed: int) -> NDArray[np.int64]:
    return _bits(maps, k, seed).astype(np.int64)


def _bits(rows: int, k: int, seed: int) -> NDArray[np.uint8]:
    """Return random bits; numpy promises that raw words stay the same for a seed in all its versions."""
    words = np.random.PCG64(seed).random_raw(-(-rows * k // 64)).astype("<u8")
    return np.unpackbits(words.view(np.uint8), count=rows * k).reshape(rows, k)
