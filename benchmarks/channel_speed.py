"""Speed of channels in bulk: randomizing by the rows of a matrix, beside generalized randomized response.

    python benchmarks/channel_speed.py [answers]

Both draw from the operating system's randomness, and the shortest of seven runs are compared. The channels have rows at
random, which differ in every entry; the largest are beyond what the caches of most machines hold.
"""

from __future__ import annotations

import sys

import numpy as np
from timing import best_time

import ldpstats as ldp
from ldpstats.numbers.grid import GRID

SIZES = (2, 4, 16, 64, 256, 1024, 2048)


def channel_of(k: int) -> ldp.Channel:
    """Return a channel of random whole numbers, so that none has to be rounded.

    Parameters
    ----------
    k : int
    """
    drawn = np.random.default_rng(k).integers(1 << 40, 1 << 50, size=(k, k)).tolist()
    rows = [[entry * (GRID // sum(row)) for entry in row] for row in drawn]
    return ldp.Channel([[GRID - sum(row[1:]), *row[1:]] for row in rows])


def ratio(k: int, answers: int) -> tuple[float, float]:
    """Return the time of an answer through a channel in nanoseconds, and by how much it exceeds that of GRR.

    Parameters
    ----------
    k, answers : int
    """
    response, channel = ldp.GRR(k, epsilon=2.0), channel_of(k)
    values = np.random.default_rng(1).integers(0, k, answers)
    beside, own = (best_time(lambda used=used: used.privatize(values)) for used in (response, channel))
    return own / answers * 1e9, own / beside


def main() -> None:
    """Measure, and print a line for every size."""
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    for k in SIZES:
        took, times = ratio(k, answers)
        print(f"{k:5} x {k:<5} {took:6.1f} ns an answer, {times:5.2f} times GRR")


if __name__ == "__main__":
    main()
