"""Hadamard response as its authors' public code runs it, which Le & Zia used: it may draw and decode differently."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PublicHadamardCode:
    """The law of `Hadamard_Rand_general` in zitengsun/hadamard_response (2018, unchanged since), found by reading it.

    B blocks of b outputs are planned, B the largest power of two up to min(e^ε, 2d); values fill the first O of them.
    The outputs are those of these O blocks, without the first of each; a value's set are the b/2 outputs of its
    block where its Hadamard row is -1. An output of the set should be e^ε times as likely as one outside. It is only
    1 + (O/B) (e^ε - 1) times as likely, since the share of uniform reports is that of B blocks; the decoder takes it
    for e^ε times. Where O = B, both agree. Values are placed in random order.

    Parameters
    ----------
    d : int
        The size of the domain.
    epsilon : float
        The level asked for.
    """

    d: int
    epsilon: float

    @property
    def planned(self) -> int:
        """The number of blocks B."""
        return 1 << math.floor(math.log2(min(2 * self.d, math.exp(self.epsilon))))

    @property
    def size(self) -> int:
        """The number b of outputs in a block, the first one included."""
        return 1 << math.ceil(math.log2(self.d / self.planned + 1))

    @property
    def occupied(self) -> int:
        """The number of blocks O that hold values."""
        return math.ceil(self.d / (self.size - 1))

    @property
    def sound(self) -> bool:
        """Whether reports are decoded as they were drawn."""
        return self.occupied == self.planned

    @property
    def spent(self) -> float:
        """The level of the reports, at most ε."""
        return math.log1p(self.occupied / self.planned * math.expm1(self.epsilon))

    @property
    def sets(self) -> NDArray[np.bool_]:
        """Which outputs are in the set of the value at each place."""
        block, row = np.divmod(np.arange(self.d), self.size - 1)
        outputs_block, column = np.divmod(np.arange(self.occupied * (self.size - 1)), self.size - 1)
        negative = np.bitwise_count((row + 1)[:, None] & (column + 1)) % 2 == 1
        return (block[:, None] == outputs_block) & negative

    @property
    def channel(self) -> NDArray[np.float64]:
        """The probability of every output, a row for the value at each place."""
        weights = 1 + math.expm1(self.spent) * self.sets
        return weights / weights.sum(axis=1, keepdims=True)

    def decoded(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Estimate the frequency of each place, clip and rescale, as if the level were ε.

        With Z the sum of an output's weights, e^ε in its set and 1 elsewhere, a block of frequency F has the share
        (b - 1 + (b/2) (e^ε - 1) F) / Z of the reports; the set of a value of frequency f has the share
        (b/2 + (b/4) (e^ε - 1) (F + f)) / Z.

        Parameters
        ----------
        shares : array, shape (..., outputs)
            Of the reports.
        """
        half, gain = self.size // 2, math.expm1(self.epsilon)
        total = half * gain + self.occupied * (self.size - 1)
        of_blocks = shares.reshape(*shares.shape[:-1], self.occupied, self.size - 1).sum(axis=-1)
        blocks = (total * of_blocks - (self.size - 1)) / (half * gain)
        places = np.arange(self.d) // (self.size - 1)
        found = np.maximum(2 * (total / half * (shares @ self.sets.T) - 1) / gain - blocks[..., places], 0)
        return found / found.sum(axis=-1, keepdims=True)

    def estimates(self, counts: NDArray[np.int64], runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Simulate collections of respondents with these counts, and decode them.

        Parameters
        ----------
        counts : array of int, shape (d,)
            How many respondents have each value.
        runs : int
            How many collections, each with places of its own.
        rng : Generator
            Of the simulation.
        """
        placed = rng.permuted(np.tile(np.arange(self.d), (runs, 1)), axis=1)
        people = np.zeros((runs, self.d), dtype=np.int64)
        np.put_along_axis(people, placed, np.broadcast_to(counts, people.shape), axis=1)
        tally = sum(rng.multinomial(people[:, place], law) for place, law in enumerate(self.channel))
        return np.take_along_axis(self.decoded(tally / counts.sum()), placed, axis=1)
