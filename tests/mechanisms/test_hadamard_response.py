"""Hadamard mechanisms: fast transforms equal dense matrices; channels and samplers are what their definition says."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard

from ldpstats.conformance import exact_channel
from ldpstats.conformance.laws import counted, fit_pvalue, law_of_tally
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.hadamard_response import HR, HRR, _column, published_blocks
from ldpstats.noise import MultinomialNoise
from ldpstats.noise.channels import multinomial_covariance, pulled_back
from ldpstats.noise.hadamard import (
    HadamardRandomizedResponse,
    HadamardResponse,
    odd,
    places,
    random_columns,
    walsh_hadamard,
)

RNG = np.random.default_rng(1)
CHANNELS = {
    "one block": HadamardResponse(3, 1, 4, 0.6),
    "blocks of two": HadamardResponse(5, 5, 2, 0.3),
    "the last block half full": HadamardResponse(5, 2, 4, 0.4),
    "blocks that nobody uses": HadamardResponse(4, 4, 4, 0.5),
    "three blocks": HadamardResponse(20, 3, 8, 0.9),
    "no outputs outside": HadamardResponse(6, 1, 8, 1.0),
    "coefficients": HadamardRandomizedResponse(3, 0.7),
    "all coefficients": HadamardRandomizedResponse(8, 0.9),
    "coefficients without lies": HadamardRandomizedResponse(5, 1.0),
}
CASES = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
E = math.e
RARE = 4 * E / (E - 1) ** 2
"""The n-fold variance of a rare value that the survey gives for HRR at ε = 1."""

Channel = HadamardResponse | HadamardRandomizedResponse


def from_definition(channel: Channel) -> NDArray[np.float64]:
    if isinstance(channel, HadamardRandomizedResponse):
        size = 1 << math.ceil(math.log2(channel.cells))
        signs = hadamard(size)[: channel.cells]
        kept, turned = channel.truth / size, (1 - channel.truth) / size
        both = [np.where(signs == sign, kept, turned) for sign in (1, -1)]
        return np.stack(both, axis=-1).reshape(channel.cells, -1)
    size, half = channel.size, channel.size // 2
    matrix = np.full((channel.cells, channel.outputs), (1 - channel.inside) / (channel.outputs - half))
    for value in range(channel.cells):
        block, row = value // (size - 1), 1 + value % (size - 1)
        matrix[value, block * size + np.flatnonzero(hadamard(size)[row] == 1)] = channel.inside / half
    return matrix


def frequencies(channel: Channel, tables: int = 3) -> NDArray[np.float64]:
    return np.random.default_rng(channel.cells).dirichlet(np.ones(channel.cells), tables)


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


@CASES
def test_the_matrix_is_the_definition(channel: Channel) -> None:
    np.testing.assert_allclose(channel.matrix(), from_definition(channel), rtol=0, atol=1e-15)


@CASES
def test_frequencies_of_many_tables_are_pushed_through_the_matrix_and_back(channel: Channel) -> None:
    given = frequencies(channel)
    pushed = channel.push(given)
    np.testing.assert_allclose(pushed, given @ from_definition(channel), rtol=0, atol=1e-15)
    np.testing.assert_allclose(channel.invert(pushed), given, rtol=0, atol=1e-14)


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


@CASES
def test_the_covariance_is_that_of_single_reports_estimates(channel: Channel) -> None:
    given, single = frequencies(channel), channel.invert(np.eye(channel.outputs))
    expected = single.T @ multinomial_covariance(given @ from_definition(channel)) @ single
    np.testing.assert_allclose(channel.spread(channel.push(given)), expected, rtol=0, atol=1e-12 * expected.max())


@CASES
def test_score_and_information_are_those_of_the_matrix_on_contrasts(channel: Channel) -> None:
    weights, precision = RNG.normal(size=(2, channel.outputs)), RNG.random((2, channel.outputs))
    score, information = channel.score(weights, precision)
    whole, expected = pulled_back(from_definition(channel), weights, precision)
    centred = np.eye(channel.cells) - 1 / channel.cells
    np.testing.assert_allclose(score @ centred, whole @ centred, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        information.between(centred), expected.between(np.stack([centred] * 2)), rtol=0, atol=1e-13
    )


@CASES
def test_the_level_is_the_worst_ratio_within_a_column(channel: Channel) -> None:
    matrix = from_definition(channel)
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = np.nanmax(np.log(matrix.max(axis=0) / matrix.min(axis=0)))
    assert channel.epsilon == pytest.approx(worst, rel=1e-12)


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


@pytest.mark.parametrize("name", [name for name, channel in CHANNELS.items() if channel.outputs <= 16])
def test_simulated_counts_have_the_exact_law_of_counted_reports(name: str) -> None:
    channel = CHANNELS[name]
    values = [0, 0, channel.cells - 1] if channel.outputs <= 8 else [1, channel.cells - 1]
    single = [
        [(one, p) for one, p in zip(np.eye(channel.outputs), row, strict=True) if p > 0]
        for row in from_definition(channel)
    ]
    true_counts = np.bincount(values, minlength=channel.cells)
    drawn = channel.simulate(np.tile(true_counts, (100_000, 1)), np.random.default_rng(4))
    assert fit_pvalue(counted(drawn), law_of_tally([single[value] for value in values])) > FALSE_FAILURE_RATE


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


@pytest.mark.parametrize("make", [HR, HRR, lambda k, epsilon: HR(k, epsilon, blocks=2)])
@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (5, 0.5), (9, 3.0)])
def test_the_sampler_enumerated_is_the_matrix(make: Callable[..., Mechanism], k: int, epsilon: float) -> None:
    mechanism = make(k, epsilon)
    dtype = mechanism.report_format.dtype
    assert isinstance(mechanism.noise, MultinomialNoise)
    matrix = mechanism.noise.channel.matrix()
    for value, law in enumerate(exact_channel(mechanism)):
        row = [float(law[np.array([output], dtype).tobytes()]) for output in range(mechanism.noise.outputs)]
        np.testing.assert_allclose(matrix[value], row, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 2.0, 3.3, 5.0])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 12, 33])
def test_no_number_of_blocks_has_less_variance_than_the_one_chosen(k: int, epsilon: float) -> None:
    uniform = np.full(k, 1 / k)
    every = [np.mean(HR(k, epsilon, blocks).variance(uniform, 1)) for blocks in range(1, 2 * k + 1)]
    assert np.mean(HR(k, epsilon).variance(uniform, 1)) <= min(every) * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3, 10, 16, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.69, 0.7, 1.0, 2.5, 6.0, 12.0])
def test_the_papers_blocks_are_the_papers(k: int, epsilon: float) -> None:
    blocks = 2 ** (math.ceil(math.log2(min(math.exp(epsilon), 2 * k))) - 1)
    size = 2 ** math.ceil(math.log2(k / blocks + 1))
    assert published_blocks(k, epsilon) == blocks
    assert HR(k, epsilon, published_blocks(k, epsilon)).noise.channel.size == size


@pytest.mark.parametrize(("k", "share"), [(16, 0.687), (1000, 0.846), (1024, 0.651)])
def test_one_block_beats_the_papers_two_at_level_one(k: int, share: float) -> None:
    uniform = np.full(k, 1 / k)
    ours, papers = (np.mean(one.variance(uniform, 1)) for one in (HR(k, 1.0), HR(k, 1.0, published_blocks(k, 1.0))))
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


@pytest.mark.parametrize(
    "arguments", [(1, 1, 4, 0.6), (4, 1, 4, 0.6), (3, 1, 6, 0.6), (3, 1, 4, 0.5), (3, 1, 4, 1.1), (3, 1, 4, math.nan)]
)
def test_what_is_no_hadamard_response_is_refused(arguments: tuple[int, int, int, float]) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        HadamardResponse(*arguments)


@pytest.mark.parametrize(("cells", "truth"), [(1, 0.7), (3, 0.5), (3, 1.1), (3, math.nan)])
def test_what_are_no_hadamard_coefficients_is_refused(cells: int, truth: float) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        HadamardRandomizedResponse(cells, truth)


@CASES
def test_channels_have_plain_values_and_do_not_merge(channel: Channel) -> None:
    plain = channel.to_dict()
    kind = {"hadamard-response": HadamardResponse, "hadamard-coefficients": HadamardRandomizedResponse}[
        plain.pop("kind")
    ]
    assert kind(**plain) == channel
    assert channel.bounds() is None
    assert channel.merged(np.zeros(channel.cells, dtype=int)) is None


def test_places_leave_out_the_first_row_of_every_block() -> None:
    assert places(np.arange(7), 4).tolist() == [1, 2, 3, 5, 6, 7, 9]
