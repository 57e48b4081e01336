"""Variable elimination: exact sums of products of tables, whose joint table is never formed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.consistency.junction_tree import Factor
from ldpstats.limits import refuse_too_many_cells


def summed_product(factors: Sequence[Factor], kept: tuple[str, ...], sizes: Mapping[str, int]) -> FloatArray:
    """Multiply tables, and sum all attributes out but those that are kept (Zhang & Poole 1994).

    The next one is always that which leaves the smallest table.

    Parameters
    ----------
    factors : sequence of Factor
    kept : tuple of str
        The axes of the result, in this order.
    sizes : mapping of str to int
        The number of categories of every attribute.

    Examples
    --------
    >>> step = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> chain = [Factor(("a",), np.array([0.5, 0.5])), Factor(("b", "a"), step), Factor(("c", "b"), step)]
    >>> summed_product(chain, ("c",), dict.fromkeys("abc", 2))
    array([0.585, 0.415])
    """
    left = list(factors)
    near: dict[str, set[str]] = {}
    for axes, _ in left:
        for name in axes:
            near.setdefault(name, set()).update(axes)
    cells = {name: math.prod(sizes[one] for one in near[name]) for name in near if name not in kept}
    while cells:
        name = min(cells, key=lambda one: (cells[one] // sizes[one], one))
        refuse_too_many_cells(cells.pop(name), f"what summing {name!r} out takes: a table")
        around = near.pop(name) - {name}
        touched = [factor for factor in left if name in factor.attributes]
        axes = tuple(sorted(around))
        left = [factor for factor in left if name not in factor.attributes]
        left.append(Factor(axes, _multiplied(touched, axes)))
        for one in around:
            near[one] = (near[one] | around) - {name}
            if one in cells:
                cells[one] = math.prod(sizes[other] for other in near[one])
    return _multiplied(left, kept)


def _multiplied(factors: Sequence[Factor], kept: tuple[str, ...]) -> FloatArray:
    """Multiply tables, and sum out what is not kept."""
    number = {name: place for place, name in enumerate(dict.fromkeys(one for axes, _ in factors for one in axes))}
    operands: list[Any] = [part for axes, table in factors for part in (table, [number[one] for one in axes])]
    product: FloatArray = np.einsum(*operands, [number[one] for one in kept], optimize="greedy")
    return product
