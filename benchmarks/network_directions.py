"""Directions of learned networks: how many colliders and directions are shown, and how many of them are wrong.

    python benchmarks/network_directions.py        all settings, some minutes
    python benchmarks/network_directions.py asia   those of one network

Every respondent answers one pair, through "auto" mechanisms, at a strict total level ε; the method is "auto", all else
is at its defaults. A collider is wrong if both of its edges are there and do not meet in one; a direction, if its edge
is there and leads the other way. Both may also concern edges that are not there, which no test of directions can know.
Seeds are 0, 1, 2, ...
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

import networkx as nx
import pandas as pd

import ldpstats as ldp
from ldpstats.datasets import network

SETTINGS = (
    ("asia", 1_000_000, 4.0, 20),
    ("asia", 100_000, 4.0, 20),
    ("survey", 1_000_000, 4.0, 20),
    ("sachs", 200_000, 4.0, 20),
    ("child", 100_000, 4.0, 20),
    ("child", 1_000_000, 2.0, 20),
    ("alarm", 1_000_000, 4.0, 10),
)
COLUMNS = ("edges", "directions", "reversed", "of no edge", "colliders", "wrong", "with no edge")


def directions(name: str, n: int, epsilon: float, seeds: Iterable[int]) -> Counter[str]:
    """Count what is shown in networks learned from new respondents each."""
    truth, found = network(name), Counter[str]()
    dag = nx.DiGraph(truth.edges)
    for seed in seeds:
        tables = ldp.SampledGroups(truth.domain, epsilon=epsilon).simulate(truth.sample(n, rng=seed), rng=seed)
        learned = ldp.learn_network(tables, n_resamples=0)
        found["edges"] += len(learned.edges)
        for start, end in learned.orientation.directed:
            found["directions"] += 1
            found["reversed"] += dag.has_edge(end, start)
            found["of no edge"] += not (dag.has_edge(start, end) or dag.has_edge(end, start))
        for (one, middle, other), verdict in learned.orientation.verdicts.items():
            if verdict == "collider":
                joined = [dag.has_edge(end, middle) or dag.has_edge(middle, end) for end in (one, other)]
                found["colliders"] += 1
                found["wrong"] += all(joined) and not (dag.has_edge(one, middle) and dag.has_edge(other, middle))
                found["with no edge"] += not all(joined)
    return found


def main(names: list[str]) -> None:
    """Print a row for every setting."""
    for name, n, epsilon, runs in SETTINGS:
        if name in names or not names:
            counted = directions(name, n, epsilon, range(runs))
            row = {"network": name, "n": n, "epsilon": epsilon, "runs": runs, **{key: counted[key] for key in COLUMNS}}
            print(pd.DataFrame([row]).to_string(index=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
