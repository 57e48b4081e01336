"""Multinomial noise: every respondent sends exactly one output of a channel."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray, as_array
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.noise.information import Information
from ldpstats.noise.level import log_ratio


class Channel(Protocol):
    """P(output | true value) as a linear map; both kinds below are given by plain numbers, so they compare."""

    @property
    def cells(self) -> int:
        """The number of true values."""
        ...

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        ...

    @property
    def epsilon(self) -> float:
        """The privacy level."""
        ...

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        ...

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        ...

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push`."""
        ...

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score and information, given counts / mean (up to a constant) and n / mean of every output."""
        ...

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the counts of the outputs of respondents with these true values."""
        ...

    def merged(self, classes: NDArray[np.int64], /) -> Channel | None:
        """Return the channel between classes of values and the same classes of outputs, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class TruthOrFake:
    """Tell the truth with probability `truth`, else draw an answer from the distribution `fake`: p I + (1-p) 1 Tᵀ."""

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

    @classmethod
    def uniform(cls, cells: int, honest: Fraction) -> TruthOrFake:
        """Report the true value with probability `honest`, every other one equally often."""
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
        return log_ratio(self.truth + rarest, rarest)

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return self.truth * frequencies + (1 - self.truth) * np.asarray(self.fake)

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        return self.push(np.eye(self.cells))

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push` (RRBA paper, Eq. 4)."""
        return (proportions - (1 - self.truth) * np.asarray(self.fake)) / self.truth

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score up to a multiple of the ones vector, which contrasts do not see; the rest is diagonal."""
        return self.truth * weights, Information(self.truth**2 * precision)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw who tells the truth, and let all the others fake together."""
        told = rng.binomial(true_counts, self.truth)
        fakes = (true_counts - told).sum(axis=-1)
        return told + rng.multinomial(fakes, _proper(np.asarray(self.fake)))

    def merged(self, classes: NDArray[np.int64], /) -> TruthOrFake:
        """Add the fake frequencies up by class: a coarser answer is truth or fake with the same probability."""
        fake = np.bincount(classes, weights=np.asarray(self.fake))
        return TruthOrFake(self.truth, tuple((fake / fake.sum()).tolist()))


@dataclass(frozen=True, slots=True)
class DenseChannel:
    """Any channel, a row of output probabilities per true value; it may be rectangular."""

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
        return max(log_ratio(most, least) for most, least in zip(matrix.max(axis=0), matrix.min(axis=0), strict=True))

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
        matrix = self.matrix()
        left = np.broadcast_to(matrix, (*precision.shape[:-1], *matrix.shape))
        nothing = np.zeros((*precision.shape[:-1], self.cells))
        return weights @ matrix.T, Information(nothing, left, precision[..., None] * np.eye(self.outputs))

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the reports of each true value's respondents and add them up."""
        counts: NDArray[np.int64] = rng.multinomial(true_counts, _proper(self.matrix())).sum(axis=-2)
        return counts

    def merged(self, _classes: NDArray[np.int64], /) -> None:
        """Give none: what a coarser answer looks like depends on the frequencies inside its class."""
        return


@dataclass(frozen=True, slots=True)
class MultinomialNoise:
    """The counts of n reports are one Multinomial(n, frequencies pushed through the channel) draw."""

    channel: TruthOrFake | DenseChannel

    @property
    def epsilon(self) -> float:
        """The privacy level of one report."""
        return self.channel.epsilon

    @property
    def has_likelihood(self) -> bool:
        """Yes: the counts are multinomial."""
        return True

    @property
    def cells(self) -> int:
        """The number of true values."""
        return self.channel.cells

    @property
    def outputs(self) -> int:
        """The number of entries of a tally."""
        return self.channel.outputs

    @property
    def size(self) -> int:
        """The entries of a tally that a report counts for: one."""
        return 1

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each output's expected share of the reports."""
        return self.channel.push(frequencies)

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return the channel, transposed, and no offset (frequencies sum to one)."""
        return self.channel.matrix().T, np.zeros(self.outputs)

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's indicator vector."""
        mean = self.mean(frequencies)
        return mean[..., None] * np.eye(self.outputs) - mean[..., :, None] * mean[..., None, :]

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies."""
        return self.channel.invert(proportions)

    def bounds(self) -> FloatArray | None:
        """Return each cell's estimate if none, and if all, of the reports named it; None for a dense channel."""
        if not isinstance(self.channel, TruthOrFake):
            return None
        return self.channel.invert(np.stack([np.zeros(self.cells), np.ones(self.cells)]))

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        report = self.report_covariance(frequencies)
        if isinstance(self.channel, TruthOrFake):
            return report / self.channel.truth**2
        inverse = self.channel.invert(np.eye(self.outputs))
        return inverse.T @ report @ inverse

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the tally of respondents whose true values are known."""
        return self.channel.simulate(true_counts, rng)

    def draw(self, frequencies: FloatArray, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of `n` random respondents each."""
        return rng.multinomial(n, _proper(self.mean(frequencies)), size=size)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the score of the multinomial likelihood and the expected information."""
        mean = self.mean(frequencies)
        # counts / mean would do, up to a multiple of ones, but loses digits when n is large
        return self.channel.score((counts - n * mean) / mean, n / mean)

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether every output has a positive probability."""
        proper: NDArray[np.bool_] = np.all(self.mean(frequencies) > 0, axis=-1)
        return proper

    def merged(self, classes: NDArray[np.int64], /) -> MultinomialNoise | None:
        """Return the noise of the coarser tally, if the channel allows it."""
        channel = self.channel.merged(classes)
        return None if channel is None else MultinomialNoise(channel)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values."""
        if isinstance(self.channel, TruthOrFake):
            return {"kind": "truth-or-fake", "truth": self.channel.truth, "fake": list(self.channel.fake)}
        return {"kind": "channel", "rows": [list(row) for row in self.channel.rows]}


def _proper(distribution: FloatArray) -> FloatArray:
    """Rescale rows that sum to one up to rounding: numpy wants sums of at most one to the last bit."""
    rescaled: FloatArray = distribution / distribution.sum(axis=-1, keepdims=True)
    return rescaled
