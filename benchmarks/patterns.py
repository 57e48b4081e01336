"""What whole reports tell beyond the counts of their values: respondents for the same power, and levels that hold.

Every setting is a test of independence of two attributes whose cells are asked for by SUE, OUE or SS. *By value* it
takes how many reports support each cell (generalized least squares), *whole* how many support each set of cells
(likelihood). Respondents for 80 % power are compared with those that the likelihood of whole reports needs,
whose channel is enumerated here anew. Levels and powers are simulated.

    python benchmarks/patterns.py           # the whole study, some minutes
    python benchmarks/patterns.py --quick   # a slice of it
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd

from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.null_model import DrawnTables
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.inference.planning.design import PlannedTest
from ldpstats.mechanisms import mechanism
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, SupportNoise, Tally
from ldpstats.numbers.arrays import FloatArray

MECHANISMS = ("sue", "oue", "ss")
LEVELS = (0.5, 1.0, 2.0, 4.0)
SKEWS = {2: ((0.5, 0.5), (0.7, 0.3), (0.9, 0.1)), 3: ((1 / 3,) * 3, (0.7, 0.15, 0.15), (0.9, 0.05, 0.05))}
SHAPES = ((2, 2), (2, 3), (3, 3))
ALPHA, POWER, EFFECT = 0.05, 0.8, 0.05

Margins = tuple[FloatArray, ...]


def enumerated(noise: SupportNoise) -> MultinomialNoise:
    """Return the channel of whole reports, gone through set by set."""
    values = range(noise.cells)
    if noise.size is None:
        sets = [{v for v in values if bits[v]} for bits in product((0, 1), repeat=noise.cells)]
        rows = [
            [
                math.prod(
                    (noise.p if v == true else noise.q) if v in one else 1 - (noise.p if v == true else noise.q)
                    for v in values
                )
                for one in sets
            ]
            for true in values
        ]
    else:
        chosen = [set(one) for one in combinations(values, noise.size)]
        inside, outside = math.comb(noise.cells - 1, noise.size - 1), math.comb(noise.cells - 1, noise.size)
        rows = [[noise.p / inside if true in one else (1 - noise.p) / outside for one in chosen] for true in values]
    return MultinomialNoise(DenseChannel(tuple(map(tuple, rows))))


def settings(shapes: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], str, float, Margins]]:
    """Return shape, mechanism, level and margins, where reports support more than one value or none."""
    return [
        (shape, name, epsilon, tuple(np.array(SKEWS[side][skew]) for side in shape))
        for shape, name, epsilon, skew in product(shapes, MECHANISMS, LEVELS, range(3))
        if isinstance(mechanism(name, k=math.prod(shape), epsilon=epsilon).noise, SupportNoise)
    ]


def respondents(shapes: Sequence[tuple[int, int]] = SHAPES) -> pd.DataFrame:
    """Return respondents for 80 % power, as multiples of what the likelihood of whole reports needs."""
    rows = []
    for shape, name, epsilon, margins in settings(shapes):
        made = mechanism(name, k=math.prod(shape), epsilon=epsilon)
        assert isinstance(made.noise, SupportNoise)
        planned = PlannedTest(margins)
        needed, whole, full = (
            planned.seen_through(noise).reports_needed(EFFECT * math.sqrt(min(shape) - 1), POWER, ALPHA)
            for noise in (made.noise, made.finest.noise, enumerated(made.noise))
        )
        found = {"by value": needed / full, "whole": whole / full, "full": full}
        rows.append({"shape": shape, "mechanism": name, "epsilon": epsilon, "skew": margins[0].max(), **found})
    return pd.DataFrame(rows)


def rejected(noise: NoiseModel, cells: FloatArray, shape: tuple[int, int], n: int, tables: int, seed: int) -> float:
    """Return how often the test rejects at level .05 by its asymptotic law; fits take a few steps from the cells."""
    from scipy.special import chdtri

    asked = Question(("a", "b"), shape, tuple(range(cells.size)))
    rng = np.random.default_rng(seed)
    block = Block(asked, Tally(noise, noise.draw(cells, n, 1, rng)[0], n))
    evidence = BlockEvidence((block,), (noise.draw(cells, n, tables, rng),))
    statistic = ScoreStatistic(ProductOfConditionals.independent(shape), evidence, cells.size)
    null = np.kron(*(cells.reshape(shape).sum(axis=axis) for axis in (1, 0)))
    return float(np.mean(statistic(evidence, DrawnTables(null, np.zeros(1))).statistic > chdtri(statistic.df, ALPHA)))


def levels(
    tables: int, sizes: Sequence[int] = (200, 2_000, 20_000), shapes: Sequence[tuple[int, int]] = ((2, 2), (3, 3))
) -> pd.DataFrame:
    """Return how often true hypotheses are rejected."""
    rows = []
    for number, (shape, name, epsilon, margins) in enumerate(settings(shapes)):
        made, cells = mechanism(name, k=math.prod(shape), epsilon=epsilon), np.kron(*margins)
        for n in sizes:
            found = {
                kind: rejected(noise, cells, shape, n, tables, number)
                for kind, noise in (("by value", made.noise), ("whole", made.finest.noise))
            }
            rare = float(n * np.minimum(made.noise.mean(cells), 1 - made.noise.mean(cells)).min())
            row = {"shape": shape, "mechanism": name, "epsilon": epsilon, "skew": margins[0].max(), "n": n}
            rows.append({**row, "least expected": rare, **found})
    return pd.DataFrame(rows)


def main() -> None:
    """Print both studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a slice of the study")
    quick = parser.parse_args().quick
    needed = respondents(((2, 2),) if quick else SHAPES)
    print(needed.round(3).to_string(index=False))
    print(needed.groupby("mechanism")[["by value", "whole"]].max().round(3))
    held = levels(500, (2_000,), ((2, 2),)) if quick else levels(4_000)
    print(held.round(4).to_string(index=False))
    print(held[["by value", "whole"]].describe().round(4))


if __name__ == "__main__":
    main()
