"""The channel of cohorts: a random public code, and randomized response to the value's symbol in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.noise.channels import Channel, privacy_loss
from ldpstats.noise.information import Information, information_of
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, as_array, at_least


@dataclass(frozen=True, eq=False)
class CohortChannel(Channel):
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
        found: BoolArray = (holders == 0) | (holders == self.cells)
        return found

    def push(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the report."""
        return self._lie / self.cohorts + self._gain * (frequencies @ self._members.T)

    def matrix(self) -> FloatArray:
        """Return the whole channel, a row per true value."""
        return self.push(np.eye(self.cells))

    def invert(self, proportions: FloatArray) -> FloatArray:
        """Undo `push` by least squares, given the codes."""
        shares = (proportions - self._lie / self.cohorts) / self._gain
        return shares @ self._members @ self._inverse_gram

    def score(self, weights: FloatArray, precision: FloatArray) -> tuple[FloatArray, Information]:
        """Return score and information of the cells, up to multiples of ones, which contrasts do not see."""
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

    def spread(self, mean: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's estimate, from pairs of values rather than of outputs."""
        inverse = self._inverse_gram / self._gain
        expected: FloatArray = mean @ self._members @ inverse
        second: FloatArray = inverse @ self._pairs(mean) @ inverse
        return second - expected[..., :, None] * expected[..., None, :]

    def variances(self, mean: FloatArray) -> FloatArray:
        """Return the variances of one report's estimate."""
        estimates = self._members @ (self._inverse_gram / self._gain)
        found: FloatArray = mean @ estimates**2 - (mean @ estimates) ** 2
        return found

    def _pairs(self, weights: FloatArray) -> FloatArray:
        """Return for every two values the total weight of the outputs that stand for both."""
        return (self._members.T * weights[..., None, :]) @ self._members
