"""Public codes: the symbols or bits that stand for a value in a cohort, by hash functions or permutations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import MOST_CODES, refuse_too_large
from ldpstats.noise.revealed import differing_bits, identifies
from ldpstats.numbers.hashing import symbols_of

Family: TypeAlias = Callable[[int, int, int, int], NDArray[np.int64]]
"""Public maps from k values to symbols: family(k, how many maps, symbols, seed) has a row per map."""

_SEEDS_TRIED = 100
_MOST_HASHES = 256
"""With so many functions the filters of all values are the same, unless they are very wide; every seed is tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Public codes: which of `width` symbols (or bits of a Bloom filter) stand for a value in each cohort."""

    symbols: NDArray[np.int64]  # shape (cohorts, hashes, values); read-only
    width: int

    def __post_init__(self) -> None:
        self.symbols.setflags(write=False)

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return len(self.symbols)

    @property
    def hashes(self) -> int:
        """Hash functions per cohort."""
        return int(self.symbols.shape[1])

    @property
    def single(self) -> NDArray[np.int64]:
        """Symbols by the first hash function, shape (cohorts, values)."""
        return self.symbols[:, 0]

    def filters(self) -> NDArray[np.int8]:
        """Return the bits of every cohort in turn, those at a value's symbols set: shape (slots, values)."""
        cohorts, hashes, values = self.symbols.shape
        bits = np.zeros((cohorts, self.width, values), dtype=np.int8)
        for function in range(hashes):
            bits[np.arange(cohorts)[:, None], self.symbols[:, function], np.arange(values)] = 1
        return bits.reshape(-1, values)


def hashed(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return hash functions of the family in `ldpstats.numbers.hashing`, a row of symbols for the k values each."""
    # digests, so that clients and servers of any kind find the same ones
    words = b"".join(blake2b(f"{seed} {number}".encode(), digest_size=16).digest() for number in range(maps))
    functions = np.repeat(np.frombuffer(words, dtype="<u8").reshape(maps, 2).astype(np.uint64), k, axis=0)
    return symbols_of(functions, np.tile(np.arange(k), maps), symbols).reshape(maps, k)


def permuted(k: int, maps: int, symbols: int, seed: int) -> NDArray[np.int64]:
    """Return pseudo-random permutations of the values modulo `symbols`: each symbol has about as many values."""
    return np.argsort(hashed(k, maps, 1 << 32, seed), axis=1, kind="stable") % symbols


def public_codes(
    family: Family, k: int, cohorts: int | None, hashes: int | None, width: int | None, seed: int
) -> Codes:
    """Return the codes of the first seed, from this one on, for which all k frequencies are identified."""
    assert cohorts is not None
    assert hashes is not None
    assert width is not None  # mechanisms settle them
    return _identifying(family, k, cohorts, hashes, width, seed)


@lru_cache(maxsize=16)
def _identifying(family: Family, k: int, cohorts: int, hashes: int, width: int, seed: int) -> Codes:
    refuse_too_many(k, cohorts, hashes, width)
    for shift in range(_SEEDS_TRIED):
        codes = Codes(family(k, cohorts * hashes, width, seed + shift).reshape(cohorts, hashes, k), width)
        if identifies(codes.filters()):
            return codes
    raise LdpstatsError(
        f"{cohorts} cohorts of {width} symbols, in which {_SEEDS_TRIED} seeds do not tell {k} values apart",
        "more cohorts or symbols, or fewer hash functions",
    )


def refuse_too_many(k: int, cohorts: int, hashes: int, width: int) -> None:
    """Refuse more values than the slots of all cohorts can identify, or codes that are too large to compute."""
    # with one function per cohort its bits sum to one, so that each cohort after the first identifies one number less
    most = cohorts * (width - 1) + 1 if hashes == 1 else cohorts * width
    if k > most:
        raise NotIdentifiedError(
            f"{k} values in {cohorts} cohorts of {width} symbols", f"at most {most} values", "Take more cohorts."
        )
    if hashes > _MOST_HASHES:
        raise LdpstatsError(f"hashes = {hashes}", f"up to {_MOST_HASHES}", "One or two identify values best.")
    refuse_too_large((cohorts, max(width, hashes), k), "codes", "OLH hashes alphabets of any size.", MOST_CODES)


def usual_width(k: int) -> int:
    """Return the default width, which makes collisions rare: a power of two, at least 4 √k but no more than twice k."""
    return 1 << (min(k + 1, math.ceil(4 * math.sqrt(k))) - 1).bit_length()


def usual_cohorts(k: int, width: int) -> int:
    """Return the default number of cohorts: at least four, with four times as many slots in all as values."""
    return max(4, -(-4 * k // width))


@lru_cache(maxsize=16)
def most_differing(codes: Codes) -> int:
    """Return the most bits in which the filters of two values differ in a cohort."""
    if codes.hashes == 1:
        return 2 if np.any(codes.single != codes.single[:, :1]) else 0
    return max(map(sum, differing_bits(codes.filters(), codes.cohorts, codes.width)))
