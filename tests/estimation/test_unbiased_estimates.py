"""Linear estimates of several blocks are unbiased, by enumeration; likely ones satisfy the conditions of a maximum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import helmert
from support.blocks_of_reports import (
    FAKE,
    FREQUENCIES,
    NARROW,
    TALL,
    THREE,
    Array,
    asked,
    block,
    drawn,
    estimated,
    faked,
    multinomial_tallies,
)
from support.comparisons import close

from ldpstats import LdpstatsError, mechanism
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import Estimate, LinearPooling, invert, most_likely, two_blocks, unbiased
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.mechanisms import GRR, HR, HRR, OUE, SS
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, Tally, TruthOrFake


def adapted(noise: MultinomialNoise, truth: float) -> Callable[[NDArray[np.int64]], MultinomialNoise]:
    """Return the rule that fakes what the block before said, cut at zero: some fakes then never occur."""

    def after(counts: NDArray[np.int64]) -> MultinomialNoise:
        cut = np.maximum(noise.debias(counts / counts.sum()), 0)
        return faked(truth, *(cut / cut.sum()).tolist())

    return after


FIRST = faked(0.5, 1 / 3, 1 / 3, 1 / 3)
COIN = faked(0.4, 0.7, 0.3)
DESIGNS = {
    "three cells": (THREE, FIRST, 3, adapted(FIRST, 0.6), 4),
    "two cells": (np.array([0.8, 0.2]), COIN, 4, adapted(COIN, 0.4), 2),
    "more truth": (np.array([0.05, 0.95]), COIN, 3, adapted(COIN, 0.9), 3),
}
FIXED = {
    name: (*design[:3], lambda _, cells=design[0].size: faked(0.7, *np.eye(cells)[0]), design[4])
    for name, design in DESIGNS.items()
}


def outcomes(
    frequencies: Array, first: MultinomialNoise, n: int, rule: Callable[..., MultinomialNoise], more: int
) -> Iterator[tuple[list[Block], float]]:
    """Enumerate what two blocks may bring, the second with fakes that depend on the first."""
    for counts, chance in multinomial_tallies(first.mean(frequencies), n):
        second = rule(counts)
        for others, given in multinomial_tallies(second.mean(frequencies), more):
            yield [asked(first, counts, n), asked(second, others, more)], chance * given


def spread(found: Sequence[tuple[Array, float]]) -> tuple[Array, Array]:
    """Return the mean and the covariance of weighted outcomes."""
    mean = sum((chance * estimate for estimate, chance in found), np.zeros_like(found[0][0]))
    return mean, sum(chance * np.outer(estimate - mean, estimate - mean) for estimate, chance in found)


def exact_covariance(blocks: Sequence[Block], frequencies: Array) -> Array:
    """Return Σ n (diag μ − μ μᵀ) / (Σ n p)², the covariance of the closed form given the fakes."""
    truths = [block.noise.channel.truth for block in blocks]
    parts = [block.n * block.noise.report_covariance(frequencies) for block in blocks]
    return np.sum(parts, axis=0) / sum(block.n * p for block, p in zip(blocks, truths, strict=True)) ** 2


@pytest.mark.parametrize("method", ["unbiased", "closed form", "two blocks"])
@pytest.mark.parametrize("design", [*DESIGNS.values(), *FIXED.values()])
def test_adapting_the_fakes_leaves_no_bias(design: tuple, method: str) -> None:
    found = [(estimated(method, blocks).estimate, chance) for blocks, chance in outcomes(*design)]
    assert close(spread(found)[0], design[0])


@pytest.mark.parametrize("design", [*DESIGNS.values(), *FIXED.values()])
def test_the_covariance_of_the_closed_form_is_its_formula_on_average(design: tuple) -> None:
    """The errors of the blocks are martingale differences: no products remain between them."""
    whole = list(outcomes(*design))
    _, covariance = spread([(estimated("closed form", blocks).estimate, chance) for blocks, chance in whole])
    assert close(sum(chance * exact_covariance(blocks, design[0]) for blocks, chance in whole), covariance)


@pytest.mark.parametrize(
    ("method", "designs"), [("closed form", FIXED), ("two blocks", FIXED), ("two blocks", DESIGNS)]
)
def test_estimated_covariances_are_unbiased(method: str, designs: dict[str, tuple]) -> None:
    """Where an estimate makes a report's probability negative in some block, they are conservative instead."""
    for design in designs.values():
        found = [
            (estimated(method, blocks), chance, negative_somewhere(blocks)) for blocks, chance in outcomes(*design)
        ]
        _, covariance = spread([(one.estimate, chance) for one, chance, _ in found])
        mean = sum(chance * one.covariance for one, chance, _ in found)
        if method == "two blocks" or not any(negative for _, _, negative in found):
            assert close(mean, covariance)
        else:
            assert np.all(np.diag(mean) >= np.diag(covariance) - 1e-12)


def negative_somewhere(blocks: list[Block]) -> bool:
    estimate = estimated("closed form", blocks).estimate
    return any(block.noise.mean(estimate).min() < -1e-12 for block in blocks)


def test_a_cell_that_shows_less_than_nothing_has_a_standard_error() -> None:
    uniform, never = faked(0.5, 0.25, 0.25, 0.25, 0.25), faked(0.5, 0, 0.2, 0.3, 0.5)
    blocks = [asked(uniform, [0, 20, 30, 50], 100), asked(never, [0, 20, 30, 50], 100)]
    for method in ("closed form", "unbiased"):
        found = estimated(method, blocks)
        assert found.estimate[0] == pytest.approx(-0.125)
        assert np.all(found.std_err > 0.005)


def test_blocks_of_merged_collections_have_no_last_two() -> None:
    noise = faked(0.5, 0.5, 0.5)
    blocks = [asked(noise, [half, half], 2 * half) for half in (10, 5, 2, 5, 5)]
    with pytest.raises(LdpstatsError, match=r"blocks of 4 to 20 reports.*one collection"):
        estimated("two blocks", blocks)


def test_two_blocks_leave_out_a_last_block_that_is_still_open() -> None:
    full = [asked(faked(0.5, 0.5, 0.5), counts, 8) for counts in ([8, 0], [5, 3], [4, 4])]
    still_open = asked(faked(0.5, 0.75, 0.25), [2, 0], 2)
    assert np.array_equal(two_blocks([*full, still_open]).estimate, two_blocks(full).estimate)
    assert np.array_equal(two_blocks(full).estimate, two_blocks(full[1:]).estimate)
    assert two_blocks([full[0], still_open]).n == 10  # there are no others


@pytest.mark.parametrize(
    "noises",
    [
        [FIRST],
        [HR(3, 4.0).noise],
        [HRR(3, 1.0).noise],
        [OUE(3, 1.0).noise],
        [FIRST, faked(0.8, 0.6, 0.3, 0.1)],
        [HR(3, 2.0).noise, OUE(3, 1.0).noise],
    ],
    ids=str,
)
def test_pooling_comes_to_the_unbiased_estimate_and_has_its_covariance(noises: list[NoiseModel]) -> None:
    blocks = [drawn(noise, 900 * place, place, THREE) for place, noise in enumerate(noises, 1)]
    # cells in another order than answers
    blocks = [replace(one, question=replace(one.question, classes=(1, 2, 0))) for one in blocks]
    pooling, found = UnbiasedPooling(blocks), unbiased(blocks)
    assert close(pooling.estimate([one.tally.counts for one in blocks]), found.estimate)
    turned = np.array([THREE[2], *THREE[:2]])
    spread = sum(
        weight @ one.noise.report_covariance(one.question.answer_frequencies(turned)) @ weight.T / one.n
        for weight, one in zip(pooling.operators, blocks, strict=True)
    )
    assert close(pooling.covariance(turned), spread)
    if len(blocks) == 1:
        cells = list(blocks[0].question.classes)
        alone = blocks[0].noise.covariance(blocks[0].question.answer_frequencies(turned)) / blocks[0].n
        assert close(spread, alone[np.ix_(cells, cells)])


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


OUE3, SS7, BITS, SKEW = (
    mechanism(name, k=k, epsilon=1.0).noise for name, k in (("oue", 3), ("ss", 7), ("dbitflip", 5), ("hr", 5))
)
SEVEN = np.array([0.3, 0.2, 0.15, 0.15, 0.1, 0.1, 0.0])
FIVE = SEVEN[:5] / 0.9
LIKELY = {
    "one": [drawn(faked(0.4, 0.5, 0.3, 0.2), 40, 1, THREE)],
    "negative": [asked(faked(0.3, 0.5, 0.3, 0.2), [40, 58, 2], 100)],
    "fakes with zeros": [drawn(faked(0.4, 0, 0.3, 0.7), 40, 1, THREE), drawn(faked(0.6, 1, 0, 0), 70, 2, THREE)],
    "rectangular": [drawn(NARROW, 90, 3, THREE), drawn(TALL, 50, 4, THREE)],
    "all kinds of channels": [
        drawn(TALL, 50, 5, THREE),
        drawn(faked(0.5, 0.2, 0.8), 60, 6, THREE, 0, 1, 1),
        drawn(faked(0.1, 1, 0, 0), 70, 7, THREE, 2, 0, 1),
        drawn(faked(0.9, 0.5, 0.5), 20, 8, THREE, 1, 0, 1),
        drawn(NARROW, 30, 9, THREE),
    ],
    "coarsened": [
        drawn(faked(0.5, 0.2, 0.3, 0.5), 300, 5, FIVE, 0, 1, 2, 2, 2),
        drawn(faked(0.7, 0.2, 0.3, 0.5), 300, 6, FIVE, 0, 0, 0, 1, 2),
    ],
    "never seen": [asked(faked(0.5, 0, 0.5, 0.5), [0, 6, 4], 10), asked(faked(0.5, 0.2, 0.4, 0.4), [0, 2, 8], 10)],
    "one respondent": [asked(faked(0.5, 0.2, 0.3, 0.5), [0, 1, 0], 1)],
}
MIXED = LIKELY | {
    "supports": [drawn(OUE3, 50, 1, THREE), drawn(TALL, 30, 2, THREE), drawn(faked(0.3, 0, 0, 1), 60, 3, THREE)],
    "subsets": [drawn(SS7, 200, 1, SEVEN), drawn(faked(0.5, 0.2, 0.8), 80, 2, SEVEN, 0, 1, 0, 1, 0, 1, 0)],
    "bits and codes": [drawn(BITS, 200, 1, FIVE), drawn(SKEW, 100, 2, FIVE)],
    "coarsened supports": [drawn(OUE3, 300, 5, FIVE, 0, 1, 2, 2, 2), drawn(OUE3, 300, 6, FIVE, 0, 0, 0, 1, 2)],
}


def textbook(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """Return what generalized least squares gives, with its covariance, from dense matrices."""
    cells, n = blocks[0].question.cells, sum(one.n for one in blocks)
    rows, values = [], []
    for one in blocks:
        weight = np.sqrt(one.n / np.diag(one.report_covariance(np.full(cells, 1 / cells))))
        rows.append(one.design()[0] * weight[:, None])
        values.append((one.tally.proportions - one.design()[1]) * weight)
    start = np.maximum(np.linalg.lstsq(np.vstack(rows), np.concatenate(values))[0], 1 / (2 * n))
    start /= start.sum()
    gram, seen = np.zeros((cells, cells)), np.zeros(cells)
    for one in blocks:
        matrix, offset = one.design()
        precision = one.n * np.linalg.pinv(one.report_covariance(start), hermitian=True)
        gram += matrix.T @ precision @ matrix
        seen += matrix.T @ precision @ (one.tally.proportions - offset - matrix.sum(axis=1) / cells)
    contrasts = helmert(cells).T
    covariance = contrasts @ np.linalg.inv(contrasts.T @ gram @ contrasts) @ contrasts.T
    return 1 / cells + covariance @ seen, covariance


@pytest.mark.parametrize("blocks", MIXED.values(), ids=MIXED)
def test_least_squares_is_the_textbooks(blocks: list[Block]) -> None:
    found, n = estimated("gls", blocks), sum(block.n for block in blocks)
    estimate, covariance = textbook(blocks)
    assert close(found.estimate, estimate, 1e-10)
    assert abs(found.estimate.sum() - 1) < 1e-12
    if n > 1:
        assert close(found.covariance, covariance * n / (n - 1), 1e-10)
    else:
        assert np.all(found.std_err == np.inf)


def chances(block: Block) -> Array:
    """Return the probability of every output given every cell."""
    matrix: Array = block.noise.channel.matrix()[block.classes]
    return matrix


def log_likelihood(frequencies: Array, blocks: Sequence[Block]) -> float:
    parts = [(block.tally.counts, frequencies @ chances(block)) for block in blocks]
    return float(sum(counts[counts > 0] @ np.log(mean[counts > 0]) for counts, mean in parts))


@pytest.mark.parametrize("blocks", LIKELY.values(), ids=LIKELY)
def test_the_most_likely_frequencies_satisfy_the_conditions_of_a_maximum(blocks: list[Block]) -> None:
    found = estimated("mle", blocks).estimate
    assert found.min() >= 0
    assert abs(found.sum() - 1) < 1e-12
    fitted = most_likely(blocks)
    assert fitted.log_likelihood == pytest.approx(log_likelihood(found, blocks), rel=1e-12)
    assert fitted.converged
    assert fitted.gap <= 1e-10
    # the log-likelihood is concave: the largest derivative per report bounds what is left, from whole matrices
    seen = [
        (block.tally.counts[kept], chances(block)[:, kept]) for block in blocks for kept in [block.tally.counts > 0]
    ]
    slopes = [matrix @ (counts / (found @ matrix)) for counts, matrix in seen]
    assert np.sum(slopes, axis=0).max() / sum(block.n for block in blocks) - 1 <= 1.01e-10


@pytest.mark.parametrize("name", ["one", "rectangular", "all kinds of channels", "coarsened"])
def test_the_covariance_of_the_most_likely_is_the_inverse_information(name: str) -> None:
    blocks = LIKELY[name]
    n, found = sum(block.n for block in blocks), estimated("mle", blocks)
    assert found.estimate.min() > 1 / (2 * n)
    information = sum(
        block.n * chances(block) @ np.diag(1 / (found.estimate @ chances(block))) @ chances(block).T for block in blocks
    )
    contrasts = helmert(found.estimate.size).T
    inverse = contrasts @ np.linalg.inv(contrasts.T @ information @ contrasts) @ contrasts.T
    assert close(found.covariance, inverse * n / (n - 1), 1e-10)


def test_an_iteration_that_ends_early_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.estimation.table_methods.most_likely", partial(most_likely, iterations=1))
    with pytest.warns(RuntimeWarning, match="after 1 iterations the log-likelihood may still rise by"):
        estimated("mle", LIKELY["coarsened"])
