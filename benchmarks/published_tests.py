"""Published tests of independence measured: Table 4 of Imran & Meo (2024), the price of the rule, and of two blocks.

The paper leaves open what was tested. What is chosen here:

- n = 8000 respondents and blocks of 250, as in its Tables 5 and 6, all asked for the one table.
- "CTs generated parametrically": every trial draws the margins of its binary attributes uniformly from [.35, .65], and
  the records of the respondents. Where the hypothesis is false, all pairs of attributes are equally dependent:
  π = Π m (1 + c Σ s_i s_j) with standardized scores s, and two sizes √(Σ δ²/π) = w (for two attributes that is V).
- "p = 0.5, ε = 0.25" contradict each other by the paper's own Eq. 6 (p = .5 is ε = .69, ε = .25 is p = .221): RRBA is
  shown with both p. Curators add noise at ε = .25, for the one table: Laplace of scale 2/ε, and of the scale 2m/ε that
  its Section 7.4 prints; Gaussian with δ = 10^-6 at the exact calibration.
- "Laplace noise" is the classical test on the noisy counts (cut at zero) with the classical critical value.
- MCIndep and the two-step test draw 199 tables; "as published" has the rule of Section 7.3, a cell below 5 in any
  table; for RRBA it takes the last two blocks.

Beside them stand `independence_test` on the same reports (in Table 4 with 199 drawn tables, too: by default it draws up
to 9999 where noise is far from normal or reports are rare), and the classical test on the true records.

The printed table gives decisions per 100 trials. With 200 trials of each kind a share has a standard error of 3.5 at
most, and an accuracy of 2.5. Seeds are fixed. It takes three minutes on two processors.

What comes out:

- The printed figures of RRBA (93 to 96 of 100 dependent tables rejected) are not those of its own test. The last two
  blocks reject 22, 7 and 0 of 100 (2-, 3- and 4-way) at w = .1 and 94, 56 and 0 at w = .3; at p = .221, which is what
  ε = .25 means, almost none. All blocks reject 98, 96 and 85 at w = .1 and p = .5, and `independence_test` 98, 96
  and 90: the printed figures are near those.
- MCIndep's printed 91 to 95 agree with the scale 2/ε at either size. With the printed scale 2m/ε the rule leaves no
  power for 4-way tables.
- The naive Laplace test keeps 94, 90 and 84 of 100 true hypotheses with the scale 2/ε, and 83, 10 and 0 with 2m/ε; the
  printed 65, 59 and 59 lie between. Its printed power (68, 55, 50) fits neither: it rejects all dependent tables.
- The rule of Section 7.3 costs all power for 4 × 4 tables at ε ≤ 1 with 50,000 respondents (0 against 43 without a
  rule at ε = 1, and 53 by `independence_test`), and a third of it at ε = 2. That of Section 6 costs a sixth at ε = 1.
- In RRBA collections with V = .1 the last two blocks have a power of .22, all blocks .99.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from multiprocessing import Pool
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats import RRBA, CentralLaplace, Domain, MonteCarlo, SampledGroups, Table, independence_test
from ldpstats.arrays import FloatArray
from ldpstats.inference.published import naive_test, two_step_test
from ldpstats.inference.published.two_steps import RULES, accepted_by, chi_square
from ldpstats.protocols.central import CentralGaussian

RESPONDENTS, BLOCK = 8000, 250
TRIALS, DRAWN, LEVEL = 200, 199, 0.05
EPSILON, NOMINAL_P = 0.25, 0.221
PRINTED: dict[str, tuple[tuple[int, int], ...]] = {
    "Laplace": ((68, 65), (55, 59), (50, 59)),
    "MCIndep": ((94, 95), (94, 93), (92, 91)),
    "RRBA": ((96, 97), (94, 94), (93, 94)),
}
"""For 2, 3 and 4 attributes: rejected of 100 where the hypothesis is false, accepted of 100 where it is true."""
SIZES = (0.1, 0.3)

Decisions: TypeAlias = dict[str, bool]
Mapper: TypeAlias = Callable[[Callable[["Trial"], Any], Iterable["Trial"]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Trial:
    """One table: which study, its shape, the size of the dependence, and a seed."""

    study: str
    shape: tuple[int, ...]
    size: float
    seed: int
    epsilon: float = EPSILON
    n: int = RESPONDENTS

    def generator(self) -> np.random.Generator:
        """Return the trial's own chance."""
        words = (self.study, *self.shape, self.size, self.epsilon, self.n)
        return np.random.default_rng([self.seed, *"".join(map(str, words)).encode()])

    def domain(self) -> Domain:
        """Return as many attributes as the table has sides."""
        return Domain({f"v{axis}": list(range(size)) for axis, size in enumerate(self.shape)})


def dependent(margins: Sequence[FloatArray], size: float) -> FloatArray:
    """Return frequencies with these margins in which all pairs hang together alike, by the size √(Σ δ²/π) in all."""
    scores = [_standardized(margin) for margin in margins]
    pairs = list(combinations(range(len(margins)), 2))
    grids = np.meshgrid(*scores, indexing="ij")
    factor = 1 + size / np.sqrt(len(pairs)) * sum(grids[one] * grids[other] for one, other in pairs)
    return (reduce(np.multiply.outer, margins) * factor).ravel()


def _standardized(margin: FloatArray) -> FloatArray:
    values = np.arange(margin.size)
    centred = values - margin @ values
    scores: FloatArray = centred / np.sqrt(margin @ centred**2)
    return scores


def table_four(trial: Trial) -> Decisions:
    """Say which tests reject one table of the paper's Table 4."""
    rng, domain = trial.generator(), trial.domain()
    margins = [np.array([share, 1 - share]) for share in rng.uniform(0.35, 0.65, len(trial.shape))]
    joint = rng.multinomial(trial.n, dependent(margins, trial.size))
    curator = {"groups": [domain.names], "epsilon": trial.epsilon}
    tables = {
        "Laplace 2/ε": CentralLaplace(domain, **curator),
        "Laplace 2m/ε": CentralLaplace(domain, scale="paper", **curator),
        "Gaussian": CentralGaussian(domain, **curator),
        "RRBA p = .5": RRBA(domain, p=0.5, block_size=BLOCK, groups=[domain.names]),
        "RRBA p = .221": RRBA(domain, p=NOMINAL_P, block_size=BLOCK, groups=[domain.names]),
    }
    found: Decisions = {"no privacy: classical": _classical(joint, trial.shape)}
    for name, protocol in tables.items():
        table = protocol.simulate(joint, rng)[domain.names]
        local = name.startswith("RRBA")
        if name.startswith("Laplace"):
            found[f"{name}: naive"] = naive_test(table).rejected
        found |= _two_steps(table, f"{name}: {'two-step' if local else 'MCIndep'}", rng, ("any table", "none"))
        if local:
            found |= _two_steps(table, f"{name}: two-step, all blocks", rng, ("none",), "closed form")
        ours = independence_test(table, pvalue=MonteCarlo(DRAWN, rng))
        found[f"{name}: independence_test"] = ours.pvalue <= LEVEL
    return found


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
        **_two_steps(table, "two-step", rng, tuple(RULES)),
        "independence_test": independence_test(table).pvalue <= LEVEL,
    }


def transcripts(trial: Trial) -> Decisions:
    """Say which tests reject one RRBA collection with p = .5."""
    rng, domain = trial.generator(), trial.domain()
    margin = np.array([0.6, 0.4])
    joint = rng.multinomial(trial.n, dependent([margin, margin], trial.size))
    table = RRBA(domain, p=0.5, block_size=BLOCK).simulate(joint, rng)[domain.names]
    return {
        **_two_steps(table, "last two blocks", rng, ("any table", "none")),
        **_two_steps(table, "all blocks, closed form", rng, ("none",), "closed form"),
        "independence_test (score, all blocks)": independence_test(table).pvalue <= LEVEL,
    }


def _classical(counts: NDArray[np.int64], shape: tuple[int, ...]) -> bool:
    from scipy.stats import chi2

    df = int(np.prod(shape)) - 1 - sum(size - 1 for size in shape)
    return bool(chi_square(counts[None].astype(float), shape).statistic[0] > chi2.isf(LEVEL, df))


def _two_steps(
    table: Table, name: str, rng: np.random.Generator, wanted: Sequence[Any], estimate: Any = "auto"
) -> Decisions:
    """Draw and measure once; the rules only say what becomes of it."""
    result = two_step_test(table, LEVEL, n_resamples=DRAWN, rule="none", estimate=estimate, rng=rng)
    small = (result.small_cells, result.small_tables)
    return {f"{name}, rule: {rule}": result.rejected and not accepted_by(rule, *small) for rule in wanted}


STUDIES: Mapping[str, Callable[[Trial], Decisions]] = {
    "table 4": table_four,
    "rules": rules,
    "transcripts": transcripts,
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


def printed_table(mapped: Mapper, trials: int = TRIALS) -> str:
    """Set Table 4 beside what the tests do with tables that were generated as said above."""
    parts = [f"1. Table 4, printed and measured: percentages of {trials} trials"]
    for place, ways in enumerate((2, 3, 4)):
        kept = 100 - shares(mapped, "table 4", (2,) * ways, 0.0, trials)
        columns = {"accepted if true": kept}
        for size in SIZES:
            rejected = shares(mapped, "table 4", (2,) * ways, size, trials)
            columns |= {f"rejected if w = {size:g}": rejected, f"accuracy, w = {size:g}": (rejected + kept) / 2}
        printed = "; ".join(
            f"{name} {pairs[place][1]}, {pairs[place][0]}, {sum(pairs[place]) / 2:g}" for name, pairs in PRINTED.items()
        )
        parts += ["", f"{ways}-way. Printed (accepted if true, rejected if false, accuracy): {printed}"]
        parts.append(_text(pd.DataFrame(columns)))
    return "\n".join(parts)


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
    title = f"2. Rules: n = 50,000 through GRR; percentages of {trials} trials that reject"
    return "\n".join([title, _text(pd.DataFrame(columns).T)])


def transcripts_table(mapped: Mapper, trials: int = 2 * TRIALS) -> str:
    """Show what the last two blocks say, beside all."""
    columns = {
        "V = .1" if size else "V = 0": shares(mapped, "transcripts", (2, 2), size, trials) for size in (0.0, 0.1)
    }
    title = f"3. RRBA collections: n = 8000, B = 250, p = .5; percentages of {trials} trials that reject"
    return "\n".join([title, _text(pd.DataFrame(columns))])


def _text(frame: pd.DataFrame) -> str:
    return frame.to_string(float_format="{:.1f}".format)


def main() -> None:
    """Measure on all processors and print everything."""
    with Pool() as pool:
        for part in (printed_table, rules_table, transcripts_table):
            print(part(pool.map), flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
