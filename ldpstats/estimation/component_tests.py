"""Component tests of the goodness of fit of a channel: what it allows of a tally, whatever the true answers are."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.estimation.block_stack import BlockLike, stacked
from ldpstats.estimation.nearest import nearest_in_information
from ldpstats.estimation.several import above_zero, total_score
from ldpstats.noise import MultinomialNoise, NoiseModel

_DRAWS = 9999
# with four component tests a p-value of one in so many is still below the level
_FEWEST_DRAWS = 4500
_FEW = 20
_EXPECTED = 10
_NEVER = 1e-6
_MOST_TAILS = 10_000
_STEPS = 2
_MOST_DRAWN = 5_000_000
_MOST_DESIGN = 4_000_000

Counts: TypeAlias = Sequence[NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ComponentTest:
    """The test of one thing that a channel says about a tally.

    Parameters
    ----------
    name : str
        What was tested.
    statistic, pvalue : float
        How far it is from what the channel allows, and how often chance alone goes as far.
    method : str
        Where the p-value comes from.
    words : str
        What would be implausible about it.
    """

    name: str
    statistic: float
    pvalue: float
    method: str
    words: str


@dataclass(frozen=True, slots=True)
class AsymptoticTest:
    """A component test with an asymptotic law: statistics and p-values of tallies, of which every block has a stack."""

    name: str
    words: Callable[[Counts], str]
    look: Callable[[Counts], tuple[FloatArray, FloatArray]]

    def of(self, observed: Counts) -> ComponentTest:
        """Look at the tallies that were collected."""
        (statistic,), (pvalue,) = self.look(observed)
        return ComponentTest(self.name, float(statistic), float(pvalue), "asymptotic", self.words(observed))

    def compared(self, observed: Counts, drawn: Counts | None) -> ComponentTest:
        """Rank the tallies that were collected among drawn ones; without any, nothing is shown."""
        component = self.of(observed)
        if drawn is None:
            return replace(component, pvalue=1.0, method="left open: too few reports, or too large a table")
        _, pvalues = self.look(drawn)
        reached = np.count_nonzero(pvalues <= component.pvalue * (1 + 1e-9))
        tables = pvalues.size
        return replace(component, pvalue=(1 + reached) / (1 + tables), method=f"Monte Carlo, {tables:,} tallies")


def shares(blocks: Sequence[BlockLike]) -> list[ComponentTest]:
    """Compare every count with the two binomial laws between which it lies: their tails are exact bounds.

    There is nothing to compare where counts are not numbers of reports.
    """
    stacks, others = stacked(blocks)
    parts: list[tuple[NDArray[Any], ...]] = [
        (stack.counts, stack.n, stack.fakes, stack.fakes + stack.truth) for stack in stacks
    ]
    for block in others:
        reach = _reach(block.tally.noise)
        if reach is not None:
            parts.append((block.tally.counts[None, :], np.array([[block.n]]), *reach))
    looked, pvalue, share, words = 0, 1.0, 0.0, ""
    for counts, n, lowest, highest in parts:
        tails = _tails(counts, n, lowest, highest)
        looked += 2 * tails.size
        worst = np.unravel_index(int(tails.argmin()), tails.shape)
        if tails[worst] < pvalue:
            low, high, often, of = (float(np.broadcast_to(x, tails.shape)[worst]) for x in (lowest, highest, counts, n))
            pvalue, share = float(tails[worst]), often / of
            words = (
                f"an answer stands in {often:,.0f} of {of:,.0f} reports, where the channel makes {low * of:,.0f} to "
                f"{high * of:,.0f} on average"
            )
    test = ComponentTest("the share of every answer", share, min(1.0, looked * pvalue), "exact binomial bounds", words)
    return [test] if looked else []


def _reach(noise: NoiseModel) -> tuple[FloatArray, FloatArray] | None:
    """Return the least and the largest expected share of every output; None where counts have no bounds, or costly."""
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
    """Return how often a binomial count at the nearer bound is at least as far out; 1 between the bounds.

    Of very many counts only the farthest are looked at; the others are left at 1, which is on the safe side.
    """
    from scipy.special import bdtr, bdtrc

    counts, n, lowest, highest = np.broadcast_arrays(counts, n, lowest, highest)
    tails = np.ones(counts.shape)
    above, below = counts > n * highest, counts < n * lowest
    bound = np.clip(np.where(above, highest, lowest), 0, 1)
    far = np.where(above | below, np.abs(counts - n * bound) / np.sqrt(n * bound * (1 - bound) + 1e-12), 0)
    if far.size > _MOST_TAILS:
        least = np.partition(far.ravel(), -_MOST_TAILS)[-_MOST_TAILS]
        above, below = above & (far >= least), below & (far >= least)
    tails[above] = bdtrc(counts[above] - 1, n[above], bound[above])
    tails[below] = bdtr(counts[below], n[below], bound[below])
    return tails


def totals(blocks: Sequence[BlockLike]) -> list[AsymptoticTest]:
    """Return how far from its expectation what reports count for in total is, if that is not the same for each."""
    known = [(place, block.n, block.tally.noise.total()) for place, block in enumerate(blocks)]
    laws = [(place, n, law) for place, n, law in known if law is not None]
    if not laws:
        return []

    def means(counts: Counts) -> FloatArray:
        return np.array([law.of(counts[place]) / n for place, n, law in laws])

    lowest, highest, errors = np.array([(law.lowest, law.highest, np.sqrt(law.variance / n)) for _, n, law in laws]).T

    def away(counts: Counts) -> FloatArray:
        mean = means(counts).T
        far: FloatArray = np.abs(mean - np.clip(mean, lowest, highest)) / errors
        return far

    def look(counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import ndtr

        far = away(counts).max(axis=-1)
        return far, np.minimum(2 * len(laws) * ndtr(-far), 1.0)

    def words(counts: Counts) -> str:
        far = away(counts)[0]
        worst = int(far.argmax())
        made = " to ".join(dict.fromkeys([f"{lowest[worst]:.3g}", f"{highest[worst]:.3g}"]))
        return (
            f"a report counts for {means(counts)[worst, 0]:.3g} answers on average, where the mechanism makes "
            f"{made}: {far[worst]:.1f} standard errors off"
        )

    return [AsymptoticTest("how many answers a report counts for", words, look)]


def report_sizes(sizes: NDArray[np.int64], law: FloatArray) -> list[ComponentTest]:
    """Compare how many values single reports support with the law of that number, by Pearson's χ².

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
    words = "reports that support as many values as these do would come in other proportions"
    return [
        ComponentTest(
            "how many values single reports support",
            statistic,
            float(chdtrc(pooled.size - 1, statistic)),
            "asymptotic",
            words,
        )
    ]


def repeated_functions(seeds: NDArray[np.uint64]) -> list[ComponentTest]:
    """Count pairs of reports with the same hash function, of which there are 2^128: by Markov's inequality."""
    _, often = np.unique(seeds, axis=0, return_counts=True)
    pairs, all_pairs = float((often * (often - 1) / 2).sum()), len(seeds) * (len(seeds) - 1) / 2
    pvalue = min(1.0, all_pairs * 2.0**-128 / pairs) if pairs else 1.0
    words = f"{pairs:,.0f} pairs of reports have the same hash function, which every device draws anew"
    return [ComponentTest("hash functions that come again", pairs, pvalue, "exact bound", words)]


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedFit:
    """The proper frequencies nearest to the tallies of some blocks, where everything asymptotic is evaluated.

    Parameters
    ----------
    blocks : sequence of BlockLike
        Blocks with reports.
    frequencies : array, shape (cells,)
        No less than half a respondent in any cell, so that every law has a density there.
    information : array, shape (cells, cells)
        That of all the reports at these frequencies.
    free : array of bool, shape (1, cells)
        The cells that are not held at zero.
    """

    blocks: Sequence[BlockLike]
    frequencies: FloatArray
    information: FloatArray
    free: BoolArray

    @classmethod
    def of(cls, blocks: Sequence[BlockLike]) -> ConstrainedFit:
        """Start from equal frequencies, and take a few steps of Fisher scoring within the simplex."""
        n, cells = sum(block.n for block in blocks), blocks[0].question.cells
        frequencies, free = np.full(cells, 1 / cells), None
        for _ in range(_STEPS):
            score, information = total_score(blocks, frequencies)
            nearest = nearest_in_information(score[None, :], information, frequencies, free)
            frequencies, free = above_zero(nearest.frequencies[0], n), nearest.free
        return cls(blocks, frequencies, total_score(blocks, frequencies)[1], nearest.free)

    def tests(self) -> list[AsymptoticTest]:
        """Return the component tests that need this point."""
        directions = [self._contradictions(place) for place in range(len(self.blocks))]
        known = [(place, of) for place, of in enumerate(directions) if of is not None]

        def contradictions(counts: Counts) -> tuple[FloatArray, FloatArray]:
            found = [of(counts[place]) for place, of in known]
            least = np.argmin([pvalues for _, pvalues in found], axis=0)[None, :]
            statistics, pvalues = (np.take_along_axis(np.array(one), least, 0)[0] for one in zip(*found, strict=True))
            return statistics, np.minimum(len(known) * pvalues, 1.0)

        distance = AsymptoticTest("distance from proper frequencies", _too_far, self._distance)
        return (
            [AsymptoticTest("outputs that must fit together", _at_odds, contradictions), distance]
            if known
            else [distance]
        )

    @property
    def few(self) -> bool:
        """Whether so few reports of some kind, or without it, are expected that asymptotic laws are in doubt."""
        stacks, others = stacked(self.blocks)
        rarest = [float((stack.n * stack.mean(self.frequencies)).sum(axis=0).min()) for stack in stacks]
        for block in others:
            noise = block.tally.noise
            answers = block.question.answer_frequencies(self.frequencies)
            rarest.append(block.n * _rarer(noise, answers))
        return min(rarest) < _FEW

    def drawn(self) -> list[NDArray[np.int64]] | None:
        """Draw tallies of as many respondents with these frequencies, if that is not too much work."""
        tables = min(_DRAWS, _MOST_DRAWN // sum(block.tally.noise.outputs for block in self.blocks))
        if tables < _FEWEST_DRAWS:
            return None
        rng = np.random.default_rng(zlib.crc32(b"".join(block.tally.counts.tobytes() for block in self.blocks)))
        return [
            block.tally.noise.draw(block.question.answer_frequencies(self.frequencies), block.n, tables, rng)
            for block in self.blocks
        ]

    def _distance(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        from scipy.special import chdtrc

        if len(counts[0]) == 1:
            # the collected tallies, of which there may be thousands
            score, free = total_score(self.blocks, self.frequencies)[0][None, :], self.free
        else:
            parts = zip(self.blocks, counts, strict=True)
            score = np.sum([block.score(self.frequencies, tallies)[0] for block, tallies in parts], axis=0)
            free = np.ones(score.shape, dtype=np.bool_)
        nearest = nearest_in_information(score, self.information, self.frequencies, free)
        tails = chdtrc(np.maximum(nearest.held, 1), np.maximum(nearest.distance, 0))
        return nearest.distance, np.where(nearest.held > 0, tails, 1.0)

    def _contradictions(self, place: int) -> Callable[[NDArray[Any]], tuple[FloatArray, FloatArray]] | None:
        """Return Pearson's χ² of one block beyond what frequencies explain; None where they explain every output.

        Where expected counts are small its variance exceeds twice its mean; it is taken for a multiple of a χ².
        Outputs that no respondent makes, whatever her value, are left to their own shares.
        """
        from scipy.special import chdtrc

        block = self.blocks[place]
        noise, n = block.tally.noise, block.n
        if not isinstance(noise, MultinomialNoise) or noise.outputs <= noise.cells:
            return None
        frequencies = block.question.answer_frequencies(self.frequencies)
        mean = noise.mean(frequencies)
        contrasts = np.linalg.svd(np.ones((1, noise.cells)))[2][1:].T
        known = noise.score(frequencies, mean, n)[1].between(contrasts)
        made = n * mean > _NEVER
        outputs = int(made.sum())
        freedom = outputs - 1 - int(np.linalg.matrix_rank(known, hermitian=True))
        if freedom < 1:
            return None
        explained = contrasts @ np.linalg.pinv(known, hermitian=True) @ contrasts.T
        expected = n * mean[made]
        variance = 2 * freedom + max(float((n / expected).sum()) - outputs**2 - 2 * outputs + 2, 0.0) / n
        stretch = variance / (2 * freedom)

        def look(counts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
            score, _ = noise.score(frequencies, counts, n)
            pearson = ((counts[:, made] - expected) ** 2 / expected).sum(axis=-1)
            beyond = pearson - ((score @ explained) * score).sum(axis=-1)
            return beyond, chdtrc(freedom / stretch, np.maximum(beyond, 0) / stretch)

        return look


def _rarer(noise: NoiseModel, frequencies: FloatArray) -> float:
    """Return how often the rarest report of some kind, or a report not of it, comes; of sums, what varies as much."""
    if noise.largest == 1:
        mean = noise.mean(frequencies)
        return float(np.minimum(mean, 1 - mean).min())
    # zero where an entry has no bounds: nothing is known of its tails
    return float(np.diagonal(noise.report_covariance(frequencies)).min()) / noise.largest**2


def _at_odds(_counts: Counts) -> str:
    return "the channel's outputs contradict each other: no frequencies explain them together"


def _too_far(_counts: Counts) -> str:
    return "estimated frequencies are below 0, or above 1, by more than chance explains"
