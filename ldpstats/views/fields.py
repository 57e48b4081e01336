"""Small finite fields and products of them, as tables: the arithmetic behind views that cover every pair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ldpstats.numbers.arrays import IntArray


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
