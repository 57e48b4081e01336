"""What results take for granted, measured: reports of their channel, honest and independent respondents, one look.

1. How often the channel-fit check calls honest reports implausible, for all registered mechanisms, from 1 to 10,000
   reports, with true values at a corner, on an edge and in the centre of the simplex (k = 4, ε = 1).
2. How often it finds a wrong ε, noise of nobody, and forged reports that all name one value (k = 16, n = 20,000; the
   honest true values are Zipf's, 1/v).
3. What forged reports do: the worst shift by `poisoning`, and an independence test of a table that is independent.
4. The level of an independence test at .05 if households of four give one true answer.
5. The share of RRBA collections in which any of the looks after each of 14 blocks rejects a true independence.
6. How often collectors who asked people that are alike are called different, at .05 and .001: with few reports, cells
   that are nearly empty, many categories and hundreds of tables; by exact bounds, and by models (RRBA, SHE).
7. How often the one of five collectors is named of whom 5 % of the reports are forged, and any other.

Seeds are fixed; it takes some six minutes on one processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats import RRBA, Domain, SampledGroups, compare_collectors, independence_test, mechanism, poisoning
from ldpstats.estimation import LEVEL
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.registry import REGISTRY
from ldpstats.noise import MultinomialNoise, NoiseModel, RevealedBits, SupportNoise, Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.protocols import LocalProtocol
from ldpstats.tables import Table

NAMES = ("grr", "sue", "oue", "olh", "ss", "hr", "rappor", "dbitflip", "cms")
PRINTED = {"grr": 0.49, "oue": 0.15, "olh": 0.15, "ss": 0.16, "hr": 0.09, "rappor": 0.55, "dbitflip": 0.52}
"""Single simulations of an attack with 5 % forged reports: k = 16, ε = 1, n = 20,000."""


def alarms(one: Mechanism, truth: FloatArray, n: int, trials: int, rng: np.random.Generator) -> int:
    """Count the honest tallies that are called implausible."""
    drawn = one.noise.draw(truth, n, trials, rng)
    return sum(not one.channel_fit(Tally(one.noise, counts, n)).plausible for counts in drawn)


def level(trials: int, names: Sequence[str] = ()) -> pd.DataFrame:
    """Return the share of false alarms by the number of reports and where the truth lies, and the worst mechanism."""
    kinds = [kind for kind in REGISTRY if not names or kind.name in names]
    rng, rows = np.random.default_rng(1), []
    for n in (1, 20, 300, 10_000):
        for place in ("corner", "edge", "centre"):
            found = {}
            for kind in kinds:
                k = kind.only_k or 4
                edge = np.append([0.5, 0.5], np.zeros(k - 2))
                truth = {"corner": np.eye(k)[-1], "edge": edge, "centre": np.full(k, 1 / k)}[place]
                found[kind.name] = alarms(mechanism(kind.name, k, 1.0), truth, n, trials, rng) / trials
            worst = max(found, key=lambda name: found[name])
            rows.append((n, place, np.mean(list(found.values())), worst, found[worst]))
    return pd.DataFrame(rows, columns=["n", "truth", "false alarms", "worst", "of it"])


def zipf(k: int) -> FloatArray:
    """Return frequencies in proportion to 1, 1/2, 1/3, ..."""
    weights = 1 / np.arange(1, k + 1)
    frequencies: FloatArray = weights / weights.sum()
    return frequencies


def forged_counts(noise: NoiseModel, number: int, disguised: bool, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the tally of reports that all name the last value, as loudly as they can.

    Disguised ones support, or set, as much beside it as honest ones do; the others nothing.
    """
    target, cells = noise.cells - 1, noise.cells
    true = np.where(np.arange(cells) == target, number, 0)
    if isinstance(noise, RevealedBits):
        flip = noise.flip if disguised else 1e-9
        return RevealedBits(noise.encoding, 1 - 1e-9, flip, noise.cohorts, noise.revealed).simulate(true, rng)
    if isinstance(noise, MultinomialNoise):
        best = noise.debias(np.eye(noise.outputs))[:, target]
        loudest = np.flatnonzero(best >= best.max() * (1 - 1e-9)) if disguised else [int(best.argmax())]
        return np.bincount(rng.choice(loudest, number), minlength=noise.outputs)
    assert isinstance(noise, SupportNoise)
    if noise.size is not None:
        return SupportNoise.subset(cells, 1.0, noise.size).simulate(true, rng)
    others = rng.binomial(number, noise.q, cells) if disguised else np.zeros(cells, dtype=np.int64)
    return np.where(np.arange(cells) == target, number, others)


def worst_report(noise: NoiseModel) -> NDArray[np.int64]:
    """Return what a report that is worth the most to the last value adds to the tally, found by trying."""
    worth = noise.debias(np.eye(noise.outputs) + (0 if noise.size else noise.mean(np.zeros(noise.cells))))[:, -1]
    added = np.zeros(noise.outputs, dtype=np.int64)
    if isinstance(noise, RevealedBits):
        pairs = worth.reshape(noise.cohorts, 2, -1)
        best = np.sort(pairs.max(axis=1), axis=1)[:, -noise.size :].sum(axis=1).argmax()
        slots = pairs[best].max(axis=0).argsort()[-noise.size :]
        added.reshape(pairs.shape)[best, pairs[best].argmax(axis=0)[slots], slots] = 1
    elif isinstance(noise, SupportNoise) and noise.size:
        added[-noise.size :] = 1
    else:
        added[worth.argmax()] = 1
    return added


def found(
    stated: Mechanism,
    used: Mechanism,
    share: float,
    disguised: bool,
    trials: int,
    truth: FloatArray | None = None,
    n: int = 20_000,
) -> float:
    """Return how often reports of `used`, a share of them forged, are found to be no reports of `stated`."""
    rng, forged = np.random.default_rng(2), round(share * n)
    alarms = 0
    for honest in used.noise.draw(zipf(used.k) if truth is None else truth, n - forged, trials, rng):
        counts = honest + forged_counts(used.noise, forged, disguised, rng) if forged else honest
        size = stated.noise.size
        if counts.size != stated.noise.outputs or (size is not None and counts.sum() != size * n):
            return np.nan
        alarms += not stated.channel_fit(Tally(stated.noise, counts, n)).plausible
    return alarms / trials


def power(trials: int, names: Sequence[str] = NAMES) -> pd.DataFrame:
    """Return how often what is wrong is found; nan where such reports do not even have the right form."""
    rows, halved = [], np.append(zipf(8), np.zeros(8))
    for name in names:
        one = mechanism(name, 16, 1.0)
        other, less = mechanism(name, 16, 2.0), mechanism(name, 16, 1.2)
        rows.append(
            {
                "mechanism": name,
                "made at 1, stated 2": found(other, one, 0, False, trials),
                "made at 2, stated 1": found(one, other, 0, False, trials),
                "made at 1.2, stated 1": found(one, less, 0, False, trials),
                "1 % bare": found(one, one, 0.01, False, trials),
                "1 % disguised": found(one, one, 0.01, True, trials),
                "5 % bare": found(one, one, 0.05, False, trials),
                "5 % disguised": found(one, one, 0.05, True, trials),
                "5 % disguised, half of the values empty": found(one, one, 0.05, True, trials, halved),
            }
        )
    return pd.DataFrame(rows).set_index("mechanism")


def shifts(n: int = 20_000, share: float = 0.05) -> pd.DataFrame:
    """Return worst shifts, beside the mean of simulated attacks by the worst report, and what single attacks showed."""
    rows = []
    for name, printed in PRINTED.items():
        one, rng, forged = mechanism(name, 16, 1.0), np.random.default_rng(3), round(share * n)
        truth = np.append(np.full(15, 1 / 15), 0.0)
        counts = one.noise.draw(truth, n - forged, 20, rng) + forged * worst_report(one.noise)
        simulated = float(np.mean([one.noise.debias(drawn / n)[-1] for drawn in counts]))
        worst, last = poisoning(one, share), poisoning(one, share, target=15)
        rows.append((name, worst.shift, last.rise, simulated, printed))
    columns = ["mechanism", "worst shift of any value", "rise of the last", "simulated", "single attack"]
    return pd.DataFrame(rows, columns=columns).set_index("mechanism")


def forged_dependence(trials: int, n: int = 48_000) -> pd.DataFrame:
    """Return median p-values of independence tests of an independent 4 × 4 table, by the share of forged reports."""
    domain = Domain({"row": list("abcd"), "column": list("abcd")})
    rows = {}
    for name in ("grr", "oue", "ss", "hr"):
        table = SampledGroups(domain, epsilon=1.0, mechanism=name).simulate(np.full(16, n // 16), rng=1)[
            "row", "column"
        ]
        (block,), rng = table.blocks, np.random.default_rng(4)
        medians = {}
        for share in (0.0, 0.01, 0.05):
            forged = round(share * n)
            values = []
            for honest in block.noise.draw(np.full(16, 1 / 16), n - forged, trials, rng):
                counts = honest + (forged_counts(block.noise, forged, True, rng) if forged else 0)
                attacked = Table(table.domain, (Block(block.question, Tally(block.noise, counts, n)),), table.privacy)
                values.append(independence_test(attacked, pvalue="asymptotic").pvalue)
            medians[f"{100 * share:g} %"] = float(np.median(values))
        rows[name] = medians
    return pd.DataFrame(rows).T


def households(trials: int, size: int = 4, n: int = 4000) -> pd.DataFrame:
    """Return the share of true independences that are rejected at .05 if so many respondents share every answer."""
    rows = {}
    for shape in ((2, 2), (3, 3)):
        domain = Domain({"row": list("abc")[: shape[0]], "column": list("abc")[: shape[1]]})
        cells = shape[0] * shape[1]
        for epsilon in (1.0, 2.0, 4.0, 8.0):
            made = SampledGroups(domain, epsilon=epsilon, mechanism="grr").simulate(np.full(cells, 10), rng=1)
            (table,), rng = list(made), np.random.default_rng(5)
            (block,), rejected = table.blocks, 0
            for true in rng.multinomial(n // size, np.full(cells, 1 / cells), trials):
                tally = Tally(block.noise, block.noise.simulate(size * true, rng), n)
                seen = Table(table.domain, (Block(block.question, tally),), table.privacy)
                rejected += independence_test(seen, pvalue="asymptotic").pvalue <= 0.05
            rows[f"{shape[0]} × {shape[1]}, ε = {epsilon:g}"] = rejected / trials
    return pd.Series(rows, name=f"level with households of {size}").to_frame()


def looks(trials: int, blocks: int = 14, size: int = 250) -> pd.DataFrame:
    """Return how often a true independence is rejected at .05 at the last look alone, and at any of all looks."""
    domain = Domain({"row": ["a", "b"], "column": ["a", "b"]})
    protocol, last, ever = RRBA(domain, p=0.5, block_size=size), 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        table = protocol.simulate(rng.multinomial(blocks * size, np.full(4, 0.25)), rng=rng)["row", "column"]
        seen = [Table(table.domain, table.blocks[: look + 1], table.privacy) for look in range(len(table.blocks))]
        rejected = [independence_test(one, pvalue="asymptotic").pvalue <= 0.05 for one in seen]
        last, ever = last + rejected[-1], ever + any(rejected)
    return pd.DataFrame({"the last look": [last / trials], f"any of {blocks} looks": [ever / trials]})


ALIKE: Mapping[str, tuple[str, int, int, int, int]] = {
    # mechanism, attributes, categories, collectors, reports of each
    "grr, 190 pairs, n = 20": ("grr", 20, 3, 5, 20),
    "oue, 190 pairs, n = 2,000": ("oue", 20, 3, 5, 2000),
    "ss, 3 pairs of 400 cells": ("ss", 3, 20, 3, 500),
    "hr, 15 pairs": ("hr", 6, 4, 8, 3000),
    "RRBA, 3 pairs": ("rrba", 3, 3, 3, 2000),
    "she, 15 pairs": ("she", 6, 3, 3, 2000),
}


def called_different(trials: int, cases: Mapping[str, tuple[str, int, int, int, int]] = ALIKE) -> pd.DataFrame:
    """Return the share of comparisons of collectors with the same people in which any differs."""
    rows = {}
    for case, (name, attributes, categories, collectors, n) in cases.items():
        domain = Domain({f"a{place}": list(range(categories)) for place in range(attributes)})
        rng, least = np.random.default_rng(6), []
        # one category is nearly never met
        shares = np.append(np.full(categories - 1, 0.998 / (categories - 1)), 0.002)
        protocol: LocalProtocol = (
            RRBA(domain, k=2, epsilon=4.0, block_size=300)
            if name == "rrba"
            else SampledGroups(domain, epsilon=2.0, mechanism=name)
        )
        for _ in range(trials):
            people = [rng.choice(categories, (n, attributes), p=shares) for _ in range(collectors)]
            sets = [protocol.simulate(domain.decode(codes), rng=rng) for codes in people]
            least.append(min((test.adjusted for test in compare_collectors(sets).tests), default=1.0))
        rows[case] = {f"below {level:g}": float(np.mean(np.array(least) < level)) for level in (0.05, 0.001)}
    return pd.DataFrame(rows).T


def named_forger(trials: int, n: int = 50_000) -> pd.DataFrame:
    """Return how often a collector of whom 5 % of the reports name one cell is named, and how often any other is."""
    domain, rng = Domain({name: list("wxyz") for name in "abc"}), np.random.default_rng(7)
    rows = {}
    for name in ("grr", "ss", "oue", "olh", "hr"):
        protocol, right, wrong = SampledGroups(domain, epsilon=3.0, mechanism=name), 0, 0
        for _ in range(trials):
            people = rng.multinomial(n, np.full(64, 1 / 64), 5)
            people[4] = rng.multinomial(round(0.95 * n), np.full(64, 1 / 64))
            people[4, 0] += n - people[4].sum()
            found = compare_collectors([protocol.simulate(one, rng=rng) for one in people]).differing
            right, wrong = right + ("5" in found), wrong + bool({*found} - {"5"})
        rows[name] = {"the forger": right / trials, "any other": wrong / trials}
    return pd.DataFrame(rows).T


def main() -> None:
    """Measure and print everything."""
    parts = {
        f"1. Honest reports that are called implausible (level {LEVEL:g}, 60 tallies of every mechanism)": level(60),
        "2. Reports that are called implausible: k = 16, n = 20,000, ε = 1 where not said otherwise": power(60),
        "3a. Shift of a frequency by 5 % forged reports: the worst, and attacks": shifts(),
        "3b. Median p-value of a true independence, by the share of forged reports": forged_dependence(100),
        "4. Level of an independence test at .05": households(250),
        "5. Rejections of a true independence at .05, RRBA with blocks of 250": looks(300),
        "6. Collectors who asked people that are alike, called different": called_different(200),
        "7. The collector of five with 5 % forged reports is named (50,000 reports each, ε = 3)": named_forger(50),
    }
    for title, frame in parts.items():
        print(f"{title}\n{frame.to_string(float_format='{:.3g}'.format)}\n", flush=True)


if __name__ == "__main__":
    main()
