"""Tables 5 and 6 and Figure 7: printed distances between tables beside those of every reading that was tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tqdm import tqdm

from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.colours import SERIES
from papers.comparisons import Comparison, compared, near
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.distances import MEASURES, RESPONDENTS, SETTINGS, SIZES, Reading, measure
from papers.imran_meo.findings import Finding, Place, judged, places

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NETWORKS = ("Survey", "Alarm")
METHODS = ("RRBA", "Laplace")
PRINTED_TRIALS = 100

Data = Mapping[tuple[str, int, Reading, str], FloatArray]
"""The trials by network, size of the groups, reading and measure."""


def _data(table: str, effort: Effort) -> Data:
    found: dict[tuple[str, int, Reading, str], FloatArray] = {}
    asked = list(product(NETWORKS, SIZES))
    for name, size in tqdm(asked, desc=f"Table {table}", disable=not effort.full):
        for (reading, measured), values in measure(SETTINGS[table], name.lower(), size, effort.runs(100, 3)).items():
            found[name, size, reading, measured] = values
    return found


def literal(table: str, method: str) -> Reading:
    """Return the paper's words: the average of two blocks (Section 5), the printed scale, any attributes."""
    return Reading(method, "two blocks" if method == "RRBA" else f"b = 2m/ε, ε = {SETTINGS[table].epsilon:g}", "any")


def _where(place: Place) -> tuple[str, str, str, int]:
    kind, name, method = place[1].split(", ")
    return kind, name, method, int(place[2][0])


def _mean(values: FloatArray) -> tuple[float, float, float]:
    """Return the mean, its standard error, and that of a mean of as many trials as printed."""
    spread = float(values.std(ddof=1))
    return float(values.mean()), spread / len(values) ** 0.5, spread / PRINTED_TRIALS**0.5


def _is_near(place: Place, data: Data, reading: Reading, measured: str) -> bool:
    _, name, _, size = _where(place)
    return near(place[3], *_mean(data[name, size, reading, measured]))


def _best(rows: list[Place], data: Data) -> tuple[Reading, str, int, int]:
    """Return the reading that gives most of some printed figures, its measure, how many, and the number of readings."""
    kind, _, method, _ = _where(rows[0])
    readings = list(dict.fromkeys(key[2:] for key in data if key[2].method == method and key[3] in MEASURES[kind]))
    counts = [sum(_is_near(place, data, *one) for place in rows) for one in readings]
    chosen = int(np.argmax(counts))
    return *readings[chosen], counts[chosen], len(readings)


def ratios() -> list[float]:
    """Return by how much Laplace noise makes the printed ℓ2 of Table 5 larger than that of Table 6."""
    printed = [{place[1:3]: float(place[3]) for place in _figures(table)} for table in SETTINGS]
    return [value / printed[1][key] for key, value in printed[0].items() if "l2" in key[0] and "Laplace" in key[0]]


def _figures(table: str) -> list[Place]:
    return [place for place in places(f"imran-meo-2024-table-{table}") if place[2].endswith("-way")]


def _table(table: str, effort: Effort) -> Measured:
    data = _data(table, effort)
    best = {}
    for kind, method in product(MEASURES, METHODS):
        rows = [place for place in _figures(table) if _where(place)[0] == kind and _where(place)[2] == method]
        best[kind, method] = (*_best(rows, data), len(rows))
    claims = _claims(table, data)
    comparisons = [
        judged(place, claims[place[1]]) if place[1] in claims else _of_figure(place, table, data, best)
        for place in places(f"imran-meo-2024-table-{table}")
    ]
    curves = pd.DataFrame(
        [
            (name, size, one.method, one.way, one.groups, one.respondents, measured, *_mean(values)[:2])
            for (name, size, one, measured), values in data.items()
        ],
        columns=["network", "size", "method", "reading", "groups", "n", "measure", "mean", "std_err"],
    )
    return Measured(comparisons, curves)


def _of_figure(
    place: Place, table: str, data: Data, best: Mapping[tuple[str, str], tuple[Reading, str, int, int, int]]
) -> Comparison:
    kind, name, method, size = _where(place)
    reading, measured, right, readings, rows = best[kind, method]
    ours, own_error, printed_error = _mean(data[name, size, literal(table, method), MEASURES[kind][0]])
    if near(place[3], ours, own_error, printed_error):
        because = "The paper does not say which attributes; each trial takes others here."
        return compared(place, ours, own_error, printed_std_err=printed_error, because=because)
    words = f"{measured} by {reading}"
    because = f"None of {readings} readings gives all {rows} figures of this method and measure; {words} gives {right}."
    if method == "Laplace" and kind == "l2":
        expected = SETTINGS["6"].epsilon / SETTINGS["5"].epsilon
        because += (
            f" Noise in proportion to 1/ε, about the same attributes, makes Table 5's {expected:.2f} times Table 6's "
            f"(less if cells are cut); printed are {', '.join(f'{one:.2f}' for one in ratios())} times."
        )
    if right < rows:
        return compared(place, ours, own_error, printed_std_err=printed_error, because=because)
    other, other_error, _ = _mean(data[name, size, reading, measured])
    return compared(
        place,
        ours,
        own_error,
        printed_std_err=printed_error,
        reproduced=other,
        reproduced_std_err=other_error,
        because=f"All figures of this method and measure are given by: {words}.",
    )


def _wins(table: str, data: Data, kind: str, sizes: tuple[int, ...] = SIZES) -> tuple[int, int]:
    """Return in how many networks and sizes RRBA's mean distance is below that of Laplace noise, by the words."""
    means = [
        [data[name, size, literal(table, method), MEASURES[kind][0]].mean() for method in METHODS]
        for name, size in product(NETWORKS, sizes)
    ]
    return sum(ours < other for ours, other in means), len(means)


def _claims(table: str, data: Data) -> dict[str, Finding]:
    two = "The average of two blocks has the error of two blocks, however many respond."
    if table == "5":
        named = list(dict.fromkeys(_where(place)[1] for place in _figures(table)))
        higher = _wins(table, data, "l2", SIZES[1:])
        return {
            "networks": Finding(" and ".join(named), set(named) == {"Survey", "Child"}, "The tables have no child."),
            "higher dimensions": Finding("in {} of {} tables".format(*higher), higher[0] == higher[1], two),
        }
    every, js = _wins(table, data, "l2"), _wins(table, data, "JS")
    return {
        "all tables": Finding("by ℓ2 in {} of {} tables".format(*every), every[0] == every[1], two),
        "Jensen-Shannon": Finding("in {} of {} tables".format(*js), js[0] == js[1], two),
    }


def _draw_table(table: str, comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    grid = figure.subplots(2, 4, sharex=True, sharey="row")
    for axes, kind in zip(grid, MEASURES, strict=True):
        for ax, (name, method) in zip(axes, product(NETWORKS, METHODS), strict=True):
            own = curves[(curves["network"] == name) & (curves["method"] == method)]
            own = own[own["measure"].isin(MEASURES[kind])]
            for number, (_, line) in enumerate(own.groupby(["reading", "groups", "n", "measure"])):
                ax.plot(line["size"], line["mean"], color="0.8", label=None if number else "other readings")
            near_ones = own[(own["reading"] == "last block") & (own["groups"] == "any") & (own["n"] == RESPONDENTS[1])]
            line = near_ones[near_ones["measure"] == MEASURES[kind][0]]
            ax.plot(line["size"], line["mean"], color=SERIES[0], label="last block of RRBA, n = 1000")
            rows = comparisons[comparisons["row"] == f"{kind}, {name}, {method}"]
            sizes = rows["column"].str[0].astype(int)
            ax.plot(sizes, rows["ours"].astype(float), "o-", color=SERIES[1], label="at its word")
            ax.plot(sizes, rows["printed"].astype(float), "ks--", label="printed")
            ax.set(yscale="log", xticks=SIZES, title=f"{name}, {method}" if kind == "l2" else "")
        axes[0].set_ylabel({"l2": "ℓ2 (respondents)", "JS": "Jensen–Shannon"}[kind])
    for ax in grid[-1]:
        ax.set_xlabel("attributes in the table")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    setting = SETTINGS[table]
    figure.suptitle(
        f"Mean distances, p = {setting.p:g}, ε = {setting.epsilon:g}: no reading gives a method's figures", fontsize=11
    )
    return figure


PANELS = {"(a)": ("5", "Survey", "l2"), "(b)": ("5", "Survey", "JS"), "(c)": ("6", "Survey", "l2")}
PANELS |= {"(d)": ("6", "Survey", "JS"), "(e)": ("6", "Alarm", "l2"), "(f)": ("6", "Alarm", "JS")}
SERIES_OF_7: dict[str, Callable[[str], Reading]] = {
    "RRBA, two blocks": lambda table: literal(table, "RRBA"),
    "RRBA, last block, n = 1000": lambda _: Reading("RRBA", "last block", "any", RESPONDENTS[1]),
    "Laplace": lambda table: literal(table, "Laplace"),
}


def _figure_7(effort: Effort) -> Measured:
    data = {table: _data(table, effort) for table in SETTINGS}
    comparisons = []
    for place in places("imran-meo-2024-figure-7"):
        table, name, kind = PANELS[place[1]]
        rows = [one for one in _figures(table) if _where(one)[:2] == (kind, name)]
        measured = MEASURES[kind][0]
        right = sum(_is_near(one, data[table], literal(table, _where(one)[2]), measured) for one in rows)
        ours = f"{right} of {len(rows)} printed averages are those of the trials here"
        because = "The averages are those of the table, where the readings that were tried are told."
        comparisons.append(judged(place, Finding(ours, right == len(rows), because, explained=False)))
    rows_of_curves = [
        (panel, size, series, np.quantile(data[table][name, size, reading(table), MEASURES[kind][0]], share), share)
        for panel, (table, name, kind) in PANELS.items()
        for size, (series, reading), share in product(SIZES, SERIES_OF_7.items(), np.linspace(0, 1, 41))
    ]
    curves = pd.DataFrame(rows_of_curves, columns=["panel", "size", "series", "distance", "share of trials"])
    return Measured(comparisons, curves)


def _draw_figure_7(comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 6), layout="constrained")
    grid = figure.subplots(2, 3, sharex=True)
    for ax, panel in zip(grid.T.ravel(), comparisons["row"], strict=True):
        table, name, kind = PANELS[panel]
        printed = {_where(one)[2:]: float(one[3]) for one in _figures(table) if _where(one)[:2] == (kind, name)}
        for place, series in enumerate(SERIES_OF_7):
            colour = SERIES[place]
            for size in SIZES:
                own = curves[(curves["panel"] == panel) & (curves["series"] == series) & (curves["size"] == size)]
                at = size + 0.25 * (place - 1)
                low, middle, high = np.interp([0.05, 0.5, 0.95], own["share of trials"], own["distance"])
                ax.plot([at, at], [low, high], color=colour, linewidth=6, alpha=0.45)
                ax.plot(at, middle, "o", color=colour, label=series if size == SIZES[0] else None)
                method = series.split(",")[0]
                ax.plot(at, printed[method, size], "kx", label="printed average" if (size, place) == (2, 0) else None)
        ax.set(
            yscale="log",
            xticks=SIZES,
            title=f"{panel} {name}, p = {SETTINGS[table].p:g}, ε = {SETTINGS[table].epsilon:g}",
        )
        ax.title.set_fontsize(10)
        ax.set_ylabel("ℓ2 (respondents)" if kind == "l2" else "Jensen–Shannon divergence")
    for ax in grid[-1]:
        ax.set_xlabel("attributes in the table")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Distances: median and middle 90 % of the trials, and printed averages", fontsize=11)
    return figure


FITS_NOT = (
    "No reading gives all figures of a method and measure. The ℓ2 of RRBA is nearest to that of the last block in "
    "tables of 1,000 respondents, a number that no caption has. Laplace noise in proportion to 1/ε would make the "
    "ratio of the two tables the same everywhere, which it is not: the figure printed for pairs of survey in Table 5 "
    "is below its own in Table 6, and the same number stands for RRBA on pairs of alarm in Table 6."
)
EXHIBITS = (
    Exhibit(
        "imran-meo-2024-table-5",
        "Table 5: distances at p = .4 and ε = .35",
        FITS_NOT + " Readings differ in the estimate, the noise, the attributes and the measure (see `distances`).",
        partial(_table, "5"),
        partial(_draw_table, "5"),
    ),
    Exhibit(
        "imran-meo-2024-table-6",
        "Table 6: distances at p = .5 and ε = .5",
        FITS_NOT
        + " With the average of two blocks RRBA is farther from the original than Laplace noise in half of the tables.",
        partial(_table, "6"),
        partial(_draw_table, "6"),
    ),
    Exhibit(
        "imran-meo-2024-figure-7",
        "Figure 7: how distances spread over trials",
        "By the paper's words the printed ℓ2 of RRBA lies below the middle 90 % of the trials in every panel. The last "
        "block in tables of 1,000 respondents, a number that no caption has, brings most of them near.",
        _figure_7,
        _draw_figure_7,
    ),
)
