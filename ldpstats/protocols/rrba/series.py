"""Series: the blocks of one unit of groups, one after another, each with the fakes that its respondents were sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray
from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import FakeResponse
from ldpstats.noise import MultinomialNoise, Tally
from ldpstats.protocols.rrba.rules import Rules, adapted, told
from ldpstats.questions import Question

Randomizers: TypeAlias = tuple[FakeResponse, ...]
"""What randomizes the answers of one respondent, one for each group of her unit."""


@dataclass
class UnitBlock:
    """Reports about all groups of a unit, of respondents who were sent the same fakes."""

    randomizers: Randomizers
    counts: list[list[int]]
    n: int = 0

    @classmethod
    def empty(cls, randomizers: Randomizers) -> UnitBlock:
        """Return a block without reports."""
        return cls(randomizers, [[0] * one.k for one in randomizers])

    @cached_property
    def noises(self) -> tuple[MultinomialNoise, ...]:
        """The noise that each group's answers are seen through."""
        return tuple(one.noise for one in self.randomizers)

    def told(self) -> list[FloatArray]:
        """Return how many told the truth about each cell of each group."""
        pairs = zip(self.randomizers, self.counts, strict=True)
        return [told(randomizer, counts, self.n) for randomizer, counts in pairs]

    def refuse_misfits(self, questions: Sequence[Question]) -> None:
        """Refuse a saved block whose numbers cannot be."""
        cells = [question.answers for question in questions]
        fits = cells == [one.k for one in self.randomizers] == [len(counts) for counts in self.counts]
        whole = all(type(one) is int and one >= 0 for counts in self.counts for one in (*counts, self.n))
        if not (fits and whole and all(sum(counts) == self.n for counts in self.counts)):
            raise LdpstatsError(f"a block of {self.n!r} reports with the counts {self.counts!r}", "counts that add up")


@dataclass(slots=True)
class Series:
    """The blocks of one unit; the last of them is open, and opens the next one when it is full.

    Parameters
    ----------
    questions : tuple of Question
        The unit's groups.
    rules : Rules
        How fakes are made.
    block_size : int
        The reports that fill a block. One that is late still counts in the block that it answers.
    from_all : bool
        Whether fakes are made of all the blocks before, or of the last one alone.
    """

    questions: tuple[Question, ...]
    rules: Rules
    block_size: int
    from_all: bool
    blocks: list[UnitBlock] = field(init=False)
    simulated: bool = field(default=False, init=False)
    _earlier: list[FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first = tuple(self.rules.first(question.answers) for question in self.questions)
        self.restore([UnitBlock.empty(first)], simulated=False)

    @property
    def is_full(self) -> bool:
        """Whether the open block has all its reports."""
        return self.blocks[-1].n >= self.block_size

    def take(self, position: int, cells: Sequence[int], *, simulated: bool) -> None:
        """Count one respondent's report in the block that she was asked in."""
        block = self.blocks[position]
        for counts, cell in zip(block.counts, cells, strict=True):
            counts[cell] += 1
        block.n += 1
        self.simulated |= simulated
        if self.from_all and position < len(self.blocks) - 1:
            for place, (randomizer, cell) in enumerate(zip(block.randomizers, cells, strict=True)):
                alone = np.eye(1, randomizer.k, cell, dtype=int)[0]
                self._earlier[place] = self._earlier[place] + told(randomizer, alone, 1)

    def take_all(self, counts: Sequence[NDArray[np.int64]], *, simulated: bool) -> None:
        """Count the reports of several respondents, no more than the open block still needs."""
        block = self.blocks[-1]
        block.counts = [np.add(old, new).tolist() for old, new in zip(block.counts, counts, strict=True)]
        block.n += int(counts[0].sum())
        self.simulated |= simulated
        if self.is_full:
            self.open_next()

    def open_next(self, randomizers: Randomizers | None = None) -> None:
        """Begin a block with new fakes, or with those that are known to have been made."""
        shown = self._shown()
        block = UnitBlock.empty(randomizers or self._made_of(shown))
        if randomizers:
            self._refuse_misfit(block)
        if self.from_all:
            self._earlier = shown
        self.blocks.append(block)

    def following(self) -> Randomizers:
        """Return what the next block would be sent, if it began now."""
        return self._made_of(self._shown())

    def _shown(self) -> list[FloatArray]:
        shown = self.blocks[-1].told()
        return [one + more for one, more in zip(self._earlier, shown, strict=True)] if self.from_all else shown

    def _made_of(self, shown: list[FloatArray]) -> Randomizers:
        return tuple(self.rules.randomizer(adapted(truths)) for truths in shown)

    def restore(self, blocks: list[UnitBlock], *, simulated: bool) -> None:
        """Take saved blocks in the place of these."""
        if not blocks:
            raise LdpstatsError("a unit without blocks", "at least its open one")
        for block in blocks:
            self._refuse_misfit(block)
        self.blocks, self.simulated = blocks, simulated
        self._earlier = [np.zeros(question.answers) for question in self.questions]
        for block in blocks[:-1]:
            self._earlier = [one + more for one, more in zip(self._earlier, block.told(), strict=True)]

    def _refuse_misfit(self, block: UnitBlock) -> None:
        """Refuse a block whose numbers cannot be, or that promised less than these rules do."""
        block.refuse_misfits(self.questions)
        if not all(map(self.rules.allow, block.randomizers)):
            raise LdpstatsError(
                "a block with more truth or rarer fakes than the protocol allows", "blocks as the protocol makes them"
            )

    def tallies(self, place: int) -> list[Block]:
        """Return the reports about one group, a block for each that has any (one without reports if none has)."""
        answered = [block for block in self.blocks if block.n] or self.blocks[:1]
        question = self.questions[place]
        return [
            Block(question, Tally(block.noises[place], np.array(block.counts[place]), block.n, self.simulated))
            for block in answered
        ]
