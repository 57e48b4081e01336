"""Neyman's C(α) score statistic, averaged over the nuisance parameters that the noise leaves possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.null_model import NullModel, null_score
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic, Statistic
from ldpstats.noise import shortest, solve_or_shortest
from ldpstats.numbers.arrays import FloatArray

_DRAWS = 1000
# of the covariance: wider than what the reports say, so that no draw weighs much
_WIDER = 2.0
_FEWEST_DRAWS = 20
_WIDE = 24
# cells of all draws that are measured at once
_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class AveragedScore:
    """Mean of Neyman's C(α) statistic over the posterior distribution of the null's parameters.

    At any parameters of the null, uᵀ J⁻ u − (Kᵀu)ᵀ (KᵀJK)⁻ (Kᵀu) leaves out what their tangents explain (Neyman 1959);
    at the true ones it is χ², however wide the noise. Where noise is wider than the simplex, a free fit of the null
    follows it and explains more than its tangents would; proper distributions that the reports leave possible hardly
    can. The statistic is averaged over these, as discrepancies are in Gelman, Meng & Stern (1996), with Jeffreys' prior
    Dirichlet(½) for every row of every factor and the estimate's normal density with the covariance at each. Draws are
    Dirichlet near the fit, with a fixed seed, and weighted. How near χ² the mean is was measured, not proven
    (benchmarks/inference.py, "the conservative corner").
    """

    statistic: ScoreStatistic
    model: ProductOfConditionals

    def __call__(self, evidence: Evidence, fitted: FloatArray) -> float | None:
        """Average the statistic near `fitted`; None where reports tell the parameters: draws are worth less than 20."""
        draws, weights = self._draws(evidence, fitted)
        at_once = np.array_split(draws, -(-len(draws) * fitted.size // _AT_ONCE))
        distance, gain, volume = np.hstack([self._measured(evidence, some) for some in at_once])
        logarithms = weights + (volume - distance) / 2
        shares = np.exp(logarithms - logarithms.max())
        shares = shares / shares.sum()
        if _FEWEST_DRAWS * (shares @ shares) > 1:
            return None
        return float(shares @ np.maximum(distance - gain, 0))

    def _measured(self, evidence: Evidence, draws: FloatArray) -> FloatArray:
        """Return of every draw uᵀ J⁻ u, what its tangents explain of that, and log |J|, a row each."""
        at = null_score(self.model, evidence, draws, self.statistic.fit.solve)
        return np.stack(
            [self.statistic.total(at.score, at.information), at.gain, self.statistic.volume(at.information)]
        )

    @property
    def is_wide(self) -> bool:
        """Whether it is of two attributes with more than 24 categories each."""
        return len(self.model.shape) == 2 and min(self.model.shape) > _WIDE

    def at_nearest(self, evidence: Evidence) -> float:
        """Return the statistic of one table at the proper parameters that are nearest to its estimate.

        In wide tables it is χ² where a fit does not converge, at .03 to .06 of a nominal .05 (measured); but in long
        ones, as of 3 by 300, hardly ever significant: there, and in small ones, tables are drawn.
        """
        start = self.statistic.fit.start(self.model, evidence)
        at = null_score(self.model, evidence, start, self.statistic.fit.solve)
        return float(np.maximum(self.statistic.total(at.score, at.information) - at.gain, 0)[0])

    def _draws(self, evidence: Evidence, fitted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Draw possible parameters, with the logarithms of their weights under the prior."""
        centre = self.model.nearest(fitted)
        _, information = evidence.score(self.model.frequencies(centre)[None, :])
        own = information.between(self.model.jacobian(centre))[0]
        if self.statistic.fit.solve is shortest:
            # of what the evidence leaves open is known that frequencies are between zero and one
            own = own + np.eye(centre.size)
        covariance = _WIDER * solve_or_shortest(own, np.eye(centre.size))
        return self.model.scattered(fitted, covariance, _DRAWS, np.random.default_rng(0))


def averaged(statistic: Statistic, model: NullModel) -> AveragedScore | None:
    """Return the averaged form of a score statistic whose null is a product of distributions; None for any other."""
    if not isinstance(statistic, ScoreStatistic) or isinstance(statistic, LikelihoodRatio):
        return None
    return AveragedScore(statistic, model) if isinstance(model, ProductOfConditionals) else None
