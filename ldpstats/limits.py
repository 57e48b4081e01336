"""Limits: how much one table, one matrix, one report or one saved file may ask for, each number in one place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path

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
MOST_ANSWERS = 1 << 27
"""The most cells of a file of answers: ten questions to 13 million respondents, whose codes take a gigabyte."""
MOST_COLUMNS = 1 << 16
"""The most columns of a file of answers, each of which takes a kilobyte however few its rows."""
ROWS_OF_A_SHEET = 1 << 20
"""The most empty lines of a file of answers, and the most lines of one that gzip packs beyond MOST_PACKED."""
LARGEST_ANSWERS = 1 << 30
"""The most bytes of a file of answers, also unpacked."""
MOST_PACKED = 200
"""The most bytes that one byte of a large file packed by gzip stands for: a tenth in surveys, 1,000 in bombs."""
LONGEST_LINE = 1 << 22
"""The most bytes of a line in a file of answers, and of a message of a client: what a program holds at once."""
LARGEST_HEADER = 1 << 23
"""The most bytes of a report file's header, of which JSON makes 24 times as many; 100,000 rows take five million."""
LARGEST_FOOTER = 1 << 24
"""The most bytes of a Parquet file's footer: the header of a report file, and 200 for a column of a row group."""
MOST_PARTS = 1 << 17
"""The most entries in lists of a footer, 3 bytes there and up to 900 in memory; a column of a row group has nine."""
MOST_GROUPS = 3 << 10
"""The most row groups of a report file: those of three thousand million numbers, or 240 million with tokens."""
MOST_PAGES = 1 << 10
"""The most pages of a column in a report file's row group: a million rows take some 50."""
MOST_ANSWER_PAGES = 1 << 16
"""The most pages of a Parquet file of answers: the most cells take some 7,000, and 50,000 are looked at in a second."""
LARGEST_PAGE = 1 << 26
"""The most bytes of a page of Parquet, which is unpacked as a whole; most programs write one megabyte."""
LARGEST_GROUP = 1 << 27
"""The most bytes of a report file's row group, which is unpacked as a whole; ours take a third of it."""
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


def bytes_of_file(path: str | Path, most: int) -> bytes:
    """Return what is in a file; one of more bytes is refused before it is read."""
    what = f"the file {shortened(str(path), 200)}"
    with Path(path).open("rb") as file, enough_memory(what):
        large = os.fstat(file.fileno()).st_size > most
        data = b"" if large else file.read(most + 1)
    if large or len(data) > most:
        raise LdpstatsError(f"{what} of too many bytes", f"up to {most:,}")
    return data


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Turn a MemoryError within the block into one that says what was too large."""
    try:
        yield
    except MemoryError as error:
        raise too_little_memory(what) from error


def too_little_memory(what: str) -> LdpstatsError:
    """Return the error about what takes more memory than there is."""
    return LdpstatsError(
        f"{what}, for which there is not enough memory", "what this machine can hold", "Take a part of it."
    )


def written(number: int) -> str:
    """Print a whole number, however large."""
    return f"{number:,}" if number.bit_length() < 100 else shortened(number)
