"""Tests of all pairs as one result: sorted, with the adjustment for their number, and what none of them could show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.estimation import ASSUMED, pvalue_in_words
from ldpstats.inference.engine.detectability import NOT_KNOWN, NoncentralityProfile, RespondentsNeeded
from ldpstats.inference.hypothesis_tests.adjustment import (
    adjusted_pvalues,
    adjustment_in_words,
    controlled_in_words,
    first_step,
)
from ldpstats.inference.hypothesis_tests.result import REFERENCE_SIZES
from ldpstats.inference.planning.design import USUAL_POWER, target_power
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import as_array, at_least, significance
from ldpstats.pictures.heat_map import HeatMap
from ldpstats.presentation import Picture, Result, Summary, plain_rows, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share

Verdict: TypeAlias = Literal["dependent", "no dependence shown", "not testable", "implausible"]
DEPENDENT: Verdict = "dependent"
NOT_SHOWN: Verdict = "no dependence shown"
UNTESTABLE: Verdict = "not testable"
IMPLAUSIBLE: Verdict = "implausible"
_NOT_INDEPENDENCE = "'No dependence shown' does not show independence: weaker dependences need more respondents."
_MOST_ROWS, _MOST_LINES, _MOST_SAID = 40, 6, 4
_COLUMNS = (
    *("first", "second", "cramers_v", "statistic", "df", "pvalue", "adjusted", "verdict", "power", "n", "reason"),
    "caveat",
)


@dataclass(frozen=True, slots=True, eq=False)
class PairTest:
    """The test of one pair among many; it unpacks to (statistic, pvalue).

    Numbers are nan (df None) where it is not testable; `reason` says why not, or why not to be trusted. V is corrected
    for noise, and nan where not estimable (`why_not`); `assumption` and `without` say what it assumes and leaves out.
    The verdict is after adjustment; the power is that against V = .1 at the level left in its first step.
    """

    first: str
    second: str
    verdict: Verdict
    n: Count
    statistic: float = math.nan
    df: Count | None = None
    pvalue: Share = math.nan
    adjusted: Share = math.nan
    cramers_v: Share = math.nan
    power: Share = math.nan
    reason: str = ""
    assumption: str = ""
    without: str = ""
    why_not: str = ""
    method: str = ""
    pvalue_source: str = ""
    seed: int | None = None
    sensitivity: NoncentralityProfile | None = field(default=None, repr=False)

    @property
    def attributes(self) -> tuple[str, str]:
        """Both attributes, the first one first."""
        return self.first, self.second

    @property
    def caveat(self) -> str:
        """What V assumes, what it leaves out, or why it is not estimable."""
        if self.why_not:
            return f"not estimable, {self.why_not}"
        return "; ".join(filter(None, (self.assumption, self.without)))

    @property
    def name(self) -> str:
        """The pair in words."""
        return f"{self.first} × {self.second}"

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndependenceTests(Result):
    """The tests of all pairs of attributes, those with the smallest p-values first.

    Parameters
    ----------
    pairs : tuple of PairTest
        The tests; `tests["sex", "car"]` is that of one pair.
    domain : Domain
        The attributes, in the order that pictures show them in.
    adjust : str
        How p-values were adjusted for their number: a method of statsmodels' `multipletests`, or "none".
    alpha : float
        The level of the verdicts.
    n, simulated : int
        The reports of all pairs together, and how many of them are simulated.
    respondents : int
        Who sent them: fewer, where they sent several each.
    privacy : PrivacyStatement
    warning : tuple of str
        What must be said where reports do not fit their channel, rows stand twice, or a collector differs.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "dog": ["yes", "no"]})
    >>> people = [1200, 800, 1800, 1200, 1800, 1200, 1200, 800]
    >>> tests = ldp.independence_tests(ldp.SampledGroups(domain, epsilon=2.0).simulate(people, rng=1))
    >>> tests
    <IndependenceTests: 1 of 3 pairs shown to be dependent at level 0.05 (Holm's method); 10,000 reports
    (simulated)>
    >>> tests.significant()[["first", "second", "cramers_v"]].round(2)
      first second  cramers_v
    0   sex    car       0.17
    """

    pairs: tuple[PairTest, ...]
    domain: Domain
    adjust: str
    alpha: Share
    n: Count
    simulated: Count
    respondents: Count
    privacy: PrivacyStatement
    warning: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        first_step(2, significance(self.alpha), self.adjust)
        at_least(self.simulated, 0, "simulated", most=self.n)
        names = [frozenset(pair.attributes) for pair in self.pairs]
        if len({*names}) < len(names) or not all(len(pair) == 2 and pair <= {*self.domain.names} for pair in names):
            raise LdpstatsError("tests of other pairs than those of the domain", "one test of each pair at most")

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[PairTest]:
        return iter(self.pairs)

    def __getitem__(self, attributes: Sequence[str]) -> PairTest:
        """Return the test of two attributes, in any order."""
        wanted = attributes if isinstance(attributes, tuple) else tuple(listed(attributes))
        asked = frozenset(wanted) if all(isinstance(name, str) for name in wanted) else None
        matching = [pair for pair in self.pairs if frozenset(pair.attributes) == asked] if len(wanted) == 2 else []
        if not matching:
            known = one_line([pair.attributes for pair in self.pairs])
            raise LdpstatsError(f"the pair {shortened(attributes)}", known, "The columns are those of to_frame().")
        return matching[0]

    @property
    def level(self) -> float:
        """The level of each test in the first step of the adjustment: what suffices, whatever the other tests show."""
        return first_step(sum(not math.isnan(pair.pvalue) for pair in self.pairs), self.alpha, self.adjust)

    @property
    def headline(self) -> str:
        """How many pairs are shown to be dependent, in one line."""
        counted = Counter(pair.verdict for pair in self.pairs)
        phrases = [f"{counted[DEPENDENT]} of {_pairs(len(self))} shown to be dependent at level {self.alpha:g}"]
        phrases += [f"{counted[verdict]} {verdict}" for verdict in (UNTESTABLE, IMPLAUSIBLE) if counted[verdict]]
        reports = f"{self.n:,} reports{simulation(self.simulated, self.n)}"
        return f"{', '.join(phrases)} ({adjustment_in_words(self.adjust)}); {reports}"

    def significant(self, alpha: float | None = None) -> pd.DataFrame:
        """Return the rows of `to_frame` of the pairs that are shown to be dependent, after adjustment.

        Pairs whose reports do not fit their channel are not among them.

        Parameters
        ----------
        alpha : float, optional
            The level; by default that of the verdicts.
        """
        frame, level = self.to_frame(), significance(self.alpha if alpha is None else alpha)
        tested = frame["pvalue"].notna()
        frame.loc[tested, "adjusted"] = adjusted_pvalues(frame.loc[tested, "pvalue"].to_numpy(), level, self.adjust)
        return frame[(frame["adjusted"] <= level) & (frame["verdict"] != IMPLAUSIBLE)].reset_index(drop=True)

    def respondents_needed(self, power: float = USUAL_POWER, effects: Sequence[float] | None = None) -> pd.DataFrame:
        """Return how many respondents in all would find each pair's dependence, if they were asked in the same way.

        The pairs share the respondents as they do here, and a test has the level that its adjustment leaves it in the
        first step.

        Parameters
        ----------
        power : float
            How often it shall be found.
        effects : sequence of float, optional
            Cramér's V of each pair, in the order of `to_frame`. By default it is the dependence that the reports show,
            as far as their statistic tells it.

        Returns
        -------
        DataFrame
            A row per pair, in the order of `to_frame`: the number that is `needed`, and between which limits it is.
            Of what reports show, `least` and `most` are the limits of an interval of level 1 - `alpha`, from the
            noncentral χ² law of the statistic; `most` is missing where the reports could have come from independent
            answers, and `needed` where these would bring a larger statistic more often than not. Of given effects,
            `needed` gives the power on average over the directions of a dependence, and `least` and `most` give it
            for those that are seen better, and worse, than 95 % are, by the margins that all tables together show, with
            rare categories as frequent, and as rare, as they may be. These are no confidence limits: in 200 random
            settings they held the number that simulation finds for the true direction in 83 %. Where categories are
            many and margins uneven, dependences between frequent categories take fewer respondents, and others more.
            All are missing where V is zero, where there is no test, where reports that should show it do not fit their
            channel, and where a curator's noise comes once, however many answer.
        """
        level = self.level
        target = target_power(power, level)
        sizes = np.full(len(self), np.nan) if effects is None else as_array(effects, "effects")
        if sizes.shape != (len(self),) or sizes.dtype.kind not in "iuf" or np.any((sizes < 0) | (sizes > 1)):
            raise LdpstatsError(
                f"effects = {shortened(effects)} for {len(self)} pairs",
                "a number from 0 to 1 for each, in the order of to_frame(); nan where there is none",
            )
        numbers = []
        for pair, size in zip(self.pairs, sizes.tolist(), strict=True):
            told, needed = pair.sensitivity, NOT_KNOWN
            if told is not None and effects is not None:
                needed = told.respondents(self.respondents, size, target, level)
            elif told is not None and told.proportional and pair.verdict != IMPLAUSIBLE:
                assert pair.df is not None  # with what it tells
                shown = pair.statistic, pair.df, self.respondents
                needed = RespondentsNeeded.shown_by(*shown, target, level, 1 - self.alpha)
            numbers.append(needed)
        return pd.DataFrame(numbers, columns=RespondentsNeeded._fields, dtype="Int64")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per pair, those with the smallest p-values first.

        Its columns are the fields of `PairTest`; `caveat` says where a V leaves something out or assumes something.
        """
        columns = {name: [getattr(pair, name) for pair in self.pairs] for name in _COLUMNS}
        return pd.DataFrame(columns).astype({"df": "Int64"})

    def to_dict(self) -> dict[str, Any]:
        """Return the tests as plain values."""
        more = [{"method": pair.method, "pvalue_source": pair.pvalue_source, "seed": pair.seed} for pair in self.pairs]
        pairs = [{**row, **said} for row, said in zip(plain_rows(self.to_frame()), more, strict=True)]
        names = "adjust alpha level_of_first_step=level n simulated respondents privacy pairs warning"
        return plain_values(self, names, pairs=pairs)

    def picture(self) -> Picture:
        """Return Cramér's V of all pairs, grey where no dependence is shown."""
        names = self.domain.names
        labels = [name for name in names if any(name in pair.attributes for pair in self.pairs)]
        index_of = {name: index for index, name in enumerate(labels)}
        values = np.full((len(labels), len(labels)), np.nan)
        decided, asked = np.zeros((2, *values.shape), dtype=np.bool_)
        for pair in self.pairs:
            first, second = (index_of[name] for name in pair.attributes)
            for cell in ((first, second), (second, first)):
                values[cell], asked[cell] = pair.cramers_v, True
                decided[cell] = pair.verdict == DEPENDENT
        level = f"level {self.alpha:g}, {adjustment_in_words(self.adjust)}"
        notes = (f"{self.n:,} reports{simulation(self.simulated, self.n)}; {level}", *self._drawn(), *self.warning[:1])
        title = "How strongly attributes are associated (Cramér's V, corrected for noise)"
        return HeatMap(title, notes, tuple(labels), values, decided, asked, "Cramér's V")

    def summary(self) -> Summary:
        """Return the tests as a table of up to 40 pairs, and what must be known to read it."""
        rows = [_row(pair) for pair in self.pairs[:_MOST_ROWS]]
        headers = ("pair", "V", "statistic", "df", "p-value", "adjusted p", "power*", "verdict")
        left = len(self) - len(rows)
        of_level = "each test has" if self.adjust == "none" else "the adjustment leaves it whatever the others show"
        title = f"Independence of {_pairs(len(self))} of attributes, tested on privatized answers"
        sentences = [
            *([f"{left} more with larger p-values are in to_frame()."] if left else []),
            f"{self.headline}.",
            controlled_in_words(self.adjust, self.alpha),
            "V is Cramér's V, corrected for noise.",
            f"* the test's power to find V = {REFERENCE_SIZES[0]:g} at level {self.level:.2g}, which {of_level}.",
            *([_NOT_INDEPENDENCE] if any(pair.verdict == NOT_SHOWN for pair in self.pairs) else []),
            *(f"† V of {said}" for said in _grouped(self.pairs, lambda pair: pair.caveat)),
            *(f"No verdict on {said}" for said in _grouped(self.pairs, lambda pair: pair.reason)),
            *self._sources(),
            *self.privacy.sentences(self.n),
            ASSUMED,
            *self.warning,
        ]
        return summary_of_figures(title, headers, rows, sentences)

    def _drawn(self) -> list[str]:
        drawn = [pair for pair in self.pairs if not math.isnan(pair.cramers_v)]
        assumed, without = Counter(pair.assumption for pair in drawn), sum(bool(pair.without) for pair in drawn)
        framed = any(pair.verdict == DEPENDENT for pair in self.pairs if math.isnan(pair.cramers_v))
        return [
            f"grey: no dependence shown{'; framed: shown, but V is not estimable' if framed else ''}",
            *(f"V of {_pairs(number)} is one {words}" for words, number in assumed.items() if words),
            *([f"V of {_pairs(without)} leaves out categories that were hardly seen"] if without else []),
        ]

    def _sources(self) -> list[str]:
        tested = [pair for pair in self.pairs if not math.isnan(pair.pvalue)]
        drawn = sum(pair.seed is not None for pair in tested)
        methods = Counter(pair.method for pair in tested)
        origins = Counter(pair.pvalue_source for pair in tested if pair.seed is None)
        if drawn:
            origins["Monte Carlo (numbers of tables and seeds are in to_dict())"] = drawn
        return [
            f"{what}: {'; '.join(f'{words} ({number})' for words, number in counter.most_common(_MOST_SAID))}."
            for what, counter in (("Statistics, with the number of pairs", methods), ("p-values", origins))
            if counter
        ]


def _pairs(number: int) -> str:
    return f"{number} {'pair' if number == 1 else 'pairs'}"


def _grouped(pairs: Sequence[PairTest], said: Callable[[PairTest], str]) -> list[str]:
    """Return what is said of pairs, each once, after the pairs that it is said of."""
    names_of: dict[str, list[str]] = {}
    for pair in pairs:
        if said(pair):
            names_of.setdefault(said(pair), []).append(pair.name)
    listings = [
        f"{', '.join(names[:_MOST_SAID])}{f' and {len(names) - _MOST_SAID} more' if len(names) > _MOST_SAID else ''}"
        for names in names_of.values()
    ]
    lines = [f"{names}: {words}." for names, words in zip(listings, names_of, strict=True)]
    return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "More such notes are in to_frame()."]


def _row(pair: PairTest) -> list[str]:
    marked = "†" if pair.caveat and not math.isnan(pair.cramers_v) else ""
    tested = not math.isnan(pair.pvalue)
    return [
        pair.name,
        "not estimable" if math.isnan(pair.cramers_v) else f"{pair.cramers_v:.3f}{marked}",
        f"{pair.statistic:.4g}" if tested else "-",
        "-" if pair.df is None else str(pair.df),
        pvalue_in_words(pair.pvalue, 3) if tested else "-",
        pvalue_in_words(pair.adjusted, 3) if tested else "-",
        f"{pair.power:.2f}" if tested else "-",
        pair.verdict,
    ]
