"""Random projection: one randomized bit of a public random code of the value (S-Hist)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray, at_least
from ldpstats.errors import ReportError
from ldpstats.grid import GRID, favoured_numerator, probability
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.single_output import SingleOutput
from ldpstats.noise import MultinomialNoise, Tally
from ldpstats.noise.cohort_channel import CohortChannel
from ldpstats.randomness import Draws

_ROWS_PER_VALUE = 4


@dataclass(frozen=True, slots=True)
class SHist(SingleOutput):
    """Succinct histogram: the entry of a public random matrix of signs in a random row and the value's column.

    The sign is kept with probability p = e^ε / (e^ε + 1). The matrix has `rows` rows, 4k if none are given: at least
    k, so that every frequency is identified. It follows from `seed`; of the seeds from there on the first is used
    whose matrix tells all values apart. All respondents and the server must have the same.

    The estimate is least squares, which is unbiased given the matrix. Its variance is about rows / (rows - k) times
    that of HRR, which does the same with orthogonal columns and is the better choice but for a handful of values.

    The paper's own decoder, Σ z Φ[j, v] (Wang et al. 2020, Eqs. 44 and 45, where the division by N is missing),
    takes the columns for orthogonal. Random signs are so only on average: given the matrix it is biased by
    Σ (Φ_v · Φ_w / rows) f_w over the other values w, however many reports there are. It is `projected`.

    Examples
    --------
    >>> shist = SHist(100, epsilon=1.0)
    >>> shist.rows, shist.report_bits
    (400, 10)
    >>> shist.privatize([0, 99], rng=1).data
    array([767, 679], dtype=uint16)
    """

    k: int
    epsilon: float
    rows: int | None = None
    seed: int = 0

    name: ClassVar[str] = "shist"
    aliases: ClassVar[tuple[str, ...]] = ("s-hist", "succinct histogram", "random matrix projection")
    source: ClassVar[str] = "Bassily & Smith 2015, in Wang et al. 2020"
    purpose: ClassVar[str] = "comparison with the paper"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        rows = at_least(_ROWS_PER_VALUE * self.k if self.rows is None else self.rows, self.k, "rows")
        refuse_too_large((rows, 2, self.k), "codes", "HRR does the same for larger alphabets.", MOST_CODES)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "seed", at_least(self.seed, 0, "seed"))
        favoured_numerator(self.epsilon, 1, 2)  # refuses levels that are too low

    @property
    def _rows(self) -> int:
        assert self.rows is not None  # set in __post_init__
        return self.rows

    @property
    def truth(self) -> int:
        """How often the sign is kept, in GRID-ths."""
        return favoured_numerator(self.epsilon, 1, 2)

    @property
    def _outputs(self) -> int:
        return 2 * self._rows

    @property
    def _channel(self) -> CohortChannel:
        return _channel(self.k, self._rows, self.seed, probability(self.truth))

    @property
    def noise(self) -> MultinomialNoise:
        """A cohort for every row, with two symbols."""
        return MultinomialNoise(self._channel)

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio of the true sign and the other one."""
        return Fraction(self.truth, GRID - self.truth)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        """Draw a row, and keep or turn the sign there."""
        rows = draws.uniform(self._rows, values.shape)
        signs = self._channel.codes[rows, values].astype(np.int64)
        reports: NDArray[np.int64] = 2 * rows + draws.respond(signs, 2, self.truth)
        return reports

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
        signs = 1.0 - 2.0 * self._channel.codes
        contrast = 2 * probability(self.truth) - 1
        return (shares[..., ::2] - shares[..., 1::2]) @ signs / contrast


@lru_cache(maxsize=8)
def _channel(k: int, rows: int, seed: int, truth: float) -> CohortChannel:
    """Return the channel of the first matrix, from this seed on, that tells all values apart."""
    channels = (CohortChannel(_bits(rows, k, one), 2, truth) for one in count(seed))
    return next(channel for channel in channels if channel.identified)


def _bits(rows: int, k: int, seed: int) -> NDArray[np.uint8]:
    """Return random bits; numpy promises that raw words stay the same for a seed in all its versions."""
    words = np.random.PCG64(seed).random_raw(-(-rows * k // 64)).astype("<u8")
    return np.unpackbits(words.view(np.uint8), count=rows * k).reshape(rows, k)
