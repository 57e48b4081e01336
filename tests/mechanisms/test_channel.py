"""Channels by their rows: 500 random ones are exact in all that mechanisms do, and rounding never tells more."""

from __future__ import annotations

import copy
import math
import pickle
import random
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.random_channels import random_channel, random_channels

import ldpstats as ldp
from ldpstats import LdpstatsError
from ldpstats.conformance import exact_channel
from ldpstats.conformance.certification import check_named
from ldpstats.conformance.enumeration import decoded
from ldpstats.conformance.requirements import Factory
from ldpstats.errors import NotIdentifiedError
from ldpstats.mechanisms import Channel, mechanism, plain_mechanism, read_mechanism
from ldpstats.numbers.grid import GRID, exp_below
from ldpstats.privacy import strict_epsilon, worst_ratio

OF_ALL = (
    "reports_of_several_respondents_are_independent",
    "possible_reports_are_those_that_are_sent",
    "parameters_tell_mechanisms_apart",
    "probabilities_are_those_that_are_drawn_with",
    "tallies_merge",
)
OF_BOUNDED = ("privacy_is_exact", "noise_model_knows_its_level")
OF_IDENTIFIED = (
    "estimates_are_unbiased",
    "noise_model_is_exact",
    "score_and_information_are_exact",
    "bad_reports_are_refused",
)
OF_SAMPLES = (
    "aggregate_simulation_has_the_law_of_the_reports",
    "public_sampler_follows_the_channel",
    "batches_of_every_size_follow_the_channel",
    "neighbours_in_a_batch_are_independent",
    "large_batches_are_like_small_ones",
    "reports_travel_as_they_are",
)


SAMPLED = (21, 31, 115)
"""Channels of two and more values, one of which is one-sided, with outputs that both of the first two values have."""


def is_identified(channel: Channel) -> bool:
    """Say whether reports identify frequencies, in figures that doubles can hold."""
    matrix = channel.noise.matrix()
    return len(matrix) <= len(matrix[0]) and np.linalg.svd(matrix, compute_uv=False)[len(matrix) - 1] > 1e-3


def instance(channel: Channel) -> Factory:
    """Return what makes this channel, and another one at the level 2, which stands for foreign ones."""
    other = Channel([[GRID // 2, GRID - GRID // 2 - step, step] for step in range(1, channel.k + 1)])
    return lambda k, epsilon: other if (k, epsilon) == (5, 2.0) else channel


def matrix_of(channel: Channel) -> list[list[Fraction]]:
    """Return P(output | value) as enumerated from the sampler."""
    rows = []
    for law in exact_channel(channel):
        row = [Fraction(0)] * len(channel.rows[0])
        for report, chance in law.items():
            row[int(decoded(channel, report)[0])] += chance
        rows.append(row)
    return rows


def test_random_channels_are_of_every_kind() -> None:
    channels = random_channels()
    shapes = {(one.k, len(one.rows[0])) for one in channels}
    assert shapes == {(k, outputs) for k in range(2, 7) for outputs in range(2, 7)}
    assert sum(one.likelihood_ratio() is None for one in channels) > 100
    assert sum(one.likelihood_ratio() is not None for one in channels) > 100
    assert sum(GRID in row for one in channels for row in one.rows) > 50
    assert sum(1 in row for one in channels for row in one.rows) > 50
    assert 50 < sum(map(is_identified, channels)) < 450


def test_sampler_and_level_of_random_channels_are_exact() -> None:
    for channel in random_channels():
        assert matrix_of(channel) == [[Fraction(entry, GRID) for entry in row] for row in channel.rows]
        assert channel.likelihood_ratio() == worst_ratio(exact_channel(channel))
        assert channel.epsilon == strict_epsilon(channel.likelihood_ratio())
        assert channel.privacy().epsilon == channel.epsilon


@pytest.mark.parametrize("name", OF_ALL)
def test_checks_of_the_suite_hold_for_random_channels(name: str) -> None:
    for channel in random_channels()[::23]:
        check_named(name)(instance(channel))


@pytest.mark.parametrize("name", OF_BOUNDED)
def test_checks_of_bounded_mechanisms_hold_for_bounded_channels(name: str) -> None:
    bounded = [one for one in random_channels() if one.likelihood_ratio() is not None and one.epsilon > 1e-6]
    for channel in bounded[::11]:
        check_named(name)(lambda k, epsilon: channel)  # noqa: ARG005, B023  # whatever is asked for


def test_likelihoods_of_bounded_channels_are_exact() -> None:
    for channel in random_channels():
        if channel.likelihood_ratio() is not None and is_identified(channel):
            check_named("likelihoods_are_exact")(instance(channel))


@pytest.mark.parametrize("name", OF_IDENTIFIED)
def test_checks_of_estimates_hold_for_channels_that_identify_frequencies(name: str) -> None:
    for channel in [one for one in random_channels() if is_identified(one)][::9]:
        check_named(name)(instance(channel))


def test_covariances_of_channels_are_estimated_without_bias() -> None:
    for channel in [one for one in random_channels() if one.k == 2 and is_identified(one)]:
        check_named("covariance_estimate_is_unbiased")(instance(channel))


@pytest.mark.parametrize("name", OF_SAMPLES)
@pytest.mark.parametrize("seed", SAMPLED)
def test_checks_by_samples_hold_for_channels(name: str, seed: int) -> None:
    check_named(name)(instance(random_channel(seed)))


def given_rows(seed: int) -> list[list[Any]]:
    """Return rows of floats or fractions: even, with tiny entries, nearly alike, or with zeros."""
    rng = random.Random(seed)  # noqa: S311  # nothing secret
    k, outputs = rng.randint(2, 6), rng.randint(2, 6)
    weights: list[list[Any]] = [[_weight(seed % 6, rng) for _ in range(outputs)] for _ in range(k)]
    for row in weights:
        row[rng.randrange(outputs)] += 1
    for output in range(outputs):
        if not any(row[output] for row in weights):
            weights[0][output] = 1
    return [[weight / sum(row) for weight in row] for row in weights]


def _weight(kind: int, rng: random.Random) -> Any:
    return (
        rng.random(),
        2.0 ** -rng.uniform(0, 90),
        Fraction(rng.randrange(1, 1 << 80), rng.randrange(1, 1 << 80)),
        Fraction(rng.randint(1, 5), GRID * 2),
        1 + rng.randint(0, 3) * 2.0 ** -rng.randint(20, 52),
        rng.choice([0, 0, rng.random(), 2.0**-60]),
    )[kind]


def worst_of(rows: Any) -> Fraction | None:
    """Return the largest ratio within a column, in exact arithmetic; None where one of two is 0."""
    columns = [[Fraction(entry) for entry in column] for column in zip(*rows, strict=True)]
    if any(min(column) == 0 < max(column) for column in columns):
        return None
    return max(max(column) / min(column) for column in columns)


def test_rounding_tells_no_more_than_the_rows_given_and_moves_little() -> None:
    for seed in range(600):
        given = given_rows(seed)
        channel, worst = Channel(given), worst_of(given)
        assert all(sum(row) == GRID for row in channel.rows)
        pairs = [
            (before, after)
            for rows in zip(given, channel.rows, strict=True)
            for before, after in zip(*rows, strict=True)
        ]
        assert all((before == 0) == (after == 0) for before, after in pairs)
        assert (worst is None) == (channel.likelihood_ratio() is None)
        assert worst is None or channel.likelihood_ratio() <= worst
        exact = [Fraction(after, GRID) - Fraction(before) for before, after in pairs]
        alike = len(set(channel.rows)) == 1
        assert max(map(abs, exact)) < 2**-35 or (alike and worst - 1 < 2**-20)
        moved = channel.moved
        assert moved["difference"].tolist() == [float(off) for off in exact if off]
        outputs = len(channel.rows[0])
        places = [divmod(place, outputs) for place, off in enumerate(exact) if off]
        assert list(zip(moved["value"], moved["output"], strict=True)) == places


def test_rounding_keeps_the_ratio_of_any_two_values_where_nothing_is_tiny() -> None:
    for seed in range(0, 600, 6):
        given = given_rows(seed)
        rounded = Channel(given).rows
        for one, other in permutations(range(len(given)), 2):
            before, after = (
                max(Fraction(most) / Fraction(least) for most, least in zip(rows[one], rows[other], strict=True))
                for rows in (given, rounded)
            )
            assert after <= before


@pytest.mark.parametrize(
    ("rows", "ratio"),
    [
        (
            [[Fraction(1, GRID), 1 - Fraction(1, GRID)], [Fraction(3, 2 * GRID), 1 - Fraction(3, 2 * GRID)]],
            Fraction(3, 2),
        ),
        ([[0.5 + 2**-53, 0.5 - 2**-53], [0.5, 0.5]], 1 + Fraction(1, 1 << 51)),
        ([[5e-324, 1.0], [5e-324, 1.0]], Fraction(1)),
        ([[1e-30, 1.0], [1e-30, 1.0], [1e-25, 1.0]], Fraction(100_001)),
        ([[Fraction(3, 4) - Fraction(1, 1 << 200), Fraction(1, 4) + Fraction(1, 1 << 200)], [0.25, 0.75]], Fraction(3)),
    ],
    ids=["tiny", "nearly even", "as tiny as can be", "beyond the grid", "just below 3"],
)
def test_hard_rows_keep_their_level(rows: Any, ratio: Fraction) -> None:
    assert Channel(rows).likelihood_ratio() <= min(worst_of(rows), ratio)


@pytest.mark.parametrize("k", [64, 65, 150])
def test_what_all_values_can_send_keeps_its_level_in_large_one_sided_channels(k: int) -> None:
    """Too many pairs to compare are not compared: the ratio within these outputs is."""
    design = mechanism("urr", k, 0.1, sensitive=range(0, k, 3))
    shared = [column for column in zip(*design.rows, strict=True) if min(column)]
    assert len(shared) == len(range(0, k, 3))
    assert max(Fraction(max(column), min(column)) for column in shared) <= exp_below(0.1)


def test_whole_numbers_stay_as_they_are() -> None:
    for rows in (
        [[GRID // 3, GRID - GRID // 3], [0, GRID]],
        np.array([[1 << 63, 1 << 63], [1, (1 << 64) - 1]], dtype=np.uint64),
    ):
        channel = Channel(rows)
        assert channel.rows == tuple(tuple(map(int, row)) for row in rows)
        assert channel.moved.empty
    assert Channel([[1, 0], [0, 1]]) == Channel(np.eye(2)) == Channel([[GRID, 0], [0, GRID]])


HALVES = [[0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("rows", "names", "said"),
    [
        ([], {}, "0 rows"),
        ([HALVES[0]], {}, "1 rows"),
        ([[], []], {}, "0 entries"),
        ([[0.5, 0.5], [1.0]], {}, "with 1, 2 entries"),
        ([[1.0]] * 4097, {}, "4097 rows"),
        ([[0.5, 0.5], [0.5, 0.6]], {}, "with the sum 1.1"),
        ([[0.5, 0.5], [1.5, -0.5]], {}, "the probability 1.5"),
        ([[0.5, 0.5], [math.nan, 0.5]], {}, "the probability nan"),
        ([[0.5, 0.5], [math.inf, 0.5]], {}, "the probability inf"),
        ([[0.5, 0.5], ["0.5", 0.5]], {}, "the probability '0.5'"),
        ([[0.5, 0.5], [None, 0.5]], {}, "the probability None"),
        ([[0.5, 0.5], [[0.5], 0.5]], {}, r"the probability \[0.5\]"),
        ([[GRID, 1], [0, GRID]], {}, "the probability 18446744073709551616"),
        ([[0.5, 0.5, 0], [0.5, 0.5, 0]], {}, "never sends output 2"),
        ([[GRID, 0], [GRID, 0]], {}, "never sends output 1"),
        (HALVES, {"values": ["a"]}, "2 names"),
        (HALVES, {"values": ["a", "a"]}, "all different"),
        (HALVES, {"values": [1, True]}, "all different"),
        (HALVES, {"outputs": [math.nan, math.nan]}, "all different"),
        (HALVES, {"outputs": [[1], [2]]}, "all different"),
        (HALVES, {"values": "ab"}, "values = "),
        (HALVES, {"values": {"a", "b"}}, "the set"),
    ],
)
def test_what_is_no_channel_is_refused(rows: Any, names: dict[str, Any], said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        Channel(rows, **names)


def test_channels_are_mechanisms_by_name_and_no_others_are_made_of_k_and_epsilon() -> None:
    assert mechanism("matrix", 2, 2.0, rows=HALVES) == Channel(HALVES)
    for k, epsilon in ((3, 2.0), (2, 0.1)):
        with pytest.raises(LdpstatsError, match="at this level or below it"):
            mechanism("channel", k, epsilon, rows=HALVES)
    with pytest.raises(LdpstatsError, match="Its rows make a channel"):
        mechanism("channel", 2, 1.0)
    assert "channel" not in set(ldp.mechanisms(2, 1.0)["name"])


def test_names_of_channels_are_short_and_tell_them_apart() -> None:
    """They stand in summaries, errors and fingerprints."""
    names = {repr(channel) for channel in random_channels()}
    assert len(names) == len(set(random_channels())) > 490
    assert max(map(len, names)) < 80
    same = Channel(HALVES, values=["a", "b"])
    assert repr(same) != repr(Channel(HALVES))
    assert repr(same) == repr(Channel(HALVES, values=("a", "b")))


@pytest.mark.parametrize("place", [0, 3, 9, 240])
def test_channels_are_saved_copied_and_pickled(place: int, tmp_path: Any) -> None:
    channel = random_channels()[place]
    channel.save(tmp_path / "channel.json")
    others = ldp.load(tmp_path / "channel.json"), pickle.loads(pickle.dumps(channel)), copy.deepcopy(channel)  # noqa: S301  # our own
    for other in (*others, read_mechanism(plain_mechanism(channel))):
        assert other == channel
        assert hash(other) == hash(channel)
        assert other.likelihood_ratio() == channel.likelihood_ratio()


def test_forged_reports_and_audits_of_channels() -> None:
    from ldpstats.attacks.auditing import audit
    from ldpstats.attacks.poisoning import poisoning

    one_sided, response = Channel([[0.5, 0.5], [0, 1]]), ldp.GRR(3, epsilon=1.0)
    assert audit(one_sided, n=4_000, rng=1).failures == ()
    assert "possible under 0 and" in str(audit(one_sided, n=4_000, rng=1).summary())
    matrix = [[response.truth if v == w else (GRID - response.truth) // 2 for w in range(3)] for v in range(3)]
    as_rows = Channel([[*row[:2], GRID - sum(row[:2])] for row in matrix])
    of_rows, of_response = (poisoning(one, 0.05, 1_000) for one in (as_rows, response))
    assert of_rows.rise == pytest.approx(of_response.rise, rel=1e-12)
    with pytest.raises(NotIdentifiedError, match="rank 1 for 2 values"):
        poisoning(Channel([[0.5, 0.5], [0.5, 0.5]]), 0.05)


def test_reports_that_no_frequencies_make_do_not_fit_a_channel() -> None:
    channel = Channel([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
    honest = channel.privatize(np.arange(3_000) % 3, rng=1)
    assert channel.channel_fit(honest).plausible
    assert not channel.channel_fit(channel.count([0] * 2_500 + [2] * 500)).plausible


def test_rows_may_come_as_a_data_frame() -> None:
    rows = [[0.75, 0.25], [0.125, 0.875]]
    assert ldp.Channel(pd.DataFrame(rows, index=["no", "yes"], columns=["a", "b"])) == ldp.Channel(rows)
