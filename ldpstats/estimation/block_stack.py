"""Stacked blocks: truth-or-fake blocks that ask the same question, as arrays, so that thousands cost one operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation.blocks import Block
from ldpstats.noise import Information
from ldpstats.numbers.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TruthOrFakeStack:
    """Truth-or-fake blocks with one question, a row each."""

    truth: FloatArray  # the probability p of a true answer, shape (blocks, 1)
    fakes: FloatArray  # (1 - p) T, the expected shares of fakes, shape (blocks, answers)
    counts: NDArray[np.int64]  # shape (blocks, answers)
    classes: NDArray[np.int64]  # the answer that belongs to each cell

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> TruthOrFakeStack:
        """Stack blocks with one question, or with any questions that have an answer of its own for every cell."""
        question = blocks[0].question
        channels = [channel for block in blocks if (channel := block.noise.truth_or_fake) is not None]
        truth = np.array([[channel.truth] for channel in channels])
        fake = np.array([channel.fake for channel in channels])
        counts = np.array([block.tally.counts for block in blocks])
        classes = np.arange(question.cells)
        if question.is_bijection:
            # in the order of the cells, so that blocks which number the answers otherwise may stand together
            answers = np.array([block.question.classes for block in blocks])
            fake, counts = (np.take_along_axis(rows, answers, axis=1) for rows in (fake, counts))
        else:
            classes = np.asarray(question.classes)
        return cls(truth, (1 - truth) * fake, counts, classes)

    @property
    def n(self) -> NDArray[np.int64]:
        """The number of reports of every block, shape (blocks, 1)."""
        totals: NDArray[np.int64] = self.counts.sum(axis=1, keepdims=True)
        return totals

    def answers(self, frequencies: FloatArray) -> FloatArray:
        """Add the frequencies of the cells up to those of the answers."""
        return np.bincount(self.classes, weights=frequencies, minlength=self.fakes.shape[1]).astype(float)

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return the distribution of the reports of every block, given the frequencies of the cells."""
        return self.truth * self.answers(frequencies) + self.fakes

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score (up to a multiple of ones) and Fisher information of the cells, summed over blocks."""
        mean = self.mean(frequencies)
        score = (self.truth * (self.counts - self.n * mean) / mean).sum(axis=0)
        information = Information((self.truth**2 * self.n / mean).sum(axis=0))
        return score[self.classes], information.of_cells(self.classes).dense()


def all_truth_or_fake(blocks: Sequence[Block]) -> bool:
    """Say whether all blocks report the cells themselves, each the true one or a fake."""
    return all(block.noise.truth_or_fake is not None and block.question.is_bijection for block in blocks)


def stacked(blocks: Sequence[Block]) -> tuple[list[TruthOrFakeStack], list[Block]]:
    """Stack the truth-or-fake blocks by their questions; return the stacks, and the other blocks as they are."""
    groups: dict[tuple[int, ...], list[Block]] = {}
    others = []
    for block in blocks:
        question = block.question
        if block.noise.truth_or_fake is None:
            others.append(block)
        else:
            groups.setdefault(() if question.is_bijection else question.classes, []).append(block)
    return [TruthOrFakeStack.of(group) for group in groups.values()], others


def above_zero(frequencies: FloatArray, n: int | IntArray) -> FloatArray:
    """Cut frequencies at half a respondent and make them sum to one.

    A block that never fakes an answer would have no variance there at a frequency of zero, hence infinite weight; at
    half a respondent it weighs much, but other blocks still count.
    """
    cut = np.maximum(frequencies, 1 / (2 * n))
    positive: FloatArray = cut / cut.sum(axis=-1, keepdims=True)
    return positive


def total_score(blocks: Sequence[Block], frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the score of the cells, up to a multiple of ones, and its information over all blocks."""
    stacks, others = stacked(blocks)
    score, information = np.zeros_like(frequencies), np.zeros((frequencies.size, frequencies.size))
    for stack in stacks:
        more, added = stack.score(frequencies)
        score, information = score + more, information + added
    for block in others:
        more, low_rank = block.score(frequencies, block.tally.counts)
        score, information = score + more, information + low_rank.dense()
    return score, information
