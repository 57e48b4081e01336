"""Hashing: a public family of maps from values to a few symbols, with its collision law.

A function is given by two random words, so there are 2^128. For two different values the 32-bit hash values of
a random function are independent and uniform, exactly (see `kernels.hash_value`), and symbol y stands for one of
`symbols` intervals of nearly 2^32 / symbols of them: the symbols of two values are independent, and equal with
probability 1/symbols up to symbols / 2^64. Of three and more values this holds up to what tests can see.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_SYMBOLS = 1 << 16
_HASHES = 1 << 32


def symbols_of(seeds: NDArray[np.uint64], values: NDArray[np.int64], symbols: int) -> NDArray[np.int64]:
    """Return the symbol that each row's function gives to the row's value."""
    from ldpstats.numbers import kernels

    hashes = np.empty(values.size, dtype=np.uint32)
    kernels.hash_values(seeds, values, hashes)
    return ((hashes.astype(np.uint64) * np.uint64(symbols)) >> np.uint64(32)).astype(np.int64)


def support_counts(seeds: NDArray[np.uint64], answers: NDArray[np.uint64], k: int, symbols: int) -> NDArray[np.int64]:
    """Count for each of k values how many rows' functions give it the row's answer."""
    from ldpstats.numbers import kernels

    edges = -(-(np.arange(symbols + 1, dtype=np.int64) * _HASHES) // symbols)
    lowest = edges[:-1].astype(np.uint32)
    widths = np.diff(edges).astype(np.uint32)
    counts = np.zeros(k, dtype=np.int64)
    kernels.count_hashed(seeds, lowest[answers], widths[answers], counts)
    return counts
