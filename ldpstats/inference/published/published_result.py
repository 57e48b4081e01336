"""The result of a published test: its decision, by its paper's rule; and the naive test, which is INVALID."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED, ChannelFit, pvalue_in_words, refuse_empty
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.procedure import chi_square_pvalue
from ldpstats.inference.hypothesis_tests.independence import mutual_independence
from ldpstats.inference.hypothesis_tests.result import model_fit
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, IntArray, significance
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share
from ldpstats.tables import Table, checked_table

Rule: TypeAlias = Literal["any table", "observed table", "two cells", "none"]

_SMALL = 5
RULES: Mapping[Rule, str] = {
    "any table": "a cell below 5, in the observed or any drawn table, accepts",
    "observed table": "a cell below 5 in the observed table accepts",
    "two cells": "more than one cell below 5 in the observed table accept",
    "none": "small cells do not matter",
}


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedResult(Result):
    """The outcome of a published test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    name : str
        Whose test it is.
    hypothesis : str
        What was tested, in words.
    attributes : tuple of str
    statistic, pvalue, threshold : float
        The χ² statistic, its p-value, and the value that it must exceed.
    alpha : float
        The level of the decision.
    rejected : bool
        The decision; a rule of thumb may make it differ from what the p-value says.
    rule : str
        Which rule of thumb was in force.
    small_cells : int
        The cells below 5 in the table that was tested.
    small_tables : int
        The drawn tables with such a cell.
    method, pvalue_source : str
        How the statistic and the p-value were computed, in words.
    caveats : tuple of str
        What is known to be wrong with the test.
    seed : int, optional
        The seed of the drawn tables.
    expected : array
        The table's frequencies as fitted under independence.
    table : Table
    n, simulated : int
        The reports behind it, and how many of them came from a simulation.
    privacy : PrivacyStatement

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)
    >>> statistic, pvalue = ldp.published.two_step_test(tables["sex", "car"], n_resamples=99, rng=1)
    >>> result = ldp.published.naive_test(tables["sex", "car"])
    >>> pvalue, result.rejected
    (0.01, True)
    >>> print(result.caveats[0])
    INVALID: this test ignores the noise; its true level may be anything up to 1.
    """

    _in_dict = (
        "name hypothesis statistic pvalue threshold alpha rejected rule rule_applied small_cells small_tables "
        "method pvalue_source seed n simulated attributes caveats privacy"
    )

    name: str
    hypothesis: str
    attributes: tuple[str, ...]
    statistic: float
    pvalue: Share
    threshold: float
    alpha: Share
    rejected: bool
    rule: Rule
    small_cells: Count
    small_tables: Count
    method: str
    pvalue_source: str
    caveats: tuple[str, ...]
    seed: int | None
    n: Count
    expected: FloatArray
    privacy: PrivacyStatement
    simulated: Count
    table: Table

    @classmethod
    def of(cls, table: Table, *, expected: FloatArray, hypothesis: str = "", **decided: Any) -> PublishedResult:
        """Return what was decided about a table, beside what is known of the table itself.

        Parameters
        ----------
        table : Table
        expected : array
            The frequencies as fitted, flattened.
        hypothesis : str
            What was tested, in words; independence if nothing is said.
        decided
            The other fields.
        """
        return cls(
            hypothesis=hypothesis or mutual_independence(table.attributes).statement,
            attributes=table.attributes,
            n=table.n,
            expected=expected.reshape(table.shape),
            privacy=table.privacy,
            simulated=table.simulated,
            table=table,
            **decided,
        )

    @classmethod
    def asymptotic(cls, table: Table, *, statistic: float, df: int, alpha: float, **decided: Any) -> PublishedResult:
        """Return what χ² decides, without a rule of thumb.

        Parameters
        ----------
        table : Table
        statistic : float
        df : int
            The degrees of freedom.
        alpha : float
        decided
            The other fields.
        """
        from scipy.special import chdtri

        threshold = float(chdtri(df, significance(alpha)))
        return cls.of(
            table,
            statistic=statistic,
            pvalue=chi_square_pvalue(df, statistic),
            threshold=threshold,
            alpha=float(alpha),
            rejected=statistic > threshold,
            rule="none",
            small_tables=0,
            seed=None,
            **decided,
        )

    @property
    def fit(self) -> ChannelFit:
        """Whether the reports that were tested can have come through their channel."""
        return self.table.channel_fit()

    @property
    def rule_applied(self) -> bool:
        """Whether the rule of thumb accepted the hypothesis, whatever the statistic is."""
        return accepted_by(self.rule, self.small_cells, self.small_tables)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def headline(self) -> str:
        """The decision in one line."""
        decision = "rejected" if self.rejected else "accepted"
        conclusion = f"{decision} at level {self.alpha:g} (p = {pvalue_in_words(self.pvalue, 3)})".replace("= <", "<")
        return f"{self.name}: {self.hypothesis}: {conclusion}; {self.n:,} reports{simulation(self.simulated, self.n)}"

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a row of a data frame."""
        names = ("name", "attributes", "statistic", "pvalue", "threshold", "alpha", "rejected", "rule_applied", "n")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def picture(self) -> Intervals:
        """Return the estimates with their intervals, beside what the hypothesis expects by the published fit."""
        return model_fit(self.table, self.expected, self.name, "expected under the hypothesis")

    def summary(self) -> Summary:
        """Return the result as a table and sentences that can be read aloud."""
        facts = {
            "Hypothesis": self.hypothesis,
            "Statistic": f"{self.statistic:.4g}; it must exceed {self.threshold:.4g}",
            "p-value": f"{pvalue_in_words(self.pvalue)} ({self.pvalue_source})",
            "Method": self.method,
            "Rule of thumb": f"{self.rule}: {RULES[self.rule]}",
            "Reports": f"{self.n:,}{simulation(self.simulated, self.n)}",
            "Privacy": self.privacy.lines(),
        }
        because = " by the rule of thumb, whatever the statistic is" if self.rule_applied else ""
        decision = f"At level {self.alpha:g} the hypothesis is {'rejected' if self.rejected else 'accepted'}{because}."
        return summary_of_facts(self.name, facts, [decision, *self.caveats, ASSUMED, *self.fit.warning])


def counted_blocks(table: Table, least: int = 2) -> tuple[Block, ...]:
    """Return the blocks with reports of a table of so many attributes at least that is estimated from its own."""
    if len(checked_table(table).shape) < least:
        raise LdpstatsError(
            f"a table of {table.attributes!r} alone", "a Table of at least two attributes, such as tables['age', 'sex']"
        )
    if table.figures:
        raise LdpstatsError(
            f"a table of {' and '.join(table.attributes)} that is not estimated from reports of its own",
            "a table that still has its reports",
            "Published tests take counts; independence_test takes such tables, too.",
        )
    blocks = tuple(block for block in table.blocks if block.n > 0)
    refuse_empty(len(blocks), f"the table of {' and '.join(table.attributes)}")
    return blocks


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
    blocks, shape = counted_blocks(table), table.shape
    if on not in list(_WORDS):
        raise LdpstatsError(f"on = {on!r}", one_line(list(_WORDS)))
    counts = _as_they_came(blocks) if on == "reports" else table.n * table.cells.estimate
    steps = chi_square(np.maximum(counts, 0)[None], shape)
    df = math.prod(shape) - 1 - sum(size - 1 for size in shape)
    return PublishedResult.asymptotic(
        table,
        expected=steps.expected[0],
        name="Naive χ² test of independence: INVALID, the noise is ignored",
        statistic=float(steps.statistic[0]),
        df=df,
        alpha=alpha,
        small_cells=int(steps.small[0]),
        method=f"INVALID: classical χ² with df = {df}, on {_WORDS[on]}",
        pvalue_source="classical χ², INVALID",
        caveats=("INVALID: this test ignores the noise; its true level may be anything up to 1.",),
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
