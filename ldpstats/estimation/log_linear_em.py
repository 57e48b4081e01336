"""EM for hierarchical log-linear models: the likeliest member through noise, also where it has cells of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpstats.estimation.em import ReportLikelihood
from ldpstats.numbers.arrays import FloatArray, IntArray

# as far as a leap may take a frequency beyond an EM step: from nothing none comes back
_FARTHEST = np.log(10)
# exponentials of less are zero
_LEAST = np.log(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalEM:
    """EM steps that make reports more likely and never leave a hierarchical log-linear model.

    The reports say how often each cell is expected if the present frequencies hold; the model's margins are made those
    of that table, one after the other (ECM, Meng & Rubin 1993, with a cycle of proportional fitting). The likelihood
    never falls. There may be several maxima, and where one ends depends on the start.
    """

    reports: ReportLikelihood  # of the whole table
    partitions: Sequence[IntArray]  # for every generator the class of each cell that can have respondents
    places: IntArray  # of these cells in the whole table
    cells: int  # of the whole table

    def climbed(self, start: FloatArray, iterations: int, tolerance: float) -> tuple[FloatArray, bool]:
        """Return the member of the model that a climb from another ends at, and whether it ended by itself.

        It ends when a step moves the frequencies by a χ² distance, times the reports, of at most the tolerance.
        """
        reached = start
        for _ in range(iterations):
            once = self._step(reached)
            moved = np.divide((once - reached) ** 2, reached, out=np.zeros_like(once), where=reached > 0)
            if self.reports.n * moved.sum() <= tolerance:
                return once, True
            reached = self._leapt(reached, once, self._step(once))
        return reached, False

    def log_likelihood(self, frequencies: FloatArray) -> float:
        """Return the log-likelihood of all reports."""
        return self.reports.n * float(self.reports.shares @ np.log(self.reports.push(self._whole(frequencies))))

    def _step(self, frequencies: FloatArray) -> FloatArray:
        gradient = self.reports.gradient(self.reports.push(self._whole(frequencies)))[self.places]
        expected, fitted = frequencies * gradient, frequencies
        for classes in self.partitions:
            wanted, found = (np.bincount(classes, weights=table) for table in (expected, fitted))
            fitted = fitted * np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)[classes]
        step: FloatArray = fitted / fitted.sum()
        return step

    def _leapt(self, start: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
        """Follow the path of two steps as far as the likelihood allows (SQUAREM, Varadhan & Roland 2008).

        It is followed in logarithms, whose combinations stay within the model.
        """
        first, second, third = (np.log(np.maximum(one, np.finfo(float).tiny)) for one in (start, once, twice))
        change, bend, weights = second - first, third - 2 * second + first, np.sqrt(twice)
        length = np.linalg.norm(weights * change) / max(float(np.linalg.norm(weights * bend)), np.finfo(float).tiny)
        least = self.log_likelihood(twice)
        while length > 1:
            ahead = first + 2 * length * change + length**2 * bend - third
            logarithms = third + ahead * min(1.0, _FARTHEST / float(np.abs(ahead).max()))
            odds = np.exp(np.maximum(logarithms - logarithms.max(), _LEAST))
            leap = self._step(odds / odds.sum())
            if self.log_likelihood(leap) >= least:
                return leap
            length /= 4
        return twice

    def _whole(self, frequencies: FloatArray) -> FloatArray:
        whole = np.zeros(self.cells)
        whole[self.places] = frequencies
        return whole
