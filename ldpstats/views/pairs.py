"""Few views in which every pair of attributes stands in a group of at most k: from finite fields, put together.

A cover is an array with a row for each view, in which attributes of one group have the same label. So attributes are
left out by leaving out columns, and multiplied by repeating them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count

import numpy as np

from ldpstats.numbers.arrays import IntArray
from ldpstats.views.exact import every_group


def every_pair(d: int, k: int) -> list[list[list[int]]]:
    """Return few views of disjoint groups of at most k attributes, in which every pair of d attributes stands."""
    cover = _best(d, k).make()[:, :d]
    together = 2 * np.eye(d, dtype=np.int64)
    for view in cover:
        together += np.equal.outer(view, view)
    made = [[np.flatnonzero(view == label).tolist() for label in np.unique(view)] for view in cover]
    kept: list[list[list[int]]] = [[] for _ in made]
    # groups all of whose pairs stand elsewhere are left out, small ones first
    for _, index, group in sorted((len(group), index, group) for index, view in enumerate(made) for group in view):
        pairs = np.ix_(group, group)
        if np.all(together[pairs] > 1):
            together[pairs] -= 1 - np.eye(len(group), dtype=np.int64)
        else:
            kept[index].append(group)
    return [view for view in kept if view]


# Groups of three, in one or two views of v attributes (the key), that make a nearly Kirkman triple system when they are
# moved on: v/2 views in all. The attributes are numbered through rows. Simulated annealing over differences found them.
_NEARLY_KIRKMAN = {
    18: "1 15 17 7 13 16 6 10 14 0 11 12 3 8 9 2 4 5",
    30: "0 10 19 11 23 27 2 9 17 3 5 14 6 7 28 13 16 18 12 22 29 20 25 26 8 21 24 1 4 15",
    36: "15 26 29 8 10 14 23 28 31 9 12 25 0 21 30 22 24 35 7 17 20 1 13 18 6 32 33 16 27 34 3 11 19 2 4 5 6 31 35 4 "
    "16 17 12 14 27 5 19 23 15 24 25 2 9 34 1 10 29 11 26 32 8 13 30 3 7 22 18 21 28 0 20 33",
    42: "5 20 33 1 3 17 8 24 31 2 35 41 7 16 21 26 29 39 9 19 36 15 23 40 0 13 32 18 37 38 10 11 14 4 25 34 12 22 27 "
    "6 28 30",
    48: "3 22 34 23 32 44 27 28 30 26 35 46 16 18 36 5 9 37 11 33 38 0 15 21 8 24 42 6 19 20 4 29 43 1 13 39 12 25 "
    "41 7 14 31 2 10 45 17 40 47",
    54: "9 44 53 5 13 35 15 48 52 10 16 26 6 24 36 21 25 41 19 22 51 11 39 42 0 45 50 18 20 33 7 32 34 3 23 37 8 27 "
    "46 29 43 49 1 2 14 30 31 47 4 28 40 12 17 38",
    66: "11 33 50 19 44 63 26 29 42 25 32 34 2 18 58 15 17 47 1 46 51 16 20 30 13 22 56 6 53 54 8 37 41 4 12 49 7 27 "
    "28 10 62 64 14 38 45 3 9 31 35 57 60 24 52 65 21 39 48 5 23 43 40 55 61 0 36 59",
}


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Number of views, and the function that makes them; they may seat more attributes than were asked for."""

    views: int
    make: Callable[[], IntArray]


@cache
def _best(d: int, k: int) -> _Recipe:
    if d <= k:
        return _Recipe(1, lambda: np.zeros((1, d), dtype=np.int64))
    if k == 2:
        return _Recipe(d - 1 + d % 2, lambda: np.array([_labels(view, d) for view in every_group(d, 2)]))
    return min(_recipes(d, k), key=lambda recipe: recipe.views)


def _recipes(d: int, k: int) -> Iterator[_Recipe]:
    """Yield the recipes of all constructions; most rest on smaller covers."""
    yield _best(d, k - 1)
    for times in range(2, k // 2 + 1):
        yield _multiplied(_best(-(-d // times), k // times), times)
    for rows in range(2, k + 1):
        yield _in_rows(d, k, rows)
    if k == 3:
        q = _order(d / 3, 6)
        yield _Recipe((3 * q - 1) // 2, partial(_kirkman_thrice, q))
        q = _order((d - 1) / 2, 6)
        yield _Recipe(q, partial(_kirkman_twice, q))
        yield from [_Recipe(v // 2, partial(_nearly_kirkman, v)) for v in _NEARLY_KIRKMAN if v >= d]
    if k == 4:
        q = _order((d - 1) / 3, 4)
        yield _Recipe(q, partial(_bose_quadruples, q))


def _order(least: float, modulus: int) -> int:
    """Return the least prime power, from `least` on, that leaves the remainder 1."""
    return next(q for q in count(2) if q >= least and q % modulus == 1 and len(prime_powers(q)) == 1)


def _multiplied(small: _Recipe, times: int) -> _Recipe:
    """Replace each attribute of a smaller cover by so many attributes."""
    return _Recipe(small.views, lambda: np.repeat(small.make(), times, axis=1))


def _in_rows(d: int, k: int, rows: int) -> _Recipe:
    """Cover pairs from different rows by a transversal design, and pairs within the rows by a smaller cover.

    View s of the design puts attribute y of row i on the line y - s·x_i, where x_i - x_j can be divided by: so two
    attributes of different rows are on one line for exactly one s (MacNeish 1922).
    """
    width = -(-d // rows)
    q = next(q for q in count(max(width, rows)) if min(prime_powers(q)) >= rows)
    within = _best(width, k)

    def make() -> IntArray:
        numbers = ring(q)
        shifts = numbers.times[:, numbers.apart[:rows]]
        across = numbers.minus[np.arange(width), shifts[:, :, None]].reshape(q, rows * width)
        inside = within.make()[:, :width]
        own = np.arange(rows)[:, None] * (inside.max() + 1)
        return np.vstack([across, (inside[:, None, :] + own).reshape(len(inside), rows * width)])

    return _Recipe(q + within.views, make)


def _kirkman_thrice(q: int) -> IntArray:
    """Return the Kirkman triple system of 3q attributes, for a prime power q = 6t + 1.

    Attributes are (row, element), of three rows. One view is moved on by every element of the field; the other
    transversal triples make a view each when they are moved so (Ray-Chaudhuri & Wilson 1971).
    """
    t, numbers, at = (q - 1) // 6, field(q), _places(q)
    third = 2 * t * np.arange(3)
    triples = [at(i + third, row) for i in range(t) for row in range(3)]
    crossing = {i: at(i + third, np.arange(3)) for i in range(6 * t)}
    base = [np.arange(3) * q, *triples, *(group for i, group in crossing.items() if i % (2 * t) >= t)]
    moved = [
        numbers.minus[np.arange(q), (group % q)[:, None]].ravel() for i, group in crossing.items() if i % (2 * t) < t
    ]
    return np.vstack([_developed(base, 3, numbers.minus)[:, :-1], *moved])


def _kirkman_twice(q: int) -> IntArray:
    """Return the Kirkman triple system of 2q + 1 attributes, for a prime power q = 6t + 1.

    Attributes are (row, element), of two rows, and one more that stays when the view is moved on by every element of
    the field. With g the generator, m solves 2g^m = g^t + 1 (Ray-Chaudhuri & Wilson 1971).
    """
    t, numbers, at = (q - 1) // 6, field(q), _places(q)
    powers = numbers.powers
    m = next(m for m in range(q - 1) if numbers.minus[powers[m], 1] == numbers.minus[powers[t], powers[m]])
    mixed = [at(i + np.array([0, t, m]), np.array([0, 0, 1])) for a in (0, 2 * t, 4 * t) for i in range(a, a + t)]
    second = [at(i + m + t * np.array([1, 3, 5]), 1) for i in range(t)]
    return _developed([np.array([0, q, 2 * q]), *mixed, *second], 2, numbers.minus)


def _bose_quadruples(q: int) -> IntArray:
    """Return views of 3q + 1 attributes in groups of four, every pair once, for a prime power q = 4t + 1.

    Attributes are (row, element), of three rows, and one more that stays. With g the generator, c is odd and
    (1 + g^c) / (1 - g^c) an odd power of g; then the groups through even powers of g are disjoint (after Bose 1939).
    """
    t, numbers, at = (q - 1) // 4, field(q), _places(q)
    minus, powers, exponent = numbers.minus, numbers.powers, numbers.logarithms
    plus = minus[1, minus[0, powers]]  # 1 + g^c
    c = next(c for c in range(1, q - 1, 2) if plus[c] and (exponent[plus[c]] - exponent[minus[1, powers[c]]]) % 2)
    groups = [
        at(i + np.array([0, 2 * t, c, c + 2 * t]), (row + np.array([0, 0, 1, 1])) % 3)
        for i in range(0, 2 * t, 2)
        for row in range(3)
    ]
    return _developed([np.arange(4) * q, *groups], 3, minus)


def _nearly_kirkman(v: int) -> IntArray:
    """Return v/2 views of v attributes in groups of three; v/2 pairs stand twice, all others once."""
    bases = np.array(_NEARLY_KIRKMAN[v].split(), dtype=np.int64).reshape(-1, v // 3, 3)
    n = v // (2 * len(bases))
    minus = np.subtract.outer(np.arange(n), np.arange(n)) % n
    return np.vstack([_developed(base, v // n, minus)[:, :-1] for base in bases])


def _places(q: int) -> Callable[[IntArray, IntArray | int], IntArray]:
    """Return the numbers of attributes by the exponents of their elements and by their rows."""
    powers = field(q).powers
    return lambda exponents, row: powers[exponents % (q - 1)] + q * row


def _developed(base: Iterable[IntArray], rows: int, minus: IntArray) -> IntArray:
    """Move one view of `rows` rows and a last attribute, which stays, on by every element of a field or ring."""
    labels, q = _labels(base, rows * len(minus) + 1), len(minus)
    moved = labels[:-1].reshape(rows, q)[:, minus]  # [row, element, by how much]
    return np.column_stack([moved.transpose(2, 0, 1).reshape(q, rows * q), np.full(q, labels[-1])])


def _labels(groups: Iterable[Sequence[int] | IntArray], attributes: int) -> IntArray:
    """Return a label for every attribute: the first one of its group, or itself where it is in none."""
    labels = np.arange(attributes)
    for group in groups:
        labels[np.asarray(group)] = group[0]
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """Finite ring: numbers 0 to q-1 with tables, shape (q, q), of their differences and products."""

    minus: IntArray
    times: IntArray
    apart: IntArray  # elements whose differences all have inverses: as many as the smallest prime power in q


@dataclass(frozen=True, slots=True, eq=False)
class Field(Ring):
    """Finite field: every element but 0 is a power of one generator."""

    powers: IntArray  # of the generator, from the zeroth to the (q-2)-th

    @property
    def logarithms(self) -> IntArray:
        """Exponent of every element but 0, to the generator."""
        return np.argsort(np.append(0, self.powers)) - 1


def prime_powers(n: int) -> list[int]:
    """Return the prime powers of which n is the product, by increasing primes: 8, 9, 5 for 360."""
    powers, prime = [], 2
    while n > 1:
        power = 1
        while n % prime == 0:
            n, power = n // prime, power * prime
        if power > 1:
            powers.append(power)
        prime += 1
    return powers


@cache
def field(q: int) -> Field:
    """Return the finite field of q elements, for a prime power q.

    Its elements are polynomials over the numbers modulo p, written as numbers with base p.
    """
    prime = next(divisor for divisor in range(2, q + 1) if q % divisor == 0)
    weights = prime ** np.arange(round(math.log(q, prime)))
    digits = np.arange(q)[:, None] // weights % prime
    powers = next(powers for powers in _orbits(digits, weights) if len(set(powers)) == q - 1)
    exponents = np.add.outer(np.arange(q - 1), np.arange(q - 1)) % (q - 1)
    times = np.zeros((q, q), dtype=np.int64)
    times[np.ix_(powers, powers)] = np.array(powers)[exponents]
    minus = (digits[:, None] - digits) % prime @ weights
    return Field(minus, times, np.arange(q), np.array(powers))


def _orbits(digits: IntArray, weights: IntArray) -> Iterator[list[int]]:
    """Yield the powers of x modulo every monic polynomial of degree m over the prime field, except x^m."""
    prime = int(digits.max()) + 1
    for rule in digits[1:]:
        powers = [1]
        for _ in range(len(digits) - 2):
            last = digits[powers[-1]]
            shifted = np.append(0, last[:-1])
            powers.append(int((shifted + last[-1] * rule) % prime @ weights))
        yield powers


@cache
def ring(q: int) -> Ring:
    """Return the product of the finite fields whose orders are the prime powers in q."""
    parts = prime_powers(q)
    minus, times = np.zeros((2, 1, 1), dtype=np.int64)
    apart = np.zeros(min(parts), dtype=np.int64)
    for part in parts:
        factor, larger, small = field(part), np.ones_like(minus), np.ones((part, part), dtype=np.int64)
        minus = np.kron(minus, small) * part + np.kron(larger, factor.minus)
        times = np.kron(times, small) * part + np.kron(larger, factor.times)
        apart = apart * part + np.arange(len(apart))
    return Ring(minus, times, apart)
