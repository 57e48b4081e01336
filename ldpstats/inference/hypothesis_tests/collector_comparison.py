"""Comparison of collectors as a result: which of them has counts that differ from the others', and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import LEVEL, pvalue_in_words
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import at_least, probability
from ldpstats.pictures.intervals import Ranking
from ldpstats.presentation import Picture, Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share

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
    >>> found = ldp.compare_collectors(sets, list(people))
    >>> found
    <CollectorComparison: 3 collectors: west differs from the others; 10,800 reports (simulated)>
    >>> found.worst("west").differs, found.worst("north").differs
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
        return sum(at_least(one, 0, "the reports of a collector") for one in self.reports)

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
        found = f"{named} {'differs' if len(shown) == 1 else 'differ'} from the others" if shown else "none differs"
        if not self.tests:
            found = "nothing could be compared"
        return f"{len(self.names)} collectors: {found}; {self.n:,} reports{simulation(self.simulated, self.n)}"

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
        return Ranking(
            "How much speaks for a difference between a collector and the others",
            (f"{self.n:,} reports{simulation(self.simulated, self.n)}", f"level {LEVEL:g}: {-math.log10(LEVEL):g}"),
            tuple(names),
            tuple(strength[name] for name in names),
            "-log10 of its smallest adjusted p-value",
        )

    def summary(self) -> Summary:
        """Return a row per collector, those that differ most first, and what was found."""
        ranked = sorted(zip(self.names, self.reports, strict=True), key=lambda one: -_strength(self.worst(one[0])))
        rows = [_row(name, reports, self.worst(name)) for name, reports in ranked[:_MOST_ROWS]]
        left = len(ranked) - len(rows)
        sentences = [
            *([f"And {left:,} collectors with larger p-values: to_frame() has them."] if left else []),
            *self._said(),
            *(f"Not compared: {one}." for one in self.left_out[:_SAID]),
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
    found = ["-"] * 3 if test is None else [*(pvalue_in_words(p, 2) for p in (test.pvalue, test.adjusted)), test.about]
    return [name, f"{reports:,}", *found]
