"""Enumeration: the exact law of a sampler, a respondent or a run for every possible outcome of its draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.hashing import symbols_of
from ldpstats.numbers.randomness import Shape

Law = dict[bytes, Fraction]
Seeds = Callable[[int, int], NDArray[np.uint64]]
"""The hash functions that an enumeration draws from, all alike, given the numbers of values and symbols."""

_MOST_SETS = 1 << 12
MOST_COURSES = 20_000
"""As many courses of its draws a sampler may take before its channel counts as too large to enumerate."""


class TooManyCoursesError(Exception):
    """Error of a sampler whose draws have too many courses to enumerate."""


class NotOneByOneError(Exception):
    """Error of a sampler that does not make the same draws for every respondent of a batch."""


@lru_cache(maxsize=32)
def seeds_of_all_maps(k: int, symbols: int) -> NDArray[np.uint64]:
    """Return a seed of a hash function for each of the maps from k values to symbols."""
    if symbols**k > MOST_COURSES:
        raise TooManyCoursesError
    rng = np.random.default_rng(0)
    seeds_of_maps: dict[tuple[int, ...], NDArray[np.uint64]] = {}
    while len(seeds_of_maps) < symbols**k:
        seeds = rng.integers(0, GRID - 1, size=(4096, 2), dtype=np.uint64, endpoint=True)
        maps = np.stack([symbols_of(seeds, np.full(4096, value), symbols) for value in range(k)], axis=1)
        seeds_of_maps |= dict(zip(map(tuple, maps.tolist()), seeds, strict=True))
    return np.stack([seeds_of_maps[symbols_of_values] for symbols_of_values in sorted(seeds_of_maps)])


class BranchedDraws(ABC):
    """Draws that an enumeration follows: each is one among few outcomes with whole weights."""

    simulated = True
    _seeds: Seeds

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        """Branch on independent booleans."""
        return self._branch((GRID - numerator, numerator), GRID, shape).astype(np.bool_)

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Branch on uniform integers."""
        return self._branch((1,) * bound, bound, shape)

    def pick(self, weights: tuple[int, ...], shape: Shape) -> NDArray[np.int64]:
        """Branch on integers with given weights."""
        return self._branch(weights, GRID, shape)

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[np.int64]:
        """Branch on randomized responses: digit 0 is the truth, the others are lies."""
        lies = k - 1
        moves = self._branch((truth * lies, *(GRID - truth,) * lies), GRID * lies, values.shape)
        others = moves - 1
        others += others >= values
        return np.where(moves == 0, values, others)

    def bits(self, numerator: int, count: int, width: int) -> NDArray[np.uint8]:
        """Branch on rows of packed bits."""
        return np.packbits(self.bernoulli(numerator, (count, width)), axis=1)

    def hash_seeds(self, count: int, k: int, symbols: int) -> NDArray[np.uint64]:
        """Branch on hash functions: of ideal ones, a seed for each of the equally likely maps to symbols."""
        seeds = self._seeds(k, symbols)
        return seeds[self.uniform(len(seeds), count)]

    @abstractmethod
    def _branch(self, weights: Sequence[int], total: int, shape: Shape) -> NDArray[np.int64]: ...


class CourseDraws(BranchedDraws):
    """Draws for a batch of one value: respondent i takes the i-th course through the draws that are asked for.

    A course is a number in mixed radix, a digit for each draw. Its exact weight is one of a few products, since draws
    have few different weights: respondents are told apart by product, and only products are whole numbers of any size.
    """

    def __init__(self, count: int, most: int, seeds: Seeds) -> None:
        self.courses = 1
        self.total = 1
        self.products: list[int] = [1]
        self.product_of = np.zeros(count, dtype=np.int64)
        self._count, self._most, self._seeds = count, most, seeds

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Branch on uniform integers, unless there are too many."""
        self._refuse_beyond(bound)
        return super().uniform(bound, shape)

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[np.int64]:
        """Branch on randomized responses, unless there are too many."""
        self._refuse_beyond(k)
        return super().respond(values, k, truth)

    def subsets(self, values: NDArray[np.int64], k: int, size: int, holds: BoolArray) -> NDArray[np.int64]:
        """Branch on sets of values: one draw chooses among those with the own value, or among those without."""
        with_own, without = comb(k - 1, size - 1), comb(k - 1, size)
        choices = lcm(*(number for number in (with_own, without) if number))
        if max(with_own, without) > _MOST_SETS:
            raise TooManyCoursesError
        drawn = self.uniform(choices, values.shape)
        chosen = np.empty((values.size, size), dtype=np.int64)
        for held in (False, True):
            rows = np.flatnonzero(holds == held)
            others = list(combinations(range(k - 1), size - held))
            if rows.size:
                part = np.array(others, dtype=np.int64).reshape(len(others), -1)[drawn[rows] % len(others)]
                part = part + (part >= values[rows, None])
                chosen[rows] = np.sort(np.column_stack([part, values[rows]]), axis=1) if held else part
        return chosen

    def _branch(self, weights: Sequence[int], total: int, shape: Shape) -> NDArray[np.int64]:
        rows, *rest = (shape,) if isinstance(shape, (int, np.integer)) else shape
        if rows != self._count:
            raise NotOneByOneError
        possible = np.array([i for i, weight in enumerate(weights) if weight], dtype=np.int64)
        drawn = np.empty((rows, prod(rest)), dtype=np.int64)
        for column in drawn.T:
            digit = np.arange(rows) // self.courses % len(possible)
            self.courses *= len(possible)
            self._refuse_beyond(1)
            column[:] = possible[digit]
            self._weigh([weights[i] for i in possible.tolist()], digit)
        self.total *= total ** prod(rest)
        return drawn.reshape(rows, *rest)

    def _weigh(self, weights: list[int], digit: NDArray[np.int64]) -> None:
        distinct = {weight: number for number, weight in enumerate(dict.fromkeys(weights))}
        kind = np.array([distinct[weight] for weight in weights])[digit]
        places: dict[int, int] = {}
        grown = [places.setdefault(product * weight, len(places)) for product in self.products for weight in distinct]
        self.product_of = np.array(grown)[self.product_of * len(distinct) + kind]
        self.products = list(places)

    def _refuse_beyond(self, outcomes: int) -> None:
        if self.courses * outcomes > self._most:
            raise TooManyCoursesError

    def law(self, reports: NDArray[Any]) -> Law:
        """Return the exact law of the reports, keyed by their bytes."""
        distinct, inverse = np.unique(reports, axis=0 if reports.ndim > 1 else None, return_inverse=True)
        pairs = inverse.ravel() * len(self.products) + self.product_of
        present, counts = np.unique(pairs, return_counts=True)
        weights: dict[int, int] = defaultdict(int)
        for pair, times in zip(present.tolist(), counts.tolist(), strict=True):
            report, product = divmod(pair, len(self.products))
            weights[report] += times * self.products[product]
        return {
            np.ascontiguousarray(distinct[report]).tobytes(): Fraction(weight, self.total)
            for report, weight in weights.items()
        }


def law_of_courses(
    sampler: Callable[[int, CourseDraws], NDArray[Any]],
    dtype: np.dtype[Any],
    seeds: Seeds = seeds_of_all_maps,
    most: int = MOST_COURSES,
) -> Law:
    """Return the exact law of a report, given a sampler for so many respondents with the same value.

    The first run, of one respondent, counts the courses; the second has a respondent for each of them.
    """
    scout = CourseDraws(1, most, seeds)
    sampler(1, scout)
    draws = CourseDraws(scout.courses, most, seeds)
    reports = sampler(scout.courses, draws)
    if draws.courses != scout.courses or len(reports) != scout.courses:
        raise NotOneByOneError
    return draws.law(reports.astype(dtype))


class ScriptedDraws(BranchedDraws):
    """Draws that follow a script of outcomes, and take the first possible outcome where it ends."""

    def __init__(self, script: list[int]) -> None:
        self._script, self._seeds = script, seeds_of_all_maps
        self.taken: list[int] = []
        # of each draw: the weights of its outcomes, which are whole numbers, and their sum
        self.choices: list[tuple[Sequence[int], int]] = []

    @property
    def probability(self) -> Fraction:
        """Exact probability of this run."""
        weight = prod(weights[outcome] for outcome, (weights, _) in zip(self.taken, self.choices, strict=True))
        return Fraction(weight, prod(total for _, total in self.choices))

    def subsets(self, values: NDArray[np.int64], k: int, size: int, holds: BoolArray) -> NDArray[np.int64]:
        """Follow the script for sets of values: each set of the right kind is an outcome."""
        rows = []
        for value, held in zip(values.tolist(), holds.tolist(), strict=True):
            others = [other for other in range(k) if other != value]
            sets = list(combinations(others, size - held))
            chosen = sets[int(self.uniform(len(sets), 1)[0])]
            rows.append(sorted([*chosen, *[value] * held]))
        return np.array(rows, dtype=np.int64).reshape(-1, size)

    def next_script(self) -> list[int] | None:
        """Return the script of the next run in depth-first order; None after the last."""
        for index in reversed(range(len(self.taken))):
            (weights, _), following = self.choices[index], self.taken[index] + 1
            later = next((i for i in range(following, len(weights)) if weights[i] > 0), None)
            if later is not None:
                return [*self.taken[:index], later]
        return None

    def _branch(self, weights: Sequence[int], total: int, shape: Shape) -> NDArray[np.int64]:
        number = int(np.prod(shape, dtype=np.int64))
        written = self._script[len(self.taken) : len(self.taken) + number]
        first = next(i for i, weight in enumerate(weights) if weight)
        taken = [*written, *[first] * (number - len(written))]
        self.taken += taken
        self.choices += [(weights, total)] * number
        return np.array(taken, dtype=np.int64).reshape(shape)


def outcomes(
    sampler: Callable[[ScriptedDraws], NDArray[Any]],
    most: int = MOST_COURSES,
    draws_of: type[ScriptedDraws] = ScriptedDraws,
) -> Iterator[tuple[NDArray[Any], Fraction]]:
    """Yield what a sampler returns on every possible course of its draws, with the probability of that course."""
    script: list[int] = []
    for _ in range(most):
        draws = draws_of(script)
        result = sampler(draws)
        yield result, draws.probability
        following = draws.next_script()
        if following is None:
            return
        script = following
    raise TooManyCoursesError


def report_law(mechanism: Mechanism, values: list[int], most: int = MOST_COURSES) -> Law:
    """Return the exact joint law of the reports of some values, keyed by the bytes of the report array."""
    return _law(lambda draws: mechanism.randomize(np.array(values), draws), mechanism.report_format.dtype, most)


def _law(sampler: Callable[[ScriptedDraws], NDArray[Any]], dtype: np.dtype[Any], most: int = MOST_COURSES) -> Law:
    law: Law = defaultdict(Fraction)
    for reports, probability in outcomes(sampler, most):
        law[np.ascontiguousarray(reports.astype(dtype)).tobytes()] += probability
    return dict(law)


def exact_channel(mechanism: Mechanism) -> list[Law]:
    """Return the exact law of one report for each of the k values, by enumerating the sampler.

    A report with a hash function stands for all functions that send the values to the same symbols.

    Parameters
    ----------
    mechanism : Mechanism
        One with few values.
    """
    channel = _channel(mechanism)
    if channel is None:
        raise TooManyCoursesError
    return channel


@lru_cache(maxsize=256)
def _channel(mechanism: Mechanism) -> list[Law] | None:
    def law_of(value: int) -> Law:
        return law_one_by_one(mechanism, lambda count, draws: mechanism.randomize(np.full(count, value), draws))

    try:
        return list(map(law_of, range(mechanism.k)))
    except TooManyCoursesError:
        return None


def law_one_by_one(mechanism: Mechanism, sampler: Callable[[int, Any], NDArray[Any]]) -> Law:
    """Return the exact law of a row, given a sampler of so many independent rows.

    One batch gives it if the sampler makes the same draws for every row; else single rows, one for every course.
    """
    dtype = mechanism.report_format.dtype
    try:
        return law_of_courses(sampler, dtype)
    except NotOneByOneError:
        return _law(lambda draws: sampler(1, draws), dtype)


def representatives(mechanism: Mechanism, reports: NDArray[Any]) -> NDArray[Any]:
    """Replace hash functions in reports by those that stand for the same map in an enumeration."""
    symbols = mechanism.hash_symbols
    if symbols is None:
        return reports
    seeds, number = np.ascontiguousarray(reports[:, :2]), np.zeros(len(reports), dtype=np.int64)
    for value in range(mechanism.k):
        number = number * symbols + symbols_of(seeds, np.full(len(reports), value), symbols)
    return np.column_stack([seeds_of_all_maps(mechanism.k, symbols)[number], reports[:, 2:]])


def decoded(mechanism: Mechanism, report: bytes) -> NDArray[Any]:
    """Return the report array behind a key of a law."""
    expected = mechanism.report_format
    flat = np.frombuffer(report, dtype=expected.dtype)
    return flat if expected.width is None else flat.reshape(-1, expected.width)
