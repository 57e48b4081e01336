"""Reports of two attributes, independent or with any other frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from support import noisy_tables

import ldpstats as ldp
from ldpstats.noise import Tally
from ldpstats.tables import Table

MARGINS = {2: np.array([0.7, 0.3]), 3: np.array([0.5, 0.3, 0.2]), 4: np.array([0.4, 0.3, 0.2, 0.1])}
Frequencies = NDArray[np.float64]


def table_of(shape: tuple[int, int], tallies: Sequence[Tally]) -> Table:
    domain = ldp.Domain({name: range(size) for name, size in zip(("row", "column"), shape, strict=True)})
    return noisy_tables.table_of(shape, tallies, domain)


def independent(rows: int, columns: int) -> Frequencies:
    return np.outer(MARGINS[rows], MARGINS[columns]).ravel()


def drawn(name: str, n: int, epsilon: float, seed: int, frequencies: Frequencies) -> Tally:
    return noisy_tables.collected(frequencies, n, epsilon, seed, name)
