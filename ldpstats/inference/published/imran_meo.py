"""The two-step test of independence of Imran & Meo (2024), which a trusted curator knows as MCIndep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.estimation.unbiased_estimates import last_two
from ldpstats.inference.engine.monte_carlo import MonteCarlo, reaches
from ldpstats.inference.published.published_result import (
    RULES,
    ChiSquare,
    PublishedResult,
    Rule,
    accepted_by,
    chi_square,
    counted_blocks,
)
from ldpstats.noise import NoisyCounts
from ldpstats.numbers.arrays import (
    BoolArray,
    FloatArray,
    at_least,
    probability,
    real_array,
    real_number,
    significance,
)
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.tables import Table

NoisyEstimate: TypeAlias = Literal["auto", "two blocks", "closed form", "unbiased"]

_AT_ONCE = 4_000_000
"""How many entries of tallies are drawn at once."""


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
class NoisyTable:
    """An estimate of the cells that is linear in the tallies of some blocks; `forgets` if it leaves out others."""

    blocks: tuple[Block, ...]
    estimate: Callable[[Sequence[NDArray[np.int64]]], FloatArray]
    words: str
    forgets: bool

    def two_steps(self, tallies: Sequence[NDArray[np.int64]], table: Table, gamma: float) -> ChiSquare:
        """Take estimated tables, as counts of respondents, to the nearest proper ones; measure their dependence."""
        return chi_square(proper_table(table.n * self.estimate(tallies), table.n, gamma), table.shape)

    def redrawn(self, null: FloatArray, table: Table, gamma: float, drawn: MonteCarlo) -> tuple[FloatArray, BoolArray]:
        """Return the statistics of tables drawn under the fitted hypothesis, and whether each has a small cell."""
        numbers, left = generator(drawn.rng), drawn.n_resamples
        entries = sum(block.noise.outputs for block in self.blocks)
        statistics, small = [], []
        while left:
            size = min(left, max(1, _AT_ONCE // entries))
            steps = self.two_steps([block.draw(null, size, numbers) for block in self.blocks], table, gamma)
            statistics.append(steps.statistic)
            small.append(steps.small > 0)
            left -= size
        return np.concatenate(statistics), np.concatenate(small)


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


_LOCAL = "Two-step test of independence (Imran & Meo 2024)"
_CENTRAL = "MCIndep (Gaboardi et al. 2016), as Imran & Meo (2024) have it"


def two_step_test(
    table: Table,
    alpha: float = 0.05,
    gamma: float = 0.01,
    n_resamples: int = 999,
    rule: Rule = "any table",
    estimate: NoisyEstimate = "auto",
    rng: Rng = None,
) -> PublishedResult:
    """Test independence by the two-step procedure of Imran & Meo (2024, Sections 6 and 7.3), of more than two mutually.

    Step 1 takes the estimated table, in respondents, to the nearest one without negative cells (`proper_table`).
    Step 2 fits independence to it, by the products of its margins, and measures χ². Tables are then drawn from that
    fit, of as many respondents and through the same noise, and go through both steps; the statistic must exceed the
    ⌈(l + 1)(1 − α)⌉-th smallest of theirs. That is so exactly if the Monte Carlo p-value (1 + reached) / (1 + l) is
    at most α. On the tables of a trusted curator this is the MCIndep of Gaboardi, Lim, Rogers & Vadhan (2016).

    Parameters
    ----------
    table : Table
        A table of at least two attributes, with its reports.
    alpha : float
        The level.
    gamma : float
        The weight of the ℓ1 norm in step 1; it makes no difference below one.
    n_resamples : int
        How many tables are drawn; the paper only asks for more than 1/α.
    rule : {"any table", "observed table", "two cells", "none"}
        When cells below 5 respondents, after step 1, accept the hypothesis: one such cell "at any point", in the
        observed or any drawn table (Section 7.3; the more tables are drawn, the more often); one in the observed
        table (Section 6); more than one there (so code that circulates for MCIndep has it); or never.
    estimate : {"auto", "two blocks", "closed form", "unbiased"}
        The table that step 1 starts from, as in `Table.estimated_by`. "auto" is the paper's average of the last two
        blocks for several truth-or-fake blocks, and "unbiased" for all else.
    rng : seed or numpy Generator, optional
        None draws a fresh seed, which the result records.

    Returns
    -------
    PublishedResult
        With `rejected`, the decision, rule of thumb included.

    Notes
    -----
    Known: the rule costs power, all of it where noise exceeds the cells; and the last two blocks say little, however
    many there are. `independence_test` does without both.

    In RRBA the drawn tables keep the fakes that were sent. With "two blocks" the last fakes were made of the last
    block but one; drawing the two independently ignores that. `RRBA.simulate` redraws the whole collection.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, two_step_test
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=2.0).simulate(np.array([600, 400, 400, 600]), rng=1)
    >>> result = two_step_test(tables["sex", "car"], rng=1)
    >>> result.rejected, result.pvalue
    (True, 0.001)
    """
    level, gamma = significance(alpha), probability(gamma, "gamma")
    # as a decimal fraction: (l + 1)(1 - alpha) must not be rounded up past a whole number
    position = math.ceil((at_least(n_resamples, 1, "n_resamples") + 1) * (1 - Fraction(repr(level))))
    if position > n_resamples:
        raise LdpstatsError(
            f"n_resamples = {n_resamples!r} at alpha = {level:g}",
            f"at least {math.ceil(1 / Fraction(repr(level))) - 1}",
            "With fewer tables no statistic is large enough.",
        )
    if rule not in list(RULES):
        raise LdpstatsError(f"rule = {rule!r}", one_line(list(RULES)))
    drawn, noisy = MonteCarlo(n_resamples, rng).seeded(), noisy_table(counted_blocks(table), estimate)
    observed = noisy.two_steps([block.tally.counts[None] for block in noisy.blocks], table, gamma)
    null = observed.expected[0]
    statistics, small = noisy.redrawn(null, table, gamma, drawn)
    statistic, threshold = float(observed.statistic[0]), float(np.sort(statistics)[position - 1])
    small_cells, small_tables = int(observed.small[0]), int(np.count_nonzero(small))
    costs = "The rule of thumb costs power; where noise exceeds the cells, all of it."
    forgets = "The blocks before the last two count for nothing, so that power does not grow with their number."
    return PublishedResult.of(
        table,
        expected=null,
        name=_CENTRAL if all(isinstance(block.noise, NoisyCounts) for block in noisy.blocks) else _LOCAL,
        statistic=statistic,
        pvalue=float(1 + np.count_nonzero(reaches(statistics, statistic))) / (1 + n_resamples),
        threshold=threshold,
        alpha=level,
        rejected=not reaches(threshold, statistic) and not accepted_by(rule, small_cells, small_tables),
        rule=rule,
        small_cells=small_cells,
        small_tables=small_tables,
        method=f"χ² of the nearest proper table (elastic net, gamma = {gamma:g}), from {noisy.words}",
        pvalue_source=str(drawn),
        caveats=(
            *([costs] if rule != "none" else []),
            *([forgets] if noisy.forgets else []),
            "The paper's test, for comparison: `independence_test` takes all reports and needs no rule.",
        ),
        seed=drawn.seed,
    )
