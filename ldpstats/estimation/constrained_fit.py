"""Component tests at the proper frequencies nearest to a tally: contradictory outputs, and the distance from these."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.blocks import Block
from ldpstats.estimation.block_stack import stacked
from ldpstats.estimation.component_tests import AsymptoticTest, Counts
from ldpstats.estimation.least_squares import above_zero, total_score
from ldpstats.estimation.nearest import nearest_in_information
from ldpstats.noise import NoiseModel

_DRAWS = 9999
# with four component tests a p-value of one in so many is still below the level
_FEWEST_DRAWS = 4500
_FEW = 20
_NEVER = 1e-6
_STEPS = 2
_MOST_DRAWN = 5_000_000
_AT_ODDS = "the channel's outputs contradict each other: no frequencies explain them together"
_TOO_FAR = "estimated frequencies are below 0, or above 1, by more than chance explains"


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedFit:
    """The proper frequencies nearest to the tallies of some blocks, where everything asymptotic is evaluated.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks with reports.
    frequencies : array, shape (cells,)
        No less than half a respondent in any cell, so that every law has a density there.
    information : array, shape (cells, cells)
        That of all the reports at these frequencies.
    free : array of bool, shape (1, cells)
        The cells that are not held at zero.
    """

    blocks: Sequence[Block]
    frequencies: FloatArray
    information: FloatArray
    free: BoolArray

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> ConstrainedFit:
        """Start from equal frequencies, and take a few steps of Fisher scoring within the simplex."""
        n, cells = sum(block.n for block in blocks), blocks[0].question.cells
        frequencies, free = np.full(cells, 1 / cells), None
        for _ in range(_STEPS):
            score, information = total_score(blocks, frequencies)
            nearest = nearest_in_information(score[None, :], information, frequencies, free)
            frequencies, free = above_zero(nearest.frequencies[0], n), nearest.free
        return cls(blocks, frequencies, total_score(blocks, frequencies)[1], nearest.free)

    def tests(self) -> list[AsymptoticTest]:
        """Return the component tests that need this point."""
        directions = [self._contradictions(place) for place in range(len(self.blocks))]
        known = [(place, of) for place, of in enumerate(directions) if of is not None]

        def contradictions(counts: Counts) -> tuple[FloatArray, FloatArray]:
            found = [of(counts[place]) for place, of in known]
            least = np.argmin([pvalues for _, pvalues in found], axis=0)[None, :]
            statistics, pvalues = (np.take_along_axis(np.array(one), least, 0)[0] for one in zip(*found, strict=True))
            return statistics, np.minimum(len(known) * pvalues, 1.0)

        distance = AsymptoticTest("distance from proper frequencies", lambda _: _TOO_FAR, self._distance)
        return (
            [AsymptoticTest("outputs that must fit together", lambda _: _AT_ODDS, contradictions), distance]
            if known
            else [distance]
        )

    @property
    def few(self) -> bool:
        """Whether so few reports of some kind, or without it, are expected that asymptotic laws are in doubt."""
        stacks, others = stacked(self.blocks)
        rarest = [float((stack.n * stack.mean(self.frequencies)).sum(axis=0).min()) for stack in stacks]
        for block in others:
            noise = block.tally.noise
            answers = block.question.answer_frequencies(self.frequencies)
            rarest.append(block.n * _rarer(noise, answers))
        return min(rarest) < _FEW

    def drawn(self) -> list[NDArray[np.int64]] | None:
        """Draw tallies of as many respondents with these frequencies, if that is not too much work."""
        tables = min(_DRAWS, _MOST_DRAWN // sum(block.tally.noise.outputs for block in self.blocks))
        if tables < _FEWEST_DRAWS:
            return None
        rng = np.random.default_rng(zlib.crc32(b"".join(block.tally.counts.tobytes() for block in self.blocks)))
        return [block.draw(self.frequencies, tables, rng) for block in self.blocks]

    def _distance(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import chdtrc

        if len(counts[0]) == 1:
            # the collected tallies, of which there may be thousands
            score, free = total_score(self.blocks, self.frequencies)[0][None, :], self.free
        else:
            parts = zip(self.blocks, counts, strict=True)
            score = np.sum([block.score(self.frequencies, tallies)[0] for block, tallies in parts], axis=0)
            free = np.ones(score.shape, dtype=np.bool_)
        nearest = nearest_in_information(score, self.information, self.frequencies, free)
        tails = chdtrc(np.maximum(nearest.held, 1), np.maximum(nearest.distance, 0))
        return nearest.distance, np.where(nearest.held > 0, tails, 1.0)

    def _contradictions(self, place: int) -> Callable[[NDArray[Any]], tuple[FloatArray, FloatArray]] | None:
        """Return Pearson's χ² of one block beyond what frequencies explain; None where they explain every output.

        Where expected counts are small its variance exceeds twice its mean; it is taken for a multiple of a χ².
        Outputs that no respondent makes, whatever her value, are left to their own shares.
        """
        from scipy.special import chdtrc

        block = self.blocks[place]
        noise, n = block.tally.noise, block.n
        if noise.channel is None or noise.outputs <= noise.cells:
            return None
        frequencies = block.question.answer_frequencies(self.frequencies)
        mean = noise.mean(frequencies)
        contrasts = np.linalg.svd(np.ones((1, noise.cells)))[2][1:].T
        known = noise.score(frequencies, mean, n)[1].between(contrasts)
        made = n * mean > _NEVER
        outputs = int(made.sum())
        freedom = outputs - 1 - int(np.linalg.matrix_rank(known, hermitian=True))
        if freedom < 1:
            return None
        explained = contrasts @ np.linalg.pinv(known, hermitian=True) @ contrasts.T
        expected = n * mean[made]
        variance = 2 * freedom + max(float((n / expected).sum()) - outputs**2 - 2 * outputs + 2, 0.0) / n
        stretch = variance / (2 * freedom)

        def look(counts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
            score, _ = noise.score(frequencies, counts, n)
            pearson = ((counts[:, made] - expected) ** 2 / expected).sum(axis=-1)
            beyond = pearson - ((score @ explained) * score).sum(axis=-1)
            return beyond, chdtrc(freedom / stretch, np.maximum(beyond, 0) / stretch)

        return look


def _rarer(noise: NoiseModel, frequencies: FloatArray) -> float:
    """Return how often the rarest report of some kind, or a report not of it, comes; of sums, what varies as much."""
    if noise.largest == 1:
        mean = noise.mean(frequencies)
        return float(np.minimum(mean, 1 - mean).min())
    # zero where an entry has no bounds: nothing is known of its tails
    return float(np.diagonal(noise.report_covariance(frequencies)).min()) / noise.largest**2
