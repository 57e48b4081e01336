"""Statements value by value: what a channel says of each value, of two values, and to who guesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import refuse_too_large
from ldpstats.numbers.arrays import real_array, real_number
from ldpstats.numbers.grid import GRID, double_above
from ldpstats.presentation import Result, Summary, summary_of_figures
from ldpstats.privacy import PrivacyStatement, plain_level, rounded_up, strict_epsilon, times_as_likely

Numerators: TypeAlias = tuple[tuple[int, ...], ...]
_SHOWN = 12


def worst_ratio_of_rows(rows: Sequence[Sequence[Any]]) -> Fraction | None:
    """Return the largest ratio of two numbers in one column; None where only one of them is 0."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        least, most = min(column), max(column)
        if least == 0 < most:
            return None
        if least:
            worst = max(worst, Fraction(most) / Fraction(least))
    return worst


def _largest_ratio(pairs: Iterable[tuple[int, int]]) -> Fraction | None:
    """Return the largest ratio of numbers and those beside them, or 1; None where only the one beside is 0."""
    top = bottom = 1
    for most, least in pairs:
        if most * bottom > top * least:
            top, bottom = most, least
            if not least:
                return None
    return Fraction(top, bottom)


def shown_for_certain(rows: Numerators, values: Sequence[Any], outputs: Sequence[Any]) -> Iterator[str]:
    """Yield what reports show for certain, in words: a value, or that it is none of some."""
    for name, column in zip(outputs, zip(*rows, strict=True), strict=True):
        excluded = [value for value, entry in zip(values, column, strict=True) if not entry]
        if len(excluded) == len(values) - 1:
            (shown,) = (value for value, entry in zip(values, column, strict=True) if entry)
            yield f"a report of {shortened(name)} shows that {shortened(shown)} is true"
        elif excluded:
            yield f"a report of {shortened(name)} rules out {one_line(excluded)}"


@dataclass(frozen=True, slots=True, repr=False)
class PairPrivacy(Result):
    """How strongly what is sent can speak for one value against another: the level of one ordered pair of values.

    Parameters
    ----------
    epsilon : float
        The least level, from 0, with P(sent | value) at most e^epsilon P(sent | against).
    value, against : object
        The two values. The other order is another statement.
    event : tuple, optional
        The outputs that are looked at, as one event; without it, every single output.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> statement = ldp.designs.kuk(0.8, 0.2, repetitions=2).privacy()
    >>> statement.between("yes", "no").guarantee()
    "What is sent is at most 16 times as likely under 'yes' as under 'no'."
    >>> statement.between("yes", "no", event=[1, 2]).guarantee()
    "A report of 1 or 2 is at most 2.667 times as likely under 'yes' as under 'no'."
    """

    epsilon: float
    value: Any
    against: Any
    event: tuple[Any, ...] | None = None

    @property
    def _sent(self) -> str:
        return "what is sent" if self.event is None else f"a report of {' or '.join(map(shortened, self.event))}"

    @property
    def headline(self) -> str:
        """The level, and of what it is one."""
        return f"epsilon = {rounded_up(self.epsilon)} (of {self._sent}, for {self.value!r} against {self.against!r})"

    def guarantee(self) -> str:
        """Return what the level means, as a sentence."""
        value, against, said = shortened(self.value), shortened(self.against), self._sent[0].upper() + self._sent[1:]
        if self.epsilon == math.inf:
            ruled = "may rule" if self.event is None else "rules"
            return f"{said} {ruled} out {against} for certain, where {value} is true."
        if self.epsilon == 0:
            return f"{said} is never likelier under {value} than under {against}."
        return f"{said} is at most {times_as_likely(self.epsilon)} times as likely under {value} as under {against}."

    def to_frame(self) -> pd.DataFrame:
        """Return the level in a row, with what is sent in words; `times_as_likely` is e^ε."""
        names = ["value", "against", "sent", "epsilon"]
        frame = pd.DataFrame([(self.value, self.against, self._sent, self.epsilon)], columns=names)
        with np.errstate(over="ignore"):
            return frame.assign(times_as_likely=np.exp(self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Return the level and the two values as plain values; an infinite level as a word."""
        return Result.to_dict(self) | {"epsilon": plain_level(self.epsilon)}

    def summary(self) -> Summary:
        """Return the level as a table, and what it means in plain words."""
        headers = ["for", "against", "epsilon", "times as likely, at most"]
        names = [shortened(self.value), shortened(self.against)]
        rows = [[*names, rounded_up(self.epsilon), times_as_likely(self.epsilon)]]
        other = "The other order is another statement."
        return summary_of_figures(f"How strongly {self._sent} can speak", headers, rows, [self.guarantee(), other])


@dataclass(frozen=True, slots=True, repr=False)
class ChannelPrivacy(PrivacyStatement):
    """The guarantee of a channel: its strict level, and what holds between single values.

    Local differential privacy bounds by one level how much an output can speak for any value against any other. A
    one-sided design protects some values alone, utility-optimised LDP those that are sensitive, input-discriminative
    LDP each value at its own level, and metric privacy values that lie near each other most. Each is a statement
    about ordered pairs, which this one answers exactly. (Mechanisms that treat all values alike, such as GRR, have
    their strict level in all of them.)

    Parameters
    ----------
    epsilon, unit, per_group, nominal_epsilon, delta_at_nominal, provably_true, substitutes, set_aside, chosen, certain
        As of every `PrivacyStatement`.
    rows : tuple of tuples of int
        The channel, in 2^-64ths.
    values, outputs : tuple, optional
        What these are called; without names they are numbered from 0.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> statement = ldp.designs.mangat(0.7).privacy()
    >>> statement.epsilon, round(statement.between("yes", "no").epsilon, 3)
    (inf, 1.204)
    >>> statement.certain
    ("a report of 'no' shows that 'no' is true",)
    >>> statement.guess()["success"].round(3).tolist()
    [0.85]
    """

    rows: Numerators = ()
    values: tuple[Any, ...] | None = None
    outputs: tuple[Any, ...] | None = None

    __hash__ = PrivacyStatement.__hash__

    def __post_init__(self) -> None:
        PrivacyStatement.__post_init__(self)
        sizes = {len(row) for row in self.rows}
        whole = len(sizes) == 1 and all(sum(row) == GRID and min(row) >= 0 for row in self.rows)
        if not whole or strict_epsilon(worst_ratio_of_rows(self.rows)) != self.epsilon:
            raise LdpstatsError(
                f"a statement of epsilon = {self.epsilon!r} about a channel of {len(self.rows)} rows",
                "rows of 2^-64ths that add up to 1, and their own level",
            )
        for names, number in ((self.values, len(self.rows)), (self.outputs, len(self.rows[0]))):
            if names is not None and len(names) != number:
                raise LdpstatsError(f"the names {shortened(names)}", f"{number} of them")

    @property
    def _value_names(self) -> tuple[Any, ...]:
        return tuple(range(len(self.rows))) if self.values is None else self.values

    @property
    def _output_names(self) -> tuple[Any, ...]:
        return tuple(range(len(self.rows[0]))) if self.outputs is None else self.outputs

    def between(self, value: Any, against: Any, event: Iterable[Any] | None = None) -> PairPrivacy:
        """Return how strongly what is sent can speak for one value against another, as a statement with its level.

        The order matters: e^epsilon bounds P(output | value) / P(output | against).

        Parameters
        ----------
        value, against : object
            The two values.
        event : sequence, optional
            The outputs that are looked at, as one event ("some yes"); without it, the worst single output, whose
            level no event exceeds.

        Returns
        -------
        PairPrivacy
            Its level is 0 where what is sent never speaks for the value, and infinite where it may rule out the other.
        """
        own, beside = (self.rows[_place(name, self._value_names, "value")] for name in (value, against))
        if event is None:
            return PairPrivacy(_level(own, beside), value, against)
        seen = listed(event)
        places = {_place(name, self._output_names, "output") for name in seen}
        if not places:
            raise LdpstatsError("an event of no outputs", f"some of {one_line(list(self._output_names))}")
        level = _level([sum(own[place] for place in places)], [sum(beside[place] for place in places)])
        return PairPrivacy(level, value, against, seen)

    def _pairs(self) -> Iterator[tuple[int, int, float]]:
        k = len(self.rows)
        refuse_too_large((k, k, len(self.rows[0])), "ratios of all pairs", "`between` compares two values.")
        for (i, own), (j, beside) in permutations(enumerate(self.rows), 2):
            yield i, j, _level(own, beside)

    def pairs(self) -> pd.DataFrame:
        """Return the level between any two values: a row per value, a column per value that it is held against."""
        levels = np.zeros((len(self.rows),) * 2)
        for i, j, level in self._pairs():
            levels[i, j] = level
        names = list(self._value_names)
        return pd.DataFrame(levels, index=_index(names, "value"), columns=_index(names, "against"))

    def per_value(self) -> pd.DataFrame:
        """Return the levels of each value: against all others, of all others against it, and in both orders.

        A value's `epsilon`, in both orders, is its level in input-discriminative LDP (Gu, Li, Xiong & Cao 2020):
        these are the least levels with which no pair of values is above the smaller one of its two. The largest of
        them is the strict level.

        Returns
        -------
        DataFrame
            A row per value: `for` bounds how strongly what is sent can speak for it against any other value, `against`
            how strongly for any other value against it; `epsilon` is the larger one.
        """
        columns = list(zip(*self.rows, strict=True))
        least, most = list(map(min, columns)), list(map(max, columns))
        levels = [(_level(row, least), _level(most, row)) for row in self.rows]
        frame = pd.DataFrame(levels, columns=["for", "against"], index=_index(list(self._value_names), "value"))
        return frame.assign(epsilon=frame.max(axis=1))

    def per_distance(self, distance: Callable[[Any, Any], float]) -> float:
        """Return the least level per unit of a distance: no pair is above that times its distance (metric privacy).

        Parameters
        ----------
        distance : callable
            The distance of two values, above 0 and finite.
        """
        names, largest = self._value_names, 0.0
        for i, j, level in self._pairs():
            apart = real_number(distance(names[i], names[j]))
            if not 0 < apart < math.inf:
                raise LdpstatsError(
                    f"the distance {apart!r} of {names[i]!r} and {names[j]!r}", "finite numbers above 0"
                )
            largest = max(largest, level if level == math.inf else double_above(Fraction(level) / Fraction(apart)))
        return largest

    def guess(self, prior: ArrayLike | None = None) -> pd.DataFrame:
        """Return how often the best guess of a value is right after a report, for uniform values and for a prior.

        Parameters
        ----------
        prior : array, optional
            How frequent the values are believed to be, in their order.

        Returns
        -------
        DataFrame
            A row per prior: `before` any report, and the `success` of the best guess given the report, exactly.
        """
        k = len(self.rows)
        priors = {"uniform": [1] * k}
        if prior is not None:
            shares = real_array(prior, "prior")
            if shares.shape != (k,) or not shares.min() >= 0 or not abs(shares.sum() - 1) <= 1e-9:
                raise LdpstatsError(f"prior = {shortened(prior)}", f"{k} frequencies that sum to 1")
            exact = list(map(Fraction, shares.tolist()))
            common = max(share.denominator for share in exact)  # powers of two
            priors["prior"] = [int(share * common) for share in exact]
        rows = []
        for name, weights in priors.items():
            every, columns = sum(weights), zip(*self.rows, strict=True)
            best = sum(max(map(int.__mul__, weights, column)) for column in columns)
            rows.append((name, float(Fraction(max(weights), every)), float(Fraction(best, every * GRID))))
        return pd.DataFrame(rows, columns=["values", "before", "success"]).set_index("values")

    def summary(self) -> Summary:
        """Return the level, what is certain, what holds for single values, and how often the best guess is right."""
        # told in the words of every statement, and then in its own
        said, sentences = PrivacyStatement.summary(self), []
        if self.epsilon == math.inf and len(self.rows) <= _SHOWN:
            sentences = [
                f"Against any other value what is sent can speak for {shortened(name)} with epsilon = "
                f"{rounded_up(level)} at most."
                for name, level in self.per_value()["for"].items()
                if level < math.inf
            ]
        if self.epsilon == math.inf:
            sentences.append("between(value, against) says what holds between two values.")
        guessed = self.guess().loc["uniform"]
        sentences.append(
            f"Where all values are equally frequent, the best guess is right in {100 * guessed['success']:.3g} % with "
            f"the report, {100 * guessed['before']:.3g} % without."
        )
        return replace(said, sentences=(*said.sentences, *sentences))


def _index(names: list[Any], what: str) -> pd.Index[Any]:
    index: pd.Index[Any] = pd.Index(names, name=what, tupleize_cols=False)
    return index


def _level(own: Sequence[int], beside: Sequence[int]) -> float:
    """Return ln of the largest ratio of two rows, rounded up; infinite where one excludes an output of the other."""
    return strict_epsilon(_largest_ratio(zip(own, beside, strict=True)))


def _place(name: Any, names: tuple[Any, ...], what: str) -> int:
    try:
        return {known: place for place, known in enumerate(names)}[name]
    except (KeyError, TypeError):
        raise LdpstatsError(f"the {what} {shortened(name)}", one_line(list(names))) from None
