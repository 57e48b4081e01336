"""How often the 95 % intervals of effect sizes hold the truth: every effect, over a grid of tables and mechanisms.

Respondents are drawn anew in every replication, so both the sampling and the randomization vary. An interval that
leaves an end open, or says nothing because the effect is not estimable, holds the truth if the truth is in it, and its
share is printed beside the coverage. RRBA is the paper's protocol (p = .5, blocks of 250, no strict level); each of its
replications is a whole run, so that there are fewer.

Tables depend along one direction of rows and one of columns; "weak" is V = .1 and "strong" V = .5, or what the margins
allow: no cell becomes smaller than a tenth of what independence expects.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from multiprocessing import Pool

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.confidence.confidence_sets import FiellerQuotient, Inversion
from ldpstats.inference.effects.cramers_v import AssociationMeasures
from ldpstats.inference.effects.ratios import odds_forms, risk_difference_forms, risk_ratio_forms
from ldpstats.numbers.arrays import BoolArray, FloatArray

SHAPES = ((2, 2), (3, 2), (4, 4))
STRENGTHS = {"none": 0.0, "weak": 0.1, "strong": 0.5}
MARGINS = {
    "even": {2: (0.5, 0.5), 3: (1 / 3, 1 / 3, 1 / 3), 4: (0.25, 0.25, 0.25, 0.25)},
    "uneven": {2: (0.8, 0.2), 3: (0.6, 0.25, 0.15), 4: (0.5, 0.25, 0.15, 0.1)},
}
MECHANISMS, LEVELS, SIZES = ("grr", "ss", "oue"), (0.5, 1.0, 2.0), (2_000, 10_000, 50_000)
RRBA_SIZES = (2_000, 10_000)
REPLICATIONS, RRBA_REPLICATIONS = 2_000, 600
ALPHA = 0.05
ASKED = (0.93, 0.975)
PROCESSES = 2


@dataclass(frozen=True)
class Setting:
    """One table, seen through one mechanism."""

    shape: tuple[int, int]
    strength: str
    margins: str
    mechanism: str
    epsilon: float
    n: int
    replications: int = REPLICATIONS


def settings() -> list[Setting]:
    """Return the grid."""
    tables = list(product(SHAPES, STRENGTHS, MARGINS))
    one_shot = [Setting(*table, *how) for table in tables for how in product(MECHANISMS, LEVELS, SIZES)]
    blocks = [Setting(*table, "rrba", np.inf, n, RRBA_REPLICATIONS) for table in tables for n in RRBA_SIZES]
    return one_shot + blocks


def frequencies(setting: Setting) -> FloatArray:
    """Return the cells of a table with these margins and about this Cramér's V."""
    row, column = (np.array(MARGINS[setting.margins][size]) for size in setting.shape)
    expected, direction = np.outer(row, column), np.outer(_contrast(row), _contrast(column))
    strength = STRENGTHS[setting.strength] * np.sqrt(min(setting.shape) - 1)
    return expected * (1 + min(strength, 0.9 / -direction.min()) * direction)


def _contrast(margin: FloatArray) -> FloatArray:
    """Return the first half of the categories against the others, with mean 0 and variance 1."""
    half = (np.arange(margin.size) < margin.size / 2) - margin[: (margin.size + 1) // 2].sum()
    return half / np.sqrt(margin @ half**2)


def estimates(setting: Setting, cells: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the unbiased estimates of all replications, and their covariances."""
    if setting.mechanism == "rrba":
        domain = ldp.Domain({"row": range(setting.shape[0]), "column": range(setting.shape[1])})
        protocol = ldp.RRBA(domain, p=0.5, block_size=250)
        people = rng.multinomial(setting.n, cells, size=setting.replications)
        drawn = [protocol.simulate(joint, rng=rng)["row", "column"] for joint in people]
        tables = [table.estimated_by("unbiased").cells for table in drawn]  # what effects start from
        return np.stack([table.estimate for table in tables]), np.stack([table.covariance for table in tables])
    noise = ldp.mechanism(setting.mechanism, k=cells.size, epsilon=setting.epsilon).noise
    estimate = noise.debias(noise.draw(cells, setting.n, setting.replications, rng) / setting.n)
    return estimate, noise.covariance(estimate) / (setting.n - 1)


def effects(
    cells: FloatArray, covariance: FloatArray, shape: tuple[int, int]
) -> dict[str, tuple[Inversion, BoolArray]]:
    """Return every effect of many tables, and for which of them it is called not estimable."""
    rows, columns = ((0, size - 1) for size in shape)
    seen = AssociationMeasures.of(cells.reshape(-1, *shape), covariance)
    never, drowned = np.zeros(len(cells), dtype=bool), ~seen.estimable
    contrast = np.zeros(cells.shape[1])
    contrast[[0, -1]] = 1, -1
    quotients = {
        "odds ratio": (odds_forms(shape, rows, columns), 0.0, np.inf),
        "risk ratio": (risk_ratio_forms(shape, rows, 0), 0.0, np.inf),
        "risk difference": (risk_difference_forms(shape, rows, 0), -1.0, 1.0),
    }
    ratios = {name: FiellerQuotient.of_forms(cells, covariance, *how) for name, how in quotients.items()}
    return {
        **{name: (quotient, never) for name, quotient in ratios.items()},
        "proportion difference": (FiellerQuotient.of_contrast(cells, covariance, contrast), never),
        "Cramér's V": (seen.cramers_v, drowned),
        "mutual information": (seen.mutual_information, drowned),
    }


def truths(cells: FloatArray) -> dict[str, float]:
    """Return the effects of the population, from their definitions."""
    row, column = cells.sum(axis=1), cells.sum(axis=0)
    first, last = cells[0, 0] / row[0], cells[-1, 0] / row[-1]
    expected = np.outer(row, column)
    squared = float(((cells - expected) ** 2 / expected).sum())
    return {
        "odds ratio": float(cells[0, 0] * cells[-1, -1] / (cells[0, -1] * cells[-1, 0])),
        "risk ratio": float(first / last),
        "risk difference": float(first - last),
        "proportion difference": float(cells[0, 0] - cells[-1, -1]),
        "Cramér's V": float(np.sqrt(squared / (min(cells.shape) - 1))),
        "mutual information": max(float((cells * np.log(cells / expected)).sum()), 0.0),
    }


def measure(numbered: tuple[int, Setting]) -> list[dict[str, object]]:
    """Return a row per effect: coverage, and the shares of intervals that are special."""
    number, setting = numbered
    cells = frequencies(setting)
    estimate, covariance = estimates(setting, cells.ravel(), np.random.default_rng(number))
    known = truths(cells)
    rows = []
    for name, (inversion, silent) in effects(estimate, covariance, setting.shape).items():
        limits = inversion.limits(ALPHA)
        # a truth of zero may come out as 1e-17
        held = ((limits[..., 0] <= known[name] + 1e-9) & (known[name] - 1e-9 <= limits[..., 1])).any(axis=-1)
        special = {
            "coverage": np.mean(held | silent),
            "not estimable": silent.mean(),
            "unbounded": np.isinf(limits).any(axis=(-1, -2)).mean(),
            "in two": (~np.isnan(limits[..., 0])).all(axis=-1).mean() if limits.shape[-2] > 1 else 0.0,
            "empty": np.isnan(limits).all(axis=(-1, -2)).mean() if limits.shape[-2] > 1 else 0.0,
        }
        rows.append({"effect": name, **dict(zip(_COLUMNS, astuple(setting), strict=True)), **special})
    return rows


_COLUMNS = ("shape", "dependence", "margins", "mechanism", "epsilon", "n", "replications")


def report(frame: pd.DataFrame) -> str:
    """Summarize by effect and mechanism, and list what is not as asked."""
    grouped = frame.groupby(["effect", "mechanism"], sort=False)
    summary = grouped["coverage"].agg(settings="size", least="min", mean="mean", most="max")
    summary["below"] = grouped["coverage"].agg(lambda covered: int((covered < ASKED[0]).sum()))
    summary["above"] = grouped["coverage"].agg(lambda covered: int((covered > ASKED[1]).sum()))
    summary = summary.join(grouped[["not estimable", "unbounded", "in two", "empty"]].mean())
    heard = frame[frame["not estimable"] < 0.01].groupby(["effect", "dependence"], sort=False)["coverage"]
    below = frame[frame["coverage"] < ASKED[0]].drop(columns="replications")
    above = frame[(frame["coverage"] > ASKED[1]) & (frame["not estimable"] < 0.01)]
    return "\n\n".join(
        [
            f"Coverage of 95 % intervals, by setting; asked are {ASKED[0]} to {ASKED[1]}",
            summary.to_string(float_format="{:.3f}".format),
            "The same where less than 1 % of the tables are not estimable, by strength of the dependence",
            heard.agg(settings="size", least="min", mean="mean", most="max").to_string(float_format="{:.3f}".format),
            f"Below {ASKED[0]}",
            below.to_string(index=False, float_format="{:.3f}".format) if len(below) else "none",
            f"Above {ASKED[1]} although estimable: settings, by effect, dependence and shape",
            above.groupby(["effect", "dependence", "shape"], sort=False)["coverage"]
            .agg(settings="size", mean="mean", most="max")
            .to_string(float_format="{:.3f}".format),
        ]
    )


def main() -> None:
    """Measure every setting and print the figures."""
    with Pool(PROCESSES) as pool:
        measured = pool.map(measure, enumerate(settings()), chunksize=4)
    print(report(pd.DataFrame([row for rows in measured for row in rows])))


if __name__ == "__main__":
    main()
