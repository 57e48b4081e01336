"""Kairouz, Bonawitz & Ramage, Section 4.3: how many respondents randomization costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.conformance.enumeration import exact_channel
from ldpstats.mechanisms import GRR, SUE, Mechanism
from ldpstats.pictures.colours import BLUE, VERMILLION
from papers.comparisons import Comparison
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import Place, claimed, deviation
from papers.kairouz.risks import absolute_error, places_of, squared_error, uniform

_MANY = tuple(2**power for power in range(1, 13))


def _factor(mechanism: Mechanism, loss: int) -> float:
    """Return how many times as many respondents it takes, at equal frequencies, as without randomization."""
    k, n = mechanism.k, 10**14
    if loss == 1:
        return absolute_error(mechanism, uniform(k), n) ** 2 / (2 * (k - 1) / math.pi)
    return squared_error(mechanism, uniform(k)) / (1 - 1 / k)


def _in_the_limit(place: Place, near: list[float], limit: str, off: float, note: str) -> Comparison:
    words = "respondents needed / claimed: " + ", ".join(f"{one:.4g}" for one in near) + f" ({limit})"
    return claimed(
        place,
        words,
        holds=abs(near[-1] - 1) < off and abs(near[-2] - 1) < off,
        unless="The ratio does not go to one.",
        note=note,
    )


def _small_level(place: Place, kind: type[GRR] | type[SUE], power: int, times: int) -> Comparison:
    level = 1e-3
    sizes, limit = (16, 4096), "ℓ2² and ℓ1 at k = 16, then at k = 4096; ε = 0.001"
    near = [_factor(kind(k, level), loss) * level**2 / (times * k**power) for k in sizes for loss in (0, 1)]
    return _in_the_limit(place, near, limit, 0.01, "It is exact for many values: the factor k / (k - 1) is left out.")


def _level_of_size(place: Place, kind: type[GRR] | type[SUE], power: float, times: int) -> Comparison:
    sizes, limit = (16, 4096, 2**20), "ℓ2² and ℓ1 at k = 16, then at 4096 and 2^20; ε = ln k"
    near = [_factor(kind(k, math.log(k)), loss) / (times * k**power) for k in sizes for loss in (0, 1)]
    return _in_the_limit(place, near, limit, 0.01, "It is so for many values.")


def _of_order(place: Place, kind: type[GRR] | type[SUE], *, wanted: bool) -> Comparison:
    worst = [
        max(squared_error(kind(k, epsilon), uniform(k)) * epsilon**2 / k for epsilon in (0.1, 0.5, 1.0)) for k in _MANY
    ]
    words = f"n ε² / k times the squared risk is at most {max(worst[:4]):.3g} for k ≤ 16, {max(worst):.3g} for k ≤ 4096"
    return claimed(place, words, holds=(max(worst) < 5) == wanted, unless="It grows with k otherwise than stated.")


def _section(_effort: Effort) -> Measured:
    places = places_of("kairouz-2016-section-4-3")
    truths = [float(exact_channel(GRR(k, math.log(k)))[0][b"\0"]) for k in (2, 4, 16, 64)]
    # the probability is k / (2k - 1): one half for many values
    exact = [k / (2 * k - 1) for k in (2, 4, 16, 64)]
    off = deviation(truths, exact)
    words = f"k / (2k - 1) up to {off:.0e}: " + ", ".join(f"{one:.3f}" for one in truths) + " for k = 2, 4, 16, 64"
    return Measured(
        [
            _small_level(places[0], GRR, 2, 1),
            _level_of_size(places[1], GRR, 0, 4),
            claimed(
                places[2],
                words,
                holds=off < 1e-9,
                unless="It is another number.",
                note="It is one half for many values.",
            ),
            _small_level(places[3], SUE, 1, 4),
            _level_of_size(places[4], SUE, 0.5, 1),
            _of_order(places[5], GRR, wanted=False),
            _of_order(places[6], SUE, wanted=True),
        ],
        pd.DataFrame(
            [
                {"k": k, "epsilon": epsilon, "kind": kind, "factor": _factor(make(k, epsilon), 0)}
                for k in (16, 1024)
                for kind, make in (("k-RR", GRR), ("k-RAPPOR", SUE))
                for epsilon in np.geomspace(0.05, 12, 40).tolist()
            ]
        ),
    )


def _draw_section(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, k in zip(figure.subplots(1, 2, sharey=True), (16, 1024), strict=True):
        claims = {"k-RR": (BLUE, k**2, 4), "k-RAPPOR": (VERMILLION, 4 * k, math.sqrt(k))}
        for kind, (colour, small, middle) in claims.items():
            curve = curves[(curves["k"] == k) & (curves["kind"] == kind)]
            axes.plot(curve["epsilon"], curve["factor"], color=colour, label=f"{kind}, exact")
            low = np.array([0.05, 0.5])
            axes.plot(low, small / low**2, "--", color=colour, linewidth=2.5, alpha=0.5, label=f"{kind}, printed")
            axes.plot(
                math.log(k), middle, "s", color=colour, markerfacecolor="none", label=f"{kind}, printed at ε = ln k"
            )
        axes.set(xscale="log", yscale="log", xlabel="ε", title=f"k = {k}")
    figure.axes[0].set_ylabel("respondents needed, relative to no privacy")
    figure.axes[1].legend(fontsize="small")
    return figure


SECTION_4_3 = Exhibit(
    "kairouz-2016-section-4-3",
    "Effective sample sizes of k-RR and k-RAPPOR",
    "All statements hold for many values, as they are meant; with few the factors left out show.",
    _section,
    _draw_section,
)
