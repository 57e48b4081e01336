"""Study plans: which mechanism, how many respondents and which privacy level a test needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.answers.columns import refuse_other_columns
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.inference.engine.detectability import NoncentralityProfile
from ldpstats.inference.planning.design import (
    USUAL_POWER,
    Direction,
    Margins,
    PlannedTest,
    first_two_given_others,
    is_shape,
    margins_of,
    mechanisms_named,
    noise_of,
    power_in_words,
    shape_of,
    sizes_of,
    target_power,
    uniform_margins,
)
from ldpstats.mechanisms import GRID_LEVEL, mechanism as named_mechanism, recommend
from ldpstats.numbers.arrays import at_least, positive_epsilon, significance, unweighted
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, summary_of_figures
from ldpstats.protocols import SampledGroups
from ldpstats.protocols.groups import Group, NamedGroups, groups_of, named_groups
from ldpstats.saving.registered import Share
from ldpstats.workers import each

_LEAST_LEVEL = 1e-3
_HALVINGS = 30
_RIVALS = 3
_FORMATS: dict[str, Callable[[Any], str]] = {
    "n": "{:,}".format,
    "epsilon": "{:.4g}".format,
    "power": "{:.3f}".format,
    "bits per report": "{:,}".format,
}

Names: TypeAlias = str | Sequence[str]
Tables: TypeAlias = Domain | int | Sequence[int]
PlannedMargins: TypeAlias = Sequence[ArrayLike] | Mapping[str, ArrayLike] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(Result):
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
        Among how many groups of attributes the respondents are divided.
    even : bool
        Whether the categories were taken for equally frequent; else margins were given.
    direction : {"average", "least"}
        Whether the power is averaged over directions of dependence, or that in the one seen least.
    conditional : bool
        Whether pairs are tested given the other attributes of their group.
    domain : Domain, optional
        Whose attributes are asked for; none in a plan of a single table.
    asked : tuple of tuples of str
        The groups themselves: what is asked together.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> planned = ldp.plan(["grr", "oue"], domain, epsilon=2.0, effect=0.2)
    >>> planned
    <Plan: To find a dependence of V = 0.2 in each of 3 pairs of attributes with 80 % power at level 0.05 and
    strict epsilon = 2 per respondent, ask 2,080 respondents with…>
    >>> planned.protocol()
    SampledGroups(domain=Domain({'sex': ['F', 'M'], 'age': ['young', 'old'], 'car': ['yes', 'no']}), k=2,
    epsilon=2.0, mechanism='grr', groups=(('sex', 'age'), ('sex', 'car'), ('age', 'car')), outside='refuse')
    """

    _in_dict = "wanted found power alpha tests groups conditional asked mechanisms=table"

    table: pd.DataFrame
    found: Literal["n", "epsilon", "power"]
    wanted: str
    power: Share | None
    alpha: float
    tests: int = 1
    groups: int = 1
    even: bool = True
    direction: Direction = "average"
    conditional: bool = False
    domain: Domain | None = None
    asked: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        refuse_other_columns(self.table, ["mechanism"], ["n", "epsilon", "power", "bits per report"])
        object.__setattr__(self, "alpha", significance(self.alpha))
        for number in (self.tests, self.groups):
            at_least(number, 1, "tests and groups of a plan")
        known = self.domain is not None and len(named_groups(self.domain, self.asked)) == self.groups
        if not known and (self.domain is not None or self.asked):
            raise LdpstatsError(
                f"a plan of {self.groups} groups with {len(self.asked)} of them named", "a domain with all, or none"
            )

    @property
    def best(self) -> pd.Series[Any]:
        """The first row of the table."""
        return self.table.iloc[0]

    def protocol(self) -> SampledGroups:
        """Return the protocol that the plan speaks of: its best mechanism, at its level, for every group.

        Examples
        --------
        >>> from ldpstats import Domain, plan
        >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
        >>> planned = plan(domain, n=50_000, groups=[("sex", "car"), ("age", "car")])
        >>> protocol = planned.protocol()
        >>> protocol.groups, protocol.mechanism, round(protocol.epsilon, 2)
        ((('sex', 'car'), ('age', 'car')), 'grr', 0.68)
        """
        if self.domain is None:
            raise LdpstatsError("a plan of one table", "a plan of a Domain", "Its attributes have names to ask for.")
        if not math.isfinite(self.best["epsilon"]):
            raise LdpstatsError(
                f"a plan that no epsilon up to {GRID_LEVEL:g} is enough for", "one with a level", "Plan for a larger n."
            )
        level, name = float(self.best["epsilon"]), str(self.best["mechanism"])
        return SampledGroups(self.domain, epsilon=level, mechanism=name, groups=self.asked)

    @property
    def headline(self) -> str:
        """What to do, in a sentence."""
        return self._sentence()

    def summary(self) -> Summary:
        """Return the plan as a table of all mechanisms, and sentences that can be read aloud.

        In the sentences, respondents and levels are rounded up to three digits; in the table nothing is.
        """
        kind = {2: "pair", 3: "triple"}.get(len(self.asked[0]) if self.asked else 2, "group")
        if len(set(map(len, self.asked))) > 1:
            kind = "group"
        asked = f"Every respondent answers one of {self.groups} {kind}s, each {kind} equally often."
        shared = f"Each of the {self.tests} tests gets level {self.alpha / self.tests:.2g}: the first step of Holm."
        rows = [
            [str(row["mechanism"]), *(shown(row[column]) for column, shown in _FORMATS.items())]
            for row in self.table.to_dict(orient="records")
        ]
        sentences = [
            self._sentence(),
            *([asked] if self.groups > 1 else []),
            *([shared] if self.tests > 1 else []),
            self._assumed,
        ]
        return summary_of_figures(f"Plan to find {self.wanted}", ["mechanism", *_FORMATS], rows, sentences)

    @property
    def _assumed(self) -> str:
        return power_in_words(self.even, self.direction, self.conditional)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per mechanism, the best first."""
        return self.table.copy()

    def picture(self) -> Intervals:
        """Return what every mechanism needs, or finds, beside the others."""
        words = {"n": "respondents needed", "epsilon": "strict epsilon needed, of every respondent", "power": "power"}
        known = {"n": "{:,} respondents", "epsilon": "strict epsilon = {:.4g} per respondent"}
        fixed = [words.format(self.best[what]) for what, words in known.items() if what != self.found]
        aimed = [] if self.found == "power" else [f"power {self.power:g}"]
        nothing = (math.nan,) * len(self.table)
        return Intervals(
            f"Plan to find {self.wanted}",
            (", ".join([*aimed, f"level {self.alpha:g}", *fixed]), self._assumed),
            tuple(str(name) for name in self.table["mechanism"]),
            tuple(map(float, self.table[self.found])),
            nothing,
            nothing,
            words[self.found],
            ranked=True,
            logarithmic=self.found != "power",
        )

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
        behind = self.table.iloc[1 : _RIVALS + 1]
        needs = [
            f"{name.upper()} {verb} {figure(value)}"
            for name, value in zip(behind["mechanism"], behind[self.found], strict=True)
            if math.isfinite(value)
        ]
        return f"; {', '.join(needs)}" if needs else ""


@unweighted
def plan(
    mechanism: Names | Tables | None = None,
    shape: Tables | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    effect: float | None = None,
    mutual_information: float | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    margins: PlannedMargins = None,
    direction: Direction = "average",
    conditional: bool = False,
    groups: NamedGroups = None,
    adjust: Literal["holm", "none"] = "holm",
) -> Plan:
    """Say which mechanism finds an effect, and one of these from the other two: respondents, level, power.

    This is the power analysis (sample size calculation) of a survey whose answers are randomized.

    Parameters
    ----------
    mechanism : str or sequence of str, optional
        What to compare. It may be left out, as in `plan((4, 4), epsilon=1.0)`: then all mechanisms that are registered
        for one answer are compared.
    shape : Domain, or int or sequence of int
        The numbers of categories of the attributes of one table; or a domain of which every respondent answers one
        pair of attributes (`SampledGroups`), when *every* pair shall have the power: that is how many respondents it
        takes to find an edge of a network. `Plan.protocol` then asks for what was planned.
    epsilon : float, optional
        The strict level of every respondent.
    n : int, optional
        The number of respondents.
    effect, mutual_information : float, optional
        Cramér's V for two attributes, else Cohen's w; or nats. As in `power`.
    power : float, optional
        0.8 by default, unless `epsilon` and `n` are both given.
    alpha : float
        The level; of a domain, for all pairs together.
    margins : sequence of arrays, or mapping, optional
        The frequencies of the categories of each attribute of a table; of a domain, by the names of attributes.
        They are uniform by default. Which mechanism is best depends on them.
    direction : {"average", "least"}
        As in `power`.
    conditional : bool
        Whether pairs are tested given others: of one table the first two attributes given the rest, as in `power`; of
        a domain, of which every respondent then answers one triple, every two given the third.
    groups : sequence of pairs, optional
        The pairs of a domain that are asked for (triples, or larger groups, for conditional tests); all by default.
        `networks.triples_to_ask` names those that a graph of dependent pairs leaves open.
    adjust : {"holm", "none"}
        "holm" plans every test at the level of Holm's first step, `alpha` / tests, which is enough whatever the other
        tests show; "none" plans it at `alpha`.

    Returns
    -------
    Plan
        Of mechanisms that do equally well, the one with the shorter reports comes first.

    Examples
    --------
    >>> from ldpstats import Domain, plan
    >>> planned = plan(["grr", "ss", "oue"], (4, 4), epsilon=1.0)
    >>> planned.table[["mechanism", "n"]]
      mechanism      n
    0        ss  28887
    1       oue  31782
    2       grr  55468
    >>> rare = plan(["ss", "sue"], (2, 2), epsilon=2.0, margins=[[0.9, 0.1], [0.9, 0.1]])
    >>> rare.table[["mechanism", "n"]]
      mechanism      n
    0        ss  16887
    1       sue  31270
    >>> network = Domain({name: ["no", "yes"] for name in "abcd"})
    >>> plans = [plan("grr", network, epsilon=2.0, mutual_information=0.01, conditional=test) for test in (False, True)]
    >>> [int(planned.best["n"]) for planned in plans]
    [9606, 16344]
    """
    asked, tables = _names_and_tables(mechanism, shape)
    if adjust not in ("holm", "none"):
        raise LdpstatsError(f"adjust = {adjust!r}", "'holm' or 'none'")
    size, in_nats = sizes_of(effect, mutual_information, single=True)
    sought = {"direction": direction, "size": size, "in_nats": in_nats}
    common = (significance(alpha), margins, conditional, sought)
    if isinstance(tables, Domain):
        goal = _Goal.of_groups(tables, groups, *common)
    elif groups is None:
        goal = _Goal.of(tables, *common)
    else:
        raise LdpstatsError(f"groups = {groups!r} for a table", "no groups", "They are for a Domain.")
    if adjust == "none":
        goal = replace(goal, tests=1)
    unknown, target = _unknown(power, epsilon, n, alpha)
    names = mechanisms_named(
        recommend(math.prod(goal.planned[0].shape), 1.0)["name"].tolist() if asked is None else asked
    )
    ranked = pd.DataFrame(each(lambda name: goal.row(name, epsilon, n, target), names, "planning", "mechanism"))
    figure = ranked[unknown] * (-1 if unknown == "power" else 1)
    order = np.lexsort((ranked["bits per report"], -ranked["power"].round(9), figure.round(9)))
    return Plan(
        table=ranked.iloc[order].reset_index(drop=True),
        found=unknown,
        wanted=goal.wanted,
        power=target,
        alpha=alpha,
        tests=goal.tests,
        groups=goal.groups,
        even=margins is None,
        direction=direction,
        conditional=conditional,
        domain=tables if isinstance(tables, Domain) else None,
        asked=goal.asked,
    )


def _names_and_tables(mechanism: Any, shape: Any) -> tuple[Names | None, Tables]:
    """Return the names, if there are any, and the tables, which a single argument is (like the end of a range)."""
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
    """The different tests by which an effect shall be found, and the groups that share respondents."""

    planned: tuple[PlannedTest, ...]
    alpha: float
    wanted: str
    asked: tuple[Group, ...] = ()
    tests: int = 1

    @property
    def groups(self) -> int:
        """Number of groups that the respondents are divided among."""
        return max(len(self.asked), 1)

    @classmethod
    def of(
        cls, table: Tables, alpha: float, margins: PlannedMargins, conditional: bool, sought: Mapping[str, Any]
    ) -> _Goal:
        """Read the goal from a single table."""
        if isinstance(margins, Mapping):
            raise LdpstatsError("margins by name for a table", "a sequence of margins", "Names are for a Domain.")
        shape = shape_of(table)
        tested = first_two_given_others(shape) if conditional else None
        planned = PlannedTest(margins_of(shape, margins), tested=tested, **sought)
        return cls((planned,), alpha, planned.departure)

    @classmethod
    def of_groups(
        cls,
        domain: Domain,
        groups: NamedGroups,
        alpha: float,
        margins: PlannedMargins,
        conditional: bool,
        sought: Mapping[str, Any],
    ) -> _Goal:
        """Read the goal from groups of a domain's attributes, which share the respondents."""
        asked = groups_of(domain, k=3 if conditional else 2, groups=groups)
        if conditional and min(map(len, asked)) < 3:
            raise LdpstatsError(
                f"groups {one_line(list(asked))}",
                "groups of three attributes or more, for pairs that are tested given others",
            )
        if not conditional and set(map(len, asked)) != {2}:
            raise LdpstatsError(
                f"groups {one_line(list(asked))}",
                "pairs of attributes",
                "Plan wider tables by shape, and tests of pairs given others with conditional=True.",
            )
        planned = [
            PlannedTest(_margins_of_group(domain, group, margins), tested=tested, **sought)
            for group in asked
            for tested in (combinations(range(len(group)), 2) if conditional else (None,))
        ]
        different = {(test.tested, *(margin.tobytes() for margin in test.margins)): test for test in planned}
        wanted = f"a dependence of {planned[0].how_large} in {_among(asked, conditional)}"
        return cls(tuple(different.values()), alpha, wanted, asked, len(planned))

    def powers(self, name: str, epsilon: float, n: int) -> list[float]:
        """Return the power of every test, when the groups are asked equally often."""
        each, alpha = n // self.groups, self.alpha / self.tests
        return [float(seen.powers(each, size, alpha)) for seen, size in self._tests(name, epsilon)]

    def respondents(self, name: str, epsilon: float, power: float) -> int:
        """Return how many must be asked in all: as many in every group as the most demanding one needs."""
        alpha = self.alpha / self.tests
        return self.groups * max(seen.reports_needed(size, power, alpha) for seen, size in self._tests(name, epsilon))

    def epsilon(self, name: str, n: int, power: float) -> float:
        """Return the least level that is enough, by bisection for the hardest test; infinity if none is."""
        if min(self.powers(name, GRID_LEVEL, n)) < power:
            return math.inf
        level, powers = _LEAST_LEVEL, self.powers(name, _LEAST_LEVEL, n)
        while min(powers) < power:
            hardest = replace(self, planned=(self.planned[powers.index(min(powers))],))
            # what is enough for it is always one of the levels that were tried, so that every round ends higher
            low, level = level, GRID_LEVEL
            for _ in range(_HALVINGS):
                middle = math.sqrt(low * level)
                low, level = (low, middle) if hardest.powers(name, middle, n)[0] >= power else (middle, level)
            powers = self.powers(name, level, n)
        return level

    def row(self, name: str, epsilon: float | None, n: int | None, power: float | None) -> dict[str, Any]:
        """Return what one mechanism needs or achieves; two of epsilon, n and power are given."""
        if n is not None and n < self.groups:
            raise LdpstatsError(f"{n} respondents for {self.groups} groups", "at least one for each")
        if epsilon is None:
            assert n is not None
            assert power is not None
            epsilon = self.epsilon(name, n, power)
        if n is None:
            assert power is not None
            n = self.respondents(name, epsilon, power)
        level = min(epsilon, GRID_LEVEL)
        kinds = [named_mechanism(name, k=math.prod(test.shape), epsilon=level) for test in self.planned]
        return {
            "mechanism": kinds[0].name,
            "n": n,
            "epsilon": epsilon,
            "power": min(self.powers(name, level, n)),
            "bits per report": max(kind.report_bits for kind in kinds),
        }

    def _tests(self, name: str, epsilon: float) -> list[tuple[NoncentralityProfile, float]]:
        noises = (noise_of(name, math.prod(test.shape), epsilon) for test in self.planned)
        pairs = zip(self.planned, noises, strict=True)
        return [(test.seen_through(noise), float(test.cohens_w)) for test, noise in pairs]


def _unknown(
    power: float | None, epsilon: float | None, n: int | None, alpha: float
) -> tuple[Literal["n", "epsilon", "power"], float | None]:
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


def _among(asked: Sequence[Group], conditional: bool) -> str:
    if not conditional:
        return f"each of {len(asked)} pairs of attributes" if len(asked) > 1 else " and ".join(asked[0])
    kind = "triples" if max(map(len, asked)) == 3 else "groups"
    group = f"{len(asked)} {kind} of attributes" if len(asked) > 1 else ", ".join(asked[0])
    return f"each pair out of {group}, given the {'third' if kind == 'triples' else 'others'}"


def _margins_of_group(domain: Domain, group: Group, margins: PlannedMargins) -> Margins:
    named = {} if margins is None else margins
    if not isinstance(named, Mapping):
        raise LdpstatsError("margins without names for a domain", "a mapping from attributes to their frequencies")
    if named:
        domain.project(named)  # refuses names that it does not have
    sides = shape_of(domain.project(group).shape)
    return margins_of(
        sides, [named.get(name, uniform_margins((side,))[0]) for name, side in zip(group, sides, strict=True)]
    )


def _rounded_up(number: float) -> float:
    """Round a positive number up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    # what is a whole multiple up to rounding stays one
    return math.ceil(round(number / unit, 6)) * unit
