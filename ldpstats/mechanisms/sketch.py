"""Sketches: values are hashed to a few columns, by one of several public functions per respondent (CMS, HCMS)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.estimation import refuse_empty
from ldpstats.mechanisms.base import Mechanism, settled
from ldpstats.mechanisms.codes import Codes, hashed, public_codes, usual_cohorts, usual_width
from ldpstats.mechanisms.cohorts import CohortAnswers, CohortBits, flip_numerator
from ldpstats.noise import Tally
from ldpstats.noise.hadamard import odd, walsh_hadamard
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID, favoured_numerator


def _deployed(sketch: CMS | HCMS, tally: Tally) -> FloatArray:
    """Return the frequencies as Apple's servers estimate them: a value's columns, averaged over the rows.

    With f the average, the estimate is (width f - 1) / (width - 1), for any other value shares a column with
    probability 1 / width. So it is unbiased over the random choice of hash functions, but not given them: each
    respondent of another value adds to a value the more, the more of the functions let these two collide.
    """
    if not isinstance(tally, Tally) or tally.noise != sketch.noise:
        raise ReportError(f"{type(tally).__name__} that {sketch} did not make", "what count or simulate returned")
    refuse_empty(tally.n)
    codes, rows = sketch.functions, sketch.rows(tally.proportions)
    columns = np.broadcast_to(codes.single, (*rows.shape[:-2], *codes.single.shape))
    average: FloatArray = np.take_along_axis(rows, columns, axis=-1).mean(axis=-2)
    return (codes.width * average - 1) / (codes.width - 1)


@dataclass(frozen=True, slots=True)
class CMS(CohortBits):
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
        Mechanism.__post_init__(self)
        _settle_sketch(self)
        flip_numerator(self.epsilon, 2)

    @property
    def functions(self) -> Codes:
        """The column of every value, by every hash function."""
        return public_codes(hashed, self.k, self.hashes, 1, self.width, self.seed)

    @property
    def codes(self) -> Codes:
        """The hash functions: a cohort each."""
        return self.functions

    def rows(self, proportions: FloatArray) -> FloatArray:
        """Return the debiased bits, by rows."""
        slots = self.noise.slot_estimates(proportions)
        return slots.reshape(*slots.shape[:-1], self.functions.cohorts, self.functions.width)

    def deployed_estimate(self, tally: Tally) -> FloatArray:
        """Return the frequencies as Apple's servers estimate them: unbiased over the hash functions, not given them.

        `estimate` is unbiased given the functions, and comes with its covariance.

        Parameters
        ----------
        tally : Tally
            What count or simulate returned.
        """
        return _deployed(self, tally)


@dataclass(frozen=True, slots=True)
class HCMS(CohortAnswers):
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
        Mechanism.__post_init__(self)
        _settle_sketch(self)
        if self.functions.width.bit_count() != 1:
            raise LdpstatsError(f"width = {self.width}", "a power of two, for there to be a Hadamard matrix")
        favoured_numerator(self.epsilon, 1, 2)

    @property
    def functions(self) -> Codes:
        """The column of every value, by every hash function."""
        return public_codes(hashed, self.k, self.hashes, 1, self.width, self.seed)

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

    def deployed_estimate(self, tally: Tally) -> FloatArray:
        """Return the frequencies as Apple's servers estimate them: unbiased over the hash functions, not given them.

        `estimate` is unbiased given the functions, and comes with its covariance.

        Parameters
        ----------
        tally : Tally
            What count or simulate returned.
        """
        return _deployed(self, tally)


def _settle_sketch(sketch: CMS | HCMS) -> None:
    """Set the default size of a sketch; refuse one in which not all frequencies are identified."""
    width = settled(sketch, "width", 2, usual_width(sketch.k))
    hashes = settled(sketch, "hashes", 1, usual_cohorts(sketch.k, width))
    public_codes(hashed, sketch.k, hashes, 1, width, settled(sketch, "seed", 0))


@lru_cache(maxsize=8)
def _coefficients(functions: Codes) -> Codes:
    signs = odd(np.arange(functions.width)[:, None], functions.symbols)
    return Codes(signs.reshape(functions.cohorts * functions.width, 1, -1), 2)
