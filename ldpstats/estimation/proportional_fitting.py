"""Iterative proportional fitting: the frequencies of maximum entropy with given totals over some partitions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ldpstats.numbers.arrays import FloatArray, IntArray

_WRONG = 1e-9


def proportionally_fitted(frequencies: FloatArray, partitions: Iterable[IntArray], rounds: int = 1000) -> FloatArray:
    """Return the frequencies of maximum entropy among all with the same totals over the classes of every partition.

    This is iterative proportional fitting from the uniform table: the totals of one partition after the other are made
    what they have to be. As some frequencies have them all, it converges to the ones of maximum entropy (Csiszár 1975):
    quickly, unless these must have zeros that no total shows. It ends when all totals are right to 1e-9, or after so
    many rounds; after a thousand they were right to 3e-5 in such slow cases. Frequencies have the shape (..., cells),
    and a partition says the class of every cell.
    """
    cells, tables = frequencies.shape[-1], frequencies.size // frequencies.shape[-1]
    parts = []
    for classes in partitions:
        # every table has classes of its own, so that one count serves all
        own = (classes + (classes.max() + 1) * np.arange(tables)[:, None]).ravel()
        parts.append((own, np.bincount(own, weights=frequencies.ravel())))
    even = np.full((tables, cells), 1 / cells)
    # a table that is right is left alone: what comes of it does not depend on the others
    wrong = np.ones(tables, dtype=bool)
    for _ in range(rounds):
        off = np.zeros(tables)
        for own, totals in parts:
            found = np.bincount(own, weights=even.ravel())
            off = np.maximum(off, np.abs(found - totals).reshape(tables, -1).max(axis=1))
            ratios = np.divide(totals, found, out=np.zeros_like(totals), where=found > 0)[own]
            even[wrong] *= ratios.reshape(even.shape)[wrong]
        wrong &= off > _WRONG
        if not wrong.any():
            break
    return even.reshape(frequencies.shape)
