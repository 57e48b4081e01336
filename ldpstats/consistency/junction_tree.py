"""Junction tree algorithm: exact marginals of a log-linear distribution, whose joint table is never formed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ldpstats.answers.columns import listed
from ldpstats.consistency.marginals import Attributes
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.numbers.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class JunctionTree:
    """Cliques joined into a tree in which all cliques with an attribute are connected (running intersection)."""

    sizes: Mapping[str, int]  # numbers of categories; their order is that of the axes of all tables
    cliques: tuple[Attributes, ...]  # the root first, and each followed by all its descendants
    parents: tuple[int, ...]  # index of each clique's parent; -1 for the root
    separators: tuple[Attributes, ...]  # shared with the parent; empty for the root and between unconnected parts

    @classmethod
    def of(cls, groups: Iterable[Collection[str]], sizes: Mapping[str, int]) -> JunctionTree:
        """Triangulate the graph of the groups by few further links (min-fill), and join its cliques."""
        import networkx as nx

        cliques = _filled_cliques(groups, list(sizes))
        links: nx.Graph[Attributes] = nx.Graph()
        links.add_nodes_from(cliques)
        for clique, other in combinations(cliques, 2):
            links.add_edge(clique, other, weight=len(set(clique) & set(other)))
        # cliques of a chordal graph that are joined where they share most are a junction tree (Jensen & Jensen 1994)
        joined = nx.maximum_spanning_tree(links)
        parent_of = {child: parent for parent, child in nx.dfs_edges(joined, cliques[0])}
        ordered = (cliques[0], *parent_of)
        parents = (-1, *(ordered.index(parent) for parent in parent_of.values()))
        shared = (tuple(name for name in child if name in parent) for child, parent in parent_of.items())
        return cls(dict(sizes), ordered, parents, ((), *shared))

    @property
    def cells(self) -> int:
        """Number of cells of all cliques' tables: what the tree costs, known before any is formed."""
        return sum(math.prod(self.shape(clique)) for clique in self.cliques)

    def shape(self, attributes: Iterable[str]) -> tuple[int, ...]:
        """Shape of the table of some attributes."""
        return tuple(self.sizes[name] for name in attributes)

    def children(self, index: int) -> list[int]:
        """Indices of a clique's children."""
        return [child for child, parent in enumerate(self.parents) if parent == index]

    def holder(self, attributes: Iterable[str]) -> int | None:
        """Index of a smallest clique with all the attributes; None if there is none."""
        wanted = set(attributes)
        holders = [index for index, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holders, key=lambda index: math.prod(self.shape(self.cliques[index])), default=None)

    def log_total(self, potentials: Sequence[FloatArray]) -> float:
        """Logarithm of the sum of exp(Σ potentials) over all cells of the joint table (log-partition function)."""
        return float(_log_sum(self._gathered(potentials)[0], self.cliques[0], ()))

    def beliefs(self, potentials: Sequence[FloatArray]) -> Beliefs:
        """Marginals of all cliques under the distribution in proportion to exp(Σ potentials).

        There is a finite potential for every clique. It may be large: sums are taken of logarithms, and each clique's
        probabilities are those given its parent, times the parent's own.
        """
        tables: list[FloatArray] = []
        for index, logs in enumerate(self._gathered(potentials)):
            clique, shared = self.cliques[index], self.separators[index]
            axes = _others(clique, shared)
            given = np.exp(logs - logs.max(axis=axes, keepdims=True))
            given /= given.sum(axis=axes, keepdims=True)
            tables.append(given)
            if index:
                parent = Factor(self.cliques[self.parents[index]], tables[self.parents[index]])
                given *= _broadcast(parent.summed(shared).table, shared, clique)
        return Beliefs(self, tuple(tables))

    def _gathered(self, potentials: Sequence[FloatArray]) -> list[FloatArray]:
        """Add to the potential of each clique those of its subtree, summed out, from the leaves to the root."""
        gathered = list(potentials)
        for index in range(len(self.cliques) - 1, 0, -1):
            parent, shared = self.parents[index], self.separators[index]
            message = _log_sum(gathered[index], self.cliques[index], shared)
            gathered[parent] = gathered[parent] + _broadcast(message, shared, self.cliques[parent])
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
        """Multiply two tables where they agree in what they share; axes stand in `order`."""
        names = tuple(name for name in order if name in self.attributes or name in other.attributes)
        left, right = (_broadcast(factor.table, factor.attributes, names) for factor in (self, other))
        return Factor(names, left * right)

    def given(self, known: Attributes) -> Factor:
        """Condition on the known attributes: divide by the sums over all others; zero where these are zero."""
        sums = _broadcast(self.summed(known).table, known, self.attributes)
        return self._replace(table=np.divide(self.table, sums, out=np.zeros_like(self.table), where=sums > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Marginals of all cliques of a junction tree, axes in the clique's order."""

    tree: JunctionTree
    tables: tuple[FloatArray, ...]

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Marginal of any attributes, in the order in which they are given.

        They need not lie in one clique: what stands between them is summed out along the tree.
        """
        wanted = listed(attributes)
        if len(set(wanted)) < len(wanted) or not set(wanted) <= set(self.tree.sizes):
            raise LdpstatsError(f"attributes {wanted!r}", f"different names out of {one_line(tuple(self.tree.sizes))}")
        holder = self.tree.holder(wanted)
        factor = self._collected(wanted) if holder is None else self._of(holder).summed(wanted)
        return factor.table.transpose([factor.attributes.index(name) for name in wanted])

    def _of(self, index: int) -> Factor:
        return Factor(self.tree.cliques[index], self.tables[index])

    def _collected(self, wanted: Collection[str]) -> Factor:
        """Multiply each clique's probabilities given its parent, from the leaves on, and keep what is wanted."""
        waiting: list[list[Factor]] = [[] for _ in [*self.tree.cliques, "above the root"]]
        for index in range(len(self.tree.cliques) - 1, -1, -1):
            own, below, shared = self._of(index), waiting[index], self.tree.separators[index]
            kept = {*wanted, *shared}
            if not below and kept.intersection(own.attributes) == set(shared):
                continue  # nothing here is wanted, and given the parent it sums to one
            product = own.summed(kept.union(*(factor.attributes for factor in below))).given(shared)
            for factor in below:
                product = product.times(factor, self.tree.sizes)
            waiting[self.tree.parents[index]].append(product.summed(kept))
        return waiting[-1][0]


def _filled_cliques(groups: Iterable[Collection[str]], names: Sequence[str]) -> list[Attributes]:
    """Maximal cliques of the triangulated graph (min-fill heuristic)."""
    import networkx as nx
    from networkx.algorithms.approximation import treewidth_min_fill_in

    index_of = {name: number for number, name in enumerate(names)}
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(index_of.values())
    for group in groups:
        graph.add_edges_from(combinations([index_of[name] for name in group], 2))
    _, decomposition = treewidth_min_fill_in(graph)
    bags = list(decomposition)
    largest = sorted(sorted(bag) for bag in bags if not any(bag < other for other in bags))
    return [tuple(names[number] for number in bag) for bag in largest]


def _others(attributes: Attributes, kept: Collection[str]) -> tuple[int, ...]:
    return tuple(axis for axis, name in enumerate(attributes) if name not in kept)


def _log_sum(logs: FloatArray, attributes: Attributes, kept: Collection[str]) -> FloatArray:
    """Logarithm of the sums of exp over all axes but those of some attributes."""
    axes = _others(attributes, kept)
    top = logs.max(axis=axes, keepdims=True)
    total: FloatArray = np.log(np.exp(logs - top).sum(axis=axes)) + top.squeeze(axes)
    return total


def _broadcast(table: FloatArray, attributes: Attributes, over: Attributes) -> FloatArray:
    """Give a table the axes of more attributes, for broadcasting."""
    return table[tuple(slice(None) if name in attributes else np.newaxis for name in over)]
