"""The printed figures tell how the algorithms were run: readings next to the one that gives them all miss some."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from papers.comparisons import near, printed_figures
from papers.le_zia.algorithms import NAMES, Estimates, as_run, mean_absolute_errors
from papers.le_zia.errors import moments, std_err
from papers.le_zia.real_data import LEVELS, PRINTED_RUNS
from papers.one_way_counts import one_way_counts

import ldpstats as ldp
from ldpstats.mechanisms.base import Mechanism

RUNS = 400


def through(mechanism: Mechanism, method: str) -> Estimates:
    return lambda counts, runs, rng: mechanism.estimate(mechanism.simulate(counts, runs, rng), method).estimate


RIVALS: dict[str, tuple[str, Callable[[int, float], Estimates]]] = {
    "k-RR, rescaled": ("k-RR", lambda d, eps: through(ldp.GRR(d, eps), "norm-mul")),
    "Basic RAPPOR at ε": ("bRAPPOR", lambda d, eps: through(ldp.SUE(d, eps), "base-pos")),
    "Basic RAPPOR, rescaled": (
        "bRAPPOR",
        lambda d, _: through(ldp.mechanism("ue", k=d, epsilon=math.log(3), keep=0.75), "norm-mul"),
    ),
    "CMS, rescaled": ("CMS", lambda d, eps: through(ldp.SUE(d, eps), "norm-mul")),
    "k-subset of the best size": ("k-subset", lambda d, eps: through(ldp.SS(d, eps), "base-pos")),
    "HR in one block, rescaled": ("HR", lambda d, eps: through(ldp.HR(d, eps, blocks=1), "norm-mul")),
}


def met(algorithm: str, reading: Callable[[int, float], Estimates], rng: np.random.Generator) -> int:
    """Return how many of the 36 means and deviations are met."""
    found = 0
    for number, epsilon in LEVELS.items():
        printed = printed_figures(f"le-zia-2020-table-{number}").set_index(["row", "column"])["printed"]
        for row, counts in one_way_counts().items():
            ours = moments(mean_absolute_errors(reading(counts.size, epsilon)(counts, RUNS, rng), counts))
            for figure in ("mean", "std"):
                noise = std_err(ours, figure, RUNS), std_err(ours, figure, PRINTED_RUNS)
                found += near(printed[row, f"{algorithm}, {figure}"], ours[figure], *noise)
    return found


@pytest.mark.parametrize("algorithm", NAMES)
def test_the_reading_meets_all_figures(algorithm: str) -> None:
    assert met(algorithm, lambda d, eps: as_run(d, eps)[algorithm], np.random.default_rng(7)) == 36


@pytest.mark.parametrize("rival", RIVALS)
def test_a_reading_next_to_it_misses_at_least_four(rival: str) -> None:
    assert met(*RIVALS[rival], np.random.default_rng(7)) <= 32
