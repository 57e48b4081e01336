"""Curves of planning: power over the number of reports, and the reports needed over the privacy level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.answers.columns import refuse_other_columns
from ldpstats.inference.planning.departure_sizes import DepartureSize
from ldpstats.inference.planning.design import (
    USUAL_POWER,
    Direction,
    Randomizer,
    departure_in_words,
    first_two_given_others,
    levels_of,
    mechanisms_named,
    noise_of,
    power_in_words,
    randomizers_of,
    respondents_of,
    shape_for,
    shape_of,
    target_power,
)
from ldpstats.inference.planning.sizing import hypothesis_of
from ldpstats.mechanisms import best_name
from ldpstats.numbers.arrays import significance, unweighted
from ldpstats.pictures.lines import Lines
from ldpstats.presentation import Result, Summary, progress, summary_of_figures
from ldpstats.saving.registered import Share

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
            [f"{level:.4g}", *("-" if np.isnan(line[place]) else f"{line[place]:,.0f}" for line in series.values())]
            for place, level in enumerate(levels)
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
    kinds, size = randomizers_of(mechanism), DepartureSize.single(effect, mutual_information)
    sides, reports = shape_for(kinds[0], shape), np.ravel(respondents_of(n))
    parts = []
    lines = list(product(kinds, np.ravel(levels_of(kinds[0], epsilon)).tolist()))
    threshold = significance(alpha)
    hypothesis, wanted = hypothesis_of(sides, effect, mutual_information, margins, direction, conditional)
    for kind, level in progress(lines, "power", unit="line"):
        taken = best_name(math.prod(sides), level) if kind == "auto" else kind
        seen = hypothesis.seen_through(noise_of(taken, math.prod(sides), level))
        found = seen.power(reports, np.broadcast_to(wanted, reports.shape), threshold)
        columns = {"mechanism": _named(taken), "epsilon": getattr(taken, "epsilon", level)}
        parts.append(pd.DataFrame({**columns, "n": reports, "power": found}))
    table = pd.concat(parts).drop_duplicates(["mechanism", "epsilon", "n"]).reset_index(drop=True)
    tested = first_two_given_others(sides) if conditional else None
    title = f"{departure_in_words(size, sides, tested)}, level {alpha:g}"
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
    size, sides = DepartureSize.single(effect, mutual_information), shape_of(shape)
    settings = list(product(mechanisms_named(mechanism), np.unique(levels_of("auto", epsilon)).tolist()))
    target = target_power(power, significance(alpha))
    hypothesis, wanted = hypothesis_of(sides, effect, mutual_information, margins, direction, conditional)
    rows = []
    for name, level in progress(settings, "sample sizes", unit="setting"):
        seen = hypothesis.seen_through(noise_of(name, math.prod(sides), float(levels_of(name, level))))
        rows.append({"mechanism": name, "epsilon": level, "n": seen.respondents(target, float(wanted), alpha)})
    tested = first_two_given_others(sides) if conditional else None
    title = f"{departure_in_words(size, sides, tested)}, level {alpha:g}"
    assumed = power_in_words(margins is None, direction, conditional)
    return SampleSizeCurve(pd.DataFrame(rows), title, power, alpha, assumed)


def _named(mechanism: Randomizer) -> str:
    return mechanism if isinstance(mechanism, str) else getattr(mechanism, "name", type(mechanism).__name__)
