"""Bayesian networks: attributes that depend on their parents, and the table of each one given these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, fields
from pathlib import Path
from string import ascii_letters
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.answers.columns import Category, checked_categories, listed
from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import refuse_too_many_cells
from ldpstats.networks.bif import LARGEST_BIF, read_bif, written_bif
from ldpstats.networks.interactions import plug_in_information
from ldpstats.networks.structure import Edge, graph_of, refuse_directed_cycles
from ldpstats.numbers.arrays import FloatArray, IntArray, are_shares, at_least, real_array
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.pictures.graph import DrawnEdge, NetworkGraph
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.saving.files import read_file, write

if TYPE_CHECKING:
    from networkx import DiGraph

    from ldpstats.networks.queries import QueryResult


def _factors(model: Any) -> dict[str, Any]:
    """Return pgmpy's table (CPD) of every attribute."""
    factors = {name: model.get_cpds(name) for name in model.nodes()} if hasattr(model, "get_cpds") else {}
    lacking = [name for name, factor in factors.items() if not hasattr(factor, "state_names")]
    if not factors or lacking:
        raise LdpstatsError(
            f"a pgmpy model without tables of {one_line(lacking)}" if lacking else f"a {type(model).__name__}",
            "a pgmpy DiscreteBayesianNetwork with a table for every attribute",
        )
    return factors


def _as_in_domain(factor: Any, domain: Domain) -> FloatArray:
    """Return a pgmpy table with its categories in the order of the domain."""
    table: FloatArray = np.asarray(factor.values, dtype=float)
    for axis, name in enumerate(factor.variables):
        states, known = checked_categories(name, factor.state_names[name]), domain.categories[name]
        if {*states} != {*known}:
            raise LdpstatsError(
                f"the states {one_line(states)} of {name!r} in the table of {factor.variable!r}", one_line(known)
            )
        table = table.take([states.index(category) for category in known], axis=axis)
    return table


def drawn(distributions: FloatArray, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw a value for each entry of `rows` from that row of `distributions`, by one uniform number each.

    Printed probabilities need not add up to one: the last value that has any takes what is missing.
    """
    values = distributions.shape[1]
    ends = distributions.cumsum(axis=1)
    ends = np.where(ends < ends[:, -1:], np.minimum(ends, 1), 1)
    # the distributions one behind the other, each on an interval of length one
    steps = (ends + np.arange(len(ends))[:, None]).ravel()
    intervals: IntArray = np.searchsorted(steps, rows + rng.random(rows.size), side="right")
    inside: IntArray = np.minimum(intervals - rows * values, values - 1)
    return inside


_TITLE = "Bayesian network"
_ROUNDING = 1e-6
"""How far printed probabilities of seven digits may be from the sum one."""
_COARSE_ROUNDING = 0.01
"""How far those of two or three digits may be, which then are divided by their sum."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BayesianNetwork(Result):
    """A Bayesian network: the joint distribution of attributes as a product of tables, one for each given its parents.

    Two networks are equal if they have the same attributes and categories, the same edges, and the same tables, in
    whatever order parents stand.

    Parameters
    ----------
    domain : Domain
        The attributes and their categories.
    parents : mapping of str to tuple of str
        What each attribute depends on; an empty tuple where that is nothing. The edges make no cycle.
    tables : mapping of str to array
        The conditional probabilities of every attribute: its own axis first, then one for each of its parents in
        their order. They add up to one along the first axis, except for a rounding of 1e-6 in printed ones, which
        are kept as they are.

    Examples
    --------
    >>> from ldpstats import BayesianNetwork, Domain
    >>> domain = Domain({"rain": ["yes", "no"], "grass": ["wet", "dry"]})
    >>> network = BayesianNetwork(
    ...     domain, {"rain": (), "grass": ("rain",)}, {"rain": [0.2, 0.8], "grass": [[0.9, 0.1], [0.1, 0.9]]}
    ... )
    >>> network
    <BayesianNetwork: 2 attributes, 1 edge>
    >>> network.joint(["grass"]).round(2)
    array([0.26, 0.74])
    >>> network.sample(3, rng=1)
      rain grass
    0   no   dry
    1   no   dry
    2  yes   wet
    """

    _in_dict = "attributes=domain parents tables"

    domain: Domain
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, FloatArray]

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise LdpstatsError(f"a domain of type {type(self.domain).__name__}", "a Domain")
        parents = _of_every_attribute(self.parents, "parents", self.domain)
        checked = {name: _checked_parents(name, given, self.domain) for name, given in parents.items()}
        object.__setattr__(self, "parents", MappingProxyType(checked))
        refuse_directed_cycles(self.to_networkx())
        given_tables = _of_every_attribute(self.tables, "tables", self.domain)
        tables = {name: _checked_table(name, given, self._family(name).shape) for name, given in given_tables.items()}
        object.__setattr__(self, "tables", MappingProxyType(tables))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self.domain == other.domain and all(
            set(own) == set(other.parents[name]) and np.array_equal(self.tables[name], _with_parents(other, name, own))
            for name, own in self.parents.items()
        )

    def __hash__(self) -> int:
        return hash((self.domain, *(frozenset(own) for own in self.parents.values())))

    def __reduce__(self) -> tuple[Any, ...]:
        # a mapping proxy cannot be pickled, and networks travel to worker processes
        kept = (getattr(self, field.name) for field in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, Mapping) else value for value in kept)

    @classmethod
    def from_pgmpy(cls, model: Any) -> BayesianNetwork:
        """Return the network that a pgmpy model describes.

        Parameters
        ----------
        model : pgmpy DiscreteBayesianNetwork
            With a table for every attribute. Categories stand in the order of each attribute's own table. Columns
            that miss the sum one by up to 0.01, which pgmpy allows, are divided by their sum.
        """
        factors = _factors(model)
        domain = Domain({name: factor.state_names[name] for name, factor in factors.items()})
        parents = {name: tuple(factor.variables[1:]) for name, factor in factors.items()}
        if {(parent, name) for name, own in parents.items() for parent in own} != {*model.edges()}:
            raise LdpstatsError(
                "a pgmpy model whose tables have other parents than its graph", "one that passes its check_model()"
            )
        tables = {name: rescaled(name, _as_in_domain(factor, domain)) for name, factor in factors.items()}
        return BayesianNetwork(domain, parents, tables)

    @classmethod
    def from_bif(cls, path: str | Path) -> BayesianNetwork:
        """Read a file in the interchange format for Bayesian networks.

        Categories are texts. Probabilities of a row that miss the sum one by up to 0.01 are divided by their sum; if
        they miss it by up to 1e-6, as those of seven digits do, they stay as they are printed.

        Parameters
        ----------
        path : str or Path
        """
        return read_file(path, network_of_bif, "a file in the format BIF", LARGEST_BIF)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The edges (parent, child), child by child in the order of the domain."""
        return tuple((parent, name) for name, own in self.parents.items() for parent in own)

    @property
    def order(self) -> tuple[str, ...]:
        """The attributes, each after its parents; by name where that leaves a choice."""
        from networkx import lexicographical_topological_sort

        return tuple(lexicographical_topological_sort(self.to_networkx()))

    def sample(self, n: int, rng: Rng = None) -> pd.DataFrame:
        """Draw n records, attribute by attribute, each given its parents.

        Parameters
        ----------
        n : int
        rng : int, numpy.random.Generator or None
            A seed makes the same records again.
        """
        return self.domain.decode(self.sampled_codes(n, rng))

    def sampled_codes(self, n: int, rng: Rng = None) -> IntArray:
        """Draw n records as `sample` does, as codes: shape (n, attributes).

        Parameters
        ----------
        n : int
        rng : int, numpy.random.Generator or None
        """
        numbers, size = generator(rng), at_least(n, 1, "n")
        try:
            codes = np.empty((size, len(self.domain)), dtype=np.int64)
        except (MemoryError, ValueError) as error:
            raise LdpstatsError(f"n = {size:,}", "as many records as memory holds", "Draw them in parts.") from error
        columns = {name: column for column, name in enumerate(self.domain.names)}
        for name in self.order:
            table = self.tables[name]
            known = codes[:, [columns[parent] for parent in self.parents[name]]]
            rows = np.ravel_multi_index(tuple(known.T), table.shape[1:]) if known.size else np.zeros(size, np.int64)
            codes[:, columns[name]] = drawn(table.reshape(len(table), -1).T, rows, numbers)
        return codes

    def joint(self, attributes: Iterable[str]) -> FloatArray:
        """Return the exact joint distribution of some attributes, an axis for each in the order asked for.

        Parameters
        ----------
        attributes : iterable of str
        """
        names = self.domain.project(attributes).names
        refuse_too_many_cells(self.domain.size(names), f"the joint distribution of {one_line(names)}: a table")
        return joint_probabilities(self.parents, self.tables, names)

    def log_likelihood(self, frame: Frame) -> FloatArray:
        """Return the logarithm of the probability of every record; −inf where that is zero.

        Parameters
        ----------
        frame : DataFrame
            A column for every attribute; others are ignored. A category that the domain does not know is an error.
        """
        answers = self.domain.encode(frame)
        codes = dict(zip(self.domain.names, answers.T, strict=True))
        total = np.zeros(len(answers))
        with np.errstate(divide="ignore"):
            for name, table in sorted(self.tables.items()):  # the last bit does not depend on the order of columns
                total += np.log(table)[tuple(codes[attribute] for attribute in (name, *self.parents[name]))]
        return total

    def query(self, of: str | Iterable[str], given: Mapping[str, Category] | None = None) -> QueryResult:
        """Return the exact probabilities of some attributes' categories, given those of others.

        Parameters
        ----------
        of : str or sequence of str
            Of several attributes it is their joint distribution.
        given : mapping of str to category, optional
            What is known, such as `{"cough": "yes"}`.
        """
        from ldpstats.networks.queries import query

        return query(self, of, given)

    def to_networkx(self) -> DiGraph[str]:
        """Return the graph; every attribute knows its number of `categories`."""
        return graph_of(self.domain, self.edges)

    def to_pgmpy(self) -> Any:
        """Return the network as pgmpy's DiscreteBayesianNetwork, whose states are the categories themselves."""
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork

        model = DiscreteBayesianNetwork()
        model.add_nodes_from(self.domain.names)
        model.add_edges_from(self.edges)
        for name, table in self.tables.items():
            own, rows = self.parents[name], table.reshape(len(table), -1)
            states = {attribute: list(self.domain.categories[attribute]) for attribute in (name, *own)}
            model.add_cpds(TabularCPD(name, len(table), rows, list(own), table.shape[1:], states))
        return model

    def to_bif(self, path: str | Path) -> None:
        """Write a file in the interchange format for Bayesian networks, as a whole or not at all.

        `from_bif` reads the same names, and the same probabilities to the last bit; pgmpy reads every such file.
        Categories that are numbers or truth values become texts. A name that programs do not agree upon, such as
        "(25, 35]", is written as another one ("25_35"), and stands in a property beside it.

        Parameters
        ----------
        path : str or Path
            A file that exists is replaced if a network was written to it here; any other is left as it is, and refused.
        """
        write(path, self.as_bif())

    def as_bif(self) -> str:
        """Return what `to_bif` writes."""
        text = written_bif(self.domain.categories, self.parents, self.tables)
        if len(text.encode()) > LARGEST_BIF:  # it could not be read again
            raise LdpstatsError(
                f"a file of {len(text.encode()):,} bytes",
                f"up to {LARGEST_BIF:,}",
                "`save` writes any network, and takes less room.",
            )
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return a row for every probability: of which category, given which categories of the parents."""
        rows = []
        for name, table in self.tables.items():
            for labels, share in zip(self._family(name).index(), table.ravel().tolist(), strict=True):
                given = zip(self.parents[name], labels[1:], strict=True)
                rows.append((name, labels[0], ", ".join(f"{parent} = {category}" for parent, category in given), share))
        return pd.DataFrame(rows, columns=["attribute", "category", "given", "probability"])

    def summary(self) -> Summary:
        """Return how large the network is, and what depends on what."""
        free = sum((len(table) - 1) * table[0].size for table in self.tables.values())
        facts = {
            "Attributes": str(len(self.domain)),
            "Edges": str(len(self.edges)),
            "Free parameters": f"{free:,}",
            "Probabilities of 0": f"{sum(int((table == 0).sum()) for table in self.tables.values()):,}",
            "Dependence": [f"{name} | {', '.join(own)}" if own else f"{name}" for name, own in self.parents.items()],
        }
        return summary_of_facts(_TITLE, facts, ["An attribute depends on those behind the bar."])

    @property
    def headline(self) -> str:
        """How large it is."""
        return in_numbers(len(self.domain), len(self.edges))

    def picture(self) -> NetworkGraph:
        """Return its graph, with edges as wide as the mutual information of their ends."""
        edges = tuple(DrawnEdge(*edge, self._information(edge), arrow=True) for edge in sorted(self.edges))
        return NetworkGraph(_TITLE, (), self.domain.names, edges, "mutual information {} nats", "from parent to child")

    def _information(self, edge: Edge) -> float:
        """Return the mutual information of two attributes in nats; nan where that takes too large tables."""
        try:
            return float(plug_in_information(self.joint(edge)))
        except LdpstatsError:
            return math.nan

    def _family(self, name: str) -> Domain:
        return self.domain.project((name, *self.parents[name]))


def in_numbers(attributes: int, edges: int) -> str:
    """Return the size of a network in words, such as '3 attributes, 1 edge'."""
    return f"{attributes} attribute{'s' * (attributes != 1)}, {edges} edge{'s' * (edges != 1)}"


def _with_parents(network: BayesianNetwork, name: str, parents: tuple[str, ...]) -> FloatArray:
    """Return the table of an attribute with its parents in another order."""
    own = network.parents[name]
    return network.tables[name].transpose([0, *(1 + own.index(parent) for parent in parents)])


def rescaled(name: str, table: FloatArray) -> FloatArray:
    """Divide a table of coarsely rounded probabilities by its sums along the first axis; keep one of seven digits.

    Sums that are not within 0.01 of one are refused.
    """
    with np.errstate(over="ignore"):
        sums = table.sum(axis=0)
    off = np.abs(sums - 1)
    for wrong in sums[~(off <= _COARSE_ROUNDING)][:1]:
        raise LdpstatsError(
            f"probabilities of {name!r} that add up to {wrong:.6g}",
            f"probabilities that add up to one, but for a rounding of up to {_COARSE_ROUNDING:g}",
        )
    return np.where(off > _ROUNDING, table / sums, table)


def network_of_bif(text: str) -> BayesianNetwork:
    """Return the network that a text in the interchange format BIF describes."""
    categories, parents, tables = read_bif(text)
    if not categories:
        raise LdpstatsError("a BIF file without variables", "one variable or more, each with its probabilities")
    return BayesianNetwork(Domain(categories), parents, {name: rescaled(name, table) for name, table in tables.items()})


def _of_every_attribute(given: Any, what: str, domain: Domain) -> dict[str, Any]:
    """Return a mapping in the order of the domain; refuse one whose keys are not its attributes."""
    if not isinstance(given, Mapping) or set(given) != set(domain.names):
        came = one_line(list(given)) if isinstance(given, Mapping) else f"type {type(given).__name__}"
        raise LdpstatsError(f"{what} of {came}", f"a mapping with the {what} of each of {one_line(domain.names)}")
    return {name: given[name] for name in domain.names}


def _checked_parents(name: str, given: Any, domain: Domain) -> tuple[str, ...]:
    own = listed(given)
    known = all(isinstance(parent, str) for parent in own) and {*own} <= {*domain.names}
    # the axes of a table have an order, which a set has not
    if isinstance(given, AbstractSet) or not known or len({*own, name}) <= len(own):
        raise LdpstatsError(
            f"the parents {shortened(given)} of {name!r}", "a tuple of different other attributes of the domain"
        )
    return tuple(map(str, own))


def _checked_table(name: str, given: Any, shape: tuple[int, ...]) -> FloatArray:
    table = real_array(given, f"the table of {name!r}")
    if table.shape != shape:
        raise LdpstatsError(
            f"the table of {name!r} of shape {table.shape}",
            f"shape {shape}: an axis for its own categories, then one for those of each parent",
        )
    if not are_shares(table, axis=0):
        with np.errstate(over="ignore"):
            sums = table.sum(axis=0)
        raise LdpstatsError(
            f"the table of {name!r} with entries from {table.min():.6g} to {table.max():.6g} and sums from "
            f"{sums.min():.8g} to {sums.max():.8g}",
            "probabilities that are not negative and add up to one along the first axis",
        )
    table.setflags(write=False)
    return table


def with_ancestors(parents: Mapping[str, Sequence[str]], names: Iterable[str]) -> set[str]:
    """Return attributes with all that they depend on: what leads to none of them sums to one."""
    reached, waiting = set[str](), list(names)
    while waiting:
        reached.add(name := waiting.pop())
        waiting += set(parents[name]) - reached
    return reached


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
    cells = {name: math.prod(sizes[neighbour] for neighbour in near[name]) for name in near if name not in of}
    while cells:
        name = min(cells, key=lambda candidate: (cells[candidate] // sizes[candidate], candidate))
        refuse_too_many_cells(cells.pop(name), f"what summing {name!r} out takes: a table")
        around = near.pop(name) - {name}
        touched = [factor for factor in left if name in factor[0]]
        left = [factor for factor in left if name not in factor[0]]
        left.append((sorted(around), _multiplied(touched, sorted(around))))
        for neighbour in around:
            near[neighbour] = (near[neighbour] | around) - {name}
            if neighbour in cells:
                cells[neighbour] = math.prod(sizes[other] for other in near[neighbour])
    return _multiplied(left, of)


def _multiplied(factors: Sequence[tuple[Sequence[str], FloatArray]], kept: Sequence[str]) -> FloatArray:
    """Multiply tables, and sum out what is not kept; further axes are those of many networks."""
    # tables that are not refused have far fewer axes than there are letters
    letters = dict(zip(dict.fromkeys(name for axes, _ in factors for name in axes), ascii_letters, strict=False))
    terms = ["".join(map(letters.__getitem__, axes)) + "..." * (table.ndim > len(axes)) for axes, table in factors]
    formed = "".join(map(letters.__getitem__, kept)) + "..." * any("." in term for term in terms)
    tables = (table for _, table in factors)
    product: FloatArray = np.einsum(f"{','.join(terms)}->{formed}", *tables, optimize="greedy")
    return product
