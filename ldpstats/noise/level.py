"""The privacy level of a channel whose probabilities are doubles."""

from __future__ import annotations

import math


def log_ratio(likely: float, unlikely: float) -> float:
    """Return ln(likely / unlikely), infinite where the latter is impossible."""
    return math.log(likely / unlikely) if unlikely > 0 else math.inf
