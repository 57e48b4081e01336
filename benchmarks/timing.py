"""Timing: the shortest of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_time(action: Callable[[], object], repetitions: int = 7) -> float:
    """Return the shortest of several runs, in seconds; one more run comes before them."""
    action()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
