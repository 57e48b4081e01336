"""Junction trees: exact marginals and moments of a log-linear distribution, whose joint table is never formed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray, IntArray
from ldpstats.columns import listed
from ldpstats.consistency.marginals import Attributes
from ldpstats.errors import LdpstatsError, one_line

# quotients of smaller probabilities would overflow
_HARDLY_EVER = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class JunctionTree:
    """Cliques of attributes, so joined that all cliques with an attribute hang together.

    Parameters
    ----------
    sizes : mapping of str to int
        The number of categories of every attribute. Its order is that of the axes of every clique's table.
    cliques : tuple of tuple of str
        The root first; a clique is followed by all that hang on it, directly or not, before any other.
    parents : tuple of int
        The place of the clique that each one hangs on; -1 for the root.
    separators : tuple of tuple of str
        What each clique shares with its parent; nothing for the root, and between parts that share nothing.

    Examples
    --------
    >>> tree = JunctionTree.of([("a", "b"), ("b", "c"), ("c", "d")], {"a": 2, "b": 3, "c": 2, "d": 5})
    >>> tree.cliques, tree.separators, tree.cells
    ((('a', 'b'), ('b', 'c'), ('c', 'd')), ((), ('b',), ('c',)), 22)
    """

    sizes: Mapping[str, int]
    cliques: tuple[Attributes, ...]
    parents: tuple[int, ...]
    separators: tuple[Attributes, ...]

    @classmethod
    def of(cls, groups: Iterable[Collection[str]], sizes: Mapping[str, int]) -> JunctionTree:
        """Join cliques that hold every group and are made by filling in few links."""
        import networkx as nx

        cliques = _filled_cliques(groups, list(sizes))
        links: nx.Graph[Attributes] = nx.Graph()
        links.add_nodes_from(cliques)
        for one, other in combinations(cliques, 2):
            links.add_edge(one, other, weight=len(set(one) & set(other)))
        # cliques of a chordal graph that are joined where they share most are a junction tree (Jensen & Jensen 1994)
        joined = nx.maximum_spanning_tree(links)
        parent_of = {child: parent for parent, child in nx.dfs_edges(joined, cliques[0])}
        ordered = (cliques[0], *parent_of)
        parents = (-1, *(ordered.index(parent) for parent in parent_of.values()))
        shared = (tuple(name for name in child if name in parent) for child, parent in parent_of.items())
        return cls(dict(sizes), ordered, parents, ((), *shared))

    @property
    def cells(self) -> int:
        """The number of cells of the tables of all cliques: what the tree costs, known before any is formed."""
        return sum(math.prod(self.shape(clique)) for clique in self.cliques)

    def shape(self, attributes: Iterable[str]) -> tuple[int, ...]:
        """Return the shape of the table of some attributes."""
        return tuple(self.sizes[name] for name in attributes)

    def children(self, place: int) -> list[int]:
        """Return the places of the cliques that hang directly on a clique."""
        return [child for child, parent in enumerate(self.parents) if parent == place]

    def holder(self, attributes: Iterable[str]) -> int | None:
        """Return the place of a smallest clique with all the attributes, if there is any."""
        wanted = set(attributes)
        found = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(found, key=lambda place: math.prod(self.shape(self.cliques[place])), default=None)

    def log_total(self, potentials: Sequence[FloatArray]) -> float:
        """Return the logarithm of the sum of exp(Σ potentials) over all cells of the joint table."""
        return float(_log_sum(self._gathered(potentials)[0], self.cliques[0], ()))

    def beliefs(self, potentials: Sequence[FloatArray]) -> Beliefs:
        """Return what the distribution in proportion to exp(Σ potentials) says of every clique.

        Parameters
        ----------
        potentials : sequence of array
            A finite table for every clique, in their order. The values may be large: sums are taken of logarithms,
            and each clique's probabilities are those given its parent, times the parent's own.

        Examples
        --------
        >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 2, "c": 2})
        >>> beliefs = tree.beliefs([np.log([[4.0, 1.0], [1.0, 4.0]]), np.log([[4.0, 1.0], [1.0, 4.0]])])
        >>> beliefs.marginal(("a", "c"))
        array([[0.34, 0.16],
               [0.16, 0.34]])
        """
        tables: list[FloatArray] = []
        for place, logs in enumerate(self._gathered(potentials)):
            clique, shared = self.cliques[place], self.separators[place]
            axes = _others(clique, shared)
            given = np.exp(logs - logs.max(axis=axes, keepdims=True))
            given /= given.sum(axis=axes, keepdims=True)
            tables.append(given)
            if place:
                parent = Factor(self.cliques[self.parents[place]], tables[self.parents[place]])
                given *= _spread(parent.summed(shared).table, shared, clique)
        return Beliefs(self, tuple(tables))

    def _gathered(self, potentials: Sequence[FloatArray]) -> list[FloatArray]:
        """Add to the potential of each clique what hangs on it, summed out, from the leaves to the root."""
        gathered = list(potentials)
        for place in range(len(self.cliques) - 1, 0, -1):
            parent, shared = self.parents[place], self.separators[place]
            message = _log_sum(gathered[place], self.cliques[place], shared)
            gathered[parent] = gathered[parent] + _spread(message, shared, self.cliques[parent])
        return gathered


class Factor(NamedTuple):
    """A table and the attributes of its axes."""

    attributes: Attributes
    table: FloatArray

    def summed(self, kept: Collection[str]) -> Factor:
        """Sum all axes out but those of some attributes."""
        left = tuple(name for name in self.attributes if name in kept)
        return Factor(left, self.table.sum(axis=_others(self.attributes, left)))

    def times(self, other: Factor, order: Iterable[str]) -> Factor:
        """Multiply two tables where they agree in what they share; the axes of all have one order."""
        names = tuple(name for name in order if name in self.attributes or name in other.attributes)
        one, two = (_spread(factor.table, factor.attributes, names) for factor in (self, other))
        return Factor(names, one * two)

    def given(self, known: Attributes) -> Factor:
        """Divide by the sums over all but the known attributes; where these are zero, so is the result."""
        sums = _spread(self.summed(known).table, known, self.attributes)
        return self._replace(table=np.divide(self.table, sums, out=np.zeros_like(self.table), where=sums > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """The probabilities of a distribution, clique by clique.

    Parameters
    ----------
    tree : JunctionTree
    tables : tuple of array
        The marginal of every clique, its axes in the clique's order.
    """

    tree: JunctionTree
    tables: tuple[FloatArray, ...]

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Return the table of any of the attributes, in the order in which they are given; see `JunctionTree.beliefs`.

        They need not lie in one clique: what stands between them is summed out along the tree.
        """
        wanted = listed(attributes)
        if len(set(wanted)) < len(wanted) or not set(wanted) <= set(self.tree.sizes):
            raise LdpstatsError(f"attributes {wanted!r}", f"different names out of {one_line(tuple(self.tree.sizes))}")
        holder = self.tree.holder(wanted)
        found = self._collected(wanted) if holder is None else self._of(holder).summed(wanted)
        return found.table.transpose([found.attributes.index(name) for name in wanted])

    def _of(self, place: int) -> Factor:
        return Factor(self.tree.cliques[place], self.tables[place])

    def _collected(self, wanted: Collection[str]) -> Factor:
        """Multiply each clique's probabilities given its parent, from the leaves on, and keep what is wanted."""
        waiting: list[list[Factor]] = [[] for _ in [*self.tree.cliques, "above the root"]]
        for place in range(len(self.tree.cliques) - 1, -1, -1):
            own, below, shared = self._of(place), waiting[place], self.tree.separators[place]
            kept = {*wanted, *shared}
            if not below and kept.intersection(own.attributes) == set(shared):
                continue  # nothing here is wanted, and given the parent it sums to one
            product = own.summed(kept.union(*(one.attributes for one in below))).given(shared)
            for one in below:
                product = product.times(one, self.tree.sizes)
            waiting[self.tree.parents[place]].append(product.summed(kept))
        return waiting[-1][0]


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
    keepers : tuple of CliqueTerms
        For every clique, which terms it keeps. Each term has one keeper; they stand in the order of the cliques.

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
    keepers: tuple[CliqueTerms, ...]

    @classmethod
    def of(cls, tree: JunctionTree, groups: Iterable[Attributes]) -> LogLinearTerms:
        """List the terms of some groups."""
        names, different = tuple(tree.sizes), tuple(dict.fromkeys(groups))
        levels = np.unique(np.concatenate([_grid(group, names, tree.sizes) for group in different]), axis=0)[1:]
        outside = np.array([[name not in clique for name in names] for clique in tree.cliques], dtype=np.int64)
        keeper = np.argmin((levels > 0) @ outside.T, axis=1)
        levels = levels[np.argsort(keeper, kind="stable")]
        ends = np.cumsum(np.bincount(keeper, minlength=len(outside))).tolist()
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
        """Return the weighted sum of the terms, each in its keeper's table."""
        tables = []
        for clique, keeper in zip(self.tree.cliques, self.keepers, strict=True):
            table = np.zeros(self.tree.shape(clique))
            table.flat[keeper.cells] = weights[keeper.kept]
            tables.append(_along(table, _carry))
        return tables

    def moments(self, beliefs: Beliefs) -> tuple[FloatArray, FloatArray]:
        """Return the means and the covariances of all terms.

        It goes from the leaves to the root. Given the cell of a clique, what hangs on it in different places is
        independent, so that only the means of terms given the cell are needed. These depend on what the clique
        shares with each child alone, and are sums of terms of that.
        """
        means, covariance = np.empty(len(self.levels)), np.empty((len(self.levels),) * 2)
        known: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        for place in range(len(self.keepers) - 1, -1, -1):
            keeper, below = self.keepers[place], [known[child][2] for child in self.tree.children(place)]
            sums = np.append(_along(beliefs.tables[place], _add_up), 0.0)
            shared = _lifted(sums[keeper.with_shared], below)
            products = _lifted(_lifted(sums[keeper.products], below).T, below)
            known[place] = shared[:, 0], products, self._given_shared(shared, place, beliefs)
        # the root first: of terms below one child, the child knows better
        for place, keeper in enumerate(self.keepers):
            mean, products, _ = known[place]
            part = slice(keeper.kept.start, keeper.kept.start + len(mean))
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

    def covariance_with(self, wanted: Attributes, beliefs: Beliefs) -> FloatArray:
        """Return the covariance of each cell (rows) of the table of some attributes with each term."""
        return CellTermCovariance.of(self, wanted).covariance(beliefs)


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


def _filled_cliques(groups: Iterable[Collection[str]], names: Sequence[str]) -> list[Attributes]:
    """Return the largest cliques once links are filled in, at each step for an attribute that needs fewest."""
    import networkx as nx
    from networkx.algorithms.approximation import treewidth_min_fill_in

    place = {name: number for number, name in enumerate(names)}
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(place.values())
    for group in groups:
        graph.add_edges_from(combinations([place[name] for name in group], 2))
    _, decomposition = treewidth_min_fill_in(graph)
    bags = list(decomposition)
    largest = sorted(sorted(bag) for bag in bags if not any(bag < other for other in bags))
    return [tuple(names[number] for number in bag) for bag in largest]


def _others(attributes: Attributes, kept: Collection[str]) -> tuple[int, ...]:
    return tuple(axis for axis, name in enumerate(attributes) if name not in kept)


def _log_sum(logs: FloatArray, attributes: Attributes, kept: Collection[str]) -> FloatArray:
    """Return the logarithm of the sums over all axes but those of some attributes."""
    axes = _others(attributes, kept)
    top = logs.max(axis=axes, keepdims=True)
    total: FloatArray = np.log(np.exp(logs - top).sum(axis=axes)) + top.squeeze(axes)
    return total


def _spread(table: FloatArray, attributes: Attributes, over: Attributes) -> FloatArray:
    """Give a table the axes of more attributes, along which it is constant."""
    return table[tuple(slice(None) if name in attributes else np.newaxis for name in over)]


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
