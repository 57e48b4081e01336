"""Summation with histogram encoding: exact weights, exact level, and what clamping does to the variance."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import SUE
from ldpstats.mechanisms.histogram import SHE, entry_law
from ldpstats.noise.additive import AdditiveNoise
from ldpstats.numbers.grid import GRID, exp_below

LEVELS = (1e-6, 0.001, 0.01, 0.2, 0.5, 1.0, 2.0, 3.3, 6.0, 12.0, 20.0, 60.0, 1000.0)


def geometric_law(epsilon: float, window: int) -> list[float]:
    """Clamp two-sided geometric noise the slow way: number by number, with the tail summed up."""
    ratio = math.exp(-epsilon / 2)

    def chance(number: int) -> float:
        return (1 - ratio) / (1 + ratio) * ratio ** abs(number)

    inner = [chance(number) for number in range(-window + 1, window + 1)]
    below = math.fsum(chance(-window - more) for more in range(2000))
    above = math.fsum(chance(window + 1 + more) for more in range(2000))
    return [below, *inner, above]


@pytest.mark.parametrize("window", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 4.0])
def test_the_weights_are_clamped_geometric_noise(epsilon: float, window: int) -> None:
    law = [weight / GRID for weight in entry_law(epsilon, window)]
    assert law == pytest.approx(geometric_law(epsilon, window), rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("epsilon", LEVELS)
def test_the_weights_sum_to_one_and_no_pair_of_them_exceeds_its_ratio(epsilon: float) -> None:
    weights = SHE(2, epsilon)._weights
    pairs = [Fraction(*pair) for pair in zip(weights, reversed(weights), strict=True)][: len(weights) // 2]
    assert sum(weights) == GRID
    assert min(weights) > 0
    assert all(1 <= ratio <= exp_below(epsilon / 2) for ratio in pairs)


@pytest.mark.parametrize(("epsilon", "window"), [(0.5, 4), (1.0, 2), (2.0, 1), (60.0, 1), (0.3, 7), (1e-4, 1023)])
def test_the_window_is_one_noise_scale(epsilon: float, window: int) -> None:
    she = SHE(3, epsilon)
    assert she._weights == entry_law(epsilon, window)
    assert she.noise.largest == 2 * window + 1
    assert she.report_bits == 3 * (2 * window + 1).bit_length()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_without_a_window_it_is_symmetric_unary_encoding(epsilon: float) -> None:
    sue = SUE(3, epsilon)
    assert entry_law(epsilon, 0) == sue.bit_numerators


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_whether_an_entry_lies_in_the_upper_half_is_all_that_it_says(epsilon: float) -> None:
    """Inside a half all numbers have the same likelihood ratio, and the halves are the two bits of SUE."""
    weights, sue = np.array(SHE(3, epsilon)._weights, dtype=float), SUE(3, epsilon)
    half = weights.size // 2
    assert weights[:half] / weights[::-1][:half] == pytest.approx(math.exp(epsilon / 2), rel=1e-12)
    assert weights[half:].sum() == pytest.approx(sue.bit_numerators[1], rel=1e-12)


def variance_of_a_rare_value(epsilon: float, window: int) -> float:
    noise = AdditiveNoise(2, tuple(weight / GRID for weight in entry_law(epsilon, window)))
    return float(noise.covariance(np.array([0.0, 1.0]))[0, 0])


@pytest.mark.parametrize(
    ("epsilon", "clamped", "geometric", "laplace"),
    [(0.5, 21.5, 31.8, 32), (1, 5.38, 7.84, 8), (2, 1.28, 1.84, 2), (4, 0.306, 0.362, 0.5)],
)
def test_the_documented_variances(epsilon: float, clamped: float, geometric: float, laplace: float) -> None:
    assert SHE(9, epsilon).variance(0.0, n=1) == pytest.approx(clamped, rel=2.5e-3)
    ratio = math.exp(-epsilon / 2)
    assert 2 * ratio / (1 - ratio) ** 2 == pytest.approx(geometric, rel=2e-3)
    assert variance_of_a_rare_value(epsilon, 300) == pytest.approx(2 * ratio / (1 - ratio) ** 2, rel=1e-12)
    assert 8 / epsilon**2 == laplace


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_a_wider_window_never_lowers_the_variance(epsilon: float) -> None:
    variances = [variance_of_a_rare_value(epsilon, window) for window in range(40)]
    assert np.all(np.diff(variances) > -1e-12 * variances[-1])
    assert variances[0] == pytest.approx(SUE(2, epsilon).variance([0.0, 1.0], n=1)[0], rel=1e-12)
    assert variance_of_a_rare_value(epsilon, 600) == pytest.approx(2 * variances[0], rel=1e-10)


def test_reports_of_wide_windows_take_two_bytes_and_still_add_up() -> None:
    she = SHE(3, 0.01)
    assert she.report_format.dtype == np.uint16
    counts = np.array([60_000, 30_000, 10_000])
    estimate = she.estimate(she.privatize(np.repeat([0, 1, 2], counts), rng=3))
    # six standard errors in each of three cells: a false failure in less than one of a hundred million runs
    assert np.all(np.abs(estimate.estimate - counts / 1e5) < 6 * estimate.std_err)
    with pytest.raises(LdpstatsError, match=r"reports that SHE.* can send"):
        she.count(np.full((1, 3), she.noise.largest + 1, dtype=np.uint16))


@pytest.mark.parametrize("epsilon", [1e-8, 1e-12, 1e-30])
def test_levels_that_do_not_show_on_the_grid_are_refused(epsilon: float) -> None:
    with pytest.raises(LdpstatsError, match="large enough to show in"):
        SHE(3, epsilon)
