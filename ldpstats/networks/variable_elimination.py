"""Variable elimination: exact probabilities in Bayesian networks, whose joint table is never formed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters
from types import MappingProxyType

import numpy as np

from ldpstats.limits import refuse_too_many_cells
from ldpstats.numbers.arrays import FloatArray


def with_ancestors(parents: Mapping[str, Sequence[str]], names: Iterable[str]) -> set[str]:
    """Return attributes with all that they depend on: what leads to none of them sums to one."""
    found, waiting = set[str](), list(names)
    while waiting:
        found.add(name := waiting.pop())
        waiting += set(parents[name]) - found
    return found


def joint_probabilities(
    parents: Mapping[str, tuple[str, ...]],
    tables: Mapping[str, FloatArray],
    of: tuple[str, ...],
    given: Mapping[str, int] = MappingProxyType({}),
) -> FloatArray:
    """Return the probabilities of attributes together with given categories, an axis for each attribute.

    All others are summed out (Zhang & Poole 1994), next always the one that leaves the smallest table. Where tables
    have a last axis for many networks, so has the result.
    """
    left: list[tuple[Sequence[str], FloatArray]] = []
    sizes: dict[str, int] = {}
    near: dict[str, set[str]] = {}
    for own in sorted(with_ancestors(parents, (*of, *given))):
        family = (own, *parents[own])
        table, axes = tables[own], [name for name in family if name not in given]
        sizes.update(zip(family, table.shape, strict=False))
        left.append((axes, table[tuple(given.get(name, slice(None)) for name in family)] if given else table))
        for name in axes:
            near.setdefault(name, set()).update(axes)
    cells = {name: math.prod(sizes[one] for one in near[name]) for name in near if name not in of}
    while cells:
        name = min(cells, key=lambda one: (cells[one] // sizes[one], one))
        refuse_too_many_cells(cells.pop(name), f"what summing {name!r} out takes: a table")
        around = near.pop(name) - {name}
        touched = [factor for factor in left if name in factor[0]]
        left = [factor for factor in left if name not in factor[0]]
        left.append((sorted(around), _multiplied(touched, sorted(around))))
        for one in around:
            near[one] = (near[one] | around) - {name}
            if one in cells:
                cells[one] = math.prod(sizes[other] for other in near[one])
    return _multiplied(left, of)


def _multiplied(factors: Sequence[tuple[Sequence[str], FloatArray]], kept: Sequence[str]) -> FloatArray:
    """Multiply tables, and sum out what is not kept; further axes are those of many networks."""
    # tables that are not refused have far fewer axes than there are letters
    letters = dict(zip(dict.fromkeys(name for axes, _ in factors for name in axes), ascii_letters, strict=False))
    terms = ["".join(map(letters.__getitem__, axes)) + "..." * (table.ndim > len(axes)) for axes, table in factors]
    formed = "".join(map(letters.__getitem__, kept)) + "..." * any("." in one for one in terms)
    tables = (table for _, table in factors)
    product: FloatArray = np.einsum(f"{','.join(terms)}->{formed}", *tables, optimize="greedy")
    return product
