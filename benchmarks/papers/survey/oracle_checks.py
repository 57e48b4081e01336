"""How printed estimators and variances of frequency oracles are compared with the mechanisms' own laws."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ldpstats.mechanisms import Mechanism
from papers.comparisons import Comparison
from papers.formulas import LEVELS, SIZES, Floats, Place, matched, shapes
from papers.survey.supports import expected_tally, rare_variance

Check = Callable[[Place], Comparison]

GRID = [(k, epsilon) for k in SIZES for epsilon in LEVELS]


def estimator(
    make: Callable[[int, float], Mechanism],
    formula: Callable[[Mechanism, Floats], Floats],
    *,
    because: str = "",
    mended: Callable[[Mechanism, Floats], Floats] | None = None,
    sizes: tuple[int, ...] = (2, 4),
) -> Check:
    """Compare the expectation of a printed estimator with the frequencies.

    Parameters
    ----------
    make : callable
        The mechanism of k and ε.
    formula, mended : callable
        The printed and the mended estimate from a mechanism and the shares of the reports in its tally. They are
        linear in these, so that the expectation is the estimate from expected shares.
    because : str
        What is wrong.
    sizes : tuple of int
        The numbers of values.
    """

    def check(place: Place) -> Comparison:
        cases = [(make(k, epsilon), p) for k in sizes for epsilon in LEVELS for p in shapes(k)]
        tallies = [expected_tally(one, p) for one, p in cases]
        wanted = np.concatenate([p for _, p in cases])
        found = [
            np.concatenate([rule(one, tally) for (one, _), tally in zip(cases, tallies, strict=True)])
            for rule in (formula, mended)
            if rule is not None
        ]
        words = f"{len(cases)} cases (k in {list(sizes)}, ε 0.1 to 4, three distributions), over all reports"
        return matched(place, found[0], wanted, words, because=because, mended=found[1] if mended else None)

    return check


def rare(
    make: Callable[[int, float], Mechanism],
    formula: Callable[[int, float], float],
    *,
    because: str = "",
    mended: Callable[[int, float], float] | None = None,
    sizes: tuple[int, ...] = SIZES,
) -> Check:
    """Compare a printed variance with that of a value that nobody has."""

    def check(place: Place) -> Comparison:
        cases = [(k, epsilon) for k in sizes for epsilon in LEVELS]
        exact = [rare_variance(make(k, epsilon)) for k, epsilon in cases]
        printed = [formula(k, epsilon) for k, epsilon in cases]
        other = [mended(k, epsilon) for k, epsilon in cases] if mended else None
        words = f"{len(cases)} pairs of k ({sizes[0]} to {sizes[-1]}) and ε (0.1 to 4), for a value that nobody has"
        return matched(place, printed, exact, words, because=because, mended=other)

    return check


def grr_variance(k: int, epsilon: float) -> float:
    """Return Eq. 19."""
    return (math.exp(epsilon) + k - 2) / math.expm1(epsilon) ** 2


def sue_variance(_k: int, epsilon: float) -> float:
    """Return Eq. 27."""
    return math.exp(epsilon / 2) / math.expm1(epsilon / 2) ** 2


def oue_variance(_k: int, epsilon: float) -> float:
    """Return Eq. 29, which is also Eq. 43 and what Eq. 47 gives."""
    return 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2


def lh_variance(symbols: float, epsilon: float) -> float:
    """Return Eq. 39."""
    return (math.exp(epsilon) + symbols - 1) ** 2 / ((symbols - 1) * math.expm1(epsilon) ** 2)


def blh_variance(_k: int, epsilon: float) -> float:
    """Return Eq. 42."""
    return lh_variance(2, epsilon)


def whole_symbols(epsilon: float) -> int:
    """Return ⌊e^ε + 1⌋, the number of symbols of OLH in practice."""
    return math.floor(math.exp(epsilon) + 1)


def hrr_variance(_k: int, epsilon: float) -> float:
    """Return the variance of HRR and of S-Hist with orthogonal columns, for a value that nobody has."""
    return (math.exp(epsilon) + 1) ** 2 / math.expm1(epsilon) ** 2
