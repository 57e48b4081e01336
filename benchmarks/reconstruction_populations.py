"""Populations and ways to collect them, for the study of tables nobody collected (reconstruction_coverage.py)."""

from __future__ import annotations

import string
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import ldpstats as ldp
from ldpstats.numbers.arrays import FloatArray

Group: TypeAlias = tuple[str, ...]
Counts: TypeAlias = NDArray[np.int64]
Margins: TypeAlias = tuple[tuple[float, ...], ...]

_EMPTIED = -4.5
_ROUNDS, _ROUNDING = 5_000, 1e-13


@dataclass(frozen=True, eq=False)
class Population:
    """True frequencies of a joint table.

    Parameters
    ----------
    name : str
    names : tuple of str
        The attributes.
    cells : array
        Their joint frequencies.
    """

    name: str
    names: Group
    cells: FloatArray

    @property
    def domain(self) -> ldp.Domain:
        """The attributes with their categories."""
        return ldp.Domain({name: range(size) for name, size in zip(self.names, self.cells.shape, strict=True)})

    def marginal(self, names: Group) -> FloatArray:
        """Return the frequencies of some attributes, in their order."""
        others = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        left = [name for name in self.names if name in names]
        return np.transpose(self.cells.sum(axis=others), [left.index(name) for name in names])


def log_linear(name: str, margins: Margins, interactions: Mapping[str, float], emptied: Group = ()) -> Population:
    """Return a population of given margins whose interactions are those that are named, and no others.

    Parameters
    ----------
    name : str
    margins : tuple of tuples of float
        Of the attributes a, b, c, ...
    interactions : mapping
        What the logarithms of cells gain or lose by a group of attributes: the strength times the product of the
        scores of their categories, which go from -1 to 1. That of three is nothing that pairs of them could show.
    emptied : tuple of str
        Pairs in which the last category of one hardly ever comes with the last one of the other.
    """
    names, shape = tuple(string.ascii_lowercase[: len(margins)]), tuple(map(len, margins))
    logarithm = np.zeros(shape)
    for group, strength in interactions.items():
        logarithm += strength * reduce(np.multiply.outer, _factors(names, shape, group, np.linspace))
    for pair in emptied:
        logarithm += _EMPTIED * reduce(np.multiply.outer, _factors(names, shape, pair, _last))
    return Population(name, names, _with_margins(np.exp(logarithm), margins))


def _factors(
    names: Group, shape: tuple[int, ...], group: str, scores: Callable[[float, float, int], FloatArray]
) -> list[FloatArray]:
    return [scores(-1, 1, size) if name in group else np.ones(size) for name, size in zip(names, shape, strict=True)]


def _last(_low: float, _high: float, size: int) -> FloatArray:
    return np.eye(size)[-1]


def _with_margins(cells: FloatArray, margins: Margins) -> FloatArray:
    """Give cells their margins by iterative proportional fitting, which leaves interactions as they are."""
    for _ in range(_ROUNDS):
        before = cells
        for axis, margin in enumerate(margins):
            others = tuple(place for place in range(len(margins)) if place != axis)
            cells = cells * np.expand_dims(np.array(margin) / cells.sum(axis=others), others)
        if np.abs(cells - before).max() < _ROUNDING:
            break
    return cells


def _even(*sizes: int) -> Margins:
    return tuple((1 / size,) * size for size in sizes)


# sex, race, marital status and income in the UCI Adult data, roughly
_SEX, _RACE, _STATUS, _INCOME = (0.67, 0.33), (0.85, 0.12, 0.03), (0.47, 0.44, 0.09), (0.76, 0.24)
_SKEWED = (_SEX, _RACE, _STATUS, _INCOME)
_CHAIN = {"ab": 0.7, "bc": 0.6, "cd": 0.7}
_PAIRS = {"ab": 0.4, "ac": -0.3, "ad": 0.3, "bc": 0.5, "bd": -0.3, "cd": 0.4}
_FIVE = (_SEX, (0.6, 0.3, 0.1), (0.7, 0.3), (0.8, 0.2), (0.5, 0.3, 0.2))
_ROUGH = ((0.5, 0.3, 0.2), (0.6, 0.25, 0.15), (0.5, 0.5))

HAIR_EYE_SEX = np.array(
    [
        [[32, 36], [11, 9], [10, 5], [3, 2]],
        [[53, 66], [50, 34], [25, 29], [15, 14]],
        [[10, 16], [10, 7], [7, 7], [7, 7]],
        [[3, 4], [30, 64], [5, 5], [8, 8]],
    ]
)
"""Hair (black, brown, red, blond), eyes (brown, blue, hazel, green) and sex (male, female) of 592 students: Snee, R. D.
(1974), Graphical display of two-way contingency tables, The American Statistician 28, 9-12; HairEyeColor in R."""


def _together_given(middle: tuple[float, ...], first: Margins, last: Margins) -> Population:
    """Return two attributes that are as dependent as they can be, given the middle one: at the limit of all bounds."""
    cells = np.zeros((2, len(middle), 2))
    for place, (share, one, other) in enumerate(zip(middle, first, last, strict=True)):
        both = min(one[0], other[0])
        cells[:, place] = share * np.array([[both, one[0] - both], [other[0] - both, 1 - one[0] - other[0] + both]])
    return Population("as dependent as can be", ("a", "b", "c"), cells)


def _students(name: str, *generators: tuple[int, ...]) -> Population:
    """Return the students, as a model of conditional independence given the second attribute, or of none, has them."""
    cells = HAIR_EYE_SEX / HAIR_EYE_SEX.sum()
    product = np.ones(cells.shape)
    for kept in generators:
        product = product * cells.sum(axis=tuple(axis for axis in range(3) if axis not in kept), keepdims=True)
    if len(generators) == 2:
        product = product / cells.sum(axis=(0, 2), keepdims=True)
    return Population(name, ("hair", "eye", "sex"), product)


POPULATIONS: Mapping[str, Population] = {
    one.name: one
    for one in (
        log_linear("even chain", _even(3, 2, 3, 2), _CHAIN),
        log_linear("even pairs", _even(2, 3, 2, 3), _PAIRS),
        log_linear("even triple", _even(2, 2, 2), {"ab": 0.5, "bc": 0.5, "ac": 0.3}),
        log_linear("strong chain", _even(2, 2, 2, 2), {"ab": 0.8, "bc": 1.2, "cd": 0.8}),
        log_linear("skewed chain", _SKEWED, _CHAIN),
        log_linear("skewed pairs", _SKEWED, _PAIRS),
        log_linear("skewed five", _FIVE, {**_CHAIN, "de": 0.5, "ae": 0.4}),
        log_linear("nearly empty", _ROUGH, {"ac": 0.4}, ("ab", "bc")),
        # not what pairs of attributes can show
        log_linear("exclusive or", _even(2, 2, 2), {"abc": 1.2}),
        log_linear("exclusive or, always", _even(2, 2, 2), {"abc": 20.0}),
        log_linear("three-way", ((0.6, 0.4), (0.5, 0.3, 0.2), (0.7, 0.3)), {"ab": 0.4, "bc": 0.4, "abc": 0.6}),
        # not what a chain of pairs can show
        log_linear("dependent given b", ((0.5, 0.5), (0.4, 0.6), (0.6, 0.4)), {"ab": 0.6, "bc": 0.6, "ac": 0.8}),
        log_linear("skewed, dependent", (_SEX, _STATUS, _INCOME), {"ab": 0.5, "bc": 0.5, "ac": 0.8}),
        _together_given((0.3, 0.5, 0.2), ((0.7, 0.3), (0.4, 0.6), (0.2, 0.8)), ((0.5, 0.5), (0.3, 0.7), (0.2, 0.8))),
        # true hypotheses
        _students("hair, eye, sex independent", (0,), (1,), (2,)),
        _students("hair and sex given eye", (0, 1), (1, 2)),
    )
}

Collecting: TypeAlias = Callable[[Population, Counts, float, np.random.Generator], ldp.TableSet]
"""From a population, its respondents by cell, ε and a generator to tables."""


def chain(names: Group) -> list[Group]:
    """Return every attribute with the next one."""
    return list(pairwise(names))


def triples(names: Group) -> list[Group]:
    """Return all sets of three attributes."""
    return list(combinations(names, 3))


def by(
    protocol: Callable[..., Any], groups: Callable[[Group], list[Group]] | None = None, **options: Any
) -> Collecting:
    """Return how to collect by one protocol, about some groups or all pairs."""

    def tables(population: Population, people: Counts, epsilon: float, rng: np.random.Generator) -> ldp.TableSet:
        about = {} if groups is None else {"groups": groups(population.names)}
        made: ldp.TableSet = protocol(population.domain, epsilon=epsilon, **about, **options).simulate(people, rng=rng)
        return made

    return tables


def merged(population: Population, people: Counts, epsilon: float, rng: np.random.Generator) -> ldp.TableSet:
    """Ask half of the people pairs by GRR, a third pairs by OUE at half of the level, and the others triples."""
    first, others = _split(people, 1 / 2, rng)
    second, third = _split(others, 2 / 3, rng)
    domain = population.domain
    pairs = ldp.SampledGroups(domain, epsilon=epsilon, mechanism="grr").simulate(first, rng=rng)
    again = ldp.SampledGroups(domain, epsilon=epsilon / 2, mechanism="oue").simulate(second, rng=rng)
    return pairs + again + ldp.SampledGroups(domain, epsilon=epsilon, k=3).simulate(third, rng=rng)


def _split(people: Counts, share: float, rng: np.random.Generator) -> tuple[Counts, Counts]:
    chosen = rng.binomial(people, share)
    return chosen, people - chosen


COLLECTIONS: Mapping[str, Collecting] = {
    "groups": by(ldp.SampledGroups),
    "groups, grr": by(ldp.SampledGroups, mechanism="grr"),
    "groups, oue": by(ldp.SampledGroups, mechanism="oue"),
    "groups, hr": by(ldp.SampledGroups, mechanism="hr"),
    "chain": by(ldp.SampledGroups, chain),
    "triples": by(ldp.SampledGroups, triples),
    "view": by(ldp.WholeView),
    "view, circle": by(ldp.WholeView, views=[[("a", "b"), ("c", "d")], [("b", "c"), ("a", "d")]]),
    "hadamard": by(ldp.HadamardCoefficients),
    "crossed": by(ldp.PerAttribute, k=2),
    "merged": merged,
}


class Drawn:
    """What one run collected, and what is made of it, once each."""

    def __init__(self, tables: ldp.TableSet) -> None:
        self.tables = tables
        self._made: dict[Group, ldp.Table] = {}

    @cached_property
    def consistent(self) -> ldp.TableSet:
        """The tables, made consistent."""
        return ldp.make_consistent(self.tables)

    def reconstructed(self, names: Group) -> ldp.Table:
        """Return the table of some attributes, put together from the collected ones."""
        if names not in self._made:
            self._made[names] = ldp.reconstruct(self.tables, names)
        return self._made[names]

    def consistent_margin(self, name: str) -> ldp.Table:
        """Return the margin of an attribute in the first consistent table that has it."""
        return next(one for one in self.consistent if name in one.attributes).marginal(name)


@dataclass(frozen=True)
class Setting:
    """A population, collected in one way, so many times."""

    population: str
    collection: str
    n: int
    epsilon: float
    runs: int

    @property
    def truth(self) -> Population:
        """The population."""
        return POPULATIONS[self.population]

    @property
    def asked(self) -> list[Group]:
        """The pairs that respondents are asked about, or that wider groups have."""
        names = self.truth.names
        if self.collection == "view, circle":
            return [*chain(names), ("a", "d")]
        return chain(names) if self.collection == "chain" else list(combinations(names, 2))

    @property
    def where(self) -> dict[str, object]:
        """Its columns in a table of results."""
        return {name: getattr(self, name) for name in ("population", "collection", "n", "epsilon")}

    def collections(self) -> Iterator[Drawn]:
        """Collect anew in every run, from respondents drawn anew; the setting alone decides about the seed."""
        rng = np.random.default_rng(zlib.crc32(repr(replace(self, runs=0)).encode()))
        cells = self.truth.cells
        for _ in range(self.runs):
            people = rng.multinomial(self.n, cells.ravel()).reshape(cells.shape)
            yield Drawn(COLLECTIONS[self.collection](self.truth, people, self.epsilon, rng))
