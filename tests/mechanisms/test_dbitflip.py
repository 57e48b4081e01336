"""dBitFlip reveals a few random bits at exactly its level, and its permanent form repeats them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import SUE
from ldpstats.mechanisms.dbitflip import DBitFlip, DBitFlipPM
from ldpstats.mechanisms.memo import Memo
from ldpstats.noise.revealed import RevealedBits


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


def test_responses_to_different_values_are_independent_given_the_revealed_values() -> None:
    """Bits of the first revealed value, for that value and for another one: no correlation within 5.5 errors."""
    mechanism, n = DBitFlipPM(4, 1.0, d=4), 40_000
    memo, users = Memo(mechanism), np.arange(40_000)
    one, other = (memo.reports(users, np.full(n, value), rng=value).data[:, 4].astype(float) for value in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 5.5 / math.sqrt(n)
    assert abs(one.mean() - mechanism.noise.keep) < 5.5 * 0.5 / math.sqrt(n)
    assert abs(other.mean() - mechanism.noise.flip) < 5.5 * 0.5 / math.sqrt(n)
