"""Classes of numbers: their limits, the words for them, and which class a number falls into."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpstats.columns import Category

_DIGITS, _ALL_DIGITS = 3, 17
_FIGURE = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_UNDER, _BETWEEN, _MORE = (
    re.compile(words.format(_FIGURE, _FIGURE)) for words in ("under {}", "{} to under {}", "{} or more")
)


def quantile_limits(numbers: Sequence[float], counts: Sequence[int], classes: int) -> list[float]:
    """Return limits between classes of about equally many respondents, with three digits, or as many as it takes.

    There are fewer classes where many respondents share a number, and none is empty.

    Parameters
    ----------
    numbers : sequence of float
        The different ones.
    counts : sequence of int
        How many respondents have each.
    classes : int

    Examples
    --------
    >>> quantile_limits(range(18, 90), [1] * 72, 4)
    [36, 54, 72]
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
    """Return the words for the classes between limits, which stand for themselves: `classes_of` reads them again.

    Parameters
    ----------
    limits : sequence of float
        In ascending order; a number that is a limit belongs to the class above it.

    Examples
    --------
    >>> class_labels([18, 65.5])
    ['under 18', '18 to under 65.5', '65.5 or more']
    """
    shown = [(str(int(one)) if float(one).is_integer() else repr(float(one))) for one in limits]
    between = [f"{low} to under {high}" for low, high in pairwise(shown)]
    return [f"under {shown[0]}", *between, f"{shown[-1]} or more"]


def classes_of(numbers: Sequence[float | None], categories: Sequence[Category]) -> NDArray[np.int64]:
    """Return the place of the one category in whose words each number falls; -1 where there is none, or more.

    Parameters
    ----------
    numbers : sequence
        None is no number.
    categories : sequence
        Those that are no words of `class_labels` hold no number.

    Examples
    --------
    >>> classes_of([17, 18, 70, None], ["(missing)", "under 18", "18 to under 65", "65 or more"])
    array([ 1,  2,  3, -1])
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
    """Return the limits that the words of a class name; such that nothing is between them, if it names none."""
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
    """Return a number with so many digits, or all that stand before its point."""
    rounded = float(f"{number:.{digits}g}")
    whole = abs(number) >= 10 ** (digits - 1) or float(number).is_integer()
    return round(number) if whole and abs(number) < 1e15 else rounded
