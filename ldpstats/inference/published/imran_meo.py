"""The two-step test of independence of Imran & Meo (2024), which a trusted curator knows as MCIndep."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.monte_carlo import MonteCarlo, reaches
from ldpstats.inference.published.published_result import PublishedResult, counted_blocks, several_ways
from ldpstats.inference.published.two_steps import (
    RULES,
    NoisyEstimate,
    Rule,
    accepted_by,
    noisy_table,
    redrawn,
    two_steps,
)
from ldpstats.noise import NoisyCounts
from ldpstats.numbers.arrays import at_least, probability, significance
from ldpstats.numbers.randomness import Rng
from ldpstats.tables import Table

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
    level, position = _level_and_rank(alpha, gamma, n_resamples)
    if rule not in list(RULES):
        raise LdpstatsError(f"rule = {rule!r}", one_line(list(RULES)))
    shape, drawn = several_ways(table), MonteCarlo(n_resamples, rng).seeded()
    noisy = noisy_table(counted_blocks(table), estimate)
    observed = two_steps(noisy.counts_of(BlockEvidence.observed(noisy.blocks), table.n), table.n, shape, gamma)
    null = observed.expected[0]
    statistics, small = redrawn(noisy, null, table.n, shape, gamma, drawn)
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


def _level_and_rank(alpha: float, gamma: float, n_resamples: int) -> tuple[float, int]:
    """Return the level, and which of the ranked statistics is the threshold."""
    level = significance(alpha)
    probability(gamma, "gamma")
    # as a decimal fraction: (l + 1)(1 - alpha) must not be rounded up past a whole number
    position = math.ceil((at_least(n_resamples, 1, "n_resamples") + 1) * (1 - Fraction(repr(level))))
    if position > n_resamples:
        raise LdpstatsError(
            f"n_resamples = {n_resamples!r} at alpha = {level:g}",
            f"at least {math.ceil(1 / Fraction(repr(level))) - 1}",
            "With fewer tables no statistic is large enough.",
        )
    return level, position
