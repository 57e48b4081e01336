"""Kairouz, Bonawitz & Ramage, Propositions 1 and 5 and Theorem 2: which mechanism is good where."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.conformance.enumeration import exact_channel
from ldpstats.mechanisms import GRR, REGISTRY, RR, SUE, Mechanism
from ldpstats.pictures.colours import BLUE, VERMILLION
from papers.comparisons import NOT_TESTED, Comparison, stated
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import Floats, claimed
from papers.kairouz.risks import absolute_error, places_of, squared_error, uniform

# Proposition 1


def _best_risks(k: int, epsilon: float, n: int) -> tuple[float, float, float]:
    """Return the worst-case squared risk, a bound of the absolute one, and the absolute one at equal frequencies.

    Of k-RAPPOR, or of guessing that all values are equally frequent if that is better. E ℓ1 ≤ √(k E ℓ2²).
    """
    sue = SUE(k, epsilon)
    squared = squared_error(sue, uniform(k)) / n
    absolute = absolute_error(sue, uniform(k), n) / math.sqrt(n)
    guess = 1 - 1 / k
    return min(squared, guess), min(math.sqrt(k * squared), 2 * guess), min(absolute, 2 * guess)


def _proposition_1(_effort: Effort) -> Measured:
    rows = []
    for k in (2, 4, 16, 256, 4096):
        for epsilon in (0.01, 0.1, 0.3, 1.0):
            for n in (10**2, 10**4, 10**6, 10**9):
                squared, most, absolute = _best_risks(k, epsilon, n)
                size = n * epsilon**2
                upper, lower = min(1, k / size), min(1, 1 / math.sqrt(size), k / size)
                bound = min(1, k / math.sqrt(size))
                rows.append([squared / upper, most / bound, squared / lower, absolute / bound])
    found, places = np.array(rows), places_of("kairouz-2016-proposition-1")
    words = "k-RAPPOR, or a guess of equal frequencies, has at most {:.3g} times this"
    above = [
        claimed(place, words.format(one), holds=one < 5, unless="It has more risk than the bound.")
        for place, one in zip(places[:2], found[:, :2].max(axis=0), strict=True)
    ]
    words = "not contradicted: k-RAPPOR, or a guess of equal frequencies, has at least {:.3g} times this"
    reason = "A bound for all mechanisms cannot be measured: it is only seen that these two do not fall below it."
    below = [
        Comparison(*place, words.format(one), NOT_TESTED, reason)
        if one > 0.1
        else stated(place, words.format(one), holds=False, because="They have less risk than a tenth of it.")
        for place, one in zip(places[2:], found[:, 2:].min(axis=0), strict=True)
    ]
    return Measured([*above, *below])


# Theorem 2


def _least_entry(channel: Floats, epsilon: float) -> float:
    """Return the least entry of the W with channel = W-RR W, where columns are scaled to sum to one."""
    warner = np.array([[math.exp(epsilon), 1], [1, math.exp(epsilon)]]) / (math.exp(epsilon) + 1)
    through: Floats = np.linalg.solve(warner, channel / channel.sum(axis=0))
    return float(through.min())


def _random_channel(rng: np.random.Generator, epsilon: float) -> Floats:
    """Return a random channel of two inputs at exactly this level.

    Every channel is a mixture of outputs whose likelihood ratios lie in [e^-ε, e^ε], balanced so that rows sum to one.
    """
    ratios = np.exp(rng.uniform(-epsilon, epsilon, rng.integers(0, 5)))
    ratios = np.append(ratios, [math.exp(epsilon), math.exp(-epsilon)])
    first = np.append(rng.exponential(size=len(ratios) - 2), [0.0, 0.0])
    second = first * ratios
    gap = second.sum() - first.sum()
    # the last two outputs close the gap between the sums of the rows
    extra = rng.exponential() + abs(gap)
    high, low = np.linalg.solve([[1, 1], [math.exp(epsilon), math.exp(-epsilon)]], [extra + gap, extra])
    if min(high, low) < 0:
        return _random_channel(rng, epsilon)
    first[-2:], second[-2:] = (high, low), (high * ratios[-2], low * ratios[-1])
    return np.array([first, second]) / first.sum()


def _theorem_2(effort: Effort) -> Measured:
    rng, places = np.random.default_rng(2), places_of("kairouz-2016-theorem-2")
    levels = rng.uniform(0.05, 5, effort.runs(20_000, 200))
    least = min(_least_entry(_random_channel(rng, epsilon), epsilon) for epsilon in levels)
    binary = [kind(2, epsilon) for kind in REGISTRY if kind.purpose == "one answer" for epsilon in (0.5, 1.0, 3.0)]
    enumerated = min(_least_entry(_matrix(one), one.strict_epsilon()) for one in binary)
    risks = [squared_error(one, p) / squared_error(RR(2, one.epsilon), p) for one in binary for p in _pairs()]
    cases = f"{len(levels)} random channels and {len(binary)} of the package"
    words = f"the least entry of any W is {min(least, enumerated):.0e} for {cases}"
    return Measured(
        [
            claimed(places[0], words, holds=min(least, enumerated) > -1e-9, unless="A channel is no such product."),
            claimed(
                places[1],
                f"E ℓ2² is at least {min(risks):.12g} times that of W-RR in {len(risks)} cases",
                holds=min(risks) > 1 - 1e-9,
                unless="Another mechanism has less risk.",
            ),
        ]
    )


def _pairs() -> list[Floats]:
    return [np.array([1 - share, share]) for share in (0.0, 0.1, 0.5)]


def _matrix(mechanism: Mechanism) -> Floats:
    laws = exact_channel(mechanism)
    reports = sorted({report for law in laws for report in law})
    return np.array([[float(law.get(report, 0)) for report in reports] for law in laws])


# Proposition 5


def _advantage(k: int, epsilon: float) -> float:
    """Return the risk of k-RAPPOR less that of k-RR, n-fold; it is the same for all frequencies."""
    return squared_error(SUE(k, epsilon), uniform(k)) - squared_error(GRR(k, epsilon), uniform(k))


def _crossing(k: int) -> float:
    """Return the level above which k-RR has less squared risk; 0 if it always has."""
    from scipy.optimize import brentq

    low = 1e-3
    return 0.0 if _advantage(k, low) >= 0 else float(brentq(lambda epsilon: _advantage(k, epsilon), low, math.log(k)))


def _proposition_5(_effort: Effort) -> Measured:
    sizes = [*range(2, 17), 32, 64, 100, 128, 256, 512, 1024, 2048, 4096]
    curves = pd.DataFrame(
        [{"k": k, "formula": math.log(k / 2), "crossing": _crossing(k), "ln k": math.log(k)} for k in sizes]
    )
    beyond = [max(math.log(k / 2), 1e-3) + step for k in sizes for step in np.linspace(0, 6, 25)]
    least = min(_advantage(k, epsilon) for k, epsilon in zip(np.repeat(sizes, 25).tolist(), beyond, strict=True))
    one_by_one = [_advantage_of(p, epsilon) for epsilon in (1.0, 2.5) for p in _others(6)]
    holds = least >= 0 and bool(np.all(curves["crossing"] <= curves["formula"])) and min(one_by_one) > 0
    begins = (
        f"at k = 4096 from ε = {curves['crossing'].iloc[-1]:.3g}, where ln(k/2) is {curves['formula'].iloc[-1]:.3g}"
    )
    words = f"in all of {len(beyond)} pairs of k (2 to 4096) and ε; {begins}"
    place = places_of("kairouz-2016-proposition-5")[0]
    return Measured([claimed(place, words, holds=holds, unless="k-RAPPOR has less risk somewhere.")], curves)


def _others(k: int) -> list[Floats]:
    return list(np.random.default_rng(5).dirichlet(np.full(k, 0.5), 50))


def _advantage_of(p: Floats, epsilon: float) -> float:
    return squared_error(SUE(len(p), epsilon), p) - squared_error(GRR(len(p), epsilon), p)


def _draw_proposition_5(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(curves["k"], curves["crossing"], 9, color=BLUE, alpha=0.15, label="k-RR has less squared risk")
    axes.plot(curves["k"], curves["crossing"], "o-", color=BLUE, markersize=3, label="exact: equal risks")
    axes.plot(curves["k"], curves["formula"], "--", color=VERMILLION, label="printed: ln(k/2)")
    axes.set(xscale="log", xlabel="values k", ylabel="ε", ylim=(0, 9), title="k-RR is better long before ε = ln(k/2)")
    axes.legend(loc="upper left")
    return figure


OPTIMALITY = (
    Exhibit(
        "kairouz-2016-proposition-1",
        "Minimax risk of any mechanism for ε up to 1",
        "The upper bounds are attained with constants below the printed one. The lower bounds are about all mechanisms "
        "and name no constant, so that nothing measured can show them: they are not tested. What is measured does not "
        "contradict them.",
        _proposition_1,
    ),
    Exhibit(
        "kairouz-2016-theorem-2",
        "Warner's randomized response is optimal for two values",
        "Whatever channel one takes, it is W-RR followed by a public randomization, so that it tells no more.",
        _theorem_2,
    ),
    Exhibit(
        "kairouz-2016-proposition-5",
        "k-RR has less squared risk than k-RAPPOR from ε = ln(k/2)",
        "It holds for all frequencies, since both risks depend on them alike. The exact border lies lower, and "
        "for up to five values k-RR is better at every ε.",
        _proposition_5,
        _draw_proposition_5,
    ),
)
