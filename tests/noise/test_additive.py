"""The law of summed noisy histograms agrees with brute force: every report enumerated, every matrix written out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.comparisons import close, on_contrasts, some_frequencies

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import invert
from ldpstats.noise import SupportNoise, Tally
from ldpstats.noise.additive import AdditiveNoise

SKEW = AdditiveNoise(3, (0.4, 0.3, 0.2, 0.1))
ALL = [AdditiveNoise(2, (0.6, 0.05, 0.25, 0.1)), SKEW, AdditiveNoise(4, (0.5, 0.3, 0.2)), AdditiveNoise(3, (0.7, 0.3))]

each_noise = pytest.mark.parametrize("noise", ALL, ids=str)


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
    plain = json.loads(json.dumps(SKEW.to_dict()))
    assert plain == {"kind": "additive", "cells": 3, "weights": [0.4, 0.3, 0.2, 0.1]}
    assert AdditiveNoise(plain["cells"], tuple(plain["weights"])) == SKEW
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
