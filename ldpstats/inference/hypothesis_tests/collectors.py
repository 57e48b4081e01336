"""Collectors: table sets of several collectors of one protocol, compared with each other and merged."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError, shortened
from ldpstats.estimation import LEVEL, pvalue_in_words
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.monte_carlo import AmongMany
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues
from ldpstats.inference.hypothesis_tests.homogeneity import homogeneity_test
from ldpstats.noise import Tally, simulation
from ldpstats.numbers.arrays import FloatArray, at_least, probability, unweighted
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Picture, Result, Summary, plain_values, progress, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share
from ldpstats.tables import Table, TableSet, checked_table_set


def log_part_pvalues(counts: NDArray[np.int64], size: int, totals: NDArray[np.int64], n: int) -> FloatArray:
    """Return logarithms of p-values, never below the exact ones, of how many reports of a part are of every kind.

    Of the `n` reports, the part has `size`, and `counts` of the `totals` of each kind. Where its respondents are like
    the others and came through the same channel, that is hypergeometric, whatever the answers and the channel. The tail
    is at most a geometric series, as ratios of successive probabilities fall; twice the smaller one is returned.
    """
    counts, totals = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64))
    # so few is as many of those that are not of the kind
    few = counts * n < totals * size
    seen, known = np.where(few, size - counts, counts), np.where(few, n - totals, totals)
    ratio = (known - seen) * (size - seen) / ((seen + 1) * (n - known - size + seen + 1))
    with np.errstate(divide="ignore"):
        chance = _log_choose(known, seen) + _log_choose(n - known, size - seen) - _log_choose(n, size)
        bound = np.log(2.0) + chance - np.log1p(-np.minimum(ratio, 1.0))
    logarithms: FloatArray = np.minimum(bound, 0.0)
    return logarithms


def _log_choose(n: FloatArray | float, k: FloatArray | float) -> FloatArray:
    from scipy.special import betaln

    logarithm: FloatArray = -np.log1p(n) - betaln(np.add(k, 1.0), np.subtract(n, k) + 1.0)
    return logarithm


_SAID, _MOST_ROWS = 5, 40
_LEAST = 1e-300
_FIRST = "The clearest is named first, and each was compared with those that are left without the ones before."


@dataclass(frozen=True, slots=True)
class CollectorTest:
    """Whether one collector's reports are like all others'; `adjusted` is by Holm, for all tables and collectors."""

    collector: str
    attributes: tuple[str, ...]
    n: Count
    others: Count
    pvalue: Share
    adjusted: Share
    method: str
    words: str = ""

    def __post_init__(self) -> None:
        probability(self.pvalue, "a p-value")
        probability(self.adjusted, "an adjusted p-value")

    @property
    def differs(self) -> bool:
        """Whether the collector's reports are shown to differ from the others'."""
        return self.adjusted < LEVEL

    @property
    def about(self) -> str:
        """The attributes of the table in words."""
        return " × ".join(self.attributes)


@dataclass(frozen=True, slots=True, repr=False)
class CollectorComparison(Result):
    """Whether the counts of one of several collectors differ from those of the others.

    Parameters
    ----------
    names : tuple of str
        The collectors.
    reports : tuple of int
        How many reports each of them has.
    tests : tuple of CollectorTest
        A test of every table and collector: first those of collectors that differ, each compared without the ones
        before, and the smallest p-values first.
    left_out : tuple of str
        Tables that could not be compared, and why.
    privacy : PrivacyStatement
    simulated : int
        How many of all reports are simulated.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> protocol = ldp.SampledGroups(ldp.Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), epsilon=2.0)
    >>> people = {"north": [900] * 4, "south": [900] * 4, "west": [1800, 600, 600, 600]}
    >>> sets = [protocol.simulate(counts, rng=seed) for seed, counts in enumerate(people.values())]
    >>> comparison = ldp.compare_collectors(sets, list(people))
    >>> comparison
    <CollectorComparison: 3 collectors: west differs from the others; 10,800 reports (simulated)>
    >>> comparison.worst("west").differs, comparison.worst("north").differs
    (True, False)
    """

    names: tuple[str, ...]
    reports: tuple[int, ...]
    tests: tuple[CollectorTest, ...]
    left_out: tuple[str, ...]
    privacy: PrivacyStatement
    simulated: Count

    def __post_init__(self) -> None:
        if len({*self.names}) < len(self.names) or len(self.names) != len(self.reports) or len(self.names) < 2:
            raise LdpstatsError(
                f"the collectors {self.names!r} with {len(self.reports)} numbers of reports",
                "at least two different names, and a number of reports for each",
            )
        if not {test.collector for test in self.tests} <= {*self.names}:
            raise LdpstatsError("tests of other collectors", "tests of the collectors that are named")
        at_least(self.simulated, 0, "simulated", most=self.n)

    @property
    def n(self) -> int:
        """The reports of all collectors together."""
        return sum(at_least(number, 0, "the reports of a collector") for number in self.reports)

    @property
    def differing(self) -> tuple[str, ...]:
        """The collectors whose counts are shown to differ from the others', the clearest first; level .001."""
        return tuple(dict.fromkeys(test.collector for test in self.tests if test.differs))

    def worst(self, name: str) -> CollectorTest | None:
        """Return the test that speaks loudest against a collector; None where it has none.

        Parameters
        ----------
        name : str
            The collector.
        """
        return next((test for test in self.tests if test.collector == name), None)

    @property
    def warning(self) -> tuple[str, ...]:
        """Sentences that summaries of the merged tables add where a collector differs; none otherwise."""
        if not self.differing:
            return ()
        more = len(self.differing) - _SAID
        return (
            *map(self._differs, self.differing[:_SAID]),
            *([f"So do {more:,} further collectors."] if more > 0 else []),
            *([_FIRST] if len(self.differing) > 1 else []),
            (
                "Collectors may rightly ask different people. If these did not, look for forged reports, reports that "
                "were counted twice, and devices that answer something else."
            ),
        )

    def _differs(self, name: str) -> str:
        worst = self.worst(name)
        assert worst is not None  # it is named by one of its tests
        where = f"{worst.about}{': ' if worst.words else ''}{worst.words}"
        p = f"p = {pvalue_in_words(worst.adjusted, 2)}".replace("= <", "<")
        return f"A DIFFERENT COLLECTOR: {name} differs from the others, {p} ({where}; level {LEVEL:g})."

    @property
    def headline(self) -> str:
        """How many collectors were compared, and which of them differ."""
        shown = self.differing
        named = f"{', '.join(shown[:_SAID])}{' and others' if len(shown) > _SAID else ''}"
        outcome = f"{named} {'differs' if len(shown) == 1 else 'differ'} from the others" if shown else "none differs"
        if not self.tests:
            outcome = "nothing could be compared"
        return f"{len(self.names)} collectors: {outcome}; {self.n:,} reports{simulation(self.simulated, self.n)}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per test, those of collectors that differ first, and the smallest p-values first."""
        columns = ("collector", "about", "n", "others", "pvalue", "adjusted", "differs", "method", "words")
        rows = [[getattr(test, name) for name in columns] for test in self.tests]
        return pd.DataFrame(rows, columns=list(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        names = "check collectors level differing n simulated privacy tests=to_frame left_out warning"
        collectors = dict(zip(self.names, self.reports, strict=True))
        return plain_values(self, names, check="collectors", collectors=collectors, level=LEVEL)

    def picture(self) -> Picture:
        """Return what `plot` draws: how much speaks against every collector."""
        strength = {name: _strength(self.worst(name)) for name in self.names}
        names = sorted(strength, key=lambda name: -strength[name])[:_MOST_ROWS]
        nothing = (math.nan,) * len(names)
        return Intervals(
            "How much speaks for a difference between a collector and the others",
            (f"{self.n:,} reports{simulation(self.simulated, self.n)}", f"level {LEVEL:g}: {-math.log10(LEVEL):g}"),
            tuple(names),
            tuple(strength[name] for name in names),
            nothing,
            nothing,
            "-log10 of its smallest adjusted p-value",
            ranked=True,
        )

    def summary(self) -> Summary:
        """Return a row per collector, those that differ most first, and what was found."""
        ranked = sorted(zip(self.names, self.reports, strict=True), key=lambda row: -_strength(self.worst(row[0])))
        rows = [_row(name, reports, self.worst(name)) for name, reports in ranked[:_MOST_ROWS]]
        left = len(ranked) - len(rows)
        sentences = [
            *([f"And {left:,} collectors with larger p-values: to_frame() has them."] if left else []),
            *self._said(),
            *(f"Not compared: {words}." for words in self.left_out[:_SAID]),
            *([f"And {len(self.left_out) - _SAID:,} tables more."] if len(self.left_out) > _SAID else []),
            *self.privacy.sentences(self.n),
        ]
        headers = ["collector", "reports", "smallest p-value", "adjusted p", "of the table"]
        return summary_of_figures(f"{len(self.names)} collectors, each against the others", headers, rows, sentences)

    def _said(self) -> Iterator[str]:
        if not self.tests:
            yield "No table could be compared."
            return
        yield from self.warning or (f"No collector is shown to differ from the others at level {LEVEL:g}.",)
        yield (
            f"p-values are adjusted for {len(self.tests):,} tests by Holm's method. Where reports of all collectors "
            "came through the same channel they are upper bounds of exact ones, for any number of reports."
        )


def _strength(test: CollectorTest | None) -> float:
    return 0.0 if test is None else abs(math.log10(max(test.adjusted, _LEAST)))


def _row(name: str, reports: int, test: CollectorTest | None) -> list[str]:
    cells = ["-"] * 3 if test is None else [*(pvalue_in_words(p, 2) for p in (test.pvalue, test.adjusted)), test.about]
    return [name, f"{reports:,}", *cells]


_MOST_DESIGN = 4_000_000
Compared: TypeAlias = dict[str, tuple[Table, dict[Hashable, Block]]]
"""The tables of the same attributes, by collector, with what each asked through which noise."""


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
    named = list(zip(called, sets, strict=True))
    compared: list[Compared] = []
    for attributes in (table.attributes for table in together):
        tables = {name: own[attributes] for name, own in named if attributes in own and own[attributes].n}
        compared.append({name: (table, _blocks(table)) for name, table in tables.items()})
    return CollectorComparison(
        names=tuple(called),
        reports=tuple(tables.n for tables in sets),
        tests=tuple(sorted(_tested(compared, called), key=lambda test: not test.differs)),
        left_out=tuple(
            f"{' × '.join(table.attributes)}, for which one collector asked"
            for table, by_name in zip(together, compared, strict=True)
            if len(by_name) == 1
        ),
        privacy=together.privacy,
        simulated=together.simulated,
    )


def _tested(compared: Sequence[Compared], names: Sequence[str]) -> list[CollectorTest]:
    """Test every collector against the others, taking out those that differ one after the other."""
    decided: list[CollectorTest] = []
    left = list(names)
    with progress(None, "collectors", len(left), "collector") as bar:
        while True:
            only = [{name: by_name[name] for name in left if name in by_name} for by_name in compared]
            several = [by_name for by_name in only if len(by_name) > 1]
            number = sum(map(len, several))
            # the clearest difference comes first
            with_pvalues = [test for by_name in several for test in _compare(by_name, number)]
            ranked = sorted(with_pvalues, key=lambda pair: pair[0])
            pvalues = np.array([test.pvalue for _, test in ranked])
            adjusted = adjusted_pvalues(pvalues, LEVEL, "holm").tolist()
            tests = [replace(test, adjusted=pvalue) for (_, test), pvalue in zip(ranked, adjusted, strict=True)]
            if not tests or not tests[0].differs or len(left) == 2:
                return [*decided, *tests]
            decided += [test for test in tests if test.collector == tests[0].collector]
            left.remove(tests[0].collector)
            bar.update(1)


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
    for tables in islice(sets, 1, None):
        together = together + tables
    return together


def _named(sets: object, names: Sequence[str] | None) -> list[str]:
    if not isinstance(sets, Sequence) or isinstance(sets, str) or len(sets) < 2:
        raise LdpstatsError(f"{shortened(sets)}", "at least two table sets, one of each collector")
    for tables in sets:
        checked_table_set(tables)
    called = [f"{number}" for number in range(1, 1 + len(sets))] if names is None else names
    listed = list(called) if isinstance(called, Iterable) and not isinstance(called, str) else []
    texts = {name for name in listed if isinstance(name, str) and name}
    if not len(texts) == len(listed) == len(sets):
        raise LdpstatsError(f"names = {shortened(names)}", f"{len(sets)} different names, one for each collector")
    return listed


def _compare(compared: Compared, number: int) -> list[tuple[float, CollectorTest]]:
    """Compare every collector with all others, among `number` tests in all; each log p-value comes first."""
    # whether all asked the same through the same noises, and every report adds at most 1 to a count
    (_, first), *others = compared.values()
    by_counts = all(asked.keys() == first.keys() for _, asked in others) and all(
        block.noise.largest == 1 for block in first.values()
    )
    tests = []
    for name, (table, _) in compared.items():
        log_pvalue, method, words = _by_counts(compared, name) if by_counts else _by_model(compared, name, number)
        n = sum(own.n for own, _ in compared.values()) - table.n
        test = CollectorTest(name, table.attributes, table.n, n, math.exp(log_pvalue), 1.0, method, words)
        tests.append((log_pvalue, test))
    return tests


def _by_counts(compared: Compared, name: str) -> tuple[float, str, str]:
    looked, least, words = 0, 0.0, ""
    table, asked = compared[name]
    for key, own in asked.items():
        every = [blocks[key] for _, blocks in compared.values()]
        counts, n = telling_counts(own.tally), sum(block.n for block in every)
        totals = np.sum([telling_counts(block.tally) for block in every], axis=0)
        logarithms = log_part_pvalues(counts, own.n, totals, n)
        looked += logarithms.size
        kind = int(logarithms.argmin())
        if logarithms[kind] < least:
            least = float(logarithms[kind])
            seen, others = int(counts[kind]) / own.n, int(totals[kind] - counts[kind]) / (n - own.n)
            answer = f"kind {kind} of the reports"
            if logarithms.size == own.noise.cells and own.question.is_bijection:
                codes = np.unravel_index(int(np.flatnonzero(own.classes == kind)[0]), table.shape)
                coded = zip(table.domain.categories.items(), codes, strict=True)
                answer = ", ".join(f"{attribute} = {categories[code]}" for (attribute, categories), code in coded)
            words = f"{answer}: {_percent(seen)} of its reports count for it, and {_percent(others)} of the others'"
    return min(0.0, math.log(looked) + least), "exact bound of every count", words


def _by_model(compared: Compared, name: str, number: int) -> tuple[float, str, str]:
    own, others = compared[name][0], [table for other, (table, _) in compared.items() if other != name]
    alone = [TableSet(table.domain, [table], table.privacy) for table in others]
    try:
        result = homogeneity_test([own, _summed(alone)[own.attributes]], pvalue=AmongMany(number, LEVEL))
    except NotIdentifiedError as error:
        return 0.0, f"left open: {error.came}", ""
    return math.log(result.pvalue) if result.pvalue else -math.inf, f"{result.method}, {result.pvalue_source}", ""


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


def _blocks(table: Table) -> dict[Hashable, Block]:
    blocks: dict[Hashable, Block] = {}
    for block in table.blocks:
        if block.n:
            key = (block.asked, block.answers)
            blocks[key] = blocks[key].merged_with(block) if key in blocks else block
    return blocks


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
