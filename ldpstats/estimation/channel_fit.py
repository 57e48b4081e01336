"""Channel fit: a goodness-of-fit test whether tallies can have come through their channels, whatever the truth is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.component_tests import ComponentTest, ConstrainedFit, shares, totals
from ldpstats.estimation.estimate import pvalue_in_words
from ldpstats.noise import Tally
from ldpstats.presentation import Result, Summary, progress, summary_of_figures
from ldpstats.saving.registered import Count

LEVEL = 0.001
"""How often, at most, reports that did come through their channel are called implausible."""
CAUSES = "another epsilon or mechanism than stated, forged or duplicated reports, or reports of nobody"

_SUSPECT = 0.01
_TINY = 1e-15
_MOST_CELLS, _MOST_OUTPUTS = 300, 2000
# entries of what is held of tables that are looked at together
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class ChannelFit(Result):
    """The goodness-of-fit test whether reports can have come through their channel; no components without reports."""

    components: tuple[ComponentTest, ...]
    n: Count

    @property
    def worst(self) -> ComponentTest | None:
        """The component test with the smallest p-value."""
        return min(self.components, key=lambda component: component.pvalue, default=None)

    @property
    def statistic(self) -> float:
        """The statistic of the worst component test."""
        return self.worst.statistic if self.worst else np.nan

    @property
    def pvalue(self) -> float:
        """The smallest p-value of the component tests times their number (Bonferroni); nan without reports."""
        return min(1.0, len(self.components) * self.worst.pvalue) if self.worst else np.nan

    @property
    def plausible(self) -> bool:
        """Whether the reports may have come through their channel, as far as a test at level .001 sees."""
        return not self.pvalue < LEVEL

    @property
    def method(self) -> str:
        """How the p-value came about."""
        number = len(self.components)
        return f"{self.worst.method}; the least of {number}, times {number}" if self.worst else "no reports"

    @property
    def words(self) -> str:
        """What the outcome means."""
        if self.worst is None:
            return "There are no reports here to compare with a channel."
        if self.plausible:
            return f"The reports are such as their channel makes (p = {self.pvalue:.2g})."
        return " ".join(self.warning)

    @property
    def warning(self) -> list[str]:
        """Sentences that summaries add if the reports are implausible; none otherwise."""
        if self.worst is None or self.plausible:
            return []
        pvalue = f"p = {self.pvalue:.1g}" if self.pvalue > _TINY else f"p < {_TINY:g}"
        return [
            f"IMPLAUSIBLE: {self.worst.words} ({pvalue}; level {LEVEL:g}).",
            f"Possible causes: {CAUSES}.",
            "Estimates, intervals and tests made of these reports are not to be trusted.",
        ]

    @property
    def headline(self) -> str:
        """How many reports there are, and whether they are such as their channel makes."""
        return f"{self.n:,} {'report' if self.n == 1 else 'reports'}: {self.words}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per component test: what the channel limits, the statistic, the p-value and its origin."""
        rows = [(test.name, test.statistic, test.pvalue, test.method) for test in self.components]
        return pd.DataFrame(rows, columns=["component", "statistic", "pvalue", "method"])

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        pvalue = None if self.worst is None else self.pvalue
        return {"pvalue": pvalue, "level": LEVEL, "plausible": self.plausible, "words": self.words}

    def summary(self) -> Summary:
        """Return a line per component test, and the outcome in words."""
        rows = [
            [test.name, f"{test.statistic:.4g}", pvalue_in_words(test.pvalue, 3), test.method]
            for test in self.components
        ]
        title = f"Fit of {self.n:,} reports to their channel"
        headers = ["what the channel limits", "statistic", "p-value", "from"]
        return summary_of_figures(title, headers, rows, [self.words])


def channel_fits(tables: Sequence[Sequence[Block]]) -> list[ChannelFit]:
    """Test whether tables' tallies can have come through their channels, whatever the true answers are.

    Up to four component tests are made of each table. *Shares*: every output's expected share lies between two bounds,
    so that its count lies between two binomial laws; their exact tails hold for any number of reports and whatever the
    respondents answer. *Totals*: where reports differ in how much they count for (bits set, values supported), the mean
    and variance of that are known. *Contradictions*: of the outputs of a channel that has more of them than values,
    Pearson's χ² in the directions that no frequencies explain. *Distance*: of the tally from those that are expected
    under proper frequencies, in its own covariance; given which cells are held at zero it is at most a χ² with as many
    degrees of freedom. The latter three are asymptotic; where few reports of some kind are expected and one of them is
    suspicious, tallies are drawn at the nearest proper frequencies instead, from a seed that follows from the counts.

    Tables with more than 300 cells, or with a block of more than 2,000 outputs, are judged by shares and totals alone.
    Tables of one block that were asked alike are looked at together.

    Parameters
    ----------
    tables : sequence of sequences of Block
        The blocks of each; those without reports are left out.
    """
    fits = [ChannelFit((), 0)] * len(tables)
    groups: dict[Hashable, list[int]] = {}
    for index, blocks in enumerate(tables):
        if any(block.n for block in blocks):
            groups.setdefault(_alike(blocks) or index, []).append(index)
    for places in groups.values():
        answered = [[block for block in tables[index] if block.n] for index in places]
        cells, outputs = answered[0][0].question.cells, max(block.noise.outputs for block in answered[0])
        at_once = max(1, _AT_ONCE // max(cells**2, outputs))
        for start in range(0, len(places), at_once):
            stop = start + at_once
            for index, fit in zip(places[start:stop], _fits_alike(answered[start:stop]), strict=False):
                fits[index] = fit
    return fits


def _alike(blocks: Sequence[Block]) -> Hashable:
    """Return a key of tables of a single block that were asked alike, to look at together; None for others."""
    first, *more = (block for block in blocks if block.n)
    # the information of counts with noise of their own does not grow with the number of respondents
    return None if more or not np.isfinite(first.noise.largest) else (first.question.classes, first.noise)


def _fits_alike(tables: Sequence[Sequence[Block]]) -> list[ChannelFit]:
    """Test one table with reports in any blocks, or several that were asked alike in a single block each."""
    exact, tests, point, blocks = shares(tables), totals(tables), None, tables[0]
    small = all(block.noise.outputs <= _MOST_OUTPUTS for block in blocks)
    if small and blocks[0].question.cells <= _MOST_CELLS:
        point = ConstrainedFit(tables)
        tests += point.tests()
    observed = [np.array([own[index].tally.counts for own in tables]) for index in range(len(blocks))]
    outcomes, few = [test.of(observed) for test in tests], [True] * len(tables) if point is None else point.few.tolist()
    fits = []
    for table, own in enumerate(progress(tables, "reports and their channel", unit="table")):
        components = [outcome[table] for outcome in outcomes]
        known = [test for test in components if test is not None]
        decided = any(test.pvalue < LEVEL / (1 + len(known)) for test in exact[table])
        if few[table] and not decided and any(test.pvalue < _SUSPECT for test in known):
            # what is drawn must not depend on the rounding of fits of other tables: this one is fitted by itself
            alone = ConstrainedFit([own]) if point is not None else None
            again = {test.name: test for test in (*totals([own]), *(alone.tests() if alone else ()))}
            known = [
                again[test.name].compared(test, alone.drawn() if alone else ()) if test.pvalue < _SUSPECT else test
                for test in known
            ]
        fits.append(ChannelFit((*exact[table], *known), sum(block.n for block in own)))
    return fits


def tally_fit(tally: Tally) -> ChannelFit:
    """Return the fit of one tally of values, counts of one table, to its channel."""
    cells = tally.noise.cells
    return channel_fits([[Block(Question(("value",), (cells,), tuple(range(cells))), tally)]])[0]
