"""What a report says about forged reports, against simulated surveys: what share would explain a dependence, shifts.

Settings are random: two attributes of 2 to 6 categories each, margins from even to rare (1 %), ε from .5 to 4, 300 to
30,000 reports through GRR, SUE, OUE, SS, OLH or HR, V from .05 to .7. Every one of them is a survey of dependent
attributes in which V is estimable. Of the share of forged reports that is stated for it (`explaining_share`), and of
.8 and 1.25 times that share, surveys are simulated: honest reports of independent attributes with the margins that the
number assumes, and the forged reports of the strongest mixture. The median of their V, a survey in which V is not
estimable counting as none, is shown over the V that was to be explained.

Beside it stands the former rule: all forgers send the same output, V is that of the expected table, and infinite where
a margin of it vanishes.

What single proportions can be moved by (`poisoning`) is compared with expected tallies, whose worst reports are found
by trying every set of cells that a report can support, or every output.

Seeds are fixed; it takes some four minutes on one processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import nnls

from ldpstats import Domain, SampledGroups, association, mechanism, poisoning
from ldpstats.attacks.forged_dependence import attack_on
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise, NoiseModel, Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table

MECHANISMS = ("grr", "sue", "oue", "ss", "olh", "hr")
TIMES = (1.0, 0.8, 1.25)


@dataclass(frozen=True)
class Setting:
    """A survey in which a dependence is found."""

    mechanism: str
    epsilon: float
    table: Table
    cramers_v: float
    noise: float

    @property
    def block(self) -> Block:
        """Its reports, counted by the cells that they support."""
        return self.table.blocks[0].by_value


def settings(number: int, names: Sequence[str] = MECHANISMS, seed: int = 5) -> Iterator[Setting]:
    """Draw so many surveys in which V is estimable, of all categories, and between .05 and .7."""
    rng, drawn = np.random.default_rng(seed), 0
    while drawn < number:
        name, shape = str(rng.choice(names)), tuple(map(int, rng.integers(2, 7, 2)))
        epsilon, n = float(rng.uniform(0.5, 4)), int(np.exp(rng.uniform(np.log(300), np.log(30_000))))
        margins = [np.maximum(rng.dirichlet(np.full(size, rng.choice([1.0, 3.0, 20.0]))), 0.01) for size in shape]
        joint = dependent(*(one / one.sum() for one in margins), float(rng.uniform(0.05, 0.7)), rng)
        domain = Domain({"a": list(range(shape[0])), "b": list(range(shape[1]))})
        protocol = SampledGroups(domain, epsilon=epsilon, mechanism=name)
        table = protocol.simulate(rng.multinomial(n, joint.ravel()), rng=rng)["a", "b"]
        found = association(table)
        if not found.without and 0.05 <= found.cramers_v <= 0.7:
            drawn += 1
            yield Setting(name, epsilon, table, found.cramers_v, found.noise)


def dependent(rows: FloatArray, columns: FloatArray, cramers_v: float, rng: np.random.Generator) -> FloatArray:
    """Mix independence with categories that go together as far as they can, in some order, for a V of about this."""
    orders = rng.permutation(rows.size), rng.permutation(columns.size)
    ends = [np.append(0, np.cumsum(one[order])) for one, order in zip((rows, columns), orders, strict=True)]
    both = np.minimum.outer(ends[0][1:], ends[1][1:]) - np.maximum.outer(ends[0][:-1], ends[1][:-1])
    coupled = np.empty_like(both)
    coupled[np.ix_(*orders)] = np.maximum(both, 0)
    alone = np.outer(rows, columns)
    most = float(np.sqrt(((coupled - alone) ** 2 / alone).sum() / (min(alone.shape) - 1)))
    weight = min(1.0, cramers_v / most)
    return weight * coupled + (1 - weight) * alone


def rounded(shares: FloatArray, number: int) -> NDArray[np.int64]:
    """Return counts in these proportions to the reports, whose sum is rounded too."""
    whole = np.floor(shares * number).astype(np.int64)
    missing = round(float(shares.sum()) * number) - int(whole.sum())
    whole[np.argsort(whole - shares * number, kind="stable")[:missing]] += 1
    return whole


def simulated(
    block: Block, table: Table, honest: FloatArray, sent: FloatArray, share: float, surveys: int, seed: int
) -> float:
    """Return the median V of surveys with a share of forged reports, which add so much to each entry of a tally."""
    rng, forged = np.random.default_rng(seed), round(share * table.n)
    added, found = rounded(sent, forged), []
    for counts in block.noise.draw(honest, table.n - forged, surveys, rng):
        tally = Tally(block.noise, counts + added, table.n)
        found.append(association(Table(table.domain, (Block(block.question, tally),), table.privacy)).cramers_v)
    return float(np.median(np.nan_to_num(found)))


def outputs(noise: NoiseModel, worth: FloatArray) -> FloatArray:
    """Return what each report of a mixture adds to the tally on average, given its worth."""
    if noise.bounds() is not None:
        return np.clip(noise.mean(worth), 0, 1)
    alone = np.column_stack([noise.debias(np.eye(noise.outputs)), np.ones(noise.outputs)])
    return nnls(alone.T, np.append(worth, 1))[0]


def same_output(block: Block, honest: FloatArray, shape: tuple[int, ...], cramers_v: float) -> tuple[float, FloatArray]:
    """Return the share of forged reports by the former rule, and what each adds to the tally; nan where there is none.

    They all send the same output, or support the same cell and the others as an honest device does.
    """
    noise, cells = block.noise, block.noise.cells
    if noise.size == 1:
        worth = noise.debias(np.eye(noise.outputs))
    else:
        highest = noise.influence()[1]
        rest = np.zeros(cells) if noise.size is None else (1 - highest) / (cells - 1)
        worth = np.where(np.eye(cells, dtype=bool), highest, rest[:, None])
    low, high = np.zeros(len(worth)), np.full(len(worth), 0.5)
    enough = expected_v(honest + high[:, None] * (worth - honest), shape) >= cramers_v
    for _ in range(40):
        middle = (low + high) / 2
        reached = expected_v(honest + middle[:, None] * (worth - honest), shape) >= cramers_v
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    best = int(np.where(enough, high, np.inf).argmin())
    sent = np.eye(noise.outputs)[best] if noise.size == 1 else noise.mean(worth[best])
    return (float(high[best]) if enough.any() else float("nan")), sent


def expected_v(tables: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return V of expected tables, flattened; infinite where a margin is not positive."""
    cells = tables.reshape(-1, *shape)
    alone = cells.sum(axis=2, keepdims=True) * cells.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = ((cells - alone) ** 2 / alone).sum(axis=(1, 2)) / (min(shape) - 1)
    found: FloatArray = np.where(alone.min(axis=(1, 2)) > 0, np.sqrt(np.maximum(squares, 0)), np.inf)
    return found


def shares(number: int, surveys: int, names: Sequence[str] = MECHANISMS) -> pd.DataFrame:
    """Return a row per setting: the share that is stated, and simulated medians of V over the V to be explained."""
    rows = []
    for seed, one in enumerate(settings(number, names)):
        attack, block = attack_on(one.table), one.block
        row = {"mechanism": one.mechanism, "cells": block.noise.cells, "epsilon": one.epsilon, "n": one.table.n}
        row |= {"V": one.cramers_v, "noise": one.noise, "stated": np.nan}
        found = attack.least_share(one.cramers_v)
        if found is not None:
            row["stated"], sent = found[0], outputs(block.noise, found[1])
            for times in TIMES:
                median = simulated(block, one.table, attack.honest, sent, times * found[0], surveys, seed)
                row[f"V at {times:g} times"] = median / one.cramers_v
        reports = one.table.blocks[0]
        row["former"], sent = same_output(reports, attack.honest, one.table.shape, one.cramers_v)
        if row["former"] > 0:
            median = simulated(reports, one.table, attack.honest, sent, row["former"], surveys, seed)
            row["V at the former share"] = median / one.cramers_v
        rows.append(row)
    return pd.DataFrame(rows)


def supports(noise: NoiseModel) -> FloatArray:
    """Return what every report that exists adds to the tally, a row each."""
    if isinstance(noise, MultinomialNoise):
        return np.eye(noise.outputs)
    sets = np.array(list(product([0.0, 1.0], repeat=noise.cells)))
    return sets if noise.size is None else sets[sets.sum(axis=1) == noise.size]


def shifts(share: float = 0.05, k: int = 6, epsilons: Sequence[float] = (0.5, 1.0, 4.0)) -> pd.DataFrame:
    """Return stated shifts of a frequency over those of expected tallies with the worst report: the extreme ratios."""
    rows = {}
    for name in MECHANISMS:
        ratios = []
        for epsilon, target in product(epsilons, range(k)):
            one = mechanism(name, k, epsilon)
            noise, nobody = one.noise, np.where(np.arange(k) == target, 0, 1 / (k - 1))
            stated, everybody = poisoning(one, share, target=target), np.eye(k)[target]
            mixed = [
                noise.debias((1 - share) * noise.mean(honest) + share * supports(noise))[:, target]
                for honest in (nobody, everybody)
            ]
            ratios += [stated.rise / mixed[0].max(), stated.fall / (1 - mixed[1].min())]
        rows[name] = {"least": min(ratios), "most": max(ratios)}
    return pd.DataFrame(rows).T


def forged_reports(number: int = 200, surveys: int = 200) -> dict[str, pd.DataFrame]:
    """Measure everything; the parts by what they show."""
    found = shares(number, surveys)
    ratios = [column for column in found if column.startswith("V at ")]
    clear, parts = found[found["V"] > 2 * found["noise"]], [0.05, 0.25, 0.5, 0.75, 0.95]
    said = found[["stated", "former"]].notna().sum().rename("settings with a share").to_frame()
    return {
        f"Simulated median V over the V to be explained, {len(found)} settings": found[ratios].quantile(parts).T,
        f"The same where V is at least twice what noise alone shows, {len(clear)} settings": clear[ratios]
        .quantile(parts)
        .T,
        "Settings in which half of all reports are enough": said,
        "By mechanism, the median": found.groupby("mechanism")[ratios].median(),
        "Stated shifts of a proportion over those of expected tallies": shifts(),
    }


def main() -> None:
    """Measure and print everything."""
    for title, frame in forged_reports().items():
        print(f"{title}\n{frame.to_string(float_format='{:.3f}'.format)}\n", flush=True)


if __name__ == "__main__":
    main()
