"""O-RR and O-RAPPOR at the level of counts decode as those of the package do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.kairouz.cohort_samples import Cohorts, o_rappor, o_rr

from ldpstats.mechanisms import ORAPPOR, ORR

P = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def test_o_rr_is_decoded_as_the_package_does() -> None:
    mechanism, codes = ORR(5, 1.0, symbols=3, cohorts=4), Cohorts(5, 3, 4, 1, perfect=True)
    shares, odds = mechanism.noise.mean(P)[codes.places], math.expm1(1.0)
    assert codes.decoded((4 * (odds + 3) * shares - 1) / odds) == pytest.approx(P, abs=1e-12)


def test_o_rappor_has_the_filters_of_the_package() -> None:
    mechanism, codes = ORAPPOR(5, 1.0, bits=6, hashes=2, cohorts=4), Cohorts(5, 6, 4, 2, perfect=True)
    filters = mechanism.codes.filters()
    assert np.array_equal(codes.members.toarray(), filters[filters.any(axis=1)])
    assert codes.decoded(codes.members @ P) == pytest.approx(P, abs=1e-12)


@pytest.mark.parametrize("method", [o_rr, o_rappor])
def test_many_respondents_are_decoded_nearly_exactly(method) -> None:
    codes, rng = Cohorts(5, 4, 8, 1, perfect=True), np.random.default_rng(1)
    # a standard error is below .002: five of them are exceeded less than once in a million seeds
    assert method(codes, 2.0, (P * 10**7).astype(np.int64), rng) == pytest.approx(P, abs=0.01)
