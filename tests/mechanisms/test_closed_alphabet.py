"""O-RR and O-RAPPOR on closed alphabets: one cohort is a mechanism of old, and many come near subset selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldpstats.conformance import exact_channel
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR, SS, SUE
from ldpstats.mechanisms.cohorts import ORAPPOR, ORR


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
