"""Power and sample size of tests on privatized answers, by the noncentral χ² law, as numbers and as curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.answers.columns import refuse_other_columns
from ldpstats.errors import LdpstatsError
from ldpstats.inference.planning.design import (
    USUAL_POWER,
    Direction,
    PlannedTest,
    Randomizer,
    levels_of,
    mechanisms_named,
    noise_of,
    power_in_words,
    randomizers_of,
    respondents_of,
    shape_for,
    shape_of,
    sizes_of,
    target_power,
)
from ldpstats.mechanisms import best_name
from ldpstats.numbers.arrays import FloatArray, IntArray, significance, unweighted
from ldpstats.pictures.lines import Lines
from ldpstats.presentation import Result, Summary, progress, summary_of_figures
from ldpstats.saving.registered import Share


@unweighted
def power(
    mechanism: Randomizer,
    shape: int | Sequence[int] | None = None,
    *,
    epsilon: ArrayLike | None = None,
    n: ArrayLike,
    effect: ArrayLike | None = None,
    mutual_information: ArrayLike | None = None,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> float | FloatArray:
    """Return the power of a test on n privatized answers.

    With two or more attributes the test is that of (mutual) independence, with a single one it is goodness of fit.
    The power is that of the noncentral χ² law with what a report tells about the dependence, at the hypothesis and
    with the margins unknown. That is an approximation for weak effects and many reports: for tables with a V of .1 or
    .2, 2-by-2 to 4-by-4, through GRR, SS and OUE, it was within .04 of the simulated power. Where margins are uneven,
    directions of dependence differ, and the average includes those in which no proper table has so large an effect.

    Parameters
    ----------
    mechanism : str, Mechanism or NoiseModel
        A name (or "auto", which takes the one with the least variance) goes with `epsilon`; the others have a level.
        A mechanism, named or given, stands for the tally that protocols keep of it: whole reports where they fit.
    shape : int or sequence of int, optional
        The categories of each attribute; by default a single attribute with all the mechanism's values.
    epsilon : float or array, optional
        The privacy level, for a mechanism that is named.
    n : int or array
        The number of reports.
    effect : float or array, optional
        Cramér's V for two attributes; Cohen's w, the root of Σ (f - f₀)² / f₀, for one, and for three or more; 0.1 by
        default. An array of the table's shape is not many effects, but all frequencies of the table that is expected;
        its power is against independence with its own margins, or for a single attribute against `margins`.
    mutual_information : float or array, optional
        Instead of an effect: what two attributes tell about each other, in nats. It is taken for w² / 2, as it is to
        second order. In the pairs of five reference networks that share up to 0.01 nats, w² / 2 was between .85 and
        1.17 times that for nine in ten (at least .67, at most 1.9 times, with rare categories); of those that
        share more it was 1.12 times in the median, and up to 3.4 times: fewer respondents than planned find those.
    alpha : float
        The level of the test.
    margins : sequence of arrays, optional
        The frequencies of each attribute; uniform by default.
    direction : {"average", "least"}
        Average over 256 fixed directions of dependence, uniform among all, or take the one that is seen least.
    conditional : bool
        Whether the first two attributes are tested given the others, as by `conditional_independence_test`. Effects
        are Cohen's w or conditional mutual information then. But for the dependence in question the attributes are
        taken for independent, unless the whole table is given. For edges of four reference networks given a third
        attribute (GRR, ε = 2) that asked for 1.6 times as many respondents as the whole table does in the median, and
        for .75 to 5.5 times as many in nine cases of ten.

    Returns
    -------
    float, or an array of the shape to which n, epsilon and effect broadcast

    Examples
    --------
    >>> from ldpstats import GRR, power
    >>> round(power(GRR(4, epsilon=1.0), (2, 2), n=9_000, effect=0.1), 2)
    0.81
    >>> power("ss", (4, 4), epsilon=[0.5, 1.0, 2.0], n=20_000).round(2)
    array([0.15, 0.61, 1.  ])
    """
    sides, threshold = shape_for(mechanism, shape), significance(alpha)
    planned = PlannedTest.of(sides, effect, mutual_information, margins, direction, conditional)
    reports, sizes, levels = _broadcast(respondents_of(n), planned.cohens_w, levels_of(mechanism, epsilon))
    powers = np.empty(reports.shape)
    for level in np.unique(levels):
        here = levels == level
        seen = planned.seen_through(noise_of(mechanism, math.prod(sides), float(level)))
        powers[here] = seen.powers(reports[here], sizes[here], threshold)
    return powers if powers.ndim else float(powers)


@unweighted
def sample_size(
    mechanism: Randomizer,
    shape: int | Sequence[int] | None = None,
    *,
    epsilon: float | None = None,
    effect: ArrayLike | None = None,
    mutual_information: float | None = None,
    power: float = USUAL_POWER,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> int:
    """Return the least number of reports with which a test has this power.

    This is the sample size of a power analysis, for a chi-squared test on privatized answers.

    Parameters
    ----------
    mechanism, shape, epsilon, effect, mutual_information, alpha, margins, direction, conditional
        As in `power`, but for a single effect and level.
    power : float
        The power wanted.

    Returns
    -------
    int

    Examples
    --------
    >>> from ldpstats import sample_size
    >>> sample_size("grr", (2, 2), epsilon=1.0)
    8693
    """
    sides, target = shape_for(mechanism, shape), target_power(power, significance(alpha))
    planned = PlannedTest.of(sides, effect, mutual_information, margins, direction, conditional)
    size, level = planned.cohens_w, levels_of(mechanism, epsilon)
    if size.ndim or level.ndim:
        raise LdpstatsError("several effects or levels", "one of each", "`power` takes many at once.")
    seen = planned.seen_through(noise_of(mechanism, math.prod(sides), float(level)))
    return seen.reports_needed(float(size), target, alpha)


def _broadcast(n: IntArray, sizes: FloatArray, levels: FloatArray) -> list[NDArray[Any]]:
    try:
        return list(np.broadcast_arrays(n, sizes, levels))
    except ValueError as error:
        raise LdpstatsError(
            f"n, effect and epsilon of shapes {n.shape}, {sizes.shape} and {levels.shape}",
            "shapes that broadcast",
            "A column of one and a row of another give a grid.",
        ) from error


_STRICT = "epsilon is the strict level of every respondent."
_ACROSS = {"n": "reports", "epsilon": "strict epsilon of every respondent"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PowerCurve(Result):
    """Power over the number of reports and the level.

    Parameters
    ----------
    table : DataFrame
        A row per mechanism, epsilon and n, with the power.
    title : str
        What is tested.
    alpha : float
        The level of the test.
    assumed : str
        What the power rests on, in words.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> curve = ldp.power_curve("grr", (2, 2), epsilon=[1.0, 2.0], n=[1_000, 5_000], effect=0.1)
    >>> curve.to_frame().round(2)
      mechanism  epsilon     n  power
    0       grr      1.0  1000   0.16
    1       grr      1.0  5000   0.57
    2       grr      2.0  1000   0.49
    3       grr      2.0  5000   0.99
    """

    _in_dict = "title alpha assumed power=table"

    table: pd.DataFrame
    title: str
    alpha: Share = 0.05
    assumed: str = ""

    def __post_init__(self) -> None:
        refuse_other_columns(self.table, ["mechanism"], ["n", "epsilon", "power"])
        object.__setattr__(self, "alpha", significance(self.alpha))

    @property
    def headline(self) -> str:
        """The range of power, in one line."""
        least, most = self.table["power"].min(), self.table["power"].max()
        return f"power from {least:.3f} to {most:.3f} to find {self.title}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per mechanism, epsilon and n, with the power."""
        return self.table.copy()

    def summary(self) -> Summary:
        """Return the power as a table, and what it rests on."""
        rows = [
            [str(row["mechanism"]), f"{row['epsilon']:.4g}", f"{row['n']:,}", f"{row['power']:.3f}"]
            for row in self.table.to_dict(orient="records")
        ]
        headers = ("mechanism", "epsilon", "reports", "power")
        sentences = [*([self.assumed] if self.assumed else []), _STRICT]
        return summary_of_figures(f"Power to find {self.title}", headers, rows, sentences)

    def picture(self) -> Lines:
        """Return a line per mechanism and level over n, or per mechanism over ε if there is a single n."""
        along, fixed = ("n", "epsilon") if len(set(self.table["n"])) > 1 else ("epsilon", "n")
        x, series = _lines(self.table, along, "power", fixed)
        return Lines(
            f"Power to find {self.title}",
            (self.assumed,) if self.assumed else (),
            x,
            series,
            _ACROSS[along],
            "power",
            levels={"level": self.alpha, f"{100 * USUAL_POWER:g} %": USUAL_POWER},
            logarithmic=(True, False),
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SampleSizeCurve(Result):
    """The number of reports that a test needs, over the privacy level.

    Parameters
    ----------
    table : DataFrame
        A row per mechanism and epsilon, with n.
    title : str
        What is tested.
    power : float
        The power wanted.
    alpha : float
        The level of the test.
    assumed : str
        What the power rests on, in words.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> curve = ldp.sample_size_curve("grr", (2, 2), epsilon=[0.5, 1.0, 2.0], effect=0.2)
    >>> curve.to_frame()
      mechanism  epsilon      n
    0       grr      0.5  10077
    1       grr      1.0   2174
    2       grr      2.0    519
    """

    _in_dict = "title power alpha assumed needed=table"

    table: pd.DataFrame
    title: str
    power: Share
    alpha: Share
    assumed: str

    def __post_init__(self) -> None:
        refuse_other_columns(self.table, ["mechanism"], ["epsilon", "n"])
        object.__setattr__(self, "alpha", significance(self.alpha))
        object.__setattr__(self, "power", target_power(self.power, self.alpha))

    @property
    def headline(self) -> str:
        """The range of what is needed, in one line."""
        least, most = self.table["n"].min(), self.table["n"].max()
        return f"{least:,} to {most:,} {self._wanted}"

    @property
    def _wanted(self) -> str:
        return f"reports to find {self.title}, with power {self.power:g}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per mechanism and epsilon, with the number of reports."""
        return self.table.copy()

    def summary(self) -> Summary:
        """Return the numbers of reports as a table, a column per mechanism."""
        levels, series = _lines(self.table, "epsilon", "n")
        rows = [
            [f"{level:.4g}", *("-" if np.isnan(line[index]) else f"{line[index]:,.0f}" for line in series.values())]
            for index, level in enumerate(levels)
        ]
        return summary_of_figures(f"Number of {self._wanted}", ["epsilon", *series], rows, [self.assumed, _STRICT])

    def picture(self) -> Lines:
        """Return a line per mechanism over ε, on logarithmic axes."""
        levels, series = _lines(self.table, "epsilon", "n")
        title, notes = f"Number of {self._wanted}", (self.assumed,)
        return Lines(title, notes, levels, series, _ACROSS["epsilon"], _ACROSS["n"], logarithmic=(True, True))


def _lines(
    table: pd.DataFrame, along: str, up: str, fixed: str | None = None
) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    """Return a line per mechanism, and per value of what else is fixed, all over the same numbers."""
    x = sorted(set(table[along].tolist()))
    lines = {}
    for (name, *others), line in table.groupby(["mechanism", *([fixed] if fixed else [])], sort=False):
        symbol = {"n": "n", "epsilon": "ε"}.get(fixed or "", "")
        label = ", ".join([str(name).upper(), *(f"{symbol} = {value:,g}" for value in others)])
        lines[label] = tuple(line.set_index(along)[up].reindex(x).astype(float).tolist())
    return tuple(map(float, x)), lines


@unweighted
def power_curve(
    mechanism: Randomizer | Sequence[str],
    shape: int | Sequence[int] | None = None,
    *,
    epsilon: ArrayLike | None = None,
    n: ArrayLike,
    effect: float | None = None,
    mutual_information: float | None = None,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> PowerCurve:
    """Return the power at every level and number of reports.

    Parameters
    ----------
    mechanism : str or sequence of str, Mechanism or NoiseModel
        What is compared; "auto" stands in the table under the name of the mechanism that it takes at that level.
    shape, effect, mutual_information, alpha, margins, direction, conditional
        As in `power`, but for a single effect.
    epsilon : float or array, optional
        The privacy levels, for mechanisms that are named.
    n : int or array
        The numbers of reports.

    Returns
    -------
    PowerCurve

    Examples
    --------
    >>> from ldpstats import power_curve
    >>> power_curve(["grr", "oue"], (2, 2), epsilon=1.0, n=[5_000, 10_000]).table.round(2)
      mechanism  epsilon      n  power
    0       grr      1.0   5000   0.57
    1       grr      1.0  10000   0.85
    2       oue      1.0   5000   0.42
    3       oue      1.0  10000   0.70
    """
    kinds = randomizers_of(mechanism)
    sides, reports = shape_for(kinds[0], shape), np.ravel(respondents_of(n))
    sizes_of(effect, mutual_information, single=True)
    planned = PlannedTest.of(sides, effect, mutual_information, margins, direction, conditional)
    asked: dict[str, Any] = {"effect": effect, "mutual_information": mutual_information, "alpha": alpha}
    asked |= {"margins": margins, "direction": direction, "conditional": conditional}
    parts = []
    lines = list(product(kinds, np.ravel(levels_of(kinds[0], epsilon)).tolist()))
    for kind, level in progress(lines, "power", unit="line"):
        taken = best_name(math.prod(sides), level) if kind == "auto" else kind
        powers = power(taken, sides, epsilon=level if isinstance(taken, str) else None, n=reports, **asked)
        named = taken if isinstance(taken, str) else getattr(taken, "name", type(taken).__name__)
        columns = {"mechanism": named, "epsilon": getattr(taken, "epsilon", level)}
        parts.append(pd.DataFrame({**columns, "n": reports, "power": powers}))
    table = pd.concat(parts).drop_duplicates(["mechanism", "epsilon", "n"]).reset_index(drop=True)
    title = f"{planned.departure}, level {alpha:g}"
    return PowerCurve(table, title, alpha, power_in_words(margins is None, direction, conditional))


@unweighted
def sample_size_curve(
    mechanism: str | Sequence[str],
    shape: int | Sequence[int],
    *,
    epsilon: ArrayLike,
    effect: float | None = None,
    mutual_information: float | None = None,
    power: float = USUAL_POWER,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> SampleSizeCurve:
    """Return how many reports a test needs at every privacy level.

    Parameters
    ----------
    mechanism : str or sequence of str
        The names of what is compared; "auto" stands in the table under its own name, whichever mechanism it takes.
    shape, effect, mutual_information, alpha, margins, direction, conditional
        As in `power`, but for a single effect.
    epsilon : float or array
        The privacy levels.
    power : float
        The power wanted.

    Returns
    -------
    SampleSizeCurve

    Examples
    --------
    >>> from ldpstats import sample_size_curve
    >>> sample_size_curve(["grr", "ss"], (4, 4), epsilon=[1.0, 2.0]).table
      mechanism  epsilon      n
    0       grr      1.0  55468
    1       grr      2.0   6406
    2        ss      1.0  28887
    3        ss      2.0   5670
    """
    sides = shape_of(shape)
    sizes_of(effect, mutual_information, single=True)
    planned = PlannedTest.of(sides, effect, mutual_information, margins, direction, conditional)
    asked: dict[str, Any] = {"effect": effect, "mutual_information": mutual_information, "power": power, "alpha": alpha}
    asked |= {"margins": margins, "direction": direction, "conditional": conditional}
    settings = list(product(mechanisms_named(mechanism), np.unique(levels_of("auto", epsilon)).tolist()))
    rows = [
        {"mechanism": name, "epsilon": level, "n": sample_size(name, sides, epsilon=level, **asked)}
        for name, level in progress(settings, "sample sizes", unit="setting")
    ]
    assumed = power_in_words(margins is None, direction, conditional)
    return SampleSizeCurve(pd.DataFrame(rows), f"{planned.departure}, level {alpha:g}", power, alpha, assumed)
