"""Channels with structure do what their matrices do, output by output, without forming them."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard
from support.channel_definitions import COHORTS, HADAMARD, cohort_matrix, frequencies, hadamard_matrix

from ldpstats.conformance.requirements import FALSE_FAILURE_RATE, counted, fit_pvalue, law_of_tally
from ldpstats.errors import NotIdentifiedError
from ldpstats.noise.channels import ChannelNoise, CohortChannel, multinomial_covariance
from ldpstats.noise.hadamard import HadamardRandomizedResponse

RNG = np.random.default_rng(1)
# the fast transform loses less than least squares does
EACH = pytest.mark.parametrize(
    ("channel", "matrix", "rounding"),
    [
        *(pytest.param(one, hadamard_matrix(one), 1e-14, id=name) for name, one in HADAMARD.items()),
        *(pytest.param(one, cohort_matrix(one), 1e-12, id=name) for name, one in COHORTS.items()),
    ],
)
Matrix = NDArray[Any]


@EACH
def test_the_matrix_is_the_definition(channel: ChannelNoise, matrix: Matrix, rounding: float) -> None:
    del rounding
    np.testing.assert_allclose(channel.matrix(), matrix, rtol=0, atol=1e-15)


@EACH
def test_frequencies_of_many_tables_are_pushed_through_the_matrix_and_back(
    channel: ChannelNoise, matrix: Matrix, rounding: float
) -> None:
    given = frequencies(channel)
    pushed = channel.push(given)
    np.testing.assert_allclose(pushed, given @ matrix, rtol=0, atol=1e-15)
    np.testing.assert_allclose(channel.invert(pushed), given, rtol=0, atol=rounding)
    np.testing.assert_allclose(channel.push(given[1]), pushed[1], rtol=1e-14)


@EACH
def test_the_covariance_is_that_of_single_reports_estimates(
    channel: ChannelNoise, matrix: Matrix, rounding: float
) -> None:
    del rounding
    given, single = frequencies(channel), channel.invert(np.eye(channel.outputs))
    expected = single.T @ multinomial_covariance(given @ matrix) @ single
    scale = np.abs(expected).max()
    np.testing.assert_allclose(channel.covariance(given), expected, rtol=0, atol=1e-12 * scale)


@EACH
def test_score_and_information_are_those_of_the_matrix_on_contrasts(
    channel: ChannelNoise, matrix: Matrix, rounding: float
) -> None:
    weights, precision = RNG.normal(size=(2, channel.outputs)), RNG.random((2, channel.outputs))
    score, information = channel._pulled(weights, precision)
    whole, expected = weights @ matrix.T, np.einsum("xy,ty,zy->txz", matrix, precision, matrix)
    centred, most = np.eye(channel.cells) - 1 / channel.cells, max(rounding, 1e-13)
    np.testing.assert_allclose(score @ centred, whole @ centred, rtol=0, atol=most)
    np.testing.assert_allclose(information.between(centred), centred @ expected @ centred, rtol=0, atol=most)


@EACH
def test_the_level_is_the_worst_ratio_within_a_column(channel: ChannelNoise, matrix: Matrix, rounding: float) -> None:
    del rounding
    with np.errstate(divide="ignore", invalid="ignore"):  # without lies some outputs are impossible
        worst = np.nanmax(np.log(matrix.max(axis=0) / matrix.min(axis=0)))
    assert channel.epsilon == pytest.approx(worst, rel=1e-12)


FEW = {name: one for name, one in (HADAMARD | COHORTS).items() if one.outputs <= 16 and one.cells < 9}


@pytest.mark.parametrize("channel", FEW.values(), ids=FEW)
def test_simulated_counts_have_the_exact_law_of_counted_reports(channel: ChannelNoise) -> None:
    matrix = hadamard_matrix(channel) if channel in HADAMARD.values() else cohort_matrix(channel)
    values = [0, 0, channel.cells - 1] if channel.outputs <= 8 else [1, channel.cells - 1]
    single = [[(one, p) for one, p in zip(np.eye(channel.outputs), row, strict=True) if p > 0] for row in matrix]
    true_counts = np.bincount(values, minlength=channel.cells)
    drawn = channel.simulate(np.tile(true_counts, (100_000, 1)), np.random.default_rng(4))
    assert fit_pvalue(counted(drawn), law_of_tally([single[value] for value in values])) > FALSE_FAILURE_RATE


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
