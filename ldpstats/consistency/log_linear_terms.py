"""Terms of a log-linear model in corner-point coding: their means, and covariances, on a junction tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ldpstats.consistency.junction_tree import Beliefs, Factor, JunctionTree
from ldpstats.consistency.marginals import Attributes
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray

# quotients of smaller probabilities would overflow
_HARDLY_EVER = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class LogLinearTerms:
    """The terms of a log-linear distribution, in corner-point coding.

    For some attributes that stand in a group together, a term asks for one category of each, but not the first one: it
    is 1 for the records that have them all, and 0 for the others. The logarithm of a probability is a weighted sum of
    terms and a constant; the means of the terms determine the marginals of the groups.

    In the table of a clique, a term has the place of the cell with its categories, and the first ones otherwise.
    """

    tree: JunctionTree
    groups: tuple[Attributes, ...]  # each lies within a clique
    levels: IntArray  # category that each term asks for, shape (terms, attributes); 0 for none
    of_cliques: tuple[CliqueTerms, ...]  # each term is kept by one clique; they stand in this order

    @classmethod
    def of(cls, tree: JunctionTree, groups: Iterable[Attributes]) -> LogLinearTerms:
        """List the terms of some groups, each within a clique."""
        names, different = tuple(tree.sizes), tuple(dict.fromkeys(groups))
        levels = np.unique(np.concatenate([_grid(group, names, tree.sizes) for group in different]), axis=0)[1:]
        outside = np.array([[name not in clique for name in names] for clique in tree.cliques], dtype=np.int64)
        kept_by = np.argmin((levels > 0) @ outside.T, axis=1)
        levels = levels[np.argsort(kept_by, kind="stable")]
        ends = np.cumsum(np.bincount(kept_by, minlength=len(outside))).tolist()
        kept = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        return cls(
            tree, different, levels, tuple(CliqueTerms.of(tree, index, own, levels) for index, own in enumerate(kept))
        )

    def indices(self, group: Attributes) -> IntArray:
        """Index of the term of each cell of a group's table but the first."""
        known = {levels.tobytes(): index for index, levels in enumerate(self.levels)}
        cells = _grid(group, tuple(self.tree.sizes), self.tree.sizes)[1:]
        return np.array([known[levels.tobytes()] for levels in cells])

    def cells_at(self, means: FloatArray, group: Attributes) -> FloatArray:
        """Cells of a group's table, the terms having these means; they may be negative."""
        constant, slopes = cells_from_means(self.tree.shape(group))
        return constant + slopes @ means[self.indices(group)]

    def potentials(self, weights: FloatArray) -> list[FloatArray]:
        """Weighted sum of the terms, as a table per clique."""
        tables = []
        for clique, own in zip(self.tree.cliques, self.of_cliques, strict=True):
            table = np.zeros(self.tree.shape(clique))
            table.flat[own.cells] = weights[own.kept]
            tables.append(_along(table, _carry))
        return tables

    def moments(self, beliefs: Beliefs) -> tuple[FloatArray, FloatArray]:
        """Means and covariances of all terms.

        From the leaves to the root: given the cell of a clique, what lies beyond it in different subtrees is
        independent, so that only the means of terms given the cell are needed. These depend on what the clique shares
        with each child alone, and are sums of terms of that.
        """
        means, covariance = np.empty(len(self.levels)), np.empty((len(self.levels),) * 2)
        known: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        for index in range(len(self.of_cliques) - 1, -1, -1):
            own, below = self.of_cliques[index], [known[child][2] for child in self.tree.children(index)]
            sums = np.append(_along(beliefs.tables[index], _add_up), 0.0)
            shared = _lifted(sums[own.with_shared], below)
            products = _lifted(_lifted(sums[own.products], below).T, below)
            known[index] = shared[:, 0], products, self._given_shared(shared, index, beliefs)
        # the root first: of terms below one child, the child knows better
        for index, own in enumerate(self.of_cliques):
            mean, products, _ = known[index]
            part = slice(own.kept.start, own.kept.start + len(mean))
            means[part], covariance[part, part] = mean, products - np.outer(mean, mean)
        return means, covariance

    def _given_shared(self, products: FloatArray, index: int, beliefs: Beliefs) -> FloatArray:
        """Means given what a clique shares with its parent (separator), as sums of terms of that.

        `products` has the mean product of each term (rows) with each term of what is shared.
        """
        shared = self.tree.separators[index]
        often = Factor(self.tree.cliques[index], beliefs.tables[index]).summed(shared).table
        joint = _along(products.reshape(len(products), *often.shape), _take_apart, first=1)
        means = np.divide(joint, often, out=np.zeros_like(joint), where=often > _HARDLY_EVER)
        # where the shared cell hardly ever comes, the quotient is one of rounding errors
        return _along(np.clip(means, 0, 1), _take_back, first=1).reshape(products.shape)


@dataclass(frozen=True, slots=True, eq=False)
class CellTermCovariance:
    """Lookup tables for the covariance of a table's cells with all terms, for any number of distributions."""

    wanted: Attributes  # the attributes of the table
    many: int  # number of terms
    together: tuple[TermGroup, ...]  # by the attributes that terms ask for beside those of the table

    @classmethod
    def of(cls, terms: LogLinearTerms, wanted: Attributes) -> CellTermCovariance:
        """Look up the cells of the table of some attributes."""
        names, sizes = list(terms.tree.sizes), terms.tree.sizes
        cells = _grid(wanted, tuple(names), sizes)[:, np.newaxis]
        elsewhere = np.array([name not in wanted for name in names])
        waiting, together = np.ones(len(terms.levels), dtype=bool), []
        for group in terms.groups:
            others, indices = tuple(name for name in group if name not in wanted), terms.indices(group)
            indices = indices[waiting[indices]]
            waiting[indices] = False
            asked = terms.levels[indices]
            possible = (elsewhere | (asked == 0) | (asked == cells)).all(axis=2)
            columns = np.zeros(len(indices), dtype=np.int64)
            for name in others:
                columns = columns * sizes[name] + asked[:, names.index(name)]
            together.append(TermGroup(others, terms.tree.shape(others), indices, columns, possible))
        return cls(wanted, len(terms.levels), tuple(together))

    def covariance(self, beliefs: Beliefs) -> FloatArray:
        """Covariance of each cell (rows) with each term."""
        cells = beliefs.marginal(self.wanted)
        products = np.empty((cells.size, self.many))
        sums: dict[Attributes, FloatArray] = {(): cells.reshape(-1, 1)}
        for group in self.together:
            if group.others not in sums:
                table = beliefs.marginal((*self.wanted, *group.others)).reshape(cells.size, *group.shape)
                sums[group.others] = _along(table, _add_up, first=1).reshape(cells.size, -1)
            products[:, group.indices] = np.where(group.possible, sums[group.others][:, group.columns], 0)
        return products - np.outer(cells, products.sum(axis=0))


class TermGroup(NamedTuple):
    """Terms that ask for categories of the same attributes beside those of a table."""

    others: Attributes  # these attributes
    shape: tuple[int, ...]
    indices: IntArray  # of the terms
    columns: IntArray  # the cells of the table of the others that they ask for
    possible: BoolArray  # whether a cell of the table (rows) has what a term asks for


@dataclass(frozen=True, slots=True, eq=False)
class CliqueTerms:
    """The terms that a clique keeps, and where their products stand in its table of terms."""

    kept: slice  # which of all terms
    cells: IntArray  # their places in the table
    # place of the product of two terms, kept or shared with children; one behind the last if impossible
    products: IntArray
    with_shared: IntArray  # the same for products with terms shared with the parent, the constant first

    @classmethod
    def of(cls, tree: JunctionTree, index: int, kept: slice, levels: IntArray) -> CliqueTerms:
        """Look up the terms of one clique."""
        clique, names = tree.cliques[index], list(tree.sizes)
        shape = tree.shape(clique)
        own = levels[kept][:, [names.index(name) for name in clique]]
        with_children = [_grid(tree.separators[child], clique, tree.sizes) for child in tree.children(index)]
        known, upward = np.concatenate([own, *with_children]), _grid(tree.separators[index], clique, tree.sizes)
        cells = np.ravel_multi_index(tuple(own.T), shape)
        return cls(kept, cells, _products(known, known, shape), _products(known, upward, shape))


def cells_from_means(shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Constant, shape (cells,), and slopes, shape (cells, terms), of a table's cells in the means of its terms."""
    cells = math.prod(shape)
    matrix = _along(np.eye(cells).reshape(cells, *shape), _take_apart, first=1).reshape(cells, cells).T
    return matrix[:, 0], matrix[:, 1:]


def _grid(attributes: Attributes, over: Attributes, sizes: Mapping[str, int]) -> IntArray:
    """Categories of every cell of a table (rows); the first one for attributes that it lacks."""
    shape = [sizes[name] for name in attributes]
    cells = np.zeros((math.prod(shape), len(over)), dtype=np.int64)
    cells[:, [over.index(name) for name in attributes]] = np.indices(shape).reshape(len(shape), len(cells)).T
    return cells


def _products(terms: IntArray, others: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Cell of the product of every two terms; one behind the last, where they exclude each other."""
    cells = np.zeros((len(terms), len(others)), dtype=np.int64)
    excluded = np.zeros(cells.shape, dtype=bool)
    for size, first, second in zip(shape, terms.T[..., np.newaxis], others.T, strict=True):
        cells = cells * size + np.maximum(first, second)
        excluded |= (first > 0) & (second > 0) & (first != second)
    return np.where(excluded, math.prod(shape), cells)


def _lifted(products: FloatArray, below: Sequence[FloatArray]) -> FloatArray:
    """Replace the rows of terms shared with children, which come last, by rows of all the terms below them."""
    start = len(products) - sum(means.shape[1] for means in below)
    rows = [products[:start]]
    for means in below:
        rows.append(means @ products[start : start + means.shape[1]])
        start += means.shape[1]
    return np.concatenate(rows)


def _along(table: FloatArray, step: Callable[[FloatArray], None], first: int = 0) -> FloatArray:
    """Apply a step in place along every axis of a copy of a table, from the first one named on."""
    result = table.copy()
    for axis in range(first, result.ndim):
        step(result.swapaxes(0, axis))
    return result


def _add_up(table: FloatArray) -> None:
    """From the probabilities of cells to the means of terms."""
    table[0] = table.sum(axis=0)


def _take_apart(table: FloatArray) -> None:
    """From the means of terms to the probabilities of cells."""
    table[0] -= table[1:].sum(axis=0)


def _carry(table: FloatArray) -> None:
    """From the weights of terms to the values of cells."""
    table[1:] += table[0]


def _take_back(table: FloatArray) -> None:
    """From the values of cells to the weights of terms."""
    table[1:] -= table[0]
