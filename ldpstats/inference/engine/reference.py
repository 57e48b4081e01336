"""The χ² law that statistics are compared with: p-values, critical values, and power by the noncentral law."""

from __future__ import annotations

from ldpstats.arrays import FloatArray


def chi_square_pvalue(df: int, statistic: float) -> float:
    """Return the probability that a χ² variable exceeds the statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def critical_value(df: int, alpha: float) -> float:
    """Return what a χ² variable exceeds with probability alpha."""
    from scipy.special import chdtri

    return float(chdtri(df, alpha))


def noncentral_power(df: int, noncentrality: FloatArray, alpha: float) -> FloatArray:
    """Return the probability that noncentral χ² variables exceed the critical value."""
    from scipy.special import chndtr

    return 1 - chndtr(critical_value(df, alpha), df, noncentrality)
