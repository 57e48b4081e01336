"""Random draws: exact on a 2^64 grid, from secure randomness by default, seeded only for simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from os import urandom
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID

Shape: TypeAlias = int | tuple[int, ...]
Rng: TypeAlias = int | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None
RandomBytes: TypeAlias = Callable[[int], "bytes | NDArray[np.uint8]"]
Word: TypeAlias = Callable[[], int]
"""A source of uniform numbers below GRID, for a client that answers once."""

_CHUNK = 1 << 16
"""How many answers are drawn at once, so that their random words stay in the cache."""
_MOST_ANSWERS = (1 << 32) + 1
"""Among so many values a word of 32 bits still reaches every lie."""
_MOST_MEMBERS = 1 << 32
"""Among so many values a word of 32 bits still reaches every member of a set."""


class Draws(Protocol):
    """The random operations that every mechanism is made of; all of them are exact, not rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import GRID
    >>> from ldpstats.numbers.randomness import client_draws
    >>> draws = client_draws(rng=1)
    >>> draws.simulated, int(draws.bernoulli(GRID // 4, 10_000).sum())
    (True, 2487)
    >>> draws.respond(np.array([0, 0, 0, 0, 0, 0]), k=3, truth=GRID // 2)
    array([1, 1, 2, 0, 2, 0], dtype=uint8)
    """

    simulated: bool

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        """Draw independent booleans that are true with probability numerator / GRID.

        Parameters
        ----------
        numerator : int
            The probability, in GRID-ths.
        shape : int or tuple of int
            The shape of the result.
        """

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Draw independent integers, uniform on [0, bound).

        Parameters
        ----------
        bound : int
            The number of outcomes.
        shape : int or tuple of int
            The shape of the result.
        """

    def pick(self, weights: tuple[int, ...], shape: Shape) -> NDArray[Any]:
        """Draw independent integers i with probability weights[i] / GRID; the weights sum to GRID.

        Parameters
        ----------
        weights : tuple of int
            The probabilities, in GRID-ths, adding up to GRID.
        shape : int or tuple of int
            The shape of the result.
        """

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[Any]:
        """Answer each value with probability truth / GRID by itself, else uniformly by another one of the k.

        Parameters
        ----------
        values : array of int
            The true values.
        k : int
            The number of values.
        truth : int
            How often the truth is told, in GRID-ths.
        """

    def bits(self, numerator: int, count: int, width: int) -> NDArray[np.uint8]:
        """Draw rows of independent bits, each set with probability numerator / GRID, packed eight to a byte.

        Parameters
        ----------
        numerator : int
            The probability of a set bit, in GRID-ths.
        count, width : int
            The number of rows, and of bits in each.
        """

    def subsets(self, values: NDArray[np.int64], k: int, size: int, holds: BoolArray) -> NDArray[Any]:
        """Draw increasing rows of `size` of the k values, uniform but that the row's own is in where it `holds`.

        Parameters
        ----------
        values : array of int
            The true values.
        k : int
            The number of values.
        size : int
            The size of the subsets.
        holds : array of bool
            Which subsets hold the true value.
        """

    def hash_seeds(self, count: int, k: int, symbols: int) -> NDArray[np.uint64]:
        """Draw the seeds of independent hash functions from k values to `symbols`, a row of two words each.

        Parameters
        ----------
        count : int
            The number of functions.
        k : int
            The number of values.
        symbols : int
            The number of symbols.
        """


def client_draws(rng: Rng = None) -> Draws:
    """Return the operating system's secure randomness, or a reproducible simulation if `rng` is given."""
    if rng is None:
        return _ByteDraws(urandom, simulated=False)
    return _ByteDraws(seeded_bytes(generator(rng)), simulated=True)


def client_words(rng: Rng = None) -> Word:
    """Return the operating system's secure randomness in words, or simulated ones if `rng` is given."""
    if rng is None:
        return lambda: int.from_bytes(urandom(8), "little")
    source = generator(rng)
    return lambda: int(source.integers(0, GRID - 1, dtype=np.uint64, endpoint=True))


def generator(rng: Rng = None) -> np.random.Generator:
    """Return a numpy Generator for simulations and Monte Carlo; None means fresh entropy (SPEC 7)."""
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


def seeded_bytes(source: np.random.Generator) -> RandomBytes:
    """Return a source of the generator's words as bytes, as clients draw them; its own `bytes` is four times slower."""

    def random_bytes(count: int) -> NDArray[np.uint8]:
        words = source.integers(0, GRID - 1, size=-(-count // 8), dtype=np.uint64, endpoint=True)
        words.setflags(write=False)  # as the system's bytes are: kernels are compiled once for both
        return words.view(np.uint8)[:count]

    return random_bytes


class _ByteDraws:
    """Exact draws from a source of uniform bytes."""

    def __init__(self, random_bytes: RandomBytes, *, simulated: bool) -> None:
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
        result.flat[tied] = self._tail(tied.size) < np.uint64(low)
        return result

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Take 32 random bits (or 64) modulo `bound`, after rejecting the words that would favour small results."""
        if not 0 < bound <= 1 << 63:
            raise LdpstatsError(f"a uniform draw below {bound}", f"bounds from 1 to {1 << 63}")
        word = np.dtype(np.uint32 if bound <= 1 << 31 else np.uint64)
        words = self._integers(word, shape).copy()
        last_fair = word.type((1 << 8 * word.itemsize) // bound * bound - 1)
        rejected = np.flatnonzero(words > last_fair)
        while rejected.size:
            words.flat[rejected] = self._integers(word, rejected.size)
            rejected = rejected[words.flat[rejected] > last_fair]
        return (words % word.type(bound)).astype(np.int64)

    def pick(self, weights: tuple[int, ...], shape: Shape) -> NDArray[Any]:
        """Find the interval of a random word among the cumulated weights."""
        if min(weights) < 0 or sum(weights) != GRID:
            raise LdpstatsError(f"weights that sum to {sum(weights)}", f"nonnegative weights that sum to {GRID}")
        uppers = np.array(np.cumsum(np.array(weights, dtype=object))[:-1], dtype=object)
        inner = uppers[uppers < GRID].astype(np.uint64)
        drawn = np.empty(shape, dtype=np.min_scalar_type(len(weights) - 1))
        flat = drawn.reshape(-1)
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK]
            part[:] = np.searchsorted(inner, self._integers(np.uint64, part.size), side="right")
        return drawn

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[Any]:
        """Draw a coin of 16 bits and a lie for each value; decide with fresh draws where these leave it open."""
        from ldpstats.numbers import kernels

        if not 2 <= k <= _MOST_ANSWERS:
            raise LdpstatsError(f"a response out of {k} values", f"from 2 to {_MOST_ANSWERS} values")
        high, low = divmod(truth, 1 << 48)
        # 16 bits make a fair lie nearly always when there are few, 32 when there are many
        lie_type = np.dtype(np.uint16 if k - 1 <= 1 << 8 else np.uint32)
        answers = np.empty(values.size, dtype=np.min_scalar_type(k - 1))
        undecided = np.empty(min(values.size, _CHUNK), dtype=np.int64)
        for start in range(0, values.size, _CHUNK):
            asked, given = values[start : start + _CHUNK], answers[start : start + _CHUNK]
            coins = self._integers(np.uint16, asked.size)
            lies = self._integers(lie_type, asked.size)
            left_open = kernels.respond(asked, coins, lies, 8 * lie_type.itemsize, k, high, given, undecided)
            if left_open:
                here = undecided[:left_open]
                tied = coins[here] == high
                honest = tied & (self._tail(left_open) < np.uint64(low))
                other = self.uniform(k - 1, left_open)
                given[here] = np.where(honest, asked[here], other + (other >= asked[here]))
        return answers

    def bits(self, numerator: int, count: int, width: int) -> NDArray[np.uint8]:
        """Look bytes up by 16 random bits each; the few that these do not decide take as many bits as they need."""
        from ldpstats.numbers import kernels

        bytewise = _bytewise(numerator)
        rows = np.empty((count, -(-width // 8)), dtype=np.uint8)
        drawn = rows.ravel()
        undecided = np.empty(min(drawn.size, _CHUNK), dtype=np.int64)
        for start in range(0, drawn.size, _CHUNK):
            part = drawn[start : start + _CHUNK]
            words = self._integers(np.uint16, part.size)
            left_open = kernels.look_up(words, bytewise.table, bytewise.decided, part, undecided)
            if left_open:
                here = undecided[:left_open]
                part[here] = self._decide(bytewise, words[here].astype(np.int64) - bytewise.decided)
        rows[:, -1] &= np.uint8(0xFF << -width % 8 & 0xFF)
        return rows

    def subsets(self, values: NDArray[np.int64], k: int, size: int, holds: BoolArray) -> NDArray[Any]:
        """Fill bit rows nearly full at random, complete them value by value, and list their members.

        Where most values are members, it is those left out that are drawn.
        """
        from ldpstats.numbers import kernels

        if k > _MOST_MEMBERS:
            raise LdpstatsError(f"a set out of {k} values", f"up to {_MOST_MEMBERS} values")
        members = np.empty((values.size, size), dtype=np.min_scalar_type(k - 1))
        leaving_out = 2 * size > k
        drawn = k - size if leaving_out else size
        sixteenths = 16 * (drawn - 1) // k
        digits = np.array([int(digit) for digit in f"{sixteenths:04b}".rstrip("0")[::-1]], dtype=np.int64)
        enough = digits.size * -(-k // 64) + drawn - sixteenths * k // 16 + 4  # a shortage costs a redraw, no more
        step = max(1, 8 * _CHUNK // k)
        for start in range(0, values.size, step):
            own, holding = values[start : start + step], holds[start : start + step]
            others = drawn - (~holding if leaving_out else holding)
            rows = np.zeros((own.size, -(-k // 64)), dtype=np.uint64)
            filled = 0
            while filled < own.size:
                words = self._integers(np.uint64, (own.size - filled) * enough)
                filled = kernels.fill_subsets(own, others, k, digits, words, rows, filled)
            if leaving_out:
                # the sets of all values but the rows' members and own ones
                rows = ~rows
                rows[:, -1] &= np.uint64((1 << (k - 1) % 64 + 1) - 1)
                rows[np.arange(own.size), own >> 6] &= ~(np.uint64(1) << (own & 63).astype(np.uint64))
            inside = np.flatnonzero(holding)
            rows[inside, own[inside] >> 6] |= np.uint64(1) << (own[inside] & 63).astype(np.uint64)
            kernels.list_members(rows.view("<u1"), members[start : start + step])
        return members

    def hash_seeds(self, count: int, k: int, symbols: int) -> NDArray[np.uint64]:
        """Draw two words each, whatever the numbers of values and symbols."""
        del k, symbols
        return self._integers(np.uint64, (count, 2))

    def _integers(self, dtype: DTypeLike, shape: Shape) -> NDArray[Any]:
        count = int(np.prod(shape, dtype=np.int64))
        drawn = np.frombuffer(self._random_bytes(count * np.dtype(dtype).itemsize), dtype=dtype)
        return drawn.reshape(shape)

    def _tail(self, count: int) -> NDArray[np.uint64]:
        return self._integers(np.uint64, count) >> np.uint64(16)

    def _decide(self, bytewise: _Bytewise, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place each undecided draw, refined by 48 more bits, among the uppers; a tie takes all the others."""
        places = cells << 48 | self._tail(cells.size).astype(np.int64)
        decided = np.searchsorted(bytewise.upper_starts, places, side="right")
        for i in np.flatnonzero(bytewise.upper_starts[decided - 1] == places):
            rest = int.from_bytes(bytes(self._random_bytes(_REST_BITS // 8)), "big")
            exact = int(places[i]) << _REST_BITS | rest
            decided[i] = next(byte for byte, upper in enumerate(bytewise.uppers) if exact < upper)
        return decided


@dataclass(frozen=True, slots=True)
class _Bytewise:
    """Eight independent bits drawn together: 16 random bits decide the byte, if they are below `decided`.

    The probability of a byte in units of 2^-16 has a whole part, so many entries of the table, and a fraction. The
    remaining cells are an interval on which the bytes' fractions lie end to end, byte i below uppers[i].
    """

    table: NDArray[np.uint8]
    decided: int
    uppers: tuple[int, ...]
    upper_starts: NDArray[np.int64]


_FRACTION_BITS = 8 * 64 - 16
_REST_BITS = _FRACTION_BITS - 48


@lru_cache(maxsize=256)
def _bytewise(numerator: int) -> _Bytewise:
    weights = [numerator ** byte.bit_count() * (GRID - numerator) ** (8 - byte.bit_count()) for byte in range(256)]
    whole = [weight >> _FRACTION_BITS for weight in weights]
    uppers, total = [], 0
    for weight, entries in zip(weights, whole, strict=True):
        total += weight - (entries << _FRACTION_BITS)
        uppers.append(total)
    table = np.repeat(np.arange(256, dtype=np.uint8), whole)
    starts = np.array([upper >> _REST_BITS for upper in uppers], dtype=np.int64)
    return _Bytewise(table, table.size, tuple(uppers), starts)


def permutation(draws: Draws, count: int) -> NDArray[np.int64]:
    """Draw a uniformly random order: sort by random keys, drawn again until all of them differ."""
    while True:
        keys = (draws.uniform(1 << 31, count) << 31) | draws.uniform(1 << 31, count)
        order = np.argsort(keys)  # twice as fast as a stable sort, and the same where all keys differ
        ordered = keys[order]
        if np.all(ordered[1:] > ordered[:-1]):
            return order.astype(np.int64)
