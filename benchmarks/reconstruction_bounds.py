"""How often bounds without an assumption hold the truth where the assumption is false, and how wide they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from reconstruction_populations import Setting

import ldpstats as ldp
from ldpstats.numbers.arrays import FloatArray

Row = dict[str, object]
ALPHA, MEAN = 0.05, 0.93
_ROUNDED = 1e-9
"""What a limit may miss of a true zero by rounding."""


def settings(runs: int = 225) -> list[Setting]:
    """Return where the model of the groups that were asked about is false."""
    three = (("exclusive or", 10_000, 4.0), ("exclusive or, always", 10_000, 2.0), ("three-way", 100_000, 2.0))
    chains = ("dependent given b", "skewed, dependent", "as dependent as can be")
    sizes = ((2_000, 4.0), (10_000, 2.0), (100_000, 4.0))
    return [
        *(Setting(one, "groups", *size, runs=runs // 2) for one, *size in three),
        *(Setting(one, "chain", *size, runs=runs) for one in chains for size in sizes),
    ]


def measure(setting: Setting) -> list[Row]:
    """Return a row per quantity."""
    names = setting.truth.names
    target = names if ("a", "c") in setting.asked else ("a", "c")
    truth = setting.truth.marginal(target)
    rows = [row for drawn in setting.collections() for row in _of_one(drawn.reconstructed(target), truth)]
    found = pd.DataFrame(rows).groupby("quantity", sort=False).sum().reset_index()
    return [{**setting.where, **row} for row in found.to_dict("records")]


def _of_one(table: ldp.Table, truth: FloatArray) -> Iterator[Row]:
    """Return how many of each quantity the bounds and the intervals under the assumption hold, and their widths."""
    bounds = table.bounds(ALPHA)
    cells = np.stack([bounds.lower, bounds.upper], axis=-1)
    yield _row("cells", truth, cells, table.conf_int(ALPHA))
    shares = bounds.conditional(table.attributes[-1], table.attributes[:-1])
    yield _row(
        "conditional proportions", truth / truth.sum(axis=-1, keepdims=True), shares[["lower", "upper"]].to_numpy()
    )
    if truth.ndim == 2:
        limits = bounds.cramers_v()
        association = ldp.association(table, ALPHA).conf_int()
        yield _row("Cramér's V", np.array(cramers_v(truth)), np.array([limits.low, limits.high]), association)


def cramers_v(cells: FloatArray) -> float:
    """Return Cramér's V of a two-way table."""
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    return float(np.sqrt(((cells - expected) ** 2 / expected).sum() / (min(cells.shape) - 1)))


def _row(quantity: str, truth: FloatArray, limits: object, assumed: object = np.nan) -> Row:
    many, row = truth.size, {"quantity": quantity, "values": truth.size}
    for name, ends in (("bounds", limits), ("assuming", assumed)):
        low, high = np.broadcast_to(
            np.asarray(ends, dtype=float).reshape(-1, 2) if np.ndim(ends) else np.nan, (many, 2)
        ).T
        row[f"{name} hold"] = int(((low <= truth.ravel() + _ROUNDED) & (truth.ravel() <= high + _ROUNDED)).sum())
        row[f"{name} width"] = float((high - low).sum())
        row[f"{name} none"] = int(np.isnan(low).sum())
    return row


def report(rows: list[Row]) -> pd.DataFrame:
    """Return coverage and mean width by quantity and population, with the share of runs that have no bounds."""
    frame = pd.DataFrame(rows)
    places = ["quantity", "population"]
    found = frame.groupby(places, sort=False).sum(numeric_only=True).drop(columns=["n", "epsilon"])
    shares = found.drop(columns="values").div(found["values"], axis=0)
    shares.insert(0, "values", found["values"])
    return shares.assign(asked=np.where(shares["bounds hold"] >= MEAN, "met", "missed"))
