"""What one report can add to a tally, and how likely, written out from the definition of its noise."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from support.comparisons import close, some_frequencies

from ldpstats.noise import AdditiveNoise, MultinomialNoise, NoiseModel, RevealedBits, SummedSupport


def report_law(noise: NoiseModel) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return what one report can add to a tally, a row each, and its chance given each value, from scratch."""
    values = range(noise.cells)
    if isinstance(noise, MultinomialNoise):
        return np.eye(noise.outputs, dtype=int), noise.channel.matrix().T
    if isinstance(noise, AdditiveNoise):
        rows = np.array(list(product(range(len(noise.weights)), repeat=noise.cells)))
        other = np.array(noise.weights)
        entries = [np.where(np.eye(noise.cells)[value], other[::-1][rows], other[rows]) for value in values]
        return rows, np.stack([chances.prod(axis=1) for chances in entries], axis=1)
    if isinstance(noise, RevealedBits):
        return _revealed_law(noise)
    if isinstance(noise, SummedSupport):
        rows, law = report_law(noise.support)
        ends = np.cumsum(noise.sizes)
        # the last value of a class stands for all of them
        return np.stack([one.sum(axis=1) for one in np.split(rows, ends[:-1], axis=1)], axis=1), law[:, ends - 1]
    if noise.size is None:
        rows = np.array(list(product((0, 1), repeat=noise.cells)))
        bits = np.where(np.eye(noise.cells), noise.p, noise.q)
        return rows, np.stack([np.where(rows, bits[x], 1 - bits[x]).prod(axis=1) for x in values], axis=1)
    rows = np.array([[int(v in chosen) for v in values] for chosen in combinations(values, noise.size)])
    return rows, np.where(rows == 1, noise.p / rows.sum(axis=0), (1 - noise.p) / (1 - rows).sum(axis=0))


def _revealed_law(noise: RevealedBits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    width = len(noise.encoding) // noise.cohorts
    sets = list(combinations(range(width), noise.size))
    rows, chances = [], []
    for cohort, shown, bits in product(range(noise.cohorts), sets, product((0, 1), repeat=noise.size)):
        row = np.zeros((noise.cohorts, 2, width), dtype=int)
        chance = np.full(noise.cells, 1 / noise.cohorts / len(sets))
        for slot, bit in zip(shown, bits, strict=True):
            row[cohort, 0 if bit else 1, slot] = 1
            sent = np.where(noise.encoding[cohort * width + slot], noise.keep, noise.flip)
            chance *= sent if bit else 1 - sent
        rows.append(row.ravel())
        chances.append(chance)
    return np.array(rows), np.array(chances)


def has_enumerated_moments(noise: NoiseModel, rows: NDArray[np.int64], law: NDArray[np.float64]) -> bool:
    """Say whether mean, design and covariance of a report are those of its law, and those of the estimate follow."""
    beyond = np.eye(noise.cells)[0] * 1.5 - 0.5 / noise.cells
    frequencies = np.stack([*some_frequencies(noise.cells), np.eye(noise.cells)[-1], beyond / beyond.sum()])
    weights = frequencies @ law.T
    mean = weights @ rows
    covariance = np.einsum("tr,ri,rj->tij", weights, rows, rows) - mean[:, :, None] * mean[:, None, :]
    matrix, offset = noise.design()
    agree = [close(noise.mean(frequencies), mean), close(frequencies @ matrix.T + offset, mean)]
    agree.append(close(noise.report_covariance(frequencies), covariance))
    if np.linalg.matrix_rank(np.vstack([matrix, np.ones(noise.cells)])) == noise.cells:
        inverse = noise.debias(np.eye(noise.outputs)) - noise.debias(np.zeros((1, noise.outputs)))
        agree.append(close(noise.debias(mean), frequencies))
        agree.append(close(noise.covariance(frequencies), inverse.T @ covariance @ inverse))
    return all(agree)
