"""Tables that nobody collected, and those that were made consistent: what their intervals, errors and tests are worth.

1. How often 95 % intervals of cells hold the truth where what is assumed is true, by how a table was made, how it was
   collected and what a cell is estimated as. A cell is zero below 1e-4 or half a respondent. It is worth (p / se)²
   respondents, p being its true frequency and se the standard deviation of its estimates over all runs: n p where there
   is nothing but sampling. Small cells are worth less than 20, the others are large. A point is one kind of table in
   one setting; it is asked for .9 where it has at least 400 cells in all runs.
2. How standard errors compare with the scatter over runs, where every cell of a table is large: elsewhere cells that
   cannot be negative hold others, and scatter is no standard error. Where the noise of tables of the same respondents
   is not known the table has to say so, and its errors must not be too small.
3. How often `bounds()` holds cells, conditional proportions and Cramér's V where the assumption is false, and how wide
   it is beside the intervals under the assumption, which hold the truth as often as they do.
4. How often true hypotheses about such tables are rejected at .05, or that the test is refused.

The respondents of every run are a fresh sample of the population. Everything is asked for in the last column; the exit
code is 1 if anything is missed. Seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import Pool

import numpy as np
import pandas as pd
import reconstruction_bounds
import reconstruction_levels
from reconstruction_populations import Drawn, Group, Setting
from tqdm import tqdm

import ldpstats as ldp
from ldpstats.numbers.arrays import BoolArray, FloatArray

Row = dict[str, object]
ALPHA = 0.05
MEAN, ANYWHERE, NOT_ABOVE = 0.93, 0.90, 0.975
LARGE = 20
BOUND = 0.97
"""Below it standard errors that are called a bound are too small: one, but for the scatter of this study."""
LEAST_RUNS, LEAST_POINT = 2_000, 400
PROCESSES = 2
SLOW, QUICK = 20, 60
MANY = 50_000


MADE: Mapping[str, Callable[[Drawn, Group], ldp.Table]] = {
    "pair, collected": lambda drawn, names: drawn.tables[names],
    "margin, consistent": lambda drawn, names: drawn.consistent_margin(names[0]),
    "pair, consistent": lambda drawn, names: drawn.consistent[names],
    "margin": Drawn.reconstructed,
    "pair": Drawn.reconstructed,
    "pair not asked": Drawn.reconstructed,
    "triple": Drawn.reconstructed,
    "triple of consistent": lambda drawn, names: ldp.reconstruct(drawn.consistent, names),
    "four": Drawn.reconstructed,
}
"""Kinds of tables; where it does not say how, they are reconstructed."""


def targets(setting: Setting) -> dict[str, Group]:
    """Return which attributes each kind of table is about in a setting.

    Four attributes whose table is nearly empty take long: only where there are many respondents, or few cells.
    """
    names, asked, found = setting.truth.names, setting.asked, {}
    even = setting.population.startswith(("even", "strong", "nearly"))
    if setting.collection != "triples":
        found = {"pair, collected": asked[0], "pair, consistent": asked[0], "triple": names[:3]}
    if setting.collection != "triples" and even:
        found["triple of consistent"] = names[-3:]
    found |= {"margin": names[1:2], "margin, consistent": names[1:2], "pair": asked[-1]}
    if ("a", "c") not in asked:
        found["pair not asked"] = ("a", "c")
    if len(names) > 3 and (even or setting.n > MANY):
        found["four"] = names[:4]
    return found


def settings() -> list[Setting]:
    """Return where the assumption is true, with fewer runs where many cells are nearly empty."""
    slow = [
        *((one, "groups", 2_000, 4.0) for one in ("even pairs", "skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups", 10_000, 1.0) for one in ("skewed pairs", "nearly empty")),
        *((one, "groups", 10_000, 4.0) for one in ("skewed chain", "skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups", 100_000, 1.0) for one in ("skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups, grr", 10_000, 2.0) for one in ("even chain", "skewed pairs", "nearly empty")),
        ("skewed pairs", "groups, oue", 100_000, 2.0),
        ("skewed pairs", "groups, hr", 100_000, 1.0),
        *(("skewed chain", "chain", *size) for size in ((2_000, 2.0), (10_000, 2.0), (100_000, 4.0))),
        ("even chain", "chain", 2_000, 2.0),
        ("skewed pairs", "triples", 100_000, 2.0),
        ("skewed pairs", "view", 10_000, 4.0),
        *((one, "hadamard", 10_000, 2.0) for one in ("even chain", "nearly empty")),
        ("skewed pairs", "hadamard", 100_000, 1.0),
        *((one, "crossed", 10_000, 4.0) for one in ("even pairs", "nearly empty")),
        ("skewed pairs", "crossed", 100_000, 4.0),
        ("nearly empty", "merged", 10_000, 4.0),
        ("skewed pairs", "merged", 100_000, 2.0),
    ]
    quick = [
        *((one, "groups", 100_000, 4.0) for one in ("even pairs", "skewed pairs", "nearly empty")),
        ("even triple", "groups", 100_000, 2.0),
        ("even pairs", "groups, oue", 100_000, 2.0),
        ("even pairs", "groups, hr", 100_000, 4.0),
        *(("even chain", "chain", *size) for size in ((10_000, 4.0), (100_000, 4.0))),
        ("even pairs", "triples", 100_000, 2.0),
        *(("even pairs", "view", *size) for size in ((10_000, 8.0), (100_000, 4.0))),
        *(("strong chain", "view, circle", *size) for size in ((10_000, 4.0), (10_000, 16.0), (100_000, 8.0))),
        *(("even triple", "hadamard", *size) for size in ((10_000, 2.0), (100_000, 1.0))),
        ("even pairs", "hadamard", 100_000, 2.0),
        *(("even triple", "crossed", *size) for size in ((10_000, 4.0), (100_000, 4.0))),
        ("even pairs", "crossed", 100_000, 4.0),
        *(("even pairs", "merged", *size) for size in ((10_000, 4.0), (100_000, 2.0))),
    ]
    return [*(Setting(*one, runs=SLOW) for one in slow), *(Setting(*one, runs=QUICK) for one in quick)]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one kind of table in all runs of a setting, shape (runs, cells) each."""

    truth: FloatArray
    estimate: FloatArray
    std_err: FloatArray
    inside: BoolArray
    bound: bool

    @classmethod
    def of(cls, truth: FloatArray, tables: Sequence[ldp.Table]) -> Cells:
        """Read tables of one truth."""
        limits = np.array([table.conf_int(ALPHA).reshape(-1, 2) for table in tables])
        return cls(
            truth,
            np.array([table.estimate.ravel() for table in tables]),
            np.array([table.std_err.ravel() for table in tables]),
            (limits[..., 0] <= truth) & (truth <= limits[..., 1]),
            any(table.measured.bound for table in tables),
        )

    @cached_property
    def scatter(self) -> FloatArray:
        """The standard deviations of the estimates."""
        found: FloatArray = self.estimate.std(axis=0, ddof=1)
        return found

    @cached_property
    def worth(self) -> FloatArray:
        """How many respondents each cell is worth."""
        return (self.truth / np.maximum(self.scatter, 1e-12)) ** 2

    def strata(self, n: int) -> dict[str, BoolArray]:
        """Return which cells of which runs are in each stratum."""
        zero = self.estimate < max(1e-4, 0.5 / n)
        small = ~zero & (self.worth < LARGE)
        return {"zero": zero, "small": small, "large": ~zero & ~small}


def measure(setting: Setting, kinds: Collection[str] = frozenset(MADE)) -> list[Row]:
    """Return a row per kind of table and stratum."""
    about = {kind: names for kind, names in targets(setting).items() if kind in kinds}
    made: dict[str, list[ldp.Table]] = {kind: [] for kind in about}
    refused = dict.fromkeys(about, 0)
    for drawn in setting.collections():
        for kind, names in about.items():
            try:
                made[kind].append(MADE[kind](drawn, names))
            except ldp.NotIdentifiedError:
                refused[kind] += 1
    rows = []
    for kind, names in about.items():
        if made[kind]:
            found = Cells.of(setting.truth.marginal(names).ravel(), made[kind])
            rows += [{**row, "refused": refused[kind]} for row in _rows(setting, kind, found)]
    return rows


def _rows(setting: Setting, kind: str, cells: Cells) -> Iterator[Row]:
    of_all = {"bound": cells.bound, "every cell large": bool(cells.worth.min() >= LARGE)}
    # on the scale of variances, where few runs give no bias
    squares = (cells.scatter**2 / np.maximum((cells.std_err**2).mean(axis=0), 1e-24)).sum()
    for stratum, chosen in cells.strata(setting.n).items():
        yield {
            "kind": kind,
            **setting.where,
            **of_all,
            "stratum": stratum,
            "cells": int(chosen.sum()),
            "held": int((cells.inside & chosen).sum()),
            "scatter": float(squares),
            "cells of a table": cells.truth.size,
        }


def coverage(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return coverage by strata, the least of any point, and whether it is as asked."""
    points = frame.assign(at=np.where(frame["cells"] >= LEAST_POINT, frame["held"] / frame["cells"], np.nan))
    grouped = points.groupby([*by, "stratum"], sort=False)
    found = grouped.agg(cells=("cells", "sum"), held=("held", "sum"), least=("at", "min"))
    found.insert(1, "coverage", found.pop("held") / found["cells"])
    return found[found["cells"] > 0].sort_index().assign(asked=lambda rows: rows.apply(_verdict, axis=1))


def _verdict(row: pd.Series) -> str:
    if row["cells"] < LEAST_RUNS:
        return "too few cells"
    return "met" if row["coverage"] >= MEAN and not row["least"] < ANYWHERE else "missed"


def below(frame: pd.DataFrame) -> str:
    """List the points where coverage is below what is asked of every one."""
    points = frame[(frame["cells"] >= LEAST_POINT) & (frame["held"] < ANYWHERE * frame["cells"])]
    shown = points.assign(coverage=points["held"] / points["cells"]).drop(columns=["bound", "every cell large", "held"])
    return shown.to_string(index=False, float_format="{:.3f}".format) if len(shown) else "none"


def not_too_wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of tables all of whose cells are large, and whose errors are no bounds."""
    rows = frame[frame["every cell large"] & ~frame["bound"]].groupby(["kind", "collection"], sort=False)
    found = rows.agg(cells=("cells", "sum"), held=("held", "sum"))
    found["coverage"] = found.pop("held") / found["cells"]
    return found.assign(asked=np.where(found["coverage"] <= NOT_ABOVE, "met", "missed"))


def errors(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the ratio of claimed to true standard errors."""
    once = frame[(frame["stratum"] == "large") & frame["every cell large"]]
    found = once.groupby(["kind", "collection"], sort=False).agg(
        settings=("n", "size"), cells=("cells of a table", "sum"), scatter=("scatter", "sum"), bound=("bound", "any")
    )
    found["ratio"] = np.sqrt(found["cells"] / found.pop("scatter"))
    found["asked"] = [
        "met" if (ratio >= BOUND if bound else abs(ratio - 1) <= 0.1) else "missed"
        for ratio, bound in zip(found["ratio"], found["bound"], strict=True)
    ]
    return found


def run(part: tuple[str, Setting]) -> tuple[str, list[Row]]:
    """Measure one setting of one part."""
    name, setting = part
    return name, MEASURES[name](setting)


MEASURES: Mapping[str, Callable[[Setting], list[Row]]] = {
    "cells": measure,
    "bounds": reconstruction_bounds.measure,
    "levels": reconstruction_levels.measure,
}


def main() -> None:
    """Measure every setting, and print the figures with what was asked."""
    chosen = [
        *(("cells", setting) for setting in settings()),
        *(("bounds", setting) for setting in reconstruction_bounds.settings()),
        *(("levels", setting) for setting in reconstruction_levels.settings()),
    ]
    rows: dict[str, list[Row]] = {name: [] for name in MEASURES}
    with Pool(PROCESSES) as pool:
        for name, found in tqdm(pool.imap_unordered(run, chosen), total=len(chosen), unit="setting"):
            rows[name] += found
    cells = pd.DataFrame(rows["cells"])
    parts = {
        "1. Coverage of 95 % intervals, by what a cell is estimated as": coverage(cells, []),
        "The same by how tables were made": coverage(cells, ["kind"]),
        "The same by how they were collected": coverage(cells, ["collection"]),
        "Coverage where every cell is large: not to be above .975": not_too_wide(cells),
        "2. Claimed standard errors over true ones": errors(cells),
        "3. Bounds without an assumption, where it is false": reconstruction_bounds.report(rows["bounds"]),
        "4. Rejections of true hypotheses at .05": reconstruction_levels.report(rows["levels"]),
    }
    for title, part in parts.items():
        print(f"{title}\n{part.to_string(float_format='{:.3f}'.format)}\n", flush=True)
    print("Points below .9", below(cells), sep="\n")
    missed = sum(int((part["asked"] == "missed").sum()) for part in parts.values())
    print(f"\n{missed} rows are not as asked")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
