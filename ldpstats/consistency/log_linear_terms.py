"""Terms of a log-linear model in corner-point coding: their means, and covariances, on a junction tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray, IntArray
from ldpstats.consistency.junction_tree import Beliefs, Factor, JunctionTree
from ldpstats.consistency.marginals import Attributes

# quotients of smaller probabilities would overflow
_HARDLY_EVER = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class LogLinearTerms:
    """The terms of a log-linear distribution, and their means and covariances.

    For some attributes that stand in a group together, a term asks for one category of each, but not the first one.
    It is 1 for the records that have them all, and 0 for the others (corner-point coding). The logarithm of a
    probability is a weighted sum of terms and a constant; the means of the terms determine the marginals of the groups.

    In the table of a clique, a term has the place of the cell with its categories, and the first ones otherwise.

    Parameters
    ----------
    tree : JunctionTree
    groups : tuple of tuple of str
        Each of them lies within a clique.
    levels : array, shape (terms, attributes)
        The category that each term asks for; 0 where it does not ask.
    of_cliques : tuple of CliqueTerms
        For every clique, which terms it keeps. Each term is kept by one; they stand in the order of the cliques.

    Examples
    --------
    >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 2, "c": 2})
    >>> terms = LogLinearTerms.of(tree, [("a", "b"), ("b", "c")])
    >>> terms.levels.tolist()
    [[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    >>> means, covariance = terms.moments(tree.beliefs(terms.potentials(np.zeros(5))))
    >>> means
    array([0.5 , 0.5 , 0.25, 0.5 , 0.25])
    """

    tree: JunctionTree
    groups: tuple[Attributes, ...]
    levels: IntArray
    of_cliques: tuple[CliqueTerms, ...]

    @classmethod
    def of(cls, tree: JunctionTree, groups: Iterable[Attributes]) -> LogLinearTerms:
        """List the terms of some groups."""
        names, different = tuple(tree.sizes), tuple(dict.fromkeys(groups))
        levels = np.unique(np.concatenate([_grid(group, names, tree.sizes) for group in different]), axis=0)[1:]
        outside = np.array([[name not in clique for name in names] for clique in tree.cliques], dtype=np.int64)
        kept_by = np.argmin((levels > 0) @ outside.T, axis=1)
        levels = levels[np.argsort(kept_by, kind="stable")]
        ends = np.cumsum(np.bincount(kept_by, minlength=len(outside))).tolist()
        kept = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        return cls(
            tree, different, levels, tuple(CliqueTerms.of(tree, place, own, levels) for place, own in enumerate(kept))
        )

    def places(self, group: Attributes) -> IntArray:
        """Return which term belongs to each cell of a group's table but the first."""
        known = {levels.tobytes(): place for place, levels in enumerate(self.levels)}
        cells = _grid(group, tuple(self.tree.sizes), self.tree.sizes)[1:]
        return np.array([known[levels.tobytes()] for levels in cells])

    def potentials(self, weights: FloatArray) -> list[FloatArray]:
        """Return the weighted sum of the terms, each in its clique's table."""
        tables = []
        for clique, own in zip(self.tree.cliques, self.of_cliques, strict=True):
            table = np.zeros(self.tree.shape(clique))
            table.flat[own.cells] = weights[own.kept]
            tables.append(_along(table, _carry))
        return tables

    def moments(self, beliefs: Beliefs) -> tuple[FloatArray, FloatArray]:
        """Return the means and the covariances of all terms.

        It goes from the leaves to the root. Given the cell of a clique, what lies beyond it in different subtrees is
        independent, so that only the means of terms given the cell are needed. These depend on what the clique
        shares with each child alone, and are sums of terms of that.
        """
        means, covariance = np.empty(len(self.levels)), np.empty((len(self.levels),) * 2)
        known: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        for place in range(len(self.of_cliques) - 1, -1, -1):
            own, below = self.of_cliques[place], [known[child][2] for child in self.tree.children(place)]
            sums = np.append(_along(beliefs.tables[place], _add_up), 0.0)
            shared = _lifted(sums[own.with_shared], below)
            products = _lifted(_lifted(sums[own.products], below).T, below)
            known[place] = shared[:, 0], products, self._given_shared(shared, place, beliefs)
        # the root first: of terms below one child, the child knows better
        for place, own in enumerate(self.of_cliques):
            mean, products, _ = known[place]
            part = slice(own.kept.start, own.kept.start + len(mean))
            means[part], covariance[part, part] = mean, products - np.outer(mean, mean)
        return means, covariance

    def _given_shared(self, products: FloatArray, place: int, beliefs: Beliefs) -> FloatArray:
        """Return the means given what a clique shares with its parent, as sums of terms of that.

        `products` has the mean product of each term (rows) with each term of what is shared.
        """
        shared = self.tree.separators[place]
        often = Factor(self.tree.cliques[place], beliefs.tables[place]).summed(shared).table
        joint = _along(products.reshape(len(products), *often.shape), _take_apart, first=1)
        means = np.divide(joint, often, out=np.zeros_like(joint), where=often > _HARDLY_EVER)
        # where the shared cell hardly ever comes, the quotient is one of rounding errors
        return _along(np.clip(means, 0, 1), _take_back, first=1).reshape(products.shape)


@dataclass(frozen=True, slots=True, eq=False)
class CellTermCovariance:
    """The cells of one table beside all terms: what is looked up once for any number of distributions.

    Parameters
    ----------
    wanted : tuple of str
        The attributes of the table.
    many : int
        How many terms there are.
    together : tuple of TermGroup
        The terms, by the attributes that they ask for beside those of the table.
    """

    wanted: Attributes
    many: int
    together: tuple[TermGroup, ...]

    @classmethod
    def of(cls, terms: LogLinearTerms, wanted: Attributes) -> CellTermCovariance:
        """Look up the cells of the table of some attributes."""
        names, sizes = list(terms.tree.sizes), terms.tree.sizes
        cells = _grid(wanted, tuple(names), sizes)[:, np.newaxis]
        elsewhere = np.array([name not in wanted for name in names])
        waiting, found = np.ones(len(terms.levels), dtype=bool), []
        for group in terms.groups:
            others, places = tuple(name for name in group if name not in wanted), terms.places(group)
            places = places[waiting[places]]
            waiting[places] = False
            asked = terms.levels[places]
            possible = (elsewhere | (asked == 0) | (asked == cells)).all(axis=2)
            columns = np.zeros(len(places), dtype=np.int64)
            for name in others:
                columns = columns * sizes[name] + asked[:, names.index(name)]
            found.append(TermGroup(others, terms.tree.shape(others), places, columns, possible))
        return cls(wanted, len(terms.levels), tuple(found))

    def covariance(self, beliefs: Beliefs) -> FloatArray:
        """Return the covariance of each cell (rows) with each term."""
        cells = beliefs.marginal(self.wanted)
        products = np.empty((cells.size, self.many))
        sums: dict[Attributes, FloatArray] = {(): cells.reshape(-1, 1)}
        for one in self.together:
            if one.others not in sums:
                table = beliefs.marginal((*self.wanted, *one.others)).reshape(cells.size, *one.shape)
                sums[one.others] = _along(table, _add_up, first=1).reshape(cells.size, -1)
            products[:, one.places] = np.where(one.possible, sums[one.others][:, one.columns], 0)
        return products - np.outer(cells, products.sum(axis=0))


class TermGroup(NamedTuple):
    """Terms that ask for categories of the same attributes beside those of a table.

    Parameters
    ----------
    others : tuple of str
        These attributes.
    shape : tuple of int
    places : array, shape (terms,)
        Where they stand among all terms.
    columns : array, shape (terms,)
        The cells of the table of the others that they ask for.
    possible : array, shape (cells, terms)
        Whether a cell of the table has what they ask for.
    """

    others: Attributes
    shape: tuple[int, ...]
    places: IntArray
    columns: IntArray
    possible: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class CliqueTerms:
    """The terms that a clique keeps, and where their products stand in its table of terms.

    Parameters
    ----------
    kept : slice
        Which of all terms.
    cells : array, shape (kept,)
        Their places in the table.
    products : array, shape (kept and shared with children, the same)
        The place of the product of two terms; one behind the last cell, where they exclude each other.
    with_shared : array, shape (kept and shared with children, shared with the parent)
        The same for products with the terms of what the clique shares with its parent, the constant first.
    """

    kept: slice
    cells: IntArray
    products: IntArray
    with_shared: IntArray

    @classmethod
    def of(cls, tree: JunctionTree, place: int, kept: slice, levels: IntArray) -> CliqueTerms:
        """Look up the terms of one clique."""
        clique, names = tree.cliques[place], list(tree.sizes)
        shape = tree.shape(clique)
        own = levels[kept][:, [names.index(name) for name in clique]]
        with_children = [_grid(tree.separators[child], clique, tree.sizes) for child in tree.children(place)]
        known, upward = np.concatenate([own, *with_children]), _grid(tree.separators[place], clique, tree.sizes)
        cells = np.ravel_multi_index(tuple(own.T), shape)
        return cls(kept, cells, _products(known, known, shape), _products(known, upward, shape))


def cells_from_means(shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return the constant and the slopes of a table's cells (rows) in the means of its terms.

    Examples
    --------
    >>> constant, slopes = cells_from_means((3,))
    >>> constant + slopes @ [0.2, 0.5]
    array([0.3, 0.2, 0.5])
    """
    cells = math.prod(shape)
    matrix = _along(np.eye(cells).reshape(cells, *shape), _take_apart, first=1).reshape(cells, cells).T
    return matrix[:, 0], matrix[:, 1:]


def _grid(attributes: Attributes, over: Attributes, sizes: Mapping[str, int]) -> IntArray:
    """Return the categories of every cell of a table (rows), those of attributes it lacks being the first."""
    shape = [sizes[name] for name in attributes]
    cells = np.zeros((math.prod(shape), len(over)), dtype=np.int64)
    cells[:, [over.index(name) for name in attributes]] = np.indices(shape).reshape(len(shape), len(cells)).T
    return cells


def _products(one: IntArray, other: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Return the place of the product of every two terms; one behind the last cell, where they exclude each other."""
    place = np.zeros((len(one), len(other)), dtype=np.int64)
    excluded = np.zeros(place.shape, dtype=bool)
    for size, first, second in zip(shape, one.T[..., np.newaxis], other.T, strict=True):
        place = place * size + np.maximum(first, second)
        excluded |= (first > 0) & (second > 0) & (first != second)
    return np.where(excluded, math.prod(shape), place)


def _lifted(products: FloatArray, below: Sequence[FloatArray]) -> FloatArray:
    """Replace the rows of terms shared with children, which come last, by rows of all the terms below them."""
    start = len(products) - sum(one.shape[1] for one in below)
    rows = [products[:start]]
    for one in below:
        rows.append(one @ products[start : start + one.shape[1]])
        start += one.shape[1]
    return np.concatenate(rows)


def _along(table: FloatArray, step: Callable[[FloatArray], None], first: int = 0) -> FloatArray:
    """Take a step along every axis of a copy of a table, from the first one named on."""
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
