"""Section 5 and Figures 5 and 6: whether and when blocks agree, and what their agreement is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import binom

from ldpstats import RRBA
from ldpstats.datasets import network
from ldpstats.protocols.rrba.stopping import convergence, normal_quantile
from papers.comparisons import AGREES, DIFFERS, NEAR, NOT_REPRODUCIBLE, Comparison, compared
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.convergence import (
    BLOCK_SIZES,
    BLOCKS,
    KINDS,
    LETTER,
    NAMED,
    PROBABILITIES,
    TRIALS,
    TRUTHS,
    Reading,
    study,
)
from papers.imran_meo.convergence_pictures import draw_figure_5, draw_figure_6
from papers.imran_meo.findings import Finding, Place, judged, places

READINGS: tuple[Reading, ...] = tuple(product(KINDS, ("converged", "converged_by_half")))
SMALL, LARGE = (18, 50), (150, 250)
SIMILAR = 0.05
"""Two thousand comparisons of each network have a standard error of .01."""
SELECTED = (0.072, 0.116, 0.356, 0.446)
RECORDS = {"survey": 500, "alarm": 10_000, "child": 10_000}
ROOT = (
    "It needs δ* = z √(v (1 - v)), which is not divided by the root of the block size as Section 5 has it, and a trial "
    "that has converged in its first half."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said to converge, or not to."""

    p: float
    sizes: tuple[int, ...]
    cells: tuple[float, ...] = SELECTED
    converges: bool = True

    def right(self, data: pd.DataFrame, reading: Reading) -> tuple[int, int]:
        """Return in how many cases it is right, and of how many: a case converges if half of its trials do."""
        kind, criterion = reading
        rows = (data["width"] == kind[0]) & (data["estimate"] == kind[1]) & (data["p"] == self.p)
        rows &= data["block_size"].isin(self.sizes) & data["probability"].isin(self.cells)
        found = (data.loc[rows, criterion] >= 0.5) == self.converges
        return int(found.sum()), len(found)


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "p = 0.009": (Claim(0.009, BLOCK_SIZES, converges=False),),
    "p = 0.048": (Claim(0.048, BLOCK_SIZES, converges=False),),
    "p = 0.095": (Claim(0.095, BLOCK_SIZES, converges=False),),
    "p = 0.139": (Claim(0.139, LARGE, (0.356, 0.446)),),
    "p = 0.221, large blocks": (Claim(0.221, LARGE),),
    "p = 0.221, small blocks": (Claim(0.221, SMALL, converges=False),),
    "p = 0.295": (Claim(0.295, LARGE), Claim(0.295, SMALL, converges=False)),
    "p = 0.5": (Claim(0.5, BLOCK_SIZES),),
}


def right(claims: Iterable[Claim], data: pd.DataFrame, reading: Reading) -> tuple[int, int]:
    """Add up in how many cases claims are right, and of how many."""
    counts = np.array([claim.right(data, reading) for claim in claims]).sum(axis=0)
    return int(counts[0]), int(counts[1])


def least_sizes(data: pd.DataFrame, reading: Reading) -> list[float]:
    """Return for every p the smallest block size with which all selected cells converge; infinite where none does."""
    return [
        min((size for size in BLOCK_SIZES if _holds(Claim(p, (size,)), data, reading)), default=np.inf) for p in TRUTHS
    ]


def _holds(claim: Claim, data: pd.DataFrame, reading: Reading) -> bool:
    found, cases = claim.right(data, reading)
    return 0 < cases == found


def _measured(effort: Effort) -> pd.DataFrame:
    return study() if effort.full else study(trials=2, blocks=6)


def _figure_6(effort: Effort) -> Measured:
    data = _measured(effort)
    return Measured([_of_figure_6(place, data) for place in places("imran-meo-2024-figure-6")], data)


def _of_figure_6(place: Place, data: pd.DataFrame) -> Comparison:
    if place[1] == "choice of the block":
        letter, named = (least_sizes(data, reading) for reading in (LETTER, NAMED))
        falls = bool(np.all(np.diff(np.nan_to_num(letter, posinf=1e9)) <= 0))
        ours = (
            f"least block sizes, p rising: {_sizes(letter)} as printed, {_sizes(named)} with the δ* of one respondent"
        )
        return judged(place, Finding(ours, falls, "Not so as printed."))
    counts = {reading: right(CLAIMS[place[1]], data, reading) for reading in READINGS}
    words = "right in {} of {} cases as printed, {} of {} with the δ* of one respondent"
    ours = words.format(*counts[LETTER], *counts[NAMED])
    if counts[LETTER][0] == counts[LETTER][1]:
        return Comparison(*place, ours, AGREES)
    if counts[NAMED][0] == counts[NAMED][1]:
        return Comparison(*place, ours, DIFFERS, ROOT)
    best, cases = max(counts.values())
    tried = (
        f"None of {len(READINGS)} readings of δ*, of the tables and of the end of a trial gives more than {best} of "
    )
    return Comparison(*place, ours, NOT_REPRODUCIBLE, f"{tried}{cases} cases.")


def _sizes(found: list[float]) -> str:
    return ", ".join("none" if np.isinf(one) else f"{one:.0f}" for one in found)


def _figure_5(effort: Effort) -> Measured:
    data = _measured(effort)
    data = data[data["p"] == 0.5]
    letter = data[(data["width"] == "paper") & (data["estimate"] == "alone")]
    return Measured([_of_figure_5(place, letter) for place in places("imran-meo-2024-figure-5")], data)


def _of_figure_5(place: Place, letter: pd.DataFrame) -> Comparison:
    if place[2] == "probability":
        share, name, value = nearest_share(float(place[3]))
        because = (
            "The paper names no value, and its records are not available; within the chance of so many records as "
            f"Table 3 has, {covered():.0%} of all probabilities are near to a value of some network, so that the "
            "nearest one says nothing."
        )
        return Comparison(*place, f"nearest is {value} of {name} with {share:.3g}", NOT_REPRODUCIBLE, because)
    by_size = letter.groupby("block_size")[["respondents_converged", "rmse_converged"]].mean()
    if place[1] == "networks":
        rates = {name: agreement(name) for name in RECORDS}
        ours = "blocks agree in " + ", ".join(f"{rate:.2f} ({name})" for name, rate in rates.items())
        alike = max(rates.values()) - min(rates.values()) < SIMILAR
        return judged(place, Finding(f"{ours} of the comparisons of a value near .356", alike, "Not so here."))
    if place[1] == "small blocks":
        respondents = by_size["respondents_converged"]
        blocks = ", ".join(f"{number / size:.0f}" for size, number in respondents.items())
        fewer = letter.pivot_table(index="block_size", columns="probability", values="respondents_converged").diff()[1:]
        ours = f"{blocks} blocks of {BLOCKS} with 18, 50, 150 and 250, hence fewer respondents with small blocks"
        return judged(place, Finding(ours, bool((fewer > 0).all(axis=None)), "Not so for all probabilities."))
    small, large = by_size["rmse_converged"].iloc[[0, -1]]
    because = "The answer has the error of its last two blocks, which falls with their size only."
    ours = f"root mean squared errors of the answer: {small:.3f} with blocks of 18, {large:.3f} with 250"
    return judged(place, Finding(ours, bool(small <= large), because))


def agreement(name: str, share: float = 0.356, trials: int = 10) -> float:
    """Return how often blocks of 50 agree, as printed, about the value of a network whose share is nearest."""
    domain = network(name).domain
    tables = {one: np.ravel(network(name).joint((one,))) for one in domain.names}
    attribute = min(tables, key=lambda one: float(np.abs(tables[one] - share).min()))
    truth, rng = tables[attribute] / tables[attribute].sum(), np.random.default_rng(56)
    asked = RRBA(domain.project((attribute,)), p=0.5, block_size=50, groups=[(attribute,)])
    cell, rates = int(np.abs(truth - share).argmin()), []
    for _ in range(trials):
        (table,) = asked.simulate(rng.multinomial(50 * BLOCKS, truth), rng)
        rates.append(convergence(table, width="paper").within[:, cell].mean())
    return float(np.mean(rates))


def nearest_share(printed: float) -> tuple[float, str, str]:
    """Return the share of the value that is nearest in standard errors of its records, its network, and its name."""
    shares = _shares()
    distances = (shares["share"] - printed).abs() / shares["std_err"]
    nearest = shares.loc[distances.idxmin()]
    return float(nearest["share"]), str(nearest["network"]), str(nearest["value"])


def covered() -> float:
    """Return how many of all probabilities some value of the networks is near to: what nearness is worth."""
    shares = _shares()
    reached = NEAR * shares["std_err"].to_numpy()
    probabilities = np.linspace(0, 1, 2001)[:, np.newaxis]
    return float((np.abs(probabilities - shares["share"].to_numpy()) <= reached).any(axis=1).mean())


def _shares() -> pd.DataFrame:
    rows = [
        (name, f"{attribute} = {value}", share, (share * (1 - share) / records) ** 0.5)
        for name, records in RECORDS.items()
        for attribute in network(name).domain.names
        for value, share in zip(
            network(name).domain.categories[attribute],
            np.ravel(network(name).joint((attribute,))).tolist(),
            strict=True,
        )
    ]
    return pd.DataFrame(rows, columns=["network", "value", "share", "std_err"])


def within(alpha: float, p: float, factor: float, size: int = 250) -> float:
    """Return exactly how often a block's estimate is within z σ of the truth, fakes being like the population."""
    chances = []
    for share in PROBABILITIES:
        estimates = (np.arange(size + 1) / size - (1 - p) * share) / p
        reach = factor * normal_quantile(alpha) * (share * (1 - share) / size) ** 0.5
        chances.append(binom.pmf(np.flatnonzero(np.abs(estimates - share) <= reach), size, share).sum())
    return float(np.mean(chances))


def _section_5(effort: Effort) -> Measured:
    data = _measured(effort)
    own = data[(data["p"] == 0.5) & (data["width"] == "paper") & (data["estimate"] == "alone")]
    errors = own[own["block_size"] == 250][["rmse_stopped", "rmse_converged", "rmse_all_until_converged"]].mean()
    early, late, best = errors
    because = "One block's error does not shrink with the number of blocks, and the answer is that of two."
    found = {
        "convergence": Finding(
            f"errors with blocks of 250: {early:.3f} where blocks first agree, {late:.3f} where they agree to the end",
            bool(late < 0.5 * early),
            because,
        ),
        "answer": Finding(
            f"error {late:.3f}, where all respondents until then have {best:.3f}", bool(late <= best), because
        ),
    }
    comparisons = []
    for place in places("imran-meo-2024-section-5"):
        if place[1] in found:
            comparisons.append(judged(place, found[place[1]]))
            continue
        alpha = float(place[1].split(" = ")[1])
        why = "The printed interval omits the factor 1 / p (here p = .5, blocks of 250, fakes like the population)."
        ours, sound = within(alpha, 0.5, 1.0), within(alpha, 0.5, 1 / 0.5)
        comparisons.append(compared(place, ours, reproduced=sound, because=why))
    return Measured(comparisons, own)


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-section-5",
        "Section 5: the interval, and whether the answer converges",
        "The interval of Section 5 takes an estimate for an observed proportion. Equation 4 divides the spread of the "
        "reports by p, so that the estimates remain within it less often than stated (exact, by the binomial law). "
        "Simulated: p = .5, 40 trials of 200 blocks. Agreement of two blocks says nothing about the truth.",
        _section_5,
    ),
    Exhibit(
        "imran-meo-2024-figure-5",
        "Figure 5: respondents until convergence",
        "The paper does not say p; it is .5 here. With δ* as printed, blocks that agree once disagree again, "
        "and a trial converges with its last few blocks. Small blocks then need fewer respondents because 200 of them "
        "are fewer respondents. The paper does not say whose the printed probabilities are, and some value of the "
        "networks is near to almost any.",
        _figure_5,
        draw_figure_5,
    ),
    Exhibit(
        "imran-meo-2024-figure-6",
        "Figure 6: convergence with small p",
        f"A case is a p, a block size and one of the four probabilities that the text selects; it converges if half of "
        f"its {TRIALS} trials do. As printed the block size hardly matters, because changes and δ* shrink alike. "
        "With a δ* that does not shrink with the block, and agreement from the middle of the trial on, nearly all "
        "claims come out as printed. That is the only one of the readings tried that does so.",
        _figure_6,
        draw_figure_6,
    ),
)
