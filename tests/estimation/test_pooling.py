"""Linear pooling: unbiased, with its exact covariance, and refused where blocks leave a contrast open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from support.blocks_of_reports import FAKE, FREQUENCIES, NARROW, TALL, block, multinomial_tallies
from support.comparisons import close

from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import Estimate, LinearPooling, invert
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import GRR, OUE, SS
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, Tally, TruthOrFake

SQUARE = MultinomialNoise(DenseChannel(((0.6, 0.3, 0.1), (0.1, 0.8, 0.1), (0.1, 0.4, 0.5))))


def pooled(blocks: Sequence[Block], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pool the expectations instead of counts: what an unbiased estimate maps back to the frequencies."""
    expected = [one.n * (frequencies @ one.design()[0].T + one.design()[1]) for one in blocks]
    return LinearPooling(blocks).estimate(expected)


@pytest.mark.parametrize("noise", [FAKE, SQUARE, GRR(5, 1.0).noise, OUE(5, 1.0).noise, SS(7, 1.0).noise], ids=str)
def test_pooling_one_block_is_inversion(noise: NoiseModel) -> None:
    n = 20_000
    tallies = noise.draw(np.full(noise.cells, 1 / noise.cells), n, 3, np.random.default_rng(1))
    inverted, pooling = invert(Tally(noise, tallies, n)), LinearPooling([block(noise, n)])
    assert close(pooling.estimate([tallies]), inverted.estimate)
    proper = inverted.estimate / inverted.estimate.sum(axis=-1, keepdims=True)
    assert np.all(proper > 0)
    assert close(pooling.covariance(inverted.estimate), noise.covariance(proper) / n)


TOGETHER = {
    "one": [block(FAKE, 7)],
    "different noise": [block(FAKE, 7), block(OUE(3, 0.5).noise, 100), block(TALL, 1), block(SS(3, 2.0).noise, 10**9)],
    "rectangular": [block(NARROW, 50), block(MultinomialNoise(DenseChannel(((0.5, 0.5), (0.5, 0.5), (0.1, 0.9)))), 80)],
    "coarsened": [block(FAKE, 30, (0, 0, 1, 2)), block(GRR(3, 1.0).noise, 500, (0, 1, 2, 2))],
    "coarsened and whole": [block(OUE(2, 1.0).noise, 90, (0, 1, 1)), block(FAKE, 20)],
}


@pytest.mark.parametrize("blocks", TOGETHER.values(), ids=TOGETHER)
def test_pooling_is_unbiased_for_every_true_cell(blocks: list[Block]) -> None:
    cells = blocks[0].question.cells
    assert close(pooled(blocks, np.eye(cells)), np.eye(cells), 1e-10)


@pytest.mark.parametrize(
    "blocks",
    [
        [block(NARROW, 50)],
        [block(NARROW, 50), block(NARROW, 500)],
        [block(GRR(2, 1.0).noise, 50, (0, 0, 1, 1)), block(GRR(2, 1.0).noise, 50, (0, 1, 0, 1))],
        [block(FAKE, 10**9, (0, 0, 1, 2)), block(GRR(2, 1.0).noise, 10, (0, 0, 1, 1))],
        [block(MultinomialNoise(DenseChannel(((0.5, 0.3, 0.2),) * 2)), 50)],
    ],
)
def test_blocks_that_leave_a_contrast_open_are_refused(blocks: list[Block]) -> None:
    with pytest.raises(NotIdentifiedError, match="identify only some contrasts"):
        LinearPooling(blocks)


def test_the_covariance_of_pooled_blocks_is_exact() -> None:
    blocks = [block(FAKE, 2), block(NARROW, 3)]
    pooling = LinearPooling(blocks)
    mean, second = np.zeros(3), np.zeros((3, 3))
    laws = [multinomial_tallies(one.noise.mean(FREQUENCIES), one.n) for one in blocks]
    for (first, p), (other, q) in product(*laws):
        estimate = pooling.estimate([first, other])
        mean += p * q * estimate
        second += p * q * np.outer(estimate, estimate)
    assert close(mean, FREQUENCIES)
    assert close(pooling.covariance(FREQUENCIES), second - np.outer(mean, mean))


@pytest.mark.parametrize("noise", [FAKE, OUE(3, 1.0).noise])
def test_splitting_a_block_changes_nothing(noise: NoiseModel) -> None:
    counts = noise.draw(FREQUENCIES, 1000, 2, np.random.default_rng(2))
    parts = [block(noise, 1), block(noise, 999)]
    few = noise.draw(FREQUENCIES, 1, 2, np.random.default_rng(3))
    whole, split = LinearPooling([block(noise, 1000)]), LinearPooling(parts)
    estimate = whole.estimate([counts + few])
    assert close(split.estimate([few, counts]), LinearPooling(parts).estimate([few, counts]))
    assert close(split.covariance(estimate), whole.covariance(estimate))


def test_many_tables_are_pooled_one_by_one() -> None:
    blocks = TOGETHER["coarsened and whole"]
    counts = [one.draw(FREQUENCIES, 4, np.random.default_rng(4)) for one in blocks]
    pooling = LinearPooling(blocks)
    together = pooling.estimate(counts)
    alone = np.stack([pooling.estimate([one[table] for one in counts]) for table in range(4)])
    assert close(together, alone)
    assert close(pooling.covariance(together), np.stack([pooling.covariance(one) for one in alone]))


def test_a_precise_block_beside_a_negative_estimate_keeps_a_standard_error() -> None:
    # The precise block's variance at the estimate itself would be negative.
    rough, precise = (MultinomialNoise(TruthOrFake(truth, (0.5, 0.5))) for truth in (0.1, 0.99))
    pooling = LinearPooling([block(rough, 1000), block(precise, 50)])
    estimate = pooling.estimate([np.array([420, 580]), np.array([0, 50])])
    assert estimate[0] < -0.05
    std_err = Estimate(estimate, pooling.covariance(estimate), 1050).std_err
    assert np.all((std_err > 0.001) & (std_err < 0.1))


def test_a_covariance_exists_where_every_estimate_is_negative() -> None:
    noise = OUE(3, 1.0).noise
    pooling = LinearPooling([block(noise, 2)])
    estimate = pooling.estimate([np.zeros(3, dtype=int)])
    assert np.all(estimate < 0)
    assert close(pooling.covariance(estimate), noise.covariance(np.full(3, 1 / 3)) / 2)
