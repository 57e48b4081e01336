"""Kairouz, Bonawitz & Ramage, Figures 1 and 2: decoders of k-RR and k-RAPPOR over grids of k and ε."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from ldpstats.pictures.colours import DIVERGING
from papers.comparisons import Comparison
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import Place, claimed
from papers.kairouz.decoding import (
    CLEAR,
    DIRICHLET,
    FEW_LEVELS,
    FEW_SIZES,
    GEOMETRIC,
    K_RAPPOR,
    K_RR,
    LEVELS,
    SIZES,
    SKEWED,
    STEEP,
    better_and_worse,
    chart,
)
from papers.kairouz.risks import places_of

_FEW, _MANY, _USERS = 100, 30_000, (30, 1000, 30_000, 10**6)


def _of_few(populations: list[str], users: tuple[int, ...], elements: int) -> pd.DataFrame:
    pairs = [(population, n) for population in populations for n in users]
    shown = tqdm(pairs, desc="distributions", leave=False)
    return pd.concat([chart(population, n, elements, FEW_SIZES, FEW_LEVELS) for population, n in shown])


# Figure 1


def _figure_1(effort: Effort) -> Measured:
    elements = effort.runs(2**17, 2**9)
    curves = pd.concat([chart(GEOMETRIC, _MANY, elements), chart(STEEP, 10**6, elements)], ignore_index=True)
    others = _of_few([*SKEWED, DIRICHLET], _USERS, effort.runs(2**15, 2**7))
    places = places_of("kairouz-2016-figure-1")
    comparisons = [_projected(place, curves, kind) for place, kind in zip(places[:2], (K_RR, K_RAPPOR), strict=True)]
    comparisons.append(_other_distributions(places[2], others[others["population"] != DIRICHLET]))
    random = others[others["population"] == DIRICHLET]
    comparisons += [_normalized(place, random, kind) for place, kind in zip(places[3:], (K_RR, K_RAPPOR), strict=True)]
    return Measured(comparisons, curves)


def _counts(cells: pd.DataFrame, decoder: str) -> tuple[int, int]:
    return better_and_worse(cells[decoder], cells[f"{decoder}_err"])


def _projected(place: Place, curves: pd.DataFrame, kind: str) -> Comparison:
    cells = curves[(curves["kind"] == kind) & (curves["population"] == GEOMETRIC)]
    reading = curves[(curves["kind"] == kind) & (curves["population"] == STEEP)]
    (better, worse), (as_read_better, as_read_worse) = _counts(cells, "projected"), _counts(reading, "projected")
    words = f"better in {better} of {len(cells)} cells and worse in {worse} (n = 30,000)"
    because = (
        "Where there are so many values that noise hides most of them, normalizing loses less. A geometric "
        f"distribution of mean 5 for every k, and 10^6 users, would give it: better in {as_read_better} cells, worse "
        f"in {as_read_worse}."
    )
    return claimed(place, words, holds=worse == 0, unless=because, explained=as_read_worse == 0)


def _other_distributions(place: Place, cells: pd.DataFrame) -> Comparison:
    shares = cells.assign(worse=cells["projected"] > CLEAR * cells["projected_err"]).groupby("n")["worse"].mean()
    most = ", ".join(f"{share:.0%} for n = {n:,}" for n, share in shares.items())
    words = f"worse than another in {most} of the cells ({len(SKEWED)} distributions, {len(cells)} cells in all)"
    because = "Normalizing loses less in many cells with few users, and with many users where values are many."
    return claimed(place, words, holds=bool(shares.max() == 0), unless=because, explained=False)


def _normalized(place: Place, cells: pd.DataFrame, kind: str) -> Comparison:
    own = cells[cells["kind"] == kind]
    better, worse = _counts(own, "normalized")
    words = f"better in {better} of {len(own)} cells and worse in {worse} (n = 30 to 10^6)"
    because = "It is better in more cells than it is worse, and on average over all; where noise is small it is worse."
    gain = float(own["normalized"].mean())
    return claimed(place, words, holds=worse == 0, unless=because, explained=better > worse and gain < 0)


# Figure 2

_CHARTS = ((GEOMETRIC, _FEW), (GEOMETRIC, _MANY), (DIRICHLET, _FEW), (DIRICHLET, _MANY))


def advantages(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the loss of the best decoder of k-RR less that of the best of k-RAPPOR, a row per cell."""
    places = ["population", "n", "k", "epsilon"]
    first, second = (cells[cells["kind"] == kind].set_index(places) for kind in (K_RR, K_RAPPOR))
    errors = np.hypot(first["loss_err"], second["loss_err"])
    found = pd.DataFrame({"gap": first["loss"] - second["loss"], "err": errors}).reset_index()
    low, high = found["k"] < np.exp(found["epsilon"]), found["k"] >= np.exp(2 * found["epsilon"])
    return found.assign(**{"low privacy": low, "high privacy": high})


def _figure_2(effort: Effort) -> Measured:
    elements = effort.runs(2**18, 2**9)
    shown = tqdm(_CHARTS, desc="charts", leave=False)
    cells = pd.concat([chart(population, n, elements) for population, n in shown], ignore_index=True)
    others = advantages(_of_few(list(SKEWED), (_FEW, _MANY), effort.runs(2**16, 2**7)))
    places, gaps = places_of("kairouz-2016-figure-2"), advantages(cells)
    return Measured(
        [
            _large_and_private(places[0], gaps),
            _low_privacy(places[1], gaps),
            _same_pattern(places[2], others),
            _shrinks(places[3], gaps),
            _mostly_projected(places[4], cells),
        ],
        cells,
    )


def _large_and_private(place: Place, gaps: pd.DataFrame) -> Comparison:
    chosen = gaps[gaps["high privacy"]]
    worse, better = better_and_worse(chosen["gap"], chosen["err"])
    words = f"better in {better} of {len(chosen)} cells with k ≥ e^(2ε) and worse in {worse}, in the four charts"
    note = "That k is large and ε low where k ≥ e^(2ε) is our reading."
    return claimed(place, words, holds=worse == 0, unless=f"k-RR is better in some. {note}", note=note, explained=False)


def _low_privacy(place: Place, gaps: pd.DataFrame) -> Comparison:
    chosen = gaps[gaps["low privacy"]]
    better, worse = better_and_worse(chosen["gap"], chosen["err"])
    words = f"better in {better} of {len(chosen)} cells in the four charts, worse in {worse}"
    return claimed(place, words, holds=worse == 0, unless="k-RAPPOR has less loss in some.", explained=False)


def _same_pattern(place: Place, gaps: pd.DataFrame) -> Comparison:
    low, high = gaps[gaps["low privacy"]], gaps[gaps["high privacy"]]
    better, worse = better_and_worse(low["gap"], low["err"])
    lost, won = better_and_worse(high["gap"], high["err"])
    words = f"k < e^ε: k-RR is better in {better} of {len(low)} cells and worse in {worse}; "
    words += f"k ≥ e^(2ε): k-RAPPOR is better in {won} of {len(high)} and worse in {lost}"
    note = "Eleven distributions, 16 cells each, n = 100 and 30,000."
    holds = worse == 0 and lost == 0
    return claimed(place, words, holds=holds, unless=f"Some cells are otherwise. {note}", note=note, explained=False)


def _shrinks(place: Place, gaps: pd.DataFrame) -> Comparison:
    means = gaps[gaps["low privacy"]].groupby(["population", "n"])["gap"].mean()
    pairs = [(means[name, _FEW], means[name, _MANY]) for name in (GEOMETRIC, DIRICHLET)]
    words = ", ".join(f"{first:.3g} to {second:.3g}" for first, second in pairs)
    words = f"from n = 100 to 30,000 the mean of the cells with k < e^ε goes from {words} (geometric, Dirichlet)"
    return claimed(place, words, holds=all(first < second < 0 for first, second in pairs), unless="It does not.")


def _mostly_projected(place: Place, cells: pd.DataFrame) -> Comparison:
    counts = {name: _counts(own, "projected") for name, own in cells.groupby(["population", "n"])}
    words = ", ".join(f"{better} and {worse} ({name}, n = {n:,})" for (name, n), (better, worse) in counts.items())
    because = "Where noise hides most of the values it is the normalized decoder, as in Figure 1."
    holds = all(better > worse for better, worse in counts.values())
    words = f"clearly better and clearly worse than the best other decoder in {words} of 240 cells each"
    return claimed(place, words, holds=holds, unless=because, explained=False)


# pictures


def _heat(axes: Any, cells: pd.DataFrame, value: str, title: str, limit: float) -> Any:
    grid = cells.pivot_table(index="k", columns="epsilon", values=value).to_numpy()
    image = axes.imshow(grid, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(len(LEVELS)), LEVELS)
    axes.set_yticks(range(len(SIZES)), SIZES)
    # the border k = e^ε, in the places of the cells
    axes.plot([math.log(k) - 1 for k in SIZES], range(len(SIZES)), color="black", linewidth=1.2, label="k = e^ε")
    axes.set(xlim=(-0.5, len(LEVELS) - 0.5), xlabel="ε", ylabel="values k", title=title)
    return image


def _draw_1(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 8), layout="constrained")
    panels = figure.subplots(2, 2)
    for row, (population, n) in zip(panels, ((GEOMETRIC, _MANY), (STEEP, 10**6)), strict=True):
        for axes, kind in zip(row, (K_RR, K_RAPPOR), strict=True):
            cells = curves[(curves["kind"] == kind) & (curves["population"] == population)]
            image = _heat(axes, cells, "projected", f"{kind}, {population},\nn = {n:,}", 0.1)
    label = "ℓ1 of the projected decoder less that of the best other (negative: projecting is better)"
    figure.colorbar(image, ax=panels, label=label, extend="both")
    panels[0, 0].legend(loc="lower left")
    return figure


def _draw_2(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    gaps = advantages(curves)
    figure = Figure(figsize=(9, 8), layout="constrained")
    panels = figure.subplots(2, 2)
    for axes, (population, n) in zip(panels.ravel(), _CHARTS, strict=True):
        cells = gaps[(gaps["population"] == population) & (gaps["n"] == n)]
        image = _heat(axes, cells, "gap", f"{population}, n = {n:,}", 0.5)
    label = "ℓ1 of k-RR less that of k-RAPPOR (negative: k-RR is better)"
    figure.colorbar(image, ax=panels, label=label, extend="both")
    panels[0, 0].legend(loc="lower left")
    return figure


FIGURE_1 = Exhibit(
    "kairouz-2016-figure-1",
    "Which decoder loses least",
    "The figure is a picture, so that what the paper says about it is compared. Rows are powers of two and columns "
    "whole ε, and n is 30,000, which the paper does not say of this figure. Projecting is far better than the raw "
    "estimates of k-RAPPOR; against truncating and renormalizing it loses where values are many.",
    _figure_1,
    _draw_1,
)
FIGURE_2 = Exhibit(
    "kairouz-2016-figure-2",
    "k-RR against k-RAPPOR, each with its best decoder",
    "The figure is a picture, so that what the paper says about it is compared, on a grid of our own. Losses are "
    "distances to the sample's own frequencies, as in the paper.",
    _figure_2,
    _draw_2,
)
