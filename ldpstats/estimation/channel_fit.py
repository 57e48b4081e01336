"""Channel fit: a goodness-of-fit test whether tallies can have come through their channels, whatever the truth is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.blocks import Block
from ldpstats.estimation.component_tests import AsymptoticTest, ComponentTest, shares, totals
from ldpstats.estimation.constrained_fit import ConstrainedFit
from ldpstats.estimation.estimate import pvalue_in_words
from ldpstats.hints import Count
from ldpstats.noise import Tally
from ldpstats.presentation import Result, Summary, summary_of_figures
from ldpstats.questions import Question

LEVEL = 0.001
"""How often, at most, reports that did come through their channel are called implausible."""
CAUSES = "another epsilon or mechanism than stated, forged or duplicated reports, or reports of nobody"

_SUSPECT = 0.01
_TINY = 1e-15
_MOST_CELLS, _MOST_OUTPUTS = 300, 2000


@dataclass(frozen=True, slots=True, repr=False)
class ChannelFit(Result):
    """The outcome of the test whether reports can have come through their channel.

    Parameters
    ----------
    components : tuple of ComponentTest
        What was tested; empty where there are no reports to look at.
    n : int
        The number of reports.

    Examples
    --------
    >>> from ldpstats import GRR
    >>> from ldpstats.noise import Tally
    >>> GRR(4, epsilon=1.0).channel_fit(Tally(GRR(4, epsilon=1.0).noise, [1000, 0, 0, 0], 1000)).plausible
    False
    """

    components: tuple[ComponentTest, ...]
    n: Count

    @property
    def worst(self) -> ComponentTest | None:
        """The component test that speaks loudest against the channel."""
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
        return [
            f"IMPLAUSIBLE: {self.worst.words} ({_in_words(self.pvalue)}; level {LEVEL:g}).",
            f"Possible causes: {CAUSES}.",
            "Estimates, intervals and tests made of these reports are not to be trusted.",
        ]

    @property
    def headline(self) -> str:
        """How many reports there are, and whether they are such as their channel makes."""
        return f"{self.n:,} {'report' if self.n == 1 else 'reports'}: {self.words}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per component test: what the channel limits, the statistic, the p-value and its origin."""
        rows = [(one.name, one.statistic, one.pvalue, one.method) for one in self.components]
        return pd.DataFrame(rows, columns=["component", "statistic", "pvalue", "method"])

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        pvalue = None if self.worst is None else self.pvalue
        return {"pvalue": pvalue, "level": LEVEL, "plausible": self.plausible, "words": self.words}

    def summary(self) -> Summary:
        """Return a line per component test, and the outcome in words."""
        rows = [
            [one.name, f"{one.statistic:.4g}", pvalue_in_words(one.pvalue, 3), one.method] for one in self.components
        ]
        title = f"Fit of {self.n:,} reports to their channel"
        headers = ["what the channel limits", "statistic", "p-value", "from"]
        return summary_of_figures(title, headers, rows, [self.words])


def _in_words(pvalue: float) -> str:
    return f"p = {pvalue:.1g}" if pvalue > _TINY else f"p < {_TINY:g}"


def channel_fit(blocks: Sequence[Block]) -> ChannelFit:
    """Test whether the tallies of blocks can have come through their channels, whatever the true answers are.

    Up to four component tests are made. *Shares*: every output's expected share lies between two bounds, so that its
    count lies between two binomial laws; their exact tails hold for any number of reports and whatever the
    respondents answer. *Totals*: where reports differ in how much they count for (bits set, values supported), the
    mean and variance of that are known. *Contradictions*: of the outputs of a channel that has more of them than
    values, Pearson's χ² in the directions that no frequencies explain. *Distance*: of the tally from those that are
    expected under proper frequencies, in its own covariance; given which cells are held at zero it is at most a χ²
    with as many degrees of freedom. The latter three are asymptotic; where few reports of some kind are expected and
    one of them is suspicious, tallies are drawn at the nearest proper frequencies instead, from a seed that follows
    from the counts.

    Tables with more than 300 cells, or with a block of more than 2,000 outputs, are judged by shares and totals alone.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of one table; those without reports are left out.
    """
    answered = [block for block in blocks if block.n > 0]
    if not answered:
        return ChannelFit((), 0)
    exact, tests, point = shares(answered), totals(answered), None
    small = all(block.tally.noise.outputs <= _MOST_OUTPUTS for block in answered)
    if small and answered[0].question.cells <= _MOST_CELLS:
        point = ConstrainedFit.of(answered)
        tests += point.tests()
    decided = any(component.pvalue < LEVEL / (1 + len(tests)) for component in exact)
    components = (*exact, *_examined(answered, tests, point, decided=decided))
    return ChannelFit(components, sum(block.n for block in answered))


def tally_fit(tally: Tally) -> ChannelFit:
    """Return the `channel_fit` of one tally of values.

    Parameters
    ----------
    tally : Tally
        Counts of one table, whose cells are the values themselves.
    """
    cells = tally.noise.cells
    return channel_fit([Block(Question(("value",), (cells,), tuple(range(cells))), tally)])


def _examined(
    blocks: Sequence[Block], tests: Sequence[AsymptoticTest], point: ConstrainedFit | None, *, decided: bool
) -> list[ComponentTest]:
    """Look at the tallies, and again beside drawn ones where asymptotics are in doubt and something depends on it."""
    observed = [block.tally.counts[None, :] for block in blocks]
    components = [test.of(observed) for test in tests]
    suspect = [place for place, component in enumerate(components) if component.pvalue < _SUSPECT]
    if not suspect or decided or not (point is None or point.few):
        return components
    drawn = point.drawn() if point is not None else None
    for place in suspect:
        components[place] = tests[place].compared(observed, drawn)
    return components
