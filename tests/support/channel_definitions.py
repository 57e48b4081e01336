"""Channels with structure, and their matrices written out from the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from ldpstats.noise import CohortChannel, HadamardRandomizedResponse, HadamardResponse

_RNG = np.random.default_rng(1)
HADAMARD = {
    "one block": HadamardResponse(3, 1, 4, 0.6),
    "blocks of two": HadamardResponse(5, 5, 2, 0.3),
    "the last block half full": HadamardResponse(5, 2, 4, 0.4),
    "blocks that nobody uses": HadamardResponse(4, 4, 4, 0.5),
    "three blocks": HadamardResponse(20, 3, 8, 0.9),
    "no outputs outside": HadamardResponse(6, 1, 8, 1.0),
    "coefficients": HadamardRandomizedResponse(3, 0.7),
    "all coefficients": HadamardRandomizedResponse(8, 0.9),
    "coefficients without lies": HadamardRandomizedResponse(5, 1.0),
}
COHORTS = {
    "two cohorts": CohortChannel([[0, 0, 1], [0, 1, 1]], 2, 0.7),
    "a permutation": CohortChannel([[2, 0, 1, 3]], 4, 0.4),
    "a symbol that nobody has": CohortChannel([[0, 2, 2, 0, 4], [1, 1, 0, 0, 0], [3, 0, 1, 3, 2]], 5, 0.6),
    "random bits": CohortChannel(_RNG.integers(0, 2, (40, 9)), 2, 0.8),
    "random symbols": CohortChannel(_RNG.integers(0, 6, (12, 20)), 6, 0.3),
    "no lies": CohortChannel(_RNG.integers(0, 3, (8, 5)), 3, 1.0),
}


def hadamard_matrix(channel: HadamardResponse | HadamardRandomizedResponse) -> NDArray[np.float64]:
    """Return P(output | value) entry by entry."""
    if isinstance(channel, HadamardRandomizedResponse):
        size = 1 << math.ceil(math.log2(channel.cells))
        signs = hadamard(size)[: channel.cells]
        kept, turned = channel.truth / size, (1 - channel.truth) / size
        both = [np.where(signs == sign, kept, turned) for sign in (1, -1)]
        return np.stack(both, axis=-1).reshape(channel.cells, -1)
    size, half = channel.width, channel.width // 2
    matrix = np.full((channel.cells, channel.outputs), (1 - channel.inside) / (channel.outputs - half))
    for value in range(channel.cells):
        block, row = value // (size - 1), 1 + value % (size - 1)
        matrix[value, block * size + np.flatnonzero(hadamard(size)[row] == 1)] = channel.inside / half
    return matrix


def cohort_matrix(channel: CohortChannel) -> NDArray[np.float64]:
    """Return P(output | value) entry by entry."""
    matrix = np.empty((channel.cells, channel.outputs))
    for value in range(channel.cells):
        for cohort in range(channel.cohorts):
            for answer in range(channel.symbols):
                honest = answer == channel.codes[cohort, value]
                p = channel.truth if honest else (1 - channel.truth) / (channel.symbols - 1)
                matrix[value, cohort * channel.symbols + answer] = p / channel.cohorts
    return matrix


def frequencies(channel: Any, tables: int = 3) -> NDArray[np.float64]:
    """Return frequencies of some tables."""
    return np.random.default_rng(channel.cells).dirichlet(np.ones(channel.cells), tables)
