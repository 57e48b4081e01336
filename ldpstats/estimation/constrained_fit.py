"""Component tests at the proper frequencies nearest to a tally: contradictory outputs, and the distance from these."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation.block_stack import stacked
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.component_tests import AsymptoticTest, Counts
from ldpstats.estimation.least_squares import above_zero, total_score
from ldpstats.estimation.nearest import nearest_in_information
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray

_DRAWS, _BATCH = 4999, 250
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
    """The proper frequencies nearest to the tallies of each table, at which asymptotic tests are evaluated.

    Several tables have a single block with reports each, and were asked alike. Score and information are of all
    reports.
    """

    tables: Sequence[Sequence[Block]]
    frequencies: FloatArray  # shape (tables, cells), at least half a respondent each, so that every law has a density
    score: FloatArray  # shape (tables, cells)
    information: FloatArray  # shape (tables, cells, cells)
    free: BoolArray  # the cells that are not held at zero, shape (tables, cells)

    @classmethod
    def of(cls, tables: Sequence[Sequence[Block]]) -> ConstrainedFit:
        """Start from equal frequencies, and take a few steps of Fisher scoring within the simplex."""
        n, cells = np.array([[sum(block.n for block in blocks)] for blocks in tables]), tables[0][0].question.cells
        frequencies, free = np.full((len(tables), cells), 1 / cells), None
        score, information = _scores(tables, frequencies)
        for _ in range(_STEPS):
            nearest = nearest_in_information(score, _alone(information), _alone(frequencies), free)
            frequencies, free = above_zero(nearest.frequencies, n), nearest.free
            score, information = _scores(tables, frequencies)
        return cls(tables, frequencies, score, information, nearest.free)

    def tests(self) -> list[AsymptoticTest]:
        """Return the component tests that need this fit."""
        directions = [self._contradictions(place) for place in range(len(self.tables[0]))]
        known = [(place, of) for place, of in enumerate(directions) if of is not None]

        def contradictions(counts: Counts) -> tuple[FloatArray, FloatArray]:
            found = [of(counts[place]) for place, of in known]
            least = np.argmin([pvalues for _, pvalues in found], axis=0)[None, :]
            statistics, pvalues = (np.take_along_axis(np.array(one), least, 0)[0] for one in zip(*found, strict=True))
            return statistics, np.minimum(len(known) * pvalues, 1.0)

        distance = AsymptoticTest("distance from proper frequencies", lambda *_: _TOO_FAR, self._distance)
        return (
            [AsymptoticTest("outputs that must fit together", lambda *_: _AT_ODDS, contradictions), distance]
            if known
            else [distance]
        )

    @property
    def few(self) -> BoolArray:
        """Tables for which fewer than 20 reports of some kind, or not of it, are expected: asymptotics are in doubt."""
        blocks = self.tables[0]
        stacks, others = stacked(blocks) if len(self.tables) == 1 else ([], blocks)
        rarest = [(stack.n * stack.mean(self.frequencies[0])).sum(axis=0).min(keepdims=True) for stack in stacks]
        for block in others:
            answers, sizes = block.question.answer_frequencies(self.frequencies), self._sizes(blocks.index(block))
            rarest.append(sizes[:, 0] * _rarer(block.noise, answers))
        scarce: BoolArray = np.min(rarest, axis=0) < _FEW
        return scarce

    def drawn(self) -> Iterator[Counts]:
        """Yield batches of tallies drawn at one table's fitted frequencies; none if that is much work."""
        (blocks,), (frequencies,) = self.tables, self.frequencies
        size = min(_DRAWS, _MOST_DRAWN // sum(block.noise.outputs for block in blocks))
        rng = np.random.default_rng(zlib.crc32(b"".join(block.tally.counts.tobytes() for block in blocks)))
        for drawn in range(0, size if size >= _FEWEST_DRAWS else 0, _BATCH):
            yield [block.draw(frequencies, min(_BATCH, size - drawn), rng) for block in blocks]

    def _sizes(self, place: int) -> NDArray[np.int64]:
        return np.array([[blocks[place].n] for blocks in self.tables])

    def _distance(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import chdtrc

        score, free = self.score, self.free
        if len(counts[0]) > len(self.tables):
            # not the collected tallies, of which there may be thousands
            parts = zip(self.tables[0], counts, strict=True)
            score = np.sum([block.score(self.frequencies[0], tallies)[0] for block, tallies in parts], axis=0)
            free = np.ones(score.shape, dtype=np.bool_)
        nearest = nearest_in_information(score, _alone(self.information), _alone(self.frequencies), free)
        tails = chdtrc(np.maximum(nearest.held, 1), np.maximum(nearest.distance, 0))
        return nearest.distance, np.where(nearest.held > 0, tails, 1.0)

    def _contradictions(self, place: int) -> Callable[[NDArray[Any]], tuple[FloatArray, FloatArray]] | None:
        """Return Pearson's χ² of one block beyond what frequencies explain; None where they explain every output.

        Where expected counts are small its variance exceeds twice its mean; it is taken for a multiple of a χ². Outputs
        that no respondent makes, whatever her value, are left to their own shares.
        """
        from scipy.linalg import helmert
        from scipy.special import chdtrc

        noise, n = self.tables[0][place].noise, self._sizes(place)
        if noise.channel is None or noise.outputs <= noise.cells:
            return None
        frequencies = self.tables[0][place].question.answer_frequencies(self.frequencies)
        mean, contrasts = noise.mean(frequencies), helmert(noise.cells).T
        known = n[..., None] * noise.score(frequencies, mean, 1)[1].between(contrasts)
        made = n * mean > _NEVER
        outputs = made.sum(axis=-1)
        freedom = outputs - 1 - np.linalg.matrix_rank(known, hermitian=True)
        if (freedom < 1).all():
            return None
        explained = contrasts @ np.linalg.pinv(known, hermitian=True) @ contrasts.T
        expected = np.where(made, n * mean, np.inf)
        excess = (n / expected).sum(axis=-1) - outputs**2 - 2 * outputs + 2
        freedom = np.where(freedom < 1, np.nan, freedom)
        stretch = 1 + np.maximum(excess, 0) / n[:, 0] / (2 * freedom)

        def look(counts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
            score = n * noise.score(frequencies, counts / n, 1)[0]
            pearson = (np.where(made, counts - n * mean, 0) ** 2 / expected).sum(axis=-1)
            beyond = pearson - ((score[:, None, :] @ explained)[:, 0] * score).sum(axis=-1)
            return beyond, chdtrc(freedom / stretch, np.maximum(beyond, 0) / stretch)

        return look


def _scores(tables: Sequence[Sequence[Block]], frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the score of each table's cells, up to a multiple of ones, and its information over all blocks."""
    if len(tables) == 1:
        score, information = total_score(tables[0], frequencies[0])
        return score[None], information[None]
    blocks = [block for (block,) in tables]
    n = np.array([[block.n] for block in blocks])
    shares = np.array([block.tally.counts for block in blocks]) / n
    # of as many respondents as the first one has
    score, low_rank = blocks[0].score(frequencies, blocks[0].n * shares)
    return n / blocks[0].n * score, (n / blocks[0].n)[..., None] * low_rank.dense()


def _alone(arrays: FloatArray) -> FloatArray:
    """Drop the axis of tables if there is but one."""
    return arrays[0] if len(arrays) == 1 else arrays


def _rarer(noise: NoiseModel, frequencies: FloatArray) -> FloatArray:
    """Return the probability of the rarest kind of report, or of all but the commonest if that is less.

    Of sums it is the least variance over the squared bound; zero without bounds.
    """
    if noise.largest == 1:
        mean = noise.mean(frequencies)
        return np.asarray(np.minimum(mean, 1 - mean).min(axis=-1))
    # zero where an entry has no bounds: nothing is known of its tails
    variances = np.diagonal(noise.report_covariance(frequencies), axis1=-2, axis2=-1)
    return np.asarray(variances.min(axis=-1) / noise.largest**2)
