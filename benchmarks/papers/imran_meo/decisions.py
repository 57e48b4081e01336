"""Decisions of published tests of independence about one table after another, in the setting of Imran & Meo's Table 4.

The paper leaves open what was tested. What is chosen here:

- n = 8000 respondents and blocks of 250, as in its Tables 5 and 6, all asked for the one table.
- "CTs generated parametrically": every trial draws the margins of its binary attributes uniformly from [.35, .65], and
  the records of the respondents. Where the hypothesis is false, all pairs of attributes are equally dependent:
  π = Π m (1 + c Σ s_i s_j) with standardized scores s, and √(Σ δ²/π) = w (for two attributes that is V).
- "p = 0.5, ε = 0.25" contradict each other by the paper's own Eq. 6 (p = .5 is ε = .69, ε = .25 is p = .221): RRBA is
  shown with both p. Curators add noise at ε = .25, for the one table: Laplace of scale 2/ε, and of the scale 2m/ε that
  its Section 7.4 prints; Gaussian with δ = 10^-6 at the exact calibration.
- "Laplace noise" is the classical test on the noisy counts (cut at zero) with the classical critical value, or with the
  χ² of the true table instead ("we used the true values of the attributes as the values for the comparison").
- MCIndep and the two-step test draw 199 tables; "as published" has the rule of Section 7.3, a cell below 5 in any
  table; for RRBA it takes the last two blocks.

Beside them stand `independence_test` on the same reports, with 199 drawn tables, too (by default it draws up to 9999
where noise is far from normal or reports are rare), and the classical test on the true records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from ldpstats import RRBA, CentralLaplace, Domain, MonteCarlo, Table, independence_test
from ldpstats.inference.published import naive_test, two_step_test
from ldpstats.inference.published.published_result import accepted_by, chi_square
from ldpstats.numbers.arrays import FloatArray
from ldpstats.protocols.central import CentralGaussian

RESPONDENTS, BLOCK = 8000, 250
DRAWN, LEVEL = 199, 0.05
EPSILON, NOMINAL_P = 0.25, 0.221

Decisions: TypeAlias = dict[str, bool]


@dataclass(frozen=True, slots=True)
class Trial:
    """One table: which study, its shape, the size of the dependence, and a seed; the range of a category's share."""

    study: str
    shape: tuple[int, ...]
    size: float
    seed: int
    epsilon: float = EPSILON
    n: int = RESPONDENTS
    margin: tuple[float, float] = (0.35, 0.65)

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


def _margins(trial: Trial, rng: np.random.Generator) -> list[FloatArray]:
    if set(trial.shape) == {2}:
        return [np.array([share, 1 - share]) for share in rng.uniform(*trial.margin, len(trial.shape))]
    weights = [rng.uniform(*trial.margin, size) for size in trial.shape]
    return [one / one.sum() for one in weights]


def table_four(trial: Trial) -> Decisions:
    """Say which tests reject one table of the paper's Table 4."""
    rng, domain = trial.generator(), trial.domain()
    joint = rng.multinomial(trial.n, dependent(_margins(trial, rng), trial.size))
    curator = {"groups": [domain.names], "epsilon": trial.epsilon}
    tables = {
        "Laplace 2/ε": CentralLaplace(domain, **curator),
        "Laplace 2m/ε": CentralLaplace(domain, scale="paper", **curator),
        "Gaussian": CentralGaussian(domain, **curator),
        "RRBA p = .5": RRBA(domain, p=0.5, block_size=BLOCK, groups=[domain.names]),
        "RRBA p = .221": RRBA(domain, p=NOMINAL_P, block_size=BLOCK, groups=[domain.names]),
    }
    true = float(chi_square(joint[None].astype(float), trial.shape).statistic[0])
    found: Decisions = {"no privacy: classical": _classical(true, trial.shape)}
    for name, protocol in tables.items():
        table = protocol.simulate(joint, rng)[domain.names]
        local = name.startswith("RRBA")
        if name.startswith("Laplace"):
            naive = naive_test(table)
            found |= {f"{name}: naive": naive.rejected, f"{name}: beyond the true χ²": naive.statistic > true}
        found |= two_steps(table, f"{name}: {'two-step' if local else 'MCIndep'}", rng, ("any table", "none"))
        if local:
            found |= two_steps(table, f"{name}: two-step, all blocks", rng, ("none",), "closed form")
        ours = independence_test(table, pvalue=MonteCarlo(DRAWN, rng))
        found[f"{name}: independence_test"] = ours.pvalue <= LEVEL
    return found


def _classical(statistic: float, shape: tuple[int, ...]) -> bool:
    from scipy.stats import chi2

    df = int(np.prod(shape)) - 1 - sum(size - 1 for size in shape)
    return bool(statistic > chi2.isf(LEVEL, df))


def two_steps(
    table: Table, name: str, rng: np.random.Generator, wanted: Sequence[Any], estimate: Any = "auto"
) -> Decisions:
    """Draw and measure once; the rules only say what becomes of it."""
    result = two_step_test(table, LEVEL, n_resamples=DRAWN, rule="none", estimate=estimate, rng=rng)
    small = (result.small_cells, result.small_tables)
    return {f"{name}, rule: {rule}": result.rejected and not accepted_by(rule, *small) for rule in wanted}
