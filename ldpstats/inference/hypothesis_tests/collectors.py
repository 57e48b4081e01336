"""Collectors: table sets of several collectors of one protocol, compared with each other and merged."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError, shortened
from ldpstats.estimation import LEVEL
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.exchangeable import log_part_pvalues
from ldpstats.inference.engine.monte_carlo import AmongMany
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues
from ldpstats.inference.hypothesis_tests.collector_comparison import CollectorComparison, CollectorTest
from ldpstats.inference.hypothesis_tests.homogeneity import homogeneity_test
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import unweighted
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet, checked_table_set

_MOST_DESIGN = 4_000_000
Asked: TypeAlias = dict[Hashable, Block]


def compare_collectors(sets: Sequence[TableSet], names: Sequence[str] | None = None) -> CollectorComparison:
    """Ask whether the counts of one of several collectors differ from those of the others.

    The reports of every collector about every table are compared with those of all others. Where all came through the
    same channel, so many reports of a kind among them have a hypergeometric law, if the collectors' respondents are
    alike: every count is compared with bounds of its exact tails, which hold for any number of reports, and whatever
    the true answers are (Bonferroni over the counts of a table). Where channels differ, as with the fakes of RRBA,
    which follow what came before, it is `homogeneity_test`. p-values are adjusted by Holm's method for all tables and
    collectors, and one below .001 shows a difference: of the people who were asked, or of how reports came about. The
    collector with the smallest is then left out, and the rest are compared anew, until no further one differs.

    Parameters
    ----------
    sets : sequence of TableSet
        Those of different collectors: over the same domain, and of different respondents.
    names : sequence of str, optional
        What the collectors are called; by default "1", "2" and so on.

    Returns
    -------
    CollectorComparison
        A test of every table and collector, and who differs.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, compare_collectors
    >>> protocol = SampledGroups(Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), epsilon=2.0)
    >>> people = [[900] * 4, [900] * 4, [1800, 600, 600, 600]]
    >>> sets = [protocol.simulate(np.array(counts), rng=seed) for seed, counts in enumerate(people)]
    >>> compare_collectors(sets, ["north", "south", "west"]).differing
    ('west',)
    """
    called = _named(sets, names)
    together = _summed(sets)
    compared = [_ComparedTable.of(called, sets, table.attributes) for table in together]
    return CollectorComparison(
        names=tuple(called),
        reports=tuple(one.n for one in sets),
        tests=tuple(sorted(_tested(compared, called), key=lambda test: not test.differs)),
        left_out=tuple(words for one in compared for words in one.left_out),
        privacy=together.privacy,
        simulated=together.simulated,
    )


def _tested(compared: Sequence[_ComparedTable], names: Sequence[str]) -> list[CollectorTest]:
    """Test every collector against the others, taking out those that differ one after the other."""
    found: list[CollectorTest] = []
    left = list(names)
    with progress(None, "collectors", len(left), "collector") as bar:
        while True:
            tests = _adjusted([one.only(left) for one in compared])
            if not tests or not tests[0].differs or len(left) == 2:
                return [*found, *tests]
            found += [test for test in tests if test.collector == tests[0].collector]
            left.remove(tests[0].collector)
            bar.update(1)


def _adjusted(compared: Sequence[_ComparedTable]) -> list[CollectorTest]:
    """Test every table of every collector, adjusted for their number; the clearest difference comes first."""
    number = sum(one.tests for one in compared)
    ranked = sorted((test for one in compared for test in one.tested(number)), key=lambda one: one[0])
    tests = [test for _, test in ranked]
    adjusted = adjusted_pvalues(np.array([test.pvalue for test in tests]), LEVEL, "holm").tolist()
    return [replace(test, adjusted=one) for test, one in zip(tests, adjusted, strict=True)]


@unweighted
def merge(sets: Sequence[TableSet], names: Sequence[str] | None = None) -> TableSet:
    """Return the tables of all collectors' reports together, which say so where one collector's counts differ.

    Parameters
    ----------
    sets, names
        As in `compare_collectors`.

    Returns
    -------
    TableSet
        The sum of the sets, with the comparison of their collectors among its `checks`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, merge
    >>> protocol = SampledGroups(Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), epsilon=2.0)
    >>> north, south = (protocol.simulate(np.array([900] * 4), rng=seed) for seed in (1, 2))
    >>> merged = merge([north, south])
    >>> merged.n, merged.checks
    (7200, (<CollectorComparison: 2 collectors: none differs; 7,200 reports (simulated)>,))
    """
    compared, together = compare_collectors(sets, names), _summed(sets)
    return together.replaced(checks=(*together.checks, compared))


def _summed(sets: Sequence[TableSet]) -> TableSet:
    together = sets[0]
    for one in islice(sets, 1, None):
        together = together + one
    return together


def _named(sets: object, names: Sequence[str] | None) -> list[str]:
    if not isinstance(sets, Sequence) or isinstance(sets, str) or len(sets) < 2:
        raise LdpstatsError(f"{shortened(sets)}", "at least two table sets, one of each collector")
    for one in sets:
        checked_table_set(one)
    called = [f"{place}" for place in range(1, 1 + len(sets))] if names is None else names
    listed = list(called) if isinstance(called, Iterable) and not isinstance(called, str) else []
    texts = {one for one in listed if isinstance(one, str) and one}
    if not len(texts) == len(listed) == len(sets):
        raise LdpstatsError(f"names = {shortened(names)}", f"{len(sets)} different names, one for each collector")
    return listed


@dataclass(frozen=True, slots=True, eq=False)
class _ComparedTable:
    """The tables of some attributes of all collectors who asked for them, with what each asked through which noise."""

    tables: Mapping[str, Table]
    asked: Mapping[str, Asked]

    @classmethod
    def of(cls, names: Sequence[str], sets: Sequence[TableSet], attributes: tuple[str, ...]) -> _ComparedTable:
        tables = {
            name: own[attributes]
            for name, own in zip(names, sets, strict=True)
            if attributes in own and own[attributes].n
        }
        return cls(tables, {name: _blocks(table) for name, table in tables.items()})

    def only(self, names: Sequence[str]) -> _ComparedTable:
        """Return the tables of some of the collectors."""
        kept = [name for name in names if name in self.tables]
        return _ComparedTable({name: self.tables[name] for name in kept}, {name: self.asked[name] for name in kept})

    @property
    def tests(self) -> int:
        """Number of collectors that are compared with others."""
        return len(self.tables) if len(self.tables) > 1 else 0

    @property
    def left_out(self) -> list[str]:
        """Which table cannot be compared, and why, in words; empty if it can."""
        attributes = " × ".join(next(iter(self.tables.values())).attributes) if self.tables else ""
        return [f"{attributes}, for which one collector asked"] if len(self.tables) == 1 else []

    def tested(self, number: int) -> list[tuple[float, CollectorTest]]:
        """Compare every collector with all others, among `number` tests in all; each log p-value comes first."""
        if not self.tests:
            return []
        # whether all asked the same through the same noises, and every report adds at most 1 to a count
        first, *others = self.asked.values()
        if all(one.keys() == first.keys() for one in others) and all(
            block.noise.largest == 1 for block in first.values()
        ):
            return [self._by_counts(name) for name in self.tables]
        return [self._by_model(name, number) for name in self.tables]

    def _test(self, name: str, log_pvalue: float, method: str, words: str = "") -> tuple[float, CollectorTest]:
        own, pvalue = self.tables[name], math.exp(log_pvalue)
        others = sum(table.n for table in self.tables.values()) - own.n
        return log_pvalue, CollectorTest(name, own.attributes, own.n, others, pvalue, 1.0, method, words)

    def _by_counts(self, name: str) -> tuple[float, CollectorTest]:
        looked, least, words = 0, 0.0, ""
        for key, own in self.asked[name].items():
            counts = telling_counts(own.tally)
            every = counts + sum(
                telling_counts(asked[key].tally) for other, asked in self.asked.items() if other != name
            )
            n = sum(asked[key].n for asked in self.asked.values())
            found = log_part_pvalues(counts, own.n, every, n)
            looked += found.size
            place = int(found.argmin())
            if found[place] < least:
                seen, others = int(counts[place]) / own.n, int(every[place] - counts[place]) / (n - own.n)
                answer = self._answer(own, place, found.size)
                least = float(found[place])
                words = f"{answer}: {_percent(seen)} of its reports count for it, and {_percent(others)} of the others'"
        return self._test(name, min(0.0, math.log(looked) + least), "exact bound of every count", words)

    def _answer(self, block: Block, place: int, kinds: int) -> str:
        if kinds != block.noise.cells or not block.question.is_bijection:
            return f"kind {place} of the reports"
        cell = int(np.flatnonzero(block.classes == place)[0])
        domain = next(iter(self.tables.values())).domain
        codes = np.unravel_index(cell, domain.shape)
        return ", ".join(
            f"{name} = {domain.categories[name][at]}" for name, at in zip(domain.names, codes, strict=True)
        )

    def _by_model(self, name: str, number: int) -> tuple[float, CollectorTest]:
        own, others = self.tables[name], [table for other, table in self.tables.items() if other != name]
        alone = [TableSet(one.domain, [one], one.privacy) for one in others]
        try:
            result = homogeneity_test([own, _summed(alone)[own.attributes]], pvalue=AmongMany(number, LEVEL))
        except NotIdentifiedError as error:
            return self._test(name, 0.0, f"left open: {error.came}")
        log_pvalue = math.log(result.pvalue) if result.pvalue else -math.inf
        return self._test(name, log_pvalue, f"{result.method}, {result.pvalue_source}")


def telling_counts(tally: Tally) -> NDArray[np.int64]:
    """Return how many reports speak for every true value, or where that is not clear, how many are of every output."""
    fine = tally.by_value
    noise = fine.noise
    if noise.size != 1 or noise.outputs * noise.cells > _MOST_DESIGN:
        return fine.counts
    matrix, _ = noise.design()
    speaks = matrix > matrix.mean(axis=1, keepdims=True)
    counts: NDArray[np.int64] = fine.counts @ speaks.astype(np.int64)
    return counts


def _blocks(table: Table) -> Asked:
    found: Asked = {}
    for block in table.blocks:
        if block.n:
            key = (block.asked, block.answers)
            found[key] = found[key].merged_with(block) if key in found else block
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
