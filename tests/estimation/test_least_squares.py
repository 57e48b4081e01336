"""Least squares are the textbooks', and the most likely frequencies as likely as an optimizer's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from scipy.linalg import helmert
from scipy.optimize import LinearConstraint, minimize
from support.blocks_of_reports import NARROW, TALL, THREE, Array, asked, drawn, estimated, faked
from support.comparisons import close

from ldpstats import mechanism
from ldpstats.estimation import expectation_maximization, invert, most_likely
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.likelihood import krr_mle

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


def textbook(blocks: Sequence[Block]) -> tuple[Array, Array, Array]:
    """Return what generalized least squares gives, with its covariance, from dense matrices; and where it started."""
    cells, n = blocks[0].question.cells, sum(block.n for block in blocks)
    rows, values = [], []
    for block in blocks:
        weight = np.sqrt(block.n / np.diag(block.report_covariance(np.full(cells, 1 / cells))))
        rows.append(block.design()[0] * weight[:, None])
        values.append((block.tally.proportions - block.design()[1]) * weight)
    start = np.maximum(np.linalg.lstsq(np.vstack(rows), np.concatenate(values))[0], 1 / (2 * n))
    start /= start.sum()
    gram, seen = np.zeros((cells, cells)), np.zeros(cells)
    for block in blocks:
        matrix, offset = block.design()
        precision = block.n * np.linalg.pinv(block.report_covariance(start), hermitian=True)
        gram += matrix.T @ precision @ matrix
        seen += matrix.T @ precision @ (block.tally.proportions - offset - matrix.sum(axis=1) / cells)
    contrasts = helmert(cells).T
    covariance = contrasts @ np.linalg.inv(contrasts.T @ gram @ contrasts) @ contrasts.T
    return 1 / cells + covariance @ seen, covariance, start


@pytest.mark.parametrize("blocks", MIXED.values(), ids=MIXED)
def test_least_squares_is_the_textbooks(blocks: list[Block]) -> None:
    found, n = estimated("gls", blocks), sum(block.n for block in blocks)
    estimate, covariance, _ = textbook(blocks)
    assert close(found.estimate, estimate, 1e-10)
    assert abs(found.estimate.sum() - 1) < 1e-12
    if n > 1:
        assert close(found.covariance, covariance * n / (n - 1), 1e-10)
    else:
        assert np.all(found.std_err == np.inf)


def test_least_squares_of_truth_or_fake_is_the_weighted_mean_of_inversions() -> None:
    blocks = LIKELY["fakes with zeros"]
    start = textbook(blocks)[2]
    weights = np.array([block.n * block.noise.channel.truth**2 / block.noise.mean(start) for block in blocks])
    inverted = np.array([invert(block.tally).estimate for block in blocks])
    total, weighted = weights.sum(axis=0), (weights * inverted).sum(axis=0)
    multiplier = ((weighted / total).sum() - 1) / (1 / total).sum()
    assert close(estimated("gls", blocks).estimate, (weighted - multiplier) / total)


def test_least_squares_of_one_block_is_its_inversion() -> None:
    (block,) = LIKELY["one"]
    found, plain = estimated("gls", [block]), invert(block.tally)
    assert plain.estimate.min() > 0
    assert close(found.estimate, plain.estimate)
    assert close(found.covariance, plain.covariance)


def chances(block: Block) -> Array:
    """Return the probability of every output given every cell."""
    matrix: Array = block.noise.channel.matrix()[block.classes]
    return matrix


def log_likelihood(frequencies: Array, blocks: Sequence[Block]) -> float:
    parts = [(block.tally.counts, frequencies @ chances(block)) for block in blocks]
    return float(sum(counts[counts > 0] @ np.log(mean[counts > 0]) for counts, mean in parts))


@pytest.mark.parametrize("blocks", LIKELY.values(), ids=LIKELY)
def test_the_most_likely_frequencies_are_as_likely_as_an_optimizers(blocks: list[Block]) -> None:
    found, cells = estimated("mle", blocks).estimate, blocks[0].question.cells
    assert found.min() >= 0
    assert abs(found.sum() - 1) < 1e-12

    def loss(frequencies: Array) -> float:
        return -log_likelihood(np.maximum(frequencies, 1e-12), blocks)

    best = minimize(
        loss,
        np.full(cells, 1 / cells),
        method="SLSQP",
        bounds=[(0, 1)] * cells,
        constraints=LinearConstraint(np.ones(cells), 1, 1),
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert abs(log_likelihood(found, blocks) + best.fun) < 1e-6
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


@pytest.mark.parametrize("name", ["one", "negative", "one respondent"])
def test_the_most_likely_frequencies_of_one_block_are_the_exact_ones(name: str) -> None:
    (block,) = LIKELY[name]
    exact = krr_mle(block.noise.channel, block.tally.counts)
    assert np.abs(estimated("mle", [block]).estimate - exact).max() < 1e-4
    assert abs(log_likelihood(exact, [block]) - most_likely([block]).log_likelihood) <= 1e-10 * block.n


def test_a_dense_channel_alone_is_fitted_as_by_expectation_maximization() -> None:
    block = LIKELY["rectangular"][1]
    assert close(most_likely([block]).frequencies, expectation_maximization(TALL, block.tally.counts).frequencies)


def test_an_iteration_that_ends_early_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.estimation.table_methods.most_likely", partial(most_likely, iterations=1))
    with pytest.warns(RuntimeWarning, match="after 1 iterations the log-likelihood may still rise by"):
        estimated("mle", LIKELY["coarsened"])
