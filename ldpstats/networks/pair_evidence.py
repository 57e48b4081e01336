"""Evidence of pairs: how strongly all pairs of attributes are associated, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from ldpstats.arrays import FloatArray, at_least
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.networks.interactions import Interactions, cells_of
from ldpstats.networks.pair_errors import ErrorAxes
from ldpstats.networks.pair_estimates import PairEstimates, PairSources
from ldpstats.networks.pair_tests import checked_pvalue, pvalues_of
from ldpstats.networks.shrunken_information import information_length, information_of, posteriors, within_components
from ldpstats.networks.structure import Edge
from ldpstats.presentation import progress
from ldpstats.randomness import Rng, generator
from ldpstats.tables import TableSet

# standard errors of a correlation from which noise drowns it
_DROWNED = 0.3
# so many sets are redrawn at once, and so many entries of a covariance
_AT_ONCE, _ENTRIES = 25, 1 << 22


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """What a set of tables says about all pairs of attributes that it tells anything about.

    Parameters
    ----------
    domain : Domain
    pairs : tuple of (str, str)
        In the order of the domain.
    corrected : callable
        From the place of a pair to its mutual information in nats, without what noise adds to it to first order, and
        without the directions that it drowns: in which a correlation has a standard error above .3.
    shrunken : array
        The mutual information of the posterior mean, given all pairs; see `shrunken_information`.
    pvalue : array
        Of Wald's test of independence, see `pair_tests`.
    interactions : tuple of Interactions
        The posterior mean of each pair's interactions and their covariance, in the order of its pool's attributes.
    sources : PairSources
        The tables.
    """

    domain: Domain
    pairs: tuple[Edge, ...]
    corrected: Callable[[int], float]
    shrunken: FloatArray
    pvalue: FloatArray
    interactions: tuple[Interactions, ...]
    sources: PairSources

    @classmethod
    def of(cls, tables: TableSet) -> PairEvidence:
        """Measure all pairs."""
        sources = PairSources.of(tables.domain, tables)
        if not sources.pools:
            raise LdpstatsError(
                f"tables that tell about no two of {one_line(tables.domain.names)} together",
                "tables of pairs of attributes, or of wider groups",
                "Collect groups of two: SampledGroups(domain, k=2, epsilon=...) asks for every pair.",
            )
        estimates = sources.estimated(sources.observed)
        (found,) = cls._all_of(sources, estimates)
        known = dict(zip(found.pairs, found.pvalue.tolist(), strict=True))
        groups = ((one, *each) for one in estimates for each in zip(one.pairs, one.pools, *one.margins, strict=True))
        for one, pair, pool, *margins in progress(groups, "testing pairs", len(known), "pair"):
            known[pair] = checked_pvalue(pool, (*margins,), known[pair], len(known), own=one.errors is None)
        return replace(found, pvalue=np.array([known[pair] for pair in found.pairs]))

    @cached_property
    def information(self) -> FloatArray:
        """The corrected information of all pairs."""
        return np.array([self.corrected(place) for place in progress(range(len(self.pairs)), "measuring", unit="pair")])

    @property
    def missing(self) -> tuple[Edge, ...]:
        """The pairs that the tables tell nothing about."""
        return self.sources.missing

    @property
    def adjusted(self) -> FloatArray:
        """The p-values, adjusted for the false discovery rate among all pairs.

        By Benjamini & Hochberg (1995) where nobody is behind two tables, whose p-values are then independent; else by
        Benjamini & Yekutieli (2001), whatever the p-values have to do with each other.
        """
        from scipy.stats import false_discovery_control

        method: Literal["bh", "by"] = "by" if self.sources.share_respondents else "bh"
        found: FloatArray = false_discovery_control(self.pvalue, method=method) if self.pairs else self.pvalue
        return found

    def redrawn(self, size: int, rng: Rng = None) -> Iterator[PairEvidence]:
        """Yield the evidence of so many sets like these tables, whose reports are drawn anew (parametric bootstrap).

        Every table is drawn at its estimate, made proper, at the level of counts, and all that follows is worked out
        again; p-values are those by χ².
        """
        left, numbers = at_least(size, 1, "size"), generator(rng)
        largest = max(pool.domain.size() for pool in self.sources.pools.values())
        while left:
            drawn = min(left, _AT_ONCE, max(1, _ENTRIES // largest**2))
            yield from self._all_of(self.sources, self.sources.estimated(self.sources.redrawn(drawn, numbers)))
            left -= drawn

    @classmethod
    def _all_of(cls, sources: PairSources, groups: Sequence[PairEstimates]) -> Iterator[PairEvidence]:
        """Measure the pairs of several sets of tables at once."""
        behind = posteriors([one.seen for one in groups])
        means = [information_of(mean, *one.margins) for one, (mean, _) in zip(groups, behind, strict=True)]
        pvalues = [pvalues_of(one) for one in groups]
        where = {pair: (group, place) for group, one in enumerate(groups) for place, pair in enumerate(one.pairs)}
        order = [where[pair] for pair in sources.pools]
        for number in range(means[0].shape[1]):
            yield cls(
                sources.domain,
                tuple(sources.pools),
                partial(_corrected, [(groups[group], place) for group, place in order], number),
                np.array([means[group][place, number] for group, place in order]),
                np.array([pvalues[group][place, number] for group, place in order]),
                tuple(_posterior(groups[group].seen, *behind[group], (place, number)) for group, place in order),
                sources,
            )


def _posterior(seen: ErrorAxes, mean: FloatArray, shares: FloatArray, at: tuple[int, int]) -> Interactions:
    """Return the posterior of one pair; its covariance is worked out where it matters."""
    return Interactions(mean[at], lambda: within_components(seen[at], shares[at]))


def _corrected(estimates: Sequence[tuple[PairEstimates, int]], number: int, pair: int) -> float:
    """Return the corrected mutual information without the directions that noise drowns."""
    found, place = estimates[pair]
    seen = found.seen[place, number]
    # which directions are drowned only the whole covariance tells
    variances, turns = np.linalg.eigh(seen.covariance)
    clear = variances < _DROWNED**2
    kept = turns[:, clear]
    left = kept @ (kept.T @ seen.correlations(seen.along).ravel())
    first, second = (one[place, number] for one in found.margins)
    length = information_length(cells_of(left.reshape(seen.shape), first, second))
    corrected = (length - max(float(variances[clear].sum()), 0.0)) / 2
    return min(max(corrected, 0.0), math.log(min(first.size, second.size)))
