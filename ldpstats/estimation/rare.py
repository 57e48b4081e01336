"""Mid-p intervals for rare cells: the tails of the counts themselves, where a cell's own reports are few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.noise.weighted import NODES, share_below
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray

FEW = 20
"""Counts below it are not taken for normal."""
_GROUPS = 8
_HALVINGS = 24
_NEAR = 60
_AT_ONCE = 128


@dataclass(frozen=True, slots=True, eq=False)
class OwnReports:
    """The reports of each cell in some blocks: binomial counts with the probability gain · frequency + offset."""

    n: FloatArray  # shape (blocks, 1)
    gain: FloatArray  # shape (blocks, cells), as offset and counts
    offset: FloatArray
    counts: FloatArray
    weights: FloatArray  # what a report of each block counts for in the estimate, shape (blocks, 1)

    def __post_init__(self) -> None:
        blocks, cells = self.gain.shape if self.gain.ndim == 2 else (0, 0)
        by_cell, by_block = {self.gain.shape, self.offset.shape, self.counts.shape}, {self.n.shape, self.weights.shape}
        if by_cell != {(blocks, cells)} or by_block != {(blocks, 1)} or not blocks:
            raise LdpstatsError(f"counts of shape {self.counts.shape} in {self.n.size} blocks", "a row for every block")

    @property
    def few(self) -> BoolArray:
        """Which cells were reported, or not reported, fewer than 20 times."""
        seen, every = self.counts.sum(axis=0), self.n.sum()
        few: BoolArray = np.minimum(seen, every - seen) < FEW
        return few

    def of(self, cells: IntArray) -> OwnReports:
        """Return those of some cells, or of cells in another order."""
        gain, offset, counts = self.gain[:, cells], self.offset[:, cells], self.counts[:, cells]
        return OwnReports(self.n, gain, offset, counts, self.weights)

    def limits(self, alpha: float) -> FloatArray:
        """Return mid-p intervals: for every cell, the frequencies that neither tail of the weighted counts rejects."""
        if len(self.n) == 1:
            # very many cells of one tally have few different counts
            different, kind = np.unique(
                np.concatenate([self.gain, self.offset, self.counts]), axis=1, return_inverse=True
            )
            first = np.zeros(different.shape[1], dtype=np.int64)
            first[kind] = np.arange(kind.size)
            return self.of(first).ungrouped_limits(alpha)[kind]
        cells = np.arange(self.counts.shape[1])
        parts = [cells[start : start + _AT_ONCE] for start in range(0, cells.size, _AT_ONCE)]
        grouped = self._in_groups()
        limits = [grouped.of(part).ungrouped_limits(alpha) for part in parts]
        return np.concatenate([np.empty((0, 2)), *limits])

    def ungrouped_limits(self, alpha: float) -> FloatArray:
        """Return the same without taking blocks together, for all cells at once."""
        lowest, highest = (-self.offset / self.gain).max(axis=0), ((1 - self.offset) / self.gain).min(axis=0)
        sensitivity = (self.weights * self.n * self.gain).sum(axis=0)
        middle = (self.weights * (self.counts - self.n * self.offset)).sum(axis=0) / sensitivity
        reach = _NEAR * self.weights.max() / sensitivity
        ends = np.clip(np.stack([middle - reach, middle + reach]), lowest, highest)
        (low, _), (_, high) = (self._crossing(ends, level) for level in (1 - alpha / 2, alpha / 2))
        return np.stack([low, high], axis=-1)

    def _crossing(self, ends: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Find by bisection where the falling share below what was seen passes a level, or else an end."""
        low, high = ends
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self._share(middle) > level
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return low, high

    def _share(self, frequencies: FloatArray) -> FloatArray:
        """Return P(less than was seen) + P(as much) / 2, were these the frequencies."""
        mean = np.clip(self.gain * frequencies + self.offset, 0, 1)
        if len(self.n) == 1:
            return _binomial(self.counts[0], float(self.n[0, 0]), mean[0])
        gap = (self.weights * (self.counts - self.n * mean)).sum(axis=0)
        error = np.sqrt((self.weights**2 * self.n * mean * (1 - mean)).sum(axis=0))
        certain = error == 0
        phases = self.weights / np.where(certain, 1.0, error)
        law = np.ones((frequencies.size, NODES.size), dtype=np.complex128)
        for share, turn, n in zip(mean, phases, self.n[:, 0], strict=True):
            turned = np.exp(1j * turn[:, None] * NODES)
            law *= ((1 - share[:, None] + share[:, None] * turned) * turned ** -share[:, None]) ** n
        below = share_below(law, gap / np.where(certain, 1.0, error))
        return np.where(certain, (1 + np.sign(gap)) / 2, below)

    def _in_groups(self) -> OwnReports:
        """Take many blocks for a few with average probabilities; what little less they vary is left aside."""
        if len(self.n) <= _GROUPS:
            return self
        groups = [slice(start, None, _GROUPS) for start in range(_GROUPS)]
        n = np.array([self.n[group].sum(axis=0) for group in groups])
        # a report of a group counts for the average of what it counts for in its blocks
        weights = np.array([(self.n * self.weights)[group].sum(axis=0) for group in groups]) / n
        gain, offset = (
            np.array([(self.n * self.weights * rows)[group].sum(axis=0) for group in groups]) / (n * weights)
            for rows in (self.gain, self.offset)
        )
        counts = np.array([(self.weights * self.counts)[group].sum(axis=0) for group in groups]) / weights
        return OwnReports(n, gain, offset, counts, weights)


def _binomial(seen: FloatArray, n: float, share: FloatArray) -> FloatArray:
    from scipy.special import betainc

    some, missing = seen > 0, seen < n
    fewer = np.where(some, betainc(n - seen + 1, np.where(some, seen, 1), 1 - share), 0.0)
    as_many = np.where(missing, betainc(np.where(missing, n - seen, 1), seen + 1, 1 - share), 1.0)
    return (fewer + as_many) / 2
