"""The one type of all effect sizes: an estimate, its confidence set by test inversion, and what that covers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from ldpstats.confidence.confidence_sets import Inversion
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import ASSUMED, ChannelFit
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import significance
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, plain_list, plain_values, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count
from ldpstats.tables import Table
from ldpstats.tables.shared import reports_once
from ldpstats.tables.unbiased_cells import assuming, bound_of, provenance_in_words

Interval = tuple[float, float]
_SCALES = {
    "odds ratio": "ratio",
    "risk ratio": "ratio",
    "risk difference": "difference",
    "difference of proportions": "difference",
}
_NO_INTERVAL = "none, as the reports do not fit their channel"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Effect(Result):
    """An effect size of a privatized table.

    Parameters
    ----------
    name : str
        Which effect of what, in words.
    estimate : float
        nan where it is not estimable.
    why_not : str
        The reason where it is not. There is a confidence set even then: where reports say nothing, all that is
        possible.
    n : int
        The reports behind it.
    privacy : PrivacyStatement
    simulated : int
        How many of the reports came from a simulation.
    alpha : float
        One minus the level of intervals that are asked for without one.
    inversion : Inversion
        Where the intervals come from.
    table : Table
        What was measured.
    without : str
        The categories that were left out, in words.
    quantity : str
        What it is an odds ratio, say; in files of old that is only in the name.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, odds_ratio
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> effect = odds_ratio(tables["sex", "car"], rows=("F", "M"), columns=("yes", "no"))
    >>> low, high = effect.conf_int()
    >>> low < 16 < high
    True
    """

    name: str
    estimate: float
    why_not: str = ""
    n: Count
    privacy: PrivacyStatement
    simulated: Count
    alpha: float = 0.05
    inversion: Inversion
    table: Table
    without: str = ""
    quantity: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", significance(self.alpha))

    @classmethod
    def of(
        cls, table: Table, name: str, estimate: float, inversion: Inversion, why_not: str, alpha: float, **more: Any
    ) -> Self:
        """Return an effect of a table.

        Parameters
        ----------
        table, name, estimate, inversion, why_not, alpha
            As in the class.
        more
            The fields of a derived class.
        """
        return cls(
            name=f"{name}{assuming(table)}",
            estimate=estimate,
            why_not=why_not,
            n=table.n,
            privacy=table.privacy,
            simulated=table.simulated,
            alpha=alpha,
            inversion=inversion,
            table=table,
            **more,
        )

    def conf_set(self, alpha: float | None = None) -> tuple[Interval, ...]:
        """Return the confidence set: all values that the reports do not contradict, as intervals in ascending order.

        Mostly it is one. A quotient whose denominator is not clearly different from zero may have two, or one
        without an end (infinite). None at all means that the estimated table is too far from any possible one. An
        estimate that is not among them, as a difference above 1, or one by another measure than the test's, is what the
        nearest of them reaches to.

        Parameters
        ----------
        alpha : float, optional
            One minus the level; by default that of the effect.
        """
        pieces = self.inversion.limits(significance(self.alpha if alpha is None else alpha))
        intervals = [(float(low), float(high)) for low, high in pieces if not math.isnan(low)]
        return tuple(intervals) if math.isnan(self.estimate) else reaching(intervals, self.estimate)

    def conf_int(self, alpha: float | None = None) -> Interval:
        """Return the shortest interval that holds the whole `conf_set`; (nan, nan) if that is empty.

        Parameters
        ----------
        alpha : float, optional
            As in `conf_set`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)["sex", "car"]
        >>> ratio = ldp.odds_ratio(table, rows=("F", "M"), columns=("yes", "no"))
        >>> [round(end, 2) for end in ratio.conf_int(alpha=0.1)]
        [1.85, 3.04]
        """
        pieces = self.conf_set(alpha)
        return (pieces[0][0], pieces[-1][1]) if pieces else (math.nan, math.nan)

    @property
    def fit(self) -> ChannelFit:
        """Whether the reports behind it can have come through their channel."""
        return self.table.channel_fit()

    @property
    def covers(self) -> str:
        """What the intervals hold, and what they allow for."""
        kept = "among the categories that are kept, as if these reports had not decided which; " if self.without else ""
        assumption, bound = self.table.assumption, bound_of(self.table)
        if_it_holds = (
            f" if this holds: {assumption}; if not, any other: bounds() of the table says what is known without it"
            if assumption
            else ""
        )
        return (
            f"the population's value{if_it_holds}; pointwise (this effect by itself); {kept}"
            "about as often as the level says, more often where noise is larger than the cells; "
            "the noise of the randomization and the sampling of the respondents are both allowed for"
            f"{f'; with an upper bound of their covariance ({bound}): more often' if bound else ''}"
        )

    @property
    def headline(self) -> str:
        """The estimate and its interval in one line."""
        estimate = f" is not estimable: {self.why_not}" if self.why_not else f" = {self.estimate:.4g}"
        interval = self._interval_in_words(self.alpha) if self.fit.plausible else _NO_INTERVAL
        simulated = simulation(self.simulated, self.n)
        return f"{self.name}{estimate}; {_level(self.alpha)} interval {interval}{simulated}"

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a row of a data frame; an interval is the shortest that holds the confidence set."""
        low, high = self.conf_int() if self.fit.plausible else (math.nan, math.nan)
        row = {
            "effect": self.name,
            "estimate": self.estimate,
            "lower": low,
            "upper": high,
            "level": 1 - self.alpha,
            "n": self.n,
            "why_not": self.why_not,
        }
        return pd.DataFrame([row])

    def picture(self) -> Intervals:
        """Return the estimate and its interval, as in a forest plot of one effect."""
        return forest_picture([self])

    def to_dict(self, alpha: float | None = None) -> dict[str, Any]:
        """Return the effect as plain values; None stands for an estimate or an end that is not there.

        Parameters
        ----------
        alpha : float, optional
            As in `conf_set`.
        """
        alpha = self.alpha if alpha is None else alpha
        return plain_values(
            self,
            "name estimate why_not level intervals interval_from=inversion.words covers provenance=table.provenance "
            "n privacy simulated channel_fit=fit",
            estimate=plain_list(self.estimate),
            intervals=plain_list(self.conf_set(alpha)),
            level=1 - alpha,
        )

    @property
    def correction(self) -> str:
        """What the estimate was corrected for, to be said behind it."""
        return ""

    def summary(self, alpha: float | None = None) -> Summary:
        """Return the effect as a table that can be read aloud.

        Parameters
        ----------
        alpha : float, optional
            As in `conf_set`.
        """
        alpha = self.alpha if alpha is None else alpha
        facts = {
            "Effect": self.name,
            "Estimate": f"not estimable: {self.why_not}" if self.why_not else f"{self.estimate:.4g}{self.correction}",
            f"{_level(alpha)} interval": self._interval_in_words(alpha) if self.fit.plausible else _NO_INTERVAL,
            "It is from": self.inversion.words,
            "It covers": self.covers.split("; "),
            "Reports": f"{self.n:,}{simulation(self.simulated, self.n)}",
            "Privacy": self.privacy.lines(),
        }
        sentences = [*provenance_in_words(self.table), ASSUMED, *self.fit.warning]
        return summary_of_facts("Effect size from privatized answers", facts, sentences)

    def _interval_in_words(self, alpha: float) -> str:
        pieces = [_in_words(low, high) for low, high in self.conf_set(alpha)]
        return ", or ".join(pieces) or "holds no possible value: the estimated table is too far from any possible one"


def reaching(pieces: Sequence[Interval], value: float) -> tuple[Interval, ...]:
    """Extend the interval nearest to a value until it holds the value; intervals that hold it stay as they are.

    >>> reaching([(0.0, 0.2), (0.5, 1.0)], 1.25)
    ((0.0, 0.2), (0.5, 1.25))
    """
    gaps = [max(low - value, value - high, 0.0) for low, high in pieces]
    nearest = gaps.index(min(gaps)) if gaps else -1
    return tuple(
        (min(low, value), max(high, value)) if index == nearest else (low, high)
        for index, (low, high) in enumerate(pieces)
    )


def forest_picture(effects: Sequence[Effect]) -> Intervals:
    """Return a forest plot of effects of one kind: ratios, differences, or V, beside the value of no effect."""
    scales = dict.fromkeys(_SCALES.get(effect.quantity, effect.quantity) for effect in effects)
    if len(scales) != 1:
        raise LdpstatsError(
            f"effects on the scales {one_line(list(scales))}" if scales else "no effects",
            "effects on one scale: ratios, differences, or one quantity",
            "Draw each kind by itself.",
        )
    quantities = dict.fromkeys(effect.quantity for effect in effects)
    scale = next(iter(quantities if len(quantities) == 1 else scales)) or "effect"
    ratios = "ratio" in scales
    ends = [effect.conf_int() if effect.fit.plausible else (math.nan, math.nan) for effect in effects]
    lower, upper = zip(*ends, strict=True)
    alone = len(effects) == 1
    return Intervals(
        effects[0].name if alone else f"{scale[0].upper()}{scale[1:]}: {len(effects)} effects",
        _notes(effects),
        tuple(scale if alone else effect.name.removeprefix(f"{scale} of ") for effect in effects),
        tuple(effect.estimate for effect in effects),
        lower,
        upper,
        scale,
        1.0 if ratios else 0.0,
        ratios,
    )


def _notes(effects: Sequence[Effect]) -> tuple[str, ...]:
    levels = " or ".join(dict.fromkeys(_level(effect.alpha) for effect in effects))
    numbers = sorted({effect.n for effect in effects})
    reports = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
    behind, made_up = reports_once(list({id(effect.table): effect.table for effect in effects}.values()))
    simulated = simulation(made_up, behind)
    in_pieces = [effect for effect in effects if effect.fit.plausible and len(effect.conf_set()) > 1]
    apart = [f"not in one piece: {effect.headline}" for effect in in_pieces]
    missing = [f"{effect.name}: not estimable, {effect.why_not}" for effect in effects if effect.why_not]
    assumed = dict.fromkeys(f"assumes {effect.table.assumption}" for effect in effects if effect.table.assumption)
    warned = dict.fromkeys(line for effect in effects for line in effect.fit.warning[:1])
    intervals = f"{levels} interval" if len(effects) == 1 else f"{levels} intervals, each by itself"
    return f"{intervals}; {reports} reports{simulated}", *apart, *missing, *assumed, *warned


def _in_words(low: float, high: float) -> str:
    below = "without a lower end" if math.isinf(low) else f"from {low:.4g}"
    return f"{below} {'up, without an upper end' if math.isinf(high) else f'to {high:.4g}'}"


def _level(alpha: float) -> str:
    return f"{100 * (1 - alpha):g} %"
