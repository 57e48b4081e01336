"""Monte Carlo p-values: tables drawn under the fitted null at the level of counts, so their number is cheap."""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from ldpstats.inference.engine.evidence import BlockEvidence, Evidence
from ldpstats.inference.engine.null_model import DrawnTables
from ldpstats.inference.engine.statistics import Statistic
from ldpstats.numbers.arrays import BoolArray, FloatArray, at_least, significance
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import progress
from ldpstats.saving.files import Saveable
from ldpstats.workers import each, is_spread

_USUAL = 9999
# exceedances that settle a p-value, tables of which none need reach the observed one, and the most that a single test
# draws: below 256 cells, below 576, above, and of random subsets
_WIDE = (256, 576)
_EFFORTS = ((100, None, _USUAL), (50, 999, 1999), (50, 499, 999), (25, 99, 499))
# tables that settle a p-value of .05; exceedances in a family
_SETTLED, _AMONG_MANY = 1999, 50
# a clear case of nothing is decided by the first batch
_FIRST_BATCH, _TABLES_AT_ONCE = 250, 1000
# of all tables drawn at once: what is computed of each then stays in the cache
_CELLS_AT_ONCE = 1 << 16
# so many batches are fitted by the workers of a cluster before it is seen whether they are enough
_BATCHES_AT_ONCE = 32
# how often a rare statistic must be reached until its share is known to a third
_FEW = 10
# A statistic below it is rounding: the table is as near to the hypothesis as a table can be.
_NOTHING = 1e-8


_Stack: TypeAlias = tuple[Evidence, DrawnTables]


def _ranked(statistic: Statistic, stack: _Stack) -> FloatArray:
    return statistic(*stack).statistic


def reached_from(observed: Any) -> Any:
    """Return the least statistic that reaches the observed one; equal up to rounding is equal, for the hypothesis."""
    return observed * (1 - 1e-12) - _NOTHING


def reaches(drawn: Any, observed: float) -> Any:
    """Say which drawn statistics reach the observed one."""
    return drawn >= reached_from(observed)


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
    none_of : int, optional
        Stop where none of so many tables has reached it: nothing more is asked than p <= 1 / (1 + none_of).

    Notes
    -----
    Whatever the rule, the p-value is at most a no more often than in a of all cases: it is the probability of as few
    exceedances in as many draws, or of what ended the draws before as an even clearer case.

    Tables are drawn at the fitted hypothesis, so the level holds up to the error of that fit: .063 at a nominal
    .05 was the most seen, for 2-by-2 tables of 30 reports (GRR, ε = 4); but where noise drowns the margins, as in
    4-by-4 tables of 500 reports at ε = .5 with a margin of .99 beside .01, .095.

    All tables, the observed one included, are ranked by their statistic after the same few steps of the fit, so that
    the time does not depend on the number of reports. The statistic that is reported is that of the whole fit. Beyond
    the χ² quantile of .98 it counts as at most 1.5 times what it is before the first step, in every table alike, so
    that most tables need no step in clear cases.

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
    none_of: int | None = None

    def __post_init__(self) -> None:
        at_least(self.n_resamples, 1, "n_resamples")
        if self.enough is not None:
            at_least(self.enough, 1, "enough")
        if self.at_most is not None:
            at_least(self.at_most, self.n_resamples, "at_most")
        if self.none_of is not None:
            at_least(self.none_of, 1, "none_of")
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
        return drawn_pvalues([self], statistic, [evidence], null[None, :])[0]

    def sizes(self, tables: int) -> Iterator[int]:
        """Yield the sizes of the batches to draw, up to `tables` each: one ends the first part of the draws.

        A clear case of nothing is decided by the first one; where draws may end early, half as many follow each time.

        Parameters
        ----------
        tables : int
        """
        drawn, first = 0, _FIRST_BATCH if self.enough is None else min(_FIRST_BATCH, 5 * self.enough // 2)
        while drawn < self.most:
            end = self.n_resamples if drawn < self.n_resamples else self.most
            following = first if not drawn else tables if self.enough is None else max(first, drawn // 2)
            yield min(max(following, 1), tables, end - drawn)
            drawn += min(max(following, 1), tables, end - drawn)

    def decided(self, reached: BoolArray) -> float:
        """Return the p-value if so many tables are enough; else nan.

        Parameters
        ----------
        reached : array of bool
            Which of the tables that were drawn reached the observed one.
        """
        first, indices = self.n_resamples, np.flatnonzero(reached)
        early = int(np.count_nonzero(indices < first))
        if self.none_of is not None and reached.size >= self.none_of and not reached[: self.none_of].any():
            return 1 / (1 + self.none_of)
        if self.enough is not None and self.enough <= early:
            return self._as_few(self.enough - 1, int(indices[self.enough - 1]))
        if reached.size >= first and early >= _FEW:
            return self._as_few(early, first)
        if reached.size > first and indices.size >= _FEW:
            return self._as_few(_FEW - 1, int(indices[_FEW - 1]))
        if reached.size >= self.most:
            return self._as_few(indices.size, reached.size)
        return math.nan

    def _as_few(self, count: int, tables: int) -> float:
        """Return how often chance alone lets so few tables reach the observed one, or none of the first."""
        pvalue = (1 + count) / (1 + tables)
        if self.none_of is None or tables <= self.none_of:
            return pvalue
        # how often so many exceedances are none of the first ones: that is counted twice
        none = np.cumprod([1.0, *(1 - self.none_of / (tables - np.arange(count)))])
        return pvalue + 1 / (1 + self.none_of) - float(none.sum()) / (1 + tables)


def drawn_pvalues(
    requests: Sequence[MonteCarlo], statistic: Statistic, parts: Sequence[Evidence], nulls: FloatArray
) -> list[float]:
    """Return the p-values of tables that were asked `alike`, each by its own request; draws are fitted together.

    A cluster fits many batches of a single table at once: decisions are the same, not where a generator goes on from.
    """
    # rounded, so that no draw depends on which tables were fitted together
    possible = np.round(np.maximum(nulls, 0) / np.maximum(nulls, 0).sum(axis=-1, keepdims=True), 12)
    possible = possible / possible.sum(axis=-1, keepdims=True)
    most, alone = min(_TABLES_AT_ONCE, max(_CELLS_AT_ONCE // possible.shape[-1], 1)), len(requests) == 1
    at_once = _BATCHES_AT_ONCE if is_spread() and requests[0].enough is None and requests[0].seed is not None else 1
    numbers, sizes = [generator(request.rng) for request in requests], [request.sizes(most) for request in requests]
    observed = statistic(*_stacked(list(enumerate(parts)), possible, np.zeros(len(parts)))).statistic
    reached = [np.zeros(0, dtype=np.bool_) for _ in requests]
    pvalues, left = dict[int, float](), list(range(len(requests)))
    with progress(None, "Monte Carlo", requests[0].most if alone else None, "table") as bar:
        while left:
            drawn = [(index, size) for index in left for size in islice(sizes[index], at_once)]
            # drawn here one after the other, wherever they are fitted
            batches = ((index, parts[index].replicates(possible[index], size, numbers[index])) for index, size in drawn)
            stacks = _stacks(batches, possible, reached_from(observed), 0 if alone else most)
            statistics = np.concatenate(each(partial(_ranked, statistic), stacks))
            ends = np.cumsum([size for _, size in drawn])[:-1]
            for (index, size), of_tables in zip(drawn, np.split(statistics, ends), strict=True):
                reached[index] = np.append(reached[index], reaches(of_tables, observed[index]))
                bar.update(size)
            pvalues |= {index: requests[index].decided(reached[index]) for index in left}
            left = [index for index in left if math.isnan(pvalues[index])]
    return [pvalues[index] for index in range(len(requests))]


def _stacks(
    batches: Iterable[tuple[int, Evidence]], possible: FloatArray, least: FloatArray, most: int
) -> Iterator[_Stack]:
    """Yield batches put together, as long as they have no more than `most` tables."""
    waiting: list[tuple[int, Evidence]] = []
    for batch in batches:
        if waiting and sum(len(evidence) for _, evidence in (*waiting, batch)) > most:
            yield _stacked(waiting, possible, least)
            waiting = []
        waiting.append(batch)
    yield _stacked(waiting, possible, least)


def _stacked(tables: Sequence[tuple[int, Evidence]], possible: FloatArray, least: FloatArray) -> _Stack:
    """Return tables as one stack, with the frequencies that each was drawn at and what counts as reached."""
    if len(tables) == 1:
        index = tables[0][0]
        return tables[0][1], DrawnTables(possible[index], least[index : index + 1])
    rows = np.repeat([index for index, _ in tables], [len(evidence) for _, evidence in tables])
    return BlockEvidence.side_by_side([evidence for _, evidence in tables]), DrawnTables(possible[rows], least[rows])


@dataclass(frozen=True, slots=True)
class AmongMany(Saveable):
    """Ask for the p-value that "auto" gives, resolved well enough for one of many tests at the joint level `alpha`.

    Where next to no table reaches the observed one, it is drawn on until even a single dependence among so many tests
    could be shown (by Bonferroni, Holm, or Benjamini and Hochberg).
    """

    tests: int
    alpha: float = 0.05

    def __post_init__(self) -> None:
        at_least(self.tests, 1, "tests")
        object.__setattr__(self, "alpha", significance(self.alpha))

    @property
    def draws(self) -> int:
        """Number of tables of which none may reach the observed one, where it is to be shown among so many."""
        return math.ceil(self.tests / self.alpha)


ALONE = AmongMany(1)


def automatic(evidence: Evidence, cells: int, family: AmongMany = ALONE) -> MonteCarlo:
    """Return a Monte Carlo nobody asked for; its seed is taken from what was seen, so that a table has one p-value.

    It ends where 100 tables have reached the observed one (50 in a family), or after 1,999 if ten have, else when ten
    have; so a p-value of .05 is known to a tenth. Tables of 256 cells or more, and those of random subsets, take long:
    there fewer end it, also that none of the first 99 to 999 reaches the observed one. One of many tests draws at most
    what a single one does, or as many as must not reach it for a rejection (a p-value of a quarter of the least level
    is found below it in 78 of 100 draws).
    """
    subsets = isinstance(evidence, BlockEvidence) and not {block.noise.size for block in evidence.blocks} <= {None, 1}
    wide = int(np.searchsorted(_WIDE, cells, side="right"))
    enough, none, most = _EFFORTS[-1 if wide and subsets else wide]
    seed, most_of_first = zlib.crc32(evidence.fingerprint), min(_SETTLED, most)
    if family.tests == 1:
        return MonteCarlo(most_of_first, seed, enough, at_most=most, none_of=none)
    return MonteCarlo(most_of_first, seed, min(enough, _AMONG_MANY), at_most=max(most, family.draws))
