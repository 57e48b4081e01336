"""Convergence of RRBA: widths by hand and by brute force, and the rule on made blocks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, norm
from support.rrba_collections import PAIR

from ldpstats import RRBA, Domain, LdpstatsError, PrivacyStatement, SampledGroups, Table
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise, Tally, TruthOrFake
from ldpstats.protocols.rrba.stopping import (
    chance_of_missing,
    convergence,
    likelihood_interval,
    printed_limits,
    sound_limits,
    start_of_lasting,
)

Z = float(norm.ppf(0.975))
ANYTHING = PrivacyStatement(math.inf, "a test")
LETTER = Domain({"letter": ["a", "b"]})


def of_letters(counts: Sequence[Sequence[int]], truth: float = 0.5, fake: Sequence[float] = (0.5, 0.5)) -> Table:
    """Make a table of blocks with the same fakes."""
    noise, asked = MultinomialNoise(TruthOrFake(truth, tuple(fake))), Question(("letter",), (2,), (0, 1))
    return Table(LETTER, tuple(Block(asked, Tally(noise, one, sum(one))) for one in counts), ANYTHING)


def of_hundred(*named: int) -> Table:
    """Make blocks of 100 reports, so many of them "a"; half the answers are true, the fakes uniform."""
    return of_letters([(one, 100 - one) for one in named])


def width(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    return limits[..., 1] - limits[..., 0]


@pytest.mark.parametrize(("count", "n"), [(1, 18), (3, 18), (5, 250), (9, 18), (17, 18), (2, 2000)])
def test_the_likelihood_interval_ends_where_the_binomial_likelihood_has_fallen_by_half_of_z_squared(
    count: int, n: int
) -> None:
    def beyond(proportion: float) -> float:
        return float(2 * (binom.logpmf(count, n, count / n) - binom.logpmf(count, n, proportion)) - Z**2)

    lower, upper = brentq(beyond, 1e-12, count / n, xtol=1e-14), brentq(beyond, count / n, 1 - 1e-12, xtol=1e-14)
    assert np.allclose(likelihood_interval(np.array([count / n]), n, Z), [[lower, upper]], atol=1e-9)


def test_the_likelihood_interval_of_a_share_between_counts_is_found_on_a_fine_grid() -> None:
    share, n, grid = 0.137, 18, np.linspace(1e-7, 1 - 1e-7, 2_000_001)
    fall = n * (share * np.log(share / grid) + (1 - share) * np.log((1 - share) / (1 - grid)))
    held = grid[2 * fall <= Z**2]
    assert np.allclose(likelihood_interval(np.array([share]), n, Z)[0], [held[0], held[-1]], atol=1e-6)


def test_the_likelihood_interval_of_no_or_all_reports_has_a_closed_form() -> None:
    limits = likelihood_interval(np.array([0.0, 1.0]), 18, Z)
    open_end = math.exp(-(Z**2) / 36)
    assert np.allclose(limits, [[0, 1 - open_end], [open_end, 1]], atol=1e-12)


def test_the_sound_width_is_the_normal_interval_of_the_reported_share_over_p() -> None:
    limits = sound_limits(np.array([40]), 100, np.array([0.125]), 0.5, Z)
    error = math.sqrt(0.4 * 0.6 / 100) / 0.5
    assert np.allclose(limits, [[0.55 - Z * error, 0.55 + Z * error]])


@pytest.mark.parametrize("count", [5, 95])
def test_the_sound_width_is_the_likelihood_interval_over_p_where_reports_are_few(count: int) -> None:
    limits = sound_limits(np.array([count]), 100, np.array([0.02]), 0.5, Z)
    expected = (likelihood_interval(np.array([count / 100]), 100, Z) - 0.02) / 0.5
    assert np.allclose(limits, expected)
    one_more = sound_limits(np.array([6]), 100, np.array([0.02]), 0.5, Z)
    assert np.allclose(width(one_more), 2 * Z * math.sqrt(0.06 * 0.94 / 100) / 0.5)


def test_the_printed_width_takes_the_estimate_for_an_observed_proportion() -> None:
    limits = printed_limits(np.array([0.55, 0.06, 0.05, -0.2, 1.0, 1.3]), 100, Z)
    normal = [2 * Z * math.sqrt(one * (1 - one) / 100) for one in (0.55, 0.06)]
    assert np.allclose(width(limits)[:2], normal)
    few = likelihood_interval(np.array([0.05, 0.0]), 100, Z)
    assert np.allclose(limits[2:4], few), "five or fewer are few, and what is negative is none"
    assert width(limits)[4:].tolist() == [0, 0], "as printed: no width at one and above"


@pytest.mark.parametrize(("p", "alpha"), [(0.1, 0.05), (0.5, 0.05), (0.5, 0.01), (0.1, 0.2)])
def test_without_the_factor_the_condition_fails_as_often_as_normal_theory_says(p: float, alpha: float) -> None:
    n, z = 20_000, float(norm.ppf(1 - alpha / 2))
    counts = np.arange(n // 2 - 570, n // 2 + 571)  # eight standard deviations to both sides
    chances = binom.pmf(counts, n, 0.5)
    assert chances.sum() > 1 - 1e-12
    fakes = np.full(counts.shape, (1 - p) / 2)
    estimates = (counts / n - fakes) / p
    changes = np.abs(estimates[:, None] - estimates)  # the block before in rows
    for limits, chance in (
        (printed_limits(estimates, n, z), chance_of_missing(alpha, p)),
        (sound_limits(counts, n, fakes, p, z), chance_of_missing(alpha, 1.0)),
    ):
        missed = chances @ (changes >= width(limits)) @ chances
        assert abs(missed - chance) < 0.006, "half a step of the lattice of counts"
    assert np.isclose(chance_of_missing(alpha, p), 2 * norm.sf(math.sqrt(2) * z * p))


def test_at_a_small_p_the_printed_condition_mostly_fails_and_the_sound_one_hardly_ever() -> None:
    assert chance_of_missing(0.05, 0.1) > 0.78
    assert chance_of_missing(0.05, 1.0) < 0.006


@pytest.mark.parametrize(
    ("named", "stopped", "stays"),
    [
        ((50, 52, 50), 2, 2),  # a change of .04 in a width of .39
        ((50, 75, 50, 52, 50), 4, 4),  # two changes of .5 first
        ((50, 52, 75, 50, 51), 2, 5),  # within, twice without, within
        ((50, 52, 75), 2, None),
        ((50, 75, 50), None, None),
    ],
)
def test_convergence_is_found_at_the_right_block(
    named: tuple[int, ...], stopped: int | None, stays: int | None
) -> None:
    found = convergence(of_hundred(*named))
    assert (found.stopped_at, found.stays_from) == (stopped, stays)
    if stopped is None:
        assert found.estimate is None
    else:
        answer = sum((one / 100 - 0.25) / 0.5 for one in named[stopped - 2 : stopped]) / 2
        assert found.estimate is not None
        assert np.allclose(found.estimate, [answer, 1 - answer])


def test_a_change_between_the_two_widths_is_within_the_sound_one_alone() -> None:
    table = of_hundred(50, 62)  # a change of .24; widths of .381 and .172
    sound, printed = convergence(table), convergence(table, width="paper")
    assert np.allclose(sound.changes, 0.24)
    assert np.allclose(sound.widths, 2 * Z * math.sqrt(0.62 * 0.38 / 100) / 0.5)
    assert np.allclose(printed.widths, 2 * Z * math.sqrt(0.74 * 0.26 / 100))
    assert (sound.stopped_at, printed.stopped_at) == (2, None)


def test_a_smaller_alpha_widens_the_intervals() -> None:
    table = of_hundred(50, 71)  # a change of .42
    assert convergence(table, alpha=0.05).stopped_at is None
    assert convergence(table, alpha=0.01).stopped_at == 2


def test_all_cells_must_be_within_at_once() -> None:
    noise, asked = MultinomialNoise(TruthOrFake(1.0, (0.25,) * 4)), Question(("sex", "car"), (2, 2), (0, 1, 2, 3))
    counts = [[40, 30, 20, 10], [40, 10, 20, 30], [40, 12, 18, 30]]
    found = convergence(Table(PAIR, tuple(Block(asked, Tally(noise, one, 100)) for one in counts), ANYTHING))
    assert found.within.tolist() == [[True, False, True, False], [True, True, True, True]]
    assert found.stopped_at == 3


def test_every_block_is_inverted_with_the_fakes_that_it_was_sent() -> None:
    asked = Question(("letter",), (2,), (0, 1))
    noises = [MultinomialNoise(TruthOrFake(p, fake)) for p, fake in ((0.5, (0.5, 0.5)), (0.8, (0.1, 0.9)))]
    blocks = [Block(asked, Tally(noise, (60, 40), 100)) for noise in noises]
    found = convergence(Table(LETTER, tuple(blocks), ANYTHING))
    expected = [(0.6 - 0.25) / 0.5, (0.6 - 0.02) / 0.8]
    assert np.allclose(found.estimates[:, 0], expected)
    assert np.allclose(found.changes, expected[1] - expected[0])


def test_the_order_of_the_attributes_does_not_matter() -> None:
    people = np.array([900, 700, 300, 100])
    table = RRBA(PAIR, p=0.5, block_size=100).simulate(people, rng=3)["sex", "car"]
    one, other = convergence(table), convergence(table.reordered(["car", "sex"]))
    assert one.stopped_at == other.stopped_at is not None
    assert one.estimate is not None
    assert other.estimate is not None
    assert np.array_equal(one.estimate, other.estimate.T)
    assert np.array_equal(
        one.to_frame()["change"],
        other.to_frame()["change"].reorder_levels(["block", "sex", "car"]).loc[one.to_frame().index],
    )


def test_the_frame_has_a_row_per_block_and_cell_with_their_labels() -> None:
    frame = convergence(of_hundred(50, 75, 50)).to_frame()
    assert frame.index.names == ["block", "letter"]
    assert frame.index.tolist() == [(2, "a"), (2, "b"), (3, "a"), (3, "b")]
    assert frame.columns.tolist() == ["estimate", "change", "width", "within"]
    assert np.allclose(frame["estimate"], [1, 0, 0.5, 0.5])
    assert np.allclose(frame["change"], 0.5)
    assert frame["within"].tolist() == [False] * 4


def test_a_last_block_that_is_still_open_is_not_compared() -> None:
    full = convergence(of_letters([(50, 50), (52, 48), (30, 10)]))
    assert len(full.blocks) == 2
    gap = convergence(of_letters([(50, 50), (0, 0), (52, 48)]))
    assert len(gap.blocks) == 2, "nor is one without reports"
    late = convergence(of_letters([(50, 51), (52, 48), (60, 40)]))
    assert len(late.blocks) == 3, "a late answer to an earlier block makes no later one open"


@pytest.mark.parametrize("counts", [[], [(0, 0)], [(50, 50)], [(50, 50), (0, 0)], [(50, 50), (20, 20)]])
def test_fewer_than_two_full_blocks_are_refused(counts: list[tuple[int, int]]) -> None:
    with pytest.raises(LdpstatsError, match="at least two full blocks"):
        convergence(of_letters(counts))


def test_other_noise_and_other_questions_are_refused() -> None:
    people = np.array([90, 70, 30, 10])
    tables = SampledGroups(PAIR, epsilon=1.0, mechanism="oue").simulate(people, rng=1)
    with pytest.raises(LdpstatsError, match="the true one or a fake"):
        convergence(tables["sex", "car"])
    asked = Question(("sex", "car"), (2, 2), (0, 1, 1, 0))
    block = Block(asked, Tally(MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5))), (6, 4), 10))
    with pytest.raises(LdpstatsError, match="ask for the cells themselves"):
        convergence(Table(PAIR, (block, block), ANYTHING))


@pytest.mark.parametrize("arguments", [{"width": "wide"}, {"alpha": 0.0}, {"alpha": 1}, {"alpha": "5 %"}])
def test_other_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        convergence(of_hundred(50, 52), **arguments)  # type: ignore[arg-type]  # this is what is refused


@pytest.mark.parametrize("kind", ["sound", "paper"])
def test_blocks_of_one_respondent_and_cells_that_nobody_reports_have_widths(kind: str) -> None:
    found = convergence(of_letters([(1, 0), (0, 1), (0, 1)]), width=kind)
    assert np.isfinite(found.widths).all()
    never = convergence(of_letters([(0, 40), (0, 40)], fake=(0.0, 1.0)), width=kind)
    assert never.widths[0, 0] > 0
    assert never.within[0, 0], "a cell that nobody reports does not move"


def test_the_summary_says_where_it_stopped_and_what_that_means() -> None:
    text = convergence(of_hundred(50, 52, 75, 50, 51)).summary().as_text()
    assert "held first at block 2 of 5, after 200 reports; it held from block 5 until the last" in text
    assert "error of their 200 reports, however many came" in text
    assert "about 0.56 %" in text
    assert "all 500 reports" in text
    assert "0.5200" in text, "the answer, (.5 + .54) / 2"
    printed = convergence(of_hundred(50, 52, 75), width="paper").summary().as_text()
    assert "about 17 %" in printed
    assert "it did not hold at the last one" in printed
    never = convergence(of_hundred(50, 75, 50)).summary().as_text()
    assert "held in none of 3 blocks" in never
    assert "two blocks" not in never.split("Asked")[0]
    assert "0.6667" in never, "the estimate from all blocks"


def test_what_is_drawn_and_told_are_the_estimates_of_the_blocks() -> None:
    domain = Domain({"a": [1, "1", "x"], "b": ["u", "v, w", "z"]})
    people = np.arange(1, 10) * 50
    found = convergence(RRBA(domain, p=0.5, block_size=400).simulate(people, rng=2)["a", "b"])
    picture = found.picture()
    assert [*picture.series] == ["'1', 'z'", "'x', 'u'", "'x', 'v, w'", "'x', 'z'"]
    assert picture.notes[:2] == ("simulated", "the 4 most frequent of 9 values")
    assert picture.series["'1', 'z'"] == tuple(found.estimates[:, 5])
    assert picture.lower["'1', 'z'"] == tuple(found.limits[:, 5, 0])
    assert picture.upper["'1', 'z'"] == tuple(found.limits[:, 5, 1])
    plain = found.to_dict()
    swings = convergence(of_hundred(50, 52, 75, 50, 51)).to_dict()
    assert (swings["stopped_at"], swings["stays_from"]) == (2, 5)
    assert len(plain["estimates"]) == len(found.blocks)
    json.dumps(plain, allow_nan=False)
    assert "\n" not in repr(found)
    assert "a × b, stops at" in found.headline


def test_what_lasts_until_the_end_begins_where_it_is_said_to() -> None:
    holds = np.array([[True, True], [False, True], [True, False], [False, False]])
    assert start_of_lasting(holds).tolist() == [0, 1, 2, 2]
