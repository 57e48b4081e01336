"""Enumeration in one batch: the exact law of a report, where every respondent takes another course of the draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Shape

Law = dict[bytes, Fraction]
Seeds = Callable[[int, int], NDArray[np.uint64]]
"""The hash functions that an enumeration draws from, all alike, given the numbers of values and symbols."""

_MOST_SETS = 1 << 12


class TooManyCoursesError(Exception):
    """Error of a sampler whose draws have too many courses to enumerate."""


class NotOneByOneError(Exception):
    """Error of a sampler that does not make the same draws for every respondent of a batch."""


class BranchedDraws(ABC):
    """Draws that an enumeration follows: each is one among few outcomes with whole weights."""

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

    @abstractmethod
    def _branch(self, weights: Sequence[int], total: int, shape: Shape) -> NDArray[np.int64]: ...


class CourseDraws(BranchedDraws):
    """Draws for a batch of one value: respondent i takes the i-th course through the draws that are asked for.

    A course is a number in mixed radix, a digit for each draw. Its exact weight is one of a few products, since draws
    have few different weights: respondents are told apart by product, and only products are whole numbers of any size.
    """

    def __init__(self, count: int, most: int, seeds: Seeds, *, simulated: bool = True) -> None:
        self.simulated = simulated
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

    def hash_seeds(self, count: int, k: int, symbols: int) -> NDArray[np.uint64]:
        """Branch on hash functions."""
        seeds = self._seeds(k, symbols)
        return seeds[self.uniform(len(seeds), count)]

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
    seeds: Seeds,
    most: int,
    *,
    simulated: bool = True,
) -> Law:
    """Return the exact law of a report, given a sampler for so many respondents with the same value.

    The first run, of one respondent, counts the courses; the second has a respondent for each of them.
    """
    scout = CourseDraws(1, most, seeds, simulated=simulated)
    sampler(1, scout)
    draws = CourseDraws(scout.courses, most, seeds, simulated=simulated)
    reports = sampler(scout.courses, draws)
    if draws.courses != scout.courses or len(reports) != scout.courses:
        raise NotOneByOneError
    return draws.law(reports.astype(dtype))
