"""The peers' side of `oracles.py`: multi-freq-ldpy and pure-ldp, timed in an environment of their own.

Prints JSON: for each task and number of values the nanoseconds per report of each package, and what the iterative
Bayesian update of multi-freq-ldpy makes of the reports given on standard input, with the seconds it takes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU, GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer, LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from timing import best_time

EPSILON = 1.0
MULTI, PURE, HEURISTIC = "multi-freq-ldpy", "pure-ldp", "pure-ldp, few hash functions"
Timing = tuple[str, str, Callable[[], object], int]


def timings(k: int) -> Iterator[Timing]:
    """Yield task, package, what to time, and how many reports it handles."""
    rng = np.random.default_rng(1)
    many = rng.integers(0, k, 4000).tolist()
    some, few = many[: max(400, 80_000 // k)], many[:200]

    def each(client: Callable[[int], Any], values: list[int]) -> Callable[[], list[Any]]:
        return lambda: [client(value) for value in values]

    def pure(client: Any, values: list[int]) -> Callable[[], list[Any]]:
        return lambda: [client.privatise(value + 1) for value in values]

    def aggregate(server: Any, reports: list[Any]) -> Callable[[], list[Any]]:
        return lambda: [server.aggregate(report) for report in reports]

    direct = each(lambda value: GRR_Client(value, k, EPSILON), many)
    yield "GRR privatize", MULTI, direct, len(many)
    yield "GRR privatize", PURE, pure(DEClient(EPSILON, k), many), len(many)
    reports = direct()
    yield "GRR count", MULTI, lambda: GRR_Aggregator_MI(reports, k, EPSILON), len(many)
    yield "GRR count", PURE, aggregate(DEServer(EPSILON, k), reports), len(many)
    for task, optimal in (("OUE", True), ("SUE", False)):
        unary = each(lambda value, optimal=optimal: UE_Client(value, k, EPSILON, optimal), some)
        client = UEClient(EPSILON, k, use_oue=optimal)
        yield f"{task} privatize", MULTI, unary, len(some)
        yield f"{task} privatize", PURE, pure(client, some), len(some)
    rows = unary()
    yield "unary count", MULTI, lambda: UE_Aggregator_MI(rows, EPSILON, False), len(some)
    yield "unary count", PURE, aggregate(UEServer(EPSILON, k, use_oue=False), pure(client, some)()), len(some)
    yield "SS privatize", MULTI, each(lambda value: SS_Client(value, k, EPSILON), some), len(some)
    hashed = each(lambda value: LH_Client(value, k, EPSILON, True), few)()
    yield "OLH count", MULTI, lambda: LH_Aggregator_MI(hashed, k, EPSILON, True), len(few)
    own = pure(LHClient(EPSILON, k, use_olh=True), few)()
    yield "OLH count", PURE, aggregate(LHServer(EPSILON, k, use_olh=True), own), len(few)
    server = FastLHServer(EPSILON, k, 1000, use_olh=True)
    quick = pure(FastLHClient(EPSILON, k, 1000, use_olh=True), many)()

    def collect() -> None:
        aggregate(server, quick)()
        server._compute_aggregates()  # noqa: SLF001  # it has no public name

    yield "OLH count", HEURISTIC, collect, len(many)


def main() -> None:
    """Time everything for the numbers of values given on standard input."""
    asked = json.load(sys.stdin)
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for k in asked["sizes"]:
        for task, package, action, n in timings(k):
            measured.setdefault(task, {}).setdefault(str(k), {})[package] = 1e9 * best_time(action, 3) / n
    reports, k = asked["reports"], asked["sizes"][-1]
    estimate = GRR_Aggregator_IBU(reports, k, EPSILON)
    seconds = best_time(lambda: GRR_Aggregator_IBU(reports, k, EPSILON), 1)
    json.dump({"measured": measured, "estimate": estimate.tolist(), "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
