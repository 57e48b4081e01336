"""Studied pairs: what a report says of two attributes, put together from their table, its test and its effect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ldpstats.estimation import pvalue_in_words
from ldpstats.inference import Association
from ldpstats.inference.engine.detectability import RespondentsNeeded
from ldpstats.inference.hypothesis_tests.tested_pairs import DEPENDENT, IMPLAUSIBLE, PairTest
from ldpstats.protocols.groups import label
from ldpstats.tables import Table


@dataclass(frozen=True, eq=False)
class StudiedPair:
    """Two attributes with their table, test and effect."""

    name: str  # anchor of its entry
    table: Table
    test: PairTest  # of independence, among those of all pairs
    needed: RespondentsNeeded  # to find the dependence that the reports show, with power .8
    effect: Association  # Cramér's V

    @property
    def title(self) -> str:
        """The two attributes as a heading."""
        return label(self.table.attributes)

    @property
    def is_dependent(self) -> bool:
        """Whether the dependence is shown."""
        return self.test.verdict == DEPENDENT

    @property
    def is_tested(self) -> bool:
        """Whether there is a p-value."""
        return not math.isnan(self.test.pvalue)

    @property
    def is_plausible(self) -> bool:
        """Whether the reports can have come through their channel."""
        return self.test.verdict != IMPLAUSIBLE

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of V; nan where there is none."""
        return self.effect.conf_int() if self.is_plausible else (math.nan, math.nan)

    @property
    def strength(self) -> str:
        """Cramér's V with its interval, in words."""
        if not self.is_plausible:
            return "the reports do not fit their channel"
        if self.effect.why_not:
            return f"Cramér's V is not estimable: {self.effect.why_not}"
        low, high = self.interval
        return f"Cramér's V{self.effect.without} = {self.effect.cramers_v:.3f} ({low:.3f} to {high:.3f}){self.assuming}"

    @property
    def assuming(self) -> str:
        """What V assumes, in a few words."""
        assumption = self.table.assumption
        return f", assuming {assumption.split(':')[0]}" if assumption else ""

    @property
    def said(self) -> str:
        """Strength, adjusted p-value and verdict in a line."""
        tested = f"adjusted p {pvalue_in_words(self.test.adjusted, 2)}" if self.is_tested else ""
        return "; ".join(filter(None, (self.strength, tested, self.test.verdict)))
