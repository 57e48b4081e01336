"""The benchmarks of RRBA measure what they say: hand-made figures, exact laws, and a small slice of each."""

from __future__ import annotations

import numpy as np
import pytest
import rrba
import rrba_errors
import rrba_speed

from ldpstats.datasets import network
from ldpstats.mechanisms import GRR
from ldpstats.protocols.rrba import RRBA

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


def test_two_blocks_are_far_worse_than_all_blocks() -> None:
    found = rrba_errors.measure(rrba_errors.Study("survey", PAIR, 100, (2,), p=0.5))
    # the ratio is 16 with a relative standard error of about 13 %; 5 is 9 of them away, on the scale of logarithms
    assert found["two blocks"].mean() > 5 * found["closed form"].mean()
    # adapted fakes make the closed form better, given the fakes, than uniform ones: exact but for the fakes
    uniform = np.sum(GRR(6, float(np.log(7))).variance(rrba_errors.true_cells("survey", PAIR), 1))
    assert found[rrba_errors.GIVEN_FAKES].max() < uniform


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


def test_comparisons_have_a_row_per_network_and_level() -> None:
    text = rrba_errors.equal_levels({"survey": (2, 3), "child": (1, 2)}, levels=(1.0, 4.0))
    assert "survey 2 of 15 pairs, 3 times, child 1 of 190 pairs, 2 times" in text
    assert [line.split()[:2] for line in text.splitlines() if line.startswith((" survey ", "  child "))] == 2 * [
        [name, level] for name in ("survey", "child") for level in ("1", "4")
    ]
    rows = [line.split() for line in rrba_errors.estimators(2, truths=(0.5,)).splitlines()]
    assert [(row[0], len(row)) for row in rows if row[:1] == ["0.5"]] == [("0.5", 7), ("0.5", 8)]


def test_everyone_is_asked_and_counted_once() -> None:
    survey = network("survey")
    records = survey.sample(200, rng=1).to_dict("records")
    aggregator = rrba_speed.collected(RRBA(survey.domain, epsilon=1.0).aggregator(), records)
    assert aggregator.n == 200
    assert not aggregator.tables().simulated


@pytest.mark.exhaustive
def test_speed_has_a_line_for_every_task_and_views_at_their_least_number() -> None:
    text = rrba_speed.speed(2000, [(9, 3)])
    assert sum("below 5 " in line for line in text.splitlines()) == 3
    assert sum("below 60 " in line for line in text.splitlines()) == 2
    assert text.splitlines()[-1].split()[-2:] == ["28", "28"]
