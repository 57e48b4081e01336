"""When RRBA converges as Imran & Meo (2024) define it, and what that is worth: their Figures 5 and 6, measured anew.

Blocks of 18, 50, 150 or 250 respondents are asked, 200 in each of 40 trials. Two tables in a row agree if a cell
differs by less than δ*, the width of its 95 % interval; a trial converges at the first block from which on they agree
until the last. Counted are the respondents until then. The paper leaves open:

- p in Figure 5. It is .5 here. No figure shows p; the text names six smaller ones for Figure 6.
- The table around a cell. Here it has two cells, that one and the rest. The condition looks at one cell at a time, and
  the blocks of any table, added up to a cell and the rest, are truth-or-fake blocks of two cells with the same p. Only
  the cutting of the fakes at zero differs, as it depends on all the cells.
- Which T is compared. Read as in its Section 5, what each block says by Eq. 4 ("alone"); but also the same, cut at
  zero and scaled as the next fakes are ("cut"), and the mean of all blocks so far with the δ* of one block ("pooled").
- δ*: as printed, without the factor 1/p ("paper"), and corrected ("sound"); see `ldpstats.protocols.rrba.stopping`.

The figures go to the folder beside this file, as a table and as pictures like the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.arrays import BoolArray, FloatArray, IntArray
from ldpstats.protocols.rrba.stopping import (
    chance_of_missing,
    normal_quantile,
    printed_limits,
    sound_limits,
    start_of_lasting,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBABILITIES = (0.0285, 0.072, 0.116, 0.224, 0.356, 0.446, 0.524, 0.732)
BLOCK_SIZES = (18, 50, 150, 250)
TRUTHS = (0.009, 0.048, 0.095, 0.139, 0.221, 0.295, 0.5)
TRIALS, BLOCKS, ALPHA, SEED = 40, 200, 0.05, 5
KINDS = {
    ("paper", "alone"): "δ* as printed",
    ("sound", "alone"): "sound δ*",
    ("paper", "pooled"): "δ* as printed, tables pooled",
    ("paper", "cut"): "δ* as printed, tables cut",
    ("sound", "cut"): "sound δ*, tables cut",
}
DRAWN = list(KINDS)[:3]
FOLDER = Path(__file__).with_name("rrba_figures")


@dataclass(frozen=True)
class Trials:
    """Blocks of one size, asked with one p, about cells of several probabilities.

    Arrays have the shape (probabilities, trials, blocks).

    Parameters
    ----------
    counts : array
        How often the cell was reported.
    fakes : array
        The share of the reports that was expected to be a fake of it.
    """

    p: float
    block_size: int
    counts: IntArray
    fakes: FloatArray

    @property
    def alone(self) -> FloatArray:
        """What every block says by itself (Eq. 4)."""
        return (self.counts / self.block_size - self.fakes) / self.p

    @property
    def pooled(self) -> FloatArray:
        """What the blocks so far say together: the mean of what they say alone, as they are of one size."""
        return self.alone.cumsum(axis=-1) / np.arange(1, self.counts.shape[-1] + 1)


def collect(
    p: float, block_size: int, trials: int, blocks: int, rng: np.random.Generator, from_all: bool = False
) -> Trials:
    """Ask block after block; T is cut at zero and scaled to sum to one, which for two cells is cutting at 0 and 1."""
    shape = (len(PROBABILITIES), trials)
    probability = np.array(PROBABILITIES)[:, None]
    counts, fakes = np.zeros((blocks, *shape), dtype=np.int64), np.zeros((blocks, *shape))
    share, total = np.full(shape, 0.5), np.zeros(shape)
    for block in range(blocks):
        fakes[block] = (1 - p) * share
        counts[block] = rng.binomial(block_size, p * probability + fakes[block])
        alone = (counts[block] / block_size - fakes[block]) / p
        total += alone
        share = np.clip(total / (block + 1) if from_all else alone, 0, 1)
    return Trials(p, block_size, np.moveaxis(counts, 0, -1), np.moveaxis(fakes, 0, -1))


def conditions(alone: Trials, together: Trials) -> dict[tuple[str, str], tuple[FloatArray, BoolArray]]:
    """Return the tables that are compared, and whether they differ by less than δ*, for every width and reading."""
    z = normal_quantile(ALPHA)
    sound = width_of(sound_limits(alone.counts, alone.block_size, alone.fakes, alone.p, z))
    printed = width_of(printed_limits(alone.alone, alone.block_size, z))
    of_pooled = width_of(printed_limits(together.pooled, together.block_size, z))
    compared = {
        ("paper", "alone"): (alone.alone, printed),
        ("paper", "cut"): (np.clip(alone.alone, 0, 1), printed),
        ("paper", "pooled"): (together.pooled, of_pooled),
        ("sound", "alone"): (alone.alone, sound),
        ("sound", "cut"): (np.clip(alone.alone, 0, 1), sound),
    }
    return {
        kind: (tables, np.abs(np.diff(tables, axis=-1)) < widths[..., 1:])
        for kind, (tables, widths) in compared.items()
    }


def width_of(limits: FloatArray) -> FloatArray:
    """Return the width of intervals, limits on the last axis."""
    width: FloatArray = limits[..., 1] - limits[..., 0]
    return width


def measure(alone: Trials, together: Trials) -> pd.DataFrame:
    """Return a row per width, reading and probability: how often, when, and with what error the condition held."""
    truth, blocks = np.array(PROBABILITIES)[:, None], alone.counts.shape[-1]
    frames = []
    for (width, reading), (tables, holds) in conditions(alone, together).items():
        all_blocks = (together if reading == "pooled" else alone).pooled
        lasting, first = start_of_lasting(holds), np.where(holds.any(axis=-1), holds.argmax(axis=-1), blocks - 1)
        columns: dict[str, object] = {
            "width": width,
            "estimate": reading,
            "p": alone.p,
            "block_size": alone.block_size,
            "probability": PROBABILITIES,
            "within": holds.mean(axis=(1, 2)),
            "converged": (lasting < blocks - 1).mean(axis=1),
            "converged_by_half": (lasting + 2 <= blocks // 2).mean(axis=1),
        }
        for name, start in (("converged", lasting), ("stopped", first)):
            there = start < blocks - 1
            at = np.minimum(start, blocks - 2)[..., None]
            answer = (np.take_along_axis(tables, at, -1) + np.take_along_axis(tables, at + 1, -1))[..., 0] / 2
            best = np.take_along_axis(all_blocks, at + 1, -1)[..., 0]
            columns |= {
                f"respondents_{name}": mean_where(alone.block_size * (start + 2.0), there),
                f"rmse_{name}": np.sqrt(mean_where((answer - truth) ** 2, there)),
                f"rmse_all_until_{name}": np.sqrt(mean_where((best - truth) ** 2, there)),
            }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def mean_where(values: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return the mean of the chosen values of each row; NaN where there are none."""
    number = chosen.sum(axis=1)
    means: FloatArray = np.where(chosen, values, 0).sum(axis=1) / np.where(number > 0, number, np.nan)
    return means


def study(
    truths: Iterable[float] = TRUTHS, sizes: Iterable[int] = BLOCK_SIZES, trials: int = TRIALS, blocks: int = BLOCKS
) -> pd.DataFrame:
    """Measure every p with every block size; each has random numbers of its own."""
    frames = []
    for p, size in product(truths, sizes):
        rng = np.random.default_rng([SEED, round(1000 * p), size, trials, blocks])
        alone = collect(p, size, trials, blocks, rng)
        frames.append(measure(alone, collect(p, size, trials, blocks, rng, from_all=True)))
    return pd.concat(frames, ignore_index=True)


def of_kind(data: pd.DataFrame, kind: tuple[str, str]) -> pd.DataFrame:
    """Return the rows of a width and a reading."""
    return data[(data["width"] == kind[0]) & (data["estimate"] == kind[1])]


def in_figure_5(data: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a figure measured at p = .5, a row per block size and a column per probability."""
    return data[data["p"] == 0.5].pivot_table(index="block_size", columns="probability", values=column)


def blocks_in_figure_5(data: pd.DataFrame) -> pd.DataFrame:
    """Return the blocks until convergence at p = .5, in trials that converge."""
    return in_figure_5(data, "respondents_converged").div(list(BLOCK_SIZES), axis=0)


def converges(
    data: pd.DataFrame,
    criterion: str,
    p: Sequence[float],
    sizes: Sequence[int] = BLOCK_SIZES,
    cells: Sequence[float] = PROBABILITIES,
) -> pd.DataFrame:
    """Say of every p, block size and probability whether at least half of the trials converge, by a criterion."""
    rows = data["p"].isin(p) & data["block_size"].isin(sizes) & data["probability"].isin(cells)
    return data.loc[rows, [criterion]] >= 0.5


def all_large_no_small(data: pd.DataFrame, criterion: str, p: float) -> pd.DataFrame:
    """Say whether larger blocks converge, and smaller ones do not."""
    return pd.concat([converges(data, criterion, [p], LARGE), ~converges(data, criterion, [p], SMALL)])


LARGE, SMALL, HIGH = (150, 250), (18, 50), (0.356, 0.446)
OF_FIGURE_5: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "smaller blocks need fewer respondents": lambda data: in_figure_5(data, "respondents_converged").diff()[1:] > 0,
    "smaller blocks need fewer blocks": lambda data: blocks_in_figure_5(data).diff()[1:] > 0,
    "with blocks of 18 errors are below .05": lambda data: in_figure_5(data, "rmse_converged").loc[[18]] < 0.05,
}
OF_FIGURE_6: dict[str, Callable[[pd.DataFrame, str], pd.DataFrame]] = {
    "p <= .095: nothing converges": lambda data, criterion: ~converges(data, criterion, TRUTHS[:3]),
    "p = .139: .356 and .446 with 150 and 250": lambda data, criterion: converges(
        data, criterion, [0.139], LARGE, HIGH
    ),
    "p = .221: all with 150 and 250, none with 18 and 50": lambda data, criterion: all_large_no_small(
        data, criterion, 0.221
    ),
    "p = .295: the same": lambda data, criterion: all_large_no_small(data, criterion, 0.295),
    "p = .5: all": lambda data, criterion: converges(data, criterion, [0.5]),
}
"""What the paper claims of single probabilities, block sizes and p: true where everything in it is."""


def claims(data: pd.DataFrame) -> str:
    """Return a row per claim and a column per width and reading: whether it holds, or in how many cases of all."""
    rows = {f"Figure 5: {claim}": lambda of, holds=holds: holds(of) for claim, holds in OF_FIGURE_5.items()}
    for criterion, words in {"converged": "at end", "converged_by_half": "by half"}.items():
        for claim, holds in OF_FIGURE_6.items():
            rows[f"{words}: {claim}"] = lambda of, holds=holds, criterion=criterion: holds(of, criterion)
    lines = [f"{'':<62}" + "".join(f"{' '.join(kind):>14}" for kind in KINDS)]
    for claim, holds in rows.items():
        found = [holds(of_kind(data, kind)).to_numpy() for kind in KINDS]
        verdicts = ["holds" if one.all() else f"{one.sum()} of {one.size}" for one in found]
        lines.append(f"{claim:<62}" + "".join(f"{verdict:>14}" for verdict in verdicts))
    return "\n".join(lines)


def figures(data: pd.DataFrame) -> str:
    """Return what was measured, averaged over the probabilities: a row per p and block size."""
    columns = {"within": "agree", "converged": "at end", "converged_by_half": "by half"}
    parts = {}
    for kind in DRAWN:
        rows = of_kind(data, kind).groupby(["p", "block_size"])
        means = rows[[*columns, "respondents_converged"]].mean().rename(columns=columns)
        means["blocks"] = means.pop("respondents_converged") / means.index.get_level_values("block_size")
        parts[KINDS[kind]] = means
    return pd.concat(parts, axis=1).to_string(float_format="{:.2f}".format)


def errors(data: pd.DataFrame) -> str:
    """Return the errors of the paper's answer beside those of all respondents until then, at p = .5."""
    columns = ("rmse_stopped", "rmse_converged", "rmse_all_until_converged")
    printed = of_kind(data, ("paper", "alone"))
    means = pd.concat([in_figure_5(printed, column).mean(axis=1).rename(column) for column in columns], axis=1)
    return means.to_string(float_format="{:.3f}".format)


def agreements(data: pd.DataFrame, kind: tuple[str, str]) -> pd.Series:
    """Return for every p how often blocks of 250 agree about cells that are not rare."""
    rows = of_kind(data, kind)
    means: pd.Series = rows[(rows["block_size"] == 250) & (rows["probability"] > 0.2)].groupby("p")["within"].mean()
    return means


def reasons(data: pd.DataFrame, longer: pd.DataFrame) -> str:
    """Explain the figures; `longer` has twice as many blocks."""
    chances = agreements(data, ("paper", "alone")).to_frame("δ* as printed")
    chances["by theory"] = [1 - chance_of_missing(ALPHA, p) for p in chances.index]
    chances["sound δ*"] = agreements(data, ("sound", "alone"))
    usual, doubled = (blocks_in_figure_5(of_kind(one, ("sound", "alone"))).loc[250].mean() for one in (data, longer))
    needed = normal_quantile(1 - 0.95 ** (1 / (BLOCKS - 1)))
    allowed = 2**0.5 * normal_quantile(ALPHA)
    sound = 1 - chance_of_missing(ALPHA, 1)
    table = chances.T.to_string(float_format="{:.3f}".format)
    return f"""Why:
- A change and δ* both shrink like one over the root of the block size, which therefore hardly matters.
  Where it does, at small p, blocks of 18 and 50 agree more often, not less: a cell that nobody reports
  does not move.
- The printed δ* lacks the factor 1/p. By normal theory changes stay below it with probability
  2 Φ(√2 z p) - 1, below the sound one with probability {sound:.3f}, if fakes look like the population. At
  small p they swing from block to block, and the spread of a block is not that of the one before.
  Blocks of 250 and cells above .2 agree as often as this:

{table}

- To remain valid throughout {BLOCKS} blocks takes {BLOCKS - 1} agreements. All of them hold in 95 % of the
  trials if a change of {needed:.2f} standard deviations is within δ*. The sound one allows {allowed:.2f}, the
  printed one p times that.
- So the end of the trial decides. With δ* as printed and p = .5 convergence comes with the last few
  blocks, which agree by chance. With the sound one and blocks of 250 it comes after {usual:.0f} blocks of
  {BLOCKS}, and after {doubled:.0f} of {2 * BLOCKS}, on average over the trials that converge.
- Pooled tables do settle, at every p: each block moves them less and less. Then a small p delays, but
  prevents nothing.
What it cannot mean is that the answer is accurate: it averages two blocks, and has their error."""


def draw_figure_5(data: pd.DataFrame) -> Figure:
    """Draw the respondents until convergence, and the trials that converge, over the block size, at p = .5."""
    panels = {KINDS[kind]: of_kind(data[data["p"] == 0.5], kind) for kind in DRAWN}
    rows = [
        ("respondents_converged", "respondents until convergence", panels),
        ("converged", "share of trials that converge", panels),
    ]
    return drawn(rows, "Figure 5 anew, at p = .5", (11, 7))


def draw_figure_6(data: pd.DataFrame, column: str, title: str) -> Figure:
    """Draw a column of the data over the block size: panels for every p, in rows for the kinds of convergence."""
    rows = [
        (column, KINDS[kind], {f"p = {p:g}": of_kind(data[data["p"] == p], kind) for p in TRUTHS[:-1]})
        for kind in DRAWN
    ]
    return drawn(rows, f"Figure 6 anew: {title}", (14, 8))


def drawn(rows: list[tuple[str, str, dict[str, pd.DataFrame]]], title: str, inches: tuple[float, float]) -> Figure:
    """Draw rows of panels, a line per probability in each; a row shows one column of the data."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained", dpi=72)
    grid = figure.subplots(len(rows), len(rows[0][2]), sharex=True, sharey="row")
    colours = colormaps["viridis_r"](np.linspace(0.05, 1, len(PROBABILITIES)))
    for axes, (column, name, panels) in zip(grid, rows, strict=True):
        for ax, data in zip(axes, panels.values(), strict=True):
            lines = data.pivot_table(index="block_size", columns="probability", values=column)
            for (probability, values), colour in zip(lines.items(), colours, strict=True):
                ax.plot(values.index, values, marker="o", markersize=4, color=colour, label=f"{probability:g}")
            ax.set_xticks(BLOCK_SIZES)
            ax.grid(alpha=0.3)
        axes[0].set_ylabel(name)
        if column.startswith("respondents"):
            axes[0].set(yscale="log", ylim=(20, 100_000))
        else:
            axes[0].set_ylim(-0.04, 1.04)
    for ax, name in zip(grid[0], rows[0][2], strict=True):
        ax.set_title(name)
    for ax in grid[-1]:
        ax.set_xlabel("block size")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", title="probability", frameon=False)
    figure.suptitle(title)
    return figure


def main() -> None:
    """Measure, write the data and the pictures, and say which claims hold."""
    data = study()
    FOLDER.mkdir(exist_ok=True)
    data.round(5).to_csv(FOLDER / "convergence.csv", index=False)
    by_half = "share of trials that converge in the first half"
    pictures = {
        "figure_5": draw_figure_5(data),
        "figure_6_respondents": draw_figure_6(data, "respondents_converged", "respondents until convergence"),
        "figure_6_shares": draw_figure_6(data, "converged", "share of trials that converge"),
        "figure_6_shares_by_half": draw_figure_6(data, "converged_by_half", by_half),
    }
    for name, picture in pictures.items():
        picture.savefig(FOLDER / f"{name}.png")
    print(f"RRBA, {TRIALS} trials of {BLOCKS} blocks, means over {len(PROBABILITIES)} probabilities.")
    print("agree: comparisons in which a change is below δ*; at end, by half: trials in which all agree from the last")
    print("block (the middle) on; blocks: until they agree to the end, where they do\n")
    print(figures(data))
    print(
        "\nThe paper's claims; where one does not hold, in how many cases it does. A probability converges if at least"
    )
    print(
        "half of its trials do: by the letter, at the end, and in the first half, where chance plays a smaller part\n"
    )
    print(claims(data))
    print(
        "\nErrors (root mean square) at p = .5: of the average of two blocks where they first agree, where they agree"
    )
    print("to the end, and of all respondents until then; δ* as printed:\n")
    print(errors(data))
    print(f"\n{reasons(data, study((0.5,), blocks=2 * BLOCKS))}")
    print(f"\nData and pictures: {FOLDER.name}")


if __name__ == "__main__":
    main()
