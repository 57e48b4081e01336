"""What 100 attributes cost: bytes on disk, and seconds of one processor, of every step where all pairs are asked.

    python benchmarks/wide_collection.py [respondents]

Every respondent answers one of 4,950 questions about two of 100 attributes with four categories each, at ε = 2. A step
costs so much for the questions, whoever answers, and so much for each respondent: both follow from two sizes, of which
the larger one is given (3 million). Times are those of the processor, the least of three, so that others on the machine
count for little. docs/scale.md works out from these figures what a thousand million respondents cost.
"""

from __future__ import annotations

import pickle
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp

ATTRIBUTES, CATEGORIES, EPSILON = 100, 4, 2.0
RESPONDENTS, REPEATS, COPIES = 3_000_000, 3, 8
"""Counting is so fast that it takes more rows to time it: those of so many rounds of the same respondents."""
DOMAIN = ldp.Domain({f"question {place}": list("wxyz"[:CATEGORIES]) for place in range(ATTRIBUTES)})


def people(n: int) -> pd.DataFrame:
    """Return respondents as pandas categoricals."""
    rng = np.random.default_rng(1)
    columns = {
        name: pd.Categorical.from_codes(rng.integers(len(values), size=n, dtype=np.int8), list(values))
        for name, values in DOMAIN.categories.items()
    }
    return pd.DataFrame(columns, copy=False)


def seconds(work: Callable[[], Any]) -> float:
    """Return the least time of the processor that some work took: a cost per respondent may drown in what is left."""
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def steps(protocol: ldp.SampledGroups, n: int, folder: Path) -> dict[str, float]:
    """Return what every step takes for so many respondents, and the size of their reports."""
    frame, tables = people(n), folder / "tables.json"
    file, many = (folder / f"{name}-{n}.parquet" for name in ("once", "many"))
    ldp.write_reports(file, protocol, frame)
    ldp.write_reports(many, protocol, (frame for _ in range(COPIES)))
    counted = ldp.tables_of(file, protocol)
    counted.save(tables)
    own, other = protocol.counting(), pickle.loads(pickle.dumps(protocol.counting()))  # noqa: S301  # made here

    def written() -> None:
        file.unlink()
        ldp.write_reports(file, protocol, frame)

    return {
        "ask and count": seconds(lambda: protocol.collect(frame)),
        "ask and write": seconds(written),
        "count a file": seconds(lambda: ldp.tables_of(many, protocol)) / COPIES,
        "add counts of two": seconds(lambda: own.add(other)),
        "make tables": seconds(own.tables),
        "bytes of a file": float(file.stat().st_size),
        "bytes of tables": float(tables.stat().st_size),
        "bytes of counts": float(len(pickle.dumps(own))),
    }


def main(largest: int = RESPONDENTS) -> None:
    """Print the fixed and the variable cost of every step.

    Parameters
    ----------
    largest : int
        The larger number of respondents.
    """
    few = largest // 10
    for mechanism in ("grr", "oue"):
        protocol = ldp.SampledGroups(DOMAIN, k=2, epsilon=EPSILON, mechanism=mechanism)
        with tempfile.TemporaryDirectory() as folder:
            small, large = (steps(protocol, n, Path(folder)) for n in (few, largest))
        told = f"{mechanism}, {len(protocol.sent_rows):,} questions, from {few:,} and {largest:,} respondents"
        print(told, flush=True)
        for name, cost in large.items():
            each = (cost - small[name]) / (largest - few)
            fixed = (small[name] - each * few) * (COPIES if name == "count a file" else 1)
            print(f"  {name:20} {fixed:14,.2f} fixed, {each:8.3g} for each")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
