"""Component tests of the goodness of fit of a channel: what it allows of a tally, whatever the true answers are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation.block_stack import stacked
from ldpstats.estimation.blocks import Block
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import FloatArray, probability
from ldpstats.saving.registered import Share

_EXPECTED = 10
# so many drawn tallies as far out, of at most 4,999, are more than the level allows
_SEEN = 5
_MOST_TAILS = 10_000
_MOST_DESIGN = 4_000_000

Counts: TypeAlias = Sequence[NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ComponentTest:
    """The test of one thing that a channel says about a tally, by its name and in words."""

    name: str
    statistic: float
    pvalue: Share
    method: str  # of the p-value
    words: str  # what would be implausible about it

    def __post_init__(self) -> None:
        probability(self.pvalue, "a p-value")


@dataclass(frozen=True, slots=True)
class AsymptoticTest:
    """A component test with an asymptotic law: `look` returns statistics and p-values, nan if nothing can be tested."""

    name: str
    words: Callable[[Counts, int], str]
    look: Callable[[Counts], tuple[FloatArray, FloatArray]]  # from a stack of tallies per block

    def of(self, observed: Counts) -> list[ComponentTest | None]:
        """Test the collected tallies of each table."""
        found = enumerate(zip(*(one.tolist() for one in self.look(observed)), strict=True))
        return [
            None if isnan(pvalue) else ComponentTest(self.name, far, pvalue, "asymptotic", self.words(observed, place))
            for place, (far, pvalue) in found
        ]

    def compared(self, component: ComponentTest, drawn: Iterable[Counts]) -> ComponentTest:
        """Return a Monte Carlo p-value by rank among drawn tallies, until these show that nothing is odd.

        Without any drawn ones it is 1: the question is left open.
        """
        reached = tables = 0
        for counts in drawn:
            _, pvalues = self.look(counts)
            reached += int(np.count_nonzero(pvalues <= component.pvalue * (1 + 1e-9)))
            tables += pvalues.size
            if reached >= _SEEN:
                break
        if not tables:
            return replace(component, pvalue=1.0, method="left open: too few reports, or too large a table")
        return replace(component, pvalue=(1 + reached) / (1 + tables), method=f"Monte Carlo, {tables:,} tallies")


def shares(tables: Sequence[Sequence[Block]]) -> list[list[ComponentTest]]:
    """Compare every count with the two binomial laws between which it lies: their tails are exact bounds.

    There is nothing to compare where counts are not numbers of reports. Several tables have a single block each, and
    were asked alike.
    """
    stacks, others = stacked(tables[0]) if len(tables) == 1 else ([], tables[0])
    parts: list[tuple[NDArray[Any], ...]] = [
        (stack.counts, stack.n, stack.fakes, stack.fakes + stack.truth) for stack in stacks
    ]
    for place, block in enumerate(tables[0]):
        reach = _reach(block.noise) if any(block is one for one in others) else None
        if reach is not None:
            same = [blocks[place] for blocks in tables]
            parts.append((np.array([one.tally.counts for one in same]), np.array([[one.n] for one in same]), *reach))
    rows = [[one.reshape(len(tables), -1) for one in np.broadcast_arrays(*part)] for part in parts]
    tails = [_tails(*part) for part in rows]
    looked, found = 2 * sum(one.shape[1] for one in tails), []
    for table in range(len(tables) if looked else 0):
        pvalue, share, words = 1.0, 0.0, ""
        for part, own in zip(rows, tails, strict=True):
            worst = int(own[table].argmin())
            if own[table, worst] < pvalue:
                pvalue = float(own[table, worst])
                often, of, low, high = (float(one[table, worst]) for one in part)
                share = often / of
                words = (
                    f"an answer stands in {often:,.0f} of {of:,.0f} reports, where the channel makes {low * of:,.0f} "
                    f"to {high * of:,.0f} on average"
                )
        name = "the share of every answer"
        found.append([ComponentTest(name, share, min(1.0, looked * pvalue), "exact binomial bounds", words)])
    return found or [[]] * len(tables)


def _reach(noise: NoiseModel) -> tuple[FloatArray, FloatArray] | None:
    """Return the least and largest expected share of every output; None if counts have no bounds, or costly ones."""
    if noise.largest != 1:
        return None
    bounds = noise.bounds()
    if bounds is not None and noise.outputs == noise.cells:
        # an estimate is its own count, rescaled: these are the shares at the frequencies zero and one
        none, every = bounds
        return -none / (every - none), (1 - none) / (every - none)
    if noise.outputs * noise.cells > _MOST_DESIGN:
        return None
    matrix, offset = noise.design()
    return matrix.min(axis=1) + offset, matrix.max(axis=1) + offset


def _tails(counts: NDArray[Any], n: NDArray[Any], lowest: FloatArray, highest: FloatArray) -> FloatArray:
    """Return binomial tails of counts beyond the nearer bound, a row per table; 1 for counts between the bounds.

    Of very many counts only the farthest are looked at; the others are left at 1, which is conservative.
    """
    from scipy.special import bdtr, bdtrc

    tails = np.ones(counts.shape)
    above, below = counts > n * highest, counts < n * lowest
    bound = np.clip(np.where(above, highest, lowest), 0, 1)
    far = np.where(above | below, np.abs(counts - n * bound) / np.sqrt(n * bound * (1 - bound) + 1e-12), 0)
    if far.shape[1] > _MOST_TAILS:
        least = np.partition(far, -_MOST_TAILS, axis=1)[:, -_MOST_TAILS, None]
        above, below = above & (far >= least), below & (far >= least)
    tails[above] = bdtrc(counts[above] - 1, n[above], bound[above])
    tails[below] = bdtr(counts[below], n[below], bound[below])
    return tails


def totals(tables: Sequence[Sequence[Block]]) -> list[AsymptoticTest]:
    """Test the mean of what a report counts for (such as bits set), where that is not the same for each.

    Tables are as for `shares`.
    """
    known = [(place, block.noise.total()) for place, block in enumerate(tables[0])]
    laws = [(place, law) for place, law in known if law is not None]
    if not laws:
        return []
    sizes = np.array([[blocks[place].n for blocks in tables] for place, _ in laws])
    lowest, highest, variances = np.array([(law.lowest, law.highest, law.variance) for _, law in laws]).T[..., None]

    def means(counts: Counts) -> FloatArray:
        found: FloatArray = np.array([law.of(counts[place]) for place, law in laws]) / sizes
        return found

    def away(counts: Counts) -> FloatArray:
        mean = means(counts)
        far: FloatArray = np.abs(mean - np.clip(mean, lowest, highest)) / np.sqrt(variances / sizes)
        return far

    def look(counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import ndtr

        far = away(counts).max(axis=0)
        return far, np.minimum(2 * len(laws) * ndtr(-far), 1.0)

    def words(counts: Counts, table: int) -> str:
        far = away(counts)[:, table]
        worst = int(far.argmax())
        made = " to ".join(dict.fromkeys([f"{lowest[worst, 0]:.3g}", f"{highest[worst, 0]:.3g}"]))
        return (
            f"a report counts for {means(counts)[worst, table]:.3g} answers on average, where the mechanism makes "
            f"{made}: {far[worst]:.1f} standard errors off"
        )

    return [AsymptoticTest("how many answers a report counts for", words, look)]


def report_sizes(sizes: NDArray[np.int64], law: FloatArray) -> list[ComponentTest]:
    """Test by Pearson's χ² how many values single reports support; `law` has each number's probability, from zero on.

    Neighbouring numbers are taken together until at least ten reports are expected; nothing is compared where that
    leaves a single class.
    """
    from scipy.special import chdtrc

    expected, observed = sizes.size * law, np.bincount(sizes, minlength=law.size)
    starts, waiting = [0], 0.0
    for place, often in enumerate(expected):
        if waiting >= _EXPECTED and expected[place:].sum() >= _EXPECTED:
            starts.append(place)
            waiting = 0.0
        waiting += often
    if len(starts) < 2:
        return []
    pooled, seen = np.add.reduceat(expected, starts), np.add.reduceat(observed, starts)
    statistic = float(((seen - pooled) ** 2 / pooled).sum())
    name, pvalue = "how many values single reports support", float(chdtrc(pooled.size - 1, statistic))
    words = "reports that support as many values as these do would come in other proportions"
    return [ComponentTest(name, statistic, pvalue, "asymptotic", words)]


def repeated_functions(seeds: NDArray[np.uint64]) -> list[ComponentTest]:
    """Count pairs of reports with the same one of 2^128 hash functions; Markov's inequality bounds the p-value.

    Seeds have the shape (reports, 2).
    """
    _, often = np.unique(seeds, axis=0, return_counts=True)
    pairs, all_pairs = float((often * (often - 1) / 2).sum()), len(seeds) * (len(seeds) - 1) / 2
    pvalue = min(1.0, all_pairs * 2.0**-128 / pairs) if pairs else 1.0
    words = f"{pairs:,.0f} pairs of reports have the same hash function, which every device draws anew"
    return [ComponentTest("hash functions that come again", pairs, pvalue, "exact bound", words)]
