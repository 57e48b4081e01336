"""What the rule of Imran & Meo's (2024) test of independence costs, and what the last two blocks of RRBA say.

Beside them stand the tests of fit of Gaboardi & Rogers (2018).

Their printed Table 4 stands in `papers.imran_meo`, with what is chosen where the paper is silent (`decisions`). With
200 trials of each kind a share has a standard error of 3.5 per cent at most. Seeds are fixed.

What comes out:

- The rule of Section 7.3 costs all power for 4 × 4 tables at ε ≤ 1 with 50,000 respondents (0 against 43 without a
  rule at ε = 1, and 53 by `independence_test`), and a third of it at ε = 2. That of Section 6 costs a sixth at ε = 1.
- In RRBA collections with V = .1 the last two blocks have a power of .22, all blocks .99.
- The local test of fit rejects 3.9 to 5.5 of 100 true hypotheses (1,000 trials). Through GRR it decides as
  `goodness_of_fit_test` does, whose score is Pearson's statistic, and through flipped bits of 16 cells as well; of 4
  cells that counts whole rows of bits, and has a power of .24 against .19 at ε = 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from multiprocessing import Pool
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from papers.imran_meo.decisions import BLOCK, LEVEL, Decisions, Trial, dependent, two_steps

from ldpstats import RRBA, SampledGroups, goodness_of_fit_test, independence_test
from ldpstats.inference.published import gaboardi_rogers_test, naive_test
from ldpstats.inference.published.published_result import RULES

TRIALS = 200

Mapper: TypeAlias = Callable[[Callable[[Trial], Any], Iterable[Trial]], Iterable[Any]]


def rules(trial: Trial) -> Decisions:
    """Say which rules let the two-step test reject one table of randomized response over all cells (GRR)."""
    rng, domain = trial.generator(), trial.domain()
    margin = np.array([0.4, 0.3, 0.2, 0.1]) if trial.shape[0] == 4 else np.array([0.6, 0.4])
    frequencies = dependent([margin, margin], trial.size * np.sqrt(len(margin) - 1))
    protocol = SampledGroups(domain, epsilon=trial.epsilon, mechanism="grr")
    table = protocol.simulate(rng.multinomial(trial.n, frequencies), rng)[domain.names]
    return {
        "naive, reports": naive_test(table).rejected,
        "naive, debiased": naive_test(table, "debiased").rejected,
        **two_steps(table, "two-step", rng, tuple(RULES)),
        "independence_test": independence_test(table).pvalue <= LEVEL,
    }


def transcripts(trial: Trial) -> Decisions:
    """Say which tests reject one RRBA collection with p = .5."""
    rng, domain = trial.generator(), trial.domain()
    margin = np.array([0.6, 0.4])
    joint = rng.multinomial(trial.n, dependent([margin, margin], trial.size))
    table = RRBA(domain, p=0.5, block_size=BLOCK).simulate(joint, rng)[domain.names]
    return {
        **two_steps(table, "last two blocks", rng, ("any table", "none")),
        **two_steps(table, "all blocks, closed form", rng, ("none",), "closed form"),
        "independence_test (score, all blocks)": independence_test(table).pvalue <= LEVEL,
    }


def fits(trial: Trial) -> Decisions:
    """Say which tests of fit reject frequencies of which one cell has `size` too much, through GRR and flipped bits."""
    rng, domain = trial.generator(), trial.domain()
    given = np.arange(domain.size(), 0, -1) / np.arange(1, domain.size() + 1).sum()
    true = (given + trial.size * np.eye(domain.size())[-1]) / (1 + trial.size)
    decisions = {}
    for mechanism in ("grr", "sue"):
        protocol = SampledGroups(domain, epsilon=trial.epsilon, mechanism=mechanism)
        table = protocol.simulate(rng.multinomial(trial.n, true), rng)[domain.names]
        decisions[f"{mechanism}: Gaboardi & Rogers"] = gaboardi_rogers_test(table, given).rejected
        decisions[f"{mechanism}: goodness_of_fit_test"] = goodness_of_fit_test(table, given).pvalue <= LEVEL
    return decisions


STUDIES: Mapping[str, Callable[[Trial], Decisions]] = {
    "rules": rules,
    "transcripts": transcripts,
    "fits": fits,
}


def decided(trial: Trial) -> Decisions:
    """Do one trial."""
    return STUDIES[trial.study](trial)


def shares(
    mapped: Mapper, study: str, shape: tuple[int, ...], size: float, trials: int = TRIALS, **options: Any
) -> pd.Series:
    """Return the percentage of trials in which each test rejects."""
    asked = [Trial(study, shape, size, seed, **options) for seed in range(trials)]
    return 100 * pd.DataFrame(list(mapped(decided, asked))).mean()


def rules_table(mapped: Mapper, trials: int = TRIALS) -> str:
    """Show what each rule costs where noise is large beside the cells."""
    columns = {
        (f"{shape[0]}×{shape[1]}, ε = {epsilon:g}", "V = .1" if size else "V = 0"): shares(
            mapped, "rules", shape, size, trials, epsilon=epsilon, n=50_000
        )
        for shape in ((2, 2), (4, 4))
        for epsilon in (0.5, 1.0, 2.0)
        for size in (0.0, 0.1)
    }
    title = f"1. Rules: n = 50,000 through GRR; percentages of {trials} trials that reject"
    return "\n".join([title, _text(pd.DataFrame(columns).T)])


def transcripts_table(mapped: Mapper, trials: int = 2 * TRIALS) -> str:
    """Show what the last two blocks say, beside all."""
    columns = {
        "V = .1" if size else "V = 0": shares(mapped, "transcripts", (2, 2), size, trials) for size in (0.0, 0.1)
    }
    title = f"2. RRBA collections: n = 8000, B = 250, p = .5; percentages of {trials} trials that reject"
    return "\n".join([title, _text(pd.DataFrame(columns))])


def fits_table(mapped: Mapper, trials: int = 5 * TRIALS) -> str:
    """Show levels and power of tests of fit."""
    columns = {
        (f"{shape[0]}×{shape[1]}, ε = {epsilon:g}", f"+{size:g}" if size else "as given"): shares(
            mapped, "fits", shape, size, trials, epsilon=epsilon, n=5_000
        )
        for shape in ((2, 2), (4, 4))
        for epsilon, of_power in ((0.5, 0.1), (1.0, 0.05), (2.0, 0.02))
        for size in (0.0, of_power)
    }
    title = f"3. Tests of fit: n = 5,000; percentages of {trials} trials that reject"
    return "\n".join([title, _text(pd.DataFrame(columns).T)])


def _text(frame: pd.DataFrame) -> str:
    return frame.to_string(float_format="{:.1f}".format)


def main() -> None:
    """Measure on all processors and print everything."""
    with Pool() as pool:
        for part in (rules_table, transcripts_table, fits_table):
            print(part(pool.map), flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
