"""Estimates are unbiased with the covariance they state, from one block or from several that complete each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import factorial, inf, prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint
from support.comparisons import close

from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import Estimate, LinearPooling, invert, refuse_empty
from ldpstats.estimation.estimate import among_proportions
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, Tally, TruthOrFake
from ldpstats.questions import Question

FAKE = MultinomialNoise(TruthOrFake(0.4, (0.5, 0.3, 0.2)))
TALL = MultinomialNoise(DenseChannel(((0.6, 0.2, 0.1, 0.1), (0.1, 0.7, 0.1, 0.1), (0.1, 0.2, 0.2, 0.5))))
SQUARE = MultinomialNoise(DenseChannel(((0.6, 0.3, 0.1), (0.1, 0.8, 0.1), (0.1, 0.4, 0.5))))
NARROW = MultinomialNoise(DenseChannel(((0.8, 0.2), (0.3, 0.7), (0.4, 0.6))))
FREQUENCIES = np.array([0.5, 0.2, 0.3])


def block(noise: NoiseModel, n: int, classes: Sequence[int] | None = None) -> Block:
    """Make a block of expected counts, as far as whole numbers allow; what was counted does not matter here."""
    asked = tuple(range(noise.cells) if classes is None else classes)
    expected = noise.simulate(np.array([n] + [0] * (noise.cells - 1)), np.random.default_rng(1))
    return Block(Question(("a",), (len(asked),), asked), Tally(noise, expected, n))


def multinomial_tallies(mean: NDArray[np.float64], n: int) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Enumerate all tallies of n reports with their probabilities."""
    for counts in product(range(n + 1), repeat=mean.size):
        if sum(counts) == n:
            ways = factorial(n) / prod(map(factorial, counts))
            yield np.array(counts), ways * float(np.prod(mean ** np.array(counts)))


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


@pytest.mark.parametrize("noise", [FAKE, TALL])
def test_the_estimated_covariance_of_an_inversion_is_unbiased(noise: NoiseModel) -> None:
    mean = np.zeros((3, 3))
    for counts, chance in multinomial_tallies(noise.mean(FREQUENCIES), 4):
        mean += chance * invert(Tally(noise, counts, 4)).covariance
    assert close(mean, noise.covariance(FREQUENCIES) / 4)


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


def test_intervals_are_normal_and_not_cut() -> None:
    estimate = Estimate(np.array([-0.01, 1.01]), np.array([[0.04, -0.04], [-0.04, 0.04]]), 50)
    for alpha in (0.05, 0.5, 1e-12):
        z = norm.isf(alpha / 2)
        expected = [[-0.01 - 0.2 * z, -0.01 + 0.2 * z], [1.01 - 0.2 * z, 1.01 + 0.2 * z]]
        assert np.allclose(estimate.conf_int(alpha), expected, rtol=1e-12, atol=0)
    frame = estimate.to_frame(alpha=0.5)
    assert frame["std_err"].tolist() == [0.2, 0.2]
    assert np.array_equal(frame[["lower", "upper"]].to_numpy(), estimate.conf_int(0.5))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, np.nan, "0.05", None, True])
def test_levels_that_are_no_levels_are_refused(alpha: Any) -> None:
    with pytest.raises(LdpstatsError, match="alpha = "):
        Estimate(np.ones(1), np.ones((1, 1)), 3).conf_int(alpha)


@pytest.mark.parametrize("mechanism", [GRR(3, 1.0), OUE(3, 1.0), SS(3, 1.0, omega=2)], ids=str)
def test_a_single_report_says_nothing_about_its_spread(mechanism: GRR | OUE | SS) -> None:
    single = mechanism.estimate(mechanism.privatize([1], rng=1))
    assert np.all(single.std_err == inf)
    limits = single.conf_int()
    assert np.all(limits[:, 1] - limits[:, 0] > 1)
    assert np.all(np.isfinite(single.estimate))


def test_nothing_is_estimated_from_no_reports() -> None:
    nothing = Tally(FAKE, [0, 0, 0], 0)
    for attempt in (lambda: invert(nothing), lambda: LinearPooling([block(FAKE, 9), block(FAKE, 0)])):
        with pytest.raises(NotIdentifiedError, match="no reports behind"):
            attempt()
    with pytest.raises(NotIdentifiedError, match="no reports behind the table of a"):
        refuse_empty(0, "the table of a")


def test_estimates_pass_on_where_they_came_from() -> None:
    assert invert(Tally(FAKE, [1, 2, 0], 3, simulated=True)).simulated
    assert not invert(Tally(FAKE, [1, 2, 0], 3)).simulated
    assert GRR(3, 1.0).estimate(GRR(3, 1.0).privatize([0, 1])).privacy == GRR(3, 1.0).privacy()


@pytest.mark.parametrize("make", [GRR, OUE, SS], ids=lambda make: make.name)
def test_intervals_cover_what_they_should(make: type[Mechanism]) -> None:
    """4,000 tables with a fixed seed: a standard error of .0034 around the nominal .95."""
    mechanism, n = make(9, 2.0), 5000
    frequencies = np.arange(1, 10) / 45
    drawn = mechanism.noise.draw(frequencies, n, 4000, np.random.default_rng(1))
    limits = mechanism.estimate(Tally(mechanism.noise, drawn, n)).conf_int()
    covered = ((limits[..., 0] <= frequencies) & (frequencies <= limits[..., 1])).mean(axis=0)
    assert np.all(np.abs(covered - 0.95) < 0.0172), "five standard errors"


@pytest.mark.parametrize("mechanism", [GRR(5, 6.0), OUE(5, 1.0), SS(7, 1.0)], ids=str)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_intervals_are_wilsons_rescaled(mechanism: Mechanism, alpha: float) -> None:
    tally = mechanism.simulate([60, 40, *[0] * (mechanism.k - 2)], rng=3)
    lower, upper = proportion_confint(tally.counts, 100, alpha=alpha, method="wilson")
    limits = mechanism.estimate(tally).conf_int(alpha)
    frequent = (tally.counts >= 20) & (tally.counts <= 80)
    wilson = np.stack([mechanism.noise.debias(lower), mechanism.noise.debias(upper)], axis=-1)
    assert close(limits[frequent], wilson[frequent])
    assert frequent.any()
    assert np.all(limits[:, 0] < limits[:, 1]), "also where no report supports a value"


def test_intervals_of_negative_estimates_hold_the_truth_as_often() -> None:
    """By integration: of a normal estimate x < 0 of a proportion of one standard error, .84 are covered, and .95."""
    x = np.linspace(-8, 0, 200_001)[:-1]
    weight = np.exp(-((x - 1) ** 2) / 2)
    usual = np.stack([x - 1.96, x + 1.96], axis=-1)
    for limits, covered in ((usual, 0.843), (among_proportions(x, usual), 0.951)):
        held = weight[(limits[:, 0] <= 1) & (limits[:, 1] >= 1)].sum() / weight.sum()
        assert held == pytest.approx(covered, abs=0.001)
    inside = np.array([0.0, 0.4, 1.0])
    same = np.stack([inside - 0.2, inside + 0.2], axis=-1)
    assert np.array_equal(among_proportions(inside, same), same)
    above = among_proportions(np.array([1.3]), np.array([[0.9, 1.7]]))
    assert above == pytest.approx(np.array([[0.8, 1.7]]))
