"""Packed bit vectors: how mechanisms set, check and count them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.numbers.arrays import BoolArray

_COUNTED = 1 << 14
"""Up to so many values the number of subsets is counted, beyond its logarithm is: that is right to a part in 10^12."""


def set_bits(rows: NDArray[np.uint8], places: NDArray[np.int64], bits: BoolArray) -> None:
    """Set the bit at each row's place to its value, in place, in packed rows."""
    row, byte = np.arange(len(rows)), places >> 3
    mask = (0x80 >> (places & 7)).astype(np.uint8)
    rows[row, byte] = np.where(bits, rows[row, byte] | mask, rows[row, byte] & ~mask)


def clean_padding(rows: NDArray[Any], width: int) -> BoolArray:
    """Return which packed rows have no bit set beyond `width`."""
    padding = 8 * rows.shape[1] - width
    clean: BoolArray = (rows[:, -1] & np.uint8((1 << padding) - 1)) == 0
    return clean


def bit_counts(rows: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """Count how often each bit is set in packed rows."""
    from ldpstats.numbers import kernels

    words = -(-rows.shape[1] // 8)
    padded = rows
    if rows.shape[1] != 8 * words:
        padded = np.zeros((len(rows), 8 * words), dtype=np.uint8)
        padded[:, : rows.shape[1]] = rows
    counts = np.zeros(64 * words, dtype=np.int64)
    kernels.count_bits(np.ascontiguousarray(padded).view("<u8"), counts)
    # the first bit of a byte is its highest one
    return counts.reshape(-1, 8)[:, ::-1].ravel()[:width]


def subset_bits(values: int, size: int) -> int:
    """Return the bits that encode one set among all sets of its size: log2 of the binomial coefficient, rounded up."""
    if values <= _COUNTED:
        return (math.comb(values, size) - 1).bit_length()
    logarithm = math.lgamma(values + 1) - math.lgamma(size + 1) - math.lgamma(values - size + 1)
    return math.ceil(logarithm / math.log(2))
