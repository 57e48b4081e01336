"""Changing values: the exact privacy loss of all reports of a longitudinal mechanism about two sequences of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray, at_least

_MOST_STATES = 5_000_000
_OVERHEAD = 500
"""As many reports could be looked at in the time that a pair of sequences takes by itself."""
_NEARLY = 1e-6
"""So near to the largest logarithm in doubles, a ratio is computed exactly; doubles err by much less."""


@dataclass(frozen=True, slots=True)
class IndependentPart:
    """A part of every report that, given the values, is independent of the other parts."""

    permanent: tuple[tuple[int, ...], ...]  # for each value, integer weights of the permanent answers
    shown: tuple[tuple[int, ...], ...]  # for each permanent answer, integer weights of the reports
    copies: int = 1  # how many parts of a report are like this one


Parts: TypeAlias = Callable[[int], Sequence[IndependentPart]]
"""The parts of a report, for a respondent who only ever has the first so many values."""
Path: TypeAlias = tuple[tuple[int, int], ...]
"""Which values of two sequences meet, stretch by stretch."""
Course: TypeAlias = tuple[tuple[tuple[int, int], int], ...]
"""Two sequences of values side by side: in how many rounds which value of the one meets which of the other.

Their order does not matter: a value that returns finds its permanent answer again.
"""


def changing_ratio(parts: Parts, values: int, rounds: int, changes: int, others: int) -> Fraction:
    """Return the largest ratio of the probabilities that two sequences of values give to the same reports.

    One of the sequences changes `changes` times at most, the other one `others` times. All pairs of them are
    enumerated, and for each the numbers of reports of every kind in each stretch, which are sufficient.
    """
    courses = _affordable(_courses(values, rounds, changes, others), kinds=len(parts(1)[0].shown[0]))
    largest = {course: _log_ratio(parts, course) for course in courses}
    near = max(largest.values()) - _NEARLY
    return max(_exact_ratio(parts, course) for course, level in largest.items() if level >= near)


def checked_course(rounds: int, changes: int, others: int | None) -> tuple[int, int, int]:
    """Check the numbers of rounds and of value changes, which are capped at one less than the rounds."""
    number = at_least(rounds, 1, "rounds")
    most = at_least(changes, 0, "changes")
    other = most if others is None else at_least(others, 0, "others")
    return number, min(most, number - 1), min(other, number - 1)


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
    yield tuple(sorted(((other, one), length) for (one, other), length in together.items()))


def _paths(values: int, stretches: int, changes: int, others: int) -> Iterator[Path]:
    """Yield which values meet in each stretch; values are numbered as they appear, for their names do not matter."""

    def further(path: Path, used: int, left: tuple[int, int]) -> Iterator[Path]:
        if len(path) == stretches:
            yield path
            return
        before = path[-1] if path else None
        for one in range(min(used + 1, values)):
            for other in range(min(max(used, one + 1) + 1, values)):
                spent = (0, 0) if before is None else (int(one != before[0]), int(other != before[1]))
                after = (left[0] - spent[0], left[1] - spent[1])
                if (one, other) != before and min(after) >= 0:
                    yield from further((*path, (one, other)), max(used, one + 1, other + 1), after)

    yield from further((), 0, (changes, others))


def _affordable(courses: Iterable[Course], kinds: int) -> list[Course]:
    """List the courses; refuse them as soon as there are too many to enumerate."""
    found, states = [], 0
    for course in courses:
        found.append(course)
        states += max(_OVERHEAD, prod(comb(length + kinds - 1, kinds - 1) for _, length in course))
        if states > _MOST_STATES:
            raise LdpstatsError(
                f"more than {_MOST_STATES:,} combinations of sequences and reports",
                "so few that they can be enumerated",
                "Ask about fewer rounds, changes or values; the level only rises with each of them.",
            )
    return found


def _log_ratio(parts: Parts, course: Course) -> float:
    return sum(part.copies * float(_log_ratios(part, course)[1].max()) for part in parts(_visited(course)))


def _exact_ratio(parts: Parts, course: Course) -> Fraction:
    """Return the largest ratio of whole reports: the product over the parts, since these are independent."""
    ratio = Fraction(1)
    for part in parts(_visited(course)):
        states, levels = _log_ratios(part, course)
        near = np.unique(states[levels >= levels.max() - _NEARLY], axis=0)
        sides = ([_probability(part, course, state, side) for side in (0, 1)] for state in near.tolist())
        ratio *= max(one / other for one, other in sides) ** part.copies
    return ratio


def _visited(course: Course) -> int:
    return 1 + max(max(pair) for pair, _ in course)


def _log_ratios(part: IndependentPart, course: Course) -> tuple[NDArray[np.int64], FloatArray]:
    """Return all counts of reports of each kind in each stretch, a row each, and their log likelihood ratios."""
    kinds = len(part.shown[0])
    choices = [_compositions(length, kinds) for _, length in course]
    places = np.indices([len(one) for one in choices]).reshape(len(choices), -1)
    states = np.stack([one[place] for one, place in zip(choices, places, strict=True)], axis=1)
    one, other = (_log_probabilities(part, course, states, side) for side in (0, 1))
    return states, one - other


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
        reports = [sum(counts) for counts in zip(*(state[place] for place in own), strict=True)]
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
    for place, (pair, _) in enumerate(course):
        places.setdefault(pair[side], []).append(place)
    return places


def _shares(rows: tuple[tuple[int, ...], ...]) -> FloatArray:
    return np.array([[float(Fraction(one, sum(row))) for one in row] for row in rows])


def _compositions(total: int, kinds: int) -> NDArray[np.int64]:
    """Return all ways in which `total` reports can be of these kinds (integer compositions), a row each."""
    bars = np.array(list(combinations(range(total + kinds - 1), kinds - 1)), dtype=np.int64)
    bars = bars.reshape(-1, kinds - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + kinds - 1)])
    return np.diff(edges, axis=1) - 1
