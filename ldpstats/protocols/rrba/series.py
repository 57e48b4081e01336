"""Series: the blocks of one unit of groups, one after another, each with the fakes that its respondents were sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import FakeResponse
from ldpstats.noise import NoiseModel, Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import read_numerator
from ldpstats.protocols.rrba.rules import Rules, adapted, estimated_truths

Randomizers: TypeAlias = tuple[FakeResponse, ...]
"""What randomizes the answers of one respondent, one for each group of her unit."""
_COUNTED = ("counts", "n", "simulated", "late")


@dataclass
class UnitBlock:
    """Reports about all groups of a unit, of respondents who were sent the same fakes."""

    randomizers: Randomizers
    counts: list[list[int]]  # for each group, the reports by cell
    n: int = 0  # respondents
    simulated: int = 0  # of them, those who drew from a seed
    # those of the counts that came after the next block had begun; empty if none did
    late: list[list[int]] = field(default_factory=list)

    @classmethod
    def empty(cls, randomizers: Randomizers) -> UnitBlock:
        """Return a block without reports."""
        return cls(randomizers, _none_of(randomizers))

    @cached_property
    def noises(self) -> tuple[NoiseModel, ...]:
        """Noise model of the answers about each group."""
        return tuple(randomizer.noise for randomizer in self.randomizers)

    def take(self, cells: Sequence[int], *, simulated: bool, late: bool) -> None:
        """Count one respondent's report."""
        if late and not self.late:
            self.late = _none_of(self.randomizers)
        for kind in (self.counts, self.late) if late else (self.counts,):
            for counts, cell in zip(kind, cells, strict=True):
                counts[cell] += 1
        self.n += 1
        self.simulated += simulated

    def truths(self) -> list[FloatArray]:
        """Estimate how many told the truth about each cell of each group."""
        pairs = zip(self.randomizers, self.counts, strict=True)
        return [estimated_truths(randomizer, counts, self.n) for randomizer, counts in pairs]

    def as_it_closed(self) -> UnitBlock:
        """Return the block without the reports that came late."""
        if not self.late:
            return self
        counts = [
            [count - late_count for count, late_count in zip(*both, strict=True)]
            for both in zip(self.counts, self.late, strict=True)
        ]
        return UnitBlock(self.randomizers, counts, self.n - sum(self.late[0]))

    def refuse_misfits(self, questions: Sequence[Question]) -> None:
        """Refuse a saved block whose counts do not fit the groups, or do not add up."""
        cells, late = [question.answers for question in questions], self.late or _none_of(self.randomizers)
        fits = cells == [randomizer.k for randomizer in self.randomizers] and isinstance(self.late, list)
        fits &= all(cells == [len(counts) for counts in kind] for kind in (self.counts, late))
        pairs = zip(chain(*self.counts), chain(*late), strict=True) if fits else ()
        whole = _whole(self.n, self.simulated) and all(
            _whole(count, of_late) and of_late <= count for count, of_late in pairs
        )
        adds_up = whole and all(sum(counts) == self.n for counts in self.counts) and self.simulated <= self.n
        if not (fits and adds_up and len({sum(counts) for counts in late}) == 1):
            raise LdpstatsError(
                f"a block of {shortened(self.n)} reports with the counts {shortened(self.counts)}",
                "counts that add up",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values."""
        randomizers = plain_randomizers(self.randomizers)
        return {"randomizers": randomizers, **{name: getattr(self, name) for name in _COUNTED}}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> UnitBlock:
        """Read what `to_dict` wrote; whether its numbers can be is checked by `Series.restore`."""
        if set(plain) != {"randomizers", *_COUNTED}:
            raise LdpstatsError(f"a block with {one_line(list(plain))}", one_line(["randomizers", *_COUNTED]))
        return cls(read_randomizers(plain["randomizers"]), **{name: plain[name] for name in _COUNTED})


@dataclass(slots=True)
class Series:
    """Blocks of one unit of groups; only the last is open, and when it is full the next one begins."""

    questions: tuple[Question, ...]
    rules: Rules
    block_size: int  # a late report still counts in the block that it answers
    from_all: bool  # fakes are made of all blocks before, else of the last one alone
    blocks: list[UnitBlock] = field(init=False)
    _earlier: list[FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.blocks, self._earlier = [UnitBlock.empty(self._first())], self._nothing()

    @property
    def is_full(self) -> bool:
        """Whether the open block has all its reports."""
        return self.blocks[-1].n >= self.block_size

    def take(self, position: int, cells: Sequence[int], *, simulated: bool) -> None:
        """Count one respondent's report in the block that she was asked in."""
        block, late = self.blocks[position], position < len(self.blocks) - 1
        block.take(cells, simulated=simulated, late=late)
        if self.from_all and late:
            for group, (randomizer, cell) in enumerate(zip(block.randomizers, cells, strict=True)):
                alone = np.eye(1, randomizer.k, cell, dtype=int)[0]
                self._earlier[group] = self._earlier[group] + estimated_truths(randomizer, alone, 1)

    def undoing(self, position: int, cells: Sequence[int]) -> Callable[[], None]:
        """Return a function that takes a report about these cells back, however far its count and all after it came."""
        block, blocks, earlier = self.blocks[position], len(self.blocks), self._earlier[:]
        n, simulated, late = block.n, block.simulated, block.late
        kinds = [block.counts, *([late] if late else [])]
        before = [(counts, cell, counts[cell]) for kind in kinds for counts, cell in zip(kind, cells, strict=True)]

        def undo() -> None:
            del self.blocks[blocks:]
            self._earlier = earlier
            block.n, block.simulated, block.late = n, simulated, late
            for counts, cell, count in before:
                counts[cell] = count

        return undo

    def take_all(self, counts: Sequence[NDArray[np.int64]], *, simulated: int) -> None:
        """Count reports by cell, no more than the open block still needs; so many of the respondents are simulated."""
        block, more = self.blocks[-1], int(counts[0].sum())
        block.counts = [np.add(old, new).tolist() for old, new in zip(block.counts, counts, strict=True)]
        block.n += more
        block.simulated += simulated
        if self.is_full:
            self.open_next()

    def following(self) -> Randomizers:
        """Return the randomizers of the next block, if it began now."""
        return self._made_of(self._shown(self.blocks[-1]))

    def open_next(self, following: Randomizers | None = None) -> None:
        """Begin a block, with the `following` randomizers if they were made already."""
        shown = self._shown(self.blocks[-1])
        self.blocks.append(UnitBlock.empty(following or self._made_of(shown)))
        if self.from_all:
            self._earlier = shown

    def restore(self, blocks: list[UnitBlock]) -> None:
        """Replace these blocks by saved ones, if the protocol can have made them."""
        if not blocks:
            raise LdpstatsError("a unit without blocks", "at least its open one")
        for block in blocks:
            block.refuse_misfits(self.questions)
            if not all(map(self.rules.allow, block.randomizers)):
                raise LdpstatsError(
                    "a block with other chances of the truth or rarer fakes than the protocol allows",
                    "blocks as the protocol makes them",
                )
        if blocks[-1].late:
            raise LdpstatsError("an open block with late reports", "late reports in closed blocks only")
        self._refuse_other_fakes(blocks)
        self.blocks, self._earlier = blocks, self._nothing()
        for block in blocks[:-1] if self.from_all else ():
            self._earlier = self._shown(block)

    def _refuse_other_fakes(self, blocks: list[UnitBlock]) -> None:
        """Refuse blocks that began before the last one was full, or with fakes that do not follow from the reports.

        Where fakes follow from all reports so far, they depend on when late ones came, which no saved state holds.
        """
        made, self._earlier = self._first(), self._nothing()
        known = not self.from_all or not any(block.late for block in blocks)
        for number, block in enumerate(blocks):
            if known and block.randomizers != made:
                raise LdpstatsError(f"block {number} with other fakes than follow from the reports", "its own fakes")
            closed = block.as_it_closed()
            if block is blocks[-1]:
                return
            if closed.n < self.block_size:
                raise LdpstatsError(
                    f"block {number}, closed with {closed.n} reports", f"{self.block_size} before the next one begins"
                )
            shown = self._shown(closed)
            made = self._made_of(shown)
            self._earlier = shown if self.from_all else self._earlier

    def _first(self) -> Randomizers:
        return tuple(self.rules.first(question.answers) for question in self.questions)

    def _nothing(self) -> list[FloatArray]:
        return [np.zeros(question.answers) for question in self.questions]

    def _shown(self, block: UnitBlock) -> list[FloatArray]:
        """Estimate the truths of a block, added to those of all before it where fakes follow from all."""
        shown = block.truths()
        return [truths + more for truths, more in zip(self._earlier, shown, strict=True)] if self.from_all else shown

    def _made_of(self, shown: list[FloatArray]) -> Randomizers:
        return tuple(self.rules.randomizer(adapted(truths)) for truths in shown)

    def table_blocks(self, position: int) -> list[Block]:
        """Return what a table of one group is made of: all blocks with reports (an empty one if none has any)."""
        answered = [block for block in self.blocks if block.n] or self.blocks[:1]
        question = self.questions[position]
        return [
            Block(question, Tally(block.noises[position], np.array(block.counts[position]), block.n, block.simulated))
            for block in answered
        ]


def plain_randomizers(randomizers: Randomizers) -> list[list[Any]]:
    """Return randomizers as plain values: probabilities as texts, which every reader of JSON keeps exactly."""
    return [[str(randomizer.truth), [str(fake) for fake in randomizer.fake]] for randomizer in randomizers]


def read_randomizers(plain: list[list[Any]]) -> Randomizers:
    """Read what `plain_randomizers` wrote."""
    return tuple(FakeResponse(read_numerator(truth), tuple(map(read_numerator, fake))) for truth, fake in plain)


def _none_of(randomizers: Randomizers) -> list[list[int]]:
    return [[0] * randomizer.k for randomizer in randomizers]


def _whole(*numbers: object) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)
