"""Longitudinal unary encodings: what their papers print, and levels that no second round reaches."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.longitudinal_unary import LOSUE, LOUE, LSOUE, LUE


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
