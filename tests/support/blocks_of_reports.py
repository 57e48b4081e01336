"""Blocks of reports: truth or fake, asked and drawn, and what a method estimates from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.questions import Question
from ldpstats.estimation import TABLE_METHODS, Estimate
from ldpstats.estimation.blocks import Block
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, Tally, TruthOrFake

Array = NDArray[np.float64]
SIX = np.array([0.42, 0.21, 0.12, 0.14, 0.07, 0.04])
THREE = np.array([0.5, 0.3, 0.2])
TALL = MultinomialNoise(DenseChannel(((0.6, 0.2, 0.1, 0.1), (0.1, 0.7, 0.1, 0.1), (0.1, 0.2, 0.2, 0.5))))
NARROW = MultinomialNoise(DenseChannel(((0.8, 0.2), (0.3, 0.7), (0.4, 0.6))))
FAKE = MultinomialNoise(TruthOrFake(0.4, (0.5, 0.3, 0.2)))
FREQUENCIES = np.array([0.5, 0.2, 0.3])


def faked(truth: float, *fake: float) -> MultinomialNoise:
    return MultinomialNoise(TruthOrFake(truth, fake))


def asked(noise: NoiseModel, counts: Sequence[int] | NDArray[np.int64], n: int, *classes: int) -> Block:
    """Make a block about the cells of one attribute, or about classes of them."""
    answers = classes or tuple(range(noise.cells))
    return Block(Question(("a",), (len(answers),), answers), Tally(noise, counts, n))


def drawn(noise: NoiseModel, n: int, seed: int, frequencies: Array, *classes: int) -> Block:
    """Draw a block of reports about cells with these frequencies."""
    answers = np.bincount(classes or range(frequencies.size), weights=frequencies)
    return asked(noise, noise.draw(answers, n, 1, np.random.default_rng(seed))[0], n, *classes)


def estimated(method: str, blocks: Sequence[Block]) -> Estimate:
    return TABLE_METHODS[method].estimated(blocks)


def block(noise: NoiseModel, n: int, classes: Sequence[int] | None = None) -> Block:
    """Make a block of expected counts, as far as whole numbers allow; what was counted does not matter here."""
    expected = noise.simulate(np.array([n] + [0] * (noise.cells - 1)), np.random.default_rng(1))
    return asked(noise, expected, n, *(classes or ()))


class Sized:
    """A block with a number of reports of its own choice."""

    def __init__(self, block: Any, n: float) -> None:
        self.n, self.design, self.report_covariance = n, block.design, block.report_covariance
        self.question, self.noise, self.summed = block.question, block.noise, (self, None)


def multinomial_tallies(mean: NDArray[np.float64], n: int) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Enumerate all tallies of n reports with their probabilities."""
    for counts in product(range(n + 1), repeat=mean.size):
        if sum(counts) == n:
            ways = factorial(n) / prod(map(factorial, counts))
            yield np.array(counts), ways * float(np.prod(mean ** np.array(counts)))
