"""Reports of two attributes, independent or with any other frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc
from support import noisy_tables

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.noise import MultinomialNoise, NoiseModel, Tally, TruthOrFake
from ldpstats.tables import Table

MARGINS = {2: np.array([0.7, 0.3]), 3: np.array([0.5, 0.3, 0.2]), 4: np.array([0.4, 0.3, 0.2, 0.1])}
Frequencies = NDArray[np.float64]


def table_of(shape: tuple[int, int], tallies: Sequence[Tally]) -> Table:
    domain = ldp.Domain({name: range(size) for name, size in zip(("row", "column"), shape, strict=True)})
    return noisy_tables.table_of(shape, tallies, domain)


def open_answers(cells: int) -> MultinomialNoise:
    """Return the noise of reports that never lie."""
    return MultinomialNoise(TruthOrFake(1.0, (1 / cells,) * cells))


def some_table(shape: tuple[int, ...]) -> Frequencies:
    return np.random.default_rng(1).dirichlet(np.full(math.prod(shape), 4.0)).reshape(shape)


def share_rejected(
    noise: NoiseModel, model: ProductOfConditionals, frequencies: Frequencies, n: int, tables: int, rng: Any
) -> float:
    """Return how often the package's own test rejects at level .05, in tables drawn at the level of counts."""
    question = Question(tuple("abc"[: len(model.shape)]), model.shape, tuple(range(frequencies.size)))
    block = Block(question, Tally(noise, noise.draw(frequencies, n, 1, rng)[0], n, simulated=True))
    evidence = BlockEvidence.observed([block])
    statistic = ScoreStatistic(model, evidence, frequencies.size)
    found = statistic(evidence.replicates(frequencies, tables, rng)).statistic
    return float(np.mean(chdtrc(statistic.df, found) < 0.05))


def independent(rows: int, columns: int) -> Frequencies:
    return np.outer(MARGINS[rows], MARGINS[columns]).ravel()


def drawn(name: str, n: int, epsilon: float, seed: int, frequencies: Frequencies) -> Tally:
    return noisy_tables.collected(frequencies, n, epsilon, seed, name)
