"""Pairs of attributes as all tables of a set estimate them: each report once, margins pooled over every table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.reconstruction_methods import redrawn_estimates
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.limits import LARGEST_JOINT, refuse_too_many_cells
from ldpstats.networks.interactions import ErrorAxes, Margins, PairErrors, even_law, interactions_of
from ldpstats.networks.structure import Edge
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import progress
from ldpstats.tables import Table
from ldpstats.tables.shared import Contribution, Stacked, as_reported, overlapping

# singular values below this share of the largest are rounding
_SAME = 1e-10
# so many numbers of pairs that are estimated together are handled at once, for each set
_AT_ONCE = 1 << 16
# interactions of which the whole covariance takes less time than its structure
_FEW = 64


class ReportLaw:
    """The covariance per report of what a table says about some attributes, given their frequencies.

    It is shared by tables that ask the same. It is known at the estimate only, where there are no reports about these
    attributes, or where what these say by themselves is another estimate than that of the whole table, added up: a
    parity of the bits of three attributes says something about two of them, unless their categories fill all bits.
    """

    def __init__(self, table: Table, marginal: Table) -> None:
        self.blocks = _with_reports(marginal)
        self.n = marginal.n
        sums = np.eye(marginal.domain.size())[table.domain.onto(marginal.attributes)]
        pooling = UnbiasedPooling(self.blocks) if self.blocks else None
        added = table.unbiased.estimate @ sums
        alike = pooling and np.allclose(pooling.estimate([block.tally.counts for block in self.blocks]), added)
        self._pooling = pooling if alike else None
        self.even = even_law(self.blocks) if self._pooling else None
        self._fixed = None if self._pooling else self.n * (sums.T @ table.linear[1] @ sums)
        cells = marginal.domain.size()
        # of the weights: they depend on what was asked, not on the answers
        self.noise = max(float(np.trace(self.covariance(np.full(cells, 1 / cells)))), 1 / self.n)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance of the estimate of n reports, at frequencies of shape (..., cells)."""
        if self._fixed is not None:
            return np.broadcast_to(self._fixed, (*frequencies.shape[:-1], *self._fixed.shape))
        assert self._pooling is not None  # one of the two there is
        return self.n * self._pooling.covariance(frequencies)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one table, known by its index, tells about some of its attributes."""

    table: int
    of_cell: IntArray  # the marginal sum that every cell belongs to
    n: int  # reports about them
    law: ReportLaw
    blocks: tuple[Block, ...]  # none where reports cannot be added up

    @property
    def weight(self) -> float:
        """Its weight in a mean: the inverse of its variance, were all answers equally frequent."""
        return self.n / self.law.noise


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What tables without common respondents tell about the same attributes, in a weighted mean."""

    domain: Domain
    parts: tuple[Part, ...]

    @property
    def n(self) -> int:
        """The number of reports."""
        return sum(part.n for part in self.parts)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return sum(part.weight for part in self.parts)

    def among(self, tables: Collection[int], *, inside: bool) -> Pool:
        """Return the parts from tables with some indices, or (not `inside`) all others."""
        return Pool(self.domain, tuple(part for part in self.parts if (part.table in tables) is inside))

    def total(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Return the weighted sum of the tables' estimates of these attributes, shape (sets, cells); 0 without any."""
        size, total = self.domain.size(), np.zeros(())
        for part in self.parts:
            estimate = estimates[part.table]
            same = part.of_cell.size == size
            total = total + part.weight * (
                estimate[:, np.argsort(part.of_cell)] if same else estimate @ np.eye(size)[part.of_cell]
            )
        return total

    def mean(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Return the pooled estimates, shape (sets, cells)."""
        return self.total(estimates) / self.weight

    def squares(self) -> dict[ReportLaw, float]:
        """Return the factor of every law's covariance per report in that of the mean."""
        factors: dict[ReportLaw, float] = defaultdict(float)
        weight = self.weight
        for part in self.parts:
            factors[part.law] += (part.weight / weight) ** 2 / part.n
        return factors

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance of the mean, if these were the frequencies, shape (..., cells)."""
        return self.added(lambda law: law.covariance(frequencies))

    def added(self, covariance_of: Callable[[ReportLaw], FloatArray]) -> FloatArray:
        """Return the covariance of the mean, given that of a report by its law."""
        return sum((share * covariance_of(law) for law, share in self.squares().items()), np.zeros(()))

    @property
    def even(self) -> FloatArray | None:
        """The even law of the mean, see `even_law`; None unless all reports treat all cells alike."""
        squares = self.squares()
        known = [share * law.even for law, share in squares.items() if law.even is not None]
        return np.sum(known, axis=0) if len(known) == len(squares) else None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All reports as reports about these attributes; none where some cannot be added up to them."""
        known = all(part.blocks for part in self.parts)
        return tuple(block for part in self.parts for block in part.blocks) if known else ()


@dataclass(frozen=True, slots=True, eq=False)
class PairEstimates:
    """Estimates of pairs of attributes of one shape, in one or several sets of tables."""

    pairs: tuple[Edge, ...]
    pools: tuple[Pool, ...]  # their attributes are those of the rows and of the columns
    margins: Margins  # pooled and proper shares, shape (pairs, sets, categories)
    own: FloatArray  # by reports about the pairs alone, shape (pairs, sets, rows, columns)
    seen: ErrorAxes  # their interactions, given what all other tables say about the margins
    # covariances (arrays or PairErrors) of margins that other tables tell; None, if their own reports do
    errors: tuple[Any, Any] | None
    even: FloatArray | None = None  # even laws of the own reports, if any: shape (pairs, 1, 5)


@dataclass(frozen=True, eq=False)
class PairSources:
    """Which tables tell about which pairs of attributes, and about their margins.

    A pair is estimated from all tables that hold it, as far as nobody is behind two of them. What they say of its
    margins is combined with what all other tables say, by generalized least squares: as the law of the cells given the
    margins, were all of them normal. Tables that share respondents with another one about the same attribute are left
    out of these margins. (The margins of two attributes may be from the same respondents, as in a whole view. What that
    gives them in common is left out; where the attributes are independent it is nothing.)
    """

    domain: Domain
    tables: tuple[Table, ...]  # as they were collected
    common: Mapping[int, Collection[int]]  # by the index of a table, those that share respondents with it
    holding: Mapping[Edge, Collection[int]]  # the indices of the tables that hold a pair
    pools: Mapping[Edge, Pool]  # in the order of `holding`
    # of tables that share no respondents about the attribute; it is left out if there are none
    margins: Mapping[str, Pool]
    shown: Mapping[str, Pool]  # the same, or else one table

    @classmethod
    def of(cls, domain: Domain, tables: Iterable[Table]) -> PairSources:
        """Find out what tables tell about pairs."""
        # tables with most reports first
        known = sorted(
            (table for table in map(as_reported, tables) if _identifies_cells(table)),
            key=lambda table: (-table.n, table.domain.size(), sorted(table.attributes)),
        )
        common: dict[int, set[int]] = defaultdict(set)
        for index, other in overlapping(known):
            common[index].add(other)
            common[other].add(index)
        about = {
            name: [index for index, table in enumerate(known) if name in table.attributes] for name in domain.names
        }
        alone = {
            name: [index for index in holders if common[index].isdisjoint(holders)] for name, holders in about.items()
        }
        laws: dict[Hashable, ReportLaw] = {}
        holding: dict[Edge, list[int]] = {}
        pools: dict[Edge, Pool] = {}
        for pair in combinations(domain.names, 2):
            holders = [index for index in about[pair[0]] if pair[1] in known[index].attributes]
            if holders:
                # their covariances are handled as a whole
                refuse_too_many_cells(domain.size(pair), f"{' and '.join(pair)} together: a table", LARGEST_JOINT)
                taken: list[int] = []
                for index in holders:
                    if common[index].isdisjoint(taken):
                        taken.append(index)
                # the attribute with more categories comes first: its rows are the blocks of `PairErrors`
                first, second = (domain.size([name]) for name in pair)
                holding[pair] = holders
                pools[pair] = _pooled(domain, known, taken, pair[:: -1 if first < second else 1], laws)
        shown = progress(alone.items(), "adding tables up", unit="attribute")
        margins = {name: _pooled(domain, known, holders, (name,), laws) for name, holders in shown if holders}
        single = {
            name: _pooled(domain, known, holders[:1], (name,), laws) for name, holders in about.items() if holders
        }
        return cls(domain, tuple(known), common, holding, pools, margins, single | margins)

    @property
    def missing(self) -> tuple[Edge, ...]:
        """The pairs that no table tells about."""
        return tuple(pair for pair in combinations(self.domain.names, 2) if pair not in self.pools)

    @property
    def observed(self) -> list[FloatArray]:
        """The tables' estimates, shape (1, cells) each."""
        return [table.unbiased.estimate[None, :] for table in self.tables]

    def redrawn(self, size: int, rng: np.random.Generator) -> list[FloatArray]:
        """Draw so many sets like these tables, and estimate them; tables with common respondents are drawn together."""
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph((index, other) for index, others in self.common.items() for other in others)
        graph.add_nodes_from(range(len(self.tables)))
        redrawn: dict[int, FloatArray] = {}
        for indices in sorted(map(sorted, nx.connected_components(graph))):
            tables = [self.tables[index] for index in indices]
            if len(tables) == 1:
                (redrawn[indices[0]],), *_ = redrawn_estimates(tables, tables[0].domain, size, rng)
                continue
            ends = np.cumsum([0, *(table.domain.size() for table in tables)])
            parts = [Contribution(np.arange(start, end), np.eye(end - start)) for start, end in pairwise(ends.tolist())]
            estimates = np.concatenate([table.linear[0] for table in tables])
            covariance = Stacked.of(tables).covariance_of(parts, int(ends[-1]))
            drawn = rng.multivariate_normal(estimates, covariance, size=size, method="eigh")
            redrawn.update(zip(indices, np.split(drawn, ends[1:-1], axis=1), strict=True))
        return [redrawn[index] for index in range(len(self.tables))]

    @cached_property
    def _groups(self) -> list[list[_Source]]:
        """The pairs that are estimated together: of one shape, with margins told by other tables or not."""
        alike: dict[Hashable, list[_Source]] = defaultdict(list)
        for pair, pool in self.pools.items():
            beside: list[tuple[Pool, Pool] | None] = []
            for name in pool.domain.names:
                whole = self.margins.get(name)
                own, others = (whole and whole.among(self.holding[pair], inside=inside) for inside in (True, False))
                beside.append((own, others) if own and others and others.parts else None)
            shown = [self.shown[name] for name in pool.domain.names]
            telling = (pool, *(both and both[1] for both in beside), *shown)
            laws = [pooled.even if pooled else np.zeros(5) for pooled in telling]
            even = None if any(law is None for law in laws) else np.stack([law for law in laws if law is not None])
            kind = pair if even is None else (pool.domain.shape, *map(bool, beside))
            alike[kind].append(_Source(pair, pool, beside, shown, even))
        groups = []
        for sources in alike.values():
            step = max(1, _AT_ONCE // (sources[0].pool.domain.size() * sources[0].pool.domain.shape[1]))
            groups += [sources[start : start + step] for start in range(0, len(sources), step)]
        return groups

    def estimated(self, estimates: Sequence[FloatArray]) -> list[PairEstimates]:
        """Estimate all pairs from the estimates of all tables."""
        # each category has at least the share of half a respondent
        kept = {name: np.maximum(pool.mean(estimates), 1 / (2 * pool.n)) for name, pool in self.shown.items()}
        margins = {name: shares / shares.sum(axis=-1, keepdims=True) for name, shares in kept.items()}
        totals = {name: pool.total(estimates) for name, pool in self.margins.items()}
        # of pairs without structure: many share what other tables tell about their margins
        covariance_of = cache(lambda name, law: law.covariance(margins[name]))
        return [_estimated(group, estimates, margins, totals, covariance_of) for group in self._groups]


def _pooled(
    domain: Domain,
    tables: Sequence[Table],
    indices: Iterable[int],
    names: tuple[str, ...],
    laws: dict[Hashable, ReportLaw],
) -> Pool:
    """Return what tables with some indices tell about some attributes; laws are those of all that ask the same."""
    parts = []
    for index in indices:
        table, marginal = tables[index], tables[index].marginal(names)
        blocks = _with_reports(marginal)
        alike = (names, blocks[0].asked) if len(blocks) == len(_with_reports(table)) == 1 else (names, index)
        if alike not in laws:
            laws[alike] = ReportLaw(table, marginal)
        parts.append(Part(index, table.domain.onto(names), marginal.n, laws[alike], blocks))
    return Pool(domain.project(names), tuple(parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """The reports and margins that a pair is estimated from."""

    pair: Edge
    pool: Pool
    # what its tables, and all others, tell about each margin; None without others
    beside: Sequence[tuple[Pool, Pool] | None]
    shown: Sequence[Pool]  # the margins by all tables
    # even laws of the pair, of margins by others, and of margins by all tables, shape (5, 5); None where some reports
    # treat cells differently, so that their covariances have no structure
    even: FloatArray | None


def _estimated(
    group: Sequence[_Source],
    estimates: Sequence[FloatArray],
    margins: Mapping[str, FloatArray],
    totals: Mapping[str, FloatArray],
    covariance_of: Callable[[str, ReportLaw], FloatArray],
) -> PairEstimates:
    """Estimate pairs of one shape, by the structure of their covariances, or a single one that has none."""
    names = list(zip(*(source.pool.domain.names for source in group), strict=True))
    rows, columns = (np.stack([margins[name] for name in side]) for side in names)
    own = np.stack([source.pool.mean(estimates).reshape(-1, *source.pool.domain.shape) for source in group])
    known: list[FloatArray | None] = []
    for side, of_side in enumerate(names):
        told = [(name, source.beside[side]) for name, source in zip(of_side, group, strict=True)]
        others = [(totals[name] - both[0].total(estimates)) / both[1].weight for name, both in told if both]
        known.append(np.stack(others) if others else None)
    pairs, pools = tuple(source.pair for source in group), tuple(source.pool for source in group)
    if group[0].even is None:
        seen, errors = _whole(group[0], own, known, (rows, columns), covariance_of)
        return PairEstimates(pairs, pools, (rows, columns), own, seen, errors if all(group[0].beside) else None)
    law, *laws = np.moveaxis(np.stack([source.even for source in group if source.even is not None]), 1, 0)[:, :, None]
    given, cell_errors = own, PairErrors.of(law, own)
    if known[0] is not None:
        given, cell_errors = cell_errors.given_rows(given, known[0], PairErrors.of(laws[0], rows[..., None]))
    if known[1] is not None:
        given, cell_errors = cell_errors.given_columns(
            given, known[1], PairErrors.of(laws[1], columns[..., None, :]).of_columns
        )
    seen = ErrorAxes.of(given, cell_errors, (rows, columns))
    seen = seen.alone if math.prod(seen.shape) <= _FEW else seen
    errors = PairErrors.of(laws[2], rows[..., None]), PairErrors.of(laws[3], columns[..., None, :]).of_columns
    return PairEstimates(pairs, pools, (rows, columns), own, seen, errors if all(group[0].beside) else None, law)


def _whole(
    source: _Source,
    own: FloatArray,
    known: Sequence[FloatArray | None],
    margins: Margins,
    covariance_of: Callable[[str, ReportLaw], FloatArray],
) -> tuple[ErrorAxes, tuple[Any, Any]]:
    """Return a pair's interactions by the whole covariance of its cells, and the covariances of its margins."""
    domain, given = source.pool.domain, own.reshape(*own.shape[:2], -1)
    covariance = source.pool.covariance(given)
    for name, margin, beside in zip(domain.names, known, source.beside, strict=True):
        if beside and margin is not None:
            # generalized least squares, given these sums of cells
            sums = np.eye(domain.size([name]))[domain.onto([name])]
            with_sums = covariance @ sums
            of_sums = sums.mT @ with_sums + beside[1].added(partial(covariance_of, name))
            gain = with_sums @ np.linalg.pinv(of_sums, rcond=_SAME, hermitian=True)
            given = given + (gain @ (margin - given @ sums)[..., None])[..., 0]
            covariance = covariance - gain @ with_sums.mT
    rows, columns = (
        pool.added(partial(covariance_of, name)) for name, pool in zip(domain.names, source.shown, strict=True)
    )
    return ErrorAxes.of_interactions(interactions_of(given, covariance, *margins)), (rows, columns)


def _with_reports(table: Table) -> tuple[Block, ...]:
    return tuple(block for block in table.blocks if block.n)


def _identifies_cells(table: Table) -> bool:
    """Say whether reports tell all cells of a table."""
    try:
        return table.n > 0 and bool(np.isfinite(table.unbiased.estimate).all())
    except NotIdentifiedError:
        return False
