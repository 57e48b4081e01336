"""Wang et al. 2020, Table 9: mechanisms for means of numeric values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.pictures.colours import SERIES
from papers.comparisons import Comparison, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import Place, claimed
from papers.survey.growth import of_order
from papers.survey.mean_formulas import hm_variance, laplace_variance, pm_variance, printed_duchi, worst_case
from papers.survey.numeric_means import duchi_variance, half_space, hybrid_variance, piecewise_variance, worst

_NAME, _SIZES = "wang-2020-table-9", (2, 8, 64, 512)


def _hybrid(value: float, epsilon: float) -> float:
    return hybrid_variance(value, epsilon) if epsilon > 0.61 else duchi_variance(value, epsilon)


def _printed_hybrid(epsilon: float) -> float:
    return hm_variance(epsilon) if epsilon > 0.61 else printed_duchi(epsilon)


def _laplace(_value: float, epsilon: float) -> float:
    return laplace_variance(1, epsilon)


def _drawn(variance: Callable[[float, float], float]) -> Callable[[int, float], float]:
    """Return the variance of one of d attributes of which one is drawn: d (variance + v²) - v² at the worst v."""

    def of_many(d: int, epsilon: float) -> float:
        return worst(lambda value, level: d * (variance(value, level) + value**2) - value**2, epsilon)

    return of_many


def _duchi_of_many(d: int, epsilon: float) -> float:
    """Return B² of Eq. 57, with the right binomial."""
    odds = math.expm1(epsilon)
    # whole numbers: 2^512 is no double's business
    ratio = (2**d + half_space(d) * odds) / (math.comb(d - 1, d // 2) * odds)
    return float(ratio**2)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: variances for one attribute and for d, and how many attributes are sent.

    Parameters
    ----------
    variance, printed : callable
        For one attribute: exact, of a value and ε; and as printed, of ε.
    of_many : callable
        For one of d attributes, of d and ε.
    sent : callable
        How many of d attributes a report is about, of d and ε.
    """

    variance: Callable[[float, float], float]
    printed: Callable[[float], float]
    of_many: Callable[[int, float], float]
    sent: Callable[[int, float], int]


def _all(d: int, _epsilon: float) -> int:
    return d


def _one(_d: int, _epsilon: float) -> int:
    return 1


def _few(d: int, epsilon: float) -> int:
    return max(1, min(d, math.floor(epsilon / 2.5)))


ROWS: dict[str, Row] = {
    "Laplace": Row(_laplace, lambda epsilon: 8 / epsilon**2, laplace_variance, _all),
    "Duchi et al.": Row(duchi_variance, printed_duchi, _duchi_of_many, _all),
    "Harmony": Row(duchi_variance, printed_duchi, _drawn(duchi_variance), _one),
    "PM": Row(piecewise_variance, pm_variance, _drawn(piecewise_variance), _few),
    "HM": Row(_hybrid, _printed_hybrid, _drawn(_hybrid), _few),
}


def _communication(place: Place, row: Row) -> Comparison:
    found = [row.sent(d, 6.0) for d in _SIZES]
    printed = {"O(d)": _all, "O(1)": _one, "O(m)": _few}[place[3]]
    words = f"about {', '.join(map(str, found))} attributes for d = {', '.join(map(str, _SIZES))} at ε = 6"
    note = "" if row.sent is _all else "Which attributes these are takes log₂ d bits for each."
    same = all(row.sent(d, 6.0) == printed(d, 6.0) for d in _SIZES)
    return claimed(place, words, holds=same, unless="Reports are about another number of attributes.", note=note)


def _error_bound(place: Place, row: Row) -> Comparison:
    found = [0.5 * math.sqrt(row.of_many(d, 0.5) * 2 * math.log(2 * d)) for d in _SIZES]
    power = 1.0 if place[1] == "Laplace" else 0.5
    order = [d**power * math.sqrt(math.log(d)) for d in _SIZES]
    cases = f"d = {', '.join(map(str, _SIZES))} at ε = 0.5"
    return of_order(place, found, order, cases, unless="The largest error grows faster.")


def _measure(_effort: Effort) -> Measured:
    places = [(source, row, column, printed) for source, row, column, printed in printed_figures(_NAME).to_numpy()]
    columns: dict[str, Callable[[Place, Row], Comparison]] = {
        "communication": _communication,
        "error bound": _error_bound,
        "variance (d = 1)": lambda place, row: worst_case(row.variance, row.printed)(place),
    }
    curves = [
        {"row": name, "epsilon": epsilon, "formula": row.printed(epsilon), "exact": worst(row.variance, epsilon)}
        for name, row in ROWS.items()
        for epsilon in np.geomspace(0.2, 8, 30).tolist()
    ]
    return Measured([columns[place[2]](place, ROWS[place[1]]) for place in places], pd.DataFrame(curves))


def _draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(ROWS):
        curve = curves[curves["row"] == name]
        line = "--" if name == "Harmony" else "-"
        axes.plot(curve["epsilon"], curve["formula"], line, color=SERIES[number], label=name)
        axes.plot(curve["epsilon"], curve["exact"], "o", color=SERIES[number], markersize=3)
    axes.axvline(0.61, color="0.8", linewidth=1)
    axes.axvline(1.29, color="0.8", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="ε (grey lines: 0.61 and 1.29)", ylabel="variance for the worst value")
    axes.set_xticks([0.2, 0.5, 1, 2, 5, 8], ["0.2", "0.5", "1", "2", "5", "8"])
    axes.minorticks_off()
    axes.set_title("Lines: printed variances of Table 9. Dots: exact")
    axes.legend()
    return figure


TABLE_9 = Exhibit(
    _NAME,
    "Mechanisms for means compared",
    "All variances are those of the worst value. Error bounds are orders of growth for small ε: they agree where the "
    "ratio to √(2 ln 2d) standard errors does not grow with the number of attributes.",
    _measure,
    _draw,
)
