"""Evidence: the score and information that all blocks of a table give about its cells, for many tables at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.blocks import Block
from ldpstats.noise import Information, NoiseModel


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Tallies of the same blocks for one or many tables.

    Parameters
    ----------
    blocks : tuple of Block
        What was asked and how it was randomized; their own tallies are not used.
    counts : tuple of array, shape (tables, outputs)
        A stack of tallies for every block.
    """

    blocks: tuple[Block, ...]
    counts: tuple[NDArray[np.int64], ...]

    @classmethod
    def observed(cls, blocks: Sequence[Block]) -> Evidence:
        """Return the one table that was collected."""
        return cls(tuple(blocks), tuple(block.tally.counts[None, :] for block in blocks))

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> Evidence:
        """Draw `size` tables of as many respondents whose cells have these frequencies."""
        return Evidence(self.blocks, tuple(block.draw(frequencies, size, rng) for block in self.blocks))

    def subset(self, tables: NDArray[np.intp]) -> Evidence:
        """Return some of the tables."""
        return Evidence(self.blocks, tuple(counts[tables] for counts in self.counts))

    def __len__(self) -> int:
        return len(self.counts[0])

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score of the cell frequencies (up to a multiple of ones) and its information."""
        parts = [block.score(frequencies, counts) for block, counts in zip(self.blocks, self.counts, strict=True)]
        score, information = parts[0]
        for more, added in parts[1:]:
            score, information = score + more, information + added
        return score, information

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return each table's log-likelihood, for blocks that have one."""
        total = np.zeros(len(self))
        for block, counts in zip(self.blocks, self.counts, strict=True):
            mean = block.noise.mean(block.question.answer_frequencies(frequencies))
            total = total + (counts * np.log(np.where(counts > 0, mean, 1))).sum(axis=-1)
        return total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies give every block a proper law."""
        proper: BoolArray = np.logical_and.reduce([block.supports(frequencies) for block in self.blocks])
        return proper

    def rarest_expected_report(self, frequencies: FloatArray) -> float:
        """Return the smallest expected count of a report, or of its absence, if the cells have these frequencies."""
        answers = ((block, block.question.answer_frequencies(frequencies)) for block in self.blocks)
        return min(_least_count(block.noise, asked, block.n) for block, asked in answers)


def _least_count(noise: NoiseModel, frequencies: FloatArray, n: int) -> float:
    """Return the least expected count; where counts have no bounds, the Poisson count that is as far from normal.

    As far by its excess kurtosis: 1 / λ for a Poisson count, and at most 3 for unbounded noise, which is that of
    Laplace noise. With the mean nf of a count and the variance s of its noise, λ = (nf + s)² / (nf + 3 s²).
    """
    mean = noise.mean(frequencies)
    if np.isfinite(noise.largest):
        return n * float(np.minimum(mean, noise.largest - mean).min())
    spread = n * (np.diagonal(noise.report_covariance(frequencies)) - mean * (1 - mean))
    return float(((n * mean + spread) ** 2 / (n * mean + 3 * spread**2)).min())


def identified_contrasts(evidence: Evidence, frequencies: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the contrasts of cells that the blocks tell anything about.

    Which contrasts those are depends on the blocks' designs only, not on the frequencies.
    """
    _, information = evidence.score(frequencies[None, :])
    cells = frequencies.size
    # contrasts first: where the total is known almost exactly, centring would leave rounding for one direction more
    contrasts = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    values, vectors = np.linalg.eigh(information.between(contrasts)[0])
    found: FloatArray = contrasts @ vectors[:, values > values.max() * cells * 1e-12]
    return found
