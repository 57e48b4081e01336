"""Independence of many pairs: Wald's statistic with pooled margins, and Monte Carlo where its χ² is in doubt."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.estimation import LinearPooling
from ldpstats.inference.engine.block_evidence import BlockEvidence, PooledEstimate
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo
from ldpstats.inference.engine.null_model import NullFit
from ldpstats.networks.interactions import kronecker, orthonormal_functions
from ldpstats.networks.pair_estimates import Pool

# χ² of counts that are expected to be smaller is checked by Monte Carlo, where the p-value might matter
_FEW_REPORTS = 5
_MATTERS = 0.05
_ENOUGH = 100


@dataclass(frozen=True, slots=True, eq=False)
class IndependenceAt:
    """Wald's statistic of independence, with the covariance at the product of margins that are given.

    With X and Y the functions that are orthonormal under these margins p and q, it is bᵀ V⁻¹ b for b = Xᵀ π̂ Y, whose
    covariance under independence is V: the interactions of the estimate as it stands, linear in it. Margins that were
    pooled over many tables may be taken as known: what they are wrong by enters as the product of two such errors.
    Where they are the margins of the very reports that are tested, those of π̂, whatever they are, are taken off:
    b = Xᵀ (π̂ − π̂11ᵀπ̂) Y, and the covariance of that product is added to V.

    Parameters
    ----------
    functions : tuple of two arrays, shape (..., categories, functions)
    inverse : array, shape (..., df, df)
        V⁻¹.
    own : bool
        Whether the margins are those of the reports tested.
    """

    functions: tuple[FloatArray, FloatArray]
    inverse: FloatArray
    own: bool

    @classmethod
    def of(cls, margins: tuple[FloatArray, FloatArray], covariance: FloatArray, *, own: bool) -> IndependenceAt:
        """Prepare the test, given the margins and the covariance of the estimate at their product."""
        first, second = (orthonormal_functions(shares) for shares in margins)
        both = kronecker(first, second)
        spread = np.swapaxes(both, -1, -2) @ covariance @ both
        if own:
            rows, columns = (shares.shape[-1] for shares in margins)
            of_first = kronecker(first, np.ones((columns, 1)))
            of_second = kronecker(np.ones((rows, 1)), second)
            sides = [np.swapaxes(one, -1, -2) @ covariance @ one for one in (of_first, of_second)]
            spread = spread + kronecker(*sides)
        return cls((first, second), np.linalg.pinv(spread, hermitian=True), own)

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
        found = np.swapaxes(first, -1, -2) @ cells @ second
        flat = found.reshape(*found.shape[:-2], 1, self.df)
        statistic: FloatArray = (flat @ self.inverse @ np.swapaxes(flat, -1, -2))[..., 0, 0]
        return statistic

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Measure tallies; there is nothing to fit, and nothing to start `near`."""
        assert near is not None  # it ranks drawn tables
        statistic = self.measure(PooledEstimate(evidence)(evidence))
        at = np.broadcast_to(near, (len(evidence), near.size))
        return NullFit(at, at, statistic, np.ones(len(evidence), dtype=np.bool_))


def asymptotic_pvalues(
    pool: Pool, estimates: FloatArray, margins: tuple[FloatArray, FloatArray], *, own: bool
) -> FloatArray:
    """Return the p-values by χ² of a pair, one for each set of tables."""
    from scipy.special import chdtrc

    statistic = IndependenceAt.of(margins, pool.covariance(product_of(margins)), own=own)
    found: FloatArray = chdtrc(statistic.df, statistic.measure(estimates))
    return found


def checked_pvalue(
    pool: Pool, margins: tuple[FloatArray, FloatArray], pvalue: float, tests: int, *, own: bool
) -> float:
    """Return a p-value that holds where counts are small: by Monte Carlo, if it might matter among so many tests.

    A p-value above .05 is left as it is: nothing follows from it. A smaller one is replaced where the rarest report is
    expected less than 5 times, so that no p-value at a level below .05 is that of a χ² in doubt. The seed is
    taken from the counts.
    """
    if pvalue > _MATTERS or not pool.blocks:
        return pvalue
    evidence, null = BlockEvidence.observed(pool.blocks), product_of(margins)[0]
    if evidence.rarest_expected_report(null) >= _FEW_REPORTS:
        return pvalue
    at = (margins[0][0], margins[1][0])
    statistic = IndependenceAt.of(at, LinearPooling(pool.blocks).covariance(null), own=own)
    drawn = MonteCarlo(rng=zlib.crc32(evidence.fingerprint), enough=_ENOUGH, at_most=AmongMany(tests).draws)
    return drawn.pvalue(statistic, evidence, null)


def product_of(margins: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the flattened cells of independent attributes, shape (sets, cells)."""
    first, second = margins
    cells = first[..., :, None] * second[..., None, :]
    return cells.reshape(*cells.shape[:-2], -1)
