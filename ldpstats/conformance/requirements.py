"""What checks are made of: requirements, the cases that are enumerated, exact laws and comparisons with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.conformance.enumeration import Law, TooManyCoursesError, decoded, exact_channel, representatives
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRID_LEVEL, Mechanism
from ldpstats.numbers.arrays import FloatArray
from ldpstats.privacy import strict_epsilon

Observed = TypeVar("Observed", bound=Hashable)

_COMMON = 10


def law_of_tally(respondents: list[list[tuple[FloatArray, float]]]) -> dict[bytes, float]:
    """Convolve the exact laws of single contributions to the law of their sum."""
    total: dict[tuple[int, ...], float] = {(0,) * len(respondents[0][0][0]): 1.0}
    for contributions in respondents:
        following: dict[tuple[int, ...], float] = defaultdict(float)
        for (counts, p), (more, q) in product(total.items(), contributions):
            following[tuple(np.add(counts, more).astype(int).tolist())] += p * q
        total = following
    return {np.array(counts, dtype=np.int64).tobytes(): p for counts, p in total.items()}


def counted(rows: NDArray[Any]) -> dict[bytes, int]:
    """Count equal rows; they are named by their bytes, as the outcomes of a law are."""
    _, first, counts = np.unique(row_numbers(rows), return_index=True, return_counts=True)
    return {np.ascontiguousarray(row).tobytes(): count for row, count in zip(rows[first], counts.tolist(), strict=True)}


def row_numbers(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Number rows of whole numbers so that equal ones have equal numbers."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    columns = pd.DataFrame(rows.reshape(len(rows), -1))
    return columns.groupby(list(columns), sort=False).ngroup().to_numpy().astype(np.int64)


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


def fit_pvalue_of(outcomes: NDArray[np.int64], law: FloatArray) -> float:
    """Bound the goodness-of-fit p-value of outcomes given by number; negative ones are impossible."""
    if outcomes.size and outcomes.min() < 0:
        return 0.0
    seen = np.bincount(outcomes, minlength=law.size)
    if np.any(seen[law == 0]):
        return 0.0
    return fit_pvalue(dict(enumerate(seen.tolist())), dict(enumerate(law.tolist())))


@dataclass(frozen=True, slots=True, eq=False)
class CodedChannel:
    """Exact channel whose outcomes are numbered, so that millions of reports are compared at once."""

    laws: FloatArray  # probabilities, shape (values, outcomes)
    outcomes_of: Callable[[NDArray[Any]], NDArray[np.int64]]  # outcomes of an array of reports; -1 for impossible ones

    @classmethod
    def of(cls, mechanism: Mechanism) -> CodedChannel:
        """Number the outcomes of a mechanism's exact channel."""
        channel = exact_channel(mechanism)
        support = sorted(set().union(*channel))
        laws = np.array([[float(law.get(report, 0)) for report in support] for law in channel])
        words = _words(np.concatenate([decoded(mechanism, report) for report in support]))

        def outcomes_of(reports: NDArray[Any]) -> NDArray[np.int64]:
            sent = _words(representatives(mechanism, reports))
            number = row_numbers(np.concatenate([words, sent]))
            outcome_of = np.full(number.max() + 1, -1)
            outcome_of[number[: len(words)]] = np.arange(len(words))
            return outcome_of[number[len(words) :]]

        return cls(laws, outcomes_of)

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
        return CodedChannel(laws, lambda reports: kinds[self.outcomes_of(reports)])


def _words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bytes of rows as few words of 64 bits each."""
    flat = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    padded = np.zeros((len(rows), -(-flat.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : flat.shape[1]] = flat
    return padded.view(np.uint64)


Factory = Callable[[int, float], Mechanism]

FALSE_FAILURE_RATE = 1e-6
"""How often a check that draws random numbers would fail a correct mechanism, if its seed were not fixed."""

SMALL = ((2, 1.0), (3, 0.5), (4, 2.0), (5, 0.5), (5, 4.0), (6, 0.2))
EPSILONS = (0.01, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
_EXACT = 1e-12
_AT_LEAST = 2
"""The first cases of a check must be small enough to enumerate; a larger one counts where it is."""


class ConformanceError(AssertionError):
    """A mechanism or protocol that does not do what it claims."""


def require(holds: bool, message: str) -> None:
    """Raise ConformanceError unless it holds."""
    if not holds:
        raise ConformanceError(message)


def close(actual: FloatArray, claimed: FloatArray, what: str, mechanism: Mechanism) -> None:
    """Compare up to rounding, relative to the size that debiasing gives a single report."""
    scale = max(1.0, float(np.abs(claimed).max()), _debiased_size(mechanism) ** 2)
    difference = float(np.abs(actual - claimed).max())
    require(difference <= _EXACT * scale, f"{what} is off by {difference:.3g}")


@lru_cache(maxsize=64)
def _debiased_size(mechanism: Mechanism) -> float:
    return float(np.abs(mechanism.noise.debias(np.eye(mechanism.noise.outputs))).max())


def refuses(
    message: str, action: Callable[..., object], *arguments: object, kind: type[LdpstatsError] = LdpstatsError
) -> None:
    """Raise ConformanceError unless the action fails with an error of this kind."""
    try:
        action(*arguments)
    except kind:
        return
    except Exception as error:
        raise ConformanceError(f"{message}, or fails with a foreign exception: {error!r}") from error
    raise ConformanceError(message)


def level_is_close(mechanism: Mechanism) -> None:
    """Require that the strict level is at most the one asked for, and below it only for a reason."""
    strict = mechanism.strict_epsilon()
    require(strict <= mechanism.epsilon, f"{mechanism}: the strict level {strict} is above the one asked for")
    near = strict > mechanism.epsilon - 1e-9
    wasted = f"{mechanism}: the level {strict} wastes budget without a reason"
    shared = Mechanism.slack_reason.__get__(mechanism)
    if mechanism.slack_reason != shared:
        require(near or bool(mechanism.slack_reason), wasted)
        return
    # the grid of 2^-64 is the only excuse that all mechanisms share, and this is what it costs at most
    grid = mechanism.epsilon > GRID_LEVEL and strict > min(mechanism.epsilon, 40.0) - 0.02
    require(near or grid, wasted)


def states_its_level(mechanism: Mechanism, lifetime: Fraction | None) -> None:
    """Compare every statement of a mechanism's lifetime level with that of its exact ratio."""
    exact, privacy = strict_epsilon(lifetime), mechanism.privacy()
    said = {"strict_epsilon()": mechanism.strict_epsilon(), "privacy()": privacy.epsilon}
    for name, level in said.items():
        require(level == exact, f"{mechanism}: {name} says {level}, and the exact level is {exact}")
    require(bool(privacy.unit), f"{mechanism}: a level without its unit")


@lru_cache(maxsize=64)
def exact_tallies(mechanism: Mechanism) -> list[list[tuple[FloatArray, float]]]:
    """Return, for each value, the distinct tallies of single reports with their probabilities."""
    tallies: list[list[tuple[FloatArray, float]]] = []
    for law in exact_channel(mechanism):
        reports = np.concatenate([decoded(mechanism, report) for report in law])
        together: dict[bytes, Fraction] = defaultdict(Fraction)
        for counts, probability in zip(mechanism.contributions(reports).astype(float), law.values(), strict=True):
            together[counts.tobytes()] += probability
        tallies.append([(np.frombuffer(counts), float(probability)) for counts, probability in together.items()])
    return tallies


def made(make: Factory, k: int, epsilon: float) -> Mechanism:
    """Make a mechanism for k values, or for the only number of values that it is for."""
    return make(getattr(make, "only_k", None) or k, epsilon)


def smallest(make: Factory, epsilon: float = 1.0) -> Mechanism:
    """Make the mechanism for two values, which must be small enough to enumerate."""
    mechanism, _ = next(enumerated(make, (2, epsilon)))
    return mechanism


def enumerated(make: Factory, *cases: tuple[int, float]) -> Iterator[tuple[Mechanism, list[Law]]]:
    """Yield the mechanisms of these cases, or the usual ones, and their channels, if small enough to enumerate."""
    for index, (k, epsilon) in enumerate(cases or SMALL):
        mechanism = made(make, k, epsilon)
        try:
            yield mechanism, exact_channel(mechanism)
        except TooManyCoursesError:
            require(index >= _AT_LEAST, f"{mechanism}: takes too many courses to enumerate")


def moments(tallies: list[list[tuple[FloatArray, float]]], frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and second moments of the tally of a respondent drawn by these frequencies."""
    weights = np.array([w * p for w, value in zip(frequencies, tallies, strict=True) for _, p in value])
    counts = np.stack([tally for value in tallies for tally, _ in value])
    return weights @ counts, (counts * weights[:, None]).T @ counts


def fits(pvalue: float, what: str) -> None:
    """Require that what was seen fits an exact law."""
    require(pvalue > FALSE_FAILURE_RATE, f"{what} does not have its exact law: p = {pvalue:.2g}")
