"""RAPPOR, O-RAPPOR and O-RR: exact levels of filters, least squares over public codes, and what one cohort is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpstats.conformance import exact_channel
from ldpstats.errors import LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.mechanisms import GRR, SS, SUE
from ldpstats.mechanisms.cohorts import ORAPPOR, ORR, RAPPOR, flip_numerator, permuted, public_codes
from ldpstats.mechanisms.unary import bit_counts
from ldpstats.numbers.grid import GRID
from ldpstats.privacy import strict_epsilon


@pytest.mark.parametrize("differing", [2, 6, 10, 14])
def test_a_share_of_the_level_is_not_rounded_up(differing: int) -> None:
    for epsilon in (0.1, 0.7, 1.0, 2.3, 5.0, 10.0):
        flip = flip_numerator(epsilon, differing)
        assert epsilon - 1e-9 < strict_epsilon(Fraction(GRID - flip, flip) ** differing) <= epsilon


def test_the_first_bytes_of_a_report_are_the_cohort() -> None:
    mechanism = RAPPOR(3, 2.0, bits=11, hashes=1, cohorts=300)
    reports = mechanism.privatize(np.arange(3000) % 3, rng=1).data
    assert reports.shape == (3000, 2 + 2)
    assert mechanism.report_bits == 9 + 11
    cohorts = 256 * reports[:, 0].astype(int) + reports[:, 1]
    assert set(cohorts) <= set(range(300))
    counts = mechanism.count(reports).counts.reshape(300, 2, 11)
    assert np.array_equal(counts.sum(axis=1)[:, 0], np.bincount(cohorts, minlength=300))
    for cohort in (0, 255, 256, 299):
        assert np.array_equal(counts[cohort, 0], bit_counts(reports[cohorts == cohort, 2:], 11))
    for wrong in ([1, 44, 0, 0], [0, 0, 0, 1]):
        with pytest.raises(ReportError):
            mechanism.count(np.array([wrong], dtype=np.uint8))
    assert RAPPOR(3, 1.0, bits=8, cohorts=1).report_format.width == 1


def test_the_functions_are_the_same_everywhere_and_for_good() -> None:
    assert RAPPOR(4, 1.0, cohorts=2).codes.symbols.tolist() == [
        [[2, 7, 4, 1], [7, 6, 3, 0]],
        [[6, 3, 0, 7], [7, 5, 7, 5]],
    ]


def test_functions_that_cannot_tell_values_apart_are_an_error() -> None:
    with pytest.raises(NotIdentifiedError, match="at most 5 values"):
        RAPPOR(6, 1.0, bits=2, hashes=1, cohorts=4)
    # with so many functions every filter is full
    with pytest.raises(LdpstatsError, match="100 seeds"):
        RAPPOR(2, 1.0, bits=2, hashes=60, cohorts=2)


def test_codes_are_shared_and_read_only() -> None:
    codes = public_codes(permuted, 6, 5, 1, 2, 0)
    assert codes is public_codes(permuted, 6, 5, 1, 2, 0)
    assert codes.single.sum(axis=1).tolist() == [3] * 5
    with pytest.raises(ValueError, match="read-only"):
        codes.symbols[0] = 0


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (5, 0.5), (7, 3.0)])
def test_one_cohort_with_a_symbol_for_every_value_is_grr(k: int, epsilon: float) -> None:
    orr, grr = ORR(k, epsilon, symbols=k, cohorts=1), GRR(k, epsilon)
    renamed = orr.codes.single[0]
    assert sorted(renamed) == list(range(k))
    for law, other in zip(exact_channel(orr), exact_channel(grr), strict=True):
        assert law == {bytes([renamed[report[0]]]): chance for report, chance in other.items()}
    frequencies = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    assert orr.noise.covariance(frequencies) == pytest.approx(grr.noise.covariance(frequencies), rel=1e-12)
    assert orr.likelihood_ratio() == grr.likelihood_ratio()
    reports = np.arange(3 * k) % k
    same = orr.estimate(orr.count(renamed[reports])).estimate
    assert same == pytest.approx(grr.estimate(grr.count(reports)).estimate, abs=1e-12)


def test_one_cohort_with_a_bit_for_every_value_is_sue() -> None:
    frequencies = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    single, sue = ORAPPOR(5, 1.0, bits=5, cohorts=1), SUE(5, 1.0)
    assert single == ORAPPOR(5, 1.0)
    assert single.noise.covariance(frequencies) == pytest.approx(sue.noise.covariance(frequencies), abs=1e-12)
    assert single.strict_epsilon() == sue.strict_epsilon()
    assert single.report_bits == sue.report_bits


def test_permutations_make_symbols_equally_frequent_in_every_cohort() -> None:
    for cohort in ORR(12, 1.0, symbols=4, cohorts=20).codes.single:
        assert np.bincount(cohort).tolist() == [3, 3, 3, 3]
    for cohort in ORR(10, 1.0, symbols=4, cohorts=20).codes.single:
        assert np.bincount(cohort).tolist() == [3, 3, 2, 2]


def test_with_many_cohorts_orr_comes_near_subset_selection() -> None:
    k, epsilon = 8, 1.0
    subset = float(SS(k, epsilon, omega=2).variance(1 / k, 1))
    near = float(np.mean(ORR(k, epsilon, symbols=4, cohorts=3000).variance(np.full(k, 1 / k), 1)))
    few = float(np.mean(ORR(k, epsilon, symbols=4, cohorts=6).variance(np.full(k, 1 / k), 1)))
    assert near == pytest.approx(subset, rel=0.01)
    assert few > 1.1 * subset


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((RAPPOR, one) for one in ({"bits": 1}, {"hashes": 0}, {"cohorts": 0}, {"cohorts": 1.0}, {"seed": -1})),
        *((RAPPOR, one) for one in ({"bits": 4, "cohorts": 1}, {"bits": 2, "hashes": 1, "cohorts": 4})),
        (ORR, {"symbols": 1}),
        (ORR, {"symbols": 2, "cohorts": 3}),
        (ORR, {"symbols": 3, "cohorts": 0}),
        (ORR, {"seed": 0.5}),
        (ORAPPOR, {"bits": 1}),
        (ORAPPOR, {"bits": 3, "cohorts": 1}),
        (ORAPPOR, {"hashes": 0}),
        (ORAPPOR, {"hashes": 1 << 20}),
    ],
)
def test_options_that_make_no_sense_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError):
        kind(6, 1.0, **options)
