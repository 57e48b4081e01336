"""Tables 2 and 3: the gain of every mechanism on every distribution, averaged over k, n and ε."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ldpstats.pictures.colours import BLUE, INK, VERMILLION
from papers.arcolezi.gains import METRICS, Measurement
from papers.arcolezi.mechanisms import (
    LONGITUDINAL,
    LONGITUDINAL_PUBLISHED,
    LONGITUDINAL_SOUND,
    ONE_TIME,
    ONE_TIME_PUBLISHED,
    Reading,
)
from papers.arcolezi.populations import DISTRIBUTIONS
from papers.arcolezi.summaries import Claim, Found, Place, in_words, judged, missing, table
from papers.comparisons import KEYS, Comparison, compared, near, printed_figures
from papers.exhibits import Effort, Exhibit, Measured

BINS = (
    "The authors' notebook cuts the range of a sample into k + 1 bins of equal width and makes the last two one, where "
    "the text says k bins."
)
ROUNDED = BINS[:-1] + ", and rounds the number of values or symbols to the nearest, where the text rounds down."
RESPONSE = (
    "The published package updates with a matrix whose entry for another value lacks (k - 2) q1 q2 of the chain, and "
    "its p2, which follows from the same, adds more noise than the level asks for; the bins are those of the notebook."
)
HASHING = (
    "The published package updates with a matrix that has p1 q2 + p2 / g for another value, where a report has 1 / g, "
    "and L-OLH rounds its g to the nearest; the bins are those of the notebook."
)
TOGETHER = (
    "The published package updates with other matrices than those of the reports of L-GRR and L-LH; the bins are those "
    "of the notebook."
)
PRINTED_INCOMES = "The row Real, which is missing here, is in this average as it is printed."
SAMPLES = 20
SIMILAR = 3.0
"""Percentage points within which two groups of mechanisms are called similar."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One of the two tables."""

    name: str
    word: Reading
    published: Reading
    reading: str
    claims: Mapping[str, Claim]
    causes: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Measurement] = field(default_factory=dict)

    def measure(self, effort: Effort) -> Measured:
        """Measure by the text and as published; other readings stand in the curves only."""
        printed = printed_figures(self.name)
        real = printed.loc[printed["row"] == "Real"].set_index("column")["printed"].astype(float).to_dict()
        word, published = (
            table(Measurement(reading, SAMPLES).gains(effort, f"{self.name}, {what}"), reading, real)
            for reading, what in ((self.word, "text"), (self.published, "code"))
        )
        others = {what: table(one.gains(effort, self.name), one.reading) for what, one in self.others.items()}
        curves = pd.concat({"text": word, "code": published, **others}, names=["reading"]).reset_index()
        places = printed[KEYS].itertuples(index=False, name=None)
        return Measured([self.comparison(place, word, published) for place in places], curves)

    def comparison(self, place: Place, word: pd.DataFrame, published: pd.DataFrame) -> Comparison:
        """Judge one printed figure or sentence."""
        _, row, column, printed = place
        if row == "Real" or printed == "the real data":
            return missing(place)
        if column == "statement":
            return judged(place, self.claims[row], word, published)
        ours, theirs = word.loc[(row, column)], published.loc[(row, column)]
        average = PRINTED_INCOMES if row == "Avg." else ""
        agrees = near(printed, ours["gain"], ours["std_err"], theirs["spread"])
        because = self.causes.get(column.partition(",")[0], self.reading)
        return compared(
            place,
            ours["gain"],
            ours["std_err"],
            printed_std_err=theirs["spread"],
            reproduced=theirs["gain"],
            reproduced_std_err=theirs["std_err"],
            because=average if agrees else f"{because} {average}".strip(),
        )


def _of_mechanisms(figures: pd.DataFrame, *, with_real: bool) -> tuple[str, pd.Series]:
    """Return the mean of each mechanism; the printed figures of the real data can stand in for ours."""
    rows = figures["gain"].loc[["Avg."] if with_real else list(DISTRIBUTIONS)]
    means = rows.groupby(level="column", sort=False).mean().filter(like=", MSE")
    which = "with the printed figures of the real data" if with_real else "without the real data"
    return which, means.rename(lambda column: column.partition(",")[0]).drop("Avg.")


def _ordered(highest: list[str], lowest: str, *, with_real: bool) -> Claim:
    def claim(figures: pd.DataFrame) -> Found:
        which, means = _of_mechanisms(figures, with_real=with_real)
        ranked = means.sort_values(ascending=False).index
        return Found(f"{which} {in_words(means)}", [*ranked[: len(highest)], ranked[-1]] == [*highest, lowest])

    return claim


def _unary_and_hashing(holds: Callable[[float], bool], *, with_real: bool) -> Claim:
    def claim(figures: pd.DataFrame) -> Found:
        which, means = _of_mechanisms(figures, with_real=with_real)
        groups = {what: means[[name for name in means.index if name.endswith(what)]].mean() for what in ("UE", "LH")}
        return Found(f"{which} {in_words(pd.Series(groups))}", bool(holds(groups["UE"] - groups["LH"])))

    return claim


def _distributions(highest: str | None, lowest: list[str]) -> Claim:
    def claim(figures: pd.DataFrame) -> Found:
        means = figures["gain"].xs("Avg., MSE", level="column")[list(DISTRIBUTIONS)]
        ranked = means.sort_values().index
        right = ranked[-1] == highest if highest else list(ranked[: len(lowest)]) == lowest
        return Found(in_words(means), bool(right))

    return claim


_OF_DISTRIBUTIONS = {
    "distributions, highest": _distributions("Poisson", []),
    "distributions, lowest": _distributions(None, ["Gaussian", "Triangular"]),
}
TABLE_2 = Shown(
    "arcolezi-2023-table-2",
    ONE_TIME,
    ONE_TIME_PUBLISHED,
    BINS,
    {
        "mechanisms": _ordered(["THE", "SUE"], "GRR", with_real=True),
        "unary encoding and local hashing": _unary_and_hashing(lambda more: abs(more) <= SIMILAR, with_real=True),
        **_OF_DISTRIBUTIONS,
    },
    {"SS": ROUNDED, "OLH": ROUNDED},
    {"code, limit of the updates": Measurement(ONE_TIME_PUBLISHED, SAMPLES, to_the_limit=True)},
)
TABLE_3 = Shown(
    "arcolezi-2023-table-3",
    LONGITUDINAL,
    LONGITUDINAL_PUBLISHED,
    TOGETHER,
    {
        "mechanisms": _ordered(["L-SUE"], "L-GRR", with_real=False),
        "unary encoding and local hashing": _unary_and_hashing(lambda more: more > 0, with_real=False),
        **_OF_DISTRIBUTIONS,
    },
    {
        "L-GRR": RESPONSE,
        **dict.fromkeys(("L-SUE", "L-OUE", "L-SOUE", "L-OSUE"), BINS),
        **dict.fromkeys(("L-BLH", "L-OLH"), HASHING),
    },
    {"sound chains, bins of the code": Measurement(LONGITUDINAL_SOUND, SAMPLES)},
)

_MARKS = {
    "text": ("s", BLUE, "ours, by the text"),
    "code": ("D", VERMILLION, "ours, by the authors' code"),
    "code, limit of the updates": ("v", "grey", "the same, at the limit of the updates"),
    "sound chains, bins of the code": ("v", "grey", "sound chains, bins of the code"),
}


def _draw(comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    printed = (
        comparisons.loc[comparisons["column"] != "statement"].set_index(["row", "column"])["printed"].astype(float)
    )
    for axes_row, metric in zip(
        figure.subplots(len(METRICS), len(DISTRIBUTIONS), sharex=True, sharey="row"), METRICS, strict=True
    ):
        for axes, distribution in zip(axes_row, DISTRIBUTIONS, strict=True):
            _draw_panel(axes, printed[distribution], curves.loc[curves["row"] == distribution], metric)
            axes.set_title(distribution if metric == METRICS[0] else "", fontsize=10)
        axes_row[0].set_ylabel(f"gain in {metric} (%)")
    figure.suptitle("Gain of IBU over inversion: the authors' code gives the printed figures", fontsize=11)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_panel(axes: Any, printed: pd.Series, curves: pd.DataFrame, metric: str) -> None:
    names = [column.partition(",")[0] for column in printed.index if column.endswith(metric)][:-1]
    places = dict(zip(names, range(len(names)), strict=True))
    marks = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "color": INK, "linestyle": "none"}
    axes.plot(range(len(names)), printed[[f"{name}, {metric}" for name in names]], label="printed", **marks)
    of_metric = curves.loc[curves["column"].str.endswith(metric)]
    placed = of_metric.assign(place=of_metric["column"].str.partition(",")[0].map(places)).dropna(subset="place")
    for number, (reading, own) in enumerate(placed.groupby("reading", sort=False)):
        marker, colour, label = _MARKS[str(reading)]
        across, gains, margins = own["place"] + 0.25 * (number - 1), own["gain"], 2 * own["std_err"]
        axes.errorbar(across, gains, margins, fmt=marker, markersize=4, color=colour, elinewidth=1, label=label)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axes.grid(axis="y", alpha=0.3)


_WORDS_2 = """A printed figure agrees if ours is within half a point and 3.3 standard errors: of ours, and of a figure
of 20 runs on one sample for each n. By the text (k bins of equal width over a sample's range, ω and g rounded down)
many do not. By the authors' notebook, 5_IBU_Utility_Gain_Single_Frequency_Estimation of multi-freq-ldpy, all do but
those of the real data, which are missing: it cuts k + 1 bins, makes the last two one, and clips the gain of every run
before it averages. The gains owe much to where the updates stop: with many values and a small ε, 10,000 of them do not
lead far from the uniform start, and at their limit little is left of the gains on uniform data. On exponential data all
printed figures lie above ours; they share two samples, and the largest value of a sample sets the width of all bins."""

_WORDS_3 = """By the text (sound chains at the levels that it asks for) L-GRR gains what GRR gains in Table 2, and L-BLH
what BLH gains. The printed gains come from the authors' package, multi-freq-ldpy. It inverts rightly; but for L-GRR and
L-LH it updates with another matrix than that of the reports, the second rounds of L-GRR and L-OLH spend less than ε₁,
and L-OLH rounds its g to the nearest, not down as the paper says. For L-GRR that matrix supposes less noise than its
reports have, so that updates leave every estimate too near to the uniform distribution: a gain where the truth is near
it, a loss elsewhere, which the clipping of gains does not show. For L-LH it supposes more. Figures of the real data,
which are missing, are not reproduced."""

EXHIBITS = (
    Exhibit(
        TABLE_2.name,
        "Table 2: gain of iterative Bayesian update over inversion, one-time mechanisms",
        _WORDS_2,
        TABLE_2.measure,
        _draw,
    ),
    Exhibit(
        TABLE_3.name,
        "Table 3: gain of iterative Bayesian update over inversion, longitudinal mechanisms",
        _WORDS_3,
        TABLE_3.measure,
        _draw,
    ),
)
