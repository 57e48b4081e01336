"""The result of a published test: its decision, by its paper's rule, and what is known to be wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import ASSUMED, ChannelFit, pvalue_in_words, refuse_empty
from ldpstats.estimation.blocks import Block
from ldpstats.inference.hypothesis_tests.independence import mutual_independence
from ldpstats.inference.hypothesis_tests.result import model_fit
from ldpstats.inference.published.two_steps import RULES, Rule, accepted_by
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.intervals import ModelFit
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share
from ldpstats.tables import Table, checked_table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedResult(Result):
    """The outcome of a published test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    name : str
        Whose test it is.
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
    def of(cls, table: Table, *, expected: FloatArray, **decided: Any) -> PublishedResult:
        """Return what was decided about a table, beside what is known of the table itself.

        Parameters
        ----------
        table : Table
        expected : array
            The frequencies as fitted, flattened.
        decided
            The other fields.
        """
        return cls(
            attributes=table.attributes,
            n=table.n,
            expected=expected.reshape(table.shape),
            privacy=table.privacy,
            simulated=table.simulated,
            table=table,
            **decided,
        )

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

    @property
    def headline(self) -> str:
        """The decision in one line."""
        decision = "rejected" if self.rejected else "accepted"
        found = f"{decision} at level {self.alpha:g} (p = {pvalue_in_words(self.pvalue, 3)})".replace("= <", "<")
        return f"{self.name}: {self.hypothesis}: {found}; {self.n:,} reports{simulation(self.simulated, self.n)}"

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a row of a data frame."""
        names = ("name", "attributes", "statistic", "pvalue", "threshold", "alpha", "rejected", "rule_applied", "n")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def picture(self) -> ModelFit:
        """Return the estimates with their intervals, beside what independence expects by the published fit."""
        return model_fit(self.table, self.expected, self.name, "expected under independence")

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


def several_ways(table: Table) -> tuple[int, ...]:
    """Return the shape of a table of at least two attributes; refuse others."""
    if len(checked_table(table).shape) < 2:
        raise LdpstatsError(
            f"a table of {table.attributes!r} alone", "a Table of at least two attributes, such as tables['age', 'sex']"
        )
    return table.shape


def counted_blocks(table: Table) -> tuple[Block, ...]:
    """Return the blocks with reports of a table that is estimated from its own."""
    if table.figures:
        raise LdpstatsError(
            f"a table of {' and '.join(table.attributes)} that is not estimated from reports of its own",
            "a table that still has its reports",
            "Published tests take counts; independence_test takes such tables, too.",
        )
    blocks = tuple(block for block in table.blocks if block.n > 0)
    refuse_empty(len(blocks), f"the table of {' and '.join(table.attributes)}")
    return blocks
