"""Studied tables: what several sections of a report need of a table set and of its pairs, worked out once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from ldpstats.estimation import ChannelFit, pvalue_in_words
from ldpstats.inference import Association, IndependenceTests, association, independence_tests
from ldpstats.inference.engine.detectability import RespondentsNeeded
from ldpstats.inference.hypothesis_tests.all_pairs import pair_tables, told_by
from ldpstats.inference.hypothesis_tests.tested_pairs import DEPENDENT, IMPLAUSIBLE, PairTest
from ldpstats.protocols.groups import label
from ldpstats.tables import Table, TableSet


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


Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, eq=False)
class StudiedTables:
    """A table set with the tests and effects of all its pairs, computed once for all sections."""

    tables: TableSet
    alpha: float = 0.05  # level of tests, and one minus that of intervals

    @cached_property
    def fit(self) -> ChannelFit:
        """The test whether the reports can have come through their channels."""
        return self.tables.channel_fit()

    @cached_property
    def singles(self) -> dict[str, Table | str]:
        """One-way tables, pooled over all reports that tell the attribute, or why there is none."""
        domain, singles = self.tables.domain, dict[str, Table | str]()
        for name in domain.names:
            holding = [table for table in self.tables if name in table.attributes]
            known = told_by(holding, domain.project(name), self.tables.privacy) if holding else None
            singles[name] = known if isinstance(known, Table) else str(known or "Nobody was asked about it.")
        return singles

    @cached_property
    def _pairs(self) -> dict[Pair, Table | str]:
        return {
            pair: told.reordered(pair) if isinstance(told, Table) else str(told)
            for pair, told in pair_tables(self.tables).items()
        }

    @property
    def pairs(self) -> dict[Pair, Table]:
        """The table of every pair that some table holds, in the order of the domain."""
        return {pair: table for pair, table in self._pairs.items() if isinstance(table, Table)}

    @property
    def not_asked(self) -> list[Pair]:
        """The pairs that nobody was asked about together."""
        return [pair for pair in combinations(self.tables.domain.names, 2) if pair not in self._pairs]

    @property
    def open_pairs(self) -> dict[Pair, str]:
        """The pairs whose reports leave cells open (not identified), with the reason."""
        return {pair: reason for pair, reason in self._pairs.items() if isinstance(reason, str)}

    @cached_property
    def tests(self) -> IndependenceTests | None:
        """The tests of all pairs; None where nobody was asked about two attributes together."""
        if not self.pairs:
            return None
        own = {*map(id, self.pairs.values())} == {*map(id, self.tables)}
        asked = self.tables if own else TableSet(self.tables.domain, self.pairs.values(), self.tables.privacy)
        # what checks of the reports found is said elsewhere
        return replace(independence_tests(asked, alpha=self.alpha), warning=tuple(asked.channel_fit().warning))

    @cached_property
    def ranked_pairs(self) -> list[StudiedPair]:
        """All pairs, the strongest dependence first, then those of which none is shown, by their p-values."""
        if self.tests is None:
            return []
        numbers = self.tests.respondents_needed().astype(object)
        needed = map(RespondentsNeeded._make, numbers.where(numbers.notna(), None).itertuples(index=False))
        more = {pair.attributes: (pair, number) for pair, number in zip(self.tests, needed, strict=True)}
        made = [
            StudiedPair(self.name_of(pair), table, *more[pair], association(table, self.alpha))
            for pair, table in self.pairs.items()
        ]
        return sorted(made, key=_strongest_first)

    @property
    def dependent(self) -> list[StudiedPair]:
        """The pairs whose dependence is shown, the strongest first."""
        return [pair for pair in self.ranked_pairs if pair.is_dependent]

    @property
    def other_tables(self) -> list[Table]:
        """The tables of three and more attributes."""
        return [table for table in self.tables if len(table.attributes) > 2]

    def name_of(self, pair: Pair) -> str:
        """Return the anchor of a pair's table."""
        names = self.tables.domain.names
        return f"pair-{names.index(pair[0]) + 1}-{names.index(pair[1]) + 1}"


def _strongest_first(pair: StudiedPair) -> tuple[bool, float, float]:
    """Sort key: shown dependences by strength; the others by p-value, for their strength is mostly noise."""
    v = pair.effect.cramers_v
    strength = -v if pair.is_dependent and not math.isnan(v) else 0.0
    return not pair.is_dependent, strength, pair.test.pvalue if pair.is_tested else math.inf
