"""Checksums: every byte and every order counts, and what the format's page says gives the same digits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpstats.io.checksums import checksum

WORD = 1 << 64
FACTOR, ODD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def folded(words: list[int], t: int) -> int:
    """Fold words as docs/report-files.md says."""
    a, b, c, d = t, t ^ ODD, (t + FACTOR) % WORD, (t * ODD + FACTOR) % WORD
    lanes, whole = [a, b, c, d], len(words) // 4 * 4
    for place, word in enumerate(words):
        lane = place % 4 if place < whole else 0
        lanes[lane] = mixed(lanes[lane] ^ word, FACTOR)
    for lane in (1, 2, 3):
        lanes[0] = mixed(lanes[0], ODD) ^ lanes[lane]
    return mixed(lanes[0], ODD)


def mixed(x: int, factor: int) -> int:
    x = x * factor % WORD
    return x ^ x >> 32


def by_the_page(columns: list[bytes]) -> str:
    t = 1
    for raw in columns:
        whole = len(raw) // 8 * 8
        t = folded([int.from_bytes(raw[at : at + 8], "little") for at in range(0, whole, 8)], t)
        t = folded([int.from_bytes(raw[whole:], "little"), len(raw) - whole], t)
    return f"{t:016x}"


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 32, 33, 64, 100, 1000])
def test_a_checksum_is_as_the_page_says(size: int) -> None:
    rng = np.random.default_rng(size)
    columns: list[NDArray[np.uint8]] = [rng.integers(0, 256, size, dtype=np.uint8) for _ in range(3)]
    assert checksum(columns) == by_the_page([column.tobytes() for column in columns])


def test_every_byte_makes_a_difference() -> None:
    data = np.random.default_rng(1).integers(0, 256, 203, dtype=np.uint8)
    changed = {data.tobytes()}
    for place in range(203):
        for flip in (1, 128, 255):
            other = data.copy()
            other[place] ^= flip
            changed.add(other.tobytes())
        for step in (1, 8, 32, 64):
            other = data.copy()
            other[[place, (place + step) % 203]] = other[[(place + step) % 203, place]]
            changed.add(other.tobytes())
    assert len({checksum([np.frombuffer(one, dtype=np.uint8)]) for one in changed}) == len(changed) > 1000
    assert checksum([data[:8], data[8:]]) != checksum([data])
    assert checksum([np.zeros(8, np.uint8)]) != checksum([np.zeros(16, np.uint8)]) != checksum([np.zeros(9, np.uint8)])
