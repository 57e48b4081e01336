"""Evidence of pairs: how strongly all pairs of attributes are associated, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ldpstats.arrays import FloatArray, IntArray, at_least
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.inference.effects.cramers_v import AssociationMeasures
from ldpstats.networks.interactions import Interactions, interactions_of
from ldpstats.networks.pair_estimates import PairEstimates, PairSources
from ldpstats.networks.pair_tests import asymptotic_pvalues, checked_pvalue
from ldpstats.networks.shrunken_information import information_of, shrunken
from ldpstats.networks.structure import Edge
from ldpstats.presentation import progress
from ldpstats.randomness import Rng, generator
from ldpstats.tables import TableSet

# standard errors of a correlation from which noise drowns it
_DROWNED = 0.3
# so many sets are redrawn at once, and so many entries of a covariance
_AT_ONCE, _ENTRIES = 25, 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class PairEvidence:
    """What a set of tables says about all pairs of attributes that it tells anything about.

    Parameters
    ----------
    domain : Domain
    pairs : tuple of (str, str)
        In the order of the domain.
    information : array
        The mutual information of each in nats, without what noise adds to it to first order, and without the
        directions that it drowns: in which a correlation has a standard error above .3.
    shrunken : array
        The mutual information of the posterior mean, given all pairs; see `shrunken_information`.
    pvalue : array
        Of Wald's test of independence, see `pair_tests`.
    side : array of int
        The smaller number of categories, less one.
    interactions : tuple of Interactions
        The posterior mean of each pair's interactions and their covariance.
    sources : PairSources
        The tables.
    """

    domain: Domain
    pairs: tuple[Edge, ...]
    information: FloatArray
    shrunken: FloatArray
    pvalue: FloatArray
    side: IntArray
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
        pools = progress(sources.pools.items(), "testing pairs", unit="pair")
        checked = [
            checked_pvalue(pool, estimates.of(pair), pvalue, len(sources.pools), own=not sources.has_margins(pair))
            for (pair, pool), pvalue in zip(pools, found.pvalue.tolist(), strict=True)
        ]
        return replace(found, pvalue=np.array(checked))

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
    def _all_of(cls, sources: PairSources, estimates: PairEstimates) -> Iterator[PairEvidence]:
        """Measure the pairs of several sets of tables at once."""
        margins = [estimates.of(pair) for pair in sources.pools]
        own = [not sources.has_margins(pair) for pair in sources.pools]
        seen = [
            interactions_of(cells, spread, *both)
            for cells, spread, both in zip(estimates.cells, estimates.covariances, margins, strict=True)
        ]
        behind = shrunken(seen)
        spread = {name: pool.covariance(estimates.margins[name]) for name, pool in sources.shown.items()}
        errors = [(spread[first], spread[second]) for first, second in sources.pools]
        by_pair = zip(sources.pools.values(), estimates.own, margins, own, errors, strict=True)
        figures = (
            [_corrected(one, *both) for one, both in zip(seen, margins, strict=True)],
            [information_of(one, *both) for one, both in zip(behind, margins, strict=True)],
            [
                asymptotic_pvalues(pool, cells, both, own=alone, errors=wrong)
                for pool, cells, both, alone, wrong in by_pair
            ],
        )
        side = np.array([min(pool.domain.shape) - 1 for pool in sources.pools.values()], dtype=np.int64)
        stacked = (np.stack(one, axis=-1) for one in figures)
        for number, (corrected, mean, pvalue) in enumerate(zip(*stacked, strict=True)):
            posterior = tuple(one[number] for one in behind)
            yield cls(sources.domain, tuple(sources.pools), corrected, mean, pvalue, side, posterior, sources)


def _corrected(seen: Interactions, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the corrected mutual information without the directions that noise drowns."""
    variances, turn = np.linalg.eigh(seen.covariance)
    kept = turn * (variances < _DROWNED**2)[..., None, :]
    onto = kept @ np.swapaxes(kept, -1, -2)
    shape = seen.correlations.shape
    flat = (onto @ seen.correlations.reshape(*shape[:-2], -1, 1))[..., 0]
    left = Interactions(flat.reshape(shape), onto @ seen.covariance @ onto)
    measures = AssociationMeasures.of(*left.cells(first, second))
    corrected: FloatArray = (measures.likelihood - measures.added) / 2
    return np.clip(corrected, 0, math.log(measures.side))
