"""Figures of reports that follow from formulas, against simulation: how many respondents are needed, and power.

In random settings a survey of all pairs of attributes is simulated (a pilot), of which the first pair depends on each
other. What is said of that pair is compared with the power of its test in simulated tables of many sizes, at the level
that Holm's method leaves it in its first step. Direction, margins (rare categories among them) and strength of the
dependence are random. The tests of these tables are asymptotic. Figures about forged reports follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import Pool

import forged_reports_figures
import numpy as np
import pandas as pd
from scipy.special import chdtri

import ldpstats as ldp
from ldpstats.analysis import reports_needed
from ldpstats.datasets import true_cramers_v
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import STATISTICS, chosen_method, evidence_of
from ldpstats.inference.hypothesis_tests.result import REFERENCE_SIZES
from ldpstats.numbers.arrays import FloatArray

SETTINGS = 200
MECHANISMS, LEVELS = ("grr", "oue", "ss", "olh"), (0.5, 1.0, 2.0, 4.0)
SIDES, ATTRIBUTES = (2, 6), (2, 14)
STRENGTHS, PILOTS = (0.05, 0.7), (300, 30_000)
RAREST, SHARE_WITH_RARE = 0.01, 0.5
POWER, ALPHA = 0.8, 0.05
# of the number that the true table asks for
SIZES = (0.3, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3, 1.8, 3.0)
TABLES, DIRECTIONS = 300, 20
LARGEST_PILOT, PROCESSES = 30_000, 2


@dataclass(frozen=True)
class Setting:
    """A pair of attributes in a survey of all pairs.

    `joint` is its table; all other attributes are binary and independent, with the shares `others` of one value.
    """

    seed: int
    joint: FloatArray
    others: FloatArray
    mechanism: str
    epsilon: float
    pilot: int

    @classmethod
    def drawn(cls, seed: int) -> Setting:
        """Draw one; a direction that a table of this strength cannot have is replaced by the nearest to a function."""
        rng = np.random.default_rng(seed)
        joint = None
        while joint is None:
            margins = [_margin(side, rng) for side in rng.integers(SIDES[0], SIDES[1] + 1, 2)]
            joint = _dependent(margins, float(np.exp(rng.uniform(*np.log(STRENGTHS)))), rng)
        others = rng.uniform(0.1, 0.9, int(rng.integers(ATTRIBUTES[0], ATTRIBUTES[1] + 1)) - 2)
        pilot = int(np.exp(rng.uniform(*np.log(PILOTS))))
        return cls(seed, joint, others, str(rng.choice(MECHANISMS)), float(rng.choice(LEVELS)), pilot)

    @cached_property
    def protocol(self) -> ldp.SampledGroups:
        """Each respondent answers one pair."""
        sides = [*self.joint.shape, *(2 for _ in self.others)]
        domain = ldp.Domain({f"a{place}": list(range(side)) for place, side in enumerate(sides)})
        return ldp.SampledGroups(domain, epsilon=self.epsilon, mechanism=self.mechanism)

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.protocol.groups)

    @property
    def level(self) -> float:
        """The level that each test has in the first step."""
        return ALPHA / self.pairs

    def described(self) -> dict[str, object]:
        """Return what it is, for a row of figures."""
        sides = [self.joint.sum(axis=1), self.joint.sum(axis=0)]
        rarest, v = min(float(side.min()) for side in sides), true_cramers_v(self.joint)
        kind = {"shape": self.joint.shape, "rarest": rarest, "true V of it": v, "mechanism": self.mechanism}
        return {"seed": self.seed, **kind, "epsilon": self.epsilon, "pairs": self.pairs, "pilot": self.pilot}

    def survey(self) -> ldp.TableSet:
        """Simulate the pilot."""
        rng = np.random.default_rng([self.seed, 1])
        cells = rng.choice(self.joint.size, p=self.joint.ravel(), size=self.pilot)
        more = rng.random((self.pilot, self.others.size)) < self.others
        codes = [*np.unravel_index(cells, self.joint.shape), *more.T]
        people = pd.DataFrame(np.stack(codes, axis=1).astype(int), columns=list(self.protocol.domain.names))
        return self.protocol.collect(people, rng=rng)

    def pair(self, reports: int, joint: FloatArray, seed: int) -> ldp.Table:
        """Return a table of so many reports about the first pair alone, if its table were this one."""
        rng = np.random.default_rng([self.seed, seed])
        domain = self.protocol.domain.project(("a0", "a1"))
        protocol = ldp.SampledGroups(domain, epsilon=self.epsilon, mechanism=self.mechanism)
        return protocol.simulate(rng.multinomial(reports, joint.ravel()), rng=rng)["a0", "a1"]

    def statistics(self, joint: FloatArray, reports: int, tables: int, seed: int) -> FloatArray:
        """Return the test statistics of simulated tables of so many reports."""
        evidence = evidence_of(self.pair(reports, joint, seed))
        statistic = STATISTICS[chosen_method("auto", evidence)[0]]
        measured = statistic(ProductOfConditionals.independent(joint.shape), evidence, joint.size)
        drawn = evidence.replicates(joint.ravel(), tables, np.random.default_rng([self.seed, seed, 1]))
        return measured(drawn).statistic

    def rejects(self, statistics: FloatArray, level: float) -> float:
        """Return the share of statistics that reject at a level."""
        df = (self.joint.shape[0] - 1) * (self.joint.shape[1] - 1)
        return float((statistics > chdtri(df, level)).mean())


def _margin(side: int, rng: np.random.Generator) -> FloatArray:
    margin = rng.dirichlet(np.full(side, 2.0))
    if rng.random() < SHARE_WITH_RARE:
        margin[-1] = RAREST * (1 - margin[-1])
    return np.maximum(margin, RAREST) / np.maximum(margin, RAREST).sum()


def _dependent(margins: list[FloatArray], v: float, rng: np.random.Generator) -> FloatArray | None:
    """Return a table with this V in a random direction that it can have; None if there is none."""
    expected = np.outer(*margins)
    for _ in range(200):
        table = expected + v * _direction(margins, rng)
        if table.min() >= 0:
            return table
    table = _nearly_a_function(margins, rng)
    most = true_cramers_v(table)
    return expected + v / most * (table - expected) if v <= most else None


def _direction(margins: list[FloatArray], rng: np.random.Generator) -> FloatArray:
    """Return a departure of V = 1 that leaves the margins alone, uniform among all."""
    row, column = map(np.sqrt, margins)
    drawn = rng.standard_normal((row.size, column.size))
    drawn = drawn - np.outer(row, row @ drawn)
    drawn = drawn - np.outer(drawn @ column, column)
    return drawn / np.linalg.norm(drawn) * np.sqrt(min(drawn.shape) - 1) * np.outer(row, column)


def _nearly_a_function(margins: list[FloatArray], rng: np.random.Generator) -> FloatArray:
    """Return the table that fills up its cells one after the other."""
    orders = [rng.permutation(margin.size) for margin in margins]
    ends = [np.cumsum([0, *margin[order]]) for margin, order in zip(margins, orders, strict=True)]
    lower, upper = (np.maximum.outer(ends[0][:-1], ends[1][:-1]), np.minimum.outer(ends[0][1:], ends[1][1:]))
    table = np.zeros(lower.shape)
    table[np.ix_(*orders)] = np.maximum(upper - lower, 0)
    return table


def measured_needs(seed: int) -> dict[str, object]:
    """Return how many respondents are said to be needed in a setting, and the power that so many have."""
    setting = Setting.drawn(seed)
    tests = ldp.independence_tests(setting.survey(), pvalue="asymptotic")
    place = [one.attributes for one in tests].index(("a0", "a1"))
    shown = tests.respondents_needed(POWER).iloc[place]
    given = tests.respondents_needed(POWER, [true_cramers_v(setting.joint)] * len(tests)).iloc[place]
    curve = PowerCurve.simulated(setting)
    needed, row = curve.needed, setting.described()
    row |= {"dependent": tests["a0", "a1"].verdict == "dependent", "needed": needed}
    for name, number in {"true table": curve.anchor, "shown": shown["needed"], "true V": given["needed"]}.items():
        said = np.nan if number is pd.NA else float(number)
        row |= {name: said, f"power, {name}": np.nan if np.isnan(said) else curve(said)}
    for name, said in {"shown": shown, "true V": given}.items():
        least, most = (np.inf if end is pd.NA else float(end) for end in (said["least"], said["most"]))
        row |= {f"{name} covers": least <= needed <= most, f"{name} is bounded": np.isfinite(most)}
        row |= {f"{name} spans": most / least, f"{name} least": least}
    return row


@dataclass(frozen=True)
class PowerCurve:
    """The simulated power of the first pair's test, by the number of respondents of the whole survey."""

    sizes: FloatArray
    powers: FloatArray
    anchor: float

    @classmethod
    def simulated(cls, setting: Setting) -> PowerCurve:
        """Simulate it around the number that `analyse` says of the true table."""
        anchor = reports_needed(setting.pair(1000, setting.joint, 0), setting.joint, setting.level).least
        assert anchor is not None
        sizes = np.maximum(np.round(anchor * np.array(SIZES)), 2).astype(int)
        drawn = (setting.statistics(setting.joint, size, TABLES, 2 + size) for size in sizes.tolist())
        powers = [setting.rejects(statistics, setting.level) for statistics in drawn]
        return cls(sizes * float(setting.pairs), np.maximum.accumulate(powers), float(anchor * setting.pairs))

    def __call__(self, respondents: float) -> float:
        """Return the power; of numbers beyond those that were simulated, that of the nearest."""
        return float(np.interp(np.log(respondents), np.log(self.sizes), self.powers))

    @property
    def needed(self) -> float:
        """The number with the power that is asked for."""
        return float(np.exp(np.interp(POWER, self.powers + 1e-9 * np.arange(len(self.sizes)), np.log(self.sizes))))


def measured_power(seed: int) -> dict[str, object]:
    """Return the power that is said of a pilot's test, averaged over directions, and the simulated one.

    It is against V = .1, or as much of it as all directions that are simulated allow for: that would be next to nothing
    with rare categories, so that margins are here halfway to even ones. The pilot's answers are independent, and as
    many as give the power .6 by the true margins, or thirty thousand.
    """
    setting, rng = Setting.drawn(seed), np.random.default_rng([seed, 1])
    margins = [(setting.joint.sum(axis=axis) + 1 / setting.joint.shape[1 - axis]) / 2 for axis in (1, 0)]
    directions, expected = [_direction(margins, rng) for _ in range(DIRECTIONS)], np.outer(*margins)
    size = min(REFERENCE_SIZES[0], *(0.999 / float((-one / expected).max()) for one in directions))
    asked = {"epsilon": setting.epsilon, "effect": size, "power": 0.6, "alpha": setting.level, "margins": margins}
    enough = setting.pairs * ldp.sample_size(setting.mechanism, setting.joint.shape, **asked)
    setting = replace(setting, joint=expected, pilot=min(enough, LARGEST_PILOT))
    tables = setting.survey()
    told = ldp.independence_tests(tables, pvalue="asymptotic")["a0", "a1"].sensitivity
    alone = ldp.independence_test(tables["a0", "a1"], pvalue="asymptotic")
    reports, each = tables["a0", "a1"].n, 2 * TABLES // DIRECTIONS
    drawn = [
        setting.statistics(expected + size * one, reports, each, 2 + place) for place, one in enumerate(directions)
    ]
    row = setting.described() | {"V": size}
    for name, level, power in (
        ("all pairs", setting.level, told.power(size, setting.level)),
        ("one table", ALPHA, alone.power_against(size, ALPHA)),
    ):
        simulated = setting.rejects(np.concatenate(drawn), level)
        row |= {name: power, f"{name}, simulated": simulated, f"{name}, gap": power - simulated}
    return row


def needs(rows: pd.DataFrame) -> str:
    """Summarize what is said of respondents needed."""
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    bounded = rows["shown is bounded"].astype(bool)
    rows = rows.assign(shown=rows["shown"].where(bounded))  # elsewhere only the least is said
    powers = rows.filter(like="power, ").where(rows[["true table", "shown", "true V"]].notna().to_numpy())
    ratios = rows[["true table", "shown", "true V"]].div(rows["needed"], axis=0)
    said = [f"{name}: said in {rows[name].notna().mean():.3f} of the settings" for name in ratios]
    covered = []
    for name in ("shown", "true V"):
        bounded = rows[f"{name} is bounded"].astype(bool)
        held, among = rows[f"{name} covers"].mean(), rows.loc[bounded, f"{name} covers"].mean()
        covered.append(
            f"{name}: the limits hold the simulated number in {held:.3f} of the settings; both are said in "
            f"{bounded.mean():.3f} and hold it in {among:.3f} of these, the upper being "
            f"{rows.loc[bounded, f'{name} spans'].median():.1f} times the lower in the median"
        )
    dependent = rows[rows["dependent"].astype(bool)]
    return "\n".join(
        [
            f"Simulated power at the number that is said (asked for: {POWER}), by shares of {len(rows)} settings",
            powers.quantile(shares).T.to_string(float_format="{:.3f}".format),
            "The number that is said over the one that simulation finds",
            ratios.quantile(shares).T.to_string(float_format="{:.3f}".format),
            *said,
            *covered,
            (
                f"shown: a number and both limits stand beside {dependent['shown is bounded'].mean():.3f} of the "
                f"{len(dependent)} dependences that the pilot shows"
            ),
        ]
    )


def powers(rows: pd.DataFrame) -> str:
    """Summarize what is said of power."""
    gaps = rows[["all pairs, gap", "one table, gap"]]
    clear = rows["all pairs, simulated"].between(0.2, 0.9) | rows["one table, simulated"].between(0.2, 0.9)
    return "\n".join(
        [
            f"Power that is said of a pilot's test less the simulated one, by shares of {len(rows)} settings",
            gaps.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).T.to_string(float_format="{:.3f}".format),
            f"The same in the {clear.sum()} settings with a simulated power from .2 to .9",
            gaps[clear].quantile([0.05, 0.25, 0.5, 0.75, 0.95]).T.to_string(float_format="{:.3f}".format),
        ]
    )


PARTS: tuple[tuple[str, Callable[[int], dict[str, object]], Callable[[pd.DataFrame], str]], ...] = (
    ("Respondents needed", measured_needs, needs),
    ("Power", measured_power, powers),
)
"""What is measured: its name, a row of figures of the setting with a number, and what is said of all rows."""


def main() -> None:
    """Measure every setting for every part, and print the figures."""
    with Pool(PROCESSES) as pool:
        for name, measured, said in PARTS:
            rows = pd.DataFrame(pool.map(measured, range(SETTINGS), chunksize=1))
            print(f"{name}\n{said(rows)}\n", flush=True)
    print("Forged reports")
    forged_reports_figures.main()


if __name__ == "__main__":
    main()
