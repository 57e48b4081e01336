"""Figures 2 to 5: errors on geometric data; only what the paper says about the curves is in its text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from papers.comparisons import NOT_REPRODUCIBLE, Comparison, printed_figures, stated
from papers.exhibits import Effort, Exhibit, Measured
from papers.le_zia.algorithms import AS_RUN, AT_ITS_WORD, READINGS, UNEXPLAINED, mean_absolute_errors
from papers.le_zia.claims import DIRECT, Claim, comparable, least
from papers.le_zia.pictures import draw_synthetic_data

SMALL, LARGE = (1_000, 2_500, 5_000, 10_000, 20_000), (40_000, 100_000, 200_000, 300_000, 400_000)
"""Numbers of respondents; the paper says how far they go, not which they are."""
PANELS = {2: (20, SMALL), 3: (100, SMALL), 4: (100, LARGE), 5: (500, LARGE)}
"""The size of the domain and the numbers of respondents of each figure."""
LEVELS = (0.5, 1.0, 2.0)
WIDE, STEEP = "mean d/5", "ratio 0.8"
LAWS = (WIDE, STEEP)
"""The paper gives no parameter: of its references, Kairouz et al. have the mean d/5, HR's public code the ratio 0.8."""
JUDGED = STEEP
"""One law for all statements, that with which more of them hold: a figure has one law, not one for each sentence."""
BROKEN = "as run, bRAPPOR and CMS all zero"
"""The error of estimating zero for every value is 1/d, which is printed for bRAPPOR on US Census 1990, Race and PoB."""

CLAIMS: dict[str, Claim] = {
    "Basic RAPPOR generally outperforms the other algorithms": least("bRAPPOR"),
    "HR is better than the other algorithms": least("HR"),
    "k-subset is the best performing algorithm": least("k-subset"),
    "k-RR, k-subset and HR are competitive with each other": comparable(*DIRECT),
    "k-RR, k-subset and HR generally give the best estimation": least(*DIRECT),
    "k-RR generally has the highest accuracy": least("k-RR"),
    "k-subset and HR are often comparable with k-RR": comparable(*DIRECT),
}
BECAUSE = {
    AT_ITS_WORD: "",
    AS_RUN: "It holds for the algorithms as they were run for the tables, which are not all at ε.",
    BROKEN: "It holds if, moreover, Basic RAPPOR and CMS estimated zero for every value of large data, as the printed "
    "error of Basic RAPPOR on US Census 1990 (Race, PoB) suggests.",
}


def figure(number: int, effort: Effort) -> Measured:
    """Measure one of the four figures.

    Parameters
    ----------
    number : int
        Of the figure, from 2 to 5.
    effort : Effort
    """
    d, sizes = PANELS[number]
    rng = np.random.default_rng([2020, 10 + number])
    shown = [size for size in sizes if effort.full or size == sizes[0]]
    curves = pd.DataFrame(_errors(d, shown, effort.runs(400 if d <= 100 else 60), rng))
    places = printed_figures(f"le-zia-2020-figure-{number}").itertuples(index=False, name=None)
    return Measured([_judged(place, curves, large=sizes is LARGE) for place in places], curves)


def geometric(d: int, law: str) -> NDArray[np.float64]:
    """Return the frequencies of a geometric law, cut off after d values.

    Parameters
    ----------
    d : int
        The size of the domain.
    law : str
        One of `LAWS`.
    """
    ratio = 0.8 if law == STEEP else (d / 5) / (1 + d / 5)
    weights = ratio ** np.arange(d)
    return weights / weights.sum()


def _errors(d: int, sizes: list[int], runs: int, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    places = [(law, level, n) for law in LAWS for level in LEVELS for n in sizes]
    for law, level, n in tqdm(places, desc=f"d = {d}", disable=len(places) * d < 5_000):
        counts = rng.multinomial(n, geometric(d, law))
        for reading, algorithms in READINGS.items():
            for algorithm, estimates in algorithms(d, level).items():
                errors = mean_absolute_errors(estimates(counts, runs, rng), counts)
                place = {"law": law, "epsilon": level, "n": n, "reading": reading, "algorithm": algorithm}
                yield {**place, "d": d, "mean": errors.mean(), "std_err": errors.std(ddof=1) / runs**0.5, "runs": runs}


def _judged(place: tuple[str, str, str, str], curves: pd.DataFrame, *, large: bool) -> Comparison:
    """Say whether a statement holds as described with the law that is judged, and else with what it does."""
    claim, at_level = CLAIMS[place[3]], curves[curves["epsilon"] == float(place[1].removeprefix("ε = "))]
    readings = (AT_ITS_WORD, AS_RUN, BROKEN) if large else (AT_ITS_WORD, AS_RUN)
    counted = {reading: _counted(claim, at_level, reading) for reading in readings}
    ours = f"{claim.words}: " + "; ".join(f"{reading}, {_told(laws)}" for reading, laws in counted.items())
    where = [(reading, law) for reading in readings for law in (JUDGED, WIDE) if counted[reading][law][0]]
    if not where:
        return Comparison(*place, ours, NOT_REPRODUCIBLE, UNEXPLAINED)
    reading, law = where[0]
    both = all(counted[reading][one][0] for one in LAWS)
    choice = "" if both else f"It takes the geometric law with the {law}."
    if law != JUDGED:
        choice = f"It takes the geometric law with the {law}, not the {JUDGED} that the other statements are judged by."
    because = f"{BECAUSE[reading]} {choice}".strip()
    return stated(place, ours, holds=where[0] == (AT_ITS_WORD, JUDGED), because=because)


def _counted(claim: Claim, curves: pd.DataFrame, reading: str) -> dict[str, tuple[bool, str]]:
    found = curves[curves["reading"] == (AS_RUN if reading == BROKEN else reading)]
    errors = {law: one.pivot_table(index="n", columns="algorithm", values="mean") for law, one in found.groupby("law")}
    if reading == BROKEN:
        zeros = dict.fromkeys(("bRAPPOR", "CMS"), 1 / found["d"].iloc[0])
        errors = {law: one.assign(**zeros) for law, one in errors.items()}
    return {law: claim.counted(errors[law]) for law in LAWS}


def _told(laws: dict[str, tuple[bool, str]]) -> str:
    return " and ".join(f"{counted} sizes ({law})" for law, (_, counted) in laws.items())


WORDS = {
    2: "Basic RAPPOR is ahead at ε = 0.5 only as it was run for the tables, where it spends ln 3.",
    3: "HR is ahead at ε = 0.5 only as run, where its estimates are rescaled to proportions and those of Basic RAPPOR, "
    "CMS and k-subset, cut at zero, sum to more than one.",
    4: "As described, k-subset is ahead at ε = 0.5, by little. As run for the tables Basic RAPPOR would be ahead; but "
    "with the ratio 0.8 all five statements come out if it and CMS estimated zero for every value here, as the error "
    "that is printed for Basic RAPPOR on the large domains of US Census 1990 suggests. That is a guess.",
    5: "Basic RAPPOR is ahead at ε = 0.5 with the ratio 0.8, as run for the tables. With either law it is ahead if it "
    "estimated zero for every value: with so large a domain that error, 1/d, is below what the others reach at most "
    "sizes.",
}
LAWS_IN_WORDS = (
    " The paper gives neither the parameter of the geometric law nor the numbers of respondents: two laws from its "
    "references are tried at five numbers. Verdicts and picture are those of one law for all figures, the ratio 0.8 of "
    "HR's public code, with which more of the statements hold. A statement holds if it is true of most of the numbers, "
    "and errors are called comparable within a factor of two; both are our choice, and so the verdicts say less than "
    "those on numbers."
)
EXHIBITS = tuple(
    Exhibit(
        f"le-zia-2020-figure-{number}",
        f"Le & Zia, Figure {number}: mean absolute error of {d} geometric values, up to {sizes[-1]:,} respondents",
        WORDS[number] + LAWS_IN_WORDS,
        partial(figure, number),
        draw_synthetic_data,
    )
    for number, (d, sizes) in PANELS.items()
)
