"""Networks by hill climbing and by PC: how near they come to the truth, beside "auto" and beside raw records.

    python benchmarks/network_search.py        all parts, about twenty minutes on two processors
    python benchmarks/network_search.py 5      the same with 5 repetitions

1. Every respondent answers one triple, or one pair, through "auto" mechanisms, at a strict total level ε. The harmonic
   mean F1 of precision and recall is that of edges without direction; SHD counts the pairs in which the CPDAGs differ.
   Of pairs alone, hill climbing makes trees, and PC refuses. pgmpy's own searches have raw records, which nobody has.
   Of the separations by PC, those that evidence decided are counted, those that were decided for want of power, and
   how many of each leave out no true edge.
2. Twelve independent attributes: how often any edge is found, at a level of .05.

Seeds are 0, 1, 2, ...; what there was to choose was settled on seeds from 100 on.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from multiprocessing import Pool

import networkx as nx
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.networks.orientation import cpdag_of
from ldpstats.networks.structure import Edge, Separation

SETTINGS = [
    ("survey", 1_000_000, 4.0),
    ("asia", 1_000_000, 4.0),
    ("asia", 100_000, 4.0),
    ("sachs", 1_000_000, 4.0),
]
REPETITIONS, ALPHA = 20, 0.05
ROWS = 100_000
SHARES = [(0.5, 0.5), (0.9, 0.1), (0.97, 0.03), (0.3, 0.7), (0.2, 0.3, 0.5), (0.05, 0.15, 0.8)]
MARGINS: Mapping[str, tuple[float, ...]] = dict(zip("abcdefghijkl", 2 * SHARES, strict=True))


@dataclass(frozen=True)
class Found:
    """What a search found: a partially directed graph, and why pairs are left out."""

    cpdag: nx.DiGraph[str]
    separations: tuple[Separation, ...] = ()


def learned(tables: ldp.TableSet, method: str) -> Found:
    """Return what is learned from privatized answers."""
    network_of = ldp.learn_network(tables, method, alpha=ALPHA, n_resamples=0)
    return Found(network_of.cpdag, network_of.structure.separations)


def of_records(records: pd.DataFrame, kind: str) -> Found:
    """Return what pgmpy finds in raw records."""
    from pgmpy.causal_discovery import PC, HillClimbSearch

    search = (
        HillClimbSearch(scoring_method="bic-d", max_indegree=2, return_type="dag", show_progress=False)
        if kind == "hill-climb"
        else PC(variant="stable", ci_test="chi_square", return_type="dag", show_progress=False)
    )
    dag: nx.DiGraph[str] = nx.DiGraph(search.fit(records.astype(str)).causal_graph_.edges())
    dag.add_nodes_from(records.columns)
    return Found(cpdag_of(dag))


def compared(case: tuple[tuple[str, int, float], int]) -> list[dict[str, object]]:
    """Return a row per method."""
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    (name, n, epsilon), seed = case
    net = network(name)
    records = net.sample(n, seed)
    pairs, triples = (
        ldp.SampledGroups(net.domain, epsilon=epsilon, k=k).simulate(records, rng=seed + 10**6) for k in (2, 3)
    )
    methods: Mapping[str, Callable[[], Found]] = {
        '"auto" on pairs': lambda: learned(pairs, "auto"),
        "hill-climb on pairs": lambda: learned(pairs, "hill-climb"),
        '"auto" on triples': lambda: learned(triples, "auto"),
        "hill-climb on triples": lambda: learned(triples, "hill-climb"),
        "pc on triples": lambda: learned(triples, "pc"),
        f"hill-climb by pgmpy, {ROWS:,} raw records": lambda: of_records(records[:ROWS], "hill-climb"),
        f"pc by pgmpy, {ROWS:,} raw records": lambda: of_records(records[:ROWS], "pc"),
    }
    rows = []
    for method, find in methods.items():
        start = time.perf_counter()
        found = find()
        seconds = time.perf_counter() - start
        against = ldp.compare_networks(found, net)
        rows.append(
            {
                "setting": f"{name}, n = {n:,}, ε = {pairs.privacy.epsilon:.4g} {pairs.privacy.unit}",
                "method": method,
                "F1": against.f1,
                "SHD": against.shd,
                "extra": len(against.extra),
                "missing": len(against.missing),
                "seconds": seconds,
                **right_separations(found.separations, net.edges),
            }
        )
    return rows


def right_separations(separations: Iterable[Separation], true: Iterable[Edge]) -> dict[str, float]:
    """Return how many separations there are of each kind, and how many leave out no true edge."""
    edges = set(map(frozenset, true))
    figures: dict[str, float] = {}
    for kind in ("evidence", "power"):
        right = [frozenset(one.pair) not in edges for one in separations if one.decided_by == kind]
        figures |= {f"by {kind}": len(right), f"right by {kind}": sum(right)}
    return figures


def shows_an_edge(case: tuple[int, str, int]) -> dict[str, object]:
    """Say whether any edge is found among independent attributes."""
    k, method, seed = case
    rng = np.random.default_rng(seed)
    domain = ldp.Domain({name: list(range(len(shares))) for name, shares in MARGINS.items()})
    people = pd.DataFrame({name: rng.choice(len(shares), 50_000, p=shares) for name, shares in MARGINS.items()})
    tables = ldp.SampledGroups(domain, epsilon=2.0, k=k).simulate(people, rng=rng)
    edges = ldp.learn_network(tables, method, alpha=ALPHA, n_resamples=0).edges
    return {"asked": "pairs" if k == 2 else "triples", "method": method, "any edge": len(edges) > 0}


def main(arguments: list[str]) -> None:
    """Print all parts."""
    repetitions = int(arguments[0]) if arguments else REPETITIONS
    with Pool(2) as pool:
        rows = pool.map(compared, product(SETTINGS, range(repetitions)), chunksize=1)
        frame = pd.DataFrame([row for part in rows for row in part])
        groups = frame.groupby(["setting", "method"], sort=False)
        shown = groups.mean(numeric_only=True).round(3)
        shown.insert(1, "s.e. of F1", groups["F1"].sem().round(3))
        print(shown.to_string())
        cases = [
            (k, method, seed)
            for k, method in ((2, "hill-climb"), (3, "hill-climb"), (3, "pc"))
            for seed in range(5 * repetitions)
        ]
        empty = pd.DataFrame(pool.map(shows_an_edge, cases, chunksize=1))
        print(empty.groupby(["asked", "method"])["any edge"].agg(["sum", "size"]).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
