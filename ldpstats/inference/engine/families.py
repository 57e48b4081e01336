"""Families of null models: products of conditional tables, log-linear models and linear subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import chain, combinations, combinations_with_replacement
from math import prod
from typing import ClassVar, TypeAlias

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.estimation.simplex import proportionally_fitted
from ldpstats.inference.engine.null_model import SMALLEST, on_simplex
from ldpstats.noise import Information
from ldpstats.numbers.arrays import FloatArray, integers_below, places_onto

Axes: TypeAlias = tuple[int, ...]
_ROUNDS = 50
# singular values below this share of the largest are rounding
_SAME = 1e-9
# multiplications, by a matrix, that take as long as finding the margins that take its place
_FEW_PRODUCTS = 5000
# the exponent of Jeffreys' prior for the frequencies of categories
_JEFFREYS = 0.5


@dataclass(frozen=True)
class ProductOfConditionals:
    """Every cell is a product of conditional frequencies, as in a directed graph without cycles.

    Mutual independence has a factor per attribute, joint independence one per set of attributes, and conditional
    independence conditions some on others. The parameters are the factors' entries without the last of every
    distribution; frequencies are linear in each, so that a fit may leave [0, 1] without meeting a boundary.

    Parameters
    ----------
    shape : tuple of int
    factors : tuple of (children, parents)
        Each factor is the joint distribution of its children's axes, given its parents'.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import ProductOfConditionals
    >>> independent = ProductOfConditionals((2, 2), (((0,), ()), ((1,), ())))
    >>> independent.frequencies(np.array([0.5, 0.25]))
    array([0.125, 0.375, 0.125, 0.375])
    """

    bounded: ClassVar[bool] = False

    shape: tuple[int, ...]
    factors: tuple[tuple[Axes, Axes], ...]

    @classmethod
    def independent(cls, shape: tuple[int, ...], parts: Sequence[Axes] | None = None) -> ProductOfConditionals:
        """Let sets of attributes be independent of each other; by default every attribute of all others."""
        sets = [(axis,) for axis in range(len(shape))] if parts is None else parts
        return cls(shape, tuple((part, ()) for part in sets))

    @classmethod
    def independent_given(cls, shape: tuple[int, ...], first: Axes, second: Axes, known: Axes) -> ProductOfConditionals:
        """Let two sets of attributes be independent wherever the known ones are the same."""
        return cls(shape, ((known, ()), (first, known), (second, known)))

    @cached_property
    def _tables(self) -> list[_Factor]:
        return [_factor(self.shape, children, parents) for children, parents in self.factors]

    def distributions(self, parameters: FloatArray) -> list[FloatArray]:
        """Return the factors: a row for every value of the parents, an entry for every value of the children."""
        ends = np.cumsum([factor.rows * (factor.entries - 1) for factor in self._tables])
        parts = np.split(parameters, ends[:-1], axis=-1)
        pairs = zip(parts, self._tables, strict=True)
        free = (part.reshape(*part.shape[:-1], factor.rows, factor.entries - 1) for part, factor in pairs)
        return [np.concatenate([entries, 1 - entries.sum(axis=-1, keepdims=True)], axis=-1) for entries in free]

    def frequencies(self, parameters: FloatArray) -> FloatArray:
        """Return the cell frequencies."""
        return self._flat(reduce(np.multiply, self._over_all_axes(parameters)))

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return how the cells move when one entry of a distribution grows at the cost of its last."""
        parts = []
        for others, factor in zip(self._others(parameters), self._tables, strict=True):
            cells = self._flat(others)
            # the same as others[..., None] * moves, whose short inner loops are slow
            moved = np.repeat(cells, factor.moves.shape[1], axis=-1) * factor.moves.ravel()
            parts.append(moved.reshape(*cells.shape, -1))
        return np.concatenate(parts, axis=-1)

    def along_tangents(
        self, parameters: FloatArray, score: FloatArray, information: Information
    ) -> tuple[FloatArray, FloatArray]:
        """Return the score and the information along the tangents, Jᵀu and JᵀIJ, without J: as sums over margins.

        A tangent moves a value of one factor at the cost of its last, by what the other factors are there. So the
        diagonal part of the information takes a sum over the cells for every pair of factors.

        Parameters
        ----------
        parameters : array, shape (..., parameters)
        score : array, shape (..., cells)
        information : Information
            About the cells.
        """
        others = self._others(parameters)
        pairs = list(zip(others, self._tables, strict=True))

        def along(cells: FloatArray) -> FloatArray:
            whole = cells.reshape(*cells.shape[:-1], *self.shape)
            return np.concatenate([factor.along(whole * beside) for beside, factor in pairs], axis=-1)

        diagonal = information.diagonal.reshape(*information.diagonal.shape[:-1], *self.shape)
        weighted = [diagonal * beside for beside in others]
        ends = np.cumsum([0, *(factor.rows * (factor.entries - 1) for factor in self._tables)])
        matrix = np.empty((*weighted[0].shape[: -len(self.shape)], ends[-1], ends[-1]))
        for first, second in combinations_with_replacement(range(len(self._tables)), 2):
            block = self._tables[first].between(self._tables[second], weighted[first] * others[second])
            matrix[..., ends[first] : ends[first + 1], ends[second] : ends[second + 1]] = block
            matrix[..., ends[second] : ends[second + 1], ends[first] : ends[first + 1]] = np.swapaxes(block, -1, -2)
        if information.left is not None and information.core is not None:
            columns = [along(information.left[..., column]) for column in range(information.left.shape[-1])]
            inner = np.stack(columns, axis=-1)
            matrix = matrix + inner @ information.core @ np.swapaxes(inner, -1, -2)
        return along(score), matrix

    def limited(self, step: FloatArray) -> FloatArray:
        """Return the step: frequencies are linear in every factor."""
        return step

    def nearest(self, cells: FloatArray) -> FloatArray:
        """Return the conditional frequencies of the cells, cut just above zero and rescaled."""
        parts = []
        for factor in self._tables:
            rows = on_simplex(factor.sums(cells.reshape(*cells.shape[:-1], *self.shape)))
            parts.append(rows[..., :-1].reshape(*rows.shape[:-2], -1))
        return np.concatenate(parts, axis=-1)

    def scattered(
        self, cells: FloatArray, covariance: FloatArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw parameters of proper distributions, about as far from those of cells as a covariance of them says.

        With the draws come the logarithms of their weights under the prior Dirichlet(½) for every row of every factor.
        """
        rows = [row for factor in self.distributions(self.nearest(cells)) for row in factor]
        sums = [row for table in self._tables for row in table.sums(cells.reshape(self.shape))]
        ends = np.cumsum([row.size - 1 for row in rows])
        parts: list[FloatArray] = [np.empty(0)] * len(rows)
        weights = np.zeros(size)
        # rows and entries in the order of what is in them: the order of attributes and categories changes no draw
        for index in sorted(range(len(rows)), key=lambda index: [rows[index].size, *np.sort(sums[index])]):
            free = slice(ends[index] - rows[index].size + 1, ends[index])
            own, upwards = covariance[free, free], np.argsort(sums[index])
            # entries sum to one: the variance of the last is that of the others' sum
            drawn, added = _dirichlet_near(rows[index][upwards], float(np.trace(own) + own.sum()), size, rng)
            parts[index] = drawn[:, np.argsort(upwards)[:-1]]
            weights += added
        return np.concatenate(parts, axis=1), weights

    def _over_all_axes(self, parameters: FloatArray) -> list[FloatArray]:
        """Return the factors as tables over all axes, of length one along those that a factor does not have."""
        return [
            table.over_all(values) for values, table in zip(self.distributions(parameters), self._tables, strict=True)
        ]

    def _others(self, parameters: FloatArray) -> list[FloatArray]:
        """Return for each factor the product of all others."""
        tables = self._over_all_axes(parameters)
        nothing = np.ones((1,) * len(self.shape))
        return [reduce(np.multiply, tables[:index] + tables[index + 1 :], nothing) for index in range(len(tables))]

    def _flat(self, table: FloatArray) -> FloatArray:
        leading = table.shape[: table.ndim - len(self.shape)]
        return np.broadcast_to(table, (*leading, *self.shape)).reshape(*leading, -1)


def _dirichlet_near(
    centre: FloatArray, variance: float, size: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw distributions whose entries vary by `variance` in all, and return the logarithms of their weights.

    They are Dirichlet(½ + c): prior over density is the product of entries to the powers -c. The centre is moved
    inwards by a standard error first: of an entry of nothing it is not known that it is nothing.
    """
    inside = centre + np.sqrt(variance / centre.size)
    inside = inside / inside.sum()
    concentration = max(float((inside * (1 - inside)).sum()) / variance - 1, 0.0) * inside
    drawn = on_simplex(rng.dirichlet(_JEFFREYS + concentration, size))
    return drawn, -np.log(drawn) @ concentration


class _Factor:
    """A conditional distribution within a table: a row for every value of its parents, an entry for its children's."""

    def __init__(self, shape: tuple[int, ...], children: Axes, parents: Axes) -> None:
        self.shape, self.children, self.parents = shape, children, parents
        self.axes = (*parents, *children)
        self.rows, self.entries = (prod(shape[axis] for axis in axes) for axes in (parents, children))
        self._order = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        self._lengths = [size if axis in self.axes else 1 for axis, size in enumerate(shape)]

    @cached_property
    def moves(self) -> FloatArray:
        """Jacobian of the cells in the free entries, where the other factors are one."""
        row, entry = (places_onto(self.shape, axes) for axes in (self.parents, self.children))
        by_row = np.eye(self.rows * self.entries)[row * self.entries + entry].reshape(-1, self.rows, self.entries)
        moved: FloatArray = (by_row[..., :-1] - by_row[..., -1:]).reshape(len(row), -1)
        return moved

    def over_all(self, values: FloatArray) -> FloatArray:
        """Return the distribution as a table over all axes, of length one along those that it does not have."""
        leading = values.shape[:-2]
        if self._order != sorted(self._order):
            table = values.reshape(*leading, *(self.shape[axis] for axis in self.axes))
            values = table.transpose(*range(len(leading)), *(len(leading) + axis for axis in self._order))
        return values.reshape(*leading, *self._lengths)

    def sums(self, table: FloatArray) -> FloatArray:
        """Add a table's cells up to rows of entries."""
        summed = _margin(table, self.axes, len(self.shape))
        return summed.reshape(*table.shape[: -len(self.shape)], self.rows, self.entries)

    def along(self, table: FloatArray) -> FloatArray:
        """Return movesᵀ table."""
        if self._is_small(1):
            product: FloatArray = table.reshape(*table.shape[: -len(self.shape)], -1) @ self.moves
            return product
        return self.contrasts(self.sums(table))

    def _is_small(self, columns: int) -> bool:
        """Say whether a product with so many columns of moves is cheaper than its sums over margins."""
        return prod(self.shape) * self.rows * (self.entries - 1) * columns <= _FEW_PRODUCTS

    def contrasts(self, values: FloatArray) -> FloatArray:
        """Return the free entries of rows less the last one."""
        free: FloatArray = (values[..., :-1] - values[..., -1:]).reshape(*values.shape[:-2], -1)
        return free

    def between(self, other: _Factor, table: FloatArray) -> FloatArray:
        """Return movesᵀ diag(table) moves between the free entries of two factors."""
        columns = other.rows * (other.entries - 1)
        if self._is_small(columns):
            cells = table.reshape(*table.shape[: -len(self.shape)], -1)
            product: FloatArray = (cells @ _products(self, other)).reshape(*cells.shape[:-1], -1, columns)
            return product
        union = (*self.axes, *(axis for axis in other.axes if axis not in self.axes))
        leading, sizes = table.shape[: -len(self.shape)], tuple(self.shape[axis] for axis in union)
        sums = _margin(table, union, len(self.shape)).reshape(*leading, -1)
        own, theirs = (places_onto(sizes, tuple(union.index(axis) for axis in factor.axes)) for factor in (self, other))
        matrix = np.zeros((*leading, self.rows * self.entries, other.rows * other.entries))
        matrix[..., own, theirs] = sums
        right = other.contrasts(matrix.reshape(*matrix.shape[:-1], other.rows, other.entries))
        turned = np.swapaxes(right, -1, -2)
        return np.swapaxes(self.contrasts(turned.reshape(*turned.shape[:-1], self.rows, self.entries)), -1, -2)


# one for all models that have it: products of its moves with others' are kept
_factor = lru_cache(maxsize=256)(_Factor)


@lru_cache(maxsize=256)
def _products(factor: _Factor, other: _Factor) -> FloatArray:
    """Return the products of every move of one factor with every move of another, shape (cells, pairs)."""
    product: FloatArray = (factor.moves[:, :, None] * other.moves[:, None, :]).reshape(len(factor.moves), -1)
    return product


def _margin(table: FloatArray, axes: Axes, dimensions: int) -> FloatArray:
    """Add the cells of tables, which may have leading axes, up over all other axes, and order these as given."""
    leading = table.ndim - dimensions
    summed: FloatArray = table.sum(axis=tuple(leading + axis for axis in range(dimensions) if axis not in axes))
    return summed.transpose(*range(leading), *(leading + np.argsort(np.argsort(axes))))


@dataclass(frozen=True)
class LogLinear:
    """The hierarchical log-linear model with these generators: log frequencies add up from terms of them.

    Parameters
    ----------
    shape : tuple of int
    generators : tuple of axes
        Its largest terms; every subset of one is a term, too.
    possible : tuple of int, optional
        The cells that can have respondents: frequencies are of these alone, and terms they do not tell apart are one.
    covariate : tuple of float, optional
        One more column beside the terms, a number for every cell, such as products of scores.

    Examples
    --------
    >>> from ldpstats.extend import LogLinear
    >>> no_three_way = LogLinear((2, 2, 2), ((0, 1), (0, 2), (1, 2)))
    >>> no_three_way.design.shape
    (8, 6)
    """

    bounded: ClassVar[bool] = True

    shape: tuple[int, ...]
    generators: tuple[Axes, ...]
    possible: tuple[int, ...] | None = None
    covariate: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        cells = prod(self.shape)
        for axes in self.generators:
            integers_below(axes, len(self.shape), "the axes of a generator")
        known = self.possible or ()
        integers_below(known, cells, "possible cells")
        if len(set(known)) < len(known) or (self.covariate is not None and len(self.covariate) != cells):
            raise LdpstatsError(f"{len(known)} possible cells, with a covariate", f"different ones of {cells}")

    @cached_property
    def design(self) -> FloatArray:
        """The columns of the terms, without the constant; all of them are contrasts."""
        subsets = chain.from_iterable(
            combinations(sorted(generator), size)
            for generator in self.generators
            for size in range(1, len(generator) + 1)
        )
        columns = [self._term(axes) for axes in dict.fromkeys(subsets)]
        if self.covariate is not None:
            columns.append(np.array(self.covariate)[:, None] - np.mean(self.covariate))
        everything = np.concatenate(columns, axis=1) if columns else np.zeros((prod(self.shape), 0))
        if self.possible is None or not columns:
            return everything[list(self.possible or range(len(everything)))]
        own = everything[list(self.possible)]
        left, sizes, _ = np.linalg.svd(own - own.mean(axis=0), full_matrices=False)
        return left[:, sizes > sizes.max() * _SAME]

    def limited(self, step: FloatArray) -> FloatArray:
        """Shorten steps that would change the odds of two cells by more than a factor e²: exponentials overshoot."""
        change = np.abs(step @ self.design.T).max(axis=-1, keepdims=True)
        shorter: FloatArray = step / np.maximum(change, 1)
        return shorter

    def frequencies(self, parameters: FloatArray) -> FloatArray:
        """Return the cell frequencies."""
        logarithms = parameters @ self.design.T
        odds = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
        shares: FloatArray = odds / odds.sum(axis=-1, keepdims=True)
        return shares

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return the derivative of the frequencies."""
        return self.tangents(self.frequencies(parameters))

    def tangents(self, frequencies: FloatArray) -> FloatArray:
        """Return the directions in which the terms move these frequencies."""
        centred = self.design - (frequencies @ self.design)[..., None, :]
        return frequencies[..., :, None] * centred

    def nearest(self, cells: FloatArray) -> FloatArray:
        """Return the member with nearly the generators' margins of the cells, which are cut just above zero.

        It is found by iterative proportional fitting, which never leaves the model.
        """
        known = slice(None) if self.possible is None else list(self.possible)
        partitions = [places_onto(self.shape, axes)[known] for axes in self.generators]
        fitted = proportionally_fitted(on_simplex(cells), partitions, _ROUNDS)
        # a floor that cells of small margins reach would leave the model, and move all the others
        logarithms = np.log(np.maximum(fitted, np.finfo(float).tiny))
        centred = logarithms - logarithms.mean(axis=-1, keepdims=True)
        parameters: FloatArray = centred @ np.linalg.pinv(self.design).T
        return parameters

    def _term(self, axes: Axes) -> FloatArray:
        """Return the columns of one term: products of contrasts of its attributes."""
        columns: FloatArray = np.ones((1, 1))
        for axis, size in enumerate(self.shape):
            own = (np.eye(size) - 1 / size)[:, :-1] if axis in axes else np.ones((size, 1))
            columns = np.kron(columns, own)
        return columns


@dataclass(frozen=True, eq=False)
class LinearSubspace:
    """Frequencies that differ from given ones by combinations of some contrasts; by nothing if there are none.

    Parameters
    ----------
    centre : array, shape (cells,)
        Proper frequencies.
    basis : array, shape (cells, parameters)
        Orthonormal contrasts.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import LinearSubspace
    >>> equal = LinearSubspace.constrained(np.full(3, 1 / 3), np.array([[1, -1, 0]]))
    >>> equal.frequencies(equal.nearest(np.array([0.5, 0.3, 0.2]))).round(2)
    array([0.4, 0.4, 0.2])
    """

    bounded: ClassVar[bool] = False

    centre: FloatArray
    basis: FloatArray

    @classmethod
    def constrained(cls, centre: FloatArray, constraints: FloatArray) -> LinearSubspace:
        """Return the frequencies with constraints @ frequencies = constraints @ centre."""
        from scipy.linalg import null_space

        return cls(centre, null_space(np.vstack([np.ones(centre.size), constraints])))

    def frequencies(self, parameters: FloatArray) -> FloatArray:
        """Return the cell frequencies."""
        return self.centre + parameters @ self.basis.T

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return the contrasts."""
        return np.broadcast_to(self.basis, (*parameters.shape[:-1], *self.basis.shape))

    def limited(self, step: FloatArray) -> FloatArray:
        """Return the step: frequencies are linear."""
        return step

    def nearest(self, cells: FloatArray) -> FloatArray:
        """Return the member nearest to the cells, or as far on the way to it from the centre as is proper."""
        parameters = (cells - self.centre) @ self.basis
        moved = parameters @ self.basis.T
        room = np.divide(SMALLEST - self.centre, moved, out=np.full(moved.shape, np.inf), where=moved < 0)
        step = np.minimum(room.min(axis=-1, keepdims=True), 1.0)
        nearest: FloatArray = step * parameters
        return nearest
