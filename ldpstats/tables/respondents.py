"""Respondents: whose reports were counted, each once, and rows of the answers to several questions."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.estimation.blocks import Block
from ldpstats.noise import ChannelNoise, DenseChannel, Tally
from ldpstats.numbers.arrays import BoolArray, IntArray, at_least

_DIGITS = 32
LARGEST_PLACE = 1 << 62
"""Behind the last respondent that a collection can number."""


@dataclass(frozen=True, eq=False)
class RespondentSet:
    """Respondents of collections, as intervals of their places among those who were asked the same.

    Intervals are sorted and disjoint rows of five: the two words of a collection's identity, the number of the unit
    that was asked, the first place, and the one behind the last.
    """

    intervals: NDArray[np.uint64]

    def __post_init__(self) -> None:
        rows = self.intervals
        if (
            rows.ndim != 2
            or rows.shape[1] != 5
            or np.any(rows[:, 3] >= rows[:, 4])
            or np.any(rows[:, 4] > LARGEST_PLACE)
        ):
            raise LdpstatsError(f"parts of shape {rows.shape}", "rows of five numbers, each an interval of places")
        twice = _same_collection(rows) & (rows[1:, 3] < rows[:-1, 4])
        if np.any(twice) or not np.array_equal(rows, _sorted(rows)):
            raise LdpstatsError("parts with intervals out of order, or with some respondents twice", "each once")

    @classmethod
    def none(cls) -> RespondentSet:
        """Return nobody."""
        return cls(np.empty((0, 5), dtype=np.uint64))

    @classmethod
    def whole(cls, identity: str, unit: int, n: int) -> RespondentSet:
        """Return all n respondents of a collection who were asked one unit."""
        return cls.none() if n == 0 else cls(np.array([[*_words([identity])[0], unit, 0, n]], dtype=np.uint64))

    @classmethod
    def numbered(cls, identities: pd.Series[str] | str, unit: int, numbers: IntArray) -> RespondentSet:
        """Return the respondents with these numbers in these collections, or in one, in any order."""
        names: Iterable[Any] = [identities]
        codes = np.zeros(len(numbers), dtype=np.int64)
        if not isinstance(identities, str):
            codes, names = pd.factorize(identities)
        order = np.lexsort((numbers, codes))
        collections, places = codes[order], numbers[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = (np.diff(collections) != 0) | (np.diff(places) != 1)
        ends = np.roll(begins, -1)
        words = _words(list(names))[collections[begins]]
        rows = (words[:, 0], words[:, 1], np.full(len(words), unit), places[begins], places[ends] + 1)
        return cls(_sorted(np.column_stack([column.astype(np.uint64) for column in rows])))

    @classmethod
    def together(cls, parts: Iterable[RespondentSet]) -> RespondentSet:
        """Return the respondents of all parts; refuse parts that share some."""
        rows = _sorted(np.concatenate([cls.none().intervals, *(part.intervals for part in parts)]))
        same = _same_collection(rows)
        twice = np.flatnonzero(same & (rows[1:, 3] < rows[:-1, 4]))
        if twice.size:
            collections = np.unique(rows[twice, :2], axis=0)
            raise LdpstatsError(
                f"reports of the same respondents twice ({len(collections)} collections, among them "
                f"{_identity(collections[0])})",
                "reports of different respondents",
                "They are counted already: leave one of the two out.",
            )
        joined = same & (rows[1:, 3] == rows[:-1, 4])
        begins, ends = np.append(True, ~joined), np.append(~joined, True)
        if not len(rows):
            return cls(rows)
        return cls(np.column_stack([rows[begins, :4], rows[ends, 4]]))

    @classmethod
    def either(cls, parts: Iterable[RespondentSet]) -> RespondentSet:
        """Return the respondents of any of the parts, which may share some.

        >>> first, second = (RespondentSet.numbered("0" * 32, 3, np.arange(*ends)) for ends in ((0, 500), (400, 700)))
        >>> RespondentSet.either([first, second]).n, first.common(second), RespondentSet.different([first, second])
        (700, 100, 700)
        """
        rows = _sorted(np.concatenate([cls.none().intervals, *(part.intervals for part in parts)]))
        joined: list[NDArray[np.uint64]] = []
        for row, same in zip(rows, np.append(False, _same_collection(rows)), strict=False):
            if same and row[3] <= joined[-1][4]:
                joined[-1][4] = max(joined[-1][4], row[4])
            else:
                joined.append(row.copy())
        return cls(np.array(joined, dtype=np.uint64).reshape(len(joined), 5))

    def common(self, other: RespondentSet) -> int:
        """Return how many respondents are in both."""
        return self.n if self == other else _covered([self, other], 2)

    @classmethod
    def different(cls, parts: Iterable[RespondentSet]) -> int:
        """Return how many different respondents there are in all these parts."""
        return _covered(list(parts), 1)

    def asked_any(self, units: Iterable[int]) -> RespondentSet:
        """Return those who were asked one of these units."""
        return RespondentSet(self.intervals[np.isin(self.intervals[:, 2], [*units])])

    @property
    def n(self) -> int:
        """How many respondents these are."""
        return int((self.intervals[:, 4] - self.intervals[:, 3]).sum())

    @property
    def collections(self) -> tuple[str, ...]:
        """The identities of their collections, in order."""
        return tuple(map(_identity, np.unique(self.intervals[:, :2], axis=0)))

    @cached_property
    def asked(self) -> list[tuple[int, ...]]:
        """Which units of which collections they are of, as the two words of the identity and the unit."""
        begins = np.append(True, ~_same_collection(self.intervals))[: len(self.intervals)]
        return list(map(tuple, self.intervals[begins, :3].tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RespondentSet) and np.array_equal(self.intervals, other.intervals)

    def __hash__(self) -> int:
        return hash(self.intervals.tobytes())

    def __repr__(self) -> str:
        return f"<RespondentSet: {self.n:,} respondents of {len(self.collections):,} collections>"


def new_identity(source: np.random.Generator | None, counted: Iterable[NDArray[Any]]) -> str:
    """Return 32 digits that no other collection has.

    They are secure random ones; of a simulation they follow from what was counted and from where the generator stands,
    so that the same seed and respondents give the same collection, and any others another one.
    """
    if source is None:
        return secrets.token_hex(_DIGITS // 2)
    state = json.dumps(source.bit_generator.state, default=lambda value: np.asarray(value).tolist(), sort_keys=True)
    digest = hashlib.blake2b(state.encode(), digest_size=_DIGITS // 2)
    for array in counted:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def are_identities(texts: pd.Series[Any]) -> BoolArray:
    """Say which texts are identities of collections."""
    known = texts.astype(str).str.fullmatch(f"[0-9a-f]{{{_DIGITS}}}")
    return np.asarray(known, dtype=np.bool_)


def _words(identities: Sequence[object]) -> NDArray[np.uint64]:
    """Return the two words of every identity of a collection."""
    wrong = [name for name in identities if not isinstance(name, str) or len(name) != _DIGITS or not name.isascii()]
    if wrong:
        raise ReportError(f"the collection {shortened(wrong[0])}", f"{_DIGITS} hexadecimal digits")
    joined = bytes.fromhex("".join(map(str, identities)))
    return np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def _identity(words: NDArray[np.uint64]) -> str:
    return "".join(f"{int(word):016x}" for word in words)


def _sorted(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return rows[np.lexsort(rows.T[::-1])]


def _same_collection(rows: NDArray[np.uint64]) -> BoolArray:
    """Say of each row but the first whether it has the collection and unit of the row before."""
    same: BoolArray = np.all(rows[1:, :3] == rows[:-1, :3], axis=1)
    return same


def _covered(parts: Sequence[RespondentSet], times: int) -> int:
    """Return how many respondents are in so many of the parts, or in more."""
    rows = _sorted(np.concatenate([RespondentSet.none().intervals, *(part.intervals for part in parts)]))
    unit = np.append(0, np.cumsum(~_same_collection(rows)))[: len(rows)]
    units, places = np.tile(unit, 2), np.concatenate([rows[:, 3], rows[:, 4]])
    change = np.repeat([1, -1], len(rows))
    order = np.lexsort((places, units))
    within = np.cumsum(change[order])[:-1] >= times
    return int(np.diff(places[order])[within].sum())


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
    parts: RespondentSet
    simulated: int = 0

    def __post_init__(self) -> None:
        proper = self.answers.shape == (self.copies.size, len(self.noises)) and len(self.noises) == len(self.domain)
        if not proper or np.any((self.answers < 0) | (self.answers >= np.array(self.outputs))):
            raise LdpstatsError(
                f"{self.copies.size} rows of shape {self.answers.shape} for {len(self.domain)} attributes",
                f"a row for each number of copies, of answers below {self.outputs}",
            )
        # in floating point, where no sum begins anew
        if np.any(self.copies < 0) or self.copies.sum(dtype=float) > 2**53 or self.parts.n not in (0, self.n):
            raise LdpstatsError(
                f"{self.copies.sum(dtype=float):,.0f} rows of {self.parts.n:,} respondents", "one row of a respondent"
            )
        at_least(self.simulated, 0, "simulated", most=self.n)

    @classmethod
    def counted(
        cls,
        domain: Domain,
        noises: Sequence[ChannelNoise],
        answers: NDArray[Any],
        copies: NDArray[Any],
        parts: RespondentSet,
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
        channel = DenseChannel(reduce(np.kron, matrices))
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
            RespondentSet.together([self.parts, other.parts]),
            self.simulated + other.simulated,
        )


def merged_rows(known: tuple[CrossedRows, ...], added: tuple[CrossedRows, ...]) -> tuple[CrossedRows, ...]:
    """Add rows of other respondents to the first ones that were asked the same, or append them."""
    rows = list(known)
    for more in added:
        position = next((number for number, other in enumerate(rows) if other.asked == more.asked), len(rows))
        rows[position:] = [rows[position] + more, *rows[position + 1 :]] if position < len(rows) else [more]
    return tuple(rows)


def _different(answers: IntArray, outputs: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the different rows in lexical order, and the index of every row among them."""
    if prod(outputs) < _PACKED:
        packed, places = np.unique(np.ravel_multi_index(tuple(answers.T), outputs), return_inverse=True)
        return np.column_stack(np.unravel_index(packed, outputs)).astype(np.int64), places.ravel()
    rows, places = np.unique(answers, axis=0, return_inverse=True)
    return rows, places.ravel()
