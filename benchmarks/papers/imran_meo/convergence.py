"""When RRBA converges as Imran & Meo (2024) define it: what their Figures 5 and 6 measure, in several readings.

Blocks of 18, 50, 150 or 250 respondents are asked, 200 in each of 40 trials. Two tables in a row agree if a cell
differs by less than δ*, the width of its 95 % interval; a trial converges at the first block from which on they agree
until the last. Counted are the respondents until then. The paper leaves open:

- p in Figure 5. It is .5 here. No figure shows p; the text names six smaller ones for Figure 6.
- The table around a cell. Here it has two cells, that one and the rest. The condition looks at one cell at a time, and
  the blocks of any table, added up to a cell and the rest, are truth-or-fake blocks of two cells with the same p. Only
  the cutting of the fakes at zero differs, as it depends on all the cells.
- Which T is compared. Read as in its Section 5, what each block says by Eq. 4 ("alone"); but also the same, cut at
  zero and scaled as the next fakes are ("cut"), and the mean of all blocks so far with the δ* of one block ("pooled").
- δ*: as printed, without the factor 1/p ("paper"); corrected ("sound"; see `ldpstats.protocols.rrba.stopping`); and
  z √(v (1 − v)) with the true v, as if a block were one respondent ("one respondent"), which Figure 6 needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray
from ldpstats.protocols.rrba.stopping import (
    normal_quantile,
    printed_limits,
    sound_limits,
    start_of_lasting,
)

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
    ("one respondent", "alone"): "δ* of one respondent",
}
"""Which δ* and which tables, and how pictures name them."""

Reading = tuple[tuple[str, str], str]
"""Which δ* and tables, and until when a trial must have converged."""

LETTER: Reading = (("paper", "alone"), "converged")
NAMED: Reading = (("one respondent", "alone"), "converged_by_half")
"""The paper's words, and the reading that Figure 6 needs."""


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
        ("one respondent", "alone"): (alone.alone, np.broadcast_to(_of_one_respondent(z), sound.shape)),
    }
    return {
        kind: (tables, np.abs(np.diff(tables, axis=-1)) < widths[..., 1:])
        for kind, (tables, widths) in compared.items()
    }


def _of_one_respondent(z: float) -> FloatArray:
    """Return the half width of an interval that is not divided by the root of the block size, for every cell."""
    truth = np.array(PROBABILITIES)[:, None, None]
    half: FloatArray = z * np.sqrt(truth * (1 - truth))
    return half


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
