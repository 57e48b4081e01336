"""Monte Carlo p-values: tables drawn under the fitted null at the level of counts, so their number is cheap."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray, at_least, significance
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.statistics import Statistic
from ldpstats.presentation import progress
from ldpstats.randomness import Rng, generator
from ldpstats.saving import Saveable
from ldpstats.workers import each, is_spread

_USUAL = 9999
# a clear case of nothing is decided by the first batch
_FIRST_BATCH, _TABLES_AT_ONCE = 250, 1000
# of all tables drawn at once: what is computed of each then stays in the cache
_CELLS_AT_ONCE = 1 << 18
# so many batches are fitted by the workers of a cluster before it is seen whether they are enough
_BATCHES_AT_ONCE = 32
# how often a rare statistic must be reached until its share is known to a third
_FEW = 10
# a p-value of a quarter of the level is still found below it in 98 of 100 draws
_DRAWS_PER_LEVEL = 4
# A statistic below it is rounding: the table is as near to the hypothesis as a table can be.
_NOTHING = 1e-8


def _ranked(statistic: Statistic, possible: FloatArray, drawn: Evidence) -> FloatArray:
    return statistic(drawn, near=possible).statistic


def reaches(drawn: Any, observed: float) -> Any:
    """Say which drawn statistics reach the observed one; equal up to rounding is equal, in favour of the hypothesis."""
    return drawn >= observed * (1 - 1e-12) - _NOTHING


@dataclass(frozen=True, slots=True)
class MonteCarlo(Saveable):
    """Ask for a Monte Carlo p-value.

    Parameters
    ----------
    n_resamples : int
        How many tables to draw; the p-value is (1 + exceedances) / (1 + n_resamples).
    rng : seed or numpy Generator, optional
        None draws a fresh seed, which the result records.
    enough : int, optional
        Stop when so many drawn tables have reached the observed statistic; the p-value is then their share
        (Besag & Clifford 1991). What is clearly not significant is soon seen.
    at_most : int, optional
        Where fewer than ten of the `n_resamples` tables have reached it, draw on until ten have, or to so many tables
        in all: for p-values below 1 / n_resamples, as among many tests.

    Notes
    -----
    Whatever the rule, the p-value is at most a only if fewer than l a of the first l tables have reached the observed
    statistic, for an l that a alone determines: so its level is that of drawing a fixed number.

    Tables are drawn at the fitted hypothesis, so the level holds up to the error of that fit: .063 at a nominal
    .05 was the most seen, for 2-by-2 tables of 30 reports (GRR, ε = 4); but where noise drowns the margins, as in
    4-by-4 tables of 500 reports at ε = .5 with a margin of .99 beside .01, .095.

    All tables, the observed one included, are ranked by their statistic after the same few steps of the fit. So the
    time does not depend on the number of reports. The statistic that is reported is that of the whole fit.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})

    >>> tables = ldp.SampledGroups(domain, epsilon=1.0).simulate([30, 10, 10, 30], rng=1)
    >>> drawn = ldp.MonteCarlo(n_resamples=999, rng=1)
    >>> result = ldp.independence_test(tables["sex", "car"], pvalue=drawn)
    >>> round(result.pvalue, 3), result.seed
    (0.403, 1)
    >>> print(result.pvalue_source)
    Monte Carlo, 999 tables, seed 1
    """

    n_resamples: int = _USUAL
    rng: Rng = None
    enough: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        at_least(self.n_resamples, 1, "n_resamples")
        if self.enough is not None:
            at_least(self.enough, 1, "enough")
        if self.at_most is not None:
            at_least(self.at_most, self.n_resamples, "at_most")
        generator(self.rng)

    def seeded(self) -> MonteCarlo:
        """Return the same request with a seed, freshly drawn if there was none: one that every reader of JSON keeps."""
        return replace(self, rng=secrets.randbits(53)) if self.rng is None else self

    @property
    def seed(self) -> int | None:
        """The seed, where there is one."""
        return int(self.rng) if isinstance(self.rng, (int, np.integer)) else None

    def __str__(self) -> str:
        source = "a generator" if self.seed is None else f"seed {self.seed}"
        fixed = self.enough is None and self.most == self.n_resamples
        return f"Monte Carlo, {'' if fixed else 'up to '}{self.most:,} tables, {source}"

    @property
    def most(self) -> int:
        """The tables to draw at most."""
        return self.n_resamples if self.at_most is None else self.at_most

    def pvalue(self, statistic: Statistic, evidence: Evidence, null: FloatArray) -> float:
        """Return the p-value of what was observed, at the fitted frequencies of the hypothesis.

        Each drawn table is fitted anew, in as few steps as the observed one is here: what they are ranked by is the
        same function of each. Negative fitted frequencies, of which no table can be drawn, are cut.

        Parameters
        ----------
        statistic : Statistic
        evidence : Evidence
            What was observed.
        null : array, shape (cells,)
            The fitted frequencies.
        """
        numbers = generator(self.rng)
        possible = np.maximum(null, 0) / np.maximum(null, 0).sum()
        observed = float(statistic(evidence, near=possible).statistic[0])
        reached = np.zeros(0, dtype=np.bool_)
        ranked = partial(_ranked, statistic, possible)
        for sizes in self._rounds(min(_TABLES_AT_ONCE, max(_CELLS_AT_ONCE // null.size, 1))):
            # drawn here one after the other, wherever they are fitted
            drawn = (evidence.replicates(possible, size, numbers) for size in sizes)
            for found in each(ranked, drawn):
                reached = np.append(reached, reaches(found, observed))
            pvalue = self._decided(reached)
            if pvalue is not None:
                return pvalue
        return float(1 + np.count_nonzero(reached)) / (1 + self.most)

    def _rounds(self, tables: int) -> Iterator[list[int]]:
        """Yield the sizes of the batches to draw before the next decision, with a bar; one batch ends the first part.

        On a cluster those of a round are fitted at the same time. What is decided is the same; but as more may have
        been drawn than were needed, not where a generator goes on from.
        """
        at_once = _BATCHES_AT_ONCE if is_spread() and self.enough is None and self.seed is not None else 1
        with progress(None, "Monte Carlo", self.most, "table") as bar:
            for part in (self._sizes(0, self.n_resamples, tables), self._sizes(self.n_resamples, self.most, tables)):
                for start in range(0, len(part), at_once):
                    sizes = part[start : start + at_once]
                    yield sizes
                    bar.update(sum(sizes))

    def _sizes(self, start: int, end: int, tables: int) -> list[int]:
        """Return the sizes of the batches between so many tables and so many, up to `tables` each."""
        first = [] if start else [min(_FIRST_BATCH, tables, end)]
        left = end - start - sum(first)
        whole, rest = divmod(left, tables)
        return [*first, *[tables] * whole, *[rest] * (rest > 0)]

    def _decided(self, reached: BoolArray) -> float | None:
        """Return the p-value if so many tables are enough."""
        first, places = self.n_resamples, np.flatnonzero(reached)
        if self.enough is not None and self.enough <= np.count_nonzero(places < first):
            return self.enough / float(places[self.enough - 1] + 1)
        if reached.size == first and places.size >= _FEW:
            return (1 + places.size) / (1 + first)
        if reached.size > first and places.size >= _FEW:
            return _FEW / float(places[_FEW - 1] + 1)
        return None


@dataclass(frozen=True, slots=True)
class AmongMany(Saveable):
    """Ask for the p-value that "auto" gives, resolved well enough for one of many tests.

    A Monte Carlo p-value is then drawn on, where next to no table reaches the observed one, until even a single
    dependence among so many tests could be shown at the level of all of them (by Bonferroni, Holm, or Benjamini and
    Hochberg).

    Parameters
    ----------
    tests : int
    alpha : float
        The level of all of them together.
    """

    tests: int
    alpha: float = 0.05

    def __post_init__(self) -> None:
        at_least(self.tests, 1, "tests")
        object.__setattr__(self, "alpha", significance(self.alpha))

    @property
    def draws(self) -> int:
        """The tables to draw at most."""
        return max(_USUAL, math.ceil(_DRAWS_PER_LEVEL * self.tests / self.alpha))
