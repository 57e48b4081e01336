"""Classes of numbers: their limits, the words for them, and which class a number falls into."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.columns import Category

_DIGITS, _ALL_DIGITS = 3, 17
_FIGURE = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_UNDER, _BETWEEN, _MORE = (
    re.compile(words.format(_FIGURE, _FIGURE)) for words in ("under {}", "{} to under {}", "{} or more")
)


def quantile_limits(numbers: Sequence[float], counts: Sequence[int], classes: int) -> list[float]:
    """Limits between classes of about equally many respondents, rounded to three digits, or to as many as it takes.

    There are fewer classes where many respondents share a number, and none is empty. The numbers are different ones,
    the counts their respondents.
    """
    order = np.argsort(np.array(numbers, dtype=float))
    values, below = np.array(numbers, dtype=float)[order], np.cumsum(np.array(counts)[order])
    wanted = below[-1] * np.arange(1, classes) / classes
    # the limit is the first number of the class above it
    places = np.minimum(np.searchsorted(below, wanted, side="left") + 1, len(values) - 1)
    exact = sorted({*values[places].tolist()} - {values[0]})
    limits: list[float] = []
    for digits in range(_DIGITS, _ALL_DIGITS + 1):
        limits = sorted({_rounded(one, digits) for one in exact})
        parts = np.diff(np.searchsorted(values, limits), prepend=0, append=len(values))
        if len(limits) == len(exact) and (parts > 0).all():
            break
    return limits


def class_labels(limits: Sequence[float]) -> list[str]:
    """Labels of the classes between ascending limits, such as "18 to under 65", which `classes_of` reads again.

    A number that equals a limit belongs to the class above it.
    """
    shown = [(str(int(one)) if float(one).is_integer() else repr(float(one))) for one in limits]
    between = [f"{low} to under {high}" for low, high in pairwise(shown)]
    return [f"under {shown[0]}", *between, f"{shown[-1]} or more"]


def classes_of(numbers: Sequence[float | None], categories: Sequence[Category]) -> NDArray[np.int64]:
    """Index of the category whose class contains each number; -1 where none does, or more than one.

    Only categories in the words of `class_labels` are classes.
    """
    found = np.full(len(numbers), -1, dtype=np.int64)
    values = np.array([math.nan if number is None else number for number in numbers], dtype=float)
    times = np.zeros(len(numbers), dtype=np.int64)
    for place, category in enumerate(categories):
        low, high = _limits(category)
        inside = (values >= low) & (values < high)
        found[inside], times = place, times + inside
    found[times > 1] = -1
    return found


def _limits(category: Category) -> tuple[float, float]:
    """Parse a class label to its limits [low, high); an empty interval for other words."""
    if isinstance(category, str):
        for words, place in ((_UNDER, (-math.inf, 0)), (_BETWEEN, (0, 1)), (_MORE, (0, math.inf))):
            if found := words.fullmatch(category):
                low, high = (_float(found[1 + one]) if isinstance(one, int) else one for one in place)
                return low, high
    return math.inf, -math.inf


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # more than one point
        return math.nan


def _rounded(number: float, digits: int) -> float:
    """Round to significant digits, but keep all digits before the decimal point."""
    rounded = float(f"{number:.{digits}g}")
    whole = abs(number) >= 10 ** (digits - 1) or float(number).is_integer()
    return round(number) if whole and abs(number) < 1e15 else rounded
