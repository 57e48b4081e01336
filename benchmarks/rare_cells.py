"""How often 95 % intervals hold the truth where cells are nearly empty, by what the rarest cell is worth.

A cell is worth the number of respondents who are in it. In every table some cells are made rare (one corner, two
opposite ones, or the first and the last of the last row), from 20 to 2,000 respondents, ε from .5 to 8, by GRR, SS and
OUE. Different tallies are weighed by how often they were drawn. Tallies of 20 reports through 2-by-2 GRR are all there
are (1,771), weighed by their probabilities. RRBA's tables are drawn whole, a few hundred each, at a strict level.

"before" is what the covariance at the estimate gives (Fieller, noncentral χ², Wilson or normal), which was all there
was. An interval that is empty does not hold the truth; the share of those without an upper end stands beside (for
Cramér's V and mutual information, of those that are called not estimable, which say nothing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import Pool
from statistics import NormalDist
from typing import Protocol

import numpy as np
import pandas as pd
from interval_coverage import ALPHA, PROCESSES, effects, truths
from numpy.typing import NDArray
from scipy.special import gammaln

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.confidence.confidence_sets import Inversion
from ldpstats.confidence.inversion import Comparison, PooledReports, counted_by_part, ends_of, least_tail
from ldpstats.estimation import Estimate, LinearPooling
from ldpstats.estimation.blocks import Block
from ldpstats.noise import NoiseModel, Tally
from ldpstats.numbers.arrays import BoolArray, FloatArray

Shape = tuple[int, int]
Row = dict[str, object]
SHAPES: tuple[Shape, ...] = ((2, 2), (4, 4))
LEVELS = (0.5, 2.0, 4.0, 8.0)
WORTHS = {20: (0.5, 1.5), 60: (0.2, 5.0), 300: (0.2, 1.5, 10.0), 2_000: (3.0,)}
KINDS = ("one", "two", "row")
MARGINS = {2: (0.6, 0.4), 3: (0.5, 0.3, 0.2), 4: (0.4, 0.3, 0.2, 0.1)}
STRATA = {"0-1": 1.0, "1-5": 5.0, "5-20": 20.0}
FEW = 20
RUNS, RRBA_RUNS = 2_000, 200
AT_ONCE = 250


class SeenTable(Protocol):
    """A table seen through one mechanism."""

    shape: Shape
    cells: FloatArray
    mechanism: str
    n: int
    runs: int


@dataclass(frozen=True)
class Rare:
    """One table with rare cells, seen through one mechanism."""

    shape: Shape
    kind: str
    worth: float
    mechanism: str
    epsilon: float
    n: int
    runs: int = RUNS

    @property
    def stratum(self) -> str:
        """What its rarest cell is worth."""
        return next(name for name, most in STRATA.items() if self.worth <= most)

    @property
    def cells(self) -> FloatArray:
        """The frequencies: a product of margins, but for the rare cells."""
        rows, columns = self.shape
        table = np.outer(MARGINS[rows], MARGINS[columns][::-1])
        corners = {"one": [(0, -1)], "two": [(0, -1), (-1, 0)], "row": [(-1, 0), (-1, -1)]}[self.kind]
        rare = np.zeros(self.shape, dtype=bool)
        for corner in corners:
            rare[corner] = True
        share = self.worth / self.n
        return np.where(rare, share, table * (1 - rare.sum() * share) / table[~rare].sum())


def settings() -> Iterator[Rare]:
    """Return the grid, without tables whose rare cells are not the rarest."""
    for shape, kind, mechanism, epsilon in product(SHAPES, KINDS, ("grr", "ss", "oue"), LEVELS):
        for n, worths in WORTHS.items():
            for worth in worths:
                one = Rare(shape, kind, worth, mechanism, epsilon, n)
                if one.cells.min() >= worth / n * 0.999:
                    yield one
    for shape, kind, epsilon, (n, worth) in product(
        ((2, 2), (4, 4)), ("one", "two"), (2.0, 8.0), ((60, 1.5), (300, 0.5), (300, 10.0))
    ):
        yield Rare(shape, kind, worth, "rrba", epsilon, n, RRBA_RUNS)


def comparisons(shape: Shape) -> dict[str, Comparison]:
    """Return what compares the corners of a table, as in `interval_coverage`."""
    corners, rows = np.full(shape, 4), np.full(shape, 4)
    corners[[0, 0, -1, -1], [0, -1, 0, -1]] = [0, 1, 2, 3]
    rows[0], rows[-1] = 1, 3
    rows[[0, -1], 0] = [0, 2]
    return {
        "odds ratio": Comparison(corners.ravel(), "odds ratio"),
        "risk ratio": Comparison(rows.ravel(), "risk ratio"),
        "risk difference": Comparison(rows.ravel(), "risk difference"),
    }


def every_tally(n: int, outputs: int) -> NDArray[np.int64]:
    """Return all ways to distribute n reports."""
    if outputs == 1:
        return np.array([[n]])
    rest = [every_tally(n - first, outputs - 1) for first in range(n + 1)]
    return np.concatenate([np.column_stack([np.full(len(one), first), one]) for first, one in enumerate(rest)])


def tallies(setting: SeenTable, noise: NoiseModel, rng: np.random.Generator) -> tuple[NDArray[np.int64], FloatArray]:
    """Return different tallies, and how probable each is, or how often it was drawn."""
    cells = setting.cells.ravel()
    if setting.mechanism == "grr" and setting.n == 20 and setting.shape == (2, 2):
        counts = every_tally(20, 4)
        logarithm = gammaln(21) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(noise.mean(cells))
        return counts, np.exp(logarithm)
    counts, often = np.unique(noise.draw(cells, setting.n, setting.runs, rng), axis=0, return_counts=True)
    return counts, often / setting.runs


def by_part(
    reports: PooledReports, comparison: Comparison, counts: NDArray[np.int64]
) -> tuple[PooledReports, Comparison, NDArray[np.int64]]:
    """Count the reports of every part together where `odds_ratio` and its like do so."""
    blocks, compared_parts = counted_by_part(reports.blocks, comparison)
    if blocks[0].noise.outputs < counts.shape[1]:
        counts = np.stack([counts[:, comparison.parts == part].sum(axis=1) for part in compared_parts.parts], axis=1)
    return PooledReports(tuple(blocks)), compared_parts, counts


def held(
    reports: PooledReports, comparison: Comparison, truth: float, counts: NDArray[np.int64]
) -> tuple[BoolArray, BoolArray]:
    """Say which intervals by the score test hold the truth, and which have no upper end: what `limits` looks for."""
    parts = []
    for start in range(0, len(counts), AT_ONCE):
        some = counts[start : start + AT_ONCE]
        share, low, high = (
            reports.below(comparison, np.full(len(some), value), [some]) for value in (truth, *ends_of(comparison))
        )
        tails = ALPHA / 2 * least_tail(1 - high), ALPHA / 2 * least_tail(low)
        parts.append(((1 - share >= tails[0]) & (share >= tails[1]), high >= tails[1]))
    found, unbounded = (np.concatenate(part) for part in zip(*parts, strict=True))
    return found, unbounded & comparison.quantity.logarithmic


def holds(inversion: Inversion, truth: float) -> tuple[BoolArray, BoolArray]:
    """Say which of many confidence sets hold the truth, and which have no upper end."""
    limits = inversion.limits(ALPHA)
    inside = ((limits[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= limits[..., 1])).any(axis=-1)
    return inside, np.isinf(limits).any(axis=(-1, -2))


def measure(numbered: tuple[int, Rare]) -> list[Row]:
    """Return a row per quantity: coverage before and now, and shares without an upper end."""
    number, setting = numbered
    rng = np.random.default_rng(number)
    if setting.mechanism == "rrba":
        return list(whole_tables(setting, rng))
    noise = ldp.mechanism(setting.mechanism, k=setting.cells.size, epsilon=setting.epsilon).noise
    counts, weight = tallies(setting, noise, rng)
    return [row for part in (compared, dependence, cells) for row in part(setting, noise, counts, weight)]


def compared(setting: Rare, noise: NoiseModel, counts: NDArray[np.int64], weight: FloatArray) -> Iterator[Row]:
    """Return the coverage of ratios and differences of risks."""
    reports, truth = reports_of(setting, noise), truths(setting.cells)
    before = effects(*_plain(setting, noise, counts), setting.shape)
    sparse = counts.min(axis=1) < FEW
    for name, comparison in comparisons(setting.shape).items():
        old, endless = holds(before[name][0], truth[name])
        of_parts, parts, by_parts = by_part(reports, comparison, counts)
        new, unbounded = held(of_parts, parts, truth[name], by_parts)
        now, open_now = np.where(sparse, new, old), np.where(sparse, unbounded, endless)
        yield _row(setting, name, *(float(weight @ one) for one in (old, now, endless, open_now)))


def dependence(setting: Rare, noise: NoiseModel, counts: NDArray[np.int64], weight: FloatArray) -> Iterator[Row]:
    """Return the coverage of Cramér's V and of the mutual information."""
    truth, (estimate, covariance) = truths(setting.cells), _plain(setting, noise, counts)
    before = effects(estimate, covariance, setting.shape)
    proper = np.maximum(estimate, 0)
    shares = (setting.n * proper / proper.sum(axis=-1, keepdims=True) + 0.5) / (setting.n + noise.cells / 2)
    spread = LinearPooling(reports_of(setting, noise).blocks).covariance(shares)
    sets = [effects(table, spread, setting.shape) for table in (estimate, shares)]
    sparse = counts.min(axis=1) < FEW
    for name in ("Cramér's V", "mutual information"):
        silent = before[name][1]
        old, *more = (holds(one[name][0], truth[name])[0] | silent for one in (before, *sets))
        now = np.where(sparse, more[0] | more[1], old)
        yield _row(setting, name, *(float(weight @ one) for one in (old, now, silent, silent)))


def cells(setting: Rare, noise: NoiseModel, counts: NDArray[np.int64], weight: FloatArray) -> Iterator[Row]:
    """Return the coverage of the rarest cell's own proportion."""
    rarest = int(setting.cells.argmin())
    truth, bounds = setting.cells.ravel()[rarest], noise.bounds()
    assert bounds is not None
    estimate = noise.debias(counts / setting.n)[:, rarest]
    bounds = np.repeat(bounds[:, [rarest]], len(counts), axis=1)
    many = Estimate(estimate, np.zeros((len(counts), len(counts))), setting.n, bounds=bounds)
    limits = many.wilson(NormalDist().inv_cdf(1 - ALPHA / 2), bounds), many.conf_int(ALPHA)
    old, now = (float(weight @ ((one[:, 0] <= truth) & (truth <= one[:, 1]))) for one in limits)
    yield _row(setting, "proportion", old, now, 0.0, 0.0)


def reports_of(setting: SeenTable, noise: NoiseModel) -> PooledReports:
    """Return reports through this noise; their counts are given apart."""
    question = Question(("row", "column"), setting.shape, tuple(range(noise.cells)))
    nothing = noise.draw(setting.cells.ravel(), setting.n, 1, np.random.default_rng(0))[0]
    return PooledReports((Block(question, Tally(noise, nothing, setting.n)),))


def _plain(setting: Rare, noise: NoiseModel, counts: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    estimate = noise.debias(counts / setting.n)
    return estimate, noise.covariance(estimate) / (setting.n - 1)


def whole_tables(setting: Rare, rng: np.random.Generator) -> Iterator[Row]:
    """Return the same for RRBA, whose every table has blocks of its own."""
    domain = ldp.Domain({"row": range(setting.shape[0]), "column": range(setting.shape[1])})
    protocol = ldp.RRBA(domain, epsilon=setting.epsilon, block_size=max(setting.n // 6, 10))
    truth, found = truths(setting.cells), []
    rarest = int(setting.cells.argmin())
    for _ in range(setting.runs):
        people = rng.multinomial(setting.n, setting.cells.ravel())
        found.append(_of_one(protocol.simulate(people, rng=rng)["row", "column"], truth, setting, rarest))
    for name, shares in pd.DataFrame([row for rows in found for row in rows]).groupby("name"):
        yield _row(setting, str(name), *(float(shares[what].mean()) for what in ("before", "now", "was", "unbounded")))


def _of_one(table: ldp.Table, truth: dict[str, float], setting: Rare, rarest: int) -> list[Row]:
    found_cells = table.estimated_by("unbiased").cells
    before = effects(found_cells.estimate[None], found_cells.covariance[None], setting.shape)
    rows, columns = (0, setting.shape[0] - 1), (0, setting.shape[1] - 1)
    now = {
        "odds ratio": ldp.odds_ratio(table, rows=rows, columns=columns),
        "risk ratio": ldp.risk_ratio(table, rows=rows, column=0),
        "risk difference": ldp.risk_difference(table, rows=rows, column=0),
        "Cramér's V": ldp.association(table),
        "mutual information": ldp.mutual_information(table),
    }
    found: list[Row] = []
    for name, effect in now.items():
        inside, endless = holds(before[name][0], truth[name])
        low, high = effect.conf_int()
        new = low <= truth[name] + 1e-9 and truth[name] - 1e-9 <= high
        old = bool(inside[0] or before[name][1][0])
        found.append({"name": name, "before": old, "now": new, "was": endless[0], "unbounded": bool(np.isinf(high))})
    share, reach = setting.cells.ravel()[rarest], NormalDist().inv_cdf(1 - ALPHA / 2) * found_cells.std_err[rarest]
    low, high = found_cells.conf_int(ALPHA)[rarest]
    old = bool(abs(found_cells.estimate[rarest] - share) <= reach)
    found.append({"name": "proportion", "before": old, "now": low <= share <= high, "was": 0, "unbounded": 0})
    return found


def _row(setting: Rare, name: str, before: float, now: float, was: float, unbounded: float) -> Row:
    return {
        "quantity": name,
        "mechanism": setting.mechanism,
        "shape": setting.shape,
        "kind": setting.kind,
        "worth": setting.stratum,
        "cell": setting.worth,
        "epsilon": setting.epsilon,
        "n": setting.n,
        "before": before,
        "now": now,
        "open before": was,
        "open now": unbounded,
    }


def report(frame: pd.DataFrame) -> str:
    """Summarize by quantity and stratum, and list what is below .9."""
    grouped = frame.groupby(["quantity", "worth", "mechanism"], sort=False)
    least = partial(pd.Series.min)
    summary = grouped.agg(
        settings=("now", "size"),
        before=("before", "mean"),
        least_before=("before", least),
        now=("now", "mean"),
        least_now=("now", least),
        open_before=("open before", "mean"),
        open_now=("open now", "mean"),
    )
    below = frame[frame["now"] < 0.9]
    return "\n\n".join(
        [
            "Coverage of 95 % intervals where the rarest cell is worth so many respondents, before and now",
            summary.sort_index().to_string(float_format="{:.3f}".format),
            "Below .9",
            below.to_string(index=False, float_format="{:.3f}".format) if len(below) else "none",
        ]
    )


def main() -> None:
    """Measure every setting and print the figures."""
    with Pool(PROCESSES) as pool:
        measured = pool.map(measure, enumerate(settings()), chunksize=4)
    print(report(pd.DataFrame([row for rows in measured for row in rows])))


if __name__ == "__main__":
    main()
