"""Bounds: what reports say about a table that they do not identify, without an assumption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import ASSUMED, Measured, pvalue_in_words
from ldpstats.estimation.estimate import notes_of, reports_in_sentences, shown_values
from ldpstats.identification.cramers_v_limits import cramers_v_limits
from ldpstats.identification.identified import Identified, radius
from ldpstats.identification.possible_tables import (
    NearestTable,
    Pointwise,
    PossibleTables,
    WholeTable,
    confidence_set,
    nearest_table,
    same_sums,
)
from ldpstats.limits import LARGEST_JOINT, refuse_too_many_cells
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, significance
from ldpstats.presentation import Picture, Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share

LEVEL = 0.001
"""How often, at most, sums of one population that are measured several times are called contradictory."""

MOST_TARGET_CELLS = 512
"""The most cells of a table that bounds are found for: up to four programmes each."""

_LIMITS = ("lower", "upper", "point_lower", "point_upper")
_ASSUMED_OF_V = (
    "Limits with confidence hold V wherever the contrasts that the reports identify lie in their joint confidence set, "
    "as far as estimates from so many reports are normal. Nothing is assumed about what the reports do not identify."
)
# below this proportion, rounding of the solver, a lower limit is zero
_ZERO = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class TargetCells:
    """The cells of a table as sums of the cells of a joint table that is only partially identified."""

    tables: PossibleTables
    single: PossibleTables | Pointwise  # for extremes of single values
    cells: FloatArray  # shape (cells of the table, cells of the joint table)

    def limits(self, inner: FloatArray | None = None) -> FloatArray:
        """Least and largest value of every cell, shape (2, cells).

        Where `inner` limits, from some of these tables, begin at zero, so do these.
        """
        lower = np.zeros(len(self.cells))
        above = np.flatnonzero(inner[0] > 0) if inner is not None else np.arange(lower.size)
        lower[above] = self.single.least(self.cells[above])
        lower[lower < _ZERO] = 0.0
        limits: FloatArray = np.clip([lower, -self.single.least(-self.cells)], 0.0, 1.0)
        return limits

    def quotients(self, domain: Domain, given: tuple[str, ...], names: tuple[str, ...]) -> FloatArray:
        """Least and largest proportions of `names` within the categories of `given`, shape (2, cells)."""
        kept = domain.project((*given, *names))
        joint = np.zeros((kept.size(), self.cells.shape[1]))
        np.add.at(joint, domain.onto(kept.names), self.cells)
        parts = joint.reshape(domain.size(given), -1, joint.shape[1])
        limits = [(self.single.least(part, part.sum(0)), -self.single.least(-part, part.sum(0))) for part in parts]
        return np.clip(np.concatenate(limits, axis=1), 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AssociationBounds(Result):
    """Limits of Cramér's V under partial identification; unpacks to (low, high, words).

    With confidence, V lies from `low` to `high`; the identified set as estimated goes from `point_low` to `point_high`.
    """

    low: Share
    high: Share
    point_low: Share
    point_high: Share
    words: str  # how the limits were found, and what is exact about them
    of: Bounds | None = None  # the bounds of the table whose V it is

    def __iter__(self) -> Any:
        return iter((self.low, self.high, self.words))

    @property
    def headline(self) -> str:
        """Cramér's V in a line: its limits with confidence."""
        whose = f" of {' and '.join(self.of.domain.names)}{self._kind}" if self.of else ""
        if np.isnan(self.low):
            return f"Cramér's V{whose}: no bounds, {self.words}"
        return f"Cramér's V{whose} from {self.low:.4f} to {self.high:.4f} ({self._confidence})"

    @property
    def _kind(self) -> str:
        return simulation(self.of.simulated, self.of.n) if self.of else ""

    @property
    def _confidence(self) -> str:
        return f"with confidence of at least {_percent(self.of.alpha)}" if self.of else "with confidence"

    def to_frame(self) -> pd.DataFrame:
        """Data frame of one row: limits with confidence, and of the estimated identified set."""
        limits = (self.low, self.high, self.point_low, self.point_high)
        return pd.DataFrame([limits], index=["cramers_v"], columns=list(_LIMITS))

    def to_dict(self) -> dict[str, Any]:
        """Bounds as plain values; None stands for limits that there are not."""
        about = "level n=of.n simulated=of.simulated" if self.of else ""
        names = f"attributes=of.domain.names low high point_low point_high how=words assumption {about}"
        return plain_values(self, names, assumption=None, level=1 - self.of.alpha if self.of else None)

    def summary(self) -> Summary:
        """Table of the limits, and how they were found."""
        none = bool(np.isnan(self.low))
        limits = {"the identified set as estimated": (self.point_low, self.point_high)}
        limits[self._confidence] = (self.low, self.high)
        rows = [[name, *("-" if none else f"{end:.4f}" for end in ends)] for name, ends in limits.items()]
        words = f"No bounds: {self.words}." if none else f"{self.words[0].upper()}{self.words[1:]}."
        promised = [] if self.of is None else reports_in_sentences(self.of.n, self.of.privacy)
        whose = f" of {' and '.join(self.of.domain.names)}{self._kind}" if self.of else ""
        title = f"Bounds without an assumption: Cramér's V{whose}"
        return summary_of_figures(
            title, ["what V can be", "from", "to"], rows, [*promised, words, _ASSUMED_OF_V, ASSUMED]
        )

    def picture(self) -> Picture:
        """Intervals of V: the identified set within the limits with confidence."""
        from ldpstats.pictures.intervals import Intervals

        notes = [_thick(self._confidence), *([f"no bounds: {self.words}"] if np.isnan(self.low) else [])]
        return Intervals(
            "Bounds of Cramér's V",
            tuple(filter(None, (self._kind.strip(" ()"), *notes))),
            (" and ".join(self.of.domain.names) if self.of else "V",),
            (np.nan,),
            (self.low,),
            (self.high,),
            "Cramér's V",
            inner_lower=(self.point_low,),
            inner_upper=(self.point_high,),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Result):
    """Bounds of every cell of a table that reports identify only partially.

    `lower` and `upper` hold with confidence (see `covers`), for each cell by itself or, if `simultaneous`, for all at
    once. `point_lower` and `point_upper` limit the identified set as estimated: what a cell could be if all that the
    reports identify were known exactly. All are nan where the reports contradict each other, as `why_not` says.
    """

    domain: Domain
    lower: FloatArray
    upper: FloatArray
    point_lower: FloatArray
    point_upper: FloatArray
    alpha: float
    simultaneous: bool
    df: Count  # contrasts that the reports identify
    n: Count
    pvalue: Share  # of the hypothesis that sums measured several times agree, and some proper table has all
    why_not: str = ""
    bound: str = ""  # why the covariance of the measured sums is an upper bound, if it is
    privacy: PrivacyStatement | None = None
    simulated: Count = 0
    joint: Domain | None = field(default=None, repr=False)  # attributes that something was measured about
    measured: Measured | None = field(default=None, repr=False)  # for quotients and Cramér's V

    def __post_init__(self) -> None:
        significance(self.alpha)
        shapes = [getattr(self, name).shape for name in _LIMITS]
        if any(shape != self.domain.shape for shape in shapes):
            raise LdpstatsError(f"limits of shapes {shapes}", f"four limits of each cell, {self.domain.shape}")

    @cached_property
    def _possible(self) -> tuple[TargetCells, ...]:
        """The tables that are possible with confidence, and those with the most likely contrasts."""
        if self.why_not or self.joint is None or self.measured is None:
            return ()
        identified = _identified(self.joint, self.measured)
        cells, nearest = _cells(self.joint, self.domain), nearest_table(identified)
        return _possible(identified, nearest, cells, self.alpha, self.simultaneous)

    @property
    def words(self) -> str:
        """How the limits were found."""
        within = (
            f"in their joint {_percent(self.alpha)} confidence set ({radius(self.df, self.alpha):.2f} standard errors)"
            if self.simultaneous
            else "no farther away than χ² allows, whose df is the number of active constraints (Cox & Shi 2023)"
        )
        return (
            "least and largest values over all proper joint tables: for the identified set, over those with the most "
            f"likely values of what the reports identify ({self.df} contrasts); with confidence, over those {within}"
        )

    @property
    def covers(self) -> str:
        """What the limits cover, and how often."""
        held = (
            "the limits of all cells at once hold all values that the population leaves possible, hence the true ones "
            "(simultaneous, so that any one cell is covered more often)"
            if self.simultaneous
            else "the limits hold the population's value, pointwise (each cell by itself), wherever it is among those "
            "that remain possible"
        )
        note = f"; the covariance is an upper bound, as {self.bound}" if self.bound else ""
        return (
            f"with confidence of at least {_percent(self.alpha)}, as far as estimates from so many reports are normal, "
            f"{held}; nothing is assumed about what the reports do not identify; more reports reduce what sampling "
            f"and randomization add, never the width of the identified set itself{note}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Data frame with a row per cell: limits with confidence, and of the estimated identified set."""
        index = self.domain.index()
        return pd.DataFrame(
            {name: getattr(self, name).ravel() for name in _LIMITS},
            index=index if len(self.domain) > 1 else index.get_level_values(0),
        )

    def conditional(self, of: Sequence[str], given: Sequence[str]) -> pd.DataFrame:
        """Limits of the proportions of some attributes within the categories of others, as in `to_frame`.

        Each is the least and the largest quotient over the same possible tables, which is sharper than quotients of
        limits. Where a category of `given` may be empty, nothing is known: 0 and 1.
        """
        names, conditions = listed(of), listed(given)
        both = self.domain.project((*conditions, *names))
        if not self._possible:
            limits = np.full((4, both.size()), np.nan)
        else:
            limits = np.vstack([possible.quotients(self.domain, conditions, names) for possible in self._possible])
        return pd.DataFrame(limits.T, index=both.index(), columns=list(_LIMITS))

    def cramers_v(self) -> AssociationBounds:
        """Limits of Cramér's V of a two-way table, over the joint confidence set and the identified set."""
        if len(self.domain) != 2:
            raise LdpstatsError(
                f"bounds of a table of {one_line(self.domain.names)}", "two attributes", "Ask for the bounds of a pair."
            )
        if not self._possible:
            return AssociationBounds(np.nan, np.nan, np.nan, np.nan, self.why_not, self)
        rows, columns = self.domain.shape
        within = [cramers_v_limits(possible.tables, possible.cells, (rows, columns)) for possible in self._possible]
        upper = (
            "the largest possible one" if (rows, columns) == (2, 2) else "an outer bound, which need not be attained"
        )
        words = (
            "identified set, where it settles the margins: from below the least possible V, by a quadratic programme, "
            f"from above {upper}; where margins are uncertain, as with confidence, both are outer bounds: over all "
            "tables in the joint confidence set, with denominators anywhere between the limits of the margins"
        )
        return AssociationBounds(*within[0], *within[1], words, self)

    def to_dict(self) -> dict[str, Any]:
        """Bounds as plain values; None stands for limits that there are not."""
        return plain_values(
            self,
            "attributes=domain.names categories=domain lower upper point_lower point_upper level simultaneous df "
            "pvalue why_not how=words covers assumption n privacy simulated",
            level=1 - self.alpha,
            assumption=None,
            **(dict.fromkeys(_LIMITS) if self.why_not else {}),
        )

    def summary(self) -> Summary:
        """Table of the limits of every cell, and what they mean."""
        frame = self.to_frame()[["point_lower", "point_upper", "lower", "upper"]]
        rows = [
            [*map(str, labels), *("-" if self.why_not else f"{limit:.4f}" for limit in limits)]
            for labels, limits in zip(self.domain.index(), frame.to_numpy(), strict=True)
        ]
        headers = [*self.domain.names, "identified from", "to", f"{_percent(self.alpha)} from", "to"]
        kind = simulation(self.simulated, self.n)
        title = f"Bounds without an assumption: {' and '.join(self.domain.names)}{kind}"
        sentences = [
            *reports_in_sentences(self.n, self.privacy),
            *([f"No bounds: {self.why_not}."] if self.why_not else []),
            *(f"{line[0].upper()}{line[1:]}." for line in (self.words, *self.covers.split("; "))),
            ASSUMED,
        ]
        return summary_of_figures(title, headers, rows, sentences)

    @property
    def headline(self) -> str:
        """What the table is about, how large it is, and how many reports there are."""
        cells = " × ".join(map(str, self.domain.shape))
        none = f", no bounds: {self.why_not}" if self.why_not else ""
        reports = f"n = {self.n:,}{simulation(self.simulated, self.n)}"
        return f"{' × '.join(self.domain.names)}, {cells} cells, {reports}{none}"

    def picture(self) -> Picture:
        """Intervals of the cells: identified sets within the limits with confidence."""
        from ldpstats.pictures.intervals import Intervals

        shown, cells = shown_values(self.upper.ravel()), self.domain.index()
        limits = {name: tuple(getattr(self, name).ravel()[shown].tolist()) for name in _LIMITS}
        kind = "simultaneous" if self.simultaneous else "pointwise"
        said = [_thick(f"with confidence of at least {_percent(self.alpha)}, {kind}")]
        said += [f"no bounds: {self.why_not}"] if self.why_not else []
        return Intervals(
            f"Bounds without an assumption: {' × '.join(self.domain.names)}",
            notes_of(self.simulated, self.n, self.upper, *said),
            tuple(", ".join(map(str, cells[cell])) for cell in shown),
            (np.nan,) * shown.size,
            limits["lower"],
            limits["upper"],
            "proportion",
            inner_lower=limits["point_lower"],
            inner_upper=limits["point_upper"],
        )


def _thick(confidence: str) -> str:
    return f"thick: what the reports leave open, as estimated; thin: {confidence}"


def bounds_of(
    joint: Domain,
    measured: Measured,
    target: Sequence[str],
    alpha: float = 0.05,
    *,
    simultaneous: bool = False,
    privacy: PrivacyStatement | None = None,
    simulated: int = 0,
) -> Bounds:
    """Bounds of a table from measured sums of a joint table that has its attributes, without an assumption.

    What is measured identifies some contrasts of the joint table; the others are free (Manski 2003). Every proper joint
    table with the identified contrasts is possible, and a cell of the target lies between its least and its largest
    value among them: for two margins these are Fréchet's (1951) bounds. The contrasts are estimated with noise. With
    confidence,

    - pointwise, a value of a cell lies between the limits unless the test rejects that some possible table has it, at
      any value of the contrasts: the interval covers the true value, wherever in its identified set that is (Imbens &
      Manski 2004, Stoye 2009), by the conditional test of Cox & Shi (2023), see `Pointwise`;
    - simultaneously, all tables are possible whose contrasts lie in the joint confidence set of the estimated ones: the
      limits hold the whole identified sets of all cells at once (Horowitz & Manski 2000). So they always do where the
      covariance is an upper bound, under which the conditional test is not known to have its level.

    There are no bounds where reports contradict each other: sums that must agree differ by more than one in a thousand
    times by chance, or no proper table lies in the confidence set.

    Parameters
    ----------
    joint : Domain
        Attributes of the joint table. Those that do not matter for the target are better left out: with every contrast
        that is estimated, the joint confidence set becomes wider.
    measured : Measured
        Sums of its cells.
    target : sequence of str
        Attributes of the joint table.
    alpha : float
    simultaneous : bool
        Whether the confidence is in all cells at once.
    privacy : PrivacyStatement, optional
    simulated : int
    """
    alpha = significance(alpha)
    table = joint.project(target)
    refuse_too_many_cells(joint.size(), f"all of {one_line(joint.names)} together: a table", LARGEST_JOINT)
    refuse_too_many_cells(table.size(), f"bounds of a table of {one_line(table.names)}: one", MOST_TARGET_CELLS)
    identified = _identified(joint, measured)
    nearest = nearest_table(identified)
    simultaneous = simultaneous or bool(measured.bound) or identified.df == 0
    why_not = _contradiction(identified, nearest, alpha)
    possible: tuple[TargetCells, ...] = ()
    limits = np.full((4, table.size()), np.nan)
    if not why_not:
        possible = _possible(identified, nearest, _cells(joint, table), alpha, simultaneous)
        inner = possible[1].limits()
        outer = possible[0].limits(inner)
        limits = np.vstack([np.minimum(outer[0], inner[0]), np.maximum(outer[1], inner[1]), inner])
    lower, upper, point_lower, point_upper = limits.reshape(4, *table.shape)
    made = Bounds(
        table,
        lower,
        upper,
        point_lower,
        point_upper,
        alpha=alpha,
        simultaneous=simultaneous,
        df=identified.df,
        n=measured.n,
        pvalue=min(1.0, 2 * min(identified.pvalue, _properness(identified, nearest))),
        why_not=why_not,
        bound=measured.bound,
        privacy=privacy,
        simulated=simulated,
        joint=joint,
        measured=measured,
    )
    vars(made)["_possible"] = possible  # found already
    return made


def _possible(
    identified: Identified, nearest: NearestTable, cells: FloatArray, alpha: float, simultaneous: bool
) -> tuple[TargetCells, ...]:
    """Cells in the tables that are possible with confidence, and in those with the most likely contrasts."""
    whole = WholeTable.of(identified)
    within = confidence_set(identified, alpha, whole=whole)
    known = same_sums(identified, nearest.table, whole)
    single = within if simultaneous else Pointwise(identified, alpha, nearest.distance, whole)
    return TargetCells(within, single, cells), TargetCells(known, known, cells)


def _identified(joint: Domain, measured: Measured) -> Identified:
    """Contrasts that are identified, after a check that the sums are about the joint table."""
    if measured.sums.shape[1] != joint.size():
        raise LdpstatsError(
            f"sums of shape {measured.sums.shape} about a joint table of {joint.size()} cells",
            "a column for every cell of the joint table",
        )
    return Identified.of(measured)


def _cells(joint: Domain, table: Domain) -> FloatArray:
    """Indicator matrix of a table's cells as sums of those of a joint table."""
    return np.eye(table.size())[:, joint.onto(table.names)]


def _percent(alpha: float) -> str:
    return f"{100 * (1 - alpha):g} %"


def _properness(identified: Identified, nearest: NearestTable) -> float:
    """P-value of the hypothesis that the identified contrasts are those of a proper table."""
    from scipy.stats import chi2

    return float(chi2.sf(nearest.distance, identified.df)) if identified.df else 1.0


def _contradiction(identified: Identified, nearest: NearestTable, alpha: float) -> str:
    """How the reports contradict each other; empty if they do not."""
    if identified.pvalue < LEVEL:
        return (
            "the reports contradict each other: sums that must agree differ beyond chance "
            f"(p = {pvalue_in_words(identified.pvalue)})"
        )
    if _properness(identified, nearest) < alpha:
        return (
            "the reports contradict each other: no table without negative cells is near all that was measured "
            f"(p = {pvalue_in_words(_properness(identified, nearest))}, less than {alpha:g})"
        )
    return ""
