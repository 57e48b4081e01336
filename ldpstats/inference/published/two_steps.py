"""The two steps of Imran & Meo (2024): from a noisy table to a proper one, and from that to its dependence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.estimation.unbiased_estimates import last_two
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.monte_carlo import MonteCarlo
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, probability, real_array, real_number
from ldpstats.numbers.randomness import generator

NoisyEstimate: TypeAlias = Literal["auto", "two blocks", "closed form", "unbiased"]
Rule: TypeAlias = Literal["any table", "observed table", "two cells", "none"]

_SMALL = 5
_AT_ONCE = 4_000_000
"""How many entries of tallies are drawn at once."""
RULES: Mapping[Rule, str] = {
    "any table": "a cell below 5, in the observed or any drawn table, accepts",
    "observed table": "a cell below 5 in the observed table accepts",
    "two cells": "more than one cell below 5 in the observed table accept",
    "none": "small cells do not matter",
}


def proper_table(counts: FloatArray, n: float, gamma: float = 0.01) -> FloatArray:
    """Return the nonnegative counts with the sum n that are nearest to given ones (Imran & Meo 2024, Eq. 7).

    Nearest is what makes γ ‖T − x‖₁ + (1 − γ) ‖T − x‖₂² least. For every γ < 1 that is the Euclidean projection
    max(T − θ, 0): where θ > 0 no cell is raised but the negative ones, and those to zero; where θ < 0 all are raised;
    so that the ℓ1 norm is least there, too. (Code for MCIndep gives γ to the other norm, which changes nothing then.)
    At γ = 1 many tables are equally near, and the paper does not say which to take. Here negative cells are cut, and
    what is then too much is taken from the largest cells, or what is missing added to the largest: a vertex of the
    linear program that does not depend on the order of the cells (but for ties).

    Parameters
    ----------
    counts : array, shape (..., cells)
    n : float
        The sum, above 0.
    gamma : float
        From 0 to 1.

    Returns
    -------
    array
        Of the same shape as the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.inference.published import proper_table
    >>> proper_table(np.array([8.0, 5.0, -1.0]), 10)
    array([6.5, 3.5, 0. ])
    >>> proper_table(np.array([8.0, 5.0, -1.0]), 10, gamma=1)
    array([5., 5., 0.])
    """
    counts, gamma = real_array(counts, "counts"), probability(gamma, "gamma")
    if not real_number(n) > 0:
        raise LdpstatsError(f"n = {n!r}", "a number above 0")
    if gamma < 1:
        return n * nearest_proper(counts / n)
    positive = np.maximum(counts, 0)
    order = np.argsort(-positive, axis=-1, kind="stable")
    ranked = np.take_along_axis(positive, order, -1)
    left = n - positive.sum(axis=-1, keepdims=True)
    before = np.cumsum(ranked, axis=-1) - ranked
    moved = ranked - np.clip(-left - before, 0, ranked)
    moved[..., :1] += np.maximum(left, 0)
    settled: FloatArray = np.empty_like(moved)
    np.put_along_axis(settled, order, moved, -1)
    return settled


@dataclass(frozen=True, slots=True, eq=False)
class ChiSquare:
    """Pearson's statistic, the fitted frequencies, and how many cells are below 5, for every table."""

    statistic: FloatArray
    expected: FloatArray
    small: IntArray


def chi_square(counts: FloatArray, shape: tuple[int, ...]) -> ChiSquare:
    """Measure counts against the product of their margins (uniform, if there are none); expected zeros say nothing."""
    total = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, total, out=np.full(counts.shape, 1 / counts.shape[-1]), where=total > 0)
    cells = shares.reshape(-1, *shape)
    product = np.ones_like(cells)
    for axis in range(1, cells.ndim):
        product *= cells.sum(axis=tuple(other for other in range(1, cells.ndim) if other != axis), keepdims=True)
    expected = product.reshape(shares.shape)
    gaps = np.divide((shares - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
    statistic: FloatArray = total[..., 0] * gaps.sum(axis=-1)
    return ChiSquare(statistic, expected, np.count_nonzero(counts < _SMALL, axis=-1))


def accepted_by(rule: Rule, small_cells: int, small_tables: int) -> bool:
    """Say whether a rule of thumb accepts, by the small cells observed, and drawn tables with such cells."""
    return {
        "any table": small_cells > 0 or small_tables > 0,
        "observed table": small_cells > 0,
        "two cells": small_cells > 1,
        "none": False,
    }[rule]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """An estimate of the cells that is linear in the tallies of some blocks; `forgets` if it leaves out others."""

    blocks: tuple[Block, ...]
    estimate: Callable[[Sequence[NDArray[np.int64]]], FloatArray]
    words: str
    forgets: bool

    def counts_of(self, evidence: BlockEvidence, n: int) -> FloatArray:
        """Return the estimated tables as counts of n respondents each."""
        return n * self.estimate(evidence.counts)


def noisy_table(blocks: tuple[Block, ...], estimate: NoisyEstimate) -> NoisyTable:
    """Return the estimate that was asked for, for many tables at once; of one it is that of `Table.estimated_by`."""
    faked = all_truth_or_fake(blocks)
    if estimate not in ("auto", "two blocks", "closed form", "unbiased"):
        raise LdpstatsError(f"estimate = {estimate!r}", "'auto', 'two blocks', 'closed form' or 'unbiased'")
    if estimate == "auto":
        estimate = "two blocks" if faked and len(blocks) > 1 else "unbiased"
    if estimate == "unbiased" and not faked:
        alone = len(blocks) == 1 and blocks[0].question.is_bijection
        inverted = _weighted(blocks, np.ones(1)) if alone else LinearPooling(blocks).estimate
        return NoisyTable(blocks, inverted, "the unbiased estimate", forgets=False)
    if not faked or (estimate == "two blocks" and len(blocks) < 2):
        raise LdpstatsError(
            f"estimate = {estimate!r} for {len(blocks)} blocks",
            "at least two truth-or-fake blocks (randomized response) that ask for the cells themselves",
            "'unbiased' takes any blocks.",
        )
    if estimate == "two blocks":
        last = tuple(last_two(blocks))
        words = "the average of the last two blocks" + (f" of {len(blocks)}" if len(blocks) > 2 else "")
        return NoisyTable(last, _weighted(last, np.array([0.5, 0.5])), words, forgets=len(blocks) > 2)
    power = 1 if estimate == "closed form" else 2
    stack = TruthOrFakeStack.of(blocks)
    weights = (stack.n * stack.truth**power).ravel()
    return NoisyTable(blocks, _weighted(blocks, weights / weights.sum()), f"all blocks ({estimate})", forgets=False)


def _weighted(blocks: Sequence[Block], weights: FloatArray) -> Callable[[Sequence[NDArray[np.int64]]], FloatArray]:
    """Return the weighted average of the blocks' own estimates, as a function of tallies."""

    def estimate(counts: Sequence[NDArray[np.int64]]) -> FloatArray:
        parts = zip(blocks, weights, counts, strict=True)
        alone = (weight * block.noise.debias(tally / block.n)[..., block.classes] for block, weight, tally in parts)
        pooled: FloatArray = np.sum(list(alone), axis=0)
        return pooled

    return estimate


def two_steps(counts: FloatArray, n: int, shape: tuple[int, ...], gamma: float) -> ChiSquare:
    """Take estimated tables to the nearest proper ones, and measure their dependence."""
    return chi_square(proper_table(counts, n, gamma), shape)


def redrawn(
    noisy: NoisyTable, null: FloatArray, n: int, shape: tuple[int, ...], gamma: float, drawn: MonteCarlo
) -> tuple[FloatArray, BoolArray]:
    """Return the statistics of tables drawn under the fitted hypothesis, and whether each has a small cell."""
    numbers, left = generator(drawn.rng), drawn.n_resamples
    whole = BlockEvidence.observed(noisy.blocks)
    entries = sum(block.noise.outputs for block in noisy.blocks)
    statistics, small = [], []
    while left:
        size = min(left, max(1, _AT_ONCE // entries))
        counts = noisy.counts_of(whole.replicates(null, size, numbers), n)
        steps = two_steps(counts, n, shape, gamma)
        statistics.append(steps.statistic)
        small.append(steps.small > 0)
        left -= size
    return np.concatenate(statistics), np.concatenate(small)
