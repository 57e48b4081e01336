"""Wang et al. 2020, Section 4: the numbered formulas about means of numeric values, as one exhibit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.optimize import brentq

from ldpstats.pictures.colours import SERIES, UNDECIDED
from papers.comparisons import AGREES, Comparison, compared, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import LEVELS, Place, claimed, matched
from papers.survey.numeric_means import (
    VALUES,
    Duchi,
    Piecewise,
    contrast,
    duchi_variance,
    half_space,
    hybrid_variance,
    piecewise_variance,
    repaired_side,
    worst,
)

_NAME = "wang-2020-mean-formulas"
_ODD, _EVEN = (1, 3, 5, 7), (2, 4, 6)


def laplace_variance(d: int, epsilon: float) -> float:
    """Return the variance of one of d values with Laplace noise, by integration of the printed density."""
    scale = 2 * d / epsilon
    integral, _ = quad(lambda x: x**2 * math.exp(-x), 0, 60, epsabs=1e-13, epsrel=1e-13)
    return float(integral * scale**2)


def _laplace(place: Place) -> Comparison:
    cases = [(d, epsilon) for d in (1, 2, 10) for epsilon in LEVELS]
    printed = [8 * d**2 / epsilon**2 for d, epsilon in cases]
    return matched(place, printed, [laplace_variance(*one) for one in cases], f"{len(cases)} pairs of d and ε")


def _printed_bound(d: int, epsilon: float, ways: int) -> float:
    return (2**d + half_space(d) * math.expm1(epsilon)) / (ways * math.expm1(epsilon)) if ways else math.inf


def _bound(place: Place, sizes: tuple[int, ...]) -> Comparison:
    cases = [(d, epsilon) for d in sizes for epsilon in LEVELS]
    # unbiased: B times the expected coordinate of the corner sent is the coordinate of the discretized value
    exact = [1 / Duchi(d, repaired_side(d, epsilon)).gain() for d, epsilon in cases]
    even = sizes == _EVEN
    printed = [_printed_bound(d, epsilon, math.comb(d - 1, d // 2 if even else 2)) for d, epsilon in cases]
    mended = [_printed_bound(d, epsilon, math.comb(d - 1, d // 2)) for d, epsilon in cases]
    because = (
        "The binomial must be C(d - 1, (d - 1) / 2); only for d = 5 it is the one printed, and for d = 1 that is 0."
    )
    return matched(place, printed, exact, f"d in {list(sizes)}, ε 0.1 to 4", because=because, mended=mended)


def _half_space(place: Place) -> Comparison:
    exact = [np.sum(Duchi(d, 0.5).corners().sum(axis=1) > 0) for d in range(1, 9)]
    cases = "d = 1 to 8: the number of corners on the value's side"
    return matched(place, [half_space(d) for d in range(1, 9)], exact, cases)


def _discretized(place: Place) -> Comparison:
    means = [(1 / 2 + value / 2) - (1 / 2 - value / 2) for value in VALUES]
    return matched(place, means, VALUES, "41 values: the expectation")


def _even_level(place: Place) -> Comparison:
    cases = [(d, epsilon) for d in _EVEN for epsilon in LEVELS]
    sides = [math.exp(epsilon) / (math.exp(epsilon) + 1) for _, epsilon in cases]
    excess = [Duchi(d, side).level() - epsilon for (d, epsilon), side in zip(cases, sides, strict=True)]
    words = f"the exact level is above ε by {min(excess):.3g} (d = 6) to {max(excess):.3g} (d = 2, ln 3)"
    return claimed(place, words, holds=min(excess) > 1e-9, unless="The level is ε.")


def _repaired(place: Place) -> Comparison:
    cases = [(d, epsilon) for d in range(1, 8) for epsilon in LEVELS]
    levels = [Duchi(d, repaired_side(d, epsilon)).level() for d, epsilon in cases]
    return matched(place, [epsilon for _, epsilon in cases], levels, f"d = 1 to 7, {len(LEVELS)} ε: the exact level")


def _harmony(place: Place) -> Comparison:
    means, levels = [], []
    for epsilon in LEVELS:
        e, size = math.exp(epsilon), contrast(epsilon)
        up = (VALUES * (e - 1) + e + 1) / (2 * (e + 1))
        means.append(up * size - (1 - up) * size)
        levels.append(math.log(up.max() / up.min()))
    # the factor d and the chance 1/d that an attribute is drawn cancel
    wanted = [*np.tile(VALUES, len(LEVELS)), *LEVELS]
    return matched(
        place, [*np.concatenate(means), *levels], wanted, f"the mean at 41 values, and the level, {len(LEVELS)} ε"
    )


def _density(place: Place) -> Comparison:
    found = np.array([Piecewise(epsilon).moments(value)[:2] for epsilon in LEVELS for value in VALUES])
    wanted = np.array([[1.0, value] for _ in LEVELS for value in VALUES])
    return matched(place, found, wanted, f"its integral and its mean at 41 values, {len(LEVELS)} ε")


def worst_case(
    variance: Callable[[float, float], float], formula: Callable[[float], float]
) -> Callable[[Place], Comparison]:
    """Compare a printed variance with the largest one of all values."""

    def check(place: Place) -> Comparison:
        exact = [worst(variance, epsilon) for epsilon in LEVELS]
        printed, cases = [formula(epsilon) for epsilon in LEVELS], f"{len(LEVELS)} ε, for the worst value"
        judged = matched(place, printed, exact, cases, because="The worst value has another variance.")
        shares = [variance(float(v), epsilon) / worst(variance, epsilon) for v in VALUES for epsilon in LEVELS]
        note = f"By the value, the exact variance is {min(shares):.2g} to 1 times that." if min(shares) < 0.99 else ""
        return claimed(place, str(judged.ours), holds=judged.verdict == AGREES, unless=judged.because, note=note)

    return check


def pm_variance(epsilon: float) -> float:
    """Return the printed variance of PM."""
    return 4 * math.exp(epsilon / 2) / (3 * math.expm1(epsilon / 2) ** 2)


def printed_duchi(epsilon: float) -> float:
    """Return the printed variance of Duchi et al."""
    return (math.exp(epsilon) + 1) ** 2 / math.expm1(epsilon) ** 2


def hm_variance(epsilon: float) -> float:
    """Return the first part of Eq. 63."""
    half = math.exp(epsilon / 2)
    return (half + 3) / (3 * half * (half - 1)) + printed_duchi(epsilon) / half


def _equal(place: Place, first: Callable[[float, float], float]) -> Comparison:
    def difference(epsilon: float) -> float:
        return worst(first, epsilon) - worst(duchi_variance, epsilon)

    return compared(place, float(brentq(difference, 0.1, 4)), 0.0, because="Here the worst variances are equal.")


def _sent(place: Place) -> Comparison:
    levels = np.linspace(0.01, 4.999, 500)
    most = max(max(1, min(d, math.floor(epsilon / 2.5))) for d in (1, 5, 50) for epsilon in levels)
    return claimed(place, f"at most {most} for ε < 5", holds=most == 1, unless="It is more.")


_WIDE = np.linspace(0.02, 20, 500)


def _below_laplace(place: Place) -> Comparison:
    most = max(pm_variance(epsilon) / laplace_variance(1, epsilon) for epsilon in _WIDE)
    words = f"at most {most:.3g} times that of Laplace, for ε 0.02 to 20 and d = 1"
    return claimed(place, words, holds=most < 1, unless="It is larger somewhere.")


def _always_smaller(place: Place) -> Comparison:
    def ratio(epsilon: float) -> float:
        mixed = worst(hybrid_variance if epsilon > 0.61 else duchi_variance, epsilon)
        return mixed / min(pm_variance(epsilon), printed_duchi(epsilon), laplace_variance(1, epsilon))

    above, below = (max(ratio(e) for e in levels) for levels in (_WIDE[_WIDE > 0.62], _WIDE[_WIDE <= 0.61]))
    words = f"at most {above:.5g} times the least of the others for ε from 0.62 to 20, {below:.5g} times for ε ≤ 0.61"
    because = "For ε ≤ 0.61 it is Duchi et al.'s mechanism, whose variance it has: there it is not smaller, but equal."
    return claimed(place, words, holds=max(above, below) < 1 - 1e-9, unless=because)


def _one_bit(place: Place) -> Comparison:
    found, wanted = [], []
    for epsilon in LEVELS:
        e, shares = math.exp(epsilon), np.linspace(0, 1, 21)
        one = 1 / (e + 1) + shares * (e - 1) / (e + 1)
        found += [*((one * (e + 1) - 1) / (e - 1)), math.log(one.max() / one.min())]
        wanted += [*shares, epsilon]
    return matched(place, found, wanted, f"the mean at 21 values (r = 1), and the level, {len(LEVELS)} ε")


_CHECKS: dict[tuple[str, str], Callable[[Place], Comparison]] = {
    ("Laplace", "variance of one value"): _laplace,
    ("Duchi et al., d odd", "B"): lambda place: _bound(place, _ODD),
    ("Duchi et al., d even", "B"): lambda place: _bound(place, _EVEN),
    ("Duchi et al.", "C_d"): _half_space,
    ("Duchi et al.", "discretized value"): _discretized,
    ("Duchi et al., d even", "statement"): _even_level,
    ("Duchi et al.", "P[u = 1]"): _repaired,
    ("Harmony", "P[v̂ = x]"): _harmony,
    ("PM", "density"): _density,
    ("PM", "variance"): worst_case(piecewise_variance, pm_variance),
    ("Duchi et al.", "variance"): worst_case(duchi_variance, printed_duchi),
    ("PM has less variance than Duchi et al.", "ε above"): lambda place: _equal(place, piecewise_variance),
    ("PM", "attributes sent"): _sent,
    ("PM", "statement"): _below_laplace,
    ("HM for ε > 0.61", "variance"): worst_case(hybrid_variance, hm_variance),
    ("HM for ε ≤ 0.61", "variance"): worst_case(duchi_variance, printed_duchi),
    ("HM: both parts are equal", "ε"): lambda place: _equal(place, hybrid_variance),
    ("HM", "statement"): _always_smaller,
    ("1BitMean", "estimator"): _one_bit,
}


def _measure(_effort: Effort) -> Measured:
    places = [(source, row, column, printed) for source, row, column, printed in printed_figures(_NAME).to_numpy()]
    comparisons = [_CHECKS[place[1], place[2]](place) for place in places]
    curves = [
        {"d": d, "epsilon": epsilon, "ratio": exact / _printed_bound(d, epsilon, math.comb(d - 1, 2))}
        for d in (3, 5, 7, 9)
        for epsilon in np.linspace(0.2, 4, 20).tolist()
        for exact in [1 / Duchi(d, repaired_side(d, epsilon)).gain()]
    ]
    return Measured(comparisons, pd.DataFrame(curves))


def _draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    ratios = curves.groupby("d")["ratio"].mean()
    axes.bar([str(d) for d in ratios.index], ratios, color=SERIES[0], width=0.5)
    axes.axhline(1, color=UNDECIDED, linestyle="--")
    title = "Eq. 57 prints C(d - 1, 2) for C(d - 1, (d - 1)/2)"
    axes.set(xlabel="attributes d (odd)", ylabel="exact B / printed B", title=title)
    return figure


MEAN_FORMULAS = Exhibit(
    _NAME,
    "Numbered formulas of Section 4 about means of numeric values",
    "The package is about categories, so that these mechanisms stand here alone, as exact laws. All formulas hold but "
    "two: Eq. 57 has a wrong binomial for an odd number of attributes, and at small ε HM is not better than "
    "Duchi et al.'s mechanism, because it is that mechanism. Variances are those of the worst value.",
    _measure,
    _draw,
)
