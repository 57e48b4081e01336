"""Rules: how fakes are made from what the blocks before have shown, and what that costs at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.mechanisms import FakeResponse, fake_numerators, least_fake
from ldpstats.numbers.arrays import FloatArray, at_least, positive_epsilon, real_number, significance
from ldpstats.numbers.grid import GRID

_TOLERATED = 0.5


@dataclass(frozen=True, slots=True)
class Rules:
    """How one group's fakes follow its reports; either `p` or `epsilon` is None."""

    p: float | None  # probability of telling the truth, the same in all blocks (the paper's way)
    epsilon: float | None  # strict level of every report: p then follows from the rarest fake of a block
    floor: float  # share of uniform fakes that is mixed into the adapted ones

    def randomizer(self, frequencies: FloatArray) -> FakeResponse:
        """Return the randomizer of a block whose fakes are drawn from these frequencies."""
        return self._randomizer(fake_numerators(frequencies, self.floor))

    def first(self, cells: int) -> FakeResponse:
        """Return the randomizer of the first block, with uniform fakes."""
        return self.randomizer(np.full(cells, 1 / cells))

    def worst(self, cells: int) -> FakeResponse:
        """Return the randomizer whose fakes are all as rare as the floor allows, but one.

        With `p` it has the largest level. With `epsilon` it tells whether there is one at all: so little truth is left
        that rounding may cost much of the level.
        """
        least = least_fake(cells, self.floor)
        return self._randomizer((least,) * (cells - 1) + (GRID - (cells - 1) * least,))

    def largest_truth(self, cells: int) -> int:
        """Return the largest probability of the truth, in GRID-ths: that with uniform fakes."""
        least = GRID // cells
        return self._randomizer((least,) * (cells - 1) + (GRID - (cells - 1) * least,)).truth

    def allow(self, randomizer: FakeResponse) -> bool:
        """Say whether these rules can make it: no fake below the floor, and no other probability of the truth."""
        floor_kept = min(randomizer.fake) >= least_fake(randomizer.k, self.floor)
        return floor_kept and randomizer.truth == self._randomizer(randomizer.fake).truth

    def _randomizer(self, fake: tuple[int, ...]) -> FakeResponse:
        if self.p is not None:
            return FakeResponse.telling(self.p, fake)
        assert self.epsilon is not None  # one of the two is given
        return FakeResponse.at_level(self.epsilon, fake)


def estimated_truths(randomizer: FakeResponse, counts: Sequence[int], n: int) -> FloatArray:
    """Return how many told the truth about each cell: the reports less the expected fakes among them.

    Divided by the expected number of truths, n p, this is Eq. 4 of Imran & Meo (2024).
    """
    fakes = n * ((GRID - randomizer.truth) / GRID) / GRID
    return np.array(counts) - fakes * np.array(randomizer.fake, dtype=float)


def adapted(truths: FloatArray) -> FloatArray:
    """Return estimated truths, cut at zero and scaled to sum to one, as fakes for the next block.

    Cutting is our choice: the paper does not say what becomes of its negative cells, from which no fake can be drawn.
    """
    cut = np.maximum(truths, 0)
    if not cut.any():  # so little truth that doubles do not hold it: nothing was shown
        return np.full(len(cut), 1 / len(cut))
    # the sum is rounded once: the same reports give the same fakes wherever they are summed
    return cut / math.fsum(cut)


def advised_block_size(cells: int, p: float, relative_error: float = _TOLERATED) -> int:
    """Return how many respondents a block needs, so that its table is worth making fakes of.

    With so many, the standard error of Eq. 4 in a cell of average frequency is the `relative_error` times that
    frequency, when fakes are uniform: B = (m - 1) / (relative_error p)². The RRBA paper finds m respondents sufficient,
    which is so only for p near one.

    Parameters
    ----------
    cells : int
        The cells of the largest table.
    p : float
        The probability of telling the truth.
    relative_error : float
        The standard error that is accepted, as a share of an average cell's frequency.

    Returns
    -------
    int
        The respondents of a block.

    Examples
    --------
    >>> from ldpstats.protocols.rrba import advised_block_size
    >>> advised_block_size(6, p=0.5), advised_block_size(6, p=0.221)
    (80, 410)
    """
    chance, error = significance(p, "p"), positive_epsilon(relative_error, "relative_error")
    return math.ceil(Fraction(at_least(cells, 2, "cells") - 1) / (Fraction(error) * Fraction(chance)) ** 2)


def checked_rules(p: float | None, epsilon: float | None, floor: float | None) -> Rules:
    """Return rules with a default floor: one half with a strict level, none with the paper's p."""
    if (p is None) == (epsilon is None):
        raise LdpstatsError(
            "neither p nor epsilon" if p is None else f"both p = {p!r} and epsilon = {epsilon!r}",
            "one of them: p for the paper's protocol, epsilon for a strict level",
            "With epsilon, p follows from the rarest fake of each block.",
        )
    if p is not None:
        return Rules(significance(p, "p"), None, 0.0 if floor is None else _share(floor))
    share = _TOLERATED if floor is None else _share(floor)
    if share == 0:
        raise LdpstatsError(
            "floor = 0 with a strict epsilon", "a floor above 0: a fake that never comes leaves nothing to hide behind"
        )
    return Rules(None, positive_epsilon(epsilon), share)


def _share(value: object) -> float:
    share = real_number(value)
    if not 0 <= share <= 1:
        raise LdpstatsError(
            f"floor = {shortened(value)}", "a share from 0 (the adapted fakes alone) to 1 (uniform ones: GRR)"
        )
    return share
