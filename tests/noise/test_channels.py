"""Channels with structure do what their matrices do, output by output, without forming them."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard
from support.channel_definitions import COHORTS, HADAMARD, cohort_matrix, hadamard_matrix

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.noise.channels import ChannelNoise, CohortChannel, DenseChannel, MultinomialNoise
from ldpstats.noise.hadamard import HadamardRandomizedResponse

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("channel", "matrix"),
    [
        *(pytest.param(one, hadamard_matrix(one), id=name) for name, one in HADAMARD.items()),
        *(pytest.param(one, cohort_matrix(one), id=name) for name, one in COHORTS.items()),
    ],
)
def test_the_matrix_is_the_definition(channel: ChannelNoise, matrix: NDArray[Any]) -> None:
    """All else is held against the matrix in test_model.py."""
    np.testing.assert_allclose(channel.matrix(), matrix, rtol=0, atol=1e-15)


@pytest.mark.parametrize("channel", COHORTS.values(), ids=COHORTS)
def test_the_estimate_is_least_squares_on_the_slots(channel: CohortChannel) -> None:
    shares = np.random.default_rng(3).dirichlet(np.ones(channel.outputs))
    lie = (1 - channel.truth) / (channel.symbols - 1)
    slots = (channel.cohorts * shares - lie) / (channel.truth - lie)
    members = np.round((channel.cohorts * cohort_matrix(channel).T - lie) / (channel.truth - lie))
    expected = np.linalg.lstsq(members, slots, rcond=None)[0]
    np.testing.assert_allclose(channel.invert(shares), expected, rtol=0, atol=1e-11)


def test_simulated_counts_keep_their_tables_apart_and_lose_nobody() -> None:
    channel = COHORTS["random symbols"]
    true_counts = RNG.integers(0, 10**6, (4, 2, channel.cells))
    counts = channel.simulate(true_counts, np.random.default_rng(6))
    assert counts.shape == (4, 2, channel.outputs)
    np.testing.assert_array_equal(counts.sum(axis=-1), true_counts.sum(axis=-1))
    expected = true_counts @ channel.matrix()
    # 6.5 standard deviations of at most the binomial size: below 1e-6 for all 576 counts
    assert np.all(np.abs(counts - expected) < 6.5 * np.sqrt(expected))


def test_codes_that_tell_no_values_apart_have_the_level_zero() -> None:
    assert CohortChannel([[1, 1, 1], [0, 0, 0]], 2, 0.9).epsilon == 0
    assert CohortChannel([[1, 1, 1], [0, 0, 1]], 2, 0.9).epsilon == pytest.approx(np.log(9))


def test_values_with_the_same_codes_are_not_identified() -> None:
    channel = CohortChannel([[0, 1, 0, 2], [2, 0, 2, 1]], 3, 0.8)
    assert not channel.identified
    for estimate, outputs in ((channel.debias, 6), (channel.covariance, 4)):
        with pytest.raises(NotIdentifiedError, match="rank 3 for 4 values"):
            estimate(np.full(outputs, 1 / outputs))
    assert channel.simulate(np.array([5, 0, 0, 1]), np.random.default_rng(1)).sum() == 6


def test_least_squares_on_hadamard_codes_is_the_transform_with_the_sum_pulled_to_one() -> None:
    k, truth = 6, 0.7
    cohorts = CohortChannel((hadamard(8)[:, :k] < 0).astype(int), 2, truth)
    coefficients = HadamardRandomizedResponse(k, truth)
    np.testing.assert_allclose(cohorts.matrix(), coefficients.matrix(), rtol=0, atol=1e-15)
    shares = RNG.dirichlet(np.ones(16))
    free = coefficients.invert(shares)
    np.testing.assert_allclose(cohorts.invert(shares), free + (1 - free.sum()) / (k + 1), rtol=0, atol=1e-12)


def test_many_slots_need_no_matrix_of_slots_by_slots() -> None:
    channel = CohortChannel(np.random.default_rng(7).integers(0, 4, (512, 300)), 4, 0.5)
    uniform = np.full(300, 1 / 300)
    tracemalloc.start()
    mean = channel.push(uniform)
    np.testing.assert_allclose(channel.invert(mean), uniform, rtol=0, atol=1e-12)
    covariance = channel.covariance(uniform)
    channel.score(uniform, 1000 * mean, 1000)
    channel.simulate(np.full(300, 50), np.random.default_rng(8))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.linalg.eigvalsh(covariance[:20, :20]).min() > 0
    assert peak < 8 * channel.outputs**2 / 2


def test_channels_compare_by_content_and_cannot_be_changed_from_outside() -> None:
    codes = np.array([[0, 1, 1], [1, 0, 1]])
    channel, same = CohortChannel(codes, 2, 0.75), CohortChannel(codes.tolist(), 2, 0.75)
    codes[0, 0] = 1
    assert channel == same
    assert hash(channel) == hash(same)
    assert channel.codes[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        channel.codes[0, 0] = 1
    others = (CohortChannel(codes, 2, 0.75), CohortChannel(same.codes, 3, 0.75), CohortChannel(same.codes, 2, 0.8))
    assert all(channel != other for other in others)
    assert channel != "a channel"
    assert channel.merged(np.array([0, 0, 1])) is None
    assert channel.bounds() is None


def test_pickled_codes_cannot_be_changed() -> None:
    assert not pickle.loads(pickle.dumps(COHORTS["random symbols"])).codes.flags.writeable  # noqa: S301  # our own


@pytest.mark.parametrize("seed", range(40))
def test_identified_is_what_the_rank_says(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 2, (5, 5))
    rank = np.linalg.matrix_rank(np.vstack([np.ones(5), 1 - 2 * codes]))
    assert CohortChannel(codes, 2, 0.8).identified == (rank == 5)


def test_a_class_of_ones_own_derives_from_a_channel_not_from_the_name_of_all() -> None:
    with pytest.raises(LdpstatsError, match="DenseChannel or ChannelNoise as its base"):
        type("Own", (MultinomialNoise,), {})


def test_more_outputs_than_values_lose_nothing_where_all_values_are_equally_frequent() -> None:
    """Estimates are unbiased, add up to one, and have there the least variance that unbiased ones can have.

    That is the bound of Cramér and Rao for frequencies that add up to one; an unweighted pseudo-inverse misses both.
    """
    rng = np.random.default_rng(5)
    for k, outputs in ((2, 4), (3, 7), (5, 5), (4, 30)):
        rows = rng.dirichlet(np.full(outputs, 0.4), size=k)
        rows[rng.random(rows.shape) < 0.1] = 0
        rows /= rows.sum(axis=1, keepdims=True)
        channel = DenseChannel(rows[:, rows.max(axis=0) > 0])
        matrix, equal = channel.matrix(), np.full(k, 1 / k)
        inverse = channel.debias(np.eye(channel.outputs))
        assert np.allclose(matrix @ inverse, np.eye(k), atol=1e-9)
        assert np.allclose(inverse.sum(axis=1), 1, atol=1e-9)
        information = (matrix / (equal @ matrix)) @ matrix.T
        bound = np.diag(np.linalg.inv(information)) - equal**2
        assert channel.variance(equal) == pytest.approx(bound, rel=1e-9)
