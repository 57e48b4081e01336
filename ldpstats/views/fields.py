"""Small finite fields and products of them, as tables: the arithmetic behind views that cover every pair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ldpstats.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """Numbers 0 to q-1 with their differences and products as tables.

    Parameters
    ----------
    minus, times : array of shape (q, q)
    apart : array
        Elements whose differences can all be divided by; as many as the smallest prime power in q.

    Examples
    --------
    >>> ring(6).apart
    array([0, 4])
    """

    minus: IntArray
    times: IntArray
    apart: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Field(Ring):
    """A ring in which every element but 0 is a power of one element.

    Parameters
    ----------
    powers : array of length q-1
        Those powers in their order, from the zeroth.

    Examples
    --------
    >>> field(4).powers
    array([1, 2, 3])
    """

    powers: IntArray

    @property
    def logarithms(self) -> IntArray:
        """The exponent of every element but 0."""
        return np.argsort(np.append(0, self.powers)) - 1


def prime_powers(n: int) -> list[int]:
    """Return the prime powers that n is the product of.

    Examples
    --------
    >>> prime_powers(360)
    [8, 9, 5]
    """
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
    """Return the field of q elements, for a prime power q.

    Its elements are polynomials over the numbers modulo p, written as numbers with base p.

    Examples
    --------
    >>> field(5).times[3]
    array([0, 3, 1, 4, 2])
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
    """Multiply 1 by x again and again, for every rule that replaces the highest power of x by lower ones."""
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
    """Return the product of the fields whose orders are the prime powers in q.

    Examples
    --------
    >>> ring(15).times[7, 8]
    np.int64(6)
    """
    parts = prime_powers(q)
    minus, times = np.zeros((2, 1, 1), dtype=np.int64)
    apart = np.zeros(min(parts), dtype=np.int64)
    for part in parts:
        factor, larger, small = field(part), np.ones_like(minus), np.ones((part, part), dtype=np.int64)
        minus = np.kron(minus, small) * part + np.kron(larger, factor.minus)
        times = np.kron(times, small) * part + np.kron(larger, factor.times)
        apart = apart * part + np.arange(len(apart))
    return Ring(minus, times, apart)
