"""Equations 4 and 7: the estimate of one block, the nearest proper table, and the threshold of Section 7.3.

Equation 4 is right within a block, whose respondents are all sent the same T; `version_1` has what comes of it with the
counts of all blocks.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from ldpstats.inference.published.imran_meo import proper_table
from ldpstats.noise import MultinomialNoise, TruthOrFake
from ldpstats.numbers.arrays import FloatArray
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.findings import Finding, judged_by_row

GAMMAS = (0.01, 0.5, 0.9, 0.99, 0.999)
LEVELS = (0.05, 0.01)


def _equation_4(_: Effort) -> Measured:
    rng = np.random.default_rng(40)
    exact = []
    for p, cells in product((0.009, 0.221, 0.5), (2, 6, 16)):
        fakes, truth = rng.dirichlet(np.ones(cells)), rng.dirichlet(np.ones(cells))
        expected = MultinomialNoise(TruthOrFake(p, tuple(fakes.tolist()))).mean(truth)
        exact.append(np.allclose((expected - fakes * (1 - p)) / p, truth, rtol=0, atol=1e-12))
    found = {"reconstruction": Finding("unbiased if T is the one that was sent", all(exact))}
    return Measured(judged_by_row("imran-meo-2024-equation-4", found))


def solved(noisy: FloatArray, n: float, gamma: float) -> FloatArray:
    """Return a table that makes Equation 7 least, by a general solver of convex programs."""
    import cvxpy as cp

    table = cp.Variable(noisy.size, nonneg=True)
    gap = noisy - table
    objective = cp.Minimize(gamma * cp.norm1(gap) + (1 - gamma) * cp.sum_squares(gap))
    cp.Problem(objective, [cp.sum(table) == n]).solve(solver=cp.CLARABEL)
    found: FloatArray = np.asarray(table.value)
    return found


def _equation_7(effort: Effort) -> Measured:
    rng = np.random.default_rng(70)
    tables = [rng.normal(100, 120, 8) for _ in range(effort.runs(10))]
    n = 800.0
    alike = [np.allclose(solved(one, n, gamma), proper_table(one, n), atol=0.05) for one in tables for gamma in GAMMAS]
    l1 = [[float(np.abs(one - proper_table(one, n, gamma)).sum()) for gamma in (0.5, 1.0)] for one in tables]
    same = [math.isclose(one, other, rel_tol=1e-9) for one, other in l1]
    several = any(not np.allclose(proper_table(one, n), proper_table(one, n, 1.0)) for one in tables)
    found = {
        "l1 norm": Finding("several tables are equally near by it", several),
        "gamma": Finding("one table, the same for every gamma below 1", all(alike)),
        "large gamma": Finding("it is among those of the l1 norm for every gamma below 1, large or small", all(same)),
        "threshold": Finding(
            "a level of at most alpha, of statistics that are exchangeable and without ties",
            _threshold_keeps_its_level(),
        ),
    }
    return Measured(judged_by_row("imran-meo-2024-equation-7", found))


def _threshold_keeps_its_level() -> bool:
    """Count the ranks above the threshold, of l + 1 equally likely ones, for a thousand l from 1 / α on."""
    levels = []
    for alpha in LEVELS:
        for drawn in range(round(1 / alpha) + 1, round(1 / alpha) + 1001):
            rank = math.ceil(round((drawn + 1) * (1 - alpha), 9))
            levels.append((drawn + 1 - rank) / (drawn + 1) <= alpha and rank <= drawn)
    return all(levels)


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-equation-4",
        "Equation 4: the estimate of one block",
        "The expected share of every report, pushed through the channel, gives the true table back, exactly.",
        _equation_4,
    ),
    Exhibit(
        "imran-meo-2024-equation-7",
        "Equation 7: the nearest proper table, and the threshold of the test",
        "A solver of convex programs gives the same table for every γ below one, that of the squared distance alone. "
        "It is also one of the many that the ℓ1 norm allows, so that γ makes no difference.",
        _equation_7,
    ),
)
