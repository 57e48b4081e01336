"""How often 95 % intervals of conditional proportions hold the truth, and how wide they are beside Fieller's alone.

1. Collected tables, from 2 by 2 to 4 by 5, and 3 categories given two attributes, through GRR, OUE and SS, ε from .5 to
   8, from 20 to 1,000,000 respondents, whose categories are even, rare (a row of .01, or one that 3 respondents are
   expected in), extreme (proportions of .02 and .98) or empty. Tallies of 20 reports through 2-by-2 GRR are all there
   are (1,771), weighed by their probabilities; of the others 1,000 are drawn each.
2. Tables that nobody collected, and consistent ones, where what is assumed is true: whole tables of the populations
   in `reconstruction_populations`.

"Fieller" is Fieller's set with the estimated covariance, everywhere; an empty one does not hold the truth. Widths are
those of a few tables of every setting. Asked for are .93 on average, and .90 at any point: one cell of one collected
table, or one kind of table in one setting of the others. The exit code is 1 if anything is missed. Seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import Pool

import numpy as np
import pandas as pd
from rare_cells import FEW, by_part, held, reports_of, tallies
from reconstruction_populations import Setting as Collection
from tqdm import tqdm

import ldpstats as ldp
from ldpstats.confidence.inversion import Comparison
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray
from ldpstats.tables.conditional import quotients_of_rows

Row = dict[str, object]
ALPHA, MEAN, ANYWHERE = 0.05, 0.93, 0.90
RUNS, MADE_RUNS, WIDTHS, PROCESSES = 1_000, 100, 5, 2
SHAPES = {(2, 2): (2, 2), (4, 5): (4, 5), (4, 3): (2, 2, 3)}
KINDS = ("even", "row of .01", "row of 3 people", "extreme", "empty")
SIZES = {500: (0.5, 1.0, 2.0, 4.0, 8.0), 5_000: (0.5, 2.0, 4.0), 50_000: (0.5, 1.0, 4.0), 1_000_000: (0.5, 2.0, 4.0)}


@dataclass(frozen=True)
class Collected:
    """One table of given categories by others, seen through one mechanism."""

    rows: int
    columns: int
    kind: str
    mechanism: str
    epsilon: float
    n: int
    runs: int = RUNS

    @property
    def shape(self) -> tuple[int, int]:
        """Given categories by others."""
        return self.rows, self.columns

    @property
    def cells(self) -> FloatArray:
        """The frequencies."""
        rows, columns = self.rows, self.columns
        margin = np.full(rows, 1 / rows)
        if self.kind.startswith("row of"):
            margin[-1] = 0.01 if self.kind == "row of .01" else 3 / self.n
            margin[:-1] = (1 - margin[-1]) / (rows - 1)
        steps = np.arange(columns)
        given = np.array([1 + (steps + row) % columns for row in range(rows)], dtype=float)
        if self.kind == "extreme":
            given = np.array([np.where(steps == row % columns, 0.98, 0.02 / (columns - 1)) for row in range(rows)])
        if self.kind == "empty":
            given[np.arange(rows), np.arange(rows) % columns] = 0
        cells: FloatArray = margin[:, None] * given / given.sum(axis=1, keepdims=True)
        return cells

    @property
    def noise(self) -> NoiseModel:
        """What it is seen through."""
        return ldp.mechanism(self.mechanism, k=self.rows * self.columns, epsilon=self.epsilon).noise

    def table(self, rng: np.random.Generator) -> ldp.Table:
        """Collect it."""
        shape = SHAPES[self.rows, self.columns]
        domain = ldp.Domain({f"a{axis}": list(range(side)) for axis, side in enumerate(shape)})
        protocol = ldp.SampledGroups(domain, k=len(shape), epsilon=self.epsilon, mechanism=self.mechanism)
        people = rng.multinomial(self.n, self.cells.ravel())
        return next(iter(protocol.simulate(people, rng=rng)))


def settings() -> Iterator[Collected]:
    """Return the grid."""
    for (rows, columns), kind, mechanism in product(SHAPES, KINDS, ("grr", "oue", "ss")):
        yield from (
            Collected(rows, columns, kind, mechanism, epsilon, n) for n, levels in SIZES.items() for epsilon in levels
        )
    yield from (
        Collected(2, 2, kind, "grr", epsilon, 20)
        for kind, epsilon in product(("even", "row of 3 people", "extreme", "empty"), (0.5, 1.0, 2.0, 4.0, 8.0))
    )


def proportions(setting: Collected) -> Iterator[tuple[tuple[int, int], Comparison, float]]:
    """Return every cell, what is compared, and its true value."""
    given = setting.cells / setting.cells.sum(axis=1, keepdims=True)
    for row, column in np.ndindex(setting.shape):
        # the cell, the rest of its row, and all other rows
        parts = np.full(setting.shape, 2)
        parts[row] = 1
        parts[row, column] = 0
        yield (row, column), Comparison(parts.ravel(), "proportion"), float(given[row, column])


def measure(numbered: tuple[int, Collected]) -> list[Row]:
    """Return a row per cell: coverage by Fieller alone, and now."""
    number, setting = numbered
    rng, noise = np.random.default_rng(number), setting.noise
    counts, weight = tallies(setting, noise, rng)
    estimate = noise.debias(counts / setting.n).reshape(-1, setting.rows, setting.columns)
    covariance = noise.covariance(estimate.reshape(len(counts), -1)) / (setting.n - 1)
    quotients = quotients_of_rows(estimate, covariance)
    limits, sparse = quotients.limits_of_parts(ALPHA), counts.min(axis=1) < FEW
    reports = reports_of(setting, noise)
    plain, widths = quotients.limits(ALPHA), _widths(setting, rng)
    rows: list[Row] = []
    for (row, column), comparison, truth in proportions(setting):
        of_cell = limits[:, row, column]
        now = _inside(of_cell[:, None], truth)
        if sparse.any():
            of_parts, parts, by_parts = by_part(reports, comparison, counts[sparse])
            now[sparse] = held(of_parts, parts, truth, by_parts)[0]
        found = {"truth": truth, "fieller": weight @ _inside(plain[:, row, column], truth), "now": weight @ now}
        share = float(weight @ sparse)
        rows.append({**asdict(setting), "cell": (row, column), **found, "sparse": share, **widths})
    return rows


def _inside(pieces: FloatArray, truth: FloatArray | float) -> BoolArray:
    found: BoolArray = ((pieces[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= pieces[..., 1])).any(axis=-1)
    return found


def _widths(setting: Collected, rng: np.random.Generator) -> dict[str, float]:
    """Return average widths: of Fieller's sets as one piece, nothing for an empty one, and now."""
    fieller, now = [], []
    for _ in range(WIDTHS):
        found = setting.table(rng)
        table = found.conditional(found.attributes[-1], given=found.attributes[:-1])
        limits = table.conf_int(ALPHA)
        cells = table.table.unbiased
        pieces = quotients_of_rows(cells.estimate.reshape(setting.rows, -1), cells.covariance).limits(ALPHA)
        ends = np.where(np.isnan(pieces), [np.inf, -np.inf], pieces)
        fieller.append(np.maximum(ends[..., 1].max(axis=-1) - ends[..., 0].min(axis=-1), 0).mean())
        now.append(np.diff(limits, axis=-1).mean())
    return {"width, Fieller": float(np.mean(fieller)), "width, now": float(np.mean(now))}


MADE = {
    "consistent": ("a", "b"),
    "of a pair": ("a", "b"),
    "of a pair not asked": ("a", "c"),
    "given two": ("a", "b", "c"),
}


def collections() -> list[Collection]:
    """Return where the assumption of a reconstruction is true."""
    where = [
        *((one, "groups", 10_000, 4.0) for one in ("even pairs", "skewed pairs", "nearly empty")),
        *((one, "groups", 2_000, 4.0) for one in ("skewed pairs", "nearly empty")),
        *((one, "groups", 100_000, 2.0) for one in ("even triple", "skewed pairs", "nearly empty")),
        *((one, "chain", n, 2.0) for one in ("even chain", "skewed chain") for n in (10_000, 100_000)),
        *(("even chain", "hadamard", n, 2.0) for n in (10_000, 100_000)),
        ("even pairs", "crossed", 100_000, 4.0),
        ("even pairs", "view", 10_000, 8.0),
    ]
    return [Collection(*one, runs=MADE_RUNS) for one in where]


def measure_made(collection: Collection) -> list[Row]:
    """Return a row per kind of table and cell, of tables that were not collected."""
    made: dict[str, list[FloatArray]] = {}
    for drawn in collection.collections():
        for kind, names in MADE.items():
            asked = kind == "consistent"
            if asked and names not in collection.asked:
                continue
            table = drawn.consistent[names] if asked else drawn.reconstructed(names)
            made.setdefault(kind, []).append(table.conditional(names[-1], given=names[:-1]).conf_int(ALPHA))
    return [row for kind, limits in made.items() for row in _rows_of(collection, kind, np.stack(limits))]


def _rows_of(collection: Collection, kind: str, limits: FloatArray) -> Iterator[Row]:
    people = collection.truth.marginal(MADE[kind])
    truth = people / people.sum(axis=-1, keepdims=True)
    inside = _inside(limits[..., None, :], truth[..., None])
    widths = np.diff(limits, axis=-1)[..., 0]
    for cell in np.ndindex(truth.shape):
        found = {"truth": truth[cell], "now": inside[:, *cell].mean(), "width, now": widths[:, *cell].mean()}
        yield {"kind": kind, **collection.where, "cell": cell, **found}


def report(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return coverage and widths, the least coverage of any point, and whether they are as asked."""
    grouped = frame.groupby(by, sort=False)
    parts = [grouped.size().rename("points")]
    for name in ("fieller", "now"):
        if name in frame:
            parts += [grouped[name].mean(), grouped[name].min().rename(f"least, {name}")]
    parts += [grouped[name].mean() for name in ("width, Fieller", "width, now") if name in frame]
    found = pd.concat(parts, axis=1)
    met = (found["now"] >= MEAN) & (found["least, now"] >= ANYWHERE)
    return found.assign(asked=np.where(met, "met", "missed"))


def main() -> None:
    """Measure every setting and print the figures."""
    with Pool(PROCESSES) as pool:
        chosen = list(enumerate(settings()))
        done = tqdm(pool.imap_unordered(measure, chosen, chunksize=4), total=len(chosen), unit="setting")
        collected = pd.DataFrame([row for rows in done for row in rows])
        where = collections()
        others = tqdm(pool.imap_unordered(measure_made, where), total=len(where), unit="setting")
        made = pd.DataFrame([row for rows in others for row in rows])
    points = (
        made.groupby(["kind", "population", "collection", "n", "epsilon"])[["now", "width, now"]].mean().reset_index()
    )
    parts = {
        "1. Collected tables": report(collected.assign(tables="all"), ["tables"]),
        "By how rare categories are": report(collected, ["kind", "mechanism"]),
        "By size": report(collected, ["n", "epsilon"]),
        "2. Tables that were not collected": report(points, ["kind"]),
    }
    for title, part in parts.items():
        print(f"{title}\n{part.to_string(float_format='{:.3f}'.format)}\n", flush=True)
    for frame in (collected, made):
        print(
            "Lowest points", frame.nsmallest(12, "now").to_string(index=False, float_format="{:.3f}".format), sep="\n"
        )
    missed = sum(int((part["asked"] == "missed").sum()) for part in parts.values())
    print(f"\n{missed} rows are not as asked")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
