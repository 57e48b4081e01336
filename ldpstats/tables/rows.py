"""Rows: the randomized answers of respondents to several attributes, kept so that any can be counted together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError
from ldpstats.estimation.blocks import Block
from ldpstats.noise import ChannelNoise, DenseChannel, Tally
from ldpstats.numbers.arrays import IntArray, at_least
from ldpstats.tables.parts import Parts

LARGEST_CROSSED = 1 << 10
"""The most outputs that the answers to several attributes may have together to be counted as one."""
_PACKED = 1 << 62


@dataclass(frozen=True, eq=False)
class CrossedRows:
    """Answers of respondents to several attributes, each randomized by itself: the different rows, and how often.

    `answers` (rows, attributes) are in lexical order; `copies` says how many sent each, `parts` who these were.
    """

    domain: Domain
    noises: tuple[ChannelNoise, ...]
    answers: IntArray
    copies: IntArray
    parts: Parts
    simulated: int = 0

    def __post_init__(self) -> None:
        proper = self.answers.shape == (self.copies.size, len(self.noises)) and len(self.noises) == len(self.domain)
        if not proper or np.any((self.answers < 0) | (self.answers >= np.array(self.outputs))):
            raise LdpstatsError(
                f"{self.copies.size} rows of shape {self.answers.shape} for {len(self.domain)} attributes",
                f"a row for each number of copies, of answers below {self.outputs}",
            )
        if np.any(self.copies < 0) or self.parts.n not in (0, self.n):
            raise LdpstatsError(
                f"{self.copies.sum():,} rows of {self.parts.n:,} respondents", "one row of a respondent"
            )
        at_least(self.simulated, 0, "simulated", most=self.n)

    @classmethod
    def counted(
        cls,
        domain: Domain,
        noises: Sequence[ChannelNoise],
        answers: NDArray[Any],
        copies: NDArray[Any],
        parts: Parts,
        simulated: int = 0,
    ) -> CrossedRows:
        """Count rows that may come several times."""
        outputs = [noise.outputs for noise in noises]
        rows, places = _different(answers.astype(np.int64), outputs)
        often = np.bincount(places, weights=copies, minlength=len(rows)).astype(np.int64)
        return cls(domain, tuple(noises), rows, often, parts, simulated)

    @cached_property
    def n(self) -> int:
        """Number of respondents."""
        return int(self.copies.sum())

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many different answers there are to every attribute."""
        return tuple(noise.outputs for noise in self.noises)

    def sent(self, attributes: Iterable[str]) -> IntArray:
        """Return every row's answers to some attributes as one number, the last attribute varying fastest."""
        axes = [self.domain.names.index(name) for name in attributes]
        numbers = np.ravel_multi_index(tuple(self.answers[:, axes].T), [self.outputs[axis] for axis in axes])
        return np.asarray(numbers, dtype=np.int64)

    def counts(self, attributes: Sequence[str]) -> NDArray[np.int64]:
        """Return how often every answer to some attributes was given."""
        sent = self.sent(attributes)
        return np.bincount(sent, weights=self.copies, minlength=self.outputs_to(attributes)).astype(np.int64)

    def outputs_to(self, attributes: Iterable[str]) -> int:
        """Return how many different answers there are to some attributes together."""
        return prod(self.outputs[self.domain.names.index(name)] for name in attributes)

    def block(self, attributes: Sequence[str]) -> Block:
        """Count the answers to some attributes together: their channel is the Kronecker product of the attributes'."""
        matrices = [self.noises[self.domain.names.index(name)].matrix() for name in attributes]
        channel = DenseChannel(tuple(map(tuple, reduce(np.kron, matrices).tolist())))
        tally = Tally(channel, self.counts(attributes), self.n, self.simulated)
        return Block(Question.of(self.domain, attributes), tally, tuple(attributes))

    def are_behind(self, block: Block) -> bool:
        """Say whether a block counts these rows' answers to its attributes and nothing else."""
        names = self.numbering(block)
        if block.n != self.n or not set(names) <= set(self.domain.names):
            return False
        plain = Question.of(self.domain, names).reordered(block.question.attributes)
        if plain != block.question or block.noise.outputs != self.outputs_to(names):
            return False
        return np.array_equal(block.tally.counts, self.counts(names))

    @staticmethod
    def numbering(block: Block) -> tuple[str, ...]:
        """Return the attributes of a block in the order in which its outputs are numbered, the last one fastest."""
        asked = block.question.attributes
        return block.answers if set(block.answers) == set(asked) else asked

    @property
    def asked(self) -> tuple[object, ...]:
        """The questions and their noises; rows that agree in these may be added."""
        return self.domain.names, self.domain.shape, self.noises

    def __add__(self, other: CrossedRows) -> CrossedRows:
        if not isinstance(other, CrossedRows):
            return NotImplemented
        if self.asked != other.asked:
            raise LdpstatsError("rows of answers to other questions", "rows that were asked the same")
        return CrossedRows.counted(
            self.domain,
            self.noises,
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.copies, other.copies]),
            Parts.together([self.parts, other.parts]),
            self.simulated + other.simulated,
        )


def merged_rows(known: tuple[CrossedRows, ...], added: tuple[CrossedRows, ...]) -> tuple[CrossedRows, ...]:
    """Add rows of other respondents to the first ones that were asked the same, or append them."""
    rows = list(known)
    for one in added:
        place = next((place for place, other in enumerate(rows) if other.asked == one.asked), len(rows))
        rows[place:] = [rows[place] + one, *rows[place + 1 :]] if place < len(rows) else [one]
    return tuple(rows)


def _different(answers: IntArray, outputs: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the different rows in lexical order, and the index of every row among them."""
    if prod(outputs) < _PACKED:
        packed, places = np.unique(np.ravel_multi_index(tuple(answers.T), outputs), return_inverse=True)
        return np.column_stack(np.unravel_index(packed, outputs)).astype(np.int64), places.ravel()
    rows, places = np.unique(answers, axis=0, return_inverse=True)
    return rows, places.ravel()
