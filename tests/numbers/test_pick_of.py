"""Draws by the rows of values: whatever the 16 bits that come first, the whole word decides, to its last bit."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from numpy.typing import NDArray
from support.random_channels import random_channels
from support.scripted_bytes import Script

from ldpstats.numbers import kernels
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import WeightedRows, _ByteDraws

STEP = 1 << 48
PREFIXES = np.arange(1 << 16, dtype=np.uint16)
Rows = tuple[tuple[int, ...], ...]

ADVERSARIAL: dict[str, Rows] = {
    "starts at multiples of 2^48": tuple(
        tuple(np.diff([0, *(cut * STEP + off for cut in (1, 15, 16, 17, 65535)), GRID]).tolist()) for off in (0, 1, -1)
    ),
    "zeros before, between and behind": ((0, 0, GRID, 0, 0), (1, 0, GRID - 2, 0, 1), (0, GRID // 2, 0, GRID // 2, 0)),
    "a first one of 2^-64": ((1, GRID - 1), (GRID - 1, 1), (GRID, 0), (0, GRID)),
    "nothing but tiny ones": (
        (1,) * 300 + (GRID - 300,),
        (GRID - 300,) + (1,) * 300,
        (STEP // 300,) * 300 + (GRID - STEP // 300 * 300,),
    ),
    "all begin within one prefix": (
        (STEP - 2, 1, 1, GRID - STEP),
        (STEP - 1, 1, 0, GRID - STEP),
        (STEP, 0, 1, GRID - STEP - 1),
    ),
    "many beside each other": ((GRID >> 12,) * 4096, (*tuple(reversed(range(1, 4096))), GRID - 4095 * 4096 // 2)),
    "one output": ((GRID,), (GRID,)),
    "outputs of 255, 256 and 257": ((GRID >> 8,) * 256 + (0,), (0,) + (GRID >> 8,) * 256),
}


def first_sixteen_bits(rows: WeightedRows, value: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what the kernel finds for every prefix, and which it leaves undecided."""
    reached, guide = rows.in_sixteen_bits
    found, undecided = np.empty(PREFIXES.size, dtype=np.int64), np.empty(PREFIXES.size, dtype=np.int64)
    values = np.full(PREFIXES.size, value)
    number = kernels.pick_of(values, PREFIXES, reached, guide, rows.ends, found, undecided)
    return found, undecided[:number]


def whole_words(rows: WeightedRows, value: int, words: list[int]) -> list[int]:
    """Return what the kernel finds for whole words."""
    found = np.empty(len(words), dtype=np.int64)
    places = np.arange(len(words))
    kernels.pick_exactly(
        np.full(len(words), value), np.array(words, dtype=np.uint64), rows.starts, rows.ends, places, found
    )
    return found.tolist()


def is_exact(rows: Rows) -> bool:
    """Say whether every word of every row is drawn as the row says: all 2^64, as both laws are steps.

    A prefix that is decided stands for 2^48 words: the first and the last of them must have the integer found. Of one
    that is not, whole words decide: at all steps and beside them these must be right, and between them nothing changes.
    """
    weighted = WeightedRows(rows)
    for value, row in enumerate(rows):
        uppers = list(accumulate(row))
        last = len(row) - 1 - next(i for i, weight in enumerate(reversed(row)) if weight)
        inner = np.array(list(uppers[:last]), dtype=np.uint64)
        starts = PREFIXES.astype(np.uint64) << np.uint64(48)
        first, final = (np.searchsorted(inner, starts + np.uint64(more), side="right") for more in (0, STEP - 1))
        found, undecided = first_sixteen_bits(weighted, value)
        decided = np.delete(PREFIXES, undecided).astype(np.int64)
        if not (np.array_equal(first[decided], found[decided]) and np.array_equal(final[decided], found[decided])):
            return False
        words = {0, GRID - 1, *(upper + step for upper in uppers for step in (-1, 0, 1))}
        inside = sorted(word for word in words if 0 <= word < GRID)
        if whole_words(weighted, value, inside) != [bisect_right(uppers, word) for word in inside]:
            return False
    return True


@pytest.mark.parametrize("title", ADVERSARIAL)
def test_every_word_is_drawn_as_its_row_says(title: str) -> None:
    rows = ADVERSARIAL[title]
    assert all(sum(row) == GRID for row in rows)
    assert is_exact(rows)


def test_every_word_of_random_channels_is_drawn_as_its_row_says() -> None:
    assert all(is_exact(channel.rows) for channel in random_channels())


def test_words_are_made_of_both_parts_and_values_keep_their_own_row() -> None:
    """The bytes of a batch: 16 bits for each value, then 64 for those that these leave open."""
    rows = ((STEP + 5, GRID - STEP - 5), (0, GRID), (GRID - 1, 1), (STEP // 2, GRID - STEP // 2))
    values = np.array([0, 1, 2, 3, 0, 2, 3, 0])
    prefixes = np.array([1, 1, 65535, 0, 0, 65534, 0, 1], dtype=np.uint16)
    tails = [4, STEP - 1, STEP // 2 - 1, STEP // 2, 5]
    low = np.array([tail << 16 | 77 for tail in tails], dtype=np.uint64)
    script = Script(prefixes, low)
    drawn = _ByteDraws(script, simulated=True).pick_of(WeightedRows(rows), values)
    assert drawn.tolist() == [0, 1, 1, 0, 0, 0, 1, 1]
    assert not script.left


def test_large_batches_are_drawn_in_parts() -> None:
    """Every part has its own undecided ones: with rows that leave all open, places of a part are not those of all."""
    rows = WeightedRows(((1, GRID - 1), (GRID - 1, 1)))
    number = (1 << 17) + 3
    values = np.arange(number) % 2
    for byte, expected in ((b"\xff", [1] * number), (b"\0", [0] * number)):
        drawn = _ByteDraws(lambda count, byte=byte: byte * count, simulated=True).pick_of(rows, values)
        assert drawn.tolist() == expected
