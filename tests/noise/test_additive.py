"""The law of summed noisy histograms agrees with brute force: every report enumerated, every matrix written out."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE, close, on_contrasts, some_frequencies
from support.report_laws import has_enumerated_moments

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import invert
from ldpstats.noise import SupportNoise, Tally
from ldpstats.noise.additive import AdditiveNoise
from ldpstats.saving.codec import decoded, encoded

SKEW = AdditiveNoise(3, (0.4, 0.3, 0.2, 0.1))
ALL = [AdditiveNoise(2, (0.6, 0.05, 0.25, 0.1)), SKEW, AdditiveNoise(4, (0.5, 0.3, 0.2)), AdditiveNoise(3, (0.7, 0.3))]

each_noise = pytest.mark.parametrize("noise", ALL, ids=str)


def report_law(noise: AdditiveNoise) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all reports, a row each, and their probabilities given each value, from scratch."""
    rows = np.array(list(product(range(len(noise.weights)), repeat=noise.cells)))
    other = np.array(noise.weights)
    own = other[::-1]
    entries = [np.where(np.eye(noise.cells)[value], own[rows], other[rows]) for value in range(noise.cells)]
    return rows, np.stack([chances.prod(axis=1) for chances in entries], axis=1)


@each_noise
def test_moments_are_those_of_the_enumerated_reports(noise: AdditiveNoise) -> None:
    assert has_enumerated_moments(noise, *report_law(noise))


@each_noise
def test_log_likelihoods_and_the_level_are_those_of_the_enumerated_reports(noise: AdditiveNoise) -> None:
    rows, law = report_law(noise)
    said = noise.log_likelihoods(rows)
    assert close(said - said[:, :1], np.log(law) - np.log(law[:, :1]))
    assert close(noise.epsilon, np.log(law.max(axis=1) / law.min(axis=1)).max())


@each_noise
def test_a_law_is_supported_exactly_where_every_entry_has_a_proper_one(noise: AdditiveNoise) -> None:
    other = np.array(noise.weights)
    grid = np.linspace(-3, 4, 1401) + 1e-4
    entry = (1 - grid[:, None]) * other + grid[:, None] * other[::-1]
    rest = (1 - grid) / (noise.cells - 1)
    tables = np.column_stack([grid, *[rest] * (noise.cells - 1)])
    beside = (1 - rest[:, None]) * other + rest[:, None] * other[::-1]
    expected = (entry > 0).all(axis=1) & (beside > 0).all(axis=1)
    assert 0 < expected.sum() < expected.size
    assert np.array_equal(noise.supports(tables), expected)


@each_noise
def test_score_and_information_are_the_dense_ones(noise: AdditiveNoise) -> None:
    n, frequencies = 1000, some_frequencies(noise.cells)
    counts = noise.draw(frequencies[0], n, 3, np.random.default_rng(5))
    score, information = noise.score(frequencies, counts, n)
    dense = np.linalg.inv(noise.covariance(frequencies) / n)
    slope = (dense @ (noise.debias(counts / n) - frequencies)[..., None])[..., 0]
    assert close(on_contrasts(information.dense()), on_contrasts(dense))
    centre = slope.mean(axis=-1, keepdims=True)
    assert close(score - score.mean(axis=-1, keepdims=True), slope - centre)
    shared, _ = noise.score(frequencies[:1], counts, n)
    assert close(shared[0], score[0])
    assert shared.shape == score.shape
    norm = np.einsum("ti,tij,tj->t", slope - centre, np.linalg.pinv(on_contrasts(dense), rtol=1e-10), slope - centre)
    assert close(information.contrast_norm(score), norm)


def tally_law(noise: AdditiveNoise, respondents: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Convolve reports of respondents whose values have the given frequencies; an axis per entry of the tally."""
    rows, law = report_law(noise)
    total = np.ones((1,) * noise.cells)
    for frequencies in respondents:
        one = np.zeros((len(noise.weights),) * noise.cells)
        one[tuple(rows.T)] = law @ frequencies
        total = fftconvolve(total, one)
    return total


def fits(tallies: NDArray[np.int64], law: NDArray[np.float64]) -> bool:
    """Pearson's test against an exact law; rare outcomes are taken together, and left out if they are rare even so."""
    seen = np.zeros(law.shape)
    np.add.at(seen, tuple(tallies.T), 1)  # out of range means impossible, and raises
    expected = law * len(tallies)
    common = expected >= 10
    found, due = (np.append(one[common], one[~common].sum()) for one in (seen, expected))
    found, due = found[due >= 10], due[due >= 10]
    return bool(chdtrc(due.size - 1, ((found - due) ** 2 / due).sum()) > FALSE_FAILURE_RATE)


@each_noise
def test_tallies_of_few_respondents_have_their_exact_law(noise: AdditiveNoise) -> None:
    known = np.bincount([0, 0, noise.cells - 1], minlength=noise.cells)
    given = noise.simulate(np.tile(known, (40_000, 1)), np.random.default_rng(1))
    law = tally_law(noise, [np.eye(noise.cells)[x] for x in (0, 0, -1)])
    assert fits(given, law)
    frequencies = some_frequencies(noise.cells)[0]
    random = noise.draw(frequencies, 3, 40_000, np.random.default_rng(2))
    assert fits(random, tally_law(noise, [frequencies] * 3))
    assert not fits(random, law)


@pytest.mark.parametrize("n", [10**6, 35 * 10**8])
def test_tallies_of_many_respondents_have_the_exact_moments(n: int) -> None:
    """Six standard errors for each entry, so a false failure in less than one of a million runs."""
    frequencies, repeats = np.array([0.5, 0.3, 0.2]), 3000
    known = (n * frequencies).astype(np.int64)
    of_each = np.tensordot(known, SKEW.report_covariance(np.eye(3)), axes=1)
    given = SKEW.simulate(np.tile(known, (repeats, 1)), np.random.default_rng(3))
    random = SKEW.draw(frequencies, n, repeats, np.random.default_rng(4))
    for tallies, covariance in ((given, of_each), (random, n * SKEW.report_covariance(frequencies))):
        deviation = np.sqrt(np.diagonal(covariance))
        centred = (tallies - n * SKEW.mean(frequencies)) / deviation
        correlation = covariance / np.outer(deviation, deviation)
        error = np.abs(centred.T @ centred / repeats - correlation) / np.sqrt((1 + correlation**2) / repeats)
        assert np.abs(centred.mean(axis=0)).max() * np.sqrt(repeats) < 6
        assert error.max() < 6


def test_two_numbers_are_symmetric_unary_encoding() -> None:
    flip, n, frequencies = 0.3, 500, some_frequencies(3)
    additive, unary = AdditiveNoise(3, (1 - flip, flip)), SupportNoise.independent(3, 1 - flip, flip)
    counts = unary.draw(frequencies[0], n, 3, np.random.default_rng(6))
    (first, of_first), (second, of_second) = (one.score(frequencies, counts, n) for one in (additive, unary))
    assert close(additive.covariance(frequencies), unary.covariance(frequencies))
    assert close(additive.debias(counts / n), unary.debias(counts / n))
    assert close(on_contrasts(of_first.dense()), on_contrasts(of_second.dense()))
    assert close(first - first.mean(axis=-1, keepdims=True), second - second.mean(axis=-1, keepdims=True))


def test_noise_that_is_nearly_nothing_loses_no_digits() -> None:
    """The inverse of an almost singular covariance: 1/f where the noise is far smaller than f, and 1/s at f = 0."""
    tiny = 2.0**-60
    noise = AdditiveNoise(3, (1 - tiny, tiny))
    _, information = noise.score(np.array([0.6, 0.4, 0.0]), np.zeros(3), 1)
    contrast = np.array([1.0, -1.0, 0.0])
    assert contrast @ information.times(contrast[:, None])[:, 0] == pytest.approx(1 / 0.6 + 1 / 0.4, rel=1e-14)
    assert information.diagonal[2] == pytest.approx(1 / tiny, rel=1e-12)


def test_estimates_have_normal_intervals_and_no_bounds() -> None:
    tally = Tally(SKEW, SKEW.simulate(np.array([500, 300, 200]), np.random.default_rng(7)), 1000)
    estimate = invert(tally)
    assert estimate.bounds is None
    assert close(estimate.conf_int().mean(axis=-1), estimate.estimate)
    assert np.abs(estimate.estimate - [0.5, 0.3, 0.2]).max() < 6 * estimate.std_err.max()


def test_a_report_adds_at_most_the_largest_number_to_an_entry() -> None:
    assert Tally(SKEW, np.array([30, 0, 30]), 10).n == 10
    with pytest.raises(LdpstatsError, match="at most 3 per report"):
        Tally(SKEW, np.array([31, 0, 0]), 10)


def test_plain_values_give_the_same_model() -> None:
    assert decoded(json.loads(json.dumps(encoded(SKEW)))) == SKEW
    assert hash(AdditiveNoise(3, SKEW.weights)) == hash(SKEW)
    assert SKEW.merged(np.array([0, 0, 1])) is None


@pytest.mark.parametrize(
    ("cells", "weights"),
    [
        (3, (1.0,)),
        (3, (0.5, 0.5)),
        (3, (0.3, 0.7)),
        (3, (1.0, 0.0)),
        (3, (0.7, 0.4)),
        (1, (0.7, 0.3)),
        (3, (np.nan,) * 2),
    ],
)
def test_laws_that_tell_nothing_or_everything_are_refused(cells: int, weights: tuple[float, ...]) -> None:
    with pytest.raises(LdpstatsError, match=r"positive weights that sum to 1|the cells of a table = 1\."):
        AdditiveNoise(cells, weights)
