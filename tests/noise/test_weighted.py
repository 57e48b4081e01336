"""The law of a weighted sum over reports: characteristic functions, and their inversion."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm as normal, poisson
from support.rare_tables import CELLS

import ldpstats as ldp
from ldpstats.noise import NoiseModel, SupportNoise
from ldpstats.noise.weighted import NODES, share_below, weighted_report
from ldpstats.numbers.arrays import FloatArray


def reports_and_probabilities(noise: NoiseModel) -> tuple[FloatArray, FloatArray]:
    """Return every report of a support mechanism, and its probability, from the definitions."""
    assert isinstance(noise, SupportNoise)
    k = noise.cells
    if noise.size is None:
        patterns = np.array(list(product([0, 1], repeat=k)))
        chance = np.where(np.eye(k), noise.p, noise.q)[:, None, :]
        return patterns, CELLS @ np.where(patterns, chance, 1 - chance).prod(axis=-1)
    patterns = np.array([[int(v in chosen) for v in range(k)] for chosen in combinations(range(k), noise.size)])
    inside, outside = math.comb(k - 1, noise.size - 1), math.comb(k - 1, noise.size)
    given = np.where(patterns, noise.p / inside, (1 - noise.p) / max(outside, 1))
    return patterns, given @ CELLS


class TestLaw:
    """Characteristic functions and their inversion."""

    @pytest.mark.parametrize(
        "noise",
        [SupportNoise.independent(4, 0.5, 0.1), *(SupportNoise.subset(4, 0.8, size) for size in (1, 2, 3))],
        ids=["OUE", "SS 1", "SS 2", "SS 3"],
    )
    def test_one_report_is_enumerated(self, noise: SupportNoise) -> None:
        weights = np.random.default_rng(1).normal(size=(5, 4))
        patterns, chance = reports_and_probabilities(noise)
        expected = np.exp(1j * weights @ patterns.T) @ chance
        assert chance.sum() == pytest.approx(1)
        assert np.allclose(weighted_report(noise, CELLS, weights), expected, atol=1e-12)

    def test_one_output_of_a_channel(self) -> None:
        noise, weights = ldp.GRR(4, 1.0).noise, np.random.default_rng(1).normal(size=(5, 4))
        assert np.allclose(weighted_report(noise, CELLS, weights), np.exp(1j * weights) @ noise.mean(CELLS), atol=1e-12)

    @pytest.mark.parametrize("mean", [0.05, 0.7, 4.0])
    def test_the_share_below_counts_half_of_what_was_seen(self, mean: float) -> None:
        law = np.exp(mean * (np.exp(1j * NODES / math.sqrt(mean)) - 1) - 1j * math.sqrt(mean) * NODES)
        seen = np.arange(6)
        found = share_below(law, (seen - mean) / math.sqrt(mean))
        assert np.allclose(found, poisson.cdf(seen - 1, mean) + poisson.pmf(seen, mean) / 2, atol=2e-4)

    def test_a_normal_law(self) -> None:
        seen = np.array([-2.0, 0.0, 1.0, 100.0])
        assert np.allclose(share_below(np.exp(-(NODES**2) / 2), seen), normal.cdf(seen), atol=2e-3)
