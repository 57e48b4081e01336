"""How often true hypotheses about tables that were put together or made consistent are rejected, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from reconstruction_populations import Drawn, Setting
from scipy.stats import binom

import ldpstats as ldp

Row = dict[str, object]
LEVEL = 0.05
ALLOWED = (0.03, 0.065)
HAIR, EYE, SEX = THREE = ("hair", "eye", "sex")
MUTUAL, CONDITIONAL = "hair, eye, sex independent", "hair and sex given eye"

Test = Callable[[Drawn], ldp.HypothesisResult]


def _mutual_of_consistent(drawn: Drawn) -> ldp.HypothesisResult:
    return ldp.independence_test(ldp.reconstruct(drawn.consistent, THREE))


def _joint(drawn: Drawn) -> ldp.HypothesisResult:
    return ldp.joint_independence_test(drawn.reconstructed(THREE), (HAIR, EYE), SEX)


def _conditional(drawn: Drawn) -> ldp.HypothesisResult:
    return ldp.conditional_independence_test(drawn.reconstructed(THREE), HAIR, SEX, EYE)


TESTS: Mapping[str, Test] = {
    "mutual, reconstructed": lambda drawn: ldp.independence_test(drawn.reconstructed(THREE)),
    "mutual, reconstructed of consistent": _mutual_of_consistent,
    "(hair, eye) and sex, reconstructed": _joint,
    "hair and sex given eye, reconstructed": _conditional,
    "no three-way, reconstructed": lambda drawn: ldp.no_three_way_interaction_test(drawn.reconstructed(THREE)),
    "hair and sex, reconstructed": lambda drawn: ldp.independence_test(drawn.reconstructed((HAIR, SEX))),
    "hair and eye, reconstructed": lambda drawn: ldp.independence_test(drawn.reconstructed((HAIR, EYE))),
    "hair and eye, consistent": lambda drawn: ldp.independence_test(drawn.consistent[HAIR, EYE]),
}
ALSO_TRUE = ("hair and sex given eye, reconstructed", "no three-way, reconstructed")
"""Which of them hold where hair and eye, and eye and sex, are dependent."""


def settings(runs: int = 400) -> list[Setting]:
    """Return populations and ways to collect them."""
    sizes = ((2_000, 4.0), (10_000, 2.0), (100_000, 1.0))
    return [
        *(Setting(one, "groups", *size, runs=runs) for one in (MUTUAL, CONDITIONAL) for size in sizes),
        *(Setting(one, "chain", 10_000, 2.0, runs=runs) for one in (MUTUAL, CONDITIONAL)),
        *(Setting(MUTUAL, way, 10_000, 4.0, runs=runs) for way in ("merged", "view", "hadamard", "crossed")),
    ]


def measure(setting: Setting) -> list[Row]:
    """Return a row per hypothesis: how often it was rejected, and how often that was refused."""
    tests = {name: test for name, test in TESTS.items() if setting.population == MUTUAL or name in ALSO_TRUE}
    rejected, refused = dict.fromkeys(tests, 0), dict.fromkeys(tests, 0)
    for drawn in setting.collections():
        for name, test in tests.items():
            try:
                rejected[name] += test(drawn).pvalue <= LEVEL
            except ldp.NotIdentifiedError:
                refused[name] += 1
    return [
        {
            "hypothesis": name,
            **setting.where,
            "runs": setting.runs,
            "refused": refused[name],
            "rejected": rejected[name],
        }
        for name in tests
    ]


def report(rows: list[Row]) -> pd.DataFrame:
    """Return the share of rejections of every hypothesis where it is tested, and where it is refused.

    A single setting is off its level if so few, or so many, rejections came once in a thousand times at the limits.
    """
    frame = pd.DataFrame(rows)
    tested, rejected = frame["runs"] - frame["refused"], frame["rejected"]
    fewest, most = (binom.ppf(tail, tested, level) for tail, level in zip((0.001, 0.999), ALLOWED, strict=True))
    settings = frame.assign(
        at=rejected / tested.where(tested > 0),
        outcome=np.where(tested > 0, "tested", "refused"),
        off=((tested > 0) & (frame["refused"] > 0)) | (rejected < fewest) | (rejected > most),
    )
    found = settings.groupby(["hypothesis", "population", "outcome"], sort=False).agg(
        collections=("collection", lambda names: ", ".join(dict.fromkeys(names))),
        runs=("runs", "sum"),
        level=("rejected", "sum"),
        least=("at", "min"),
        most=("at", "max"),
        off=("off", "any"),
    )
    found["level"] = (found["level"] / found["runs"]).where(found["least"].notna())
    within = found["least"].isna() | found["level"].between(*ALLOWED)
    return found.assign(asked=np.where(within & ~found.pop("off"), "met", "missed"))
