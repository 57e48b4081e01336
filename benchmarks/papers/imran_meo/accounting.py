"""Theorem 4.1, Figure 4 and Equation 6: p and ε, as the paper counts and as the channel has it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats import CentralLaplace, Domain
from ldpstats.mechanisms import FakeResponse, fake_numerators
from ldpstats.pictures.colours import SERIES
from papers.comparisons import Comparison, compared, near
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.findings import Finding, Place, judged_by_row, places

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = (2, 4, 16, 81)
TRUTHS = (0.009, 0.048, 0.095, 0.139, 0.221, 0.295, 0.4, 0.5)
CAPTIONS = {"Table 4": 0.221, "Table 5": 0.295, "Table 6": 0.393}
"""The p whose ε by Equation 6 is that of the caption; the captions have .5, .4 and .5."""
GUARANTEE = (
    "The proof weighs the truth with its frequency in the population, which one respondent's channel does not have; "
    "at the paper's level the channel is only approximately private (delta in the curves)."
)


def _with_uniform_fakes(p: float, cells: int) -> FakeResponse:
    return FakeResponse.telling(p, fake_numerators(np.full(cells, 1 / cells)))


def nominal(p: float) -> float:
    """Return the paper's level, ln(1 / (1 - p))."""
    return -math.log1p(-p)


def _levels() -> pd.DataFrame:
    rows = []
    for p in sorted({*TRUTHS, *np.linspace(0.01, 0.95, 95).round(2).tolist()}):
        own = {cells: _with_uniform_fakes(p, cells) for cells in CELLS}
        rows += [
            (p, cells, nominal(p), one.strict_epsilon(), float(one.delta_at_nominal)) for cells, one in own.items()
        ]
    return pd.DataFrame(rows, columns=["p", "cells", "paper", "strict", "delta"])


def _theorem(_: Effort) -> Measured:
    levels = _levels()
    excess = (levels["strict"] / levels["paper"]).groupby(levels["cells"]).min()
    rare = FakeResponse.telling(0.5, fake_numerators(np.array([0.7, 0.2, 0.1])))
    rarest = math.log1p(0.5 / (0.5 * 0.1))
    grid, asked = np.linspace(-1, 2, 3001), 0.5
    curator = CentralLaplace(Domain({"a": [0, 1], "b": [0, 1, 2]}), epsilon=asked, scale="paper", groups=[("a", "b")])
    converted = np.allclose(1 - np.exp(-levels["paper"]), levels["p"])
    found = {
        "level": Finding(
            "ln(1 + p / ((1 - p) min T)): at least "
            + ", ".join(f"{one:.1f}" for one in excess)
            + f" times as much with uniform fakes over {', '.join(map(str, CELLS))} cells",
            bool((excess <= 1).all()),
            GUARANTEE,
        ),
        "cells": Finding("it grows with them", bool((excess == excess.iloc[0]).all()), GUARANTEE),
        "emitted value": Finding(
            f"the rarest fake decides: {rare.strict_epsilon():.2f} with fakes .7, .2, .1 and p = .5",
            not math.isclose(rare.strict_epsilon(), rarest, rel_tol=1e-9),
            GUARANTEE,
        ),
        "proof": Finding(
            "no number meets it",
            bool(np.any((grid <= 0) & (grid >= 1))),
            "A misprint of 0 <= p <= 1, where ln(1 - p) is not positive.",
        ),
        "Laplace scale": Finding(
            f"it spends {curator.privacy().epsilon:.3f} where {asked:g} is asked for, with six cells",
            math.isclose(curator.privacy().epsilon, asked),
            "A record moves two cells by one each, however many there are: 2 / epsilon is enough for one table.",
        ),
        "Equation 6": Finding("p = 1 - exp(-epsilon) at the paper's level", bool(converted)),
    }
    return Measured(judged_by_row("imran-meo-2024-theorem-4.1", found), levels)


def _both_levels(p: float) -> list[float]:
    """Return the paper's level, and the strict ones over several numbers of cells."""
    return [nominal(p), *(_with_uniform_fakes(p, cells).strict_epsilon() for cells in CELLS)]


def _figure_4(_: Effort) -> Measured:
    levels = _levels()
    curve = Finding(
        "its curve is ln(1 / (1 - p)); the channel's level lies above it",
        bool((levels["strict"] <= levels["paper"]).all()),
        GUARANTEE,
    )
    low = Finding("so does the strict level, of fixed fakes", max(_both_levels(1e-9)) < 1e-6)
    high = Finding("both grow without bound", min(_both_levels(1 - 1e-9)) > 20)
    found = {"curve": curve, "small p": low, "large p": high}
    return Measured(judged_by_row("imran-meo-2024-figure-4", found), levels)


def _draw_figure_4(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, (cells, own) in enumerate(curves.groupby("cells")):
        axes.plot(own["p"], own["strict"], color=SERIES[number], label=f"strict, {cells} cells, uniform fakes")
    paper = curves[curves["cells"] == CELLS[0]]
    axes.plot(paper["p"], paper["paper"], "k--", label="paper: ln(1 / (1 - p))")
    for _, row, _, printed in places("imran-meo-2024-equation-6"):
        if not row.startswith("p of"):
            axes.plot([float(row.split(" = ")[1])], [float(printed)], "kx", markersize=9)
    axes.plot([], [], "kx", label="p and ε in the captions of Tables 4 to 6")
    axes.set(xlabel="p, the probability of the truth", ylabel="ε of one report", ylim=(0, 8))
    axes.set_title("The paper's ε lies below the channel's, its captions below its own curve", fontsize=11)
    axes.legend(loc="upper left", frameon=False)
    return figure


def _equation_6(_: Effort) -> Measured:
    return Measured([_of_equation_6(place) for place in places("imran-meo-2024-equation-6")])


def _of_equation_6(place: Place) -> Comparison:
    source, row, _, _ = place
    last = float(row.split(" = ")[1])
    if row.startswith("p of"):
        ours = -math.expm1(-last)
        if near(place[3], ours):
            return compared(place, ours, because="The paper does not print this epsilon.")
        because = "The paper cuts p to three digits instead of rounding it; it does not print this epsilon."
        return compared(place, ours, reproduced=math.floor(1000 * ours) / 1000, because=because)
    other = CAPTIONS[source.removeprefix("Imran & Meo 2024, ")]
    because = f"By the paper's own Equation 6 the printed epsilon belongs to p = {other:g}, not to {last:g}."
    return compared(place, nominal(last), reproduced=nominal(other), because=because)


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-theorem-4.1",
        "Theorem 4.1: the level of a report",
        "The level of Theorem 4.1 is not one of local differential privacy: it compares an average over the population "
        "with one respondent. The exact level of the channel, computed from its probabilities, is larger for every p "
        "and number of cells, and depends on the rarest fake. The Laplace noise beside RRBA spends far less "
        "than is asked for: its printed scale grows with the number of cells.",
        _theorem,
    ),
    Exhibit(
        "imran-meo-2024-figure-4",
        "Figure 4: p and the privacy budget",
        "The printed curve is Equation 6. Beside it stand the strict levels with uniform fakes; with adapted ones they "
        "are higher, and without bound where a fake becomes impossible.",
        _figure_4,
        _draw_figure_4,
    ),
    Exhibit(
        "imran-meo-2024-equation-6",
        "Equation 6 in the captions: the p and ε that are printed",
        "The values of p in Figure 6 and Section 7.2 follow from Equation 6 and round values of ε. The captions of "
        "Tables 4 to 6 do not: each p stands beside an ε that belongs to a smaller one.",
        _equation_6,
    ),
)
