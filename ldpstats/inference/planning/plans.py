"""Study plans: which mechanism, how many respondents and which privacy level a test needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.arrays import at_least, positive_epsilon, significance
from ldpstats.columns import refuse_other_columns
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.hints import Share
from ldpstats.inference.engine.detectability import Detectability
from ldpstats.inference.planning.design import (
    USUAL_POWER,
    Direction,
    Margins,
    PlannedTest,
    effect_in_words,
    is_shape,
    margins_of,
    mechanisms_named,
    noise_of,
    one_size_of,
    shape_of,
    target_power,
    uniform_margins,
)
from ldpstats.mechanisms import GRID_LEVEL, mechanism as named_mechanism, recommend
from ldpstats.protocols.groups import Group, NamedGroups, groups_of
from ldpstats.saving import Saveable

_LEAST_LEVEL = 1e-3
_HALVINGS = 30
_RIVALS = 3

Names: TypeAlias = str | Sequence[str]
Tables: TypeAlias = Domain | int | Sequence[int]
PlannedMargins: TypeAlias = Sequence[ArrayLike] | Mapping[str, ArrayLike] | None


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Saveable):
    """Who must be asked, how, and at which level, to find an effect.

    Parameters
    ----------
    table : DataFrame
        A row per mechanism, the best first: mechanism, n, epsilon, power, and bits per report. Where no level up to
        20 is enough, epsilon is infinite and the power is the one at 20.
    found : {"n", "epsilon", "power"}
        Which of the three follows from the other two.
    wanted : str
        What is to be found, in words.
    power : float, optional
        The power aimed at, unless it is what was found.
    alpha : float
        The level, of all tests together.
    tests : int
        How many tests share that level.
    groups : int
        Among how many pairs of attributes the respondents are divided.
    even : bool
        Whether the categories were taken for equally frequent; else margins were given.
    direction : {"average", "least"}
        Whether the power is averaged over directions of dependence, or that in the one seen least.
    """

    table: pd.DataFrame
    found: Literal["n", "epsilon", "power"]
    wanted: str
    power: Share | None
    alpha: float
    tests: int = 1
    groups: int = 1
    even: bool = True
    direction: Direction = "average"

    def __post_init__(self) -> None:
        refuse_other_columns(self.table, ["mechanism"], ["n", "epsilon", "power", "bits per report"])
        object.__setattr__(self, "alpha", significance(self.alpha))
        for number in (self.tests, self.groups):
            at_least(number, 1, "tests and groups of a plan")

    @property
    def best(self) -> pd.Series[Any]:
        """The first row of the table."""
        return self.table.iloc[0]

    def summary(self) -> str:
        """Return the plan in sentences that can be read aloud, and the table.

        In the sentences, respondents and levels are rounded up to three digits; in the table nothing is.
        """
        asked = f"Every respondent answers one of {self.groups} pairs, each pair equally often."
        shared = f"Each of the {self.tests} tests gets level {self.alpha / self.tests:.2g}: the first step of Holm."
        margins = "equally frequent categories" if self.even else "the margins given"
        directions = "averaged over directions" if self.direction == "average" else "in the direction seen least"
        formats = {"n": "{:,}".format, "epsilon": "{:.4g}".format, "power": "{:.3f}".format}
        lines = [
            self._sentence(),
            *([asked] if self.groups > 1 else []),
            *([shared] if self.tests > 1 else []),
            f"Assumed: {margins}. The power is an approximation, {directions}.",
            "",
            self.table.to_string(index=False, formatters=formats),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values; a level where none is enough is None."""
        rows = [{str(name): value for name, value in row.items()} for row in self.table.to_dict(orient="records")]
        return {
            "wanted": self.wanted,
            "found": self.found,
            "power": self.power,
            "alpha": self.alpha,
            "tests": self.tests,
            "groups": self.groups,
            "mechanisms": [
                {**row, "epsilon": row["epsilon"] if math.isfinite(row["epsilon"]) else None} for row in rows
            ],
        }

    def _sentence(self) -> str:
        best, n, level = self.best, f"{self.best['n']:,}", f"at level {self.alpha:g}"
        if self.found == "power":
            rivals = self._rivals("has", "{:.2f}".format)
            strict = f"strict epsilon = {best['epsilon']:g} per respondent"
            return (
                f"From {n} respondents, {level} and {strict}, {best['mechanism'].upper()} finds {self.wanted} "
                f"with power {best['power']:.2f}{rivals}."
            )
        goal = f"{self.wanted} with {100 * (self.power or 0):g} % power {level}"
        if self.found == "n":
            rivals = self._rivals("needs", lambda number: f"{_rounded_up(number):,.0f}")
            return (
                f"To find {goal} and strict epsilon = {best['epsilon']:g} per respondent, "
                f"ask {_rounded_up(best['n']):,.0f} respondents with {best['mechanism'].upper()}{rivals}."
            )
        if not math.isfinite(best["epsilon"]):
            return f"From {n} respondents no mechanism here finds {goal}, at no epsilon up to {GRID_LEVEL:g}."
        rivals = self._rivals("needs", lambda number: f"{_rounded_up(number):g}")
        return (
            f"To find {goal} from {n} respondents, take strict epsilon = {_rounded_up(best['epsilon']):g} "
            f"per respondent with {best['mechanism'].upper()}{rivals}."
        )

    def _rivals(self, verb: str, figure: Callable[[float], str]) -> str:
        """Say what the mechanisms behind the best one need or have, up to three of them."""
        behind = self.table.iloc[1 : _RIVALS + 1]
        needs = [
            f"{name.upper()} {verb} {figure(value)}"
            for name, value in zip(behind["mechanism"], behind[self.found], strict=True)
            if math.isfinite(value)
        ]
        return f"; {', '.join(needs)}" if needs else ""


def plan(
    mechanism: Names | Tables | None = None,
    shape: Tables | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    effect: float = 0.1,
    power: float | None = None,
    alpha: float = 0.05,
    margins: PlannedMargins = None,
    direction: Direction = "average",
    groups: NamedGroups = None,
    adjust: Literal["holm", "none"] = "holm",
) -> Plan:
    """Say which mechanism finds an effect, and one of these from the other two: respondents, level, power.

    Parameters
    ----------
    mechanism : str or sequence of str, optional
        What to compare. It may be left out, as in `plan((4, 4), epsilon=1.0)`: then all mechanisms that are registered
        for one answer are compared.
    shape : Domain, or int or sequence of int
        The numbers of categories of the attributes of one table; or a domain of which every respondent answers one
        pair of attributes (`SampledGroups`), when *every* pair shall have the power.
    epsilon : float, optional
        The strict level of every respondent.
    n : int, optional
        The number of respondents.
    effect : float
        Cramér's V for two attributes, else Cohen's w, as in `power`.
    power : float, optional
        0.8 by default, unless `epsilon` and `n` are both given.
    alpha : float
        The level; of a domain, for all pairs together.
    margins : sequence of arrays, or mapping, optional
        The frequencies of the categories of each attribute of a table; of a domain, by the names of attributes.
        They are uniform by default. Which mechanism is best depends on them.
    direction : {"average", "least"}
        As in `power`.
    groups : sequence of pairs, optional
        The pairs of a domain that are asked for; all by default.
    adjust : {"holm", "none"}
        "holm" plans every pair at the level of Holm's first step, `alpha` / pairs, which is enough whatever the other
        pairs show; "none" plans it at `alpha`.

    Returns
    -------
    Plan
        Of mechanisms that do equally well, the one with the shorter reports comes first.

    Examples
    --------
    >>> found = plan(["grr", "ss", "oue"], (4, 4), epsilon=1.0)
    >>> found.table[["mechanism", "n"]]
      mechanism      n
    0        ss  28887
    1       oue  31782
    2       grr  55468
    >>> rare = plan(["ss", "sue"], (2, 2), epsilon=2.0, margins=[[0.9, 0.1], [0.9, 0.1]])
    >>> rare.table[["mechanism", "n"]]
      mechanism      n
    0        ss  16887
    1       sue  31270
    """
    asked, tables = _names_and_tables(mechanism, shape)
    if adjust not in ("holm", "none"):
        raise LdpstatsError(f"adjust = {adjust!r}", "'holm' or 'none'")
    common = (one_size_of(effect), significance(alpha), margins, direction)
    if isinstance(tables, Domain):
        goal = _Goal.of_pairs(tables, groups, *common)
    elif groups is None:
        goal = _Goal.of(tables, *common)
    else:
        raise LdpstatsError(f"groups = {groups!r} for a table", "no groups", "They are for a Domain.")
    if adjust == "none":
        goal = replace(goal, tests=1)
    found, target = _unknown(power, epsilon, n, alpha)
    names = mechanisms_named(
        recommend(math.prod(goal.planned[0].shape), 1.0)["name"].tolist() if asked is None else asked
    )
    ranked = pd.DataFrame([goal.row(name, epsilon, n, target) for name in names])
    figure = ranked[found] * (-1 if found == "power" else 1)
    order = np.lexsort((ranked["bits per report"], -ranked["power"].round(9), figure.round(9)))
    return Plan(
        table=ranked.iloc[order].reset_index(drop=True),
        found=found,
        wanted=goal.wanted,
        power=target,
        alpha=alpha,
        tests=goal.tests,
        groups=goal.groups,
        even=margins is None,
        direction=direction,
    )


def _names_and_tables(mechanism: Any, shape: Any) -> tuple[Names | None, Tables]:
    """Return the names, if there are any, and the tables: a single argument is the latter, as the end of a range is."""
    names, tables = (None, mechanism) if shape is None and is_shape(mechanism) else (mechanism, shape)
    if tables is None or is_shape(names):
        raise LdpstatsError(
            f"mechanism = {shortened(mechanism)} and shape = {shortened(shape)}",
            "a shape or a domain alone, or names of mechanisms before it",
            'Write plan((4, 4), epsilon=1.0) or plan(["grr", "oue"], (4, 4), epsilon=1.0).',
        )
    if not isinstance(names, (str, list, tuple, type(None))):
        raise LdpstatsError(f"a mechanism of type {type(names).__name__}", "names: a plan tries other levels, too")
    return names, tables


@dataclass(frozen=True, slots=True)
class _Goal:
    """The tests by which an effect shall be found, each different one once, and how many groups share respondents."""

    planned: tuple[PlannedTest, ...]
    effect: float
    alpha: float
    wanted: str
    groups: int = 1
    tests: int = 1

    @classmethod
    def of(cls, table: Tables, size: float, alpha: float, margins: PlannedMargins, direction: Direction) -> _Goal:
        """Read the goal off a single table."""
        if isinstance(margins, Mapping):
            raise LdpstatsError("margins by name for a table", "a sequence of margins", "Names are for a Domain.")
        shape = shape_of(table)
        planned = PlannedTest(margins_of(shape, margins), direction=direction)
        return cls((planned,), size, alpha, effect_in_words(size, shape))

    @classmethod
    def of_pairs(
        cls,
        domain: Domain,
        groups: NamedGroups,
        size: float,
        alpha: float,
        margins: PlannedMargins,
        direction: Direction,
    ) -> _Goal:
        """Read it off the pairs of a domain, which share the respondents."""
        pairs = groups_of(domain, k=2, groups=groups)
        if any(len(pair) != 2 for pair in pairs):
            raise LdpstatsError(f"groups {one_line(list(pairs))}", "pairs of attributes", "Plan wider tables by shape.")
        every = [_margins_of_pair(domain, pair, margins) for pair in pairs]
        different = {tuple(margin.tobytes() for margin in own): PlannedTest(own, direction=direction) for own in every}
        of_all = f"each of {len(pairs)} pairs of attributes" if len(pairs) > 1 else " and ".join(pairs[0])
        wanted = f"a dependence of V = {size:g} in {of_all}"
        return cls(tuple(different.values()), size, alpha, wanted, len(pairs), len(pairs))

    def power(self, name: str, epsilon: float, n: int) -> float:
        """Return the least power among the tables, when the groups are asked equally often."""
        each, alpha = n // self.groups, self.alpha / self.tests
        return min(float(seen.power(each, size, alpha)) for seen, size in self._tests(name, epsilon))

    def respondents(self, name: str, epsilon: float, power: float) -> int:
        """Return how many must be asked in all: as many in every group as the most demanding one needs."""
        alpha = self.alpha / self.tests
        return self.groups * max(seen.respondents(power, size, alpha) for seen, size in self._tests(name, epsilon))

    def epsilon(self, name: str, n: int, power: float) -> float:
        """Return the least level that is enough, found by bisection; infinity if the highest one is not."""
        low, high = math.log(_LEAST_LEVEL), math.log(GRID_LEVEL)
        if self.power(name, GRID_LEVEL, n) < power:
            return math.inf
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(name, math.exp(middle), n) >= power else (middle, high)
        return math.exp(high)

    def row(self, name: str, epsilon: float | None, n: int | None, power: float | None) -> dict[str, Any]:
        """Return what one mechanism needs or achieves; two of the three are given."""
        if n is not None and n < self.groups:
            raise LdpstatsError(f"{n} respondents for {self.groups} pairs", "at least one for each")
        if epsilon is None:
            assert n is not None
            assert power is not None
            epsilon = self.epsilon(name, n, power)
        if n is None:
            assert power is not None
            n = self.respondents(name, epsilon, power)
        level = min(epsilon, GRID_LEVEL)
        kinds = [named_mechanism(name, k=math.prod(one.shape), epsilon=level) for one in self.planned]
        return {
            "mechanism": kinds[0].name,
            "n": n,
            "epsilon": epsilon,
            "power": self.power(name, level, n),
            "bits per report": max(kind.report_bits for kind in kinds),
        }

    def _tests(self, name: str, epsilon: float) -> list[tuple[Detectability, float]]:
        """Return what a report adds to every test, and the effect as Cohen's w there."""
        return [
            (one.seen_through(noise_of(name, math.prod(one.shape), epsilon)), float(one.sizes(self.effect)))
            for one in self.planned
        ]


def _unknown(
    power: float | None, epsilon: float | None, n: int | None, alpha: float
) -> tuple[Literal["n", "epsilon", "power"], float | None]:
    """Return what is to be found, and the power aimed at."""
    if epsilon is not None:
        positive_epsilon(epsilon)
    if n is not None:
        at_least(n, 1, "n")
    if (epsilon is None and n is None) or None not in (epsilon, n, power):
        raise LdpstatsError(
            f"epsilon = {epsilon!r}, n = {n!r} and power = {power!r}",
            "two of them (a power of 0.8 need not be given)",
            "The third is found.",
        )
    if epsilon is not None and n is not None:
        return "power", None
    return "n" if n is None else "epsilon", target_power(USUAL_POWER if power is None else power, alpha)


def _margins_of_pair(domain: Domain, pair: Group, margins: PlannedMargins) -> Margins:
    """Return the margins of two attributes; those that are not named are uniform."""
    named = {} if margins is None else margins
    if not isinstance(named, Mapping):
        raise LdpstatsError("margins without names for a domain", "a mapping from attributes to their frequencies")
    if named:
        domain.project(named)  # refuses names that it does not have
    sides = shape_of(domain.project(pair).shape)
    return margins_of(
        sides, [named.get(name, uniform_margins((side,))[0]) for name, side in zip(pair, sides, strict=True)]
    )


def _rounded_up(number: float) -> float:
    """Return a positive number rounded up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    # what is a whole multiple up to rounding stays one
    return math.ceil(round(number / unit, 6)) * unit
