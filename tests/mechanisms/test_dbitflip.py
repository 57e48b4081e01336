"""dBitFlip reveals a few random bits at exactly its level, and its permanent form repeats them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldpstats.conformance import exact_channel
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.mechanisms import SUE
from ldpstats.mechanisms.dbitflip import DBitFlip, DBitFlipPM
from ldpstats.mechanisms.memo import Memo
from ldpstats.noise.revealed import RevealedBits
from ldpstats.privacy import worst_ratio


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 2), (4, 1), (4, 2), (4, 3), (4, 4)])
def test_the_level_is_spent_whatever_the_number_of_bits(k: int, d: int, epsilon: float) -> None:
    mechanism = DBitFlip(k, epsilon, d)
    assert worst_ratio(exact_channel(mechanism)) == mechanism.likelihood_ratio() == mechanism.lifetime_ratio()
    assert epsilon - 1e-9 < mechanism.strict_epsilon() <= epsilon


def test_a_single_bit_flipped_as_printed_would_spend_half_of_the_level() -> None:
    flip = 1 / (math.exp(0.5) + 1)
    printed = RevealedBits(np.eye(4, dtype=int), 1 - flip, flip, revealed=1)
    assert printed.epsilon == pytest.approx(0.5)
    assert DBitFlip(4, 1.0, d=1).noise.flip == pytest.approx(1 / (math.e + 1))
    assert DBitFlip(4, 1.0, d=2).noise.flip == pytest.approx(flip)


def test_the_estimate_is_the_corrected_equation_54() -> None:
    mechanism = DBitFlip(5, 1.0, d=2)
    reports = mechanism.privatize(np.arange(5000) % 5, rng=3)
    ones = np.zeros(5)
    seen = np.zeros(5)
    np.add.at(ones, reports.data[:, :2].ravel(), reports.data[:, 2:].ravel())
    np.add.at(seen, reports.data[:, :2].ravel(), 1)
    root = math.exp(0.5)
    by_hand = 5 / (5000 * 2) * (ones * (root + 1) - seen) / (root - 1)
    assert np.allclose(mechanism.estimate(reports).estimate, by_hand, rtol=0, atol=1e-12)
    # as printed, without the inner + 1, all frequencies would come out too small
    printed = 5 / (5000 * 2) * (ones * root - seen) / (root - 1)
    assert printed.sum() < 0.1 < by_hand.sum()


def test_with_all_bits_it_is_symmetric_unary_encoding() -> None:
    for k in (2, 3, 40):
        whole, sue = DBitFlip(k, 1.5, d=k), SUE(k, 1.5)
        assert whole.variance(0.2, 100) == pytest.approx(sue.variance(0.2, 100), rel=1e-9)
        assert whole.likelihood_ratio() == sue.likelihood_ratio()


@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 2), (4, 2), (10, 4), (16, 4), (17, 5), (1000, 32)])
def test_without_d_it_is_the_root_of_k_rounded_up(k: int, d: int) -> None:
    assert DBitFlip(k, 1.0).d == d == DBitFlipPM(k, 1.0).d
    assert DBitFlip(k, 1.0) == DBitFlip(k, 1.0, d)


@pytest.mark.parametrize(("k", "d", "bits"), [(16, 4, 11 + 4), (16, 16, 16), (16, 1, 5), (1000, 1, 11)])
def test_a_report_needs_as_many_bits_as_it_has_sets_and_answers(k: int, d: int, bits: int) -> None:
    assert DBitFlip(k, 1.0, d).report_bits == bits


@pytest.mark.parametrize("d", [0, 6, -1, 2.0, "2", True])
def test_a_number_of_bits_that_makes_no_sense_is_refused(d: Any) -> None:
    with pytest.raises(LdpstatsError, match="d ="):
        DBitFlip(5, 1.0, d)


@pytest.mark.parametrize("report", [[1, 0, 0, 0], [1, 1, 0, 0], [0, 5, 0, 0], [0, 1, 0, 2]])
def test_reports_that_cannot_be_are_refused(report: list[int]) -> None:
    with pytest.raises(ReportError):
        DBitFlip(5, 1.0, d=2).count(np.array([report]))


@pytest.mark.parametrize(("d", "responses"), [(1, 2), (3, 4), (5, 6), (6, 6)])
def test_a_respondent_has_one_response_for_each_of_her_values_and_one_for_all_others(d: int, responses: int) -> None:
    mechanism = DBitFlipPM(6, 1.0, d)
    memo, users = Memo(mechanism), np.arange(200)
    sent = np.stack([memo.reports(users, np.full(200, value)).data for value in range(6)], axis=1)
    assert len(memo) == 200 * responses
    again = np.stack([memo.reports(users, np.full(200, value)).data for value in range(6)], axis=1)
    assert np.array_equal(sent, again)
    others = [[value for value in range(6) if value not in row[:d]] for row in sent[:, 0].tolist()]
    assert all(len(np.unique(sent[user][other], axis=0)) <= 1 for user, other in enumerate(others))


def test_responses_to_different_values_are_independent_given_the_revealed_values() -> None:
    """Bits of the first revealed value, for that value and for another one: no correlation within 5.5 errors."""
    mechanism, n = DBitFlipPM(4, 1.0, d=4), 40_000
    memo, users = Memo(mechanism), np.arange(40_000)
    one, other = (memo.reports(users, np.full(n, value), rng=value).data[:, 4].astype(float) for value in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 5.5 / math.sqrt(n)
    assert abs(one.mean() - mechanism.noise.keep) < 5.5 * 0.5 / math.sqrt(n)
    assert abs(other.mean() - mechanism.noise.flip) < 5.5 * 0.5 / math.sqrt(n)
