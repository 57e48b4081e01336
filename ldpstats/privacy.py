"""Differential privacy: exact worst-case likelihood ratios of a channel, and statements of ε that carry their unit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.numbers.arrays import probability, real_number
from ldpstats.numbers.grid import natural_log_above
from ldpstats.presentation import Picture, Result, Summary, summary_of_figures

if TYPE_CHECKING:
    import pandas as pd

_INFINITE = "infinite"
_MIXED = "answers outside the questionnaire are replaced by random ones: estimates and tests are of that mixture"
_PUBLIC = "in public, and what the choice tells is not covered"
_AT_RANDOM = "; numbers from all of them assume that it was chosen at random, whatever the answers are"
_LARGEST_NUMBER = 1 << 62
_NAMED = 12
"""Up to so many groups have a line each."""
_CERTAIN = 6
"""Of what is certain so much is said in words."""
_LARGEST_EXPONENT = 700


def strict_epsilon(worst_ratio: Fraction | None) -> float:
    """Return the privacy level of an exact worst-case likelihood ratio, rounded up to a double; None is unbounded.

    >>> strict_epsilon(Fraction(3, 1))
    1.0986122886681098
    """
    return math.inf if worst_ratio is None else max(natural_log_above(worst_ratio), 0.0)


def worst_ratio(rows: Iterable[Mapping[Any, Fraction]]) -> Fraction | None:
    """Return the worst-case likelihood ratio of a channel, given as exact P(report | value), a row per value.

    None stands for an unbounded ratio: some report is possible under one value and impossible under another.
    """
    channel = list(rows)
    worst = Fraction(1)
    for report in set().union(*channel):
        probabilities = [row.get(report, Fraction(0)) for row in channel]
        least, most = min(probabilities), max(probabilities)
        if least == 0 < most:
            return None
        if most > 0:
            worst = max(worst, most / least)
    return worst


def times_as_likely(epsilon: float) -> str:
    """Return e^ε as text, rounded up: how many times as likely one value may make what is seen as another."""
    if epsilon > _LARGEST_EXPONENT:
        return "∞" if epsilon == math.inf else f"e^{rounded_up(epsilon)}"
    return f"{Decimal(rounded_up(math.exp(epsilon))):,}"


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyStatement(Result):
    """A privacy guarantee with its unit.

    Of a local protocol the strict level is the ε of pure local differential privacy (ε-LDP).

    Parameters
    ----------
    epsilon : float
        The strict level: of the implemented channel, over any two values of the unit, for everything that
        one respondent sends.
    unit : str
        What an adversary may be unsure about, such as "a respondent's whole record".
    per_group : mapping of str to float
        The strict level of a report about each group of attributes, none above `epsilon`.
    nominal_epsilon, delta_at_nominal : float, optional
        A paper's own accounting where it differs, and the delta at which the channel really meets it (a probability).
    provably_true : float, optional
        The share of the reports that are true for sure, from 0 to 1, where the level is infinite.
    substitutes : bool
        Whether random answers take the place of those outside the questionnaire, which the level then covers, too.
    set_aside : int
        How many rows of the collection were set aside because they are no valid reports, and not counted.
    chosen : mapping of str to float
        The levels that respondents chose from, by name, where they did, and what those who chose each are promised.
        What is pooled over several of them assumes that the choice does not depend on the answers.
    certain : tuple of str
        What single reports show for certain, where the level is infinite and that is known.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> statement = ldp.SampledGroups(domain, k=1, epsilon=1.0).privacy()
    >>> statement.epsilon, statement.unit
    (1.0, "a respondent's whole record")
    >>> dict(statement.per_group)
    {'sex': 1.0, 'car': 1.0}
    >>> print(statement)
                    What can become known of a respondent
    ======================================================================
    about                        epsilon  kind    times as likely, at most
    ----------------------------------------------------------------------
    a respondent's whole record        1  strict                     2.719
    a report about sex                 1  strict                     2.719
    a report about car                 1  strict                     2.719
    ======================================================================
    Guaranteed: whatever becomes known, no record makes that more than 2.719 times as likely as another
      record does.
    """

    epsilon: float
    unit: str
    per_group: Mapping[str, float] = field(default_factory=dict)
    nominal_epsilon: float | None = None
    delta_at_nominal: float | None = None
    provably_true: float | None = None
    substitutes: bool = False
    set_aside: int = 0
    chosen: Mapping[str, float] = field(default_factory=dict)
    certain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _level(self.epsilon, "epsilon"))
        named = {"per_group": self.per_group, "chosen": self.chosen}
        if (
            not isinstance(self.unit, str)
            or not self.unit
            or not all(isinstance(own, Mapping) for own in named.values())
        ):
            raise LdpstatsError(
                f"a statement with the unit {self.unit!r}, the groups {self.per_group!r}, the choices {self.chosen!r}",
                "a unit in words, and mappings from groups, and from choices, to levels",
            )
        for name, own in named.items():
            levels = {str(about): _level(level, f"the level of {about!r}") for about, level in own.items()}
            object.__setattr__(self, name, MappingProxyType(levels))
        checks = {"nominal_epsilon": _level, "delta_at_nominal": probability, "provably_true": probability}
        for name, checked in checks.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked(getattr(self, name), name))
        if not isinstance(self.substitutes, bool):
            raise LdpstatsError(f"substitutes = {shortened(self.substitutes)}", "True or False")
        if type(self.set_aside) is not int or not 0 <= self.set_aside <= _LARGEST_NUMBER:
            raise LdpstatsError(f"set_aside = {shortened(self.set_aside)}", "a whole number of rows, from 0")
        if not isinstance(self.certain, tuple) or not all(isinstance(told, str) for told in self.certain):
            raise LdpstatsError(f"certain = {shortened(self.certain)}", "a tuple of texts")
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        """Refuse a part above the whole, a delta of no level, and certain truth at a level that excludes it."""
        if above := [own for own in (*self.per_group.items(), *self.chosen.items()) if own[1] > self.epsilon]:
            raise LdpstatsError(
                f"the level {above[0][1]!r} of {above[0][0]!r} in a statement of epsilon = {self.epsilon!r}",
                "no level of a group, or a choice, above that of all that a respondent sends",
            )
        if self.delta_at_nominal is not None and self.nominal_epsilon is None:
            raise LdpstatsError(f"delta_at_nominal = {self.delta_at_nominal!r} alone", "a nominal epsilon beside it")
        for name in ("provably_true", "certain"):
            if getattr(self, name) not in (None, ()) and self.epsilon < math.inf:
                raise LdpstatsError(
                    f"{name} = {shortened(getattr(self, name))} with epsilon = {self.epsilon!r}",
                    "what is sure where the level is infinite alone",
                )

    def __hash__(self) -> int:
        return hash((self.epsilon, self.unit, *sorted(self.per_group.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        # a mapping proxy cannot be pickled, and statements travel with tables to worker processes
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {"per_group": dict(self.per_group), "chosen": dict(self.chosen)}
        return type(self), tuple({**given, **plain}.values())

    @property
    def headline(self) -> str:
        """The statement in one line: the strict level with its unit, and what else must be known."""
        return "; ".join(self.lines())

    def lines(self) -> list[str]:
        """Return the statement in lines: the strict level, a paper's own accounting, what is given away or mixed in."""
        parts = [f"epsilon = {rounded_up(self.epsilon)} (strict; unit: {self.unit})"]
        if self.nominal_epsilon is not None:
            delta = self.delta_at_nominal
            holds = "" if delta is None else f" (holds with delta = {rounded_up(delta)})"
            parts.append(f"nominal epsilon = {rounded_up(self.nominal_epsilon)}{holds}")
        if self.provably_true is not None:
            parts.append(self._true_for_sure())
        parts += self._certain_lines()
        if self.substitutes:
            parts.append(_MIXED)
        if self.chosen:
            parts.append(self._choices)
        if self.set_aside:
            parts.append(self._left_out)
        return parts

    def _certain_lines(self) -> list[str]:
        more = len(self.certain) - _CERTAIN
        return [*self.certain[:_CERTAIN], *([f"{more:,} more reports show something for certain"] if more > 0 else [])]

    @property
    def _choices(self) -> str:
        levels = ", ".join(f"{name} = {rounded_up(level)}" for name, level in self.chosen.items())
        return f"respondents chose their level of epsilon, {_PUBLIC}: {levels}{_AT_RANDOM * (len(self.chosen) > 1)}"

    @property
    def _left_out(self) -> str:
        rows = "1 row was" if self.set_aside == 1 else f"{self.set_aside:,} rows were"
        return f"{rows} set aside, being no valid reports: estimates and tests are without them"

    def sentences(self, reports: int) -> list[str]:
        """Return these lines as sentences, after the number of reports that they are about.

        Parameters
        ----------
        reports : int
        """
        first, *more = self.lines()
        return [f"{line}." for line in (f"{reports:,} {'report' if reports == 1 else 'reports'}; {first}", *more)]

    def for_group(self, group: str) -> PrivacyStatement:
        """Return the statement for the table of one group: the respondents' guarantee, and the group's own level.

        Parameters
        ----------
        group : str
            The group's label, such as 'sex × car'.
        """
        return replace(self, per_group={group: self.per_group[group]})

    def joined(self, other: PrivacyStatement) -> PrivacyStatement:
        """Return the statement for two different sets of respondents: the weaker guarantee holds for all.

        A paper's own accounting survives only where both sets have one. Of the shares that are provably true the
        larger is stated, and substitutes are where one of the sets has them. Rows that were set aside are added up.

        Parameters
        ----------
        other : PrivacyStatement
        """
        if self.unit != other.unit:
            raise LdpstatsError(
                f"privacy statements with the units {self.unit!r} and {other.unit!r}",
                "statements about the same unit",
                "Keep these tables apart, or state a common unit.",
            )
        return PrivacyStatement(
            max(self.epsilon, other.epsilon),
            self.unit,
            _larger_each(self.per_group, other.per_group),
            _larger(self.nominal_epsilon, other.nominal_epsilon),
            _larger(self.delta_at_nominal, other.delta_at_nominal),
            max((share for share in (self.provably_true, other.provably_true) if share is not None), default=None),
            self.substitutes or other.substitutes,
            self.set_aside + other.set_aside,
            _larger_each(self.chosen, other.chosen),
            tuple(dict.fromkeys((*self.certain, *other.certain))),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per level: of the unit and of a report about each group, and a paper's own accounting.

        `times_as_likely` is e^ε, which bounds how many times as likely one value makes what is seen as another does.
        """
        import numpy as np
        import pandas as pd

        levels = [(self.unit, "strict", self.epsilon, 0.0)]
        levels += [(f"the record of who chose {name}", "strict", level, 0.0) for name, level in self.chosen.items()]
        levels += [(group, "strict", level, 0.0) for group, level in self.per_group.items()]
        if self.nominal_epsilon is not None:
            delta = math.nan if self.delta_at_nominal is None else self.delta_at_nominal
            levels.append((self.unit, "nominal", self.nominal_epsilon, delta))
        frame = pd.DataFrame(levels, columns=["about", "kind", "epsilon", "delta"])
        with np.errstate(over="ignore"):
            return frame.assign(times_as_likely=np.exp(frame["epsilon"]))

    def summary(self) -> Summary:
        """Return every level as a table, and what it means in plain words."""
        of_choices = [[f"the record of who chose {name}", *_row(level)] for name, level in self.chosen.items()]
        rows = [[self.unit, *_row(self.epsilon)], *of_choices, *self._rows_of_groups()]
        sentences = [self.guarantee()]
        if self.nominal_epsilon is not None:
            delta = self.delta_at_nominal
            with_delta = "" if delta is None else f", delta = {rounded_up(delta)}"
            holds = "" if delta is None else f", which holds with delta = {rounded_up(delta)}"
            rows.append([self.unit, *_row(self.nominal_epsilon, f"nominal{with_delta}")])
            sentences.append(f"Nominal is a paper's own accounting{holds}; what is guaranteed is the strict level.")
        if self.provably_true is not None:
            sentences.append(f"{self._true_for_sure()}: whoever sees one of these knows the answer.")
        sentences += [f"{told[0].upper()}{told[1:]}." for told in self._certain_lines()]
        if self.certain and self.per_group:
            sentences.append("The protocol's mechanism_for(group).privacy() says what holds between single values.")
        if self.substitutes:
            sentences.append(f"{_MIXED[0].upper()}{_MIXED[1:]}.")
        if self.chosen:
            sentences.append(f"{self._choices[0].upper()}{self._choices[1:]}.")
        if self.set_aside:
            sentences.append(f"{self._left_out}.")
        headers = ["about", "epsilon", "kind", "times as likely, at most"]
        return summary_of_figures("What can become known of a respondent", headers, rows, sentences)

    def _rows_of_groups(self) -> list[list[str]]:
        """Return a row per group; where there are many, one for all with the same level."""
        if len(self.per_group) <= _NAMED:
            return [[f"a report about {group}", *_row(level)] for group, level in self.per_group.items()]
        times = Counter(self.per_group.values())
        return [
            [f"a report about each of {number:,} {'other ' * (index > 0)}groups", *_row(level)]
            for index, (level, number) in enumerate(times.items())
        ]

    def guarantee(self, of: str = "") -> str:
        """Return what the strict level means, as a sentence.

        Parameters
        ----------
        of : str
            What it is a guarantee for, such as "everything one person sends".
        """
        covered, known = (f" for {of}", "becomes known of it") if of else ("", "becomes known")
        value = "record" if "record" in self.unit else "answer"
        if self.chosen:
            known += " beside the level that was chosen"
        if self.epsilon == math.inf:
            return f"Nothing is strictly guaranteed{covered}: what becomes known may show the true {value}."
        if self.epsilon == 0:
            return f"Guaranteed{covered}: whatever {known} is equally likely under every {value}."
        return (
            f"Guaranteed{covered}: whatever {known}, no {value} makes that more than {times_as_likely(self.epsilon)} "
            f"times as likely as another {value} does."
        )

    def picture(self) -> Picture:
        """Return the most that can be learnt: a suspicion after the most telling report, against the one before."""
        from ldpstats.pictures.lines import Posterior

        levels = {f"strict epsilon = {rounded_up(self.epsilon)}": self.epsilon}
        of_groups = max(self.per_group.values(), default=self.epsilon)
        if of_groups < self.epsilon:
            about = f"about {next(iter(self.per_group))}" if len(self.per_group) == 1 else "about any one group"
            levels[f"a report {about}: epsilon = {rounded_up(of_groups)}"] = of_groups
        nominal = {}
        if self.nominal_epsilon is not None:
            nominal[f"nominal epsilon = {rounded_up(self.nominal_epsilon)}, not what is guaranteed"] = (
                self.nominal_epsilon
            )
        notes = [f"unit: {self.unit}"]
        notes += ["no strict guarantee: what becomes known may settle it"] if self.epsilon == math.inf else []
        notes += [self._true_for_sure()] if self.provably_true is not None else []
        return Posterior("How far a suspicion can move, at most", tuple(notes), levels, nominal)

    def _true_for_sure(self) -> str:
        return f"{rounded_up(100 * (self.provably_true or 0.0))} % of the reports are provably true"

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain values; an infinite level as a word, because JSON has no number for it.

        Rows that were set aside, levels that were chosen, and what is certain, are there where there are some.
        """
        plain = {field.name: plain_level(getattr(self, field.name)) for field in fields(PrivacyStatement)}
        for name in ("per_group", "chosen"):
            plain[name] = {about: plain_level(level) for about, level in getattr(self, name).items()}
        plain["certain"] = list(self.certain)
        return {name: value for name, value in plain.items() if value or name not in ("set_aside", "chosen", "certain")}


def _row(level: float, kind: str = "strict") -> list[str]:
    return [rounded_up(level), kind, times_as_likely(level)]


def plain_level(value: Any) -> Any:
    """Return a level as a plain value: an infinite one as a word, because JSON has no number for it."""
    return _INFINITE if value == math.inf else value


def _level(value: object, what: str) -> float:
    if value == _INFINITE:
        return math.inf
    number = real_number(value)
    # written so that a NaN fails, and a whole number beyond all doubles
    if not number >= 0 or (number == math.inf and value != math.inf):
        raise LdpstatsError(f"{what} = {shortened(value)}", "a level of at least 0")
    return number


def _larger_each(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {name: max(first.get(name, 0.0), second.get(name, 0.0)) for name in [*first, *second]}


def _larger(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else max(first, second)


def rounded_up(level: float) -> str:
    """Print four digits of a privacy level, not less than it is but for a part in 10^12, so that 0.01 stays 0.01."""
    if not math.isfinite(level) or level == 0:
        return f"{level:g}"
    level *= 1 - 1e-12
    return f"{Context(prec=4, rounding=ROUND_UP).create_decimal_from_float(level).normalize():f}"
