"""S-Hist decodes by least squares, without bias given its public matrix; the paper's decoder is biased as stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.mechanisms.hadamard_response import HRR
from ldpstats.mechanisms.sketch import SHist, _bits
from ldpstats.noise import MultinomialNoise, Tally


def signs(mechanism: SHist) -> NDArray[np.float64]:
    return 1.0 - 2.0 * mechanism.noise.channel.codes


def test_the_matrix_is_the_same_for_all_who_have_the_seed() -> None:
    # written down once: a new numpy must not change a public matrix that respondents already use
    assert np.packbits(_bits(4, 16, 0), axis=1).tolist() == [[95, 130], [194, 217], [207, 235], [15, 163]]
    np.testing.assert_array_equal(SHist(16, 1.0).noise.channel.codes, _bits(64, 16, 0))
    assert SHist(16, 1.0).noise == SHist(16, 1.0).noise
    assert SHist(16, 1.0).noise != SHist(16, 1.0, seed=1).noise


def test_its_bits_are_fair_and_independent() -> None:
    ones = signs(SHist(100, 1.0, rows=1000))
    # 6.5 standard deviations, for the total and for each of 4950 products of columns: below 1e-6
    assert abs(ones.mean()) < 6.5 / np.sqrt(ones.size)
    products = np.abs(ones.T @ ones)[np.triu_indices(100, 1)]
    assert products.max() < 6.5 * np.sqrt(1000)


def test_seeds_whose_matrix_leaves_values_together_are_passed_over() -> None:
    def rank(seed: int) -> int:
        return int(np.linalg.matrix_rank(np.vstack([np.ones(3), 1.0 - 2.0 * _bits(3, 3, seed)])))

    seed = next(seed for seed in range(100) if rank(seed) < 3)
    following = next(one for one in range(seed, seed + 100) if rank(one) == 3)
    assert SHist(3, 1.0, rows=3, seed=seed).noise == SHist(3, 1.0, rows=3, seed=following).noise


@pytest.mark.parametrize(("k", "rows"), [(2, 2), (3, 12), (20, 20), (50, 200)])
def test_the_estimate_is_unbiased_given_the_matrix(k: int, rows: int) -> None:
    noise = SHist(k, 0.5, rows=rows).noise
    np.testing.assert_allclose(noise.debias(noise.mean(np.eye(k))), np.eye(k), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [3, 5, 30])
def test_the_papers_decoder_is_biased_by_the_products_of_columns(k: int) -> None:
    mechanism = SHist(k, 1.0)
    assert isinstance(mechanism.noise, MultinomialNoise)
    single = np.stack(
        [mechanism.projected(Tally(mechanism.noise, one, 1)) for one in np.eye(mechanism.noise.outputs, dtype=int)]
    )
    expected = signs(mechanism).T @ signs(mechanism) / len(signs(mechanism))
    np.testing.assert_allclose(mechanism.noise.channel.matrix() @ single, expected, rtol=0, atol=1e-12)
    assert np.abs(expected - np.eye(k)).max() > 0.1


@pytest.mark.parametrize(("k", "rows", "ratio"), [(50, 200, 4 / 3), (50, 400, 8 / 7), (200, 400, 2)])
def test_the_variance_is_that_of_orthogonal_columns_over_the_share_of_spare_rows(
    k: int, rows: int, ratio: float
) -> None:
    uniform = np.full(k, 1 / k)
    found = np.mean(SHist(k, 1.0, rows=rows).variance(uniform, 1)) / HRR(k, 1.0).variance(1 / k, 1)
    assert found == pytest.approx(ratio, rel=0.05)


def test_reports_cost_a_row_and_a_bit() -> None:
    assert SHist(100, 1.0).report_bits == 10
    assert SHist(100, 1.0, rows=128).report_bits == 8


@pytest.mark.parametrize("rows", [3, 0, -5, 4.0, "8", True])
def test_too_few_rows_are_refused(rows: Any) -> None:
    with pytest.raises(LdpstatsError, match="rows"):
        SHist(4, 1.0, rows=rows)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    with pytest.raises(LdpstatsError, match="seed"):
        SHist(4, 1.0, seed=seed)


def test_matrices_too_large_for_least_squares_are_refused_with_a_better_choice() -> None:
    with pytest.raises(LdpstatsError, match="HRR"):
        SHist(10_000, 1.0)


def test_the_papers_decoder_takes_own_tallies_only() -> None:
    other = SHist(4, 2.0)
    with pytest.raises(ReportError, match="SHist"):
        SHist(4, 1.0).projected(other.simulate([1, 2, 3, 4], rng=1))
