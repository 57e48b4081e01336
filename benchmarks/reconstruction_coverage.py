"""Tables that nobody collected, and those that were made consistent: what their intervals, errors and tests are worth.

1. How often 95 % intervals of cells hold the truth where what is assumed is true, by how a table was made, how it was
   collected and what a cell is estimated as. A cell is zero below 1e-4 or half a respondent. It is worth (p / se)²
   respondents, p being its true frequency and se the standard deviation of its estimates over all runs: n p where there
   is nothing but sampling. Small cells are worth less than 20, the others are large. A point is one kind of table in
   one setting; it is asked for .9 where it has at least 400 cells in all runs.
2. How standard errors compare with the scatter over runs, for cells worth 20 respondents or more. Where the noise of
   tables of the same respondents is not known the table has to say so, and its errors must not be too small.
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
from ldpstats.arrays import BoolArray, FloatArray

Row = dict[str, object]
ALPHA = 0.05
MEAN, ANYWHERE, NOT_ABOVE = 0.93, 0.90, 0.975
LARGE = 20
LEAST_RUNS, LEAST_POINT = 2_000, 400
PROCESSES = 2


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
    """Return which attributes each kind of table is about in a setting."""
    names, asked, found = setting.truth.names, setting.asked, {}
    if setting.collection != "triples":
        found = {"pair, collected": asked[0], "pair, consistent": asked[0]}
        found |= {"triple": names[:3], "triple of consistent": names[-3:]}
    found |= {"margin": names[1:2], "margin, consistent": names[1:2], "pair": asked[-1]}
    if ("a", "c") not in asked:
        found["pair not asked"] = ("a", "c")
    return found if len(names) == 3 else {**found, "four": names[:4]}


def settings(runs: int = 100) -> list[Setting]:
    """Return where the assumption is true."""
    where = [
        *((one, "groups", 2_000, 4.0) for one in ("even pairs", "skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups", 10_000, 1.0) for one in ("even pairs", "skewed pairs", "nearly empty")),
        *((one, "groups", 10_000, 4.0) for one in ("skewed chain", "skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups", 100_000, 1.0) for one in ("even pairs", "skewed pairs", "nearly empty", "skewed five")),
        *((one, "groups", 100_000, 4.0) for one in ("even pairs", "skewed pairs", "nearly empty")),
        ("even triple", "groups", 100_000, 2.0),
        *((one, "groups, grr", 10_000, 2.0) for one in ("even chain", "skewed pairs", "nearly empty")),
        *((one, "groups, oue", 100_000, 2.0) for one in ("even pairs", "skewed pairs")),
        *((one, "groups, hr", 100_000, 1.0) for one in ("even pairs", "skewed pairs")),
        *((one, "chain", 2_000, 2.0) for one in ("even chain", "skewed chain")),
        *((one, "chain", 10_000, 2.0) for one in ("even chain", "skewed chain")),
        *((one, "chain", 100_000, 4.0) for one in ("even chain", "skewed chain")),
        *((one, "triples", 100_000, 2.0) for one in ("even pairs", "skewed pairs")),
        *((one, "view", 10_000, 4.0) for one in ("even pairs", "skewed pairs")),
        *((one, "view", 100_000, 4.0) for one in ("even pairs", "skewed pairs")),
        *(("strong chain", "view, circle", *size) for size in ((10_000, 4.0), (10_000, 16.0), (100_000, 8.0))),
        *((one, "hadamard", 10_000, 2.0) for one in ("even triple", "even chain", "nearly empty")),
        *((one, "hadamard", 100_000, 1.0) for one in ("even triple", "even pairs", "skewed pairs")),
        *((one, "crossed", 10_000, 4.0) for one in ("even triple", "even pairs", "nearly empty")),
        *((one, "crossed", 100_000, 4.0) for one in ("even triple", "even pairs", "skewed pairs")),
        *((one, "merged", 10_000, 4.0) for one in ("even pairs", "nearly empty")),
        *((one, "merged", 100_000, 2.0) for one in ("even pairs", "skewed pairs")),
    ]
    return [Setting(*one, runs=runs) for one in where]


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
    large = cells.worth >= LARGE
    claimed = np.sqrt((cells.std_err[:, large] ** 2).mean(axis=0))
    ratio = float((claimed / cells.scatter[large]).mean()) if large.any() else np.nan
    for stratum, chosen in cells.strata(setting.n).items():
        yield {
            "kind": kind,
            **setting.where,
            **of_all,
            "stratum": stratum,
            "cells": int(chosen.sum()),
            "held": int((cells.inside & chosen).sum()),
            "se ratio": ratio,
            "se cells": int(large.sum()),
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
    """Return the mean ratio of claimed to true standard errors."""
    once = frame[(frame["stratum"] == "large") & (frame["se cells"] > 0)]
    weighted = once.assign(total=once["se ratio"] * once["se cells"])
    found = weighted.groupby(["kind", "collection"], sort=False).agg(
        settings=("n", "size"), cells=("se cells", "sum"), ratio=("total", "sum"), bound=("bound", "any")
    )
    found["ratio"] /= found["cells"]
    found["asked"] = [
        "met" if ratio >= 0.9 and (ratio <= 1.1 or bound) else "missed"
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
