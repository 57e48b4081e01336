"""Channels by their rows: 500 random ones are exact in all that mechanisms do, and rounding never tells more."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
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
from ldpstats.numbers.grid import GRID
from ldpstats.privacy import strict_epsilon, worst_ratio

OF_ALL = (
    "reports_of_several_respondents_are_independent",
    "possible_reports_are_those_that_are_sent",
    "parameters_tell_mechanisms_apart",
    "probabilities_are_those_that_are_drawn_with",
    "tallies_merge",
)
OF_BOUNDED = ("privacy_is_exact", "noise_model_knows_its_level")
OF_IDENTIFIED = ("estimates_are_unbiased", "noise_model_is_exact", "score_and_information_are_exact", "bad_reports_are_refused")
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
    for channel in random_channels()[:: 20 if name == OF_ALL[0] else 5]:
        check_named(name)(instance(channel))


@pytest.mark.parametrize("name", OF_BOUNDED)
def test_checks_of_bounded_mechanisms_hold_for_bounded_channels(name: str) -> None:
    bounded = [one for one in random_channels() if one.likelihood_ratio() is not None and one.epsilon > 1e-6]
    for channel in bounded[::3]:
        check_named(name)(lambda k, epsilon: channel)  # noqa: ARG005, B023  # whatever is asked for


def test_likelihoods_of_bounded_channels_are_exact() -> None:
    for channel in random_channels():
        if channel.likelihood_ratio() is not None and is_identified(channel):
            check_named("likelihoods_are_exact")(instance(channel))


@pytest.mark.parametrize("name", OF_IDENTIFIED)
def test_checks_of_estimates_hold_for_channels_that_identify_frequencies(name: str) -> None:
    for channel in [one for one in random_channels() if is_identified(one)][::5]:
        check_named(name)(instance(channel))


def test_covariances_of_channels_are_estimated_without_bias() -> None:
    for channel in [one for one in random_channels() if one.k == 2 and is_identified(one)]:
        check_named("covariance_estimate_is_unbiased")(instance(channel))


@pytest.mark.parametrize("name", OF_SAMPLES)
@pytest.mark.parametrize("seed", SAMPLED)
def test_checks_by_samples_hold_for_channels(name: str, seed: int) -> None:
    check_named(name)(instance(random_channel(seed)))
