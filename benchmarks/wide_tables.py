"""Wide tables and many pairs: what tests, networks and reports cost, in one process, drawn tables included.

    python benchmarks/wide_tables.py            all costs, a few minutes
    python benchmarks/wide_tables.py levels     how often true hypotheses are rejected in wide tables, an hour

Costs are seconds by the clock. Tables of one size are tested in several settings, from 2,000 to 1,000,000 respondents,
ε from .5 to 4, independent and dependent: the longest counts, and how many settings drew tables. Beside it stands what
the same took before structure took the place of size ("before": versions of early November 2026, on such a machine).
hailfinder (Abramson et al. 1996) comes with pgmpy. The exit code is 1 if anything takes longer than it may, or needs
more than a gigabyte, or if a level is not between .03 and .065.
"""

from __future__ import annotations

import gzip
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files

import numpy as np
import pandas as pd
from tqdm import tqdm

import ldpstats as ldp
from ldpstats.datasets import Network, network
from ldpstats.networks.bif import read_bif
from ldpstats.numbers.arrays import FloatArray

MECHANISMS = ("grr", "ss", "oue", "olh")
SIZES = {16: (0.2, "2.5"), 24: (0.5, "11 to 136"), 32: (1.0, "270 (OLH)"), 64: (8.0, "")}
SETTINGS = ((0.5, 2_000), (1.0, 10_000), (1.0, 100_000), (2.0, 100_000), (4.0, 1_000), (4.0, 10_000), (4.0, 1_000_000))
DEPENDENCES = (0.0, 0.3)
PARTS, GIGABYTE, RUNS, LEVEL, HELD = 10, 1.0, 2_000, 0.05, (0.03, 0.065)
LEVELS = dict.fromkeys(((24, 24), (5, 60)), ((2.0, 100_000), (4.0, 10_000)))


def table(shape: tuple[int, int], mechanism: str, epsilon: float, n: int, dependence: float, seed: int) -> ldp.Table:
    """Return a table of two attributes, of which a share of the respondents answers alike; margins are fixed."""
    fixed, drawn = np.random.default_rng(5), np.random.default_rng(seed)
    rows, columns = (fixed.dirichlet(np.full(size, 2.0)) for size in shape)
    alike = np.zeros(shape)
    alike[np.arange(shape[0]), np.arange(shape[0]) % shape[1]] = rows
    people = drawn.multinomial(n, ((1 - dependence) * np.outer(rows, columns) + dependence * alike).ravel())
    domain = ldp.Domain({name: [f"{name}{one}" for one in range(size)] for name, size in zip("ab", shape, strict=True)})
    asked = ldp.SampledGroups(domain, epsilon=epsilon, mechanism=mechanism)
    return asked.simulate(people, rng=seed)["a", "b"]


def hailfinder() -> Network:
    """Return the network with 56 attributes of up to 11 categories."""
    packed = files("pgmpy").joinpath("utils/example_models/hailfinder.bif.gz").read_bytes()
    categories, parents, tables = read_bif(gzip.decompress(packed).decode())
    return Network(ldp.Domain(categories), parents, tables, "hailfinder")


def of_network(net: Network, parts: int = 1, epsilon: float = 4.0) -> ldp.TableSet:
    """Ask every respondent of a network about one pair: parts of 200,000 respondents."""
    asked = ldp.SampledGroups(net.domain, epsilon=epsilon)
    first, *more = (asked.simulate(net.sample(200_000, part), rng=part + 1) for part in range(parts))
    return sum(more, first)


def even_pairs(attributes: int, respondents: int, epsilon: float = 2.0) -> ldp.TableSet:
    """Ask respondents with independent answers about pairs of attributes with four categories each, part by part."""
    domain, rng = ldp.Domain({f"question {one}": list("wxyz") for one in range(attributes)}), np.random.default_rng(1)
    asked, counting = ldp.SampledGroups(domain, epsilon=epsilon), []
    for part in range(PARTS):
        codes = rng.integers(4, size=(attributes, respondents // PARTS), dtype=np.int8)
        columns = zip(domain.names, codes, strict=True)
        people = {name: pd.Categorical.from_codes(column, list("wxyz")) for name, column in columns}
        counting.append(asked.simulate(pd.DataFrame(people, copy=False), rng=part))
    return sum(counting[1:], counting[0])


def occupations(respondents: int = 200_000) -> ldp.TableSet:
    """Ask about pairs of eight attributes, of which one has 94 categories that the others depend on."""
    rng, sizes = np.random.default_rng(2), [2 + one % 4 for one in range(7)]
    job = rng.choice(94, size=respondents, p=rng.dirichlet(np.ones(94)))
    codes = {"job": job}
    for one, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, 2.0), size=94).cumsum(axis=1)
        codes[f"question {one}"] = np.minimum((rng.random(respondents)[:, None] > shares[job]).sum(axis=1), size - 1)
    domain = ldp.Domain({"job": list(range(94))} | {f"question {one}": list(range(k)) for one, k in enumerate(sizes)})
    return ldp.SampledGroups(domain, epsilon=2.0).simulate(pd.DataFrame(codes), rng=1)


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def tables_of_one_size(size: int) -> list[dict[str, object]]:
    """Return what one independence test takes at most, by mechanism, and in how many settings it draws tables."""
    allowed, before = SIZES[size]
    rows = []
    for mechanism in MECHANISMS:
        taken, drawn = [], 0
        for epsilon, n in SETTINGS:
            for dependence in DEPENDENCES:
                one = table((size, size), mechanism, epsilon, n, dependence, 1)
                start = time.perf_counter()
                result = ldp.independence_test(one)
                taken.append(time.perf_counter() - start)
                drawn += result.pvalue_source.startswith("Monte Carlo")
        what = f"{size} × {size}, {mechanism}"
        rows.append(
            row(what, max(taken), allowed, before, f"{np.median(taken):.2f} median, {drawn} of {len(taken)} drawn")
        )
    return rows


def row(what: str, taken: float, allowed: float, before: str, more: str = "") -> dict[str, object]:
    """Return a line of the table of costs."""
    return {"what": what, "seconds": round(taken, 2), "at most": allowed, "before": before, "": more}


def many_pairs() -> list[dict[str, object]]:
    """Return what sets of many tables take, one set after the other."""
    hail = of_network(hailfinder())
    rows = [
        row("hailfinder, 1,540 pairs", timed(partial(ldp.independence_tests, hail)), 10, "167"),
        row("hailfinder, learned, 100 redraws", timed(partial(learned, hail)), 40, "50 without"),
    ]
    del hail
    alarm = of_network(network("alarm"), 5)
    rows.append(row("alarm, 666 pairs", timed(partial(ldp.independence_tests, alarm)), 3, ""))
    del alarm
    even = even_pairs(100, 3_000_000)
    anew = even.replaced(tables=[replace(one) for one in even])
    rows.append(row("4,950 pairs of 4 × 4", timed(partial(ldp.independence_tests, even)), 5, "36"))
    with tempfile.TemporaryDirectory() as folder:
        rows.append(row("report of 100 attributes", timed(partial(anew.report, f"{folder}/report.html")), 20, "63"))
    del even, anew
    jobs = occupations()
    return [
        *rows,
        row("94 categories among eight, tests", timed(partial(ldp.independence_tests, jobs)), 10, ""),
        row("94 categories among eight, learned", timed(partial(learned, jobs)), 10, "540"),
    ]


def learned(tables: ldp.TableSet) -> ldp.LearnedNetwork:
    """Learn a network with redraws."""
    return ldp.learn_network(tables, n_resamples=100, rng=1)


def level(shape: tuple[int, int], mechanism: str, epsilon: float, n: int) -> float:
    """Return how often independence is rejected where it holds."""
    what = f"{shape[0]} × {shape[1]}, {mechanism}, ε = {epsilon:g}, n = {n:,}"
    pvalues: FloatArray = np.array(
        [
            ldp.independence_test(table(shape, mechanism, epsilon, n, 0.0, seed)).pvalue
            for seed in tqdm(range(RUNS), desc=what, leave=False, disable=None)
        ]
    )
    return float(np.mean(pvalues <= LEVEL))


def main() -> None:
    """Print the costs, or the levels."""
    if sys.argv[1:] == ["levels"]:
        found = [
            {"table": f"{shape[0]} × {shape[1]}", "mechanism": mechanism, "ε": epsilon, "n": n}
            | {"level": level(shape, mechanism, epsilon, n)}
            for shape, settings in LEVELS.items()
            for epsilon, n in settings
            for mechanism in MECHANISMS
        ]
        frame = pd.DataFrame(found)
        print(frame.to_string(index=False))
        sys.exit(not frame["level"].between(*HELD).all())
    ldp.independence_tests(even_pairs(3, 1_000))  # what is imported counts for nothing
    costs = pd.DataFrame([*(line for size in SIZES for line in tables_of_one_size(size)), *many_pairs()])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(costs.to_string(index=False), f"largest resident size {memory:.2f} GB", sep="\n")
    sys.exit(bool((costs["seconds"] > costs["at most"]).any()) or memory > GIGABYTE)


if __name__ == "__main__":
    main()
