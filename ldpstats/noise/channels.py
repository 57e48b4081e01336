"""Channels: P(output | true value), where every report is one output, so that counts are one multinomial draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.noise.information import Information, information_of
from ldpstats.noise.model import NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, as_array, at_least, whole_cells

RAREST = 2.0**-64
"""The grid's step: no output of a mechanism is rarer, but a channel in floating point may call it impossible."""
# a share of probabilities: what differs by less differs by rounding
_ALIKE = 1e-12
_EVEN = 1e-9
"""What values cause of a variance differs by rounding where it differs by a smaller share."""
_SAID = 1e-10
"""By what share the probability of a fake may be off where it is said by that of the truth."""


class ChannelNoise(NoiseModel):
    """The counts of n reports are one Multinomial(n, frequencies pushed through the channel) draw."""

    @property
    def channel(self) -> ChannelNoise:
        """The model itself: it is the channel."""
        return self

    @property
    def idle(self) -> BoolArray:
        """Mask of outputs that all values make equally likely: they tell nothing, however rare they are."""
        idle: BoolArray = np.ptp(self.matrix(), axis=0) == 0
        return idle

    @property
    def size(self) -> int:
        """The entries of a tally that a report counts for: one."""
        return 1

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        refuse_too_large((self.cells, self.outputs), "a channel")
        return self.mean(np.eye(self.cells))

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report: another name of `mean`."""
        return self.mean(frequencies)

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push`: another name of `debias`."""
        return self.debias(proportions)

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return the channel, transposed, and no offset (frequencies sum to one)."""
        return self.matrix().T, np.zeros(self.outputs)

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's indicator vector."""
        refuse_too_large((self.outputs, self.outputs), "a covariance matrix")
        return multinomial_covariance(self.mean(frequencies))

    def draw(self, frequencies: FloatArray, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of `n` random respondents each."""
        mean = self.mean(frequencies)
        # a transform may leave less than nothing, by rounding, where an output is impossible
        nothing = np.abs(mean) < np.finfo(float).eps
        return rng.multinomial(n, proper(np.where(nothing, np.maximum(mean, 0), mean)), size=size)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the score of the multinomial likelihood and the expected information."""
        mean = self.mean(frequencies)
        expected = np.where(self.idle, np.inf, np.where(mean == 0, RAREST, mean))
        # counts / mean would do, up to a multiple of ones, but loses digits when n is large
        return self._pulled((counts - n * mean) / expected, n / expected)

    def _pulled(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells, given counts / mean (up to a constant) and n / mean by output.

        Both are up to multiples of ones, which contrasts do not see.
        """
        matrix = self.matrix()
        left = np.broadcast_to(matrix, (*precision.shape[:-1], *matrix.shape))
        nothing = np.zeros((*precision.shape[:-1], self.cells))
        return weights @ matrix.T, Information(nothing, left, precision[..., None] * np.eye(self.outputs))

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(output | value), for every value."""
        columns: FloatArray = np.log(self.matrix()[:, tallies.argmax(axis=-1)])
        return np.moveaxis(columns, 0, -1)

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for each table whether every output that tells anything has a positive probability, beyond rounding."""
        proper: BoolArray = np.all((self.mean(frequencies) > np.finfo(float).eps) | self.idle, axis=-1)
        return proper


@dataclass(frozen=True, slots=True)
class TruthOrFake(ChannelNoise):
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

    @property
    def own_and_common(self) -> tuple[float, FloatArray]:
        """Probabilities of the truth and of each fake."""
        return self.truth, (1 - self.truth) * np.asarray(self.fake)

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
    def epsilon(self) -> float:
        """The level, which is attained at the rarest fake: ln(1 + p / ((1-p) min T))."""
        rarest = (1 - self.truth) * min(self.fake)
        return privacy_loss(self.truth + rarest, rarest)

    @property
    def idle(self) -> BoolArray:
        """None: every value makes its own output likelier."""
        return np.zeros(self.outputs, dtype=np.bool_)

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return self.truth * frequencies + (1 - self.truth) * np.asarray(self.fake)

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies (RRBA paper, Eq. 4)."""
        return (proportions - (1 - self.truth) * np.asarray(self.fake)) / self.truth

    def _pulled(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells: but for multiples of ones the latter is diagonal."""
        return self.truth * weights, Information(self.truth**2 * precision)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw who tells the truth, and let all the others fake together."""
        truthful = rng.binomial(true_counts, self.truth)
        fakes = (true_counts - truthful).sum(axis=-1)
        return truthful + rng.multinomial(fakes, proper(np.asarray(self.fake)))

    def bounds(self) -> FloatArray:
        """Return each cell's estimate if none, and if all, of the reports named it."""
        return self.debias(np.stack([np.zeros(self.cells), np.ones(self.cells)]))

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        return self.report_covariance(frequencies) / self.truth**2

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        mean = self.mean(frequencies)
        return mean * (1 - mean) / self.truth**2

    def merged(self, classes: NDArray[np.int64], /) -> TruthOrFake:
        """Add the fake frequencies up by class: a coarser answer is truth or fake with the same probability."""
        fake = np.bincount(classes, weights=np.asarray(self.fake))
        return TruthOrFake(self.truth, tuple((fake / fake.sum()).tolist()))


@dataclass(frozen=True, eq=False)
class DenseChannel(ChannelNoise):
    """Any channel, a row of output probabilities per true value; it may be rectangular.

    Parameters
    ----------
    rows : array or tuple of tuples of float
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

    rows: FloatArray

    def __post_init__(self) -> None:
        matrix = np.array(as_array(self.rows, "a channel"), dtype=float, order="C")
        # written so that a NaN fails
        proper = matrix.ndim == 2 and np.all(matrix >= 0) and np.all(np.abs(matrix.sum(axis=1) - 1) <= 1e-9)
        if not (proper and matrix.size and np.all(matrix.max(axis=0) > 0)):
            raise LdpstatsError(
                f"a channel of shape {matrix.shape}",
                "a matrix of nonnegative rows that sum to 1, no column of zeros alone",
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "rows", matrix)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DenseChannel):
            return NotImplemented
        return self is other or np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.rows.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # what is cached here can be made again, and an array does not stay read-only by itself
        return DenseChannel, (self.rows,)

    @property
    def cells(self) -> int:
        """The number of true values."""
        return len(self.rows)

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return int(self.rows.shape[1])

    @property
    def epsilon(self) -> float:
        """The level: the largest ratio within a column."""
        return max(map(privacy_loss, self.rows.max(axis=0).tolist(), self.rows.min(axis=0).tolist()))

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return frequencies @ self.rows

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        return self.rows

    @cached_property
    def _inverse(self) -> FloatArray:
        """The inverse of least variance where all values are equally frequent, if the outputs identify the frequencies.

        It is the only one where there are as many outputs as values. Its estimates add up to one.
        """
        rank = int(np.linalg.matrix_rank(self.rows))
        if rank < self.cells:
            raise NotIdentifiedError(
                f"a channel of rank {rank} for {self.cells} values",
                "channels whose rows are linearly independent",
                "bounds() of a table says what is known, functional(weights) what they tell; or add other blocks.",
            )
        scale = np.sqrt(self.rows.mean(axis=0))
        inverse: FloatArray = np.linalg.pinv(self.rows / scale) / scale[:, None]
        return inverse

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies by that inverse, where these are identified."""
        return proportions @ self._inverse

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the reports of each true value's respondents and add them up."""
        counts: NDArray[np.int64] = rng.multinomial(true_counts, proper(self.rows)).sum(axis=-2)
        return counts

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        return self._inverse.T @ multinomial_covariance(self.mean(frequencies)) @ self._inverse

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        mean = self.mean(frequencies)
        variances: FloatArray = mean @ self._inverse**2 - (mean @ self._inverse) ** 2
        return variances

    def varies_between(self) -> FloatArray | None:
        """Return the roots of each cell's variance, where all other values cause as much of it: so of two values."""
        caused = self.rows @ self._inverse**2
        others = np.where(np.eye(self.cells, dtype=bool), np.nan, caused)
        own, least, most = np.diag(caused), np.nanmin(others, axis=0), np.nanmax(others, axis=0)
        if np.any(most - least > _EVEN * most):
            return None
        # f own + (1 - f) least - f²; the root that takes no difference first, their product is -least
        half = (own - least) / 2
        far = half + np.copysign(np.sqrt(half**2 + least), half)
        return np.sort(np.stack([-least / far, far]), axis=0)

    def merged(self, classes: NDArray[np.int64], /) -> ChannelNoise | None:
        """Return the channel between classes, where all values of a class report classes alike (a lumpable chain).

        So do products of channels, such as one attribute's answer beside another's, onto one of the factors. Elsewhere
        what a coarser answer looks like depends on the frequencies inside its class.
        """
        if self.outputs != self.cells:
            return None
        _, first = np.unique(classes, return_index=True)
        summed = self.rows @ np.eye(first.size)[classes]
        coarse = summed[first]
        return structured(coarse) if np.all(np.abs(summed - coarse[classes]) <= _ALIKE * summed) else None


class MultinomialNoise(ChannelNoise):
    """The noise model of reports that are one output of a channel each: a channel is one, so that this returns it.

    Whether a noise model is of this kind, `isinstance` says.

    Parameters
    ----------
    channel : ChannelNoise
        P(output | true value), such as a `TruthOrFake` or a `DenseChannel`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import MultinomialNoise, TruthOrFake
    >>> noise = MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5)))
    >>> noise, isinstance(noise, MultinomialNoise)
    (TruthOrFake(truth=0.5, fake=(0.5, 0.5)), True)
    >>> noise.mean(np.array([0.9, 0.1]))
    array([0.7, 0.3])
    >>> noise.simulate(np.array([900, 100]), np.random.default_rng(1))
    array([701, 299])
    """

    def __new__(cls, channel: ChannelNoise) -> Self:
        """Return the channel."""
        return channel  # type: ignore[return-value]  # which takes every channel for one of this class, as `isinstance`

    def __init_subclass__(cls) -> None:
        raise LdpstatsError(
            f"{cls.__name__}, derived from MultinomialNoise", "DenseChannel or ChannelNoise as its base"
        )

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return ChannelNoise in kind.__mro__


@dataclass(frozen=True, eq=False)
class CohortChannel(ChannelNoise):
    """A report is a cohort c, uniform and public, and the value's symbol there, codes[c, v], by randomized response.

    The true symbol is sent with the probability `truth`, above 1 / symbols, else a uniformly drawn other one. Output
    number c · symbols + a is the answer a in the cohort c; codes are symbols from 0 up, shape (cohorts, cells).
    """

    codes: IntArray
    symbols: int
    truth: float

    def __post_init__(self) -> None:
        given = as_array(self.codes, "the codes of a channel")
        at_least(self.symbols, 2, "symbols")
        wide = given.ndim == 2 and given.dtype.kind in "iu" and given.shape[0] >= 1 and given.shape[1] >= 2
        if not (wide and 0 <= given.min() <= given.max() < self.symbols):
            raise LdpstatsError(
                f"codes of dtype {given.dtype} and shape {given.shape} for {self.symbols!r} symbols",
                "a row per cohort: a whole number from 0 below the number of symbols for each of two or more values",
            )
        refuse_too_large((self.symbols, *given.shape), "codes", most=MOST_CODES)
        if not 1 / self.symbols < self.truth <= 1:
            raise LdpstatsError(f"truth = {self.truth!r}", f"a probability above 1/{self.symbols}, at most 1")
        codes = np.array(given, dtype=np.min_scalar_type(self.symbols - 1), order="C")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CohortChannel):
            return NotImplemented
        same = (self.symbols, self.truth) == (other.symbols, other.truth)
        return self is other or (same and np.array_equal(self.codes, other.codes))

    def __hash__(self) -> int:
        return hash((self.symbols, self.truth, self.codes.shape, self.codes.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # what is cached here can be made again, and an array does not stay read-only by itself
        return CohortChannel, (self.codes, self.symbols, self.truth)

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return len(self.codes)

    @property
    def cells(self) -> int:
        """The number of true values."""
        return int(self.codes.shape[1])

    @property
    def outputs(self) -> int:
        """Number of outputs: every symbol of every cohort."""
        return self.cohorts * self.symbols

    @property
    def epsilon(self) -> float:
        """Privacy level: ln(truth / lie), if some cohort tells some values apart."""
        return privacy_loss(self.truth, self._lie) if np.any(self.codes != self.codes[:, :1]) else 0.0

    @property
    def _lie(self) -> float:
        return (1 - self.truth) / (self.symbols - 1)

    @property
    def _gain(self) -> float:
        """Difference in an output's probability between values with its symbol and others."""
        return (self.truth - self._lie) / self.cohorts

    @property
    def slot_noise(self) -> tuple[float, float]:
        """Probability that a symbol of a cohort is sent by others, and how much larger it is for its own values."""
        return self._lie, self.truth - self._lie

    def slot_estimates(self, proportions: FloatArray) -> FloatArray:
        """Return an unbiased estimate of the share of respondents with each symbol of each cohort."""
        return (proportions - self._lie / self.cohorts) / self._gain

    @cached_property
    def _slots(self) -> NDArray[np.int64]:
        """Output of every value's own symbol, shape (cohorts, cells)."""
        return self.symbols * np.arange(self.cohorts)[:, None] + self.codes.astype(np.int64)

    @cached_property
    def _members(self) -> FloatArray:
        """A row per output, with ones for the values that have its symbol."""
        members = np.zeros((self.outputs, self.cells))
        members[self._slots, np.arange(self.cells)] = 1
        return members

    @cached_property
    def _gram(self) -> FloatArray:
        return self._members.T @ self._members

    @cached_property
    def identified(self) -> bool:
        """Whether the codes tell all values apart well enough to estimate every frequency."""
        return bool(np.linalg.cond(self._gram, 1) * self.cells * np.finfo(float).eps < 1)

    @cached_property
    def _inverse_gram(self) -> FloatArray:
        if not self.identified:
            rank = int(np.linalg.matrix_rank(self._gram, hermitian=True))
            raise NotIdentifiedError(
                f"codes of rank {rank} for {self.cells} values",
                "codes whose cohorts together tell all values apart",
                "Take more cohorts, or combine these reports with other blocks in one table.",
            )
        return np.linalg.inv(self._gram)

    @property
    def idle(self) -> BoolArray:
        """Mask of the symbols that no value of the cohort has, or all have."""
        holders = self._members.sum(axis=1)
        idle: BoolArray = (holders == 0) | (holders == self.cells)
        return idle

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return self._lie / self.cohorts + self._gain * (frequencies @ self._members.T)

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the estimate of the frequencies by least squares, unbiased given the codes."""
        return self.slot_estimates(proportions) @ self._members @ self._inverse_gram

    def _pulled(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells."""
        return self._gain * (weights @ self._members), information_of(self._gain**2 * self._pairs(precision))

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each value's cohorts, who tells the truth (truth - lie), and uniform fakes, which may be true."""
        slots = np.zeros((*true_counts.shape[:-1], self.outputs), dtype=np.int64)
        uniform = np.full(self.cohorts, 1 / self.cohorts)
        for value in range(self.cells):
            slots[..., self._slots[:, value]] += rng.multinomial(true_counts[..., value], uniform)
        truthful = rng.binomial(slots, self.truth - self._lie)
        fakes = (slots - truthful).reshape(*slots.shape[:-1], self.cohorts, self.symbols).sum(axis=-1)
        faked = rng.multinomial(fakes, np.full(self.symbols, 1 / self.symbols))
        return truthful + faked.reshape(slots.shape)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate, from pairs of values rather than outputs."""
        inverse = self._inverse_gram / self._gain
        mean = self.mean(frequencies)
        expected: FloatArray = mean @ self._members @ inverse
        second: FloatArray = inverse @ self._pairs(mean) @ inverse
        return second - expected[..., :, None] * expected[..., None, :]

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        mean, estimates = self.mean(frequencies), self._members @ (self._inverse_gram / self._gain)
        variances: FloatArray = mean @ estimates**2 - (mean @ estimates) ** 2
        return variances

    def _pairs(self, weights: FloatArray) -> FloatArray:
        """Return for every two values the total weight of the outputs that stand for both."""
        return (self._members.T * weights[..., None, :]) @ self._members


def structured(matrix: FloatArray) -> ChannelNoise:
    """Return a square channel as `TruthOrFake`, if every output is as likely for all values but its own.

    Fakes so rare that a double near 1 does not say how rare stay in a matrix.
    """
    others = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    fakes = np.nanmin(others, axis=0)
    faked = float(fakes.sum())
    said = abs(1 - (1 - faked) - faked) <= _SAID * faked
    if np.all(np.nanmax(others, axis=0) <= (1 + _ALIKE) * fakes) and 0 < faked < 1 and said:
        return TruthOrFake(1 - faked, tuple((fakes / faked).tolist()))
    return DenseChannel(matrix)


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
