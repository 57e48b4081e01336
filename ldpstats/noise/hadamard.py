"""Hadamard channels: reports about rows of a Hadamard matrix, decoded by the fast Walsh-Hadamard transform.

The entry in row r and column y of the matrix is +1 or -1 as the number of ones that r and y have in common as
binary numbers is even or odd. So the product of the rows r and s is row r XOR s, and that is why covariances
take one transform.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import refuse_too_large, refuse_too_many_cells
from ldpstats.noise.channels import ChannelNoise, privacy_loss
from ldpstats.noise.information import Information, information_of
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, at_least, whole_cells

_PLUS, _MINUS = 0, 1


def walsh_hadamard(array: ArrayLike) -> FloatArray:
    """Multiply the last axis by the Hadamard matrix of its length K, a power of two, in O(K log K)."""
    transformed = np.asarray(array, dtype=float)
    shape, half = transformed.shape, 1
    if not shape or shape[-1].bit_count() != 1:
        raise LdpstatsError(f"an array of shape {shape} for a Hadamard transform", "a last axis of 1, 2, 4, 8, ...")
    while half < shape[-1]:
        pairs = transformed.reshape(*shape[:-1], -1, 2, half)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        transformed = np.stack([first + second, first - second], axis=-2)
        half *= 2
    return transformed.reshape(shape)


def odd(rows: IntArray, columns: IntArray) -> NDArray[np.int64]:
    """Return 1 where the Hadamard matrix has the entry -1, and 0 where it has +1."""
    ones: NDArray[np.int64] = np.bitwise_count(rows & columns).astype(np.int64) & 1
    return ones


def places(values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return block · size + row of values that fill blocks of this size in order, leaving out every first row."""
    block, row = np.divmod(values, size - 1)
    return block * size + row + 1


def random_columns(people: NDArray[np.int64], rng: np.random.Generator, *, positive: bool) -> NDArray[np.int64]:
    """Draw a uniform column for everybody, and count columns by the sign in the person's row: shape (..., columns, 2).

    The last axis of `people` is the rows; if `positive`, columns have a plus, and nobody may need row 0 to be negative.
    All people move at once, one binary digit of the column after the other: O(K log K) draws for K rows.
    """
    tables = people.shape[:-1]
    # axes: the digits drawn so far, the digits of the row that are left, the sign so far
    waiting = np.stack([people, np.zeros_like(people)], axis=-1)[..., None, :, :]
    while waiting.shape[-2] > 1:
        drawn, left = waiting.shape[-3], waiting.shape[-2] // 2
        split = waiting.reshape(*tables, drawn, 2, left, 2)
        chance = np.full((2, left, 2), 0.5)
        if positive:  # the row's last one is the last chance to turn the sign
            chance[1, 0] = (0.0, 1.0)
        ones = rng.binomial(split, chance)
        zeros = split - ones
        turned = ones[..., 0, :, :] + ones[..., 1, :, ::-1]
        waiting = np.stack([zeros.sum(axis=-3), turned], axis=-3).reshape(*tables, 2 * drawn, left, 2)
    return waiting[..., 0, :]


@dataclass(frozen=True, slots=True)
class HadamardResponse(ChannelNoise):
    """A report is an output from the value's set with probability `inside`, and else one of all the others.

    Outputs come in blocks of `width`, a power of two. A value has a row of the Hadamard matrix of this size in one of
    the blocks (`places` says which; never the first), and its set is where that row is +1 (Acharya, Sun & Zhang 2019).
    """

    cells: int
    blocks: int
    width: int
    inside: float

    def __post_init__(self) -> None:
        whole_cells(self.cells)
        refuse_too_many_cells(at_least(self.blocks, 1, "blocks") * at_least(self.width, 2, "width"), "a channel")
        fits = self.width.bit_count() == 1 and self.cells <= self.blocks * (self.width - 1)
        if not (fits and 1 / (2 * self.blocks) < self.inside <= 1):
            raise LdpstatsError(
                f"{self.cells!r} values in {self.blocks!r} blocks of {self.width!r}, inside = {self.inside!r}",
                "two values or more, blocks of a power of two with a row for each value (none has a first row), "
                "and a probability above the share of the outputs that are in a set, at most 1",
            )

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.blocks * self.width

    @property
    def epsilon(self) -> float:
        """Privacy level: an output may be in the set of one value, and not in that of another."""
        return privacy_loss(self._high, self._low)

    @property
    def _high(self) -> float:
        return 2 * self.inside / self.width

    @property
    def _low(self) -> float:
        return (1 - self.inside) / (self.outputs - self.width // 2)

    @property
    def _gain(self) -> float:
        return (self._high - self._low) / 2

    @property
    def _places(self) -> NDArray[np.int64]:
        return places(np.arange(self.cells), self.width)

    def _transform(self, outputs: FloatArray) -> FloatArray:
        return walsh_hadamard(outputs.reshape(*outputs.shape[:-1], self.blocks, self.width)).reshape(outputs.shape)

    @property
    def idle(self) -> BoolArray:
        """Mask of outputs that lie in no set, or in all of them."""
        rows = np.zeros(self.outputs)
        rows[self._places] = 1
        rows[:: self.width] = rows.reshape(self.blocks, self.width).sum(axis=-1)
        holders = self._transform(rows) / 2
        idle: BoolArray = (holders == 0) | (holders == self.cells)
        return idle

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the report's distribution; what frequencies lack to one lies uniformly, unseen by `debias`."""
        rows = np.zeros((*frequencies.shape[:-1], self.outputs))
        rows[..., self._places] = frequencies
        # (1 + H) / 2 says which outputs are in a set, and the first row is all ones
        rows[..., :: self.width] = rows.reshape(*rows.shape[:-1], self.blocks, self.width).sum(axis=-1)
        missing = (1 - self.width * self._gain * frequencies.sum(axis=-1, keepdims=True)) / self.outputs
        mean: FloatArray = missing + self._gain * self._transform(rows)
        return mean

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies: each value's coefficient within its block, rescaled."""
        return self._transform(proportions)[..., self._places] / (self.width * self._gain)

    def _pulled(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells."""
        refuse_too_large((self.cells, self.cells), "the information")
        here, pulled, seen = self._places, self._transform(weights), self._transform(precision)
        first = here & -self.width
        sums = seen[..., first, None] + seen[..., here, None] + seen[..., None, here]
        pairs = np.where(self._together, sums, 0) + self._pairs(seen)
        return self._gain * (pulled[..., first] + pulled[..., here]), information_of(self._gain**2 * pairs)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw an output of the own set with probability width · gain, and else one of all outputs."""
        truthful = rng.binomial(true_counts, self.width * self._gain)
        anywhere = rng.multinomial((true_counts - truthful).sum(axis=-1), np.full(self.outputs, 1 / self.outputs))
        people = np.zeros_like(anywhere)
        people[..., self._places] = truthful
        blocks = people.reshape(*people.shape[:-1], self.blocks, self.width)
        return anywhere + random_columns(blocks, rng, positive=True)[..., _PLUS].reshape(anywhere.shape)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate; one transform has all products of two rows."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        mean = self.mean(frequencies)
        expected = self.debias(mean)
        second = self._pairs(self._transform(mean)) / (self.width * self._gain) ** 2
        return second - expected[..., :, None] * expected[..., None, :]

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate: the square of a row is all ones, within its block."""
        mean, scale = self.mean(frequencies), self.width * self._gain
        shares = mean.reshape(*mean.shape[:-1], self.blocks, self.width).sum(axis=-1)
        variances: FloatArray = shares[..., self._places // self.width] / scale**2 - self.debias(mean) ** 2
        return variances

    @property
    def _together(self) -> BoolArray:
        block = self._places // self.width
        together: BoolArray = block[:, None] == block
        return together

    def _pairs(self, transformed: FloatArray) -> FloatArray:
        """Return the coefficient of the product of every two values' rows; zero between blocks."""
        here = self._places
        product = (here & -self.width)[:, None] + ((here[:, None] ^ here) & (self.width - 1))
        return np.where(self._together, transformed[..., product], 0)


@dataclass(frozen=True, slots=True)
class HadamardRandomizedResponse(ChannelNoise):
    """A report is a column of a Hadamard matrix, uniform and public, and the sign of the value's entry there.

    The value v has row v; the sign is kept with the probability `truth`, above 1/2. Output 2j is a plus in column j, 2j
    + 1 a minus. n times the covariance of the estimate is c² I - f fᵀ, where c = 1 / (2 truth - 1).
    """

    cells: int
    truth: float

    def __post_init__(self) -> None:
        refuse_too_many_cells(2 * order(whole_cells(self.cells)), "a channel")
        if not 0.5 < self.truth <= 1:
            raise LdpstatsError(f"truth = {self.truth!r}", "a probability above one half, at most 1")

    @property
    def order(self) -> int:
        """The size of the Hadamard matrix."""
        return order(self.cells)

    @property
    def outputs(self) -> int:
        """The number of outputs: a plus and a minus for every column."""
        return 2 * self.order

    @property
    def epsilon(self) -> float:
        """Privacy level of the sign."""
        return privacy_loss(self.truth, 1 - self.truth)

    @property
    def _contrast(self) -> float:
        return 2 * self.truth - 1

    def _signed(self, outputs: FloatArray, sign: int) -> FloatArray:
        return outputs[..., _PLUS::2] + sign * outputs[..., _MINUS::2]

    @property
    def idle(self) -> BoolArray:
        """Mask of the outputs of the first column, which has one sign for all values; no other column has."""
        return np.arange(self.outputs) < 2

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        rows = np.zeros((*frequencies.shape[:-1], self.order))
        rows[..., : self.cells] = frequencies
        tilt = self._contrast * walsh_hadamard(rows)
        return np.stack([1 + tilt, 1 - tilt], axis=-1).reshape(*tilt.shape[:-1], -1) / self.outputs

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies: the inverse transform of the coefficients."""
        return walsh_hadamard(self._signed(proportions, -1))[..., : self.cells] / self._contrast

    def _pulled(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells."""
        refuse_too_large((self.cells, self.cells), "the information")
        gain, values = self._contrast / self.outputs, np.arange(self.cells)
        pulled = walsh_hadamard(self._signed(weights, -1))[..., : self.cells]
        seen = walsh_hadamard(self._signed(precision, 1))
        return gain * pulled, information_of(gain**2 * seen[..., values[:, None] ^ values])

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw everybody's column, then who of those with the same sign there keeps it."""
        people = np.zeros((*true_counts.shape[:-1], self.order), dtype=np.int64)
        people[..., : self.cells] = true_counts
        signs = random_columns(people, rng, positive=False)
        kept = rng.binomial(signs, self.truth)
        sent: NDArray[np.int64] = kept + (signs - kept)[..., ::-1]
        return sent.reshape(*true_counts.shape[:-1], self.outputs)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate: c² I - f fᵀ."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        return np.eye(self.cells) / self._contrast**2 - frequencies[..., :, None] * frequencies[..., None, :]

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        return 1 / self._contrast**2 - frequencies**2


def order(cells: int) -> int:
    """Return the smallest power of two that is not below the number of values."""
    return 1 << (cells - 1).bit_length()
