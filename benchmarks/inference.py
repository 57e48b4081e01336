"""What the tests are worth: how often they reject what is true and what is false, and what a Monte Carlo costs.

All tests are the default (method="auto", pvalue="auto") at level .05. Fits of many tables are one call; only tables
for which the default draws a Monte Carlo p-value, and tables of adapted blocks, are tested one by one. Margins are
named after the rarest category: of a share s, a side of m categories has one of 1 - s and m - 1 of s / (m - 1)
(.5 stands for even margins). Dependences have a random direction that leaves all margins alone, drawn anew for each
of 20 parts of the tables; directions that would need negative frequencies are drawn again.

Figures asked for stand beside the measured ones. Seeds are fixed. A rejection rate of .05 from 600 tables has a
standard error of .009, so that the largest of many is above .065 by chance alone: rates above .055 are measured again
with ten times as many tables, which leaves .003.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product
from multiprocessing import Pool
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.detectability import deviations
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import approximations_checked
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic, WaldStatistic
from ldpstats.inference.hypothesis_tests.all_pairs import told_by
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.protocols.rrba import RRBA
from ldpstats.tables import Table

LEVEL, ASKED_LEVEL, ASKED_LEAST, ASKED_POWER = 0.05, 0.065, 0.03, 0.50
DOUBTFUL = 0.055
SMALL_COUNT = 5
PARTS = 20
NO_NOISE = 60.0
SHAPES = ((2, 2), (3, 2), (4, 4), (2, 2, 2))
MARGINS = (0.5, 0.3, 0.1, 0.01)
RESPONDENTS = (500, 5_000, 50_000)
LEVELS = (0.5, 1.0, 2.0)
PRIVACY = ldp.PrivacyStatement(math.inf, "a study")


@dataclass(frozen=True)
class Setting:
    """A mechanism, a population and how many tables are drawn of it."""

    mechanism: str
    shape: tuple[int, ...]
    n: int
    epsilon: float
    rarest: float = 0.5
    effect: float = 0.0
    tables: int = 600
    method: str = field(default="auto", repr=False)  # so that rivals see the same tables

    @property
    def model(self) -> ProductOfConditionals:
        """All attributes are independent."""
        return ProductOfConditionals.independent(self.shape)

    @property
    def null(self) -> FloatArray:
        """The frequencies with these margins if all attributes are independent."""
        frequencies = np.ones(1)
        for side in self.shape:
            others = [self.rarest / (side - 1)] * (side - 1)
            margin = [1 / side] * side if self.rarest == 0.5 else [1 - self.rarest, *others]
            frequencies = np.kron(frequencies, margin)
        return frequencies

    @property
    def seed(self) -> int:
        """A seed of its own."""
        return zlib.crc32(repr(self).encode())

    @property
    def noise(self) -> ldp.noise.NoiseModel:
        """What the mechanism adds."""
        return ldp.mechanism(self.mechanism, k=math.prod(self.shape), epsilon=self.epsilon).noise

    @cached_property
    def populations(self) -> list[FloatArray]:
        """The null, or alternatives that share the tables between them."""
        rng = np.random.default_rng(self.seed + 1)
        return [self.alternative(rng) for _ in range(PARTS)] if self.effect else [self.null]

    def alternative(self, rng: np.random.Generator) -> FloatArray:
        """Return frequencies with this Cramér's V (of more than two attributes: Cohen's w) in a random direction."""
        directions = deviations(self.model, self.model.nearest(self.null))
        size = self.effect * (math.sqrt(min(self.shape) - 1) if len(self.shape) == 2 else 1)
        for _ in range(10_000):
            weights = rng.standard_normal(directions.shape[1])
            frequencies: FloatArray = self.null + size * directions @ (weights / np.linalg.norm(weights))
            if frequencies.min() > 0:
                return frequencies
        raise ValueError(f"no table has such a dependence: {self}")


def table_of(shape: tuple[int, ...], tally: Tally) -> Table:
    """Return a table of one block."""
    domain = ldp.Domain({name: range(side) for name, side in zip("abcd", shape, strict=False)})
    return Table(domain, (Block(Question.of(domain, domain.names), tally),), PRIVACY)


def rejected(setting: Setting) -> float:
    """Return how often the default test of independence rejects; a refusal to test is no rejection."""
    rng, size = np.random.default_rng(setting.seed), setting.tables // len(setting.populations)
    drawn = [setting.noise.draw(frequencies, setting.n, size, rng) for frequencies in setting.populations]
    return float(np.mean(_decisions(setting, np.concatenate(drawn), setting.noise)))


def stated(setting: Setting) -> float:
    """Return the power that is stated for the same populations."""
    powers = [
        ldp.power(setting.noise, setting.shape, n=setting.n, effect=frequencies.reshape(setting.shape))
        for frequencies in setting.populations
    ]
    return float(np.mean(powers))


def _decisions(setting: Setting, counts: np.ndarray, noise: ldp.noise.NoiseModel) -> FloatArray:
    tables = [table_of(setting.shape, Tally(noise, one, setting.n)) for one in counts]
    evidence = BlockEvidence(tables[0].blocks, (counts,))
    first = BlockEvidence.observed(tables[0].blocks)
    statistic = RIVALS[setting.method](setting.model, first, counts.shape[1])
    fit = statistic(evidence)
    decisions = (chdtrc(statistic.df, fit.statistic) <= LEVEL).astype(float)
    if setting.method != "auto":
        return decisions
    cut = setting.model.frequencies(setting.model.nearest(fit.frequencies))
    rarest = evidence.rarest_expected_report(cut)
    for place, found in enumerate(approximations_checked(setting.model, evidence, fit, rarest, statistic)):
        if found.score is not None:
            decisions[place] = chdtrc(statistic.df, found.score) <= LEVEL
        elif found.draw:
            decisions[place] = _rejects(tables[place])
    return decisions


def _rejects(table: Table) -> bool:
    try:
        return ldp.independence_test(table).pvalue <= LEVEL
    except ldp.NotIdentifiedError:
        return False


def rejected_rrba(rarest: float, effect: float, n: int, tables: int, p: float = 0.5, block: int = 250) -> float:
    """Return how often the default test on all blocks of a 2-by-2 table rejects; fakes follow the reports."""
    domain = ldp.Domain({"a": range(2), "b": range(2)})
    protocol = RRBA(domain, p=p, block_size=block)
    setting = Setting("rrba", (2, 2), n, p, rarest, effect, tables)
    rng = np.random.default_rng(setting.seed)
    rejections = 0
    for _ in range(tables):
        frequencies = setting.alternative(rng) if effect else setting.null
        rejections += _rejects(protocol.simulate(rng.multinomial(n, frequencies), rng=rng)["a", "b"])
    return rejections / tables


def again_where_high(setting: Setting) -> tuple[Setting, float]:
    """Measure a level; where it is near the asked one or above, measure it again with ten times as many tables."""
    first = rejected(setting)
    if first <= DOUBTFUL:
        return setting, first
    longer = replace(setting, tables=10 * setting.tables)
    return longer, rejected(longer)


def levels_grid(tables: int = 600) -> Iterator[Setting]:
    """Yield the settings of type I errors, with noise and without."""
    for name, shape, n, epsilon, rarest in product(("grr", "ss", "oue"), SHAPES, RESPONDENTS, LEVELS, MARGINS):
        yield Setting(name, shape, n, epsilon, rarest, tables=tables)
    for shape, n, rarest in product(SHAPES, RESPONDENTS, MARGINS):
        if n * Setting("grr", shape, n, NO_NOISE, rarest).null.min() >= SMALL_COUNT:
            yield Setting("grr", shape, n, NO_NOISE, rarest, tables=tables)


def levels(settings: list[Setting], mapped: Callable = map) -> pd.DataFrame:
    """Return a row per setting, with its type I error."""
    rows = [{**_named(setting), "type I": rate} for setting, rate in mapped(again_where_high, settings)]
    return pd.DataFrame(rows)


def _named(setting: Setting) -> dict[str, object]:
    return {
        "mechanism": setting.mechanism if setting.epsilon < NO_NOISE else "no noise",
        "shape": "x".join(map(str, setting.shape)),
        "n": setting.n,
        "epsilon": setting.epsilon,
        "rarest": setting.rarest,
        "V": setting.effect,
        "tables": setting.tables,
    }


def levels_as_text(frame: pd.DataFrame) -> str:
    """Sum the type I errors up by mechanism and margins, and list those beyond what was asked."""
    grouped = frame.groupby(["mechanism", "rarest"])["type I"].agg(["mean", "min", "max", "size"]).reset_index()
    high = frame[frame["type I"] > ASKED_LEVEL]
    low = frame[(frame["mechanism"] == "no noise") & (frame["type I"] < ASKED_LEAST)]
    first = frame["tables"].min()
    title = (
        f"1. Type I error at {LEVEL:g} of independence; aim: at most {ASKED_LEVEL:g} everywhere, and at least "
        f"{ASKED_LEAST:g} without noise where the least cell is worth {SMALL_COUNT}"
    )
    return "\n".join(
        [
            title,
            grouped.to_string(index=False, float_format="{:.3f}".format),
            f"above {ASKED_LEVEL:g}: {len(high)} of {len(frame)}; measured twice: {(frame['tables'] > first).sum()}",
            high.sort_values("type I").to_string(index=False, float_format="{:.3f}".format) if len(high) else "",
            f"no noise, below {ASKED_LEAST:g}: {len(low)}",
            low.to_string(index=False) if len(low) else "",
        ]
    )


def power_grid(tables: int = 200) -> Iterator[Setting]:
    """Yield the GRR settings whose mean power was asked for: V of .1, .2 and .3, even margins and .7 beside .3."""
    for shape, n, epsilon, effect, rarest in product(
        SHAPES, (500, 2_000, 8_000, 50_000), LEVELS, (0.1, 0.2, 0.3), (0.5, 0.3)
    ):
        yield Setting("grr", shape, n, epsilon, rarest, effect, tables)


SINGLE_POWERS = (
    (Setting("ss", (4, 4), 50_000, 1.0, effect=0.1, tables=1000), 0.95),
    (Setting("ss", (4, 4), 8_000, 2.0, effect=0.1, tables=1000), 0.88),
    (Setting("oue", (4, 4), 50_000, 1.0, effect=0.1, tables=1000), None),
    (Setting("grr", (4, 4), 50_000, 1.0, effect=0.1, tables=1000), None),
    (Setting("grr", (4, 4), 2_000, NO_NOISE, effect=0.1, tables=1000), None),
)


RIVALS: dict[str, Callable[..., Any]] = {
    "auto": ScoreStatistic,
    "one fit": ScoreStatistic,
    "lr": LikelihoodRatio,
    "wald": WaldStatistic,
}


def rivals(settings: list[Setting], mapped: Callable = map) -> pd.DataFrame:
    """Compare the default with the asymptotic likelihood ratio and Wald tests: their power, and type I errors there."""
    rows = []
    for method in RIVALS:
        own = [replace(one, method=method) for one in settings]
        nulls = list(dict.fromkeys(replace(one, effect=0.0, tables=1000) for one in own))
        row = {"method": method, "mean power": np.mean(list(mapped(rejected, own)))}
        errors = np.array(list(mapped(rejected, nulls)))
        rows.append({**row, "largest type I": errors.max(), "settings above .065": int((errors > ASKED_LEVEL).sum())})
    return pd.DataFrame(rows)


def corner_grid(tables: int = 400) -> Iterator[Setting]:
    """Yield the conservative corner: so few reports at such levels that the noise is wider than the simplex."""
    for name, n, epsilon, rarest in product(("grr", "ss", "oue"), (50, 500), (0.2, 0.5, 0.8), MARGINS):
        yield Setting(name, (4, 4), n, epsilon, rarest, tables=tables)


def corner(settings: list[Setting], mapped: Callable = map) -> pd.DataFrame:
    """Return rows of type I errors, and of powers against V = .5 at even margins: of the default and of a single fit.

    What would be attainable is the power of the single fit at a critical value that gives it the level there.
    """
    frame = pd.DataFrame([_named(one) for one in settings])
    for method in ("auto", "one fit"):
        own = [replace(one, method=method) for one in settings]
        strong = [replace(one, effect=0.5) for one in own if one.rarest == 0.5]
        frame[f"type I, {method}"] = list(mapped(rejected, own))
        frame.loc[frame["rarest"] == 0.5, f"power, {method}"] = list(mapped(rejected, strong))
    frame.loc[frame["rarest"] == 0.5, "attainable"] = list(mapped(attainable, strong))
    return frame.drop(columns="V")


def attainable(setting: Setting) -> float:
    """Return the power of a single fit if its critical value were the one that has the level at these margins."""
    rng, null, tables = np.random.default_rng(setting.seed), replace(setting, effect=0.0), 10 * setting.tables
    statistics = []
    for populations, size in ((null.populations, tables), (setting.populations, tables // PARTS)):
        counts = np.concatenate([setting.noise.draw(one, setting.n, size, rng) for one in populations])
        blocks = table_of(setting.shape, Tally(setting.noise, counts[0], setting.n)).blocks
        evidence = BlockEvidence(blocks, (counts,))
        statistic = ScoreStatistic(setting.model, BlockEvidence.observed(blocks), counts.shape[1])
        statistics.append(statistic(evidence).statistic)
    return float(np.mean(statistics[1] > np.quantile(statistics[0], 1 - LEVEL)))


def powers(settings: list[Setting], mapped: Callable = map) -> pd.DataFrame:
    """Return a row per setting, with its power."""
    rates = mapped(rejected, settings)
    return pd.DataFrame([{**_named(one), "power": rate} for one, rate in zip(settings, rates, strict=True)])


def formula_grid(tables: int = 4_000) -> list[Setting]:
    """Return the settings in which the stated power is compared with the simulated one."""
    designs = ((500, 4.0), (2_000, 2.0), (8_000, 1.0), (50_000, 0.5))
    return [
        Setting(name, shape, n, epsilon, rarest, effect, tables)
        for name, shape, (n, epsilon), effect, rarest in product(
            ("grr", "ss", "oue"), SHAPES, designs, (0.1, 0.2, 0.3), (0.5, 0.3)
        )
    ]


def formula(settings: list[Setting], mapped: Callable = map) -> pd.DataFrame:
    """Return a row per setting: the power that `power` states for each of its populations, and the simulated one."""
    rows = powers(settings, mapped).rename(columns={"power": "simulated"})
    return rows.assign(stated=list(mapped(stated, settings))).assign(gap=lambda frame: frame.stated - frame.simulated)


HYPOTHESES: dict[str, tuple[tuple[int, ...], Callable[..., ldp.inference.HypothesisResult]]] = {
    "goodness of fit": ((3, 3), ldp.inference.goodness_of_fit_test),
    "joint": ((3, 3, 2), lambda t: ldp.inference.joint_independence_test(t, ["a", "b"], "c")),
    "conditional": ((3, 3, 2), lambda t: ldp.inference.conditional_independence_test(t, "a", "b", "c")),
    "no three-way, 2x2x2": ((2, 2, 2), ldp.inference.no_three_way_interaction_test),
    "no three-way, 3x3x2": ((3, 3, 2), ldp.inference.no_three_way_interaction_test),
    "symmetry": ((3, 3), ldp.inference.symmetry_test),
    "marginal homogeneity": ((3, 3), ldp.inference.marginal_homogeneity_test),
}


def other_level(case: tuple[str, str, int, float, float], tables: int = 200) -> dict[str, object]:
    """Return how often another hypothesis is rejected where it holds, and how often its fit does not come to rest."""
    name, mechanism, n, epsilon, rarest = case
    shape, test = HYPOTHESES[name]
    setting = Setting(mechanism, shape, n, epsilon, rarest, tables=tables)
    noise = ldp.mechanism(mechanism, k=math.prod(shape), epsilon=epsilon).noise
    drawn = noise.draw(setting.null, n, tables, np.random.default_rng(setting.seed))
    if name == "goodness of fit":
        test = partial(test, frequencies=setting.null)
    results = [_answered(test, table_of(shape, Tally(noise, one, n))) for one in drawn]
    told = [result for result in results if result is not None]
    return {
        "hypothesis": name,
        "mechanism": mechanism,
        "n": n,
        "epsilon": epsilon,
        "rarest": rarest,
        "type I": sum(result.pvalue <= LEVEL for result in told) / tables,
        "not converged": sum(not result.converged for result in told) / tables,
        "no answer": (tables - len(told)) / tables,
    }


def _answered(
    test: Callable[..., ldp.inference.HypothesisResult], table: Table
) -> ldp.inference.HypothesisResult | None:
    """Return the result, or None where the test was refused; that is counted, and not hidden."""
    try:
        return test(table)
    except ldp.LdpstatsError:
        return None


def others_grid() -> list[tuple[str, str, int, float, float]]:
    """Return the cases of `other_level`: moderate numbers of reports."""
    return list(product(HYPOTHESES, ("grr", "ss"), (2_000, 10_000), (1.0, 2.0), (0.5, 0.3)))


def speed(tables: int = 9_999, sizes: tuple[int, ...] = (10**3, 10**5, 10**7, 10**9), users: int = 10**5) -> str:
    """Time the Monte Carlo p-value of a 4-by-4 table over n, and beside simulating every user once."""
    lines = [f"{tables:,} Monte Carlo tables, 4 x 4, GRR: drawn and tested (aim: slowest / fastest at most 1.5)"]
    rng, uniform = np.random.default_rng(3), np.full(16, 1 / 16)
    for epsilon in (1.0, 4.0):
        mechanism, whole = ldp.GRR(16, epsilon), {}
        for n in sizes:
            table = table_of((4, 4), mechanism.simulate(rng.multinomial(n, uniform), rng=rng))
            drawn = ldp.MonteCarlo(tables, rng=1)
            whole[n] = min(_seconds(lambda t=table, d=drawn: ldp.independence_test(t, pvalue=d)) for _ in range(5))
        times = ", ".join(f"n = {n:.0e}: {1e3 * seconds:.0f} ms" for n, seconds in whole.items())
        lines.append(f"ε = {epsilon:g}: {times}; slowest / fastest {max(whole.values()) / min(whole.values()):.2f}")
    mechanism, values = ldp.GRR(16, 1.0), rng.integers(0, 16, users)
    drawing = min(_seconds(lambda: mechanism.noise.draw(uniform, users, tables, rng)) for _ in range(5))
    ways = {
        "plain numpy": lambda: _in_plain_numpy(values, rng),
        "the package's own clients": lambda: mechanism.count(mechanism.privatize(values, rng=rng)),
    }
    for name, simulated in ways.items():
        ratio = tables * min(_seconds(simulated) for _ in range(5)) / drawing
        lines.append(f"simulating {users:,} users as often, by {name}: {ratio:,.0f} times the drawing (aim: 1,000)")
    return "\n".join(lines)


def _in_plain_numpy(values: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Randomize 16 values by GRR at ε = 1, user by user, as one would write it down."""
    other = rng.integers(0, 15, values.size)
    honest = rng.random(values.size) < np.e / (np.e + 15)
    return np.bincount(np.where(honest, values, other + (other >= values)), minlength=16)


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _rrba(case: tuple[float, float, int, int]) -> float:
    return rejected_rrba(*case)


def pairs_of_a_set(effect: float, sets: int = 300, n: int = 20_000) -> pd.DataFrame:
    """Return how often the first pair is rejected, by the tables that are pooled for it, and how long a test takes.

    Respondents answer one of all pairs and triples of four attributes. "all that hold it" is what `independence_tests`
    takes; the margins of other tables add nothing that a test would see.
    """
    domain = ldp.Domain({name: list(range(size)) for name, size in zip("abcd", (2, 3, 2, 3), strict=True)})
    groups = [group for size in (2, 3) for group in combinations(domain.names, size)]
    protocol = ldp.SampledGroups(domain, epsilon=1.5, groups=groups)
    both = np.outer([0.5, 0.5], [0.3, 0.3, 0.4])
    both += effect * np.sqrt(both) * np.outer([1, -1], [1, -1, 0]) / 2
    people = (n * np.multiply.outer(both, np.outer([0.7, 0.3], [0.2, 0.3, 0.5]))).round().astype(int)
    target, rng = domain.project(["a", "b"]), np.random.default_rng(1)
    kinds: dict[str, Callable[[ldp.TableSet], Table]] = {
        "its own table": lambda tables: tables["a", "b"],
        "all that hold it": lambda tables: told_by(
            [one for one in tables if {"a", "b"} <= {*one.attributes}], target, tables.privacy
        ),
        "all that tell of it": lambda tables: tables.pooled(["a", "b"]),
    }
    collected = [protocol.simulate(people, rng=rng) for _ in range(sets)]
    rows = []
    for kind, pooled in kinds.items():
        start = time.perf_counter()
        share = float(np.mean([_rejects(pooled(tables)) for tables in collected]))
        milliseconds = 1000 * (time.perf_counter() - start) / sets
        rows.append({"a pair by": kind, "effect": effect, "rejected": share, "ms": milliseconds})
    return pd.DataFrame(rows)


def main() -> None:
    """Measure on all processors and print everything beside what was asked."""
    with Pool() as pool:
        mapped = partial(pool.map, chunksize=4)
        print(levels_as_text(levels(list(levels_grid()), mapped)), flush=True)
        cases = [(rarest, 0.0, n, 300) for rarest in MARGINS for n in (2_000, 8_000)] + [(0.5, 0.1, 8_000, 300)]
        *quiet, power = pool.map(_rrba, cases, chunksize=1)
        for (rarest, _, n, tables), rate in zip(cases, quiet, strict=False):
            print(f"RRBA, p = .5, B = 250, 2x2, n = {n}, rarest {rarest:g}: type I {rate:.3f} ({tables} tables)")
        grid = powers(list(power_grid()), mapped)
        print(f"\n2. Power; mean over the GRR grid: {grid['power'].mean():.3f} (aim: {ASKED_POWER:g})")
        print(grid.pivot_table("power", ["shape", "V"], ["epsilon", "n"]).to_string(float_format="{:.2f}".format))
        print("\nThe default and its rivals on that grid:")
        print(rivals(list(power_grid()), mapped).to_string(index=False, float_format="{:.3f}".format))
        single = powers([setting for setting, _ in SINGLE_POWERS], mapped)
        single["aim"] = [asked for _, asked in SINGLE_POWERS]
        print(single.to_string(index=False, na_rep=""))
        print(f"RRBA, p = .5, B = 250, 2x2, n = 8000, V = .1: power {power:.3f} (aim: 0.98)", flush=True)
        gaps = formula(formula_grid(), mapped)
        widest = gaps.reindex(gaps["gap"].abs().sort_values(ascending=False).index).head(8)
        print(f"\nThe stated power of {len(gaps)} settings beside the simulated one (aim: within .05); widest gaps:")
        print(widest.to_string(index=False, float_format="{:.3f}".format), flush=True)
        print(f"\nThe conservative corner, 4 x 4 (aim: type I at most {ASKED_LEVEL:g})")
        print(corner(list(corner_grid()), mapped).to_string(index=False, na_rep="", float_format="{:.3f}".format))
        rows = pool.map(other_level, others_grid(), chunksize=1)
        print("\n3. Type I error of the other hypotheses\n" + pd.DataFrame(rows).to_string(index=False), flush=True)
    print("\n4. Speed\n" + speed())
    print("\n5. One pair of a set of pairs and triples, ε = 1.5, n = 20,000")
    print(pd.concat(map(pairs_of_a_set, (0.0, 0.08))).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
