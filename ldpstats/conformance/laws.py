"""Laws of tallies and reports, exact, and goodness-of-fit tests of what was seen against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.courses import Law
from ldpstats.conformance.enumeration import decoded, exact_channel, representatives
from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import FloatArray

Observed = TypeVar("Observed", bound=Hashable)

_COMMON = 10
_RENUMBERED, _NARROW = 1 << 31, 1 << 16
"""Numbers of rows below this can have a column of as many values appended without overflow."""


def law_of_tally(respondents: list[list[tuple[FloatArray, float]]]) -> dict[bytes, float]:
    """Convolve the exact laws of single contributions to the law of their sum."""
    total: dict[tuple[int, ...], float] = {(0,) * len(respondents[0][0][0]): 1.0}
    for contributions in respondents:
        following: dict[tuple[int, ...], float] = defaultdict(float)
        for (counts, p), (more, q) in product(total.items(), contributions):
            following[tuple(np.add(counts, more).astype(int).tolist())] += p * q
        total = following
    return {np.array(counts, dtype=np.int64).tobytes(): p for counts, p in total.items()}


def doubles(law: Law) -> dict[bytes, float]:
    """Convert the probabilities of a law to doubles."""
    return {report: float(probability) for report, probability in law.items()}


def counted(rows: NDArray[Any]) -> dict[bytes, int]:
    """Count equal rows; they are named by their bytes, as the outcomes of a law are."""
    _, first, counts = np.unique(row_numbers(rows), return_index=True, return_counts=True)
    return {np.ascontiguousarray(row).tobytes(): count for row, count in zip(rows[first], counts.tolist(), strict=True)}


def row_numbers(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Number rows of whole numbers so that equal ones have equal numbers."""
    number, size = np.zeros(len(rows), dtype=np.int64), 1
    if not len(rows):
        return number
    for column in rows.reshape(len(rows), -1).T:
        place, width = column.astype(np.int64), int(column.max()) + 1
        if column.min() < 0 or width > _NARROW:
            distinct, place = np.unique(column, return_inverse=True)
            width = len(distinct)
        number, size = number * width + place, size * width
        if size > _RENUMBERED:
            kept, number = np.unique(number, return_inverse=True)
            size = len(kept)
    return number


def fit_pvalue(seen: Mapping[Observed, int], law: Mapping[Observed, float]) -> float:
    """Bound a goodness-of-fit p-value against an exact law: 0 if something impossible was seen, 1 if all is certain.

    It holds for samples of any size, also far out, where Pearson's χ² promises too much: the exact two-sided binomial
    tails of all outcomes, and of all together that are expected fewer than ten times, are added up.
    """
    from scipy.stats import binom

    if not set(seen) <= set(law):
        return 0.0
    observed, n = np.array([seen.get(outcome, 0) for outcome in law]), sum(seen.values())
    expected = np.array(list(law.values()))
    rare = n * expected < _COMMON
    observed = np.append(observed, observed[rare].sum())
    expected = np.append(expected, expected[rare].sum()).clip(0, 1)
    tails = np.minimum(binom.cdf(observed, n, expected), binom.sf(observed - 1, n, expected))
    return float(min(1.0, 2 * expected.size * tails.min()))


def fit_pvalue_of(places: NDArray[np.int64], law: FloatArray) -> float:
    """Bound the goodness-of-fit p-value of outcomes given by number; negative ones are impossible."""
    if places.size and places.min() < 0:
        return 0.0
    seen = np.bincount(places, minlength=law.size)
    if np.any(seen[law == 0]):
        return 0.0
    return fit_pvalue(dict(enumerate(seen.tolist())), dict(enumerate(law.tolist())))


@dataclass(frozen=True, slots=True, eq=False)
class CodedChannel:
    """Exact channel whose outcomes are numbered, so that millions of reports are compared at once."""

    laws: FloatArray  # probabilities, shape (values, outcomes)
    places: Callable[[NDArray[Any]], NDArray[np.int64]]  # outcomes of an array of reports; -1 for impossible ones

    @classmethod
    def of(cls, mechanism: Mechanism) -> CodedChannel:
        """Number the outcomes of a mechanism's exact channel."""
        channel = exact_channel(mechanism)
        support = sorted(set().union(*channel))
        laws = np.array([[float(law.get(report, 0)) for report in support] for law in channel])
        words = _words(np.concatenate([decoded(mechanism, report) for report in support]))

        def places(reports: NDArray[Any]) -> NDArray[np.int64]:
            sent = _words(representatives(mechanism, reports))
            number = row_numbers(np.concatenate([words, sent]))
            place_of = np.full(number.max() + 1, -1)
            place_of[number[: len(words)]] = np.arange(len(words))
            return place_of[number[len(words) :]]

        return cls(laws, places)

    @property
    def outcomes(self) -> int:
        """Number of outcomes."""
        return int(self.laws.shape[1])

    def by_likelihood_ratio(self) -> CodedChannel:
        """Merge outcomes with the same likelihood ratio: the sufficient statistic for the first two values."""
        with np.errstate(divide="ignore"):
            ratios = np.log(self.laws[0]) - np.log(self.laws[1])
        distinct, kind = np.unique(ratios.round(9), return_inverse=True)
        laws = self.laws @ np.eye(len(distinct))[kind]
        kinds = np.append(kind, -1)  # the last one, for what is impossible
        return CodedChannel(laws, lambda reports: kinds[self.places(reports)])


def _words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bytes of rows as few words of 64 bits each."""
    flat = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    padded = np.zeros((len(rows), -(-flat.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : flat.shape[1]] = flat
    return padded.view(np.uint64)
