"""Section 3: what the printed parameters of the mechanisms spend and cost, by exact formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.pictures.colours import SERIES
from papers.arcolezi.mechanisms import LEVELS, chained_truth, printed_symbols, published_second_round
from papers.arcolezi.populations import SIZES
from papers.arcolezi.summaries import Place
from papers.comparisons import KEYS, Comparison, printed_figures, stated
from papers.exhibits import Effort, Exhibit, Measured

NAME = "arcolezi-2023-section-3"
_LACKING = (
    "The chain also returns to the true value from each of the k - 1 others, and comes to another one by way of each "
    "of k - 2 further ones; the printed p* and q* lack these terms, so that their p2 adds more noise than ε₁ asks for."
)


def printed_second_round(k: int, level: float) -> float:
    """Return p2 of L-GRR as it is printed for it, for ε∞ = 2 ε₁."""
    lasting, single = math.exp(2 * level), math.exp(level)
    return (lasting * single - 1) / (-k * single + (k - 1) * lasting + single + lasting - 1)


def response_level(symbols: int, level: float) -> float:
    """Return what one report of the published L-GRR spends, exactly."""
    truth = chained_truth(symbols, level)
    return math.log(truth * (symbols - 1) / (1 - truth))


def unary_level(level: float) -> float:
    """Return what one report spends of L-OSUE as it is printed."""
    a, b = math.exp(2 * level), math.exp(level)
    p1, q1, p2 = 0.5, 1 / (a + 1), (a * b - 1) / (a - b + a * b - 1)
    p, q = (bit * p2 + (1 - bit) * (1 - p2) for bit in (p1, q1))
    return math.log(p * (1 - q) / ((1 - p) * q))


def _at_levels(figures: list[float], form: str = ".4g") -> str:
    return (
        f"{', '.join(format(figure, form) for figure in figures)} at ε₁ = {', '.join(f'{level:g}' for level in LEVELS)}"
    )


def _spent(levels: list[float], because: str = "") -> Callable[[Place], Comparison]:
    holds = np.allclose(levels, LEVELS, rtol=1e-9)
    return lambda place: stated(place, _at_levels(levels), holds=holds, because="" if holds else because)


def _olh(place: Place) -> Comparison:
    printed = [math.floor(math.exp(level) + 1) for level in LEVELS]
    best = [ldp.mechanism("olh", k=max(SIZES), epsilon=level).hash_symbols for level in LEVELS]
    ours = f"⌊e^ε + 1⌋ = {printed}, the least variance of a rare value has {best}"
    return stated(place, ours, holds=printed == best, because="e^ε + 1 is to be rounded to the nearest, not down.")


def _ss(place: Place) -> Comparison:
    settings = [(k, level) for k in SIZES for level in LEVELS]
    printed = {(k, level): math.floor(k / (math.exp(level) + 1)) for k, level in settings}
    best = {(k, level): ldp.mechanism("ss", k=k, epsilon=level).omega for k, level in settings}
    none = [f"k = {k}, ε = {level:g}" for (k, level), size in printed.items() if size == 0]
    other = [one for one, size in printed.items() if size and size != best[one]]
    ours = f"ω = 0 at {'; '.join(none)}; another ω has less variance at {len(other)} of {len(settings)} settings"
    because = "The better whole number beside k / (e^ε + 1) is sometimes the one above, and ω is 1 at least."
    return stated(place, ours, holds=not none and not other, because=because)


def _the(place: Place) -> Comparison:
    thresholds = [ldp.mechanism("the", k=2, epsilon=level).threshold for level in LEVELS]
    return stated(place, _at_levels(thresholds).replace("ε₁", "ε"), holds=all(0.5 < one < 1 for one in thresholds))


def _response_p2(place: Place) -> Comparison:
    printed = [printed_second_round(2, level) for level in LEVELS]
    ours = f"p2 = {_at_levels(printed)} for k = 2"
    because = (
        "The last exponent lacks an ε₁, which it has in the p2 that is printed for L-LH; a probability is at most 1."
    )
    return stated(place, ours, holds=max(printed) <= 1, because=because)


def _response_sums(place: Place) -> Comparison:
    p1, q1, p2, q2 = published_second_round(50, 1.0)
    total = p1 * p2 + q1 * q2 + 49 * (p1 * q2 + q1 * p2)
    return stated(
        place, f"p* + (k - 1) q* = {total:.3f} at k = 50, ε₁ = 1", holds=math.isclose(total, 1), because=_LACKING
    )


def _response_spends(place: Place) -> Comparison:
    levels = {k: [response_level(k, level) for level in LEVELS] for k in SIZES}
    ours = "; ".join(f"{_at_levels(spent)} for k = {k}" for k, spent in levels.items())
    return stated(place, ours, holds=np.allclose(list(levels.values()), LEVELS), because=_LACKING)


def _hashing_other(place: Place) -> Comparison:
    symbols = [printed_symbols(level, math.floor) for level in LEVELS]
    others = []
    for g, level in zip(symbols, LEVELS, strict=True):
        p1, _, p2, q2 = published_second_round(g, level)
        others.append(p1 * q2 + p2 / g)
    ours = f"q* = {_at_levels(others)} with g = {symbols}, of reports {_at_levels([1 / g for g in symbols])}"
    because = "A report supports another value with probability 1 / g, whatever the chain."
    return stated(place, ours, holds=np.allclose(others, np.reciprocal(symbols, dtype=float)), because=because)


def _hashing_symbols(place: Place) -> Comparison:
    printed = [printed_symbols(level, math.floor) for level in LEVELS]
    nearest = [printed_symbols(level, round) for level in LEVELS]
    best = [ldp.mechanism("l-olh", k=max(SIZES), epsilon=2 * level).hash_symbols for level in LEVELS]
    ours = f"g = {printed}; rounded to the nearest {nearest}; the least variance at the level ε₁ has {best}"
    because = (
        "It belongs to a p2 that misses ε₁; a report at the level ε₁ does not depend on ε∞, so the best g is OLH's."
    )
    return stated(place, ours, holds=printed == best, because=because)


def _both_versions(place: Place) -> Comparison:
    pairs = {"l-grr": "grr", "l-sue": "sue", "l-osue": "oue", "l-blh": "blh", "l-olh": "olh"}
    apart = max(
        abs(
            ldp.mechanism(chain, k=k, epsilon=2 * level).noise.mean(np.eye(k)[0])
            - ldp.mechanism(once, k=k, epsilon=level).noise.mean(np.eye(k)[0])
        ).max()
        for chain, once in pairs.items()
        for k in SIZES
        for level in LEVELS
    )
    names = ", ".join(f"{chain.upper()} and {once.upper()}" for chain, once in pairs.items())
    ours = f"p* and q* of one report of sound chains and of one collection are {apart:.2g} apart: {names}"
    because = (
        "It holds for sound chains; the printed gains of GRR and L-GRR differ, because the published chain is not."
    )
    return stated(place, ours, holds=apart < 1e-12, because=because)


_FOUND: dict[str, Callable[[Place], Comparison]] = {
    "OLH": _olh,
    "SS": _ss,
    "THE": _the,
    "L-GRR, p2": _response_p2,
    "L-GRR, p* and q*": _response_sums,
    "L-GRR, first report": _response_spends,
    "L-OSUE, first report": _spent([unary_level(level) for level in LEVELS]),
    "L-BLH, first report": _spent([response_level(2, level) for level in LEVELS]),
    "L-OLH, first report": _spent(
        [response_level(printed_symbols(level, math.floor), level) for level in LEVELS],
        "For more than two symbols its rounds are those of L-GRR, which lack terms of the chain.",
    ),
    "L-LH, q*": _hashing_other,
    "L-OLH, g": _hashing_symbols,
    "one-time and longitudinal": _both_versions,
}


def _measure(_: Effort) -> Measured:
    places = printed_figures(NAME)[KEYS].itertuples(index=False, name=None)
    settings = [(k, level) for level in LEVELS for k in range(2, max(SIZES) + 1)]
    curves = [{"k": k, "asked": level, "spent": response_level(k, level)} for k, level in settings]
    return Measured([_FOUND[place[1]](place) for place in places], pd.DataFrame(curves))


def _draw(_: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    for number, (asked, own) in enumerate(curves.groupby("asked")):
        axes.plot(own["k"], own["spent"], color=SERIES[number], label=f"published L-GRR, ε₁ = {asked:g} asked for")
        axes.axhline(asked, color=SERIES[number], linestyle=":")
    axes.set(xlabel="number of values k", ylabel="level of one report", ylim=(0, None), xlim=(2, None))
    axes.set_title("What one report of L-GRR is asked to spend (dotted), and spends (ε∞ = 2 ε₁)", fontsize=11)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.56))
    return figure


_WORDS = """The p* and q* that are printed for L-GRR are right for two values only. Its p2 lacks an ε₁ in an exponent
and can exceed 1; with that restored (as it is printed for L-LH, and in the authors' package) one report spends less
than ε₁, far less where k is large and ε₁ small: it is private enough, but tells less than it might. The matrix that is
printed for updates is not that of the reports, neither of L-GRR nor of L-LH. With sound second rounds one report is
exactly one of GRR, SUE, OUE, BLH or OLH at ε = ε₁, as the paper expects."""

EXHIBITS = (Exhibit(NAME, "Section 3: the printed parameters of the mechanisms", _WORDS, _measure, _draw),)
