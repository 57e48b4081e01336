"""Ordered categories: those of an attribute from the lowest to the highest, perhaps each with a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from ldpstats.answers.columns import Category, listed
from ldpstats.errors import DomainError, shortened

_KEYS, _LARGEST = {"ordered", "scores"}, 1e100


class Ordered(tuple[Category, ...]):  # noqa: SLOT001  # a tuple has no room for slots
    """Categories in ascending order; `scores` are the numbers that they stand for, None where nobody said any."""

    scores: tuple[float, ...] | None

    def __new__(cls, categories: Sequence[Category], scores: Sequence[float] | None = None) -> Self:
        """Return the categories; `Domain` checks them."""
        if not is_list_like(categories):
            raise DomainError(
                f"the ordered categories {categories!r}", "a list of them, from the lowest to the highest"
            )
        made = super().__new__(cls, listed(categories))
        made.scores = None if scores is None else _checked_scores(listed(scores), made)
        return made

    def __init__(self, categories: Sequence[Category], scores: Sequence[float] | None = None) -> None:
        """Say what files keep."""

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categories alone."""
        return tuple(self)

    def __repr__(self) -> str:
        scores = "" if self.scores is None else f", scores={list(self.scores)!r}"
        return f"ordered({list(self)!r}{scores})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Ordered, (self.categories, self.scores)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the categories as plain values, which `Domain` reads."""
        return {"ordered": list(self)} | ({} if self.scores is None else {"scores": list(self.scores)})


def ordered(categories: Sequence[Category], scores: Sequence[float] | None = None) -> Ordered:
    """Return the categories of an ordered attribute, for a `Domain`.

    Quantiles and trends need the order, means the scores: the numbers that categories stand for, such as the middles
    of classes. Nobody invents them: categories without scores have no mean.

    Parameters
    ----------
    categories : sequence
        From the lowest to the highest.
    scores : sequence of float, optional
        An ascending number for each of them.

    Returns
    -------
    Ordered
        The categories, which `Domain` takes in the place of a list.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.Domain({"age": ldp.ordered(["18-29", "30-44", "45-64"], scores=[23.5, 37, 54.5])})
    Domain({'age': ordered(['18-29', '30-44', '45-64'], scores=[23.5, 37.0, 54.5])})
    """
    return Ordered(categories, scores)


def with_order(categories: Any) -> Any:
    """Return categories, those that were written by `Ordered.to_dict` with their order."""
    if isinstance(categories, Mapping) and "ordered" in categories and {*categories} <= _KEYS:
        return Ordered(categories["ordered"], categories.get("scores"))
    return categories


def order_of(column: pd.Series[Any], categories: Sequence[Category]) -> Sequence[Category]:
    """Return a column's categories with their order, if it is an ordered categorical of pandas.

    Classes that `pandas.cut` made have their middles for scores, unless one has no end.
    """
    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
        return categories
    kinds = [kind for kind in dtype.categories if isinstance(kind, pd.Interval)]
    middles = [(float(kind.left) + float(kind.right)) / 2 for kind in kinds if _is_number(kind.left)]
    known = len(middles) == len(categories) and all(map(math.isfinite, middles))
    return Ordered(categories, middles if known else None)


def scores_of(categories: Sequence[Category]) -> tuple[float, ...] | None:
    """Return the numbers that categories stand for, their scores or themselves; None where they have none."""
    if isinstance(categories, Ordered) and categories.scores is not None:
        return categories.scores
    return tuple(map(float, categories)) if all(map(_is_number, categories)) else None


def _is_number(value: object) -> bool:
    """Say whether it is a number that a double can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return bool(-_LARGEST < value < _LARGEST)


def _checked_scores(scores: tuple[Any, ...], categories: tuple[Category, ...]) -> tuple[float, ...]:
    numbers = [float(score) if _is_number(score) else math.nan for score in scores]
    ascending = all(low < high for low, high in pairwise(numbers))
    if len(numbers) != len(categories) or not all(map(math.isfinite, numbers)) or not ascending:
        raise DomainError(
            f"the scores {shortened(scores)} of {len(categories)} ordered categories",
            "a finite number for each of them, every one above the one before",
        )
    return tuple(numbers)
