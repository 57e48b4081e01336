"""Repeated rows: whether a stretch of rows stands twice in a file, which reports drawn anew do not do by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.unary import UnaryEncoding
from ldpstats.noise import NoiseModel, SupportNoise
from ldpstats.presentation import Result, Summary, plain_values, summary_of_figures
from ldpstats.protocols.counting import SentRow, SentRows
from ldpstats.protocols.per_attribute import CrossedAnswers
from ldpstats.saving.registered import Count

CHANCE = 1e-9
"""How often, at most, rows drawn anew are taken for copies."""
_MOST_ROWS = 1 << 40
_LEAST_WINDOW, _LONGEST_WINDOW = 64, 1 << 20
_MOST_KEPT, _MOST_DISTANCES, _SAID = 1 << 12, 1000, 5
_MOST_DESIGN = 4_000_000
_AT_ONCE = 1 << 16
_BITS = 64
_CAUSES = (
    "a file that was put together from overlapping ones, a second attempt at sending, one seed used twice, or forgery"
)


@dataclass(frozen=True, slots=True)
class Copy:
    """Stretch of rows that comes again in the same order; places are counted from 1."""

    first: Count
    last: Count
    again: Count  # where the first row comes again
    rows: Count  # so many come again at least


@dataclass(frozen=True, slots=True, repr=False)
class RepeatedRows(Result):
    """Stretches of rows that stand twice in a file, the longest first."""

    n: Count  # rows that were looked at
    window: int | None  # so many equal rows in a row are no chance; None: any number could be
    copies: tuple[Copy, ...] = ()
    same: bool = False  # in some window rows hardly differ, as sorted ones do: nothing is concluded from it

    @property
    def warning(self) -> tuple[str, ...]:
        """Sentences for the summary of the tables; none where no rows stand twice."""
        if not self.copies:
            return ()
        first = self.copies[0]
        more = f" (and {len(self.copies) - 1:,} further stretches)" if len(self.copies) > 1 else ""
        where = f"rows {first.first:,} to {first.last:,} come again from row {first.again:,} on{more}"
        return (
            f"REPEATED ROWS: at least {first.rows:,} of {where}.",
            "Reports that were drawn anew do so with a probability below 10^-9.",
            f"Possible causes: {_CAUSES}.",
            "Estimates, intervals and tests take these rows for different respondents.",
        )

    @property
    def headline(self) -> str:
        """How many rows were looked at, and whether some stand twice."""
        number = len(self.copies)
        outcome = (
            f"{number:,} stretch{'es stand' if number > 1 else ' stands'} twice"
            if number
            else "no stretch stands twice"
        )
        if self.window is None:
            outcome = "not told from chance"
        return f"{self.n:,} rows: {outcome}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per stretch that stands twice, the longest first."""
        rows = [(copy.first, copy.last, copy.again, copy.rows) for copy in self.copies]
        return pd.DataFrame(rows, columns=["first", "last", "again", "rows"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        names = "check n window chance copies=to_frame same warning"
        return plain_values(self, names, check="repeated rows", chance=CHANCE)

    def summary(self) -> Summary:
        """Return the stretches that stand twice, and what could be found."""
        rows = [[f"{n:,}" for n in (copy.first, copy.last, copy.again, copy.rows)] for copy in self.copies[:_SAID]]
        more = len(self.copies) - len(rows)
        sentences = [
            *([f"And {more:,} shorter ones: to_frame() has them."] if more > 0 else []),
            *(self.warning or self._nothing()),
            *([f"In some place {self.window:,} rows in a row hardly differ: {_SORTED}."] if self.same else []),
        ]
        headers = ["from row", "to row", "again from row", "rows, at least"]
        return summary_of_figures(f"Rows that come again among {self.n:,}", headers, rows, sentences)

    def _nothing(self) -> list[str]:
        if self.window is None:
            return ["These reports may be equal by chance, whatever their order: nothing was looked at."]
        return [
            f"No stretch of {self.window:,} rows was found that stands twice. Short ones in long files may be missed."
        ]


_SORTED = (
    "the rows are sorted by their reports, so that their order tells nothing, or one report was sent again and again"
)


class RepetitionSearch:
    """Look for stretches of rows that stand twice, in rows that come chunk by chunk.

    Whatever the answers are, a report equals an earlier one with at most the largest probability p of any report. So
    two windows of L rows are equal with at most p^L, and L is the least number for which the chance of any equal pair
    among 2^40 rows stays below 10^-9. A hash of its last rows chooses which windows are kept, fewer the more rows come,
    so that memory and time do not grow; in a stretch that stands twice it chooses the same windows. In 10^8 rows a
    stretch is found from some 300,000 rows on.

    Windows in which fewer than 16 rows differ from the next are left alone: sorted rows look alike wherever one report
    gives way to the next. In any other order, L rows drawn anew have some 75 that differ from the commonest.
    """

    def __init__(self, rows: Sequence[SentRow]) -> None:
        self.window = telling_window([largest_probability(row.wire) for row in rows])
        self._n, self._same = 0, False
        self._kept: dict[int, tuple[int, int, int]] = {}
        self._copies: dict[int, Copy] = {}
        length = self.window or 0
        # a look at every window would take a step for each of its rows
        self._skipped = max(0, length.bit_length() - 4)
        # the words of the last rows stand at the beginning of what is looked at next
        self._words = np.zeros(length + _AT_ONCE, dtype=np.uint64)
        self._ends = np.zeros(_AT_ONCE, dtype=np.int64)

    def take(self, rows: SentRows) -> None:
        """Look at more rows, in the order in which they stand."""
        if self.window is None:
            self._n += len(rows)
            return
        for start in range(0, len(rows), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            self._look(rows.rows[some], rows.reports[some], self.window)

    def _look(self, rows: NDArray[Any], reports: NDArray[Any], window: int) -> None:
        from ldpstats.numbers import kernels

        before = min(self._n, window)
        words = self._words[: before + len(rows)]
        _write_words(rows, reports, words[before:])
        number = kernels.find_ends(words, before, self._below, self._ends)
        ends = np.sort(self._ends[:number])
        ends = ends[ends >= window - 1]
        hashes = np.empty((ends.size, 3), dtype=np.uint64)
        kernels.hash_windows(words, ends, window, hashes)
        for end, (first, second, chosen) in zip(ends.tolist(), hashes.tolist(), strict=True):
            self._compare(self._n + end - before, chosen, first, second)
        self._n += len(rows)
        kept = min(self._n, window)
        self._words[:kept] = words[len(words) - kept :].copy()
        while len(self._kept) > _MOST_KEPT:
            self._skipped += 1
            below = int(self._below)
            self._kept = {key: value for key, value in self._kept.items() if value[2] <= below}

    @property
    def _below(self) -> np.uint64:
        """Largest hash of a window that is kept."""
        return np.uint64(((1 << _BITS) - 1) >> self._skipped)

    def _compare(self, end: int, chosen: int, first: int, second: int) -> None:
        if first == second == 0:
            self._same = True
            return
        earlier, known, _ = self._kept.setdefault(first, (end, second, chosen))
        if known == second and earlier < end:
            self._note(earlier + 1, end - earlier)

    def _note(self, last: int, distance: int) -> None:
        """Note that the window that ends with row `last`, counted from 1, comes again `distance` rows later."""
        window = self.window or 0
        known = self._copies.get(distance)
        if known is not None:
            more = min(window, last - known.last)
            self._copies[distance] = Copy(known.first, last, known.again, known.rows + more)
        elif len(self._copies) < _MOST_DISTANCES:
            first = last - window + 1
            self._copies[distance] = Copy(first, last, first + distance, window)

    def found(self) -> RepeatedRows:
        """Return what was found so far."""
        ranked = tuple(sorted(self._copies.values(), key=lambda copy: -copy.rows))
        return RepeatedRows(self._n, self.window, ranked, self._same)


def telling_window(probabilities: Sequence[float | None]) -> int | None:
    """Return how many equal rows in a row are no chance, given the largest probability of a report in each kind of row.

    None where one of these is not known, or any number of rows could be equal.
    """
    known = [probability for probability in probabilities if probability is not None]
    if not known or len(known) < len(probabilities) or max(known) >= 1:
        return None
    pairs = 2 * math.log(_MOST_ROWS) - math.log(2)
    length = math.ceil((pairs - math.log(CHANCE)) / -math.log(max(known)))
    return max(length, _LEAST_WINDOW) if length <= _LONGEST_WINDOW else None


def largest_probability(wire: Any) -> float | None:
    """Bound the probability of any report under any answer; None where no bound is known."""
    if isinstance(wire, CrossedAnswers):
        parts = [largest_probability(asked.mechanism) for asked in wire.asked]
        return None if None in parts else math.prod(probability for probability in parts if probability is not None)
    if not isinstance(wire, Mechanism) or wire.longitudinal:
        return None
    if wire.hash_symbols is not None:
        # two words of a function that is drawn anew
        return 2.0**-_BITS
    if isinstance(wire, UnaryEncoding):
        own, other = wire.noise.p, wire.noise.q
        return float(max(own, 1 - own) * max(other, 1 - other) ** (wire.k - 1))
    return _largest_output(wire.noise)


def _largest_output(noise: NoiseModel) -> float | None:
    """Bound the probability of any report from its noise model; None where that gives no bound."""
    channel = noise.truth_or_fake
    if channel is not None:
        return channel.truth + (1 - channel.truth) * max(channel.fake)
    if isinstance(noise, SupportNoise) and noise.size is not None:
        others, inside = noise.cells - 1, noise.p / math.comb(noise.cells - 1, noise.size - 1)
        return max(inside, (1 - noise.p) / math.comb(others, noise.size)) if noise.size <= others else inside
    if noise.largest != 1 or noise.outputs * noise.cells > _MOST_DESIGN:
        return None
    matrix, offset = noise.design()
    shares = matrix + offset[:, None]
    if noise.size == 1:
        return float(shares.max())
    return float(np.maximum(shares, 1 - shares).min(axis=0).max())


def _write_words(rows: NDArray[Any], reports: NDArray[Any], words: NDArray[np.uint64]) -> None:
    """Hash every row and its report to a word of 64 bits."""
    from ldpstats.numbers import kernels

    if reports.ndim == 2:
        kernels.mix_bytes(rows, reports, words)
    else:
        kernels.mix_numbers(rows, reports, words)
