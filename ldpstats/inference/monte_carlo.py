"""Monte Carlo p-values: tables drawn under the fitted null at the level of counts, so their number is cheap."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.arrays import FloatArray, at_least
from ldpstats.inference.evidence import Evidence
from ldpstats.inference.statistics import Statistic
from ldpstats.randomness import Rng, generator

_TABLES_AT_ONCE = 1000
_LONG_WORK = 2_000_000


@dataclass(frozen=True, slots=True)
class MonteCarlo:
    """Ask for a Monte Carlo p-value.

    Parameters
    ----------
    n_resamples : int
        How many tables to draw; the p-value is (1 + exceedances) / (1 + n_resamples).
    rng : seed or numpy Generator, optional
        None draws a fresh seed, which the result records.
    """

    n_resamples: int = 9999
    rng: Rng = None

    def __post_init__(self) -> None:
        at_least(self.n_resamples, 1, "n_resamples")
        generator(self.rng)

    def seeded(self) -> MonteCarlo:
        """Return the same request with a seed, freshly drawn if there was none."""
        return replace(self, rng=secrets.randbits(63)) if self.rng is None else self

    @property
    def seed(self) -> int | None:
        """The seed, where there is one."""
        return int(self.rng) if isinstance(self.rng, (int, np.integer)) else None

    def __str__(self) -> str:
        source = "a generator" if self.seed is None else f"seed {self.seed}"
        return f"Monte Carlo, {self.n_resamples:,} tables, {source}"

    def pvalue(self, statistic: Statistic, evidence: Evidence, observed: float, null: FloatArray) -> float:
        """Return the p-value of an observed statistic.

        Each drawn table is fitted anew. Negative fitted frequencies, of which no table can be drawn, are cut.
        """
        from tqdm.auto import tqdm

        numbers = generator(self.rng)
        possible = np.maximum(null, 0) / np.maximum(null, 0).sum()
        exceeding = 0
        starts = range(0, self.n_resamples, _TABLES_AT_ONCE)
        short = self.n_resamples * null.size < _LONG_WORK
        for start in tqdm(starts, desc="Monte Carlo", unit="batch", leave=False, disable=True if short else None):
            size = min(_TABLES_AT_ONCE, self.n_resamples - start)
            tables = evidence.replicates(possible, size, numbers)
            drawn = statistic(tables, near=possible).statistic
            # a statistic equal up to rounding counts as equal, in favour of the hypothesis
            exceeding += int(np.count_nonzero(drawn >= observed * (1 - 1e-12)))
        return (1 + exceeding) / (1 + self.n_resamples)
