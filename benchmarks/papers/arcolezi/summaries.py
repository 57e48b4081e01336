"""Gains as the tables and figures of the paper sum them up, and the verdict on a sentence about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from ldpstats.numbers.arrays import FloatArray
from papers.arcolezi.gains import METRICS, spread
from papers.arcolezi.mechanisms import LEVELS, Reading
from papers.arcolezi.populations import DISTRIBUTIONS, INCOMES_MISSING, RESPONDENTS, SIZES
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE, Comparison

Place = tuple[str, str, str, str]
"""Source, row, column and what is printed."""


class Found(NamedTuple):
    """What is seen of a sentence in some gains, and whether it holds there."""

    words: str
    holds: bool


Claim = Callable[[pd.DataFrame], Found]


def table(gains: FloatArray, reading: Reading, incomes: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Return the means over sizes, levels and respondents: gain, std_err, and the spread of a figure of the paper.

    Parameters
    ----------
    gains : array, shape (distributions, respondents, samples, sizes, levels, mechanisms, metrics, runs)
    reading : Reading
        What they were measured with.
    incomes : mapping, optional
        The printed figures of the real data by column, for averages over all six distributions.
    """
    of_mechanisms = gains.mean(axis=(3, 4))
    figures = np.concatenate([of_mechanisms, of_mechanisms.mean(axis=3, keepdims=True)], axis=3)
    columns = [f"{name}, {metric}" for name, metric in product([*reading.columns, "Avg."], METRICS)]
    theirs, ours = (part.reshape(len(DISTRIBUTIONS), -1) for part in spread(figures))
    means = figures.mean(axis=(1, 2, -1)).reshape(len(DISTRIBUTIONS), -1)
    rows = list(DISTRIBUTIONS)
    if incomes is not None:
        rows.append("Avg.")
        sixth = np.array([incomes[column] for column in columns])
        means = np.vstack([means, (means.sum(axis=0) + sixth) / 6])
        theirs, ours = (np.vstack([part, np.sqrt(np.square(part).sum(axis=0)) / 6]) for part in (theirs, ours))
    index = pd.MultiIndex.from_product([rows, columns], names=["row", "column"])
    return pd.DataFrame({"gain": means.ravel(), "std_err": ours.ravel(), "spread": theirs.ravel()}, index=index)


def dots(gains: FloatArray, reading: Reading) -> pd.DataFrame:
    """Return the mean gain in MSE at every setting, which is a dot of the paper's Figures 3 and 4."""
    levels = [DISTRIBUTIONS, RESPONDENTS, SIZES, LEVELS, reading.columns]
    index = pd.MultiIndex.from_product(levels, names=["distribution", "n", "k", "ε", "mechanism"])
    return pd.DataFrame({"gain": gains[..., METRICS.index("MSE"), :].mean(axis=(2, -1)).ravel()}, index=index)


def judged(place: Place, claim: Claim, word: pd.DataFrame, published: pd.DataFrame) -> Comparison:
    """Judge a sentence by the gains of the paper's text, and where it does not hold there, by those of its code."""
    ours, theirs = claim(word), claim(published)
    if ours.holds:
        return Comparison(*place, ours.words, AGREES)
    if theirs.holds:
        return Comparison(*place, ours.words, DIFFERS, f"It holds with the authors' bins and code: {theirs.words}.")
    because = f"Nor does it hold with the authors' bins and code: {theirs.words}."
    return Comparison(*place, ours.words, NOT_REPRODUCIBLE, because)


def missing(place: Place) -> Comparison:
    """Say that a figure of the real data cannot be measured."""
    return Comparison(*place, "", NOT_REPRODUCIBLE, INCOMES_MISSING)


def in_words(means: pd.Series) -> str:
    """Write means, highest first."""
    return ", ".join(f"{name} {value:.1f}" for name, value in means.sort_values(ascending=False).items())
