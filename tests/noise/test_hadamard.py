"""Hadamard channels: the fast transform is the dense matrix, and counts have the law of the reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard
from support.channel_definitions import HADAMARD

from ldpstats.conformance.requirements import FALSE_FAILURE_RATE, counted, fit_pvalue, law_of_tally
from ldpstats.errors import LdpstatsError
from ldpstats.noise.hadamard import (
    HadamardRandomizedResponse,
    HadamardResponse,
    odd,
    places,
    random_columns,
    walsh_hadamard,
)

RNG = np.random.default_rng(1)
E = math.e


@pytest.mark.parametrize("digits", range(9))
def test_the_fast_transform_is_exactly_the_matrix(digits: int) -> None:
    array = RNG.integers(-1000, 1000, (2, 3, 1 << digits))
    np.testing.assert_array_equal(walsh_hadamard(array), array @ hadamard(1 << digits))
    np.testing.assert_array_equal(walsh_hadamard(walsh_hadamard(array)), array * (1 << digits))


@pytest.mark.parametrize("shape", [(3,), (0,), (), (4, 6)])
def test_only_powers_of_two_are_transformed(shape: tuple[int, ...]) -> None:
    with pytest.raises(LdpstatsError, match="1, 2, 4, 8"):
        walsh_hadamard(np.zeros(shape))


def test_entries_are_signs_of_common_binary_digits() -> None:
    rows, columns = np.indices((32, 32))
    np.testing.assert_array_equal(1 - 2 * odd(rows, columns), hadamard(32))


def test_the_estimate_of_a_response_is_the_mean_entry_within_the_block_rescaled() -> None:
    k, blocks, size, likelihood = 20, 3, 8, math.exp(1.3)
    total = size // 2 * likelihood + blocks * size - size // 2
    channel = HadamardResponse(k, blocks, size, size // 2 * likelihood / total)
    shares = RNG.dirichlet(np.ones(channel.outputs))
    rows = hadamard(size)[1:]
    expected = np.concatenate([rows @ shares[size * block : size * block + size] for block in range(blocks)])[:k]
    expected *= total / (size // 2 * (likelihood - 1))
    np.testing.assert_allclose(channel.invert(shares), expected, rtol=0, atol=1e-13)


def test_the_estimate_of_coefficients_is_the_mean_of_the_signs_times_the_entries_rescaled() -> None:
    channel = HadamardRandomizedResponse(5, E / (E + 1))
    shares = RNG.dirichlet(np.ones(16))
    contrast = (shares[::2] - shares[1::2]) @ hadamard(8)[:, :5] * (E + 1) / (E - 1)
    np.testing.assert_allclose(channel.invert(shares), contrast, rtol=0, atol=1e-13)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("people", [[0, 1, 0, 0], [0, 0, 2, 1], [0, 1, 1, 1], [0, 3, 0, 0]])
def test_columns_are_drawn_with_their_exact_law(people: list[int], positive: bool) -> None:
    single = []
    for row in hadamard(4):
        columns = [column for column in range(4) if row[column] == 1 or not positive]
        tallies = [np.eye(8)[2 * column + (row[column] < 0)] for column in columns]
        single.append([(tally, 1 / len(columns)) for tally in tallies])
    drawn = random_columns(np.tile(people, (100_000, 1)), np.random.default_rng(3), positive=positive)
    law = law_of_tally([single[row] for row, number in enumerate(people) for _ in range(number)])
    assert fit_pvalue(counted(drawn.reshape(-1, 8)), law) > FALSE_FAILURE_RATE


@pytest.mark.parametrize("channel", HADAMARD.values(), ids=HADAMARD)
def test_channels_do_not_merge(channel: Any) -> None:
    assert channel.bounds() is None
    assert channel.merged(np.zeros(channel.cells, dtype=int)) is None


def test_places_leave_out_the_first_row_of_every_block() -> None:
    assert places(np.arange(7), 4).tolist() == [1, 2, 3, 5, 6, 7, 9]
