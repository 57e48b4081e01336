"""Samples of the paper's five distributions, counted in bins; the sixth, of incomes, is missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpstats.numbers.arrays import FloatArray

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "Gaussian": lambda rng, n: rng.normal(1000, 100, n),  # the bins follow the range, whatever the scale
    "Exponential": lambda rng, n: rng.exponential(1, n),
    "Uniform": lambda rng, n: rng.uniform(100, 10_000, n),
    "Poisson": lambda rng, n: rng.poisson(5, n).astype(float),
    "Triangular": lambda rng, n: rng.triangular(100, 4500, 10_000, n),
}
RESPONDENTS = (20_000, 100_000)
SIZES = (2, 50, 100, 200)

INCOMES_MISSING = (
    "The income data are missing: folktables holds none (it fetches them from the Census Bureau's site, which was out "
    "of reach), and no copy was found in the authors' repository or in other packages."
)


def bin_counts(sample: FloatArray, k: int, *, last_two_made_one: bool) -> NDArray[np.int64]:
    """Count a sample in k bins over its range: equally wide ones, or k + 1 such of which the last two are made one."""
    counts = np.histogram(sample, bins=k + 1 if last_two_made_one else k)[0]
    return np.append(counts[: k - 1], counts[k - 1 :].sum())


def sampled_counts(distribution: str, n: int, samples: int, *, last_two_made_one: bool) -> dict[int, NDArray[np.int64]]:
    """Draw samples of n respondents, always the same ones, and count each in every number of bins: a row a sample."""
    seed = list(DISTRIBUTIONS).index(distribution)
    drawn = [DISTRIBUTIONS[distribution](np.random.default_rng([seed, n, one]), n) for one in range(samples)]
    return {
        k: np.array([bin_counts(sample, k, last_two_made_one=last_two_made_one) for sample in drawn]) for k in SIZES
    }
