"""What checks are made of: requirements, the cases that are enumerated, and comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpstats.conformance.courses import Law, TooManyCoursesError
from ldpstats.conformance.enumeration import decoded, exact_channel
from ldpstats.conformance.laws import fit_pvalue
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRID_LEVEL, Mechanism
from ldpstats.numbers.arrays import FloatArray
from ldpstats.privacy import strict_epsilon

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


def close(found: FloatArray, claimed: FloatArray, what: str, mechanism: Mechanism) -> None:
    """Compare up to rounding, relative to the size that debiasing gives a single report."""
    scale = max(1.0, float(np.abs(claimed).max()), _debiased_size(mechanism) ** 2)
    difference = float(np.abs(found - claimed).max())
    require(difference <= _EXACT * scale, f"{what} is off by {difference:.3g}")


@lru_cache(maxsize=64)
def _debiased_size(mechanism: Mechanism) -> float:
    return float(np.abs(mechanism.noise.debias(np.eye(mechanism.noise.outputs))).max())


def refuses(message: str, action: Callable[..., object], *arguments: object) -> None:
    """Raise ConformanceError unless the action fails with an LdpstatsError."""
    try:
        action(*arguments)
    except LdpstatsError:
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
    return [_tallies(mechanism, law) for law in exact_channel(mechanism)]


def _tallies(mechanism: Mechanism, law: Law) -> list[tuple[FloatArray, float]]:
    reports = np.concatenate([decoded(mechanism, report) for report in law])
    together: dict[bytes, Fraction] = defaultdict(Fraction)
    for counts, probability in zip(mechanism.contributions(reports).astype(float), law.values(), strict=True):
        together[counts.tobytes()] += probability
    return [(np.frombuffer(counts), float(probability)) for counts, probability in together.items()]


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
    counts = np.stack([one for value in tallies for one, _ in value])
    return weights @ counts, (counts * weights[:, None]).T @ counts


def fits(seen: dict[bytes, int], law: dict[bytes, float], what: str) -> None:
    """Require that what was seen fits an exact law."""
    pvalue = fit_pvalue(seen, law)
    require(pvalue > FALSE_FAILURE_RATE, f"{what} does not have its exact law: p = {pvalue:.2g}")
