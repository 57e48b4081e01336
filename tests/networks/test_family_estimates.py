"""Smoothed rows of families: variances by the delta method, the weight of a margin, and corners."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.networks.family_estimates import SmoothedRows, answer_variance
from ldpstats.numbers.arrays import FloatArray


def sampled(cells: FloatArray, n: int) -> SmoothedRows:
    """Return the rows of a table that n respondents told without noise."""
    flat = cells.ravel()
    return SmoothedRows.of(cells, (np.diag(flat) - np.outer(flat, flat)) / n)


def test_respondents_without_noise_are_as_many_as_they_are() -> None:
    cells = np.array([[0.1, 0.3], [0.2, 0.1], [0.1, 0.2]])
    rows = sampled(cells, 1000)
    for row, total in enumerate(cells.sum(axis=0)):
        variance = float(answer_variance(rows.proportions[:, row]))
        assert rows.respondents(variance)[row] == pytest.approx(1000 * total)


def test_the_average_is_that_of_a_dirichlet_prior() -> None:
    """With the row's own variance, it is the posterior mean of counts and pseudo-counts."""
    cells, margin = np.array([[0.3], [0.7]]), np.array([[0.5], [0.5]])
    found = sampled(cells, 20).towards(margin, 5.0, 0.42)
    np.testing.assert_allclose(found, (20 * cells + 5 * margin) / 25)


def test_a_row_that_nobody_has_is_what_it_is_averaged_with() -> None:
    cells = np.array([[0.4, 0.0], [0.6, 0.0]])
    margin = np.array([[0.4, 0.4], [0.6, 0.6]])
    for weight in (0.0, 3.0):
        np.testing.assert_allclose(sampled(cells, 50).towards(margin, weight, 0.48)[:, 1], margin[:, 1])


@pytest.mark.parametrize("alike", [True, False])
def test_the_weight_of_the_margin_tells_rows_that_are_alike_from_others(alike: bool) -> None:
    rng, n = np.random.default_rng(1), 4000
    true = np.full((2, 8), 0.5) if alike else np.array([np.linspace(0.1, 0.9, 8), np.linspace(0.9, 0.1, 8)])
    found = []
    for _ in range(20):
        cells = rng.multinomial(n, (true / 8).ravel()).reshape(2, 8) / n
        found.append(float(sampled(cells, n).weight_of_margin(cells.sum(axis=1), 1.0)))
    assert np.median(found) > 1000 if alike else np.median(found) < 5


def test_many_tables_at_once_are_as_one_by_one() -> None:
    rng = np.random.default_rng(2)
    cells = rng.dirichlet(np.ones(12), size=5).reshape(5, 3, 4)
    covariance = np.eye(12) / 1000
    margins = cells.sum(axis=2)
    together = SmoothedRows.of(cells, covariance)
    weights = together.weight_of_margin(margins, 1.0)
    smoothed = together.towards(margins[..., None], weights, answer_variance(margins))
    for place, one in enumerate(cells):
        alone = SmoothedRows.of(one, covariance)
        weight = alone.weight_of_margin(margins[place], 1.0)
        np.testing.assert_allclose(weight, weights[place], rtol=1e-9)
        expected = alone.towards(margins[place][:, None], weight, answer_variance(margins[place]))
        np.testing.assert_allclose(smoothed[place], expected, rtol=1e-9)
