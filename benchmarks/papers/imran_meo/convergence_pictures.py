"""Pictures of convergence: how many respondents it takes, and in which share of the trials it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.imran_meo.convergence import BLOCK_SIZES, KINDS, LETTER, NAMED, PROBABILITIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = (LETTER[0], ("sound", "alone"), NAMED[0])


def draw_figure_5(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    """Draw the respondents until convergence, and the share of trials, for several δ* at p = .5."""
    assert curves is not None
    rows = [
        ("respondents_converged", "respondents until\nconvergence"),
        ("converged", "share of trials\nthat converge"),
    ]
    panels = [[(KINDS[kind], _of_kind(curves, kind), column) for kind in DRAWN] for column, _ in rows]
    return _drawn(panels, [label for _, label in rows], "When blocks agree to the end of the trial, p = .5")


def draw_figure_6(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    """Draw the share of trials that converge, for several p, as printed and by the reading that fits."""
    assert curves is not None
    shown = (0.095, 0.139, 0.221, 0.295)
    panels = [
        [(f"p = {p:g}", _of_kind(curves[curves["p"] == p], kind), criterion) for p in shown]
        for kind, criterion in (LETTER, NAMED)
    ]
    labels = [
        f"{KINDS[kind]},\nby {'end' if criterion == 'converged' else 'half'}" for kind, criterion in (LETTER, NAMED)
    ]
    return _drawn(panels, labels, "Share of trials that converge, of 40: as printed, and by the reading that fits")


def _of_kind(data: pd.DataFrame, kind: tuple[str, str]) -> pd.DataFrame:
    return data[(data["width"] == kind[0]) & (data["estimate"] == kind[1])]


def _drawn(panels: list[list[tuple[str, pd.DataFrame, str]]], labels: list[str], title: str) -> Figure:
    """Draw rows of panels: a column of the data over the block size, a line per probability."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    grid = figure.subplots(len(panels), len(panels[0]), sharex=True, sharey="row", squeeze=False)
    colours = colormaps["viridis_r"](np.linspace(0.05, 1, len(PROBABILITIES)))
    for axes, row, label in zip(grid, panels, labels, strict=True):
        for ax, (name, data, column) in zip(axes, row, strict=True):
            lines = data.pivot_table(index="block_size", columns="probability", values=column)
            for (probability, values), colour in zip(lines.items(), colours, strict=True):
                ax.plot(values.index, values, "o-", markersize=3.5, color=colour, label=f"{probability:g}")
            ax.set_title(name, fontsize=10)
            ax.set_xscale("log")
            ax.set_xticks(BLOCK_SIZES, labels=map(str, BLOCK_SIZES))
            ax.set_xticks([], minor=True)
            ax.tick_params(axis="x", labelsize=8)
            ax.grid(alpha=0.3)
            respondents = column.startswith("respondents")
            ax.set(**{"yscale": "log", "ylim": (20, 1e5)} if respondents else {"ylim": (-0.04, 1.04)})
        axes[0].set_ylabel(label)
    for ax in grid[-1]:
        ax.set_xlabel("respondents in a block")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", title="probability", frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure
