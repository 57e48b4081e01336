"""Wang et al. 2020, Sections 2 to 3.1.2: direct perturbation and unary encoding."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from ldpstats.mechanisms import BLH, GRR, OLH, OUE, RR, SUE, UE, Mechanism
from papers.comparisons import Comparison
from papers.formulas import LEVELS, Floats, Place, claimed, matched, shapes
from papers.survey.oracle_checks import GRID, Check, estimator, grr_variance, oue_variance, rare, sue_variance
from papers.survey.supports import own_and_other, rare_variance


def _eq_4(one: Mechanism, shares: Floats) -> Floats:
    p = math.exp(one.epsilon) / (math.exp(one.epsilon) + 1)
    return (p - 1) / (2 * p - 1) + shares / (2 * p - 1)


def _eq_13(place: Place) -> Comparison:
    printed, exact = [], []
    for k, epsilon in GRID:
        for one in (GRR(k, epsilon), SUE(k, epsilon), OUE(k, epsilon), BLH(k, epsilon), OLH(k, epsilon)):
            (p, q), frequencies = own_and_other(one), shapes(k)[2]
            printed.append(q * (1 - q) / (p - q) ** 2 + frequencies * (1 - p - q) / (p - q))
            exact.append(one.noise.variance(frequencies) - frequencies * (1 - frequencies))
    cases = f"{len(printed)} cases (GRR, SUE, OUE, BLH, OLH); random respondents add f (1 - f) / N"
    return matched(place, np.concatenate(printed), np.concatenate(exact), cases)


def _eq_14(place: Place) -> Comparison:
    ones = [SUE(k, epsilon) for k, epsilon in GRID] + [RR(2, epsilon) for epsilon in LEVELS]
    sums = [sum(own_and_other(one)) for one in ones]
    exact = [np.ptp(one.noise.variance(p) - p * (1 - p)) for one in ones for p in shapes(one.k)]
    words = f"p + q = 1 up to {max(abs(one - 1) for one in sums):.0e}, and the variance given the respondents' values"
    return claimed(
        place,
        f"{words} varies by {max(exact):.0e} with the frequency (SUE and RR)",
        holds=max(exact) < 1e-9,
        unless="The variance depends on the frequency.",
    )


def _eq_18(one: Mechanism, shares: Floats) -> Floats:
    total = math.exp(one.epsilon) + one.k - 1
    return (shares - 1 / total) * total / math.expm1(one.epsilon)


def _eq_21(one: Mechanism, shares: Floats) -> Floats:
    p, q = own_and_other(one)
    return (shares - q) / (p - q)


def _ue(k: int, epsilon: float, q: float) -> UE:
    """Return unary encoding with the p of Eq. 25."""
    return UE.from_probabilities(k, q * math.exp(epsilon) / (1 - q + q * math.exp(epsilon)), q)


_FLIPS = (0.05, 0.2, 0.4)


def _eq_25(place: Place) -> Comparison:
    levels = [_ue(4, epsilon, q).strict_epsilon() for epsilon in LEVELS for q in _FLIPS]
    wanted = [epsilon for epsilon in LEVELS for _ in _FLIPS]
    return matched(place, wanted, levels, f"{len(levels)} pairs of ε and q: the exact level")


def _eq_26(place: Place) -> Comparison:
    cases = [(epsilon, q) for epsilon in LEVELS for q in _FLIPS]
    printed = [_ue_variance(q, epsilon) for epsilon, q in cases]
    exact = [rare_variance(_ue(4, epsilon, q)) for epsilon, q in cases]
    return matched(place, printed, exact, f"{len(cases)} pairs of ε and q, for a value that nobody has")


def _ue_variance(q: float, epsilon: float) -> float:
    return (1 + q * math.expm1(epsilon)) ** 2 / (q * (1 - q) * math.expm1(epsilon) ** 2)


def _eq_28(place: Place) -> Comparison:
    best = [
        minimize_scalar(_ue_variance, bounds=(1e-6, 0.5), args=(epsilon,), method="bounded", options={"xatol": 1e-12}).x
        for epsilon in LEVELS
    ]
    off = max(abs(q * (math.exp(epsilon) + 1) - 1) for q, epsilon in zip(best, LEVELS, strict=True))
    words = f"the numerical minimum is at this q up to {off:.0e} of it, for ε 0.1 to 4"
    return claimed(place, words, holds=off < 1e-6, unless="The minimum is elsewhere.")


DIRECT: dict[tuple[str, str, str], Check] = {
    ("Eq. 4", "RR", "estimator"): estimator(RR, _eq_4, sizes=(2,)),
    ("Eq. 13", "any protocol with p and q", "variance"): _eq_13,
    ("Eq. 14", "any protocol with p and q", "statement"): _eq_14,
    ("Eq. 16", "BRR", "variance"): rare(RR, grr_variance, sizes=(2,)),
    ("Eq. 18", "GRR", "estimator"): estimator(GRR, _eq_18),
    ("Eq. 19", "GRR", "variance"): rare(GRR, grr_variance),
    ("Eq. 21", "UE", "estimator"): estimator(lambda k, epsilon: UE(k, epsilon, keep=0.7), _eq_21),
    ("Eq. 25", "UE", "parameters"): _eq_25,
    ("Eq. 26", "UE", "variance"): _eq_26,
    ("Eq. 27", "SUE", "variance"): rare(SUE, sue_variance),
    ("Eq. 28", "OUE", "parameters"): _eq_28,
    ("Eq. 29", "OUE", "variance"): rare(OUE, oue_variance),
}
