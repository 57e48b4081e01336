"""Hadamard mechanisms: samplers are their channels, blocks are chosen for the least variance."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.hadamard_response import HR, HRR, _column

RNG = np.random.default_rng(1)
E = math.e
RARE = 4 * E / (E - 1) ** 2
"""The n-fold variance of a rare value that the survey gives for HRR at ε = 1."""


def test_sixty_thousand_values_are_pushed_inverted_and_simulated() -> None:
    k = 60_000
    given = RNG.dirichlet(np.ones(k))
    true_counts = RNG.integers(0, 200, k)
    for mechanism in (HR(k, 1.0), HR(k, 4.0), HRR(k, 1.0)):
        channel = mechanism.noise.channel
        np.testing.assert_allclose(channel.invert(channel.push(given)), given, rtol=0, atol=1e-13)
        counts = channel.simulate(true_counts, np.random.default_rng(5))
        assert counts.sum() == true_counts.sum()
        errors = channel.invert(counts / counts.sum()) - true_counts / true_counts.sum()
        # every n-fold variance is below 5, and 7 standard deviations are exceeded with probability 1e-6 in all
        assert np.abs(errors).max() < 7 * math.sqrt(5 / counts.sum())


@pytest.mark.parametrize("size", [2, 4, 8, 32])
def test_columns_of_a_sign_are_numbered_without_gaps(size: int) -> None:
    for row, negative in product(range(1, size), (False, True)):
        number = np.arange(size // 2)
        columns = _column(np.full(number.size, row), number, negative=np.full(number.size, negative))
        assert sorted(columns) == np.flatnonzero(hadamard(size)[row] == (-1 if negative else 1)).tolist()


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 2.0, 3.3, 5.0])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 12, 33])
def test_no_number_of_blocks_has_less_variance_than_the_one_chosen(k: int, epsilon: float) -> None:
    uniform = np.full(k, 1 / k)
    every = [np.mean(HR(k, epsilon, blocks).variance(uniform, 1)) for blocks in range(1, 2 * k + 1)]
    assert np.mean(HR(k, epsilon).variance(uniform, 1)) <= min(every) * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3, 10, 16, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.69, 0.7, 1.0, 2.5, 6.0, 12.0])
def test_the_papers_blocks_have_the_papers_size(k: int, epsilon: float) -> None:
    blocks = 2 ** (math.ceil(math.log2(min(math.exp(epsilon), 2 * k))) - 1)
    assert HR(k, epsilon, blocks).noise.width == 2 ** math.ceil(math.log2(k / blocks + 1))


@pytest.mark.parametrize(("k", "share"), [(16, 0.687), (1000, 0.846), (1024, 0.651)])
def test_one_block_beats_the_papers_two_at_level_one(k: int, share: float) -> None:
    uniform = np.full(k, 1 / k)
    ours, papers = (np.mean(one.variance(uniform, 1)) for one in (HR(k, 1.0), HR(k, 1.0, blocks=2)))
    assert HR(k, 1.0).blocks == 1
    assert ours / papers == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize("k", [2, 16, 1024])
def test_the_variance_of_hrr_has_the_part_that_the_survey_omits(k: int) -> None:
    assert HRR(k, 1.0).variance(0, 1) == pytest.approx(RARE + 1, rel=1e-12)
    uniform = np.full(k, 1 / k)
    expected = np.eye(k) * ((E + 1) / (E - 1)) ** 2 - np.outer(uniform, uniform)
    np.testing.assert_allclose(HRR(k, 1.0).noise.covariance(uniform), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("epsilon", [800.0, 1e6])
def test_extreme_levels_are_bearable(epsilon: float) -> None:
    assert HR(1000, epsilon).blocks == 1000
    assert HRR(1000, epsilon).strict_epsilon() > 40


@pytest.mark.parametrize("blocks", [0, -1, 9, 1.0, True, "2"])
def test_impossible_numbers_of_blocks_are_refused(blocks: Any) -> None:
    with pytest.raises(LdpstatsError, match="blocks"):
        HR(4, 1.0, blocks=blocks)
