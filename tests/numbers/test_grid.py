"""The grid of probabilities: rounding goes toward privacy, by less than a step."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.grid import GRID, exp_below, natural_log_above, numerator_at_least, numerator_at_most

FINER = Context(prec=200, Emax=999_999, Emin=-999_999)


@given(st.floats(1e-300, 1e4))
@example(700.0)
@example(float(np.log(10)))
def test_exp_below_is_below_and_tight(epsilon: float) -> None:
    exact = Fraction(FINER.exp(Decimal(epsilon)))
    assert exact * (1 - Fraction(1, 10**98)) < exp_below(epsilon) < exact * (1 - Fraction(1, 10**190))


@pytest.mark.parametrize("epsilon", [1e7, 1e300])
def test_absurd_levels_are_refused_in_words(epsilon: float) -> None:
    with pytest.raises(LdpstatsError, match="epsilon"):
        exp_below(epsilon)


@given(st.fractions(0, 1))
@example(Fraction(1))
@example(Fraction(1, GRID))
@example(Fraction(1, GRID + 1))
def test_numerators_round_in_their_own_direction_and_less_than_a_step(probability: Fraction) -> None:
    assert numerator_at_most(probability) <= probability * GRID < numerator_at_most(probability) + 1
    assert numerator_at_least(probability) - 1 < probability * GRID <= numerator_at_least(probability)


@given(st.integers(1, 1 << 70), st.integers(1, 1 << 70))
@example(GRID + 1, GRID)
@example(GRID, GRID + 1)
@example(3, 1)
def test_natural_log_above_is_the_smallest_double_not_below(numerator: int, denominator: int) -> None:
    ratio = Fraction(numerator, denominator)
    above = natural_log_above(ratio)
    exact = FINER.ln(FINER.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    assert Decimal(float(np.nextafter(above, -np.inf))) < exact <= Decimal(above)
