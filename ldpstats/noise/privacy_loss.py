"""Privacy loss: the log ratio of two probabilities, which are doubles."""

from __future__ import annotations

import math


def privacy_loss(likely: float, unlikely: float) -> float:
    """Return ln(likely / unlikely), infinite where the latter is impossible."""
    return math.log(likely / unlikely) if unlikely > 0 else math.inf
