"""How fast tables become consistent: one table by sorting beside cvxpy, and all pairs of a large network together."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from timing import best_time

from ldpstats import SampledGroups
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.marginals import Attributes, Marginal
from ldpstats.datasets import network
from ldpstats.estimation.methods import NoiseVariance, norm_sub
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import TableSet

TABLES, CELLS = 200, 12
GAMMAS = (0.0, 0.01, 0.5, 0.99)
RESPONDENTS = 100_000
METHODS = ("l2", "l1", "elastic-net")
_UNIFORM = NoiseVariance(1, 1.0, 0.0)


def single_tables(tables: int = TABLES, gammas: Sequence[float] = GAMMAS, repetitions: int = 5) -> pd.DataFrame:
    """Compare the elastic net of random tables, by cvxpy, with their projection onto the simplex; µs a table."""
    rng = np.random.default_rng(1)
    noisy = rng.dirichlet(np.ones(CELLS), tables) + rng.normal(0, 0.1, (tables, CELLS))
    projected = norm_sub(noisy, _UNIFORM)
    scale = 1e6 / tables
    by_one = scale * best_time(lambda: [norm_sub(table, _UNIFORM) for table in noisy], repetitions)
    at_once = scale * best_time(lambda: norm_sub(noisy, _UNIFORM), repetitions)
    rows = []
    for gamma in gammas:
        again = elastic_net(gamma)
        solved = np.array([again(table) for table in noisy])
        ours = np.array([nearest_proper(table, np.ones(CELLS), gamma) for table in noisy])
        solving = scale * best_time(lambda again=again: [again(table) for table in noisy], 1)
        building = scale * best_time(lambda gamma=gamma: [elastic_net(gamma)(table) for table in noisy], 1)
        rows.append(
            {
                "gamma": gamma,
                "largest difference": np.abs(solved - projected).max(),
                "nearest_proper's": np.abs(ours - projected).max(),
                "cvxpy": building,
                "compiled once": solving,
                "sorting": by_one,
                "all at once": at_once,
                "cvxpy/sorting": building / by_one,
                "compiled once/sorting": solving / by_one,
                "compiled once/all at once": solving / at_once,
            }
        )
    return pd.DataFrame(rows)


def elastic_net(gamma: float) -> Callable[[FloatArray], FloatArray]:
    """Return what finds the elastic net of a table by cvxpy: the problem is compiled for the first one."""
    import cvxpy

    cells, table = cvxpy.Variable(CELLS, nonneg=True), cvxpy.Parameter(CELLS)
    cost = gamma * cvxpy.norm1(cells - table) + (1 - gamma) * cvxpy.sum_squares(cells - table)
    problem: Any = cvxpy.Problem(cvxpy.Minimize(cost), [cvxpy.sum(cells) == 1])

    def solve(noisy: FloatArray) -> FloatArray:
        table.value = noisy
        problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
        found: FloatArray = cells.value
        return found

    return solve


def all_pairs(method: str, name: str = "alarm", respondents: int = RESPONDENTS) -> dict[str, object]:
    """Make all pair tables of a network consistent, and say what it took in this process."""
    truth = network(name)
    protocol = SampledGroups(truth.domain, k=2, epsilon=1.0)
    tables = protocol.simulate(truth.sample(respondents, rng=1), rng=2)
    before = _peak_memory()
    start = time.perf_counter()
    fitted = make_consistent(tables, method)  # type: ignore[arg-type]  # one of the three names
    taken = time.perf_counter() - start
    return {
        "method": method,
        "tables": len(tables),
        "cells": sum(table.domain.size() for table in tables),
        "seconds": taken,
        "peak GB before": before,
        "peak GB": _peak_memory(),
        "largest disagreement": disagreement(fitted),
        "before it": disagreement(tables),
        "least cell": min(float(table.estimate.min()) for table in fitted),
    }


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def disagreement(tables: TableSet) -> float:
    """Return how far apart the tables' versions of any shared marginal are, as they are shown."""
    marginals = [Marginal(one.attributes, one.shape, one.cells.estimate, np.empty((0, 0)), one.n) for one in tables]
    largest = 0.0
    for overlap, places in shared_attributes([one.attributes for one in marginals]).items():
        versions = [marginals[place].summed(overlap) for place in places]
        largest = max(largest, float(np.ptp(versions, axis=0).max()))
    return largest


def shared_attributes(groups: Sequence[Attributes]) -> dict[Attributes, list[int]]:
    """Return every set of attributes that is the overlap of two groups, with the places of all groups that hold it.

    Where a group holds a whole other one, that one is the overlap. Larger overlaps imply smaller ones only between
    the groups that share them, so that all are kept. The attributes stand in the order in which groups name them first.
    """
    order = {name: place for place, name in enumerate(dict.fromkeys(name for group in groups for name in group))}
    sets = [frozenset(group) for group in groups]
    overlaps = {one & other for one, other in combinations(sets, 2)} - {frozenset()}
    return {
        tuple(sorted(overlap, key=order.__getitem__)): [place for place, own in enumerate(sets) if overlap <= own]
        for overlap in sorted(overlaps, key=lambda one: sorted(order[name] for name in one))
    }


def main() -> None:
    """Print both comparisons."""
    print(f"{TABLES} random tables of {CELLS} cells, elastic net by cvxpy against the projection onto the simplex")
    print("(µs a table; aims: differences up to 1e-6, ratio at least 100)\n")
    print(single_tables().to_string(index=False, float_format="{:.3g}".format))
    print(
        f"\nAll pairs of alarm, one pair for each of {RESPONDENTS:,} respondents, epsilon = 1; a new process for each"
    )
    print("(aims: below 30 seconds, cvxpy's import included; below 2 GB; disagreement up to 1e-6; no negative cell)\n")
    # a process that has done nothing else, so that the peak of its memory is this task's
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = pool.map(all_pairs, METHODS, chunksize=1)
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
