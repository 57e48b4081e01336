"""Wang et al. 2020, Section 3.1.3: RAPPOR, cohorts and local hashing."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from ldpstats.mechanisms import BLH, LH, ORR, RAPPOR, UE
from papers.comparisons import Comparison
from papers.formulas import LEVELS, Floats, Place, claimed, matched, shapes
from papers.survey.oracle_checks import Check, blh_variance, estimator, lh_variance, oue_variance, rare, whole_symbols
from papers.survey.supports import channel_of, expected_tally, rare_variance


def _basic_rappor(place: Place) -> Comparison:
    shares = (0.1, 0.3, 0.5, 0.8)
    printed = [2 * math.log((1 - r / 2) / (r / 2)) for r in shares]
    exact = [UE.from_probabilities(4, 1 - r / 2, r / 2).strict_epsilon() for r in shares]
    return matched(place, printed, exact, f"{len(shares)} values of r: the exact level of the permanent bits")


def _rappor(place: Place) -> Comparison:
    printed, exact = [], []
    for hashes in (1, 2, 3):
        for epsilon in LEVELS:
            one = RAPPOR(40, epsilon, bits=64, hashes=hashes)
            flip = one.flip / 2**64
            printed.append(2 * hashes * math.log((1 - flip) / flip))
            exact.append(one.strict_epsilon())
    return matched(place, printed, exact, f"{len(printed)} filters of 64 bits, m = 1 to 3: the exact level")


def _eq_33(place: Place) -> Comparison:
    printed, exact = [], []
    for epsilon in LEVELS:
        one = ORR(5, epsilon, symbols=3, cohorts=4)
        probabilities, tallies = channel_of(one)
        own = one.codes.single + 3 * np.arange(4)[:, None]
        rows = np.full((5, 12), 1.0)
        rows[np.arange(5), own] = math.exp(epsilon)
        printed.append(rows / (4 * (math.exp(epsilon) + 2)))
        exact.append(probabilities @ tallies)
    return matched(place, np.array(printed), np.array(exact), "300 probabilities of five values in four cohorts")


_LOCAL = [(symbols, epsilon) for symbols in (2, 3, 5) for epsilon in LEVELS]


def _eq_36(place: Place) -> Comparison:
    printed, exact = [], []
    for symbols, epsilon in _LOCAL:
        probabilities, tallies = channel_of(LH(3, epsilon, symbols=symbols))
        supported = probabilities @ tallies
        printed.append([math.exp(epsilon) / (math.exp(epsilon) + symbols - 1), 1 / symbols])
        exact.append([supported[0, 0], supported[0, 1]])
    return matched(
        place, np.array(printed), np.array(exact), f"{len(_LOCAL)} pairs of g and ε, over all hash functions"
    )


def _lh_estimate(symbols: float, epsilon: float, shares: Floats) -> Floats:
    e = math.exp(epsilon)
    return (symbols * shares - 1) * (e + symbols - 1) / (symbols * e - e - symbols + 1)


def _eq_39(place: Place) -> Comparison:
    exact = [rare_variance(LH(16, epsilon, symbols=symbols)) for symbols, epsilon in _LOCAL]
    printed = [lh_variance(symbols, epsilon) for symbols, epsilon in _LOCAL]
    return matched(place, printed, exact, f"{len(_LOCAL)} pairs of g and ε, for a value that nobody has")


def _best_symbols(place: Place) -> Comparison:
    best = [
        minimize_scalar(lh_variance, bounds=(1.01, 200), args=(epsilon,), method="bounded", options={"xatol": 1e-10}).x
        for epsilon in LEVELS
    ]
    off = max(abs(one / (math.exp(epsilon) + 1) - 1) for one, epsilon in zip(best, LEVELS, strict=True))
    levels = np.arange(0.05, 5, 0.05)
    whole = [min(range(2, 400), key=lambda g, epsilon=epsilon: lh_variance(g, epsilon)) for epsilon in levels]
    lost = [lh_variance(whole_symbols(e), e) / lh_variance(g, e) - 1 for g, e in zip(whole, levels, strict=True)]
    words = (
        f"the numerical minimum is at this g up to {off:.0e} of it; rounding down costs up to {max(lost):.2%} variance"
    )
    note = "Of the two whole numbers around it, the lower one is not always the better."
    return claimed(place, words, holds=off < 1e-6, unless="The minimum is elsewhere.", note=note)


def rounded_olh(k: int, epsilon: float) -> LH:
    """Return OLH with the number of symbols that the paper has in practice."""
    return LH(k, epsilon, symbols=whole_symbols(epsilon))


_WHOLE = "It is right for g = e^ε + 1, which is no whole number; with g rounded down {}."
_LOW_LEVELS = (0.1, 0.5, 1.0)


def printed_olh(epsilon: float, shares: Floats) -> Floats:
    """Return the estimate of Section 3.1.3, from the shares of reports that support each value."""
    return 2 * (whole_symbols(epsilon) * shares - 1) / math.expm1(epsilon)


def _olh_estimator(place: Place) -> Comparison:
    printed, mended, wanted = [], [], []
    for epsilon in _LOW_LEVELS:
        one, symbols = rounded_olh(3, epsilon), whole_symbols(epsilon)
        for p in shapes(3):
            shares = expected_tally(one, p)
            printed.append(printed_olh(epsilon, shares))
            mended.append(_lh_estimate(symbols, epsilon, shares))
            wanted.append(p)
    because = _WHOLE.format("it needs Eq. 38")
    return matched(place, np.array(printed), np.array(wanted), "ε 0.1 to 1", because=because, mended=np.array(mended))


HASHING: dict[tuple[str, str, str], Check] = {
    ("Section 3.1.3", "Basic RAPPOR", "level"): _basic_rappor,
    ("Section 3.1.3", "RAPPOR with m hash functions", "level"): _rappor,
    ("Eq. 33", "O-RR", "probability"): _eq_33,
    ("Eq. 36", "LH", "parameters"): _eq_36,
    ("Eq. 38", "LH", "estimator"): estimator(
        lambda k, epsilon: LH(k, epsilon, symbols=3), lambda one, shares: _lh_estimate(3, one.epsilon, shares)
    ),
    ("Eq. 39", "LH", "variance"): _eq_39,
    ("Eq. 41", "BLH", "estimator"): estimator(BLH, lambda one, shares: _lh_estimate(2, one.epsilon, shares)),
    ("Eq. 42", "BLH", "variance"): rare(BLH, blh_variance),
    ("Section 3.1.3", "OLH", "parameters"): _best_symbols,
    ("Section 3.1.3", "OLH", "estimator"): _olh_estimator,
    ("Eq. 43", "OLH", "variance"): rare(
        rounded_olh,
        oue_variance,
        because=_WHOLE.format("the variance is that of Eq. 39"),
        mended=lambda _, epsilon: lh_variance(whole_symbols(epsilon), epsilon),
    ),
}
