"""Pictures of Le & Zia's tables and figures: ours beside what is printed."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from papers.le_zia.algorithms import ALIKE, AS_RUN, AT_ITS_WORD, NAMES

COLOURS = dict(zip(NAMES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"), strict=True))
MARKERS = dict(zip(NAMES, "osD^v", strict=True))


def draw_real_data(comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    """Draw the mean errors on each attribute: printed, at the paper's word, and as run.

    Parameters
    ----------
    comparisons, curves : DataFrame
        What was measured.
    """
    assert curves is not None
    figure = Figure(figsize=(9, 6), layout="constrained")
    rows = list(curves["row"].unique())
    for axes, row in zip(figure.subplots(2, 3).flat, rows, strict=True):
        printed = comparisons[(comparisons["row"] == row) & comparisons["column"].str.endswith("mean")]
        axes.plot(range(5), printed["printed"].astype(float), "x", color="black", ms=9, mew=1.8, label="printed")
        for reading, style in ((AT_ITS_WORD, ("o", "none", "#0072B2")), (AS_RUN, ("D", "#D55E00", "#D55E00"))):
            one = (
                curves[(curves["row"] == row) & (curves["reading"] == reading)].set_index("algorithm").loc[list(NAMES)]
            )
            shift = -0.18 if reading == AT_ITS_WORD else 0.18
            axes.errorbar(
                [place + shift for place in range(5)],
                one["mean"],
                one["std"],
                fmt=style[0],
                mfc=style[1],
                mec=style[2],
                ecolor=style[2],
                elinewidth=1,
                ms=6,
                label=reading,
            )
        axes.set(title=row, xticks=range(5), ylim=(0, None))
        axes.set_xticklabels(NAMES, fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
    figure.supylabel("mean absolute error of a frequency (bars: one standard deviation of a run)", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    level = comparisons["source"].iloc[0].rpartition(" ")[2]
    figure.suptitle(f"Table {level}: what is printed is met by the algorithms as they were run")
    return figure


def draw_synthetic_data(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    """Draw the mean errors by the number of respondents: at the paper's word, as run, and finished alike.

    Parameters
    ----------
    _comparisons, curves : DataFrame
        What was measured. The last of the laws is drawn, which the verdicts are about.
    """
    assert curves is not None
    law, d = curves["law"].iloc[-1], curves["d"].iloc[0]
    shown = curves[curves["law"] == law]
    figure = Figure(figsize=(9, 8), layout="constrained")
    panels = figure.subplots(3, 3, sharex=True, sharey="col")
    for line, reading in zip(panels, (AT_ITS_WORD, AS_RUN, ALIKE), strict=True):
        for axes, level in zip(line, sorted(shown["epsilon"].unique()), strict=True):
            _draw_errors(axes, shown[(shown["reading"] == reading) & (shown["epsilon"] == level)])
            axes.set_title(f"{reading}, ε = {level:g}", fontsize=9)
            axes.axhline(1 / d, color="black", lw=0.8, ls=":", label="zero for every value (1/d)")
    for axes in panels[-1]:
        axes.set_xlabel("respondents", fontsize=9)
    figure.supylabel("mean absolute error of a frequency", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(
        f"Whose error is least depends on how the algorithms are run ({d} geometric values, {law})", fontsize=11
    )
    return figure


def _draw_errors(axes: Axes, errors: pd.DataFrame) -> None:
    """Draw a line per algorithm; that of bRAPPOR is hollow, for as described CMS is the same."""
    for name in NAMES:
        one, hollow = errors[errors["algorithm"] == name], name == "bRAPPOR"
        axes.plot(
            one["n"],
            one["mean"],
            marker=MARKERS[name],
            color=COLOURS[name],
            mfc="none" if hollow else COLOURS[name],
            ms=9 if hollow else 4.5,
            lw=1.2,
            label=name,
        )
    axes.set(xscale="log", yscale="log")
    sizes = [size for size in sorted(errors["n"].unique()) if size != 300_000]  # its label would touch the next
    axes.set_xticks(sizes, labels=[f"{size / 1000:g}k" for size in sizes], fontsize=8)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="y", labelsize=8)
