"""Kairouz, Bonawitz & Ramage, Propositions 3 and 4: the risks of k-RR and k-RAPPOR, printed and exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.mechanisms import GRR, SUE, Mechanism
from ldpstats.pictures.colours import SERIES
from papers.comparisons import Comparison, stated
from papers.exhibits import Exhibit, Measured
from papers.formulas import LEVELS, SIZES, Place, claimed, matched, shapes
from papers.kairouz.risks import PRINTED, absolute_error, enumerated_error, places_of, squared_error

Kind = type[GRR] | type[SUE]

_CASES = f"{len(SIZES) * len(LEVELS)} pairs of k (2 to 100) and ε (0.1 to 4), three distributions each"
_ENUMERATED = "and in 18 cases by going through all reports of 1 to 3 respondents (k = 2 and 3)"
_LARGE = 10**8
_LARGE_IS_NEAR = 1e-6
"""The next term of the normal approximation is of order 1/n."""


def risks_at(mechanism: Mechanism) -> tuple[list[float], list[float]]:
    """Return n E ℓ2² as printed and as the channel has it, for the three distributions."""
    printed, _ = PRINTED[type(mechanism)]
    pairs = [(printed(p, mechanism.epsilon), squared_error(mechanism, p)) for p in shapes(mechanism.k)]
    return [one for one, _ in pairs], [one for _, one in pairs]


def squared_loss(place: Place, kind: Kind) -> Comparison:
    """Compare the printed E ℓ2² with the law of noise, and with an enumeration of all reports."""
    printed, exact = np.hstack([risks_at(kind(k, epsilon)) for k in SIZES for epsilon in LEVELS])
    small = [(k, p, n) for k in (2, 3) for p in shapes(k) for n in (1, 2, 3)]
    by_hand = [enumerated_error(kind(k, 1.0), p, n) for k, p, n in small]
    formula = [PRINTED[kind][0](p, 1.0) for _, p, _ in small]
    return matched(place, [*printed, *formula], [*exact, *by_hand], f"{_CASES}, {_ENUMERATED}")


def absolute_loss(place: Place, kind: Kind) -> Comparison:
    """Compare the printed E ℓ1 with the exact one at a large n: "≈" says that their ratio goes to one."""
    ratios = [
        absolute_error(kind(k, epsilon), p, _LARGE) / PRINTED[kind][1](p, epsilon)
        for k in SIZES
        for epsilon in LEVELS
        for p in shapes(k)
    ]
    off = float(np.abs(np.array(ratios) - 1).max())
    words = f"exact / printed differs from 1 by up to {off:.0e} at n = 10^8 in {_CASES}"
    return claimed(place, words, holds=off < _LARGE_IS_NEAR, unless="The ratio does not go to one.")


def most_at_uniform(place: Place, kind: Kind, bound: Callable[[int, float], float], loss: int) -> Comparison:
    """See whether a bound is the value at equal frequencies, and whether random other ones stay below it."""
    rng = np.random.default_rng(1)
    at_uniform, bounds, least_room = [], [], math.inf
    for k in SIZES:
        others = [*rng.dirichlet(np.ones(k), 200), *rng.dirichlet(np.full(k, 0.1), 200), *shapes(k)]
        for epsilon in LEVELS:
            risk = PRINTED[kind][loss]
            bounds.append(bound(k, epsilon))
            at_uniform.append(squared_error(kind(k, epsilon), shapes(k)[0]) if loss == 0 else risk(others[-3], epsilon))
            least_room = min(least_room, *(1 - risk(p, epsilon) / bounds[-1] for p in others))
    cases, reason = f"{len(bounds)} pairs of k and ε at equal frequencies", "It is not the value at equal frequencies."
    judged = matched(place, bounds, at_uniform, cases, because=reason)
    if least_room < -1e-12:
        return stated(place, f"exceeded by {-least_room:.0e}", holds=False, because="Other frequencies have more risk.")
    return stated(
        place, f"{judged.ours}; no more at 403 other distributions", holds=not judged.because, because=judged.because
    )


def _bound_8(k: int, epsilon: float) -> float:
    odds = math.expm1(epsilon)
    return (1 + (k + 2 * odds) / odds**2 * k) * (1 - 1 / k)


def _bound_9(k: int, epsilon: float) -> float:
    return (math.exp(epsilon) + k - 1) / math.expm1(epsilon) * math.sqrt(2 * (k - 1) / math.pi)


def _bound_12(k: int, epsilon: float) -> float:
    return (1 + k**2 * math.exp(epsilon / 2) / ((k - 1) * math.expm1(epsilon / 2) ** 2)) * (1 - 1 / k)


def _bound_13(k: int, epsilon: float) -> float:
    half = math.exp(epsilon / 2)
    inside = (half + k - 1) * (half * (k - 1) + 1) / ((half - 1) ** 2 * (k - 1))
    return math.sqrt(inside) * math.sqrt(2 * (k - 1) / math.pi)


def _measured(name: str, kind: Kind, bounds: tuple[Callable[[int, float], float], ...]) -> Measured:
    places = places_of(name)
    comparisons = [
        squared_loss(places[0], kind),
        absolute_loss(places[1], kind),
        most_at_uniform(places[2], kind, bounds[0], 0),
        most_at_uniform(places[3], kind, bounds[1], 1),
    ]
    return Measured(comparisons, pd.DataFrame([*_squared_curves(kind), *_absolute_curves(kind)]))


def _squared_curves(kind: Kind) -> list[dict[str, Any]]:
    return [
        {"loss": "ℓ2²", "k": k, "x": epsilon, "formula": PRINTED[kind][0](p, epsilon), "exact": exact}
        for k in SIZES
        for epsilon in np.geomspace(0.1, 8, 25).tolist()
        for p, exact in [(shapes(k)[2], squared_error(kind(k, epsilon), shapes(k)[2]))]
    ]


def _absolute_curves(kind: Kind) -> list[dict[str, Any]]:
    return [
        {"loss": "ℓ1", "k": k, "x": n, "formula": PRINTED[kind][1](p, 1.0), "exact": absolute_error(kind(k, 1.0), p, n)}
        for k in SIZES
        for n in [int(10**power) for power in np.arange(1, 8.01, 0.5)]
        for p in [shapes(k)[2]]
    ]


def _draw(name: str) -> Callable[[pd.DataFrame, pd.DataFrame | None], Any]:
    def draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
        from matplotlib.figure import Figure

        assert curves is not None
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, k in enumerate(SIZES):
            squared, absolute = (curves[(curves["loss"] == loss) & (curves["k"] == k)] for loss in ("ℓ2²", "ℓ1"))
            left.plot(squared["x"], squared["formula"], color=SERIES[number], label=f"k = {k}")
            left.plot(squared["x"], squared["exact"], "o", color=SERIES[number], markersize=3)
            right.plot(absolute["x"], absolute["exact"] / absolute["formula"], "o-", color=SERIES[number], markersize=3)
        left.set(
            xscale="log", yscale="log", xlabel="ε", ylabel="n · E ℓ2²", title="Lines: printed formula. Dots: exact"
        )
        right.axhline(1, color="0.5", linewidth=1)
        right.set(
            xscale="log", xlabel="respondents n", ylabel="exact E ℓ1 / printed", title="Right for large n (ε = 1)"
        )
        left.legend(title=name)
        return figure

    return draw


PROPOSITION_3 = Exhibit(
    "kairouz-2016-proposition-3",
    "Risks of k-RR",
    "The squared risk is exact for every number of respondents, and largest at equal frequencies. The absolute risk is "
    "that of a normal approximation: for few respondents it is somewhat off, and the ratio goes to one as stated.",
    lambda _effort: _measured("kairouz-2016-proposition-3", GRR, (_bound_8, _bound_9)),
    _draw("k-RR"),
)
PROPOSITION_4 = Exhibit(
    "kairouz-2016-proposition-4",
    "Risks of k-RAPPOR",
    "k-RAPPOR is SUE here. As for k-RR, the squared risk is exact, and the absolute one right for many respondents.",
    lambda _effort: _measured("kairouz-2016-proposition-4", SUE, (_bound_12, _bound_13)),
    _draw("k-RAPPOR"),
)
