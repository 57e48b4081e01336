"""Limits: how much one table, one matrix, one report or one saved file may ask for, each number in one place."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ldpstats.errors import LdpstatsError, shortened

MOST_CELLS = 1 << 22
"""The cells of a table, the outputs of a channel and the numbers of a report: a vector of them takes 34 megabytes."""
MOST_ENTRIES = 1 << 24
"""The entries of a matrix between cells, 134 megabytes: 4,096 cells by as many."""
MOST_CODES = 1 << 23
"""The entries of public codes (cohorts by symbols by values): decoding them inverts products of such matrices."""
MOST_PATTERNS = 1 << 10
"""The sets of values that reports are counted by: with more, a test that draws 10,000 tables takes seconds."""
LARGEST_FILE = 1 << 29
"""The most bytes of a saved file: reading one takes several times as much memory."""
LARGEST_JOINT = 4096
"""The most cells of a joint table that is handled as a whole."""
LARGEST_ALPHABET = (1 << 32) - 1
"""Within so many values all draws and hash functions are exact; more could not be counted anyway (32 GiB of counts)."""
LEAST_EPSILON = 1e-12
"""Below this level doubles do not tell the probabilities of truths and lies apart well enough to estimate anything."""

_FEWER = "Form classes (pandas.cut for numbers), collapse rare categories, or ask about fewer attributes together."


def refuse_too_many_cells(cells: int, what: str, most: int = MOST_CELLS) -> None:
    """Refuse a table, or a report, that is too large to be worked with."""
    if cells > most:
        raise LdpstatsError(f"{what} of {written(cells)} cells", f"up to {most:,} cells", _FEWER)


def refuse_too_large(shape: Sequence[int], what: str, advice: str = _FEWER, most: int = MOST_ENTRIES) -> None:
    """Refuse an array that takes too much memory, before it is made."""
    if prod(shape) > most:
        sides = " by ".join(map(written, shape))
        raise LdpstatsError(
            f"{what} of {sides} entries, {written(prod(shape))} in all", f"up to {most:,} entries", advice
        )


def written(number: int) -> str:
    """Print a whole number, however large."""
    return f"{number:,}" if number.bit_length() < 100 else shortened(number)
