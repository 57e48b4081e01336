"""Longitudinal mechanisms keep both levels exactly, and all reports tell no more than the permanent answer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from support.planted_bugs import ForgetfulMemo

from ldpstats.conformance import ConformanceError
from ldpstats.conformance.enumeration import Law
from ldpstats.conformance.memory import (
    joint_law,
    permanent_law,
    reports_of_one_memo_share_their_permanent_answer,
    values_that_return_find_their_answer,
)
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR, OUE, SUE
from ldpstats.mechanisms.dbitflip import DBitFlipPM
from ldpstats.mechanisms.local_hashing import OLH
from ldpstats.mechanisms.longitudinal import Longitudinal
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.mechanisms.memo import Memo

Factory = Callable[[int, float], Any]

TWO_ROUNDS = (LGRR, LSUE, LOSUE, LOUE, LSOUE, LUE, LBLH, LOLH)


@pytest.mark.parametrize("make", [LGRR, LSUE, LBLH, DBitFlipPM])
def test_a_memo_that_draws_permanent_answers_again_is_caught(make: Factory) -> None:
    with pytest.raises(ConformanceError, match="share a permanent answer"):
        reports_of_one_memo_share_their_permanent_answer(make, ForgetfulMemo)
    with pytest.raises(ConformanceError, match="known values change the memo"):
        values_that_return_find_their_answer(make, ForgetfulMemo)


def test_averaging_many_rounds_finds_the_permanent_answer_and_no_more() -> None:
    """The most frequent of 200 reports is the value as often as the permanent answer is: binomial, within 1e-7."""
    users, values = np.arange(2000), np.arange(2000) % 5
    lgrr = LGRR(5, 2.0, 1.0)
    found = {}
    for kind in (Memo, ForgetfulMemo):
        memo = kind(lgrr)
        rng = np.random.default_rng(4)
        rounds = np.stack([memo.reports(users, values, rng).data for _ in range(200)])
        frequency = (rounds[..., None] == np.arange(5)).sum(axis=0)
        found[kind] = float(np.mean(frequency.argmax(axis=1) == values))
    truth = exp(2) / (exp(2) + 4)
    assert abs(found[Memo] - truth) < 5.5 * np.sqrt(truth * (1 - truth) / 2000)
    assert found[ForgetfulMemo] > 0.98


def test_the_ratio_of_many_reports_approaches_that_of_the_permanent_answer() -> None:
    lgrr = LGRR(3, 2.0, 1.0)
    first, second = ([[law.get(bytes([y]), Fraction(0)) for y in range(3)] for law in rows] for rows in _rounds(lgrr))
    ratios = []
    for number in range(1, 13):
        worst = Fraction(1)
        for ones in product(range(number + 1), repeat=2):
            counts = (*ones, number - sum(ones))
            if counts[2] >= 0:
                given = [_power(second[y], counts) for y in range(3)]
                joint = [sum((p * g for p, g in zip(row, given, strict=True)), Fraction(0)) for row in first]
                worst = max(worst, max(joint) / min(joint))
        ratios.append(worst)
    assert ratios[0] == lgrr.likelihood_ratio()
    assert all(one < other for one, other in zip(ratios, [*ratios[1:], lgrr.lifetime_ratio()], strict=True))
    assert ratios[-1] > lgrr.lifetime_ratio() * Fraction(99, 100)


def _rounds(mechanism: Longitudinal) -> tuple[list[Law], list[Law]]:
    first = [permanent_law(mechanism, value) for value in range(mechanism.k)]
    return first, [joint_law(mechanism, {bytes([y]): Fraction(1)}, 1) for y in range(mechanism.k)]


def _power(row: list[Fraction], counts: tuple[int, ...]) -> Fraction:
    result = Fraction(1)
    for chance, number in zip(row, counts, strict=True):
        result *= chance**number
    return result


@pytest.mark.parametrize("first", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("level", [4.5, 8.0])
def test_a_report_does_not_depend_on_the_permanent_level(first: float, level: float) -> None:
    pairs = ((LGRR, GRR), (LSUE, SUE), (LOSUE, OUE), (LOLH, OLH))
    for twice, once in pairs:
        chained, single = twice(20, level, first_epsilon=first), once(20, first)
        assert chained.variance(0.1, 100) == pytest.approx(single.variance(0.1, 100), rel=1e-9)


@pytest.mark.parametrize("make", TWO_ROUNDS, ids=lambda kind: kind.__name__)
def test_levels_that_make_no_sense_are_refused(make: Any) -> None:
    for first in (2.0, 3.0, 0.0, -1.0, float("nan"), "1", True, 1e-30):
        with pytest.raises(LdpstatsError):
            make(4, 2.0, first_epsilon=first)
    with pytest.raises(LdpstatsError, match="below that of all reports"):
        make(4, 2.0, first_epsilon=2.0)
