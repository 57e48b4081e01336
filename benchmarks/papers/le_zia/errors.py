"""Simulated errors of all algorithms in all readings, for the tables: on real counts, and on made-up ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from papers.le_zia.algorithms import AS_RUN, AT_ITS_WORD, READINGS, mean_absolute_errors
from papers.one_way_counts import one_way_counts

CENSUS_SIZE = 2_458_285
CENSUS = {"Military": 5, "Rvetserv": 12, "Race": 63, "PoB": 283}
"""The respondents and the domain sizes that Table I prints for US Census 1990."""
FIGURES = ("mean", "std", "kurtosis")


def errors_on_real_data(epsilon: float, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the moments of the MAE, a row for every attribute of Statlog and Adult, reading and algorithm.

    Parameters
    ----------
    epsilon : float
        The level, per respondent.
    runs : int
        How many collections are simulated.
    rng : Generator
    """
    return pd.DataFrame(_on_real_data(epsilon, runs, rng))


def _on_real_data(epsilon: float, runs: int, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    for row, counts in one_way_counts().items():
        for reading, algorithms in READINGS.items():
            for algorithm, estimates in algorithms(counts.size, epsilon).items():
                found = moments(mean_absolute_errors(estimates(counts, runs, rng), counts))
                yield {"row": row, "reading": reading, "algorithm": algorithm, **found, "runs": runs}


def errors_on_made_up_data(epsilon: float, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the same for data of the size of US Census 1990 where 1, 2, a quarter or all of the values are held.

    Parameters
    ----------
    epsilon : float
        The level, per respondent.
    runs : int
        How many collections are simulated.
    rng : Generator
    """
    return pd.DataFrame(_on_made_up_data(epsilon, runs, rng))


def _on_made_up_data(epsilon: float, runs: int, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    for attribute, d in CENSUS.items():
        for held in sorted({1, 2, d // 4, d}):
            counts = np.bincount(np.arange(CENSUS_SIZE) % held, minlength=d)
            for reading in (AT_ITS_WORD, AS_RUN):
                for algorithm, estimates in READINGS[reading](d, epsilon).items():
                    found = moments(mean_absolute_errors(estimates(counts, runs, rng), counts))
                    row = {"row": f"USCensus1990, {attribute}", "reading": reading, "algorithm": algorithm}
                    yield {**row, **found, "held": held, "runs": runs}


def moments(errors: NDArray[np.float64]) -> dict[str, float]:
    """Return mean, standard deviation and kurtosis of the errors of runs.

    Parameters
    ----------
    errors : array, shape (runs,)
    """
    deviations = errors - errors.mean()
    kurtosis = (deviations**4).mean() / (deviations**2).mean() ** 2
    return dict(zip(FIGURES, (float(errors.mean()), float(errors.std(ddof=1)), float(kurtosis)), strict=True))


def std_err(found: pd.Series, figure: str, runs: int) -> float:
    """Return the standard error of the mean of so many runs, or of their standard deviation (by the fourth moment).

    Parameters
    ----------
    found : Series
        The moments of one run.
    figure : str
        "mean" or "std".
    runs : int
    """
    share = 1.0 if figure == "mean" else (found["kurtosis"] - 1) / 4
    return float(found["std"] * math.sqrt(share / runs))
