"""Stacked blocks: truth-or-fake blocks that ask the same question, as arrays, so that thousands cost one operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray
from ldpstats.blocks import Block
from ldpstats.noise import Information, TruthOrFake


@dataclass(frozen=True, slots=True, eq=False)
class TruthOrFakeStack:
    """Truth-or-fake blocks, a row each.

    Parameters
    ----------
    truth : array, shape (blocks, 1)
        The probability p of a true answer.
    fakes : array, shape (blocks, answers)
        The share of the reports that is expected to be a fake of each answer: (1 - p) T.
    counts : array, shape (blocks, answers)
        How often each answer was reported.
    classes : array, shape (cells,)
        The answer that belongs to each cell.

    Examples
    --------
    >>> from ldpstats.noise import MultinomialNoise, Tally
    >>> from ldpstats.questions import Question
    >>> asked, noise = Question(("a",), (2,), (0, 1)), MultinomialNoise(TruthOrFake(0.5, (0.25, 0.75)))
    >>> stack = TruthOrFakeStack.of([Block(asked, Tally(noise, [6, 2], 8))])
    >>> stack.mean(np.array([0.5, 0.5]))
    array([[0.375, 0.625]])
    """

    truth: FloatArray
    fakes: FloatArray
    counts: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> TruthOrFakeStack:
        """Stack blocks with one question, or with any questions that have an answer of its own for every cell."""
        question = blocks[0].question
        channels = [_channel(one) for one in blocks]
        truth = np.array([[channel.truth] for channel in channels])
        fake = np.array([channel.fake for channel in channels])
        counts = np.array([one.tally.counts for one in blocks])
        classes = np.arange(question.cells)
        if question.is_bijection:
            # in the order of the cells, so that blocks which number the answers otherwise may stand together
            answers = np.array([one.question.classes for one in blocks])
            fake, counts = (np.take_along_axis(one, answers, axis=1) for one in (fake, counts))
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
        """Return the score of the cells, up to a multiple of ones, and its information, added up over the blocks."""
        mean = self.mean(frequencies)
        score = (self.truth * (self.counts - self.n * mean) / mean).sum(axis=0)
        information = Information((self.truth**2 * self.n / mean).sum(axis=0))
        return score[self.classes], information.of_cells(self.classes).dense()


def is_truth_or_fake(block: Block) -> bool:
    """Say whether the reports of a block are the truth or a fake."""
    return block.tally.noise.truth_or_fake is not None


def all_truth_or_fake(blocks: Sequence[Block]) -> bool:
    """Say whether all blocks report the cells themselves, each the true one or a fake."""
    return all(is_truth_or_fake(block) and block.question.is_bijection for block in blocks)


def stacked(blocks: Sequence[Block]) -> tuple[list[TruthOrFakeStack], list[Block]]:
    """Stack the truth-or-fake blocks by their questions; return the stacks, and the other blocks as they are."""
    groups: dict[tuple[int, ...], list[Block]] = {}
    others = []
    for block in blocks:
        if is_truth_or_fake(block):
            question = block.question
            groups.setdefault(() if question.is_bijection else question.classes, []).append(block)
        else:
            others.append(block)
    return [TruthOrFakeStack.of(group) for group in groups.values()], others


def _channel(block: Block) -> TruthOrFake:
    channel = block.tally.noise.truth_or_fake
    assert channel is not None  # asked before by `is_truth_or_fake`
    return channel
