"""Channels: P(output | true value) as a linear map, where every report is one output (randomized response)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.information import Information
from ldpstats.noise.report_total import ReportTotal
from ldpstats.numbers.arrays import BoolArray, FloatArray, as_array, whole_cells

if TYPE_CHECKING:
    from ldpstats.noise.model import NoiseModel

RAREST = 2.0**-64
"""The grid's step: no output of a mechanism is rarer, but a channel in floating point may call it impossible."""
# a share of probabilities: what differs by less differs by rounding
_ALIKE = 1e-12


class Channel(Protocol):
    """P(output | true value) as a linear map; channels compare by what they are made of."""

    if TYPE_CHECKING:  # a field of most channels, which would take a property for its default

        @property
        def cells(self) -> int:
            """The number of true values."""

    @property
    def outputs(self) -> int:
        """The number of outputs."""

    @property
    def epsilon(self) -> float:
        """Privacy level of one report."""

    @property
    def idle(self) -> BoolArray:
        """Mask of outputs that all values make equally likely: they tell nothing, however rare they are."""

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push`."""

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells, given counts / mean (up to a constant) and n / mean by output."""

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the counts of the outputs of respondents with these true values."""

    def bounds(self) -> FloatArray | None:
        """Return each cell's estimate if none, and if all, of the reports named it; None where outputs mix."""
        return None

    @property
    def by_value(self) -> NoiseModel | None:
        """The noise of the same reports counted by the values that they support, where an output is a set of values."""
        return None

    @property
    def members(self) -> FloatArray | None:
        """Which values are in the set that an output is, a row of zeros and ones per output; None of other outputs."""
        return None

    @property
    def truth_or_fake(self) -> TruthOrFake | None:
        """The channel itself, if it is the truth with one probability and else a draw that does not depend on it."""
        return None

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's estimate."""
        return self.spread(self.push(frequencies))

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return its diagonal, without the rest."""
        return self.variances(self.push(frequencies))

    def likelihood_score(self, mean: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the score of the multinomial likelihood, given the distribution of the report, and its information."""
        expected = np.where(self.idle, np.inf, np.where(mean == 0, RAREST, mean))
        # counts / mean would do, up to a multiple of ones, but loses digits when n is large
        return self.score((counts - n * mean) / expected, n / expected)

    def log_likelihoods(self, outputs: NDArray[np.intp]) -> FloatArray:
        """Return ln P(output | value), a row per output given by its number."""
        columns: FloatArray = np.log(self.matrix()[:, outputs])
        return np.moveaxis(columns, 0, -1)

    def rounding(self) -> FloatArray | float:
        """Return how much of the probability of each output may be rounding."""
        return float(np.finfo(float).eps)

    def total(self) -> ReportTotal | None:
        """Return the law of the number of values that an output counts for; None where that is one for all."""
        return None

    def spread(self, mean: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's estimate, given the distribution of the report."""

    def variances(self, mean: FloatArray) -> FloatArray:
        """Return the diagonal of `spread`, without the rest."""

    def merged(self, classes: NDArray[np.int64], /) -> Channel | None:
        """Return the channel between classes of values and the same classes of outputs, if there is one."""
        del classes
        return None


@dataclass(frozen=True, slots=True)
class TruthOrFake(Channel):
    """Tell the truth with probability `truth`, else draw an answer from the distribution `fake`: p I + (1-p) 1 Tᵀ.

    Parameters
    ----------
    truth : float
        The probability of telling the truth, above 0.
    fake : tuple of float
        The probability of every value where the truth is not told.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import TruthOrFake
    >>> channel = TruthOrFake(0.5, (0.8, 0.2))
    >>> channel.push(np.array([0.6, 0.4])).round(2)
    array([0.7, 0.3])
    >>> channel.invert(np.array([0.7, 0.3])).round(2)
    array([0.6, 0.4])
    >>> round(channel.epsilon, 4)
    1.7918
    """

    truth: float
    fake: tuple[float, ...]

    def __post_init__(self) -> None:
        # written so that a NaN fails
        proper = len(self.fake) >= 2 and min(self.fake) >= 0 and abs(sum(self.fake) - 1) <= 1e-9
        if not (proper and 0 < self.truth <= 1):
            raise LdpstatsError(
                f"truth = {self.truth!r} with {len(self.fake)} fake frequencies summing to {sum(self.fake)!r}",
                "a truth probability in (0, 1] and at least two nonnegative frequencies that sum to 1",
            )

    @property
    def truth_or_fake(self) -> TruthOrFake:
        """The channel itself."""
        return self

    @classmethod
    def uniform(cls, cells: int, honest: Fraction) -> TruthOrFake:
        """Report the true value with probability `honest`, every other one equally often."""
        cells = whole_cells(cells)
        return cls(float(honest - (1 - honest) / (cells - 1)), (1 / cells,) * cells)

    @property
    def cells(self) -> int:
        """The number of true values."""
        return len(self.fake)

    @property
    def outputs(self) -> int:
        """The number of outputs: the values themselves."""
        return len(self.fake)

    @property
    def epsilon(self) -> float:
        """The level, which is attained at the rarest fake: ln(1 + p / ((1-p) min T))."""
        rarest = (1 - self.truth) * min(self.fake)
        return privacy_loss(self.truth + rarest, rarest)

    @property
    def idle(self) -> BoolArray:
        """None: every value makes its own output likelier."""
        return np.zeros(self.outputs, dtype=np.bool_)

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return self.truth * frequencies + (1 - self.truth) * np.asarray(self.fake)

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        refuse_too_large((self.cells, self.cells), "a channel")
        return self.push(np.eye(self.cells))

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push` (RRBA paper, Eq. 4)."""
        return (proportions - (1 - self.truth) * np.asarray(self.fake)) / self.truth

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score up to a multiple of the ones vector, which contrasts do not see; the rest is diagonal."""
        return self.truth * weights, Information(self.truth**2 * precision)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw who tells the truth, and let all the others fake together."""
        truthful = rng.binomial(true_counts, self.truth)
        fakes = (true_counts - truthful).sum(axis=-1)
        return truthful + rng.multinomial(fakes, proper(np.asarray(self.fake)))

    def bounds(self) -> FloatArray:
        """Return each cell's estimate if none, and if all, of the reports named it."""
        return self.invert(np.stack([np.zeros(self.cells), np.ones(self.cells)]))

    def spread(self, mean: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's estimate."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        return multinomial_covariance(mean) / self.truth**2

    def variances(self, mean: FloatArray) -> FloatArray:
        """Return the variances of one report's estimate."""
        return mean * (1 - mean) / self.truth**2

    def merged(self, classes: NDArray[np.int64], /) -> TruthOrFake:
        """Add the fake frequencies up by class: a coarser answer is truth or fake with the same probability."""
        fake = np.bincount(classes, weights=np.asarray(self.fake))
        return TruthOrFake(self.truth, tuple((fake / fake.sum()).tolist()))


@dataclass(frozen=True, slots=True)
class DenseChannel(Channel):
    """Any channel, a row of output probabilities per true value; it may be rectangular.

    Parameters
    ----------
    rows : tuple of tuples of float
        The probabilities of all outputs, for each true value in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import DenseChannel
    >>> channel = DenseChannel(((0.5, 0.25, 0.25), (0.25, 0.25, 0.5)))
    >>> channel.push(np.array([0.9, 0.1]))
    array([0.475, 0.25 , 0.275])
    >>> round(channel.epsilon, 4), channel.idle
    (0.6931, array([False,  True, False]))
    """

    rows: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        matrix = as_array(self.rows, "a channel").astype(float)
        # written so that a NaN fails
        proper = matrix.ndim == 2 and np.all(matrix >= 0) and np.all(np.abs(matrix.sum(axis=1) - 1) <= 1e-9)
        if not (proper and matrix.size and np.all(matrix.max(axis=0) > 0)):
            raise LdpstatsError(
                f"a channel of shape {matrix.shape}",
                "a matrix of nonnegative rows that sum to 1, no column of zeros alone",
            )

    @property
    def cells(self) -> int:
        """The number of true values."""
        return len(self.rows)

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.rows[0])

    @property
    def epsilon(self) -> float:
        """The level: the largest ratio within a column."""
        matrix = self.matrix()
        return max(
            privacy_loss(most, least) for most, least in zip(matrix.max(axis=0), matrix.min(axis=0), strict=True)
        )

    @property
    def idle(self) -> BoolArray:
        """Say which outputs have a constant column."""
        found: BoolArray = np.ptp(self.matrix(), axis=0) == 0
        return found

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return frequencies @ self.matrix()

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        return np.asarray(self.rows, dtype=float)

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push` by the pseudo-inverse, where the rows are linearly independent."""
        matrix = self.matrix()
        rank = int(np.linalg.matrix_rank(matrix))
        if rank < self.cells:
            raise NotIdentifiedError(
                f"a channel of rank {rank} for {self.cells} values",
                "channels whose rows are linearly independent",
                "Such reports tell only some contrasts; combine them with other blocks in one table.",
            )
        return proportions @ np.linalg.pinv(matrix)

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Pull the score of the outputs back to the cells."""
        return pulled_back(self.matrix(), weights, precision)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the reports of each true value's respondents and add them up."""
        counts: NDArray[np.int64] = rng.multinomial(true_counts, proper(self.matrix())).sum(axis=-2)
        return counts

    def spread(self, mean: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's estimate."""
        inverse = self.invert(np.eye(self.outputs))
        return inverse.T @ multinomial_covariance(mean) @ inverse

    def variances(self, mean: FloatArray) -> FloatArray:
        """Return the variances of one report's estimate."""
        inverse = self.invert(np.eye(self.outputs))
        return mean @ inverse**2 - (mean @ inverse) ** 2

    def merged(self, classes: NDArray[np.int64], /) -> Channel | None:
        """Return the channel between classes, where all values of a class report classes alike (a lumpable chain).

        So do products of channels, such as one attribute's answer beside another's, onto one of the factors. Elsewhere
        what a coarser answer looks like depends on the frequencies inside its class.
        """
        if self.outputs != self.cells:
            return None
        _, first = np.unique(classes, return_index=True)
        summed = self.matrix() @ np.eye(first.size)[classes]
        coarse = summed[first]
        return structured(coarse) if np.all(np.abs(summed - coarse[classes]) <= _ALIKE * summed) else None


def structured(matrix: FloatArray) -> Channel:
    """Return a square channel as `TruthOrFake`, if every output is as likely for all values but its own."""
    others = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    fakes = np.nanmin(others, axis=0)
    faked = float(fakes.sum())
    if np.all(np.nanmax(others, axis=0) <= (1 + _ALIKE) * fakes) and 0 < faked < 1:
        return TruthOrFake(1 - faked, tuple((fakes / faked).tolist()))
    return DenseChannel(tuple(map(tuple, matrix.tolist())))


def pulled_back(matrix: FloatArray, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
    """Return score and information of the cells, given those of the outputs and the channel's matrix."""
    left = np.broadcast_to(matrix, (*precision.shape[:-1], *matrix.shape))
    nothing = np.zeros((*precision.shape[:-1], matrix.shape[0]))
    return weights @ matrix.T, Information(nothing, left, precision[..., None] * np.eye(matrix.shape[1]))


def multinomial_covariance(mean: FloatArray) -> FloatArray:
    """Return diag(mean) - mean meanᵀ."""
    covariance: FloatArray = -mean[..., :, None] * mean[..., None, :]
    diagonal = np.arange(mean.shape[-1])
    covariance[..., diagonal, diagonal] += mean
    return covariance


def proper(distribution: FloatArray) -> FloatArray:
    """Rescale rows that sum to one but for rounding: numpy wants sums of at most one to the last bit."""
    rescaled: FloatArray = distribution / distribution.sum(axis=-1, keepdims=True)
    return rescaled


def privacy_loss(likely: float, unlikely: float) -> float:
    """Return ln(likely / unlikely), infinite where the latter is impossible."""
    return math.log(likely / unlikely) if unlikely > 0 else math.inf
