"""Identified contrasts of a table: generalized least squares from measured sums, and Hansen's test of the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import Measured
from ldpstats.limits import refuse_too_large
from ldpstats.numbers.arrays import FloatArray, real_array

MOST_CONTRASTS = 512
"""The most contrasts of one table that bounds are made from: their work grows with the cube of the number."""

# the share of the largest eigenvalue, of products of sums, below which a direction is rounding
_FLAT = 1e-10
# the share of the mean variance below which a sum is known for sure
_SURE = 1e-9
# the variance of a count of zero: the 95 % interval then reaches three respondents (Hanley & Lippman-Hand 1983);
# added to those of other rare counts, as by Agresti & Coull (1998), it makes their intervals hold, too
_EMPTY = (3 / 1.96) ** 2
# how far sums that are known for sure may be apart by rounding, in proportions
_ROUNDED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Identified:
    """The contrasts of a table that its measured sums identify, and how far the rest of those sums disagrees."""

    sums: Any  # sparse; shape (df, cells); linearly independent of each other and of the total
    values: FloatArray  # best linear unbiased estimates of the sums
    root: FloatArray  # lower triangular R with R Rᵀ their covariance
    disagreement: float  # statistic of Hansen's (1982) test of over-identifying restrictions
    spare: int  # its degrees of freedom

    @property
    def df(self) -> int:
        """Number of identified contrasts: the degrees of freedom of their joint confidence set."""
        return self.values.size

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that all sums were measured in the same population."""
        from scipy.stats import chi2

        return float(chi2.sf(self.disagreement, self.spare)) if self.spare else 1.0

    @classmethod
    def of(cls, measured: Measured) -> Identified:
        """Reduce measured sums to the contrasts that they identify.

        In the space of sums, tables do not differ in some directions: totals, and differences of sums that several
        collections share. What was measured there is noise. It tells whether the sums agree and, as far as it is
        correlated with the noise elsewhere, what to take off there (generalized least squares). In the other directions
        the variance of an empty cell is added, by the rule of three, for as many reports as n, or the mean variance,
        says: that nobody reported a cell does not make it known, and rare cells that look too rare have variances that
        look too small.
        """
        from scipy.sparse import csc_array

        sums, estimate, covariance = _checked(measured)
        centre = sums.mean(axis=1)
        lengths, directions = np.linalg.eigh((sums - centre[:, None]) @ (sums - centre[:, None]).T)
        moving = lengths > _FLAT * max(float(lengths[-1:].sum()), 1.0)
        moves, fixed, error = directions[:, moving], directions[:, ~moving], estimate - centre
        sure = _SURE * float(np.trace(covariance)) / max(len(estimate), 1)
        explained, disagreement, spare = _agreement(fixed.T @ error, fixed.T @ covariance @ fixed, sure)
        across = moves.T @ covariance @ fixed
        contrasts = moves.T @ error - across @ explained @ (fixed.T @ error)
        of_contrasts = moves.T @ covariance @ moves - across @ explained @ across.T
        from scipy.linalg import qr

        many = moves.shape[1]
        if many > MOST_CONTRASTS:
            raise LdpstatsError(
                f"sums that tell {many:,} contrasts of a table",
                f"up to {MOST_CONTRASTS:,}",
                "Let only tables about attributes connected to the target enter, or put categories together.",
            )
        # as many sums as there are directions, none of which follows from the others
        rows = np.sort(qr(moves.T, mode="r", pivoting=True)[1][:many]) if many else np.zeros(0, dtype=np.int64)
        root = _root_of(of_contrasts, moves[rows], np.trace(covariance), measured.n)
        values = centre[rows] + moves[rows] @ contrasts
        return cls(csc_array(sums[rows]), values, root, disagreement, spare)


def _checked(measured: Measured) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scale sums so that they differ by one at most between cells; return them, estimates and covariance."""
    sums, estimate = real_array(measured.sums, "sums"), real_array(measured.estimate, "estimates")
    covariance = real_array(measured.covariance, "a covariance")
    refuse_too_large(sums.shape, "a matrix of sums")
    if measured.n < 1:
        raise NotIdentifiedError("sums without reports", "at least one report")
    if not (np.isfinite(sums).all() and np.isfinite(estimate).all() and np.isfinite(covariance).all()):
        raise LdpstatsError("sums, estimates or covariances that are not finite", "finite numbers")
    differences = np.ptp(sums, axis=1)
    unit = np.where(differences > _FLAT, differences, 1.0)
    return sums / unit[:, None], estimate / unit, covariance / np.outer(unit, unit)


def _agreement(error: FloatArray, covariance: FloatArray, sure: float) -> tuple[FloatArray, float, int]:
    """Pseudoinverse of the covariance of errors that should be zero, their squared length in it, and its rank."""
    variances, directions = np.linalg.eigh(covariance)
    noisy = variances > max(sure, np.finfo(float).tiny)
    # its length: single coordinates depend on how directions of the same variance are turned
    apart = float(np.linalg.norm(directions[:, ~noisy].T @ error))
    if apart > _ROUNDED:
        raise LdpstatsError(
            f"sums that are known for sure and {apart:.2g} apart",
            "totals of one, and sums that agree wherever there is no noise",
            "Check the covariance: it says that these sums cannot be wrong.",
        )
    inverse = (directions[:, noisy] / variances[noisy]) @ directions[:, noisy].T
    return inverse, float(error @ inverse @ error), int(noisy.sum())


def _root_of(covariance: FloatArray, rows: FloatArray, total: float, n: int) -> FloatArray:
    """Triangular root of the covariance of some sums, from that of the directions that they combine."""
    variances, directions = np.linalg.eigh(covariance)
    least = max(_EMPTY / n**2, float(total) / max(n / _EMPTY, len(covariance), 1))
    scaled = rows @ directions * np.sqrt(np.maximum(variances, 0) + least)
    upper: FloatArray = np.linalg.qr(scaled.T)[1]
    return upper.T


def radius(df: int, alpha: float) -> float:
    """Radius, in standard errors, of the joint confidence set of `df` contrasts: the root of a χ² quantile.

    Examples
    --------
    >>> round(radius(1, 0.05), 2), round(radius(4, 0.05), 2)
    (1.96, 3.08)
    """
    from scipy.stats import chi2

    return math.sqrt(float(chi2.isf(alpha, df))) if df else 0.0
