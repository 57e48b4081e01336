"""Component tests of the goodness of fit of a channel: what it allows of a tally, whatever the true answers are."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation.block_stack import above_zero, stacked, total_score
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_in_information
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray, probability
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
        looked = enumerate(zip(*(column.tolist() for column in self.look(observed)), strict=True))
        return [
            None if isnan(pvalue) else ComponentTest(self.name, far, pvalue, "asymptotic", self.words(observed, table))
            for table, (far, pvalue) in looked
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
    for index, block in enumerate(tables[0]):
        reach = _reach(block.noise) if any(block is other for other in others) else None
        if reach is not None:
            same = [blocks[index] for blocks in tables]
            counts, n = [twin.tally.counts for twin in same], [[twin.n] for twin in same]
            parts.append((np.array(counts), np.array(n), *reach))
    rows = [[array.reshape(len(tables), -1) for array in np.broadcast_arrays(*part)] for part in parts]
    tails = [_tails(*part) for part in rows]
    looked, tests = 2 * sum(tail.shape[1] for tail in tails), []
    for table in range(len(tables) if looked else 0):
        pvalue, share, words = 1.0, 0.0, ""
        for part, own in zip(rows, tails, strict=True):
            worst = int(own[table].argmin())
            if own[table, worst] < pvalue:
                pvalue = float(own[table, worst])
                often, of, low, high = (float(array[table, worst]) for array in part)
                share = often / of
                words = (
                    f"an answer stands in {often:,.0f} of {of:,.0f} reports, where the channel makes {low * of:,.0f} "
                    f"to {high * of:,.0f} on average"
                )
        name = "the share of every answer"
        tests.append([ComponentTest(name, share, min(1.0, looked * pvalue), "exact binomial bounds", words)])
    return tests or [[]] * len(tables)


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
    known = [(index, block.noise.total()) for index, block in enumerate(tables[0])]
    laws = [(index, law) for index, law in known if law is not None]
    if not laws:
        return []
    sizes = np.array([[blocks[index].n for blocks in tables] for index, _ in laws])
    lowest, highest, variances = np.array([(law.lowest, law.highest, law.variance) for _, law in laws]).T[..., None]

    def means(counts: Counts) -> FloatArray:
        averages: FloatArray = np.array([law.of(counts[index]) for index, law in laws]) / sizes
        return averages

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
    for number, often in enumerate(expected):
        if waiting >= _EXPECTED and expected[number:].sum() >= _EXPECTED:
            starts.append(number)
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


_DRAWS, _BATCH = 4999, 250
# with four component tests a p-value of one in so many is still below the level
_FEWEST_DRAWS = 4500
_FEW = 20
_NEVER = 1e-6
_STEPS = 2
_MOST_DRAWN = 5_000_000
_AT_ODDS = "the channel's outputs contradict each other: no frequencies explain them together"
_TOO_FAR = "estimated frequencies are below 0, or above 1, by more than chance explains"


class ConstrainedFit:
    """The proper frequencies nearest to the tallies of each table, at which asymptotic tests are evaluated.

    Several tables have a single block with reports each, and were asked alike. Frequencies, of which every cell has at
    least half a respondent so that every law has a density, and scores have a row per table; score and information
    are of all reports.
    """

    def __init__(self, tables: Sequence[Sequence[Block]]) -> None:
        """Start from equal frequencies, and take a few steps of Fisher scoring within the simplex."""
        n, cells = np.array([[sum(block.n for block in blocks)] for blocks in tables]), tables[0][0].question.cells
        self.tables, self.frequencies, free = tables, np.full((len(tables), cells), 1 / cells), None
        self.score, self.information = _scores(tables, self.frequencies)
        for _ in range(_STEPS):
            nearest = nearest_in_information(self.score, _alone(self.information), _alone(self.frequencies), free)
            self.frequencies, free = above_zero(nearest.frequencies, n), nearest.free
            self.score, self.information = _scores(tables, self.frequencies)
        self.free = nearest.free  # the cells that are not held at zero

    def tests(self) -> list[AsymptoticTest]:
        """Return the component tests that need this fit."""
        directions = [self._contradictions(index) for index in range(len(self.tables[0]))]
        known = [(index, of) for index, of in enumerate(directions) if of is not None]

        def contradictions(counts: Counts) -> tuple[FloatArray, FloatArray]:
            parts = [of(counts[index]) for index, of in known]
            least = np.argmin([pvalues for _, pvalues in parts], axis=0)[None, :]
            statistics, pvalues = (np.take_along_axis(np.array(part), least, 0)[0] for part in zip(*parts, strict=True))
            return statistics, np.minimum(len(known) * pvalues, 1.0)

        distance = AsymptoticTest("distance from proper frequencies", lambda *_: _TOO_FAR, self._distance)
        together = AsymptoticTest("outputs that must fit together", lambda *_: _AT_ODDS, contradictions)
        return [together, distance] if known else [distance]

    @property
    def few(self) -> BoolArray:
        """Tables for which fewer than 20 reports of some kind, or not of it, are expected: asymptotics are in doubt."""
        blocks = self.tables[0]
        stacks, others = stacked(blocks) if len(self.tables) == 1 else ([], blocks)
        rarest = [(stack.n * stack.mean(self.frequencies[0])).sum(axis=0).min(keepdims=True) for stack in stacks]
        for block in others:
            noise, answers = block.noise, block.question.answer_frequencies(self.frequencies)
            if noise.largest == 1:
                mean = noise.mean(answers)
                rarer = np.minimum(mean, 1 - mean).min(axis=-1)
            else:
                # of sums the least variance over the squared bound: zero without bounds, when nothing is known of tails
                variances = np.diagonal(noise.report_covariance(answers), axis1=-2, axis2=-1)
                rarer = variances.min(axis=-1) / noise.largest**2
            rarest.append(self._sizes(blocks.index(block))[:, 0] * rarer)
        scarce: BoolArray = np.min(rarest, axis=0) < _FEW
        return scarce

    def drawn(self) -> Iterator[Counts]:
        """Yield batches of tallies drawn at one table's fitted frequencies; none if that is much work."""
        (blocks,), (frequencies,) = self.tables, self.frequencies
        size = min(_DRAWS, _MOST_DRAWN // sum(block.noise.outputs for block in blocks))
        rng = np.random.default_rng(zlib.crc32(b"".join(block.tally.counts.tobytes() for block in blocks)))
        for drawn in range(0, size if size >= _FEWEST_DRAWS else 0, _BATCH):
            yield [block.draw(frequencies, min(_BATCH, size - drawn), rng) for block in blocks]

    def _sizes(self, index: int) -> NDArray[np.int64]:
        return np.array([[blocks[index].n] for blocks in self.tables])

    def _distance(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import chdtrc

        score, free = self.score, self.free
        if len(counts[0]) > len(self.tables):
            # not the collected tallies, of which there may be thousands
            parts = zip(self.tables[0], counts, strict=True)
            score = np.sum([block.score(self.frequencies[0], tallies)[0] for block, tallies in parts], axis=0)
            free = np.ones(score.shape, dtype=np.bool_)
        nearest = nearest_in_information(score, _alone(self.information), _alone(self.frequencies), free)
        tails = chdtrc(np.maximum(nearest.held, 1), np.maximum(nearest.distance, 0))
        return nearest.distance, np.where(nearest.held > 0, tails, 1.0)

    def _contradictions(self, index: int) -> Callable[[NDArray[Any]], tuple[FloatArray, FloatArray]] | None:
        """Return Pearson's χ² of one block beyond what frequencies explain; None where they explain every output.

        Where expected counts are small its variance exceeds twice its mean; it is taken for a multiple of a χ². Outputs
        that no respondent makes, whatever her value, are left to their own shares.
        """
        from scipy.linalg import helmert
        from scipy.special import chdtrc

        noise, n = self.tables[0][index].noise, self._sizes(index)
        if noise.channel is None or noise.outputs <= noise.cells:
            return None
        frequencies = self.tables[0][index].question.answer_frequencies(self.frequencies)
        mean, contrasts = noise.mean(frequencies), helmert(noise.cells).T
        known = n[..., None] * noise.score(frequencies, mean, 1)[1].between(contrasts)
        made = n * mean > _NEVER
        outputs = made.sum(axis=-1)
        freedom = outputs - 1 - np.linalg.matrix_rank(known, hermitian=True)
        if (freedom < 1).all():
            return None
        explained = contrasts @ np.linalg.pinv(known, hermitian=True) @ contrasts.T
        expected = np.where(made, n * mean, np.inf)
        excess = (n / expected).sum(axis=-1) - outputs**2 - 2 * outputs + 2
        freedom = np.where(freedom < 1, np.nan, freedom)
        stretch = 1 + np.maximum(excess, 0) / n[:, 0] / (2 * freedom)

        def look(counts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
            score = n * noise.score(frequencies, counts / n, 1)[0]
            pearson = (np.where(made, counts - n * mean, 0) ** 2 / expected).sum(axis=-1)
            beyond = pearson - ((score[:, None, :] @ explained)[:, 0] * score).sum(axis=-1)
            return beyond, chdtrc(freedom / stretch, np.maximum(beyond, 0) / stretch)

        return look


def _scores(tables: Sequence[Sequence[Block]], frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the score of each table's cells, up to a multiple of ones, and its information over all blocks."""
    if len(tables) == 1:
        score, information = total_score(tables[0], frequencies[0])
        return score[None], information[None]
    blocks = [block for (block,) in tables]
    n = np.array([[block.n] for block in blocks])
    shares = np.array([block.tally.counts for block in blocks]) / n
    # of as many respondents as the first one has
    score, low_rank = blocks[0].score(frequencies, blocks[0].n * shares)
    return n / blocks[0].n * score, (n / blocks[0].n)[..., None] * low_rank.dense()


def _alone(arrays: FloatArray) -> FloatArray:
    """Drop the axis of tables if there is but one."""
    return arrays[0] if len(arrays) == 1 else arrays
