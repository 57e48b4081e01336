"""The probability grid: probabilities as multiples of 2^-64, rounded toward more privacy, and logarithms rounded up."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpstats.errors import LdpstatsError, shortened

GRID = 1 << 64
"""Every probability that a client uses is a whole number of GRID-ths."""

_DIGITS = len(str(GRID))
_PRECISE = Context(prec=100, Emax=999_999, Emin=-999_999)
# Within the exponents above; the grid cannot tell levels beyond some fifty from each other anyway.
_LARGEST_EPSILON = 1_000_000


@lru_cache(maxsize=4096)
def exp_below(epsilon: float) -> Fraction:
    """Return a rational number below e^epsilon by less than one part in 10^98.

    Mechanisms derive their probabilities from this lower bound, so that whatever they round is
    rounded toward more privacy.

    Parameters
    ----------
    epsilon : float
        From 0 to 1,000,000.

    Returns
    -------
    Fraction
        The lower bound.

    Examples
    --------
    >>> import math
    >>> from ldpstats.extend import exp_below
    >>> round(float(exp_below(1.0)), 12) == round(math.e, 12)
    True
    >>> exp_below(1.0) * exp_below(-1.0) < 1
    True
    """
    if epsilon > _LARGEST_EPSILON:
        raise LdpstatsError(f"epsilon = {epsilon!r}", f"levels up to {_LARGEST_EPSILON:,}")
    return Fraction(_PRECISE.next_minus(_PRECISE.exp(Decimal(epsilon))))


def numerator_at_most(probability: Fraction) -> int:
    """Round a probability down to the grid.

    Parameters
    ----------
    probability : Fraction
        From 0 to 1.

    Returns
    -------
    int
        The probability in GRID-ths.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from ldpstats.extend import GRID, numerator_at_most
    >>> Fraction(numerator_at_most(Fraction(1, 3)), GRID) < Fraction(1, 3)
    True
    """
    return probability.numerator * GRID // probability.denominator


def numerator_at_least(probability: Fraction) -> int:
    """Round a probability up to the grid.

    Parameters
    ----------
    probability : Fraction
        From 0 to 1.

    Returns
    -------
    int
        The probability in GRID-ths.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from ldpstats.extend import GRID, numerator_at_least
    >>> numerator_at_least(Fraction(1, 3)) - GRID // 3
    1
    """
    return -(-probability.numerator * GRID // probability.denominator)


def favoured_numerator(epsilon: float, favoured: int, outcomes: int) -> int:
    """Return P(one of the favoured outcomes) in GRID-ths, each e^epsilon times as likely as others, rounded down.

    Levels that do not show on the grid are refused.
    """
    likelihood = favoured * exp_below(epsilon)
    numerator = numerator_at_most(likelihood / (likelihood + outcomes - favoured))
    if numerator * outcomes <= GRID * favoured:
        raise LdpstatsError(
            f"epsilon = {epsilon!r} for {outcomes} outcomes", "levels large enough to show on a grid of 2^-64"
        )
    return numerator


def read_numerator(text: object) -> int:
    """Read a whole number of GRID-ths from its digits, a text because numbers of JSON may be rounded to doubles."""
    digits = text if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _DIGITS else ""
    if str(int(digits or 0)) != text:
        raise LdpstatsError(f"the probability {shortened(text)}", "a whole number of 2^-64, its digits as a text")
    return int(digits)


def natural_log_above(ratio: Fraction) -> float:
    """Return the smallest double that is surely not below ln(ratio)."""
    if ratio == 1:  # the only rational number whose logarithm is a double: the margin below would not be tight
        return 0.0
    quotient = _PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    # Both operations are correctly rounded to 100 digits; the margin covers their errors many times over.
    bound = _PRECISE.add(_PRECISE.ln(quotient), Decimal("1e-90"))
    nearest = float(bound)
    return nearest if Decimal(nearest) >= bound else float(np.nextafter(nearest, np.inf))


def double_above(number: Fraction) -> float:
    """Return the smallest double that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else float(np.nextafter(nearest, np.inf))


@lru_cache(maxsize=4096)
def probability(numerator: int) -> float:
    """Return the double for numerator / GRID."""
    return double(Fraction(numerator, GRID))


def double(chance: Fraction) -> float:
    """Return the nearest double, but one below 1 unless the chance is 1: what may fail must not become certain."""
    return 1.0 if chance == 1 else min(float(chance), float(np.nextafter(1.0, 0.0)))
