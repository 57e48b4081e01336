"""Published formulas hold exactly against the implemented laws, or a test shows what is wrong as printed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.formulas import LEVELS, SIZES, shapes
from papers.kairouz.risks import PRINTED, squared_error

from ldpstats.mechanisms import GRR, OUE, RR, SS, SUE, THE
from ldpstats.mechanisms.unary import best_threshold

GRID = [(k, epsilon) for k in SIZES for epsilon in LEVELS]


@pytest.mark.parametrize(("k", "epsilon"), GRID)
@pytest.mark.parametrize("kind", PRINTED)
def test_propositions_3_and_4_of_kairouz_hold_for_k_rr_and_k_rappor(kind: type[GRR] | type[SUE], k, epsilon) -> None:
    printed, _ = PRINTED[kind]
    for p in shapes(k):
        assert squared_error(kind(k, epsilon), p) == pytest.approx(printed(p, epsilon), rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_surveys_approximate_variances_are_those_of_a_value_that_nobody_holds(epsilon: float) -> None:
    e, h = math.exp(epsilon), math.exp(epsilon / 2)
    printed = {
        GRR(16, epsilon): (e + 14) / (e - 1) ** 2,
        SUE(16, epsilon): h / (h - 1) ** 2,
        OUE(16, epsilon): 4 * e / (e - 1) ** 2,
        RR(2, epsilon): e / (e - 1) ** 2,
    }
    for mechanism, variance in printed.items():
        nobody = np.eye(mechanism.k)[1]
        assert mechanism.variance(nobody, 1)[0] == pytest.approx(variance, rel=1e-11)


def test_the_variance_printed_for_subsets_is_that_of_grr() -> None:
    """Table 4 of the survey prints GRR's variance for ω-SM, which is larger than the mechanism's own when ω > 1."""
    e = math.e
    subsets = SS(16, 1.0)
    assert subsets.omega > 1
    assert subsets.variance(np.eye(16)[1], 1)[0] < 0.6 * (e + 14) / (e - 1) ** 2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_the_threshold_of_the_minimizes_the_printed_error(epsilon: float) -> None:
    """The mean squared error that Arcolezi et al. print, on a fine grid of thresholds."""

    def printed(theta: float) -> float:
        flip = math.exp(epsilon * theta / 2)
        return (2 * flip - 1) / (1 + math.exp(epsilon * (theta - 0.5)) - 2 * flip) ** 2

    best = best_threshold(epsilon)
    assert 0.5 < best < 1
    assert printed(best) <= min(printed(theta) for theta in np.linspace(0.5, 1, 2001)) * (1 + 1e-9)
    nobody = np.eye(4)[1]
    assert THE(4, epsilon).variance(nobody, 1)[0] == pytest.approx(printed(best), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_what_thresholding_spends_buys_rare_values_less_variance_with_oue(epsilon: float) -> None:
    the, nobody = THE(16, epsilon), np.eye(16)[1]
    spent = the.strict_epsilon()
    assert spent < 0.97 * epsilon
    assert OUE(16, spent).variance(nobody, 1)[0] < the.variance(nobody, 1)[0]
