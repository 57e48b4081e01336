"""Sketches: values are hashed to a few columns by one of several public functions (CMS, HCMS), or to signs (S-Hist)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.estimation import refuse_empty
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.cohorts import (
    Codes,
    CohortAnswers,
    CohortBits,
    flip_numerator,
    hashed,
    public_codes,
    usual_cohorts,
    usual_width,
)
from ldpstats.noise import Tally
from ldpstats.noise.hadamard import odd, walsh_hadamard
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID, favoured_numerator, probability

_ROWS_PER_VALUE = 4


class Sketch(Mechanism):
    """Base of sketches: every respondent takes one of the `functions`, which hash values to columns."""

    hashes: int | None
    width: int | None
    seed: int

    def __post_init__(self) -> None:
        """Set the default size; refuse one in which not all frequencies are identified."""
        Mechanism.__post_init__(self)
        width = settled(self, "width", 2, usual_width(self.k))
        settled(self, "hashes", 1, usual_cohorts(self.k, width))
        settled(self, "seed", 0)
        self.functions  # noqa: B018  # refuses what does not serve

    @property
    def functions(self) -> Codes:
        """The column of every value, by every hash function."""
        return public_codes(hashed, self.k, self.hashes, 1, self.width, self.seed)

    @abstractmethod
    def rows(self, proportions: FloatArray) -> FloatArray:
        """Return the columns' estimated shares, by rows: a row per hash function."""

    def deployed_estimate(self, tally: Tally) -> FloatArray:
        """Return the frequencies as Apple's servers estimate them: a value's columns, averaged over the rows.

        With f the average, the estimate is (width f - 1) / (width - 1), for any other value shares a column with
        probability 1 / width. So it is unbiased over the random choice of hash functions, but not given them: each
        respondent of another value adds to a value the more, the more of the functions let these two collide.
        `estimate` is unbiased given the functions, and comes with its covariance.

        Parameters
        ----------
        tally : Tally
            What count or simulate returned.
        """
        if not isinstance(tally, Tally) or tally.noise != self.noise:
            raise ReportError(f"{type(tally).__name__} that {self} did not make", "what count or simulate returned")
        refuse_empty(tally.n)
        codes, rows = self.functions, self.rows(tally.proportions)
        columns = np.broadcast_to(codes.single, (*rows.shape[:-2], *codes.single.shape))
        average: FloatArray = np.take_along_axis(rows, columns, axis=-1).mean(axis=-2)
        return (codes.width * average - 1) / (codes.width - 1)


@dataclass(frozen=True, slots=True)
class CMS(Sketch, CohortBits):
    """The count mean sketch: a one-hot row of `width` bits, by one of `hashes` hash functions, each bit flipped.

    Bits are flipped with probability 1 / (e^(ε/2) + 1). `estimate` is least squares given the hash functions,
    `deployed_estimate` what Apple describes. The functions are public and follow from `seed`; if they do not tell
    all k frequencies, those of the next seed are taken.

    The usual width is a power of two of at least 4 √k, but hardly above k, and there are so many rows, four at
    least, that the sketch has four times as many cells as there are values. Then collisions add about a third to
    the variance at ε = 1, and half as much if there are twice as many rows.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    hashes : int, optional
        The number of hash functions: the rows of the sketch.
    width : int, optional
        The number of bits in a row.
    seed : int
        What the hash functions follow from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import CMS
    >>> cms = CMS(1000, epsilon=2.0)
    >>> cms.width, cms.hashes, cms.report_bits
    (128, 32, 133)
    """

    hashes: int | None = None
    width: int | None = None
    seed: int = 0

    name: ClassVar[str] = "cms"
    aliases: ClassVar[tuple[str, ...]] = ("count mean sketch", "private count mean sketch")
    source: ClassVar[str] = "Apple Differential Privacy Team 2017"

    def __post_init__(self) -> None:
        Sketch.__post_init__(self)
        flip_numerator(self.epsilon, 2)

    @property
    def codes(self) -> Codes:
        """The hash functions: a cohort each."""
        return self.functions

    def rows(self, proportions: FloatArray) -> FloatArray:
        """Return the debiased bits, by rows."""
        slots = self.noise.slot_estimates(proportions)
        return slots.reshape(*slots.shape[:-1], self.functions.cohorts, self.functions.width)


@dataclass(frozen=True, slots=True)
class HCMS(Sketch, CohortAnswers):
    """The Hadamard count mean sketch: one bit, a random coefficient of the Hadamard transform of a one-hot row.

    Its sign is kept with probability e^ε / (e^ε + 1); which coefficient of which row it is, chance decides without
    regard to the value. `width` is a power of two. All else is as in CMS.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of a report: no value makes it more than e^ε times as likely as another one does.
    hashes, width, seed
        As in `CMS`.

    Examples
    --------
    >>> from ldpstats.mechanisms import HCMS
    >>> HCMS(1000, epsilon=2.0).report_bits
    13
    """

    hashes: int | None = None
    width: int | None = None
    seed: int = 0

    name: ClassVar[str] = "hcms"
    aliases: ClassVar[tuple[str, ...]] = ("hadamard count mean sketch", "private hadamard count mean sketch")
    source: ClassVar[str] = "Apple Differential Privacy Team 2017"

    def __post_init__(self) -> None:
        Sketch.__post_init__(self)
        if self.functions.width.bit_count() != 1:
            raise LdpstatsError(f"width = {self.width}", "a power of two, for there to be a Hadamard matrix")
        favoured_numerator(self.epsilon, 1, 2)

    @property
    def codes(self) -> Codes:
        """The signs of all coefficients of all rows: a cohort each, the symbol 1 where the sign is negative."""
        return _coefficients(self.functions)

    def rows(self, proportions: FloatArray) -> FloatArray:
        """Return the columns' shares behind the debiased coefficients: the transform, divided by the width."""
        signs = (proportions[..., 0::2] - proportions[..., 1::2]) / float(2 * Fraction(self.truth, GRID) - 1)
        by_row = signs.reshape(*signs.shape[:-1], -1, self.functions.width)
        # a coefficient is asked for by one respondent in rows · width
        return walsh_hadamard(self.functions.cohorts * by_row)


@lru_cache(maxsize=8)
def _coefficients(functions: Codes) -> Codes:
    signs = odd(np.arange(functions.width)[:, None], functions.symbols)
    return Codes(signs.reshape(functions.cohorts * functions.width, 1, -1), 2)


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


def _signs(k: int, rows: int, _symbols: int, seed: int) -> NDArray[np.int64]:
    """Return random bits, a row of k each; numpy promises that raw words stay the same for a seed in all versions."""
    words = np.random.PCG64(seed).random_raw(-(-rows * k // 64)).astype("<u8")
    return np.unpackbits(words.view(np.uint8), count=rows * k).reshape(rows, k).astype(np.int64)
