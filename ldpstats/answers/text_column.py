"""Text columns: the different texts of a column, and which of them stands in which row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import MOST_ANSWERS, MOST_COLUMNS

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_CODE = re.compile(r"[+-]?0[0-9]")
_LARGEST = 1 << 53
"""Doubles tell whole numbers apart up to here; longer ones are codes."""


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """A column of a file, every cell as a text."""

    name: str
    texts: tuple[str, ...]  # different, stripped, in order of first occurrence
    codes: NDArray[np.int64]  # per row, the index of its text

    @classmethod
    def of(cls, name: str, raw: Sequence[str], codes: NDArray[np.int64]) -> TextColumn:
        """Make a column of its different texts and their codes, without spaces around the texts."""
        places: dict[str, int] = {}
        moved = [places.setdefault(text.strip(), len(places)) for text in raw]
        return cls(name, tuple(places), np.array(moved, dtype=np.int64)[codes] if moved else codes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows with each text."""
        return np.bincount(self.codes, minlength=len(self.texts)).astype(np.int64)

    def first_row(self, places: Iterable[int]) -> int:
        """Index of the first row with one of the texts at these indices."""
        return int(np.isin(self.codes, list(places)).argmax())

    def as_categorical(self) -> pd.Categorical:
        """The column as a pandas categorical."""
        return pd.Categorical.from_codes(self.codes, categories=pd.Index(self.texts, dtype=object))


class Texts:
    """Builder of a text column, whose rows are read a chunk at a time."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes: list[NDArray[np.int64]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Append the cells of further rows."""
        for text in dict.fromkeys(cells):
            self._places.setdefault(text, len(self._places))
        self._codes.append(np.fromiter(map(self._places.__getitem__, cells), np.int64, len(cells)))

    def add_coded(self, texts: Sequence[str], codes: NDArray[np.int64]) -> None:
        """Append further rows, given by their different texts and the index of its text for each row."""
        places = [self._places.setdefault(text, len(self._places)) for text in texts]
        self._codes.append(np.array(places, dtype=np.int64)[codes])

    def column(self, name: str) -> TextColumn:
        """The column of all cells so far."""
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, dtype=np.int64)
        return TextColumn.of(name, tuple(self._places), codes)


def refuse_too_many(rows: int, columns: int, name: str) -> None:
    """Refuse a file of more cells or columns than can be held, before it is read."""
    if rows * columns > MOST_ANSWERS or columns > MOST_COLUMNS:
        raise LdpstatsError(
            f"{name} of {rows:,} rows and {columns:,} columns",
            f"up to {MOST_ANSWERS:,} cells, and {MOST_COLUMNS:,} columns",
            "Take the questions alone, or write parts of it to files of their own.",
        )


def numbers_in(texts: Sequence[str], *, commas: bool) -> list[int | float | None]:
    """Parse texts as numbers; None for words, for codes such as 007, and for numbers too long to be exact.

    With `commas`, decimal commas are read where that makes more of the texts numbers.

    Examples
    --------
    >>> numbers_in(["3", "2.50", "1e3", "007", "three"], commas=False)
    [3, 2.5, 1000, None, None]
    >>> numbers_in(["3,5", "4"], commas=True)
    [3.5, 4]
    """
    plain = [_number(text) for text in texts]
    if not commas or None not in plain:
        return plain
    with_commas = [None if "." in text else _number(text.replace(",", ".", 1)) for text in texts]
    return with_commas if with_commas.count(None) < plain.count(None) else plain


def _number(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text) or _CODE.match(text):
        return None
    value = float(text)
    if abs(value) >= _LARGEST:
        return None
    return int(value) if value.is_integer() else value
