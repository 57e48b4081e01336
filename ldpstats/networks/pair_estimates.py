"""Pairs of attributes as all tables of a set estimate them: each report once, margins pooled over every table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.blocks import Block
from ldpstats.consistency.redrawn import redrawn_estimates
from ldpstats.domain import Domain
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.limits import LARGEST_JOINT, refuse_too_many_cells
from ldpstats.networks.structure import Edge
from ldpstats.presentation import progress
from ldpstats.tables import Table
from ldpstats.tables.shared import as_reported, overlapping
from ldpstats.tables.stacked import Contribution, Stacked, linear_estimate

# singular values below this share of the largest are rounding
_SAME = 1e-10


class ReportLaw:
    """How much what a table says about some attributes varies per report, given their frequencies.

    It is shared by tables that ask the same. It is known at the estimate only, where there are no reports about these
    attributes, or where what these say by themselves is another estimate than that of the whole table, added up: a
    parity of the bits of three attributes says something about two of them, unless their categories fill all bits.
    """

    def __init__(self, table: Table, marginal: Table) -> None:
        self.blocks = _with_reports(marginal)
        self.n = marginal.n
        sums = np.eye(marginal.domain.size())[table.domain.onto(marginal.attributes)]
        self._pooling = _pooling_to(table.unbiased.estimate @ sums, self.blocks)
        self._fixed = None if self._pooling else self.n * (sums.T @ linear_estimate(table)[1] @ sums)
        cells = marginal.domain.size()
        # of the weights: they depend on what was asked, not on the answers
        self.noise = max(float(np.trace(self.covariance(np.full(cells, 1 / cells)))), 1 / self.n)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance of the estimate of n reports, for frequencies of shape (..., cells)."""
        if self._fixed is not None:
            return np.broadcast_to(self._fixed, (*frequencies.shape[:-1], *self._fixed.shape))
        assert self._pooling is not None  # one of the two there is
        return self.n * self._pooling.covariance(frequencies)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one table tells about some of its attributes.

    Parameters
    ----------
    table : int
        Its place.
    of_cell : array of int
        The sum that every cell belongs to.
    n : int
        The reports about them.
    law : ReportLaw
        Of these sums.
    blocks : tuple of Block
        The reports about them; none where those cannot be added up.
    """

    table: int
    of_cell: IntArray
    n: int
    law: ReportLaw
    blocks: tuple[Block, ...]

    @property
    def weight(self) -> float:
        """Its weight in a mean: the inverse of its variance, were all answers equally frequent."""
        return self.n / self.law.noise


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What tables without common respondents tell about the same attributes, in a weighted mean.

    Parameters
    ----------
    domain : Domain
        The attributes.
    parts : tuple of Part
    """

    domain: Domain
    parts: tuple[Part, ...]

    @property
    def n(self) -> int:
        """The reports."""
        return sum(part.n for part in self.parts)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return sum(part.weight for part in self.parts)

    def among(self, places: Collection[int], *, inside: bool) -> Pool:
        """Return the parts that are from tables at some places, or those that are not."""
        return Pool(self.domain, tuple(part for part in self.parts if (part.table in places) is inside))

    def total(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Return the weighted sum of what the tables' estimates come to, shape (sets, cells); 0 without any."""
        size = self.domain.size()
        return sum(
            (part.weight * estimates[part.table] @ np.eye(size)[part.of_cell] for part in self.parts), np.zeros(())
        )

    def mean(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Return the estimates, shape (sets, cells)."""
        return self.total(estimates) / self.weight

    def squares(self) -> dict[ReportLaw, float]:
        """Return what the covariance of a report is to be multiplied by, for every law."""
        found: dict[ReportLaw, float] = defaultdict(float)
        weight = self.weight
        for part in self.parts:
            found[part.law] += (part.weight / weight) ** 2 / part.n
        return found

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance of the estimate, if these were the frequencies, shape (..., cells)."""
        return sum((share * law.covariance(frequencies) for law, share in self.squares().items()), np.zeros(()))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All reports as reports about these attributes; none where some cannot be added up to them."""
        known = all(part.blocks for part in self.parts)
        return tuple(block for part in self.parts for block in part.blocks) if known else ()


@dataclass(frozen=True, slots=True, eq=False)
class PairEstimates:
    """Estimates of pairs of attributes, in one or several sets of tables.

    Parameters
    ----------
    margins : mapping
        The shares of every attribute's categories, pooled and made proper, shape (sets, categories).
    cells : tuple of array, shape (sets, cells)
        By pair, given what all other tables say about its margins.
    covariances : tuple of array, shape (sets, cells, cells)
    own : tuple of array, shape (sets, cells)
        From the reports about the pair alone.
    """

    margins: Mapping[str, FloatArray]
    cells: tuple[FloatArray, ...]
    covariances: tuple[FloatArray, ...]
    own: tuple[FloatArray, ...]

    def of(self, pair: Edge) -> tuple[FloatArray, FloatArray]:
        """Return the margins of a pair."""
        return self.margins[pair[0]], self.margins[pair[1]]


@dataclass(frozen=True, eq=False)
class PairSources:
    """Which tables tell about which pairs of attributes.

    A pair is estimated from all tables that hold it, as far as nobody is behind two of them. What they say of its
    margins is combined with what all other tables say, by generalized least squares: as the law of the cells given
    the margins, were all of them normal. Tables that share respondents with another one about the same attribute are
    left out of these margins. (The margins of two attributes may be from the same respondents, as in a whole view. What
    that gives them in common is left out; where the attributes are independent it is nothing.)

    Parameters
    ----------
    domain : Domain
    tables : tuple of Table
        As they were collected.
    holding : mapping
        By pair, in the order of the domain: the places of the tables that hold it.
    pools : mapping
        By pair, in the same order: what is read from them.
    margins : mapping
        By attribute: tables of which none shares respondents with another one about it; attributes without any are left
        out.
    shown : mapping
        By attribute: the same, or else one table.
    """

    domain: Domain
    tables: tuple[Table, ...]
    holding: Mapping[Edge, Collection[int]]
    pools: Mapping[Edge, Pool]
    margins: Mapping[str, Pool]
    shown: Mapping[str, Pool]

    @classmethod
    def of(cls, domain: Domain, tables: Iterable[Table]) -> PairSources:
        """Find out what tables tell."""
        known = sorted((one for one in map(as_reported, tables) if _identifies_cells(one)), key=_rank)
        common: dict[int, set[int]] = defaultdict(set)
        for one, other in overlapping(known):
            common[one].add(other)
            common[other].add(one)
        parts = _PartsOfTables(domain, known)
        about = {name: [place for place, one in enumerate(known) if name in one.attributes] for name in domain.names}
        alone = {name: [one for one in places if common[one].isdisjoint(places)] for name, places in about.items()}
        both = {pair: [one for one in about[pair[0]] if pair[1] in known[one].attributes] for pair in _pairs(domain)}
        holding = {pair: places for pair, places in both.items() if places}
        for pair in holding:  # their covariances are handled as a whole
            refuse_too_many_cells(domain.size(pair), f"{' and '.join(pair)} together: a table", LARGEST_JOINT)
        pools = {pair: parts.pool(_without_common(places, common), pair) for pair, places in holding.items()}
        shown = progress(alone.items(), "adding tables up", unit="attribute")
        margins = {name: parts.pool(places, (name,)) for name, places in shown if places}
        single = {name: parts.pool(places[:1], (name,)) for name, places in about.items() if places}
        return cls(domain, tuple(known), holding, pools, margins, single | margins)

    @property
    def missing(self) -> tuple[Edge, ...]:
        """The pairs that no table tells about."""
        return tuple(pair for pair in _pairs(self.domain) if pair not in self.pools)

    def has_margins(self, pair: Edge) -> bool:
        """Say whether tables beside those of a pair tell the margins of both attributes."""
        pools = [self.margins.get(name) for name in pair]
        return all(pool is not None and pool.among(self.holding[pair], inside=False).parts for pool in pools)

    @cached_property
    def share_respondents(self) -> bool:
        """Whether anybody is behind two of the tables."""
        return bool(overlapping(self.tables))

    @property
    def observed(self) -> list[FloatArray]:
        """The tables' estimates, shape (1, cells) each."""
        return [table.unbiased.estimate[None, :] for table in self.tables]

    def redrawn(self, size: int, rng: np.random.Generator) -> list[FloatArray]:
        """Draw so many sets like these tables, and estimate them; tables with common respondents are drawn together."""
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph(overlapping(self.tables).keys())
        graph.add_nodes_from(range(len(self.tables)))
        found: dict[int, FloatArray] = {}
        for places in sorted(map(sorted, nx.connected_components(graph))):
            tables = [self.tables[place] for place in places]
            found.update(zip(places, _redrawn(tables, size, rng), strict=True))
        return [found[place] for place in range(len(self.tables))]

    def estimated(self, estimates: Sequence[FloatArray]) -> PairEstimates:
        """Estimate all pairs from the estimates of all tables."""
        margins = {name: proper_shares(pool.mean(estimates), pool.n) for name, pool in self.shown.items()}
        others = _OtherTables(self.margins, estimates, margins)
        cells, covariances, owns = [], [], []
        for pair, pool in self.pools.items():
            own = pool.mean(estimates)
            given, spread = own, pool.covariance(own)
            for name in pair:
                known = others.about(name, self.holding[pair])
                if known is not None:
                    sums = np.eye(known[0].shape[-1])[pool.domain.onto([name])]
                    given, spread = _given_sums(given, spread, sums, *known)
            cells.append(given)
            covariances.append(spread)
            owns.append(own)
        return PairEstimates(margins, tuple(cells), tuple(covariances), tuple(owns))


class _PartsOfTables:
    """Parts of tables, whose laws are worked out once for all that ask the same."""

    def __init__(self, domain: Domain, tables: Sequence[Table]) -> None:
        self._domain, self._tables = domain, tables
        self._laws: dict[Hashable, ReportLaw] = {}

    def pool(self, places: Iterable[int], names: tuple[str, ...]) -> Pool:
        """Return what tables at some places tell about some attributes."""
        return Pool(self._domain.project(names), tuple(self._part(place, names) for place in places))

    def _part(self, place: int, names: tuple[str, ...]) -> Part:
        table = self._tables[place]
        marginal = table.marginal(names)
        blocks = _with_reports(marginal)
        alike = (names, blocks[0].asked) if len(blocks) == len(_with_reports(table)) == 1 else (names, place)
        if alike not in self._laws:
            self._laws[alike] = ReportLaw(table, marginal)
        return Part(place, table.domain.onto(names), marginal.n, self._laws[alike], blocks)


def _pooling_to(estimate: FloatArray, blocks: Sequence[Block]) -> UnbiasedPooling | None:
    """Return the pooling of blocks, if it comes to an estimate."""
    if not blocks:
        return None
    pooling = UnbiasedPooling(blocks)
    return pooling if np.allclose(pooling.estimate([one.tally.counts for one in blocks]), estimate) else None


def _with_reports(table: Table) -> tuple[Block, ...]:
    return tuple(block for block in table.blocks if block.n)


class _OtherTables:
    """What all tables but some say about each attribute."""

    def __init__(
        self, pools: Mapping[str, Pool], estimates: Sequence[FloatArray], margins: Mapping[str, FloatArray]
    ) -> None:
        self._pools, self._estimates = pools, estimates
        self._totals = {name: pool.total(estimates) for name, pool in pools.items()}
        self._spreads = {
            name: {law: law.covariance(margins[name]) for law in pool.squares()} for name, pool in pools.items()
        }

    def about(self, name: str, left: Collection[int]) -> tuple[FloatArray, FloatArray] | None:
        """Return the shares of an attribute's categories without the tables at some places, and their covariance."""
        pool = self._pools.get(name)
        rest = None if pool is None else pool.among(left, inside=False)
        if pool is None or rest is None or not rest.parts:
            return None
        shares = (self._totals[name] - pool.among(left, inside=True).total(self._estimates)) / rest.weight
        spread = np.sum([share * self._spreads[name][law] for law, share in rest.squares().items()], axis=0)
        return shares, spread


def _given_sums(
    cells: FloatArray, covariance: FloatArray, sums: FloatArray, known: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Combine estimates with what is known about sums of their cells, and return them with their new covariance."""
    with_sums = covariance @ sums
    of_sums = np.swapaxes(sums, -1, -2) @ with_sums + spread
    gain = with_sums @ np.linalg.pinv(of_sums, rcond=_SAME, hermitian=True)
    moved = cells + (gain @ (known - cells @ sums)[..., None])[..., 0]
    return moved, covariance - gain @ np.swapaxes(with_sums, -1, -2)


def proper_shares(estimate: FloatArray, n: int) -> FloatArray:
    """Return estimated shares as proper ones, none of them below that of half a respondent."""
    kept = np.maximum(estimate, 1 / (2 * n))
    shares: FloatArray = kept / kept.sum(axis=-1, keepdims=True)
    return shares


def _redrawn(tables: Sequence[Table], size: int, rng: np.random.Generator) -> list[FloatArray]:
    """Draw tables that have respondents in common, or a single one."""
    if len(tables) == 1:
        return redrawn_estimates(tables, tables[0].domain, size, rng)[0]
    sizes = [table.domain.size() for table in tables]
    ends = np.cumsum([0, *sizes])
    parts = [Contribution(np.arange(end - own, end), np.eye(own)) for own, end in zip(sizes, ends[1:], strict=True)]
    estimates = np.concatenate([linear_estimate(table)[0] for table in tables])
    covariance = Stacked.of(tables).covariance_of(parts, int(ends[-1]))
    return np.split(rng.multivariate_normal(estimates, covariance, size=size, method="eigh"), ends[1:-1], axis=1)


def _identifies_cells(table: Table) -> bool:
    """Say whether reports tell all cells of a table."""
    try:
        return table.n > 0 and bool(np.isfinite(table.unbiased.estimate).all())
    except NotIdentifiedError:
        return False


def _rank(table: Table) -> tuple[int, int, tuple[str, ...]]:
    """Return what tables are sorted by: those with most reports come first."""
    return -table.n, table.domain.size(), tuple(sorted(table.attributes))


def _without_common(places: Iterable[int], common: Mapping[int, Collection[int]]) -> list[int]:
    """Take tables one after the other as long as they share respondents with none before."""
    taken: list[int] = []
    for place in places:
        if not any(one in common.get(place, ()) for one in taken):
            taken.append(place)
    return taken


def _pairs(domain: Domain) -> combinations[Edge]:
    return combinations(domain.names, 2)
