"""Random channels of every kind: rectangular, with zeros, one-sided, with tiny entries, certain, with rows alike."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

from ldpstats.mechanisms import Channel
from ldpstats.numbers.grid import GRID

KINDS = ("whole", "borders", "tiny", "zeros", "certain", "alike", "floats")
NUMBER = 500


@cache
def random_channels() -> tuple[Channel, ...]:
    """Return 500 channels of 2 to 6 values and as many outputs, the kinds in turn."""
    return tuple(random_channel(seed) for seed in range(NUMBER))


def random_channel(seed: int) -> Channel:
    """Return a channel of the kind that its seed says."""
    rng = random.Random(seed)  # noqa: S311  # nothing secret
    kind, k, outputs = KINDS[seed % len(KINDS)], rng.randint(2, 6), rng.randint(2, 6)
    if kind == "floats":
        weights = [[rng.expovariate(1) * 2.0 ** -rng.choice([0, 0, 20, 60]) for _ in range(outputs)] for _ in range(k)]
        return Channel([[weight / sum(row) for weight in row] for row in weights])
    rows = [_row(kind, outputs, rng) for _ in range(k)]
    if kind == "alike":
        rows[rng.randrange(1, k)] = list(rows[0])
    for output in range(outputs):
        if not any(row[output] for row in rows):  # somebody must send it
            row = rng.choice(rows)
            row[output] = 1 + max(row) // 3
            row[row.index(max(row))] -= row[output]
    return Channel(rows)


def _row(kind: str, outputs: int, rng: random.Random) -> list[int]:
    if kind in ("zeros", "certain"):
        row = [0] * outputs
        for _ in range(rng.randint(1, outputs) if kind == "zeros" else 1):
            row[rng.randrange(outputs)] += rng.randrange(1, GRID // outputs)
        row[row.index(max(row))] += GRID - sum(row)
        return row
    if kind == "tiny":
        row = [rng.choice([0, 1, 1, 2, 3, 1 << 16, (1 << 48) - 1, 1 << 48]) for _ in range(outputs)]
        row[rng.randrange(outputs)] += GRID - sum(row)
        return row
    step = 1 << 48 if kind == "borders" else 1
    cuts = sorted(
        rng.randrange(GRID // step) * step + rng.choice([0, 0, 1, -1]) * (step > 1) for _ in range(outputs - 1)
    )
    cuts = [0, *(min(max(cut, 0), GRID) for cut in cuts), GRID]
    return [upper - lower for lower, upper in pairwise(cuts)]
