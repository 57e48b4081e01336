"""Checksums: whether columns of a file are those that were written; against accidents, not attackers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = 8


def checksum(columns: Iterable[NDArray[Any]]) -> str:
    """Return 16 hexadecimal digits that depend on every byte of the arrays and on their order; not cryptographic."""
    from ldpstats.numbers.kernels import folded

    total = np.uint64(1)
    for column in columns:
        raw = np.ascontiguousarray(column).view(np.uint8).ravel()
        whole = raw.size - raw.size % _WORD
        end = np.zeros(2 * _WORD, dtype=np.uint8)
        end[: raw.size - whole] = raw[whole:]
        end[_WORD] = raw.size - whole
        total = np.uint64(folded(raw[:whole].view(np.uint64), total))
        total = np.uint64(folded(end.view(np.uint64), total))
    return f"{int(total):016x}"
