"""Pointwise limits under partial identification: the conditional χ² test of Cox & Shi, inverted for one value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.identification.identified import Identified
from ldpstats.identification.possible_tables import PossibleTables, WholeTable, confidence_set, nearest_among
from ldpstats.numbers.arrays import FloatArray

# how much wider than the distance to the nearest proper table a confidence set must be, for a solver to find its inside
_WIDER, _ROOM = 1.05, 0.01
# how near to the end of its range a value is at the end, in proportions
_AT_THE_END = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise:
    """Confidence limits of single sums of cells, or quotients, by inversion of the conditional χ² test.

    That a sum c·p has a value is the hypothesis that the identified contrasts are those of some proper table with it:
    that they lie in a polytope. It is rejected if their estimate is farther away than the root of the quantile of χ²
    with as many degrees of freedom as independent inequalities of the polytope hold with equality at its nearest point.
    This conditional test has its level wherever the contrasts are, for normal estimates with known covariance (Cox &
    Shi 2023, Theorem 1). A confidence set for everything at once needs the degrees of freedom of all contrasts.
    """

    identified: Identified
    alpha: float
    distance: float  # squared, of the nearest proper table
    whole: WholeTable | None = None

    def least(self, objectives: FloatArray, given: FloatArray | None = None) -> FloatArray:
        """Least value of c·p, or of c·p / d·p with d `given`, that is not rejected, for every row c of the objectives.

        Objectives are zeros and ones, or zeros and minus ones; d is zeros and ones. At the least value within the
        radius of k degrees of freedom the distance is that radius. It is not rejected if at least k inequalities hold
        with equality there. So k falls from the number of all contrasts to that number, until it is no longer larger.
        The end of the range, 0 for a cell, is tested by itself.
        """
        normal = np.ones(objectives.shape[1]) if given is None else given
        tried = np.full(len(objectives), self.identified.df)
        found, held = self._within(self.identified.df).least_and_held(objectives, given)
        for row in np.flatnonzero(found <= objectives.min(axis=1) + _AT_THE_END):
            found[row] = objectives[row].min()
            # where to go on if a value at the end, with only these cells, is rejected
            ended = nearest_among(self.identified, objectives[row] == found[row] * normal, self.whole)
            rejecting = self._rejecting(ended.distance)
            held[row] = rejecting if rejecting >= max(ended.held, 1) else 0
            tried[row] = held[row] + 1
        while (falling := np.flatnonzero(np.maximum(held, self._fewest) < tried)).size:
            tried[falling] = np.maximum(held[falling], self._fewest)
            for degrees in np.unique(tried[falling]):
                rows = falling[tried[falling] == degrees]
                nearer, held[rows] = self._within(int(degrees)).least_and_held(objectives[rows], given)
                found[rows] = np.where(held[rows] <= degrees, np.maximum(nearer, found[rows]), found[rows])
        return found

    @property
    def _fewest(self) -> int:
        """The fewest degrees of freedom within whose radius there are proper tables."""
        return min(self._rejecting(_WIDER * self.distance + _ROOM) + 1, self.identified.df)

    def _within(self, df: int) -> PossibleTables:
        return confidence_set(self.identified, self.alpha, df, self.whole)

    def _rejecting(self, distance: float) -> int:
        """The most degrees of freedom with which this squared distance is too far; 0 if there are none."""
        from scipy.special import chdtrc

        return int(np.count_nonzero(chdtrc(np.arange(1, self.identified.df + 1), distance) < self.alpha))
