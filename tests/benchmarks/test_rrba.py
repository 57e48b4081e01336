"""The benchmarks of RRBA measure what they say: hand-made figures, exact laws, and a small slice of each."""

from __future__ import annotations

import numpy as np
import pytest
import rrba
import rrba_errors

from ldpstats.mechanisms import GRR

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds

PAIR = ("age", "education")


def test_all_strict_levels_agree_with_those_asked_for_and_another_one_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "NO" not in rrba.levels()
    monkeypatch.setitem(rrba.ASKED_LEVELS, 0.5, (0.69, (1.10, 1.61, 2.31, 2.83, 3.61, 4.41), 0.38))
    assert rrba.levels().count("NO") == 1


def test_the_level_of_a_whole_view_is_the_sum_over_its_pairs() -> None:
    row = rrba._whole_view("survey")
    # four attributes have two categories and two have three: in all views 6 pairs with 4 cells, 8 with 6, one with 9
    assert row["mean over views"] == pytest.approx((6 * np.log(5) + 8 * np.log(7) + np.log(10)) / 5)
    assert row["worst view (stated)"] == pytest.approx(2 * np.log(5) + np.log(10))  # the view with the 9 cells


def test_means_and_ratios_have_the_standard_errors_computed_by_hand() -> None:
    values = np.array([[1.0, 3.0], [5.0, 5.0]])
    assert rrba_errors.mean_and_error(values) == (3.5, 0.5)
    assert rrba_errors.ratio_and_error(2 * values, values) == (2.0, 0.0)
    assert rrba_errors.ratio_and_error(values, 7.0) == pytest.approx((0.5, 0.5 / 7))
    other = np.array([[2.0, 2.0], [3.0, 7.0]])
    # residuals values - other: -1, 1 and 2, -2, so that the variances of the two means are 1 and 4
    assert rrba_errors.ratio_and_error(values, other) == pytest.approx((1.0, np.sqrt(5) / 2 / 3.5))


def test_with_uniform_fakes_the_errors_are_those_of_randomized_response() -> None:
    found = rrba_errors.measure(rrba_errors.Study("survey", PAIR, 300, (1,), p=0.5, floor=1.0))
    cells = rrba_errors.true_cells("survey", PAIR)
    exact = np.sum(GRR(6, float(np.log(7))).variance(cells, 1))  # p = 1/2 and six cells: e^ε = 1 + p m / (1 - p)
    assert found[rrba_errors.GIVEN_FAKES] == pytest.approx(np.full(300, exact))
    for method in ("closed form", "gls"):
        mean, error = rrba_errors.mean_and_error(found[method][None])
        assert abs(mean - exact) < 5.5 * error  # a false failure rate below 1e-6


def test_pairs_are_drawn_once_and_for_all() -> None:
    every, some = rrba_errors.pairs_of("child"), rrba_errors.pairs_of("child", 30)
    assert (len(every), len(set(some)), set(some) <= set(every)) == (190, 30, True)
    assert some == rrba_errors.pairs_of("child", 30) != every[:30]
    assert rrba_errors.pairs_of("survey", 15) == rrba_errors.pairs_of("survey")


def test_whole_views_are_compared_with_pairs_by_the_formula_of_randomized_response() -> None:
    def mean_variance(pair: tuple[str, str], epsilon: float) -> float:
        cells = rrba_errors.true_cells("survey", pair)
        kept, changed = np.exp(epsilon) / (np.exp(epsilon) + cells.size - 1), 1 / (np.exp(epsilon) + cells.size - 1)
        reported = changed + (kept - changed) * cells
        return float(np.mean(reported * (1 - reported)) / (kept - changed) ** 2)

    pairs = rrba_errors.pairs_of("survey")
    of_views, of_pairs = (np.mean([mean_variance(pair, level) for pair in pairs]) for level in (2 / 3, 2.0))
    # five views, each answered by a fifth of the respondents; fifteen pairs, each by a fifteenth
    assert rrba_errors._view_against_group("survey", "grr", 2.0) == pytest.approx(of_views / of_pairs / 3)
