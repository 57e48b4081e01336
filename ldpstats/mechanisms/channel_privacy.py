"""Statements value by value: what a channel says of each value, of two values, and to who guesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
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
from ldpstats.numbers.arrays import real_array
from ldpstats.numbers.grid import GRID
from ldpstats.presentation import Summary
from ldpstats.privacy import PrivacyStatement, rounded_up, strict_epsilon

Numerators: TypeAlias = tuple[tuple[int, ...], ...]
_SHOWN = 12


def worst_ratio_of_rows(rows: Sequence[Sequence[int]]) -> Fraction | None:
    """Return the largest ratio of two numbers in one column; None where only one of them is 0."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        least, most = min(column), max(column)
        if least == 0 < most:
            return None
        if least and most * worst.denominator > worst.numerator * least:
            worst = Fraction(most, least)
    return worst


@dataclass(frozen=True, slots=True, repr=False)
class ChannelPrivacy(PrivacyStatement):
    """The guarantee of a channel: its strict level, and what holds between single values.

    Local differential privacy bounds by one level how much an output can speak for any value against any other. A
    one-sided design protects some values alone, utility-optimised LDP those that are sensitive, input-discriminative
    LDP each value at its own level, and metric privacy values that lie near each other most. Each is a statement
    about ordered pairs, which this one answers exactly.

    Parameters
    ----------
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
    ["An answer 'no' shows that 'no' is the case"]
    >>> statement.guess()["success"].round(3).tolist()
    [0.85]
    """

    rows: Numerators = ()
    values: tuple[Any, ...] | None = None
    outputs: tuple[Any, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.nominal_epsilon, self.delta_at_nominal, self.provably_true, self.substitutes, self.set_aside)
        own = (self.rows, self.values, self.outputs)
        return ChannelPrivacy, (self.epsilon, self.unit, dict(self.per_group), *rest, *own)

    @property
    def _value_names(self) -> tuple[Any, ...]:
        return tuple(range(len(self.rows))) if self.values is None else self.values

    @property
    def _output_names(self) -> tuple[Any, ...]:
        return tuple(range(len(self.rows[0]))) if self.outputs is None else self.outputs

    def between(self, value: Any, other: Any, event: Iterable[Any] | None = None) -> PrivacyStatement:
        """Return how strongly what is sent can speak for one value against another, as the level of a statement.

        The order matters: e^epsilon bounds P(output | value) / P(output | other).

        Parameters
        ----------
        value, other : object
            The two values.
        event : sequence, optional
            The outputs that are looked at, as one event ("some yes"); without it, the worst single output.

        Returns
        -------
        PrivacyStatement
            Its level is 0 where what is sent never speaks for the value, and infinite where it may rule out the other.
        """
        own, beside = (self.rows[_place(name, self._value_names, "value")] for name in (value, other))
        if event is None:
            return PrivacyStatement(_level(own, beside), f"an answer {value!r} against {other!r}")
        places = [_place(name, self._output_names, "output") for name in dict.fromkeys(listed(event))]
        level = _level([sum(own[place] for place in places)], [sum(beside[place] for place in places)])
        return PrivacyStatement(
            level, f"an answer {value!r} against {other!r}, where {one_line(listed(event))} is sent"
        )

    def pairs(self) -> pd.DataFrame:
        """Return the level between any two values: a row per value, a column per value that it is held against."""
        refuse_too_large((len(self.rows),) * 2, "levels between values")
        levels = np.zeros((len(self.rows),) * 2)
        for (i, own), (j, beside) in permutations(enumerate(self.rows), 2):
            levels[i, j] = _level(own, beside)
        names = list(self._value_names)
        return pd.DataFrame(levels, index=pd.Index(names, name="value"), columns=pd.Index(names, name="against"))

    def per_value(self) -> pd.Series[float]:
        """Return each value's own level: none of its pairs is above it (input-discriminative LDP)."""
        levels = self.pairs().to_numpy()
        index = pd.Index(list(self._value_names), name="value")
        return pd.Series(np.maximum(levels.max(axis=0), levels.max(axis=1)), index=index, name="epsilon")

    def per_distance(self, distance: Callable[[Any, Any], float]) -> float:
        """Return the least level per unit of a distance: no pair is above that times its distance (metric privacy).

        Parameters
        ----------
        distance : callable
            The distance of two values, above 0.
        """
        found = 0.0
        for (value, own), (other, beside) in permutations(zip(self._value_names, self.rows, strict=True), 2):
            apart = float(distance(value, other))
            if not apart > 0:
                raise LdpstatsError(f"the distance {apart!r} of {value!r} and {other!r}", "distances above 0")
            found = max(found, _level(own, beside) / apart)
        return found

    @property
    def certain(self) -> list[str]:
        """What some outputs show for certain: a value, or that it is none of some."""
        told = []
        for name, column in zip(self._output_names, zip(*self.rows, strict=True), strict=True):
            possible = [value for value, entry in zip(self._value_names, column, strict=True) if entry]
            excluded = [value for value, entry in zip(self._value_names, column, strict=True) if not entry]
            if len(possible) == 1:
                told.append(f"An answer {name!r} shows that {possible[0]!r} is the case")
            elif excluded:
                told.append(f"An answer {name!r} shows that {one_line(excluded)} is not the case")
        return told

    def guess(self, prior: ArrayLike | None = None) -> pd.DataFrame:
        """Return how often the best guess of a value is right after a report, for uniform values and for a prior.

        Parameters
        ----------
        prior : array, optional
            How frequent the values are believed to be.

        Returns
        -------
        DataFrame
            A row per prior: `before` any report, and the `success` of the best guess given the report, exactly.
        """
        k = len(self.rows)
        uniform = [Fraction(1, k)] * k
        priors = {"uniform": uniform}
        if prior is not None:
            shares = real_array(prior, "prior")
            if shares.shape != (k,) or not shares.min() >= 0 or abs(shares.sum() - 1) > 1e-9:
                raise LdpstatsError(f"prior = {shortened(prior)}", f"{k} frequencies that sum to 1")
            priors["prior"] = [Fraction(share) for share in shares.tolist()]
        rows = []
        for name, weights in priors.items():
            best = sum(
                max(map(Fraction.__mul__, weights, map(Fraction, column))) for column in zip(*self.rows, strict=True)
            )
            rows.append((name, float(max(weights)), float(best / GRID)))
        return pd.DataFrame(rows, columns=["values", "before", "success"]).set_index("values")

    def summary(self) -> Summary:
        """Return the level, what is certain, and the levels between values, strongest first."""
        # told in the words of every statement, and then in its own
        said = PrivacyStatement.summary(self)
        sentences = [f"{told}." for told in self.certain[:_SHOWN]]
        if len(self.rows) <= _SHOWN and self.epsilon == math.inf:
            names = self._value_names
            levels = self.pairs().to_numpy()
            sentences += [
                f"For {names[i]!r} against {names[j]!r} reports tell epsilon = {rounded_up(levels[i, j])} at most."
                for i, j in np.argwhere((levels > 0) & (levels < math.inf)).tolist()
            ][:_SHOWN]
        guessed = self.guess().loc["uniform"]
        sentences.append(
            f"Where all values are equally frequent, the best guess is right in {100 * guessed['success']:.3g} % with "
            f"the report, {100 * guessed['before']:.3g} % without."
        )
        return replace(said, sentences=(*said.sentences, *sentences))


def _level(own: Sequence[int], beside: Sequence[int]) -> float:
    """Return ln of the largest ratio of two rows, rounded up; infinite where one excludes an output of the other."""
    if any(most and not least for most, least in zip(own, beside, strict=True)):
        return math.inf
    ratios = (Fraction(most, least) for most, least in zip(own, beside, strict=True) if least)
    return strict_epsilon(max(ratios, default=Fraction(1)))


def _place(name: Any, names: tuple[Any, ...], what: str) -> int:
    if name not in names:
        raise LdpstatsError(f"the {what} {shortened(name)}", one_line(list(names)))
    return names.index(name)
