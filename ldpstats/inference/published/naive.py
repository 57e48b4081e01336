"""The naive χ² test of independence, which ignores the randomization: INVALID, for comparison only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.procedure import chi_square_pvalue
from ldpstats.inference.published.published_result import PublishedResult, counted_blocks, several_ways
from ldpstats.inference.published.two_steps import chi_square
from ldpstats.numbers.arrays import FloatArray, significance
from ldpstats.tables import Table

NaiveCounts: TypeAlias = Literal["reports", "debiased"]


def naive_test(table: Table, on: NaiveCounts = "reports", alpha: float = 0.05) -> PublishedResult:
    """Test independence by the classical χ², as if there were no noise: this is INVALID, and shows why.

    Reports have other margins and dependences than the answers: fakes that are uniform over the cells of a table with
    uneven margins are dependent themselves. Debiased counts scatter far more than counts do. Measured type I errors
    reach 1 for both.

    Parameters
    ----------
    table : Table
        A table of at least two attributes, with its reports.
    on : {"reports", "debiased"}
        "reports" takes the reports (the supports, the noisy counts) for true counts. "debiased" takes the table's
        estimate, times the number of reports. Negative cells are cut at zero.
    alpha : float
        The level.

    Returns
    -------
    PublishedResult
        With `rejected`, the decision, which is not to be trusted.

    Examples
    --------
    Independent attributes, of which some categories are rare:

    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, naive_test
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([8100, 900, 900, 100]), rng=1)
    >>> naive_test(tables["sex", "car"]).rejected
    True
    """
    from scipy.special import chdtri

    shape = several_ways(table)
    if on not in list(_WORDS):
        raise LdpstatsError(f"on = {on!r}", one_line(list(_WORDS)))
    blocks = counted_blocks(table)
    counts = _as_they_came(blocks) if on == "reports" else table.n * table.cells.estimate
    steps = chi_square(np.maximum(counts, 0)[None], shape)
    statistic, df = float(steps.statistic[0]), math.prod(shape) - 1 - sum(size - 1 for size in shape)
    threshold = float(chdtri(df, significance(alpha)))
    return PublishedResult.of(
        table,
        expected=steps.expected[0],
        name="Naive χ² test of independence: INVALID, the noise is ignored",
        statistic=statistic,
        pvalue=chi_square_pvalue(df, statistic),
        threshold=threshold,
        alpha=float(alpha),
        rejected=statistic > threshold,
        rule="none",
        small_cells=int(steps.small[0]),
        small_tables=0,
        method=f"INVALID: classical χ² with df = {df}, on {_WORDS[on]}",
        pvalue_source="classical χ², INVALID",
        caveats=("INVALID: this test ignores the noise; its true level may be anything up to 1.",),
        seed=None,
    )


def _as_they_came(blocks: Sequence[Block]) -> FloatArray:
    """Count the reports that name every cell, as they came."""
    blocks = [block.by_value for block in blocks]
    if not all(block.question.is_bijection and block.noise.outputs == block.noise.cells for block in blocks):
        raise NotIdentifiedError(
            "reports that do not name a cell", "blocks with one count for every cell", "'debiased' takes any blocks."
        )
    counts: FloatArray = np.sum([block.tally.counts[block.classes] for block in blocks], axis=0).astype(float)
    return counts


_WORDS: Mapping[NaiveCounts, str] = {
    "reports": "reports taken for true answers",
    "debiased": "debiased counts taken for true ones",
}
