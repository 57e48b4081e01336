"""Longitudinal mechanisms: permanent randomized answers, of which every report is made (memoization).

What all reports tell about a value that changes is enumerated here, exactly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, prod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.mechanisms.patterns import by_pattern
from ldpstats.numbers.arrays import BoolArray, FloatArray, at_least
from ldpstats.numbers.hashing import symbols_of
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import PrivacyStatement, strict_epsilon

_MOST_STATES = 5_000_000
_OVERHEAD = 500
"""As many reports could be looked at in the time that a pair of sequences takes by itself."""
_NEARLY = 1e-6
"""So near to the largest logarithm in doubles, a ratio is computed exactly; doubles err by much less."""


class Longitudinal(Mechanism):
    """A mechanism for being asked again: what it draws about a value is drawn once, and kept in a `Memo`.

    `epsilon` is the level of the permanent answer, which is all that a respondent's reports can ever tell together
    about a value that never changes. Whether and when a value changes is not protected: reports of one permanent answer
    show ever more plainly that the next ones are made of another. `changing_epsilon` says how much, exactly. Permanent
    answers are stored as reports are: an array with a row per respondent.
    """

    purpose: ClassVar[str] = "repeated answers"
    longitudinal: ClassVar[bool] = True

    @property
    def first_epsilon(self) -> float | None:
        """The privacy level of one report that was asked for; None where a report is the permanent answer itself."""
        return None

    @property
    def first_level(self) -> float:
        """The privacy level of one report that was asked for; the implemented one is never above it."""
        return self.epsilon if self.first_epsilon is None else self.first_epsilon

    @property
    @abstractmethod
    def permanent(self) -> Mechanism:
        """The mechanism for a single collection that draws the permanent answers."""

    @property
    def finest(self) -> Mechanism:
        """Count whole reports if the permanent answers' mechanism does, else as always."""
        permanent = self.permanent
        return self if permanent.finest is permanent else by_pattern(self)

    @property
    def report_format(self) -> ReportFormat:
        """The form of the permanent answers."""
        return self.permanent.report_format

    @property
    def report_bits(self) -> int:
        """Bits of a permanent answer."""
        return self.permanent.report_bits

    @property
    def hash_symbols(self) -> int | None:
        """Symbols of the hash functions of the permanent answers; None without hashing."""
        return self.permanent.hash_symbols

    @property
    def derived(self) -> dict[str, int]:
        """What follows from the parameters of the permanent answers' mechanism."""
        return self.permanent.derived

    def lifetime_ratio(self) -> Fraction | None:
        """Return the worst-case ratio of the permanent answer, which bounds all reports about one value."""
        return self.permanent.likelihood_ratio()

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports can be permanent answers."""
        return self.permanent.possible(reports)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count reports as permanent answers are counted."""
        return self.permanent.count_reports(reports)

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return what each report adds to the tally, a row per report."""
        return self.permanent.contributions(reports)

    def remember(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw the permanent answers of respondents who have none yet.

        Parameters
        ----------
        values : array of int
            The true values.
        draws : Draws
        """
        return self.permanent.randomize(values, draws)

    @abstractmethod
    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Draw one report from each permanent answer.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        draws : Draws
        """

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw permanent answers about further values of respondents, given an `earlier` one of each.

        Mechanisms with something that a respondent keeps for all values (a hash function) take it from there.

        Parameters
        ----------
        earlier : array
            A permanent answer of each respondent.
        values : array of int
            What the further answers are about.
        draws : Draws
        """
        del earlier
        return self.remember(values, draws)

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return what of a permanent answer its respondent keeps for all values, a row each: a hash function, if any.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        """
        return np.empty((len(permanent), 0), permanent.dtype) if self.hash_symbols is None else permanent[:, :-1]

    @property
    def most_classes(self) -> int:
        """The most permanent answers that one respondent can need; `classes` numbers them."""
        return self.hash_symbols or self.k

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number, from 0 on, the permanent answer that each respondent needs for a value, given any one of hers.

        Values with the same number share a permanent answer: those of a symbol, where there is a hash function.

        Parameters
        ----------
        permanent : array
            Permanent answers, a row per respondent.
        values : array of int
            A value of each respondent.
        """
        return values if self.hash_symbols is None else symbols_of(self.kept(permanent), values, self.hash_symbols)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Report once, from a permanent answer that nobody keeps; with a `Memo` it is kept."""
        return self.report(self.remember(values, draws), draws)

    def first_report_epsilon(self) -> float:
        """Return the exact privacy level of one report, rounded up to a double."""
        return strict_epsilon(self.likelihood_ratio())

    @abstractmethod
    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction | None:
        """Return the exact worst-case ratio of all reports in these rounds; None if unbounded.

        Two sequences of values are compared, of which one changes `changes` times at most and the other `others` times.

        Parameters
        ----------
        rounds : int
            How often a respondent reports.
        changes, others : int
            How often each of the two sequences changes at most.
        """

    def changing_epsilon(self, rounds: int, changes: int = 1, others: int | None = None) -> float:
        """Return the exact level of all reports in these rounds if a value may change, rounded up to a double.

        That is the largest log ratio of the probabilities that two sequences of values give to the same reports, by
        enumeration. It covers everything: which values there were, whether and when one took the place of another.

        Parameters
        ----------
        rounds : int
            How often a respondent reports.
        changes : int
            How often a sequence of values changes at most; 0 compares values that never change.
        others : int, optional
            The same for the sequence that it is compared with, if that is another number: 0 asks how plainly a change
            shows against none.

        Examples
        --------
        >>> from ldpstats import mechanism
        >>> lgrr = mechanism("l-grr", k=2, epsilon=1.0)
        >>> [round(lgrr.changing_epsilon(rounds, others=0), 2) for rounds in (4, 8, 16, 64)]
        [1.8, 4.1, 8.82, 37.14]
        """
        number, own = at_least(rounds, 1, "rounds"), at_least(changes, 0, "changes")
        other = own if others is None else at_least(others, 0, "others")
        return strict_epsilon(self.changing_ratio(number, min(own, number - 1), min(other, number - 1)))

    def privacy(self, rounds: int | None = None, changes: int = 0) -> PrivacyStatement:
        """Return the guarantee for everything that a respondent ever sends about one value.

        With `changes` it is the one for all reports in so many `rounds` about a value that changes no more often.

        Parameters
        ----------
        rounds : int, optional
            How often a respondent reports; any number of times if nothing else is said.
        changes : int
            How often her value changes at most.
        """
        if rounds is None and changes == 0:
            return PrivacyStatement(self.strict_epsilon(), "all reports about one value, which never changes")
        if rounds is None:
            raise LdpstatsError(
                f"changes = {changes!r} without rounds",
                "a number of rounds: the more reports there are, the more plainly a change shows",
            )
        often = "once" if changes == 1 else f"{changes} times"
        course = f"changes at most {often}" if changes else "never changes"
        unit = f"all reports in {rounds} rounds about a value that {course}"
        return PrivacyStatement(self.changing_epsilon(rounds, changes), unit)


@dataclass(frozen=True, slots=True)
class IndependentPart:
    """A part of every report that, given the values, is independent of the other parts."""

    permanent: tuple[tuple[int, ...], ...]  # for each value, integer weights of the permanent answers
    shown: tuple[tuple[int, ...], ...]  # for each permanent answer, integer weights of the reports
    copies: int = 1  # how many parts of a report are like this one


RespondentSet: TypeAlias = Callable[[int], Sequence[IndependentPart]]
"""The parts of a report, for a respondent who only ever has the first so many values."""
Path: TypeAlias = tuple[tuple[int, int], ...]
"""Which values of two sequences meet, stretch by stretch."""
Course: TypeAlias = tuple[tuple[tuple[int, int], int], ...]
"""Two sequences of values side by side: in how many rounds which value of the one meets which of the other.

Their order does not matter: a value that returns finds its permanent answer again.
"""


def changing_ratio(parts: RespondentSet, values: int, rounds: int, changes: int, others: int) -> Fraction:
    """Return the largest ratio of the probabilities that two sequences of values give to the same reports.

    One of the sequences changes `changes` times at most, the other one `others` times. All pairs of them are
    enumerated, and for each the numbers of reports of every kind in each stretch, which are sufficient.
    """
    courses = _affordable(_courses(values, rounds, changes, others), kinds=len(parts(1)[0].shown[0]))
    largest = {
        course: sum(part.copies * float(_log_ratios(part, course)[1].max()) for part in parts(_visited(course)))
        for course in courses
    }
    near = max(largest.values()) - _NEARLY
    return max(_exact_ratio(parts, course) for course, level in largest.items() if level >= near)


def _courses(values: int, rounds: int, changes: int, others: int) -> Iterator[Course]:
    """Yield the pairs of sequences, in both orders, up to the names of values and the order of the rounds."""
    seen: set[Course] = set()
    for stretches in range(1, min(rounds, 1 + changes + others) + 1):
        paths = list(_paths(values, stretches, changes, others))
        for cuts in combinations(range(1, rounds), stretches - 1):
            lengths = [stop - start for start, stop in pairwise((0, *cuts, rounds))]
            for course in {turned for path in paths for turned in _side_by_side(path, lengths)} - seen:
                seen.add(course)
                yield course


def _side_by_side(path: Path, lengths: Sequence[int]) -> Iterator[Course]:
    """Yield the rounds of every pair of values, for the two sequences in either order."""
    together: dict[tuple[int, int], int] = {}
    for pair, length in zip(path, lengths, strict=True):
        together[pair] = together.get(pair, 0) + length
    yield tuple(sorted(together.items()))
    yield tuple(sorted(((second, first), length) for (first, second), length in together.items()))


def _paths(values: int, stretches: int, changes: int, others: int) -> Iterator[Path]:
    """Yield which values meet in each stretch; values are numbered as they appear, for their names do not matter."""

    def further(path: Path, used: int, left: tuple[int, int]) -> Iterator[Path]:
        if len(path) == stretches:
            yield path
            return
        before = path[-1] if path else None
        for first in range(min(used + 1, values)):
            for second in range(min(max(used, first + 1) + 1, values)):
                spent = (0, 0) if before is None else (int(first != before[0]), int(second != before[1]))
                after = (left[0] - spent[0], left[1] - spent[1])
                if (first, second) != before and min(after) >= 0:
                    yield from further((*path, (first, second)), max(used, first + 1, second + 1), after)

    yield from further((), 0, (changes, others))


def _affordable(courses: Iterable[Course], kinds: int) -> list[Course]:
    """List the courses; refuse them as soon as there are too many to enumerate."""
    listed, states = [], 0
    for course in courses:
        listed.append(course)
        states += max(_OVERHEAD, prod(comb(length + kinds - 1, kinds - 1) for _, length in course))
        if states > _MOST_STATES:
            raise LdpstatsError(
                f"more than {_MOST_STATES:,} combinations of sequences and reports",
                "so few that they can be enumerated",
                "Ask about fewer rounds, changes or values; the level only rises with each of them.",
            )
    return listed


def _exact_ratio(parts: RespondentSet, course: Course) -> Fraction:
    """Return the largest ratio of whole reports: the product over the parts, since these are independent."""
    ratio = Fraction(1)
    for part in parts(_visited(course)):
        states, levels = _log_ratios(part, course)
        near = np.unique(states[levels >= levels.max() - _NEARLY], axis=0)
        sides = ([_probability(part, course, state, side) for side in (0, 1)] for state in near.tolist())
        ratio *= max(first / second for first, second in sides) ** part.copies
    return ratio


def _visited(course: Course) -> int:
    return 1 + max(max(pair) for pair, _ in course)


def _log_ratios(part: IndependentPart, course: Course) -> tuple[NDArray[np.int64], FloatArray]:
    """Return all counts of reports of each kind in each stretch, a row each, and their log likelihood ratios."""
    kinds = len(part.shown[0])
    choices = [_compositions(length, kinds) for _, length in course]
    places = np.indices([len(choice) for choice in choices]).reshape(len(choices), -1)
    states = np.stack([choice[rows] for choice, rows in zip(choices, places, strict=True)], axis=1)
    first, second = (_log_probabilities(part, course, states, side) for side in (0, 1))
    return states, first - second


def _log_probabilities(part: IndependentPart, course: Course, states: NDArray[np.int64], side: int) -> FloatArray:
    shown = np.log(_shares(part.shown))
    total = np.zeros(len(states))
    for value, own in _stretches(course, side).items():
        reports = states[:, own].sum(axis=1)
        given = np.log(_shares(part.permanent)[value]) + reports @ shown.T
        total += np.logaddexp.reduce(given, axis=1)
    return total


def _probability(part: IndependentPart, course: Course, state: list[list[int]], side: int) -> Fraction:
    """Return the probability of the reports, up to a factor that depends on the number of rounds alone."""
    total = Fraction(1)
    for value, own in _stretches(course, side).items():
        reports = [sum(counts) for counts in zip(*(state[stretch] for stretch in own), strict=True)]
        drawn = part.permanent[value]
        joint = (
            often * prod(chance**number for chance, number in zip(shown, reports, strict=True))
            for often, shown in zip(drawn, part.shown, strict=True)
        )
        total *= Fraction(sum(joint), sum(drawn))
    return total


def _stretches(course: Course, side: int) -> Mapping[int, list[int]]:
    """Return, for each value of one of the two sequences, the stretches in which it is reported."""
    places: dict[int, list[int]] = {}
    for stretch, (pair, _) in enumerate(course):
        places.setdefault(pair[side], []).append(stretch)
    return places


def _shares(rows: tuple[tuple[int, ...], ...]) -> FloatArray:
    return np.array([[float(Fraction(weight, sum(row))) for weight in row] for row in rows])


def _compositions(total: int, kinds: int) -> NDArray[np.int64]:
    """Return all ways in which `total` reports can be of these kinds (integer compositions), a row each."""
    bars = np.array(list(combinations(range(total + kinds - 1), kinds - 1)), dtype=np.int64)
    bars = bars.reshape(-1, kinds - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + kinds - 1)])
    return np.diff(edges, axis=1) - 1
