"""Where chance comes from: exact draws on a 2^64 grid, secure by default, seeded only for simulation."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ldpstats.arrays import BoolArray
from ldpstats.errors import LdpstatsError

GRID = 1 << 64
"""Every probability that a client uses is a whole number of GRID-ths."""

Shape: TypeAlias = int | tuple[int, ...]
Rng: TypeAlias = int | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None


class Draws(Protocol):
    """The two random operations that every mechanism is made of; both are exact, not rounded."""

    simulated: bool

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        """Draw independent booleans that are true with probability numerator / GRID."""
        ...

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Draw independent integers, uniform on [0, bound)."""
        ...


def client_draws(rng: Rng = None) -> Draws:
    """Return the operating system's secure randomness, or a reproducible simulation if `rng` is given."""
    if rng is None:
        return _ByteDraws(os.urandom, simulated=False)
    return _ByteDraws(generator(rng).bytes, simulated=True)


def generator(rng: Rng = None) -> np.random.Generator:
    """Return a numpy Generator for simulations and Monte Carlo (SPEC 7: None means fresh entropy)."""
    if isinstance(rng, (bool, np.random.RandomState)):
        raise LdpstatsError(
            f"rng = {rng!r}", "None, a whole number, or a numpy Generator, BitGenerator or SeedSequence"
        )
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise LdpstatsError(
            f"rng = {rng!r}", "None, a nonnegative whole number, or a numpy Generator, BitGenerator or SeedSequence"
        ) from error


class _ByteDraws:
    """Exact draws from a source of uniform bytes."""

    def __init__(self, random_bytes: Callable[[int], bytes], *, simulated: bool) -> None:
        self._random_bytes = random_bytes
        self.simulated = simulated

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        """Compare 16 random bits with the numerator's first 16; the rare ties draw the other 48."""
        if not 0 <= numerator <= GRID:
            raise LdpstatsError(f"a probability of {numerator} / 2^64", "numerators from 0 to 2^64")
        if numerator == GRID:
            return np.ones(shape, dtype=np.bool_)
        high, low = divmod(numerator, 1 << 48)
        first = self._integers(np.uint16, shape)
        result = np.asarray(first < np.uint16(high))
        tied = np.flatnonzero(first == np.uint16(high))
        result.flat[tied] = (self._integers(np.uint64, tied.size) >> np.uint64(16)) < np.uint64(low)
        return result

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Take 32 random bits modulo `bound`, after rejecting the words that would favour small results."""
        if not 0 < bound <= 1 << 31:
            raise LdpstatsError(f"a uniform draw below {bound}", f"bounds from 1 to {1 << 31}")
        words = self._integers(np.uint32, shape)
        last_fair = np.uint32((1 << 32) // bound * bound - 1)
        rejected = np.flatnonzero(words > last_fair)
        while rejected.size:
            words.flat[rejected] = self._integers(np.uint32, rejected.size)
            rejected = rejected[words.flat[rejected] > last_fair]
        return (words % np.uint32(bound)).astype(np.int64)

    def _integers(self, dtype: DTypeLike, shape: Shape) -> NDArray[Any]:
        count = int(np.prod(shape, dtype=np.int64))
        drawn = np.frombuffer(self._random_bytes(count * np.dtype(dtype).itemsize), dtype=dtype)
        return drawn.reshape(shape).copy()


def permutation(draws: Draws, count: int) -> NDArray[np.int64]:
    """Draw a uniformly random order: sort by random keys, drawn again until all of them differ."""
    while True:
        keys = (draws.uniform(1 << 31, count) << 31) | draws.uniform(1 << 31, count)
        order = np.argsort(keys, kind="stable")
        if np.all(np.diff(keys[order]) > 0):
            return order.astype(np.int64)


_PRECISE = Context(prec=100, Emax=999_999, Emin=-999_999)
# Within the exponents above; the grid cannot tell levels beyond some fifty from each other anyway.
_LARGEST_EPSILON = 1_000_000


@lru_cache(maxsize=4096)
def exp_below(epsilon: float) -> Fraction:
    """Return a rational number below e^epsilon by less than one part in 10^98.

    Mechanisms derive their probabilities from this lower bound, so that whatever they round is
    rounded toward more privacy.
    """
    if epsilon > _LARGEST_EPSILON:
        raise LdpstatsError(f"epsilon = {epsilon!r}", f"levels up to {_LARGEST_EPSILON:,}")
    return Fraction(_PRECISE.next_minus(_PRECISE.exp(Decimal(epsilon))))


def numerator_at_most(probability: Fraction) -> int:
    """Round a probability down to the grid."""
    return probability.numerator * GRID // probability.denominator


def numerator_at_least(probability: Fraction) -> int:
    """Round a probability up to the grid."""
    return -(-probability.numerator * GRID // probability.denominator)


def natural_log_above(ratio: Fraction) -> float:
    """Return the smallest double that is surely not below ln(ratio)."""
    if ratio == 1:  # the only rational number whose logarithm is a double: the margin below would not be tight
        return 0.0
    quotient = _PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    # Both operations are correctly rounded to 100 digits; the margin covers their errors many times over.
    bound = _PRECISE.add(_PRECISE.ln(quotient), Decimal("1e-90"))
    nearest = float(bound)
    return nearest if Decimal(nearest) >= bound else float(np.nextafter(nearest, np.inf))
