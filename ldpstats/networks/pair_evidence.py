"""Evidence of pairs: how strongly they are associated, whether that is more than noise, how often they are joined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import LinearPooling
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.inference.engine.evidence import BlockEvidence, Evidence
from ldpstats.inference.engine.monte_carlo import AmongMany, automatic
from ldpstats.inference.engine.null_model import DrawnTables, NullFit
from ldpstats.networks.interactions import (
    ErrorAxes,
    Interactions,
    Margins,
    PairErrors,
    cells_of,
    information_length,
    information_of,
    orthonormal_functions,
    posteriors,
    within_components,
)
from ldpstats.networks.pair_estimates import PairEstimates, PairSources, Pool
from ldpstats.networks.structure import Edge
from ldpstats.numbers.arrays import FloatArray, IntArray, at_least, kronecker
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet
from ldpstats.tables.shared import overlapping

# χ² of counts that are expected to be smaller is checked by Monte Carlo, where the p-value might matter
_FEW_REPORTS = 5
_MATTERS = 0.05
_EVEN = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class IndependenceAt:
    """Wald's statistic of independence, with the covariance at the product of margins that are given.

    With X and Y the functions that are orthonormal under these margins p and q, it is bᵀ V⁻¹ b for b = Xᵀ π̂ Y, whose
    covariance under independence is V. What margins that were pooled over other tables are wrong by enters as the
    product of two such errors, whose covariance is added to V: it is no little thing where the pair is known well, and
    other tables know the margins badly. Where they are the margins of the very reports that are tested (`own`), those
    of π̂ are taken off, b = Xᵀ (π̂ − π̂11ᵀπ̂) Y, and the covariance of that product is added to V.
    """

    functions: tuple[FloatArray, FloatArray]  # shapes (..., categories, functions)
    inverse: FloatArray  # V⁻¹, shape (..., df, df)
    own: bool
    pooling: LinearPooling | None = None  # of blocks, whose tallies Monte Carlo ranks

    @classmethod
    def of(
        cls, margins: Margins, covariance: FloatArray, *, own: bool, errors: Margins | None = None
    ) -> IndependenceAt:
        """Prepare the test, given margins, the covariances of their errors, and the covariance at their product."""
        first, second = (orthonormal_functions(shares) for shares in margins)
        both = kronecker(first, second)
        interaction_covariance = both.mT @ covariance @ both
        if own:
            rows, columns = (shares.shape[-1] for shares in margins)
            of_first = kronecker(first, np.ones((columns, 1)))
            of_second = kronecker(np.ones((rows, 1)), second)
            sides = [functions.mT @ covariance @ functions for functions in (of_first, of_second)]
            interaction_covariance = interaction_covariance + kronecker(*sides)
        elif errors:
            sides = [functions.mT @ error @ functions for functions, error in zip((first, second), errors, strict=True)]
            interaction_covariance = interaction_covariance + kronecker(*sides)
        return cls((first, second), np.linalg.pinv(interaction_covariance, hermitian=True), own)

    @property
    def df(self) -> int:
        """The degrees of freedom."""
        return int(self.inverse.shape[-1])

    def measure(self, estimates: FloatArray) -> FloatArray:
        """Return the statistics of estimated cells, shape (sets, cells)."""
        first, second = self.functions
        cells = estimates.reshape(*estimates.shape[:-1], first.shape[-2], second.shape[-2])
        if self.own:
            cells = cells - cells.sum(axis=-1, keepdims=True) * cells.sum(axis=-2, keepdims=True)
        interactions = first.mT @ cells @ second
        flat = interactions.reshape(*interactions.shape[:-2], 1, self.df)
        statistic: FloatArray = (flat @ self.inverse @ flat.mT)[..., 0, 0]
        return statistic

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Measure tallies; there is nothing to fit, and nothing to start near."""
        assert drawn is not None  # drawn tables
        assert isinstance(evidence, BlockEvidence)  # of these blocks
        assert self.pooling is not None
        at = np.broadcast_to(drawn.near, (len(evidence), drawn.near.size))
        statistic = self.measure(self.pooling.estimate(evidence.counts))
        return NullFit(at, at, statistic, np.ones(len(evidence), dtype=np.bool_))


def asymptotic_pvalues(
    pool: Pool, estimates: FloatArray, margins: Margins, *, own: bool, errors: Margins | None = None
) -> FloatArray:
    """Return the χ² p-values of one pair, one for each set of tables."""
    from scipy.special import chdtrc

    statistic = IndependenceAt.of(margins, pool.covariance(product_of(margins)), own=own, errors=errors)
    pvalues: FloatArray = chdtrc(statistic.df, np.maximum(statistic.measure(estimates), 0))
    return pvalues


def pvalues_of(estimates: PairEstimates) -> FloatArray:
    """Return the χ² p-values of pairs of one shape, shape (pairs, sets)."""
    from scipy.special import chdtrc

    own = estimates.errors is None
    if estimates.even is None:
        margins = estimates.margins[0][0], estimates.margins[1][0]
        flat = estimates.own.reshape(estimates.own.shape[1], -1)
        return asymptotic_pvalues(estimates.pools[0], flat, margins, own=own, errors=estimates.errors)[None]
    rows, columns = estimates.margins
    errors = PairErrors.of(estimates.even, rows[..., :, None] * columns[..., None, :])
    errors = errors.with_product(*(estimates.errors or (errors.of_rows, errors.of_columns)))
    beside = estimates.own.sum(axis=-1, keepdims=True) * estimates.own.sum(axis=-2, keepdims=True) if own else 0.0
    axes = ErrorAxes.of(estimates.own - beside, errors, estimates.margins)
    statistic = (axes.along.reshape(*axes.along.shape[:-2], -1) * axes.under(0.0)[1]).sum(axis=-1)
    # of no interactions at all rounding may say less than nothing
    pvalues: FloatArray = chdtrc(math.prod(axes.shape), np.maximum(statistic, 0))
    return pvalues


def checked_pvalue(pool: Pool, margins: Margins, pvalue: float, tests: int, *, own: bool) -> float:
    """Return a p-value that holds where counts are small: by Monte Carlo, if it might matter among so many tests.

    A p-value above .05 is left as it is: nothing follows from it. A smaller one is replaced where the rarest report is
    expected less than 5 times, so that none below .05 is that of a χ² in doubt. The seed is taken from the counts.
    """
    if pvalue > _MATTERS or not pool.blocks:
        return pvalue
    domain, order = _by_name(pool.domain)
    blocks = tuple(_exchanged(block.by_value, domain, order) for block in pool.blocks)
    evidence, null = BlockEvidence.observed(blocks), product_of(margins)[0, order]
    if evidence.rarest_expected_report(null) >= _FEW_REPORTS:
        return pvalue
    cells, pooling = null.reshape(domain.shape), LinearPooling(blocks)
    wald = IndependenceAt.of((cells.sum(axis=1), cells.sum(axis=0)), pooling.covariance(null), own=own)
    drawn = automatic(evidence, null.size, AmongMany(tests))
    return drawn.pvalue(replace(wald, pooling=pooling), evidence, null)


def _by_name(domain: Domain) -> tuple[Domain, IntArray]:
    """Return a domain with attributes and categories sorted, and the place that each of its cells had before.

    In this order tables are drawn, so that no p-value depends on the order of attributes and categories.
    """
    names = sorted(domain.names)
    of_name = {name: sorted(values, key=repr) for name, values in domain.categories.items()}
    before = [[domain.categories[name].index(category) for category in of_name[name]] for name in domain.names]
    cells = np.arange(domain.size()).reshape(domain.shape)[np.ix_(*before)]
    turned = cells.transpose([domain.names.index(name) for name in names])
    return Domain({name: of_name[name] for name in names}), turned.ravel()


def _exchanged(block: Block, domain: Domain, order: IntArray) -> Block:
    """Return a block about the cells in another order; its tally too, where reports treat all values alike."""
    noise, answers = block.noise, block.classes[order]
    question = Question(domain.names, domain.shape, tuple(answers.tolist()))
    alike = noise.own_and_common is not None and float(np.ptp(noise.own_and_common[1])) < _EVEN
    if not (alike and question.is_bijection):
        return replace(block, question=question)
    tally = replace(block.tally, counts=block.tally.counts[answers])
    return replace(block, question=replace(question, classes=tuple(range(order.size))), tally=tally)


def product_of(margins: Margins) -> FloatArray:
    """Return the flattened cells of independent attributes, shape (sets, cells)."""
    first, second = margins
    cells = first[..., :, None] * second[..., None, :]
    return cells.reshape(*cells.shape[:-2], -1)


# standard errors of a correlation from which noise drowns it
_DROWNED = 0.3
# so many sets are redrawn at once, and so many entries of a covariance
_AT_ONCE, _ENTRIES = 25, 1 << 22


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """What a set of tables says about all pairs of attributes that it tells anything about."""

    tables: TableSet
    pairs: tuple[Edge, ...]  # in the order of the domain
    # from a pair's index to its mutual information in nats, without what noise adds to first order, and without the
    # directions that it drowns: where a correlation has a standard error above .3
    corrected: Callable[[int], float]
    shrunken: FloatArray  # mutual information of the posterior mean; see `posteriors`
    pvalue: FloatArray  # of Wald's test; see `IndependenceAt`
    interactions: tuple[Interactions, ...]  # posteriors, in the order of each pool's attributes
    sources: PairSources

    @classmethod
    def of(cls, tables: TableSet) -> PairEvidence:
        """Measure and test all pairs of a set of tables."""
        sources = PairSources.of(tables.domain, tables)
        if not sources.pools:
            raise LdpstatsError(
                f"tables that tell about no two of {one_line(tables.domain.names)} together",
                "tables of pairs of attributes, or of wider groups",
                "Collect groups of two: SampledGroups(domain, k=2, epsilon=...) asks for every pair.",
            )
        estimates = sources.estimated(sources.observed)
        (evidence,) = cls._all_of(tables, sources, estimates)
        known = dict(zip(evidence.pairs, evidence.pvalue.tolist(), strict=True))
        groups = (
            (group, *each) for group in estimates for each in zip(group.pairs, group.pools, *group.margins, strict=True)
        )
        for group, pair, pool, *margins in progress(groups, "testing pairs", len(known), "pair"):
            known[pair] = checked_pvalue(pool, (*margins,), known[pair], len(known), own=group.errors is None)
        return replace(evidence, pvalue=np.array([known[pair] for pair in evidence.pairs]))

    @cached_property
    def information(self) -> FloatArray:
        """The corrected information of all pairs."""
        return np.array([self.corrected(index) for index in progress(range(len(self.pairs)), "measuring", unit="pair")])

    @property
    def domain(self) -> Domain:
        """The attributes, also those that no table tells about together with another one."""
        return self.tables.domain

    @property
    def adjusted(self) -> FloatArray:
        """The p-values, adjusted for the false discovery rate among all pairs.

        By Benjamini & Hochberg (1995) where nobody is behind two tables, whose p-values are then independent; else by
        Benjamini & Yekutieli (2001), whatever the p-values have to do with each other.
        """
        from scipy.stats import false_discovery_control

        method: Literal["bh", "by"] = "by" if any(self.sources.common.values()) else "bh"
        adjusted: FloatArray = false_discovery_control(self.pvalue, method=method) if self.pairs else self.pvalue
        return adjusted

    def redrawn(self, size: int, rng: Rng = None) -> Iterator[PairEvidence]:
        """Yield the evidence of so many sets like these tables, whose reports are drawn anew (parametric bootstrap).

        Every table is drawn at its proper estimate, at the level of counts; p-values are those by χ².
        """
        left, numbers = at_least(size, 1, "size"), generator(rng)
        largest = max(pool.domain.size() for pool in self.sources.pools.values())
        while left:
            drawn = min(left, _AT_ONCE, max(1, _ENTRIES // largest**2))
            yield from self._all_of(
                self.tables, self.sources, self.sources.estimated(self.sources.redrawn(drawn, numbers))
            )
            left -= drawn

    @classmethod
    def _all_of(cls, tables: TableSet, sources: PairSources, groups: Sequence[PairEstimates]) -> Iterator[PairEvidence]:
        """Yield the evidence of several sets of tables, whose pairs are measured at once."""
        behind = posteriors([estimates.seen for estimates in groups])
        means = [information_of(mean, *estimates.margins) for estimates, (mean, _) in zip(groups, behind, strict=True)]
        pvalues = [pvalues_of(estimates) for estimates in groups]
        where = {
            pair: (group, index) for group, estimates in enumerate(groups) for index, pair in enumerate(estimates.pairs)
        }
        order = [where[pair] for pair in sources.pools]
        for number in range(means[0].shape[1]):
            yield cls(
                tables,
                tuple(sources.pools),
                partial(_corrected, [(groups[group], index) for group, index in order], number),
                np.array([means[group][index, number] for group, index in order]),
                np.array([pvalues[group][index, number] for group, index in order]),
                tuple(_posterior(groups[group].seen, *behind[group], (index, number)) for group, index in order),
                sources,
            )


def _posterior(seen: ErrorAxes, mean: FloatArray, shares: FloatArray, at: tuple[int, int]) -> Interactions:
    """Return the posterior of one pair; its covariance is worked out where it matters."""
    return Interactions(mean[at], lambda: within_components(seen[at], shares[at]))


def _corrected(estimates: Sequence[tuple[PairEstimates, int]], number: int, pair: int) -> float:
    """Return the corrected mutual information without the directions that noise drowns."""
    group, index = estimates[pair]
    seen = group.seen[index, number]
    # which directions are drowned only the whole covariance tells
    variances, turns = np.linalg.eigh(seen.covariance)
    clear = variances < _DROWNED**2
    kept = turns[:, clear]
    left = kept @ (kept.T @ seen.correlations(seen.along).ravel())
    first, second = (shares[index, number] for shares in group.margins)
    length = information_length(cells_of(left.reshape(seen.shape), first, second))
    corrected = (length - max(float(variances[clear].sum()), 0.0)) / 2
    return min(max(corrected, 0.0), math.log(min(first.size, second.size)))


def edge_confidence(
    networks: Iterable[tuple[Sequence[Edge], Iterable[Edge]]], pairs: Sequence[Edge]
) -> tuple[FloatArray, FloatArray]:
    """Return how often pairs are joined in networks learned anew, and which share of these edges leads forward.

    It is `boot.strength` of R's bnlearn (Friedman, Goldszmidt & Wyner 1999), with counts that are drawn again from the
    estimated tables in the place of resampled records. It tells how stable the search is under the noise of sampling
    and randomization. It is no p-value, and no probability that the edge is there: a search that always makes the same
    mistake is confident of it.

    Networks come each with its edges and with those that are directed (from, to). An edge without direction counts half
    as forward; the share is nan where there is none.
    """
    index = {pair: number for number, pair in enumerate(pairs)}
    joined, forward, count = np.zeros(len(pairs)), np.zeros(len(pairs)), 0
    for edges, directed in networks:
        count += 1
        known = set(directed)
        for edge in edges:
            joined[index[edge]] += 1
            forward[index[edge]] += 1.0 if edge in known else 0.0 if edge[::-1] in known else 0.5
    share = np.divide(forward, joined, out=np.full(len(pairs), np.nan), where=joined > 0)
    return joined / max(count, 1), share


def redrawn_sets(tables: TableSet, size: int, rng: np.random.Generator) -> Iterator[TableSet]:
    """Yield so many sets of tables like these, whose reports are drawn anew (parametric bootstrap).

    Every table is drawn at its proper estimate. Those with common respondents are refused: what their answers have to
    do with each other is not known.
    """
    proper = [nearest_proper(table.unbiased.estimate) for table in tables]
    if overlapping(tables.tables) or any(table.figures for table in tables):
        raise LdpstatsError(
            "redraws of tables that share respondents, or have no reports of their own",
            "tables of different respondents, as SampledGroups collects them",
            "Learn with n_resamples = 0, or by a method that needs pairs only.",
        )
    for _ in range(size):
        drawn = (_redrawn(table, at, rng) for table, at in zip(tables, proper, strict=True))
        yield TableSet(tables.domain, drawn, tables.privacy)


def _redrawn(table: Table, frequencies: FloatArray, rng: np.random.Generator) -> Table:
    blocks = (
        replace(block, tally=replace(block.tally, counts=block.draw(frequencies, 1, rng)[0], simulated=block.n))
        for block in table.blocks
    )
    return replace(table, blocks=tuple(blocks))


def averaging_threshold(joined: FloatArray) -> float:
    """Return the confidence from which on edges belong to the averaged network, after Scutari & Nagarajan (2013).

    If it were known which edges there are, all confidences were 0 or 1. Of all distributions of that kind the one
    nearest to the observed distribution, by the area between them, has the share of edges that are not there; the
    threshold is the quantile of that share.
    """
    values = np.unique(joined)
    steps = np.append(0.0, np.searchsorted(np.sort(joined), values, side="right") / joined.size)
    lengths = np.diff(np.concatenate([[0.0], values, [1.0]]))
    order = np.argsort(steps, kind="stable")
    # the share is the median of the distribution function, each value weighed by how long it lasts
    median = steps[order][np.searchsorted(np.cumsum(lengths[order]), 0.5)]
    above = values[steps[1:] > median]
    return float(above[0]) if above.size else 1.0
