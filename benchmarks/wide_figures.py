"""What figures of one wide table cost, and those of a set of 4,950 pairs, beside what they cost before.

    python benchmarks/wide_figures.py [respondents]

Seconds of one processor, each step once, on copies that know nothing yet; of a table the most of four mechanisms.
Those before are of commit c4babd7 on the same machine; "> 100" was broken off.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp

MECHANISMS, RESPONDENTS = ("grr", "ss", "oue", "olh"), 3_000_000
BEFORE = {
    "32 x 32 collected: odds ratio": "0.23",
    "32 x 32 collected: association": "0.07",
    "32 x 32 collected: conditional": "0.01",
    "32 x 32 collected: summary": "0.10",
    "32 x 32 collected: crosstab": "0.12",
    "32 x 32 collected: mosaic": "1.05",
    "32 x 32 reconstructed: summary": "1.79",
    "32 x 32: make consistent": "0.28",
    "32 x 32: reconstruct, from three tables": "4.05",
    "16 x 16: bounds": "56.15",
    "16 x 16: bounds, simultaneous": "21.24",
    "22 x 22: bounds": "> 100",
    "22 x 22: bounds, simultaneous": "> 75",
    "4,950 pairs: to and from JSON": "1.38",
    "4,950 pairs: channel fit": "8.99",
    "4,950 pairs: summary": "8.32",
    "4,950 pairs: V of all": "1.64",
    "4,950 pairs: one attribute, pooled": "0.15",
    "4,950 pairs: collapse": "1.74",
    "4,950 pairs: make consistent": "5.26",
    "4,950 pairs: consistency report": "13.65",
    "4,950 pairs: reconstruct a triple": "4.85",
    "4,950 pairs: picture": "14.29",
    "4,950 pairs: report": "69.29",
}


def of_one_table(side: int, mechanism: str, n: int, epsilon: float = 4.0) -> ldp.TableSet:
    """Return tables of two attributes with so many categories, and of either with a third one of four."""
    names = {name: [f"{name}{place}" for place in range(side)] for name in "ab"}
    rng = np.random.default_rng(3)
    rows, columns = rng.dirichlet(np.full(side, 8.0)), rng.dirichlet(np.full(side, 2.0), size=side)
    joint = rows[:, None] * (0.7 * columns.mean(0) + 0.3 * columns)
    cells = joint[:, :, None] * rng.dirichlet(np.full(4, 3.0), size=side)[:, None, :]
    counts = rng.multinomial(n, cells.ravel() / cells.sum())
    protocol = ldp.SampledGroups(ldp.Domain({**names, "c": list("wxyz")}), epsilon=epsilon, mechanism=mechanism)
    return protocol.simulate(counts, rng=1)


def pairs_of_100(n: int) -> ldp.TableSet:
    """Return the tables of all pairs of 100 attributes with four categories."""
    domain = ldp.Domain({f"q{place}": list("wxyz") for place in range(100)})
    rng = np.random.default_rng(1)
    columns = {
        name: pd.Categorical.from_codes(rng.integers(4, size=n, dtype=np.int8), list("wxyz")) for name in domain.names
    }
    return ldp.SampledGroups(domain, epsilon=2.0).simulate(pd.DataFrame(columns), rng=1)


def anew(tables: ldp.TableSet) -> ldp.TableSet:
    """Return the same tables, of which nothing is worked out yet."""
    return tables.replaced(tables=[replace(table) for table in tables])


def reported(tables: ldp.TableSet) -> None:
    """Write a report."""
    with tempfile.TemporaryDirectory() as folder:
        tables.report(Path(folder) / "report.html")


def figures_of(table: ldp.Table) -> dict[str, Callable[[ldp.Table], Any]]:
    """Return what may be asked of a table of two attributes, by name."""
    rows, columns = (values[:2] for values in table.domain.categories.values())
    return {
        "odds ratio": lambda one: ldp.odds_ratio(one, rows=rows, columns=columns).conf_int(),
        "risk difference": lambda one: ldp.risk_difference(one, rows=rows, column=columns[0]).conf_int(),
        "association": lambda one: ldp.association(one).conf_int(),
        "mutual information": lambda one: ldp.mutual_information(one).conf_int(),
        "channel fit": lambda one: one.channel_fit(),
        "conditional": lambda one: one.conditional("b", "a").summary(),
        "summary": lambda one: str(one.summary()),
        "crosstab": lambda one: str(one.crosstab().summary()),
        "mosaic": lambda one: one.picture("mosaic").svg("mosaic"),
    }


def costs_of_tables(n: int) -> dict[str, float]:
    """Return what figures of tables cost, by name."""
    found: dict[str, float] = {}

    def keep(name: str, work: Callable[[], Any]) -> None:
        start = time.process_time()
        work()
        found[name] = max(found.get(name, 0.0), time.process_time() - start)

    for mechanism in MECHANISMS:
        tables = of_one_table(32, mechanism, n)
        unasked = tables.replaced(tables=[one for one in tables if "c" in one.attributes])
        kinds = {
            "collected": tables["a", "b"],
            "consistent": ldp.make_consistent(tables)["a", "b"],
            "reconstructed": ldp.reconstruct(unasked, ["a", "b"]),
        }
        for kind, table in kinds.items():
            for name, figure in figures_of(table).items():
                keep(f"32 x 32 {kind}: {name}", partial(figure, replace(table)))
        keep("32 x 32: make consistent", partial(ldp.make_consistent, anew(tables)))
        keep("32 x 32: reconstruct, from three tables", partial(ldp.reconstruct, anew(tables), ["a", "b"]))
        for side in (16, 22):
            table = of_one_table(side, mechanism, n // 5)["a", "b"]
            keep(f"{side} x {side}: bounds", table.bounds)
            keep(f"{side} x {side}: bounds, simultaneous", partial(table.bounds, simultaneous=True))
    return found


def costs_of_pairs(n: int) -> dict[str, float]:
    """Return what figures of all pairs of 100 attributes cost, by name."""
    tables, found = pairs_of_100(n), {}
    steps: Mapping[str, Callable[[ldp.TableSet], Any]] = {
        "to and from JSON": lambda some: ldp.TableSet.from_json(some.to_json()),
        "channel fit": lambda some: some.channel_fit(),
        "summary": lambda some: str(some.summary()),
        "summaries of all": lambda some: [one.summary() for one in some],
        "V of all": lambda some: [ldp.association(one).conf_int() for one in some],
        "one attribute, pooled": lambda some: some.pooled("q3"),
        "collapse": lambda some: some.collapse({name: {"low": ["w", "x"]} for name in some.domain.names}),
        "make consistent": ldp.make_consistent,
        "consistency report": lambda some: ldp.consistency_report(ldp.make_consistent(some)).summary(),
        "reconstruct a triple": lambda some: ldp.reconstruct(some, ["q1", "q2", "q3"]).summary(),
        "picture": lambda some: some.picture().svg("proportions"),
        "tests of all": ldp.independence_tests,
        "report": reported,
    }
    for name, step in steps.items():
        some = anew(tables)
        start = time.process_time()
        step(some)
        found[f"4,950 pairs: {name}"] = time.process_time() - start
    return found


def main(n: int = RESPONDENTS) -> None:
    """Print what every step costs, and what it cost before.

    Parameters
    ----------
    n : int
        The respondents who are asked about pairs of 100 attributes; a third of them about wide tables.
    """
    print(f"{'':60} seconds   before")
    for costs in (costs_of_tables(n // 3), costs_of_pairs(n)):
        for name, seconds in costs.items():
            print(f"{name:60} {seconds:7.2f}  {BEFORE.get(name, ''):>7}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
