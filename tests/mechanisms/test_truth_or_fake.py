"""Truth or fake: its law to the last word, its strict level, the paper's own with its delta, and why GRR dominates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from ldpstats import LdpstatsError
from ldpstats.conformance import certify, exact_channel
from ldpstats.conformance.enumeration import decoded
from ldpstats.mechanisms import FakeResponse, Mechanism, fake_numerators
from ldpstats.numbers.arrays import positive_epsilon
from ldpstats.numbers.grid import GRID, exp_below
from ldpstats.privacy import worst_ratio

UNEVEN = (0.5, 0.3, 0.15, 0.05)
WITH_ZEROS = (0.0, 0.7, 0.3, 0.0)
TINY = (1e-6, 0.3, 0.7 - 1e-6)
LEVELS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 12.0)


def zipf(k: int) -> np.ndarray[Any, Any]:
    weights = 1 / np.arange(1, k + 1)
    return np.asarray(weights / weights.sum())


def channel_of(mechanism: Mechanism) -> list[list[Fraction]]:
    """Return P(report | value) as enumerated from the sampler, a row per value."""
    rows = []
    for law in exact_channel(mechanism):
        row = [Fraction(0)] * mechanism.k
        for report, probability in law.items():
            row[int(decoded(mechanism, report)[0])] += probability
        rows.append(row)
    return rows


def test_a_certificate_needs_fakes_that_hide_everything() -> None:
    def without_a_floor(k: int, epsilon: float) -> FakeResponse:
        fake = fake_numerators(np.append(np.full(k - 1, 1 / (k - 1)), 0.0))
        return FakeResponse.telling(1 - 1 / np.exp(positive_epsilon(epsilon)), fake)

    with pytest.raises(AssertionError, match="certainty"):
        certify(without_a_floor)


@pytest.mark.parametrize("frequencies", [UNEVEN, WITH_ZEROS, TINY, (0.5, 0.5), tuple(zipf(7))])
@pytest.mark.parametrize("p", [0.05, 0.221, 0.5, 0.9])
def test_level_and_delta_are_those_of_the_exact_channel(frequencies: tuple[float, ...], p: float) -> None:
    mechanism = FakeResponse.telling(p, fake_numerators(frequencies))
    channel = channel_of(mechanism)
    assert all(sum(row) == 1 for row in channel)
    assert mechanism.likelihood_ratio() == worst_ratio([dict(enumerate(row)) for row in channel])
    nominal = 1 / (1 - mechanism.p)
    divergence = max(
        sum((max(one - nominal * other, Fraction(0)) for one, other in zip(row, another, strict=True)), Fraction(0))
        for row, another in permutations(channel, 2)
    )
    assert mechanism.delta_at_nominal == divergence
    assert mechanism.nominal_epsilon == pytest.approx(-np.log1p(-p), rel=1e-15)


@pytest.mark.parametrize(
    ("p", "nominal", "delta", "strict"),
    [
        (0.221, 0.25, 0.17, (0.45, 0.76, 1.27, 1.71, 2.42, 3.18)),
        (0.4, 0.51, 0.30, (0.85, 1.30, 1.95, 2.46, 3.22, 4.01)),
        (0.5, 0.69, 0.38, (1.10, 1.61, 2.30, 2.83, 3.61, 4.41)),
    ],
)
def test_the_papers_chances_cost_what_the_table_says(
    p: float, nominal: float, delta: float, strict: tuple[float, ...]
) -> None:
    uniform = {m: FakeResponse.telling(p, fake_numerators(np.full(m, 1 / m))) for m in (2, 4, 9, 16, 36, 81)}
    found = [one.strict_epsilon() for one in uniform.values()]
    assert np.abs(np.array(found) - strict).max() <= 0.005 + 1e-9
    assert {round(one.nominal_epsilon, 2) for one in uniform.values()} == {nominal}
    assert abs(float(uniform[4].delta_at_nominal) - delta) <= 0.005 + 1e-9


@pytest.mark.parametrize("epsilon", LEVELS)
@pytest.mark.parametrize("frequencies", [UNEVEN, TINY, (0.5, 0.5), tuple(zipf(200))])
def test_a_level_is_kept_and_used_up(epsilon: float, frequencies: tuple[float, ...]) -> None:
    mechanism = FakeResponse.at_level(epsilon, fake_numerators(frequencies))
    ratio = mechanism.likelihood_ratio()
    assert ratio is not None
    assert ratio <= exp_below(epsilon)
    assert epsilon - 1e-9 < mechanism.strict_epsilon() <= epsilon
    assert mechanism.epsilon == mechanism.privacy().epsilon == mechanism.strict_epsilon()
    # one GRID-th more of truth would exceed it: nothing is given away
    more = FakeResponse(mechanism.truth + 1, mechanism.fake).likelihood_ratio()
    assert more is not None
    assert more > exp_below(epsilon)


def test_a_fake_that_never_comes_makes_the_level_infinite() -> None:
    mechanism = FakeResponse.telling(0.1, fake_numerators(WITH_ZEROS))
    assert mechanism.likelihood_ratio() is None
    assert mechanism.strict_epsilon() == np.inf
    assert mechanism.delta_at_nominal == mechanism.p
    assert channel_of(mechanism)[1][0] == channel_of(mechanism)[2][3] == 0
    with pytest.raises(LdpstatsError, match="larger floor"):
        FakeResponse.at_level(1.0, fake_numerators(WITH_ZEROS))
    certain = FakeResponse(GRID, fake_numerators(UNEVEN))
    assert certain.strict_epsilon() == certain.nominal_epsilon == np.inf


def intervals(fake: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    start = 0
    for value, width in enumerate(fake):
        if width:
            yield value, start, start + width - 1
        start += width


@pytest.mark.parametrize("frequencies", [UNEVEN, WITH_ZEROS, TINY, (0.0, 0.0, 1.0), tuple(zipf(50))])
def test_one_answer_has_the_law_of_many_to_the_last_word(frequencies: tuple[float, ...]) -> None:
    mechanism = FakeResponse.telling(0.3, fake_numerators(frequencies))
    truth, last = mechanism.truth, GRID - 1
    for word in (0, truth - 1):
        assert mechanism.randomize_one(1, iter([word, last]).__next__) == 1
    for value, first, final in intervals(mechanism.fake):
        for word in {first, min(first + 1, final), max(final - 1, first), final}:
            for lie in (truth, last):
                assert mechanism.randomize_one(1, iter([lie, word]).__next__) == value
    assert sum(final - first + 1 for _, first, final in intervals(mechanism.fake)) == GRID


def test_many_answers_have_the_channel_that_one_has() -> None:
    mechanism = FakeResponse.telling(0.3, fake_numerators(WITH_ZEROS))
    for value, row in enumerate(channel_of(mechanism)):
        lies = [(GRID - mechanism.truth) * fake for fake in mechanism.fake]
        lies[value] += GRID * mechanism.truth
        assert row == [Fraction(one, GRID**2) for one in lies]


@pytest.mark.parametrize("floor", [0.0, 1e-9, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("frequencies", [UNEVEN, WITH_ZEROS, TINY, tuple(zipf(1000)), tuple(np.eye(9)[4])])
def test_fakes_sum_to_the_grid_and_keep_zeros_and_floors(frequencies: tuple[float, ...], floor: float) -> None:
    fakes, cells = fake_numerators(frequencies, floor), len(frequencies)
    assert sum(fakes) == GRID
    assert all(type(one) is int for one in fakes)
    assert min(fakes) >= int(Fraction(floor) / cells * GRID)
    if floor == 0:
        assert [one == 0 for one in fakes] == [one == 0 for one in frequencies]
    expected = [(1 - floor) * one + floor / cells for one in frequencies]
    assert np.abs(np.array(fakes, dtype=float) / GRID - expected).max() < 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("cells", [2, 4, 9])
def test_randomized_response_dominates_every_table_of_fakes(cells: int, epsilon: float) -> None:
    """The channel is GRR followed by W = αI + (1−α)1wᵀ, and w is a proper distribution."""
    rng, odds = np.random.default_rng(cells), np.expm1(epsilon)
    grr = (odds * np.eye(cells) + 1) / (odds + cells)
    for table in rng.dirichlet(np.full(cells, 0.5), 50):
        mechanism = FakeResponse.at_level(epsilon, fake_numerators(table, 0.02))
        p, fakes = float(mechanism.p), np.array(mechanism.fake, dtype=float) / GRID
        alpha = p * (odds + cells) / odds
        after = ((1 - p) * fakes - p / odds) / (1 - alpha)
        assert 0 < alpha < 1
        assert after.min() > -1e-9
        assert after.sum() == pytest.approx(1, abs=1e-9)
        kernel = alpha * np.eye(cells) + (1 - alpha) * after
        found = np.array(channel_of(mechanism), dtype=float) if cells < 9 else p * np.eye(cells) + (1 - p) * fakes
        assert np.abs(grr @ kernel - found).max() < 1e-12


@pytest.mark.parametrize(
    ("truth", "fake"),
    [
        (0, (GRID // 2, GRID // 2)),
        (-1, (GRID // 2, GRID // 2)),
        (True, (GRID // 2, GRID // 2)),
        (0.5, (GRID // 2, GRID // 2)),
        (GRID + 1, (GRID // 2, GRID // 2)),
        (1, (GRID,)),
        (1, ()),
        (1, (GRID // 2, GRID // 2 - 1)),
        (1, (GRID + 1, -1)),
        (1, (0.5, 0.5)),
    ],
)
def test_improper_fakes_are_refused(truth: Any, fake: Any) -> None:
    with pytest.raises(LdpstatsError):
        FakeResponse(truth, fake)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1, True, "x", None])
def test_bad_levels_and_chances_are_refused(bad: Any) -> None:
    fake = fake_numerators(UNEVEN)
    for make in (FakeResponse.at_level, FakeResponse.telling):
        with pytest.raises(LdpstatsError):
            make(bad, fake)


@pytest.mark.parametrize("bad", [[0.5, 0.1], [5, 1], [1.5, -0.5], [float("nan"), 1.0]])
def test_improper_frequencies_are_refused(bad: list[float]) -> None:
    with pytest.raises(LdpstatsError):
        fake_numerators(bad)
