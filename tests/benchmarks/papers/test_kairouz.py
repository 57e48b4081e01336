"""Kairouz, Bonawitz & Ramage: the channel of O-RR as printed, beside one that is made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.catalogue import EXHIBITS
from papers.comparisons import NOT_TESTED
from papers.kairouz.cohort_samples import Cohorts
from papers.kairouz.open_alphabets import Answers, all_answers

from ldpstats.mechanisms import ORR


def by_hand(epsilon: float) -> Answers:
    """Return two symbols of three values in two cohorts: the first apart, then the last."""
    odds = math.exp(epsilon)
    near, far = odds / (2 * odds + 2), 1 / (2 * odds + 2)
    channel = [[near, far, near, far], [far, near, near, far], [far, near, far, near]]
    own = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]
    return Answers(epsilon, 2, 2, np.array(channel), np.array(own, dtype=float))


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_printed_equations_of_o_rr_hold_by_hand(epsilon: float) -> None:
    answers, p = by_hand(epsilon), np.array([0.5, 0.3, 0.2])
    assert answers.by_equation_15() == pytest.approx(answers.channel, abs=1e-15)
    assert answers.by_equation_16() == pytest.approx(answers.channel, abs=1e-15)
    assert answers.by_equation_18(p @ answers.channel) == pytest.approx(p, abs=1e-12)


def test_reports_are_those_of_the_codes_in_every_case() -> None:
    answers = all_answers()
    assert len(answers) == 30
    for one in answers:
        assert one.channel.sum(axis=1) == pytest.approx(1)
        assert np.log(one.channel.max(axis=0) / one.channel.min(axis=0)).max() == pytest.approx(one.epsilon)
        assert np.linalg.matrix_rank(one.own) == len(one.own)
        # a report says its own symbol more often: codes and reports are numbered alike
        assert np.array_equal(one.channel > 1.05 / one.divisor, one.own == 1)


def test_codes_that_do_not_tell_values_apart_leave_equation_18_open() -> None:
    few = Cohorts(8, 2, 3, 1, perfect=True)
    own = few.members.toarray().T
    assert np.linalg.matrix_rank(own) <= 3 * (2 - 1) + 1 < 8
    p, channel = np.eye(8)[0], Answers(1.0, 3, 2, np.empty(0), own)
    assert not np.allclose(channel.by_equation_18(p @ channel.by_equation_16()), p, atol=0.1)
    with pytest.raises(ValueError, match="at most 4 values"):
        ORR(8, 1.0, symbols=2, cohorts=3)


def test_bounds_for_all_mechanisms_are_not_tested() -> None:
    comparisons, _ = EXHIBITS["kairouz-2016-proposition-1"].stored()
    assert (comparisons["verdict"] == NOT_TESTED).tolist() == (comparisons["column"] == "lower bound").tolist()
    assert comparisons.loc[comparisons["verdict"] == NOT_TESTED, "because"].str.contains("cannot be measured").all()
