"""Published tests of independence, as their papers have them: for comparison, not for use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ldpstats.arrays import FloatArray, at_least, significance
from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED, ChannelFit, pvalue_in_words, refuse_empty
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.monte_carlo import MonteCarlo, reaches
from ldpstats.inference.engine.reference import chi_square_pvalue, critical_value
from ldpstats.inference.hypothesis_tests.independence import mutual_independence
from ldpstats.inference.published.two_steps import (
    RULES,
    NoisyEstimate,
    NoisyTable,
    Rule,
    accepted_by,
    chi_square,
    noisy_table,
    redrawn,
    two_steps,
)
from ldpstats.noise import NoisyCounts, in_brackets, simulation
from ldpstats.presentation import summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.randomness import Rng
from ldpstats.saving import Saveable
from ldpstats.tables import Table, checked_table

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

Seen: TypeAlias = Literal["reports", "debiased"]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedResult(Saveable):
    """The outcome of a published test; it unpacks to (statistic, pvalue).

    The decision is `rejected`, and a rule of thumb may make it differ from what the p-value says.

    Parameters
    ----------
    name : str
        Whose test it is.
    attributes : tuple of str
        The attributes of the table.
    statistic, pvalue, threshold : float
        The χ² statistic, its p-value, and the value that it must exceed.
    alpha : float
        The level of the decision.
    rejected : bool
        The decision, rule of thumb included.
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
        What was tested.
    """

    name: str
    attributes: tuple[str, ...]
    statistic: float
    pvalue: float
    threshold: float
    alpha: float
    rejected: bool
    rule: Rule
    small_cells: int
    small_tables: int
    method: str
    pvalue_source: str
    caveats: tuple[str, ...]
    seed: int | None
    n: int
    expected: FloatArray
    privacy: PrivacyStatement
    simulated: int
    table: Table = field(repr=False)

    @property
    def fit(self) -> ChannelFit:
        """Whether the reports that were tested can have come through their channel."""
        return self.table.channel_fit()

    @property
    def hypothesis(self) -> str:
        """What was tested, in words."""
        return mutual_independence(self.attributes).statement

    @property
    def rule_applied(self) -> bool:
        """Whether the rule of thumb accepted the hypothesis, whatever the statistic is."""
        return accepted_by(self.rule, self.small_cells, self.small_tables)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        names = (
            *("name", "hypothesis", "statistic", "pvalue", "threshold", "alpha", "rejected", "rule", "rule_applied"),
            *("small_cells", "small_tables", "method", "pvalue_source", "seed", "n", "simulated"),
        )
        plain = {name: getattr(self, name) for name in names}
        lists = {"attributes": list(self.attributes), "caveats": list(self.caveats)}
        return plain | lists | {"privacy": self.privacy.to_dict()}

    def summary(self) -> Summary:
        """Return the result as a table and sentences that can be read aloud."""
        facts = {
            "Hypothesis": self.hypothesis,
            "Statistic": f"{self.statistic:.4g}; it must exceed {self.threshold:.4g}",
            "p-value": f"{pvalue_in_words(self.pvalue)} ({self.pvalue_source})",
            "Method": self.method,
            "Rule of thumb": f"{self.rule}: {RULES[self.rule]}",
            "Reports": f"{self.n:,}{in_brackets(simulation(self.simulated, self.n))}",
            "Privacy": self.privacy.lines(),
        }
        because = " by the rule of thumb, whatever the statistic is" if self.rule_applied else ""
        decision = f"At level {self.alpha:g} the hypothesis is {'rejected' if self.rejected else 'accepted'}{because}."
        return summary_of_facts(self.name, facts, [decision, *self.caveats, ASSUMED, *self.fit.warning])


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

    Notes
    -----
    Known: the rule costs power, all of it where noise exceeds the cells; and the last two blocks say little, however
    many there are. `independence_test` does without both.

    In RRBA the drawn tables keep the fakes that were sent. With "two blocks" the last fakes were made of the last
    block but one; drawing the two independently ignores that. A redraw of the whole collection is
    `RRBA.simulate`.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=2.0).simulate(np.array([600, 400, 400, 600]), rng=1)
    >>> result = two_step_test(tables["sex", "car"], rng=1)
    >>> result.rejected, result.pvalue
    (True, 0.001)
    """
    level, position = _checked(alpha, gamma, n_resamples)
    if rule not in RULES:
        raise LdpstatsError(f"rule = {rule!r}", one_line(list(RULES)))
    shape, drawn = _several_ways(table), MonteCarlo(n_resamples, rng).seeded()
    noisy = noisy_table(_reports(table), estimate)
    observed = two_steps(noisy.counts_of(BlockEvidence.observed(noisy.blocks), table.n), table.n, shape, gamma)
    null = observed.expected[0]
    statistics, small = redrawn(noisy, null, table.n, shape, gamma, drawn)
    statistic, threshold = float(observed.statistic[0]), float(np.sort(statistics)[position - 1])
    small_cells, small_tables = int(observed.small[0]), int(np.count_nonzero(small))
    return PublishedResult(
        name=_name(noisy),
        attributes=table.attributes,
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
        caveats=_caveats(rule, noisy),
        seed=drawn.seed,
        n=table.n,
        expected=null.reshape(shape),
        privacy=table.privacy,
        simulated=table.simulated,
        table=table,
    )


def naive_test(table: Table, on: Seen = "reports", alpha: float = 0.05) -> PublishedResult:
    """Test independence by the classical χ², as if there were no noise: this is INVALID, and shows why.

    Parameters
    ----------
    table : Table
        A table of at least two attributes, with its reports.
    on : {"reports", "debiased"}
        "reports" takes the reports (the supports, the noisy counts) for true counts. "debiased" takes the table's
        estimate, times the number of reports. Negative cells are cut at zero.
    alpha : float
        The level.

    Notes
    -----
    Reports have other margins and dependences than the answers: fakes that are uniform over the cells of a table
    with uneven margins are dependent themselves. Debiased counts scatter far more than counts do. Measured type I
    errors reach 1 for both.

    Examples
    --------
    Independent attributes, of which some categories are rare:

    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([8100, 900, 900, 100]), rng=1)
    >>> naive_test(tables["sex", "car"]).rejected
    True
    """
    shape = _several_ways(table)
    if on not in _SEEN:
        raise LdpstatsError(f"on = {on!r}", one_line(list(_SEEN)))
    counts = _SEEN[on](table, _reports(table))
    steps = chi_square(np.maximum(counts, 0)[None], shape)
    statistic, df = float(steps.statistic[0]), math.prod(shape) - 1 - sum(size - 1 for size in shape)
    threshold = critical_value(df, significance(alpha))
    return PublishedResult(
        name="Naive χ² test of independence: INVALID, the noise is ignored",
        attributes=table.attributes,
        statistic=statistic,
        pvalue=chi_square_pvalue(df, statistic),
        threshold=threshold,
        alpha=float(alpha),
        rejected=statistic > threshold,
        rule="none",
        small_cells=int(steps.small[0]),
        small_tables=0,
        method=f"INVALID: classical χ² with df = {df}, on {_NAIVE_WORDS[on]}",
        pvalue_source="classical χ², INVALID",
        caveats=("INVALID: this test ignores the noise; its true level may be anything up to 1.",),
        seed=None,
        n=table.n,
        expected=steps.expected[0].reshape(shape),
        privacy=table.privacy,
        simulated=table.simulated,
        table=table,
    )


def _checked(alpha: float, gamma: float, n_resamples: int) -> tuple[float, int]:
    """Return the level, and which of the ranked statistics is the threshold."""
    level = significance(alpha)
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float)) or not 0 <= gamma <= 1:
        raise LdpstatsError(f"gamma = {gamma!r}", "a number from 0 to 1")
    # as a decimal fraction: (l + 1)(1 - alpha) must not be rounded up past a whole number
    position = math.ceil((at_least(n_resamples, 1, "n_resamples") + 1) * (1 - Fraction(repr(level))))
    if position > n_resamples:
        raise LdpstatsError(
            f"n_resamples = {n_resamples!r} at alpha = {level:g}",
            f"at least {math.ceil(1 / Fraction(repr(level))) - 1}",
            "With fewer tables no statistic is large enough.",
        )
    return level, position


def _several_ways(table: Table) -> tuple[int, ...]:
    if len(checked_table(table).shape) < 2:
        raise LdpstatsError(
            f"a table of {table.attributes!r} alone", "a Table of at least two attributes, such as tables['age', 'sex']"
        )
    return table.shape


def _reports(table: Table) -> tuple[Block, ...]:
    """Return the reports of a table that is estimated from its own."""
    if table.figures:
        raise LdpstatsError(
            f"a table of {' and '.join(table.attributes)} that is not estimated from reports of its own",
            "a table that still has its reports",
            "Published tests take counts; independence_test takes such tables, too.",
        )
    blocks = tuple(block for block in table.blocks if block.n > 0)
    refuse_empty(len(blocks), f"the table of {' and '.join(table.attributes)}")
    return blocks


def _name(noisy: NoisyTable) -> str:
    central = all(isinstance(block.noise, NoisyCounts) for block in noisy.blocks)
    if central:
        return "MCIndep (Gaboardi et al. 2016), as Imran & Meo (2024) have it"
    return "Two-step test of independence (Imran & Meo 2024)"


def _caveats(rule: Rule, noisy: NoisyTable) -> tuple[str, ...]:
    costs = "The rule of thumb costs power; where noise exceeds the cells, all of it."
    forgets = "The blocks before the last two count for nothing, so that power does not grow with their number."
    return (
        *([costs] if rule != "none" else []),
        *([forgets] if noisy.forgets else []),
        "The paper's test, for comparison: `independence_test` takes all reports and needs no rule.",
    )


def _as_they_came(_table: Table, blocks: Sequence[Block]) -> FloatArray:
    """Add up what blocks report about every cell."""
    blocks = [block.by_value for block in blocks]
    if not all(block.question.is_bijection and block.noise.outputs == block.noise.cells for block in blocks):
        raise NotIdentifiedError(
            "reports that do not name a cell", "blocks with one count for every cell", "'debiased' takes any blocks."
        )
    counts: FloatArray = np.sum([block.tally.counts[block.classes] for block in blocks], axis=0).astype(float)
    return counts


def _debiased(table: Table, _blocks: Sequence[Block]) -> FloatArray:
    return table.n * table.cells.estimate


_SEEN: Mapping[Seen, Callable[[Table, Sequence[Block]], FloatArray]] = {
    "reports": _as_they_came,
    "debiased": _debiased,
}
_NAIVE_WORDS: Mapping[Seen, str] = {
    "reports": "reports taken for true answers",
    "debiased": "debiased counts taken for true ones",
}
