"""How often 95 % intervals of functionals hold the truth, and whether the randomization part is what the channel adds.

1. Means of five ordered classes with uneven scores, through GRR; within one sex, which a quarter of the respondents
   have; and asked by one bit, which tells no cell: ε of .5, 1, 2 and 8, and 50 to 20,000 respondents. These are the 48
   settings that are asked for: .93 on average and .90 at any point.
2. Shares, medians, differences and ratios between the sexes, and means through OUE and SS, in the same sizes.

An interval counts as one that holds the truth where the test behind it accepts that (medians: where the category is
within the limits). Counts have the law of the reports; all runs of a setting are fitted at once. The randomization part
is the root of its mean square over tables, beside the standard deviation of estimates of respondents with fixed values
(n ≥ 500; of few respondents only where it is linear). `python benchmarks/functionals.py [RUNS] [asked]`: 1,000 runs of
all settings, or of those asked for alone. The exit code is 1 if anything is missed. Seeds are fixed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from multiprocessing import Pool

import numpy as np
import pandas as pd
from tqdm import tqdm

import ldpstats as ldp
from ldpstats.confidence.inversion import ScoreInversion, ends_of, least_tail
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray
from ldpstats.tables.functionals import Functional

ALPHA, MEAN, ANYWHERE, NEAR = 0.05, 0.93, 0.90, 0.02
LEVELS, SIZES = (0.5, 1.0, 2.0, 8.0), (50, 500, 2_000, 20_000)
ASKED, MORE = ("mean", "given", "one bit"), ("share", "median", "difference", "ratio", "OUE mean", "SS given")
SCORES = (8.0, 23.5, 37.0, 54.5, 80.0)
AGES = ("0-15", "16-31", "32-42", "43-66", "67-93")
DOMAIN = ldp.Domain({"sex": ["F", "M"], "age": ldp.ordered(AGES, scores=SCORES)})
SHARES = np.array([0.09, 0.07, 0.05, 0.03, 0.01, 0.10, 0.15, 0.20, 0.20, 0.10])
TABLES, FIXED = 200, 20_000


@dataclass(frozen=True)
class Setting:
    """A functional of a population, through one mechanism."""

    kind: str
    epsilon: float
    n: int

    def table(self, counts: FloatArray, rng: np.random.Generator) -> ldp.Table:
        """Return a table of respondents with these values."""
        if self.kind == "one bit":
            ages = DOMAIN.project("age")
            high = np.exp(self.epsilon) / (1 + np.exp(self.epsilon))
            chances = 1 - high + (2 * high - 1) * (np.array(SCORES) - SCORES[0]) / np.ptp(SCORES)
            bit = ldp.Channel([[1 - chance, chance] for chance in chances])
            protocol = ldp.SampledGroups(ages, epsilon=self.epsilon, mechanism=[bit], k=1)
            return protocol.simulate(counts.reshape(2, 5).sum(axis=0), rng=rng)["age"]
        mechanism = self.kind.partition(" ")[0].lower() if self.kind in MORE[4:] else "grr"
        protocol = ldp.SampledGroups(DOMAIN, epsilon=self.epsilon, mechanism=mechanism)
        return protocol.simulate(counts, rng=rng)["sex", "age"]

    def functional(self, table: ldp.Table) -> Functional:
        """Return what is asked of a table."""
        between = {"sex": ("F", "M")}
        if "given" in self.kind:
            return table.mean("age", given={"sex": "F"})
        if self.kind == "share":
            return table.share({"age": AGES[3:]}, given={"sex": "F"})
        if self.kind == "difference":
            return table.difference("age", between=between)
        return table.ratio("age", between=between) if self.kind == "ratio" else table.mean("age")


def sides(test: ScoreInversion, value: float, counts: list[IntArray]) -> FloatArray:
    """Return the one-sided p-values of a value by many tallies, shape (2, runs), as `ScoreInversion.sides` does."""
    low, high = ends_of(test.comparison)
    ends = [test.reports.below(test.comparison, np.full(len(counts[0]), at), counts) for at in (low, value, high)]
    tails = [(ends[1], least_tail(ends[0])), (1 - ends[1], least_tail(1 - ends[2]))]
    return np.array([np.where(most > 0, tail / np.where(most > 0, most, 1), 1.0) for tail, most in tails])


def of_test(functional: Functional, tallies: list[IntArray]) -> list[IntArray]:
    """Return tallies as the test of a functional counts them: by part, where it can."""
    (means,), (test,) = functional.means, functional.tests
    return tallies if test.comparison is means else [tally @ means.members for tally in tallies]


def holds(setting: Setting, shares: FloatArray, tallies: list[IntArray], table: ldp.Table) -> BoolArray:
    """Return for which tallies the interval holds the truth."""
    if setting.kind == "median":
        below = [table.share({"age": AGES[:last]}) for last in range(1, len(AGES))]
        true = int(
            np.count_nonzero(np.array([one.means[0].value(shares @ one.means[0].members) for one in below]) < 0.5)
        )
        pvalues = np.array([sides(one.tests[0], 0.5, of_test(one, tallies)) for one in below])
        at_least, at_most = np.moveaxis(pvalues < ALPHA / 2, 1, 0)
        first = np.cumprod(at_least, axis=0).sum(axis=0)
        last = len(below) - np.cumprod(at_most[::-1], axis=0).sum(axis=0)
        return (first <= true) & (true <= last)
    functional = setting.functional(table)
    (means,), (test,) = functional.means, functional.tests
    pvalues = sides(test, float(means.value(shares @ means.members)), of_test(functional, tallies))
    return pvalues.min(axis=0) >= ALPHA / 2


def randomization(setting: Setting, table: ldp.Table, rng: np.random.Generator) -> float:
    """Return the reported randomization part over the standard deviation of estimates of the same respondents."""
    people = np.round(setting.n * SHARES).astype(np.int64)
    told = [setting.functional(setting.table(people, rng)).randomization for _ in range(TABLES)]
    functional = setting.functional(table)
    (means,), (block,) = functional.means, table.blocks
    true = people.reshape(2, 5).sum(axis=0) if setting.kind == "one bit" else people
    tallies = [block.by_value.noise.simulate(np.tile(true, (FIXED, 1)), rng)]
    pooling = functional._pooling  # noqa: SLF001  # estimates of many tallies at once
    cells, total = pooling.estimate(tallies), pooling.of_total
    shares = (cells + (1 - cells.sum(axis=1, keepdims=True)) * total) @ means.members
    return float(np.sqrt(np.mean(np.square(told))) / means.value(shares).std())


def measured(place: tuple[int, Setting, int]) -> dict[str, object]:
    """Return the figures of a setting."""
    number, setting, runs = place
    rng = np.random.default_rng([30, number])
    shares = SHARES.reshape(2, 5).sum(axis=0) if setting.kind == "one bit" else SHARES
    table = setting.table(rng.multinomial(setting.n, SHARES), rng)
    tallies = [block.by_value.draw(shares, runs, rng) for block in table.blocks]
    row = {"kind": setting.kind, "epsilon": setting.epsilon, "n": setting.n}
    linear = setting.kind in ("mean", "one bit", "OUE mean")
    steady = linear or (setting.epsilon >= 2 and setting.n >= 2_000)
    ratio = randomization(setting, table, rng) if setting.kind != "median" and setting.n >= 500 and steady else np.nan
    return {**row, "covers": float(holds(setting, shares, tallies, table).mean()), "randomization": ratio}


def main() -> None:
    """Measure every setting and print the figures."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    kinds = ASKED if "asked" in sys.argv else (*ASKED, *MORE)
    every = [Setting(*chosen) for chosen in product(kinds, LEVELS, SIZES)]
    places = [(number, setting, runs) for number, setting in enumerate(every)]
    with Pool(2) as pool:
        rows = list(tqdm(pool.imap_unordered(measured, places), total=len(places), unit="setting"))
    frame = pd.DataFrame(rows)
    missed = 0
    for title, named in {"asked for": ASKED, "further": MORE}.items():
        part = frame[frame["kind"].isin(named)]
        if part.empty:
            continue
        off = float((part["randomization"] - 1).abs().max())
        met = part["covers"].mean() >= MEAN and part["covers"].min() >= ANYWHERE and off <= NEAR
        missed += not met
        print(
            f"{title}: {len(part)} settings × {runs:,} runs; coverage {part['covers'].mean():.4f} on average, least "
            f"{part['covers'].min():.3f}; randomization part off by {off:.4f} at most; {'met' if met else 'MISSED'}"
        )
        print(part.groupby("kind")["covers"].agg(["mean", "min"]).to_string(float_format="{:.3f}".format))
        print(part.nsmallest(8, "covers").to_string(index=False, float_format="{:.3f}".format), flush=True)
    print(frame.dropna().sort_values("randomization").to_string(index=False, float_format="{:.3f}".format))
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
