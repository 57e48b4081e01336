"""Channels with structure do what their matrices do, without forming them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.channel_definitions import COHORTS, HADAMARD, cohort_matrix, frequencies, hadamard_matrix

from ldpstats.noise.channels import ChannelNoise, multinomial_covariance

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
    score, information = channel.pulled(weights, precision)
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
