"""Two rounds: what the papers print, levels that no second round reaches, and the symbols of least variance."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LUE


@pytest.mark.parametrize("k", [2, 3, 16, 100])
@pytest.mark.parametrize(("level", "first"), [(2.0, 1.0), (1.0, 0.9), (6.0, 0.5)])
def test_the_second_round_of_l_grr_is_the_solution_of_the_whole_chain(k: int, level: float, first: float) -> None:
    lgrr = LGRR(k, level, first)
    p1, once = exp(level) / (exp(level) + k - 1), exp(first) / (exp(first) + k - 1)
    assert lgrr.rounds.second / 2**64 == pytest.approx((once * (k - 1) - (1 - p1)) / (k * p1 - 1), rel=1e-12)
    assert lgrr.noise.mean(np.eye(k)[0])[0] == pytest.approx(once, rel=1e-12)
    assert lgrr.strict_epsilon() == pytest.approx(level, abs=1e-9)
    assert lgrr.privacy().unit == "all reports about one value, which never changes"


def printed_second_truth(k: int, level: float, first: float) -> float:
    """Return p2 as Arcolezi et al. print it for L-LH: with the exponent that is missing where they print L-GRR."""
    a, b = exp(level), exp(first)
    return (a * b - 1) / (-k * b + (k - 1) * a + b + a * b - 1)


@pytest.mark.parametrize(("k", "true_level"), [(2, 1.0), (3, 0.948001), (16, 0.573233)])
def test_the_printed_second_round_of_l_grr_misses_its_level_except_for_two_values(k: int, true_level: float) -> None:
    p1, p2 = exp(2) / (exp(2) + k - 1), printed_second_truth(k, 2.0, 1.0)
    q1, q2 = (1 - p1) / (k - 1), (1 - p2) / (k - 1)
    p, q = p1 * p2 + (k - 1) * q1 * q2, p1 * q2 + q1 * p2 + (k - 2) * q1 * q2
    assert p + (k - 1) * q == pytest.approx(1, rel=1e-12)
    assert log(p / q) == pytest.approx(true_level, abs=1e-6)
    # the printed chain believes that it is 1, but is no distribution
    p, q = p1 * p2 + q1 * q2, p1 * q2 + q1 * p2
    assert log(p / q) == pytest.approx(1, abs=1e-9)
    assert (p + (k - 1) * q == pytest.approx(1)) == (k == 2)


@pytest.mark.parametrize(("level", "first"), [(1.0, 0.5), (2.0, 1.0), (4.0, 2.0), (8.0, 4.0), (5.0, 4.5), (4.0, 1.0)])
def test_l_olh_takes_the_number_of_symbols_of_least_variance(level: float, first: float) -> None:
    def rare_variance(symbols: int, truth: float) -> float:
        return (1 - 1 / symbols) / symbols / (truth - 1 / symbols) ** 2

    likelihood, chosen = exp(first), LOLH(1000, level, first).hash_symbols
    searched = min(range(2, 500), key=lambda g: rare_variance(g, likelihood / (likelihood + g - 1)))
    assert chosen == searched
    a, b = exp(level), exp(first)
    root = a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1
    printed = 1 + max(1, int((1 - a**2 + np.sqrt(root)) / (6 * (a - b))))
    p1, p2 = a / (a + printed - 1), printed_second_truth(printed, level, first)
    of_printed = rare_variance(printed, p1 * p2 + (1 - p1) * (1 - p2) / (printed - 1))
    assert rare_variance(chosen, likelihood / (likelihood + chosen - 1)) < of_printed


def test_real_hash_functions_give_reports_the_claimed_law() -> None:
    """Supports of single values and of pairs, in 200,000 reports about one value, within 5.5 standard errors."""
    for mechanism in (LBLH(4, 2.0), LOLH(4, 4.0)):
        reports = mechanism.privatize(np.zeros(200_000, dtype=int), rng=11)
        supported = mechanism.contributions(reports.data).astype(float)
        truth = np.array([1.0, 0, 0, 0])
        mean, covariance = mechanism.noise.mean(truth), mechanism.noise.report_covariance(truth)
        errors = np.sqrt(np.diagonal(covariance) / 200_000)
        assert np.all(np.abs(supported.mean(axis=0) - mean) < 5.5 * errors)
        found = np.cov(supported.T, bias=True)
        assert np.all(np.abs(found - covariance) < 5.5 * np.sqrt(0.25 / 200_000))


def test_half_of_the_lifetime_level_is_the_default_of_one_report() -> None:
    assert LGRR(4, 2.0) == LGRR(4, 2.0, 1.0)
    assert LGRR(4, 2.0) != LGRR(4, 2.0, 0.5)
    assert LOSUE(4, 3.0).to_dict() == {"name": "l-osue", "k": 4, "epsilon": 3.0, "first_epsilon": 1.5}


def test_the_printed_second_round_of_l_osue_is_right() -> None:
    a, b = exp(2), exp(1)
    losue = LOSUE(7, 2.0, 1.0)
    assert losue.rounds.show / 2**64 == pytest.approx((a * b - 1) / (a - b + a * b - 1), rel=1e-12)
    assert losue.noise.p == 0.5
    assert losue.noise.q == pytest.approx(1 / (b + 1), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        (LOUE, log((2 * exp(2) + 1) / 3)),
        (LSOUE, log(exp(1) * (2 * exp(1) + 1) / (exp(1) + 2))),
    ],
)
def test_an_optimized_second_round_cannot_reach_every_level(kind: Any, limit: float) -> None:
    assert kind(5, 2.0, limit - 1e-6).first_report_epsilon() == pytest.approx(limit - 1e-6, abs=1e-9)
    with pytest.raises(LdpstatsError, match=rf"levels below about {limit:.4g}"):
        kind(5, 2.0, limit + 1e-6)


@pytest.mark.parametrize(("f", "p", "q"), [(0.5, 0.5, 0.75), (0.25, 0.35, 0.65), (0.9, 0.01, 0.99)])
def test_rappor_has_the_levels_of_its_paper(f: float, p: float, q: float) -> None:
    rappor = LUE.from_rappor(6, f, p, q)
    set_bit, other = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert rappor.strict_epsilon() == pytest.approx(2 * log((1 - f / 2) / (f / 2)), abs=1e-9)
    assert rappor.first_report_epsilon() == pytest.approx(
        log(set_bit * (1 - other) / (other * (1 - set_bit))), abs=1e-9
    )
    assert (rappor.noise.p, rappor.noise.q) == pytest.approx((set_bit, other), rel=1e-9)


@pytest.mark.parametrize(
    ("f", "p", "q"), [(0.5, 0.75, 0.5), (0, 0.5, 0.75), (1, 0.5, 0.75), (0.5, 0, 1), (0.5, 0.2, 1)]
)
def test_rappor_without_two_noisy_rounds_is_refused(f: float, p: float, q: float) -> None:
    with pytest.raises(LdpstatsError, match="q belongs to the set bits"):
        LUE.from_rappor(6, f, p, q)


def test_options_of_a_longitudinal_unary_encoding_are_checked() -> None:
    bad: tuple[Any, ...] = (0, 1, 1.5, True, "0.7")
    for show in bad:
        with pytest.raises(LdpstatsError, match="show ="):
            LUE(4, 2.0, show=show)
    with pytest.raises(LdpstatsError, match="keep ="):
        LUE(4, 2.0, keep=0)
