"""How fast the frequency oracles are: ours, two peers and the bare limit of this machine, in one run and one table.

Usage: oracles.py PYTHON_OF_THE_PEERS (make bench gives them an environment of their own, see peers.txt).

The limits are bare loops: the same random words, drawn by the same numpy generator, and one compiled loop without
any check, tie or second draw for randomized response; np.bincount on the reports for its counts. Ratios to a peer
are to the faster of the two. pure-ldp's local hashing with few fixed hash functions is shown, but it is another
mechanism: collisions of fixed functions bias its estimates.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from timing import best_time

import ldpstats as ldp
from ldpstats.estimation.likelihood import expectation_maximization
from ldpstats.noise import MultinomialNoise

EPSILON = 1.0
SIZES = (16, 128, 1024)
HEURISTIC = "pure-ldp, few hash functions"
TARGETS = {
    "GRR privatize": ("every k", 100.0, 0.4),
    "OUE privatize": ("k = 1024", 50.0, None),
    "SUE privatize": ("k = 1024", 50.0, None),
    "SS privatize": ("k = 1024", 20.0, None),
    "OLH count": ("k = 1024", 1000.0, None),
    "unary count": ("k = 1024", 10.0, None),
    "GRR count": ("every k", None, 0.7),
    "GRR privatize, secure": ("every k", 4.0, None),
}
"""For each task: where it has to be reached, how many times the faster peer, and what share of the limit."""


@njit
def bare_randomized_response(
    values: NDArray[np.int64], coins: NDArray[np.uint16], lies: NDArray[np.uint32], k: int, out: NDArray[np.uint16]
) -> None:
    """Answer without any care."""
    for i in range(values.size):
        lie = np.int64((np.uint64(lies[i]) * np.uint64(k - 1)) >> np.uint64(32))
        out[i] = values[i] if coins[i] < 20_000 else lie + (lie >= values[i])


def bare_privatize(values: NDArray[np.int64], k: int, rng: np.random.Generator) -> None:
    """Draw a coin and a lie for every value, chunk by chunk, and answer."""
    out = np.empty(values.size, dtype=np.uint16)
    for start in range(0, values.size, 1 << 17):
        part = values[start : start + (1 << 17)]
        coins = rng.integers(0, 2**64 - 1, -(-part.size // 4), dtype=np.uint64, endpoint=True).view(np.uint16)
        lies = rng.integers(0, 2**64 - 1, -(-part.size // 2), dtype=np.uint64, endpoint=True).view(np.uint32)
        bare_randomized_response(part, coins, lies, k, out[start : start + part.size])


def ours(k: int) -> Iterator[tuple[str, int, Callable[[], object], Callable[[], object] | None]]:
    """Yield for each task: how many reports, what to time, and the limit."""
    rng = np.random.default_rng(2)
    grr, oue, sue, ss, olh = (ldp.mechanism(name, k=k, epsilon=EPSILON) for name in ("grr", "oue", "sue", "ss", "olh"))
    n = 1_000_000
    many = rng.integers(0, k, n)
    reports = grr.privatize(many, rng)
    yield "GRR privatize", n, lambda: grr.privatize(many, rng), lambda: bare_privatize(many, k, rng)
    yield "GRR privatize, secure", n, lambda: grr.privatize(many), None
    yield "GRR count", n, lambda: grr.count(reports), lambda: np.bincount(reports.data, minlength=k)
    some = many[: 40_000_000 // k]
    yield "OUE privatize", some.size, lambda: oue.privatize(some, rng), None
    yield "SUE privatize", some.size, lambda: sue.privatize(some, rng), None
    rows = sue.privatize(some, rng)
    yield "unary count", some.size, lambda: sue.count(rows), None
    yield "SS privatize", some.size, lambda: ss.privatize(some, rng), None
    hashed = olh.privatize(some, rng)
    yield "OLH count", some.size, lambda: olh.count(hashed), None


def table(peers: dict[str, dict[str, dict[str, float]]]) -> pd.DataFrame:
    """Time our side and set it beside the peers'."""
    rows = []
    for k in SIZES:
        for task, n, action, limit in ours(k):
            times = dict(peers[task.removesuffix(", secure")][str(k)])
            heuristic = times.pop(HEURISTIC, None)
            fastest = min(times, key=lambda package: times[package])
            own = 1e9 * best_time(action) / n
            bare = None if limit is None else 1e9 * best_time(limit) / n
            rows.append(
                {
                    "task": task,
                    "k": k,
                    "ours, ns": own,
                    "faster peer": fastest,
                    "its ns": times[fastest],
                    "times the peer": times[fastest] / own,
                    "limit, ns": bare,
                    "share of the limit": None if bare is None else bare / own,
                    "few hash functions, ns": heuristic,
                    "to reach": _target(task, k, times[fastest] / own, None if bare is None else bare / own),
                }
            )
    return pd.DataFrame(rows).sort_values(["task", "k"], kind="stable")


def _target(task: str, k: int, ratio: float, share: float | None) -> str:
    where, least_ratio, least_share = TARGETS[task]
    if where != "every k" and k != SIZES[-1]:
        return ""
    wanted = [f"{least:g} {of}" for least, of in ((least_ratio, "x peer"), (least_share, "of limit")) if least]
    reached = ratio >= (least_ratio or 0) and (share or 1) >= (least_share or 0)
    return f"{', '.join(wanted)}: {'reached' if reached else 'MISSED'}"


def main(peers_python: str) -> None:
    """Print the table, and the comparisons of EM, memory and secure randomness."""
    k = SIZES[-1]
    rng = np.random.default_rng(3)
    grr = ldp.mechanism("grr", k=k, epsilon=EPSILON)
    reports = grr.privatize(np.minimum(rng.geometric(5 / k, 20_000) - 1, k - 1), rng)
    asked = json.dumps({"sizes": SIZES, "reports": reports.data.tolist()})
    script = Path(__file__).with_name("peers.py")
    print("Timing the peers ...", file=sys.stderr)
    command = [peers_python, "-W", "ignore", str(script)]  # their warnings are not ours
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)  # noqa: S603  # our own script
    peer = json.loads(answer.stdout)
    print(f"epsilon = {EPSILON:g}; nanoseconds per report, least of several runs\n")
    print(table(peer["measured"]).to_string(index=False, float_format="{:.3g}".format, na_rep=""))
    _em(grr.noise, grr.count(reports).counts, peer)
    oue = ldp.mechanism("oue", k=k, epsilon=EPSILON)
    data = oue.privatize(rng.integers(0, k, 1_000_000), rng).data
    share = 8 * data.nbytes / (len(data) * k)
    print(f"\nMemory of OUE, 10^6 reports, k = {k}: {share:.3f} bits per bit (to reach: at most 1.1)")


def _em(noise: object, counts: NDArray[np.int64], peer: dict[str, object]) -> None:
    assert isinstance(noise, MultinomialNoise)
    seconds = best_time(lambda: expectation_maximization(noise, counts))
    fitted = expectation_maximization(noise, counts)
    theirs = float(counts @ np.log(noise.mean(np.array(peer["estimate"]))))
    ratio = float(str(peer["seconds"])) / seconds
    print(
        f"\nEM for GRR, k = {counts.size}, {counts.sum():,} reports: {1e3 * seconds:.2f} ms to log-likelihood "
        f"{fitted.log_likelihood:.3f}; multi-freq-ldpy {peer['seconds']:.2f} s to {theirs:.3f}: {ratio:,.0f} times "
        "(to reach: 100 times to no lower likelihood)"
    )


if __name__ == "__main__":
    main(sys.argv[1])
