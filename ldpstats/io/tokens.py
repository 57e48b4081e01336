"""Tokens: which respondents have sent already, known by 20 bytes for each, and how many rows were left out for it."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.io.columns import Ragged
from ldpstats.numbers.arrays import BoolArray, IntArray
from ldpstats.presentation import Result, Summary, plain_values, summary_of_facts
from ldpstats.protocols.counting import SentRow
from ldpstats.saving.registered import Count

LONGEST_TOKEN = 200
"""The most bytes of a token: as many as clients send."""
REFUSE, ONCE = "refuse", "once"
_FULL = 0.75
_PLAIN = re.compile(r'[^\x00-\x20",\x7f]+')
_ALLOWED = f"texts of 1 to {LONGEST_TOKEN} bytes without blanks, commas and quotation marks"


class KnownTokens:
    """The tokens that were seen, as 128-bit hashes under a random key of this process.

    A token belongs to one unit, for each of whose rows it may come once. `rows` are those of the protocol.
    """

    def __init__(self, rows: tuple[SentRow, ...]) -> None:
        self._units = np.array([row.unit for row in rows], dtype=np.uint32)
        # drawn anew in every process: nobody can choose tokens that collide
        random = np.frombuffer(secrets.token_bytes(8 * 4 * (3 + LONGEST_TOKEN // 4)), dtype=np.uint64)
        self._keys = random.reshape(4, -1).copy()
        self._of_units, self._of_rows = _Table(), _Table()
        self._single = len(np.unique(self._units)) == len(rows)

    def again(self, rows: IntArray, tokens: Ragged) -> BoolArray:
        """Record tokens, and return which came before: for the same row (here or earlier), or for another unit.

        `rows` are the numbers of the protocol's rows; tokens have LONGEST_TOKEN bytes at most.
        """
        units = self._units[rows]
        earlier = self._of_units.earlier(self.hashes(tokens), units)
        again: BoolArray = earlier >= 0
        if self._single:
            return again
        again = (earlier >= 0) & (earlier != units)
        own = np.flatnonzero(~again)
        of_row = rows[own].astype(np.uint32)
        again[own] = self._of_rows.earlier(self.hashes(tokens.taken(own), of_row + 1), of_row) >= 0
        return again

    def hashes(self, tokens: Ragged, salts: IntArray | None = None) -> NDArray[np.uint64]:
        """Return a 128-bit hash of each token as two words; a salt makes it another hash."""
        from ldpstats.numbers import kernels

        n = len(tokens.starts)
        salted = np.zeros(n, dtype=np.uint64) if salts is None else salts.astype(np.uint64)
        hashed = np.empty((n, 2), dtype=np.uint64)
        starts, ends = np.ascontiguousarray(tokens.starts), np.ascontiguousarray(tokens.ends)
        kernels.hash_texts(tokens.data, starts, ends, salted, self._keys, hashed)
        return hashed


class _Table:
    """Hash table from 128-bit keys to values, growing as needed."""

    def __init__(self) -> None:
        self._keys, self._values = _empty(1 << 10)
        self._n = 0

    def earlier(self, keys: NDArray[np.uint64], values: IntArray) -> NDArray[np.int64]:
        """Insert keys; return the values of those that were there already, and -1 for the others."""
        size = len(self._keys)
        while self._n + len(keys) > _FULL * size:
            size *= 2
        if size > len(self._keys):
            known = self._keys.any(axis=1)
            old_keys, old_values = self._keys[known], self._values[known]
            self._keys, self._values = _empty(size)
            self._put(old_keys, old_values)
        earlier, new = self._put(keys, values.astype(np.uint32))
        self._n += new
        return earlier

    def _put(self, keys: NDArray[np.uint64], values: NDArray[np.uint32]) -> tuple[NDArray[np.int64], int]:
        from ldpstats.numbers import kernels

        earlier = np.empty(len(keys), dtype=np.int64)
        return earlier, int(kernels.insert_keys(self._keys, self._values, keys, values, earlier))


def _empty(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    return np.zeros((size, 2), dtype=np.uint64), np.zeros(size, dtype=np.uint32)


def checked_tokens(tokens: list[object]) -> list[str]:
    """Return tokens; refuse those that not every kind of file can hold."""
    for number, token in enumerate(tokens):
        # half a surrogate pair is lost when it is encoded, and so no plain text
        plain = (
            isinstance(token, str) and _PLAIN.fullmatch(token.encode(errors="ignore").decode()) and token.isprintable()
        )
        if not plain or len(str(token).encode(errors="replace")) > LONGEST_TOKEN:
            raise LdpstatsError(f"the token {shortened(token)} of respondent {number}", _ALLOWED)
    return [str(token) for token in tokens]


def refuse_other_policies(tokens: str) -> None:
    """Refuse a policy for repeated tokens other than "refuse" and "once"."""
    if tokens not in (REFUSE, ONCE):
        raise LdpstatsError(
            f"tokens = {shortened(tokens)}", f"{REFUSE!r} (an error) or {ONCE!r} (the first one counts)"
        )


@dataclass(frozen=True, slots=True, repr=False)
class RepeatedTokens(Result):
    """Result about tokens that came more than once: the first report of each counts."""

    n: Count  # rows that were looked at
    left_out: Count  # of these
    unnamed: Count = 0  # clients' messages without a token: nothing tells whether one came twice

    def __post_init__(self) -> None:
        if self.left_out + self.unnamed > self.n:
            raise LdpstatsError(f"{self.left_out} and {self.unnamed} of {self.n} rows", "a part of the rows")

    @property
    def warning(self) -> tuple[str, ...]:
        """Sentences for the summary of the tables, where rows were left out or messages had no token."""
        left_out = "1 row was" if self.left_out == 1 else f"{self.left_out:,} rows were"
        unnamed = "1 message" if self.unnamed == 1 else f"{self.unnamed:,} messages"
        repeated = (
            f"{left_out} left out, whose respondents' tokens came before: the first report of each counts.",
            "Whoever sent more has spent more than the level that is stated.",
        )
        unknown = (
            f"{unnamed} of clients came without a token: nothing tells whether the same one came twice.",
            "One that did counts twice.",
        )
        return (*(repeated if self.left_out else ()), *(unknown if self.unnamed else ()))

    @property
    def headline(self) -> str:
        """How many rows there were, how many were left out, and how many messages had no token."""
        unnamed = f"; {self.unnamed:,} messages without one" if self.unnamed else ""
        return f"{self.n:,} rows: {self.left_out:,} left out, whose tokens came before{unnamed}"

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers in a row."""
        return pd.DataFrame({"rows": [self.n], "left_out": [self.left_out], "unnamed": [self.unnamed]})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return plain_values(self, "check n left_out unnamed warning", check="repeated tokens")

    def summary(self) -> Summary:
        """Return the numbers, and what they mean."""
        facts = {
            "Rows that were looked at": f"{self.n:,}",
            "Rows that were left out": f"{self.left_out:,}",
            "Messages without a token": f"{self.unnamed:,}",
        }
        return summary_of_facts("Tokens that came more than once", facts, self.warning)
